//! Work that takes long, one at a time, on a thread that goes last: it says how far it is and can be cancelled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::Sender;

use crate::app::library::desk::Event;
use crate::clock::Clock;
use crate::priority::{self, Urgency};
use crate::runtime::Finding;

/// Progress is told no more often.
const PERIOD: Duration = Duration::from_millis(100);
/// What a job that was cancelled says.
pub const CANCELLED: &str = "cancelled";
/// What one says that panicked.
pub const PANICKED: &str =
    "it panicked; see the log. `smolpilot data check` says what is wrong with the data set";

/// What came of a job.
#[derive(Debug)]
pub enum Outcome {
    /// It was done; words for the person.
    Done(String),
    /// A data set was made, in this folder.
    Made(std::path::PathBuf),
    /// The data set was checked.
    Checked(Vec<Finding>),
    /// A policy was asked: the episode, its answers, and the mean difference by joint.
    Compared {
        episode: usize,
        predictions: Predictions,
        error: Option<crate::joint::JointVec>,
    },
}

/// The row that a policy was asked at, and its chunk.
pub type Predictions = Vec<(usize, Arc<[crate::action::Action]>)>;

/// What a job tells.
#[derive(Debug)]
pub enum Report {
    /// Where it is, and the share of it.
    Progress(String, Option<f32>),
    /// It is over.
    Over(Result<Outcome, String>),
}

/// What a job is given to be heard by.
#[derive(Debug)]
pub struct Voice {
    reports: Sender<Event>,
    cancel: Arc<AtomicBool>,
    clock: Clock,
    told_at: Option<Duration>,
}

impl Voice {
    /// Says where it is; false when it is to end.
    pub fn say(&mut self, what: &str, share: Option<f32>) -> bool {
        let now = self.clock.now();
        let is_due = self
            .told_at
            .is_none_or(|told| now.saturating_sub(told) >= PERIOD);
        if is_due {
            self.told_at = Some(now);
            let report = Report::Progress(what.to_owned(), share);
            // The next one will be heard.
            self.reports.try_send(Event::Job(report)).ok();
        }
        !self.is_cancelled()
    }

    /// The operator wants no more.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Starts a job.
///
/// # Errors
/// The system gives no thread.
pub fn start(
    reports: &Sender<Event>,
    cancel: &Arc<AtomicBool>,
    work: impl FnOnce(&mut Voice) -> Result<Outcome, String> + Send + 'static,
) -> Result<(), String> {
    cancel.store(false, Ordering::Relaxed);
    let mut voice = Voice {
        reports: reports.clone(),
        cancel: Arc::clone(cancel),
        clock: Clock::real(),
        told_at: None,
    };
    let spawned = thread::Builder::new()
        .name("library job".to_owned())
        .spawn(move || {
            // The arm, its policy and a recording go first.
            priority::claim(Urgency::Patient);
            let done = catch_unwind(AssertUnwindSafe(|| work(&mut voice)));
            // Without an answer nothing else could ever be begun.
            let over = Report::Over(done.unwrap_or_else(|_| Err(PANICKED.to_owned())));
            // A library that has ended needs no answer.
            voice.reports.send(Event::Job(over)).ok();
        });
    spawned.map(drop).map_err(|error| {
        format!("the system gives no thread ({error}): close other programs and try again")
    })
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::bounded;

    use super::*;

    #[test]
    fn a_job_that_panics_is_over_all_the_same() {
        let (reports, heard) = bounded(4);
        start(&reports, &Arc::default(), |_| panic!("a damaged film")).unwrap();
        match heard.recv().unwrap() {
            Event::Job(Report::Over(Err(why))) => assert_eq!(why, PANICKED),
            other => panic!("{other:?}"),
        }
    }
}
