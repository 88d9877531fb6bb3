//! Sessions on a virtual clock.

use std::sync::Arc;
use std::time::Duration;

use crate::dataset::{DiskView, Driver, Outcome, RecorderView, Step};
use crate::joint::JointVec;
use crate::observation::Frame;
use crate::runtime::core::bench::{Bench, Tape, Temper, flying};
use crate::runtime::{
    Command, FaultKind, Knob, Knobs, LeaderStatus, LeaderView, Mode, RigOrder, RigView,
    SessionOrder, SessionPhase, SessionPlan, SessionView,
};

const SECOND: Duration = Duration::from_secs(1);

fn order(bench: &mut Bench, order: SessionOrder) {
    bench.tick(vec![Command::Session(order)]);
}

fn session(bench: &Bench) -> SessionView {
    let view = bench.seen.session.as_deref();
    view.cloned().expect("there is a recorder")
}

fn phase(bench: &Bench) -> SessionPhase {
    session(bench).phase
}

fn tape(bench: &mut Bench) -> &mut Tape {
    bench.tape.as_mut().expect("there is a recorder")
}

/// A camera that shows a picture of this size.
fn camera(bench: &mut Bench, name: &str, width: u32, height: u32) {
    bench.add_camera(name, 5);
    let pixels = vec![7; (width * height * 3) as usize];
    let frame = Frame::new(width, height, pixels, 1, Duration::ZERO);
    bench.cameras.last_mut().unwrap().frame = frame;
}

fn plan() -> SessionPlan {
    SessionPlan::new("/data/cubes")
}

/// Episodes that begin and end by themselves.
fn timed(episodes: u32) -> SessionPlan {
    SessionPlan {
        episodes,
        warm_up: SECOND,
        episode_limit: 2 * SECOND,
        reset: SECOND,
        ..plan()
    }
}

/// A bench in which a policy flies and a data set is open.
fn open(plan: SessionPlan) -> Bench {
    let mut bench = flying(50);
    bench.tape = Some(Tape::default());
    order(&mut bench, SessionOrder::Begin(Box::new(plan)));
    bench.until(1.0, |bench| phase(bench) != SessionPhase::Opening);
    bench
}

/// A bench that records.
fn recording(plan: SessionPlan) -> Bench {
    let mut bench = open(plan);
    order(&mut bench, SessionOrder::Record);
    assert_eq!(phase(&bench), SessionPhase::Recording);
    bench
}

fn lead(bench: &mut Bench, pose: JointVec) {
    bench.leader = Some(LeaderView {
        name: "leader".to_owned(),
        status: LeaderStatus::Live,
        pose: Some(pose),
        age: Some(Duration::from_millis(8)),
        ..LeaderView::default()
    });
}

/// Rows with the ones that were missed before them.
fn instants(rows: &[Step]) -> usize {
    rows.iter().map(|row| 1 + row.missed as usize).sum()
}

#[test]
fn an_episode_is_recorded_by_hand_and_kept() {
    let mut bench = Bench::driving(Knobs::default(), 50, Temper::Counts);
    bench.tape = Some(Tape::default());
    camera(&mut bench, "wrist", 5, 4);
    camera(&mut bench, "front", 8, 7);
    let wanted = SessionPlan {
        cameras: vec!["front".to_owned(), "wrist".to_owned()],
        chunk: true,
        ..plan()
    };
    order(&mut bench, SessionOrder::Begin(Box::new(wanted)));
    bench.run(0.2);
    assert_eq!(phase(&bench), SessionPhase::Ready);
    assert_eq!(bench.seen.mode, Mode::Policy, "by hand, nobody is held");
    let opened = tape(&mut bench).plan.clone().unwrap();
    let sizes: Vec<_> = opened
        .cameras
        .iter()
        .map(|it| (it.width, it.height))
        .collect();
    assert_eq!((sizes, opened.chunk), (vec![(8, 6), (4, 4)], Some(50)));
    order(&mut bench, SessionOrder::Record);
    bench.run(2.0);
    order(&mut bench, SessionOrder::Mark(Outcome::Success));
    order(&mut bench, SessionOrder::Keep);
    assert_eq!(
        (phase(&bench), session(&bench).kept),
        (SessionPhase::Ready, 1)
    );
    order(&mut bench, SessionOrder::Keep);
    assert_eq!(session(&bench).kept, 1, "said twice");
    let (outcome, rows) = tape(&mut bench).kept.remove(0);
    assert_eq!(outcome, Outcome::Success);
    assert!((60..=63).contains(&rows.len()), "{}", rows.len());
    for pair in rows.windows(2) {
        // The arm obeys at once: what was sent is measured in the tick after.
        assert_eq!(pair[0].action, pair[1].state);
    }
    let last = rows.last().unwrap();
    assert_eq!(last.frames[0].as_ref().map(|it| it.width), Some(8));
    assert_eq!(&*last.task, "put the cube in the box");
    let told = &last.provenance;
    assert_eq!((told.driver, told.intervention), (Driver::Policy, false));
    assert_eq!((told.scheduling, told.aggregate), (1, 0));
    assert_eq!(
        (told.chunk_size_threshold, told.actions_per_chunk),
        (0.7, 50)
    );
    assert!(told.latency_s > 0.04 && told.queue > 0);
    let meant = told.chunk[told.chunk_age as usize];
    assert!(
        meant.max_abs_diff(last.action) < 1.1,
        "{meant:?} {:?}",
        last.action
    );
}

#[test]
fn what_is_recorded_is_what_was_sent_after_the_limits() {
    let mut bench = recording(plan());
    let kept_at = JointVec([3.0; 6]);
    bench.kept_at = Some(kept_at);
    bench.run(0.5);
    let rows = &tape(&mut bench).rows;
    assert!(rows[3..].iter().all(|row| row.action == kept_at));
}

#[test]
fn rows_stay_on_the_grid_whoever_drives_and_whatever_the_rate() {
    let mut bench = recording(plan());
    lead(&mut bench, bench.pose);
    bench.run(1.0);
    bench.tick(vec![Command::Takeover]);
    assert_eq!(bench.seen.mode, Mode::Teleop);
    bench.run(1.0);
    bench.tick(vec![Command::Takeover]);
    bench.turn(Knob::Fps(50.0));
    bench.run(1.0);
    bench.tick(vec![Command::SetMode(Mode::Hold)]);
    bench.turn(Knob::Fps(10.0));
    bench.run(1.0);
    let rows = std::mem::take(&mut tape(&mut bench).rows);
    let begin = rows[0].at;
    let mut instant = 0;
    for row in &rows[1..] {
        instant += 1 + row.missed;
        let off = (row.at - begin).as_secs_f64() - f64::from(instant) / 30.0;
        assert!((-0.02..0.034).contains(&off), "{instant}: {off}");
    }
    let lasted = (bench.now - begin).as_secs_f64() * 30.0;
    assert!((instants(&rows) as f64 - lasted).abs() < 5.0);
    assert!(rows.iter().take(100).all(|row| row.missed == 0));
    let of = |driver| rows.iter().filter(|row| row.provenance.driver == driver);
    assert!(of(Driver::Teleop).count() >= 29);
    assert!(of(Driver::Teleop).all(|row| row.provenance.intervention));
    assert!(of(Driver::Policy).all(|row| !row.provenance.intervention));
    assert!(
        of(Driver::Nobody).count() >= 9,
        "nobody drives, and it is recorded"
    );
}

#[test]
fn episodes_follow_one_another_and_the_policy_waits_in_between() {
    let mut bench = open(timed(2));
    assert_eq!(phase(&bench), SessionPhase::WarmUp);
    assert_eq!(bench.seen.mode, Mode::Hold, "hands are on the table");
    bench.until(1.2, |bench| phase(bench) == SessionPhase::Recording);
    assert_eq!(bench.seen.mode, Mode::Policy);
    bench.until(2.2, |bench| phase(bench) == SessionPhase::Reset);
    assert_eq!((bench.seen.mode, session(&bench).kept), (Mode::Hold, 1));
    bench.until(1.2, |bench| phase(bench) == SessionPhase::Recording);
    bench.until(2.2, |bench| phase(bench) == SessionPhase::Finishing);
    bench.until(0.5, |bench| phase(bench) == SessionPhase::Off);
    let tape = tape(&mut bench);
    assert_eq!(
        (tape.kept.len(), tape.log.as_slice()),
        (2, &["close".to_owned()][..])
    );
    for (outcome, rows) in &tape.kept {
        assert_eq!((*outcome, rows.len()), (Outcome::Unmarked, 60));
        assert_eq!(rows[0].provenance.driver, Driver::Policy);
    }
}

#[test]
fn an_operator_who_takes_the_wheel_in_a_wait_keeps_it() {
    let mut bench = open(timed(2));
    bench.tick(vec![Command::SetMode(Mode::Jog)]);
    bench.until(1.2, |bench| phase(bench) == SessionPhase::Recording);
    assert_eq!(bench.seen.mode, Mode::Jog);
    let mut bench = open(timed(2));
    order(&mut bench, SessionOrder::Skip);
    assert_eq!(phase(&bench), SessionPhase::Recording, "waits no longer");
}

#[test]
fn a_dropped_episode_waits_for_the_operator_and_a_redone_one_does_not() {
    let mut bench = recording(timed(3));
    bench.run(0.5);
    order(&mut bench, SessionOrder::Discard);
    bench.run(3.0);
    assert_eq!(
        (phase(&bench), session(&bench).kept),
        (SessionPhase::Ready, 0)
    );
    order(&mut bench, SessionOrder::Record);
    bench.run(0.5);
    order(&mut bench, SessionOrder::Redo);
    assert_eq!(phase(&bench), SessionPhase::Reset);
    bench.until(1.2, |bench| phase(bench) == SessionPhase::Recording);
    assert_eq!(session(&bench).kept, 0);
    assert_eq!(tape(&mut bench).log, ["discard", "discard"]);
}

#[test]
fn a_stop_and_a_lost_arm_are_held_for_a_verdict() {
    type Mishap = fn(&mut Bench);
    let mishaps: [(Mishap, &str); 3] = [
        (|bench| bench.presses += 1, "stopped by the operator"),
        (|bench| bench.absent = true, "disconnected"),
        (
            |bench| {
                bench.tick(vec![Command::Session(SessionOrder::End)]);
            },
            "session is to end",
        ),
    ];
    for (mishap, words) in mishaps {
        let mut bench = recording(timed(1));
        bench.run(1.0);
        mishap(&mut bench);
        bench.tick(vec![]);
        assert_eq!(phase(&bench), SessionPhase::Verdict, "{words}");
        let trouble = session(&bench).trouble.unwrap();
        assert!(trouble.contains(words), "{trouble}");
        let rows = tape(&mut bench).rows.len();
        bench.run(5.0);
        assert_eq!(phase(&bench), SessionPhase::Verdict, "never kept by itself");
        assert_eq!(tape(&mut bench).rows.len(), rows);
        order(&mut bench, SessionOrder::Record);
        assert!(bench.fault(FaultKind::Session).is_some(), "{words}");
        order(&mut bench, SessionOrder::Keep);
        assert_eq!(tape(&mut bench).kept[0].1.len(), rows);
        assert_eq!(phase(&bench), SessionPhase::Finishing);
    }
}

#[test]
fn a_stopped_arm_is_not_recorded() {
    let mut bench = open(plan());
    bench.presses += 1;
    bench.tick(vec![]);
    order(&mut bench, SessionOrder::Record);
    assert_eq!(phase(&bench), SessionPhase::Ready);
    assert!(session(&bench).trouble.unwrap().contains("Resume"));
    bench.tick(vec![Command::Resume]);
    order(&mut bench, SessionOrder::Record);
    assert_eq!(
        (phase(&bench), session(&bench).trouble),
        (SessionPhase::Recording, None)
    );
    let mut bench = open(plan());
    bench.tick(vec![Command::SetTask(" ".to_owned())]);
    order(&mut bench, SessionOrder::Record);
    assert!(session(&bench).trouble.unwrap().contains("no task"));
}

#[test]
fn a_pose_that_cannot_be_read_is_no_row() {
    let mut bench = recording(plan());
    bench.run(0.5);
    bench.mute = Some("elbow_flex does not answer".to_owned());
    bench.tick(vec![]);
    bench.tick(vec![]);
    bench.mute = None;
    bench.run(0.5);
    let rows = &tape(&mut bench).rows;
    assert_eq!(rows.iter().map(|row| row.missed).max(), Some(2));
    assert_eq!(instants(rows), rows.len() + 2);
}

#[test]
fn rows_that_find_no_room_are_counted_and_said() {
    let mut bench = recording(plan());
    bench.run(0.5);
    tape(&mut bench).takes_no_rows = true;
    bench.run(0.1);
    assert!(bench.fault(FaultKind::Recorder).is_none(), "a moment");
    bench.run(0.5);
    let told = bench.fault(FaultKind::Recorder).unwrap();
    assert!(told.active && told.what.contains("behind"), "{}", told.what);
    tape(&mut bench).takes_no_rows = false;
    bench.run(0.5);
    assert!(!bench.fault(FaultKind::Recorder).unwrap().active);
    let rows = &tape(&mut bench).rows;
    let missed: u32 = rows.iter().map(|row| row.missed).sum();
    assert_eq!(rows.iter().filter(|row| row.missed > 0).count(), 1);
    assert!((17..=20).contains(&missed), "{missed}");
}

#[test]
fn an_order_waits_for_room_and_no_row_overtakes_it() {
    let mut bench = open(plan());
    tape(&mut bench).is_full = true;
    order(&mut bench, SessionOrder::Record);
    bench.run(0.3);
    tape(&mut bench).is_full = false;
    bench.run(0.3);
    let rows = &tape(&mut bench).rows;
    assert!(rows.len() >= 9 && rows[0].missed == 0);
    assert!(rows[1].missed >= 8, "{}", rows[1].missed);
    tape(&mut bench).is_full = true;
    order(&mut bench, SessionOrder::Keep);
    bench.run(0.2);
    order(&mut bench, SessionOrder::Record);
    bench.run(0.2);
    tape(&mut bench).is_full = false;
    bench.run(0.5);
    assert_eq!(tape(&mut bench).kept.len(), 1);
    assert!(tape(&mut bench).rows.len() > 10);
}

#[test]
fn a_closing_program_leaves_the_episode_to_be_recovered() {
    let mut bench = recording(plan());
    bench.run(1.0);
    bench.tick(vec![Command::Shutdown]);
    bench.tick(vec![]);
    let tape = tape(&mut bench);
    assert_eq!(
        (tape.kept.len(), tape.log.as_slice()),
        (0, &["close".to_owned()][..])
    );
    assert!(!tape.rows.is_empty());
}

#[test]
fn the_end_said_twice_leaves_the_episode_too() {
    let mut bench = recording(plan());
    bench.run(1.0);
    order(&mut bench, SessionOrder::End);
    order(&mut bench, SessionOrder::End);
    bench.run(0.1);
    assert_eq!(phase(&bench), SessionPhase::Off);
    assert_eq!(tape(&mut bench).log, ["close"]);
}

#[test]
fn tasks_come_in_turn_and_a_retyped_one_is_in_the_rows() {
    let tasks = vec!["stack".to_owned(), "sort".to_owned()];
    let mut bench = recording(SessionPlan { tasks, ..plan() });
    bench.run(0.5);
    bench.tick(vec![Command::SetTask("stack high".to_owned())]);
    bench.run(0.5);
    let tasks: Vec<_> = tape(&mut bench)
        .rows
        .iter()
        .map(|row| Arc::clone(&row.task))
        .collect();
    assert_eq!(
        (&*tasks[0], &**tasks.last().unwrap()),
        ("stack", "stack high")
    );
    assert!(Arc::ptr_eq(&tasks[0], &tasks[1]), "the words are shared");
    order(&mut bench, SessionOrder::Redo);
    assert_eq!(bench.seen.task, "stack", "the same again");
    order(&mut bench, SessionOrder::Record);
    bench.run(0.2);
    order(&mut bench, SessionOrder::Keep);
    assert_eq!(bench.seen.task, "sort");
}

/// A rig with this seed, laid so often, whose task was done then.
fn rig(bench: &mut Bench, seed: u64, laid: u64, done_since: Option<Duration>) {
    bench.rig = Some(Arc::new(RigView {
        seed,
        laid,
        done_since,
        ..RigView::default()
    }));
}

#[test]
fn the_referee_ends_episodes_and_the_next_table_is_laid() {
    let mut bench = flying(50);
    bench.tape = Some(Tape::default());
    rig(&mut bench, 7, 1, Some(SECOND));
    bench.tick(vec![]);
    bench.rig_orders.clear();
    let wanted = SessionPlan {
        judged: true,
        warm_up: Duration::ZERO,
        reset: Duration::ZERO,
        ..timed(2)
    };
    order(&mut bench, SessionOrder::Begin(Box::new(wanted)));
    bench.run(0.1);
    let lay = |seed| RigOrder::Reset { seed };
    assert_eq!(bench.rig_orders, [RigOrder::Repeat(false), lay(None)]);
    assert_eq!(phase(&bench), SessionPhase::WarmUp, "it is not laid yet");
    rig(&mut bench, 7, 2, None);
    bench.until(0.5, |bench| phase(bench) == SessionPhase::Recording);
    assert_eq!(bench.seen.mode, Mode::Policy);
    bench.run(1.0);
    let now = bench.now;
    rig(&mut bench, 7, 2, Some(now));
    bench.tick(vec![]);
    assert_eq!(
        (phase(&bench), session(&bench).kept),
        (SessionPhase::Reset, 1)
    );
    assert_eq!(bench.rig_orders.last(), Some(&lay(Some(8))));
    rig(&mut bench, 8, 3, None);
    bench.until(0.5, |bench| phase(bench) == SessionPhase::Recording);
    bench.until(2.2, |bench| phase(bench) == SessionPhase::Finishing);
    let outcomes: Vec<_> = tape(&mut bench).kept.iter().map(|it| it.0).collect();
    assert_eq!(outcomes, [Outcome::Success, Outcome::Failure]);
}

#[test]
fn an_episode_that_the_recorder_ends_is_not_recorded_into_the_void() {
    for keeps in [true, false] {
        let mut bench = recording(timed(5));
        bench.run(0.5);
        tape(&mut bench).end("the disk is nearly full", keeps);
        bench.until(3.0, |bench| phase(bench) == SessionPhase::Ready);
        let view = session(&bench);
        assert_eq!(view.kept, u32::from(keeps));
        assert!(view.trouble.unwrap().contains("nearly full"));
        assert!(bench.fault(FaultKind::Recorder).is_some_and(|it| it.active));
    }
}

#[test]
fn a_data_set_that_does_not_open_ends_the_session_with_the_reason() {
    let mut bench = flying(50);
    bench.tape = Some(Tape {
        refuses: Some("it was recorded at 15 fps".to_owned()),
        ..Tape::default()
    });
    for _ in 0..2 {
        order(&mut bench, SessionOrder::Begin(Box::new(plan())));
        bench.until(1.0, |bench| phase(bench) == SessionPhase::Off);
        assert!(session(&bench).trouble.unwrap().contains("15 fps"));
    }
    let cameras = vec!["top".to_owned()];
    let blind = SessionPlan { cameras, ..plan() };
    order(&mut bench, SessionOrder::Begin(Box::new(blind)));
    assert!(session(&bench).trouble.unwrap().contains("no camera top"));
    bench.add_camera("slow", 5);
    bench.cameras[0].frame = None;
    bench.tick(vec![]);
    order(&mut bench, SessionOrder::Begin(Box::new(plan())));
    bench.run(5.0);
    assert_eq!(phase(&bench), SessionPhase::Opening, "it may still come");
    bench.run(6.0);
    assert!(
        session(&bench)
            .trouble
            .unwrap()
            .contains("camera slow shows no picture")
    );
}

#[test]
fn orders_that_cannot_be_obeyed_are_answered() {
    let mut without = flying(50);
    order(&mut without, SessionOrder::Begin(Box::new(plan())));
    assert!(without.seen.session.is_none());
    let told = without.fault(FaultKind::Session).unwrap();
    assert!(told.what.contains("no recorder"), "{}", told.what);
    let mut bench = open(plan());
    order(&mut bench, SessionOrder::Begin(Box::new(plan())));
    let told = bench.fault(FaultKind::Session).unwrap();
    assert!(told.what.contains("runs already"), "{}", told.what);
    order(&mut bench, SessionOrder::Recover("ep-3".to_owned()));
    order(&mut bench, SessionOrder::Forget("ep-4".to_owned()));
    assert_eq!(tape(&mut bench).log, ["recover ep-3", "forget ep-4"]);
}

#[test]
fn a_disk_that_fills_up_is_said_before_it_is_full() {
    let mut bench = recording(plan());
    let view = RecorderView {
        disk: Some(DiskView {
            bytes_left: 5 << 30,
            time_left: Some(4 * 60 * SECOND),
        }),
        ..RecorderView::clone(&tape(&mut bench).view)
    };
    tape(&mut bench).view = Arc::new(view);
    bench.tick(vec![]);
    let told = bench.fault(FaultKind::Recorder).unwrap();
    assert!(told.active && told.what.contains("4 min"), "{}", told.what);
}
