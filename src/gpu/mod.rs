//! gpu

pub mod shaders;
