//! Puts a new data set in the place of the old one by renames, so that a kill at any moment leaves something to finish, never to mend.
//!
//! The new one is written to `.edit/new` below the data set's own folder, which is on the same disk and which LeRobot looks past.
//! Once it is whole, `.edit/ready` appears: from then on the edit is finished, before it it is taken back. While the folders change
//! places there is no `meta`, so that no reader sees half of each.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::dataset::lock::WORKSHOP;
use crate::dataset::{Disk, Error};

/// What a data set is made of. What else is in its folder stays as it is.
const FAMILIES: [&str; 3] = ["meta", "data", "videos"];

/// Whether an edit was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// None was.
    Nothing,
    /// Before the new data set was whole: the old one is untouched.
    Begun,
    /// While the folders changed places, or just before.
    Ready,
}

/// What became of an interrupted edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// There was none.
    Nothing,
    /// It was finished: the data set is the new one.
    Finished,
    /// It was taken back: the data set is the old one.
    TakenBack,
}

/// Written when the new data set is whole: the folders that it has.
#[derive(Debug, Serialize, Deserialize)]
struct Ready {
    families: Vec<String>,
}

/// Where an edit works.
pub fn workshop(root: &Path) -> PathBuf {
    root.join(".edit")
}

/// Where the new data set is written.
pub fn beside(root: &Path) -> PathBuf {
    workshop(root).join("new")
}

fn marker(root: &Path) -> PathBuf {
    workshop(root).join("ready")
}

/// Whether an edit of the data set in `root` was interrupted.
pub fn pending(root: &Path) -> Pending {
    match (marker(root).is_file(), workshop(root).is_dir()) {
        (true, _) => Pending::Ready,
        (false, true) => Pending::Begun,
        (false, false) => Pending::Nothing,
    }
}

/// Finishes an interrupted edit of the data set in `root`, or takes it back. To be called before anything else is done with it.
///
/// # Errors
/// The disk fails; it can be called again.
pub fn settle(root: &Path, disk: &Disk) -> Result<Settled, Error> {
    match pending(root) {
        Pending::Nothing => Ok(Settled::Nothing),
        Pending::Begun => {
            disk.remove_folder(&workshop(root))?;
            Ok(Settled::TakenBack)
        }
        Pending::Ready => {
            exchange(root, disk)?;
            Ok(Settled::Finished)
        }
    }
}

/// Puts the new data set, which must be whole, in the place of the old one.
///
/// # Errors
/// The disk fails. If the new one was marked as whole, [`settle`] finishes it; else the old one is untouched.
pub fn commit(root: &Path, disk: &Disk) -> Result<(), Error> {
    let new = beside(root);
    let there = FAMILIES.iter().filter(|name| new.join(name).is_dir());
    let families = there.map(|name| (*name).to_owned()).collect();
    let text = serde_json::to_vec(&Ready { families }).unwrap_or_default();
    disk.sync_folder(&new)?;
    disk.replace(&marker(root), &text)?;
    exchange(root, disk)
}

fn exchange(root: &Path, disk: &Disk) -> Result<(), Error> {
    let path = marker(root);
    let text = std::fs::read(&path).map_err(|error| Error::Io {
        path: path.clone(),
        error,
    })?;
    let ready: Ready = serde_json::from_slice(&text).map_err(|error| Error::Malformed {
        path,
        why: format!(
            "{error}. Remove {} to keep the old data set",
            workshop(root).display()
        ),
    })?;
    disk.create_folder(&workshop(root).join("old"))?;
    // `meta` goes first and comes last.
    move_out(root, "meta", &ready, disk)?;
    for family in ["data", "videos"] {
        move_out(root, family, &ready, disk)?;
        move_in(root, family, disk)?;
    }
    move_in(root, "meta", disk)?;
    disk.remove_folder(&workshop(root))
}

/// Moves a folder of the old data set away, unless the new one is in its place already.
fn move_out(root: &Path, family: &str, ready: &Ready, disk: &Disk) -> Result<(), Error> {
    let (place, old) = (root.join(family), workshop(root).join("old").join(family));
    let has_new = ready.families.iter().any(|it| it == family);
    let moved_in = has_new && !beside(root).join(family).exists();
    if moved_in || !place.exists() || old.exists() {
        return Ok(());
    }
    disk.rename(&place, &old)
}

fn move_in(root: &Path, family: &str, disk: &Disk) -> Result<(), Error> {
    let new = beside(root).join(family);
    if !new.exists() {
        return Ok(());
    }
    disk.rename(&new, &root.join(family))
}

/// Whether the saving of an episode was interrupted; it must be finished before the episodes get other numbers.
pub fn is_being_saved(root: &Path) -> bool {
    let text = std::fs::read_to_string(root.join(WORKSHOP).join("saves.json")).unwrap_or_default();
    let ledger: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    ["saving", "packing"]
        .iter()
        .any(|it| ledger.get(it).is_some_and(|it| !it.is_null()))
}
