//! Edits of data sets of this program and of LeRobot: what is kept is the same to the pixel, and a kill leaves old or new.

use std::fs;
use std::path::Path;

use super::*;
use crate::dataset::Failure;
use crate::dataset::read::Version;
use crate::dataset::read::sample::{SAMPLE, change_info, copied, copy_folder, older, recorded};
use crate::dataset::table::rows;

fn go() -> impl FnMut(&str, f32) -> ControlFlow<()> {
    |_, _| ControlFlow::Continue(())
}

fn edit(root: &Path, edit: &Edit) -> Edited {
    let made = apply(root, edit, &Disk::new(), &mut go()).unwrap();
    is_sound(root);
    made
}

fn is_sound(root: &Path) {
    let report = check(root, Depth::default(), &mut |_, _| {});
    let bad = report.findings.iter().filter(|it| {
        it.severity > crate::dataset::check::Severity::Note && it.code != "joints.range"
    });
    let bad: Vec<_> = bad.collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(!root.join(".edit").exists());
}

fn lengths(root: &Path) -> Vec<usize> {
    let set = Dataset::open(root).unwrap();
    set.episodes().iter().map(|it| it.length).collect()
}

fn refused(root: &Path, edit: &Edit) -> String {
    let before = lengths(root);
    let error = apply(root, edit, &Disk::new(), &mut go()).unwrap_err();
    assert_eq!(lengths(root), before);
    assert!(!root.join(".edit").exists());
    error.to_string()
}

/// Rows and pictures of one episode are those of another.
fn same(a: &mut Dataset, at: usize, b: &mut Dataset, bt: usize, rows: &[(usize, usize)]) {
    let (states, others) = (a.rows(at).unwrap().states(), b.rows(bt).unwrap().states());
    for camera in ["front", "wrist"] {
        for &(row, other) in rows {
            assert_eq!(states[row], others[other]);
            let ours = a.frame(at, camera, row).unwrap();
            let theirs = b.frame(bt, camera, other).unwrap();
            assert!(
                ours.rgb == theirs.rgb,
                "{camera}, row {row} of episode {at}"
            );
        }
    }
}

#[test]
fn deleting_moves_the_others_up_and_encodes_nothing() {
    let (_guard, root) = copied();
    let made = edit(&root, &Edit::Delete(vec![1]));
    assert_eq!((made.episodes, made.frames, made.encoded), (3, 165, 0));
    assert_eq!(lengths(&root), [60, 75, 30]);
    let (mut new, mut old) = (
        Dataset::open(&root).unwrap(),
        Dataset::open(SAMPLE).unwrap(),
    );
    same(&mut new, 0, &mut old, 0, &[(0, 0), (59, 59)]);
    same(&mut new, 1, &mut old, 2, &[(0, 0), (74, 74)]);
    same(&mut new, 2, &mut old, 3, &[(29, 29)]);
    assert_eq!(new.episodes()[1].tasks, old.episodes()[2].tasks);
    // Both parts stand in one film.
    let films: Vec<_> = new
        .episodes()
        .iter()
        .map(|it| it.spans[0].film.clone())
        .collect();
    assert!(films.iter().all(|film| *film == films[0]));
}

#[test]
fn what_is_left_of_many_deletions_is_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    recorded(&root, &[6, 5, 9, 4, 7]);
    let kept = folder.path().join("kept");
    copy_folder(&root, &kept);
    edit(&root, &Edit::Delete(vec![3, 0]));
    assert_eq!(lengths(&root), [5, 9, 7]);
    let (mut new, mut old) = (Dataset::open(&root).unwrap(), Dataset::open(&kept).unwrap());
    for (now, before) in [(0, 1), (1, 2), (2, 4)] {
        same(&mut new, now, &mut old, before, &[(0, 0), (4, 4)]);
        assert_eq!(new.episodes()[now].outcome, Outcome::Success);
    }
    assert!(!root.join(".recording/lock").exists());
}

#[test]
fn a_trim_keeps_rows_and_pictures_together() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    recorded(&root, &[6, 12]);
    let kept = folder.path().join("kept");
    copy_folder(&root, &kept);
    let made = edit(
        &root,
        &Edit::Trim {
            episode: 1,
            rows: 3..9,
        },
    );
    assert_eq!(lengths(&root), [6, 6]);
    assert!(made.encoded > 0 && made.encoded <= 12, "{made:?}");
    let (mut new, mut old) = (Dataset::open(&root).unwrap(), Dataset::open(&kept).unwrap());
    for row in 0..6 {
        let a = new.frame(1, "front", row).unwrap().rgb[0];
        let b = old.frame(1, "front", row + 3).unwrap().rgb[0];
        assert!(a.abs_diff(b) < 6, "row {row}: {a} and {b}");
    }
    assert_eq!(new.rows(1).unwrap().states()[0].0[0], 3.0);
    let times = new
        .rows(1)
        .unwrap()
        .scalars("smolpilot.capture_time_ns")
        .unwrap();
    assert_eq!((times[0], times[5]), (0.0, 5e8));
}

#[test]
fn a_trim_of_lerobots_films_copies_from_a_key_frame_or_is_refused_with_words() {
    let (_guard, root) = copied();
    let made = edit(
        &root,
        &Edit::Trim {
            episode: 2,
            rows: 10..60,
        },
    );
    assert_eq!((made.encoded, lengths(&root)), (0, vec![60, 45, 50, 30]));
    let (mut new, mut old) = (
        Dataset::open(&root).unwrap(),
        Dataset::open(SAMPLE).unwrap(),
    );
    // 105 rows lie before the episode, so that its even rows are key frames of this film.
    same(&mut new, 2, &mut old, 2, &[(0, 10), (49, 59)]);
    same(&mut new, 3, &mut old, 3, &[(0, 0)]);
    let odd = Edit::Trim {
        episode: 0,
        rows: 11..20,
    };
    match apply(&root, &odd, &Disk::new(), &mut go()) {
        Ok(made) => assert!(made.encoded > 0),
        Err(error) => {
            let said = error.to_string();
            assert!(
                said.contains("ffmpeg") && said.contains("picture 10 or 12"),
                "{said}"
            );
            assert_eq!(lengths(&root), [60, 45, 50, 30]);
        }
    }
}

#[test]
fn tasks_and_marks_are_changed_in_rows_and_lists() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    recorded(&root, &[3, 4, 5]);
    let task = " fold\nthe\u{1b} towel ".to_owned();
    let made = edit(
        &root,
        &Edit::Relabel {
            episodes: vec![0, 2],
            task,
        },
    );
    assert_eq!(made.encoded, 0);
    let outcome = Outcome::Failure;
    edit(
        &root,
        &Edit::Mark {
            episodes: vec![2],
            outcome,
        },
    );
    let set = Dataset::open(&root).unwrap();
    let tasks: Vec<_> = set
        .episodes()
        .iter()
        .map(|it| it.tasks[0].as_str())
        .collect();
    assert_eq!(tasks, ["fold the towel", "task 1", "fold the towel"]);
    assert_eq!(set.tasks(), ["fold the towel", "task 1"]);
    let marks: Vec<_> = set.episodes().iter().map(|it| it.outcome).collect();
    assert_eq!(
        marks,
        [Outcome::Success, Outcome::Success, Outcome::Failure]
    );
}

#[test]
fn a_set_of_lerobot_gets_a_column_for_marks() {
    let (_guard, root) = copied();
    let outcome = Outcome::Success;
    edit(
        &root,
        &Edit::Mark {
            episodes: vec![1],
            outcome,
        },
    );
    let set = Dataset::open(&root).unwrap();
    let marks: Vec<_> = set.episodes().iter().map(|it| it.outcome).collect();
    assert_eq!(marks[0..2], [Outcome::Unmarked, Outcome::Success]);
}

#[test]
fn episodes_with_values_that_are_no_numbers_are_got_rid_of_one_by_one() {
    use crate::dataset::schema::Info;
    use crate::dataset::table::Values;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    recorded(&root, &[3, 4, 5]);
    let path = root.join("data/chunk-000/file-000.parquet");
    let mut table = rows::read(&path, None, None).unwrap();
    let mut columns = table.columns.iter_mut();
    let action = columns.find(|it| it.name == "action").unwrap();
    let Values::Floats(values) = &mut action.values else {
        panic!("{action:?}");
    };
    (values[1], values[5 * 6 + 1]) = (f64::NAN, f64::NAN);
    let features = Info::read(&root).unwrap().features;
    let parts = [0..3, 3..7, 7..12].map(|part| Ok(table.slice(part)));
    rows::write(&Disk::new(), &path, &features, parts).unwrap();
    let trim = Edit::Trim {
        episode: 0,
        rows: 1..3,
    };
    apply(&root, &trim, &Disk::new(), &mut go()).unwrap();
    edit(&root, &Edit::Delete(vec![1]));
    assert_eq!(lengths(&root), [2, 5]);
}

#[test]
fn tasks_that_are_not_there_are_not_lost_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    recorded(&root, &[3, 4]);
    fs::remove_file(root.join("meta/tasks.parquet")).unwrap();
    for edit in [
        Edit::Delete(vec![0]),
        Edit::Relabel {
            episodes: vec![1],
            task: "wave".to_owned(),
        },
    ] {
        let said = refused(&root, &edit);
        assert!(said.contains("tasks.parquet"), "{said}");
    }
    let all = Edit::Relabel {
        episodes: vec![0, 1],
        task: "wave".to_owned(),
    };
    edit(&root, &all);
    assert_eq!(Dataset::open(&root).unwrap().tasks(), ["wave"]);
}

#[test]
fn what_cannot_be_edited_is_said_and_nothing_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    recorded(&root, &[3, 4]);
    let cases = [
        (Edit::Delete(vec![2]), "no episode 2"),
        (Edit::Delete(vec![]), "no episode was named"),
        (Edit::Delete(vec![0, 1]), "no episode would be left"),
        (
            Edit::Trim {
                episode: 0,
                rows: 1..4,
            },
            "has 3 rows",
        ),
        (
            Edit::Relabel {
                episodes: vec![0],
                task: " ".to_owned(),
            },
            "needs words",
        ),
    ];
    for (edit, words) in cases {
        let said = refused(&root, &edit);
        assert!(said.contains(words), "{said}");
    }
    let stopped = apply(&root, &Edit::Delete(vec![0]), &Disk::new(), &mut |_, _| {
        ControlFlow::Break(())
    });
    assert!(
        stopped
            .unwrap_err()
            .to_string()
            .contains("nothing was changed")
    );
    assert_eq!(lengths(&root), [3, 4]);
    let lock = Lock::take(&root).unwrap();
    assert!(refused(&root, &Edit::Delete(vec![0])).contains("another program"));
    drop(lock);
    fs::remove_file(root.join("videos/observation.images.front/chunk-000/file-000.mp4")).unwrap();
    assert!(refused(&root, &Edit::Delete(vec![1])).contains("file-000.mp4"));
}

#[test]
fn sets_that_are_alike_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, into] = ["a", "b", "into"].map(|name| folder.path().join(name));
    recorded(&a, &[3, 4]);
    recorded(&b, &[5]);
    let made = merge(&[a.clone(), b.clone()], &into, &Disk::new(), &mut go()).unwrap();
    assert_eq!((made.episodes, made.frames, made.encoded), (3, 12, 0));
    is_sound(&into);
    assert_eq!(lengths(&into), [3, 4, 5]);
    assert_eq!((lengths(&a).len(), lengths(&b).len()), (2, 1));
    let said = merge(std::slice::from_ref(&a), &into, &Disk::new(), &mut go()).unwrap_err();
    assert!(said.to_string().contains("already"), "{said}");
    let half = folder.path().join("half");
    extract(&into, &[2, 0], &half, &Disk::new(), &mut go()).unwrap();
    is_sound(&half);
    assert_eq!(lengths(&half), [5, 3]);
    change_info(&b, |info| info["fps"] = serde_json::json!(30));
    let new = folder.path().join("new");
    let said = merge(&[a, b], &new, &Disk::new(), &mut go()).unwrap_err();
    assert!(
        said.to_string().contains("10 and 30 rows a second"),
        "{said}"
    );
    let said = merge(&[SAMPLE.into(), half], &new, &Disk::new(), &mut go()).unwrap_err();
    assert!(said.to_string().contains("rows a second"), "{said}");
}

#[test]
fn layout_2_becomes_layout_3() {
    let (_guard, root) = older();
    let into = root.with_file_name("new");
    let made = merge(std::slice::from_ref(&root), &into, &Disk::new(), &mut go()).unwrap();
    assert_eq!((made.frames, made.encoded), (210, 0));
    is_sound(&into);
    let (mut new, mut old) = (
        Dataset::open(&into).unwrap(),
        Dataset::open(SAMPLE).unwrap(),
    );
    assert_eq!(new.version(), Version::V30);
    same(&mut new, 3, &mut old, 3, &[(0, 0), (29, 29)]);
    let both = root.with_file_name("both");
    merge(&[into, SAMPLE.into()], &both, &Disk::new(), &mut go()).unwrap();
    is_sound(&both);
    assert_eq!(lengths(&both).len(), 8);
}

/// Operations on the disk fail; whatever is left is the old or the new data set, whole. The last ones put the new in its place.
#[test]
fn a_failure_at_a_write_leaves_the_old_or_the_new_data_set() {
    let chosen =
        |at, of| Failure::are_all_wanted() || at % 37 == 5 || (at + 18 > of && at % 2 == 0);
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original");
    let root = folder.path().join("set");
    recorded(&original, &[2, 3]);
    let attempt = |disk: &Disk| {
        fs::remove_dir_all(&root).ok();
        copy_folder(&original, &root);
        apply(&root, &Edit::Delete(vec![0]), disk, &mut go())
    };
    let counted = Disk::new();
    attempt(&counted).unwrap();
    let operations = counted.operations();
    for failure in Failure::ALL {
        let (mut finished, mut taken_back) = (0, 0);
        for at in (0..operations).filter(|at| chosen(*at, operations)) {
            let made = attempt(&Disk::failing(at, failure));
            let settled = settle(&root, &Disk::new()).unwrap();
            let left = lengths(&root);
            if made.is_ok() || settled == Settled::Finished {
                assert_eq!(left, [3], "{failure:?} at {at}");
            } else {
                assert!(
                    [vec![2, 3], vec![3]].contains(&left),
                    "{failure:?} at {at}: {left:?}"
                );
            }
            is_sound(&root);
            finished += usize::from(settled == Settled::Finished);
            taken_back += usize::from(settled == Settled::TakenBack);
        }
        if failure == Failure::Killed {
            assert!(finished >= 6 && taken_back >= 3, "{finished} {taken_back}");
        }
    }
}
