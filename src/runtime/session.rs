//! Recording as the runtime passes it through: what the window shows of a session, and what can be asked of it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::dataset::video::LONGEST_FILM;
use crate::dataset::{Codec, Outcome, Plan, RecorderView, Step};
use crate::latest::Latest;

/// What the operator wants recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPlan {
    /// The data set's folder.
    pub root: PathBuf,
    /// Rows a second.
    pub fps: u32,
    /// Cameras to record, by name; all that are there where it is empty.
    pub cameras: Vec<String>,
    /// Episodes to record in this session; 0 goes on until it is ended.
    pub episodes: u32,
    /// Tasks in turn, an episode each; the task in force where it is empty.
    pub tasks: Vec<String>,
    /// Time to get ready before the first episode; [`BY_HAND`](Self::BY_HAND) waits for the operator.
    pub warm_up: Duration,
    /// Longest episode, at most [`LONGEST`](Self::LONGEST); it is then kept by itself.
    pub episode_limit: Duration,
    /// Time to put things back between episodes; [`BY_HAND`](Self::BY_HAND) waits for the operator.
    pub reset: Duration,
    /// Columns of who drove and with what.
    pub provenance: bool,
    /// Keep the predicted chunk with each row.
    pub chunk: bool,
    pub codec: Codec,
    /// Recording starts and ends by the referee of the rig: an episode is kept, marked a success, when its task is done.
    pub judged: bool,
}

impl SessionPlan {
    /// In place of a time: until the operator says so.
    pub const BY_HAND: Duration = Duration::MAX;
    /// No episode is longer: it is recorded as one film.
    pub const LONGEST: Duration = LONGEST_FILM;
    /// Between episodes on the rig, which lays its table by itself.
    pub const RIG_RESET: Duration = Duration::from_millis(500);

    /// Episodes of any number that the operator begins and ends, into this folder, at 30 rows a second.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            fps: 30,
            cameras: vec![],
            episodes: 0,
            tasks: vec![],
            warm_up: Self::BY_HAND,
            episode_limit: Self::LONGEST,
            reset: Self::BY_HAND,
            provenance: true,
            chunk: false,
            codec: Codec::default(),
            judged: false,
        }
    }
}

/// What the operator asks of the session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionOrder {
    /// Open the data set and begin.
    Begin(Box<SessionPlan>),
    /// Record an episode now, whatever is waited for.
    Record,
    /// Keep the episode that runs, or the one that has just been held for a verdict.
    Keep,
    /// Drop the episode that runs.
    Discard,
    /// Drop the episode that runs, and record it again after the reset time.
    Redo,
    /// Say how the episode that runs went.
    Mark(Outcome),
    /// Wait no longer: the warm-up or the reset time is over.
    Skip,
    /// Make whole what an earlier session left unfinished, by its id.
    Recover(String),
    /// Drop it for good.
    Forget(String),
    /// Record no more; what was kept is saved.
    End,
}

/// Where a session is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionPhase {
    /// Nothing is being recorded.
    #[default]
    Off,
    /// The data set is being opened.
    Opening,
    /// Ready, and waiting for the operator.
    Ready,
    /// Time to get ready.
    WarmUp,
    /// Rows are being taken.
    Recording,
    /// The episode was broken off, as [`SessionView::trouble`] says: the operator keeps it or drops it.
    Verdict,
    /// Time to put things back.
    Reset,
    /// All episodes are recorded; the last are being saved.
    Finishing,
}

/// A session as it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionView {
    pub phase: SessionPhase,
    /// Since when, on the runtime's clock, and how long it lasts if that is known.
    pub since: Duration,
    pub limit: Option<Duration>,
    /// Episodes kept in this session, of how many that are wanted (0: any number).
    pub kept: u32,
    pub wanted: u32,
    /// What was said of the episode that runs.
    pub outcome: Outcome,
    /// The plan in force.
    pub plan: Option<SessionPlan>,
    /// How the recorder is.
    pub recorder: RecorderView,
    /// Why the session does not go on, with the way out.
    pub trouble: Option<String>,
}

/// What the control loop tells the recorder's thread.
#[derive(Debug)]
pub enum RecordOrder {
    Open(Box<Plan>),
    /// A new episode.
    Begin,
    Step(Box<Step>),
    Keep(Outcome),
    Discard,
    Recover(String),
    Forget(String),
    Close,
}

/// The way to the recorder's thread.
pub struct RecordLink {
    pub view: Latest<RecorderView>,
    /// Never waits; gives the order back when there is no room for it.
    pub order: Box<dyn FnMut(RecordOrder) -> Result<(), RecordOrder> + Send>,
}

impl fmt::Debug for RecordLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordLink").finish_non_exhaustive()
    }
}
