//! One row of an episode on its way to the recorder.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::joint::JointVec;
use crate::observation::Frame;

/// What was sensed and done at one instant of the grid of `fps`.
#[derive(Clone, Debug)]
pub struct Step {
    /// When, on the runtime's clock.
    pub at: Duration,
    /// Pose read from the servos, robot units.
    pub state: JointVec,
    /// Goal that was sent after the limits, robot units.
    pub action: Action,
    /// The newest picture of each camera, in the plan's order; `None` while a camera has shown nothing yet.
    pub frames: Vec<Option<Frame>>,
    /// The task in words at this instant.
    pub task: Arc<str>,
    pub provenance: Provenance,
    /// Instants of the grid since the step before that nothing could be taken at. The recorder fills them with the step before
    /// and counts them, so that rows and pictures never drift apart.
    pub missed: u32,
}

/// Who drove, and with what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    pub driver: Driver,
    /// A person drove in place of the policy that they had taken over from.
    pub intervention: bool,
    /// Sync, async or RTC, by its number: 0, 1, 2.
    pub scheduling: u8,
    /// g, the queue level below which a chunk is asked for.
    pub chunk_size_threshold: f32,
    pub n_action_steps: u32,
    pub actions_per_chunk: u32,
    /// The merge function, by its number in the order of the command line's list.
    pub aggregate: u8,
    /// Actions in the queue after this tick.
    pub queue: u32,
    /// From request to arrival of the newest chunk, seconds; 0 before the first.
    pub latency_s: f32,
    /// The newest chunk, robot units, and how many ticks ago its first action was meant; empty without one.
    pub chunk: Arc<[Action]>,
    pub chunk_age: u32,
}

/// Who drove, as a column keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    #[default]
    Nobody,
    Policy,
    Teleop,
    Jog,
    Replay,
}

/// How an episode went, as the operator or the referee says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    #[default]
    Unmarked,
    Success,
    Failure,
}
