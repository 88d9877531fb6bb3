//! The list of episodes of a data set of layout 2, as most of the hub's are: JSON lines, one table and one film an episode.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::dataset::schema::Info;
use crate::dataset::stats::{Stats, from_json};
use crate::dataset::{Error, Outcome};

use super::episode::{Camera, Episode, Span};
use super::listing::seconds;

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
        let first = episodes.last().map_or(0, |before| before.rows.end);
        episodes.push(Episode {
            index,
            length,
            tasks: tasks(value),
            outcome: Outcome::Unmarked,
            rows: first..first + length as u64,
            table: below(root, &info.episode_rows_path(root, index)?),
            spans: cameras
                .iter()
                .map(|camera| span(root, info, camera, index, length))
                .collect::<Result<_, _>>()?,
        });
    }
    Ok(episodes)
}

/// Statistics by episode, empty where the data set has none: layout 2.0 keeps only those of the whole.
///
/// # Errors
/// `meta/episodes_stats.jsonl` is there but is not JSON lines.
pub fn statistics(root: &Path, episodes: usize) -> Result<Vec<Stats>, Error> {
    let mut found = vec![Stats::new(); episodes];
    let name = "meta/episodes_stats.jsonl";
    if root.join(name).is_file() {
        let lines = Lines::read(root, name)?;
        for (line, value) in &lines.values {
            let index = lines.count(*line, value, "episode_index")?;
            if let (Some(place), Some(stats)) = (found.get_mut(index), value.get("stats")) {
                *place = from_json(stats).unwrap_or_default();
            }
        }
    }
    Ok(found)
}

fn tasks(value: &Value) -> Vec<String> {
    let tasks = value.get("tasks").and_then(Value::as_array);
    let tasks = tasks.into_iter().flatten().filter_map(Value::as_str);
    tasks.map(str::to_owned).collect()
}

fn span(
    root: &Path,
    info: &Info,
    camera: &Camera,
    index: usize,
    length: usize,
) -> Result<Span, Error> {
    if camera.in_table {
        return Ok(Span::default());
    }
    Ok(Span {
        film: below(root, &info.episode_video_path(root, &camera.key, index)?),
        first: 0,
        from_s: 0.0,
        to_s: seconds(length, info.fps),
    })
}

fn below(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_path_buf()
}

/// A file of JSON lines.
struct Lines {
    path: PathBuf,
    /// Line numbers, from 1, and what is on them.
    values: Vec<(usize, Value)>,
}

impl Lines {
    fn read(root: &Path, name: &str) -> Result<Self, Error> {
        let path = root.join(name);
        let text = std::fs::read_to_string(&path).map_err(|error| Error::Io {
            path: path.clone(),
            error,
        })?;
        let mut lines = Self {
            values: Vec::new(),
            path,
        };
        let full = text.lines().enumerate();
        for (at, line) in full.filter(|(_, line)| !line.trim().is_empty()) {
            let value = serde_json::from_str(line).map_err(|error| {
                let why = format!("is not JSON ({error}): restore the file from a copy");
                lines.wrong(at + 1, &why)
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
