//! The pretend rig: servos that speak packets, cameras that draw the scene, and the table before them.

mod arm;
mod bus;
mod faults;
mod servo;
#[cfg(test)]
mod tests;
mod wire;

pub use arm::SimArm;
pub use bus::WriteRecord;
pub use faults::{Distortion, Fault, UnknownFault};
