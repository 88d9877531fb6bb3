//! The things on the table, as plain data.

use glam::{Quat, Vec2, Vec3};

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

/// An open box that stands still on the table: a floor and four walls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tray {
    /// Middle of its foot on the table, metres.
    pub position: Vec2,
    /// About +Z, radians.
    pub turn: f32,
    /// Size of the floor between the walls, metres.
    pub inner: Vec2,
    /// Height of the walls above the table, metres.
    pub height: f32,
    /// Thickness of walls and floor, metres. A floor thicker than 5 mm gets no contact shadows.
    pub wall: f32,
    /// Of the walls; the floor is paler. Linear RGB, 0 to 1.
    pub color: [f32; 3],
}

/// A round mark painted on the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Its middle, metres.
    pub position: Vec2,
    /// Metres.
    pub radius: f32,
    /// Linear RGB, 0 to 1.
    pub color: [f32; 3],
}

/// What lies on the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Props {
    pub cubes: Vec<Cube>,
    pub trays: Vec<Tray>,
    /// The first eight are drawn.
    pub marks: Vec<Mark>,
}
