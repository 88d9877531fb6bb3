//! The control core and its threads: who drives the arm, what is queued, when the policy is asked, and what went wrong.

mod command;
mod fault;
mod knobs;
mod snapshot;

pub use command::{Command, Knob};
pub use fault::{Fault, FaultKind};
pub use knobs::{Aggregate, Knobs, RtcKnobs, Scheduling};
pub use snapshot::{
    CameraStatus, CameraView, ChunkView, Connection, Delay, Latencies, Mode, Percentiles,
    PolicyStatus, QueueView, Sample, Snapshot, Stopped, ViewBinding,
};
