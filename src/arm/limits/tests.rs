//! Limits under goals of every kind: what is sent stays inside them, and no goal traps the arm.

use proptest::prelude::*;

use super::*;
use crate::arm::unrecorded;

const DT_S: f32 = 1.0 / 30.0;
/// Raised, folded a little, looking down.
const START: JointVec = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);

fn limits() -> Limits {
    Limits::new(&Calibration::simulated())
}

/// Limits without anything to hit.
fn open() -> Limits {
    limits().with_clearance(None)
}

/// Where the arm is after so many steps towards the goal.
fn after(limits: &Limits, from: JointVec, goal: JointVec, steps: usize) -> (Motion, Cuts) {
    let first = (Motion::at(from), Cuts::default());
    (0..steps).fold(first, |(motion, _), _| limits.advance(&motion, goal, DT_S))
}

#[test]
fn ranges_are_the_narrower_of_calibration_and_mechanics() {
    let [lower, upper] = limits().ranges();
    assert!((upper[Joint::ShoulderPan] - 107.9).abs() < 0.2, "{upper:?}");
    // Calibrated over a full turn; the mechanics allow less.
    assert_eq!(
        (lower[Joint::WristRoll], upper[Joint::WristRoll]),
        (-155.21, 160.79)
    );
    assert_eq!((lower[Joint::Gripper], upper[Joint::Gripper]), (0.0, 100.0));
    assert_eq!(limits().clamp(JointVec([1e9; 6])), upper);
}

#[test]
fn a_goal_is_approached_with_speed_and_acceleration_and_reached() {
    let goal = JointVec([30.0; 6]);
    let (first, cuts) = after(&open(), JointVec::default(), goal, 1);
    for joint in Joint::ALL {
        let speed = if joint == Joint::Gripper {
            1000.0
        } else {
            600.0
        } * DT_S;
        assert!((first.velocity[joint] - speed).abs() < 1e-3, "{first:?}");
        assert_eq!(cuts.0[joint.index()], Some(Cut::Speed));
    }
    let (fast, _) = after(&open(), JointVec::default(), goal, 6);
    assert_eq!(fast.velocity[Joint::ShoulderPan], 60.0);
    let (there, cuts) = after(&open(), JointVec::default(), goal, 30);
    assert_eq!((there, cuts), (Motion::at(goal), Cuts::default()));
}

#[test]
fn odd_limits_keep_their_defaults() {
    let odd = JointVec([600.0, f32::NAN, -1.0, 0.0, 1.0, 1.0]);
    let speeds = open().with_max_speed(odd).max_speed();
    assert_eq!(speeds, JointVec([600.0, 60.0, 60.0, 60.0, 1.0, 1.0]));
    let hard = open().with_max_acceleration(odd);
    assert_eq!(hard.max_acceleration[Joint::ElbowFlex], 600.0);
    assert_eq!(hard.max_acceleration[Joint::WristRoll], 1.0);
}

#[test]
fn far_goals_end_at_the_range_and_strays_come_back() {
    let limits = open();
    let [lower, upper] = limits.ranges();
    let mut motion = Motion::at(JointVec([130.0, -130.0, 0.0, 0.0, 0.0, 0.0]));
    let goal = JointVec([1000.0, -1000.0, 1000.0, -1000.0, 1000.0, 1000.0]);
    for _ in 0..200 {
        let (next, _) = limits.advance(&motion, goal, 0.05);
        let pan = Joint::ShoulderPan;
        assert!(next.position[pan] <= motion.position[pan]);
        motion = next;
    }
    let pose = motion.position;
    assert_eq!(pose[Joint::ShoulderPan], upper[Joint::ShoulderPan]);
    assert_eq!(pose[Joint::ShoulderLift], lower[Joint::ShoulderLift]);
    assert_eq!(pose[Joint::Gripper], 100.0);
    let (_, cuts) = limits.advance(&motion, goal, 0.05);
    assert_eq!(cuts.0, [Some(Cut::Range); JOINT_COUNT]);
}

#[test]
fn holding_outside_the_range_is_holding() {
    let outside = JointVec([109.0, -99.5, 0.0, 0.0, 0.0, 103.0]);
    let held = after(&limits(), outside, outside, 3);
    assert_eq!(held, (Motion::at(outside), Cuts::default()));
}

#[test]
fn what_is_not_a_number_moves_nothing() {
    let limits = limits();
    let still = Motion::at(JointVec([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(limits.advance(&still, JointVec([bad; 6]), DT_S).0, still);
        assert_eq!(limits.advance(&still, JointVec([9.0; 6]), bad).0, still);
    }
    assert_eq!(limits.advance(&still, JointVec([9.0; 6]), -1.0).0, still);
}

#[test]
fn less_haste_is_a_lower_speed() {
    let mut limits = open();
    limits.set_haste(0.5);
    let goal = JointVec([80.0; 6]);
    let (slow, _) = after(&limits, JointVec::default(), goal, 10);
    assert!((slow.velocity[Joint::ShoulderPan] - 30.0).abs() < 1e-3);
    limits.set_haste(1.0);
    let (fast, _) = limits.advance(&slow, goal, DT_S);
    assert!((fast.velocity[Joint::ShoulderPan] - 50.0).abs() < 1e-3);
}

#[test]
fn a_goal_under_the_table_is_stopped_before_and_left_again() {
    let limits = limits();
    let below = JointVec([30.0, 60.0, 50.0, 20.0, 0.0, 20.0]);
    let (stopped, cuts) = after(&limits, START, below, 120);
    assert!(matches!(cuts.obstacle(), Some(Cut::Table(_))), "{cuts:?}");
    assert!(!stopped.is_moving());
    let pan = stopped.position[Joint::ShoulderPan];
    assert_eq!(pan, 30.0, "what is not in the way of anything goes on");
    let [links, fingers, own] = Clearance::default().closest(stopped.position);
    assert!(links >= 0.010 && fingers >= 0.0 && own >= 0.010);
    assert!(
        links < 0.025 || fingers < 0.015,
        "it stopped far away: {links} {fingers}"
    );
    let mut motion = stopped;
    for _ in 0..120 {
        motion = limits.advance(&motion, START, DT_S).0;
    }
    assert_eq!(motion, Motion::at(START), "the way back is free");
}

#[test]
fn an_arm_that_starts_too_close_can_leave() {
    let limits = limits();
    let inside = JointVec([0.0, 20.0, 40.0, 20.0, 0.0, 20.0]);
    assert!(Clearance::default().closest(inside)[1] < 0.0);
    let deeper = JointVec([0.0, 40.0, 40.0, 20.0, 0.0, 20.0]);
    let (stays, cuts) = after(&limits, inside, deeper, 30);
    assert_eq!(stays.position, inside);
    assert!(cuts.obstacle().is_some());
    let (left, _) = after(&limits, inside, START, 120);
    assert_eq!(left, Motion::at(START));
}

/// A goal that stays for some steps.
fn goals() -> impl Strategy<Value = Vec<(JointVec, usize)>> {
    let joint = -200.0_f32..200.0;
    let goal = prop::array::uniform6(joint).prop_map(JointVec);
    prop::collection::vec((goal, 1_usize..12), 1..8)
}

proptest! {
    #![proptest_config(unrecorded(48))]

    /// Whatever goals come, at whatever rate: no step beyond speed, acceleration and range, and from a clear pose none that
    /// comes closer to anything than the margins.
    #[test]
    fn whatever_goals_come_every_step_is_within_all_limits(goals in goals(), fps in 8.0_f32..60.0) {
        let limits = limits();
        let ([lower, upper], dt_s) = (limits.ranges(), 1.0 / fps);
        let clearance = Clearance::default();
        let mut motion = Motion::at(START);
        for (goal, steps) in goals {
            for _ in 0..steps {
                let (next, _) = limits.advance(&motion, goal, dt_s);
                for joint in Joint::ALL {
                    let at = next.position[joint];
                    let went = (at - motion.position[joint]) / dt_s;
                    let change = (next.velocity[joint] - motion.velocity[joint]).abs();
                    prop_assert!(lower[joint] <= at && at <= upper[joint], "{joint} at {at}");
                    prop_assert!(went.abs() <= limits.max_speed()[joint] + 0.1, "{joint} at {went}/s");
                    prop_assert!(change <= limits.max_acceleration[joint] * dt_s + 0.1, "{joint} by {change}/s");
                    prop_assert!((went - next.velocity[joint]).abs() <= 0.1);
                }
                let [links, fingers, own] = clearance.closest(next.position);
                prop_assert!(links >= clearance.margin, "{links} m above the table");
                prop_assert!(fingers >= clearance.finger_margin, "fingers {fingers} m above the table");
                prop_assert!(own >= clearance.margin, "{own} m from itself");
                motion = next;
            }
        }
    }

    /// From wherever it is, the arm gets back to a clear pose when it was there before.
    #[test]
    fn no_goal_traps_the_arm(goals in goals()) {
        let limits = limits();
        let mut motion = Motion::at(START);
        let mut way = vec![motion.position];
        for (goal, steps) in goals {
            for _ in 0..steps {
                motion = limits.advance(&motion, goal, DT_S).0;
                way.push(motion.position);
            }
        }
        // Back on the way that it came, which is clear.
        for pose in way.into_iter().rev() {
            for _ in 0..60 {
                motion = limits.advance(&motion, pose, DT_S).0;
                if motion == Motion::at(pose) {
                    break;
                }
            }
            prop_assert!(motion.position.max_abs_diff(pose) < 0.01, "{motion:?} never at {pose:?}");
        }
        prop_assert_eq!(motion.position, START);
    }
}
