//! The journals of one data set: where they lie, which are left from an earlier session, and how one goes.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::dataset::journal::{Commit, Header, Journal, Whole};
use crate::dataset::lock::WORKSHOP;
use crate::dataset::{Disk, Error, Interrupted, Plan, disk};

/// Where a discarded journal waits until the next episode begins.
const TRASH: &str = "trash";
/// Ends the name of a journal that is being removed.
const GONE: &str = "gone";

/// The journals of a data set.
#[derive(Clone, Debug)]
pub struct Shelf {
    root: PathBuf,
    disk: Disk,
}

/// A journal that an earlier session left.
#[derive(Debug)]
pub struct Found {
    pub journal: Journal,
    pub whole: Whole,
    /// It was kept, and is whole as far as it was.
    pub commit: Option<Commit>,
}

/// All that an earlier session left.
#[derive(Debug, Default)]
pub struct Left {
    /// Oldest first.
    pub found: Vec<Found>,
    /// Folders that hold something which cannot be read, and why.
    pub unreadable: Vec<(String, Error)>,
    /// Folders of episodes that had no row yet.
    pub empty: Vec<PathBuf>,
}

impl Shelf {
    pub fn new(root: &Path, disk: &Disk) -> Self {
        Self {
            root: root.to_owned(),
            disk: disk.clone(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.root.join(WORKSHOP)
    }

    fn trash(&self) -> PathBuf {
        self.folder().join(TRASH)
    }

    /// Begins a journal for the plan's next episode, whose number will be about `episode`.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn begin(&self, plan: &Plan, episode: usize) -> Result<Journal, Error> {
        let id = unused_id(episode, |id| self.folder().join(id).exists());
        let header = Header::new(&id, plan);
        let folder = self.folder().join(&id);
        let created = Journal::create(folder.clone(), header, &self.disk);
        if created.is_err() {
            // What is left of it is empty, and is removed by the next to open the data set if it cannot be now.
            self.disk.remove_folder(&folder).ok();
        }
        created
    }

    /// What lies here. Reads every journal from end to end.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn look(&self) -> Result<Left, Error> {
        let mut left = Left::default();
        for name in names(&self.folder())? {
            let folder = self.folder().join(&name);
            match read(&folder) {
                Ok(Some(found)) => left.found.push(found),
                Ok(None) => left.empty.push(folder),
                Err(error) => left.unreadable.push((name, error)),
            }
        }
        Ok(left)
    }

    /// The journal that was discarded last, if it is still there.
    pub fn discarded(&self) -> Option<Found> {
        let names = names(&self.trash()).ok()?;
        let newest = self.trash().join(names.last()?);
        read(&newest).ok().flatten()
    }

    /// The journal of that id, discarded or not.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn find(&self, id: &str) -> Result<Found, Error> {
        let absent = || Error::Absent(format!("no interrupted episode is called {id:?}"));
        let places = [self.folder().join(id), self.trash().join(id)];
        let is_name = Path::new(id).file_name() == Some(OsStr::new(id));
        let folder = places.into_iter().find(|folder| folder.is_dir());
        let folder = folder.filter(|_| is_name).ok_or_else(absent)?;
        read(&folder)?.ok_or_else(absent)
    }

    /// Puts a journal where it can be recovered from until the next episode begins.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn discard(&self, journal: &Journal) -> Result<(), Error> {
        self.disk.create_folder(&self.trash())?;
        self.disk
            .rename(journal.folder(), &self.trash().join(journal.id()))
    }

    /// Takes a journal out of the trash again; returns it where it lies now.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn restore(&self, journal: Journal) -> Result<Journal, Error> {
        let home = self.folder().join(journal.id());
        if journal.folder() == home {
            return Ok(journal);
        }
        self.disk.rename(journal.folder(), &home)?;
        let restored = Journal::open(&home)?;
        restored.ok_or_else(|| Error::Absent(format!("{} is gone", home.display())))
    }

    /// Removes a journal so that a program which ends meanwhile leaves nothing that looks like one.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn remove(&self, folder: &Path) -> Result<(), Error> {
        let gone = folder.with_extension(GONE);
        self.disk.rename(folder, &gone)?;
        self.disk.remove_folder(&gone)
    }

    /// Removes the journal, or whatever lies under that name.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn forget(&self, id: &str) -> Result<(), Error> {
        let is_name = Path::new(id).file_name() == Some(OsStr::new(id));
        let folder = self.folder().join(id);
        if !is_name || !folder.is_dir() {
            return Err(Error::Absent(format!(
                "no interrupted episode is called {id:?}"
            )));
        }
        self.remove(&folder)
    }

    /// Drops for good what was discarded.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn empty_trash(&self) -> Result<(), Error> {
        if self.trash().exists() {
            self.disk.remove_folder(&self.trash())?;
        }
        Ok(())
    }

    /// Removes what an earlier session had begun to remove.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn sweep(&self) -> Result<(), Error> {
        for folder in folders(&self.folder())? {
            if folder.extension() == Some(OsStr::new(GONE)) {
                self.disk.remove_folder(&folder)?;
            }
        }
        Ok(())
    }

    /// Leaves the data set as others expect it: what was discarded goes, and the folder of the journals, if none is left. For
    /// whoever holds the data set's lock.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn close(&self) -> Result<(), Error> {
        self.empty_trash()?;
        let folder = self.folder();
        if folder.is_dir() && folders(&folder)?.is_empty() {
            self.disk.remove_folder(&folder)?;
        }
        Ok(())
    }
}

/// Episodes that are left in the journals of the data set at `root`, each with the plan it was recorded by: to be recovered by a
/// [`Recorder`](crate::dataset::Recorder) of that plan. Looks only.
///
/// # Errors
/// The folder cannot be read.
pub fn left_in(root: &Path) -> Result<Vec<(Interrupted, Plan)>, Error> {
    let left = Shelf::new(root, &Disk::new()).look()?;
    let offer = |found: &Found| {
        let journal = &found.journal;
        (journal.interrupted(&found.whole), journal.plan(root))
    };
    Ok(left.found.iter().map(offer).collect())
}

/// Reads the journal in a folder; `None` where it holds no whole row.
fn read(folder: &Path) -> Result<Option<Found>, Error> {
    let Some(journal) = Journal::open(folder)? else {
        return Ok(None);
    };
    let whole = journal.whole()?;
    // A commit promises rows that must be there. Without them it is an interrupted episode as any other.
    let commit = journal.committed()?;
    let commit = commit.filter(|commit| commit.rows <= whole.rows);
    Ok((whole.rows > 0).then_some(Found {
        journal,
        whole,
        commit,
    }))
}

/// The journals' names in a folder, oldest first.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let journals = folders(folder)?.into_iter().filter(|folder| {
        let is_gone = folder.extension() == Some(OsStr::new(GONE));
        !is_gone && folder.file_name() != Some(OsStr::new(TRASH))
    });
    let mut names: Vec<_> = journals
        .filter_map(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.sort_by_key(|name| (moment_of(name), name.clone()));
    Ok(names)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(|error| disk::at(folder, error))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| disk::at(folder, error))?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    Ok(found)
}

/// An id that no journal of this data set has had: it ends with the moment at which it was made, microseconds since 1970.
fn unused_id(episode: usize, is_used: impl Fn(&str) -> bool) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut moment = now.map_or(0, |since| since.as_micros());
    loop {
        let id = format!("ep-{episode:06}-{moment:014x}");
        if !is_used(&id) {
            return id;
        }
        moment += 1;
    }
}

fn moment_of(id: &str) -> String {
    id.rsplit('-').next().unwrap_or(id).to_owned()
}
