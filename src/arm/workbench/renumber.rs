//! The only servo on a line: finding it whatever its number and its speed, and giving it another number.

use super::Workbench;
use crate::arm::bus::{BAUD_RATES, BusError, ROLL_TIME, TRIES};
use crate::arm::error::Error;
use crate::arm::register::{Block, Register};
use crate::arm::workbench::numbering::{Lone, OnLine};

/// How often a servo that seems alone is asked where it is: two with one number cannot keep up their one voice for long.
const DOUBTS: usize = 5;
/// Counts by which a limp servo on the bench may differ between two of these questions.
const STEADY: i32 = 30;

impl Workbench {
    /// Looks for servos at one baud rate, `BAUD_RATES[rate]`; takes most of a second. At the end the line is at that rate.
    ///
    /// # Errors
    /// The port is gone.
    pub fn listen_at(&mut self, rate: usize) -> Result<OnLine, Error> {
        if !self.bus.set_rate(rate) {
            return Ok(OnLine::Nobody);
        }
        let roll = self.bus.roll_call(ROLL_TIME);
        let roll = roll.map_err(|error| self.error(error))?;
        match roll.ids.as_slice() {
            [] if roll.garbled => Ok(OnLine::Garbled),
            [] => Ok(OnLine::Nobody),
            [id] => self.lone(*id, rate),
            several => {
                let mut ids = several.to_vec();
                ids.sort_unstable();
                Ok(OnLine::Several(ids))
            }
        }
    }

    /// Whether one servo speaks with this number, or two at once.
    fn lone(&mut self, id: u8, rate: usize) -> Result<OnLine, Error> {
        let noise = self.noise();
        let mut positions: Vec<i32> = Vec::new();
        for _ in 0..DOUBTS {
            let state = self.bus.sync_read(Block::STATE, &[id], 1);
            let state = state.map_err(|error| self.error(error))?.pop().flatten();
            let position = |state: Vec<u8>| Block::STATE.value(Register::PresentPosition, &state);
            positions.extend(state.map(position));
        }
        let spread = match (positions.iter().min(), positions.iter().max()) {
            (Some(least), Some(most)) => most - least,
            _ => i32::MAX,
        };
        // One lost answer may be noise; several, or answers that contradict each other, are two servos.
        if positions.len() + 1 < DOUBTS || spread > STEADY || self.noise() > noise + 1 {
            return Ok(OnLine::Garbled);
        }
        let identity = self.bus.sync_read(Block::IDENTITY, &[id], TRIES);
        let identity = identity.map_err(|error| self.error(error))?.pop().flatten();
        let Some(identity) = identity else {
            return Ok(OnLine::Garbled);
        };
        let volts = self.bus.read(id, Register::PresentVoltage);
        let decivolts = volts.map_err(|error| self.error(error))?;
        Ok(OnLine::One(Lone {
            id,
            rate,
            model: Block::IDENTITY.value(Register::ModelNumber, &identity),
            volts: decivolts as f32 / 10.0,
        }))
    }

    /// Gives the only servo on the line its number, brings it to 1 Mbaud, and reads both back. The line is at 1 Mbaud then.
    ///
    /// # Errors
    /// The servo did not take it, or the port is gone. Its number may be the old one or the new one then; looking again
    /// tells.
    pub fn renumber(&mut self, lone: &Lone, id: u8) -> Result<(), Error> {
        self.renumber_on_bus(lone, id)
            .map_err(|error| self.error(error))
    }

    fn renumber_on_bus(&mut self, lone: &Lone, id: u8) -> Result<(), BusError> {
        self.bus.set_rate(lone.rate);
        self.bus.write(lone.id, Register::TorqueEnable, 0)?;
        self.bus.write(lone.id, Register::Lock, 0)?;
        if self.bus.read(lone.id, Register::ResponseStatusLevel)? == 0 {
            self.bus.write(lone.id, Register::ResponseStatusLevel, 1)?;
        }
        if lone.id != id {
            // Told without waiting for an answer: nobody knows under which number it would come.
            self.bus
                .sync_write(Register::Id, &[(lone.id, i32::from(id))])?;
        }
        self.verify(id, Register::Id, i32::from(id))?;
        if lone.rate != 0 {
            // The same for the speed.
            self.bus.sync_write(Register::BaudRate, &[(id, 0)])?;
            self.bus.set_rate(0);
        }
        self.verify(id, Register::BaudRate, 0)?;
        self.bus.write(id, Register::Lock, 1)
    }

    fn verify(&mut self, id: u8, register: Register, wrote: i32) -> Result<(), BusError> {
        let read = self.bus.read(id, register)?;
        if read == wrote {
            return Ok(());
        }
        Err(BusError::NotTaken {
            id,
            register,
            wrote,
            read,
        })
    }

    /// Back to the rate of an arm.
    pub fn at_arm_rate(&mut self) {
        self.bus.set_rate(0);
        debug_assert_eq!(BAUD_RATES[0], crate::arm::BAUD_RATE);
    }
}
