//! The arm in motion: where it is, and where it is sent.

use crate::action::Action;
use crate::arm::error::{Error, ErrorKind};
use crate::arm::register::Register;
use crate::arm::{Arm, Cut, Cuts, Motion};
use crate::joint::{Joint, JointVec};

impl Arm {
    /// Where the arm is, robot units. A joint that misses a few reads keeps its last position
    /// ([`silence`](Self::silence) tells); one bad reading is not believed ([`counters`](Self::counters) tells).
    ///
    /// # Errors
    /// A joint that stays silent, all of them, positions that jump, a servo that lost its torque, or a lost port. The arm is
    /// readable again as soon as the cause is gone; lost torque, silence of all and a lost port end arming.
    pub fn read_state(&mut self) -> Result<JointVec, Error> {
        self.unsent = self.unsent.saturating_add(1);
        self.observe()?;
        Ok(self.pose())
    }

    /// Sends goals for one tick, robot units, and returns those that were sent: as far towards `action` as the
    /// [`limits`](Self::limits) allow in one [`period`](Self::set_period), in whole counts. What was cut, and why, is in
    /// [`cuts`](Self::cuts). A joint whose goal is not a number, or is the one that was sent last, comes to rest.
    ///
    /// # Errors
    /// Torque is off, a joint is silent, or the port is lost. Nothing was sent then.
    pub fn send_action(&mut self, action: Action) -> Result<Action, Error> {
        if !self.armed || self.change.is_some() {
            return Err(self.error(ErrorKind::TorqueOff));
        }
        self.check_silence()?;
        let numberless = action.0.iter().filter(|value| !value.is_finite()).count();
        self.rejected += numberless as u64;
        let (goal, allowed) = self.allowed(action);
        let (motion, mut cuts) = self.limits.advance(&self.coasting(), goal, self.period_s);
        for (cut, earlier) in cuts.0.iter_mut().zip(allowed.0) {
            *cut = cut.filter(|cut| cut.is_obstacle()).or(earlier).or(*cut);
        }
        let goals = Joint::ALL.map(|joint| {
            let motor = self.calibration.motor(joint);
            let counts = self.calibration.unnormalize(joint, motion.position[joint]);
            (motor.id, counts.clamp(motor.range_min, motor.range_max))
        });
        let sent = self.bus.sync_write(Register::GoalPosition, &goals);
        sent.map_err(|error| self.bus_error(error))?;
        for (servo, (_, goal)) in self.servos.iter_mut().zip(goals) {
            servo.goal = goal;
        }
        self.motion = motion;
        self.unsent = 0;
        self.cuts = cuts;
        self.cut_counts.count(&cuts);
        Ok(self.goal_pose())
    }

    /// What of an action may be followed, before speeds and distances come into it: numbers, not too far ahead of the
    /// joints, and not against the gripper's reflexes.
    fn allowed(&mut self, action: Action) -> (Action, Cuts) {
        let (last, here) = (self.goal_pose(), self.pose());
        let mut cuts = Cuts::default();
        let goal = JointVec::from_fn(|joint| {
            // Sent goals are rounded to counts; whoever asks for what was sent last asks for no motion.
            let holds = action[joint].to_bits() == last[joint].to_bits();
            let goal = if holds || !action[joint].is_finite() {
                self.motion.position[joint]
            } else {
                action[joint]
            };
            let near = match self.options.bounds.max_relative_target {
                Some(most) => goal.max(here[joint] - most).min(here[joint] + most),
                None => goal,
            };
            if near != goal {
                cuts.note(joint, Cut::RelativeTarget);
            }
            if joint != Joint::Gripper {
                return near;
            }
            let eased = self.reflex.allow(near);
            if eased != near {
                cuts.note(joint, Cut::Grip);
            }
            eased
        });
        (goal, cuts)
    }

    /// The motion that is under way. Goals that were not sent in the last tick have been reached since.
    fn coasting(&self) -> Motion {
        if self.unsent > 1 {
            Motion::at(self.motion.position)
        } else {
            self.motion
        }
    }

    /// The goals stand still where they were sent last.
    pub(super) fn settle(&mut self) {
        self.motion = Motion::at(self.goal_pose());
        self.cuts = Cuts::default();
    }

    /// The last believed pose, robot units.
    pub(super) fn pose(&self) -> JointVec {
        self.calibration.robot_units(std::array::from_fn(|index| {
            let servo = &self.servos[index];
            servo.position().unwrap_or(servo.goal)
        }))
    }

    /// The last goals, robot units.
    pub(super) fn goal_pose(&self) -> JointVec {
        self.calibration
            .robot_units(std::array::from_fn(|index| self.servos[index].goal))
    }
}
