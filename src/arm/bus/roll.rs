//! Asking a line who is on it, at any speed: needed only where servos have not got their numbers yet.

use std::time::Duration;

use serialport::ClearBuffer;

use super::{Bus, BusError};
use crate::arm::packet::{self, BROADCAST, Instruction};

/// Baud rates in the order of the `BaudRate` register, from Feetech's table. (LeRobot's last three are others.)
pub const BAUD_RATES: [u32; 8] = [
    1_000_000, 500_000, 250_000, 128_000, 115_200, 76_800, 57_600, 38_400,
];
/// Every servo answers a ping to all in its own time, the highest number after about this long.
pub const ROLL_TIME: Duration = Duration::from_millis(800);

/// Who has answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roll {
    /// Numbers in the order in which they answered, each once.
    pub ids: Vec<u8>,
    /// Something arrived that was no answer: servos that talk at once, or noise.
    pub garbled: bool,
}

impl Bus {
    /// Pings everybody and listens for `listen`.
    ///
    /// # Errors
    /// The port is gone.
    pub fn roll_call(&mut self, listen: Duration) -> Result<Roll, BusError> {
        let frame = packet::instruction_frame(BROADCAST, Instruction::Ping, &[]);
        let talk = self.begin()?;
        self.quieten(&talk)?;
        let noise_before = self.parser.discarded();
        self.transmit(&talk, &frame)?;
        let deadline = self.clock.now() + listen;
        let mut roll = Roll::default();
        let mut received = Vec::new();
        let mut packets = Vec::new();
        while packets.len() < usize::from(BROADCAST) {
            received.clear();
            if !self.receive(&talk, deadline, &mut received)? {
                break;
            }
            self.parser.push(&received);
            while let Some(packet) = self.parser.next_packet() {
                packets.push(packet);
            }
        }
        packets.extend(self.parser.finish());
        for packet in packets {
            if packet.params.is_empty() && !roll.ids.contains(&packet.id) {
                roll.ids.push(packet.id);
            } else {
                roll.garbled = true;
            }
        }
        roll.garbled |= self.parser.discarded() > noise_before;
        self.answers_due = true;
        Ok(roll)
    }

    /// Speaks at another rate from now on; `BAUD_RATES[rate]`. False where the system or the adapter cannot.
    pub fn set_rate(&mut self, rate: usize) -> bool {
        let Some(baud) = BAUD_RATES.get(rate) else {
            return false;
        };
        let set = self.port.set_baud_rate(*baud);
        if let Err(error) = &set {
            log::warn!("the adapter does not speak at {baud} baud: {error}");
        }
        // What was heard at the other rate means nothing at this one.
        self.port.clear(ClearBuffer::Input).ok();
        set.is_ok()
    }
}
