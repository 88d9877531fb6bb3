//! What can go wrong with a joint, in an arm that has weight.

use std::time::Duration;

use super::{Desk, Layout, SimArm, TICK};
use crate::arm::register::Register;
use crate::clock::Clock;
use crate::joint::{Joint, JointVec};
use crate::sim::{Fault, Gesture};

const PAN: Joint = Joint::ShoulderPan;
const ELBOW: Joint = Joint::ElbowFlex;

fn desk() -> Desk {
    Desk::new(&Layout::default())
}

fn turned(desk: &Desk, joint: Joint, by: f32) -> JointVec {
    let mut goal = desk.goal;
    goal[joint] += by;
    goal
}

#[test]
fn a_stuck_joint_stays_while_the_others_move() {
    let mut desk = desk();
    let before = desk.truth().joints;
    desk.rig.inject(Fault::Stuck(1));
    let mut goal = turned(&desk, PAN, 20.0);
    goal[Joint::WristRoll] += 20.0;
    desk.go(goal, 1.0);
    desk.wait(0.3);
    let now = desk.truth().joints;
    assert!((now[PAN] - before[PAN]).abs() < 0.2, "{now:?}");
    assert!((now[Joint::WristRoll] - goal[Joint::WristRoll]).abs() < 0.5);
    assert!(desk.arm.telemetry()[0].load_percent.abs() > 30.0);
    desk.rig.heal();
    desk.wait(1.0);
    assert!((desk.truth().joints[PAN] - goal[PAN]).abs() < 0.5);
}

/// What cools for a minute has lost half of its heat; in two seconds it loses a degree.
#[test]
fn after_a_long_sleep_of_the_machine_little_of_it_is_caught_up() {
    let desk = desk();
    let bus = &mut crate::sim::tests::bus(&desk.rig);
    desk.rig.inject(Fault::Temperature(1, 58.0));
    desk.rig.clock().advance(Duration::from_mins(1));
    desk.rig.advance();
    let celsius = bus.read(1, Register::PresentTemperature).unwrap();
    assert!((56..=58).contains(&celsius), "{celsius}");
}

#[test]
fn an_object_in_the_way_stops_a_joint_there() {
    let mut desk = desk();
    // Ten degrees beyond the middle.
    desk.rig.inject(Fault::Object(1, 2047 + 114));
    desk.go(turned(&desk, PAN, 25.0), 1.5);
    desk.wait(0.3);
    let pan = desk.truth().joints[PAN];
    assert!((pan - 10.0).abs() < 0.6, "{pan}");
    desk.go(turned(&desk, PAN, -30.0), 1.0);
    desk.wait(0.5);
    let pan = desk.truth().joints[PAN];
    assert!((pan + 5.0).abs() < 0.6, "{pan}");
}

#[test]
fn a_joint_that_is_put_elsewhere_is_there_at_once() {
    let mut desk = desk();
    let truth = desk.truth().joints;
    desk.rig.inject(Fault::Position(1, 2047 + 228));
    let now = desk.rig.pose();
    assert!((now[PAN] - 20.0).abs() < 0.2, "{now:?}");
    desk.tick(desk.goal);
    let now = desk.truth().joints;
    assert!((now[ELBOW] - truth[ELBOW]).abs() < 1.0);
}

#[test]
fn a_push_at_the_moment_of_torque_is_felt() {
    let rig = SimArm::on_table(Clock::virtual_at_zero(), &Layout::default());
    rig.inject(Fault::Kick(3, 60));
    let mut arm = super::connect(&rig).unwrap();
    assert!(super::enable(&mut arm).is_err(), "arming notices it");
}

#[test]
fn a_hand_leads_a_limp_arm() {
    let rig = SimArm::on_table(Clock::virtual_at_zero(), &Layout::default());
    let pose = JointVec([20.0, -30.0, 30.0, 40.0, 10.0, 60.0]);
    rig.hand(Gesture::To(pose));
    let pass = |seconds: u32| {
        for _ in 0..seconds * 30 {
            rig.clock().advance(TICK);
            rig.advance();
        }
    };
    pass(2);
    let off = rig.truth().joints.max_abs_diff(pose);
    assert!(off < 1.5, "{off}");
    rig.hand(Gesture::Still);
    pass(2);
    assert!(rig.truth().joints.is_finite());
}

#[test]
fn an_arm_without_current_sinks_though_its_torque_is_on() {
    let mut desk = desk();
    let out = JointVec([0.0, 20.0, -20.0, 0.0, 0.0, 20.0]);
    desk.go(out, 3.0);
    desk.rig.inject(Fault::Supply(0.0));
    for _ in 0..30 {
        desk.rig.clock().advance(TICK);
        desk.rig.advance();
    }
    assert!(desk.rig.torque(ELBOW));
    let sunk = desk.truth().joints[Joint::ShoulderLift] - out[Joint::ShoulderLift];
    assert!(sunk > 10.0, "{sunk}");
}
