//! Episodes added to what is there: LeRobot's own data sets, those of its tools, and folders that are none.

use super::*;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/lerobot_sample");
/// The same tables as LeRobot's edit tools write them.
const EDITED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/lerobot_edited");

fn sample(folder: &Path) -> PathBuf {
    let root = folder.join("sample");
    copy(Path::new(SAMPLE), &root);
    root
}

/// A plan that fits LeRobot's sample.
fn plain(root: &Path) -> Plan {
    let mut plan = plan(root);
    plan.provenance = false;
    plan.chunk = None;
    for camera in &mut plan.cameras {
        (camera.width, camera.height) = (640, 480);
    }
    plan
}

fn resume(root: &Path, folder: &Path, name: &str) {
    let plan = plain(root);
    let tables = [
        "data/chunk-000/file-000.parquet",
        "meta/episodes/chunk-000/file-000.parquet",
    ];
    let before = tables.map(|table| fs::read(root.join(table)).unwrap());
    let old = episodes_in(root);
    let mut store = Store::open(&plan, &Disk::new()).unwrap();
    assert_eq!(
        (store.episodes(), store.frames(), store.tasks().len()),
        (4, 210, 2)
    );
    for at in 0..2 {
        let parts = parts(&plan, folder, &format!("ep-{at}"), 3);
        assert_eq!(store.save(&parts).unwrap(), 4 + at);
    }
    // LeRobot's own files stay as they are; ours go on beside them.
    assert_eq!(
        tables.map(|table| fs::read(root.join(table)).unwrap()),
        before
    );
    let all = episodes_in(root);
    assert_eq!(all[..4], old);
    let last = &all[5];
    assert_eq!(
        (last.rows.file, last.meta.file, last.from, last.to),
        (1, 1, 213, 216)
    );
    assert_eq!(last.film("observation.images.front").unwrap().place.file, 2);
    assert_eq!(last.stats.len(), 9);
    let info = Info::read(root).unwrap();
    assert_eq!(
        (info.total_episodes, info.total_frames, info.total_tasks),
        (6, 216, 4)
    );
    assert_eq!(info.robot_type.as_deref(), Some("so_follower"));
    let stats = fs::read_to_string(root.join("meta/stats.json")).unwrap();
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(stats["action"]["count"][0], 216);
    assert_eq!(stats["index"]["max"][0], 215.0);
    assert_eq!(stats["observation.images.front"]["count"][0], 216);
    // LeRobot's own episodes are of no arm, and the films of a camera are of two codecs now.
    let known = |fault: &&String| {
        fault.contains("joints.range") || fault.contains("is h264, meta/info.json says av1")
    };
    let faults = faults_of(root);
    let others: Vec<_> = faults.iter().filter(|fault| !known(fault)).collect();
    assert!(others.is_empty(), "{others:#?}");
    assert_eq!(store.pack().unwrap(), 2, "ours become one, LeRobot's stays");
    drop(store);
    keep(root, name);
}

#[test]
fn a_data_set_of_lerobots_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    resume(&sample(folder.path()), folder.path(), "resumed");
}

#[test]
fn a_data_set_of_lerobots_tools_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let root = sample(folder.path());
    let tables = [
        ("data", "data/chunk-000/file-000.parquet"),
        ("episodes", "meta/episodes/chunk-000/file-000.parquet"),
    ];
    for (table, place) in tables {
        fs::copy(
            Path::new(EDITED).join(format!("{table}.parquet")),
            root.join(place),
        )
        .unwrap();
    }
    resume(&root, folder.path(), "resumed_after_edit");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = sample(folder.path());
    let before = files_in(&root);
    let refused = |change: fn(&mut Plan)| {
        let mut plan = plain(&root);
        change(&mut plan);
        Store::open(&plan, &Disk::new()).unwrap_err().to_string()
    };
    for (error, words) in [
        (
            refused(|plan| plan.fps = 15),
            vec!["30 rows a second, not 15"],
        ),
        (
            refused(|plan| plan.provenance = true),
            vec!["`smolpilot.", "off"],
        ),
        (
            refused(|plan| plan.cameras[1].width = 320),
            vec!["observation.images.wrist", "640x480"],
        ),
        (
            refused(|plan| drop(plan.cameras.pop())),
            vec!["`observation.images.wrist`"],
        ),
        (
            refused(|plan| plan.cameras[1].name = "front".into()),
            vec!["two cameras", "`front`"],
        ),
        (
            refused(|plan| plan.cameras[1].name = "a/b".into()),
            vec!["`a/b`"],
        ),
    ] {
        assert!(
            words.iter().all(|word| error.contains(word)),
            "{words:?}: {error}"
        );
    }
    let now: Vec<_> = files_in(&root)
        .into_iter()
        .filter(|file| !file.starts_with(".recording"))
        .collect();
    assert_eq!(now, before);
}

#[test]
fn a_data_set_that_was_begun_and_left_takes_another_plan() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(&folder.path().join("set"));
    Store::open(&plan, &Disk::new()).unwrap();
    plan.fps = 15;
    let mut store = Store::open(&plan, &Disk::new()).unwrap();
    store.save(&parts(&plan, folder.path(), "ep", 3)).unwrap();
    assert_eq!(Info::read(&plan.root).unwrap().fps, 15);
    drop(store);
    plan.fps = 30;
    assert!(Store::open(&plan, &Disk::new()).is_err());
}

#[test]
fn a_data_set_with_holes_is_refused_by_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for file in [
        "meta/tasks.parquet",
        "data/chunk-000/file-000.parquet",
        "videos/observation.images.wrist/chunk-000/file-000.mp4",
    ] {
        let root = sample(folder.path());
        fs::remove_file(root.join(file)).unwrap();
        let error = Store::open(&plain(&root), &Disk::new()).unwrap_err();
        assert!(error.to_string().contains(file), "{error}");
        if !file.ends_with("tasks.parquet") {
            fs::write(root.join(file), "").unwrap();
            let error = Store::open(&plain(&root), &Disk::new()).unwrap_err();
            assert!(error.to_string().contains("missing or empty"), "{error}");
        }
    }
}

#[test]
fn a_folder_with_other_files_or_another_writer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.txt"), "words").unwrap();
    let error = Store::open(&plan(folder.path()), &Disk::new())
        .unwrap_err()
        .to_string();
    assert!(error.contains("`thesis.txt`"), "{error}");
    let root = folder.path().join("set");
    let first = Store::open(&plan(&root), &Disk::new()).unwrap();
    assert!(matches!(
        Store::open(&plan(&root), &Disk::new()),
        Err(Error::Locked { .. })
    ));
    drop(first);
    Store::open(&plan(&root), &Disk::new()).unwrap();
}

#[test]
fn counters_that_lie_are_refused_unless_we_were_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let root = sample(folder.path());
    let mut info = Info::read(&root).unwrap();
    info.total_episodes = 7;
    info.write(&root, &Disk::new()).unwrap();
    let error = Store::open(&plain(&root), &Disk::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("counts 7 episodes") && error.contains("info.json"),
        "{error}"
    );
    info.codebase_version = "v2.1".to_owned();
    info.write(&root, &Disk::new()).unwrap();
    let error = Store::open(&plain(&root), &Disk::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("v2.1") && error.contains("convert"),
        "{error}"
    );
}

#[test]
fn what_another_program_added_meanwhile_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    let plan = plan(&root);
    let mut store = Store::open(&plan, &Disk::new()).unwrap();
    store.save(&parts(&plan, folder.path(), "a", 3)).unwrap();
    // A program that knows nothing of the lock writes an episode more.
    let mut other = Store {
        plan: plan.clone(),
        disk: Disk::new(),
        state: State::read(&plan, &Disk::new()).unwrap(),
        stale: false,
        _lock: Lock::take(&folder.path().join("elsewhere")).unwrap(),
    };
    other.save(&parts(&plan, folder.path(), "b", 12)).unwrap();
    assert_eq!(store.save(&parts(&plan, folder.path(), "c", 3)).unwrap(), 2);
    assert_sound(&root, "by two writers");
}
