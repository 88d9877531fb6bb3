//! An episode for people and programs that know no data sets: a film with what was done written below it, a table, or pictures.

mod canvas;
mod film;
mod letters;
mod picture;
mod strip;
mod table;

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::dataset::{Dataset, Error};

/// Hears how far it is, 0 to 1, and says whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(f32) -> ControlFlow<()>;

/// What an episode can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `.mp4`: the cameras side by side, below them task, time, joints and who drove.
    Film,
    /// `.csv`: a row each, a column each value.
    Table,
    /// A folder: each picture of each camera as PNG.
    Pictures,
}

impl Form {
    /// The form that a file's ending asks for.
    ///
    /// # Errors
    /// It is none that is known.
    pub fn of(file: &Path) -> Result<Self, Error> {
        let ending = file.extension().map(OsStr::to_ascii_lowercase);
        match ending.as_deref().and_then(|end| end.to_str()) {
            Some("mp4") => Ok(Self::Film),
            Some("csv") => Ok(Self::Table),
            None if !file.is_file() => Ok(Self::Pictures),
            _ => Err(Error::Absent(format!(
                "{} is none of the forms that an episode can be written as: end it in .mp4 or .csv, or name a folder for pictures",
                file.display()
            ))),
        }
    }
}

/// Writes an episode into `file`, in the form of its ending.
///
/// # Errors
/// The ending is unknown, the episode cannot be read, the file cannot be written, or the listener wants no more.
pub fn export(
    dataset: &mut Dataset,
    episode: usize,
    file: &Path,
    progress: Progress<'_>,
) -> Result<(), Error> {
    match Form::of(file)? {
        Form::Film => film::write(dataset, episode, file, progress),
        Form::Table => table::write(dataset, episode, file),
        Form::Pictures => picture::write(dataset, episode, file, progress),
    }
}

/// Where a file is written before it is whole.
fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Tells how far it is.
fn tell(progress: Progress<'_>, row: usize, rows: usize) -> Result<(), Error> {
    match progress(row as f32 / rows.max(1) as f32) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

/// A failure of a file, with its path.
fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::Io { path, error }
}

#[cfg(test)]
mod tests;
