//! What the robot is told to do: one action a tick, predicted in chunks.

use crate::clock::Tick;
use crate::joint::JointVec;

/// Goal positions of all joints for one tick, robot units.
pub type Action = JointVec;

/// A predicted chunk on its way to the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionChunk {
    /// The tick of the observation that this chunk answers; action k was meant for tick `observed_at + k`.
    pub observed_at: Tick,
    /// The reset count when it was asked for; a chunk of another generation is dropped.
    pub generation: u64,
    /// Robot units, one a step.
    pub actions: Vec<Action>,
    /// The same steps in the network's normalised space, `[steps][action_dim]`; what real-time chunking continues.
    pub normalized: Vec<Vec<f32>>,
}
