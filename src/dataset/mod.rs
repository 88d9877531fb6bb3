//! Data sets as LeRobot keeps them: what was sensed and done at each tick, recorded so that it is never lost, and read again.
//!
//! Written is LeRobot's data set format v3.0, read v3.0 and v2.1. An episode is journalled while it runs and becomes part of the data set in
//! one step, so that a killed program loses nothing that was said to be saved.

mod error;
mod plan;
mod step;
pub mod video;
mod view;

pub use error::Error;
pub use plan::{CameraShape, Codec, Plan};
pub use step::{Driver, Outcome, Provenance, Step};
pub use view::{Disk as DiskView, Interrupted, RecorderView, Running, Saving};
