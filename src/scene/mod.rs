//! Draws the SO-101 and its table: one small renderer for the 3D panel and for the simulated cameras.

mod arm_model;
mod input;
mod look;
mod props;
mod solid;
mod view;

pub use input::{Ghost, Ribbon, SceneInput};
pub use look::{Look, MATERIAL_COUNT, Material, srgb};
pub use props::{Cube, Props};
pub use view::{Orbit, Preset, View};
