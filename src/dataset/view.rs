//! How a recorder is, for whoever shows it.

use std::path::PathBuf;
use std::time::Duration;

/// How the recorder is. Plain data, made anew after each change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecorderView {
    /// The data set that is open, if one is.
    pub root: Option<PathBuf>,
    /// Whole episodes and rows on disk, those of earlier sessions included.
    pub episodes: usize,
    pub frames: u64,
    /// Episodes saved since it was opened.
    pub saved: usize,
    /// The episode that runs.
    pub running: Option<Running>,
    /// Episodes on their way to the disk, oldest first.
    pub saving: Vec<Saving>,
    /// Episodes that an earlier session left unfinished, to be recovered or dropped.
    pub interrupted: Vec<Interrupted>,
    /// The episode that was discarded last; it can be recovered until the next one begins.
    pub discarded: Option<Interrupted>,
    pub disk: Option<Disk>,
    /// The last thing that went wrong, with the way out; gone with the next that goes right.
    pub trouble: Option<String>,
}

/// The episode that runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Running {
    /// Its number if it is kept.
    pub episode: usize,
    pub frames: u64,
    pub length: Duration,
    /// Rows that were filled because nothing could be taken at their instant.
    pub missed: u64,
    /// By camera: pictures that were shown again because no newer one had come.
    pub repeated: Vec<(String, u64)>,
    /// Pictures that wait for an encoder, of how many that may.
    pub backlog: (usize, usize),
}

/// An episode on its way to the disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saving {
    pub episode: usize,
    /// What is being done, in a word or two.
    pub stage: String,
    /// 0 to 1.
    pub share: f32,
}

/// An episode that was not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// Names its journal.
    pub id: String,
    pub task: String,
    /// Rows that are whole in every stream.
    pub frames: u64,
    pub length: Duration,
}

/// Room on the data set's disk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disk {
    pub bytes_left: u64,
    /// How long that lasts at the measured rate; `None` before there is one.
    pub time_left: Option<Duration>,
}

impl Disk {
    /// It is called low below this.
    const LOW_TIME: Duration = Duration::from_mins(10);
    const LOW_BYTES: u64 = 1 << 30;

    /// Whether it is about to be full.
    pub fn is_low(&self) -> bool {
        self.bytes_left < Self::LOW_BYTES
            || self.time_left.is_some_and(|left| left < Self::LOW_TIME)
    }
}
