//! Sorting what comes back: which answer is whose, and which belongs to nobody.

use crate::arm::packet::Packet;

/// The answers expected to one request, in the order in which the servos take their turn.
pub(super) struct Replies<'a> {
    pub ids: &'a [u8],
    pub length: usize,
    pub packets: Vec<Option<Packet>>,
    /// Index into `ids` behind the last servo that has answered.
    turn: usize,
    pub unexpected: u64,
}

impl<'a> Replies<'a> {
    /// Nothing has come yet.
    pub fn from(ids: &'a [u8], length: usize) -> Self {
        Self {
            ids,
            length,
            packets: vec![None; ids.len()],
            turn: 0,
            unexpected: 0,
        }
    }

    /// Takes a frame if it is the right servo's turn and it has the right length. The length matters: a frame whose length
    /// byte grew by one or two swallows the next header and still has a right checksum.
    pub fn take(&mut self, packet: Packet) {
        let place = self.ids[self.turn..].iter().position(|id| *id == packet.id);
        match place {
            Some(offset) if packet.params.len() == self.length => {
                self.turn += offset + 1;
                self.packets[self.turn - 1] = Some(packet);
            }
            _ => {
                self.unexpected += 1;
                self.doubt(&packet);
            }
        }
    }

    /// Two different answers from one id: one of them is another servo's, and nobody knows which.
    fn doubt(&mut self, packet: &Packet) {
        for held in &mut self.packets {
            if held
                .as_ref()
                .is_some_and(|held| held.id == packet.id && held != packet)
            {
                *held = None;
            }
        }
    }

    /// Nobody is left whose turn could still come.
    pub fn over(&self) -> bool {
        self.turn == self.ids.len()
    }
}
