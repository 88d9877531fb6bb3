//! The control core: everything the runtime decides, as a state machine without threads, devices or clocks.
//!
//! One control period is [`Control::tick`], which says what to do, then [`Control::settle`], which hears how that went and
//! gives the picture of the tick. Between the two, the control thread applies the limits and talks to the arm.

mod approach;
mod arm_input;
mod arms;
mod commands;
mod goal;
mod health;
mod jog;
mod lead;
mod park;
mod plan;
mod publish;
mod rig;
mod sense;
mod stall;
mod teleop;
mod tip;

#[cfg(test)]
mod bench;
#[cfg(test)]
mod curves;
#[cfg(test)]
mod mishaps;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod torque;

use std::sync::Arc;
use std::time::Duration;

pub use self::arm_input::{ArmFailure, ArmInput, ArmState};
use self::health::HealthWatch;
use self::sense::LateWatch;
use crate::action::Action;
use crate::arm::{Clearance, Role};
use crate::clock::Tick;
use crate::joint::{Joint, JointVec};
use crate::policy::LoadRequest;
use crate::runtime::bound::Bound;
use crate::runtime::core::approach::Approach;
use crate::runtime::core::jog::Jog;
use crate::runtime::core::park::Parking;
use crate::runtime::core::rig::Rig;
use crate::runtime::core::stall::Stall;
use crate::runtime::core::teleop::Teleop;
use crate::runtime::fault_book::{FaultBook, words};
use crate::runtime::history::History;
use crate::runtime::latency::{LatencyMeter, Window};
use crate::runtime::policy_thread::WarmUp;
use crate::runtime::queue::ActionQueue;
use crate::runtime::request::{ChunkRequest, SimilarityFilter};
use crate::runtime::supervisor::{Patience, PolicyReport, PolicyStart, Supervisor};
use crate::runtime::watchdog::Trip;
use crate::runtime::workshop::{Order, WorkshopView};
use crate::runtime::{
    ArmSource, CameraView, ChunkView, Command, Connection, FaultKind, Knobs, LabOrder, LabView,
    LeaderView, LibraryOrder, LibraryView, Mode, PolicyStatus, Punctuality, RigOrder, RigView,
    Sample, Snapshot, Sources, Stopped, ViewBinding,
};
use crate::scene::Props;

/// Failed ticks in a row after which the run ends: nobody drives until the operator says so again.
pub const LOST_AFTER: u32 = 3;

/// How long the end of the program waits for the stop to be confirmed.
const CLOSING_LIMIT: Duration = Duration::from_secs(1);

/// Who has stopped the arm when the emergency stop was pressed.
const BUTTON: &str = "the operator";

/// The rate of the loop while a person drives, Hz: a hand feels less than that. The policy's rate is a knob.
const HUMAN_FPS: f32 = 60.0;

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

/// The arm as the core knows it.
#[derive(Debug, Default)]
struct ArmWatch {
    connection: Connection,
    /// Armed by us since the connection; without it no goal is sent.
    armed: bool,
    /// Joints whose servos have torque, be the arm armed or not.
    held_joints: usize,
    /// It was lost while servos had torque, and was neither met again nor replaced since.
    left_holding: bool,
    measured: JointVec,
    commanded: JointVec,
    limits: [JointVec; 2],
    clearance: Option<Clearance>,
    retries: u64,
    max_step: f32,
    /// Ticks in a row that failed, and why this one did.
    failures: u32,
    failed: Option<ArmFailure>,
    /// The connection is to be given up.
    gone: bool,
    /// What the operator wants next.
    wants: Wanted,
    /// The change of torque that is under way (never `Nothing`), and the share that is done.
    change: Option<(Wanted, f32)>,
}

/// A change of torque that the operator asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wanted {
    #[default]
    Nothing,
    Torque,
    Release,
}

/// Things that happened since the start.
#[derive(Debug, Default)]
struct Counters {
    chunks: u64,
    starved_ticks: u64,
    requests: u64,
    stale_chunks: u64,
}

/// The control core.
#[derive(Debug, Default)]
pub struct Control {
    name: String,
    sources: Sources,
    /// The operator has chosen an arm in this session.
    arms_chosen: bool,
    workshop: Arc<WorkshopView>,
    now: Duration,
    tick: Tick,
    mode: Mode,
    stopped: Option<Stopped>,
    presses: u64,
    /// The tick of the last stop, latched or repeated.
    stop_tick: Tick,
    /// The program closes: when it no longer waits for the stop to be confirmed.
    closing: Option<Duration>,
    generation: u64,
    /// As the operator set them, and as they apply to the loaded policy.
    wanted: Knobs,
    knobs: Knobs,
    task: String,
    jog: Jog,
    teleop: Teleop,
    approach: Approach,
    parking: Option<Parking>,
    stall: Stall,
    arm: ArmWatch,
    health: HealthWatch,
    queue: ActionQueue,
    filter: SimilarityFilter,
    /// Refusals of the filter when the last request left.
    refused_before: u64,
    supervisor: Supervisor,
    seed: u64,
    policy_at_start: Option<LoadRequest>,
    cameras: Vec<CameraView>,
    views: Vec<ViewBinding>,
    remembered: Vec<ViewBinding>,
    stale_camera: Option<String>,
    latency: LatencyMeter,
    /// What a chunk took before the latest change of Euler steps.
    latency_before: Duration,
    delays: Window<usize>,
    bound: Bound,
    /// The plan of this generation has begun.
    filled: bool,
    starved_since: Option<Duration>,
    chunk: Option<Arc<ChunkView>>,
    previous_chunk: Option<Arc<ChunkView>>,
    warnings: Vec<String>,
    faults: FaultBook,
    history: History,
    counters: Counters,
    sample: Sample,
    ordered: ArmOrder,
    props: Arc<Props>,
    rig: Rig,
    lab: Option<Arc<LabView>>,
    library: Option<Arc<LibraryView>>,
    pace: Pace,
    late_watch: LateWatch,
}

impl Control {
    /// A core that holds; `config.policy` is loaded with the first tick.
    pub fn new(config: Config) -> Self {
        let mut control = Self {
            name: config.arm,
            sources: config.sources,
            wanted: config.knobs,
            task: config.task,
            supervisor: Supervisor::new(config.patience),
            seed: config.seed,
            policy_at_start: config.policy,
            remembered: config.views,
            ..Self::default()
        };
        control.apply_knobs();
        control
    }

    /// Something to show that happened before the start, such as settings that could not be read.
    pub fn report(&mut self, kind: FaultKind, what: String, remedy: String) {
        self.faults.flash(self.now, kind, "", words(what, remedy));
    }

    /// The period of the loop.
    pub fn period(&self) -> Duration {
        let fps = if self.mode.is_human() {
            HUMAN_FPS
        } else {
            self.knobs.fps
        };
        Duration::from_secs_f32(1.0 / fps)
    }

    /// What a policy's first chunk is to be asked with.
    pub fn warm_up(&self) -> WarmUp {
        WarmUp {
            task: self.task.clone(),
            num_steps: self.knobs.num_steps,
        }
    }

    /// Whether the operator's order to let the arm go is being carried out: nothing else breaks that off.
    fn is_letting_go(&self) -> bool {
        let release = Wanted::Release;
        self.arm.wants == release || self.arm.change.is_some_and(|(change, _)| change == release)
    }

    /// Whether goals are being sent, so that a loop that stands still is a hazard.
    pub fn drives(&self) -> bool {
        self.arm.armed
    }

    /// Whether the policy is answering; `None` while there is none that could.
    pub fn thinks(&self) -> Option<bool> {
        match self.supervisor.status() {
            PolicyStatus::Ready { busy } => Some(busy),
            _ => None,
        }
    }

    /// The answer that the policy owes: the number of the request, or 0 while it is loaded, and since when.
    pub fn awaited_policy(&self) -> Option<(u64, Duration)> {
        let loading = matches!(self.supervisor.status(), PolicyStatus::Loading(_));
        let asked = self.supervisor.in_flight().map(|it| (it.id, it.at));
        asked.or(loading.then_some((0, Duration::ZERO)))
    }

    /// Decides one tick.
    pub fn tick(&mut self, inputs: Inputs) -> Outputs {
        self.now = inputs.now;
        self.tick.0 += 1;
        self.sample = Sample::default();
        self.cameras = inputs.cameras;
        self.props = inputs.props;
        self.see_rig(inputs.rig);
        self.lab = inputs.lab;
        self.library = inputs.library;
        self.workshop = inputs.workshop;
        self.faults.expire(self.now);
        self.watch_pace(inputs.pace);
        self.hear_leader(inputs.leader);

        let mut outputs = Outputs::default();
        if let Some(load) = self.policy_at_start.take() {
            outputs.start = Some(self.supervisor.choose(load));
        }
        let pressed = self.read_estop(inputs.estop_presses);
        for command in inputs.commands {
            self.apply(command, &mut outputs);
        }
        if pressed {
            // Nobody knows which came first, a press or what was asked for in the same tick: the press wins.
            self.stop(BUTTON);
        }
        if let Some(trip) = inputs.tripped {
            self.stalled(&trip);
        }
        self.go_on_after_stall();
        self.sense(inputs.arm);
        self.watch_lead();
        for report in inputs.policy {
            self.hear(report);
        }
        self.supervise(&mut outputs);
        self.watch_cameras();
        self.tell_referee(&mut outputs);
        outputs.request = self.ask().map(Box::new);
        outputs.arm = self.order();
        self.ordered = outputs.arm;
        outputs.shutdown = self.has_closed();
        outputs
    }

    /// Hears how the arm took its order, and gives the picture of this tick.
    pub fn settle(&mut self, settled: Settled) -> Snapshot {
        match settled {
            Settled::Nothing => {}
            Settled::Sent(action) => {
                let step = action.max_abs_diff(self.arm.commanded);
                self.arm.max_step = self.arm.max_step.max(step);
                self.arm.commanded = action;
            }
            Settled::Frozen { pose, limp } => self.frozen(pose, &limp),
            Settled::Going(share) => {
                self.arm.change = self.arm.change.map(|(change, _)| (change, share));
            }
            Settled::Armed(pose) => self.armed(pose),
            Settled::Released => self.released(),
            Settled::Failed(failure) => self.order_failed(failure),
        }
        self.count_failures();
        self.assess();
        self.publish()
    }

    /// What the arm is to do. The order of the lines is the order of precedence.
    fn order(&mut self) -> ArmOrder {
        let wants = std::mem::take(&mut self.arm.wants);
        let Connection::Connected { torque } = self.arm.connection else {
            return ArmOrder::Nothing;
        };
        if std::mem::take(&mut self.arm.gone) {
            return ArmOrder::Disconnect;
        }
        if let Some(order) = self.torque_or_stop(wants) {
            return order;
        }
        let may_send = torque && self.arm.armed && self.arm.failed.is_none();
        if may_send && let Some(joint) = self.health.clears.pop() {
            return ArmOrder::ClearAlarm(joint);
        }
        if !may_send || self.stopped.is_some() {
            return ArmOrder::Nothing;
        }
        let goal = self.goal();
        ArmOrder::Send(self.led(goal))
    }

    /// The order of a change of torque or of a stop that is not confirmed yet. A stop has dropped what was wanted before and
    /// broken off what was under way: a release that is there was asked for after it.
    fn torque_or_stop(&mut self, wants: Wanted) -> Option<ArmOrder> {
        let stopping = self.stopped.as_ref().is_some_and(|stop| !stop.acknowledged);
        match (wants, self.arm.change) {
            (Wanted::Release, _) => {
                self.arm.change = Some((wants, 0.0));
                Some(ArmOrder::ReleaseTorque)
            }
            (Wanted::Torque, _) if !stopping => {
                self.arm.armed = false;
                self.arm.change = Some((wants, 0.0));
                Some(ArmOrder::EnableTorque)
            }
            (_, Some((Wanted::Release, _))) => Some(ArmOrder::Advance),
            _ if stopping => Some(ArmOrder::Freeze),
            (_, Some(_)) => Some(ArmOrder::Advance),
            (_, None) => None,
        }
    }

    /// Drops every plan and every answer that is still on its way.
    fn reset(&mut self) {
        self.generation += 1;
        self.approach.begin();
        self.queue.clear();
        self.filter.reset();
        self.filled = false;
        self.starved_since = None;
        self.sample.changed = true;
    }
}
