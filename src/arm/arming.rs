//! Switching torque on so that nothing jumps, a few packets at a time so that a stop is heard meanwhile.
//!
//! Hazards, all seen on real arms: a servo that gets torque runs to whatever goal its register holds, at full torque; writing
//! a goal switches torque on by itself; a servo that restarted has forgotten its limits. Hence the order of [`WAKING`]:
//! limits low, goal = present position and read back, torque, look, limits up, slowly; joint by joint, because six motors
//! starting at once have tripped supplies.

use std::time::Duration;

use crate::arm::bus::{BusError, TRIES};
use crate::arm::error::{Error, ErrorKind};
use crate::arm::handshake::RollCall;
use crate::arm::lowering::Lowering;
use crate::arm::register::{Block, Register};
use crate::arm::rising::Rising;
use crate::arm::{Arm, Role, Servo};
use crate::joint::{JOINT_COUNT, Joint, JointVec};

/// Torque limit while a joint wakes up, permille.
pub(super) const WAKING_TORQUE: i32 = 250;
/// Speed limit while a joint wakes up, counts a second (30 °/s): fast enough to show within [`SETTLE_TIME`].
const WAKING_SPEED: i32 = 341;
/// Acceleration while a joint wakes up, units of 100 counts/s² (176 °/s²).
const WAKING_ACCELERATION: i32 = 20;
/// How long a joint is watched after its torque came on.
const SETTLE_TIME: Duration = Duration::from_millis(100);
/// Counts that a joint may move by when its torque comes on (2°).
const SETTLE_SLACK: i32 = 23;
/// The servo's own speed limit over that of [`Limits`](crate::arm::Limits): a second fence, which never slows a goal
/// that keeps to the first.
const SPEED_HEADROOM: f64 = 1.25;
/// Acceleration while driving, units of 100 counts/s² (880 °/s²): reaches the default speed in 70 ms.
const DRIVING_ACCELERATION: i32 = 100;
/// Looks at the strength of all joints before it is not believed that they have it.
const STRENGTH_LOOKS: u32 = 20;
/// No new step of arming is begun after so long in one tick. A step is one to four packets and their answers.
const TICK_SHARE: Duration = Duration::from_millis(5);

/// How far a change of torque has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TorqueStep {
    /// Under way: the share that is done, 0 to 1.
    Going(f32),
    /// Torque is on in all joints, which hold this pose.
    Armed(JointVec),
    /// Torque is off in all joints.
    Released,
}

/// A change of torque that is under way.
#[derive(Debug)]
pub(super) enum Change {
    Arming(Arming),
    Lowering(Lowering),
}

/// Arming as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Arming {
    roll: RollCall,
    /// Steps done: the roll call, the look at the servos, and [`WAKING`] for each joint.
    done: usize,
    /// Joints that were limp before this start, and are again if it fails.
    woken: Vec<Joint>,
    /// Where the joint that is waking up was when it got its goal, counts, and when it got torque.
    before: i32,
    since: Duration,
    /// Joints that are awake and on their way to full strength.
    rising: Vec<Rising>,
    /// How often their strength was looked at in vain.
    looks: u32,
}

/// What is done with one joint, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waking {
    /// A limp joint only: settings that were not made yet, because it had torque when it was met, or is another servo since.
    SetUp,
    /// A limp joint only: one that holds a load already would sag under low limits.
    Low(Register, i32),
    /// Goal = present position, which is read in the same step, so that the arm cannot sink in between.
    Goal,
    Write(Register, i32),
    /// The joint must not move now.
    Watch,
    DrivingSpeed,
    /// Begins for a limp joint; one that had torque gets its limit at once.
    DrivingTorque,
}

const WAKING: [Waking; 11] = [
    Waking::SetUp,
    Waking::Low(Register::TorqueLimit, WAKING_TORQUE),
    Waking::Low(Register::GoalVelocity, WAKING_SPEED),
    Waking::Low(Register::Acceleration, WAKING_ACCELERATION),
    Waking::Goal,
    Waking::Write(Register::TorqueEnable, 1),
    Waking::Write(Register::Lock, 1),
    Waking::Watch,
    Waking::Write(Register::Acceleration, DRIVING_ACCELERATION),
    Waking::DrivingSpeed,
    Waking::DrivingTorque,
];
/// The roll call and the look at what answered.
const INSPECTION: usize = JOINT_COUNT + 1;
const AWAKE: usize = INSPECTION + JOINT_COUNT * WAKING.len();
/// The last step waits until all joints have their strength.
const STEPS: usize = AWAKE + 1;

impl Servo {
    /// `GoalVelocity` for a speed in counts a second; never zero, which means "as fast as it can".
    fn velocity_register(&self, counts_per_s: f64) -> i32 {
        (counts_per_s / f64::from(self.identity.speed_unit.max(1)))
            .ceil()
            .clamp(1.0, 32767.0) as i32
    }
}

impl Arm {
    /// Speed and torque limits of a joint while it is driven, as register values.
    pub(super) fn driving_limits(&self, joint: Joint) -> (i32, i32) {
        let servo = &self.servos[joint.index()];
        let speed =
            f64::from(self.limits.max_speed()[joint]) * self.calibration.counts_per_unit(joint);
        let strength = self.strength(joint);
        let eased = self.reflex.torque().filter(|_| joint == Joint::Gripper);
        (
            servo.velocity_register(speed * SPEED_HEADROOM),
            eased.map_or(strength, |eased| eased.min(strength)),
        )
    }

    /// The usual torque limit of a joint, permille.
    pub(super) fn strength(&self, joint: Joint) -> i32 {
        let most = self.servos[joint.index()].identity.max_torque;
        self.options.torque_limit[joint.index()].min(most).max(0)
    }

    /// Prepares to switch torque on from the present pose, one joint after the other; [`Arm::advance_torque`] does it.
    /// May be called at any time; joints that have torque keep it. [`Arm::hold`] breaks it off: joints that are on then
    /// hold their pose, the others stay limp.
    pub fn begin_arming(&mut self) {
        self.armed = false;
        self.reflex.reset();
        self.change = Some(Change::Arming(Arming::default()));
    }

    /// Goes on with the change of torque that was begun last; to be called once a tick. Takes some milliseconds, longer
    /// only when a servo falls silent. Arming takes a second and a half in all, letting the arm down half of one.
    ///
    /// # Errors
    /// The change is over then. Of arming: whatever speaks against it ([`ErrorKind::Unfit`]), a joint that moved, a
    /// register that was not taken, silence, or that it is a leader; the joints that it had switched on are off again. Of a
    /// release: the joints
    /// that did not confirm. A lost port. [`ErrorKind::TorqueOff`] when nothing was begun.
    pub fn advance_torque(&mut self) -> Result<TorqueStep, Error> {
        match self.change.take() {
            Some(Change::Arming(arming)) => self.advance_arming(arming),
            Some(Change::Lowering(lowering)) => self.advance_lowering(lowering),
            None => Err(self.error(ErrorKind::TorqueOff)),
        }
    }

    fn advance_arming(&mut self, mut arming: Arming) -> Result<TorqueStep, Error> {
        let end = self.options.clock.now() + TICK_SHARE;
        if let Err(error) = self.raise(&mut arming.rising) {
            self.put_back_to_sleep(&arming.woken);
            return Err(error);
        }
        loop {
            match self.arming_step(&mut arming) {
                Ok(true) => arming.done += 1,
                Ok(false) => break,
                Err(error) => {
                    self.put_back_to_sleep(&arming.woken);
                    return Err(error);
                }
            }
            if arming.done == STEPS {
                self.armed = true;
                self.weakened = false;
                self.settle();
                return Ok(TorqueStep::Armed(self.goal_pose()));
            }
            if self.options.clock.now() >= end {
                break;
            }
        }
        let share = arming.done as f32 / STEPS as f32;
        self.change = Some(Change::Arming(arming));
        Ok(TorqueStep::Going(share))
    }

    /// One step; false when it is too early for it.
    fn arming_step(&mut self, arming: &mut Arming) -> Result<bool, Error> {
        if self.options.role == Role::Leader {
            return Err(self.error(ErrorKind::Leader));
        }
        if let Some(joint) = Joint::ALL.get(arming.done) {
            let motor = self.servos[joint.index()].motor;
            return self.call(motor, &mut arming.roll).map(|()| true);
        }
        let Some(waking) = arming.done.checked_sub(INSPECTION) else {
            let problems = self.look(std::mem::take(&mut arming.roll))?;
            self.refuse(problems)?;
            return self.fitness().map(|()| true);
        };
        if arming.done == AWAKE {
            return self.strong(arming);
        }
        let joint = Joint::ALL[waking / WAKING.len()];
        self.wake(joint, WAKING[waking % WAKING.len()], arming)
    }

    /// One step of bringing a joint from limp (or holding) to driven; false when it is too early for it.
    fn wake(&mut self, joint: Joint, step: Waking, arming: &mut Arming) -> Result<bool, Error> {
        let (speed, torque) = self.driving_limits(joint);
        let servo = &mut self.servos[joint.index()];
        if step == WAKING[0] && !servo.energised {
            arming.woken.push(joint);
            // A stop gives it its strength back.
            self.weakened = true;
        }
        let servo = &mut self.servos[joint.index()];
        match step {
            // Not while it has torque; that is looked at in there.
            Waking::SetUp => {
                self.set_up(joint)?;
            }
            Waking::Low(register, value) => {
                let value = match register {
                    Register::GoalVelocity => servo.velocity_register(f64::from(value)),
                    _ => value,
                };
                if arming.woken.contains(&joint) {
                    self.write(joint, register, value)?;
                }
            }
            Waking::Goal => {
                arming.before = self.locate(joint)?;
                let servo = &mut self.servos[joint.index()];
                servo.goal = servo.within_range(arming.before);
                // From here on it may have torque.
                servo.energised = true;
                let goal = servo.goal;
                self.write(joint, Register::GoalPosition, goal)?;
                arming.since = self.options.clock.now();
            }
            Waking::Write(register, value) => self.write(joint, register, value)?,
            Waking::Watch => return self.watch(joint, arming),
            Waking::DrivingSpeed => self.write(joint, Register::GoalVelocity, speed)?,
            Waking::DrivingTorque if arming.woken.contains(&joint) => {
                let since = self.options.clock.now();
                arming.rising.push(Rising { joint, since });
            }
            Waking::DrivingTorque => self.write(joint, Register::TorqueLimit, torque)?,
        }
        Ok(true)
    }

    /// Whether all joints are as strong as they are to be.
    fn strong(&mut self, arming: &mut Arming) -> Result<bool, Error> {
        if !arming.rising.is_empty() {
            return Ok(false);
        }
        arming.looks += 1;
        if self.is_strong()? {
            return Ok(true);
        }
        if arming.looks < STRENGTH_LOOKS {
            return Ok(false);
        }
        let motors = self.servos.each_ref().map(|servo| servo.motor);
        Err(self.error(ErrorKind::HoldUnconfirmed(motors.to_vec())))
    }

    /// Whether the joint has stood still for long enough.
    fn watch(&mut self, joint: Joint, arming: &Arming) -> Result<bool, Error> {
        let moved = self.locate(joint)? - arming.before;
        if moved.abs() > SETTLE_SLACK {
            let motor = self.servos[joint.index()].motor;
            let units = (f64::from(moved) / self.calibration.counts_per_unit(joint)) as f32;
            return Err(self.error(ErrorKind::Moved { motor, units }));
        }
        Ok(self.options.clock.now() >= arming.since + SETTLE_TIME)
    }

    /// After a failed start: the joints that were limp before are limp again. Few packets, and no waiting for a servo that
    /// is silent: the failure may be followed by a stop.
    fn put_back_to_sleep(&mut self, woken: &[Joint]) {
        if woken.is_empty() {
            return;
        }
        if let Err(error) = self.cut(woken) {
            log::error!("torque may still be on: {error}");
        }
        self.give_limits_back(woken);
    }

    /// Where a joint is now, by its own answer and nobody's memory, counts.
    pub(super) fn locate(&mut self, joint: Joint) -> Result<i32, Error> {
        let id = self.servos[joint.index()].motor.id;
        let mut state = self
            .bus
            .sync_read(Block::STATE, &[id], TRIES)
            .map_err(|error| self.bus_error(error))?;
        let state = state.pop().flatten();
        let state = state.ok_or(BusError::NoReply { id, garbled: false });
        let state = state.map_err(|error| self.bus_error(error))?;
        Ok(Block::STATE.value(Register::PresentPosition, &state))
    }

    pub(super) fn write(
        &mut self,
        joint: Joint,
        register: Register,
        value: i32,
    ) -> Result<(), Error> {
        let id = self.servos[joint.index()].motor.id;
        self.bus
            .write(id, register, value)
            .map_err(|error| self.bus_error(error))
    }
}
