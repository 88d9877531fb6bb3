//! Reads data sets of LeRobot, v3.0 and v2, whoever wrote them: episodes, rows, tasks, cameras and pictures.

pub(super) mod columns;
mod episode;
pub(super) mod listing;
mod older;
pub(super) mod opening;
pub(super) mod parquet_file;
mod pictures;
mod rows;
mod version;

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::dataset::schema::Info;
use crate::dataset::schema::columns::OUTCOME;
use crate::dataset::{Error, Outcome};
use crate::observation::Frame;

use parquet_file::ParquetFile;
use pictures::Projector;

pub use episode::{Camera, Episode, Span};
pub use rows::{Column, Rows, Values};
pub use version::Version;

/// A data set on disk, opened for reading. Its lists are in memory; rows and pictures are read when they are asked for.
#[derive(Debug)]
pub struct Dataset {
    root: PathBuf,
    info: Info,
    version: Version,
    tasks: Vec<String>,
    cameras: Vec<Camera>,
    episodes: Vec<Episode>,
    projector: Projector,
}

impl Dataset {
    /// Opens the data set in the folder `root`.
    ///
    /// # Errors
    /// It is none, is of a layout that cannot be read, or one of its lists is damaged; the error names the file and the way out.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let root = root.into();
        let (info, version) = opening::info(&root)?;
        let cameras = opening::cameras(&info);
        let (tasks, episodes) = match version {
            Version::V30 => (
                listing::tasks(&root)?,
                listing::episodes(&root, &info, &cameras)?,
            ),
            Version::V20 | Version::V21 => (
                older::tasks(&root)?,
                older::episodes(&root, &info, &cameras)?,
            ),
        };
        let mut dataset = Self {
            root,
            info,
            version,
            tasks,
            cameras,
            episodes,
            projector: Projector::default(),
        };
        dataset.complete();
        Ok(dataset)
    }

    /// Finds in the tables what the list of episodes does not say. What cannot be read then stays unsaid: the rows say why when
    /// they are asked for.
    fn complete(&mut self) {
        let judged = self.info.features.get(OUTCOME).is_some();
        for at in 0..self.episodes.len() {
            let episode = &self.episodes[at];
            let unjudged = judged && episode.outcome == Outcome::Unmarked;
            if !unjudged && !episode.tasks.is_empty() {
                continue;
            }
            let wanted = |name: &str| matches!(name, OUTCOME | "task_index");
            let Ok(rows) = self.read_rows(episode, wanted, 0..episode.length) else {
                continue;
            };
            let tasks = self.tasks_of(&rows);
            let outcome = rows.scalars(OUTCOME);
            let outcome = outcome.and_then(|said| said.last().copied());
            let episode = &mut self.episodes[at];
            if episode.tasks.is_empty() {
                episode.tasks = tasks;
            }
            episode.outcome = outcome.map_or(episode.outcome, listing::outcome_from_number);
        }
    }

    /// The tasks of rows in words, each once, in order.
    fn tasks_of(&self, rows: &Rows) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for task in rows.task_indices() {
            if let Some(task) = self.tasks.get(task).filter(|task| !found.contains(task)) {
                found.push(task.clone());
            }
        }
        found
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What people call it: the folder's name.
    pub fn name(&self) -> String {
        let name = self.root.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// What `meta/info.json` says.
    pub fn info(&self) -> &Info {
        &self.info
    }

    pub fn version(&self) -> Version {
        self.version
    }

    /// Rows a second.
    pub fn fps(&self) -> f64 {
        f64::from(self.info.fps)
    }

    /// LeRobot's name of the robot; empty where the data set does not say.
    pub fn robot_type(&self) -> &str {
        self.info.robot_type.as_deref().unwrap_or_default()
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
        self.read_rows(episode, |_| true, 0..episode.length)
    }

    /// Some columns of an episode, by name; `episode_index` comes with them.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn columns(&self, episode: usize, names: &[&str]) -> Result<Rows, Error> {
        let episode = self.episode(episode)?;
        self.read_rows(episode, |name| names.contains(&name), 0..episode.length)
    }

    /// The columns that `wanted` says yes to, of a `part` of an episode's rows.
    fn read_rows(
        &self,
        episode: &Episode,
        wanted: impl Fn(&str) -> bool,
        part: Range<usize>,
    ) -> Result<Rows, Error> {
        let file = ParquetFile::open(self.root.join(&episode.table))?;
        // Episodes lie in a table one behind the other; LeRobot's row numbers go through all tables.
        let sharing = self.episodes.iter().filter(|it| it.table == episode.table);
        let first = sharing.map(|it| it.rows.start).min().unwrap_or(0);
        let first = usize::try_from(episode.rows.start - first).unwrap_or(usize::MAX);
        let end = first.saturating_add(episode.length);
        if end > file.rows() {
            return Err(file.malformed(format!(
                "has {} rows, but episode {} should end at its row {}: `smolpilot data check` says what else is wrong",
                file.rows(),
                episode.index, end
            )));
        }
        let wanted = |name: &str| name == "episode_index" || wanted(name);
        let place = first + part.start..first + part.end;
        let (columns, left_out) = file.columns(wanted, place)?;
        let rows = Rows {
            episode: episode.index,
            len: part.len(),
            columns,
            left_out,
        };
        let stray = rows
            .scalars("episode_index")
            .into_iter()
            .flatten()
            .find(|&said| outside(said, episode.index));
        match stray {
            None => Ok(rows),
            Some(said) => Err(file.malformed(format!(
                "holds a row of episode {said} where those of episode {} must be: `smolpilot data check` says what else is wrong",
                episode.index
            ))),
        }
    }

    /// The picture of `camera` at `row` of an episode, RGB. Neighbouring rows are cheap: the film stays open.
    ///
    /// # Errors
    /// There is no such episode, camera or row, the film is missing or damaged, or no decoder for it is there.
    pub fn frame(&mut self, episode: usize, camera: &str, row: usize) -> Result<Frame, Error> {
        let listed = self.episode(episode)?;
        if row >= listed.length {
            return Err(Error::Absent(format!(
                "episode {episode} has no row {row}: it has {}, counted from 0",
                listed.length
            )));
        }
        let (place, camera) = self.camera(camera)?;
        if camera.in_table {
            let rows = self.read_rows(listed, |name| name == camera.key, row..row + 1)?;
            return pictures::from_table(&rows, &camera.key, row, self.fps());
        }
        let span = &listed.spans[place];
        let film = self.root.join(&span.film);
        let number = span.first + row as u64;
        self.projector.frame(&film, number)
    }

    /// Lets go of open films, for example before the files are replaced.
    pub fn rest(&mut self) {
        self.projector = Projector::default();
    }
}

/// Whether a number in a column is another episode's.
fn outside(said: f64, episode: usize) -> bool {
    (said - listing::whole(episode)).abs() > 0.5
}
