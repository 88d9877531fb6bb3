//! Servos that have something to carry.

use super::{Desk, Layout, MOMENT, SimArm, TICK};
use crate::arm::register::Register;
use crate::clock::Clock;
use crate::joint::{Joint, JointVec};
use crate::sim::tests::bus;

const LIFT: Joint = Joint::ShoulderLift;

/// Stretched out, where the shoulder has most to carry.
const OUT: JointVec = JointVec([0.0, 20.0, -20.0, 0.0, 0.0, 20.0]);

fn pass(rig: &SimArm, seconds: f32) {
    for _ in 0..(seconds * 30.0) as u32 {
        rig.clock().advance(TICK);
        rig.advance();
    }
}

#[test]
fn a_limp_arm_sinks_and_a_driven_one_sags_a_little() {
    let mut desk = Desk::new(&Layout::default());
    desk.go(OUT, 3.0);
    desk.wait(1.0);
    let sag = desk.truth().joints[LIFT] - OUT[LIFT];
    assert!((0.1..1.5).contains(&sag), "{sag}");
    let load = bus(&desk.rig).read(2, Register::PresentLoad).unwrap();
    let current = bus(&desk.rig).read(2, Register::PresentCurrent).unwrap();
    assert!((50..500).contains(&load.abs()), "{load}");
    assert!((20..200).contains(&current), "{current}");
    desk.rig.inject("brownout:254".parse().unwrap());
    pass(&desk.rig, 0.5);
    let falling = desk.truth();
    assert!(falling.joints[LIFT] > OUT[LIFT] + 4.0, "{falling:?}");
    assert!(falling.speeds[LIFT] > 5.0, "{falling:?}");
    pass(&desk.rig, 5.0);
    let lain = desk.truth();
    assert!(
        lain.speeds.0.iter().all(|speed| speed.abs() < 1.0),
        "{lain:?}"
    );
}

#[test]
fn a_limp_arm_rests_in_its_start_pose() {
    let rig = SimArm::on_table(Clock::virtual_at_zero(), &Layout::default());
    pass(&rig, 5.0);
    let off = rig.truth().joints.max_abs_diff(rig.build().start);
    assert!(off < 1.0, "{off}");
}

#[test]
fn what_a_servo_reads_lags_behind_within_its_play() {
    let mut desk = Desk::new(&Layout::default());
    let pan = Joint::ShoulderPan;
    let mut reads = Vec::new();
    for way in [20.0, -20.0] {
        let mut goal = desk.goal;
        goal[pan] += way;
        desk.go(goal, 1.0);
        desk.wait(0.5);
        let read = desk.arm.read_state().unwrap()[pan];
        let truly = desk.truth().joints[pan];
        assert!((read - truly).abs() < 0.6, "{read} {truly}");
        assert!((truly - goal[pan]).abs() < 0.3, "{truly}");
        reads.push(read - truly);
    }
    assert!(reads[1] - reads[0] > 0.7, "about a degree apart: {reads:?}");
}

#[test]
fn a_servo_is_no_faster_than_its_registers_allow() {
    let desk = Desk::new(&Layout::default());
    let bus = &mut bus(&desk.rig);
    bus.write(1, Register::GoalVelocity, 200).unwrap();
    let here = bus.read(1, Register::PresentPosition).unwrap();
    bus.write(1, Register::GoalPosition, here + 600).unwrap();
    let mut fastest = 0.0_f32;
    for _ in 0..600 {
        desk.rig.clock().advance(MOMENT);
        desk.rig.advance();
        fastest = fastest.max(desk.truth().speeds[Joint::ShoulderPan].abs());
    }
    let cap = 200.0 * 360.0 / 4096.0;
    assert!((cap - 1.0..cap + 3.0).contains(&fastest), "{fastest}");
}
