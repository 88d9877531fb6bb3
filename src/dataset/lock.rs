//! One program at a time records into a data set or changes it.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use super::Error;
use super::disk::at;

/// The folder within a data set for what is on its way into it; LeRobot looks past it.
pub const WORKSHOP: &str = ".recording";

/// Held while a program writes to a data set. The system lets go of it when the program ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the data set in `root`, whose folder is made where there is none.
    ///
    /// # Errors
    /// `Error::Locked` when another holds it; otherwise the folder cannot be written.
    pub fn take(root: &Path) -> Result<Self, Error> {
        let folder = root.join(WORKSHOP);
        fs::create_dir_all(&folder).map_err(|error| at(&folder, error))?;
        let path = folder.join("lock");
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(|error| at(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::Locked {
                root: root.to_owned(),
            }),
            Err(TryLockError::Error(error)) => Err(at(&path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("set");
        let first = Lock::take(&root).unwrap();
        assert!(matches!(Lock::take(&root), Err(Error::Locked { .. })));
        drop(first);
        Lock::take(&root).unwrap();
    }
}
