//! What touches what, told from the contacts that the engine solved in its latest step.

use rapier3d::prelude::*;

use super::tag::Tag;
use super::things::CubeBody;
use crate::sim::truth::Support;

/// What is carried stands on a contact that leans no more than this: the vertical share of its direction.
const UPRIGHT: f32 = 0.7;

/// What a cube feels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touch {
    /// Newtons from the fixed and the moving jaw.
    pub jaws: [f32; 2],
    pub is_touched: bool,
    pub rests_on: Option<Support>,
}

/// What touches this cube now.
pub fn touch(world: &PhysicsWorld, cube: &CubeBody, dt_s: f32) -> Touch {
    let mut touch = Touch::default();
    let mut most = 0.0;
    for pair in world.contact_pairs_with(cube.collider) {
        let force = pair.total_impulse_magnitude() / dt_s;
        if force <= 0.0 {
            continue;
        }
        let is_first = pair.collider1 == cube.collider;
        let other = if is_first {
            pair.collider2
        } else {
            pair.collider1
        };
        let Some(tag) = world.colliders.get(other).map(|it| Tag::of(it.user_data)) else {
            continue;
        };
        touch.is_touched |= tag.is_arm();
        let support = match tag {
            Tag::FixedJaw => {
                touch.jaws[0] += force;
                None
            }
            Tag::MovingJaw => {
                touch.jaws[1] += force;
                None
            }
            Tag::Arm => None,
            Tag::Table => Some(Support::Table),
            Tag::Tray(tray) => Some(Support::Tray(tray)),
            Tag::Cube(below) => Some(Support::Cube(below)),
        };
        // The normal points out of the first shape: upwards force on the cube if the cube is the second.
        let up = pair.total_impulse().z / dt_s * if is_first { -1.0 } else { 1.0 };
        if support.is_some() && up > UPRIGHT * force && up > most {
            most = up;
            touch.rests_on = support;
        }
    }
    touch
}
