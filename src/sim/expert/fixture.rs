//! A truth made by hand from a layout, for tests that need no physics.

use glam::{Quat, Vec3};

use crate::scene::Cube;
use crate::sim::expert::plan::HOME;
use crate::sim::{CubeTruth, Layout, Support, Truth};

/// The table just after it was laid, with the arm at home.
pub fn truth_of(layout: &Layout) -> Truth {
    let cubes = layout.cubes.iter().map(|spot| CubeTruth {
        colour: spot.colour,
        cube: Cube {
            position: spot.position.extend(0.5 * spot.edge),
            orientation: Quat::from_rotation_z(spot.turn),
            edge: spot.edge,
            color: spot.colour.rgb(),
        },
        velocity: Vec3::ZERO,
        spin: Vec3::ZERO,
        jaws: [0.0; 2],
        is_touched: false,
        rests_on: Some(Support::Table),
        is_dragged: false,
    });
    Truth {
        joints: HOME,
        cubes: cubes.collect(),
        trays: layout.trays.clone(),
        marks: layout.marks.clone(),
        ..Truth::default()
    }
}
