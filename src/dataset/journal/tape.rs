//! The rows of an episode on disk: written as they are taken, read back as far as they are whole.

use std::io::Write as _;
use std::path::Path;

use crate::dataset::journal::Row;
use crate::dataset::journal::record::{Records, frame};
use crate::dataset::journal::row::{read_outcome, write_outcome};
use crate::dataset::{Disk, Error, Outcome, disk};

const TASK: u32 = 1;
const ROW: u32 = 2;
const OUTCOME: u32 = 3;

/// What stands on a line of the tape.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A task in words. The first is number 0; rows name them by number.
    Task(String),
    Row(Box<Row>),
    /// The operator's verdict; the last counts.
    Outcome(Outcome),
}

/// Writes the tape.
#[derive(Debug)]
pub struct TapeWriter {
    file: disk::File,
    payload: Vec<u8>,
    bytes: Vec<u8>,
}

impl TapeWriter {
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path, disk: &Disk) -> Result<Self, Error> {
        Ok(Self {
            file: disk.create(path)?,
            payload: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// Adds a line, at once and whole; returns its bytes.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn write(&mut self, line: &Line) -> Result<usize, Error> {
        self.payload.clear();
        let kind = match line {
            Line::Task(task) => {
                self.payload.extend(task.as_bytes());
                TASK
            }
            Line::Row(row) => {
                row.write(&mut self.payload);
                ROW
            }
            Line::Outcome(outcome) => {
                self.payload.extend(write_outcome(*outcome));
                OUTCOME
            }
        };
        self.bytes.clear();
        frame(kind, &self.payload, &mut self.bytes);
        let written = self.file.write_all(&self.bytes);
        written.map_err(|error| disk::at(self.file.path(), error))?;
        Ok(self.bytes.len())
    }

    /// Brings what was written to the disk.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn sync(&self) -> Result<(), Error> {
        self.file.sync()
    }
}

/// Reads the tape, line by line, up to the first that is not whole.
#[derive(Debug)]
pub struct Tape {
    records: Records,
    /// Those that were read so far.
    pub tasks: Vec<String>,
}

impl Tape {
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            records: Records::open(path)?,
            tasks: Vec::new(),
        })
    }

    /// The next line.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn line(&mut self) -> Result<Option<Line>, Error> {
        let Some((kind, payload)) = self.records.record()? else {
            return Ok(None);
        };
        let line = match kind {
            TASK => String::from_utf8(payload.to_vec()).ok().map(Line::Task),
            ROW => Row::read(payload).map(|row| Line::Row(Box::new(row))),
            OUTCOME => read_outcome(payload).map(Line::Outcome),
            _ => None,
        };
        match &line {
            Some(Line::Task(task)) => self.tasks.push(task.clone()),
            // A row of a task that was never written down could not be saved.
            Some(Line::Row(row)) if row.task as usize >= self.tasks.len() => return Ok(None),
            _ => {}
        }
        Ok(line)
    }

    /// The first `count` rows, and the tasks they name.
    ///
    /// # Errors
    /// The file cannot be read, or holds fewer.
    pub fn rows(path: &Path, count: u64) -> Result<(Vec<Row>, Vec<String>), Error> {
        let mut tape = Self::open(path)?;
        let mut rows = Vec::new();
        while (rows.len() as u64) < count {
            match tape.line()? {
                Some(Line::Row(row)) => rows.push(*row),
                Some(Line::Task(_) | Line::Outcome(_)) => {}
                None => {
                    return Err(Error::Malformed {
                        path: path.to_owned(),
                        why: format!("{} rows are whole, not {count}", rows.len()),
                    });
                }
            }
        }
        Ok((rows, tape.tasks))
    }
}
