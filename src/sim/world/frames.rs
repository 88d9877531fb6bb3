//! The bridge between two copies of the same mathematics: the engine is built on another version of glam.

use glam::{Affine3A, Quat, Vec3};
use rapier3d::prelude::{Pose, Rotation, Vector};

/// A vector of the engine's.
pub fn vector(v: Vec3) -> Vector {
    Vector::new(v.x, v.y, v.z)
}

/// A vector of ours.
pub fn vec3(v: Vector) -> Vec3 {
    Vec3::new(v.x, v.y, v.z)
}

/// A rotation of the engine's.
pub fn rotation(q: Quat) -> Rotation {
    Rotation::from_xyzw(q.x, q.y, q.z, q.w)
}

/// A rotation of ours.
pub fn quat(q: Rotation) -> Quat {
    Quat::from_xyzw(q.x, q.y, q.z, q.w)
}

/// A rigid pose of the engine's; the transform must not scale.
pub fn pose(transform: &Affine3A) -> Pose {
    let (_, turn, at) = transform.to_scale_rotation_translation();
    Pose::from_parts(vector(at), rotation(turn.normalize()))
}
