//! Tests of reading, on a data set that LeRobot wrote.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::sample::{SAMPLE, change_info, copied, older};
use super::{Dataset, Version};
use crate::dataset::Outcome;

fn refusal(root: &Path) -> String {
    Dataset::open(root).unwrap_err().to_string()
}

#[test]
fn lerobots_data_set_is_read_with_its_rows_and_pictures() {
    let mut set = Dataset::open(SAMPLE).unwrap();
    assert_eq!((set.version(), set.fps()), (Version::V30, 30.0));
    assert_eq!((set.frames(), set.robot_type()), (210, "so_follower"));
    let lengths: Vec<_> = set.episodes().iter().map(|it| it.length).collect();
    assert_eq!(lengths, [60, 45, 75, 30]);
    assert_eq!(set.tasks().len(), 2);
    let names: Vec<_> = set.cameras().iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["front", "wrist"]);
    let second = set.episode(1).unwrap().clone();
    assert_eq!(
        (second.rows.clone(), second.outcome),
        (60..105, Outcome::Unmarked)
    );
    assert_eq!(second.spans[0].first, 60);
    let rows = set.rows(1).unwrap();
    assert_eq!(
        (rows.len(), rows.states().len(), rows.actions().len()),
        (45, 45, 45)
    );
    assert_eq!(rows.scalars("frame_index").unwrap()[44], 44.0);
    assert!(rows.left_out.is_empty());
    let few = set.columns(2, &["timestamp"]).unwrap();
    assert_eq!(few.scalars("timestamp").unwrap().len(), 75);
    let frame = set.frame(1, "front", 3).unwrap();
    assert_eq!((frame.width, frame.height, frame.seq), (640, 480, 63));
}

#[test]
fn layout_2_reads_as_layout_3_does() {
    let (_guard, root) = older();
    let (mut old, mut new) = (
        Dataset::open(&root).unwrap(),
        Dataset::open(SAMPLE).unwrap(),
    );
    assert_eq!((old.version(), old.tasks()), (Version::V21, new.tasks()));
    for episode in 0..4 {
        assert_eq!(old.rows(episode).unwrap(), new.rows(episode).unwrap());
        assert_eq!(old.episodes()[episode].rows, new.episodes()[episode].rows);
        assert_eq!(old.episodes()[episode].tasks, new.episodes()[episode].tasks);
        for row in [0, 17] {
            let a = old.frame(episode, "observation.images.wrist", row).unwrap();
            let b = new.frame(episode, "wrist", row).unwrap();
            assert!(a.rgb == b.rgb, "episode {episode} row {row}");
        }
    }
    change_info(&root, |info| info["codebase_version"] = json!("v2.0"));
    assert_eq!(Dataset::open(&root).unwrap().version(), Version::V20);
}

#[test]
fn what_is_not_there_is_named() {
    let mut set = Dataset::open(SAMPLE).unwrap();
    let said = set.frame(0, "top", 0).unwrap_err().to_string();
    assert!(
        said.contains("top") && said.contains("front, wrist"),
        "{said}"
    );
    assert!(
        set.frame(0, "front", 60)
            .unwrap_err()
            .to_string()
            .contains("no row 60")
    );
    assert!(
        set.rows(4)
            .unwrap_err()
            .to_string()
            .contains("no episode 4")
    );
}

#[test]
fn a_folder_that_cannot_be_read_says_why_and_what_helps() {
    let (_guard, root) = copied();
    assert!(refusal(&root.join("gone")).contains("there is no folder"));
    assert!(refusal(&root.join("data")).contains("no data set of LeRobot"));
    for (version, words) in [("v1.6", "convert it"), ("v4.0", "newer smolpilot")] {
        change_info(&root, |info| info["codebase_version"] = json!(version));
        let said = refusal(&root);
        assert!(said.contains(words) && said.contains("info.json"), "{said}");
    }
    fs::write(root.join("meta/info.json"), "{\"fps\": 30,").unwrap();
    assert!(refusal(&root).contains("not JSON"));
    fs::remove_file(root.join("meta/info.json")).unwrap();
    assert!(refusal(&root).contains("info.json is missing"));
}

#[test]
fn a_recording_that_was_killed_is_told_as_such() {
    let (_guard, root) = copied();
    let table = root.join("data/chunk-000/file-000.parquet");
    let bytes = fs::read(&table).unwrap();
    fs::write(&table, &bytes[..bytes.len() - 500]).unwrap();
    let said = Dataset::open(&root)
        .unwrap()
        .rows(0)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("file-000.parquet") && said.contains("no footer"),
        "{said}"
    );
    fs::remove_dir_all(root.join("meta/episodes")).unwrap();
    let said = refusal(&root);
    assert!(said.contains("holds no list of episodes"), "{said}");
}

#[test]
fn a_film_that_is_gone_or_cut_off_is_named() {
    let (_guard, root) = copied();
    let film = root.join("videos/observation.images.front/chunk-000/file-000.mp4");
    let bytes = fs::read(&film).unwrap();
    for left in [bytes.len() / 2, 100] {
        fs::write(&film, &bytes[..left]).unwrap();
        let mut set = Dataset::open(&root).unwrap();
        let said = set.frame(0, "front", 0).unwrap_err().to_string();
        assert!(said.contains("file-000.mp4"), "{said}");
        assert!(set.frame(0, "wrist", 0).is_ok());
    }
    fs::remove_file(&film).unwrap();
    let said = Dataset::open(&root)
        .unwrap()
        .frame(0, "front", 0)
        .unwrap_err();
    assert!(said.to_string().contains("is missing"), "{said}");
}

#[test]
fn an_info_with_the_least_in_it_is_enough() {
    let (_guard, root) = copied();
    change_info(&root, |info| {
        let keys = [
            "codebase_version",
            "fps",
            "features",
            "total_episodes",
            "total_frames",
        ];
        let kept = keys.map(|key| (key.to_owned(), info[key].take()));
        *info = serde_json::Value::Object(kept.into_iter().collect());
        info["fps"] = json!(30.0);
    });
    let mut set = Dataset::open(&root).unwrap();
    assert_eq!(set.rows(3).unwrap().len(), 30);
    assert!(set.frame(3, "front", 29).is_ok());
}
