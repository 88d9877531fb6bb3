//! Making the arm stand still where it is, and knowing that it does.

use crate::arm::Arm;
use crate::arm::audit::Controls;
use crate::arm::bus::TRIES;
use crate::arm::error::{Error, ErrorKind, Motor};
use crate::arm::register::{Block, Register};
use crate::arm::servo::Servo;
use crate::joint::{JOINT_COUNT, JointVec};

/// What a stop has achieved.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The goals that are held, and where the limp joints are, robot units.
    pub pose: JointVec,
    /// Joints without torque, which nothing holds.
    pub limp: Vec<Motor>,
}

/// Where each joint shall stand still, counts.
type Targets = [Option<i32>; JOINT_COUNT];

impl Arm {
    /// Makes the arm stand still where it is: goal = present position in every joint that has torque, read back. Torque is
    /// neither switched on nor off; limp joints stay limp and are named. Breaks off arming, and a release: an arm on its
    /// way down gets its strength back, but not before its goal is where it is now.
    ///
    /// # Errors
    /// The joints that may still be moving: silent ones, and those that did not take their goal. The others are holding all
    /// the same. May be called again until it succeeds.
    pub fn hold(&mut self) -> Result<Held, Error> {
        self.change = None;
        let since = self.options.clock.now();
        // A jump is for `read_state` to report; what counts here is the last position that was believed.
        let mut control = self.measure(Block::WATCH)?.controls;
        let targets = std::array::from_fn(|index| self.servos[index].target(since));
        // One time more than goals are tried, because strength follows the goal.
        for _ in 0..=TRIES {
            let restless = self.restless(&targets, &control);
            let weak = self.weak(&targets, &control);
            if restless.is_empty() && weak.is_empty() {
                break;
            }
            for (register, values) in [
                (Register::GoalPosition, restless),
                (Register::TorqueLimit, weak),
            ] {
                let sent = self.bus.sync_write(register, &values);
                sent.map_err(|error| self.bus_error(error))?;
            }
            control = self.read_control(self.tries())?;
        }
        self.judge_hold(&targets, &control)
    }

    /// Ids and targets of the joints that have torque and another goal than their target. A joint without torque is left
    /// alone: writing its goal would switch it on.
    fn restless(&self, targets: &Targets, control: &Controls) -> Vec<(u8, i32)> {
        let restless = |servo: &Servo| {
            let index = servo.motor.joint.index();
            let (target, control) = (targets[index]?, control[index]?);
            (control.torque && control.goal != target).then_some((servo.motor.id, target))
        };
        self.servos.iter().filter_map(restless).collect()
    }

    /// Ids and torque limits of the joints that have their target and are still as weak as a release has made them.
    fn weak(&self, targets: &Targets, control: &Controls) -> Vec<(u8, i32)> {
        let weak = |servo: &Servo| {
            let index = servo.motor.joint.index();
            let (target, control) = (targets[index]?, control[index]?);
            let limit = self.driving_limits(servo.motor.joint).1;
            let settled = control.torque && control.goal == target;
            (self.weakened && settled && control.torque_limit != limit)
                .then_some((servo.motor.id, limit))
        };
        self.servos.iter().filter_map(weak).collect()
    }

    /// Takes over the goals that were confirmed and names the joints that were not.
    fn judge_hold(&mut self, targets: &Targets, control: &Controls) -> Result<Held, Error> {
        let weak = self.weak(targets, control);
        let (mut loose, mut limp) = (Vec::new(), Vec::new());
        for (servo, (target, control)) in self.servos.iter_mut().zip(targets.iter().zip(control)) {
            match (target, control) {
                (_, Some(control)) if !control.torque => limp.push(servo.motor),
                (Some(target), Some(control)) if control.goal == *target => {
                    servo.goal = *target;
                    if weak.iter().any(|(id, _)| *id == servo.motor.id) {
                        loose.push(servo.motor);
                    }
                }
                _ => loose.push(servo.motor),
            }
        }
        self.armed &= limp.is_empty();
        self.settle();
        if control.iter().all(Option::is_none) {
            self.armed = false;
            return Err(self.error(ErrorKind::NoResponse));
        }
        if !loose.is_empty() {
            return Err(self.error(ErrorKind::HoldUnconfirmed(loose)));
        }
        self.weakened = false;
        let (seen, goals) = (self.pose(), self.goal_pose());
        let is_limp = |joint| limp.iter().any(|motor| motor.joint == joint);
        let pose = JointVec::from_fn(|joint| {
            if is_limp(joint) {
                seen[joint]
            } else {
                goals[joint]
            }
        });
        Ok(Held { pose, limp })
    }
}
