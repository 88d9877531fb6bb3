//! Switching torque off so that nothing is dropped unawares: the arm comes down softly, and a stop on the way down holds it.

use std::time::Duration;

use crate::arm::arming::{Change, TorqueStep};
use crate::arm::bus::TRIES;
use crate::arm::error::{Error, ErrorKind, Motor};
use crate::arm::register::Register;
use crate::arm::{Arm, Servo};
use crate::joint::Joint;

/// How long the torque limit takes from full to nothing.
const LOWERING_TIME: Duration = Duration::from_millis(500);
/// A tick that comes late lowers no more than one that comes in time.
const LONGEST_TICK: Duration = Duration::from_millis(100);

/// Letting the arm down, as far as it has come.
#[derive(Debug)]
pub(super) struct Lowering {
    /// How long it has gone on.
    spent: Duration,
    /// When it was advanced last.
    at: Duration,
}

impl Arm {
    /// Prepares to let the arm down gently (half a second) and to switch torque off in every servo, whatever some of them
    /// answer; [`Arm::advance_torque`] does it. A raised arm comes down: there are no brakes. [`Arm::hold`] breaks it off:
    /// the arm then holds where it is, as strong as before.
    pub fn begin_release(&mut self) {
        let holds = self.servos.iter().any(|servo| servo.energised);
        self.change = Some(Change::Lowering(Lowering {
            spent: if holds { Duration::ZERO } else { LOWERING_TIME },
            at: self.options.clock.now(),
        }));
    }

    /// Lowers the torque limits a little further, or, at the end, switches torque off.
    pub(super) fn advance_lowering(&mut self, mut lowering: Lowering) -> Result<TorqueStep, Error> {
        let now = self.options.clock.now();
        lowering.spent += now.saturating_sub(lowering.at).min(LONGEST_TICK);
        lowering.at = now;
        let share = lowering.spent.as_secs_f32() / LOWERING_TIME.as_secs_f32();
        if share >= 1.0 {
            return self.switch_off().map(|()| TorqueStep::Released);
        }
        let weaker = |(id, limit): (u8, i32)| (id, (limit as f32 * (1.0 - share)) as i32);
        let limits: Vec<(u8, i32)> = self.strengths().into_iter().map(weaker).collect();
        self.weakened = true;
        let sent = self.bus.sync_write(Register::TorqueLimit, &limits);
        sent.map_err(|error| self.bus_error(error))?;
        self.change = Some(Change::Lowering(lowering));
        Ok(TorqueStep::Going(share))
    }

    /// Ids and driving torque limits of the joints that have torque.
    fn strengths(&self) -> Vec<(u8, i32)> {
        let strength = |joint: &Joint| {
            let servo = &self.servos[joint.index()];
            let limit = self.driving_limits(*joint).1;
            servo.energised.then_some((servo.motor.id, limit))
        };
        Joint::ALL.iter().filter_map(strength).collect()
    }

    fn switch_off(&mut self) -> Result<(), Error> {
        self.armed = false;
        // To all at once, also to servos that have another id than they should.
        self.switch_off_all()?;
        let cut = self.cut(&Joint::ALL);
        if cut.is_err() {
            // The last resort: whoever hears it obeys, even if its answers do not come through.
            self.switch_off_all()?;
        }
        self.give_limits_back(&Joint::ALL);
        self.weakened = cut.is_err();
        cut
    }

    /// Nobody acknowledges it.
    fn switch_off_all(&mut self) -> Result<(), Error> {
        let sent = self.bus.broadcast_write(Register::TorqueEnable, 0);
        sent.map_err(|error| self.bus_error(error))
    }

    /// Takes torque from these joints, whether they hold or not.
    ///
    /// # Errors
    /// Those that do not say that it is off, or a lost port.
    pub(super) fn cut(&mut self, joints: &[Joint]) -> Result<(), Error> {
        let motor = |joint: &Joint| self.servos[joint.index()].motor;
        let mut on: Vec<Motor> = joints.iter().map(motor).collect();
        for _ in 0..TRIES {
            let off: Vec<(u8, i32)> = on.iter().map(|motor| (motor.id, 0)).collect();
            let sent = self.bus.sync_write(Register::TorqueEnable, &off);
            sent.map_err(|error| self.bus_error(error))?;
            let control = self.read_control(1)?;
            on.retain(|motor| control[motor.joint.index()].is_none_or(|control| control.torque));
            if on.is_empty() {
                return Ok(());
            }
        }
        Err(self.error(ErrorKind::ReleaseUnconfirmed(on)))
    }

    /// Leaves limp servos with the limits they had before, so that another program finds them as strong and fast as it
    /// expects. Losing this is no fault: a power cycle does the same.
    pub(super) fn give_limits_back(&mut self, joints: &[Joint]) {
        type Found = fn(&Servo) -> i32;
        let found: [(Register, Found); 3] = [
            (Register::TorqueLimit, |servo| servo.identity.max_torque),
            (Register::GoalVelocity, |servo| servo.identity.goal_velocity),
            (Register::Acceleration, |servo| servo.identity.acceleration),
        ];
        for (register, value) in found {
            let limp = joints.iter().map(|joint| &self.servos[joint.index()]);
            let limp = limp.filter(|servo| !servo.energised);
            let values: Vec<(u8, i32)> = limp.map(|servo| (servo.motor.id, value(servo))).collect();
            if let Err(error) = self.bus.sync_write(register, &values) {
                log::warn!("a servo keeps its limits: {error}");
                return;
            }
        }
    }
}
