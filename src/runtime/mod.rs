//! The control core and its threads: who drives the arm, what is queued, when the policy is asked, and what went wrong.

mod binding;
mod bound;
mod cameras;
mod command;
mod control_thread;
mod core;
mod estop;
mod fault;
mod fault_book;
mod health;
mod history;
mod knobs;
mod latency;
mod link;
mod merge;
mod pace;
mod policy_thread;
mod queue;
mod request;
mod running;
mod settings;
mod snapshot;
mod supervisor;

pub use binding::{guess as guess_views, same_view};
pub use command::{Command, Knob};
pub use control_thread::ResetScene;
pub use estop::EStop;
pub use fault::{Fault, FaultKind};
pub use health::{Health, JointHealth, Latched};
pub use knobs::{Aggregate, Knobs, RtcKnobs, Scheduling, WHOLE_CHUNK};
pub use link::Connector;
pub use policy_thread::PolicyLoader;
pub use running::{Runtime, Setup};
pub use settings::{Settings, SettingsError};
pub use snapshot::{
    CameraStatus, CameraView, ChunkView, Connection, Delay, Latencies, Mode, Percentiles,
    PolicyStatus, QueueView, Sample, Snapshot, Stopped, ViewBinding,
};
pub use supervisor::Patience;
