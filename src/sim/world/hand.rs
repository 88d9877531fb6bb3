//! A person's hand that takes a cube: out of the gripper if need be, up and clear of everything, to the place that the mouse
//! points at, and gently down again.
//!
//! What a hand holds touches nothing: a cube that is dragged through an arm must not throw the arm about.

use glam::{Quat, Vec2, Vec3};
use rapier3d::prelude::*;

use super::frames::{quat, vec3, vector};
use super::things::Things;

/// How high above the table it carries a cube, metres.
const HEIGHT: f32 = 0.11;
/// Below this it only lifts, metres: it must be clear of the other cubes before it goes sideways.
const CLEAR: f32 = 0.06;
/// How fast it carries, and sets down, metres a second.
const CARRY: f32 = 0.8;
const LOWER: f32 = 0.25;
/// How fast it turns the cube upright, radians a second.
const UPRIGHT: f32 = 6.0;
/// Let go this close above what it is set down on, metres.
const GAP: f32 = 0.0003;
/// Above its place within this, metres.
const THERE: f32 = 0.001;
/// Farthest from the base that it goes, metres.
const FARTHEST: f32 = 0.6;

/// A hand that holds one cube.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    /// The place of the table above which it is to be.
    over: Vec2,
    /// It is setting it down.
    lowers: bool,
}

impl Things {
    /// Takes a cube to this place, or lets go of it with `None`. Whether there is such a cube to hold.
    pub fn drag(&mut self, world: &mut PhysicsWorld, index: usize, over: Option<Vec2>) -> bool {
        let Some(cube) = self.cubes.get_mut(index) else {
            return false;
        };
        match over {
            Some(over) if over.is_finite() => {
                let taken = cube.hand.is_none();
                cube.hand = Some(Hand {
                    over: over.clamp_length_max(FARTHEST),
                    lowers: false,
                });
                if taken {
                    touch(world, cube.body, cube.collider, false);
                }
                true
            }
            Some(_) => false,
            None => {
                if let Some(hand) = &mut cube.hand {
                    hand.lowers = true;
                }
                true
            }
        }
    }

    /// Moves the cubes that hands hold for one step.
    pub fn carry(&mut self, world: &mut PhysicsWorld, dt_s: f32) {
        for index in 0..self.cubes.len() {
            let Some(hand) = self.cubes[index].hand else {
                continue;
            };
            let half = 0.5 * self.cubes[index].spot.edge;
            let handle = self.cubes[index].body;
            let at = vec3(world.bodies[handle].translation());
            let is_over = at.truncate().distance(hand.over) < THERE;
            let lowers = hand.lowers && is_over;
            let goal = if lowers {
                let floor = self.floor_under(world, hand.over, half, Some(index));
                hand.over.extend(floor + half + GAP)
            } else if at.z < CLEAR {
                at.with_z(HEIGHT)
            } else {
                hand.over.extend(HEIGHT)
            };
            let speed = if lowers { LOWER } else { CARRY };
            let way = (goal - at).clamp_length_max(speed * dt_s);
            let is_down = lowers && goal.distance(at) < 0.5 * GAP;
            let body = &mut world.bodies[handle];
            body.set_linvel(vector(way / dt_s), true);
            body.set_angvel(vector(upright(quat(*body.rotation()), dt_s)), true);
            if is_down {
                body.set_linvel(Vector::ZERO, true);
                body.set_angvel(Vector::ZERO, true);
                let collider = self.cubes[index].collider;
                self.cubes[index].hand = None;
                touch(world, handle, collider, true);
            }
        }
    }
}

/// Lets a cube touch things and fall, or not.
fn touch(world: &mut PhysicsWorld, body: RigidBodyHandle, collider: ColliderHandle, can: bool) {
    let groups = if can {
        InteractionGroups::all()
    } else {
        InteractionGroups::none()
    };
    if let Some(collider) = world.colliders.get_mut(collider) {
        collider.set_collision_groups(groups);
    }
    if let Some(body) = world.bodies.get_mut(body) {
        body.set_gravity_scale(if can { 1.0 } else { 0.0 }, true);
    }
}

/// The spin that turns the face that looks up most all the way up.
fn upright(orientation: Quat, dt_s: f32) -> Vec3 {
    let faces = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| orientation * axis);
    let highest =
        faces
            .into_iter()
            .map(|face| face * face.z.signum())
            .fold(
                Vec3::NEG_Z,
                |best, face| if face.z > best.z { face } else { best },
            );
    let turn = Quat::from_rotation_arc(highest.normalize_or(Vec3::Z), Vec3::Z);
    turn.to_scaled_axis().clamp_length_max(UPRIGHT * dt_s) / dt_s
}
