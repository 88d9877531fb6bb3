//! Looking at the servos once a tick: what they measure, and whether they still are as arming left them, in one read.

use crate::arm::bus::TRIES;
use crate::arm::error::{Error, ErrorKind, Motor};
use crate::arm::grip::HOLDING_TORQUE;
use crate::arm::register::{Block, Register};
use crate::arm::servo::{Jump, Servo};
use crate::arm::{AlarmKind, Arm};
use crate::joint::{JOINT_COUNT, Joint};

/// Consecutive reads for which a silent joint's last position stands in. At 30 Hz the fourth comes 0.13 s after the last
/// good one.
const SILENCE_LIMIT: u32 = 3;
/// Share of the usual speed while the supply sags: fewer amperes, more volts.
const SAGGING_HASTE: f32 = 0.5;

/// A servo's own view of how it is driven.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    pub(super) torque: bool,
    /// Counts.
    pub(super) goal: i32,
    /// Register values.
    speed: i32,
    pub(super) torque_limit: i32,
}

pub(super) type Controls = [Option<Control>; JOINT_COUNT];

/// What one read brought.
pub(super) struct Seen {
    /// Of the blocks that cover it.
    pub controls: Controls,
    /// A joint that says it has jumped.
    jump: Option<(Motor, Jump)>,
}

impl Servo {
    /// Takes a [`Block::CONTROL`].
    fn control(&mut self, bytes: &[u8]) -> Control {
        let value = |register| Block::CONTROL.value(register, bytes);
        self.energised = value(Register::TorqueEnable) != 0;
        Control {
            torque: self.energised,
            goal: value(Register::GoalPosition),
            speed: value(Register::GoalVelocity),
            torque_limit: value(Register::TorqueLimit),
        }
    }
}

impl Arm {
    /// Reads every servo and judges what it says. What does not come through is counted in `misses`.
    pub(super) fn observe(&mut self) -> Result<(), Error> {
        // While the arm is let down its limits are not those of driving.
        let is_driven = self.armed && self.change.is_none();
        let block = if is_driven {
            Block::WATCH
        } else {
            Block::STATE
        };
        let seen = self.measure(block)?;
        if is_driven {
            self.audit(&seen.controls)?;
            self.ease_grip(&seen.controls)?;
        }
        let sags = self.is_sagging();
        self.limits
            .set_haste(if sags { SAGGING_HASTE } else { 1.0 });
        self.check_silence()?;
        let Some((motor, jump)) = seen.jump else {
            return Ok(());
        };
        let units = |counts| self.calibration.normalize(motor.joint, f64::from(counts));
        Err(self.error(ErrorKind::PositionJump {
            motor,
            from: units(jump.from),
            to: units(jump.to),
        }))
    }

    /// Reads a block that covers [`Block::STATE`] from all servos.
    pub(super) fn measure(&mut self, block: Block) -> Result<Seen, Error> {
        let read = self.bus.sync_read(block, &self.ids(), self.tries());
        let blocks = read.map_err(|error| self.bus_error(error))?;
        let now = self.options.clock.now();
        let mut seen = Seen {
            controls: [None; JOINT_COUNT],
            jump: None,
        };
        for ((servo, bytes), control) in self.servos.iter_mut().zip(blocks).zip(&mut seen.controls)
        {
            let Some(bytes) = bytes else {
                servo.misses += 1;
                continue;
            };
            let state = block.part(Block::STATE, &bytes);
            if let Some(jump) = servo.measured(state, now) {
                seen.jump = Some((servo.motor, jump));
            }
            let part = block.part(Block::CONTROL, &bytes);
            *control = (!part.is_empty()).then(|| servo.control(part));
        }
        Ok(seen)
    }

    /// A joint that was silent last time gets one try a tick: three would cost the others their rate.
    pub(super) fn tries(&self) -> u32 {
        if self.servos.iter().any(|servo| servo.misses > 0) {
            1
        } else {
            TRIES
        }
    }

    pub(super) fn check_silence(&mut self) -> Result<(), Error> {
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
    fn audit(&mut self, controls: &Controls) -> Result<(), Error> {
        if self.not_as_armed(controls).is_empty() {
            return Ok(());
        }
        // The checksum lets one damaged frame in 256 pass, and a run is not ended by one.
        let controls = self.read_control(self.tries())?;
        let lost = self.not_as_armed(&controls);
        if lost.is_empty() {
            return Ok(());
        }
        self.armed = false;
        Err(self.error(ErrorKind::TorqueLost(lost)))
    }

    /// The joints that are not driven as arming has set them, as far as they answer.
    fn not_as_armed(&self, controls: &Controls) -> Vec<Motor> {
        let differs = |joint: &Joint| {
            let (speed, torque) = self.driving_limits(*joint);
            controls[joint.index()].is_some_and(|control| {
                // The gripper's reflexes write theirs after this look.
                let is_eased = *joint == Joint::Gripper
                    && [HOLDING_TORQUE, self.strength(*joint)].contains(&control.torque_limit);
                let is_strange = control.torque_limit != torque && !is_eased;
                !control.torque || is_strange || control.speed != speed
            })
        };
        let different = Joint::ALL.into_iter().filter(differs);
        different
            .map(|joint| self.servos[joint.index()].motor)
            .collect()
    }

    /// Whether a servo has less volts than it is made for, or complains of them.
    fn is_sagging(&self) -> bool {
        self.servos.iter().any(|servo| {
            let bits = self.bus.alarm_bits(servo.motor.id);
            AlarmKind::Voltage.is_in(bits) || servo.is_undersupplied()
        })
    }

    /// Torque, goal and limits of each joint as its servo has them; `None` where no answer came.
    pub(super) fn read_control(&mut self, tries: u32) -> Result<Controls, Error> {
        let read = self.bus.sync_read(Block::CONTROL, &self.ids(), tries);
        let blocks = read.map_err(|error| self.bus_error(error))?;
        let mut controls = [None; JOINT_COUNT];
        for ((servo, block), control) in self.servos.iter_mut().zip(blocks).zip(&mut controls) {
            *control = block.map(|block| servo.control(&block));
        }
        Ok(controls)
    }
}
