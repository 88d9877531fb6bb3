//! The commands as they are typed, over a data set that LeRobot wrote.

use std::path::Path;

use serde_json::Value;

use crate::cli::Outcome;
use crate::dataset::read::sample::{SAMPLE, change_info, copied, recorded};

fn data(words: &[&str]) -> (Outcome, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words = ["smolpilot", "data"].iter().chain(words);
    let outcome = crate::cli::run(words.map(|it| (*it).to_owned()), &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (outcome, text(out), text(err))
}

fn done(words: &[&str]) -> String {
    let (outcome, out, err) = data(words);
    assert_eq!(outcome, Outcome::Done, "{words:?}: {err}");
    out
}

fn json(words: &[&str]) -> Value {
    let words = [words, &["--json"]].concat();
    serde_json::from_str(&done(&words)).unwrap()
}

fn place(root: &Path) -> &str {
    root.to_str().unwrap()
}

#[test]
fn a_sound_set_passes_and_a_broken_one_ends_with_one() {
    let sound = json(&["check", SAMPLE]);
    assert_eq!(
        (&sound["episodes"], &sound["rows"]),
        (&4.into(), &210.into())
    );
    let (_guard, root) = copied();
    change_info(&root, |info| info["total_frames"] = 300.into());
    let (outcome, out, err) = data(&["check", place(&root)]);
    assert_eq!(outcome, Outcome::Fault);
    assert!(
        out.contains("error") && out.contains("[episodes.frames]"),
        "{out}"
    );
    assert!(err.contains("1 errors"), "{err}");
}

#[test]
fn what_is_in_a_set_is_shown_and_a_picture_written() {
    assert!(done(&["show", SAMPLE]).contains("camera front: 640x480 av1"));
    let set = json(&["show", SAMPLE]);
    assert_eq!(set["episodes"][2]["rows"], 75);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("front.png");
    let words = ["show", SAMPLE, "--episode", "1", "--picture", place(&file)];
    let words = [&words[..], &["--camera", "wrist", "--row", "4"]].concat();
    assert!(done(&words).contains("observation.state gripper.pos"));
    assert_eq!(image::open(&file).unwrap().width(), 640);
    let (outcome, _, err) = data(&["show", SAMPLE, "--episode", "9"]);
    assert!(
        outcome == Outcome::Fault && err.contains("no episode 9"),
        "{err}"
    );
    assert_eq!(data(&["show", SAMPLE, "--row", "3"]).0, Outcome::Usage);
}

#[test]
fn sets_are_found_below_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    recorded(&folder.path().join("them/cubes"), &[2]);
    std::fs::create_dir_all(folder.path().join("broken/meta")).unwrap();
    std::fs::write(folder.path().join("broken/meta/info.json"), "{").unwrap();
    let found = json(&["list", place(folder.path())]);
    assert_eq!(found.as_array().unwrap().len(), 2);
    assert!(found[0]["trouble"].as_str().unwrap().contains("not JSON"));
    assert_eq!(found[1]["episodes"], 1);
    let alone = done(&["list", place(&folder.path().join("them/cubes"))]);
    assert!(alone.contains("1 episodes, 2 rows"), "{alone}");
}

#[test]
fn a_set_is_changed_by_words() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    recorded(&root, &[3, 4, 5, 6]);
    let set = place(&root);
    let left = json(&["delete", set, "--episodes", "0,2-2"]);
    assert_eq!((&left["episodes"], &left["rows"]), (&2.into(), &10.into()));
    done(&["trim", set, "--episode", "1", "--from", "2"]);
    done(&["relabel", set, "--episodes", "all", "--task", "fold"]);
    done(&["mark", set, "--episodes", "1", "--as", "failure"]);
    let shown = json(&["show", set]);
    assert_eq!(shown["tasks"], serde_json::json!(["fold"]));
    assert_eq!(shown["episodes"][1]["rows"], 4);
    assert_eq!(shown["episodes"][0]["outcome"], "success");
    assert_eq!(shown["episodes"][1]["outcome"], "failure");
    let [both, half] = ["both", "half"].map(|name| folder.path().join(name));
    let merged = json(&["merge", set, set, "--into", place(&both)]);
    assert_eq!(merged["episodes"], 4);
    json(&[
        "split",
        place(&both),
        "--episodes",
        "3",
        "--into",
        place(&half),
    ]);
    assert_eq!(json(&["check", place(&half)])["rows"], 4);
    let (outcome, _, err) = data(&["delete", set, "--episodes", "all"]);
    assert!(
        outcome == Outcome::Fault && err.contains("no episode would be left"),
        "{err}"
    );
    assert_eq!(data(&["delete", set, "--episodes", "x"]).0, Outcome::Usage);
    assert_eq!(
        data(&["mark", set, "--episodes", "1", "--as", "fine"]).0,
        Outcome::Usage
    );
}

#[test]
fn what_was_left_unfinished_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    recorded(&root, &[3]);
    let set = place(&root);
    assert!(done(&["recover", set]).contains("nothing was left"));
    std::fs::create_dir_all(root.join(".edit/new/meta")).unwrap();
    assert!(!data(&["check", set]).2.is_empty());
    assert_eq!(json(&["recover", set])["edit"], "taken back");
    assert_eq!(json(&["check", set])["rows"], 3);
    let (outcome, _, err) = data(&["recover", set, "--id", "ep-1"]);
    assert!(outcome == Outcome::Fault && err.contains("ep-1"), "{err}");
}
