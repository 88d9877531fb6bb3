//! The lists of a data set of layout 3: tasks and episodes, from parquet.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;

use crate::dataset::schema::{Info, expand};
use crate::dataset::{Error, Outcome};

use super::episode::{Camera, Episode, Span};
use super::parquet_file::ParquetFile;
use super::rows::{Column, Values};

/// Files two levels below `folder` that end in `ending`, sorted as LeRobot reads them.
///
/// # Errors
/// A folder cannot be listed. A folder that is missing has no files.
pub fn files_below(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Error> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>, Error> {
        let io = |error| Error::Io {
            path: folder.to_path_buf(),
            error,
        };
        let entries = std::fs::read_dir(folder).map_err(io)?;
        entries
            .map(|entry| entry.map(|entry| entry.path()).map_err(io))
            .collect()
    };
    let mut files = Vec::new();
    if folder.is_dir() {
        for chunk in list(folder)?.into_iter().filter(|path| path.is_dir()) {
            let ends = |path: &PathBuf| path.extension().is_some_and(|it| it == ending);
            files.extend(list(&chunk)?.into_iter().filter(ends));
        }
    }
    files.sort();
    Ok(files)
}

/// Tasks in words, by number.
///
/// # Errors
/// `meta/tasks.parquet` is missing, damaged, or numbers a task twice or beyond the list.
pub fn tasks(root: &Path) -> Result<Vec<String>, Error> {
    let file = ParquetFile::open(root.join("meta/tasks.parquet"))?;
    let (columns, _) = file.columns(|_| true, 0..file.rows())?;
    let numbers = columns.iter().find_map(|(name, column)| match column {
        Column {
            values: Values::Int(numbers),
            ..
        } if name == "task_index" => Some(numbers),
        _ => None,
    });
    let words = columns.iter().find_map(|(_, column)| match &column.values {
        Values::Text(words) => Some(words),
        _ => None,
    });
    let (Some(numbers), Some(words)) = (numbers, words) else {
        return Err(file.malformed("lacks the columns task_index and task"));
    };
    let mut tasks = vec![String::new(); words.len()];
    for (&number, words) in numbers.iter().zip(words) {
        let place = usize::try_from(number).ok();
        match place.and_then(|place| tasks.get_mut(place)) {
            Some(task) if task.is_empty() => task.clone_from(words),
            _ => {
                return Err(file.malformed(format!(
                    "numbers a task {number}, which is given twice or is not below {}",
                    words.len()
                )));
            }
        }
    }
    Ok(tasks)
}

/// All episodes, in order.
///
/// # Errors
/// The list is missing, damaged, or does not count from 0 without gaps.
pub fn episodes(root: &Path, info: &Info, cameras: &[Camera]) -> Result<Vec<Episode>, Error> {
    let folder = root.join("meta/episodes");
    let files = files_below(&folder, "parquet")?;
    if files.is_empty() && info.total_episodes != 0 {
        return Err(Error::Malformed {
            path: folder,
            why: "holds no list of episodes: the program that recorded them was stopped before it wrote it, or the data set was not \
                  copied whole"
                .to_owned(),
        });
    }
    let mut episodes = Vec::new();
    for path in files {
        let file = ParquetFile::open(path)?;
        for batch in file.batches(wanted, 0..file.rows())? {
            let lines = Lines {
                batch: &batch,
                info,
                cameras,
            };
            for row in 0..batch.num_rows() {
                let next = episodes.len();
                let episode = lines.episode(row).map_err(|why| file.malformed(why))?;
                if episode.index != next {
                    return Err(file.malformed(format!(
                        "lists episode {} in the place of episode {next}: episodes must count from 0 without gaps",
                        episode.index
                    )));
                }
                episodes.push(episode);
            }
        }
    }
    Ok(episodes)
}

/// Columns of the list that are read; statistics are not, but for the one that says how an episode went.
fn wanted(name: &str) -> bool {
    !name.starts_with("stats/") || name == "stats/smolpilot.outcome/max"
}

/// One batch of the list.
pub struct Lines<'a> {
    pub batch: &'a RecordBatch,
    pub info: &'a Info,
    pub cameras: &'a [Camera],
}

impl Lines<'_> {
    /// One episode of the list.
    ///
    /// # Errors
    /// A column is missing, or holds what it cannot.
    pub fn episode(&self, row: usize) -> Result<Episode, String> {
        let index = self.count("episode_index", row)?;
        let from = self.count("dataset_from_index", row)?;
        let to = self.count("dataset_to_index", row)?;
        if to < from {
            return Err(format!("lets episode {index} end before it begins"));
        }
        let numbers = [
            ("chunk_index", self.count("data/chunk_index", row)?),
            ("file_index", self.count("data/file_index", row)?),
        ];
        let table = path(&self.info.data_path, &numbers, None)?;
        let spans: Result<_, _> = self
            .cameras
            .iter()
            .map(|camera| self.span(camera, row, to - from))
            .collect();
        Ok(Episode {
            index,
            length: to - from,
            tasks: self.tasks(row).unwrap_or_default(),
            outcome: self.outcome(row),
            rows: from as u64..to as u64,
            table,
            spans: spans?,
        })
    }

    fn span(&self, camera: &Camera, row: usize, length: usize) -> Result<Span, String> {
        if camera.in_table {
            return Ok(Span::default());
        }
        let key = &camera.key;
        let at = |what: &str| format!("videos/{key}/{what}");
        let template = self.info.video_path.as_deref().unwrap_or_default();
        let numbers = [
            ("chunk_index", self.count(&at("chunk_index"), row)?),
            ("file_index", self.count(&at("file_index"), row)?),
        ];
        let film = path(template, &numbers, Some(key))?;
        let from_s = self.number(&at("from_timestamp"), row)?;
        let to_s = self.number(&at("to_timestamp"), row);
        Ok(Span {
            film,
            first: frame_at(from_s, f64::from(self.info.fps)),
            from_s,
            to_s: to_s.unwrap_or(from_s + seconds(length, f64::from(self.info.fps))),
        })
    }

    /// Tasks of a row in words; `None` where the list has no such column.
    pub fn tasks(&self, row: usize) -> Option<Vec<String>> {
        let tasks = self.batch.column_by_name("tasks")?;
        Some(words(tasks, row))
    }

    fn outcome(&self, row: usize) -> Outcome {
        let said = self.number("stats/smolpilot.outcome/max", row);
        said.map_or(Outcome::Unmarked, outcome_from_number)
    }

    /// All numbers of a row in one column, a list's flat.
    ///
    /// # Errors
    /// There is no such column, or it holds no numbers.
    pub fn numbers(&self, name: &str, row: usize) -> Result<Vec<f64>, String> {
        let array = self.batch.column_by_name(name);
        let array = array.ok_or_else(|| format!("lacks the column {name}"))?;
        let one = super::columns::column_from_array(&array.slice(row, 1));
        Ok(one
            .map_err(|why| format!("column {name} {why}"))?
            .numbers())
    }

    /// A number of a row, also where it is the only one of a list.
    ///
    /// # Errors
    /// There is no such column, or a gap in it.
    pub fn number(&self, name: &str, row: usize) -> Result<f64, String> {
        let value = self.numbers(name, row)?.first().copied();
        value
            .filter(|value| value.is_finite())
            .ok_or_else(|| format!("has a gap in the column {name}"))
    }

    /// A whole number of a row, 0 or more.
    ///
    /// # Errors
    /// There is no such column, or something else is in it.
    pub fn count(&self, name: &str, row: usize) -> Result<usize, String> {
        let value = self.number(name, row)?;
        if value < 0.0 || value.fract() != 0.0 {
            return Err(format!("has {value} in the column {name}, where a count must be"));
        }
        Ok(counted(value))
    }
}

/// A path of `meta/info.json`, filled in.
pub fn path(template: &str, numbers: &[(&str, usize)], key: Option<&str>) -> Result<PathBuf, String> {
    expand(template, numbers, key).ok_or_else(|| {
        format!("needs the path {template:?} of meta/info.json, which cannot be filled in or leads out of the data set")
    })
}

/// The texts of one row's list, each once, in order.
fn words(array: &ArrayRef, row: usize) -> Vec<String> {
    let one = array.slice(row, 1);
    let list = match one.data_type() {
        DataType::List(_) => one.as_list::<i32>().value(0),
        DataType::LargeList(_) => one.as_list::<i64>().value(0),
        _ => one,
    };
    let Ok(Column {
        values: Values::Text(words),
        ..
    }) = super::columns::column_from_array(&list)
    else {
        return Vec::new();
    };
    let mut seen = BTreeSet::new();
    let words = words.into_iter();
    words.filter(|words| seen.insert(words.clone())).collect()
}

/// How an episode went, from the number in its column.
pub fn outcome_from_number(number: f64) -> Outcome {
    match counted(number) {
        1 => Outcome::Success,
        2 => Outcome::Failure,
        _ => Outcome::Unmarked,
    }
}

/// The number of the picture that is shown at a time.
pub fn frame_at(time_s: f64, fps: f64) -> u64 {
    counted((time_s * fps).round()) as u64
}

/// How long so many rows last.
pub fn seconds(rows: usize, fps: f64) -> f64 {
    whole(rows) / fps
}

#[expect(
    clippy::cast_precision_loss,
    reason = "row numbers are far below 2^53"
)]
pub fn whole(rows: usize) -> f64 {
    rows as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts; what is negative or not a number becomes 0"
)]
fn counted(value: f64) -> usize {
    value as usize
}
