//! Data sets as LeRobot keeps them: what was sensed and done at each tick, recorded so that it is never lost, and read again.
//!
//! Written is LeRobot's data set format v3.0, read v3.0 and v2.1. An episode is journalled while it runs and becomes part of the data set in
//! one step, so that a killed program loses nothing that was said to be saved.

pub mod check;
pub mod disk;
pub mod edit;
mod error;
pub mod export;
pub mod hub;
mod journal;
pub mod lock;
mod plan;
pub mod read;
mod recorder;
pub mod save;
pub mod schema;
pub mod stats;
mod step;
pub mod table;
pub mod video;
mod view;

pub use disk::{Disk, Failure};
pub use error::Error;
pub use journal::left_in;
pub use plan::{CameraShape, Codec, Plan};
pub use read::Dataset;
pub use recorder::Recorder;
pub use step::{Driver, Outcome, Provenance, Step};
pub use view::{Disk as DiskView, Interrupted, RecorderView, Running, Saving};
