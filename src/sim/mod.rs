//! The pretend rig: servos that speak packets, cameras that draw the scene, and the table before them.

mod arm;
mod bus;
mod camera;
mod faults;
mod servo;
mod table;
#[cfg(test)]
mod tests;
mod wire;

pub use arm::SimArm;
pub use bus::WriteRecord;
pub use camera::{CameraSettings, SimCameras, front_view, wrist_view};
pub use faults::{Distortion, Fault, UnknownFault};
pub use table::{CUBE_EDGE, Table};
