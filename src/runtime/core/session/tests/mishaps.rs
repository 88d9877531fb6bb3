//! Episodes that do not go as they should: stops, lost arms, a recorder that is behind or fails, a program that closes.

use std::sync::Arc;

use super::{SECOND, instants, open, order, phase, plan, recording, session, tape, timed};
use crate::dataset::{DiskView, RecorderView};
use crate::runtime::core::bench::{Bench, Tape, flying};
use crate::runtime::{Command, FaultKind, RigView, SessionOrder, SessionPhase, SessionPlan};

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
fn the_last_row_waits_for_a_place_so_that_the_episode_is_as_long_as_it_was() {
    let mut bench = recording(plan());
    bench.run(0.5);
    let before = instants(&tape(&mut bench).rows);
    tape(&mut bench).takes_no_rows = true;
    bench.run(0.5);
    order(&mut bench, SessionOrder::Keep);
    bench.run(0.2);
    assert!(
        tape(&mut bench).kept.is_empty(),
        "it does not overtake the row"
    );
    assert!(!bench.fault(FaultKind::Recorder).is_some_and(|it| it.active));
    tape(&mut bench).takes_no_rows = false;
    bench.tick(vec![]);
    let rows = tape(&mut bench).kept.remove(0).1;
    assert!((14..=16).contains(&(instants(&rows) - before)), "{before}");
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

#[test]
fn an_episode_does_not_go_on_over_another_table() {
    let mut bench = recording(plan());
    bench.run(0.5);
    bench.rig = Some(Arc::new(RigView {
        laid: 4,
        ..RigView::default()
    }));
    bench.tick(vec![]);
    assert_eq!(phase(&bench), SessionPhase::Verdict);
    assert!(session(&bench).trouble.unwrap().contains("laid anew"));
}
