//! The control core and its threads: who drives the arm, what is queued, when the policy is asked, and what went wrong.

mod answers;
mod arm_source;
mod bay;
mod binding;
mod bound;
mod cameras;
mod command;
mod control_thread;
mod core;
mod drive;
mod estop;
mod fault;
mod fault_book;
mod halt;
mod health;
mod history;
mod knobs;
mod lab_view;
mod latency;
mod latency_model;
mod leader;
mod library;
mod link;
mod merge;
mod pace;
mod policy_thread;
mod queue;
mod request;
mod rig;
mod running;
mod salvage;
mod session;
mod settings;
mod snapshot;
mod spread;
mod stepped;
mod supervisor;
mod watchdog;
pub mod workshop;

pub use arm_source::{ArmSource, ArmSupply, Sources};
pub use binding::{guess as guess_views, same_view};
pub use command::{Command, Knob};
pub use drive::{
    DEAD_MAN, Drive, FASTEST_GRIPPER, FASTEST_JOINT, FASTEST_TIP, FASTEST_TURN, Twist,
};
pub use estop::EStop;
pub use fault::{Fault, FaultKind};
pub use halt::{Halt, Halted};
pub use health::{Health, JointHealth, Latched};
pub use knobs::{Aggregate, Knobs, RtcKnobs, Scheduling, WHOLE_CHUNK};
pub use lab_view::{LabLine, LabLink, LabOrder, LabVerdict, LabView};
pub use latency::percentile;
pub use latency_model::LatencyModel;
pub use leader::{LeaderSetup, LeaderStatus, LeaderView};
pub use library::{
    EpisodeLine, EpisodeView, Finding, LibraryLink, LibraryOrder, LibraryView, ReplayPlan,
    ReplayView, Shelf,
};
pub use link::Connector;
pub use pace::Punctuality;
pub use policy_thread::PolicyLoader;
pub use rig::{EXPERT, RigLink, RigOrder, RigView};
pub use running::{Runtime, Setup};
pub use salvage::salvage;
pub use session::{RecordLink, RecordOrder, SessionOrder, SessionPhase, SessionPlan, SessionView};
pub use settings::{KeptArm, KeptArms, Settings, SettingsError};
pub use snapshot::{
    CameraStatus, CameraView, ChunkView, Connection, Delay, Latencies, Mode, Percentiles,
    PolicyStatus, QueueView, Sample, Snapshot, Stopped, ViewBinding,
};
pub use spread::Spread;
pub use stepped::Stepped;
pub use supervisor::Patience;
pub use watchdog::STALL;
