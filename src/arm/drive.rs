//! The arm in motion: where it is, where it is sent, and how it is made to stand still.

use crate::action::Action;
use crate::arm::Arm;
use crate::arm::bus::TRIES;
use crate::arm::error::{Error, ErrorKind, Motor};
use crate::arm::register::{Block, Register};
use crate::arm::servo::{Jump, Servo};
use crate::joint::{JOINT_COUNT, Joint, JointVec};

/// A servo's own view of how it is driven.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    pub(super) torque: bool,
    /// Counts.
    goal: i32,
    /// Register values.
    speed: i32,
    torque_limit: i32,
}

/// What a stop has achieved.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The goals that are held, and where the limp joints are, robot units.
    pub pose: JointVec,
    /// Joints without torque, which nothing holds.
    pub limp: Vec<Motor>,
}

pub(super) type Controls = [Option<Control>; JOINT_COUNT];
/// Where each joint shall stand still, counts.
type Targets = [Option<i32>; JOINT_COUNT];

/// Consecutive reads for which a silent joint's last position stands in. At 30 Hz the fourth comes 0.13 s after the last
/// good one.
const SILENCE_LIMIT: u32 = 3;
/// Seconds of full speed that one action may ask for at once. A control loop sends steps of a tick; whatever is longer
/// than this is a wrong goal or a first goal from another pose, and is cut.
const LEAP_TIME_S: f32 = 0.25;

impl Arm {
    /// Where the arm is, robot units. A joint that misses a few reads keeps its last position
    /// ([`silence`](Self::silence) tells); one bad reading is not believed ([`counters`](Self::counters) tells).
    ///
    /// # Errors
    /// A joint that stays silent, all of them, positions that jump, a servo that lost its torque, or a lost port. The arm is
    /// readable again as soon as the cause is gone; lost torque, silence of all and a lost port end arming.
    pub fn read_state(&mut self) -> Result<JointVec, Error> {
        self.measure()?;
        self.check_silence()?;
        // While the arm is let down its limits are not those of driving.
        if self.armed && self.change.is_none() {
            self.audit()?;
        }
        Ok(self.pose())
    }

    /// Sends goals, robot units, and returns those that were sent: inside the calibrated ranges and [`limits`](Self::limits),
    /// at most a quarter of a second of full speed away from the last goal, in whole counts. A joint whose goal is not a
    /// number keeps its last one.
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
        let asked = self.limits.step(self.goal_pose(), action, LEAP_TIME_S);
        let goals: Vec<(u8, i32)> = Joint::ALL
            .iter()
            .map(|joint| {
                let motor = self.calibration.motor(*joint);
                let counts = if action[*joint].is_finite() {
                    self.calibration.unnormalize(*joint, asked[*joint])
                } else {
                    self.servos[joint.index()].goal
                };
                (motor.id, counts.clamp(motor.range_min, motor.range_max))
            })
            .collect();
        let sent = self.bus.sync_write(Register::GoalPosition, &goals);
        sent.map_err(|error| self.bus_error(error))?;
        for (servo, (_, goal)) in self.servos.iter_mut().zip(goals) {
            servo.goal = goal;
        }
        Ok(self.goal_pose())
    }

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
        let measured = self.measure();
        if let Err(error) = measured
            && matches!(error.kind, ErrorKind::Disconnected(_))
        {
            return Err(error);
        }
        let targets = std::array::from_fn(|index| self.servos[index].target(since));
        let mut control = self.read_control(self.tries())?;
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

    /// Reads all positions; what does not come through is counted in `misses`.
    fn measure(&mut self) -> Result<(), Error> {
        let read = self.bus.sync_read(Block::STATE, &self.ids(), self.tries());
        let states = read.map_err(|error| self.bus_error(error))?;
        let now = self.options.clock.now();
        let mut jumped: Option<(Motor, Jump)> = None;
        for (servo, state) in self.servos.iter_mut().zip(states) {
            match state {
                Some(state) => {
                    if let Some(jump) = servo.measured(&state, now) {
                        jumped = Some((servo.motor, jump));
                    }
                }
                None => servo.misses += 1,
            }
        }
        let Some((motor, jump)) = jumped else {
            return Ok(());
        };
        let units = |counts| self.calibration.normalize(motor.joint, f64::from(counts));
        Err(self.error(ErrorKind::PositionJump {
            motor,
            from: units(jump.from),
            to: units(jump.to),
        }))
    }

    /// A joint that was silent last time gets one try a tick: three would cost the others their rate.
    fn tries(&self) -> u32 {
        if self.servos.iter().any(|servo| servo.misses > 0) {
            1
        } else {
            TRIES
        }
    }

    fn check_silence(&mut self) -> Result<(), Error> {
        let silent: Vec<Motor> = self
            .servos
            .iter()
            .filter(|servo| servo.misses > SILENCE_LIMIT)
            .map(|servo| servo.motor)
            .collect();
        if silent.len() == self.servos.len() {
            // Whatever comes back may have restarted meanwhile.
            self.armed = false;
            return Err(self.error(ErrorKind::NoResponse));
        }
        if silent.is_empty() {
            Ok(())
        } else {
            Err(self.error(ErrorKind::Silent(silent)))
        }
    }

    /// Looks for servos that have restarted: their torque is off, or on again with the limits of a servo that nobody
    /// has armed. They are not switched on again blindly: the arm may have sunk meanwhile.
    fn audit(&mut self) -> Result<(), Error> {
        if self.not_as_armed()?.is_empty() {
            return Ok(());
        }
        // The checksum lets one damaged frame in 256 pass, and a run is not ended by one.
        let lost = self.not_as_armed()?;
        if lost.is_empty() {
            return Ok(());
        }
        self.armed = false;
        Err(self.error(ErrorKind::TorqueLost(lost)))
    }

    /// The joints that are not driven as arming has set them, as far as they answer.
    fn not_as_armed(&mut self) -> Result<Vec<Motor>, Error> {
        let control = self.read_control(self.tries())?;
        let differs = |joint: &&Joint| {
            let (speed, torque) = self.driving_limits(**joint);
            control[joint.index()].is_some_and(|control| {
                !control.torque || control.torque_limit != torque || control.speed != speed
            })
        };
        let different = Joint::ALL.iter().filter(differs);
        Ok(different
            .map(|joint| self.servos[joint.index()].motor)
            .collect())
    }

    /// Torque, goal and limits of each joint as its servo has them; `None` where no answer came.
    pub(super) fn read_control(&mut self, tries: u32) -> Result<Controls, Error> {
        let read = self.bus.sync_read(Block::CONTROL, &self.ids(), tries);
        let blocks = read.map_err(|error| self.bus_error(error))?;
        let mut controls = [None; JOINT_COUNT];
        for ((servo, block), control) in self.servos.iter_mut().zip(blocks).zip(&mut controls) {
            let Some(block) = block else { continue };
            let value = |register| Block::CONTROL.value(register, &block);
            servo.energised = value(Register::TorqueEnable) != 0;
            *control = Some(Control {
                torque: servo.energised,
                goal: value(Register::GoalPosition),
                speed: value(Register::GoalVelocity),
                torque_limit: value(Register::TorqueLimit),
            });
        }
        Ok(controls)
    }

    /// The last believed pose, robot units.
    fn pose(&self) -> JointVec {
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
