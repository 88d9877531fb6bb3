//! What can be made to go wrong on the simulated bus, on purpose and repeatably.

mod chance;
mod distortion;
mod force;
mod words;

pub use chance::{Aim, Chance};
pub use distortion::Distortion;
pub(super) use force::InForce;
pub use words::UnknownFault;

use std::time::Duration;

/// In the place of an id: every servo on the line.
pub const EVERY_SERVO: u8 = crate::arm::packet::BROADCAST;

/// Something wrong with the rig. Most last until [`heal`](crate::sim::SimArm::heal); [`Fault::Next`] strikes once. An id may
/// be [`EVERY_SERVO`].
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// One bit of one answer flips in every n-th transaction that has answers.
    Burst(u64),
    /// A servo hears nothing and says nothing.
    Mute(u8),
    /// A servo is mute for so many transactions.
    MuteFor(u8, u64),
    /// No servo hears or says anything (supply off, USB alive).
    Silent,
    /// The adapter sends back what it is sent.
    Echo,
    /// At once: the adapter no longer sends back what it is sent.
    EchoOff,
    /// Every answer comes so much later.
    Delay(Duration),
    /// The host's thread is held up once for so long, after its next read.
    Stall(Duration),
    /// A servo reports these status bits whatever its state.
    Alarms(u8, u8),
    /// A joint is blocked.
    Stuck(u8),
    /// A servo acknowledges writes to its EEPROM and keeps nothing, locked or not.
    Worn(u8),
    /// Something lies in the way of a joint: from where it stands it gets no further than this position, counts after homing.
    Object(u8, i32),
    /// A joint is pushed by so many counts when its torque comes on.
    Kick(u8, i32),
    /// The supply gives so many volts.
    Supply(f64),
    /// The USB cable is out; for good.
    Disconnect,
    /// The USB cable comes out after so many more bytes from the servos.
    DisconnectAfter(usize),
    /// Strikes one of the next transactions that have answers: the first one, after `skip` others.
    Next { skip: u64, distortion: Distortion },
    /// Strikes transactions at random, the same ones for the same seed.
    Random(Chance),
    /// At once: a joint stands at this position, counts after homing.
    Position(u8, i32),
    /// At once: a servo holds this homing offset (its pose is relabelled, the horn stays).
    Offset(u8, i32),
    /// At once: a servo lost power for a moment.
    BrownOut(u8),
    /// At once: a servo is this warm, °C.
    Temperature(u8, f64),
    /// At once: a servo says it is another model.
    Model(u8, u16),
    /// At once: a servo has another firmware, major and minor.
    Firmware(u8, u8, u8),
    /// At once: one byte of a register file.
    Poke { id: u8, address: u8, value: u8 },
    /// At once: the servo with the first id takes the second.
    Readdress(u8, u8),
    /// At once: all faults that last are over.
    Heal,
}

impl Fault {
    /// The servo that it strikes.
    pub(super) fn servo(&self) -> Option<u8> {
        self.clone().servo_mut().copied()
    }

    /// The place of the id of the servo that it strikes.
    fn servo_mut(&mut self) -> Option<&mut u8> {
        match self {
            Self::Mute(id)
            | Self::MuteFor(id, _)
            | Self::Alarms(id, _)
            | Self::Stuck(id)
            | Self::Worn(id)
            | Self::Object(id, _)
            | Self::Kick(id, _)
            | Self::Position(id, _)
            | Self::Offset(id, _)
            | Self::BrownOut(id)
            | Self::Temperature(id, _)
            | Self::Model(id, _)
            | Self::Firmware(id, ..)
            | Self::Poke { id, .. }
            | Self::Readdress(id, _) => Some(id),
            Self::Burst(_)
            | Self::Silent
            | Self::Echo
            | Self::EchoOff
            | Self::Delay(_)
            | Self::Stall(_)
            | Self::Supply(_)
            | Self::Disconnect
            | Self::DisconnectAfter(_)
            | Self::Next { .. }
            | Self::Random(_)
            | Self::Heal => None,
        }
    }
}
