//! A person who moves cubes, and tables that are laid anew.

use glam::{Vec2, vec2};

use super::{Desk, SHUT, one_cube, spot, tray};
use crate::clock::Clock;
use crate::joint::Joint;
use crate::sim::{Colour, Layout, SimArm, Support};

/// Limp, before this table.
fn limp(layout: &Layout) -> SimArm {
    SimArm::on_table(Clock::virtual_at_zero(), layout)
}

fn pass(rig: &SimArm, seconds: f32) {
    for _ in 0..(seconds * 60.0) as u32 {
        rig.clock()
            .advance(std::time::Duration::from_micros(16_667));
        rig.advance();
    }
}

fn place(rig: &SimArm, cube: usize) -> Vec2 {
    rig.truth().cubes[cube].cube.position.truncate()
}

#[test]
fn a_hand_carries_a_cube_and_sets_it_down_on_what_is_there() {
    let rig = limp(&Layout {
        cubes: vec![
            spot(0.25, 0.1, 0.3, 0.025),
            spot(0.25, -0.1, 0.0, 0.03),
            spot(0.31, 0.1, 0.0, 0.025),
        ],
        trays: vec![(Colour::Blue, tray(0.3, 0.2))],
        ..Layout::default()
    });
    for (to, on, height) in [
        (vec2(0.28, 0.0), Support::Table, 0.0125),
        (vec2(0.3, 0.2), Support::Tray(0), 0.0155),
        (vec2(0.25, -0.1), Support::Cube(1), 0.0425),
    ] {
        assert!(rig.drag(0, Some(to)));
        pass(&rig, 1.0);
        let held = rig.truth().cubes[0];
        assert!(held.is_dragged && held.rests_on.is_none());
        assert!(held.cube.position.z > 0.1 && place(&rig, 0).distance(to) < 0.002);
        assert!(rig.drag(0, None));
        pass(&rig, 1.2);
        let cube = rig.truth().cubes[0];
        assert!(
            !cube.is_dragged && cube.velocity.length() < 0.01,
            "{cube:?}"
        );
        assert_eq!(cube.rests_on, Some(on), "{cube:?}");
        assert!((cube.cube.position.z - height).abs() < 0.001, "{cube:?}");
        assert!(place(&rig, 0).distance(to) < 0.003);
    }
    assert!(
        place(&rig, 2).distance(vec2(0.31, 0.1)) < 0.001,
        "left alone"
    );
    assert!(!rig.drag(7, Some(vec2(0.2, 0.0))));
    assert!(!rig.drag(0, Some(vec2(f32::NAN, 0.0))));
}

#[test]
fn a_hand_takes_a_cube_out_of_the_gripper() {
    let mut desk = Desk::new(&one_cube(0.22, 0.06, 0.0));
    desk.pick();
    assert!(desk.rig.drag(0, Some(vec2(0.25, -0.12))));
    desk.wait(1.0);
    assert_eq!(desk.cube().jaws, [0.0; 2]);
    assert!(
        desk.truth().joints[Joint::Gripper] < 5.0,
        "closed on nothing"
    );
    desk.rig.drag(0, None);
    desk.wait(1.0);
    let cube = desk.cube();
    assert!((cube.cube.position.truncate() - vec2(0.25, -0.12)).length() < 0.003);
    assert_eq!(cube.rests_on, Some(Support::Table));
}

#[test]
fn a_table_is_laid_anew_without_touching_the_arm_or_with_it() {
    let mut desk = Desk::new(&one_cube(0.22, 0.06, 0.0));
    desk.pick();
    let before = desk.truth();
    let other = Layout {
        cubes: vec![spot(0.2, 0.0, 0.0, 0.02), spot(0.2, -0.1, 0.0, 0.03)],
        ..Layout::default()
    };
    desk.rig.lay(&other, false);
    let after = desk.truth();
    assert_eq!(after.laid, before.laid + 1);
    assert_eq!(after.cubes.len(), 2);
    assert!(after.joints.max_abs_diff(before.joints) < 1e-3);
    desk.wait(0.5);
    assert_eq!(desk.truth().cubes[1].rests_on, Some(Support::Table));

    desk.rig.lay(&other, true);
    let start = desk.rig.build().start;
    assert!(desk.truth().joints.max_abs_diff(start) < 0.2);
    desk.rig.clock().advance(std::time::Duration::from_secs(1));
    desk.rig.advance();
    let still = desk.truth().joints.max_abs_diff(start);
    assert!(still < 1.5, "it holds its pose: {still}");

    desk.rig.reset();
    assert_eq!(desk.truth().laid, after.laid + 2);
    assert!(!desk.rig.torque(Joint::ElbowFlex));
    assert_eq!(desk.truth().cubes.len(), 2);
    let joints = desk.truth().joints;
    assert!((joints[Joint::Gripper] - start[Joint::Gripper]).abs() < 0.2 && SHUT == 0.0);
}

#[test]
fn cubes_are_laid_in_trays_and_on_each_other() {
    let rig = limp(&Layout {
        cubes: vec![
            spot(0.25, 0.1, 0.3, 0.025),
            spot(0.2, -0.1, 0.0, 0.03),
            spot(0.2, -0.1, 0.0, 0.02),
        ],
        trays: vec![(Colour::Blue, tray(0.25, 0.1))],
        ..Layout::default()
    });
    pass(&rig, 0.5);
    let truth = rig.truth();
    let on: Vec<_> = truth.cubes.iter().map(|cube| cube.rests_on).collect();
    let expected = [Support::Tray(0), Support::Table, Support::Cube(1)];
    assert_eq!(on, expected.map(Some));
    assert!(
        truth
            .cubes
            .iter()
            .all(|cube| cube.velocity.length() < 0.005)
    );
    assert_eq!(truth.props().trays.len(), 1);
}
