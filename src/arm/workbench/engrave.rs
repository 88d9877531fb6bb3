//! Writing a calibration into the servos: all of it or none of it, only where it differs, every value read back, and not
//! one motor driven by it.

use std::fmt;

use super::{Workbench, motor};
use crate::arm::PHASE_MULTI_TURN;
use crate::arm::bus::BusError;
use crate::arm::calibration::Calibration;
use crate::arm::error::{Error, Motor, list};
use crate::arm::problem::Problem;
use crate::arm::register::Register;
use crate::arm::workbench::census::ServoCard;

/// Why a calibration is not in the servos. The text says what is where.
#[derive(Debug)]
pub enum EngraveError {
    /// Nothing was written: the arm is not as it must be for that.
    Unfit(Vec<Problem>),
    /// Nothing was written: these joints have torque.
    Holding(Vec<Motor>),
    /// The line could not be asked. Nothing was written.
    Line(Error),
    /// It failed midway, and all servos have their old values again.
    Restored(Error),
    /// It failed midway, and these servos may hold a mixture.
    Mixed { cause: Error, motors: Vec<Motor> },
}

impl fmt::Display for EngraveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit(problems) => write!(
                f,
                "the arm cannot be calibrated: {}. Nothing was written",
                list(problems)
            ),
            Self::Holding(motors) => write!(
                f,
                "{} has torque. Support the arm and let it go first; nothing was written",
                list(motors)
            ),
            Self::Line(error) => write!(f, "{error}. Nothing was written"),
            Self::Restored(cause) => write!(
                f,
                "{}. All servos have their old values again; save once more",
                cause.what()
            ),
            Self::Mixed { cause, motors } => write!(
                f,
                "{}. {} may hold a mixture of old and new values: calibrate the arm again before anybody drives it",
                cause.what(),
                list(motors)
            ),
        }
    }
}

impl std::error::Error for EngraveError {}

/// One register of one servo: what it holds and what it is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stroke {
    id: u8,
    register: Register,
    before: i32,
    after: i32,
}

impl Workbench {
    /// Writes homing offsets and limits into the servos, and what a calibration takes for granted: single-turn counting and
    /// position mode. Returns the motors that were changed. A servo that is already right is not written at all.
    ///
    /// # Errors
    /// See [`EngraveError`]: afterwards the servos hold all of the new values, or all of the old ones, or the error names
    /// those of which that is not known.
    pub fn engrave(&mut self, calibration: &Calibration) -> Result<Vec<Motor>, EngraveError> {
        let census = self.census().map_err(EngraveError::Line)?;
        let unfit: Vec<Problem> = census
            .problems()
            .into_iter()
            .filter(|problem| {
                matches!(
                    problem,
                    Problem::Missing(_) | Problem::Garbled(_) | Problem::Model { .. }
                )
            })
            .collect();
        let Some(cards) = census.whole().filter(|_| unfit.is_empty()) else {
            return Err(EngraveError::Unfit(unfit));
        };
        let holding: Vec<Motor> = cards
            .iter()
            .filter(|card| card.torque)
            .map(|card| card.motor)
            .collect();
        if !holding.is_empty() {
            return Err(EngraveError::Holding(holding));
        }
        let mut changed = Vec::new();
        let mut done: Vec<Stroke> = Vec::new();
        for card in &cards {
            let strokes = strokes(card, calibration);
            if strokes.is_empty() {
                continue;
            }
            if let Err(cause) = self.carve(&strokes, &mut done) {
                return Err(self.undo(cause, &done));
            }
            changed.push(card.motor);
        }
        for motor in &changed {
            self.seed_goal(motor.id, calibration);
        }
        Ok(changed)
    }

    /// Writes the strokes of one servo; `done` also gets the one that fails, since nobody knows how far it got.
    fn carve(&mut self, strokes: &[Stroke], done: &mut Vec<Stroke>) -> Result<(), BusError> {
        let id = strokes[0].id;
        self.bus.write(id, Register::TorqueEnable, 0)?;
        self.bus.write(id, Register::Lock, 0)?;
        for stroke in strokes {
            done.push(*stroke);
            self.bus.write(id, stroke.register, stroke.after)?;
        }
        self.bus.write(id, Register::Lock, 1)
    }

    /// Puts back what was written, last first.
    fn undo(&mut self, cause: BusError, done: &[Stroke]) -> EngraveError {
        let mut mixed: Vec<Motor> = Vec::new();
        for stroke in done.iter().rev() {
            let back = self
                .bus
                .write(stroke.id, Register::Lock, 0)
                .and_then(|()| self.bus.write(stroke.id, stroke.register, stroke.before));
            if back.is_err() && !mixed.contains(&motor(stroke.id)) {
                mixed.push(motor(stroke.id));
            }
        }
        let mut touched: Vec<u8> = done.iter().map(|stroke| stroke.id).collect();
        touched.dedup();
        for id in touched {
            if let Err(error) = self.bus.write(id, Register::Lock, 1) {
                log::warn!("servo {id} stays open to changes: {error}");
            }
        }
        let cause = self.error(cause);
        if mixed.is_empty() {
            EngraveError::Restored(cause)
        } else {
            EngraveError::Mixed {
                cause,
                motors: mixed,
            }
        }
    }

    /// Replaces the goal that the servo remembers from the old counting: a program that switches torque on without a goal of
    /// its own would send the joint there. Writing a goal energises a servo, hence with no strength, and torque off at once.
    /// Failing here leaves an old goal in a limp servo, as it was before; this program never arms without a fresh goal.
    fn seed_goal(&mut self, id: u8, calibration: &Calibration) {
        let entry = calibration.motor(motor(id).joint);
        let seed = |bench: &mut Self| -> Result<(), BusError> {
            let strength = bench.bus.read(id, Register::TorqueLimit)?;
            let position = bench.bus.read(id, Register::PresentPosition)?;
            let goal = position.clamp(entry.range_min, entry.range_max);
            bench.bus.write(id, Register::TorqueLimit, 0)?;
            let seeded = bench.bus.write(id, Register::GoalPosition, goal);
            // Whatever became of the goal, nothing is left on or weak.
            bench.bus.write(id, Register::TorqueEnable, 0)?;
            bench.bus.write(id, Register::TorqueLimit, strength)?;
            seeded
        };
        if let Err(error) = seed(self) {
            log::warn!("servo {id} keeps its old goal: {error}");
        }
    }
}

/// What has to be written to one servo, in this order; nothing where it is right already.
fn strokes(card: &ServoCard, calibration: &Calibration) -> Vec<Stroke> {
    let entry = calibration.motor(card.motor.joint);
    let wanted = [
        (Register::Phase, card.phase, card.phase & !PHASE_MULTI_TURN),
        (Register::OperatingMode, card.mode, 0),
        (
            Register::HomingOffset,
            card.entry.homing_offset,
            entry.homing_offset,
        ),
        (
            Register::MinPositionLimit,
            card.entry.range_min,
            entry.range_min,
        ),
        (
            Register::MaxPositionLimit,
            card.entry.range_max,
            entry.range_max,
        ),
    ];
    let id = card.motor.id;
    wanted
        .into_iter()
        .filter(|(_, before, after)| before != after)
        .map(|(register, before, after)| Stroke {
            id,
            register,
            before,
            after,
        })
        .collect()
}
