//! The control core and its threads: who drives the arm, what is queued, when the policy is asked, and what went wrong.

mod binding;
mod bound;
mod cameras;
mod command;
mod core;
mod estop;
mod fault;
mod fault_book;
mod history;
mod knobs;
mod latency;
mod merge;
mod pace;
mod queue;
mod request;
mod settings;
mod snapshot;
mod supervisor;

pub use command::{Command, Knob};
pub use estop::EStop;
pub use fault::{Fault, FaultKind};
pub use knobs::{Aggregate, Knobs, RtcKnobs, Scheduling};
pub use settings::{CameraChoice, Settings, SettingsError, Theme};
pub use snapshot::{
    CameraStatus, CameraView, ChunkView, Connection, Delay, Latencies, Mode, Percentiles,
    PolicyStatus, QueueView, Sample, Snapshot, Stopped, ViewBinding,
};
pub use supervisor::Patience;
