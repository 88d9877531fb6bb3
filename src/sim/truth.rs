//! What is truly so on the pretend table at one moment: what the referee judges by, the expert plans with, and cameras draw.
//! A policy never sees it.

use std::time::Duration;

use glam::Vec3;

use crate::joint::JointVec;
use crate::scene::{Cube, Mark, Props, Tray};
use crate::sim::Colour;

/// A cube, and how it moves and is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubeTruth {
    pub colour: Colour,
    pub cube: Cube,
    /// Metres a second.
    pub velocity: Vec3,
    /// Radians a second.
    pub spin: Vec3,
    /// Force with which the fixed and the moving jaw press on it, newtons.
    pub jaws: [f32; 2],
    /// Any part of the arm touches it.
    pub is_touched: bool,
    /// What carries it from below.
    pub rests_on: Option<Support>,
    /// A person's hand holds it.
    pub is_dragged: bool,
}

/// What carries a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    Table,
    /// The floor of the tray with this index.
    Tray(usize),
    /// The cube with this index.
    Cube(usize),
}

/// Everything at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// On the rig's clock.
    pub at: Duration,
    /// Where the joints truly are, robot units.
    pub joints: JointVec,
    /// Robot units a second.
    pub speeds: JointVec,
    pub cubes: Vec<CubeTruth>,
    /// With their colours.
    pub trays: Vec<(Colour, Tray)>,
    pub marks: Vec<(Colour, Mark)>,
    /// How often the table was laid anew: with another number the cubes are others.
    pub laid: u64,
}

impl Truth {
    /// What there is to draw.
    pub fn props(&self) -> Props {
        Props {
            cubes: self.cubes.iter().map(|cube| cube.cube).collect(),
            trays: self.trays.iter().map(|(_, tray)| *tray).collect(),
            marks: self.marks.iter().map(|(_, mark)| *mark).collect(),
        }
    }

    /// Index of the first cube of this colour.
    pub fn cube_of(&self, colour: Colour) -> Option<usize> {
        self.cubes.iter().position(|cube| cube.colour == colour)
    }
}
