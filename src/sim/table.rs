//! The table in front of the pretend arm: where the cubes lie, and a grasp that is only good enough to carry one.
//!
//! Kinematic: a cube between closing jaws follows the gripper, and falls straight down when they open. Nothing is pushed.

use std::f32::consts::{FRAC_PI_2, PI};

use glam::{Affine3A, Quat, Vec3, vec2, vec3};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::joint::{Joint, JointVec};
use crate::kinematics::{Link, ToolTarget, forward, inverse, jaw_gap, radians_from_robot};
use crate::scene::{Cube, Props, srgb};

/// Edge of every cube, metres.
pub const CUBE_EDGE: f32 = 0.025;
/// Colours of the cubes (web colours): red, blue, green.
const COLOURS: [u32; 3] = [0xC8_372D, 0x2F_6FD0, 0x3C_9A4E];
/// Where cubes may lie: distance from the base origin (metres) and angle to either side (radians), all within reach.
const DISTANCES: (f32, f32) = (0.19, 0.30);
const ANGLE: f32 = 0.85;
/// Closest two cubes may lie, metres between their middles.
const APART: f32 = 0.060;
/// Tries to place one cube before the rule `APART` is dropped; never reached with three cubes on this table.
const TRIES: usize = 500;

/// The pads take this much of the gap between the bare finger tips, metres.
const PADS: f32 = 0.0105;
/// X of the fixed pad's face in the gripper link.
const FIXED_PAD: f32 = -0.0015;
/// How far a cube's middle may be from the middle between the pads to be caught: across the gap, sideways, along the fingers.
const CATCH: Vec3 = vec3(0.014, 0.011, 0.016);
/// A held cube is let go when the pads are this much farther apart than its edge, metres.
const LET_GO: f32 = 0.004;

/// The cubes and what the gripper holds.
#[derive(Clone, Debug)]
pub struct Table {
    seed: u64,
    cubes: Vec<Cube>,
    held: Option<Held>,
    /// Distance between the pads at the last step, metres.
    pads: f32,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    cube: usize,
    gripper_from_cube: Affine3A,
}

impl Table {
    /// Three cubes at places that depend on `seed` alone, each within reach of a grasp from above.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            cubes: placed(seed),
            held: None,
            pads: f32::INFINITY,
        }
    }

    /// What lies on the table, for the scene and the snapshot.
    pub fn props(&self) -> Props {
        Props {
            cubes: self.cubes.clone(),
            ..Props::default()
        }
    }

    /// Index of the cube in the gripper.
    pub fn held(&self) -> Option<usize> {
        self.held.map(|held| held.cube)
    }

    /// Puts every cube back where it began.
    pub fn reset(&mut self) {
        *self = Self::new(self.seed);
    }

    /// Puts a cube down at this place of the table, as a hand would, out of the gripper if need be. False if there is no such cube.
    pub fn move_cube(&mut self, index: usize, x: f32, y: f32) -> bool {
        if index >= self.cubes.len() || !(x.is_finite() && y.is_finite()) {
            return false;
        }
        if self.held() == Some(index) {
            self.held = None;
        }
        self.cubes[index].position.x = x;
        self.cubes[index].position.y = y;
        self.set_down(index);
        true
    }

    /// Follows the arm to these joint values (robot units): catches, carries and drops. True when a cube moved.
    pub fn follow(&mut self, joints: JointVec) -> bool {
        let angles = radians_from_robot(joints);
        let gripper = forward(angles).link(Link::Gripper);
        let pads = (jaw_gap(angles[Joint::Gripper.index()]) - PADS).max(0.0);
        let before = std::mem::replace(&mut self.pads, pads);
        let Some(held) = self.held else {
            self.held = self.caught(gripper, before, pads);
            return false;
        };
        let cube = &mut self.cubes[held.cube];
        if pads > cube.edge + LET_GO {
            self.held = None;
            self.set_down(held.cube);
            return true;
        }
        let (_, orientation, position) =
            (gripper * held.gripper_from_cube).to_scale_rotation_translation();
        let moved = cube.position.distance(position) > 1e-6;
        cube.position = position;
        cube.orientation = orientation;
        moved
    }

    /// The cube that jaws closing from `before` to `pads` take hold of.
    fn caught(&self, gripper: Affine3A, before: f32, pads: f32) -> Option<Held> {
        self.cubes.iter().enumerate().find_map(|(index, cube)| {
            let closing_on_it = before > cube.edge && pads <= cube.edge;
            let middle = vec3(FIXED_PAD + 0.5 * cube.edge, -0.0002, -0.0975);
            let base_from_cube =
                Affine3A::from_rotation_translation(cube.orientation, cube.position);
            let gripper_from_cube = gripper.inverse() * base_from_cube;
            let off = (Vec3::from(gripper_from_cube.translation) - middle).abs();
            (closing_on_it && off.cmple(CATCH).all()).then_some(Held {
                cube: index,
                gripper_from_cube,
            })
        })
    }

    /// Lets a cube fall flat, onto the table or onto a cube below it.
    fn set_down(&mut self, index: usize) {
        let cube = self.cubes[index];
        let below = self.cubes.iter().enumerate().filter(|&(other, under)| {
            let offset = (under.position - cube.position).truncate().abs();
            other != index && offset.max_element() < 0.5 * (under.edge + cube.edge)
        });
        let floor = below
            .map(|(_, under)| under.position.z + 0.5 * under.edge)
            .fold(0.0, f32::max);
        let ahead = cube.orientation * Vec3::X;
        let fallen = &mut self.cubes[index];
        fallen.position.z = floor + 0.5 * cube.edge;
        fallen.orientation = Quat::from_rotation_z(ahead.y.atan2(ahead.x));
    }
}

/// The cubes of one seed.
fn placed(seed: u64) -> Vec<Cube> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut cubes: Vec<Cube> = Vec::with_capacity(COLOURS.len());
    for hex in COLOURS {
        for attempt in 0..TRIES {
            let distance = rng.random_range(DISTANCES.0..DISTANCES.1);
            let angle = rng.random_range(-ANGLE..ANGLE);
            let turn = rng.random_range(0.0..FRAC_PI_2);
            let position = (distance * vec2(angle.cos(), angle.sin())).extend(0.5 * CUBE_EDGE);
            let reachable = inverse(&ToolTarget::pinch(position, FRAC_PI_2)).is_ok();
            let free = cubes.iter().all(|c| c.position.distance(position) > APART);
            if reachable && free || attempt + 1 == TRIES {
                cubes.push(Cube {
                    position,
                    orientation: Quat::from_rotation_z(turn - 0.25 * PI),
                    edge: CUBE_EDGE,
                    color: srgb(hex),
                });
                break;
            }
        }
    }
    cubes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinematics::robot_from_radians;

    #[test]
    fn cubes_lie_where_the_gripper_can_fetch_them_whatever_the_seed() {
        for seed in 0..200 {
            let props = Table::new(seed).props();
            assert_eq!(props.cubes.len(), 3);
            for (k, cube) in props.cubes.iter().enumerate() {
                assert!(inverse(&ToolTarget::pinch(cube.position, FRAC_PI_2)).is_ok());
                for other in &props.cubes[k + 1..] {
                    assert!(
                        cube.position.distance(other.position) > APART,
                        "seed {seed}"
                    );
                }
            }
        }
        assert_eq!(Table::new(7).props(), Table::new(7).props());
        assert_ne!(Table::new(7).props(), Table::new(8).props());
    }

    /// Joint values with the pinch point `above` metres over a place, jaws at this percentage.
    fn reach(x: f32, y: f32, above: f32, pitch: f32, open: f32) -> JointVec {
        let q = inverse(&ToolTarget::pinch(vec3(x, y, 0.0125 + above), pitch)).unwrap();
        let mut joints = robot_from_radians([q[0], q[1], q[2], q[3], q[4], 0.0]);
        joints[Joint::Gripper] = open;
        joints
    }

    #[test]
    fn a_cube_between_closing_jaws_is_carried_and_dropped() {
        let mut table = Table::new(3);
        table.move_cube(0, 0.22, 0.05);
        let (others, start) = (table.cubes[1..].to_vec(), table.cubes[0]);
        assert!(!table.follow(reach(0.22, 0.05, 0.0, FRAC_PI_2, 45.0)));
        table.follow(reach(0.22, 0.05, 0.0, FRAC_PI_2, 18.0));
        assert_eq!(table.held(), Some(0));
        assert!(table.follow(reach(0.26, -0.08, 0.06, 1.2, 18.0)));
        let carried = table.cubes[0].position;
        assert!(
            (carried - vec3(0.26, -0.08, 0.0725)).length() < 0.004,
            "{carried}"
        );
        assert!(table.follow(reach(0.26, -0.08, 0.06, 1.2, 60.0)));
        assert_eq!(table.held(), None);
        let dropped = table.cubes[0];
        assert_eq!(dropped.position.z, 0.5 * CUBE_EDGE);
        assert!((dropped.orientation * Vec3::Z).z > 0.9999, "lies flat");
        assert_eq!(table.cubes[1..], others);
        table.reset();
        assert_ne!(table.cubes[0].position, start.position);
        assert_eq!(table.props(), Table::new(3).props());
    }

    #[test]
    fn jaws_that_close_beside_a_cube_take_nothing() {
        let mut table = Table::new(3);
        table.move_cube(0, 0.22, 0.05);
        table.follow(reach(0.25, 0.05, 0.0, FRAC_PI_2, 45.0));
        table.follow(reach(0.25, 0.05, 0.0, FRAC_PI_2, 5.0));
        assert_eq!(table.held(), None);
        // Nor do jaws that were closed already and only pass by.
        table.follow(reach(0.22, 0.05, 0.0, FRAC_PI_2, 5.0));
        assert_eq!(table.held(), None);
    }

    #[test]
    fn a_cube_put_on_another_stands_on_it() {
        let mut table = Table::new(1);
        assert!(table.move_cube(0, 0.2, 0.0) && table.move_cube(1, 0.2, 0.005));
        assert_eq!(table.cubes[1].position.z, 1.5 * CUBE_EDGE);
        assert!(!table.move_cube(9, 0.2, 0.0));
        assert!(!table.move_cube(0, f32::NAN, 0.0));
    }
}
