//! A test bench for the core: a virtual clock, a stub policy with a chosen latency, and an arm that obeys at once.

use std::sync::Arc;
use std::time::Duration;

use crate::action::ActionChunk;
use crate::arm::{Clearance, Role};
use crate::dataset::{Outcome, Plan, RecorderView, Running, Step};
use crate::joint::{JOINT_COUNT, Joint, JointVec};
use crate::observation::Frame;
use crate::policy::{LoadRequest, PolicySpec, StageTimes};
use crate::runtime::core::{
    ArmFailure, ArmInput, ArmOrder, ArmState, Config, Control, Inputs, Settled,
};
use crate::runtime::fault_book::Words;
use crate::runtime::request::ChunkRequest;
use crate::runtime::supervisor::{Arrival, PolicyEvent, PolicyReport};
use crate::runtime::watchdog::Trip;
use crate::runtime::workshop::Order;
use crate::runtime::{
    ArmSource, CameraStatus, CameraView, Command, Fault, FaultKind, Health, Knob, Knobs,
    LeaderView, Mode, RecordOrder, RigOrder, RigView, Scheduling, Snapshot,
};

/// What the stub policy does with a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Temper {
    /// Action k of the chunk is `consumed when asked + k`: the arm counts 0, 1, 2, … exactly when no action is skipped or
    /// repeated.
    Counts,
    /// Every action is this value.
    Constant(f32),
    Errs,
    Hangs,
    Dies,
}

/// A recorder that answers at once.
#[derive(Default)]
pub struct Tape {
    pub view: Arc<RecorderView>,
    pub plan: Option<Plan>,
    /// Why it does not open.
    pub refuses: Option<String>,
    /// It takes nothing; it takes anything but rows.
    pub is_full: bool,
    pub takes_no_rows: bool,
    /// Rows of the episode that runs, and episodes that were kept.
    pub rows: Vec<Step>,
    pub kept: Vec<(Outcome, Vec<Step>)>,
    /// Everything else, in words.
    pub log: Vec<String>,
}

impl Tape {
    fn take(&mut self, order: RecordOrder) -> Result<(), RecordOrder> {
        let is_row = matches!(order, RecordOrder::Step(_));
        if self.is_full || is_row && self.takes_no_rows {
            return Err(order);
        }
        let mut view = RecorderView::clone(&self.view);
        match order {
            RecordOrder::Open(_) if self.refuses.is_some() => view.trouble = self.refuses.clone(),
            RecordOrder::Open(plan) => {
                view.root = Some(plan.root.clone());
                view.trouble = None;
                self.plan = Some(*plan);
            }
            RecordOrder::Begin => view.running = Some(Running::default()),
            RecordOrder::Step(step) => {
                if view.running.is_some() {
                    self.rows.push(*step);
                }
                return Ok(());
            }
            RecordOrder::Keep(outcome) => {
                view.running = None;
                view.saved += 1;
                self.kept.push((outcome, std::mem::take(&mut self.rows)));
            }
            RecordOrder::Discard => {
                view.running = None;
                self.rows.clear();
                self.log.push("discard".to_owned());
            }
            RecordOrder::Close => {
                (view.root, view.running) = (None, None);
                self.log.push("close".to_owned());
            }
            RecordOrder::Recover(id) => self.log.push(format!("recover {id}")),
            RecordOrder::Forget(id) => self.log.push(format!("forget {id}")),
        }
        self.view = Arc::new(view);
        Ok(())
    }

    /// The episode ends by itself.
    pub fn end(&mut self, trouble: &str, keeps: bool) {
        let view = RecorderView::clone(&self.view);
        self.view = Arc::new(RecorderView {
            running: None,
            saved: view.saved + usize::from(keeps),
            trouble: Some(trouble.to_owned()),
            ..view
        });
    }
}

pub struct Bench {
    pub control: Control,
    pub now: Duration,
    pub latency: Duration,
    pub load_time: Duration,
    pub temper: Temper,
    pub chunk_size: usize,
    /// The arm's pose, why it cannot be read, and whether its servos hold.
    pub pose: JointVec,
    pub mute: Option<String>,
    pub gone: bool,
    pub absent: bool,
    pub alarms: Vec<Words>,
    pub health: Health,
    pub torque: bool,
    /// A joint that does not follow its goal.
    pub stuck: Option<Joint>,
    /// What the arm says of its limits.
    pub limits: [JointVec; 2],
    pub clearance: Option<Clearance>,
    /// The watchdog has frozen the arm since the tick before; told once.
    pub tripped: Option<Trip>,
    /// The arm sends this whatever it is told.
    pub kept_at: Option<JointVec>,
    pub leader: Option<LeaderView>,
    /// Ticks that a change of torque takes, and those still to go.
    pub torque_ticks: u32,
    under_way: Option<(bool, u32)>,
    /// What a stop finds limp.
    pub limp: Vec<String>,
    pub presses: u64,
    pub cameras: Vec<CameraView>,
    /// What was ordered, asked and shown.
    pub order: ArmOrder,
    pub requests: Vec<ChunkRequest>,
    pub starts: u64,
    /// How often a policy thread was left.
    pub left: u64,
    pub arms: Vec<(Role, Option<ArmSource>)>,
    pub orders: Vec<Order>,
    /// How the rig is, and what it and the clock were told.
    pub rig: Option<Arc<RigView>>,
    pub rig_orders: Vec<RigOrder>,
    pub rates: Vec<f32>,
    /// What is recorded, if anything can be.
    pub tape: Option<Tape>,
    pub seen: Snapshot,
    /// First joint of each action taken from the queue.
    pub executed: Vec<f32>,
    incarnation: u64,
    pending: Vec<(Duration, PolicyReport)>,
}

impl Bench {
    /// A bench whose arm is armed and whose policy drives from the next tick on.
    pub fn driving(knobs: Knobs, latency_ms: u64, temper: Temper) -> Self {
        let mut bench = Self::at_rest(knobs, latency_ms, temper);
        bench.tick(vec![]);
        bench.tick(vec![Command::EnableTorque]);
        bench.tick(vec![Command::SetMode(Mode::Policy)]);
        assert_eq!(bench.seen.mode, Mode::Policy);
        bench
    }

    /// A bench with a limp arm and a policy that is still to be loaded.
    pub fn at_rest(knobs: Knobs, latency_ms: u64, temper: Temper) -> Self {
        let config = Config {
            knobs,
            task: "put the cube in the box".to_owned(),
            policy: Some(LoadRequest {
                source: "stub".to_owned(),
                stats: None,
            }),
            ..Config::default()
        };
        Self {
            control: Control::new(config),
            now: Duration::ZERO,
            latency: Duration::from_millis(latency_ms),
            load_time: Duration::ZERO,
            temper,
            chunk_size: 50,
            pose: JointVec::default(),
            mute: None,
            gone: false,
            absent: false,
            alarms: vec![],
            health: Health::default(),
            torque: false,
            stuck: None,
            limits: [JointVec([-1e6; 6]), JointVec([1e6; 6])],
            clearance: Some(Clearance::default()),
            tripped: None,
            kept_at: None,
            leader: None,
            torque_ticks: 0,
            under_way: None,
            limp: vec![],
            presses: 0,
            cameras: vec![],
            order: ArmOrder::Nothing,
            requests: vec![],
            starts: 0,
            left: 0,
            arms: vec![],
            orders: vec![],
            rig: Some(Arc::default()),
            rig_orders: vec![],
            rates: vec![],
            tape: None,
            seen: Snapshot::default(),
            executed: vec![],
            incarnation: 0,
            pending: vec![],
        }
    }

    /// One control period.
    pub fn tick(&mut self, commands: Vec<Command>) -> &Snapshot {
        let inputs = Inputs {
            now: self.now,
            estop_presses: self.presses,
            tripped: self.tripped.take(),
            commands,
            arm: self.arm_input(),
            leader: self.leader.clone(),
            policy: self.due(),
            cameras: self.cameras.clone(),
            rig: self.rig.clone(),
            recorder: self.tape.as_ref().map(|tape| Arc::clone(&tape.view)),
            ..Inputs::default()
        };
        let before = self.control.queue.consumed();
        let outputs = self.control.tick(inputs);
        self.left += u64::from(outputs.leave_policy);
        self.arms.extend(outputs.arms);
        self.orders.extend(outputs.orders);
        self.rig_orders.extend(outputs.rig);
        self.rates.extend(outputs.rate);
        if let Some(start) = outputs.start {
            self.starts += 1;
            self.incarnation = start.incarnation;
            let event = PolicyEvent::Ready {
                spec: Arc::new(self.spec()),
                warm_up: self.load_time,
            };
            self.report(self.load_time, event);
        }
        if let Some(request) = outputs.request {
            self.answer(&request);
            self.requests.push(*request);
        }
        self.order = outputs.arm;
        let settled = self.obey(outputs.arm);
        if self.control.queue.consumed() > before {
            self.executed.push(self.pose.0[0]);
        }
        self.seen = self.control.settle(settled);
        if let Some(tape) = &mut self.tape {
            self.control.hand_over(|order| tape.take(order));
        }
        self.now += self.control.period();
        &self.seen
    }

    /// Runs for `seconds`.
    pub fn run(&mut self, seconds: f32) {
        let end = self.now + Duration::from_secs_f32(seconds);
        while self.now < end {
            self.tick(vec![]);
        }
    }

    /// Turns one knob and runs the tick.
    pub fn turn(&mut self, knob: Knob) -> &Snapshot {
        self.tick(vec![Command::Set(knob)])
    }

    /// Runs until `done`, at most `seconds`.
    pub fn until(&mut self, seconds: f32, done: impl Fn(&Self) -> bool) {
        let end = self.now + Duration::from_secs_f32(seconds);
        while !done(self) {
            assert!(self.now < end, "not reached: {:?}", self.seen.faults);
            self.tick(vec![]);
        }
    }

    /// The fault of this kind, if it is listed.
    pub fn fault(&self, kind: FaultKind) -> Option<&Fault> {
        self.seen.faults.iter().find(|fault| fault.kind == kind)
    }

    /// Adds a camera whose picture is as old as `age_ms` says in each tick.
    pub fn add_camera(&mut self, name: &str, age_ms: u64) {
        self.cameras.push(CameraView {
            name: name.to_owned(),
            source: "stub".to_owned(),
            frame: Frame::new(1, 1, vec![0; 3], 1, Duration::ZERO),
            age: Some(Duration::from_millis(age_ms)),
            rate_hz: 30.0,
            status: CameraStatus::Live,
        });
    }

    pub fn report(&mut self, after: Duration, event: PolicyEvent) {
        let incarnation = self.incarnation;
        let report = PolicyReport { incarnation, event };
        self.pending.push((self.now + after, report));
    }

    fn arm_input(&self) -> ArmInput {
        if self.absent {
            return ArmInput::Absent;
        }
        ArmInput::Up(ArmState {
            measured: self.failure().map_or(Ok(self.pose), Err),
            torque: self.torque,
            held_joints: self.held_joints(),
            retries: 0,
            alarms: self.alarms.clone(),
            limits: self.limits,
            clearance: self.clearance,
            health: Box::new(self.health.clone()),
        })
    }

    fn held_joints(&self) -> usize {
        match self.limp.len() {
            0 if !self.torque => 0,
            limp => JOINT_COUNT - limp,
        }
    }

    fn failure(&self) -> Option<ArmFailure> {
        Some(ArmFailure {
            what: self.mute.clone()?,
            remedy: "check the cable".to_owned(),
            gone: self.gone,
            jumped: false,
        })
    }

    fn due(&mut self) -> Vec<PolicyReport> {
        let now = self.now;
        let due = self.pending.extract_if(.., |(at, _)| *at <= now);
        due.map(|(_, report)| report).collect()
    }

    fn spec(&self) -> PolicySpec {
        PolicySpec {
            name: "stub".to_owned(),
            views: self
                .cameras
                .iter()
                .map(|camera| format!("observation.images.{}", camera.name))
                .collect(),
            state_dim: 6,
            action_dim: 6,
            chunk_size: self.chunk_size,
            ..PolicySpec::default()
        }
    }

    fn answer(&mut self, request: &ChunkRequest) {
        let id = request.id;
        let consumed = self
            .control
            .supervisor
            .in_flight()
            .map_or(0, |it| it.consumed);
        let value = |k: usize| match self.temper {
            Temper::Counts => consumed as f32 + k as f32,
            Temper::Constant(value) => value,
            Temper::Errs | Temper::Hangs | Temper::Dies => 0.0,
        };
        let values: Vec<f32> = (0..self.chunk_size).map(value).collect();
        let event = match self.temper {
            Temper::Hangs => return,
            Temper::Errs => PolicyEvent::Failed {
                id,
                why: "device lost".to_owned(),
            },
            Temper::Dies => PolicyEvent::Died("index out of bounds".to_owned()),
            Temper::Counts | Temper::Constant(_) => PolicyEvent::Chunk(Box::new(Arrival {
                id,
                chunk: ActionChunk {
                    observed_at: request.observed_at,
                    generation: request.generation,
                    actions: values.iter().map(|&value| JointVec([value; 6])).collect(),
                    normalized: values
                        .iter()
                        .map(|&value| vec![value / 1000.0; 6])
                        .collect(),
                },
                times: StageTimes {
                    total: self.latency,
                    ..StageTimes::default()
                },
                warnings: vec![],
                finished_at: self.now + self.latency,
            })),
        };
        self.report(self.latency, event);
    }

    fn change_torque(&mut self, on: bool, left: u32) -> Settled {
        self.under_way = None;
        if let Some(failure) = self.failure() {
            return Settled::Failed(failure);
        }
        if left > 0 {
            self.under_way = Some((on, left));
            return Settled::Going(1.0 - left as f32 / self.torque_ticks as f32);
        }
        self.torque = on;
        if on {
            Settled::Armed(self.pose)
        } else {
            Settled::Released
        }
    }

    fn obey(&mut self, order: ArmOrder) -> Settled {
        match order {
            ArmOrder::Nothing | ArmOrder::Disconnect => Settled::Nothing,
            ArmOrder::ClearAlarm(joint) => {
                self.health.joints[joint.index()].alarms.clear();
                Settled::Nothing
            }
            ArmOrder::Send(goal) => {
                let goal = self.kept_at.unwrap_or(goal);
                let held = self.stuck.map(|joint| (joint, self.pose[joint]));
                self.pose = goal;
                if let Some((joint, at)) = held {
                    self.pose[joint] = at;
                }
                Settled::Sent(goal)
            }
            ArmOrder::Freeze => {
                self.under_way = None;
                let (pose, limp) = (self.pose, self.limp.clone());
                self.failure()
                    .map_or(Settled::Frozen { pose, limp }, Settled::Failed)
            }
            ArmOrder::EnableTorque => self.change_torque(true, self.torque_ticks),
            ArmOrder::ReleaseTorque => self.change_torque(false, self.torque_ticks),
            ArmOrder::Advance => match self.under_way {
                Some((on, left)) => self.change_torque(on, left - 1),
                None => panic!("nothing was begun"),
            },
        }
    }
}

/// The default knobs with another scheduling.
pub fn scheduled(scheduling: Scheduling) -> Knobs {
    Knobs {
        scheduling,
        ..Knobs::default()
    }
}

/// A bench in which the policy has driven for three seconds without a fault.
pub fn flying(latency_ms: u64) -> Bench {
    let mut bench = Bench::driving(Knobs::default(), latency_ms, Temper::Counts);
    bench.run(3.0);
    assert!(bench.seen.chunks > 0 && bench.seen.faults.is_empty());
    bench
}

/// Runs `ticks` in which the arm must not move.
pub fn assert_still(bench: &mut Bench, ticks: usize) {
    let pose = bench.pose;
    for _ in 0..ticks {
        bench.tick(vec![]);
        assert_eq!(bench.pose, pose, "the arm moved");
    }
}
