//! How far goals get: before the table, near to the joints, and no further than an action of one tick may go.

use super::{COUNT, armed, drive, enable, options, rig, tick};
use crate::arm::{Arm, Bounds, Clearance, Cut, Options};
use crate::joint::{Joint, JointVec};
use crate::sim::Fault;

#[test]
fn an_arm_sent_through_the_table_stops_above_it_and_comes_back() {
    let (rig, mut arm) = armed();
    let start = arm.read_state().unwrap();
    let below = JointVec([0.0, 60.0, 50.0, 20.0, 0.0, 20.0]);
    drive(&rig, &mut arm, below, 150);
    assert!(matches!(arm.cuts().obstacle(), Some(Cut::Table(_))));
    assert!(arm.counters().cuts.table > 0);
    let here = arm.read_state().unwrap();
    let [links, fingers, own] = Clearance::default().closest(here);
    assert!(
        links >= 0.010 && fingers >= 0.0 && own >= 0.010,
        "{links} {fingers} {own}"
    );
    let back = drive(&rig, &mut arm, start, 150);
    assert!(back.max_abs_diff(start) <= COUNT, "{back:?}");
    assert_eq!(arm.cuts().obstacle(), None);
}

#[test]
fn a_goal_keeps_near_a_joint_that_does_not_follow_if_it_is_told_to() {
    let rig = rig();
    let near = Options {
        bounds: Bounds {
            max_relative_target: Some(5.0),
            ..Bounds::default()
        },
        ..options(&rig)
    };
    let mut arm = Arm::connect(rig.port(), rig.calibration(), near).unwrap();
    let start = enable(&mut arm).unwrap();
    rig.inject(Fault::Stuck(1));
    let mut goal = start;
    goal[Joint::ShoulderPan] += 60.0;
    goal[Joint::WristRoll] += 20.0;
    let sent = drive(&rig, &mut arm, goal, 90);
    let pan = sent[Joint::ShoulderPan] - start[Joint::ShoulderPan];
    assert!((pan - 5.0).abs() <= 0.2, "{pan}");
    assert_eq!(arm.cuts().0[0], Some(Cut::RelativeTarget));
    assert!(
        (sent[Joint::WristRoll] - goal[Joint::WristRoll]).abs() <= COUNT,
        "it follows"
    );
    assert!(arm.counters().cuts.relative_target > 50);
}

#[test]
fn what_was_sent_is_what_is_returned_and_what_the_servos_hold() {
    let (rig, mut arm) = armed();
    let wild = JointVec([500.0, -500.0, 33.3, f32::NAN, 12.345, 101.0]);
    for _ in 0..60 {
        arm.read_state().unwrap();
        let sent = arm.send_action(wild).unwrap();
        let held: Vec<i32> = super::IDS
            .iter()
            .map(|id| {
                super::bus(&rig)
                    .read(*id, crate::arm::register::Register::GoalPosition)
                    .unwrap()
            })
            .collect();
        let held = rig.calibration().robot_units(held.try_into().unwrap());
        assert_eq!(sent, held);
        tick(&rig);
    }
    assert_eq!(arm.counters().rejected, 60);
    assert!(arm.counters().cuts.range > 0);
}

#[test]
fn a_tick_that_sent_nothing_begins_from_rest() {
    let (rig, mut arm) = armed();
    let mut goal = arm.read_state().unwrap();
    goal[Joint::ShoulderPan] += 60.0;
    let fast = drive(&rig, &mut arm, goal, 8)[Joint::ShoulderPan];
    // Two ticks in which nobody sent anything.
    arm.read_state().unwrap();
    arm.read_state().unwrap();
    let next = drive(&rig, &mut arm, goal, 1)[Joint::ShoulderPan];
    assert!(
        (next - fast - 20.0 / 30.0).abs() <= COUNT,
        "{}",
        next - fast
    );
}
