//! Data sets as the runtime passes them through: what the window shows of those on disk, and what can be asked of them. Files are
//! read and written on a thread of their own.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::action::Action;
use crate::dataset::{Interrupted, Outcome};
use crate::joint::JointVec;
use crate::latest::Latest;
use crate::observation::Frame;

/// What the operator can ask of the library.
#[derive(Clone, Debug, PartialEq)]
pub enum LibraryOrder {
    /// Look at the usual places again.
    Refresh,
    /// Open a data set by its folder.
    Open(PathBuf),
    /// Close it.
    Close,
    /// Show an episode.
    Show(usize),
    /// Show the pictures at this row.
    Seek(usize),
    Delete(Vec<usize>),
    /// Keep the rows `from..to` of an episode.
    Trim {
        episode: usize,
        from: usize,
        to: usize,
    },
    /// Give episodes another task.
    Relabel {
        episodes: Vec<usize>,
        task: String,
    },
    Mark {
        episodes: Vec<usize>,
        outcome: Outcome,
    },
    /// Write both data sets into a new one.
    Merge {
        with: PathBuf,
        into: PathBuf,
    },
    /// Write an episode as a film or a table into this file, by its ending.
    Export {
        episode: usize,
        file: PathBuf,
    },
    /// Fetch a data set from the hub.
    Download(String),
    /// Send the open data set to the hub under this name.
    Upload(String),
    /// Make whole, or drop, what was left unfinished in the open data set.
    Recover(String),
    Forget(String),
    /// Read all of the open data set and say what is wrong with it.
    Check,
    /// Ask the policy named here what it would have done at every so many rows of an episode.
    Compare {
        episode: usize,
        policy: String,
        every: usize,
    },
    /// Do no further what is being done.
    Cancel,
}

/// A data set on disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shelf {
    pub root: PathBuf,
    /// What people call it: the folder's last names.
    pub name: String,
    pub episodes: usize,
    pub frames: u64,
    pub fps: f32,
    pub robot: String,
    /// `v3.0`, `v2.1`.
    pub version: String,
    /// Episodes that were left unfinished in it.
    pub interrupted: usize,
    /// Why it cannot be opened.
    pub trouble: Option<String>,
}

/// Something that a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// It keeps LeRobot from reading the data set rightly; anything else is a remark.
    pub is_error: bool,
    /// What, and in which file or episode.
    pub text: String,
}

/// An episode in the list.
#[derive(Clone, Debug, Default)]
pub struct EpisodeLine {
    pub index: usize,
    pub frames: usize,
    pub length: Duration,
    pub tasks: Vec<String>,
    pub outcome: Outcome,
    /// A small picture from its beginning.
    pub thumbnail: Option<Frame>,
}

/// The episode that is shown.
#[derive(Clone, Debug, Default)]
pub struct EpisodeView {
    pub index: usize,
    pub fps: f32,
    pub rows: usize,
    /// A row each, robot units; of an arm with other joints both are empty.
    pub states: Arc<[JointVec]>,
    pub actions: Arc<[Action]>,
    /// Rows at which a person drove in place of the policy.
    pub interventions: Arc<[bool]>,
    /// Rows that were filled because nothing could be taken at their instant.
    pub filled: Arc<[bool]>,
    pub outcome: Outcome,
    pub task: String,
    /// The row whose pictures are shown, and they, by camera.
    pub row: usize,
    pub frames: Vec<(String, Frame)>,
    /// Why a camera shows nothing, by camera.
    pub blind: Vec<(String, String)>,
    /// What a policy would have done: the row it was asked at, and its chunk.
    pub predictions: Arc<[(usize, Arc<[Action]>)]>,
    /// Mean absolute difference of prediction and record, robot units, by joint.
    pub error: Option<JointVec>,
}

/// How the library is.
#[derive(Clone, Debug, Default)]
pub struct LibraryView {
    /// Where new data sets of this user go.
    pub home: PathBuf,
    /// Encoders of an installed ffmpeg that can keep up, by their names there.
    pub encoders: Arc<[String]>,
    pub shelves: Arc<[Shelf]>,
    /// The data set that is open.
    pub open: Option<Shelf>,
    pub episodes: Arc<[EpisodeLine]>,
    pub shown: Option<Arc<EpisodeView>>,
    /// Episodes that were left unfinished in it.
    pub interrupted: Vec<Interrupted>,
    /// What the last check of it found; `None` before there was one.
    pub findings: Option<Arc<[Finding]>>,
    /// What is being done, and the share of it if that is known.
    pub doing: Option<(String, Option<f32>)>,
    /// What was done last, or why it was not.
    pub done: Option<String>,
    pub trouble: Option<String>,
}

/// The way to the library.
pub struct LibraryLink {
    pub view: Latest<LibraryView>,
    /// Never waits.
    pub order: Box<dyn FnMut(LibraryOrder) + Send>,
}

impl fmt::Debug for LibraryLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryLink").finish_non_exhaustive()
    }
}

/// Recorded actions that the arm is to go through again.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayPlan {
    /// What it is, for people: "red cubes, episode 3".
    pub name: String,
    pub fps: f32,
    /// Robot units.
    pub actions: Arc<[Action]>,
    /// Begin again after the end.
    pub repeat: bool,
}

/// A replay as it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayView {
    pub name: String,
    /// Actions sent, of how many.
    pub row: usize,
    pub rows: usize,
    pub repeat: bool,
}
