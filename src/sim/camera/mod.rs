//! The pretend rig's cameras: where they look from, a studio that draws what they see, and the thread that does so for the window.

mod studio;
mod thread;
mod viewpoint;

pub use studio::SimStudio;
pub use thread::{CameraSettings, SimCameras};
pub use viewpoint::{Viewpoint, front_view, top_view, wrist_view};
