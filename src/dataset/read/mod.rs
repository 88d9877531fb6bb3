//! Reads data sets of LeRobot, v3.0 and v2, whoever wrote them: episodes, rows, tasks, cameras and pictures.

mod episode;
mod episode_rows;
pub(super) mod listing;
pub(super) mod older;
pub(super) mod opening;
pub(super) mod parquet_file;
mod pictures;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
mod version;

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::dataset::schema::Info;
use crate::dataset::schema::columns::{EPISODE_INDEX, OUTCOME, TASK_INDEX};
use crate::dataset::table::{Table, rows, tasks};
use crate::dataset::{Error, Outcome};
use crate::observation::Frame;

use parquet_file::{Footer, explained};
use pictures::Projector;

pub use episode::{Camera, Episode, Span};
pub use episode_rows::Rows;
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
        let tasks = tasks::read(&root).map_err(explained)?;
        let episodes = match version {
            Version::V30 => listing::episodes(&root, &info, &cameras),
            Version::V20 | Version::V21 => older::episodes(&root, &info, &cameras),
        }
        .map_err(explained)?;
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
            let wanted = Some(&[OUTCOME, TASK_INDEX][..]);
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
        self.read_rows(episode, None, 0..episode.length)
    }

    /// Some columns of an episode, by name; `episode_index` comes with them.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn columns(&self, episode: usize, names: &[&str]) -> Result<Rows, Error> {
        let episode = self.episode(episode)?;
        self.read_rows(episode, Some(names), 0..episode.length)
    }

    /// All columns of an episode but its pictures.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn numbers(&self, episode: usize) -> Result<Rows, Error> {
        let columns = self.info.features.columns();
        let names = columns.filter(|(_, feature)| !feature.dtype.is_picture());
        let names: Vec<_> = names.map(|(name, _)| name).collect();
        self.columns(episode, &names)
    }

    /// The columns of these names, all when `None`, of a `part` of an episode's rows.
    fn read_rows(
        &self,
        episode: &Episode,
        names: Option<&[&str]>,
        part: Range<usize>,
    ) -> Result<Rows, Error> {
        let path = self.root.join(&episode.table);
        // Episodes lie in a table one behind the other; LeRobot's row numbers go through all tables.
        let sharing = self.episodes.iter().filter(|it| it.table == episode.table);
        let first = sharing.map(|it| it.rows.start).min().unwrap_or(0);
        let first = usize::try_from(episode.rows.start - first).unwrap_or(usize::MAX);
        let place = first.saturating_add(part.start)..first.saturating_add(part.end);
        let names = names.map(|names| [names, &[EPISODE_INDEX]].concat());
        let (table, left_out) = read_columns(&path, names.as_deref(), &place)?;
        if table.rows < part.len() {
            let why = format!(
                "ends before row {} of episode {}: `smolpilot data check` says what else is wrong",
                part.start + table.rows,
                episode.index
            );
            return Err(Error::Malformed { path, why });
        }
        let rows = Rows {
            episode: episode.index,
            table,
            left_out,
            joints: self.info.features.joints(),
        };
        let numbers = rows.scalars(EPISODE_INDEX).unwrap_or_default();
        match numbers.iter().find(|&&said| said != episode.index as f64) {
            None => Ok(rows),
            Some(said) => Err(Error::Malformed {
                path,
                why: format!(
                    "holds a row of episode {said} where those of episode {} must be: `smolpilot data check` says what else is wrong",
                    episode.index
                ),
            }),
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
            let rows = self.read_rows(listed, Some(&[&camera.key]), row..row + 1)?;
            return pictures::from_table(&rows, &camera.key, row, self.info.fps);
        }
        let span = &listed.spans[place];
        let film = self.root.join(&span.film);
        let number = span.first + row as u64;
        self.projector.frame(&film, number).map_err(explained)
    }

    /// Lets go of open films, for example before the files are replaced.
    pub fn rest(&mut self) {
        self.projector = Projector::default();
    }
}

/// Columns of a table; those that cannot be read are named with the reason, so that one strange column hides no episode.
fn read_columns(
    path: &Path,
    names: Option<&[&str]>,
    place: &Range<usize>,
) -> Result<(Table, Vec<(String, String)>), Error> {
    let read =
        |names: Option<&[&str]>| rows::read(path, names, Some(place.clone())).map_err(explained);
    let error = match read(names) {
        Ok(table) => return Ok((table, Vec::new())),
        Err(error) => error,
    };
    let (mut table, mut left_out) = (Table::default(), Vec::new());
    for name in Footer::read(path)?.names() {
        if names.is_some_and(|names| !names.contains(&name.as_str())) {
            continue;
        }
        match read(Some(&[&name])) {
            Ok(one) => {
                table.rows = one.rows;
                table.columns.extend(one.columns);
            }
            Err(Error::Malformed { why, .. }) => left_out.push((name, why)),
            Err(error) => return Err(error),
        }
    }
    if table.columns.is_empty() {
        Err(error)
    } else {
        Ok((table, left_out))
    }
}
