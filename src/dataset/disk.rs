//! The one way to the disk for everything that is recorded, so that a test can make any write fail and see that nothing is lost.
//!
//! A file that others read appears under its name only when it is whole: written under a temporary name, brought to the disk,
//! renamed, and the folder brought to the disk.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Error;

/// What a test lets happen at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The disk is full from then on: nothing can be written or made, but removing and renaming work.
    Full,
    /// The disk gets full in the middle of the operation: half of what it writes is there.
    HalfWritten,
    /// The disk is read-only from then on.
    ReadOnly,
    /// The program ends in the middle of the operation: half of it is there, and nothing else happens.
    Killed,
    /// Only this operation fails.
    Once,
}

#[cfg(test)]
impl Failure {
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::HalfWritten,
        Self::ReadOnly,
        Self::Killed,
        Self::Once,
    ];

    /// With `SMOLPILOT_FAULTS=all` every operation fails in every way, which takes minutes; in the usual run some do in some.
    pub fn are_all_wanted() -> bool {
        std::env::var_os("SMOLPILOT_FAULTS").is_some_and(|which| which == "all")
    }
}

#[derive(Debug)]
struct FaultPlan {
    at: u64,
    failure: Failure,
}

/// The way to the disk. Cheap to clone; clones count their operations together.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    counted: Arc<AtomicU64>,
    plan: Option<Arc<FaultPlan>>,
}

/// What may be done now.
enum Leave {
    Whole,
    Half(io::Error),
}

/// What an operation needs of the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// New bytes or a new name: fails on a full disk.
    Room,
    /// Only a change of what is there.
    Change,
}

impl Disk {
    /// A disk that does as it is told.
    pub fn new() -> Self {
        Self::default()
    }

    /// A disk whose operation number `at`, counted from 0 over all clones, fails as told.
    pub fn failing(at: u64, failure: Failure) -> Self {
        Self {
            counted: Arc::default(),
            plan: Some(Arc::new(FaultPlan { at, failure })),
        }
    }

    /// How many operations there were, failed ones included.
    pub fn operations(&self) -> u64 {
        self.counted.load(Ordering::Relaxed)
    }

    /// Counts an operation and says how much of it may be done.
    fn ask(&self, need: Need) -> io::Result<Leave> {
        let number = self.counted.fetch_add(1, Ordering::Relaxed);
        let Some(plan) = &self.plan else {
            return Ok(Leave::Whole);
        };
        if number < plan.at {
            return Ok(Leave::Whole);
        }
        let first = number == plan.at;
        let full = || io::Error::new(io::ErrorKind::StorageFull, "no room left (test)");
        let only_read = || io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "read-only (test)");
        let killed = || io::Error::other("killed (test)");
        match plan.failure {
            Failure::HalfWritten if need == Need::Room && first => Ok(Leave::Half(full())),
            Failure::Full | Failure::HalfWritten if need == Need::Room => Err(full()),
            Failure::ReadOnly => Err(only_read()),
            Failure::Killed if first => Ok(Leave::Half(killed())),
            Failure::Killed => Err(killed()),
            Failure::Once if first => Err(io::Error::other("failed once (test)")),
            Failure::Full | Failure::HalfWritten | Failure::Once => Ok(Leave::Whole),
        }
    }

    /// Does something that is either done or not.
    fn act(
        &self,
        path: &Path,
        need: Need,
        act: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), Error> {
        let leave = self.ask(need).map_err(|error| at(path, error))?;
        match leave {
            Leave::Whole => act().map_err(|error| at(path, error)),
            Leave::Half(error) => Err(at(path, error)),
        }
    }

    /// Makes the folder and those above it.
    pub fn create_folder(&self, path: &Path) -> Result<(), Error> {
        if path.is_dir() {
            return Ok(());
        }
        self.act(path, Need::Room, || fs::create_dir_all(path))?;
        match path.parent() {
            Some(above) => self.sync_folder(above),
            None => Ok(()),
        }
    }

    /// Opens a new, empty file for writing; one that is there is emptied.
    pub fn create(&self, path: &Path) -> Result<File, Error> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        self.open(path, &options)
    }

    /// Opens a file for writing at its end; made when it is not there.
    pub fn append(&self, path: &Path) -> Result<File, Error> {
        let mut options = fs::OpenOptions::new();
        options.append(true).create(true);
        self.open(path, &options)
    }

    fn open(&self, path: &Path, options: &fs::OpenOptions) -> Result<File, Error> {
        let mut opened = None;
        self.act(path, Need::Room, || {
            opened = Some(options.open(path)?);
            Ok(())
        })?;
        let file = opened.ok_or_else(|| at(path, io::Error::other("was not opened")))?;
        Ok(File {
            inner: file,
            path: path.to_owned(),
            disk: self.clone(),
        })
    }

    /// Cuts the file to its first `bytes` bytes and brings it to the disk.
    pub fn truncate(&self, path: &Path, bytes: u64) -> Result<(), Error> {
        self.act(path, Need::Change, || {
            let file = fs::OpenOptions::new().write(true).open(path)?;
            file.set_len(bytes)?;
            file.sync_all()
        })
    }

    /// Gives a file or a folder another name, replacing a file that has it, and brings the folder to the disk.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.act(to, Need::Change, || fs::rename(from, to))?;
        match to.parent() {
            Some(folder) => self.sync_folder(folder),
            None => Ok(()),
        }
    }

    /// Brings a folder's names to the disk. Windows does so by itself.
    pub fn sync_folder(&self, path: &Path) -> Result<(), Error> {
        self.act(path, Need::Change, || {
            if cfg!(windows) {
                return Ok(());
            }
            let folder = if path.as_os_str().is_empty() {
                Path::new(".")
            } else {
                path
            };
            fs::File::open(folder)?.sync_all()
        })
    }

    /// Removes a file; none there is as good.
    pub fn remove(&self, path: &Path) -> Result<(), Error> {
        self.act(path, Need::Change, || allow_absent(fs::remove_file(path)))
    }

    /// Removes a folder with all that is in it; none there is as good.
    pub fn remove_folder(&self, path: &Path) -> Result<(), Error> {
        self.act(path, Need::Change, || {
            allow_absent(fs::remove_dir_all(path))
        })
    }

    /// Puts bytes under a name, whole or not at all.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        self.replace_by(path, |file| {
            file.write_all(bytes).map_err(|error| at(path, error))
        })
    }

    /// Puts what `write` writes under a name, whole or not at all. What was under the name stays readable until then.
    pub fn replace_by(
        &self,
        path: &Path,
        write: impl FnOnce(&mut io::BufWriter<File>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Some(folder) = path.parent() {
            self.create_folder(folder)?;
        }
        let part = part_of(path);
        let mut file = io::BufWriter::with_capacity(1 << 18, self.create(&part)?);
        let written = write(&mut file).and_then(|()| {
            let file = file
                .into_inner()
                .map_err(|error| at(&part, error.into_error()))?;
            file.sync()
        });
        match written.and_then(|()| self.rename(&part, path)) {
            Ok(()) => Ok(()),
            Err(error) => {
                // Half a file is only room lost; that it cannot be removed adds nothing to what failed before it.
                self.remove(&part).ok();
                Err(error)
            }
        }
    }

    /// Puts the file `from` also under the name `to`, whole or not at all: a second name for the same bytes where the disk can,
    /// else a copy. `from` stays.
    pub fn place(&self, from: &Path, to: &Path) -> Result<(), Error> {
        if let Some(folder) = to.parent() {
            self.create_folder(folder)?;
        }
        self.act(from, Need::Change, || {
            fs::OpenOptions::new().write(true).open(from)?.sync_all()
        })?;
        let part = part_of(to);
        self.remove(&part)?;
        let mut linked = false;
        self.act(&part, Need::Room, || {
            linked = fs::hard_link(from, &part).is_ok();
            Ok(())
        })?;
        if linked {
            self.remove(to)?;
            return self.rename(&part, to);
        }
        self.replace_by(to, |file| {
            let mut source = fs::File::open(from).map_err(|error| at(from, error))?;
            let copied = io::copy(&mut source, file);
            copied.map(drop).map_err(|error| at(to, error))
        })
    }

    /// Bytes that may still be written where `path` is or will be.
    pub fn room_left(&self, path: &Path) -> Result<u64, Error> {
        let there = path.ancestors().find(|folder| folder.exists());
        let folder = there.unwrap_or(Path::new("."));
        fs4::available_space(folder).map_err(|error| at(path, error))
    }
}

/// A file that is being written through a [`Disk`].
#[derive(Debug)]
pub struct File {
    inner: fs::File,
    path: PathBuf,
    disk: Disk,
}

impl File {
    /// Brings what was written to the disk: power may go after it.
    pub fn sync(&self) -> Result<(), Error> {
        let synced = || self.inner.sync_all();
        self.disk.act(&self.path, Need::Change, synced)
    }

    /// A second handle on the file, to sync it from another thread.
    pub fn try_clone(&self) -> Result<Self, Error> {
        let inner = self
            .inner
            .try_clone()
            .map_err(|error| at(&self.path, error))?;
        Ok(Self {
            inner,
            path: self.path.clone(),
            disk: self.disk.clone(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl io::Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.disk.ask(Need::Room)? {
            Leave::Whole => self.inner.write(bytes),
            Leave::Half(error) => {
                self.inner.write_all(&bytes[..bytes.len() / 2])?;
                Err(error)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl io::Seek for File {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// The temporary name beside a final one. It must not end as the final one does: LeRobot reads every `*.parquet`.
pub fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_stem().map_or_else(OsString::new, OsString::from);
    name.push(".part");
    path.with_file_name(name)
}

/// An error at a path.
pub fn at(path: &Path, error: io::Error) -> Error {
    Error::Io {
        path: path.to_owned(),
        error,
    }
}

fn allow_absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all_whatever_fails() {
        for failure in Failure::ALL {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("info.json");
            let mut at = 0;
            loop {
                Disk::new().replace(&path, b"old words").unwrap();
                let disk = Disk::failing(at, failure);
                let replaced = disk.replace(&path, b"new");
                // The operation that only makes the new name last may fail after the name is there.
                let renamed = ["new", "old words"].contains(&text(&path).as_str());
                assert!(renamed, "{failure:?} at {at}: {}", text(&path));
                if replaced.is_ok() {
                    assert_eq!(text(&path), "new", "{failure:?} at {at}");
                }
                if disk.operations() <= at {
                    break;
                }
                at += 1;
            }
            assert!(at >= 4, "{failure:?}: only {at} operations");
        }
    }

    #[test]
    fn half_a_write_leaves_half() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.bin");
        let disk = Disk::failing(1, Failure::HalfWritten);
        let mut file = disk.create(&path).unwrap();
        let error = file.write_all(b"12345678").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(text(&path), "1234");
        assert!(file.write_all(b"9").is_err(), "it stays full");
        drop(file);
        disk.remove(&path).unwrap();
    }

    #[test]
    fn a_placed_file_has_both_names() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.mp4"), folder.path().join("b/c.mp4"));
        fs::write(&from, "film").unwrap();
        Disk::new().place(&from, &to).unwrap();
        Disk::new().place(&from, &to).unwrap();
        assert_eq!((text(&from), text(&to)), ("film".into(), "film".into()));
        assert!(!part_of(&to).exists());
    }

    #[test]
    fn a_temporary_name_is_no_table() {
        let part = part_of(Path::new("data/chunk-000/file-000.parquet"));
        assert_eq!(part, Path::new("data/chunk-000/file-000.part"));
    }
}
