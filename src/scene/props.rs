//! The movable things on the table, as plain data.

use glam::{Quat, Vec3};

/// A coloured cube.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cube {
    /// Centre in the base frame, metres: +X forward, +Y left, +Z up.
    pub position: Vec3,
    pub orientation: Quat,
    /// Edge length, metres.
    pub edge: f32,
    /// Linear RGB, 0 to 1.
    pub color: [f32; 3],
}

/// What lies on the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Props {
    pub cubes: Vec<Cube>,
}
