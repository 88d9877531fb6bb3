//! A gripper that meets something: it holds on without burning, and an overload stays an overload until it is cleared.

use std::time::Duration;

use super::{COUNT, armed, bus, drive, rig, tick};
use crate::arm::register::Register;
use crate::arm::{AlarmKind, Arm, Cut, Grip};
use crate::joint::{Joint, JointVec};
use crate::sim::{Fault, SimArm};

const GRIPPER: Joint = Joint::Gripper;

fn torque_limit(rig: &SimArm) -> i32 {
    bus(rig).read(6, Register::TorqueLimit).unwrap()
}

/// A pose like the present one with the jaws elsewhere.
fn jaws(arm: &mut Arm, percent: f32) -> JointVec {
    let mut pose = arm.read_state().unwrap();
    pose[GRIPPER] = percent;
    pose
}

#[test]
fn f30_a_gripper_that_stalls_on_an_object_holds_it_with_less_than_full_squeeze() {
    let (rig, mut arm) = armed();
    assert_eq!(torque_limit(&rig), 500);
    rig.inject(Fault::Stuck(6));
    let closed = jaws(&mut arm, 0.0);
    let at = rig.pose()[GRIPPER];
    drive(&rig, &mut arm, closed, 40);
    assert!(matches!(arm.grip(), Grip::Holding(_)), "{:?}", arm.grip());
    assert_eq!(torque_limit(&rig), 200);
    let sent = drive(&rig, &mut arm, closed, 40);
    assert!((at - sent[GRIPPER] - 4.0).abs() < 0.2, "{sent:?} at {at}");
    assert_eq!(arm.cuts().0[5], Some(Cut::Grip));
    // Far longer than its protection allows at full squeeze.
    drive(&rig, &mut arm, closed, 300);
    assert_eq!(arm.alarms(), []);
    assert!(arm.torque_enabled(), "its own limit is no restart");
    // Opening is never held up.
    rig.heal();
    let open = jaws(&mut arm, 60.0);
    drive(&rig, &mut arm, open, 60);
    assert_eq!((arm.grip(), torque_limit(&rig)), (Grip::Free, 500));
    assert!((arm.read_state().unwrap()[GRIPPER] - 60.0).abs() < 0.5);
}

#[test]
fn an_object_that_slips_away_is_closed_after() {
    let (rig, mut arm) = armed();
    rig.inject(Fault::Stuck(6));
    let closed = jaws(&mut arm, 0.0);
    drive(&rig, &mut arm, closed, 60);
    assert!(matches!(arm.grip(), Grip::Holding(_)));
    rig.heal();
    let sent = drive(&rig, &mut arm, closed, 60);
    assert_eq!((arm.grip(), torque_limit(&rig)), (Grip::Free, 500));
    assert!(sent[GRIPPER] < 0.1, "{sent:?}");
}

#[test]
fn f13_an_overloaded_gripper_stops_closing_and_stays_so_until_it_is_cleared() {
    let (rig, mut arm) = armed();
    let mut goal = jaws(&mut arm, 80.0);
    drive(&rig, &mut arm, goal, 60);
    goal[GRIPPER] = 0.0;
    goal[Joint::ShoulderPan] += 10.0;
    drive(&rig, &mut arm, goal, 5);
    rig.inject(Fault::Alarms(6, 0x20));
    let sent = drive(&rig, &mut arm, goal, 60);
    let Grip::Overloaded(at) = arm.grip() else {
        panic!("{:?}", arm.grip());
    };
    assert!(
        at > 50.0 && (sent[GRIPPER] - at).abs() < 0.2,
        "{sent:?}, at {at}"
    );
    assert_eq!(torque_limit(&rig), 200);
    let pan = sent[Joint::ShoulderPan] - goal[Joint::ShoulderPan];
    assert!(pan.abs() <= COUNT, "others go on");
    assert!(
        arm.alarms()
            .iter()
            .any(|alarm| alarm.kind == AlarmKind::Overload)
    );
    // Over, but latched.
    rig.heal();
    let sent = drive(&rig, &mut arm, goal, 30);
    assert!((sent[GRIPPER] - at).abs() < 0.2);
    let before = rig.writes().len();
    arm.clear_alarm(GRIPPER).unwrap();
    assert_eq!(rig.writes().len(), before, "nothing to clear in the servo");
    let sent = drive(&rig, &mut arm, goal, 60);
    assert_eq!((arm.grip(), torque_limit(&rig)), (Grip::Free, 500));
    assert!(sent[GRIPPER] < 0.1, "{sent:?}");
}

#[test]
fn clearing_restarts_a_gripper_that_is_still_overloaded_where_it_is() {
    let rig = rig();
    // As the factory made it: its own protection trips after two seconds above a tenth of its load.
    let mut arm = super::connect(&rig).unwrap();
    super::enable(&mut arm).unwrap();
    rig.inject("poke:6:36=10".parse().unwrap());
    rig.inject(Fault::Stuck(6));
    let closed = jaws(&mut arm, 0.0);
    drive(&rig, &mut arm, closed, 120);
    assert!(
        matches!(arm.grip(), Grip::Overloaded(_)),
        "{:?}",
        arm.grip()
    );
    let before = rig.writes().len();
    arm.clear_alarm(GRIPPER).unwrap();
    let log = rig.writes().split_off(before);
    let order: Vec<(u8, u8)> = log.iter().map(|it| (it.address, it.bytes[0])).collect();
    let [torque, goal] = [Register::TorqueEnable, Register::GoalPosition].map(Register::address);
    assert_eq!(
        (order[0], order[1].0, order[2]),
        ((torque, 0), goal, (torque, 1))
    );
    assert!(log.iter().all(|write| write.id == 6));
    tick(&rig);
    arm.read_state().unwrap();
    assert!(arm.alarms().is_empty() && arm.torque_enabled());
}

#[test]
fn a_sagging_supply_slows_the_arm_down_and_no_more() {
    let (rig, mut arm) = armed();
    let mut goal = arm.read_state().unwrap();
    goal[Joint::ShoulderPan] += 60.0;
    let speed = |rig: &SimArm, arm: &mut Arm| {
        let pan = Joint::ShoulderPan;
        let first = drive(rig, arm, goal, 1)[pan];
        (drive(rig, arm, goal, 1)[pan] - first) * 30.0
    };
    drive(&rig, &mut arm, goal, 6);
    let full = speed(&rig, &mut arm);
    rig.inject(Fault::Supply(9.0));
    rig.clock().advance(Duration::from_millis(5));
    drive(&rig, &mut arm, goal, 4);
    let slow = speed(&rig, &mut arm);
    assert!(
        (full - 60.0).abs() < 3.0 && (slow - 30.0).abs() < 3.0,
        "{full} {slow}"
    );
    assert_eq!(
        arm.alarms().len(),
        6,
        "measured, before the servos complain"
    );
    assert!(arm.torque_enabled());
    rig.heal();
    drive(&rig, &mut arm, goal, 4);
    assert!(speed(&rig, &mut arm) > 55.0);
}
