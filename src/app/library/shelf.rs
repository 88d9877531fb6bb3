//! A data set as it is listed: read off its `info.json` alone, so that a long list is there at once.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use crate::app::library::places::{INFO, JOURNALS};
use crate::runtime::Shelf;

/// Journals of episodes begin with this.
const JOURNAL: &str = "ep-";

/// The data set in `root`, called `name`.
pub fn shelf(root: &Path, name: String) -> Shelf {
    let bare = Shelf {
        root: root.to_owned(),
        name,
        interrupted: journals(root),
        ..Shelf::default()
    };
    match read(root) {
        Ok(info) => filled(bare, &info),
        Err(why) => Shelf {
            trouble: Some(why),
            ..bare
        },
    }
}

fn read(root: &Path) -> Result<Value, String> {
    let path = root.join(INFO);
    let text =
        fs::read_to_string(&path).map_err(|error| format!("{INFO} cannot be read: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{INFO} is damaged: {error}"))
}

fn filled(bare: Shelf, info: &Value) -> Shelf {
    let whole = |key: &str| info.get(key).and_then(Value::as_u64);
    let words = |key: &str| {
        let text = info.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let version = words("codebase_version");
    let is_known = ["v3.", "v2."]
        .iter()
        .any(|known| version.starts_with(known));
    Shelf {
        episodes: whole("total_episodes").unwrap_or(0) as usize,
        frames: whole("total_frames").unwrap_or(0),
        fps: info.get("fps").and_then(Value::as_f64).unwrap_or(0.0) as f32,
        robot: words("robot_type"),
        trouble: (!is_known).then(|| {
            let said = if version.is_empty() {
                "no version"
            } else {
                &version
            };
            format!("{INFO} says {said}; versions 3.0, 2.1 and 2.0 can be read")
        }),
        version,
        ..bare
    }
}

/// When a file of its `meta` folder was written last: films that were joined change only the tables there.
pub fn changed_at(root: &Path) -> Option<SystemTime> {
    newest(&root.join("meta"))
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    entries
        .filter_map(|entry| match entry.metadata().ok()? {
            what if what.is_dir() => newest(&entry.path()),
            what => what.modified().ok(),
        })
        .max()
}

/// How many journals of episodes a crash has left.
fn journals(root: &Path) -> usize {
    let entries = fs::read_dir(root.join(JOURNALS)).into_iter().flatten();
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(JOURNAL))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shelf_says_what_the_info_says_or_why_it_cannot() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        let of = || shelf(root, "cube".to_owned());
        assert!(of().trouble.unwrap().contains("cannot be read"));
        fs::create_dir_all(root.join("meta")).unwrap();
        let say = |text: &str| fs::write(root.join(INFO), text).unwrap();
        say(
            "{\"codebase_version\": \"v3.0\", \"fps\": 30, \"total_episodes\": 4, \"total_frames\": 210}",
        );
        fs::create_dir_all(root.join(JOURNALS).join("ep-000004-7")).unwrap();
        let known = of();
        assert_eq!((known.episodes, known.frames, known.fps), (4, 210, 30.0));
        assert_eq!((known.trouble, known.interrupted), (None, 1));
        say("{\"codebase_version\": \"v1.6\"}");
        assert!(of().trouble.unwrap().contains("v1.6"));
        say("{");
        assert!(of().trouble.unwrap().contains("damaged"));
    }
}
