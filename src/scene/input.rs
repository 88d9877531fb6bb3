//! What one picture shows, as plain data: the arm, where the plan would bring it, the paths, and the cubes.

use glam::Vec3;

use crate::joint::JointVec;
use crate::scene::{Look, Props};

/// Everything that is in one picture. Colours are linear RGB, 0 to 1.
#[derive(Clone, Copy, Debug)]
pub struct SceneInput<'a> {
    /// The arm as it is, robot units.
    pub joints: JointVec,
    /// A translucent second arm.
    pub ghost: Option<Ghost>,
    pub ribbons: &'a [Ribbon],
    pub props: &'a Props,
    pub look: &'a Look,
}

/// The arm as it would stand at the end of a chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ghost {
    /// Robot units.
    pub joints: JointVec,
    pub color: [f32; 3],
    /// Opacity of its rim, 0 to 1; faces turned to the eye are fainter.
    pub opacity: f32,
}

/// A path in space, drawn as a soft band that faces the eye.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ribbon {
    /// Base frame, metres, in the order of time.
    pub points: Vec<Vec3>,
    pub color: [f32; 3],
    /// Width at full size, metres.
    pub width: f32,
    /// Share of the width at the first and at the last point; between them it changes evenly.
    pub taper: [f32; 2],
    /// Opacity at the first and at the last point, 0 to 1.
    pub opacity: [f32; 2],
}

impl Ribbon {
    /// A plan: full at its beginning, thin and faint where it is least certain.
    pub fn plan(points: Vec<Vec3>, color: [f32; 3], opacity: f32) -> Self {
        Self {
            points,
            color,
            width: 0.010,
            taper: [1.0, 0.35],
            opacity: [opacity, 0.35 * opacity],
        }
    }

    /// A path already flown: it fades towards its oldest point.
    pub fn trail(points: Vec<Vec3>, color: [f32; 3], opacity: f32) -> Self {
        Self {
            points,
            color,
            width: 0.007,
            taper: [0.1, 1.0],
            opacity: [0.0, opacity],
        }
    }
}
