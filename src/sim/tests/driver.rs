//! The whole arm: arming, driving, holding, releasing, and what it says when something is wrong.

use std::time::Duration;

use super::{
    COUNT, IDS, armed, bus, connect, drive, enable, kind, next, options, release, rig, tick,
};
use crate::arm::register::{Block, Register};
use crate::arm::{AlarmKind, Arm, Bounds, ErrorKind, Options};
use crate::clock::Clock;
use crate::joint::{Joint, JointVec};
use crate::sim::{Distortion, Fault, SimArm, WriteRecord};

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
        let sent = drive(&rig, &mut arm, goal, 1);
        // 30 °/s, with the lag that lets it stop at each goal.
        let lag = goal[Joint::ShoulderPan] - sent[Joint::ShoulderPan];
        assert!((-COUNT..=2.0).contains(&lag), "{lag}");
    }
    assert!(drive(&rig, &mut arm, goal, 5).max_abs_diff(goal) <= COUNT);
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
    assert_eq!(arm.hold().unwrap().pose, pose);
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
    enable(&mut arm).unwrap();
    assert!(arm.send_action(pose).is_ok());
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
    let limp = arm.hold().unwrap().limp;
    assert_eq!(limp.iter().map(|motor| motor.id).collect::<Vec<_>>(), [4]);
    assert!(!rig.torque(Joint::WristFlex) && rig.torque(Joint::ElbowFlex));
    rig.inject(Fault::Position(4, 2100));
    enable(&mut arm).unwrap();
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
        assert!(matches!(kind(enable(&mut arm)), ErrorKind::Disconnected(_)));
        assert!(matches!(
            kind(release(&mut arm)),
            ErrorKind::Disconnected(_)
        ));
        rig.heal();
        assert!(enable(&mut connect(&rig).unwrap()).is_ok());
    }
}

#[test]
fn f24_one_wild_position_is_not_believed() {
    let (rig, mut arm) = armed();
    let pose = arm.read_state().unwrap();
    let watched = bus(&rig).sync_read(Block::WATCH, &[2], 1).unwrap();
    let mut wild = watched[0].clone().unwrap();
    wild[16..18].copy_from_slice(&3000_u16.to_le_bytes());
    rig.inject(next(Distortion::Params(1, wild)));
    assert_eq!(arm.read_state().unwrap(), pose);
    assert_eq!(arm.counters().implausible, 1);
}

#[test]
fn f26_what_is_no_number_or_out_of_range_never_reaches_a_servo() {
    let rig = rig();
    let nothing_around = Options {
        bounds: Bounds {
            clearance: None,
            ..Bounds::default()
        },
        ..options(&rig)
    };
    let mut arm = Arm::connect(rig.port(), rig.calibration(), nothing_around).unwrap();
    enable(&mut arm).unwrap();
    let pose = arm.read_state().unwrap();
    let sent = arm.send_action(JointVec([f32::NAN; 6])).unwrap();
    assert_eq!(sent, arm.send_action(JointVec([f32::INFINITY; 6])).unwrap());
    assert!(sent.max_abs_diff(pose) <= COUNT);
    assert_eq!(arm.counters().rejected, 12);
    for wild in [1e30, -1e30] {
        for _ in 0..200 {
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
    assert!(counters.retries > 300, "{counters:?}");
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
    let before = rig.writes().len();
    let held = enable(&mut arm).unwrap();
    let log = rig.writes().split_off(before);
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
    assert!(sent[Joint::ShoulderLift] - held[Joint::ShoulderLift] <= 2.0 + COUNT);
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
    let moved = kind(enable(&mut arm));
    assert!(
        matches!(&moved, ErrorKind::Moved { motor, .. } if motor.id == 3),
        "{moved:?}"
    );
    assert!(Joint::ALL.iter().all(|joint| !rig.torque(*joint)));
    assert!(!arm.torque_enabled());
    enable(&mut arm).unwrap();
}

#[test]
fn a_joint_that_has_torque_already_keeps_its_strength() {
    let (rig, arm) = armed();
    drop(arm);
    let mut arm = connect(&rig).unwrap();
    assert!(!arm.torque_enabled());
    assert_eq!(kind(arm.send_action(rig.pose())), ErrorKind::TorqueOff);
    let pose = arm.hold().unwrap().pose;
    let before = rig.writes().len();
    assert!(enable(&mut arm).unwrap().max_abs_diff(pose) <= COUNT);
    let limit = Register::TorqueLimit.address();
    let log = rig.writes();
    let limits: Vec<_> = log[before..]
        .iter()
        .filter(|write| write.address == limit)
        .collect();
    assert_eq!(limits.len(), 6);
    assert!(
        limits
            .iter()
            .all(|write| write.bytes != 250_u16.to_le_bytes()),
        "{limits:?}"
    );
}

#[test]
fn a_reset_rig_is_limp_in_its_start_pose_and_the_driver_notices() {
    let (rig, mut arm) = armed();
    let start = arm.read_state().unwrap();
    let mut goal = start;
    goal[Joint::WristRoll] += 10.0;
    drive(&rig, &mut arm, goal, 20);
    rig.reset();
    assert!(rig.pose().max_abs_diff(start) <= COUNT);
    assert!(matches!(kind(arm.read_state()), ErrorKind::TorqueLost(motors) if motors.len() == 6));
    assert!(enable(&mut arm).is_ok());
}

#[test]
fn the_arm_flies_on_the_real_clock_too() {
    let rig = SimArm::new(Clock::real());
    let mut arm = connect(&rig).unwrap();
    let mut goal = enable(&mut arm).unwrap();
    let start = goal;
    for _ in 0..20 {
        goal[Joint::ShoulderPan] += 0.5;
        goal = arm.send_action(goal).unwrap();
        let clock = rig.clock();
        clock.sleep_until(clock.now() + Duration::from_millis(10));
        arm.read_state().unwrap();
    }
    let moved = rig.pose()[Joint::ShoulderPan] - start[Joint::ShoulderPan];
    assert!((0.5..=10.0 + COUNT).contains(&moved), "{moved}");
}

#[test]
fn hold_stops_a_moving_arm_and_leaves_a_limp_one_limp() {
    let (rig, mut arm) = armed();
    let mut goal = arm.read_state().unwrap();
    goal[Joint::ShoulderPan] += 14.0;
    drive(&rig, &mut arm, goal, 5);
    let held = arm.hold().unwrap().pose;
    assert!(held[Joint::ShoulderPan] < goal[Joint::ShoulderPan] - 5.0);
    rig.clock().advance(Duration::from_secs(1));
    assert!(arm.read_state().unwrap().max_abs_diff(held) <= COUNT);
    // The frame with the goals gets lost: read back, and written again.
    drive(&rig, &mut arm, goal, 3);
    rig.inject(Fault::Next {
        skip: 1,
        distortion: Distortion::LoseRequest,
    });
    let held = arm.hold().unwrap().pose;
    rig.clock().advance(Duration::from_secs(1));
    assert!(arm.read_state().unwrap().max_abs_diff(held) <= COUNT);
    release(&mut arm).unwrap();
    let writes = rig.writes().len();
    assert_eq!(arm.hold().unwrap().limp.len(), 6);
    assert_eq!(rig.writes().len(), writes);
    assert!(Joint::ALL.iter().all(|joint| !rig.torque(*joint)));
}

#[test]
fn release_reaches_every_servo_that_hears_and_names_the_others() {
    let (rig, mut arm) = armed();
    rig.inject(Fault::Mute(3));
    let error = release(&mut arm).unwrap_err();
    assert!(
        matches!(&error.kind, ErrorKind::ReleaseUnconfirmed(motors) if motors.len() == 1 && motors[0].id == 3),
        "{error}"
    );
    let limp = |joint: &Joint| !rig.torque(*joint);
    assert_eq!(Joint::ALL.iter().filter(|joint| limp(joint)).count(), 5);
    rig.heal();
    release(&mut arm).unwrap();
    assert!(Joint::ALL.iter().all(limp));
    let mut bus = bus(&rig);
    for (id, most) in [(5, 1000), (6, 500)] {
        let limit = bus.read(id, Register::TorqueLimit).unwrap();
        assert_eq!(limit, most, "as strong as at power-up");
    }
    assert_eq!(bus.read(6, Register::GoalVelocity).unwrap(), 0);
}
