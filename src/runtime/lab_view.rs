//! The lab as the runtime passes it through: what the window shows of it, and what can be asked of it. The lab itself flies
//! beside the runtime, on clocks of its own.

use std::fmt;

use crate::latest::Latest;

/// What the operator can ask of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabOrder {
    /// Measure; `quick` is a look in between.
    Run { quick: bool },
    /// Measure no further.
    Cancel,
}

/// One setting that was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabLine {
    /// Its schedule, for example "async, g 0.7".
    pub label: String,
    /// The latency in words.
    pub latency: String,
    pub successes: u32,
    pub episodes: u32,
    /// Mean time of a success, seconds.
    pub time_s: Option<f64>,
    /// The share of ticks in which the arm held for want of a plan, 0 to 1.
    pub idle: f64,
}

/// A disturbance and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabVerdict {
    pub name: String,
    pub seen: String,
    pub passed: bool,
}

/// How the lab is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabView {
    /// Runs that are over, of how many; `None` while it rests.
    pub progress: Option<(usize, usize)>,
    /// The operator no longer wants it: what is in the air is flown to its end, and then it rests.
    pub ends: bool,
    /// What has just been flown.
    pub what: String,
    /// The sync/async table of the last report.
    pub lines: Vec<LabLine>,
    pub verdicts: Vec<LabVerdict>,
    /// What the last report says, in sentences.
    pub findings: Vec<String>,
    /// The folder of the last report.
    pub report: Option<String>,
    /// Why the last run has no report.
    pub error: Option<String>,
}

/// The way to the lab.
pub struct LabLink {
    pub view: Latest<LabView>,
    /// Never waits.
    pub order: Box<dyn FnMut(LabOrder) + Send>,
}

impl fmt::Debug for LabLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabLink").finish_non_exhaustive()
    }
}
