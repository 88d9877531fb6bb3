//! A finished episode on its way into the data set: its rows, its films, and how it went.

use std::path::PathBuf;
use std::time::Duration;

use crate::action::Action;
use crate::dataset::stats::Pictures;
use crate::dataset::{Outcome, Provenance};
use crate::joint::JointVec;

/// A finished episode. It stays whole where it lies until [`Store::save`](super::Store::save) has returned `Ok`.
#[derive(Clone, Debug, Default)]
pub struct EpisodeParts {
    /// Names the journal that it comes from, and no other journal ever: saving it twice keeps one.
    pub journal: String,
    /// At least one.
    pub rows: Vec<RowRecord>,
    /// The tasks in words that the rows point at.
    pub tasks: Vec<String>,
    pub outcome: Outcome,
    /// One a camera, in the plan's order.
    pub videos: Vec<VideoPart>,
}

/// A row as it is kept; its place in time is its place in the episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowRecord {
    /// Robot units.
    pub state: JointVec,
    /// Robot units.
    pub action: Action,
    /// Which of [`EpisodeParts::tasks`].
    pub task: usize,
    /// When it was truly taken, since the episode began.
    pub captured_at: Duration,
    /// Bit 0: the row fills an instant that nothing could be taken at. Bit i + 1: camera i shows the picture of the row before.
    pub repeated: u64,
    pub provenance: Provenance,
}

/// The film of one camera.
#[derive(Clone, Debug, Default)]
pub struct VideoPart {
    /// A whole mp4 of exactly one picture a row. It stays where it is; best on the data set's disk, where it need not be copied.
    pub path: PathBuf,
    pub pictures: Pictures,
}
