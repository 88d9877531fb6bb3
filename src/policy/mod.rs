//! What turns an observation into a chunk of actions: the `Policy` trait and SmolVLA, its one local implementation.

mod architecture;
pub mod checkpoint;
pub mod config;
pub mod demo;
pub mod export;
pub mod geometry;
pub mod hub;
mod loader;
mod network;
mod noise;
pub mod processor;
mod progress;
pub mod rtc;
pub mod seeded;
pub mod self_test;
pub mod smolvla;
mod smolvla_policy;
pub mod statistics;
mod tensor_source;
pub mod tensor_table;
pub mod tokenizer;
mod vlm_files;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use architecture::{Architecture, ImageInput, NetworkInput, VisionArchitecture};
pub use loader::{DEMO, Inspected, fill, inspect, load};
pub use network::{Network, fitting};
pub use progress::{LoadProgress, LoadStage, StageClock};
pub use smolvla_policy::SmolVlaPolicy;
pub use tensor_source::{HostTensor, TensorSource};

use crate::observation::Observation;

/// A policy that answers an observation with a chunk of actions.
///
/// It lives on one thread: load, run and drop it there, because the tensors behind it must not change threads.
pub trait Policy {
    /// What the policy is and needs; fixed once loaded.
    fn spec(&self) -> &PolicySpec;

    /// Runs the network once and returns the whole chunk.
    ///
    /// # Errors
    /// A missing or wrong-sized input, or a device fault; the message names it.
    fn predict_action_chunk(
        &mut self,
        observation: &Observation,
        options: &PredictOptions,
    ) -> anyhow::Result<Prediction>;
}

/// What a loaded policy is and what it needs, for the checks before it may drive and for the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicySpec {
    /// Short name for people: directory name, hub id, or "untrained demo network".
    pub name: String,
    /// Feature keys of the declared cameras in the checkpoint's order, `observation.images.…`, after the rename map.
    pub views: Vec<String>,
    /// Width of `observation.state` before padding.
    pub state_dim: usize,
    /// Names of the state dimensions if the checkpoint tells, else empty.
    pub state_names: Vec<String>,
    /// Width of an action before padding.
    pub action_dim: usize,
    /// Width of the network's padded action space, 32.
    pub max_action_dim: usize,
    /// Actions in a chunk.
    pub chunk_size: usize,
    /// The checkpoint's own `n_action_steps`.
    pub n_action_steps: usize,
    /// The checkpoint's own number of Euler steps.
    pub num_steps: usize,
    /// Layers of the VLM that are used.
    pub vlm_layers: usize,
    /// Layers of the action expert.
    pub expert_layers: usize,
    /// Number of parameters that are loaded.
    pub parameters: u64,
    /// The device in words: adapter, backend.
    pub device: String,
    /// Why this device.
    pub device_why: String,
    /// Arithmetic, for example "f16, own kernels".
    pub precision: String,
    /// It plans with where things truly are on the simulated table, not with pictures: it never drives a real arm.
    #[serde(default)]
    pub plans_with_truth: bool,
    /// Things the operator should know: an untrained network, statistics from an old layout, and so on.
    pub warnings: Vec<String>,
}

/// Per-call choices of a prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictOptions {
    /// Euler steps, 1 to 50; `None` takes the checkpoint's.
    pub num_steps: Option<usize>,
    /// Where the starting noise comes from.
    pub noise: Noise,
    /// Real-time chunking: continue the previous chunk.
    pub rtc: Option<RtcGuidance>,
    /// Time from one action to the next: what is planned in seconds is spaced by it. A network was trained at one rate and
    /// ignores it.
    pub period: Duration,
}

impl Default for PredictOptions {
    fn default() -> Self {
        Self {
            num_steps: None,
            noise: Noise::Seed(0),
            rtc: None,
            period: Duration::from_nanos(1_000_000_000 / 30),
        }
    }
}

/// The starting noise `x_1` of the flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Noise {
    /// A seeded standard normal draw.
    Seed(u64),
    /// Given values, `[chunk_size * max_action_dim]`, row-major.
    Values(Vec<f32>),
}

/// How fast the guidance of real-time chunking fades along the overlap (LeRobot's `prefix_attention_schedule`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RtcSchedule {
    /// Only the steps already committed.
    Zeros,
    /// Full weight up to the horizon.
    Ones,
    /// Falls linearly from the delay to the horizon.
    #[default]
    Linear,
    /// Falls faster than linearly.
    Exp,
}

/// Real-time chunking: pull the new chunk towards the un-executed tail of the previous one.
#[derive(Clone, Debug, PartialEq)]
pub struct RtcGuidance {
    /// The tail in normalised space, `[steps][action_dim]`, first the action that is to be executed now.
    pub left_over: Vec<Vec<f32>>,
    /// Ticks expected until the new chunk arrives.
    pub inference_delay: usize,
    /// Steps that are guided at all.
    pub execution_horizon: usize,
    /// Upper bound of the guidance weight.
    pub max_guidance_weight: f32,
    /// Shape of the weights.
    pub schedule: RtcSchedule,
}

/// Wall time of one prediction by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageTimes {
    /// Images, tokens, normalisation.
    pub preprocess: Duration,
    /// SigLIP tower and connector, all cameras.
    pub vision: Duration,
    /// The VLM layers over the prefix.
    pub prefix: Duration,
    /// All Euler steps.
    pub denoise: Duration,
    /// From call to answer.
    pub total: Duration,
}

/// A predicted chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prediction {
    /// Robot units, `[chunk_size][action_dim]`.
    pub actions: Vec<Vec<f32>>,
    /// The network's normalised space, `[chunk_size][action_dim]`.
    pub actions_normalized: Vec<Vec<f32>>,
    /// Where the time went.
    pub times: StageTimes,
    /// What was odd about this call: a truncated task, a missing camera.
    pub warnings: Vec<String>,
}

/// Why a policy was not loaded, in words for the operator, and the choices if there is one to make.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// What is wrong, with which file or tensor, and the way out.
    pub why: String,
    /// Names of data sets whose statistics the checkpoint carries, when the operator must pick one.
    pub stats: Vec<String>,
}

/// What to load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadRequest {
    /// Checkpoint directory, hub id or `demo`.
    pub source: String,
    /// The data set whose statistics are to be used, if the operator picked one.
    pub stats: Option<String>,
}
