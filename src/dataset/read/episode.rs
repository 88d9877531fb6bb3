//! One episode as a data set lists it: how long, which task, how it went, and where its rows and pictures lie.

use std::ops::Range;
use std::path::PathBuf;

use crate::dataset::Outcome;

/// One episode of a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Its number, which is also its place in [`Dataset::episodes`](super::Dataset::episodes).
    pub index: usize,
    /// Rows.
    pub length: usize,
    /// What it shows, in words; several where the operator retyped the task.
    pub tasks: Vec<String>,
    pub outcome: Outcome,
    /// Its rows among those of the whole data set.
    pub rows: Range<u64>,
    /// The table with its rows, below the root.
    pub table: PathBuf,
    /// Where its pictures are, in the order of [`Dataset::cameras`](super::Dataset::cameras).
    pub spans: Vec<Span>,
}

/// The part of a film that shows one episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// The film, below the root; empty for a camera whose pictures lie in the table.
    pub film: PathBuf,
    /// The picture of row 0, counted from the film's first.
    pub first: u64,
    /// Seconds from the film's begin to row 0 and to the end of the last row, as the data set says.
    pub from_s: f64,
    pub to_s: f64,
}

/// A camera of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Camera {
    /// The feature, `observation.images.front`.
    pub key: String,
    /// Its last part, `front`.
    pub name: String,
    /// Pixels.
    pub width: u32,
    pub height: u32,
    /// Pictures lie one by one in the table, not in a film.
    pub in_table: bool,
    /// What the films are encoded with, as the data set says: `av1`, `h264`; empty where it does not say.
    pub codec: String,
}
