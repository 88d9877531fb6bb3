//! Goals that nobody in his right mind sends, and what must not come of them: things that fly about, or fall through the
//! table.

use glam::{vec2, vec3};

use super::{Desk, Layout, MOMENT, OPEN, SHUT, one_cube, over, spot, tray};
use crate::arm::register::Register;
use crate::joint::{Joint, JointVec};
use crate::sim::tests::{IDS, bus};
use crate::sim::{Colour, Support, Truth};

/// Nothing that an arm does to a cube makes it faster, metres a second.
const FASTEST: f32 = 3.0;

fn is_sane(truth: &Truth) {
    assert!(
        truth.joints.is_finite() && truth.speeds.is_finite(),
        "{truth:?}"
    );
    for it in &truth.cubes {
        let at = it.cube.position;
        assert!(at.is_finite() && it.cube.orientation.is_finite(), "{it:?}");
        assert!(at.z > 0.3 * it.cube.edge, "through the table: {it:?}");
        assert!(it.velocity.length() < FASTEST, "{it:?}");
    }
}

/// Lets time pass and looks at every step of it.
fn watch(desk: &Desk, seconds: f32) {
    for _ in 0..(seconds * 250.0) as u32 {
        desk.rig.clock().advance(MOMENT);
        desk.rig.advance();
        is_sane(&desk.truth());
    }
}

/// Past the driver and its limits: all torque, all speed, straight there.
fn hurl(desk: &Desk, pose: JointVec) {
    let mut bus = bus(&desk.rig);
    let calibration = desk.rig.calibration();
    for (id, joint) in IDS.into_iter().zip(Joint::ALL) {
        for (register, value) in [
            (Register::TorqueLimit, 1000),
            (Register::Acceleration, 0),
            (Register::GoalVelocity, 0),
            (
                Register::GoalPosition,
                calibration.unnormalize(joint, pose[joint]).clamp(0, 4095),
            ),
        ] {
            bus.write(id, register, value).unwrap();
        }
    }
}

#[test]
fn a_cube_that_is_squeezed_with_all_strength_goes_nowhere() {
    for turn in [0.0, 0.4, 0.78] {
        let mut desk = Desk::new(&one_cube(0.22, 0.0, turn));
        let at = vec2(0.22, 0.0);
        desk.go(over(at.extend(0.075), 0.0, 0.025, OPEN), 2.0);
        desk.plumb(at, [0.075, 0.0125], 0.0, 0.025, OPEN);
        let mut shut = over(at.extend(0.0125), 0.0, 0.025, SHUT);
        shut[Joint::Gripper] = 0.0;
        hurl(&desk, shut);
        watch(&desk, 3.0);
        let moved = (desk.cube().cube.position.truncate() - at).length();
        assert!(moved < 0.06, "{moved}");
    }
}

#[test]
fn a_cube_that_is_pressed_into_the_table_stays_on_it() {
    let mut desk = Desk::new(&one_cube(0.22, 0.0, 0.2));
    desk.go(over(vec2(0.22, 0.0).extend(0.08), 0.0, 0.025, SHUT), 2.0);
    hurl(&desk, over(vec2(0.22, 0.0).extend(-0.02), 0.0, 0.025, SHUT));
    watch(&desk, 2.0);
    hurl(&desk, JointVec([0.0, 60.0, 60.0, 40.0, 0.0, 0.0]));
    watch(&desk, 2.0);
    hurl(&desk, JointVec([40.0, -40.0, 40.0, 40.0, 0.0, 60.0]));
    watch(&desk, 2.0);
    assert!(desk.cube().velocity.length() < 0.01);
}

#[test]
fn an_arm_that_sweeps_the_table_at_full_speed_launches_nothing() {
    let desk = Desk::new(&Layout {
        cubes: vec![
            spot(0.24, 0.05, 0.1, 0.025),
            spot(0.24, -0.05, 0.6, 0.02),
            spot(0.28, 0.0, 0.3, 0.03),
        ],
        trays: vec![(Colour::Blue, tray(0.22, 0.16))],
        ..Layout::default()
    });
    let low = |pan: f32| {
        let mut pose = over(vec2(0.24, 0.0).extend(0.02), 0.0, 0.025, 30.0);
        pose[Joint::ShoulderPan] = pan;
        pose
    };
    for pan in [-90.0, 90.0, -60.0, 0.0, 70.0] {
        hurl(&desk, low(pan));
        watch(&desk, 1.2);
    }
    for (k, wild) in [
        [100.0, 100.0, 90.0, 90.0, 150.0, 100.0],
        [-100.0, -90.0, -90.0, -90.0, -150.0, 0.0],
        [0.0, 90.0, -90.0, 90.0, 0.0, 100.0],
    ]
    .into_iter()
    .enumerate()
    {
        hurl(&desk, JointVec(wild));
        watch(&desk, 0.5 + 0.3 * k as f32);
    }
}

#[test]
fn cubes_that_are_laid_into_the_arm_and_into_each_other_come_apart_slowly() {
    let mut desk = Desk::new(&Layout::default());
    let at = vec2(0.22, 0.0);
    desk.go(over(at.extend(0.08), 0.0, 0.025, SHUT), 2.0);
    desk.plumb(at, [0.08, 0.012], 0.0, 0.025, SHUT);
    let inside = Layout {
        cubes: vec![
            spot(0.215, 0.0, 0.3, 0.03),
            spot(0.24, 0.0, 0.0, 0.03),
            spot(0.05, 0.0, 0.0, 0.03),
            spot(f32::NAN, 0.2, 0.0, f32::NAN),
        ],
        ..Layout::default()
    };
    desk.rig.lay(&inside, false);
    watch(&desk, 3.0);
    let truth = desk.truth();
    assert!(
        truth.cubes.iter().all(|it| it.velocity.length() < 0.02),
        "{truth:?}"
    );
}

#[test]
fn a_tower_of_three_stands() {
    let desk = Desk::new(&Layout {
        cubes: [0.03, 0.025, 0.02]
            .map(|edge| spot(0.25, 0.05, 10.0 * edge, edge))
            .to_vec(),
        ..Layout::default()
    });
    watch(&desk, 10.0);
    let top = desk.truth().cubes[2];
    assert_eq!(top.rests_on, Some(Support::Cube(1)));
    assert!(
        (top.cube.position - vec3(0.25, 0.05, 0.065)).length() < 0.0015,
        "{top:?}"
    );
}

#[test]
fn actions_that_are_no_numbers_move_nothing() {
    let mut desk = Desk::new(&one_cube(0.22, 0.06, 0.0));
    let before = desk.truth().joints;
    for _ in 0..30 {
        desk.tick(JointVec([f32::NAN; 6]));
        is_sane(&desk.truth());
    }
    assert!(desk.truth().joints.max_abs_diff(before) < 1.0);
}
