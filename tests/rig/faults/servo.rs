//! Servos that complain, get hot, restart, jump, or meet an object: what the operator is told, and what the arm does by itself.

use std::time::Duration;

use smolpilot::arm::register::{Block, Register};
use smolpilot::joint::Joint;
use smolpilot::runtime::{Command, FaultKind, Mode};
use smolpilot::sim::{Distortion, EVERY_SERVO, Fault};

use crate::flight::{COUNT, FAR, Flight, GOAL, Plan, START, TORQUE, turned};
use crate::scripted::Mood;
use crate::stand::armed;

/// Status bits.
const VOLTAGE: u8 = 0x01;
const OVERLOAD: u8 = 0x20;

const GRIPPER: u8 = 6;

/// The longest step of the body joints in the next `ticks`.
fn fastest(flight: &mut Flight, ticks: u32) -> f32 {
    let mut longest = 0.0_f32;
    for _ in 0..ticks {
        let before = flight.snapshot.commanded;
        let after = flight.tick().commanded;
        let steps = after.zip(before, |a, b| (a - b).abs());
        longest = steps.0[..5].iter().copied().fold(longest, f32::max);
    }
    longest
}

#[test]
fn fault_12_a_sagging_supply_slows_the_arm_down_and_stops_it_when_it_stays() {
    let mut flight = Flight::moving();
    let retries = flight.snapshot.bus_retries;
    let usual = fastest(&mut flight, 3);
    // For a moment only.
    flight.arm.inject(Fault::Alarms(EVERY_SERVO, VOLTAGE));
    let told = flight.until_fault(FaultKind::Supply);
    assert!(told.what.contains("supply") && !told.remedy.is_empty());
    let seen = &flight.snapshot;
    assert!(
        seen.measured.max_abs_diff(flight.arm.pose()) < 3.0,
        "the data are used"
    );
    assert_eq!((seen.mode, &seen.stopped), (Mode::Policy, &None));
    flight.ticks(3);
    let slow = fastest(&mut flight, 3);
    assert!(slow > 0.0 && slow < usual * 0.7, "{slow} after {usual}");
    flight.arm.heal();
    flight.ticks(45);
    assert_eq!(flight.fault(FaultKind::Supply), None);
    assert_eq!(
        (flight.snapshot.mode, &flight.snapshot.stopped),
        (Mode::Policy, &None)
    );
    // It stays.
    flight.arm.inject(Fault::Alarms(EVERY_SERVO, VOLTAGE));
    let began = flight.now();
    let seen = flight.until("stopped", |seen| seen.stopped.is_some());
    let debounced = flight.now() - began;
    assert!(debounced > Duration::from_millis(300) && debounced < Duration::from_secs(1));
    assert!(seen.stopped.as_ref().unwrap().by.contains("supply"));
    flight.tick();
    flight.assert_stopped();
    assert_eq!(flight.snapshot.bus_retries, retries, "no fault of the bus");
    assert!(
        flight.fault(FaultKind::BusRetry).is_none() && flight.fault(FaultKind::BusLost).is_none()
    );
}

#[test]
fn fault_13_an_overloaded_gripper_closes_no_further_and_waits_for_the_operator() {
    let mut flight = Flight::moving();
    let mut closed = FAR;
    closed[Joint::Gripper] = 0.0;
    flight.mood.set(Mood::Pose(closed));
    flight.until("closing", |seen| {
        let step = seen.history.iter().rev().nth(3).unwrap().commanded[Joint::Gripper];
        seen.commanded[Joint::Gripper] < step - 5.0
    });
    flight.arm.inject(Fault::Alarms(GRIPPER, OVERLOAD));
    let overloaded = flight.now();
    let told = flight.until_fault(FaultKind::Overload);
    assert!(told.what.contains("gripper") && told.remedy.contains("Clear"));
    flight.ticks(10);
    let at = flight.arm.pose()[Joint::Gripper];
    assert!(
        (flight.snapshot.commanded[Joint::Gripper] - at).abs() < 6.0,
        "goal = present"
    );
    let strength = flight.register(GRIPPER, Register::TorqueLimit);
    assert!(strength <= 250, "{strength}");
    // The alarm goes, and it stays latched; the other joints go on.
    flight.arm.heal();
    flight.ticks(60);
    assert!(flight.fault(FaultKind::Overload).is_some());
    assert!(flight.arm.pose()[Joint::Gripper] > at - 6.0);
    let seen = &flight.snapshot;
    assert_eq!((seen.mode, &seen.stopped), (Mode::Policy, &None));
    let reached = seen.measured.zip(FAR, |a, b| (a - b).abs());
    assert!(reached.0[..5].iter().all(|off| *off < 1.5), "{reached:?}");
    for id in 1..GRIPPER {
        let log = flight.writes_since(overloaded);
        let weakened = log.iter().any(|it| it.id == id && it.address == 48);
        assert!(!weakened, "servo {id}");
    }
    // The operator has seen to it.
    flight.tell(Command::ClearAlarm(Joint::Gripper));
    flight.until("closed", |seen| seen.measured[Joint::Gripper] < 2.0);
    assert_eq!(flight.fault(FaultKind::Overload), None);
}

#[test]
fn fault_14_a_warm_servo_is_told_and_a_hot_one_puts_the_arm_down() {
    let mut flight = Flight::to(START);
    flight.arm.inject(Fault::Temperature(5, 57.0));
    let told = flight.until_fault(FaultKind::ServoAlarm);
    assert!(
        told.what.contains("wrist_roll") && told.what.contains("warm"),
        "{}",
        told.what
    );
    assert_eq!(flight.ticks(30).mode, Mode::Policy);
    flight.arm.inject(Fault::Temperature(5, 69.0));
    let hot = flight.now();
    let told = flight.until_fault(FaultKind::Overheat);
    assert!(
        told.what.contains("wrist_roll") && told.what.contains("69 °C"),
        "{}",
        told.what
    );
    assert_eq!(flight.snapshot.mode, Mode::Hold);
    flight.until("parking", |seen| seen.parking.is_some());
    flight.tell(Command::SetMode(Mode::Policy));
    assert_eq!(flight.tick().mode, Mode::Hold, "nobody may drive it");
    let seen = flight.until("parked", |seen| seen.parked);
    assert!(seen.measured[Joint::ShoulderLift] < -80.0 && seen.max_step < 2.1);
    flight.until("limp", |seen| seen.held_joints == 0);
    assert_eq!(flight.torques(), [false; 6]);
    assert!(flight.now() - hot < Duration::from_secs(15));
    // Limp, it is not energised while it is hot.
    let then = flight.now();
    flight.arm.inject(Fault::Temperature(5, 69.0));
    flight.tell(Command::EnableTorque);
    flight.ticks(30);
    flight.assert_no_goal_since(then);
}

/// The servo's own protection, at 70 °C, takes its torque away; that is noticed and not undone.
#[test]
fn fault_14_a_servo_that_protects_itself_from_heat_is_left_limp() {
    let mut flight = Flight::to(START);
    flight.arm.inject(Fault::Temperature(5, 75.0));
    let hot = flight.now();
    flight.until("noticed", |seen| !armed(seen));
    flight.ticks(30);
    assert!(!flight.arm.torque(Joint::WristRoll) && flight.arm.torque(Joint::ElbowFlex));
    assert!(
        flight
            .goals_since(hot + Duration::from_millis(100), 5)
            .is_empty()
    );
    assert_eq!(flight.snapshot.mode, Mode::Hold);
}

#[test]
fn fault_15_bits_that_mean_nothing_are_ignored() {
    let mut flight = Flight::moving();
    let mut twin = Flight::moving();
    for (id, bits) in [(1, 0x10), (2, 0x40), (3, 0x50)] {
        flight.arm.inject(Fault::Alarms(id, bits));
    }
    for _ in 0..60 {
        assert_eq!(flight.tick().commanded, twin.tick().commanded);
    }
    assert!(
        flight.snapshot.faults.is_empty(),
        "{:?}",
        flight.snapshot.faults
    );
    assert_eq!(flight.snapshot.health.joint(Joint::ShoulderPan).alarms, []);
}

#[test]
fn fault_18_a_servo_that_restarts_is_noticed_and_not_switched_on_blindly() {
    let mut flight = Flight::moving();
    flight.arm.inject(Fault::BrownOut(2));
    let restarted = flight.now();
    flight.until("noticed", |seen| !armed(seen));
    assert!(flight.now() < restarted + Duration::from_millis(100));
    let told = flight
        .fault(FaultKind::Arming)
        .or(flight.fault(FaultKind::BusRetry))
        .unwrap();
    assert!(!told.remedy.is_empty());
    assert_eq!(flight.snapshot.mode, Mode::Hold);
    // It sinks, and nobody catches it: neither it nor the others are sent anywhere.
    let noticed = flight.now();
    flight.arm.inject(Fault::Position(2, 1200));
    flight.tell(Command::SetMode(Mode::Policy));
    flight.ticks(60);
    assert!(!flight.arm.torque(Joint::ShoulderLift));
    flight.assert_no_goal_since(noticed);
    // Armed anew, it gets its goal from where it is before it gets torque.
    let rearmed = flight.now();
    flight.tell(Command::EnableTorque);
    flight.until("armed again", armed);
    let log = flight.writes_since(rearmed);
    let first = |address| {
        let mut writes = log.iter();
        writes
            .position(|it| it.id == 2 && it.address == address)
            .unwrap()
    };
    assert!(first(GOAL) < first(TORQUE));
    flight.assert_no_jump_since(rearmed);
    let sunk = flight
        .arm
        .calibration()
        .normalize(Joint::ShoulderLift, 1200.0);
    assert!((flight.snapshot.commanded[Joint::ShoulderLift] - sunk).abs() < 2.0);
}

#[test]
fn fault_24_one_impossible_position_is_not_believed_and_three_stop_the_arm() {
    let mut flight = Flight::armed(Plan::new(turned(0.0)));
    let pose = flight.snapshot.measured;
    let errors = flight.snapshot.health.joint(Joint::ElbowFlex).errors;
    let mut wild = flight.said(3, Block::WATCH);
    let position = usize::from(Register::PresentPosition.address() - Block::WATCH.address);
    wild[position..position + 2].copy_from_slice(&1500_u16.to_le_bytes());
    let strike = |flight: &Flight| {
        flight.arm.inject(Fault::Next {
            skip: 0,
            distortion: Distortion::Params(2, wild.clone()),
        });
    };
    let then = flight.now();
    strike(&flight);
    let seen = flight.tick();
    assert!(
        seen.measured.max_abs_diff(pose) <= COUNT,
        "the last one is held"
    );
    assert_eq!(seen.health.joint(Joint::ElbowFlex).errors, errors + 1);
    assert!(flight.ticks(5).stopped.is_none());
    for _ in 0..3 {
        strike(&flight);
        flight.tick();
    }

    let stopped = flight.snapshot.stopped.clone().unwrap();
    assert!(
        stopped.by.contains("elbow_flex (motor 3)") && stopped.by.contains("jump"),
        "{stopped:?}"
    );
    flight.ticks(5);
    flight.assert_stopped();
    flight.assert_no_jump_since(then);
}

#[test]
fn fault_30_a_gripper_that_meets_an_object_holds_it_with_reduced_torque() {
    let mut flight = Flight::to(START);
    let calibration = flight.arm.calibration();
    let mut open = START;
    open[Joint::Gripper] = 80.0;
    flight.mood.set(Mood::Pose(open));
    flight.until("open", |seen| seen.measured[Joint::Gripper] > 79.0);
    let object = calibration.unnormalize(Joint::Gripper, 40.0);
    flight.arm.inject(Fault::Object(GRIPPER, object));
    let mut closed = START;
    closed[Joint::Gripper] = 0.0;
    flight.mood.set(Mood::Pose(closed));
    flight.until("there", |seen| seen.measured[Joint::Gripper] < 41.0);
    flight.ticks(90);
    let seen = &flight.snapshot;
    assert_eq!((seen.mode, &seen.stopped), (Mode::Policy, &None));
    assert!(flight.fault(FaultKind::Overload).is_none());
    assert!(
        (30.0..40.0).contains(&seen.commanded[Joint::Gripper]),
        "{:?}",
        seen.commanded
    );
    let strength = flight.register(GRIPPER, Register::TorqueLimit);
    assert!(strength <= 250, "not a full squeeze: {strength}");
    assert!(flight.arm.torque(Joint::Gripper), "it holds");
    // It stays cool for as long as it holds, and opens as before.
    flight.ticks(1800);
    assert!(flight.snapshot.health.joint(Joint::Gripper).celsius < 45);
    flight.mood.set(Mood::Pose(open));
    flight.until("open again", |seen| seen.measured[Joint::Gripper] > 79.0);
    assert!(flight.register(GRIPPER, Register::TorqueLimit) > 250);
}
