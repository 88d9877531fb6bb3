//! The simulated rig as the runtime passes it through: what the window shows of it, and what can be asked of it.

use std::fmt;
use std::time::Duration;

use crate::latest::Latest;

/// The name under which the rig's scripted expert is asked for in the place of a policy.
pub const EXPERT: &str = "expert";

/// What the operator can ask of the rig.
#[derive(Clone, Debug, PartialEq)]
pub enum RigOrder {
    /// Lay the table anew: as it was, or, with a seed, as that seed lays it.
    Reset { seed: Option<u64> },
    /// Lay the table for this task and make it the task in force.
    Lay { task: String },
    /// The task in force, told by the runtime itself whenever it changes: the referee judges by it.
    Judge { task: String },
    /// Let time pass at this rate, 1 is life's: on the rig, and for the runtime that flies it. Done by the runtime itself.
    Speed(f32),
    /// Lay the table anew, with the next seed, a moment after each success.
    Repeat(bool),
    /// A hand holds this cube above this place of the table, metres in the base frame.
    Drag { cube: usize, x: f32, y: f32 },
    /// The hand lets go of it.
    LetGo { cube: usize },
}

impl fmt::Display for RigOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reset { .. } | Self::Lay { .. } => "another table",
            Self::Judge { .. } => "a verdict",
            Self::Speed(_) => "slow motion",
            Self::Repeat(_) => "a table that is laid anew by itself",
            Self::Drag { .. } | Self::LetGo { .. } => "another place for a cube",
        })
    }
}

/// How the rig is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RigView {
    pub seed: u64,
    /// How often the table was laid.
    pub laid: u64,
    /// The rate at which time passes.
    pub speed: f32,
    /// The tasks that this rig can lay a table for, in words.
    pub tasks: Vec<String>,
    /// The sentences that its referee understands, with … where a colour stands.
    pub sentences: Vec<String>,
    /// What the task in force is taken for; `None` where no referee understands it.
    pub task: Option<String>,
    /// Why the task in force cannot be done on this table.
    pub obstacle: Option<String>,
    /// How far the task is, 0 to 1.
    pub progress: f32,
    /// In words, for example "carried to the box".
    pub stage: String,
    /// Done, since this moment of the runtime's clock.
    pub done_since: Option<Duration>,
    /// Since the table was laid, or the task in force was chosen on it, until it was done; on the rig's clock.
    pub elapsed: Duration,
    /// The table is laid anew after each success.
    pub repeats: bool,
    /// How often the task in force was done, and tried, since it was chosen.
    pub successes: u32,
    pub attempts: u32,
}

/// The way to the rig.
pub struct RigLink {
    pub view: Latest<RigView>,
    /// Never waits.
    pub order: Box<dyn FnMut(RigOrder) + Send>,
}

impl fmt::Debug for RigLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RigLink").finish_non_exhaustive()
    }
}
