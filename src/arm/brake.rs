//! The last hand on the arm: makes it stand still over a handle of its own, when the loop that drives it cannot.
//!
//! It knows nothing of goals and asks the servos for everything: where they are, twice, so that a single wrong reading throws
//! no joint; which have torque, because writing a goal would switch the others on; and afterwards, whether they have taken
//! it. It never touches torque or its limits: a raised arm that goes weak comes down.

use std::time::Duration;

use crate::arm::bus::{Bus, BusError, TRIES};
use crate::arm::error::{Error, ErrorKind, Motor};
use crate::arm::register::{Block, Register};
use crate::arm::{Calibration, kind_of};
use crate::joint::{JOINT_COUNT, Joint};

/// How long a conversation under way may go on before the line is spoken over. Longer than any answer is waited for.
const COURTESY: Duration = Duration::from_millis(30);
/// Counts that two readings in a row may differ by; a joint at full speed moves by ten between them.
const AGREEMENT: i32 = 60;

/// A second handle on a connected arm, which may take the line from the first one.
#[derive(Debug)]
pub struct Brake {
    bus: Bus,
    port: String,
    calibration: Calibration,
}

/// What a servo says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stance {
    Limp,
    /// With torque and this goal, counts.
    Driven(i32),
}

/// Where each joint shall stand still, counts, where two readings agree.
type Targets = [Option<i32>; JOINT_COUNT];
type Stances = [Option<Stance>; JOINT_COUNT];

impl Brake {
    /// Shares the line of `bus`; nothing is sent.
    pub(super) fn beside(
        bus: &Bus,
        port: &str,
        calibration: Calibration,
    ) -> serialport::Result<Self> {
        Ok(Self {
            bus: bus.guard()?,
            port: port.to_owned(),
            calibration,
        })
    }

    /// Takes the line: from now on the arm's owner reaches no servo.
    pub fn take_line(&self) {
        self.bus.line().take(COURTESY);
    }

    /// The arm's owner may speak again.
    pub fn give_line_back(&self) {
        self.bus.line().give_back();
    }

    /// Goal = present position in every joint that has torque, read back; limp joints stay limp. Only while the line is
    /// taken.
    ///
    /// # Errors
    /// The joints that did not confirm; the others stand still all the same. Silence of all, or a lost port. May be tried
    /// again.
    pub fn freeze(&mut self) -> Result<(), Error> {
        self.frozen().map_err(|kind| Error {
            port: self.port.clone(),
            kind,
        })
    }

    fn frozen(&mut self) -> Result<(), ErrorKind> {
        let (first, second) = (self.positions()?, self.positions()?);
        let targets = std::array::from_fn(|index| agreed(first[index], second[index]));
        let mut stances = self.stances()?;
        for _ in 0..TRIES {
            let restless = self.restless(&targets, &stances);
            if restless.is_empty() {
                break;
            }
            let sent = self.bus.sync_write(Register::GoalPosition, &restless);
            sent.map_err(|error| self.kind(error))?;
            stances = self.stances()?;
        }
        if stances.iter().all(Option::is_none) {
            return Err(ErrorKind::NoResponse);
        }
        let stands = |motor: &Motor| match stances[motor.joint.index()] {
            Some(Stance::Driven(goal)) => targets[motor.joint.index()] == Some(goal),
            Some(Stance::Limp) => true,
            None => false,
        };
        let mut loose = self.motors().to_vec();
        loose.retain(|motor| !stands(motor));
        if loose.is_empty() {
            Ok(())
        } else {
            Err(ErrorKind::HoldUnconfirmed(loose))
        }
    }

    /// Ids and targets of the joints that have torque and another goal than their target.
    fn restless(&self, targets: &Targets, stances: &Stances) -> Vec<(u8, i32)> {
        let restless = |motor: &Motor| {
            let index = motor.joint.index();
            let (target, stance) = (targets[index]?, stances[index]?);
            let moves = matches!(stance, Stance::Driven(goal) if goal != target);
            moves.then_some((motor.id, target))
        };
        self.motors().iter().filter_map(restless).collect()
    }

    /// Where the joints are, counts, brought into their ranges.
    fn positions(&mut self) -> Result<Targets, ErrorKind> {
        let blocks = self.read(Block::STATE)?;
        Ok(std::array::from_fn(|index| {
            let position = Block::STATE.value(Register::PresentPosition, blocks[index].as_ref()?);
            let range = self.calibration.motor(Joint::ALL[index]);
            Some(position.clamp(range.range_min, range.range_max))
        }))
    }

    fn stances(&mut self) -> Result<Stances, ErrorKind> {
        let blocks = self.read(Block::CONTROL)?;
        Ok(std::array::from_fn(|index| {
            let block = blocks[index].as_ref()?;
            let value = |register| Block::CONTROL.value(register, block);
            Some(if value(Register::TorqueEnable) == 0 {
                Stance::Limp
            } else {
                Stance::Driven(value(Register::GoalPosition))
            })
        }))
    }

    fn read(&mut self, block: Block) -> Result<Vec<Option<Vec<u8>>>, ErrorKind> {
        // One try: who froze in vain tries again, and a silent servo must not keep the others waiting.
        let read = self.bus.sync_read(block, &self.calibration.ids(), 1);
        read.map_err(|error| self.kind(error))
    }

    fn motors(&self) -> [Motor; JOINT_COUNT] {
        Joint::ALL.map(|joint| Motor {
            joint,
            id: self.calibration.motor(joint).id,
        })
    }

    fn kind(&self, error: BusError) -> ErrorKind {
        kind_of(error, |id| {
            self.motors().into_iter().find(|motor| motor.id == id)
        })
    }
}

/// The newer of two readings that tell the same.
fn agreed(first: Option<i32>, second: Option<i32>) -> Option<i32> {
    let (first, second) = (first?, second?);
    ((first - second).abs() <= AGREEMENT).then_some(second)
}
