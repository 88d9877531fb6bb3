//! The pretend SO-101 as the rest of the rig holds it: a port for the driver, true joint angles for the painter, a hand
//! that moves it while it is limp, and ways to make things go wrong.

use std::sync::{Arc, Mutex};

use glam::Vec2;

use crate::arm::{Arm, Calibration, Error, Options, Port, Role};
use crate::clock::Clock;
use crate::joint::{Joint, JointVec};
use crate::latest::Latest;
use crate::sim::build::{Build, Stage};
use crate::sim::bus::{SimBus, Traffic, WriteRecord};
use crate::sim::faults::Fault;
use crate::sim::hand::Gesture;
use crate::sim::layout::Layout;
use crate::sim::script::{Plug, Script};
use crate::sim::truth::Truth;
use crate::sim::wire::{SimPort, lock};

/// A simulated arm. Clones are handles to the same arm.
#[derive(Clone, Debug)]
pub struct SimArm {
    bus: Arc<Mutex<SimBus>>,
    clock: Clock,
    build: Build,
    pose: Latest<JointVec>,
    truth: Latest<Truth>,
}

impl SimArm {
    /// A follower in its usual start pose, calibrated and limp, moving by `clock`.
    pub fn new(clock: Clock) -> Self {
        Self::built(clock, Build::new(Role::Follower, Stage::Calibrated))
    }

    /// A follower in another start pose, robot units.
    pub fn standing(clock: Clock, start: JointVec) -> Self {
        let usual = Build::new(Role::Follower, Stage::Calibrated);
        Self::built(clock, Build { start, ..usual })
    }

    /// A calibrated leader, which a [`Gesture`] moves.
    pub fn leader(clock: Clock) -> Self {
        Self::built(clock, Build::new(Role::Leader, Stage::Calibrated))
    }

    /// An arm whose motors have their ids but were never calibrated.
    pub fn uncalibrated(clock: Clock, role: Role) -> Self {
        Self::built(clock, Build::new(role, Stage::Uncalibrated))
    }

    /// An arm out of the box: every motor has id 1, and none is in the chain before [`SimArm::plug`].
    pub fn boxed(clock: Clock, role: Role) -> Self {
        Self::built(clock, Build::new(role, Stage::Boxed))
    }

    /// Any arm.
    pub fn built(clock: Clock, build: Build) -> Self {
        let pose = Latest::new();
        let bus = SimBus::new(build, clock.now(), pose.clone());
        Self {
            bus: Arc::new(Mutex::new(bus)),
            clock,
            build,
            pose,
            truth: Latest::new(),
        }
    }

    /// A follower in its usual start pose that has weight, calibrated and limp, before a table that is laid like this. It
    /// moves, and pushes and lifts what is there, whenever the bus is used or [`SimArm::advance`] is called.
    pub fn on_table(clock: Clock, layout: &Layout) -> Self {
        let build = Build::new(Role::Follower, Stage::Calibrated);
        let (pose, truth) = (Latest::new(), Latest::new());
        let bus = SimBus::on_table(build, clock.now(), pose.clone(), truth.clone(), layout);
        Self {
            bus: Arc::new(Mutex::new(bus)),
            clock,
            build,
            pose,
            truth,
        }
    }

    /// The host's end of the wire, for [`Arm::connect`](crate::arm::Arm::connect).
    pub fn port(&self) -> Port {
        Box::new(SimPort::new(Arc::clone(&self.bus), self.clock.clone()))
    }

    /// The servos' end of the wire, for whoever carries the bytes another way.
    #[cfg(unix)]
    pub(super) fn wire(&self) -> Arc<Mutex<SimBus>> {
        Arc::clone(&self.bus)
    }

    /// The clock by which the arm moves; the driver needs it too.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Which arm it is, and how far its set-up had come at first.
    pub fn build(&self) -> Build {
        self.build
    }

    /// What a right calibration of this arm says; a calibrated one holds it in its servos.
    pub fn calibration(&self) -> Calibration {
        self.build.calibration()
    }

    /// Where the joints truly are, robot units (degrees are URDF angles): finer than a servo can say, and not what a lying
    /// one says. Lock-free.
    pub fn pose(&self) -> JointVec {
        self.pose.get().map_or(self.build.start, |pose| *pose)
    }

    /// The slot behind [`SimArm::pose`].
    pub fn pose_feed(&self) -> Latest<JointVec> {
        self.pose.clone()
    }

    /// The real driver on this arm, by the arm's own clock.
    ///
    /// # Errors
    /// As of [`Arm::connect`].
    pub fn connect(&self, mut options: Options) -> Result<Arm, Error> {
        options.clock = self.clock.clone();
        Arm::connect(self.port(), self.calibration(), options)
    }

    /// Whether the arm has weight and a table before it.
    pub fn has_world(&self) -> bool {
        lock(&self.bus).has_world()
    }

    /// What is truly so on the table, as of the latest step; of an arm without a table, its joints only. Lock-free.
    pub fn truth(&self) -> Truth {
        let joints_only = || Truth {
            at: self.clock.now(),
            joints: self.pose(),
            ..Truth::default()
        };
        let truth = self.truth.get();
        truth.map_or_else(joints_only, |truth| Truth::clone(&truth))
    }

    /// The slot behind [`SimArm::truth`]; it stays empty where there is no table.
    pub fn truth_feed(&self) -> Latest<Truth> {
        self.truth.clone()
    }

    /// Lays the table anew. With `home` the arm is back in its first pose at once, too, and holds it if it has torque: for
    /// times when nobody drives it, for a driver would not believe its eyes.
    pub fn lay(&self, layout: &Layout, home: bool) {
        self.touched(|bus, _| {
            if home {
                bus.go_home();
            }
            bus.lay(layout);
        });
    }

    /// A person's hand takes a cube, out of the gripper if need be, and holds it above this place of the table, metres in the
    /// base frame; `None` sets it down there gently. Whether there is such a cube.
    pub fn drag(&self, cube: usize, over: Option<Vec2>) -> bool {
        let mut held = false;
        self.touched(|bus, _| held = bus.drag(cube, over));
        held
    }

    /// Brings the motors up to date without a word on the wire.
    pub fn advance(&self) {
        lock(&self.bus).advance(self.clock.now());
    }

    /// Makes something go wrong.
    pub fn inject(&self, fault: Fault) {
        self.touched(|bus, _| bus.inject(fault));
    }

    /// Ends all faults that last, random ones too. A script goes on.
    pub fn heal(&self) {
        self.touched(|bus, _| bus.heal());
    }

    /// Plays a script from now on, beside any other that has not come to its end. Its random faults depend on nothing but
    /// their seed and the number of the transaction, so that on a virtual clock a run can be repeated exactly.
    pub fn script(&self, script: Script) {
        self.touched(|bus, now| bus.play(script, now));
    }

    /// Drops what scripts still have in store; faults that are in force last on.
    pub fn end_scripts(&self) {
        self.touched(|bus, _| bus.end_scripts());
    }

    /// Moves limp joints from now on as a person's hand does; joints with torque do not give way.
    pub fn hand(&self, gesture: Gesture) {
        self.touched(|bus, now| bus.hand(gesture, now));
    }

    /// Plugs motors into the chain or pulls them out.
    pub fn plug(&self, plug: Plug) {
        self.touched(|bus, _| bus.plug(plug));
    }

    /// Changes something at this moment.
    fn touched(&self, change: impl FnOnce(&mut SimBus, std::time::Duration)) {
        let mut bus = lock(&self.bus);
        let now = self.clock.now();
        bus.advance(now);
        change(&mut bus, now);
    }

    /// The arm, and the table if it has one, as it was at first: start pose, just powered up and limp, no faults, no script, no hand, empty log. A driver
    /// that had armed it notices that torque is gone.
    pub fn reset(&self) {
        let mut bus = lock(&self.bus);
        *bus = bus.anew(self.clock.now());
    }

    /// The latest writes that the servos obeyed, oldest first.
    pub fn writes(&self) -> Vec<WriteRecord> {
        lock(&self.bus).log()
    }

    /// What has passed over the wire so far.
    pub fn traffic(&self) -> Traffic {
        lock(&self.bus).traffic()
    }

    /// Whether a joint's motor is driven.
    pub fn torque(&self, joint: Joint) -> bool {
        lock(&self.bus).servo(joint).torque()
    }

    /// The bus id of a joint's motor.
    pub fn id(&self, joint: Joint) -> u8 {
        lock(&self.bus).servo(joint).id()
    }
}
