//! The journal of an episode: everything that was recorded, on disk from the moment on at which it was taken.
//!
//! It lies in `<data set>/.recording/<id>/`, where LeRobot does not look:
//!
//! - `header.json`: what it is recorded with
//! - `rows`: rows, tasks and verdict; `camera-<i>`: the coded pictures of a camera. All are [records](record) that are only ever
//!   added to, one picture of each camera a row, by threads that run apart. The rows that are whole in every file are the episode;
//!   a torn tail is left out.
//! - `commit`: there when the episode was kept and is whole. It is saved at the next opportunity, whatever happens.

mod header;
mod record;
mod row;
mod shelf;
mod stream;
mod tape;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::dataset::{Disk, Error, Interrupted, Outcome, Plan};

pub use header::Header;
pub use row::{FILLED, Row, repeated_bit};
pub use shelf::{Shelf, left_in};
pub use stream::{Stream, StreamWriter};
pub use tape::{Line, Tape, TapeWriter};

const HEADER: &str = "header.json";
const COMMIT: &str = "commit";

/// One journal on disk.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
    pub header: Header,
}

/// What stands in `commit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub rows: u64,
    pub outcome: Outcome,
}

/// What of a journal is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// Rows with a picture of every camera.
    pub rows: u64,
    /// Tasks in words, in the order in which they were first in force.
    pub tasks: Vec<String>,
    /// As the operator said it, if all rows are there that they had seen by then.
    pub outcome: Outcome,
}

impl Journal {
    /// Begins a journal in a folder of its own. Its header is on disk when this returns.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn create(folder: PathBuf, header: Header, disk: &Disk) -> Result<Self, Error> {
        disk.create_folder(&folder)?;
        let journal = Self { folder, header };
        let path = journal.folder.join(HEADER);
        let text = serde_json::to_vec_pretty(&journal.header);
        disk.replace(&path, &text.map_err(|error| malformed(&path, &error))?)?;
        Ok(journal)
    }

    /// Opens the journal in a folder; `None` where none was begun.
    ///
    /// # Errors
    /// Its header cannot be read, or is none.
    pub fn open(folder: &Path) -> Result<Option<Self>, Error> {
        let path = folder.join(HEADER);
        let Some(text) = read_if_there(&path)? else {
            return Ok(None);
        };
        let header = Header::read(&text).map_err(|why| malformed(&path, &why))?;
        Ok(Some(Self {
            folder: folder.to_owned(),
            header,
        }))
    }

    pub fn id(&self) -> &str {
        &self.header.id
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn rows_path(&self) -> PathBuf {
        self.folder.join("rows")
    }

    pub fn stream_path(&self, camera: usize) -> PathBuf {
        self.folder.join(format!("camera-{camera}"))
    }

    /// Where the film of a camera is made when the episode is saved.
    pub fn film_path(&self, camera: usize) -> PathBuf {
        self.folder.join(format!("camera-{camera}.mp4"))
    }

    /// Says that the episode was kept and is whole. Everything else must be on disk.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn commit(&self, commit: Commit, disk: &Disk) -> Result<(), Error> {
        let path = self.folder.join(COMMIT);
        let text = serde_json::to_vec(&commit).map_err(|error| malformed(&path, &error))?;
        disk.replace(&path, &text)
    }

    /// What [`Journal::commit`] said; `None` for an episode that was not kept.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn committed(&self) -> Result<Option<Commit>, Error> {
        let path = self.folder.join(COMMIT);
        let text = read_if_there(&path)?;
        let commit = text.map(|text| serde_json::from_slice(&text)).transpose();
        commit.map_err(|error| malformed(&path, &error))
    }

    /// Reads all of it, and says what is whole.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn whole(&self) -> Result<Whole, Error> {
        if !self.rows_path().exists() {
            return Ok(Whole::default());
        }
        let mut tape = Tape::open(&self.rows_path())?;
        let mut rows = 0;
        let mut said = (Outcome::Unmarked, 0);
        while let Some(line) = tape.line()? {
            match line {
                Line::Row(_) => rows += 1,
                Line::Outcome(outcome) => said = (outcome, rows),
                Line::Task(_) => {}
            }
        }
        for camera in 0..self.header.cameras.len() {
            rows = rows.min(Stream::count(&self.stream_path(camera))?);
        }
        // Of an episode that lost its end nobody has seen how it ends.
        let (outcome, rows_then) = said;
        Ok(Whole {
            rows,
            tasks: tape.tasks,
            outcome: if rows < rows_then {
                Outcome::Unmarked
            } else {
                outcome
            },
        })
    }

    /// As it is offered to the operator.
    pub fn interrupted(&self, whole: &Whole) -> Interrupted {
        Interrupted {
            id: self.id().to_owned(),
            task: whole.tasks.join(" / "),
            frames: whole.rows,
            length: self.length_of(whole.rows),
        }
    }

    /// How long so many rows take.
    pub fn length_of(&self, rows: u64) -> Duration {
        Duration::from_secs_f64(rows as f64 / f64::from(self.header.fps))
    }

    /// Whether its rows have what those of this plan have.
    pub fn fits(&self, plan: &Plan) -> bool {
        let own = self.plan(&plan.root);
        let columns = |plan: &Plan| (plan.fps, plan.provenance, plan.chunk);
        columns(&own) == columns(plan) && own.cameras == plan.cameras
    }

    /// The plan it was recorded by, for the data set in `root`.
    pub fn plan(&self, root: &Path) -> Plan {
        self.header.plan(root)
    }
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::Io {
            path: path.to_owned(),
            error,
        }),
    }
}

fn malformed(path: &Path, why: &dyn fmt::Display) -> Error {
    Error::Malformed {
        path: path.to_owned(),
        why: why.to_string(),
    }
}
