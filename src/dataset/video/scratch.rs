//! A file that is needed for a while, and gone whatever happens after.

use std::fs;
use std::path::{Path, PathBuf};

/// A file that is removed when this is dropped. It need not be there.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0)
            && self.0.exists()
        {
            log::warn!("{} is left behind: {error}", self.0.display());
        }
    }
}
