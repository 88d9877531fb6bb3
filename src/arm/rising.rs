//! Strength for joints that have woken up, little by little: one that is in the wrong place after all, or pulled at, pushes
//! softly at first.

use std::time::Duration;

use crate::arm::Arm;
use crate::arm::arming::WAKING_TORQUE;
use crate::arm::error::{Error, ErrorKind, Motor};
use crate::arm::register::Register;
use crate::joint::Joint;

/// From the torque of waking up to that of driving.
const RISE_TIME: Duration = Duration::from_millis(400);

/// A joint on its way to full strength.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rising {
    pub joint: Joint,
    pub since: Duration,
}

impl Arm {
    /// Raises the torque limits of these joints to where they should be by now, in one frame; those that have arrived are
    /// taken off the list.
    pub(super) fn raise(&mut self, rising: &mut Vec<Rising>) -> Result<(), Error> {
        if rising.is_empty() {
            return Ok(());
        }
        let now = self.options.clock.now();
        let share = |since: Duration| {
            let spent = now.saturating_sub(since).as_secs_f32();
            (spent / RISE_TIME.as_secs_f32()).min(1.0)
        };
        let limit = |up: &Rising| {
            let full = self.driving_limits(up.joint).1;
            let low = WAKING_TORQUE.min(full);
            let limit = low + ((full - low) as f32 * share(up.since)) as i32;
            (self.servos[up.joint.index()].motor.id, limit)
        };
        let limits: Vec<(u8, i32)> = rising.iter().map(limit).collect();
        let sent = self.bus.sync_write(Register::TorqueLimit, &limits);
        sent.map_err(|error| self.bus_error(error))?;
        rising.retain(|up| share(up.since) < 1.0);
        Ok(())
    }

    /// Whether every joint has its full strength, by read-back; writes it once more where not.
    ///
    /// # Errors
    /// A joint without torque, or a lost port.
    pub(super) fn is_strong(&mut self) -> Result<bool, Error> {
        let controls = self.read_control(self.tries())?;
        let mut limp: Vec<Motor> = Vec::new();
        let mut weak: Vec<(u8, i32)> = Vec::new();
        let mut heard = 0;
        for joint in Joint::ALL {
            let motor = self.servos[joint.index()].motor;
            let Some(control) = controls[joint.index()] else {
                continue;
            };
            heard += 1;
            let full = self.driving_limits(joint).1;
            if !control.torque {
                limp.push(motor);
            } else if control.torque_limit != full {
                weak.push((motor.id, full));
            }
        }
        if !limp.is_empty() {
            return Err(self.error(ErrorKind::TorqueLost(limp)));
        }
        let sent = self.bus.sync_write(Register::TorqueLimit, &weak);
        sent.map_err(|error| self.bus_error(error))?;
        Ok(weak.is_empty() && heard == Joint::ALL.len())
    }
}
