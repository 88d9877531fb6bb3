//! The desk over a data set that LeRobot wrote, without its thread.

use std::fs;
use std::time::Duration;

use crossbeam_channel::bounded;
use tempfile::TempDir;

use super::*;
use crate::dataset::Codec;
use crate::policy::Refusal;

/// How long a job on a data set of a few rows may take.
const LIMIT: Duration = Duration::from_mins(2);

struct Bench {
    place: TempDir,
    desk: Desk,
    reports: Sender<Event>,
    heard: Receiver<Event>,
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let there = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &there);
        } else {
            fs::copy(entry.path(), there).unwrap();
        }
    }
}

impl Bench {
    /// A library with one data set of four episodes.
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lerobot_sample");
        copy(&sample, &place.path().join("home/sample"));
        let places = Places {
            home: place.path().join("home"),
            ..Places::default()
        };
        let nobody: PolicyLoader = Arc::new(|_, _| {
            Err(Refusal {
                why: "no policy is here".to_owned(),
                stats: vec![],
            })
        });
        let (reports, heard) = bounded(64);
        let desk = Desk::new(places, nobody, Latest::new(), Arc::default());
        Self {
            place,
            desk,
            reports,
            heard,
        }
    }

    fn opened() -> Self {
        let mut bench = Self::new();
        let root = bench.place.path().join("home/sample");
        bench.order(LibraryOrder::Open(root));
        assert_eq!(bench.view().trouble, None);
        bench
    }

    fn order(&mut self, order: LibraryOrder) {
        self.desk.obey(order, &self.reports);
        while self.desk.seek.is_some() {
            self.desk.look();
        }
    }

    /// Orders something that takes long, and waits until it is over.
    fn work(&mut self, order: LibraryOrder) {
        self.order(order);
        while self.desk.view.doing.is_some() {
            match self.heard.recv_timeout(LIMIT).unwrap() {
                Event::Job(report) => self.desk.hear(report),
                other => panic!("{other:?}"),
            }
        }
    }

    fn view(&self) -> Arc<LibraryView> {
        self.desk.published.get().unwrap()
    }
}

#[test]
fn the_shelves_are_listed_and_one_is_opened() {
    let mut bench = Bench::new();
    bench.order(LibraryOrder::Refresh);
    let view = bench.view();
    assert_eq!(view.shelves.len(), 1);
    assert_eq!(
        (view.shelves[0].name.as_str(), view.shelves[0].episodes),
        ("sample", 4)
    );
    let root = view.shelves[0].root.clone();
    bench.order(LibraryOrder::Open(root));
    while bench.desk.cover() {}
    let view = bench.view();
    let frames: Vec<usize> = view.episodes.iter().map(|line| line.frames).collect();
    assert_eq!(frames, [60, 45, 75, 30]);
    let covers = view.episodes.iter().flat_map(|line| &line.thumbnail);
    assert_eq!(covers.count(), 4);
    bench.order(LibraryOrder::Close);
    assert!(bench.view().open.is_none() && bench.view().episodes.is_empty());
}

#[test]
fn an_episode_is_shown_and_the_pictures_follow_the_row() {
    let mut bench = Bench::opened();
    bench.order(LibraryOrder::Show(1));
    let first = bench.view().shown.clone().unwrap();
    assert_eq!((first.index, first.rows, first.row), (1, 45, 0));
    assert_eq!(first.states.len(), 45);
    let cameras: Vec<&str> = first.frames.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(cameras, ["front", "wrist"], "{:?}", first.blind);
    bench.order(LibraryOrder::Seek(44));
    let last = bench.view().shown.clone().unwrap();
    assert_eq!(last.row, 44);
    assert_ne!(
        last.frames[0].1.seq, first.frames[0].1.seq,
        "it is uploaded anew"
    );
    assert_ne!(last.frames[0].1.rgb, first.frames[0].1.rgb);
    bench.order(LibraryOrder::Seek(45));
    assert_eq!(
        bench.view().shown.as_ref().unwrap().row,
        44,
        "there is no such row"
    );
    bench.order(LibraryOrder::Show(9));
    assert!(
        bench
            .view()
            .trouble
            .as_ref()
            .unwrap()
            .contains("no episode 9")
    );
}

#[test]
fn a_folder_that_is_none_says_why() {
    let mut bench = Bench::new();
    let none = bench.place.path().join("none");
    bench.order(LibraryOrder::Open(none));
    assert!(bench.view().trouble.is_some() && bench.view().open.is_none());
    bench.order(LibraryOrder::Check);
    assert_eq!(
        bench.view().trouble.as_deref(),
        Some("Open a data set first.")
    );
}

#[test]
fn a_check_finds_no_error_in_what_lerobot_wrote() {
    let mut bench = Bench::opened();
    bench.work(LibraryOrder::Check);
    let view = bench.view();
    let findings = view.findings.as_ref().unwrap();
    assert!(findings.iter().all(|found| !found.is_error), "{findings:?}");
}

#[test]
fn an_episode_is_exported_as_a_table() {
    let mut bench = Bench::opened();
    let file = bench.place.path().join("out/episode.csv");
    bench.work(LibraryOrder::Export {
        episode: 3,
        file: file.clone(),
    });
    assert_eq!(bench.view().trouble, None);
    let lines = fs::read_to_string(&file).unwrap().lines().count();
    assert_eq!(lines, 31, "a head and 30 rows");
}

#[test]
fn a_policy_that_cannot_be_loaded_says_so_and_a_name_that_is_none_too() {
    let mut bench = Bench::opened();
    bench.work(LibraryOrder::Compare {
        episode: 0,
        policy: "demo".to_owned(),
        every: 10,
    });
    assert_eq!(bench.view().trouble.as_deref(), Some("no policy is here"));
    bench.order(LibraryOrder::Download("nothing".to_owned()));
    assert!(
        bench
            .view()
            .trouble
            .as_ref()
            .unwrap()
            .contains("owner/name")
    );
}

#[test]
fn one_thing_is_done_at_a_time() {
    let mut bench = Bench::opened();
    bench.desk.view.doing = Some(("exporting episode 3".to_owned(), None));
    bench.order(LibraryOrder::Check);
    let trouble = bench.view().trouble.clone().unwrap();
    assert_eq!(trouble, "Wait for what is being done: exporting episode 3");
}

#[test]
fn a_recording_that_grew_is_read_anew_at_the_episode_that_was_shown() {
    use crate::dataset::{Outcome, Plan, Recorder, Step};
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("home/cube");
    let plan = Plan {
        codec: Codec::H264,
        ..Plan::new(&root)
    };
    let record = |rows: u64| {
        let mut recorder = Recorder::open(plan.clone()).unwrap();
        recorder.begin().unwrap();
        for row in 0..rows {
            let pose = crate::joint::JointVec([row as f32; 6]);
            let step = Step {
                at: Duration::from_millis(row * 33),
                state: pose,
                action: pose,
                frames: vec![],
                task: "wave".into(),
                provenance: crate::dataset::Provenance::default(),
                missed: 0,
            };
            recorder.push(step).unwrap();
        }
        recorder.keep(Outcome::Success).unwrap();
        recorder.close().unwrap();
    };
    record(10);
    let mut bench = Bench::new();
    bench.order(LibraryOrder::Open(root));
    bench.order(LibraryOrder::Show(0));
    let shown = bench.view().shown.clone().unwrap();
    assert_eq!((shown.rows, shown.outcome), (10, Outcome::Success));
    record(5);
    bench.order(LibraryOrder::Refresh);
    let view = bench.view();
    assert_eq!(
        (view.episodes.len(), view.open.as_ref().unwrap().episodes),
        (2, 2)
    );
    assert_eq!(view.shown.as_ref().unwrap().index, 0);
}

/// As when the films of a session are joined: no number of the data set is another than before.
#[test]
fn a_change_from_elsewhere_is_seen_even_if_the_counts_stay() {
    use crate::dataset::{Disk, edit};
    let mut bench = Bench::opened();
    let root = bench.view().open.as_ref().unwrap().root.clone();
    let relabel = edit::Edit::Relabel {
        episodes: vec![0],
        task: "another task".to_owned(),
    };
    edit::apply(&root, &relabel, &Disk::new(), &mut |_, _| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    bench.order(LibraryOrder::Refresh);
    assert_eq!(bench.view().episodes[0].tasks, ["another task"]);
}

#[test]
fn episodes_are_deleted_trimmed_relabelled_and_marked_and_the_shown_one_is_read_anew() {
    use crate::dataset::Outcome;
    let mut bench = Bench::opened();
    bench.order(LibraryOrder::Show(1));
    bench.work(LibraryOrder::Delete(vec![0]));
    let view = bench.view();
    assert_eq!(view.trouble, None);
    assert!(
        view.done
            .as_ref()
            .unwrap()
            .starts_with("Done: 3 episodes, 150 rows")
    );
    let frames: Vec<usize> = view.episodes.iter().map(|line| line.frames).collect();
    assert_eq!(frames, [45, 75, 30]);
    assert_eq!(
        view.shown.as_ref().unwrap().rows,
        75,
        "episode 1 is another one now"
    );
    bench.work(LibraryOrder::Trim {
        episode: 1,
        from: 10,
        to: 40,
    });
    assert_eq!(bench.view().shown.as_ref().unwrap().rows, 30);
    bench.work(LibraryOrder::Relabel {
        episodes: vec![1],
        task: "wave".to_owned(),
    });
    assert_eq!(bench.view().episodes[1].tasks, ["wave"]);
    bench.work(LibraryOrder::Mark {
        episodes: vec![2],
        outcome: Outcome::Failure,
    });
    assert_eq!(bench.view().trouble, None);
    assert_eq!(bench.view().episodes[2].outcome, Outcome::Failure);
    bench.work(LibraryOrder::Delete(vec![7]));
    assert!(bench.view().trouble.as_ref().unwrap().contains('7'));
    assert_eq!(bench.view().episodes.len(), 3, "nothing was changed");
}

#[test]
fn two_data_sets_become_a_third() {
    let mut bench = Bench::opened();
    let home = bench.place.path().join("home");
    copy(&home.join("sample"), &home.join("other"));
    bench.work(LibraryOrder::Merge {
        with: home.join("other"),
        into: home.join("both"),
    });
    let view = bench.view();
    assert_eq!(view.trouble, None);
    let both = view.shelves.iter().find(|shelf| shelf.name == "both");
    assert_eq!(both.map(|shelf| shelf.episodes), Some(8));
    assert_eq!(view.open.as_ref().unwrap().name, "sample", "it stays open");
}
