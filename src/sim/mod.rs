//! The pretend rig: servos that speak packets, cameras that draw the scene, and the table before them.

mod arm;
mod bus;
#[cfg(test)]
mod driver_tests;
mod faults;
mod servo;
mod wire;

pub use arm::SimArm;
pub use bus::WriteRecord;
pub use faults::{Distortion, Fault, UnknownFault};
