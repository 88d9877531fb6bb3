//! Episodes that go as they should.

use std::sync::Arc;
use std::time::Duration;

use super::{
    SECOND, camera, instants, lead, open, order, phase, plan, recording, session, tape, timed,
};
use crate::dataset::{Driver, Outcome};
use crate::joint::JointVec;
use crate::runtime::core::bench::{Bench, Tape, Temper, flying};
use crate::runtime::{
    Command, Knob, Knobs, Mode, RigOrder, RigView, SessionOrder, SessionPhase, SessionPlan,
};

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
    let pose = bench.pose;
    lead(&mut bench, pose);
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
        let off = row.at.saturating_sub(begin).as_secs_f64() - f64::from(instant) / 30.0;
        assert!((-0.02..0.034).contains(&off), "{instant}: {off}");
    }
    let lasted = bench.now.saturating_sub(begin).as_secs_f64() * 30.0;
    assert!((instants(&rows) as f64 - lasted).abs() < 5.0);
    assert!(rows.iter().take(88).all(|row| row.missed == 0));
    let of = |driver| {
        rows.iter()
            .filter(move |row| row.provenance.driver == driver)
    };
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
