//! The pretend rig: servos that speak packets, cameras that draw the scene, and the table before them.

mod arm;
mod build;
mod bus;
mod camera;
mod colour;
mod expert;
mod faults;
mod hand;
mod layout;
mod pty;
mod scenery;
mod script;
mod servo;
mod task;
#[cfg(test)]
mod tests;
mod truth;
mod wire;
mod world;

pub use arm::SimArm;
pub use build::{Build, Stage};
pub use bus::{Traffic, WriteRecord};
pub use camera::{
    CameraSettings, SimCameras, SimStudio, Viewpoint, front_view, top_view, wrist_view,
};
pub use colour::Colour;
pub use expert::{Demonstrator, Expert};
pub use faults::{Aim, Chance, Distortion, EVERY_SERVO, Fault, UnknownFault};
pub use hand::Gesture;
pub use layout::{CubeSpot, Layout};
pub use pty::{Pty, PtyError};
pub use scenery::{Play, Scenery};
pub use script::{Act, Plug, Script, ScriptError};
pub use task::{Referee, SENTENCES, Task, UnknownTask, Verdict};
pub use truth::{CubeTruth, Support, Truth};
