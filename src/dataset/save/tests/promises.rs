//! What the store promises of journals, tasks and tables, and nothing of another kind beside them.

use std::fs;
use std::path::Path;

use super::super::*;
use crate::dataset::read::sample;
use crate::dataset::{CameraShape, Dataset};
use crate::joint::JointVec;

fn plan(root: &Path) -> Plan {
    Plan::new(root)
}

/// An episode without cameras of so many rows, which do the tasks in turn.
fn parts(journal: &str, rows: usize, tasks: &[&str]) -> EpisodeParts {
    let row = |k: usize| RowRecord {
        state: JointVec([k as f32; 6]),
        action: JointVec([k as f32 + 0.5; 6]),
        task: k * tasks.len() / rows,
        ..RowRecord::default()
    };
    EpisodeParts {
        journal: journal.to_owned(),
        rows: (0..rows).map(row).collect(),
        tasks: tasks.iter().map(|task| (*task).to_owned()).collect(),
        ..EpisodeParts::default()
    }
}

fn lengths(root: &Path) -> Vec<usize> {
    let set = Dataset::open(root).unwrap();
    set.episodes()
        .iter()
        .map(|episode| episode.length)
        .collect()
}

#[test]
fn a_journal_is_saved_once_however_often_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&plan(folder.path()), &Disk::new()).unwrap();
    assert_eq!(store.save(&parts("a", 4, &["pick"])).unwrap(), 0);
    assert_eq!(store.save(&parts("b", 1, &["place"])).unwrap(), 1);
    assert_eq!(store.save(&parts("a", 4, &["pick"])).unwrap(), 0);
    drop(store);
    let mut again = Store::open(&plan(folder.path()), &Disk::new()).unwrap();
    assert_eq!(again.save(&parts("b", 1, &["place"])).unwrap(), 1);
    assert_eq!((again.episodes(), again.frames()), (2, 5));
    assert_eq!(lengths(folder.path()), [4, 1]);
}

#[test]
fn tasks_keep_their_words_and_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let odd = ["say \"go\"", "Würfel 🤖\nauf den Tisch", ""];
    let mut store = Store::open(&plan(folder.path()), &Disk::new()).unwrap();
    store.save(&parts("a", 6, &odd)).unwrap();
    store.save(&parts("b", 4, &[odd[1], "new"])).unwrap();
    let set = Dataset::open(folder.path()).unwrap();
    assert_eq!(set.tasks(), [odd[0], odd[1], odd[2], "new"]);
    let numbers = |episode| set.rows(episode).unwrap().task_indices();
    assert_eq!(numbers(0), [0, 0, 1, 1, 2, 2]);
    assert_eq!(numbers(1), [1, 1, 3, 3]);
}

#[test]
fn a_data_set_that_was_recorded_otherwise_is_refused_by_name() {
    let (_guard, root) = sample::copied();
    let of_sample = |width| {
        let shape = |name: &str| CameraShape {
            name: name.to_owned(),
            width,
            height: 480,
        };
        Plan {
            cameras: vec![shape("front"), shape("wrist")],
            provenance: false,
            ..Plan::new(&root)
        }
    };
    let info = fs::read(root.join("meta/info.json")).unwrap();
    let why = |plan: Plan| {
        Store::open(&plan, &Disk::new())
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let other_size = why(of_sample(642));
    assert!(
        other_size.contains("observation.images.front"),
        "{other_size}"
    );
    let other_rate = why(Plan {
        fps: 15,
        ..of_sample(640)
    });
    assert!(
        other_rate.contains("fps") || other_rate.contains("15"),
        "{other_rate}"
    );
    let more = why(Plan {
        provenance: true,
        ..of_sample(640)
    });
    assert!(more.contains("smolpilot."), "{more}");
    assert_eq!(fs::read(root.join("meta/info.json")).unwrap(), info);
}

#[test]
fn a_table_that_is_full_is_followed_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let mut store = Store::open(&plan(root), &Disk::new()).unwrap();
    store.save(&parts("a", 3, &["pick"])).unwrap();
    drop(store);
    sample::change_info(root, |info| info["data_files_size_in_mb"] = 0.into());
    let mut store = Store::open(&plan(root), &Disk::new()).unwrap();
    store.save(&parts("b", 5, &["pick"])).unwrap();
    store.save(&parts("c", 2, &["pick"])).unwrap();
    for file in 0..3 {
        assert!(
            root.join(format!("data/chunk-000/file-00{file}.parquet"))
                .is_file()
        );
    }
    assert_eq!(lengths(root), [3, 5, 2]);
    let rows = Dataset::open(root).unwrap().rows(1).unwrap();
    assert_eq!(rows.states()[4], JointVec([4.0; 6]));
}
