//! Switching torque on, by the log of what the servos were told: the order in which nothing can jump.

use std::time::Duration;

use super::{IDS, connect, kind, rig, tick};
use crate::arm::register::Register;
use crate::arm::{Arm, ErrorKind, TorqueStep};
use crate::joint::Joint;
use crate::sim::{Fault, SimArm, WriteRecord};

/// Arms in ticks of 30 Hz, as a control loop does; what was written meanwhile.
fn arming_log(rig: &SimArm, arm: &mut Arm) -> Vec<WriteRecord> {
    let before = rig.writes().len();
    arm.begin_arming();
    while !matches!(arm.advance_torque().unwrap(), TorqueStep::Armed(_)) {
        tick(rig);
        arm.read_state().unwrap();
    }
    rig.writes().split_off(before)
}

fn value(register: Register, write: &WriteRecord) -> i32 {
    register.decode(&write.bytes)
}

/// What was written to this register of this servo: when (index in the log), and the value.
fn writes(log: &[WriteRecord], id: u8, register: Register) -> Vec<(usize, i32)> {
    let of_this = log
        .iter()
        .enumerate()
        .filter(|(_, write)| write.id == id && write.address == register.address());
    of_this
        .map(|(at, write)| (at, value(register, write)))
        .collect()
}

#[test]
fn torque_comes_on_weakly_at_the_present_pose_and_grows() {
    let rig = rig();
    let mut arm = connect(&rig).unwrap();
    let log = arming_log(&rig, &mut arm);
    for (joint, id) in Joint::ALL.into_iter().zip(IDS) {
        let limits = writes(&log, id, Register::TorqueLimit);
        let goals = writes(&log, id, Register::GoalPosition);
        let torques = writes(&log, id, Register::TorqueEnable);
        let locks = writes(&log, id, Register::Lock);
        let (first_limit, first_goal) = (limits[0], goals[0]);
        assert_eq!(first_limit.1, 250);
        assert_eq!((goals.len(), torques.len()), (1, 1), "{joint}");
        assert_eq!((torques[0].1, locks[0].1), (1, 1));
        assert!(
            first_limit.0 < first_goal.0 && first_goal.0 < torques[0].0,
            "{joint}"
        );
        assert!(
            torques[0].0 < locks[0].0 && locks[0].0 < limits[1].0,
            "{joint}"
        );
        let counts = f64::from(first_goal.1);
        let goal = rig.calibration().normalize(joint, counts);
        assert!(
            (goal - rig.pose()[joint]).abs() < 0.1,
            "{joint}: the present pose"
        );
        for slow in [Register::GoalVelocity, Register::Acceleration] {
            let first = writes(&log, id, slow)[0];
            assert!(first.0 < first_goal.0, "{joint} {slow:?}");
        }
    }
}

#[test]
fn strength_grows_over_time_and_is_read_back() {
    let rig = rig();
    let mut arm = connect(&rig).unwrap();
    let log = arming_log(&rig, &mut arm);
    for id in IDS {
        let limits = writes(&log, id, Register::TorqueLimit);
        let rising: Vec<i32> = limits.iter().map(|(_, limit)| *limit).collect();
        let full = if id == 6 { 500 } else { 600 };
        assert!(
            rising.windows(2).all(|pair| pair[0] <= pair[1]),
            "{id}: {rising:?}"
        );
        assert!(
            rising.len() > 5 && rising.last() == Some(&full),
            "{id}: {rising:?}"
        );
        let steps = rising.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(steps.max().unwrap() < 60, "{id}: {rising:?}");
        let [first, last] = [limits[0], limits[limits.len() - 1]].map(|(at, _)| log[at].at);
        let took = last.saturating_sub(first);
        assert!(took >= Duration::from_millis(400), "{id}: {took:?}");
    }
}

#[test]
fn a_lost_raise_of_strength_is_noticed_and_made_good() {
    let rig = rig();
    let mut arm = connect(&rig).unwrap();
    arm.begin_arming();
    let mut ticks = 0;
    while !matches!(arm.advance_torque().unwrap(), TorqueStep::Armed(_)) {
        ticks += 1;
        if rig.torque(Joint::Gripper) {
            rig.inject(super::next(crate::sim::Distortion::LoseRequest));
        }
        tick(&rig);
    }
    assert!(ticks > 30);
    rig.heal();
    tick(&rig);
    arm.read_state().unwrap();
    assert!(arm.torque_enabled(), "audited");
}

#[test]
fn a_joint_that_moves_ends_arming_before_any_other_gets_torque() {
    let rig = rig();
    rig.inject(Fault::Kick(2, 80));
    let mut arm = connect(&rig).unwrap();
    let before = rig.writes().len();
    let moved = kind(super::enable(&mut arm));
    assert!(matches!(moved, ErrorKind::Moved { motor, .. } if motor.id == 2));
    let log = rig.writes().split_off(before);
    let on = |id| {
        writes(&log, id, Register::TorqueEnable)
            .iter()
            .any(|(_, value)| *value == 1)
    };
    assert_eq!(IDS.map(on), [true, true, false, false, false, false]);
    assert!(Joint::ALL.iter().all(|joint| !rig.torque(*joint)));
}
