//! Puts finished episodes into a data set, so that each is in it once and whole, whenever the program or the power ends.
//!
//! A save writes down what it is about to make, places the films, and rewrites the small tables, each by a temporary name and a
//! rename. The episode is in the data set from the moment that the table of episodes is renamed; before it everything is taken
//! back at the next opening, after it everything is finished.

mod ledger;
mod pack;
mod parts;
mod rows;
mod state;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use parts::{EpisodeParts, RowRecord, VideoPart};
pub use rows::{driver_number, outcome_number};

use crate::dataset::edit::settle;
use crate::dataset::lock::Lock;
use crate::dataset::schema::{Feature, Features, FilePlace, Info, camera_key};
use crate::dataset::table::{self, Episode, Span, Table, episodes};
use crate::dataset::video::mp4::Contents;
use crate::dataset::{Disk, Error, Plan};

use ledger::Saving;
use rows::Standing;
use state::State;

/// A MiB, which file sizes are counted in.
const MIB: u64 = 1 << 20;
/// Bytes a row takes in a table, at most, per value.
const VALUE_BYTES: u64 = 8;

/// A data set that episodes are added to. It holds the lock of its folder.
#[derive(Debug)]
pub struct Store {
    plan: Plan,
    disk: Disk,
    state: State,
    /// What is in memory may not be what is on disk.
    stale: bool,
    _lock: Lock,
}

/// Told what is being done, in a word or two, and how far it is, 0 to 1.
pub type Telling<'a> = &'a mut dyn FnMut(&str, f32);

impl Store {
    /// Makes the plan's data set, or opens it to add to it, and finishes or takes back a save that was interrupted.
    ///
    /// # Errors
    /// `Locked` when another program writes to it; `Mismatch`, with the feature, when it was recorded otherwise; or it is damaged,
    /// or cannot be written.
    pub fn open(plan: &Plan, disk: &Disk) -> Result<Self, Error> {
        sensible(plan)?;
        let lock = Lock::take(&plan.root)?;
        // While an edit is half in its place there is no list of episodes: nothing may begin a new one.
        settle(&plan.root, disk)?;
        let state = State::read(plan, disk)?;
        tell_codec(plan, &state.info);
        Ok(Self {
            state,
            plan: plan.clone(),
            disk: disk.clone(),
            stale: false,
            _lock: lock,
        })
    }

    /// Adds an episode and returns its number. The parts may be dropped after it, not before. Of a journal that is in the data
    /// set already it only returns the number, so that it may be called again after any failure, in this program or the next.
    ///
    /// # Errors
    /// The disk failed: the data set is as before, or has the episode already but not yet its counters; call it again.
    /// `Malformed` when the parts do not fit together.
    pub fn save(&mut self, parts: &EpisodeParts) -> Result<usize, Error> {
        self.save_telling(parts, &mut |_, _| {})
    }

    /// As [`Store::save`], and tells how far it is.
    ///
    /// # Errors
    /// As [`Store::save`].
    pub fn save_telling(
        &mut self,
        parts: &EpisodeParts,
        stage: Telling<'_>,
    ) -> Result<usize, Error> {
        self.check(parts)?;
        self.refresh()?;
        if let Some(episode) = self.state.ledger.episode(&parts.journal) {
            return Ok(episode);
        }
        self.stale = true;
        let added = self.add(parts, stage);
        match &added {
            Ok(_) => self.stale = false,
            // At once, so that other readers find it whole; where that fails, too, the next save or opening does it.
            Err(_) => drop(self.refresh()),
        }
        added
    }

    /// Reads the data set again when it may have changed.
    fn refresh(&mut self) -> Result<(), Error> {
        if self.stale || self.state.is_changed(&self.plan.root) {
            self.stale = true;
            self.state = State::read(&self.plan, &self.disk)?;
            self.stale = false;
        }
        Ok(())
    }

    fn check(&self, parts: &EpisodeParts) -> Result<(), Error> {
        let cameras = self.plan.cameras.len();
        let why = if parts.rows.is_empty() {
            "it has no rows".to_owned()
        } else if parts.videos.len() != cameras {
            format!("it has {} films of {cameras} cameras", parts.videos.len())
        } else if parts.journal.is_empty() {
            "its journal has no name".to_owned()
        } else if parts.rows.iter().any(|row| row.task >= parts.tasks.len()) {
            "a row has a task that is not among its tasks".to_owned()
        } else if let Some(empty) = parts
            .videos
            .iter()
            .position(|video| video.pictures.count() == 0)
        {
            format!(
                "camera `{}` has no statistics of its pictures",
                self.plan.cameras[empty].name
            )
        } else {
            return Self::check_films(parts);
        };
        Err(Error::Malformed {
            path: self.plan.root.join(&parts.journal),
            why,
        })
    }

    /// One picture more or less would shift every later one of the data set against its row, and nobody would be told.
    fn check_films(parts: &EpisodeParts) -> Result<(), Error> {
        let rows = parts.rows.len();
        for video in &parts.videos {
            let pictures = Contents::read(&video.path)?.len();
            if pictures != rows {
                return Err(Error::Malformed {
                    path: video.path.clone(),
                    why: format!("it has {pictures} pictures for {rows} rows"),
                });
            }
        }
        Ok(())
    }

    fn add(&mut self, parts: &EpisodeParts, stage: Telling<'_>) -> Result<usize, Error> {
        let root = self.plan.root.clone();
        let (index, from) = (self.state.episodes.len(), self.state.frames());
        stage("rows", 0.0);
        let numbers = self.task_numbers(parts);
        let standing = Standing {
            episode: index,
            from,
            tasks: &numbers,
        };
        let table = rows::table(&self.plan, parts, &standing);
        let features = &self.state.info.features;
        let stats = rows::stats(
            &self.plan,
            features,
            &table,
            parts,
            self.state.picture_count(),
        );
        let (place, kept) = self.rows_place(&table)?;
        let films = self.film_places(table.rows)?;
        let (meta, fellows) = self.meta_place(&root)?;
        let episode = Episode {
            index,
            tasks: tasks_in_use(parts),
            length: table.rows,
            rows: place,
            from,
            to: from + table.rows as u64,
            films,
            stats,
            meta,
        };
        self.announce(parts, &episode, kept)?;
        self.place_films(parts, &episode, stage)?;
        stage("tables", 0.7);
        if self.new_tasks(parts).next().is_some() {
            let all: Vec<_> = self
                .state
                .tasks
                .iter()
                .cloned()
                .chain(self.new_tasks(parts))
                .collect();
            table::tasks::write(&self.disk, &root, &all)?;
            self.state.tasks = all;
        }
        let path = self.state.info.rows_path(&root, place)?;
        table::rows::write_after(
            &self.disk,
            &path,
            &self.state.info.features,
            kept,
            [Ok(table)],
        )?;
        let mut together = self.state.episodes[fellows..].to_vec();
        together.push(episode.clone());
        episodes::write(
            &self.disk,
            &episodes::path(&root, meta),
            &self.state.columns,
            &together,
        )?;
        self.state.episodes.push(episode);
        stage("statistics", 0.9);
        self.state.write_counters(&root, &self.disk)?;
        self.state.ledger.done();
        self.state.ledger.write(&root, &self.disk)?;
        self.state.look(&root);
        stage("saved", 1.0);
        Ok(index)
    }

    /// The tasks of the parts that the data set does not have yet, each once.
    fn new_tasks(&self, parts: &EpisodeParts) -> impl Iterator<Item = String> {
        let mut new: Vec<String> = vec![];
        for task in tasks_in_use(parts) {
            if !self.state.tasks.contains(&task) {
                new.push(task);
            }
        }
        new.into_iter()
    }

    /// The number in the data set of each task of the parts; of a task that no row has, 0.
    fn task_numbers(&self, parts: &EpisodeParts) -> Vec<usize> {
        let all: Vec<_> = self
            .state
            .tasks
            .iter()
            .cloned()
            .chain(self.new_tasks(parts))
            .collect();
        let number = |task: &String| all.iter().position(|known| known == task).unwrap_or(0);
        parts.tasks.iter().map(number).collect()
    }

    /// Where the rows go: into the last table of ours that has room, or into a new one; and its row groups until now.
    fn rows_place(&self, table: &Table) -> Result<(FilePlace, usize), Error> {
        let (state, root) = (&self.state, self.plan.root.as_path());
        let used = state.episodes.iter().map(|episode| episode.rows);
        if let Some(last) = state.episodes.last() {
            let path = state.info.rows_path(root, last.rows)?;
            let values: usize = table.columns.iter().map(|column| column.values.len()).sum();
            let limit = u64::from(state.info.data_files_size_in_mb) * MIB;
            let bytes = size(&path) + values as u64 * VALUE_BYTES;
            if bytes < limit && table::rows::can_grow(&path, &state.info.features) {
                return Ok((last.rows, table::rows::row_groups(&path)?.len()));
            }
        }
        let place = state.next_place(&root.join("data"), "parquet", used)?;
        Ok((place, 0))
    }

    /// Where the row of the table of episodes goes, and the first of the episodes that are in that file already.
    fn meta_place(&self, root: &Path) -> Result<(FilePlace, usize), Error> {
        let state = &self.state;
        let count = state.episodes.len();
        if let Some(last) = state.episodes.last() {
            let path = episodes::path(root, last.meta);
            let limit = u64::from(state.info.data_files_size_in_mb) * MIB;
            if size(&path) < limit && episodes::can_grow(&path, &state.columns) {
                let first = state
                    .episodes
                    .iter()
                    .position(|episode| episode.meta == last.meta);
                return Ok((last.meta, first.unwrap_or(count)));
            }
        }
        let used = state.episodes.iter().map(|episode| episode.meta);
        let place = state.next_place(&root.join(episodes::FOLDER), "parquet", used)?;
        Ok((place, count))
    }

    /// A new film for each camera.
    fn film_places(&self, rows: usize) -> Result<Vec<(String, Span)>, Error> {
        let to_s = rows as f64 / f64::from(self.plan.fps);
        let films = self.state.info.features.videos().map(|(key, _)| {
            let used = self
                .state
                .episodes
                .iter()
                .filter_map(|episode| Some(episode.film(key)?.place));
            let folder = self.plan.root.join("videos").join(key);
            let place = self.state.next_place(&folder, "mp4", used)?;
            let span = Span {
                place,
                from_s: 0.0,
                to_s,
            };
            Ok((key.to_owned(), span))
        });
        films.collect()
    }

    /// Writes down what the save will make.
    fn announce(
        &mut self,
        parts: &EpisodeParts,
        episode: &Episode,
        kept: usize,
    ) -> Result<(), Error> {
        let relative = |(key, span): &(String, Span)| {
            self.state.info.video_path(Path::new(""), key, span.place)
        };
        let films = episode
            .films
            .iter()
            .map(relative)
            .collect::<Result<Vec<PathBuf>, _>>()?;
        self.state.ledger.saving = Some(Saving {
            journal: parts.journal.clone(),
            episode: episode.index,
            rows: episode.length,
            from: episode.from,
            place: episode.rows,
            kept,
            films,
        });
        self.state.ledger.write(&self.plan.root, &self.disk)
    }

    fn place_films(
        &self,
        parts: &EpisodeParts,
        episode: &Episode,
        stage: Telling<'_>,
    ) -> Result<(), Error> {
        let cameras = self.plan.cameras.len() as f32;
        for (at, (camera, video)) in self.plan.cameras.iter().zip(&parts.videos).enumerate() {
            stage("films", 0.1 + 0.6 * at as f32 / cameras);
            let key = camera_key(&camera.name);
            let span = episode
                .film(&key)
                .ok_or_else(|| Error::Absent(format!("there is no place for `{key}`")))?;
            let path = self
                .state
                .info
                .video_path(&self.plan.root, &key, span.place)?;
            self.disk.place(&video.path, &path)?;
        }
        Ok(())
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.plan.root
    }

    /// What it holds.
    pub fn info(&self) -> &Info {
        &self.state.info
    }

    /// Tasks in words, by `task_index`.
    pub fn tasks(&self) -> &[String] {
        &self.state.tasks
    }

    /// Whole episodes in it.
    pub fn episodes(&self) -> usize {
        self.state.episodes.len()
    }

    /// Rows in it.
    pub fn frames(&self) -> u64 {
        self.state.frames()
    }

    /// Whether the journal of this id is in it.
    pub fn contains(&self, journal: &str) -> bool {
        self.state.ledger.episode(journal).is_some()
    }
}

/// The distinct tasks of the rows, in the order that they came in.
fn tasks_in_use(parts: &EpisodeParts) -> Vec<String> {
    let mut tasks: Vec<String> = vec![];
    for row in &parts.rows {
        let task = parts.tasks.get(row.task);
        if let Some(task) = task.filter(|task| !tasks.contains(task)) {
            tasks.push(task.clone());
        }
    }
    tasks
}

/// What a plan must be for LeRobot to read what comes of it.
fn sensible(plan: &Plan) -> Result<(), Error> {
    let mut why = None;
    for (at, camera) in plan.cameras.iter().enumerate() {
        let name = &camera.name;
        if name.is_empty() || name.contains(['/', '\\']) {
            why = Some(format!(
                "`{name}` cannot be the name of a camera: leave out `/`"
            ));
        } else if plan.cameras[..at].iter().any(|other| other.name == *name) {
            why = Some(format!("two cameras are called `{name}`"));
        } else if camera.width % 2 + camera.height % 2 > 0
            || camera.width == 0
            || camera.height == 0
        {
            why = Some(format!(
                "`{name}` is {}x{}: both must be even",
                camera.width, camera.height
            ));
        }
    }
    if plan.fps == 0 {
        why = Some("no rows a second are asked for".to_owned());
    }
    match why {
        Some(why) => Err(Error::Mismatch {
            root: plan.root.clone(),
            why,
        }),
        None => Ok(()),
    }
}

/// LeRobot reads films of two codecs in one data set; its tools encode by the one that is declared.
fn tell_codec(plan: &Plan, info: &Info) {
    let wanted = Features::from_plan(plan);
    for (key, feature) in wanted.videos() {
        let there = info.features.get(key).and_then(Feature::codec);
        let new = feature.codec();
        if there != new && info.total_episodes > 0 {
            let (there, new) = (there.unwrap_or("unknown"), new.unwrap_or("unknown"));
            log::warn!(
                "the films of `{key}` are {there}; new ones will be {new}, which LeRobot reads, too"
            );
        }
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |there| there.len())
}
