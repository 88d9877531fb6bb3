//! Writes a data set of layout 3.0 from cuts of others, exactly as LeRobot would have recorded it.

use std::path::{Path, PathBuf};

use serde_json::Map;

use crate::dataset::read::{Dataset, Version, older};
use crate::dataset::save::outcome_number;
use crate::dataset::schema::columns::{
    CAPTURE_TIME, EPISODE_INDEX, FRAME_INDEX, INDEX, OUTCOME, TASK_INDEX, TIMESTAMP,
};
use crate::dataset::schema::info::pretty;
use crate::dataset::schema::{Dtype, Feature, Features, FilePlace, Info};
use crate::dataset::stats::{Stats, aggregate, to_json};
use crate::dataset::table::{Column, Episode, Table, Values, episodes, rows, tasks};
use crate::dataset::{Disk, Error, Outcome, Plan};

use super::cut::Cut;
use super::{Edited, Progress, films, go_on, measure};

/// Episodes in one table of the list: LeRobot goes by bytes, and an episode with statistics has about a kilobyte a feature.
const LISTED: usize = 2000;

/// A data set that is being written.
pub struct Draft<'a> {
    sources: &'a mut [Dataset],
    /// Statistics of the episodes before, by source.
    before: Vec<Vec<Stats>>,
    root: PathBuf,
    info: Info,
    disk: Disk,
    tasks: Vec<String>,
}

impl<'a> Draft<'a> {
    /// A new data set at `root`, like the first of the sources.
    ///
    /// # Errors
    /// The statistics of a source cannot be read.
    pub fn new(sources: &'a mut [Dataset], root: &Path, disk: &Disk) -> Result<Self, Error> {
        let before = sources.iter().map(statistics).collect::<Result<_, _>>()?;
        let info = sources
            .first()
            .map(|first| current(first.info(), first.version()))
            .ok_or_else(|| Error::Absent("no data set was named".to_owned()))?;
        Ok(Self {
            before,
            root: root.to_path_buf(),
            info,
            disk: disk.clone(),
            tasks: Vec::new(),
            sources,
        })
    }

    /// Writes the cuts as episodes 0, 1, 2, ...
    ///
    /// # Errors
    /// A source cannot be read, a film cannot be cut, the disk fails, or it was told to stop.
    pub fn write(mut self, cuts: &[Cut], progress: &mut Progress<'_>) -> Result<Edited, Error> {
        let marked = cuts.iter().any(|cut| cut.outcome.is_some());
        if marked && self.info.features.get(OUTCOME).is_none() {
            self.info.features = with_outcome(&self.info.features);
        }
        let mut made = Edited::default();
        let mut listed = self.rows(cuts, progress)?;
        let cameras = self.sources[0].cameras().to_vec();
        for (at, camera) in cameras.iter().enumerate().filter(|(_, it)| !it.in_table) {
            let share = 0.5 + 0.4 * at as f32 / cameras.len() as f32;
            go_on(progress, &format!("films of {}", camera.name), share)?;
            let camera = (at, camera);
            let (info, disk) = (&self.info, &self.disk);
            let filmed = films::write(self.sources, cuts, camera, info, &self.root, disk)?;
            made.kept += filmed.kept;
            made.encoded += filmed.encoded;
            for (episode, span) in listed.iter_mut().zip(filmed.spans) {
                episode.films.push((camera.1.key.clone(), span));
            }
        }
        go_on(progress, "lists", 0.9)?;
        self.lists(&mut listed)?;
        made.episodes = listed.len();
        made.frames = listed.last().map_or(0, |last| last.to);
        Ok(made)
    }

    /// Writes the tables of rows; the episodes still lack their films.
    fn rows(&mut self, cuts: &[Cut], progress: &mut Progress<'_>) -> Result<Vec<Episode>, Error> {
        let most_bytes = u64::from(self.info.data_files_size_in_mb) << 20;
        let mut listed: Vec<Episode> = Vec::new();
        let mut place = FilePlace::default();
        let mut next = 0;
        while next < cuts.len() {
            let path = self.info.rows_path(&self.root, place)?;
            let (features, disk) = (self.info.features.clone(), self.disk.clone());
            let mut bytes = 0;
            let mut tables = std::iter::from_fn(|| {
                let cut = cuts.get(next).filter(|_| bytes < most_bytes)?;
                let share = 0.5 * next as f32 / cuts.len() as f32;
                let made = go_on(progress, &format!("episode {next}"), share)
                    .and_then(|()| self.episode(cut, next, place, listed.last()));
                next += 1;
                Some(made.map(|(table, episode)| {
                    bytes += size_of_table(&table);
                    listed.push(episode);
                    table
                }))
            });
            rows::write(&disk, &path, &features, &mut tables)?;
            place = place.next(self.info.chunks_size.max(1));
        }
        Ok(listed)
    }

    /// The rows of a cut as those of episode `index`, and its line in the list.
    fn episode(
        &mut self,
        cut: &Cut,
        index: usize,
        place: FilePlace,
        last: Option<&Episode>,
    ) -> Result<(Table, Episode), Error> {
        let set = &mut self.sources[cut.source];
        let read = set.rows(cut.episode)?;
        if let Some((name, why)) = read.left_out.first() {
            return Err(Error::Malformed {
                path: set.root().join(&set.episodes()[cut.episode].table),
                why: format!("column {name} cannot be copied: {why}"),
            });
        }
        let words = set.tasks().to_vec();
        let cameras = measure::of_cameras(set, cut, &self.before[cut.source][cut.episode])?;
        let mut table = read.table.slice(cut.rows.clone());
        let from = last.map_or(0, |last| last.to);
        let used = self.label(&mut table, cut, &words)?;
        number(&mut table, index, from, self.info.fps);
        if !cut.is_whole() {
            begin_anew(&mut table);
        }
        if let Some(outcome) = self.info.features.get(OUTCOME).and(cut.outcome) {
            mark(&mut table, outcome);
        } else if self.info.features.get(OUTCOME).is_some() && table.get(OUTCOME).is_none() {
            mark(&mut table, Outcome::Unmarked);
        }
        let episode = Episode {
            index,
            tasks: used,
            length: table.rows,
            rows: place,
            from,
            to: from + table.rows as u64,
            films: Vec::new(),
            stats: measure::of_rows(&table, &self.info.features, &cameras),
            meta: FilePlace::default(),
        };
        Ok((table, episode))
    }

    /// Gives the rows the numbers of their tasks in the new data set; returns those tasks.
    ///
    /// # Errors
    /// A number leads to no task: written again, what the episode was about would be lost for good.
    fn label(
        &mut self,
        table: &mut Table,
        cut: &Cut,
        words: &[String],
    ) -> Result<Vec<String>, Error> {
        let column = table.get(TASK_INDEX);
        let before = column.and_then(|column| column.values.integers());
        let before = before.unwrap_or_else(|| vec![0; table.rows]);
        let mut used: Vec<String> = Vec::new();
        let mut numbers = Vec::with_capacity(table.rows);
        for number in before {
            let known = usize::try_from(number).ok().and_then(|at| words.get(at));
            let task = cut.task.as_ref().or(known).cloned();
            let task = task.ok_or_else(|| Error::Malformed {
                path: self.sources[cut.source].root().join(tasks::PATH),
                why: format!(
                    "the task {number} of episode {} is not among its {}. Restore it from a copy, or relabel all episodes",
                    cut.episode,
                    words.len()
                ),
            })?;
            numbers.push(place_of(&task, &mut self.tasks) as i64);
            place_of(&task, &mut used);
        }
        table.put(Column::integers(TASK_INDEX, numbers));
        Ok(used)
    }

    /// Writes everything below `meta`, `info.json` last.
    fn lists(&mut self, listed: &mut [Episode]) -> Result<(), Error> {
        let schema = episodes::schema(&self.info.features);
        let mut place = FilePlace::default();
        for part in listed.chunks_mut(LISTED) {
            for episode in part.iter_mut() {
                episode.meta = place;
            }
            let path = episodes::path(&self.root, place);
            episodes::write(&self.disk, &path, &schema, part)?;
            place = place.next(self.info.chunks_size.max(1));
        }
        tasks::write(&self.disk, &self.root, &self.tasks)?;
        let stats = aggregate(listed.iter().map(|episode| &episode.stats));
        let text = pretty(&to_json(&stats, &self.info.features));
        let path = self.root.join("meta/stats.json");
        self.disk.replace(&path, text.as_bytes())?;
        let frames = listed.last().map_or(0, |last| last.to);
        self.info.count(listed.len(), frames, self.tasks.len());
        self.info.write(&self.root, &self.disk)
    }
}

/// Statistics by episode.
fn statistics(set: &Dataset) -> Result<Vec<Stats>, Error> {
    match set.version() {
        Version::V30 => {
            let listed = episodes::read(set.root(), &set.info().features)?;
            Ok(listed.into_iter().map(|it| it.stats).collect())
        }
        Version::V20 | Version::V21 => older::statistics(set.root(), set.episodes().len()),
    }
}

/// The same in the newest layout.
fn current(before: &Info, version: Version) -> Info {
    let mut info = before.clone();
    let usual = Info::from_plan(&Plan::new(""));
    info.codebase_version = usual.codebase_version;
    info.data_path = usual.data_path;
    info.video_path =
        before.features.videos().next().map(|_| {
            "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4".to_owned()
        });
    info.chunks_size = info.chunks_size.max(1);
    if version < Version::V30 {
        info.rest = Map::new();
    }
    info
}

/// With the column that says how an episode went, before those that end every list.
fn with_outcome(before: &Features) -> Features {
    let mut features = Features::default();
    for (key, feature) in before.iter() {
        if key == TIMESTAMP {
            features.push(OUTCOME, Feature::scalar(Dtype::Int64));
        }
        features.push(key, feature.clone());
    }
    features.push(OUTCOME, Feature::scalar(Dtype::Int64));
    features
}

/// The place of a text in a list, put at its end if it is not there.
fn place_of(text: &str, list: &mut Vec<String>) -> usize {
    let found = list.iter().position(|it| it == text);
    found.unwrap_or_else(|| {
        list.push(text.to_owned());
        list.len() - 1
    })
}

/// Counts the rows of an episode anew.
fn number(table: &mut Table, episode: usize, from: u64, fps: u32) {
    let rows = table.rows as i64;
    let from = from as i64;
    table.put(Column::integers(FRAME_INDEX, 0..rows));
    table.put(Column::integers(INDEX, from..from + rows));
    table.put(Column::integers(
        EPISODE_INDEX,
        (0..rows).map(|_| episode as i64),
    ));
    let stamp = |row: i64| row as f64 / f64::from(fps);
    table.put(Column::floats(TIMESTAMP, 1, (0..rows).map(stamp)));
}

/// Capture times count from the episode's begin, which a trim moves.
fn begin_anew(table: &mut Table) {
    let times = table.get(CAPTURE_TIME).map(|column| &column.values);
    if let Some(Values::Integers(times)) = times
        && let Some(&first) = times.first()
    {
        let times: Vec<_> = times.iter().map(|time| time - first).collect();
        table.put(Column::integers(CAPTURE_TIME, times));
    }
}

fn mark(table: &mut Table, outcome: Outcome) {
    let number = outcome_number(outcome);
    let rows = table.rows;
    table.put(Column::integers(OUTCOME, (0..rows).map(|_| number)));
}

/// Bytes of a table before it is compressed.
fn size_of_table(table: &Table) -> u64 {
    let size = |column: &Column| match &column.values {
        Values::Floats(values) => 4 * values.len(),
        Values::Integers(values) => 8 * values.len(),
        Values::Texts(texts) => texts.iter().map(String::len).sum(),
        Values::Pictures(pictures) => pictures.iter().map(Vec::len).sum(),
    };
    table.columns.iter().map(size).sum::<usize>() as u64
}
