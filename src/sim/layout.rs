//! What is to lie on the table and where, as plain data: a task writes it down, the world sets it up.

use glam::Vec2;

use crate::scene::{Mark, Tray};
use crate::sim::Colour;

/// Where a cube is put down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubeSpot {
    pub colour: Colour,
    /// Edge length, metres.
    pub edge: f32,
    /// Of its middle, metres in the base frame.
    pub position: Vec2,
    /// About +Z, radians.
    pub turn: f32,
}

/// A table and all that is on it. A cube whose place is taken by a tray or by a cube before it in the list stands on that.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    pub cubes: Vec<CubeSpot>,
    pub trays: Vec<(Colour, Tray)>,
    pub marks: Vec<(Colour, Mark)>,
}
