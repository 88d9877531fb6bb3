//! Switching torque on and off so that nothing jumps and nothing is dropped unawares.
//!
//! Hazards, all seen on real arms: a servo that gets torque runs to whatever goal its register holds, at full torque; writing
//! a goal switches torque on by itself; a servo that restarted has forgotten its limits. Hence the order in
//! [`Arm::enable_torque`]: limits low, goal = present position and read back, torque, look, limits up; joint by joint,
//! because six motors starting at once have tripped supplies.

use std::time::Duration;

use crate::arm::bus::{BusError, TRIES};
use crate::arm::error::{Error, ErrorKind, Motor};
use crate::arm::register::{Block, Register};
use crate::arm::{Arm, Servo};
use crate::joint::{Joint, JointVec};

/// Torque limit while a joint wakes up, permille.
const WAKING_TORQUE: i32 = 250;
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
/// The arm is let down by lowering the torque limit in this many steps of [`LOWERING_STEP_TIME`].
const LOWERING_STEPS: i32 = 10;
const LOWERING_STEP_TIME: Duration = Duration::from_millis(50);

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
        let torque = self.options.torque_limit[joint.index()].min(servo.identity.max_torque);
        (
            servo.velocity_register(speed * SPEED_HEADROOM),
            torque.max(0),
        )
    }

    /// Switches torque on from the present pose, one joint after the other, and returns the pose that is held. Takes about
    /// 0.7 s. May be called again at any time; joints that have torque keep it.
    ///
    /// # Errors
    /// Whatever speaks against it ([`ErrorKind::Unfit`]), a joint that moved, a register that was not taken, silence. The
    /// joints that this call had switched on are off again then.
    pub fn enable_torque(&mut self) -> Result<JointVec, Error> {
        self.armed = false;
        self.inspect()?;
        self.fitness()?;
        let mut woken = Vec::new();
        for joint in Joint::ALL {
            if !self.servos[joint.index()].energised {
                woken.push(joint);
            }
            if let Err(error) = self.energise(joint) {
                self.put_back_to_sleep(&woken);
                return Err(error);
            }
        }
        self.armed = true;
        Ok(self.goal_pose())
    }

    /// One joint from limp (or holding) to driven.
    fn energise(&mut self, joint: Joint) -> Result<(), Error> {
        let servo = &self.servos[joint.index()];
        let waking_speed = servo.velocity_register(f64::from(WAKING_SPEED));
        // A joint that holds a load already would sag under the low limits.
        if !servo.energised {
            self.write(joint, Register::TorqueLimit, WAKING_TORQUE)?;
            self.write(joint, Register::GoalVelocity, waking_speed)?;
            self.write(joint, Register::Acceleration, WAKING_ACCELERATION)?;
        }
        let before = self.locate(joint)?;
        let goal = self.servos[joint.index()].within_range(before);
        self.write(joint, Register::GoalPosition, goal)?;
        self.servos[joint.index()].goal = goal;
        self.write(joint, Register::TorqueEnable, 1)?;
        self.write(joint, Register::Lock, 1)?;
        self.pause(SETTLE_TIME);
        let moved = self.locate(joint)? - before;
        if moved.abs() > SETTLE_SLACK {
            let motor = self.servos[joint.index()].motor;
            let units = (f64::from(moved) / self.calibration.counts_per_unit(joint)) as f32;
            return Err(self.error(ErrorKind::Moved { motor, units }));
        }
        let (speed, torque) = self.driving_limits(joint);
        self.write(joint, Register::Acceleration, DRIVING_ACCELERATION)?;
        self.write(joint, Register::GoalVelocity, speed)?;
        self.write(joint, Register::TorqueLimit, torque)?;
        self.servos[joint.index()].energised = true;
        Ok(())
    }

    /// After a failed start: the joints that were limp before are limp again.
    fn put_back_to_sleep(&mut self, woken: &[Joint]) {
        for joint in woken.iter().rev() {
            match self.write(*joint, Register::TorqueEnable, 0) {
                Ok(()) => self.servos[joint.index()].energised = false,
                Err(error) => log::error!("torque may still be on: {error}"),
            }
        }
        for joint in woken {
            self.give_limits_back(*joint);
        }
    }

    /// Lets the arm down gently (half a second) and switches torque off in every servo, whatever some of them answer.
    /// A raised arm comes down: there are no brakes.
    ///
    /// # Errors
    /// The joints that did not confirm, after a last broadcast to all of them; or a lost port.
    pub fn release_torque(&mut self) -> Result<(), Error> {
        self.armed = false;
        self.lower()?;
        for joint in Joint::ALL {
            match self.write(joint, Register::TorqueEnable, 0) {
                Err(Error {
                    kind: kind @ ErrorKind::Disconnected(_),
                    ..
                }) => return Err(self.error(kind)),
                Err(error) => log::error!("{}", error.what()),
                Ok(()) => {}
            }
        }
        let broadcast = self.bus.broadcast_write(Register::TorqueEnable, 0);
        broadcast.map_err(|error| self.bus_error(error))?;
        let unconfirmed = self.still_energised()?;
        for joint in Joint::ALL {
            self.give_limits_back(joint);
        }
        if unconfirmed.is_empty() {
            Ok(())
        } else {
            Err(self.error(ErrorKind::ReleaseUnconfirmed(unconfirmed)))
        }
    }

    /// Takes the torque limits of all energised joints down to nothing, slowly.
    fn lower(&mut self) -> Result<(), Error> {
        let energised: Vec<(u8, i32)> = Joint::ALL
            .iter()
            .filter(|joint| self.servos[joint.index()].energised)
            .map(|joint| {
                (
                    self.servos[joint.index()].motor.id,
                    self.driving_limits(*joint).1,
                )
            })
            .collect();
        if energised.is_empty() {
            return Ok(());
        }
        for step in (0..LOWERING_STEPS).rev() {
            let limits: Vec<(u8, i32)> = energised
                .iter()
                .map(|(id, limit)| (*id, limit * step / LOWERING_STEPS))
                .collect();
            let sent = self.bus.sync_write(Register::TorqueLimit, &limits);
            sent.map_err(|error| self.bus_error(error))?;
            self.pause(LOWERING_STEP_TIME);
        }
        Ok(())
    }

    /// The joints that do not say that their torque is off.
    fn still_energised(&mut self) -> Result<Vec<Motor>, Error> {
        let control = self.bus.sync_read(Block::CONTROL, &self.ids(), TRIES);
        let control = control.map_err(|error| self.bus_error(error))?;
        let mut unconfirmed = Vec::new();
        for (servo, control) in self.servos.iter_mut().zip(control) {
            let off = control
                .is_some_and(|bytes| Block::CONTROL.value(Register::TorqueEnable, &bytes) == 0);
            servo.energised &= !off;
            if !off {
                unconfirmed.push(servo.motor);
            }
        }
        Ok(unconfirmed)
    }

    /// Leaves a limp servo with the limits it had before, so that another program finds it as strong and fast as it
    /// expects. Losing this is no fault: a power cycle does the same.
    fn give_limits_back(&mut self, joint: Joint) {
        let servo = &self.servos[joint.index()];
        if servo.energised {
            return;
        }
        let found = servo.identity;
        let limits = [
            (Register::TorqueLimit, found.max_torque),
            (Register::GoalVelocity, found.goal_velocity),
            (Register::Acceleration, found.acceleration),
        ];
        for (register, value) in limits {
            if let Err(error) = self.write(joint, register, value) {
                log::warn!("{}", error.what());
                return;
            }
        }
    }

    /// Where a joint is now, by its own answer and nobody's memory, counts.
    fn locate(&mut self, joint: Joint) -> Result<i32, Error> {
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

    fn write(&mut self, joint: Joint, register: Register, value: i32) -> Result<(), Error> {
        let id = self.servos[joint.index()].motor.id;
        self.bus
            .write(id, register, value)
            .map_err(|error| self.bus_error(error))
    }

    fn pause(&self, time: Duration) {
        let clock = &self.options.clock;
        clock.sleep_until(clock.now() + time);
    }
}
