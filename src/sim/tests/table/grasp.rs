//! Taking hold, carrying and letting go.

use glam::vec2;

use super::{Desk, MOMENT, OPEN, SHUT, bits, one_cube, over, spot, tray};
use crate::arm::Grip;
use crate::joint::Joint;
use crate::sim::{Colour, Layout, Support};

#[test]
fn a_cube_between_the_pads_is_lifted_and_stays_there() {
    let mut desk = Desk::new(&one_cube(0.22, 0.06, 0.3));
    assert_eq!(desk.cube().rests_on, Some(Support::Table));
    desk.pick();
    let held = desk.cube();
    assert!(held.cube.position.z > 0.08, "{held:?}");
    assert!(matches!(desk.arm.grip(), Grip::Holding(_)));
    for _ in 0..60 {
        desk.tick(desk.goal);
        let cube = desk.cube();
        assert!(cube.jaws.iter().all(|force| *force > 0.5), "{cube:?}");
        assert!((cube.cube.position - held.cube.position).length() < 0.003);
        assert_eq!((cube.rests_on, cube.is_touched), (None, true));
    }
}

#[test]
fn jaws_that_close_beside_a_cube_take_nothing() {
    let mut desk = Desk::new(&one_cube(0.22, 0.06, 0.0));
    let beside = vec2(0.22, -0.01);
    desk.go(over(beside.extend(0.075), 0.0, 0.025, OPEN), 2.0);
    desk.plumb(beside, [0.075, 0.014], 0.0, 0.025, OPEN);
    desk.jaws(SHUT, 0.8);
    desk.plumb(beside, [0.014, 0.1], 0.0, 0.025, SHUT);
    let cube = desk.cube();
    assert!((cube.cube.position.truncate() - vec2(0.22, 0.06)).length() < 0.001);
    assert_eq!((cube.jaws, cube.is_touched), ([0.0; 2], false));
    assert!(desk.arm.grip() == Grip::Free && desk.truth().joints[Joint::Gripper] < 3.0);
}

#[test]
fn a_cube_that_is_let_go_above_a_tray_comes_to_rest_in_it() {
    let mut desk = Desk::new(&Layout {
        trays: vec![(Colour::Blue, tray(0.24, -0.1))],
        ..one_cube(0.2, 0.08, 0.0)
    });
    desk.pick();
    desk.go(over(vec2(0.24, -0.1).extend(0.09), 0.0, 0.025, SHUT), 2.5);
    assert!(desk.cube().cube.position.z > 0.05);
    desk.jaws(OPEN, 0.5);
    desk.wait(1.0);
    let cube = desk.cube();
    assert_eq!(cube.rests_on, Some(Support::Tray(0)), "{cube:?}");
    assert!((cube.cube.position.z - 0.0155).abs() < 0.001);
    assert!(
        (cube.cube.position.truncate() - vec2(0.24, -0.1))
            .abs()
            .max_element()
            < 0.034
    );
    assert!(cube.velocity.length() < 0.005);
}

#[test]
fn a_cube_is_stacked_on_another() {
    let mut desk = Desk::new(&Layout {
        cubes: vec![spot(0.2, 0.07, 0.0, 0.025), spot(0.24, -0.05, 0.0, 0.030)],
        ..Layout::default()
    });
    desk.pick();
    let on = vec2(0.24, -0.05);
    desk.go(over(on.extend(0.08), 0.0, 0.025, SHUT), 2.5);
    let held = desk.cube().cube.position;
    let off = held.truncate() - on;
    desk.plumb(on - off, [0.08, 0.045], 0.0, 0.025, SHUT);
    desk.jaws(OPEN, 0.6);
    desk.plumb(on - off, [0.045, 0.09], 0.0, 0.025, OPEN);
    desk.wait(1.0);
    let cube = desk.cube();
    assert_eq!(cube.rests_on, Some(Support::Cube(1)), "{cube:?}");
    assert!((cube.cube.position.z - 0.0425).abs() < 0.001);
}

#[test]
fn a_cube_that_is_pushed_slides_and_comes_to_rest() {
    let mut desk = Desk::new(&one_cube(0.24, 0.0, 0.0));
    let low = |y: f32| over(vec2(0.24, y).extend(0.02), 0.0, 0.025, SHUT);
    desk.go(over(vec2(0.24, 0.08).extend(0.08), 0.0, 0.025, SHUT), 2.0);
    desk.plumb(vec2(0.24, 0.08), [0.08, 0.02], 0.0, 0.025, SHUT);
    desk.go(low(-0.02), 2.0);
    assert!(desk.cube().is_touched);
    desk.go(low(0.06), 1.0);
    desk.wait(0.5);
    let cube = desk.cube();
    assert!(cube.cube.position.y < -0.01, "{cube:?}");
    assert!(cube.velocity.length() < 0.002 && cube.spin.length() < 0.05);
    assert!((cube.cube.position.z - 0.0125).abs() < 0.0005);
    assert_eq!(
        (cube.is_touched, cube.rests_on),
        (false, Some(Support::Table))
    );
}

#[test]
fn the_same_inputs_give_the_same_world_bit_by_bit() {
    let run = || {
        let mut desk = Desk::new(&Layout {
            trays: vec![(Colour::Blue, tray(0.24, -0.1))],
            cubes: vec![spot(0.2, 0.07, 0.2, 0.025), spot(0.2, 0.1, 0.4, 0.02)],
            ..Layout::default()
        });
        desk.pick();
        desk.jaws(OPEN, 0.3);
        desk.rig.clock().advance(MOMENT);
        desk.rig.advance();
        (bits(&desk.truth()), desk.truth().at)
    };
    assert_eq!(run(), run());
}
