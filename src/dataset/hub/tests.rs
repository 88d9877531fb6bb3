//! Data sets on their way from and to a pretend hub.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::files::below;
use super::*;
use crate::dataset::Error;
use crate::dataset::lock::Lock;
use crate::hub;
use crate::hub::pretend::{Answer, Server, TOKEN};

fn id() -> HubId {
    HubId::dataset("owner/cubes").unwrap()
}

fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn files() -> Vec<(&'static str, Answer)> {
    let film: Vec<u8> = (0..60_000u32).map(|at| (at % 251) as u8).collect();
    vec![
        (".gitattributes", Answer::File(b"x".to_vec())),
        ("README.md", Answer::File(b"# cubes".to_vec())),
        (
            "data/chunk-000/file-000.parquet",
            Answer::File(vec![7; 5000]),
        ),
        ("meta/info.json", Answer::File(b"{}".to_vec())),
        ("meta/tasks.jsonl", Answer::File(vec![])),
        (
            "videos/front/chunk-000/file-000.mp4",
            Answer::File(film.clone()),
        ),
        // The same bytes under another name.
        ("videos/wrist/chunk-000/file-000.mp4", Answer::File(film)),
    ]
}

fn contents(root: &Path) -> BTreeMap<String, usize> {
    let folders = ["meta", "data", "videos", "."];
    let names = folders
        .iter()
        .flat_map(|folder| below(root, folder).unwrap());
    let size = |name: &String| std::fs::read(root.join(name)).unwrap().len();
    names.map(|name| (name.clone(), size(&name))).collect()
}

#[test]
fn a_data_set_arrives_as_plain_files_and_is_not_fetched_twice() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("owner/cubes");
    let server = Server::start(&files());
    let hub = server.hub(place.path());
    let mut heard = vec![];
    let mut listen = |share| {
        heard.push(share);
        ControlFlow::Continue(())
    };
    download(&hub, &id(), &root, &mut listen).unwrap();
    assert!(heard.is_sorted() && heard.last() == Some(&1.0), "{heard:?}");
    let found = contents(&root);
    assert_eq!(found.len(), 5, "{found:?}");
    assert_eq!(found["videos/wrist/chunk-000/file-000.mp4"], 60_000);
    assert!(root.join("README.md").is_file() && !root.join(".gitattributes").exists());
    assert!(!root.join(".download").exists());
    let is_link = |name: &String| root.join(name).is_symlink();
    assert!(!found.keys().any(is_link));
    let asked = server.requests().len();
    download(&hub, &id(), &root, &mut on).unwrap();
    assert_eq!(server.requests().len(), asked + 1, "only the list was read");
}

#[test]
fn a_download_that_was_cut_off_goes_on_and_is_no_data_set_before_its_end() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("cubes");
    let server = Server::start(&files());
    let hub = server.hub(place.path());
    let mut stop = |share: f32| {
        if share > 0.4 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let why = download(&hub, &id(), &root, &mut stop).unwrap_err();
    assert!(
        matches!(why, Error::Hub(hub::Error::Cancelled { .. })),
        "{why}"
    );
    assert!(!root.join("meta/info.json").exists());
    let table = |line: &&String| line.contains("file-000.parquet");
    let before = server.requests().iter().filter(table).count();
    server.state().files.insert(
        "videos/wrist/chunk-000/file-000.mp4".to_owned(),
        Answer::Break(vec![1; 60_000], 20_000),
    );
    download(&hub, &id(), &root, &mut on).unwrap();
    assert_eq!(contents(&root).len(), 5);
    assert_eq!(server.requests().iter().filter(table).count(), before);
    let continued = |line: &String| line.ends_with("file-000.mp4 20000");
    assert!(
        server.requests().iter().any(continued),
        "{:?}",
        server.requests()
    );
}

#[test]
fn what_is_in_the_way_is_never_overwritten() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&files());
    let hub = server.hub(place.path());
    let mine = place.path().join("mine");
    std::fs::create_dir_all(mine.join("meta")).unwrap();
    std::fs::write(mine.join("meta/info.json"), "my own").unwrap();
    let why = download(&hub, &id(), &mine, &mut on)
        .unwrap_err()
        .to_string();
    assert!(why.contains("another folder"), "{why}");
    assert_eq!(
        std::fs::read(mine.join("meta/info.json")).unwrap(),
        b"my own"
    );
}

#[test]
fn what_is_no_data_set_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&[("config.json", Answer::File(vec![1]))]);
    let hub = server.hub(place.path());
    let why = download(&hub, &id(), &place.path().join("x"), &mut on);
    assert!(why.unwrap_err().to_string().contains("no LeRobot data set"));
    assert!(!place.path().join("x/meta").exists());
}

/// A copy of a data set that LeRobot wrote, to be changed.
fn sample(place: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lerobot_sample");
    let root = place.join("sample");
    for folder in ["meta", "data", "videos"] {
        for name in below(&from, folder).unwrap() {
            let to = root.join(&name);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from.join(&name), to).unwrap();
        }
    }
    root
}

#[test]
fn whole_episodes_go_there_in_one_commit_and_come_back_the_same() {
    let place = tempfile::tempdir().unwrap();
    let root = sample(place.path());
    for stray in [
        ".recording/ep-000004/rows.bin",
        "data/chunk-000/file-000.parquet.part",
        "notes.txt",
    ] {
        let path = root.join(stray);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    let server = Server::start(&[]);
    server
        .state()
        .files
        .insert("api".to_owned(), Answer::Status(404));
    let hub = server.hub(place.path()).logged_in(TOKEN);
    let sent = upload(&hub, &id(), &root, Upload::default(), &mut on).unwrap();
    assert!(sent.bytes > 0);
    server.state().files.remove("api");
    let card = String::from_utf8(server.file("README.md").unwrap()).unwrap();
    assert!(
        card.contains("4 episodes") && card.contains("- LeRobot"),
        "{card}"
    );
    assert_eq!(server.state().tags, ["v3.0"]);
    let there: Vec<String> = server.state().files.keys().cloned().collect();
    let is_stray = |name: &String| {
        [".recording", ".part", "notes"]
            .iter()
            .any(|it| name.contains(it))
    };
    assert!(!there.iter().any(is_stray), "{there:?}");
    let again = place.path().join("again");
    download(&hub, &id(), &again, &mut on).unwrap();
    let (mine, theirs) = (contents(&root), contents(&again));
    let wanted: Vec<_> = theirs
        .keys()
        .filter(|name| !mine.contains_key(*name))
        .collect();
    assert!(wanted.is_empty() && theirs.len() >= 6, "{theirs:?}");
    for (name, _) in theirs {
        let bytes = |root: &Path| std::fs::read(root.join(&name)).unwrap();
        assert!(bytes(&root) == bytes(&again), "{name}");
    }
    // Nothing is sent twice, and a card that is there stays.
    server
        .state()
        .files
        .insert("README.md".to_owned(), Answer::File(b"mine".to_vec()));
    assert_eq!(
        upload(&hub, &id(), &root, Upload::default(), &mut on)
            .unwrap()
            .bytes,
        0
    );
    assert_eq!(server.file("README.md").unwrap(), b"mine");
}

#[test]
fn another_data_set_is_replaced_only_when_told() {
    let place = tempfile::tempdir().unwrap();
    let root = sample(place.path());
    let info = std::fs::read_to_string(root.join("meta/info.json")).unwrap();
    let server = Server::start(&[
        (
            "meta/info.json",
            Answer::File(info.replace("\"fps\": 30", "\"fps\": 15").into_bytes()),
        ),
        ("data/chunk-000/file-007.parquet", Answer::File(vec![1])),
        ("weights.bin", Answer::File(vec![2])),
    ]);
    let hub = server.hub(place.path()).logged_in(TOKEN);
    let why = upload(&hub, &id(), &root, Upload::default(), &mut on).unwrap_err();
    assert!(why.to_string().contains("another rate"), "{why}");
    assert!(server.file("meta/stats.json").is_none());
    let how = Upload {
        replace: true,
        ..Upload::default()
    };
    upload(&hub, &id(), &root, how, &mut on).unwrap();
    assert_eq!(server.file("meta/info.json").unwrap(), info.as_bytes());
    assert!(server.file("data/chunk-000/file-007.parquet").is_none());
    assert!(
        server.file("weights.bin").is_some(),
        "what is no data set's stays"
    );
}

#[test]
fn what_is_being_recorded_into_is_not_sent() {
    let place = tempfile::tempdir().unwrap();
    let root = sample(place.path());
    let server = Server::start(&[]);
    let hub = server.hub(place.path()).logged_in(TOKEN);
    let _recording = Lock::take(&root).unwrap();
    let why = upload(&hub, &id(), &root, Upload::default(), &mut on).unwrap_err();
    assert!(matches!(why, Error::Locked { .. }), "{why}");
}
