//! What crosses the border of the control core in a tick: what came in, what is to be done, and how the arm took it.

use std::sync::Arc;
use std::time::Duration;

use crate::action::Action;
use crate::arm::Role;
use crate::dataset::RecorderView;
use crate::joint::{Joint, JointVec};
use crate::policy::LoadRequest;
use crate::runtime::core::{ArmFailure, ArmInput};
use crate::runtime::request::ChunkRequest;
use crate::runtime::supervisor::{Patience, PolicyReport, PolicyStart};
use crate::runtime::watchdog::Trip;
use crate::runtime::workshop::{Order, WorkshopView};
use crate::runtime::{
    ArmSource, CameraView, Command, Knobs, LabOrder, LabView, LeaderView, LibraryOrder,
    LibraryView, Punctuality, RigOrder, RigView, Sources, ViewBinding,
};
use crate::scene::Props;

/// What the core starts with.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Name of the rig or port.
    pub arm: String,
    /// The arms in use at the start.
    pub sources: Sources,
    pub knobs: Knobs,
    pub task: String,
    /// The policy to load at the start.
    pub policy: Option<LoadRequest>,
    /// What the operator bound in an earlier session.
    pub views: Vec<ViewBinding>,
    pub patience: Patience,
    /// Makes the policy's noise another one, repeatably.
    pub seed: u64,
}

/// How well the loop keeps its time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Periods that were missed since the start.
    pub late_ticks: u64,
    /// 99th percentiles of the time that a tick works, of how late it begins, and of what the bus takes of it.
    pub tick_p99: Duration,
    pub jitter_p99: Duration,
    pub bus_p99: Duration,
    /// While the policy is ready and not asked, and while it thinks.
    pub idle: Punctuality,
    pub thinking: Punctuality,
}

/// Everything that came in since the last tick.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub now: Duration,
    /// How often the emergency stop has been pressed.
    pub estop_presses: u64,
    /// The watchdog has frozen the arm because this tick was overdue.
    pub tripped: Option<Trip>,
    pub commands: Vec<Command>,
    pub arm: ArmInput,
    pub leader: Option<LeaderView>,
    pub policy: Vec<PolicyReport>,
    pub cameras: Vec<CameraView>,
    pub props: Arc<Props>,
    /// How the simulated rig is, while its arm is flown.
    pub rig: Option<Arc<RigView>>,
    pub lab: Option<Arc<LabView>>,
    pub library: Option<Arc<LibraryView>>,
    /// How the recorder is, if there is one.
    pub recorder: Option<Arc<RecorderView>>,
    /// What the workshop shows.
    pub workshop: Arc<WorkshopView>,
    pub pace: Pace,
}

/// What to do with the arm in this tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ArmOrder {
    /// Write nothing: writing a goal would energise a servo that is to stay limp, or load a bus that fails.
    #[default]
    Nothing,
    /// Go towards this pose as far as the limits allow in one tick.
    Send(Action),
    /// Goal = present position, read back.
    Freeze,
    /// Begin to switch torque on from the present pose.
    EnableTorque,
    /// Begin to let the arm down and to switch torque off.
    ReleaseTorque,
    /// Go on with the change of torque that was begun.
    Advance,
    /// Clear what this joint complained of.
    ClearAlarm(Joint),
    /// Give the connection up; only a full handshake brings it back.
    Disconnect,
}

/// What to do in this tick.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    pub arm: ArmOrder,
    /// Start a policy thread, leaving the one before it.
    pub start: Option<PolicyStart>,
    /// Leave the policy thread that is there; it ends by itself.
    pub leave_policy: bool,
    /// Ask the policy.
    pub request: Option<Box<ChunkRequest>>,
    /// Let time on the rig pass at this rate, before anything else is done.
    pub rate: Option<f32>,
    /// What the simulated rig is to do.
    pub rig: Vec<RigOrder>,
    pub lab: Vec<LabOrder>,
    pub library: Vec<LibraryOrder>,
    /// Let the arm in this role go and take this one, in their order.
    pub arms: Vec<(Role, Option<ArmSource>)>,
    /// What the workshop is to do, after that.
    pub orders: Vec<Order>,
    pub shutdown: bool,
}

/// How the arm took its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Settled {
    #[default]
    Nothing,
    /// What was sent after the limits.
    Sent(Action),
    /// Every joint with torque was read back to hold this pose; the limp ones by name.
    Frozen {
        pose: JointVec,
        limp: Vec<String>,
    },
    /// A change of torque is under way: the share that is done, 0 to 1.
    Going(f32),
    /// The servos hold this pose.
    Armed(JointVec),
    Released,
    Failed(ArmFailure),
}
