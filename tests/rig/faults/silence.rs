//! Servos that fall silent, cables that come out, and how the arm comes back.

use std::time::Duration;

use smolpilot::joint::Joint;
use smolpilot::runtime::{Command, Connection, FaultKind, Mode, Snapshot};
use smolpilot::sim::Fault;

use crate::flight::Flight;
use crate::stand::{armed, connected};

#[test]
fn fault_02_a_mute_servo_stops_the_others_where_they_are_and_is_named() {
    let mut flight = Flight::moving();
    flight.arm.inject(Fault::Mute(3));
    let muted = flight.now();
    let lost = flight.until_fault(FaultKind::BusLost);
    assert!(lost.what.contains("elbow_flex (motor 3)"), "{}", lost.what);
    assert!(flight.now() < muted + Duration::from_millis(500));
    let seen = flight.until("stopped", |seen| seen.stopped.is_some());
    let stopped = seen.stopped.as_ref().unwrap();
    assert!(stopped.by.contains("elbow_flex (motor 3)"), "{stopped:?}");
    flight.tick();
    let frozen = flight.now();
    flight.arm.advance();
    let pose = flight.arm.pose();
    for joint in Joint::ALL.into_iter().filter(|it| *it != Joint::ElbowFlex) {
        let id = joint.index() as u8 + 1;
        let goals = flight.goals_since(muted, id);
        let goal = flight
            .arm
            .calibration()
            .normalize(joint, (*goals.last().unwrap()).into());
        assert!(
            (goal - pose[joint]).abs() < 2.0,
            "{joint} was sent elsewhere"
        );
    }
    flight.assert_still(30);
    flight.assert_no_goal_since(frozen);
    assert!(
        !flight.snapshot.stopped.as_ref().unwrap().acknowledged,
        "one joint has confirmed nothing"
    );
    flight.tell(Command::Resume);
    flight.tell(Command::SetMode(Mode::Policy));
    assert!(flight.ticks(3).stopped.is_some(), "not to be resumed yet");
    // It comes back, and the stop is whole.
    flight.arm.heal();
    flight.until("confirmed", |seen| {
        seen.stopped.as_ref().is_some_and(|it| it.acknowledged)
    });
    flight.assert_stopped();
    flight.tell(Command::Resume);
    flight.tell(Command::SetMode(Mode::Policy));
    let chunks = flight.snapshot.chunks;
    flight.until("driven again", |seen| seen.chunks > chunks);
}

#[test]
fn fault_03_silence_of_all_is_told_apart_and_no_goal_is_sent_before_a_new_handshake() {
    let mut flight = Flight::moving();
    flight.arm.inject(Fault::Silent);
    let silent = flight.now();
    flight.until("lost", |seen| {
        matches!(seen.connection, Connection::Lost(_))
    });
    assert!(flight.now() < silent + Duration::from_millis(500));
    let lost = flight.fault(FaultKind::BusLost).unwrap();
    assert!(
        !lost.what.contains("motor"),
        "no single joint: {}",
        lost.what
    );
    assert!(lost.remedy.contains("suppl"), "{}", lost.remedy);
    assert_eq!(flight.snapshot.mode, Mode::Hold);
    flight.ticks(60);
    flight.arm.heal();
    let healed = flight.now();
    let seen = flight.until("connected again", connected);
    assert!(!armed(&seen));
    flight.tell(Command::SetMode(Mode::Policy));
    flight.assert_still(30);
    flight.assert_no_goal_since(healed);
    flight.tell(Command::EnableTorque);
    flight.until("armed again", armed);
    flight.assert_no_jump_since(healed);
}

#[test]
fn fault_19_a_pulled_cable_is_a_lost_arm_that_comes_back_only_by_handshake_and_arming() {
    for bytes in [1, 6, 40, 126, 150] {
        let mut flight = Flight::moving();
        flight.arm.inject(Fault::DisconnectAfter(bytes));
        flight.until("lost", |seen| {
            matches!(seen.connection, Connection::Lost(_))
        });
        let lost = flight.fault(FaultKind::BusLost).unwrap();
        assert!(lost.remedy.contains("torque"), "{}", lost.remedy);
        assert_eq!(flight.ticks(30).mode, Mode::Hold);
        flight.arm.heal();
        let plugged = flight.now();
        let seen = flight.until("connected again", connected);
        assert!(!armed(&seen) && flight.fault(FaultKind::BusLost).is_none());
        assert_eq!(flight.torques(), [true; 6], "the servos held by themselves");
        flight.tell(Command::SetMode(Mode::Policy));
        assert_eq!(flight.ticks(30).mode, Mode::Hold, "not before it is armed");
        flight.assert_no_goal_since(plugged);
        flight.tell(Command::EnableTorque);
        flight.until("armed again", armed);
        flight.assert_no_jump_since(plugged);
        flight.assert_still(10);
    }
}

#[test]
fn fault_20_another_arm_behind_the_plug_is_refused() {
    let mut flight = Flight::moving();
    flight.arm.inject(Fault::Disconnect);
    flight.until("lost", |seen| {
        matches!(seen.connection, Connection::Lost(_))
    });
    // The same ids, but another arm's homing offset.
    flight.arm.heal();
    flight.arm.inject(Fault::Offset(5, 700));
    let plugged = flight.now();
    let refused = |seen: &Snapshot| matches!(seen.connection, Connection::Uncalibrated(_));
    flight.until("refused", refused);
    let why = flight.fault(FaultKind::Uncalibrated).unwrap().what;
    assert!(
        why.contains("wrist_roll (motor 5)") && why.contains("another calibration"),
        "{why}"
    );
    flight.tell(Command::EnableTorque);
    flight.tell(Command::SetMode(Mode::Policy));
    let seen = flight.ticks(300);
    assert!(refused(seen) && seen.mode == Mode::Hold);
    assert!(flight.writes_since(plugged).is_empty());
}
