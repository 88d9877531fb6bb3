//! The states of a recording, of a replay, and of the page of the data sets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use smolpilot::dataset::{DiskView, Interrupted, Outcome, RecorderView, Running, Saving};
use smolpilot::joint::JointVec;
use smolpilot::runtime::{
    EpisodeLine, EpisodeView, Finding, LibraryView, Mode, ReplayView, SessionPhase, SessionView,
    Shelf, Snapshot,
};

use crate::fixture;

const MB: u64 = 1_000_000;

/// A recorder that rests.
pub fn planned() -> Snapshot {
    Snapshot {
        session: Some(Arc::new(SessionView::default())),
        library: Some(Arc::new(shelves())),
        ..fixture::idle()
    }
}

fn in_phase(phase: SessionPhase, seconds: f32, limit: u64) -> Snapshot {
    let snapshot = fixture::running(3_000);
    let session = SessionView {
        phase,
        since: snapshot
            .now
            .saturating_sub(Duration::from_secs_f32(seconds)),
        limit: Some(Duration::from_secs(limit)),
        kept: 6,
        wanted: 50,
        recorder: RecorderView {
            root: Some(PathBuf::from("/home/me/smolpilot/red_cube")),
            episodes: 18,
            frames: 12_040,
            saved: 6,
            disk: Some(DiskView {
                bytes_left: 84_000 * MB,
                time_left: Some(Duration::from_mins(250)),
            }),
            ..RecorderView::default()
        },
        ..SessionView::default()
    };
    Snapshot {
        session: Some(Arc::new(session)),
        library: Some(Arc::new(shelves())),
        ..snapshot
    }
}

/// An episode runs, the one before it is being saved.
pub fn recording() -> Snapshot {
    let mut snapshot = in_phase(SessionPhase::Recording, 12.2, 60);
    if let Some(session) = snapshot.session.as_mut().map(Arc::make_mut) {
        session.outcome = Outcome::Success;
        session.recorder.running = Some(Running {
            episode: 18,
            frames: 366,
            length: Duration::from_millis(12_200),
            missed: 0,
            repeated: vec![("front".to_owned(), 0), ("wrist".to_owned(), 3)],
            backlog: (14, 120),
        });
        session.recorder.saving = vec![Saving {
            episode: 17,
            stage: "film of wrist".to_owned(),
            share: 0.64,
        }];
    }
    snapshot
}

pub fn warming_up() -> Snapshot {
    in_phase(SessionPhase::WarmUp, 1.8, 5)
}

pub fn resetting() -> Snapshot {
    in_phase(SessionPhase::Reset, 3.2, 10)
}

pub fn finishing() -> Snapshot {
    let mut snapshot = recording();
    if let Some(session) = snapshot.session.as_mut().map(Arc::make_mut) {
        session.phase = SessionPhase::Finishing;
        session.limit = None;
        session.recorder.running = None;
    }
    snapshot
}

/// The disk is nearly full, and rows could not be taken.
pub fn disk_low() -> Snapshot {
    let mut snapshot = recording();
    if let Some(session) = snapshot.session.as_mut().map(Arc::make_mut) {
        session.recorder.disk = Some(DiskView {
            bytes_left: 1_300 * MB,
            time_left: Some(Duration::from_mins(6)),
        });
        session.recorder.trouble = Some(
            "The encoder of front is behind: 12 rows were filled. Record a smaller picture, or fewer cameras.".to_owned(),
        );
        if let Some(running) = &mut session.recorder.running {
            running.missed = 12;
            running.backlog = (118, 120);
        }
    }
    snapshot
}

/// An earlier session was killed.
pub fn interrupted() -> Snapshot {
    let mut snapshot = planned();
    if let Some(session) = snapshot.session.as_mut().map(Arc::make_mut) {
        session.recorder.interrupted = vec![unfinished()];
    }
    snapshot
}

fn unfinished() -> Interrupted {
    Interrupted {
        id: "ep-000018-a1".to_owned(),
        task: "put the red cube in the box".to_owned(),
        frames: 412,
        length: Duration::from_millis(13_733),
    }
}

/// Recorded actions drive.
pub fn replaying() -> Snapshot {
    let mut snapshot = fixture::running(3_000);
    snapshot.mode = Mode::Replay;
    snapshot.replay = Some(ReplayView {
        name: "red_cube, episode 3".to_owned(),
        row: 120,
        rows: 370,
        repeat: false,
    });
    snapshot
}

fn shelf(name: &str, episodes: usize) -> Shelf {
    Shelf {
        root: PathBuf::from("/home/me/smolpilot").join(name),
        name: name.to_owned(),
        episodes,
        frames: episodes as u64 * 368,
        fps: 30.0,
        robot: "so_follower".to_owned(),
        version: "v3.0".to_owned(),
        ..Shelf::default()
    }
}

/// What is on disk.
pub fn shelves() -> LibraryView {
    let mut old = shelf("lerobot/svla_so101_pickplace", 50);
    "v2.1".clone_into(&mut old.version);
    let mut killed = shelf("sorting", 12);
    killed.interrupted = 1;
    let mut broken = shelf("half_copied", 0);
    broken.trouble = Some(
        "meta/info.json is missing: this folder is no data set, or was copied in part. Copy it again.".to_owned(),
    );
    LibraryView {
        home: PathBuf::from("/home/me/smolpilot"),
        encoders: vec!["libsvtav1".to_owned(), "libx264".to_owned()].into(),
        shelves: vec![shelf("red_cube", 300), old, killed, broken].into(),
        ..LibraryView::default()
    }
}

fn line(index: usize) -> EpisodeLine {
    let frames = 300 + index * 17 % 190;
    EpisodeLine {
        index,
        frames,
        length: Duration::from_secs_f32(frames as f32 / 30.0),
        tasks: vec![
            if index % 3 == 1 {
                "put the blue cube in the box, then go back"
            } else {
                "put the red cube in the box"
            }
            .to_owned(),
        ],
        outcome: [Outcome::Success, Outcome::Failure, Outcome::Unmarked][index % 3],
        thumbnail: Some(fixture::picture((index % 3) as u8, 10_000 + index as u64)),
    }
}

/// A data set of 300 episodes is open.
pub fn opened() -> LibraryView {
    LibraryView {
        open: Some(shelf("red_cube", 300)),
        episodes: (0..300).map(line).collect(),
        done: Some("Marked episode 2".to_owned()),
        ..shelves()
    }
}

/// One of its episodes, at this row.
pub fn episode(index: usize, row: usize) -> EpisodeView {
    let rows = line(index).frames;
    let pose = |row: usize, lag: f32| fixture::pose(row as f32 * 2.0 + index as f32 * 40.0 - lag);
    let states: Vec<JointVec> = (0..rows).map(|row| pose(row, 5.0)).collect();
    let actions: Vec<JointVec> = (0..rows).map(|row| pose(row, 0.0)).collect();
    EpisodeView {
        index,
        fps: 30.0,
        rows,
        states: states.into(),
        actions: actions.into(),
        interventions: (0..rows).map(|row| (110..170).contains(&row)).collect(),
        filled: (0..rows).map(|row| (240..244).contains(&row)).collect(),
        outcome: line(index).outcome,
        task: "put the red cube in the box".to_owned(),
        row,
        frames: vec![
            ("front".to_owned(), fixture::picture(0, 20_000 + row as u64)),
            ("wrist".to_owned(), fixture::picture(1, 30_000 + row as u64)),
        ],
        ..EpisodeView::default()
    }
}

/// With an episode on the screen.
pub fn shown() -> LibraryView {
    LibraryView {
        shown: Some(Arc::new(episode(3, 150))),
        ..opened()
    }
}

/// A policy was asked what it would have done.
pub fn compared() -> LibraryView {
    let mut episode = episode(3, 150);
    let chunk = |from: usize| {
        let drift = |k: usize| k as f32 * 0.14;
        (from..(from + 40).min(episode.rows))
            .map(|row| {
                JointVec(
                    episode.actions[row]
                        .0
                        .map(|value| value + drift(row - from)),
                )
            })
            .collect()
    };
    episode.predictions = (0..episode.rows)
        .step_by(25)
        .map(|row| (row, chunk(row)))
        .collect();
    episode.error = Some(JointVec([2.1, 1.4, 3.3, 0.9, 5.2, 4.0]));
    episode.frames.pop();
    episode.blind = vec![(
        "wrist".to_owned(),
        "hevc: no decoder for it is built in. Install ffmpeg to see this camera.".to_owned(),
    )];
    LibraryView {
        shown: Some(Arc::new(episode)),
        ..opened()
    }
}

/// Something takes long, and something went wrong.
pub fn busy() -> LibraryView {
    LibraryView {
        doing: Some(("Downloading lerobot/svla_so101_pickplace, 212 of 480 MB".to_owned(), Some(0.44))),
        trouble: Some(
            "The hub does not answer (timed out). What has come is kept; press Download again to go on.".to_owned(),
        ),
        interrupted: vec![unfinished()],
        findings: Some(
            vec![
                Finding {
                    is_error: true,
                    text: "videos/observation.images.front/chunk-000/file-002.mp4: 1 frame is missing in episode 14".to_owned(),
                },
                Finding {
                    is_error: false,
                    text: "episode 7: 4 rows were filled".to_owned(),
                },
            ]
            .into(),
        ),
        ..shown()
    }
}

fn with(library: LibraryView) -> Snapshot {
    Snapshot {
        library: Some(Arc::new(library)),
        ..planned()
    }
}

/// A snapshot by the name of its state.
pub type Named = (&'static str, Snapshot);

/// All of a session, by name.
pub fn sessions() -> Vec<Named> {
    vec![
        ("planned", planned()),
        ("warming-up", warming_up()),
        ("recording", recording()),
        ("resetting", resetting()),
        ("finishing", finishing()),
        ("disk-low", disk_low()),
        ("interrupted", interrupted()),
        ("replaying", replaying()),
    ]
}

/// All of the page, by name.
pub fn libraries() -> Vec<Named> {
    vec![
        ("shelves", with(shelves())),
        ("opened", with(opened())),
        ("shown", with(shown())),
        ("compared", with(compared())),
        ("busy", with(busy())),
    ]
}
