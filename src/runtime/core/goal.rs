//! Where the arm is sent in a tick: what its driver wants, by way of an approach where that is far.

use crate::joint::JointVec;
use crate::runtime::Mode;
use crate::runtime::core::Control;

impl Control {
    /// The goal of this tick, before the limits.
    pub(super) fn goal(&mut self) -> JointVec {
        let (period, commanded) = (self.period(), self.arm.commanded);
        if let Some(goal) = self.park_on(period) {
            return goal;
        }
        let target = match self.mode {
            Mode::Hold => None,
            Mode::Jog => Some(self.jogged(period)),
            Mode::Teleop => self.teleop.target(),
            Mode::Policy => self.next_action(),
            Mode::Replay => self.replayed(),
        };
        let Some(target) = target else {
            // Whatever comes after a hold is a first target.
            self.approach.begin();
            return commanded;
        };
        let step = self.approach.step(period, commanded, target);
        // A plan waits until its first pose is reached: what is not executed is not lost.
        if step.arrived && self.mode == Mode::Policy {
            self.queue.pop();
        }
        if step.arrived && self.mode == Mode::Replay {
            self.replay_on();
        }
        step.goal
    }
}
