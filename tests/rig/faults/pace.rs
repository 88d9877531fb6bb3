//! A policy that wants nonsense, a loop that stands still, and a bus that is slow.

use std::time::Duration;

use smolpilot::joint::{Joint, JointVec};
use smolpilot::runtime::{Command, FaultKind, Knob, Knobs, Mode, STALL, Setup, Snapshot, Stopped};
use smolpilot::sim::{Fault, SimArm};

use crate::flight::{COUNT, FAR, Flight, GOAL, Plan, START, turned};
use crate::scripted::Mood;
use crate::stand::{RESET, Stand, fault, rig_that};

#[test]
fn fault_26_what_is_no_number_or_out_of_range_never_reaches_a_servo() {
    for wild in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut flight = Flight::to(turned(5.0));
        let mut pose = START;
        pose[Joint::WristRoll] = wild;
        flight.mood.set(Mood::Pose(pose));
        let bad = flight.until_fault(FaultKind::BadAction);
        assert!(bad.count >= 1 && !bad.remedy.is_empty());
        flight.ticks(15);
        flight.assert_still(30);
        assert!(flight.snapshot.commanded.is_finite());
    }
    for wild in [1e9, -1e9] {
        let mut flight = Flight::to(turned(5.0));
        let then = flight.now();
        flight.mood.set(Mood::Pose(JointVec([wild; 6])));
        flight.ticks(300);
        for joint in Joint::ALL {
            let range = flight.arm.calibration().motor(joint);
            let goals = flight.goals_since(then, range.id);
            assert!(goals.len() > 200);
            let inside = range.range_min..=range.range_max;
            assert!(goals.iter().all(|goal| inside.contains(goal)), "{joint}");
        }
        assert_steps(&flight, then, 30.0);
    }
}

/// Every goal since then is at most a period of full speed away from the one before it.
fn assert_steps(flight: &Flight, then: Duration, fps: f32) {
    for joint in Joint::ALL {
        let speed = if joint == Joint::Gripper { 100.0 } else { 60.0 };
        let calibration = flight.arm.calibration();
        let goals = flight.goals_since(then, calibration.motor(joint).id);
        let units: Vec<f32> = goals
            .iter()
            .map(|goal| calibration.normalize(joint, (*goal).into()))
            .collect();
        for pair in units.windows(2) {
            let step = (pair[1] - pair[0]).abs();
            assert!(step <= speed / fps + COUNT, "{joint} by {step}");
        }
    }
}

/// Counts that the first joint may be away from its goal by, where it is to stand still.
const AT_REST: i32 = 12;

#[test]
fn fault_27_a_loop_that_stands_still_is_stopped_by_the_watchdog() {
    let mut flight = Flight::moving();
    // Blocked, so that its goal runs ahead of it: nothing else would push for longer than a tick.
    flight.arm.inject(Fault::Stuck(1));
    flight.ticks(10);
    assert!(lead(&flight.snapshot) > 15.0);
    let stalled = flight.now();
    flight.runtime.stall(Duration::from_secs(3));
    let freeze = flight.writes_since(stalled);
    assert!(!freeze.is_empty() && freeze.iter().all(|write| write.address == GOAL));
    let soon = stalled + Duration::from_millis(250);
    assert!(freeze.iter().all(|write| write.at < soon), "{freeze:?}");
    assert!(pushes(&flight.arm).abs() <= AT_REST);
    assert_eq!(flight.torques(), [true; 6], "nobody touched it");
    // What blocked it goes, and the loop comes back.
    flight.arm.heal();
    let back = flight.now();
    flight.tick();
    flight.assert_stopped();
    let stopped = flight.snapshot.stopped.clone().unwrap();
    assert_eq!(stopped.by, "the watchdog");
    assert!(flight.fault(FaultKind::LoopStalled).is_some());
    flight.assert_still(30);
    flight.assert_no_goal_since(back);
    flight.tell(Command::Resume);
    flight.tell(Command::SetMode(Mode::Policy));
    let seen = flight.until("driven again", |seen| seen.mode == Mode::Policy);
    assert!(seen.stopped.is_none());
    flight.ticks(15);
    assert!(flight.fault(FaultKind::LoopStalled).is_none());
}

/// Degrees that the first joint is sent ahead of where it is.
fn lead(seen: &Snapshot) -> f32 {
    seen.commanded[Joint::ShoulderPan] - seen.measured[Joint::ShoulderPan]
}

/// Counts from where the first joint is to the goal that its servo was told last.
fn pushes(arm: &SimArm) -> i32 {
    arm.advance();
    let goals = arm.writes();
    let goal = goals.iter().rfind(|it| it.id == 1 && it.address == GOAL);
    let bytes = &goal.unwrap().bytes;
    let pan = Joint::ShoulderPan;
    let at = arm.calibration().unnormalize(pan, arm.pose()[pan]);
    i32::from(u16::from_le_bytes([bytes[0], bytes[1]])) - at
}

#[test]
fn fault_27_after_a_moment_the_loop_goes_on_slowly_from_where_the_arm_was_frozen() {
    let mut flight = Flight::moving();
    let stalled = flight.now();
    flight.runtime.stall(Duration::from_millis(600));
    let frozen = flight.writes_since(stalled);
    assert!(frozen.iter().all(|write| write.address == GOAL));
    flight.tick();
    flight.assert_stopped();
    let told = flight.fault(FaultKind::LoopStalled).unwrap();
    assert!(told.what.contains("goes on"), "{}", told.what);
    let back = flight.now();
    let seen = flight.until("driven again", |seen| seen.mode == Mode::Policy);
    assert!(seen.stopped.is_none());
    flight.ticks(60);
    assert_steps(&flight, back, 30.0);
    // A second time so soon is too much.
    flight.runtime.stall(Duration::from_millis(600));
    flight.tick();
    flight.assert_stopped();
    flight.assert_still(60);
    assert!(flight.snapshot.stopped.is_some());
}

#[test]
fn fault_27_a_stop_during_the_moment_stays() {
    let mut flight = Flight::moving();
    flight.runtime.stall(Duration::from_millis(600));
    flight.tell(Command::Stop);
    flight.ticks(60);
    flight.assert_stopped();
    flight.assert_still(30);
}

#[test]
fn fault_27_a_loop_that_slows_down_is_not_stalled() {
    let mut flight = Flight::moving();
    for mode in [Mode::Jog, Mode::Policy, Mode::Jog] {
        flight.tell(Command::SetMode(mode));
        flight.ticks(5);
        let fps = if mode == Mode::Jog { 5.0 } else { 30.0 };
        flight.tell(Command::Set(Knob::Fps(fps)));
        let seen = flight.ticks(5);
        assert!(seen.stopped.is_none() && seen.mode == mode);
    }
}

#[test]
fn fault_27_an_arm_that_nobody_drives_is_left_alone() {
    let mut flight = Flight::at_rest(Plan::new(START));
    let then = flight.now();
    flight.runtime.stall(Duration::from_secs(3));
    assert!(flight.tick().stopped.is_none());
    assert!(flight.writes_since(then).is_empty());
}

#[test]
fn fault_27_a_freeze_that_a_silent_servo_does_not_confirm_is_tried_again() {
    let mut flight = Flight::moving();
    flight.arm.inject(Fault::Stuck(1));
    flight.ticks(10);
    // One question in three is lost until the loop has stood still for half a second.
    flight.arm.inject(Fault::MuteFor(1, 12));
    flight.runtime.stall(Duration::from_secs(1));
    assert!(pushes(&flight.arm).abs() <= AT_REST);
}

#[test]
fn fault_27_a_short_stall_is_only_a_late_tick() {
    let mut flight = Flight::moving();
    let stalled = flight.now();
    flight.runtime.stall(Duration::from_millis(140));
    assert!(flight.writes_since(stalled).is_empty());
    let late = flight.snapshot.late_ticks;
    let seen = flight.ticks(2);
    assert!(seen.stopped.is_none() && seen.late_ticks >= late + 2);
    // The missed periods are not made up for.
    let goals = flight.goals_since(stalled, 1);
    assert!(goals.len() <= 2);
    assert_steps(&flight, stalled, 30.0);
}

/// A stand with threads and the machine's clock, whose first joint is blocked and pushes.
fn pushing(change: impl FnOnce(&mut Setup)) -> Stand {
    let stand = Stand::moving_with(|setup| {
        setup.stall = STALL;
        change(setup);
    });
    stand.arm.inject(Fault::Stuck(1));
    stand.until("pushing", |seen| lead(seen) > 15.0);
    stand
}

/// Waits until the watchdog has frozen the arm behind the back of its loop.
fn until_frozen(stand: &Stand) {
    let seen = stand.until("frozen", |seen| {
        let by_watchdog = |stop: &Stopped| stop.by == "the watchdog" && stop.acknowledged;
        seen.stopped.as_ref().is_some_and(by_watchdog)
    });
    assert!(fault(&seen, FaultKind::LoopStalled).is_some());
    assert!(pushes(&stand.arm).abs() <= AT_REST);
}

/// The loop has come back, and what it had in hand has not reached a servo.
fn assert_nothing_stale(stand: &Stand, writes: usize) {
    let tick = stand.snapshot().tick.0;
    let seen = stand.until("awake", |seen| seen.tick.0 > tick + 10);
    assert_eq!(seen.mode, Mode::Hold);
    assert!(seen.stopped.as_ref().is_some_and(|stop| stop.acknowledged));
    let log = stand.arm.writes();
    assert!(log[writes..].is_empty(), "{:?}", &log[writes..]);
    assert!(pushes(&stand.arm).abs() <= AT_REST);
}

/// Like in a driver that has lost its device.
#[test]
fn fault_27_a_loop_blocked_inside_a_read_is_stopped_too() {
    let stand = pushing(|_| {});
    stand.arm.inject(Fault::Stall(Duration::from_secs(2)));
    until_frozen(&stand);
    assert_nothing_stale(&stand, stand.arm.writes().len());
}

#[test]
fn fault_27_a_goal_that_the_loop_still_has_in_hand_is_refused() {
    let (wake, woken) = crossbeam_channel::bounded::<()>(1);
    let stand = pushing(|setup| {
        // Between the reading and the goal of a tick.
        setup.rig = Some(rig_that(move || woken.recv().unwrap_or_default()));
    });
    stand.tell(RESET);
    until_frozen(&stand);
    let writes = stand.arm.writes().len();
    // Longer than the moment after which a loop goes on by itself.
    let frozen = stand.clock.now();
    stand
        .clock
        .sleep_until(frozen + Duration::from_millis(1200));
    wake.send(()).unwrap();
    assert_nothing_stale(&stand, writes);
}

#[test]
fn fault_32_a_slow_bus_costs_rate_and_brings_no_stale_goals() {
    let knobs = Knobs {
        fps: 100.0,
        ..Knobs::default()
    };
    let mut flight = Flight::driving(Plan {
        knobs,
        ..Plan::new(START)
    });
    flight.mood.set(Mood::Pose(FAR));
    let slow = flight.now();
    let on_time = flight.snapshot.late_ticks;
    flight.arm.inject(Fault::Delay(Duration::from_millis(8)));
    let seen = flight.ticks(200);
    let late = seen.late_ticks - on_time;
    assert!((5..60).contains(&late), "{late}");
    assert!((75.0..99.0).contains(&seen.rate_hz), "{}", seen.rate_hz);
    assert!(seen.stopped.is_none() && seen.mode == Mode::Policy);
    // Slower still, it is said.
    flight.arm.inject(Fault::Delay(Duration::from_millis(15)));
    let told = flight.until_fault(FaultKind::LateTicks);
    assert!(told.what.contains("missed"), "{}", told.what);
    let seen = flight.ticks(100);
    assert!((45.0..60.0).contains(&seen.rate_hz), "{}", seen.rate_hz);
    assert!(seen.stopped.is_none() && flight.fault(FaultKind::BusLost).is_none());
    // Retries stop when the driver has learnt how slow the bus is.
    let retries = flight.snapshot.bus_retries;
    flight.ticks(60);
    assert_eq!(flight.snapshot.bus_retries, retries);
    // One goal a tick, none in a burst, each one step from the one before, also when the bus is fast again.
    flight.arm.heal();
    flight.ticks(60);
    let mut goals = flight.writes_since(slow);
    goals.retain(|write| write.id == 1 && write.address == GOAL);
    // What is made up for is less than a period: never more goals than periods, and two.
    let apart = goals.windows(4).map(|it| it[3].at.saturating_sub(it[0].at));
    assert!(apart.min() >= Some(Duration::from_millis(10)));
    assert_steps(&flight, slow, 100.0);
    let fast = flight.ticks(120);
    assert!((fast.rate_hz - 100.0).abs() < 2.0, "{}", fast.rate_hz);
}
