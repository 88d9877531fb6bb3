//! The immutable picture of the whole runtime that the control thread publishes once a tick; all a window ever reads.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::clock::Tick;
use crate::joint::JointVec;
use crate::observation::Frame;
use crate::policy::{LoadProgress, PolicySpec, StageTimes};
use crate::runtime::workshop::WorkshopView;
use crate::runtime::{
    Fault, Health, Knobs, LabView, LeaderView, LibraryView, Punctuality, ReplayView, RigView,
    SessionView, Sources,
};
use crate::scene::Props;

/// Who drives the arm. Exactly one does at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Nobody: the last commanded pose is held.
    #[default]
    Hold,
    /// The policy's queue.
    Policy,
    /// A person, by a leader arm.
    Teleop,
    /// A person, by joint or by the gripper's tip.
    Jog,
    /// Recorded actions.
    Replay,
}

impl Mode {
    /// A person drives.
    pub fn is_human(self) -> bool {
        matches!(self, Self::Teleop | Self::Jog)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hold => "HOLD",
            Self::Policy => "POLICY",
            Self::Teleop => "TELEOP",
            Self::Jog => "JOG",
            Self::Replay => "REPLAY",
        })
    }
}

/// Why the arm is latched.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// Who or what stopped it.
    pub by: String,
    /// Since when, on the runtime's clock.
    pub since: Duration,
    /// The bus confirmed by read-back that every goal equals the pose at the stop.
    pub acknowledged: bool,
}

/// The state of the arm's connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Connection {
    /// No arm yet.
    #[default]
    Absent,
    /// Being opened or reopened.
    Connecting,
    /// Answering. `torque` says whether the servos hold.
    Connected { torque: bool },
    /// Answering, but no calibration fits it; says which is missing or what differs. It cannot be driven.
    Uncalibrated(String),
    /// Lost, with the reason.
    Lost(String),
}

/// How the policy is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PolicyStatus {
    /// None chosen.
    #[default]
    Absent,
    /// On its way.
    Loading(LoadProgress),
    /// Can be asked. `busy` while a request is in flight.
    Ready { busy: bool },
    /// Refused; `stats` lists the choices when statistics must be picked by the operator.
    Refused { why: String, stats: Vec<String> },
    /// Errored, hung or died, with the reason; being restarted when `restarting`.
    Failed { why: String, restarting: bool },
}

/// Where a chunk lies in time and space, for plots and ribbons.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkView {
    /// The tick at which action 0 was meant to be executed.
    pub first_tick: Tick,
    /// When it arrived.
    pub arrived_at: Tick,
    /// The predicted actions, robot units.
    pub actions: Arc<[Action]>,
    /// Steps that were already past on arrival.
    pub skipped: usize,
    /// Largest joint step at the border between what was executed and what follows, robot units.
    pub seam: f32,
    /// Time by stage.
    pub times: StageTimes,
}

/// The action queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueView {
    /// What will be executed next, front first, robot units.
    pub upcoming: Arc<[Action]>,
    /// `len / actions_per_chunk`.
    pub fill: f32,
    /// A request is in flight since this tick.
    pub requested_at: Option<Tick>,
    /// The queue has been empty while the policy drives, since this moment.
    pub starved_since: Option<Duration>,
    /// Why it starves: slow device, filter, no policy, stale camera.
    pub starved_because: Option<String>,
    /// The bound `E[l] / (n Δt)` from the measured mean latency, and from its 95th percentile.
    pub g_min: Option<f32>,
    pub g_min_p95: Option<f32>,
    /// The latency is above half a chunk: no g keeps the plan fresh.
    pub no_g_keeps_fresh: bool,
}

/// One tick of history.
#[expect(
    clippy::struct_excessive_bools,
    reason = "marks of independent events at one tick"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    pub tick: Tick,
    pub at: Duration,
    pub measured: JointVec,
    pub commanded: JointVec,
    /// Who drove.
    pub mode: Mode,
    /// A person drove in place of the policy that they had taken over from.
    pub intervention: bool,
    /// Queue level after the tick, actions.
    pub queue: u32,
    /// `actions_per_chunk` and g at that tick, so that a turned knob shows on the time axis.
    pub actions_per_chunk: u32,
    pub threshold: f32,
    /// A request left at this tick.
    pub requested: bool,
    /// A chunk arrived at this tick.
    pub arrived: bool,
    /// The policy drove and its queue had run dry (the wait for the first chunk after a reset does not count).
    pub starved: bool,
    /// Largest joint step where a chunk was merged, robot units; 0 elsewhere.
    pub seam: f32,
    /// The operator turned a knob, changed the task or the mode.
    pub changed: bool,
}

/// Median and 95th percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    pub p50: Duration,
    pub p95: Duration,
}

/// Where the time from picture to action goes; warm-up excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latencies {
    /// How many chunks were measured.
    pub chunks: u64,
    /// Age of the newest used frame when the request left.
    pub capture: Percentiles,
    pub preprocess: Percentiles,
    pub vision: Percentiles,
    pub prefix: Percentiles,
    pub denoise: Percentiles,
    /// From arrival to the first executed action of the chunk.
    pub wait: Percentiles,
    /// From request to arrival.
    pub total: Percentiles,
}

/// How often things happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// Inference delay of the newest chunk in consumed actions.
    pub last: usize,
    /// A high percentile of it.
    pub p95: usize,
}

/// How a camera is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CameraStatus {
    #[default]
    Opening,
    Live,
    /// The newest frame is older than the limit.
    Stale,
    /// Gone, with the reason; being reopened.
    Lost(String),
}

/// One camera as the operator sees it.
#[derive(Clone, Debug)]
pub struct CameraView {
    /// The name given by the operator: front, wrist.
    pub name: String,
    /// What it is: device, image, simulated.
    pub source: String,
    pub frame: Option<Frame>,
    /// Age of the newest frame.
    pub age: Option<Duration>,
    /// Frames a second over the last second.
    pub rate_hz: f32,
    pub status: CameraStatus,
}

/// A view of the checkpoint and the camera that feeds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewBinding {
    pub view: String,
    pub camera: Option<String>,
}

/// Everything, at one tick.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The runtime's clock.
    pub now: Duration,
    pub tick: Tick,
    pub mode: Mode,
    /// Since when it drives, on the runtime's clock; a person who goes from teleoperation to jogging goes on driving.
    pub mode_since: Duration,
    /// Whom a person took over from; the next takeover gives back to them.
    pub interrupted: Option<Mode>,
    pub stopped: Option<Stopped>,
    /// Name of the rig or port.
    pub arm: String,
    /// The arms in use, by role.
    pub sources: Sources,
    /// The operator has chosen an arm in this session: worth remembering.
    pub arms_chosen: bool,
    pub connection: Connection,
    /// Joints whose servos have torque, as far as they were last asked. Where the arm is not armed, 0 means limp; anything
    /// else is an arm that holds in part, or that another program left holding.
    pub held_joints: usize,
    /// The arm was lost while its servos had torque: they do what they were told last, and no stop reaches them.
    pub left_holding: bool,
    /// Torque is being switched on, joint by joint: the share that is done, 0 to 1. A stop breaks it off.
    pub arming: Option<f32>,
    /// The arm is being let down before torque goes off: the share that is done, 0 to 1. A stop breaks it off.
    pub releasing: Option<f32>,
    /// The first target of the driver is far and is approached slowly: the share that is done, 0 to 1.
    pub approaching: Option<f32>,
    /// The arm folds itself up: the share that is done, 0 to 1. A stop or another mode breaks it off.
    pub parking: Option<f32>,
    /// The arm stands in its rest pose with torque on: letting it go drops it no more than a little.
    pub parked: bool,
    /// The leader arm, if one was named.
    pub leader: Option<LeaderView>,
    /// How the servos are.
    pub health: Health,
    /// Measured control rate.
    pub rate_hz: f32,
    pub late_ticks: u64,
    /// 99th percentile of the time that a tick works, since the start.
    pub tick_p99: Duration,
    /// 99th percentile of how long after its deadline a tick begins, since the start.
    pub jitter_p99: Duration,
    /// 99th percentile of the time that the bus takes in a tick, since the start.
    pub bus_p99: Duration,
    /// How punctual the loop was while the policy was ready and not asked, and while it was thinking.
    pub idle: Punctuality,
    pub thinking: Punctuality,
    /// Pose read from the servos, robot units.
    pub measured: JointVec,
    /// Pose last sent, robot units.
    pub commanded: JointVec,
    /// Goal of the operator in jog mode, robot units; the limits set the speed towards it.
    pub jog: JointVec,
    /// Why the gripper's tip does not go on where a hand pushes it.
    pub jog_obstacle: Option<String>,
    /// Lower and upper joint limits that the commands respect, robot units.
    pub limits: [JointVec; 2],
    pub knobs: Knobs,
    /// The knobs as the operator left them, before they were fitted to the policy; what is kept between sessions.
    pub wanted: Knobs,
    pub task: String,
    /// Resets so far.
    pub generation: u64,
    /// What `--policy` or the operator asked for.
    pub policy_source: String,
    pub policy: PolicyStatus,
    /// How often the policy was loaded anew after it erred, hung or died.
    pub policy_restarts: u64,
    /// What was odd about the newest chunk: a truncated task, a missing view.
    pub policy_warnings: Vec<String>,
    pub spec: Option<Arc<PolicySpec>>,
    pub queue: QueueView,
    /// Newest chunk and the one before it.
    pub chunk: Option<Arc<ChunkView>>,
    pub previous_chunk: Option<Arc<ChunkView>>,
    /// The last 20 seconds, oldest first.
    pub history: Arc<VecDeque<Sample>>,
    pub latency: Latencies,
    pub delay: Delay,
    pub cameras: Vec<CameraView>,
    pub views: Vec<ViewBinding>,
    pub faults: Vec<Fault>,
    /// Counters since the start.
    pub chunks: u64,
    /// Ticks in which the queue had run dry. The wait for the first chunk after a reset does not count; in sync mode the
    /// wait between chunks does.
    pub starved_ticks: u64,
    pub requests: u64,
    /// Requests that the similarity filter refused.
    pub filtered: u64,
    /// Chunks dropped because their generation was over.
    pub stale_chunks: u64,
    /// Bus packets lost and retried.
    pub bus_retries: u64,
    /// Largest joint step sent in one tick, robot units.
    pub max_step: f32,
    /// Things on the table that the simulated rig knows the place of.
    pub props: Arc<Props>,
    /// The simulated rig, while its arm is the one that is flown.
    pub rig: Option<Arc<RigView>>,
    /// What is measured beside the run, if there is a lab.
    pub lab: Option<Arc<LabView>>,
    /// What is recorded, if there is a recorder.
    pub session: Option<Arc<SessionView>>,
    /// The recorded actions that are gone through.
    pub replay: Option<ReplayView>,
    /// The data sets on disk, if there is a library.
    pub library: Option<Arc<LibraryView>>,
    /// Ports, who is on them, and what is being done there.
    pub workshop: Arc<WorkshopView>,
}
