//! The pretend SO-101 as the rest of the rig holds it: a port for the driver, true joint angles for the painter, and a
//! hand to make things go wrong.

use std::sync::{Arc, Mutex};

use crate::arm::{Calibration, Port};
use crate::clock::Clock;
use crate::joint::{Joint, JointVec};
use crate::latest::Latest;
use crate::sim::bus::{SimBus, WriteRecord};
use crate::sim::faults::Fault;
use crate::sim::wire::{SimPort, lock};

/// Where the arm stands at first: raised, folded a little, looking down at the table, jaws ajar.
const START: JointVec = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);

/// A simulated arm. Clones are handles to the same arm.
#[derive(Clone, Debug)]
pub struct SimArm {
    bus: Arc<Mutex<SimBus>>,
    clock: Clock,
    calibration: Calibration,
    start: JointVec,
    pose: Latest<JointVec>,
}

impl SimArm {
    /// An arm in its usual start pose, limp, moving by `clock`.
    pub fn new(clock: Clock) -> Self {
        Self::standing(clock, START)
    }

    /// An arm in another start pose, robot units.
    pub fn standing(clock: Clock, start: JointVec) -> Self {
        let calibration = Calibration::simulated();
        let pose = Latest::new();
        let bus = SimBus::new(calibration, start, clock.now(), pose.clone());
        Self {
            bus: Arc::new(Mutex::new(bus)),
            clock,
            calibration,
            start,
            pose,
        }
    }

    /// The host's end of the wire, for [`Arm::connect`](crate::arm::Arm::connect).
    pub fn port(&self) -> Port {
        Box::new(SimPort::new(Arc::clone(&self.bus), self.clock.clone()))
    }

    /// The clock by which the arm moves; the driver needs it too.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What the servos were calibrated with.
    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Where the joints truly are, robot units (degrees are URDF angles): finer than a servo can say, and not what a lying
    /// one says. Lock-free.
    pub fn pose(&self) -> JointVec {
        self.pose.get().map_or(self.start, |pose| *pose)
    }

    /// The slot behind [`SimArm::pose`].
    pub fn pose_feed(&self) -> Latest<JointVec> {
        self.pose.clone()
    }

    /// Brings the motors up to date without a word on the wire.
    pub fn advance(&self) {
        lock(&self.bus).advance(self.clock.now());
    }

    /// Makes something go wrong.
    pub fn inject(&self, fault: Fault) {
        let mut bus = lock(&self.bus);
        bus.advance(self.clock.now());
        bus.inject(fault);
    }

    /// Ends all faults that last.
    pub fn heal(&self) {
        lock(&self.bus).heal();
    }

    /// The arm as it was at first: start pose, just powered up and limp, no faults, empty log. A driver that had armed it
    /// notices that torque is gone.
    pub fn reset(&self) {
        let mut bus = lock(&self.bus);
        *bus = SimBus::new(
            self.calibration,
            self.start,
            self.clock.now(),
            self.pose.clone(),
        );
    }

    /// The latest writes that the servos obeyed, oldest first.
    pub fn writes(&self) -> Vec<WriteRecord> {
        lock(&self.bus).log()
    }

    /// Whether a joint's motor is driven.
    pub fn torque(&self, joint: Joint) -> bool {
        lock(&self.bus).servo(joint).torque()
    }
}
