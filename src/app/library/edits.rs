//! Changes to a data set that the page asks for: each is written beside and put in its place at the very end.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::app::library::job::{CANCELLED, Outcome, Voice};
use crate::app::library::work::{Task, said};
use crate::dataset::edit::{self, Edit, Edited, Pending, Settled};
use crate::dataset::lock::Lock;
use crate::dataset::{Disk, Error};
use crate::runtime::LibraryOrder;

/// The job of an edit of the data set in `root`.
///
/// # Errors
/// The order is none of an edit.
pub fn task(order: LibraryOrder, root: PathBuf) -> Result<Task, String> {
    let (what, edit) = match order {
        LibraryOrder::Merge { with, into } => return Ok(merging(vec![root, with], into)),
        LibraryOrder::Delete(episodes) => ("deleting", Edit::Delete(episodes)),
        LibraryOrder::Trim { episode, from, to } => {
            let rows = from..to;
            ("trimming", Edit::Trim { episode, rows })
        }
        LibraryOrder::Relabel { episodes, task } => {
            ("relabelling", Edit::Relabel { episodes, task })
        }
        LibraryOrder::Mark { episodes, outcome } => ("marking", Edit::Mark { episodes, outcome }),
        other => return Err(format!("{other:?} changes nothing")),
    };
    Ok(Task::editing(what, move |voice| {
        let edited = edit::apply(&root, &edit, &Disk::new(), &mut heard(voice, what));
        edited
            .map(|edited| done(&edited))
            .map_err(|error| ended(&error, voice))
    }))
}

fn merging(roots: Vec<PathBuf>, into: PathBuf) -> Task {
    let what = "merging";
    Task::looking(what, move |voice| {
        let merged = edit::merge(&roots, &into, &Disk::new(), &mut heard(voice, what));
        merged
            .map(|merged| Outcome::Made(merged.root))
            .map_err(|error| ended(&error, voice))
    })
}

/// Passes on how far it is, and whether to go on.
fn heard<'a>(voice: &'a mut Voice, what: &'a str) -> impl FnMut(&str, f32) -> ControlFlow<()> + 'a {
    move |stage, share| {
        if voice.say(&format!("{what}: {stage}"), Some(share)) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// Why an edit came to nothing.
fn ended(error: &Error, voice: &Voice) -> String {
    if voice.is_cancelled() {
        return CANCELLED.to_owned();
    }
    said(error)
}

fn done(edited: &Edited) -> Outcome {
    Outcome::Done(format!(
        "Done: {} episodes, {} rows; {} pictures kept as they were, {} encoded again",
        edited.episodes, edited.frames, edited.kept, edited.encoded
    ))
}

/// Finishes an edit that was interrupted, or takes it back, before the data set is looked at; words for what was done.
///
/// # Errors
/// The disk fails; words for the person.
pub fn settled(root: &Path) -> Result<Option<&'static str>, String> {
    if edit::pending(root) == Pending::Nothing {
        return Ok(None);
    }
    let _held = match Lock::take(root) {
        Ok(lock) => lock,
        // Another program is in the middle of it.
        Err(Error::Locked { .. }) => return Ok(None),
        Err(error) => return Err(said(&error)),
    };
    match edit::settle(root, &Disk::new()) {
        Ok(Settled::Nothing) => Ok(None),
        Ok(Settled::Finished) => Ok(Some("A change that was interrupted was finished")),
        Ok(Settled::TakenBack) => Ok(Some("A change that was interrupted was taken back")),
        Err(error) => Err(said(&error)),
    }
}
