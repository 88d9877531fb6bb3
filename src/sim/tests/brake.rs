//! The other hand on the arm: freezes it over a handle of its own, whatever its owner is about.

use std::time::Duration;

use super::{COUNT, armed, kind, tick};
use crate::arm::ErrorKind;
use crate::joint::{Joint, JointVec};
use crate::sim::Fault;

/// Counts of a goal.
fn goal(bytes: &[u8]) -> i32 {
    i32::from(u16::from_le_bytes([bytes[0], bytes[1]]))
}

#[test]
fn a_blocked_joint_stops_pushing_and_its_owner_reaches_nobody() {
    let (rig, mut arm) = armed();
    let mut brake = arm.take_brake().unwrap();
    assert!(arm.take_brake().is_none(), "there is one");
    let start = arm.read_state().unwrap();
    rig.inject(Fault::Stuck(1));
    let mut far = start;
    far[Joint::ShoulderPan] += 14.0;
    arm.send_action(far).unwrap();
    tick(&rig);
    let writes = rig.writes().len();
    brake.take_line();
    brake.freeze().unwrap();
    let log = rig.writes();
    assert_eq!(log[writes..].len(), 1, "only what must change: {log:?}");
    let (pan, pose) = (Joint::ShoulderPan, rig.pose());
    let here = rig.calibration().unnormalize(pan, pose[pan]);
    assert!((goal(&log[writes].bytes) - here).abs() <= 1);
    // Whatever the owner still has in hand.
    assert_eq!(kind(arm.send_action(far)), ErrorKind::LineTaken);
    assert_eq!(kind(arm.hold()), ErrorKind::LineTaken);
    assert_eq!(kind(arm.read_state()), ErrorKind::LineTaken);
    brake.freeze().unwrap();
    assert_eq!(rig.writes().len(), log.len(), "it stands still already");
    brake.give_line_back();
    assert!(arm.hold().unwrap().pose.max_abs_diff(start) <= COUNT);
    assert!(arm.torque_enabled());
    arm.send_action(start).unwrap();
}

#[test]
fn limp_joints_stay_limp() {
    let (rig, mut arm) = armed();
    let mut brake = arm.take_brake().unwrap();
    rig.inject(Fault::BrownOut(2));
    let writes = rig.writes().len();
    brake.take_line();
    brake.freeze().unwrap();
    assert!(!rig.torque(Joint::ShoulderLift) && rig.torque(Joint::ElbowFlex));
    assert!(rig.writes()[writes..].iter().all(|write| write.id != 2));
}

#[test]
fn a_silent_servo_is_named_and_the_others_stand_still() {
    let (rig, mut arm) = armed();
    let mut brake = arm.take_brake().unwrap();
    arm.send_action(JointVec([10.0; 6])).unwrap();
    rig.clock().advance(Duration::from_millis(60));
    rig.inject(Fault::Mute(3));
    brake.take_line();
    let loose = kind(brake.freeze());
    assert!(
        matches!(&loose, ErrorKind::HoldUnconfirmed(motors) if motors.len() == 1 && motors[0].id == 3),
        "{loose:?}"
    );
    rig.heal();
    brake.freeze().unwrap();
    rig.clock().advance(Duration::from_secs(1));
    rig.advance();
    let pose = rig.pose();
    rig.clock().advance(Duration::from_secs(1));
    rig.advance();
    assert!(rig.pose().max_abs_diff(pose) <= COUNT);
}

#[test]
fn a_single_wrong_position_throws_no_joint() {
    let (rig, mut arm) = armed();
    let mut brake = arm.take_brake().unwrap();
    let mut wild = vec![0; 15];
    wild[..2].copy_from_slice(&3000_u16.to_le_bytes());
    for nth in 0..2 {
        let writes = rig.writes().len();
        brake.take_line();
        rig.inject(Fault::Next {
            skip: nth,
            distortion: crate::sim::Distortion::Params(1, wild.clone()),
        });
        assert!(
            matches!(kind(brake.freeze()), ErrorKind::HoldUnconfirmed(motors) if motors[0].id == 2)
        );
        assert_eq!(rig.writes().len(), writes);
        brake.freeze().unwrap();
    }
}

#[test]
fn without_the_line_it_says_nothing() {
    let (rig, mut arm) = armed();
    let mut brake = arm.take_brake().unwrap();
    let writes = rig.writes().len();
    assert_eq!(kind(brake.freeze()), ErrorKind::LineTaken);
    assert_eq!(rig.writes().len(), writes);
    // A port that is gone is told apart.
    rig.inject(Fault::Disconnect);
    brake.take_line();
    assert!(matches!(kind(brake.freeze()), ErrorKind::Disconnected(_)));
}
