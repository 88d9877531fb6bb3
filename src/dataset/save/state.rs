//! A data set as it is on disk, read anew and put in order: what was interrupted is finished or taken back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use arrow_schema::{Schema, SchemaRef};

use super::ledger::Ledger;
use crate::dataset::disk::at;
use crate::dataset::lock::WORKSHOP;
use crate::dataset::schema::{Features, FilePlace, Info, chunk_file, info, mismatch};
use crate::dataset::stats::{PictureCount, aggregate, to_json};
use crate::dataset::table::{Episode, episodes, rows, tasks};
use crate::dataset::{Disk, Error, Plan};

/// Statistics of the whole data set.
pub(super) const STATS: &str = "meta/stats.json";
/// A camera's count is of pixels when it is so many times the rows or more: pictures cannot be.
const PIXELS_A_ROW: u64 = 1000;
/// The way out of damage that only a copy can repair.
const RESTORE: &str = "Restore it from a copy, or record into another folder";

/// What is known of a data set.
#[derive(Debug)]
pub(super) struct State {
    pub info: Info,
    pub tasks: Vec<String>,
    pub episodes: Vec<Episode>,
    pub ledger: Ledger,
    /// The columns of the tables of episodes: all must have the same.
    pub columns: SchemaRef,
    seen: Seen,
}

/// Tells whether somebody else has written: size and time of change of the files that every save writes.
type Seen = Vec<Option<(u64, SystemTime)>>;

impl State {
    /// Reads the data set, makes it where there is none, and finishes or takes back what was interrupted.
    pub fn read(plan: &Plan, disk: &Disk) -> Result<Self, Error> {
        let root = plan.root.as_path();
        sweep(root, disk)?;
        let mut info = match Info::read(root) {
            Err(Error::Absent(_)) => create(plan, disk)?,
            read => read?,
        };
        if let Err(why) = fits(plan, &info) {
            if !is_unused(root, &info) {
                return Err(why);
            }
            // Somebody began a session and thought better of it.
            info = Info::from_plan(plan);
            info.write(root, disk)?;
        }
        let episodes = episodes::read(root, &info.features)?;
        let columns = match episodes.last() {
            Some(last) => columns(root, last.meta, &info.features)?,
            None => episodes::schema(&info.features),
        };
        let mut state = Self {
            tasks: tasks::read(root)?,
            ledger: Ledger::read(root)?,
            seen: Seen::new(),
            info,
            episodes,
            columns,
        };
        state.check(root)?;
        state.settle(root, disk)?;
        let counted = (state.info.total_episodes, state.info.total_frames);
        if counted != (state.episodes.len(), state.frames()) {
            return Err(Error::Malformed {
                path: root.join(info::PATH),
                why: format!(
                    "it counts {} episodes and {} rows, meta/episodes has {} and {}: the program that recorded it was interrupted. Record \
                     into another folder",
                    counted.0,
                    counted.1,
                    state.episodes.len(),
                    state.frames()
                ),
            });
        }
        state.look(root);
        Ok(state)
    }

    /// Rows of all episodes.
    pub fn frames(&self) -> u64 {
        self.episodes.last().map_or(0, |last| last.to)
    }

    /// The rows of the episodes must follow on each other, and each must have its statistics.
    fn check(&self, root: &Path) -> Result<(), Error> {
        let mut from = 0;
        for episode in &self.episodes {
            if episode.from != from || episode.length == 0 {
                let why = format!(
                    "episode {} begins at row {}, not at {from}, or has no rows",
                    episode.index, episode.from
                );
                let path = episodes::path(root, episode.meta);
                return Err(Error::Malformed { path, why });
            }
            from = episode.to;
        }
        self.check_files(root)?;
        let measured = |name: &str| {
            self.columns
                .field_with_name(&format!("stats/{name}/mean"))
                .is_ok()
        };
        let mut names = self.info.features.iter().map(|(name, _)| name);
        match names.find(|name| !measured(name)) {
            Some(name) => Err(Error::Mismatch {
                root: root.to_owned(),
                why: format!(
                    "its episodes have no statistics of `{name}`, without which those of the whole cannot be kept"
                ),
            }),
            None => Ok(()),
        }
    }

    /// What the episodes lead to must be there: what is added to a data set with holes is lost with it.
    fn check_files(&self, root: &Path) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        for episode in &self.episodes {
            let mut tasks = episode.tasks.iter();
            if let Some(task) = tasks.find(|task| !self.tasks.contains(task)) {
                let why = format!(
                    "the task of episode {}, \"{task}\", is not in it. {RESTORE}",
                    episode.index
                );
                let path = root.join(tasks::PATH);
                return Err(Error::Malformed { path, why });
            }
            let table = self.info.rows_path(root, episode.rows);
            let films = episode.films.iter();
            let films = films.map(|(key, span)| self.info.video_path(root, key, span.place));
            for path in [table].into_iter().chain(films) {
                let path = path?;
                let is_there = || fs::metadata(&path).is_ok_and(|file| file.len() > 0);
                if !seen.contains(&path) && !is_there() {
                    let index = episode.index;
                    let why =
                        format!("it is missing or empty, and episode {index} is in it. {RESTORE}");
                    return Err(Error::Malformed { path, why });
                }
                seen.insert(path);
            }
        }
        Ok(())
    }

    /// Finishes what was interrupted where the episode is in its table, and takes it back where it is not.
    fn settle(&mut self, root: &Path, disk: &Disk) -> Result<(), Error> {
        if self.ledger.saving.is_none() && self.ledger.packing.is_none() {
            return Ok(());
        }
        if let Some(packing) = self.ledger.packing.take() {
            self.finish_packing(root, disk, &packing)?;
        }
        if let Some(saving) = self.ledger.saving.clone() {
            let is = |episode: &Episode| {
                (episode.length, episode.from, episode.rows)
                    == (saving.rows, saving.from, saving.place)
            };
            let saved = self.episodes.get(saving.episode).is_some_and(is);
            if !saved {
                self.take_back(root, disk)?;
                self.ledger.saving = None;
            }
        }
        self.write_counters(root, disk)?;
        self.ledger.done();
        self.ledger.write(root, disk)
    }

    /// Removes what a save made of an episode that is not in the table of episodes.
    fn take_back(&self, root: &Path, disk: &Disk) -> Result<(), Error> {
        let Some(saving) = &self.ledger.saving else {
            return Ok(());
        };
        let table = self.info.rows_path(root, saving.place)?;
        let used = self
            .episodes
            .iter()
            .any(|episode| episode.rows == saving.place);
        if saving.kept == 0 && !used {
            disk.remove(&table)?;
        } else if table.exists() && rows::row_groups(&table)?.len() > saving.kept && saving.kept > 0
        {
            rows::write_after(disk, &table, &self.info.features, saving.kept, [])?;
        }
        for film in &saving.films {
            let film = root.join(film);
            if !self.films_in_use(root)?.contains(&film) {
                disk.remove(&film)?;
            }
        }
        Ok(())
    }

    /// The films that an episode points at.
    pub fn films_in_use(&self, root: &Path) -> Result<Vec<PathBuf>, Error> {
        let films = self.episodes.iter().flat_map(|episode| &episode.films);
        films
            .map(|(key, span)| self.info.video_path(root, key, span.place))
            .collect()
    }

    /// Writes the statistics of the whole, and last of all the counters.
    pub fn write_counters(&mut self, root: &Path, disk: &Disk) -> Result<(), Error> {
        let (episodes, frames) = (self.episodes.len(), self.frames());
        self.info.count(episodes, frames, self.tasks.len());
        if episodes > 0 {
            let joined = aggregate(self.episodes.iter().map(|episode| &episode.stats));
            let json = info::pretty(&to_json(&joined, &self.info.features));
            disk.replace(&root.join(STATS), json.as_bytes())?;
        }
        self.info.write(root, disk)
    }

    /// What the cameras' counts are of in this data set.
    pub fn picture_count(&self) -> PictureCount {
        let of_pixels = |episode: &Episode| {
            let camera = |name: &str| {
                self.info
                    .features
                    .get(name)
                    .is_some_and(|feature| feature.dtype.is_picture())
            };
            let many = |count: u64| count >= episode.length as u64 * PIXELS_A_ROW;
            episode
                .stats
                .iter()
                .any(|(name, stats)| camera(name) && many(stats.count))
        };
        if self.episodes.last().is_some_and(of_pixels) {
            PictureCount::Pixels
        } else {
            PictureCount::Pictures
        }
    }

    /// The number after the last of the files of a kind, those that no episode points at included: nothing is written over.
    pub fn next_place(
        &self,
        folder: &Path,
        extension: &str,
        used: impl Iterator<Item = FilePlace>,
    ) -> Result<FilePlace, Error> {
        let there = episodes::numbered(folder, extension)?;
        let there = there.iter().filter_map(|path| chunk_file(path));
        let last = there.chain(used).max();
        Ok(last.map_or_else(FilePlace::default, |last| last.next(self.info.chunks_size)))
    }

    /// Remembers how the files look now.
    pub fn look(&mut self, root: &Path) {
        self.seen = self.seeing(root);
    }

    /// Whether another program has written since.
    pub fn is_changed(&self, root: &Path) -> bool {
        self.seen != self.seeing(root)
    }

    fn seeing(&self, root: &Path) -> Seen {
        let table = self
            .episodes
            .last()
            .map(|last| episodes::path(root, last.meta));
        let files = [Some(root.join(info::PATH)), table];
        let look = |path: PathBuf| {
            let there = fs::metadata(path).ok()?;
            Some((there.len(), there.modified().ok()?))
        };
        files.into_iter().map(|path| path.and_then(look)).collect()
    }
}

/// The columns of the tables of episodes that are there, in our types where they are ours: LeRobot's tools name the inside of
/// lists otherwise, which its reader does not mind.
fn columns(root: &Path, last: FilePlace, features: &Features) -> Result<SchemaRef, Error> {
    let ours = episodes::schema(features);
    let there = episodes::schema_of(&episodes::path(root, last))?;
    let fields = there
        .fields()
        .iter()
        .map(|field| match ours.field_with_name(field.name()) {
            Ok(ours) => Arc::new(ours.clone()),
            Err(_) => Arc::clone(field),
        });
    Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// Whether rows of the plan may be added.
fn fits(plan: &Plan, info: &Info) -> Result<(), Error> {
    let why = if info.major() == Some(3) {
        let rate = || format!("it has {} rows a second, not {}", info.fps, plan.fps);
        (info.fps != plan.fps)
            .then(rate)
            .or_else(|| mismatch(&info.features, &Features::from_plan(plan)))
    } else {
        Some(format!(
            "it is of the version {}; LeRobot's `convert_dataset_v21_to_v30` makes it v3.0",
            info.codebase_version
        ))
    };
    match why {
        Some(why) => Err(Error::Mismatch {
            root: plan.root.clone(),
            why,
        }),
        None => Ok(()),
    }
}

/// Whether there is nothing in it that another plan could spoil, nor an episode that waits to be recovered.
fn is_unused(root: &Path, info: &Info) -> bool {
    let journals = folders_in(&root.join(WORKSHOP));
    let recorded = ["data", "videos", episodes::FOLDER];
    info.total_episodes == 0
        && recorded.iter().all(|folder| !root.join(folder).exists())
        && journals.is_ok_and(|journals| journals.is_empty())
}

/// Makes an empty data set, but not among other files.
fn create(plan: &Plan, disk: &Disk) -> Result<Info, Error> {
    let root = plan.root.as_path();
    let entries = fs::read_dir(root).map_err(|error| at(root, error))?;
    for entry in entries {
        let name = entry.map_err(|error| at(root, error))?.file_name();
        let name = name.to_string_lossy();
        // What an interrupted creation leaves, and what file browsers hide.
        if name != "meta" && !name.starts_with('.') {
            return Err(Error::Mismatch {
                root: root.to_owned(),
                why: format!("there is no {} in it, but there is `{name}`", info::PATH),
            });
        }
    }
    let info = Info::from_plan(plan);
    info.write(root, disk)?;
    Ok(info)
}

/// Removes temporary files that an interrupted write left. Only ours have these names.
fn sweep(root: &Path, disk: &Disk) -> Result<(), Error> {
    let mut folders = vec![root.join("meta"), root.join(WORKSHOP)];
    let mut chunks = vec![root.join("data"), root.join(episodes::FOLDER)];
    chunks.extend(folders_in(&root.join("videos"))?);
    for kind in &chunks {
        folders.extend(folders_in(kind)?);
    }
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(folder).map_err(|error| at(folder, error))? {
            let path = entry.map_err(|error| at(folder, error))?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "part")
            {
                disk.remove(&path)?;
            }
        }
    }
    Ok(())
}

fn folders_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let entries = fs::read_dir(folder).map_err(|error| at(folder, error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths = paths
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| at(folder, error))?;
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}
