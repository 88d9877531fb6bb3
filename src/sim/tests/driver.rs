//! The whole arm: arming, driving, holding, releasing, and what it says when something is wrong.

use std::time::Duration;

use super::{COUNT, IDS, armed, bus, connect, kind, next, rig, tick};
use crate::arm::register::Register;
use crate::arm::{AlarmKind, ErrorKind, Problem};
use crate::joint::{Joint, JointVec};
use crate::sim::{Distortion, Fault, SimArm, WriteRecord};

fn problems(rig: &SimArm) -> Vec<Problem> {
    match kind(connect(rig)) {
        ErrorKind::Unfit(problems) => problems,
        other => panic!("{other}"),
    }
}

/// Index of the first write of this register to this servo.
fn first_write(log: &[WriteRecord], id: u8, register: Register) -> usize {
    let found = log
        .iter()
        .position(|write| write.id == id && write.address == register.address());
    found.unwrap_or_else(|| panic!("no {register:?} for {id}"))
}

#[test]
fn an_armed_arm_follows_and_reports_what_it_was_sent() {
    let (rig, mut arm) = armed();
    let start = arm.read_state().unwrap();
    let mut goal = start;
    for _ in 0..60 {
        goal[Joint::ShoulderPan] += 1.0;
        let sent = arm.send_action(goal).unwrap();
        assert!(sent.max_abs_diff(goal) <= COUNT);
        tick(&rig);
        arm.read_state().unwrap();
    }
    rig.clock().advance(Duration::from_millis(500));
    let state = arm.read_state().unwrap();
    assert!(state.max_abs_diff(goal) <= COUNT, "{state:?}");
    assert!(rig.pose().max_abs_diff(goal) <= COUNT);
    assert!(arm.torque_enabled() && arm.alarms().is_empty());
    drop(arm);
    assert!(
        Joint::ALL.iter().all(|joint| rig.torque(*joint)),
        "a dropped driver drops no arm"
    );
}

#[test]
fn f01_a_dropped_reply_is_asked_for_again() {
    let rig = rig();
    let mut arm = connect(&rig).unwrap();
    let before = arm.counters();
    rig.inject(next(Distortion::Drop(2)));
    assert!(arm.read_state().unwrap().max_abs_diff(rig.pose()) <= COUNT);
    let after = arm.counters();
    assert_eq!(after.retries - before.retries, 1);
    assert_eq!((after.lost, arm.silence()), (before.lost, [0; 6]));
}

#[test]
fn f02_a_mute_joint_is_stale_for_a_while_and_then_named() {
    let (rig, mut arm) = armed();
    let pose = arm.read_state().unwrap();
    rig.inject("mute:3".parse().unwrap());
    let start = rig.clock().now();
    let mut reads = 0;
    let error = loop {
        tick(&rig);
        match arm.read_state() {
            Ok(state) => assert_eq!(state, pose),
            Err(error) => break error,
        }
        reads += 1;
        assert_eq!(arm.silence()[2], reads);
    };
    assert!(reads > 0 && rig.clock().now() <= start + Duration::from_millis(500));
    assert!(
        error.to_string().contains("elbow_flex (motor 3)"),
        "{error}"
    );
    let refused = kind(arm.send_action(pose));
    assert!(
        matches!(&refused, ErrorKind::Silent(motors) if motors.len() == 1),
        "{refused:?}"
    );
    let held = kind(arm.hold());
    assert!(
        matches!(&held, ErrorKind::HoldUnconfirmed(motors) if motors[0].id == 3 && motors.len() == 1),
        "{held:?}"
    );
    rig.heal();
    tick(&rig);
    assert_eq!(arm.read_state().unwrap(), pose);
    assert_eq!(arm.hold().unwrap(), pose);
    assert!(arm.send_action(pose).is_ok());
}

#[test]
fn f03_silence_of_all_is_told_apart_and_ends_arming() {
    let (rig, mut arm) = armed();
    let pose = arm.read_state().unwrap();
    rig.inject(Fault::Silent);
    let mut last = arm.read_state();
    for _ in 0..4 {
        tick(&rig);
        last = arm.read_state();
    }
    assert_eq!(kind(last), ErrorKind::NoResponse);
    let writes = rig.writes().len();
    assert_eq!(kind(arm.send_action(pose)), ErrorKind::TorqueOff);
    assert_eq!(kind(connect(&rig)), ErrorKind::NoResponse);
    rig.heal();
    assert_eq!(kind(arm.send_action(pose)), ErrorKind::TorqueOff);
    assert_eq!(rig.writes().len(), writes, "no goals before a new start");
    arm.enable_torque().unwrap();
    assert!(arm.send_action(pose).is_ok());
}

#[test]
fn f11_an_echoing_adapter_is_refused() {
    let rig = rig();
    rig.inject(Fault::Echo);
    let error = connect(&rig).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Echo);
    assert!(error.to_string().contains("Waveshare"));
    assert!(rig.writes().is_empty());
}

#[test]
fn f12_f15_alarms_are_news_and_the_data_are_used() {
    let (rig, mut arm) = armed();
    rig.inject(Fault::Alarms(6, 0x21));
    rig.inject(Fault::Alarms(2, 0x50));
    tick(&rig);
    assert!(arm.read_state().unwrap().max_abs_diff(rig.pose()) <= COUNT);
    let alarms: Vec<_> = arm
        .alarms()
        .iter()
        .map(|alarm| (alarm.motor.id, alarm.kind))
        .collect();
    assert_eq!(alarms, [(6, AlarmKind::Voltage), (6, AlarmKind::Overload)]);
    assert!(arm.send_action(rig.pose()).is_ok());
    rig.heal();
    rig.inject(Fault::Temperature(1, 58.0));
    arm.read_state().unwrap();
    assert_eq!(
        arm.alarms()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["shoulder_pan (motor 1): getting warm"]
    );
}

#[test]
fn f18_a_servo_that_restarted_is_noticed_and_not_switched_on_blindly() {
    let (rig, mut arm) = armed();
    let pose = arm.read_state().unwrap();
    rig.inject(Fault::BrownOut(4));
    tick(&rig);
    let lost = kind(arm.read_state());
    assert!(
        matches!(&lost, ErrorKind::TorqueLost(motors) if motors.len() == 1 && motors[0].id == 4),
        "{lost:?}"
    );
    assert!(!arm.torque_enabled());
    assert_eq!(kind(arm.send_action(pose)), ErrorKind::TorqueOff);
    let held = kind(arm.hold());
    assert!(
        matches!(&held, ErrorKind::HoldUnconfirmed(motors) if motors.len() == 1 && motors[0].id == 4),
        "{held:?}"
    );
    assert!(!rig.torque(Joint::WristFlex) && rig.torque(Joint::ElbowFlex));
    rig.inject(Fault::Position(4, 2100));
    arm.enable_torque().unwrap();
    let held = arm.read_state().unwrap();
    assert!(
        held.max_abs_diff(rig.pose()) <= COUNT,
        "held where it had sunk to"
    );
}

#[test]
fn f18_a_restart_that_a_goal_write_hid_is_noticed_too() {
    let (rig, mut arm) = armed();
    let pose = arm.read_state().unwrap();
    rig.inject(Fault::BrownOut(4));
    arm.send_action(pose).unwrap();
    assert!(
        rig.torque(Joint::WristFlex),
        "the pretend servo is energised by a goal"
    );
    tick(&rig);
    assert!(matches!(kind(arm.read_state()), ErrorKind::TorqueLost(_)));
}

#[test]
fn f19_a_pulled_cable_is_an_error_at_any_byte() {
    for bytes in [1, 5, 6, 40, 125, 126, 150] {
        let (rig, mut arm) = armed();
        rig.inject(Fault::DisconnectAfter(bytes));
        let error = (0..3).find_map(|_| arm.read_state().err()).unwrap();
        assert!(matches!(error.kind, ErrorKind::Disconnected(_)), "{error}");
        assert!(matches!(
            kind(arm.send_action(rig.pose())),
            ErrorKind::TorqueOff
        ));
        assert!(matches!(kind(arm.hold()), ErrorKind::Disconnected(_)));
        assert!(matches!(
            kind(arm.enable_torque()),
            ErrorKind::Disconnected(_)
        ));
        assert!(matches!(
            kind(arm.release_torque()),
            ErrorKind::Disconnected(_)
        ));
        rig.heal();
        assert!(connect(&rig).unwrap().enable_torque().is_ok());
    }
}

#[test]
fn f21_f22_all_problems_are_listed_at_once_and_torque_is_untouched() {
    let rig = rig();
    rig.inject("id:2=1".parse().unwrap());
    rig.inject(Fault::Poke {
        id: 4,
        address: 3,
        value: 4,
    });
    rig.inject(Fault::Poke {
        id: 5,
        address: 1,
        value: 9,
    });
    rig.inject(Fault::Mute(6));
    let found = problems(&rig);
    let missing = |id| {
        found
            .iter()
            .any(|problem| matches!(problem, Problem::Missing(motor) if motor.id == id))
    };
    assert!(missing(2) && missing(6) && !missing(3), "{found:?}");
    assert!(
        found
            .iter()
            .any(|problem| matches!(problem, Problem::Garbled(motor) if motor.id == 1)),
        "{found:?}"
    );
    assert!(
        found.iter().any(
            |problem| matches!(problem, Problem::Model { motor, model: 772 } if motor.id == 4)
        )
    );
    assert!(
        found
            .iter()
            .any(|problem| matches!(problem, Problem::Firmware(versions) if versions.len() == 3))
    );
    let text = connect(&rig).unwrap_err().to_string();
    for word in [
        "possible duplicate id",
        "wrist_flex (motor 4) is model 772",
        "mixed firmware",
        "gripper (motor 6) does not answer",
    ] {
        assert!(text.contains(word), "{text}");
    }
    assert!(rig.writes().is_empty());
}

#[test]
fn f23_f20_wrong_places_calibrations_and_supplies_are_explained() {
    let rig = rig();
    rig.inject(Fault::Position(2, 300));
    rig.inject(Fault::Offset(5, -1500));
    rig.inject(Fault::Poke {
        id: 3,
        address: 18,
        value: 0x1C,
    });
    rig.inject(Fault::Supply(3.2));
    rig.clock().advance(Duration::from_millis(5));
    let found = problems(&rig);
    assert!(
        found
            .iter()
            .any(|problem| matches!(problem, Problem::Position { position: 300, .. }))
    );
    assert!(found.iter().any(|problem| matches!(
        problem,
        Problem::Calibration {
            what: "homing_offset",
            servo: -1500,
            ..
        }
    )));
    assert!(
        found
            .iter()
            .any(|problem| matches!(problem, Problem::MultiTurn(motor) if motor.id == 3))
    );
    assert_eq!(
        found
            .iter()
            .filter(|problem| matches!(problem, Problem::Voltage { .. }))
            .count(),
        6
    );
    assert!(rig.writes().is_empty());
}

#[test]
fn f24_one_wild_position_is_not_believed() {
    let (rig, mut arm) = armed();
    let pose = arm.read_state().unwrap();
    let mut wild = vec![0; 15];
    wild[..2].copy_from_slice(&3000_u16.to_le_bytes());
    rig.inject(next(Distortion::Params(1, wild)));
    assert_eq!(arm.read_state().unwrap(), pose);
    assert_eq!(arm.counters().implausible, 1);
}

#[test]
fn f26_what_is_no_number_or_out_of_range_never_reaches_a_servo() {
    let (rig, mut arm) = armed();
    let pose = arm.read_state().unwrap();
    let sent = arm.send_action(JointVec([f32::NAN; 6])).unwrap();
    assert_eq!(sent, arm.send_action(JointVec([f32::INFINITY; 6])).unwrap());
    assert!(sent.max_abs_diff(pose) <= COUNT);
    assert_eq!(arm.counters().rejected, 12);
    for wild in [1e30, -1e30] {
        for _ in 0..100 {
            arm.send_action(JointVec([wild; 6])).unwrap();
        }
        rig.clock().advance(Duration::from_secs(10));
        let [lower, upper] = arm.limits().ranges();
        let end = if wild > 0.0 { upper } else { lower };
        assert!(arm.read_state().unwrap().max_abs_diff(end) <= COUNT);
    }
}

#[test]
fn c02_an_armed_arm_flies_through_ten_minutes_of_noise() {
    let (rig, mut arm) = armed();
    rig.inject(Fault::Burst(50));
    let start = arm.read_state().unwrap();
    for step in 0..18_000_u32 {
        let mut goal = start;
        goal[Joint::ShoulderPan] += 30.0 * (step as f32 / 90.0).sin();
        arm.send_action(goal).unwrap();
        tick(&rig);
        let state = arm.read_state().unwrap();
        assert!(state.max_abs_diff(rig.pose()) <= 0.3, "step {step}");
    }
    let counters = arm.counters();
    assert_eq!(
        (counters.lost, counters.implausible),
        ([0; 6], 0),
        "{counters:?}"
    );
    assert!(counters.retries > 600, "{counters:?}");
}

#[test]
fn c09_the_goal_is_the_present_pose_before_torque_comes_on() {
    let rig = rig();
    for id in IDS {
        // A stale goal in the middle, while joint 2 rests at 900.
        rig.inject(Fault::Poke {
            id,
            address: 43,
            value: 8,
        });
    }
    rig.inject("pos:2=900".parse().unwrap());
    let mut arm = connect(&rig).unwrap();
    let pose = arm.read_state().unwrap();
    let held = arm.enable_torque().unwrap();
    let log = rig.writes();
    for id in IDS {
        let goal = first_write(&log, id, Register::GoalPosition);
        let torque = first_write(&log, id, Register::TorqueEnable);
        let limit = first_write(&log, id, Register::TorqueLimit);
        assert!(limit < goal && goal < torque, "servo {id}");
        assert!(log[limit].bytes[0] <= 250 && log[limit].bytes[1] == 0);
    }
    let goal = &log[first_write(&log, 2, Register::GoalPosition)].bytes;
    let counts = i32::from(goal[0]) + 256 * i32::from(goal[1]);
    assert!((counts - 909).abs() <= 9, "{counts}");
    rig.clock().advance(Duration::from_secs(1));
    assert!(rig.pose().max_abs_diff(pose) <= 1.0, "nothing jumped");
    let mut far = held;
    far[Joint::ShoulderLift] += 60.0;
    let sent = arm.send_action(far).unwrap();
    assert!(sent[Joint::ShoulderLift] - held[Joint::ShoulderLift] <= 15.0 + COUNT);
    let before = rig.pose()[Joint::ShoulderLift];
    rig.clock().advance(Duration::from_millis(100));
    rig.advance();
    assert!(
        rig.pose()[Joint::ShoulderLift] - before <= 60.0 * 1.25 * 0.1 + COUNT,
        "the servo's own limit holds as well"
    );
}

#[test]
fn a_joint_that_moves_when_torque_comes_on_is_let_go_again() {
    let rig = rig();
    rig.inject(Fault::Kick(3, 80));
    let mut arm = connect(&rig).unwrap();
    let moved = kind(arm.enable_torque());
    assert!(
        matches!(&moved, ErrorKind::Moved { motor, .. } if motor.id == 3),
        "{moved:?}"
    );
    assert!(Joint::ALL.iter().all(|joint| !rig.torque(*joint)));
    assert!(!arm.torque_enabled());
    arm.enable_torque().unwrap();
}

#[test]
fn hold_stops_a_moving_arm_and_leaves_a_limp_one_limp() {
    let (rig, mut arm) = armed();
    let mut goal = arm.read_state().unwrap();
    goal[Joint::ShoulderPan] += 14.0;
    arm.send_action(goal).unwrap();
    rig.clock().advance(Duration::from_millis(60));
    let held = arm.hold().unwrap();
    assert!(held[Joint::ShoulderPan] < goal[Joint::ShoulderPan] - 5.0);
    rig.clock().advance(Duration::from_secs(1));
    assert!(arm.read_state().unwrap().max_abs_diff(held) <= COUNT);
    // The frame with the goals gets lost: read back, and written again.
    arm.send_action(goal).unwrap();
    rig.clock().advance(Duration::from_millis(60));
    rig.inject(Fault::Next {
        skip: 2,
        distortion: Distortion::LoseRequest,
    });
    let held = arm.hold().unwrap();
    rig.clock().advance(Duration::from_secs(1));
    assert!(arm.read_state().unwrap().max_abs_diff(held) <= COUNT);
    arm.release_torque().unwrap();
    let writes = rig.writes().len();
    arm.hold().unwrap();
    assert_eq!(rig.writes().len(), writes);
    assert!(Joint::ALL.iter().all(|joint| !rig.torque(*joint)));
}

#[test]
fn release_reaches_every_servo_that_hears_and_names_the_others() {
    let (rig, mut arm) = armed();
    rig.inject(Fault::Mute(3));
    let error = arm.release_torque().unwrap_err();
    assert!(
        matches!(&error.kind, ErrorKind::ReleaseUnconfirmed(motors) if motors.len() == 1 && motors[0].id == 3),
        "{error}"
    );
    let limp = |joint: &Joint| !rig.torque(*joint);
    assert_eq!(Joint::ALL.iter().filter(|joint| limp(joint)).count(), 5);
    rig.heal();
    arm.release_torque().unwrap();
    assert!(Joint::ALL.iter().all(limp));
    let mut bus = bus(&rig);
    assert_eq!(
        bus.read(6, Register::TorqueLimit).unwrap(),
        1000,
        "as strong as it was found"
    );
    assert_eq!(bus.read(6, Register::GoalVelocity).unwrap(), 0);
}
