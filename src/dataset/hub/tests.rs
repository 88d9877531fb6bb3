//! Data sets on their way from and to a pretend hub.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use super::files::below;
use super::*;
use crate::hub::pretend::{Answer, Server, TOKEN};
use crate::hub::{self, Hub};

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
        ("data/chunk-000/file-000.parquet", Answer::File(vec![7; 5000])),
        ("meta/info.json", Answer::File(b"{}".to_vec())),
        ("meta/tasks.jsonl", Answer::File(vec![])),
        ("videos/front/chunk-000/file-000.mp4", Answer::File(film.clone())),
        // The same bytes under another name.
        ("videos/wrist/chunk-000/file-000.mp4", Answer::File(film)),
    ]
}

fn contents(root: &Path) -> BTreeMap<String, usize> {
    let folders = ["meta", "data", "videos", "."];
    let names = folders.iter().flat_map(|folder| below(root, folder).unwrap());
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
    assert!(matches!(why, Error::Hub(hub::Error::Cancelled { .. })), "{why}");
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
    assert!(server.requests().iter().any(continued), "{:?}", server.requests());
}

#[test]
fn what_is_in_the_way_is_never_overwritten() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&files());
    let hub = server.hub(place.path());
    let mine = place.path().join("mine");
    std::fs::create_dir_all(mine.join("meta")).unwrap();
    std::fs::write(mine.join("meta/info.json"), "my own").unwrap();
    let why = download(&hub, &id(), &mine, &mut on).unwrap_err().to_string();
    assert!(why.contains("another folder"), "{why}");
    assert_eq!(std::fs::read(mine.join("meta/info.json")).unwrap(), b"my own");
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
