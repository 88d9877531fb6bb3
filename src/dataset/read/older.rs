//! The lists of a data set of layout 2, as most of the hub's are: JSON lines, one table and one film an episode.

use std::path::Path;

use serde_json::Value;

use crate::dataset::schema::Info;
use crate::dataset::{Error, Outcome};

use super::episode::{Camera, Episode, Span};
use super::listing::{path, seconds};
use super::parquet_file::text;

/// Tasks in words, by number.
///
/// # Errors
/// `meta/tasks.jsonl` is missing, is not JSON lines, or does not count from 0.
pub fn tasks(root: &Path) -> Result<Vec<String>, Error> {
    let lines = Lines::read(root, "meta/tasks.jsonl")?;
    let mut tasks = vec![String::new(); lines.values.len()];
    for (line, value) in &lines.values {
        let place = lines.count(*line, value, "task_index")?;
        let words = value.get("task").and_then(Value::as_str);
        let words = words.ok_or_else(|| lines.wrong(*line, "lacks task"))?;
        let task = tasks.get_mut(place);
        words.clone_into(task.ok_or_else(|| lines.wrong(*line, "skips a task_index"))?);
    }
    Ok(tasks)
}

/// All episodes, in order.
///
/// # Errors
/// `meta/episodes.jsonl` is missing, is not JSON lines, or does not count from 0 without gaps.
pub fn episodes(root: &Path, info: &Info, cameras: &[Camera]) -> Result<Vec<Episode>, Error> {
    let lines = Lines::read(root, "meta/episodes.jsonl")?;
    let mut episodes: Vec<Episode> = Vec::new();
    for (line, value) in &lines.values {
        let index = lines.count(*line, value, "episode_index")?;
        if index != episodes.len() {
            let why = format!("lists episode {index} in the place of {}", episodes.len());
            return Err(lines.wrong(*line, &why));
        }
        let length = lines.count(*line, value, "length")?;
        let tasks = value.get("tasks").and_then(Value::as_array);
        let tasks = tasks.map_or(&[][..], Vec::as_slice);
        let first = episodes.last().map_or(0, |before| before.rows.end);
        let place = |template: &str, key: Option<&str>| {
            let numbers = [
                ("episode_chunk", index / info.chunks_size),
                ("episode_index", index),
            ];
            path(template, &numbers, key).map_err(|why| lines.wrong(*line, &why))
        };
        let template = info.video_path.as_deref().unwrap_or_default();
        let spans: Result<_, _> = cameras
            .iter()
            .map(|camera| {
                Ok::<_, Error>(match camera.in_table {
                    true => Span::default(),
                    false => Span {
                        film: place(template, Some(&camera.key))?,
                        first: 0,
                        from_s: 0.0,
                        to_s: seconds(length, f64::from(info.fps)),
                    },
                })
            })
            .collect();
        episodes.push(Episode {
            index,
            length,
            tasks: tasks
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            outcome: Outcome::Unmarked,
            rows: first..first + length as u64,
            table: place(&info.data_path, None)?,
            spans: spans?,
        });
    }
    Ok(episodes)
}

/// A file of JSON lines.
struct Lines {
    path: std::path::PathBuf,
    /// Line numbers, from 1, and what is on them.
    values: Vec<(usize, Value)>,
}

impl Lines {
    fn read(root: &Path, name: &str) -> Result<Self, Error> {
        let path = root.join(name);
        let mut lines = Self {
            values: Vec::new(),
            path,
        };
        let text = text(&lines.path)?;
        let full = text.lines().enumerate();
        for (at, line) in full.filter(|(_, line)| !line.trim().is_empty()) {
            let value = serde_json::from_str(line).map_err(|error| {
                lines.wrong(at + 1, &format!("is not JSON ({error}): restore the file from a copy"))
            })?;
            lines.values.push((at + 1, value));
        }
        Ok(lines)
    }

    fn count(&self, line: usize, value: &Value, key: &str) -> Result<usize, Error> {
        let count = value.get(key).and_then(Value::as_u64);
        count
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| self.wrong(line, &format!("lacks {key}, or it is no count")))
    }

    fn wrong(&self, line: usize, why: &str) -> Error {
        Error::Malformed {
            path: self.path.clone(),
            why: format!("line {line} {why}"),
        }
    }
}
