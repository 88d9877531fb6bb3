//! Torque switched on and off a few packets at a time: each tick stays short, and a stop in between holds what can be held.

use std::time::Duration;

use super::{COUNT, armed, connect, drive, enable, kind, release, rig, tick};
use crate::arm::register::Register;
use crate::arm::{Arm, ErrorKind, TorqueStep};
use crate::clock::Clock;
use crate::joint::{Joint, JointVec};
use crate::sim::{Fault, SimArm};

/// The most virtual time that one tick of a change may take: what is left of a tick at 100 Hz is for reading and driving.
const SHORT: Duration = Duration::from_millis(8);

/// Advances tick by tick until `done`.
fn until(rig: &SimArm, arm: &mut Arm, done: impl Fn(&SimArm, f32) -> bool) {
    loop {
        tick(rig);
        let began = rig.clock().now();
        let step = arm.advance_torque().unwrap();
        let took = rig.clock().now().saturating_sub(began);
        assert!(took <= SHORT, "{took:?} at {step:?}");
        let TorqueStep::Going(share) = step else {
            panic!("{step:?}")
        };
        if done(rig, share) {
            return;
        }
        arm.read_state().unwrap();
    }
}

fn torques(rig: &SimArm) -> [bool; 6] {
    Joint::ALL.map(|joint| rig.torque(joint))
}

#[test]
fn a_stop_in_the_middle_of_arming_leaves_some_joints_held_and_the_others_limp() {
    let rig = rig();
    let mut arm = connect(&rig).unwrap();
    let pose = rig.pose();
    arm.begin_arming();
    until(&rig, &mut arm, |rig, _| rig.torque(Joint::ElbowFlex));
    let held = arm.hold().unwrap();
    let limp: Vec<u8> = held.limp.iter().map(|motor| motor.id).collect();
    assert_eq!(limp, [4, 5, 6]);
    assert_eq!(arm.held_joints(), 3);
    assert_eq!(torques(&rig), [true, true, true, false, false, false]);
    assert!(held.pose.max_abs_diff(pose) <= COUNT);
    let writes = rig.writes().len();
    assert_eq!(kind(arm.advance_torque()), ErrorKind::TorqueOff);
    assert_eq!(kind(arm.send_action(pose)), ErrorKind::TorqueOff);
    assert_eq!(rig.writes().len(), writes);
    rig.clock().advance(Duration::from_secs(1));
    assert!(arm.read_state().unwrap().max_abs_diff(pose) <= COUNT);
    // Torque goes on later from there, and a release finds the limits as they were at first.
    assert!(enable(&mut arm).unwrap().max_abs_diff(pose) <= COUNT);
    assert_eq!((torques(&rig), arm.held_joints()), ([true; 6], 6));
    release(&mut arm).unwrap();
    assert_eq!(arm.held_joints(), 0);
    let mut bus = super::bus(&rig);
    for id in super::IDS {
        assert_eq!(bus.read(id, Register::GoalVelocity).unwrap(), 0);
        let most = bus.read(id, Register::MaxTorqueLimit).unwrap();
        assert_eq!(bus.read(id, Register::TorqueLimit).unwrap(), most);
    }
}

#[test]
fn an_arm_armed_at_the_end_of_its_travel_is_not_nudged() {
    let start = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);
    let [_, upper] = armed().1.limits().ranges();
    // Folded to the end: inside the calibrated range, but in the margin that is kept from driven goals.
    let folded = JointVec::from_fn(|joint| {
        start[joint]
            + if joint == Joint::ShoulderPan {
                upper[joint] + 1.0
            } else {
                0.0
            }
    });
    let rig = SimArm::standing(Clock::virtual_at_zero(), folded);
    let mut arm = connect(&rig).unwrap();
    let mut goal = enable(&mut arm).unwrap();
    for _ in 0..30 {
        goal = arm.send_action(goal).unwrap();
        tick(&rig);
        assert!(arm.read_state().unwrap().max_abs_diff(folded) <= COUNT);
    }
    goal[Joint::ShoulderPan] += 5.0;
    let first = arm.send_action(goal).unwrap();
    assert!(
        first[Joint::ShoulderPan] < folded[Joint::ShoulderPan],
        "never further out"
    );
    let last = drive(&rig, &mut arm, goal, 10);
    assert!((last[Joint::ShoulderPan] - upper[Joint::ShoulderPan]).abs() <= COUNT);
}

#[test]
fn no_tick_of_a_change_is_long() {
    let rig = rig();
    let mut arm = connect(&rig).unwrap();
    arm.begin_arming();
    until(&rig, &mut arm, |_, share| share > 0.9);
    assert!(matches!(
        super::advance(&mut arm).unwrap(),
        TorqueStep::Armed(_)
    ));
    arm.begin_release();
    until(&rig, &mut arm, |_, share| share > 0.9);
    tick(&rig);
    let began = rig.clock().now();
    while arm.advance_torque().unwrap() != TorqueStep::Released {
        tick(&rig);
    }
    assert!(rig.clock().now().saturating_sub(began) <= SHORT + super::TICK * 2);
    assert_eq!(torques(&rig), [false; 6]);
}

#[test]
fn a_stop_on_the_way_down_holds_first_and_then_gives_strength_back() {
    let (rig, mut arm) = armed();
    let pose = arm.read_state().unwrap();
    arm.begin_release();
    until(&rig, &mut arm, |_, share| share > 0.7);
    assert_eq!(kind(arm.send_action(pose)), ErrorKind::TorqueOff);
    // It has sunk below its goal; strength with the old goal would throw it up again.
    rig.inject(Fault::Position(2, 1200));
    let sunk = rig.pose();
    let before = rig.writes().len();
    let mut held = arm.hold();
    while held.is_err() {
        tick(&rig);
        held = arm.hold();
    }
    let held = held.unwrap();
    assert!(held.limp.is_empty() && held.pose.max_abs_diff(sunk) <= COUNT);
    let log = rig.writes();
    let of_lift = |register: Register| {
        let found = log[before..]
            .iter()
            .position(|write| write.id == 2 && write.address == register.address());
        found.unwrap()
    };
    assert!(of_lift(Register::GoalPosition) < of_lift(Register::TorqueLimit));
    rig.clock().advance(Duration::from_secs(1));
    assert!(
        arm.read_state().unwrap().max_abs_diff(sunk) <= COUNT,
        "audited"
    );
    assert!(arm.torque_enabled());
    assert!(arm.send_action(held.pose).is_ok());
}

#[test]
fn a_joint_that_goes_silent_while_it_is_armed_ends_arming_soon() {
    let rig = rig();
    let mut arm = connect(&rig).unwrap();
    arm.begin_arming();
    until(&rig, &mut arm, |rig, _| rig.torque(Joint::ShoulderLift));
    rig.inject(Fault::Mute(2));
    let began = rig.clock().now();
    let silent = kind(arm.advance_torque());
    let took = rig.clock().now().saturating_sub(began);
    assert!(matches!(silent, ErrorKind::Silent(motors) if motors[0].id == 2));
    assert!(took < Duration::from_millis(120), "{took:?}");
    assert_eq!(torques(&rig), [false, true, false, false, false, false]);
    rig.heal();
    enable(&mut arm).unwrap();
}

#[test]
fn a_stop_sends_no_joint_back_to_where_it_was_seen_before() {
    let (rig, mut arm) = armed();
    let mut goal = arm.read_state().unwrap();
    goal[Joint::ShoulderPan] += 14.0;
    drive(&rig, &mut arm, goal, 4);
    let seen: JointVec = arm.read_state().unwrap();
    drive(&rig, &mut arm, goal, 2);
    // Nothing comes through from it.
    rig.inject(Fault::MuteFor(1, 3));
    let before = rig.writes().len();
    let unsure = kind(arm.hold());
    assert!(
        matches!(&unsure, ErrorKind::HoldUnconfirmed(motors) if motors.len() == 1 && motors[0].id == 1),
        "{unsure:?}"
    );
    assert!(rig.writes()[before..].iter().all(|write| write.id != 1));
    let held = arm.hold().unwrap().pose;
    assert!(held[Joint::ShoulderPan] > seen[Joint::ShoulderPan] + 1.0);
}
