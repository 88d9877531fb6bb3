//! The whole runtime on a virtual clock, ticked by the test: the same loop, driver, bus and policy thread as in flight, but
//! twice alike, and as fast as the machine can. What reached a servo is asked of the servos, never of the runtime.

use std::sync::Arc;
use std::time::Duration;

use smolpilot::arm::bus::Bus;
use smolpilot::arm::register::{Block, Register};
use smolpilot::camera::{Feed, FeedState};
use smolpilot::clock::Clock;
use smolpilot::joint::{Joint, JointVec};
use smolpilot::latest::Latest;
use smolpilot::observation::Frame;
use smolpilot::policy::LoadRequest;
use smolpilot::runtime::{
    Command, Connector, Fault, FaultKind, Knobs, LeaderSetup, Mode, Setup, Snapshot, Stepped,
};
use smolpilot::sim::{SimArm, WriteRecord};

use crate::scripted::{Mood, loader};
use crate::stand::{armed, connected, connector, fault};

/// What the policy takes to answer: six ticks.
const LATENCY: Duration = Duration::from_millis(200);
/// The longest that anything here takes, virtual time.
const LIMIT: Duration = Duration::from_mins(1);
/// A period at 30 Hz.
pub const TICK: Duration = Duration::from_nanos(33_333_333);
/// Half a count of the coarsest joint, robot units.
pub const COUNT: f32 = 0.09;
/// Registers that a test looks for in the servos' log.
pub const GOAL: u8 = 42;
pub const TORQUE: u8 = 40;
/// First address that is no setting.
pub const RAM: u8 = 40;
/// Where the simulated arm stands at first.
pub const START: JointVec = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);
/// A place that each joint takes more than half a second to.
pub const FAR: JointVec = JointVec([90.0, -5.0, 5.0, 90.0, 60.0, 90.0]);

pub struct Flight {
    pub arm: SimArm,
    pub mood: Latest<Mood>,
    pub leader: Option<SimArm>,
    pub runtime: Stepped,
    pub snapshot: Arc<Snapshot>,
}

/// How a flight differs from the usual one.
pub struct Plan {
    pub arm: SimArm,
    /// Instead of the way to the simulated arm.
    pub connector: Option<Connector>,
    /// A second arm, in a person's hand.
    pub leader: Option<SimArm>,
    pub knobs: Knobs,
    /// What the policy wants.
    pub pose: JointVec,
}

impl Plan {
    pub fn new(pose: JointVec) -> Self {
        Self {
            arm: SimArm::new(Clock::virtual_at_zero()),
            connector: None,
            leader: None,
            knobs: Knobs::default(),
            pose,
        }
    }
}

impl Flight {
    /// Before the first tick.
    pub fn planned(plan: Plan) -> Self {
        let clock = plan.arm.clock().clone();
        let (mood, seen) = (Latest::new(), Latest::new());
        mood.set(Mood::Pose(plan.pose));
        let front = Feed::new("front", "painted by the test");
        front.state.set(FeedState::Live { rate_hz: 30.0 });
        // A still picture from the far future never ages.
        let still = Frame::new(2, 2, vec![9; 12], 1, LIMIT * 1000);
        front.frames.set(still.unwrap());
        let setup = Setup {
            arm: "simulated".to_owned(),
            connector: Some(plan.connector.unwrap_or_else(|| connector(&plan.arm))),
            leader: plan.leader.as_ref().map(|leader| LeaderSetup {
                name: "leader".to_owned(),
                connector: connector(leader),
            }),
            feeds: vec![front],
            policy: Some(LoadRequest::default()),
            task: "wave".to_owned(),
            knobs: plan.knobs,
            ..Setup::new(clock, loader(&mood, &seen))
        };
        Self {
            runtime: Stepped::new(setup, LATENCY).unwrap(),
            arm: plan.arm,
            mood,
            leader: plan.leader,
            snapshot: Arc::default(),
        }
    }

    /// A connected arm that is limp.
    pub fn at_rest(plan: Plan) -> Self {
        let mut flight = Self::planned(plan);
        flight.until("connected", connected);
        flight
    }

    /// An arm that is armed and holds.
    pub fn armed(plan: Plan) -> Self {
        let mut flight = Self::at_rest(plan);
        flight.tell(Command::EnableTorque);
        flight.until("armed", armed);
        flight
    }

    /// An arm that the policy drives.
    pub fn driving(plan: Plan) -> Self {
        let mut flight = Self::armed(plan);
        flight.tell(Command::SetMode(Mode::Policy));
        flight.until("driven", |seen| seen.chunks > 1);
        let faults = &flight.snapshot.faults;
        assert!(faults.is_empty(), "{faults:?}");
        flight
    }

    /// The policy drives the usual arm, which has come to `pose` or is near it.
    pub fn to(pose: JointVec) -> Self {
        Self::driving(Plan::new(pose))
    }

    /// The usual arm in full motion of all joints, which goes on for half a second.
    pub fn moving() -> Self {
        let mut flight = Self::to(START);
        flight.mood.set(Mood::Pose(FAR));
        let pan = Joint::ShoulderPan;
        flight.until("in motion", |seen| seen.measured[pan] > 10.0);
        flight
    }

    pub fn tell(&self, command: Command) {
        self.runtime.commands.try_send(command).unwrap();
    }

    /// One control period.
    pub fn tick(&mut self) -> &Snapshot {
        self.snapshot = self.runtime.tick();
        &self.snapshot
    }

    pub fn ticks(&mut self, count: u32) -> &Snapshot {
        for _ in 0..count {
            self.tick();
        }
        &self.snapshot
    }

    /// Ticks until a snapshot is as told.
    pub fn until(&mut self, what: &str, condition: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let end = self.now() + LIMIT;
        while !condition(self.tick()) {
            let seen = &self.snapshot;
            assert!(
                self.now() < end && !self.runtime.has_ended(),
                "never {what}: {} {:?} {:?} {:#?}",
                seen.mode,
                seen.connection,
                seen.policy,
                seen.faults
            );
        }
        Arc::clone(&self.snapshot)
    }

    /// Ticks until this kind of fault is active.
    pub fn until_fault(&mut self, kind: FaultKind) -> Fault {
        let seen = self.until(&format!("{kind:?}"), |seen| fault(seen, kind).is_some());
        fault(&seen, kind).unwrap()
    }

    /// The active fault of this kind.
    pub fn fault(&self, kind: FaultKind) -> Option<Fault> {
        fault(&self.snapshot, kind)
    }

    pub fn now(&self) -> Duration {
        self.arm.clock().now()
    }

    /// Everything that servos were told since then.
    pub fn writes_since(&self, then: Duration) -> Vec<WriteRecord> {
        let mut writes = self.arm.writes();
        writes.retain(|write| write.at > then);
        writes
    }

    /// Goals that reached this servo since then, counts.
    pub fn goals_since(&self, then: Duration, id: u8) -> Vec<i32> {
        let writes = self.writes_since(then);
        let goals = writes
            .iter()
            .filter(|write| write.id == id && write.address == GOAL);
        goals
            .map(|write| i32::from(u16::from_le_bytes([write.bytes[0], write.bytes[1]])))
            .collect()
    }

    /// No servo was told a goal, and none was switched on.
    pub fn assert_no_goal_since(&self, then: Duration) {
        let moving = self.writes_since(then);
        let moving: Vec<_> = moving
            .iter()
            .filter(|write| write.address == GOAL || write.address == TORQUE)
            .collect();
        assert!(moving.is_empty(), "{moving:?}");
    }

    /// Every goal that reached a servo since then is near the place where the arm is now.
    pub fn assert_no_jump_since(&self, then: Duration) {
        self.arm.advance();
        let pose = self.arm.pose();
        for joint in Joint::ALL {
            let id = joint.index() as u8 + 1;
            for goal in self.goals_since(then, id) {
                let goal = self.arm.calibration().normalize(joint, goal.into());
                assert!(
                    (goal - pose[joint]).abs() < 2.0,
                    "{joint} was sent to {goal}"
                );
            }
        }
    }

    /// Nothing moves the arm for `ticks`.
    pub fn assert_still(&mut self, ticks: u32) {
        self.arm.advance();
        let before = self.arm.pose();
        for _ in 0..ticks {
            self.tick();
            let moved = self.arm.pose().max_abs_diff(before);
            assert!(moved <= 2.0 * COUNT, "moved by {moved}");
        }
    }

    /// A stop is latched and confirmed by every joint with torque, and each holds where it is.
    pub fn assert_stopped(&self) {
        let stopped = self.snapshot.stopped.as_ref().unwrap();
        assert!(stopped.acknowledged, "{stopped:?}");
        assert_eq!(self.snapshot.mode, Mode::Hold);
        let held = self.arm.pose().max_abs_diff(self.snapshot.commanded);
        assert!(held < 2.0, "held {held} away from where it is");
    }

    /// What this servo answers to a reading of this block, asked behind the driver's back.
    pub fn said(&self, id: u8, block: Block) -> Vec<u8> {
        let mut bus = Bus::new(self.arm.port(), self.arm.clock().clone(), TICK);
        let mut blocks = bus.sync_read(block, &[id], 1).unwrap();
        blocks.remove(0).unwrap()
    }

    /// The value of a register.
    pub fn register(&self, id: u8, register: Register) -> i32 {
        let mut bus = Bus::new(self.arm.port(), self.arm.clock().clone(), TICK);
        bus.read(id, register).unwrap()
    }

    pub fn torques(&self) -> [bool; 6] {
        Joint::ALL.map(|joint| self.arm.torque(joint))
    }
}

/// The start pose, turned by so many units in every joint.
pub fn turned(by: f32) -> JointVec {
    JointVec::from_fn(|joint| START[joint] + by)
}
