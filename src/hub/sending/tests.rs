//! Shipments to a pretend hub: whole, broken, refused, and in pieces.

use std::time::Duration;

use super::*;
use crate::hub::pretend::{Answer, Server, TOKEN};

fn id() -> HubId {
    HubId::dataset("owner/cubes").unwrap()
}

fn hub(server: &Server, place: &tempfile::TempDir) -> Hub {
    server.hub(place.path()).logged_in(TOKEN)
}

fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A film of so many bytes and a note.
fn shipment(place: &tempfile::TempDir, size: usize) -> (Shipment, Vec<u8>) {
    let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
    let film = place.path().join("film.mp4");
    std::fs::write(&film, &bytes).unwrap();
    let parcel = |path: &str, content| Parcel {
        path: path.to_owned(),
        content,
    };
    let shipment = Shipment {
        parcels: vec![
            parcel("videos/film.mp4", Content::File(film)),
            parcel("README.md", Content::Text("# cubes\n".to_owned())),
        ],
        message: "Upload".to_owned(),
        tag: Some("v3.0".to_owned()),
        ..Shipment::default()
    };
    (shipment, bytes)
}

#[test]
fn large_and_small_files_arrive_in_one_commit_and_the_tag_moves() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&[("old.txt", Answer::File(vec![1]))]);
    let (mut shipment, bytes) = shipment(&place, 200_000);
    shipment.removed.push("old.txt".to_owned());
    let mut heard = vec![];
    let mut listen = |share: f32| {
        heard.push(share);
        ControlFlow::Continue(())
    };
    let sent = hub(&server, &place)
        .send(&id(), &shipment, &mut listen)
        .unwrap();
    assert!(sent.url.ends_with("/datasets/owner/cubes"), "{}", sent.url);
    assert_eq!(sent.bytes, 200_000);
    assert!(heard.is_sorted() && heard.last() == Some(&1.0), "{heard:?}");
    assert_eq!(server.file("videos/film.mp4"), Some(bytes));
    assert_eq!(server.file("README.md").as_deref(), Some(&b"# cubes\n"[..]));
    assert_eq!(server.file("old.txt"), None);
    assert_eq!(server.state().tags, ["v3.0"]);
    // Again: the repository is there, and so are the bytes.
    let sent = hub(&server, &place)
        .send(&id(), &shipment, &mut on)
        .unwrap();
    assert_eq!(sent.bytes, 0);
    assert_eq!(server.state().tags, ["v3.0"]);
}

#[test]
fn a_store_that_wants_pieces_gets_pieces() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    server.state().piece = Some(30_000);
    let (shipment, bytes) = shipment(&place, 100_000);
    hub(&server, &place)
        .send(&id(), &shipment, &mut on)
        .unwrap();
    assert_eq!(server.file("videos/film.mp4"), Some(bytes));
    let put = |line: &&String| line.starts_with("PUT");
    assert_eq!(server.requests().iter().filter(put).count(), 4);
}

#[test]
fn a_broken_transfer_is_taken_up_and_nothing_is_committed_before_all_is_there() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let (shipment, bytes) = shipment(&place, 100_000);
    server.state().refusals = vec![("PUT", 0), ("PUT", 503)];
    hub(&server, &place)
        .send(&id(), &shipment, &mut on)
        .unwrap();
    assert_eq!(server.file("videos/film.mp4"), Some(bytes));

    let server = Server::start(&[]);
    server.state().refusals = vec![("PUT", 503); ATTEMPTS_OF_TEST];
    let why = hub(&server, &place)
        .send(&id(), &shipment, &mut on)
        .unwrap_err();
    assert!(matches!(why, Error::Trouble { status: 503, .. }), "{why}");
    assert!(server.state().files.is_empty());
}

/// More than a transfer is begun.
const ATTEMPTS_OF_TEST: usize = 9;

#[test]
fn whoever_may_not_write_is_told_why() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let (shipment, _) = shipment(&place, 10);
    let send = |hub: Hub| hub.send(&id(), &shipment, &mut on).unwrap_err();
    let nobody = send(server.hub(place.path()));
    assert!(nobody.to_string().contains("hf auth login"), "{nobody}");
    assert!(server.requests().is_empty());
    let stranger = send(server.hub(place.path()).logged_in("hf_other"));
    assert!(matches!(stranger, Error::Unauthorized { .. }), "{stranger}");
    server.state().refusals = vec![("create", 403)];
    let reader = send(hub(&server, &place));
    assert!(reader.to_string().contains("because"), "{reader}");
}

#[test]
fn a_listener_that_wants_no_more_ends_it() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let (shipment, _) = shipment(&place, 500_000);
    let mut stop = |share: f32| {
        if share > 0.4 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let hub = hub(&server, &place).with_silence(Duration::from_secs(5));
    let why = hub.send(&id(), &shipment, &mut stop).unwrap_err();
    assert!(matches!(why, Error::Cancelled { .. }), "{why}");
    assert!(server.state().files.is_empty());
}

#[test]
fn without_a_way_to_the_hub_it_says_that_nothing_was_sent() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let (shipment, _) = shipment(&place, 10);
    let hub = hub(&server, &place).without_network();
    let why = hub.send(&id(), &shipment, &mut on).unwrap_err().to_string();
    assert!(
        why.contains("was not sent") && why.contains("HF_HUB_OFFLINE"),
        "{why}"
    );
}

#[test]
fn a_file_that_went_away_is_named() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let (shipment, _) = shipment(&place, 10);
    std::fs::remove_file(place.path().join("film.mp4")).unwrap();
    let why = hub(&server, &place)
        .send(&id(), &shipment, &mut on)
        .unwrap_err();
    assert!(why.to_string().contains("film.mp4"), "{why}");
}
