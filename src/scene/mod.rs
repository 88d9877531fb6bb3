//! Draws the SO-101 and its table: one small renderer for the 3D panel and for the simulated cameras.

mod arm_model;
mod bench;
mod blocks;
mod canvas;
mod contact;
mod input;
mod layout;
mod look;
mod offscreen;
mod painter;
mod picking;
mod pipelines;
mod props;
mod raster;
mod renderer;
mod shading;
mod software;
mod solid;
mod tabletop;
mod view;

pub use canvas::Canvas;
pub use input::{Ghost, Ribbon, SceneInput};
pub use look::{Look, MATERIAL_COUNT, Material, srgb};
pub use offscreen::{Error, Offscreen};
pub use painter::Painter;
pub use picking::picked_cube;
pub use pipelines::Quality;
pub use props::{Cube, Mark, Props, Tray};
pub use renderer::{Cost, Renderer, TARGET_FORMAT};
pub use software::{Edges, Software};
pub use view::{Orbit, Preset, View};
