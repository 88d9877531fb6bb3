//! For tests: LeRobot's own small data set, copied to be changed, and the same in layout 2.1.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Dataset;
use crate::dataset::schema::Info;
use crate::dataset::stats::to_json;
use crate::dataset::table::{episodes, rows};
use crate::dataset::video::mp4::{Part, Recode, splice};
use crate::dataset::{CameraShape, Disk, Outcome, Plan, Provenance, Recorder, Step};
use crate::joint::JointVec;
use crate::observation::Frame;

/// Four episodes of 60, 45, 75 and 30 rows, two tasks, two cameras in AV1, as LeRobot 0.6.1 wrote them.
pub const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/lerobot_sample");

/// A copy in a folder of its own, gone with the guard.
pub fn copied() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("sample");
    copy_folder(Path::new(SAMPLE), &root);
    (folder, root)
}

pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Changes `meta/info.json`.
pub fn change_info(root: &Path, change: impl FnOnce(&mut Value)) {
    let path = root.join("meta/info.json");
    let mut info: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut info);
    fs::write(&path, serde_json::to_string_pretty(&info).unwrap()).unwrap();
}

/// The sample in layout 2.1: one table and one film an episode, lists as JSON lines.
pub fn older() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("older");
    let sample = Dataset::open(SAMPLE).unwrap();
    fs::create_dir_all(root.join("meta")).unwrap();
    let features = &sample.info().features;
    let listed = episodes::read(Path::new(SAMPLE), features).unwrap();
    let (mut lines, mut stats) = (String::new(), String::new());
    for (episode, listed) in sample.episodes().iter().zip(&listed) {
        let name = format!("episode_{:06}", episode.index);
        let table = sample.rows(episode.index).unwrap().table;
        let path = root.join(format!("data/chunk-000/{name}.parquet"));
        rows::write(&Disk::new(), &path, features, [Ok(table)]).unwrap();
        for (camera, span) in sample.cameras().iter().zip(&episode.spans) {
            let film = root.join(format!("videos/chunk-000/{}/{name}.mp4", camera.key));
            let first = span.first as usize;
            cut(
                &Path::new(SAMPLE).join(&span.film),
                &film,
                std::slice::from_ref(&(first..first + episode.length)),
            );
        }
        let line = json!({"episode_index": episode.index, "tasks": episode.tasks, "length": episode.length});
        writeln!(lines, "{line}").unwrap();
        let line =
            json!({"episode_index": episode.index, "stats": to_json(&listed.stats, features)});
        writeln!(stats, "{line}").unwrap();
    }
    fs::write(root.join("meta/episodes.jsonl"), lines).unwrap();
    fs::write(root.join("meta/episodes_stats.jsonl"), stats).unwrap();
    let tasks = sample.tasks().iter().enumerate();
    let tasks = tasks.map(|(at, task)| format!("{}\n", json!({"task_index": at, "task": task})));
    fs::write(root.join("meta/tasks.jsonl"), tasks.collect::<String>()).unwrap();
    Info::read(Path::new(SAMPLE))
        .unwrap()
        .write(&root, &Disk::new())
        .unwrap();
    change_info(&root, |info| {
        info["codebase_version"] = json!("v2.1");
        info["total_chunks"] = json!(1);
        info["total_videos"] = json!(8);
        info["data_path"] =
            json!("data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet");
        info["video_path"] =
            json!("videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4");
    });
    (folder, root)
}

/// Episodes of these lengths by the project's own recorder: two small cameras, columns of provenance, marked a success.
///
/// The first camera moves; the second shows the same picture all the time.
pub fn recorded(root: &Path, lengths: &[u64]) {
    let shape = |name: &str| CameraShape {
        name: name.to_owned(),
        width: 32,
        height: 16,
    };
    let plan = Plan {
        fps: 10,
        cameras: vec![shape("front"), shape("wrist")],
        key_frame_interval: 4,
        ..Plan::new(root)
    };
    let mut recorder = Recorder::open(plan).unwrap();
    for (episode, &length) in lengths.iter().enumerate() {
        recorder.begin().unwrap();
        (0..length).for_each(|k| recorder.push(step(episode, k)).unwrap());
        recorder.keep(Outcome::Success).unwrap();
    }
    recorder.close().unwrap();
}

fn step(episode: usize, k: u64) -> Step {
    let frame = |level: u64| {
        let rgb = vec![(level % 256) as u8; 32 * 16 * 3];
        Frame::new(32, 16, rgb, k + 1, Duration::from_millis(100 * k))
    };
    Step {
        at: Duration::from_millis(5_000 + 100 * k),
        state: JointVec([k as f32; 6]),
        action: JointVec([k as f32 + 0.5; 6]),
        frames: vec![frame(30 + 20 * (k % 10)), frame(90)],
        task: Arc::from(format!("task {}", episode % 2)),
        provenance: Provenance::default(),
        missed: 0,
    }
}

/// Writes the pictures `ranges` of a film into another.
pub fn cut(film: &Path, into: &Path, ranges: &[std::ops::Range<usize>]) {
    fs::create_dir_all(into.parent().unwrap()).unwrap();
    let parts = ranges.iter().map(|it| Part::new(film, it.clone()).unwrap());
    let recode = Recode {
        fps: 30,
        key_frame_interval: 10,
        scratch: into.parent().unwrap(),
    };
    let mut out = File::create(into).unwrap();
    splice(parts.collect(), recode, &mut out).unwrap();
}
