//! How each servo is set up: the settings of LeRobot's `configure()`, written only where they differ, only while the servo
//! is limp, and read back.
//!
//! The settings live in the EEPROM, which wears out and is kept only while `Lock` is 0. A servo that has torque is left
//! alone: taking torque from an arm that a dead program left raised would drop it.

use std::fmt;

use crate::arm::bus::BusError;
use crate::arm::error::{Error, Motor};
use crate::arm::handshake::PHASE_MULTI_TURN;
use crate::arm::register::{Area, Block, Register};
use crate::arm::{Arm, Servo};
use crate::joint::Joint;

/// What LeRobot's classes for this arm set in every servo: answers without delay, position mode, and a softer position
/// loop than the factory's, which shakes.
const EVERY_SERVO: [(Register, i32); 5] = [
    (Register::ReturnDelayTime, 0),
    (Register::OperatingMode, 0),
    (Register::PCoefficient, 16),
    (Register::DCoefficient, 32),
    (Register::ICoefficient, 0),
];
/// A gripper that squeezes at full strength burns its motor within minutes: half the torque, half the current (in 6.5 mA),
/// and protection that trips at a quarter of the load.
const GRIPPER: [(Register, i32); 3] = [
    (Register::MaxTorqueLimit, 500),
    (Register::ProtectionCurrent, 250),
    (Register::OverloadTorque, 25),
];
/// The factory's limit of acceleration, which must not be below ours. It lies outside the EEPROM, and whether every
/// firmware takes it is not known: a servo that does not is slower, and that is all.
const ACCELERATION: (Register, i32) = (Register::MaximumAcceleration, 254);

/// A setting that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unset {
    pub motor: Motor,
    pub register: Register,
    /// As the servo has it, and as it should be.
    pub found: i32,
    pub wanted: i32,
}

impl fmt::Display for Unset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            motor,
            register,
            found,
            wanted,
        } = self;
        write!(f, "{motor} has {register:?} {found} instead of {wanted}")
    }
}

/// What a joint's servo should hold, given the `Phase` that it has: only the multi-turn bit of it is ours to change.
fn settings(joint: Joint, phase: i32) -> impl Iterator<Item = (Register, i32)> {
    let gripper = (joint == Joint::Gripper).then_some(GRIPPER);
    EVERY_SERVO
        .into_iter()
        .chain(gripper.into_iter().flatten())
        .chain([(Register::Phase, phase & !PHASE_MULTI_TURN)])
}

impl Servo {
    /// Compares what the servo holds ([`Block::IDENTITY`] and [`Block::FACTORY`]) with what it should.
    pub(super) fn compare(&mut self, identity: &[u8], factory: &[u8]) {
        let found = |register: Register| match register.area() {
            Area::Factory => Block::FACTORY.value(register, factory),
            Area::Eeprom | Area::Ram => Block::IDENTITY.value(register, identity),
        };
        let all = settings(self.motor.joint, found(Register::Phase))
            .chain([ACCELERATION])
            .map(|(register, wanted)| (register, found(register), wanted));
        self.unset = all
            .filter(|(_, found, wanted)| found != wanted)
            .map(|(register, found, wanted)| Unset {
                motor: self.motor,
                register,
                found,
                wanted,
            })
            .collect();
    }
}

impl Arm {
    /// Settings that are not as they should be, of servos that had torque when they were met. They are put right before
    /// torque comes on the next time, or at the next connection.
    pub fn unset(&self) -> Vec<Unset> {
        let all = self.servos.iter().flat_map(|servo| &servo.unset);
        all.copied().collect()
    }

    /// Sets up every servo that is limp; whether anything was written.
    pub(super) fn configure(&mut self) -> Result<bool, Error> {
        let mut wrote = false;
        for joint in Joint::ALL {
            wrote |= self.set_up(joint)?;
        }
        Ok(wrote)
    }

    /// Sets up one servo, if it is limp and not as it should be; whether anything was written. The EEPROM is locked again
    /// in any case.
    ///
    /// # Errors
    /// A setting that was not taken, by joint and register; silence; a lost port.
    pub(super) fn set_up(&mut self, joint: Joint) -> Result<bool, Error> {
        let servo = &mut self.servos[joint.index()];
        if servo.energised || servo.unset.is_empty() {
            return Ok(false);
        }
        let (id, unset) = (servo.motor.id, servo.unset.clone());
        let written = self.write_settings(id, &unset);
        let locked = self.bus.write(id, Register::Lock, 1);
        written.and(locked).map_err(|error| self.bus_error(error))?;
        let servo = &mut self.servos[joint.index()];
        servo.unset.clear();
        let (motor, count) = (servo.motor, unset.len());
        log::log!(self.bus.news(), "{motor}: set up anew ({count} settings)");
        Ok(true)
    }

    fn write_settings(&mut self, id: u8, unset: &[Unset]) -> Result<(), BusError> {
        self.bus.write(id, Register::Lock, 0)?;
        for setting in unset {
            let (register, wanted) = (setting.register, setting.wanted);
            match self.bus.write(id, register, wanted) {
                Err(BusError::NotTaken { read, .. }) if register.area() == Area::Factory => {
                    log::warn!("{}: {register:?} stays {read}", setting.motor);
                }
                written => written?,
            }
            if register == Register::MaxTorqueLimit {
                // The servo copies it here at power-up only; until then the old limit would be in force.
                self.bus.write(id, Register::TorqueLimit, wanted)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::Calibration;

    /// The settings of a servo whose EEPROM is all zeros but for `Phase`.
    fn unset(joint: Joint, phase: u8) -> Vec<(Register, i32, i32)> {
        let mut servo = Servo::new(joint, Calibration::simulated().motor(joint));
        let mut identity = vec![0; 37];
        identity[18] = phase;
        servo.compare(&identity, &[0, 254, 0]);
        let unset = servo.unset.iter();
        unset.map(|it| (it.register, it.found, it.wanted)).collect()
    }

    #[test]
    fn only_the_multi_turn_bit_of_phase_is_changed() {
        let phase = |bits| {
            let mut unset = unset(Joint::ElbowFlex, bits).into_iter();
            unset.find(|(register, ..)| *register == Register::Phase)
        };
        assert_eq!(phase(0x0C), None);
        assert_eq!(phase(0xFC), Some((Register::Phase, 0xFC, 0xEC)));
    }

    #[test]
    fn a_gripper_is_kept_weak() {
        let register = |joint| {
            unset(joint, 12)
                .into_iter()
                .map(|it| it.0)
                .collect::<Vec<_>>()
        };
        let arm = register(Joint::WristRoll);
        assert_eq!(arm, [Register::PCoefficient, Register::DCoefficient]);
        let gripper = register(Joint::Gripper);
        let limits = GRIPPER.map(|(register, _)| register);
        assert!(limits.iter().all(|register| gripper.contains(register)));
        assert_eq!(gripper.len(), arm.len() + limits.len());
    }
}
