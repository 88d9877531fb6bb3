//! A data set from the hub, into a plain folder: file by file, taken up again where it broke, and a data set only when all is there.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{CARD, FOLDERS, INFO, belongs};
use crate::dataset::Error;
use crate::hub::{self, Hub, HubId, Progress, Reading};

/// What is on its way.
const BASKET: &str = ".download";
/// Says where a folder's files came from.
const ORIGIN: &str = ".hub.json";

/// Where a folder's files came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    name: String,
    commit: String,
}

/// Fetches a data set into the folder `root`. What a broken download left there is kept and gone on from; a folder that holds it
/// whole already is left as it is.
///
/// # Errors
/// The hub refuses or is not reached, the folder holds something else or another state of it, the disk is full, or the listener
/// wants no more.
pub fn download(hub: &Hub, id: &HubId, root: &Path, progress: Progress<'_>) -> Result<(), Error> {
    let origin = Origin::of(root).filter(|origin| origin.name == id.name);
    let is_whole = root.join(INFO).is_file();
    if origin.is_none() && !is_free(root) {
        return Err(Error::Absent(format!(
            "{} holds something else already: name another folder",
            root.display()
        )));
    }
    let reading = match hub.cached_in(root.join(BASKET)).read(id) {
        Ok(reading) => reading,
        // It is here, and nobody knows better.
        Err(why) if is_whole && why.is_unreachable() => return Ok(()),
        Err(why) => return Err(why.into()),
    };
    if is_whole {
        return match origin {
            Some(origin) if origin.commit == reading.commit => Ok(()),
            _ => Err(Error::Absent(format!(
                "{} holds an earlier state of `{id}`, perhaps with changes of your own: name another folder, or remove it",
                root.display()
            ))),
        };
    }
    if !reading.files.contains_key(INFO) {
        return Err(
            hub::Error::unfit(id, "has no meta/info.json, so it is no LeRobot data set").into(),
        );
    }
    if origin.is_some_and(|origin| origin.commit != reading.commit) {
        clear(root).map_err(|why| hub::Error::disk(id, root, &why))?;
    }
    let origin = Origin {
        name: id.name.clone(),
        commit: reading.commit.clone(),
    };
    origin
        .write(root)
        .map_err(|why| hub::Error::disk(id, root, &why))?;
    fill(id, root, &reading, progress)?;
    // What is left of it is empty folders.
    fs::remove_dir_all(root.join(BASKET)).ok();
    Ok(())
}

/// Fetches what is missing, the file that makes it a data set last.
fn fill(id: &HubId, root: &Path, reading: &Reading, progress: Progress<'_>) -> Result<(), Error> {
    let wanted = reading.files.iter().filter(|(name, _)| belongs(name));
    let (last, mut wanted): (Vec<_>, Vec<_>) = wanted.partition(|(name, _)| *name == INFO);
    wanted.extend(last);
    // A byte for each file whose size is unknown, or that is empty, so that all of them count.
    let weight = |size: &Option<u64>| size.unwrap_or(1).max(1) as f64;
    let whole: f64 = wanted.iter().map(|(_, size)| weight(size)).sum();
    let mut done = 0.0;
    for (name, size) in wanted {
        let place = root.join(name);
        let own = weight(size);
        if !place.is_file() {
            let cached = if *size == Some(0) {
                None
            } else {
                Some(reading.fetch(name, &mut |part| {
                    progress(((done + f64::from(part) * own) / whole) as f32)
                })?)
            };
            settle(cached.as_deref(), &place).map_err(|why| hub::Error::disk(id, root, &why))?;
        }
        done += own;
        if progress((done / whole) as f32) == ControlFlow::Break(()) {
            return Err(hub::Error::Cancelled { id: id.to_string() }.into());
        }
    }
    Ok(())
}

/// Moves a file out of the basket to where it belongs. An empty one was not fetched: there is no range to ask for in it.
fn settle(cached: Option<&Path>, place: &Path) -> io::Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    let Some(pointer) = cached else {
        return fs::write(place, []);
    };
    // The basket keeps content by its hash, with links to it where links can be made.
    let content = pointer.canonicalize()?;
    fs::rename(content, place)?;
    match fs::remove_file(pointer) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    }
}

/// Whether nothing is there that could be lost.
fn is_free(root: &Path) -> bool {
    match fs::read_dir(root) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !root.exists(),
    }
}

/// Removes what came of another commit.
fn clear(root: &Path) -> io::Result<()> {
    let places = FOLDERS.iter().map(|folder| root.join(folder));
    for place in places.filter(|place| place.is_dir()) {
        fs::remove_dir_all(place)?;
    }
    match fs::remove_file(root.join(CARD)) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    }
}

impl Origin {
    fn path(root: &Path) -> PathBuf {
        root.join(ORIGIN)
    }

    fn of(root: &Path) -> Option<Self> {
        let text = fs::read_to_string(Self::path(root)).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn write(&self, root: &Path) -> io::Result<()> {
        fs::create_dir_all(root)?;
        fs::write(Self::path(root), serde_json::to_string(self)?)
    }
}
