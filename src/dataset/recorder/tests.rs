//! Episodes through the whole recorder: kept, dropped, torn, interrupted, recovered.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::*;
use crate::dataset::journal::{Journal, Stream, Tape, left_in};
use crate::dataset::{CameraShape, Failure, Provenance};
use crate::joint::JointVec;
use crate::observation::Frame;

mod faults;

fn plan(root: &Path, cameras: &[&str]) -> Plan {
    let shape = |name: &&str| CameraShape {
        name: (*name).to_owned(),
        width: 32,
        height: 16,
    };
    Plan {
        fps: 10,
        cameras: cameras.iter().map(shape).collect(),
        ..Plan::new(root)
    }
}

/// Row `k` of an episode whose cameras have all something new.
fn step(k: u64, cameras: usize) -> Step {
    let frame = || {
        let rgb: Vec<u8> = (0..32 * 16 * 3).map(|at| (at * 7 + k * 5) as u8).collect();
        Frame::new(32, 16, rgb, k + 1, Duration::from_millis(100 * k))
    };
    Step {
        at: Duration::from_millis(5_000 + 100 * k),
        state: JointVec([k as f32; 6]),
        action: JointVec([k as f32 + 0.5; 6]),
        frames: (0..cameras).map(|_| frame()).collect(),
        task: Arc::from("stack the cubes"),
        provenance: Provenance::default(),
        missed: 0,
    }
}

fn record(recorder: &mut Recorder, rows: u64) {
    let cameras = recorder.plan.cameras.len();
    for k in 0..rows {
        recorder.push(step(k, cameras)).unwrap();
    }
}

/// Waits until nothing is being saved.
fn settled(recorder: &Recorder) -> RecorderView {
    while !recorder.view().saving.is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    recorder.view()
}

/// The only journal of the data set, whatever its state.
fn journal(root: &Path) -> Journal {
    let shelf = Shelf::new(root, &Disk::new());
    let mut found = shelf.look().unwrap().found;
    assert_eq!(found.len(), 1);
    found.remove(0).journal
}

#[test]
fn kept_episodes_are_in_the_data_set_and_nothing_else_stays() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    let mut recorder = Recorder::open(plan(&root, &["front", "wrist"])).unwrap();
    for (episode, rows) in [3, 1, 5].into_iter().enumerate() {
        recorder.begin().unwrap();
        record(&mut recorder, rows);
        let running = recorder.view().running.unwrap();
        assert_eq!((running.episode, running.frames), (episode, rows));
        assert_eq!(running.length, Duration::from_millis(100 * rows));
        assert_eq!(recorder.keep(Outcome::Success).unwrap(), episode);
    }
    let view = recorder.close().unwrap();
    assert_eq!((view.episodes, view.frames, view.saved), (3, 9, 3));
    assert!(view.running.is_none() && view.saving.is_empty() && view.trouble.is_none());
    assert!(!root.join(".recording").exists());
    let mut again = Recorder::open(plan(&root, &["front", "wrist"])).unwrap();
    assert_eq!((again.view().episodes, again.view().saved), (3, 0));
    again.begin().unwrap();
    record(&mut again, 2);
    assert_eq!(again.keep(Outcome::Failure).unwrap(), 3);
    assert_eq!(again.close().unwrap().frames, 11);
}

/// One camera gives nothing at first, then the same picture twice; the other is unplugged. Two instants are missed.
#[test]
fn every_row_has_a_picture_of_every_camera_and_what_is_shown_again_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(plan(folder.path(), &["front", "wrist"])).unwrap();
    recorder.begin().unwrap();
    let push = |recorder: &mut Recorder, k: u64, front: Option<u64>, wrist: Option<u64>, missed| {
        let mut step = step(k, 2);
        step.missed = missed;
        for (frame, seq) in step.frames.iter_mut().zip([front, wrist]) {
            *frame = frame
                .take()
                .zip(seq)
                .map(|(frame, seq)| Frame { seq, ..frame });
        }
        recorder.push(step).unwrap();
    };
    // Nothing can have been missed before the first row.
    push(&mut recorder, 0, None, Some(4), 7);
    push(&mut recorder, 1, Some(8), Some(5), 0);
    push(&mut recorder, 4, Some(8), None, 2);
    let running = recorder.view().running.unwrap();
    assert_eq!((running.frames, running.missed), (5, 2));
    let repeated = [("front".to_owned(), 4), ("wrist".to_owned(), 3)];
    assert_eq!(running.repeated, repeated);
    drop(recorder);
    let journal = journal(folder.path());
    let (rows, tasks) = Tape::rows(&journal.rows_path(), 5).unwrap();
    assert_eq!(tasks, ["stack the cubes"]);
    let masks: Vec<_> = rows.iter().map(|row| row.repeated).collect();
    assert_eq!(masks, [0b010, 0, 0b111, 0b111, 0b110]);
    let states: Vec<_> = rows.iter().map(|row| row.state.0[0]).collect();
    assert_eq!(states, [0.0, 1.0, 1.0, 1.0, 4.0]);
    // The rows that fill say when what they repeat was taken.
    assert_eq!(rows[2].at, rows[1].at);
    assert_eq!(rows[4].at, Duration::from_millis(400));
    for camera in 0..2 {
        assert_eq!(Stream::count(&journal.stream_path(camera)).unwrap(), 5);
    }
}

#[test]
fn a_discarded_episode_can_be_recovered_until_the_next_begins() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(plan(folder.path(), &["front"])).unwrap();
    recorder.begin().unwrap();
    record(&mut recorder, 4);
    recorder.discard().unwrap();
    let discarded = recorder.view().discarded.unwrap();
    assert_eq!(
        (discarded.frames, discarded.task.as_str()),
        (4, "stack the cubes")
    );
    assert!(recorder.view().interrupted.is_empty());
    recorder.recover(&discarded.id).unwrap();
    let view = settled(&recorder);
    assert_eq!((view.episodes, view.frames, view.discarded), (1, 4, None));
    recorder.begin().unwrap();
    record(&mut recorder, 2);
    recorder.discard().unwrap();
    let discarded = recorder.view().discarded.unwrap();
    recorder.begin().unwrap();
    assert_eq!(recorder.view().discarded, None);
    assert!(recorder.recover(&discarded.id).is_err());
    recorder.discard().unwrap();
    let view = recorder.close().unwrap();
    assert_eq!((view.episodes, view.trouble), (1, None));
    assert!(!folder.path().join(".recording").exists());
}

#[test]
fn an_episode_that_was_not_finished_is_offered_and_recovered_or_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), &["front", "wrist"]);
    let interrupt = || {
        let mut recorder = Recorder::open(plan.clone()).unwrap();
        recorder.begin().unwrap();
        record(&mut recorder, 6);
        drop(recorder);
        let mut recorder = Recorder::open(plan.clone()).unwrap();
        let left = recorder.view().interrupted;
        assert_eq!(left.len(), 1);
        assert_eq!(
            (left[0].frames, left[0].length),
            (6, Duration::from_millis(600))
        );
        let (same, by) = left_in(folder.path()).unwrap().remove(0);
        assert_eq!((&same, &by), (&left[0], &plan));
        assert!(recorder.recover("ep-else").is_err() && recorder.forget("..").is_err());
        (recorder, left[0].id.clone())
    };
    let (mut recorder, id) = interrupt();
    recorder.recover(&id).unwrap();
    assert!(recorder.recover(&id).is_err(), "it is being saved, or is");
    let view = recorder.close().unwrap();
    assert_eq!((view.episodes, view.frames), (1, 6));
    let (mut recorder, id) = interrupt();
    recorder.forget(&id).unwrap();
    assert!(recorder.view().interrupted.is_empty() && recorder.recover(&id).is_err());
    let view = recorder.close().unwrap();
    assert_eq!((view.episodes, view.frames), (1, 6));
    assert!(!folder.path().join(".recording").exists());
}

/// As after a lost power: each file ends somewhere else, one of them in the middle of a record.
#[test]
fn torn_files_give_the_rows_that_are_whole_in_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), &["front", "wrist"]);
    let mut recorder = Recorder::open(plan.clone()).unwrap();
    recorder.begin().unwrap();
    record(&mut recorder, 9);
    drop(recorder);
    let journal = journal(folder.path());
    let cut = |path: &Path, share: u64| {
        let bytes = fs::metadata(path).unwrap().len();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(bytes * share / 100).unwrap();
    };
    cut(&journal.rows_path(), 90);
    cut(&journal.stream_path(0), 40);
    let whole = [
        Tape::rows(&journal.rows_path(), 9)
            .map_err(|error| error.to_string())
            .unwrap_err(),
        Stream::count(&journal.stream_path(0)).unwrap().to_string(),
    ];
    assert!(whole[0].contains("8 rows are whole"), "{whole:?}");
    let front: u64 = whole[1].parse().unwrap();
    assert!(front > 0 && front < 8, "{whole:?}");
    let mut recorder = Recorder::open(plan.clone()).unwrap();
    let left = recorder.view().interrupted.remove(0);
    assert_eq!(left.frames, front);
    recorder.recover(&left.id).unwrap();
    let view = recorder.close().unwrap();
    assert_eq!((view.episodes, view.frames), (1, front));
    // A file that is not there any more leaves nothing to recover, and nothing in the way.
    let mut recorder = Recorder::open(plan.clone()).unwrap();
    recorder.begin().unwrap();
    record(&mut recorder, 2);
    drop(recorder);
    fs::remove_file(self::journal(folder.path()).stream_path(1)).unwrap();
    let recorder = Recorder::open(plan).unwrap();
    assert!(recorder.view().interrupted.is_empty());
    recorder.close().unwrap();
    assert!(!folder.path().join(".recording").exists());
}

#[test]
fn an_episode_that_lost_its_end_is_no_success_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(plan(folder.path(), &["front"])).unwrap();
    recorder.begin().unwrap();
    record(&mut recorder, 9);
    recorder.running.as_ref().unwrap().mark(Outcome::Success);
    drop(recorder);
    let journal = journal(folder.path());
    let whole = journal.whole().unwrap();
    assert_eq!((whole.rows, whole.outcome), (9, Outcome::Success));
    let stream = fs::File::options()
        .write(true)
        .open(journal.stream_path(0))
        .unwrap();
    stream
        .set_len(stream.metadata().unwrap().len() / 2)
        .unwrap();
    let whole = journal.whole().unwrap();
    assert!((1..9).contains(&whole.rows), "{whole:?}");
    assert_eq!(whole.outcome, Outcome::Unmarked);
}

#[test]
fn a_disk_that_is_nearly_full_ends_and_keeps_the_episode() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(plan(folder.path(), &["front"])).unwrap();
    recorder.begin().unwrap();
    record(&mut recorder, 9);
    // What a second takes is known once something is in the files.
    while recorder
        .running
        .as_ref()
        .is_some_and(|take| take.bytes() == 0)
    {
        thread::sleep(Duration::from_millis(1));
    }
    recorder.reserve = u64::MAX;
    let error = recorder.push(step(9, 1)).unwrap_err().to_string();
    assert!(
        error.contains("episode 0 was ended and kept") && error.contains("Make room"),
        "{error}"
    );
    assert!(recorder.push(step(10, 1)).is_err());
    let view = settled(&recorder);
    assert_eq!((view.running, view.saved, view.frames), (None, 1, 10));
    assert_eq!(
        view.trouble,
        Some(error),
        "it stays until something goes right"
    );
    let disk = view.disk.unwrap();
    assert!(disk.bytes_left > 0 && disk.time_left == Some(Duration::ZERO));
    assert!(matches!(recorder.begin(), Err(Error::Full { .. })));
    recorder.reserve = 0;
    recorder.begin().unwrap();
    assert_eq!(recorder.view().trouble, None);
    assert!(recorder.view().disk.unwrap().time_left > Some(Duration::ZERO));
}

#[test]
fn an_episode_ends_before_it_is_too_long_and_after_a_long_gap() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(plan(folder.path(), &[])).unwrap();
    let after = |missed| Step {
        missed,
        ..step(3, 0)
    };
    recorder.begin().unwrap();
    record(&mut recorder, 3);
    recorder.push(after(100)).unwrap();
    let error = recorder.push(after(101)).unwrap_err().to_string();
    assert!(error.contains("more than 10 s"), "{error}");
    recorder.begin().unwrap();
    record(&mut recorder, 10_000);
    let error = recorder.push(after(0)).unwrap_err().to_string();
    assert!(error.contains("1000 s"), "{error}");
    let view = recorder.close().unwrap();
    assert_eq!((view.episodes, view.frames), (2, 10_104));
}

#[test]
fn what_does_not_fit_the_moment_is_refused_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(plan(folder.path(), &["front"])).unwrap();
    assert!(recorder.push(step(0, 1)).is_err());
    assert!(recorder.discard().is_err());
    assert!(recorder.keep(Outcome::Unmarked).is_err());
    let trouble = recorder.view().trouble.unwrap();
    assert!(trouble.contains("begin one first"), "{trouble}");
    recorder.begin().unwrap();
    assert!(recorder.begin().is_err(), "one runs");
    let error = recorder.keep(Outcome::Unmarked).unwrap_err().to_string();
    assert!(error.contains("no row"), "{error}");
    assert!(
        Recorder::open(plan(folder.path(), &["front"])).is_err(),
        "it is locked"
    );
    let mut odd = plan(&folder.path().join("odd"), &["front"]);
    odd.cameras[0].width = 33;
    let refused = Recorder::open(odd).and_then(|mut recorder| recorder.begin());
    assert!(refused.unwrap_err().to_string().contains("even"));
    let view = recorder.close().unwrap();
    assert_eq!((view.episodes, view.interrupted.len()), (0, 0));
}

#[test]
fn tasks_of_an_episode_are_named_by_row() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(plan(folder.path(), &[])).unwrap();
    recorder.begin().unwrap();
    for (k, task) in ["pick", "place", "pick", "wait"].into_iter().enumerate() {
        let step = Step {
            task: task.into(),
            ..step(k as u64, 0)
        };
        recorder.push(step).unwrap();
    }
    drop(recorder);
    let journal = journal(folder.path());
    let (rows, tasks) = Tape::rows(&journal.rows_path(), 4).unwrap();
    assert_eq!(tasks, ["pick", "place", "wait"]);
    assert_eq!(
        rows.iter().map(|row| row.task).collect::<Vec<_>>(),
        [0, 1, 0, 2]
    );
    let recorder = Recorder::open(plan(folder.path(), &[])).unwrap();
    assert_eq!(recorder.view().interrupted[0].task, "pick / place / wait");
}

/// A power cut can leave a journal that says nothing, and another program one that says something else.
#[test]
fn a_journal_that_cannot_be_read_is_shown_and_only_dropped_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let journals = folder.path().join(".recording");
    let strange = journals.join("ep-000000-0000000000000a");
    let empty = journals.join("ep-000001-0000000000000b");
    for folder in [&strange, &empty] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(strange.join("header.json"), "{\"version\": 9}").unwrap();
    let mut recorder = Recorder::open(plan(folder.path(), &["front"])).unwrap();
    let left = recorder.view().interrupted;
    assert_eq!((left.len(), left[0].frames), (1, 0));
    assert!(left[0].task.contains("header.json"), "{left:?}");
    assert!(!empty.exists() && strange.exists());
    assert!(recorder.recover(&left[0].id).is_err() && strange.exists());
    recorder.forget(&left[0].id).unwrap();
    assert!(!strange.exists());
    recorder.close().unwrap();
}

/// Each keeps its number although the first is saved only when the others have been kept.
#[test]
fn episodes_may_be_kept_faster_than_they_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(plan(folder.path(), &["front"])).unwrap();
    for episode in 0..8 {
        recorder.begin().unwrap();
        record(&mut recorder, episode + 1);
        assert_eq!(recorder.keep(Outcome::Unmarked).unwrap() as u64, episode);
        let view = recorder.view();
        assert_eq!((view.episodes + view.saving.len()) as u64, episode + 1);
        let numbers = view.saving.iter().map(|saving| saving.episode);
        assert!(numbers.eq(view.episodes..=episode as usize), "{view:?}");
    }
    let view = recorder.close().unwrap();
    assert_eq!((view.episodes, view.frames), (8, 36));
}

/// The data set was moved away and one with another camera begun in its place.
#[test]
fn an_episode_of_another_plan_waits_for_that_plan() {
    let folder = tempfile::tempdir().unwrap();
    let first = plan(folder.path(), &["front"]);
    let mut recorder = Recorder::open(first.clone()).unwrap();
    recorder.begin().unwrap();
    record(&mut recorder, 3);
    drop(recorder);
    let journal = journal(folder.path());
    let commit = Commit {
        rows: 3,
        outcome: Outcome::Success,
    };
    journal.commit(commit, &Disk::new()).unwrap();
    fs::remove_dir_all(folder.path().join("meta")).ok();
    let mut other = Recorder::open(plan(folder.path(), &["wrist"])).unwrap();
    let view = settled(&other);
    assert_eq!((view.episodes, view.interrupted.len()), (0, 1));
    let error = other.recover(journal.id()).unwrap_err().to_string();
    assert!(error.contains("other cameras"), "{error}");
    assert_eq!(other.close().unwrap().interrupted.len(), 1);
    fs::remove_dir_all(folder.path().join("meta")).ok();
    let view = Recorder::open(first).unwrap().close().unwrap();
    assert_eq!((view.episodes, view.frames), (1, 3));
}
