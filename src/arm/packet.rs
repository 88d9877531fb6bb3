//! Frames of the STS3215 bus: building them, and finding them again in whatever bytes a noisy line delivers.
//!
//! Source: Feetech's "Communication Protocol User Manual". A frame is `FF FF id len code params.. checksum`; nothing is
//! escaped, so `FF FF` may also stand inside the parameters and a header alone proves nothing.

/// The id that every servo obeys and none acknowledges.
pub const BROADCAST: u8 = 0xFE;
/// The most parameter bytes in one frame; Feetech's own receiver rejects longer ones.
pub const MAX_PARAMS: usize = 248;

const HEADER: [u8; 2] = [0xFF, 0xFF];
/// Bytes of a frame that are not parameters: header, id, length, code, checksum.
pub const OVERHEAD: usize = 6;
const MAX_LENGTH: u8 = MAX_PARAMS as u8 + 2;

/// What a frame asks a servo to do. Code 06 (factory restore) is left out on purpose: it wipes the calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Instruction {
    Ping = 0x01,
    Read = 0x02,
    Write = 0x03,
    /// Buffers a write until `Action`.
    RegWrite = 0x04,
    Action = 0x05,
    SyncRead = 0x82,
    SyncWrite = 0x83,
}

impl Instruction {
    /// The instruction of a code byte, if the house knows it.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x01 => Self::Ping,
            0x02 => Self::Read,
            0x03 => Self::Write,
            0x04 => Self::RegWrite,
            0x05 => Self::Action,
            0x82 => Self::SyncRead,
            0x83 => Self::SyncWrite,
            _ => return None,
        })
    }
}

/// One frame without its header and checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub id: u8,
    /// The instruction of a request, the alarm bits of a status packet.
    pub code: u8,
    pub params: Vec<u8>,
}

/// Builds a request frame. `params` beyond [`MAX_PARAMS`] cannot be told to a servo; callers split them.
pub fn instruction_frame(id: u8, instruction: Instruction, params: &[u8]) -> Vec<u8> {
    frame(id, instruction as u8, params)
}

/// Builds a status frame, as a servo does; `alarms` are the bits of its ERR byte.
pub fn status_frame(id: u8, alarms: u8, params: &[u8]) -> Vec<u8> {
    frame(id, alarms, params)
}

fn frame(id: u8, code: u8, params: &[u8]) -> Vec<u8> {
    debug_assert!(params.len() <= MAX_PARAMS, "frame too long");
    let mut bytes = Vec::with_capacity(params.len() + OVERHEAD);
    bytes.extend(HEADER);
    bytes.extend([id, params.len() as u8 + 2, code]);
    bytes.extend(params);
    bytes.push(checksum(&bytes[2..]));
    bytes
}

/// Inverted low byte of the sum of everything between header and checksum.
fn checksum(body: &[u8]) -> u8 {
    !body.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte))
}

/// Which way a stream runs; requests and answers allow different ids and codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Host to servos.
    Request,
    /// Servos to host.
    Status,
}

/// Cuts a byte stream into frames. A candidate that proves false costs one byte, then the search goes on behind it, so a
/// frame is never lost to the garbage before it.
#[derive(Debug)]
pub struct Parser {
    direction: Direction,
    buffer: Vec<u8>,
    discarded: u64,
}

/// What the start of the buffer is.
enum Candidate {
    Incomplete,
    False,
    Complete(usize),
}

impl Parser {
    /// An empty parser.
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            buffer: Vec::new(),
            discarded: 0,
        }
    }

    /// Appends bytes as they came off the line.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole, valid frame.
    pub fn next_packet(&mut self) -> Option<Packet> {
        loop {
            match self.candidate() {
                Candidate::Incomplete => return None,
                Candidate::False => self.discard(1),
                Candidate::Complete(total) => {
                    let packet = Packet {
                        id: self.buffer[2],
                        code: self.buffer[4],
                        params: self.buffer[5..total - 1].to_vec(),
                    };
                    self.buffer.drain(..total);
                    return Some(packet);
                }
            }
        }
    }

    /// Ends the stream: what waits for more bytes is no frame, but there may be one behind it (a damaged length byte
    /// claims bytes of its neighbours). Leaves the parser empty.
    pub fn finish(&mut self) -> Vec<Packet> {
        let mut packets = Vec::new();
        loop {
            while let Some(packet) = self.next_packet() {
                packets.push(packet);
            }
            if self.buffer.is_empty() {
                return packets;
            }
            self.discard(1);
        }
    }

    /// Forgets everything that is waiting.
    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Bytes so far that belonged to no valid frame.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    fn discard(&mut self, count: usize) {
        self.buffer.drain(..count);
        self.discarded += count as u64;
    }

    /// Judges the bytes at the front as far as they have arrived, so that the verdict does not depend on chunking.
    fn candidate(&self) -> Candidate {
        let max_id = match self.direction {
            Direction::Request => BROADCAST,
            Direction::Status => 0xFD,
        };
        let fits = |index: usize, test: &dyn Fn(u8) -> bool| {
            self.buffer.get(index).is_none_or(|byte| test(*byte))
        };
        let plausible = fits(0, &|byte| byte == 0xFF)
            && fits(1, &|byte| byte == 0xFF)
            && fits(2, &|id| id <= max_id)
            && fits(3, &|length| (2..=MAX_LENGTH).contains(&length))
            && fits(4, &|code| {
                self.direction == Direction::Request || code <= 0x7F
            });
        if !plausible {
            return Candidate::False;
        }
        let Some(length) = self.buffer.get(3) else {
            return Candidate::Incomplete;
        };
        let total = usize::from(*length) + 4;
        let Some(body) = self.buffer.get(2..total) else {
            return Candidate::Incomplete;
        };
        let (sum, body) = (body[body.len() - 1], &body[..body.len() - 1]);
        if checksum(body) == sum {
            Candidate::Complete(total)
        } else {
            Candidate::False
        }
    }
}

#[cfg(test)]
mod tests;
