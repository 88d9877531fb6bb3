//! What is on its way into a data set, written down before it begins: after a crash it is finished or taken back, never half.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::dataset::disk::at;
use crate::dataset::lock::WORKSHOP;
use crate::dataset::schema::FilePlace;
use crate::dataset::schema::info::pretty;
use crate::dataset::{Disk, Error};

/// Journals that are remembered as saved. A journal is removed soon after its save; more than a few never wait.
const REMEMBERED: usize = 4096;

/// The ledger of a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Journals that are in the data set, oldest first, and the numbers that their episodes got.
    #[serde(default)]
    pub saved: Vec<(String, usize)>,
    /// The save that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saving: Option<Saving>,
    /// The joining of films that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,
}

/// A save that runs, and what it makes: to be taken back if the episode did not get into the table of episodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saving {
    pub journal: String,
    pub episode: usize,
    pub rows: usize,
    pub from: u64,
    /// The table of rows that it goes into, and how many row groups were there before; 0 when it is a new file.
    pub place: FilePlace,
    pub kept: usize,
    /// New films, relative to the data set.
    pub films: Vec<PathBuf>,
}

/// A joining of films that runs: once the joined film is there, the table of episodes follows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packing {
    /// The camera.
    pub key: String,
    /// The film that the others are joined to. It grows in place, so that what pointed into it still does.
    pub into: FilePlace,
    /// Its pictures once it is joined.
    pub rows: usize,
    /// All its episodes then, and the picture that each begins with.
    pub moved: Vec<(usize, usize)>,
    /// The others, relative to the data set.
    pub films: Vec<PathBuf>,
}

fn path(root: &Path) -> PathBuf {
    root.join(WORKSHOP).join("saves.json")
}

impl Ledger {
    /// Reads it; an empty one where there is none.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let path = path(root);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(|error| at(&path, error))?,
        };
        serde_json::from_str(&text).map_err(|error| Error::Malformed {
            path,
            why: format!("{error}. Remove it if nothing was being saved"),
        })
    }

    pub fn write(&self, root: &Path, disk: &Disk) -> Result<(), Error> {
        disk.replace(&path(root), pretty(self).as_bytes())
    }

    /// The number that the journal's episode got.
    pub fn episode(&self, journal: &str) -> Option<usize> {
        let mut saved = self.saved.iter().rev();
        saved
            .find(|(known, _)| known == journal)
            .map(|(_, episode)| *episode)
    }

    /// The save that runs is done.
    pub fn done(&mut self) {
        if let Some(saving) = self.saving.take() {
            self.saved.push((saving.journal, saving.episode));
        }
        let beyond = self.saved.len().saturating_sub(REMEMBERED);
        self.saved.drain(..beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_remembers_what_was_saved() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::read(folder.path()).unwrap();
        for episode in 0..3 {
            ledger.saving = Some(Saving {
                journal: format!("ep-{episode}"),
                episode,
                films: vec!["videos/a.mp4".into()],
                ..Saving::default()
            });
            ledger.write(folder.path(), &Disk::new()).unwrap();
            assert_eq!(Ledger::read(folder.path()).unwrap(), ledger);
            ledger.done();
        }
        assert_eq!(
            (ledger.episode("ep-1"), ledger.episode("ep-3")),
            (Some(1), None)
        );
        fs::write(path(folder.path()), "{").unwrap();
        assert!(
            Ledger::read(folder.path())
                .unwrap_err()
                .to_string()
                .contains("saves.json")
        );
    }
}
