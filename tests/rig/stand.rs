//! The stand that the tests are run on: a simulated arm, a camera, a scripted policy, and the runtime that flies them.

use std::sync::Arc;
use std::time::Duration;

use smolpilot::arm::{Arm, Options};
use smolpilot::camera::{Feed, FeedState};
use smolpilot::clock::Clock;
use smolpilot::joint::{Joint, JointVec};
use smolpilot::latest::Latest;
use smolpilot::observation::{Frame, Observation};
use smolpilot::policy::LoadRequest;
use smolpilot::runtime::{
    Command, Connection, Connector, Fault, FaultKind, LeaderSetup, Mode, Patience, PolicyStatus,
    RigLink, RigOrder, Runtime, Setup, Snapshot,
};
use smolpilot::sim::SimArm;

use crate::flight::{FAR, START};
use crate::scripted::{Mood, loader};

/// Longer than anything here takes on a busy machine; reached only when the test fails.
const LIMIT: Duration = Duration::from_secs(20);

/// The operator wants the table as it was.
pub const RESET: Command = Command::Rig(RigOrder::Reset { seed: None });

/// A rig that does this when it is reset, and nothing else.
pub fn rig_that(mut resets: impl FnMut() + Send + 'static) -> RigLink {
    RigLink {
        view: Latest::new(),
        order: Box::new(move |order| {
            if matches!(order, RigOrder::Reset { .. }) {
                resets();
            }
        }),
    }
}

pub struct Stand {
    pub arm: SimArm,
    pub clock: Clock,
    pub mood: Latest<Mood>,
    pub seen: Latest<Observation>,
    pub front: Feed,
    pub runtime: Runtime,
}

impl Stand {
    /// A runtime on the machine's clock whose policy wants `pose`, not yet armed.
    pub fn at_rest(pose: JointVec) -> Self {
        Self::with_arm(SimArm::new(Clock::real()), pose)
    }

    pub fn with_arm(arm: SimArm, pose: JointVec) -> Self {
        Self::with(arm, pose, |_| {})
    }

    /// A runtime with a second arm in a person's hand.
    pub fn with_leader(arm: SimArm, leader: Option<&SimArm>, pose: JointVec) -> Self {
        Self::with(arm, pose, |setup| {
            setup.leader = leader.map(|leader| LeaderSetup {
                name: "leader".to_owned(),
                connector: connector(leader),
            });
        })
    }

    /// A stand whose set-up the test has changed.
    pub fn with(arm: SimArm, pose: JointVec, change: impl FnOnce(&mut Setup)) -> Self {
        let clock = arm.clock().clone();
        let (mood, seen) = (Latest::new(), Latest::new());
        mood.set(Mood::Pose(pose));
        let front = Feed::new("front", "painted by the test");
        front.state.set(FeedState::Live { rate_hz: 30.0 });
        // A still picture from the future never ages; the camera's own tests are elsewhere.
        let still = Frame::new(2, 2, vec![9; 12], 1, clock.now() + LIMIT * 100);
        front.frames.set(still.unwrap());
        let mut setup = Setup {
            arm: "simulated".to_owned(),
            connector: Some(connector(&arm)),
            feeds: vec![front.clone()],
            policy: Some(LoadRequest::default()),
            task: "wave".to_owned(),
            patience: Patience {
                hang: Duration::from_millis(400),
                back_off: Duration::from_millis(50),
                ..Patience::default()
            },
            // A busy machine is no stalled loop; the watchdog's own tests wait for less.
            stall: LIMIT,
            ..Setup::new(clock.clone(), loader(&mood, &seen))
        };
        change(&mut setup);
        Self {
            runtime: Runtime::start(setup).unwrap(),
            arm,
            clock,
            mood,
            seen,
            front,
        }
    }

    /// A stand whose arm is armed and holds.
    pub fn armed(pose: JointVec) -> Self {
        let stand = Self::at_rest(pose);
        stand.arm_it();
        stand
    }

    /// A stand whose policy drives.
    pub fn driving(pose: JointVec) -> Self {
        Self::driving_with(pose, |_| {})
    }

    /// A stand whose arm is in full motion, for half a second or more.
    pub fn moving() -> Self {
        Self::moving_with(|_| {})
    }

    /// The same with a set-up that the test has changed.
    pub fn moving_with(change: impl FnOnce(&mut Setup)) -> Self {
        let stand = Self::driving_with(START, change);
        stand.mood.set(Mood::Pose(FAR));
        let pan = Joint::ShoulderPan;
        stand.until("in motion", |seen| seen.measured[pan] > 10.0);
        stand
    }

    fn driving_with(pose: JointVec, change: impl FnOnce(&mut Setup)) -> Self {
        let stand = Self::with(SimArm::new(Clock::real()), pose, change);
        stand.arm_it();
        stand.until("ready", |seen| {
            seen.policy == PolicyStatus::Ready { busy: false }
        });
        stand.tell(Command::SetMode(Mode::Policy));
        stand.until("driven", |seen| seen.chunks > 0);
        stand
    }

    fn arm_it(&self) {
        self.until("connected", connected);
        self.tell(Command::EnableTorque);
        self.until("armed", armed);
    }

    pub fn tell(&self, command: Command) {
        self.runtime.commands.send(command).unwrap();
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.until("a snapshot", |_| true)
    }

    /// The first snapshot that is as told.
    pub fn until(&self, what: &str, condition: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        self.runtime.wait_for(LIMIT, condition).unwrap_or_else(|| {
            let seen = self.runtime.snapshot.get().unwrap_or_default();
            panic!(
                "never {what}: {} {:?} {:?} {:?} {:#?}",
                seen.mode, seen.connection, seen.policy, seen.queue, seen.faults
            )
        })
    }

    /// The first snapshot at least `ticks` later.
    pub fn after(&self, ticks: u64) -> Arc<Snapshot> {
        let tick = self.snapshot().tick.0 + ticks;
        self.until("later", |seen| seen.tick.0 >= tick)
    }

    /// The snapshot that lists an active fault of this kind.
    pub fn until_fault(&self, kind: FaultKind) -> (Arc<Snapshot>, Fault) {
        let seen = self.until("this fault", |seen| fault(seen, kind).is_some());
        let fault = fault(&seen, kind).unwrap();
        (seen, fault)
    }

    /// Checks that no goal changes for `ticks`.
    pub fn assert_holds(&self, ticks: u64) {
        let before = self.snapshot();
        let after = self.after(ticks);
        assert_eq!(before.commanded, after.commanded, "the arm does not hold");
    }
}

/// Connects the real driver to this arm.
pub fn connector(arm: &SimArm) -> Connector {
    let wired = arm.clone();
    Box::new(move || {
        let options = Options {
            clock: wired.clock().clone(),
            ..Options::default()
        };
        Arm::connect(wired.port(), wired.calibration(), options)
    })
}

pub fn fault(seen: &Snapshot, kind: FaultKind) -> Option<Fault> {
    let mut faults = seen.faults.iter();
    faults.find(|it| it.kind == kind && it.active).cloned()
}

pub fn connected(seen: &Snapshot) -> bool {
    matches!(seen.connection, Connection::Connected { .. })
}

pub fn armed(seen: &Snapshot) -> bool {
    seen.connection == Connection::Connected { torque: true }
}

/// A pose near the start of the simulated arm, `by` units away in every joint.
pub fn near_start(arm_start: JointVec, by: f32) -> JointVec {
    JointVec::from_fn(|joint| arm_start[joint] + by)
}
