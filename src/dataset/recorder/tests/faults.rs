//! Every operation on the disk fails, one after the other: what was said to be saved is there, and what was not can be recovered.
//!
//! In the usual run each operation fails in one of five ways; with `SMOLPILOT_FAULTS=all` in every way, which takes a minute.

use std::collections::BTreeSet;

use super::*;
use crate::dataset::check::{self, Depth};

/// What a session was told before it ended.
#[derive(Debug, Default)]
struct Told {
    saved: usize,
    /// Rows of the episodes that were said to be recoverable, by id.
    interrupted: Vec<(String, u64)>,
    complaints: Vec<String>,
}

impl Told {
    fn hear<T>(&mut self, said: Result<T, Error>) -> Option<T> {
        match said {
            Ok(done) => Some(done),
            Err(error) => {
                self.complaints.push(error.to_string());
                None
            }
        }
    }

    fn look(&mut self, view: &RecorderView) {
        self.saved = view.saved;
        let rows = view
            .interrupted
            .iter()
            .map(|left| (left.id.clone(), left.frames));
        self.interrupted = rows.collect();
        self.complaints.extend(view.trouble.clone());
    }
}

/// An episode is kept, one is discarded, and one runs when the session ends.
fn session(plan: &Plan, disk: &Disk) -> Told {
    let mut told = Told::default();
    let Some(mut recorder) = told.hear(Recorder::open_on(plan.clone(), disk.clone())) else {
        return told;
    };
    for (rows, verdict) in [(10, Some(true)), (2, Some(false)), (2, None)] {
        if told.hear(recorder.begin()).is_none() {
            continue;
        }
        let pushed = (0..rows).try_for_each(|k| recorder.push(step(k, plan.cameras.len())));
        if told.hear(pushed).is_none() {
            continue;
        }
        match verdict {
            Some(true) => drop(told.hear(recorder.keep(Outcome::Success))),
            Some(false) => drop(told.hear(recorder.discard())),
            None => {}
        }
    }
    told.look(&settled(&recorder));
    if let Some(view) = told.hear(recorder.close()) {
        told.look(&view);
    }
    told
}

/// The disk works again. Returns how many episodes there are in the end.
fn look(plan: &Plan, told: &Told, when: &str) -> usize {
    let mut recorder = Recorder::open(plan.clone())
        .unwrap_or_else(|error| panic!("{when}: does not open: {error}; {told:?}"));
    let view = settled(&recorder);
    assert_eq!(view.trouble, None, "{when}: {told:?}");
    assert!(
        view.episodes >= told.saved,
        "{when}: lost a saved one: {told:?} {view:?}"
    );
    let offered: Vec<_> = view
        .interrupted
        .iter()
        .map(|left| (left.id.as_str(), left.frames))
        .collect();
    for (id, rows) in &told.interrupted {
        let is_offered = offered
            .iter()
            .any(|(other, whole)| other == id && whole >= rows);
        // A commit that was written although the disk said otherwise is as good.
        assert!(
            is_offered || view.saved > 0,
            "{when}: lost {id}: {told:?} {view:?}"
        );
    }
    if told.complaints.is_empty() {
        let rows: Vec<_> = offered.iter().map(|(_, rows)| *rows).collect();
        assert_eq!(
            (view.episodes, view.frames, rows),
            (1, 10, vec![2]),
            "{when}: {told:?}"
        );
    }
    let ids: BTreeSet<_> = view
        .interrupted
        .iter()
        .map(|left| left.id.clone())
        .collect();
    assert_eq!(ids.len(), view.interrupted.len(), "{when}: offered twice");
    let rows: u64 = view.interrupted.iter().map(|left| left.frames).sum();
    for id in &ids {
        recorder.recover(id).unwrap();
    }
    let closed = recorder
        .close()
        .unwrap_or_else(|error| panic!("{when}: {error}"));
    assert_eq!(closed.episodes, view.episodes + ids.len(), "{when}");
    assert_eq!(closed.frames, view.frames + rows, "{when}");
    assert!(!plan.root.join(".recording").exists(), "{when}");
    if closed.episodes > 0 {
        let report = check::check(&plan.root, Depth::default(), &mut |_, _| {});
        assert!(report.is_sound(), "{when}: {report:#?}");
    }
    closed.episodes
}

/// In memory where the system has such a folder: thousands of syncs would take minutes on a disk.
fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = tempfile::tempdir_in(memory);
    made.or_else(|_| tempfile::tempdir()).unwrap()
}

/// Fails operation after operation.
fn fail_each(failure: Failure) {
    let ways = Failure::ALL;
    let way = ways.iter().position(|way| *way == failure).unwrap();
    let (first, stride) = if Failure::are_all_wanted() {
        (0, 1)
    } else {
        (way, ways.len())
    };
    let mut most = 0;
    for at in (first as u64..).step_by(stride) {
        let folder = place();
        let plan = plan(&folder.path().join("set"), &["front"]);
        let disk = Disk::failing(at, failure);
        let told = session(&plan, &disk);
        let is_over = disk.operations() <= at;
        let episodes = look(&plan, &told, &format!("{failure:?} at {at}"));
        most = most.max(episodes);
        if is_over {
            assert!(told.complaints.is_empty(), "{told:?}");
            break;
        }
    }
    assert!(most >= 2, "{most}");
}

#[test]
fn a_disk_that_gets_full_costs_nothing_that_was_told() {
    fail_each(Failure::Full);
}

#[test]
fn a_disk_that_gets_full_in_the_middle_of_a_write_costs_nothing_that_was_told() {
    fail_each(Failure::HalfWritten);
}

#[test]
fn a_disk_that_gets_read_only_costs_nothing_that_was_told() {
    fail_each(Failure::ReadOnly);
}

#[test]
fn a_program_that_ends_in_the_middle_of_a_write_loses_nothing_that_was_told() {
    fail_each(Failure::Killed);
}

#[test]
fn an_operation_that_fails_once_costs_nothing_that_was_told() {
    fail_each(Failure::Once);
}
