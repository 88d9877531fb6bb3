//! Servos on the workbench: whatever hangs on a line before it is an arm that may be driven. Looking changes nothing; what
//! changes something is done with torque off, and only when the operator has said so.
//!
//! What is asked of a person (calibrating, numbering, finding a port) are state machines without a bus; what is asked of the
//! servos is [`Workbench`].

pub mod calibrating;
mod census;
mod engrave;
pub mod finding;
pub mod homing;
pub mod numbering;
mod renumber;
pub mod sweep;

use std::time::Duration;

pub use census::{Census, ServoCard};
pub use engrave::EngraveError;

use crate::arm::bus::{Bus, BusError};
use crate::arm::error::{Error, ErrorKind, Motor};
use crate::arm::register::{Block, Register};
use crate::arm::workbench::numbering::id_of;
use crate::arm::{Port, Telemetry, kind_of, telemetry_from};
use crate::clock::Clock;
use crate::joint::{JOINT_COUNT, Joint};

/// Servos that write their EEPROM answer late, and here nothing waits for them.
const REPLY_TIMEOUT: Duration = Duration::from_millis(20);
/// One try and one more while an arm is watched: the next look comes in 20 ms.
const LOOK_TRIES: u32 = 2;
/// How long the torque of an arm that is let go takes to fade, and in how many steps.
const FADING_TIME: Duration = Duration::from_millis(500);
const FADING_STEPS: u32 = 10;

/// The numbers of an arm's servos.
pub const IDS: [u8; JOINT_COUNT] = [1, 2, 3, 4, 5, 6];

/// A line of servos, and the port it hangs on.
#[derive(Debug)]
pub struct Workbench {
    bus: Bus,
    port: String,
    clock: Clock,
}

/// One joint at one look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Counts, after the servo's homing.
    pub position: i32,
    pub telemetry: Telemetry,
}

impl Workbench {
    /// Takes over an open port; `name` is what errors call it. An adapter that echoes is refused: an echo can pass for an
    /// answer.
    ///
    /// # Errors
    /// An echoing adapter, or a lost port.
    pub fn open(port: Port, name: &str, clock: &Clock) -> Result<Self, Error> {
        let mut bench = Self {
            bus: Bus::new(port, clock.clone(), REPLY_TIMEOUT),
            port: name.to_owned(),
            clock: clock.clone(),
        };
        let echoes = bench.bus.echoes(IDS[0]);
        if echoes.map_err(|error| bench.error(error))? {
            return Err(bench.fault(ErrorKind::Echo));
        }
        Ok(bench)
    }

    /// The port's name.
    pub fn port(&self) -> &str {
        &self.port
    }

    /// Where each joint of an arm is, and how its servo does; `None` where no answer came.
    ///
    /// # Errors
    /// The port is gone.
    pub fn look(&mut self) -> Result<[Option<Look>; JOINT_COUNT], Error> {
        let read = self.bus.sync_read(Block::STATE, &IDS, LOOK_TRIES);
        let states = read.map_err(|error| self.error(error))?;
        let mut looks = [None; JOINT_COUNT];
        for (look, state) in looks.iter_mut().zip(states) {
            *look = state.map(|state| Look {
                position: Block::STATE.value(Register::PresentPosition, &state),
                telemetry: telemetry_from(&state),
            });
        }
        Ok(looks)
    }

    /// Joints that have torque, among those that answer.
    ///
    /// # Errors
    /// The port is gone.
    pub fn holding(&mut self) -> Result<Vec<Motor>, Error> {
        let read = self.bus.sync_read(Block::CONTROL, &IDS, LOOK_TRIES);
        let controls = read.map_err(|error| self.error(error))?;
        let on = |(id, control): (u8, Option<Vec<u8>>)| {
            let control = control?;
            let torque = Block::CONTROL.value(Register::TorqueEnable, &control);
            (torque != 0).then(|| motor(id))
        };
        Ok(IDS.into_iter().zip(controls).filter_map(on).collect())
    }

    /// Lets an arm go that somebody has left holding: its strength fades within half a second, then torque goes off in
    /// every servo. The operator holds the arm meanwhile: there are no brakes.
    ///
    /// # Errors
    /// The joints that may still have torque, or a lost port.
    pub fn let_go(&mut self) -> Result<(), Error> {
        let limits = self.strengths()?;
        for step in 1..=FADING_STEPS {
            let left = FADING_STEPS - step;
            let weaker: Vec<(u8, i32)> = limits
                .iter()
                .map(|(id, limit)| (*id, limit * left as i32 / FADING_STEPS as i32))
                .collect();
            let sent = self.bus.sync_write(Register::TorqueLimit, &weaker);
            sent.map_err(|error| self.error(error))?;
            let next = self.clock.now() + FADING_TIME / FADING_STEPS;
            self.clock.sleep_until(next);
        }
        // Reaches servos with other numbers too, which nobody has asked.
        let all = self.bus.broadcast_write(Register::TorqueEnable, 0);
        all.map_err(|error| self.error(error))?;
        let mut still_on = Vec::new();
        for (id, limit) in limits {
            match self.bus.write(id, Register::TorqueEnable, 0) {
                Ok(()) => {}
                Err(BusError::Disconnected(why)) => {
                    return Err(self.error(BusError::Disconnected(why)));
                }
                Err(_) => {
                    still_on.push(motor(id));
                    continue;
                }
            }
            // A limp servo is left as strong as it was found. Losing this is no fault: a power cycle does the same.
            if let Err(error) = self.bus.write(id, Register::TorqueLimit, limit) {
                log::warn!("servo {id} keeps a torque limit of 0: {error}");
            }
        }
        if still_on.is_empty() {
            Ok(())
        } else {
            Err(self.fault(ErrorKind::ReleaseUnconfirmed(still_on)))
        }
    }

    /// Numbers and torque limits of the servos that have torque.
    fn strengths(&mut self) -> Result<Vec<(u8, i32)>, Error> {
        let on = self.holding()?;
        let mut limits = Vec::with_capacity(on.len());
        for motor in on {
            let limit = self.bus.read(motor.id, Register::TorqueLimit);
            limits.push((motor.id, limit.map_err(|error| self.error(error))?));
        }
        Ok(limits)
    }

    fn fault(&self, kind: ErrorKind) -> Error {
        Error {
            port: self.port.clone(),
            kind,
        }
    }

    /// A failed conversation in words that name the joint.
    fn error(&self, error: BusError) -> Error {
        self.fault(kind_of(error, |id| Some(motor(id))))
    }
}

/// The joint that a servo is by its number; one with another number passes for the first, which is what it leaves the
/// factory as.
fn motor(id: u8) -> Motor {
    let joint = Joint::ALL.into_iter().find(|joint| id_of(*joint) == id);
    Motor {
        joint: joint.unwrap_or(Joint::ShoulderPan),
        id,
    }
}
