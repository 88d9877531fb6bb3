//! Episodes put into data sets on a real disk, looked at by everything that the house checks of a data set.

mod faults;
mod packing;
mod promises;
mod resume;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::dataset::check::{Depth, Severity, check};
use crate::dataset::schema::columns;
use crate::dataset::stats::Pictures;
use crate::dataset::table::Values;
use crate::dataset::video::{mp4, open_encoder};
use crate::dataset::{CameraShape, Driver, Outcome, Provenance};
use crate::joint::JointVec;

/// Two small cameras; the columns of provenance and a chunk of three actions.
fn plan(root: &Path) -> Plan {
    let camera = |name: &str| CameraShape {
        name: name.to_owned(),
        width: 32,
        height: 16,
    };
    Plan {
        cameras: vec![camera("front"), camera("wrist")],
        chunk: Some(3),
        ..Plan::new(root)
    }
}

/// An episode of `length` rows whose films lie in `folder`. Every second row has another task.
fn parts(plan: &Plan, folder: &Path, journal: &str, length: usize) -> EpisodeParts {
    let seed = f32::from(journal.bytes().fold(0, u8::wrapping_add) % 10);
    let row = |k: usize| RowRecord {
        state: JointVec::from_fn(|joint| seed + k as f32 * 0.01 + joint.index() as f32),
        action: JointVec::from_fn(|joint| seed + k as f32 * 0.01 + joint.index() as f32 + 0.5),
        task: k % 2,
        captured_at: Duration::from_secs_f64((k as f64 + 0.1) / f64::from(plan.fps)),
        repeated: u64::from(k == 1) << 1,
        provenance: Provenance {
            driver: Driver::Policy,
            intervention: k == 2,
            chunk: Arc::from([JointVec([1.0; 6])]),
            ..Provenance::default()
        },
    };
    let video = |camera: &CameraShape| film(plan, camera, folder, journal, length);
    EpisodeParts {
        journal: journal.to_owned(),
        rows: (0..length).map(row).collect(),
        tasks: vec!["push the cube".to_owned(), format!("lift {}", length % 2)],
        outcome: Outcome::Success,
        videos: plan.cameras.iter().map(video).collect(),
    }
}

fn film(
    plan: &Plan,
    camera: &CameraShape,
    folder: &Path,
    journal: &str,
    length: usize,
) -> VideoPart {
    let (width, height) = (camera.width, camera.height);
    let mut encoder = open_encoder(&plan.codec, width, height, plan.fps, 10).unwrap();
    let mut pictures = Pictures::default();
    let (mut samples, mut units) = (vec![], vec![]);
    for k in 0..length {
        let level = |at: u32| (at as usize * 7 + k * 11 + journal.len()) as u8;
        let rgb: Vec<u8> = (0..width * height * 3).map(level).collect();
        pictures.push(width, height, &rgb);
        let unit = encoder.encode_rgb(&rgb).unwrap();
        let (size, key) = (unit.bytes.len() as u32, unit.key);
        samples.push(mp4::Sample { size, key });
        units.push(Ok(unit.bytes));
    }
    let mut bytes = vec![];
    mp4::write(&mut bytes, encoder.config(), plan.fps, &samples, units).unwrap();
    let path = folder.join(format!("{journal}-{}.mp4", camera.name));
    fs::write(&path, bytes).unwrap();
    VideoPart { path, pictures }
}

/// What is wrong with a data set, by the strictest measure.
fn faults_of(root: &Path) -> Vec<String> {
    let report = check(root, Depth::default(), &mut |_, _| {});
    let findings = report.findings.into_iter();
    // The episodes say themselves that a picture was shown twice.
    let bad = findings
        .filter(|finding| finding.severity != Severity::Note && finding.code != "capture.repeated");
    bad.map(|finding| format!("{finding:?}")).collect()
}

fn assert_sound(root: &Path, when: &str) {
    let faults = faults_of(root);
    assert!(faults.is_empty(), "{when}: {faults:#?}");
}

/// Leaves a data set in the folder that `SMOLPILOT_KEEP` names, for LeRobot's own reader and `tools/validate_dataset.py`.
fn keep(root: &Path, name: &str) {
    if let Some(folder) = std::env::var_os("SMOLPILOT_KEEP") {
        copy(root, &Path::new(&folder).join(name));
    }
}

fn copy(from: &Path, to: &Path) {
    for file in files_in(from) {
        let place = to.join(&file);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(from.join(&file), place).unwrap();
    }
}

fn episodes_in(root: &Path) -> Vec<Episode> {
    let info = Info::read(root).unwrap();
    episodes::read(root, &info.features).unwrap()
}

/// The files of a folder and below, relative to it, in order.
fn files_in(root: &Path) -> Vec<String> {
    fn list(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                list(&path, into);
            } else {
                into.push(path);
            }
        }
    }
    let mut files = vec![];
    list(root, &mut files);
    let relative = |path: PathBuf| {
        path.strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/")
    };
    let mut files: Vec<_> = files.into_iter().map(relative).collect();
    files.sort();
    files
}

fn is_a(file: &str, extension: &str) -> bool {
    Path::new(file)
        .extension()
        .is_some_and(|is| is == extension)
}

#[test]
fn episodes_make_a_sound_data_set() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    let plan = plan(&root);
    let mut store = Store::open(&plan, &Disk::new()).unwrap();
    assert_eq!((store.episodes(), store.frames()), (0, 0));
    for (at, length) in [5, 1, 8].into_iter().enumerate() {
        let parts = parts(&plan, folder.path(), &format!("ep-{at}"), length);
        let mut stages = vec![];
        let saved = store.save_telling(&parts, &mut |stage, share| {
            stages.push((stage.to_owned(), share));
        });
        assert_eq!(saved.unwrap(), at);
        assert!(
            stages.windows(2).all(|pair| pair[0].1 <= pair[1].1),
            "{stages:?}"
        );
        assert_eq!(store.save(&parts).unwrap(), at, "a second time keeps one");
        assert_sound(&root, &format!("after episode {at}"));
    }
    assert_eq!((store.episodes(), store.frames()), (3, 14));
    assert_eq!(store.tasks(), ["push the cube", "lift 1", "lift 0"]);
    assert!(store.contains("ep-2") && !store.contains("ep-3"));
    let wanted = [
        ".recording/lock",
        ".recording/saves.json",
        "data/chunk-000/file-000.parquet",
        "meta/episodes/chunk-000/file-000.parquet",
        "meta/info.json",
        "meta/stats.json",
        "meta/tasks.parquet",
    ];
    let there = files_in(&root);
    let tables: Vec<_> = there
        .iter()
        .filter(|path| !path.starts_with("videos"))
        .collect();
    assert_eq!(tables, wanted);
    assert_eq!(
        there.len() - wanted.len(),
        6,
        "one film an episode and camera"
    );
    drop(store);
    keep(&root, "saved");
    let store = Store::open(&plan, &Disk::new()).unwrap();
    assert_eq!((store.episodes(), store.frames()), (3, 14));
    assert!(store.contains("ep-0"), "also in another program");
}

#[test]
fn rows_say_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    let plan = plan(&root);
    let mut store = Store::open(&plan, &Disk::new()).unwrap();
    for (journal, length) in [("a", 3), ("b", 4)] {
        store
            .save(&parts(&plan, folder.path(), journal, length))
            .unwrap();
    }
    let table =
        table::rows::read(&root.join("data/chunk-000/file-000.parquet"), None, None).unwrap();
    let integers = |name: &str| table.get(name).unwrap().values.integers().unwrap();
    assert_eq!(integers("index"), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(integers("frame_index"), [0, 1, 2, 0, 1, 2, 3]);
    assert_eq!(integers("episode_index"), [0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(integers("task_index"), [0, 1, 0, 0, 2, 0, 2]);
    assert_eq!(integers(columns::OUTCOME), [1; 7]);
    assert_eq!(integers(columns::DRIVER), [1; 7]);
    assert_eq!(integers(columns::INTERVENTION), [0, 0, 1, 0, 0, 1, 0]);
    assert_eq!(integers(columns::REPEATED), [0, 2, 0, 0, 2, 0, 0]);
    assert_eq!(integers(columns::CAPTURE_TIME)[1], 36_666_667);
    let Values::Floats(states) = &table.get("observation.state").unwrap().values else {
        panic!("states are numbers");
    };
    assert_eq!(states[3 * 6..3 * 6 + 2], [8.0, 9.0]);
    let episodes = episodes_in(&root);
    assert_eq!(episodes[1].tasks, ["push the cube", "lift 0"]);
    let length = |episode: &Episode| episode.film("observation.images.wrist").unwrap().to_s;
    assert_eq!(length(&episodes[1]), 4.0 / 30.0);
}

#[test]
fn tables_go_on_in_new_files_at_their_limit() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    let mut plan = plan(&root);
    plan.cameras.clear();
    drop(Store::open(&plan, &Disk::new()).unwrap());
    let mut info = Info::read(&root).unwrap();
    // The smallest limit, reached by three episodes; two files a folder.
    info.data_files_size_in_mb = 1;
    info.chunks_size = 2;
    info.write(&root, &Disk::new()).unwrap();
    let mut store = Store::open(&plan, &Disk::new()).unwrap();
    for at in 0..14 {
        store
            .save(&parts(&plan, folder.path(), &format!("ep-{at}"), 1500))
            .unwrap();
    }
    let places: Vec<_> = episodes_in(&root)
        .iter()
        .map(|episode| (episode.rows.chunk, episode.rows.file))
        .collect();
    assert!(
        places.windows(2).all(|pair| pair[0] <= pair[1]) && places.last() == Some(&(1, 0)),
        "{places:?}"
    );
    assert_sound(&root, "in several files");
    keep(&root, "several_files");
}

#[test]
fn parts_that_do_not_fit_are_refused_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    let plan = plan(&root);
    let mut store = Store::open(&plan, &Disk::new()).unwrap();
    let whole = parts(&plan, folder.path(), "a", 3);
    let with = |change: fn(&mut EpisodeParts)| {
        let mut parts = whole.clone();
        change(&mut parts);
        parts
    };
    let refused = [
        (with(|parts| parts.rows.clear()), "no rows"),
        (
            with(|parts| drop(parts.videos.pop())),
            "1 films of 2 cameras",
        ),
        (with(|parts| drop(parts.tasks.pop())), "a task"),
        (with(|parts| parts.journal.clear()), "no name"),
        (
            with(|parts| drop(parts.rows.pop())),
            "3 pictures for 2 rows",
        ),
        (
            with(|parts| parts.videos[1].path = "gone.mp4".into()),
            "gone.mp4",
        ),
        (
            with(|parts| parts.videos[1].pictures = Pictures::default()),
            "`wrist`",
        ),
    ];
    let before = files_in(&root);
    for (parts, why) in refused {
        let error = store.save(&parts).unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
        assert_eq!(files_in(&root), before, "{why}");
    }
    assert_eq!(store.save(&whole).unwrap(), 0);
}
