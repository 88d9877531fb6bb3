//! The control core: everything the runtime decides, as a state machine without threads, devices or clocks.
//!
//! One control period is [`Control::tick`], which says what to do, then [`Control::settle`], which hears how that went and
//! gives the picture of the tick. Between the two, the control thread applies the limits and talks to the arm.

mod approach;
mod arm_input;
mod arms;
mod commands;
mod exchange;
mod goal;
mod health;
mod jog;
mod lead;
mod park;
mod plan;
mod publish;
mod replay;
mod rig;
mod sense;
mod session;
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
pub use self::exchange::{ArmOrder, Config, Inputs, Outputs, Pace, Settled};
use self::health::HealthWatch;
use self::sense::LateWatch;
use crate::arm::Clearance;
use crate::clock::Tick;
use crate::joint::JointVec;
use crate::policy::LoadRequest;
use crate::runtime::bound::Bound;
use crate::runtime::core::approach::Approach;
use crate::runtime::core::jog::Jog;
use crate::runtime::core::park::Parking;
use crate::runtime::core::replay::Replay;
use crate::runtime::core::rig::Rig;
use crate::runtime::core::session::Session;
use crate::runtime::core::stall::Stall;
use crate::runtime::core::teleop::Teleop;
use crate::runtime::fault_book::{FaultBook, words};
use crate::runtime::history::History;
use crate::runtime::latency::{LatencyMeter, Window};
use crate::runtime::policy_thread::WarmUp;
use crate::runtime::queue::ActionQueue;
use crate::runtime::request::SimilarityFilter;
use crate::runtime::supervisor::Supervisor;
use crate::runtime::workshop::WorkshopView;
use crate::runtime::{
    CameraView, ChunkView, Connection, FaultKind, Knobs, LabView, LibraryView, Mode, PolicyStatus,
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
    session: Session,
    replay: Option<Replay>,
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
        let fps = match &self.replay {
            _ if self.mode.is_human() => HUMAN_FPS,
            Some(replay) if self.mode == Mode::Replay => replay.loop_hz(),
            _ => self.knobs.fps,
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
        self.session.hear(inputs.recorder);
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
        self.forget_replay();
        self.go_on_recording(&mut outputs);
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
        self.take_row();
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
