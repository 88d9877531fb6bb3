//! What `meta/info.json` must say, and what it may not.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::dataset::read::Version;
use crate::dataset::schema::{Feature, Info};

use super::finding::{Finding, Report};

const FILE: &str = "meta/info.json";

/// Columns that every data set has, and their types.
const DEFAULTS: [(&str, &str); 5] = [
    ("timestamp", "float32"),
    ("frame_index", "int64"),
    ("episode_index", "int64"),
    ("index", "int64"),
    ("task_index", "int64"),
];

/// Keys that LeRobot 0.6.1 writes.
const KEYS: [&str; 13] = [
    "codebase_version",
    "fps",
    "features",
    "total_episodes",
    "total_frames",
    "total_tasks",
    "chunks_size",
    "data_files_size_in_mb",
    "video_files_size_in_mb",
    "data_path",
    "video_path",
    "robot_type",
    "splits",
];

/// Keys of layout 2 that are not among [`KEYS`], and one that may be there.
const OTHER_KEYS: [&str; 3] = ["total_chunks", "total_videos", "tools"];

/// Names of a picture's sides that training code knows.
const SIDES: [[&str; 3]; 4] = [
    ["height", "width", "channels"],
    ["height", "width", "channel"],
    ["channels", "height", "width"],
    ["channel", "height", "width"],
];

pub fn check(root: &Path, info: &Info, version: Version, report: &mut Report) {
    let text = std::fs::read_to_string(root.join(FILE)).unwrap_or_default();
    let raw: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    for key in KEYS {
        if version == Version::V30 && !raw.contains_key(key) {
            report.add(
                Finding::warning("info.key", format!("the key {key} is missing"))
                    .file(FILE)
                    .advice("LeRobot reads it all the same; the hub's viewer does not"),
            );
        }
    }
    layout(info, version, report);
    for (key, dtype) in DEFAULTS {
        let right = |it: &Feature| it.dtype.name() == dtype && it.shape == [1];
        if !info.features.get(key).is_some_and(right) {
            let what = format!("features must have {key} as {dtype} of shape [1]");
            report.add(Finding::error("info.default_feature", what).file(FILE));
        }
    }
    for (key, feature) in info.features.iter() {
        check_feature(key, feature, report);
    }
    let total = info.total_episodes;
    let splits = raw.get("splits").unwrap_or(&Value::Null);
    let usual = json!({"train": format!("0:{total}")});
    if ![usual, json!({}), Value::Null].contains(splits) {
        let what = format!("splits is {splits}, LeRobot writes {{\"train\": \"0:{total}\"}}");
        report.add(Finding::warning("info.splits", what).file(FILE));
    }
    let known = |key: &String| {
        let key = &key.as_str();
        KEYS.contains(key) || OTHER_KEYS.contains(key)
    };
    for key in raw.keys().filter(|key| !known(key)) {
        let what = format!("LeRobot ignores the key {key}, with a warning");
        report.add(Finding::note("info.unknown", what).file(FILE));
    }
}

fn layout(info: &Info, version: Version, report: &mut Report) {
    let said = &info.codebase_version;
    if version < Version::V30 {
        let what = format!("is of layout {said}, which LeRobot 0.4 and later refuse");
        report.add(
            Finding::warning("info.version", what)
                .file(FILE)
                .advice("`smolpilot data merge DIR --into NEW` writes it as v3.0"),
        );
    } else if *said != version.to_string() {
        let what = format!("codebase_version is {said}, read as {version}");
        report.add(Finding::warning("info.version", what).file(FILE));
    }
}

fn check_feature(key: &str, feature: &Feature, report: &mut Report) {
    if key.contains('/') {
        let what = format!("the name of feature {key} contains a slash");
        report.add(Finding::error("info.feature_name", what).file(FILE));
    }
    let (names, shape) = (feature.labels(), &feature.shape);
    if feature.dtype.is_picture() {
        if shape.len() != 3 {
            let what = format!("{key} has the shape {shape:?}, which must be three sizes");
            report.add(Finding::error("info.camera", what).file(FILE));
        }
        if !SIDES.iter().any(|sides| names == sides) {
            report.add(
                Finding::warning("info.camera", format!("{key} names its sides {names:?}"))
                    .file(FILE)
                    .advice("training code expects height, width, channels"),
            );
        }
    } else if shape.len() == 1 && !names.is_empty() && names.len() != shape[0] {
        let what = format!("{key} has {} names for the shape {shape:?}", names.len());
        report.add(Finding::error("info.names", what).file(FILE));
    }
}
