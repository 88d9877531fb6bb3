//! `meta/info.json`: the schema, the counters and the path templates of a data set.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::{Features, FilePlace, expand};
use crate::dataset::disk::at;
use crate::dataset::{Disk, Error, Plan};

/// Where it lies in a data set.
pub const PATH: &str = "meta/info.json";

/// The contents of `meta/info.json`, in LeRobot's order. Read of v2.0 to v3.0, written as v3.0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Info {
    pub codebase_version: String,
    #[serde(deserialize_with = "whole_rate")]
    pub fps: u32,
    pub features: Features,
    pub total_episodes: usize,
    pub total_frames: u64,
    #[serde(default)]
    pub total_tasks: usize,
    /// Files a folder at most.
    #[serde(default = "chunks_size")]
    pub chunks_size: usize,
    /// MiB that a table grows to.
    #[serde(default = "data_files_size")]
    pub data_files_size_in_mb: u32,
    /// MiB that a film grows to.
    #[serde(default = "video_files_size")]
    pub video_files_size_in_mb: u32,
    /// Empty where the data set does not say.
    #[serde(default)]
    pub data_path: String,
    /// Null without cameras.
    #[serde(default)]
    pub video_path: Option<String>,
    #[serde(default)]
    pub robot_type: Option<String>,
    #[serde(default)]
    pub splits: Map<String, Value>,
    /// What else it says: kept as it is.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

fn chunks_size() -> usize {
    1000
}

fn data_files_size() -> u32 {
    100
}

fn video_files_size() -> u32 {
    200
}

/// LeRobot reads 30.0 as well as 30.
fn whole_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let rate = f64::deserialize(deserializer)?;
    if rate.fract() == 0.0 && (1.0..=1000.0).contains(&rate) {
        Ok(rate as u32)
    } else {
        Err(serde::de::Error::custom(format!(
            "fps is {rate:?}; whole numbers of rows a second from 1 to 1000 can be read"
        )))
    }
}

impl Info {
    /// Of a data set that has nothing in it yet.
    pub fn from_plan(plan: &Plan) -> Self {
        let video_path = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4";
        let mut info = Self {
            codebase_version: "v3.0".to_owned(),
            fps: plan.fps,
            features: Features::from_plan(plan),
            total_episodes: 0,
            total_frames: 0,
            total_tasks: 0,
            chunks_size: chunks_size(),
            data_files_size_in_mb: data_files_size(),
            video_files_size_in_mb: video_files_size(),
            data_path: "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet".to_owned(),
            video_path: (!plan.cameras.is_empty()).then(|| video_path.to_owned()),
            robot_type: Some(plan.robot_type.clone()),
            splits: Map::new(),
            rest: Map::new(),
        };
        info.count(0, 0, 0);
        info
    }

    /// Sets the counters, and the split that goes with them.
    pub fn count(&mut self, episodes: usize, frames: u64, tasks: usize) {
        self.total_episodes = episodes;
        self.total_frames = frames;
        self.total_tasks = tasks;
        self.splits = Map::new();
        self.splits
            .insert("train".to_owned(), json!(format!("0:{episodes}")));
    }

    /// Reads it; `Error::Absent` when there is no data set in `root`.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let path = root.join(PATH);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let why = format!("{} holds no data set: there is no {PATH}", root.display());
                return Err(Error::Absent(why));
            }
            read => read.map_err(|error| at(&path, error))?,
        };
        serde_json::from_str(&text).map_err(|error| Error::Malformed {
            path,
            why: error.to_string(),
        })
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, root: &Path, disk: &Disk) -> Result<(), Error> {
        disk.replace(&root.join(PATH), pretty(self).as_bytes())
    }

    /// Major version of the format: 2 or 3.
    pub fn major(&self) -> Option<u32> {
        let version = self.codebase_version.trim_start_matches('v');
        version.split('.').next()?.parse().ok()
    }

    /// The table of rows, v3.0.
    pub fn rows_path(&self, root: &Path, place: FilePlace) -> Result<PathBuf, Error> {
        fill(root, &self.data_path, &numbers(place), None)
    }

    /// The film of a camera, v3.0.
    pub fn video_path(&self, root: &Path, key: &str, place: FilePlace) -> Result<PathBuf, Error> {
        fill(root, self.video_template(root)?, &numbers(place), Some(key))
    }

    /// The table of one episode's rows, v2.
    pub fn episode_rows_path(&self, root: &Path, episode: usize) -> Result<PathBuf, Error> {
        fill(root, &self.data_path, &self.v2_numbers(episode), None)
    }

    /// One episode's film of a camera, v2.
    pub fn episode_video_path(
        &self,
        root: &Path,
        key: &str,
        episode: usize,
    ) -> Result<PathBuf, Error> {
        let numbers = self.v2_numbers(episode);
        fill(root, self.video_template(root)?, &numbers, Some(key))
    }

    fn v2_numbers(&self, episode: usize) -> [(&'static str, usize); 2] {
        [
            ("episode_chunk", episode / self.chunks_size.max(1)),
            ("episode_index", episode),
        ]
    }

    fn video_template(&self, root: &Path) -> Result<&str, Error> {
        self.video_path.as_deref().ok_or_else(|| Error::Malformed {
            path: root.join(PATH),
            why: "it has films but no `video_path`".to_owned(),
        })
    }
}

fn fill(
    root: &Path,
    template: &str,
    numbers: &[(&str, usize)],
    key: Option<&str>,
) -> Result<PathBuf, Error> {
    let path = expand(template, numbers, key).ok_or_else(|| Error::Malformed {
        path: root.join(PATH),
        why: format!("the path `{template}` cannot be filled in, or leaves the folder"),
    })?;
    Ok(root.join(path))
}

fn numbers(place: FilePlace) -> [(&'static str, usize); 2] {
    [("chunk_index", place.chunk), ("file_index", place.file)]
}

/// JSON with LeRobot's four spaces.
pub fn pretty(value: &impl Serialize) -> String {
    let mut bytes = vec![];
    let spaces = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, spaces);
    // Plain numbers and text in memory: neither the values nor the writer can fail.
    value.serialize(&mut serializer).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::CameraShape;

    const SAMPLE: &str = include_str!("../../../tests/golden/lerobot_sample/meta/info.json");

    #[test]
    fn what_lerobot_wrote_is_written_again_byte_for_byte() {
        let info: Info = serde_json::from_str(SAMPLE).unwrap();
        assert_eq!(pretty(&info), SAMPLE);
        assert_eq!((info.major(), info.total_frames), (Some(3), 210));
    }

    #[test]
    fn ours_differs_from_lerobots_only_in_the_encoder() {
        let mut plan = Plan::new("set");
        plan.provenance = false;
        plan.cameras = ["front", "wrist"]
            .map(|name| CameraShape {
                name: name.to_owned(),
                width: 640,
                height: 480,
            })
            .to_vec();
        let mut ours = Info::from_plan(&plan);
        ours.count(4, 210, 2);
        let sample: Info = serde_json::from_str(SAMPLE).unwrap();
        let changed = |line: &&str| {
            !["codec", "video.g\"", "crf", "preset", "fast_decode"]
                .iter()
                .any(|key| line.contains(key))
        };
        let ours = pretty(&ours);
        let kept: Vec<_> = ours.lines().filter(changed).collect();
        let sample = pretty(&sample);
        let wanted: Vec<_> = sample.lines().filter(changed).collect();
        assert_eq!(kept, wanted);
    }

    #[test]
    fn a_broken_rate_is_refused_and_a_float_is_not() {
        let with = |fps: &str| {
            serde_json::from_str::<Info>(&SAMPLE.replace(
                "\"fps\": 30,\n    \"features\"",
                &format!("\"fps\": {fps},\n    \"features\""),
            ))
        };
        assert_eq!(with("30.0").unwrap().fps, 30);
        for bad in ["29.97", "0", "-5", "\"30\""] {
            assert!(with(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_data_set_is_said_so() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Info::read(folder.path()), Err(Error::Absent(_))));
        let info = Info::from_plan(&Plan::new(folder.path()));
        info.write(folder.path(), &Disk::new()).unwrap();
        assert_eq!(Info::read(folder.path()).unwrap(), info);
    }
}
