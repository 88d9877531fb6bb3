//! The pretend rig: servos that speak packets, cameras that draw the scene, and the table before them.

mod camera;
mod table;

pub use camera::{CameraSettings, SimCameras, front_view, wrist_view};
pub use table::{CUBE_EDGE, Table};
