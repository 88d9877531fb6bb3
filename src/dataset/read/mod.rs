//! Reads data sets of LeRobot, v3.0 and v2, whoever wrote them: episodes, rows, tasks, cameras and pictures.

mod episode;
mod rows;
mod version;

use std::path::{Path, PathBuf};

use crate::dataset::Error;
use crate::observation::Frame;

pub use episode::{Camera, Episode, Span};
pub use rows::{Column, Rows, Values};
pub use version::Version;

/// A data set on disk, opened for reading. Its lists are in memory; rows and pictures are read when they are asked for.
#[derive(Debug)]
pub struct Dataset {
    root: PathBuf,
    version: Version,
    fps: f64,
    robot_type: String,
    tasks: Vec<String>,
    cameras: Vec<Camera>,
    episodes: Vec<Episode>,
}

impl Dataset {
    /// Opens the data set in the folder `root`.
    ///
    /// # Errors
    /// It is none, is of a layout that cannot be read, or one of its lists is damaged; the error names the file and the way out.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let root = root.into();
        Err(Error::Absent(format!("{} is no data set", root.display())))
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What people call it: the folder's last two names where the first is an owner's, `lerobot/pusht`.
    pub fn name(&self) -> String {
        let name = self.root.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    pub fn version(&self) -> Version {
        self.version
    }

    /// Rows a second.
    pub fn fps(&self) -> f64 {
        self.fps
    }

    /// LeRobot's name of the robot; empty where the data set does not say.
    pub fn robot_type(&self) -> &str {
        &self.robot_type
    }

    /// Tasks in words, by `task_index`.
    pub fn tasks(&self) -> &[String] {
        &self.tasks
    }

    pub fn cameras(&self) -> &[Camera] {
        &self.cameras
    }

    /// All episodes, by number.
    pub fn episodes(&self) -> &[Episode] {
        &self.episodes
    }

    /// Rows of all episodes.
    pub fn frames(&self) -> u64 {
        self.episodes.iter().map(|it| it.length as u64).sum()
    }

    /// One episode of the list.
    ///
    /// # Errors
    /// There is none of this number.
    pub fn episode(&self, index: usize) -> Result<&Episode, Error> {
        self.episodes.get(index).ok_or_else(|| {
            Error::Absent(format!(
                "{} has no episode {index}: it has {}, counted from 0",
                self.root.display(),
                self.episodes.len()
            ))
        })
    }

    /// A camera by its feature or by the last part of it, and its place in [`cameras`](Self::cameras).
    ///
    /// # Errors
    /// There is none of this name.
    pub fn camera(&self, name: &str) -> Result<(usize, &Camera), Error> {
        let mut cameras = self.cameras.iter().enumerate();
        let found = cameras.find(|(_, camera)| camera.key == name || camera.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = self.cameras.iter().map(|it| it.name.as_str()).collect();
            Error::Absent(format!(
                "{} has no camera {name}; it has {}",
                self.root.display(),
                names.join(", ")
            ))
        })
    }

    /// All columns of an episode.
    ///
    /// # Errors
    /// Its table is missing, damaged, or holds other rows than the list of episodes says.
    pub fn rows(&self, episode: usize) -> Result<Rows, Error> {
        let episode = self.episode(episode)?;
        Err(Error::Absent(format!("no rows of {}", episode.index)))
    }

    /// The picture of `camera` at `row` of an episode, RGB. Neighbouring rows are cheap: the film stays open.
    ///
    /// # Errors
    /// There is no such episode, camera or row, the film is missing or damaged, or no decoder for it is there.
    pub fn frame(&mut self, episode: usize, camera: &str, row: usize) -> Result<Frame, Error> {
        let span = self.camera(camera)?;
        Err(Error::Absent(format!(
            "no picture {row} of episode {episode} of {}",
            span.1.name
        )))
    }

    /// Lets go of open films, for example before the files are replaced.
    pub fn rest(&mut self) {}
}
