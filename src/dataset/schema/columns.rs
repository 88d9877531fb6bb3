//! The columns beside LeRobot's own: who drove, with which knobs, and when each row was truly taken.
//!
//! Their names begin with `smolpilot.`: LeRobot would take what begins with `action` or `observation` for a policy's features.
//! It reads these as they are and gives them to no policy.

use super::{Dtype, Feature, Features};

/// What the names of these columns begin with.
pub const PREFIX: &str = "smolpilot.";

/// Who drove: 0 nobody, 1 policy, 2 teleop, 3 jog, 4 replay.
pub const DRIVER: &str = "smolpilot.driver";
/// 1 where a person drove in place of the policy that they had taken over from.
pub const INTERVENTION: &str = "smolpilot.intervention";
/// 0 sync, 1 async, 2 real-time chunking.
pub const SCHEDULING: &str = "smolpilot.scheduling";
/// g, the queue level below which a chunk is asked for.
pub const CHUNK_SIZE_THRESHOLD: &str = "smolpilot.chunk_size_threshold";
pub const N_ACTION_STEPS: &str = "smolpilot.n_action_steps";
pub const ACTIONS_PER_CHUNK: &str = "smolpilot.actions_per_chunk";
/// The merge function, by its number in the order of the command line's list.
pub const AGGREGATE: &str = "smolpilot.aggregate";
/// Actions in the queue after the tick.
pub const QUEUE: &str = "smolpilot.queue";
/// From request to arrival of the newest chunk, seconds; 0 before the first.
pub const LATENCY: &str = "smolpilot.latency_s";
/// How the episode went, the same in each of its rows: 0 unmarked, 1 success, 2 failure.
pub const OUTCOME: &str = "smolpilot.outcome";
/// Nanoseconds since the episode began.
pub const CAPTURE_TIME: &str = "smolpilot.capture_time_ns";
/// Bit 0: the row fills an instant that nothing could be taken at. Bit i + 1: camera i shows the picture of the row before.
pub const REPEATED: &str = "smolpilot.repeated";
/// The newest chunk, action after action, robot units; its last action fills what it lacks.
pub const PREDICTED_CHUNK: &str = "smolpilot.predicted_chunk";
/// Actions of the chunk that were predicted; 0 without one.
pub const PREDICTED_STEPS: &str = "smolpilot.predicted_steps";
/// How many ticks before the row the chunk's first action was meant.
pub const PREDICTED_AGE: &str = "smolpilot.predicted_age";

/// LeRobot's own.
pub const ACTION: &str = "action";
pub const STATE: &str = "observation.state";
pub const TIMESTAMP: &str = "timestamp";
pub const FRAME_INDEX: &str = "frame_index";
pub const EPISODE_INDEX: &str = "episode_index";
pub const INDEX: &str = "index";
pub const TASK_INDEX: &str = "task_index";

/// Adds the columns of provenance, with the predicted chunk where `chunk` says how many actions of it are kept.
pub fn add_provenance(features: &mut Features, chunk: Option<usize>, width: usize) {
    let scalars = [
        (DRIVER, Dtype::Int64),
        (INTERVENTION, Dtype::Int64),
        (SCHEDULING, Dtype::Int64),
        (CHUNK_SIZE_THRESHOLD, Dtype::Float32),
        (N_ACTION_STEPS, Dtype::Int64),
        (ACTIONS_PER_CHUNK, Dtype::Int64),
        (AGGREGATE, Dtype::Int64),
        (QUEUE, Dtype::Int64),
        (LATENCY, Dtype::Float32),
        (OUTCOME, Dtype::Int64),
        (CAPTURE_TIME, Dtype::Int64),
        (REPEATED, Dtype::Int64),
    ];
    for (name, dtype) in scalars {
        features.push(name, Feature::scalar(dtype));
    }
    if let Some(steps) = chunk {
        let chunk = Feature::vector(Dtype::Float32, steps * width, None);
        features.push(PREDICTED_CHUNK, chunk);
        features.push(PREDICTED_STEPS, Feature::scalar(Dtype::Int64));
        features.push(PREDICTED_AGE, Feature::scalar(Dtype::Int64));
    }
}

/// Adds the columns that every data set of LeRobot has.
pub fn add_defaults(features: &mut Features) {
    features.push(TIMESTAMP, Feature::scalar(Dtype::Float32));
    for name in [FRAME_INDEX, EPISODE_INDEX, INDEX, TASK_INDEX] {
        features.push(name, Feature::scalar(Dtype::Int64));
    }
}
