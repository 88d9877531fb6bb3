//! Draws the SO-101 and its table: one small renderer for the 3D panel and for the simulated cameras.

mod props;

pub use props::{Cube, Props};
