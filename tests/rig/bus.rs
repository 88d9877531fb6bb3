//! The bus going wrong below a running loop.

use std::time::Duration;

use smolpilot::arm::{Arm, Options};
use smolpilot::clock::Clock;
use smolpilot::joint::{Joint, JointVec};
use smolpilot::latest::Latest;
use smolpilot::runtime::{Command, Connection, FaultKind, Mode, Runtime, Setup, Snapshot};
use smolpilot::sim::{Fault, SimArm};

use crate::scripted::loader;
use crate::stand::{Stand, armed, connected, fault, near_start};

/// Reported case c02: ten minutes with one corrupt packet in fifty, in virtual time.
#[test]
fn corrupt_packets_are_counted_and_stop_nothing() {
    const BURST: u64 = 50;
    let sim = SimArm::new(Clock::virtual_at_zero());
    let options = Options {
        clock: sim.clock().clone(),
        ..Options::default()
    };
    // Connected before the loop starts: two threads that both wait would race the virtual clock.
    let mut arm = Some(Arm::connect(sim.port(), sim.calibration(), options).unwrap());
    let no_policy = loader(&Latest::new(), &Latest::new());
    let runtime = Runtime::start(Setup {
        connector: Some(Box::new(move || Ok(arm.take().unwrap()))),
        ..Setup::new(sim.clock().clone(), no_policy)
    })
    .unwrap();
    let limit = Duration::from_mins(1);
    runtime.wait_for(limit, connected).unwrap();
    runtime.commands.send(Command::EnableTorque).unwrap();
    runtime.wait_for(limit, armed).unwrap();
    runtime.commands.send(Command::SetMode(Mode::Jog)).unwrap();
    let started = runtime
        .wait_for(limit, |seen| seen.mode == Mode::Jog)
        .unwrap();
    sim.inject(Fault::Burst(BURST));
    for goal in [-20.0, 20.0, 0.0] {
        let jog = Command::JogTo(Joint::ShoulderPan, goal);
        runtime.commands.send(jog).unwrap();
        let there = |pan: f32| (pan - goal).abs() < 1.0;
        let seen = runtime.wait_for(limit, |seen| there(seen.measured[Joint::ShoulderPan]));
        assert!(seen.is_some(), "never at {goal}");
    }
    let end = started.now + Duration::from_mins(10);
    let seen = runtime.wait_for(limit, |seen| seen.now >= end).unwrap();
    assert_eq!((seen.mode, armed(&seen)), (Mode::Jog, true));
    assert!(fault(&seen, FaultKind::BusLost).is_none());
    // One read a tick; each hit is asked again once, and the repeated questions are hit too.
    let reads = seen.tick.0 - started.tick.0;
    let hits = reads / BURST;
    assert!(
        (hits * 9 / 10..=hits * 12 / 10).contains(&seen.bus_retries),
        "{} retries in {reads} reads",
        seen.bus_retries
    );
}

/// Reported case c02: a servo that falls silent ends the run within half a second, by name.
#[test]
fn a_mute_servo_ends_the_run_and_is_named() {
    let stand = Stand::driving(near_start(
        JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]),
        9.0,
    ));
    stand.arm.inject(Fault::Mute(3));
    let muted = stand.snapshot().tick;
    let (seen, lost) = stand.until_fault(FaultKind::BusLost);
    assert_eq!(seen.mode, Mode::Hold);
    assert!(lost.what.contains("elbow_flex (motor 3)"), "{}", lost.what);
    let mut after = seen.history.iter().filter(|sample| sample.tick >= muted);
    let ended = after.find(|sample| sample.changed).unwrap().tick;
    assert!(ended.since(muted) <= 15, "half a second at 30 Hz");
    stand.assert_holds(10);
    // The others still obey, and the servo may come back.
    stand.arm.heal();
    let back = stand.until("readable", |seen| fault(seen, FaultKind::BusLost).is_none());
    assert_eq!(back.mode, Mode::Hold, "not without the operator");
    let confirmed = |seen: &Snapshot| seen.stopped.as_ref().is_some_and(|stop| stop.acknowledged);
    stand.until("confirmed", confirmed);
    stand.tell(Command::Resume);
    stand.tell(Command::SetMode(Mode::Policy));
    let chunks = back.chunks;
    stand.until("driven again", |seen| seen.chunks > chunks);
}

#[test]
fn a_pulled_cable_is_a_lost_arm_that_comes_back_limp_by_handshake() {
    let stand = Stand::driving(JointVec([0.0, -45.0, 45.0, 45.0, 0.0, 20.0]));
    stand.arm.inject(Fault::Disconnect);
    let seen = stand.until("lost", |seen| {
        matches!(seen.connection, Connection::Lost(_))
    });
    assert_eq!(seen.mode, Mode::Hold);
    stand.until_fault(FaultKind::BusLost);
    stand.arm.heal();
    let seen = stand.until("connected again", connected);
    assert!(!armed(&seen) && fault(&seen, FaultKind::BusLost).is_none());
    stand.tell(Command::SetMode(Mode::Policy));
    let (seen, _) = stand.until_fault(FaultKind::Arming);
    assert_eq!(seen.mode, Mode::Hold, "not before it is armed");
    stand.tell(Command::EnableTorque);
    stand.until("armed again", armed);
}

/// Reported case c09: torque comes on where the arm is, and a far first goal is approached at the limit.
#[test]
fn the_first_command_never_jumps() {
    let sim = SimArm::new(Clock::real());
    let start = sim.pose();
    // Where the servos' goal registers point is another matter than where the arm rests.
    sim.inject("pos:2=1200".parse().unwrap());
    let rest = sim.pose();
    assert!((rest[Joint::ShoulderLift] - start[Joint::ShoulderLift]).abs() > 10.0);
    let far = near_start(rest, 0.0);
    let stand = Stand::with_arm(
        sim,
        JointVec::from_fn(|joint| {
            far[joint]
                + if joint == Joint::ShoulderPan {
                    60.0
                } else {
                    0.0
                }
        }),
    );
    stand.until("connected", connected);
    stand.tell(Command::EnableTorque);
    let seen = stand.until("armed", armed);
    assert!(stand.arm.pose().max_abs_diff(rest) < 2.0, "it jumped");
    assert!(
        seen.commanded.max_abs_diff(rest) < 1.0,
        "{:?}",
        seen.commanded
    );
    stand.tell(Command::SetMode(Mode::Policy));
    let there = rest[Joint::ShoulderPan] + 59.0;
    let seen = stand.until("there", |seen| seen.measured[Joint::ShoulderPan] > there);
    // 60 °/s at 30 Hz, and the rounding to whole counts.
    assert!(seen.max_step <= 2.0 + 0.1, "{}", seen.max_step);
    let steps = seen.history.iter().zip(seen.history.iter().skip(1));
    for (before, after) in steps.filter(|(before, _)| before.tick.0 > 100) {
        assert!(after.commanded.max_abs_diff(before.commanded) <= 2.1);
    }
}

#[test]
fn a_servo_that_restarts_is_not_energised_behind_the_operators_back() {
    let stand = Stand::driving(JointVec([0.0, -45.0, 45.0, 45.0, 0.0, 20.0]));
    stand.arm.inject(Fault::BrownOut(2));
    let seen = stand.until("noticed", |seen| !armed(seen));
    assert_eq!(seen.mode, Mode::Hold);
    stand.after(10);
    assert!(!stand.arm.torque(Joint::ShoulderLift));
    stand.until_fault(FaultKind::Arming);
}
