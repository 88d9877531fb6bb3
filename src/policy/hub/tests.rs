//! Checkpoints of a pretend hub: whole, broken, refused, and without a network.

use std::net::TcpListener;
use std::time::Duration;

use super::*;
use crate::hub::pretend::{Answer, COMMIT, Server};

fn id() -> HubId {
    HubId::parse("owner/model").unwrap()
}

fn pipeline() -> Answer {
    Answer::File(br#"{"name": "p", "steps": []}"#.to_vec())
}

fn whole() -> Vec<(&'static str, Answer)> {
    vec![
        ("README.md", Answer::File(b"hello".to_vec())),
        ("config.json", Answer::File(b"{}".to_vec())),
        ("model.safetensors", Answer::File(vec![7; 5000])),
        ("policy_postprocessor.json", pipeline()),
        ("policy_preprocessor.json", pipeline()),
    ]
}

fn refusal(files: &[(&str, Answer)]) -> Error {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(files);
    checkpoint(&server.hub(dir.path()), &id(), &mut |_| {}).unwrap_err()
}

#[test]
fn a_checkpoint_is_fetched_once_and_then_starts_without_the_hub() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&whole());
    let mut heard = Vec::new();
    let hub = server.hub(dir.path());
    let fetched = checkpoint(&hub, &id(), &mut |fraction| heard.push(fraction)).unwrap();
    let weights = std::fs::read(fetched.directory.join("model.safetensors")).unwrap();
    assert_eq!(weights, vec![7; 5000]);
    assert!(heard.is_sorted() && heard.last() == Some(&1.0), "{heard:?}");
    assert!(!fetched.directory.join("README.md").exists());

    let asked = server.requests().len();
    let again = checkpoint(&hub, &id(), &mut |_| {}).unwrap();
    assert_eq!(again, fetched);
    assert_eq!(server.requests().len(), asked, "the cache was complete");
    // The commit itself is a name as well.
    let commit = HubId::parse(&format!("owner/model@{COMMIT}")).unwrap();
    assert!(checkpoint(&hub, &commit, &mut |_| {}).is_ok());
}

#[test]
fn a_broken_connection_continues_where_it_broke() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = whole();
    let body: Vec<u8> = (0..60000u32).map(|i| (i % 251) as u8).collect();
    files[2].1 = Answer::Break(body.clone(), 40000);
    let server = Server::start(&files);
    let fetched = checkpoint(&server.hub(dir.path()), &id(), &mut |_| {}).unwrap();
    let weights = std::fs::read(fetched.directory.join("model.safetensors")).unwrap();
    assert!(weights == body, "{} bytes", weights.len());
    let continued = server
        .requests()
        .iter()
        .any(|line| line.ends_with("model.safetensors 40000"));
    assert!(continued, "{:?}", server.requests());
}

#[test]
fn a_download_that_ends_too_early_continues() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = whole();
    let body: Vec<u8> = (0..9000u32).map(|i| (i % 241) as u8).collect();
    files[2].1 = Answer::Short(body.clone(), 4000);
    let server = Server::start(&files);
    let fetched = checkpoint(&server.hub(dir.path()), &id(), &mut |_| {}).unwrap();
    let weights = std::fs::read(fetched.directory.join("model.safetensors")).unwrap();
    assert!(weights == body, "{} bytes", weights.len());
    let continued = |line: &String| line.ends_with("model.safetensors 4000");
    assert!(server.requests().iter().any(continued));
}

#[test]
fn a_download_that_falls_silent_is_given_up_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = whole();
    files[2].1 = Answer::Silent(vec![7; 9000], 4000);
    let server = Server::start(&files);
    let hub = server
        .hub(dir.path())
        .with_silence(Duration::from_millis(200));
    let mut heard = 0.0_f32;
    let silent = checkpoint(&hub, &id(), &mut |part| heard = heard.max(part));
    let words = silent.unwrap_err().to_string();
    assert!(
        words.contains("model.safetensors") && words.contains("is kept"),
        "{words}"
    );
    assert!(heard < 0.9, "{heard}");
    // What came is kept for the next start.
    let part = dir.path().join("models--owner--model/blobs/tag-model.part");
    assert!(std::fs::metadata(part).is_ok_and(|part| part.len() <= 4000));
}

#[test]
fn a_part_that_is_complete_but_was_never_filed_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = dir.path().join("models--owner--model/blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    std::fs::write(blobs.join("tag-model.part"), [7; 5000]).unwrap();
    let server = Server::start(&whole());
    let fetched = checkpoint(&server.hub(dir.path()), &id(), &mut |_| {}).unwrap();
    let weights = std::fs::read(fetched.directory.join("model.safetensors")).unwrap();
    assert_eq!(weights, [7; 5000]);
    let last_byte = |line: &String| line.ends_with("model.safetensors 4999");
    assert!(server.requests().iter().any(last_byte));
}

#[test]
fn refusals_of_the_hub_are_told_apart() {
    let api = |status| refusal(&[("api", Answer::Status(status))]);
    assert!(matches!(api(401), Error::Unauthorized { .. }));
    assert!(matches!(api(403), Error::Gated { .. }));
    assert!(matches!(api(404), Error::NotFound { .. }));
    assert!(matches!(api(503), Error::Trouble { status: 503, .. }));
    assert!(api(401).to_string().contains("hf auth login"));

    let mut files = whole();
    files[2].1 = Answer::Status(403);
    assert!(matches!(refusal(&files), Error::Gated { .. }));
    assert!(matches!(refusal(&whole()[..1]), Error::Unfit { .. }));
}

#[test]
fn without_a_network_the_cache_stands_in_or_the_words_say_so() {
    let dir = tempfile::tempdir().unwrap();
    // A port that nobody listens on any more.
    let endpoint = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let hub = Hub::new(dir.path().to_owned(), &endpoint);
    let err = checkpoint(&hub, &id(), &mut |_| {}).unwrap_err();
    assert!(matches!(err, Error::NoNetwork { .. }), "{err}");
    assert!(
        err.to_string().contains("Connect to a network once"),
        "{err}"
    );

    // An old checkpoint without processor files: nothing proves that the cache is complete, but it runs.
    let snapshot = dir
        .path()
        .join("models--owner--model/snapshots")
        .join(COMMIT);
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::create_dir_all(dir.path().join("models--owner--model/refs")).unwrap();
    std::fs::write(dir.path().join("models--owner--model/refs/main"), COMMIT).unwrap();
    std::fs::write(snapshot.join("config.json"), "{}").unwrap();
    std::fs::write(snapshot.join("model.safetensors"), "x").unwrap();
    let fetched = checkpoint(&hub, &id(), &mut |_| {}).unwrap();
    assert_eq!(fetched.directory, snapshot);
    assert!(fetched.warnings[0].contains("without asking the hub"));
}
