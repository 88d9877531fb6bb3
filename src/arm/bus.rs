//! Conversations with the servos: one request, the answers that arrive before a deadline, and a few retries for what is
//! missing. Loss and noise are normal on this wire when several joints move; they cost a count, not the run.

mod line;
mod replies;
mod reply_time;
mod roll;
mod tally;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serialport::ClearBuffer;

use self::line::{Conversation, Line, Voice};
use self::replies::Replies;
use self::reply_time::{ReplyTime, SLOWEST};
pub use self::tally::{BusCounters, Tally};
use crate::arm::Port;
use crate::arm::packet::{self, BROADCAST, Direction, Instruction, Packet, Parser};
use crate::arm::register::{Block, OutOfRange, Register};
use crate::clock::Clock;

pub use roll::{BAUD_RATES, ROLL_TIME, Roll};

/// Ten bit times of a byte at 1 Mbaud.
const BYTE_TIME: Duration = Duration::from_micros(10);
/// How long answers may take beyond their time on the wire. Three tries fit into a tick at 30 Hz; a USB adapter needs 1 to
/// 2 ms (an FTDI chip 16 ms, until its latency timer is set to 1).
pub const REPLY_TIMEOUT: Duration = Duration::from_millis(8);
/// One try and two retries for each thing asked.
pub const TRIES: u32 = 3;
/// No retry of a read from several servos begins later than this after the first request: a damaged answer is asked for
/// again at once, a servo that stays silent must not cost a tick at 30 Hz.
const RETRY_TIME: Duration = Duration::from_millis(15);
/// After a request that was not fully answered, the line must be quiet this long before the next one, so that a late
/// answer does not come in as the answer to something else.
const QUIET_TIME: Duration = Duration::from_millis(1);
/// The most bytes one answer phase may bring; a babbling line ends here.
const MAX_RECEIVED: usize = 4096;
/// Timeouts below a millisecond become zero in some drivers, which means "do not wait".
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);

/// Why a conversation failed.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    #[error("the port is gone: {0}")]
    Disconnected(String),
    #[error("the line was taken by a guard")]
    Taken,
    #[error("servo {id} does not answer{}", if *garbled { ", but something garbled arrived" } else { "" })]
    NoReply { id: u8, garbled: bool },
    #[error("servo {id} did not take {register:?} = {wrote} (it says {read})")]
    NotTaken {
        id: u8,
        register: Register,
        wrote: i32,
        read: i32,
    },
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

/// A half-duplex line of STS3215 servos.
#[derive(Debug)]
pub struct Bus {
    port: Port,
    line: Line,
    voice: Voice,
    clock: Clock,
    reply_time: ReplyTime,
    parser: Parser,
    counters: BusCounters,
    /// How each servo has answered, by id.
    tallies: BTreeMap<u8, Tally>,
    /// The ERR byte of each servo's latest answer.
    alarms: BTreeMap<u8, u8>,
    /// The last request was not fully answered: its answers may still come.
    answers_due: bool,
}

impl Bus {
    /// Takes over an open port. `clock` measures deadlines; with a simulated port it is the simulation's.
    pub fn new(port: Port, clock: Clock, reply_timeout: Duration) -> Self {
        Self {
            port,
            line: Line::default(),
            voice: Voice::Owner,
            clock,
            reply_time: ReplyTime::new(reply_timeout),
            parser: Parser::new(Direction::Status),
            counters: BusCounters::default(),
            tallies: BTreeMap::new(),
            alarms: BTreeMap::new(),
            answers_due: false,
        }
    }

    /// How loudly to log what is news.
    pub fn news(&self) -> log::Level {
        self.clock.news()
    }

    /// A second handle on the same port, which speaks only while it has taken the line.
    pub(super) fn guard(&self) -> serialport::Result<Self> {
        let port = self.port.try_clone()?;
        Ok(Self {
            line: self.line.clone(),
            voice: Voice::Guard,
            ..Self::new(port, self.clock.clone(), SLOWEST)
        })
    }

    /// Who may speak.
    pub(super) fn line(&self) -> &Line {
        &self.line
    }

    /// How long answers are waited for.
    pub(super) fn reply_time(&mut self) -> &mut ReplyTime {
        &mut self.reply_time
    }

    /// Everything counted so far.
    pub fn counters(&self) -> &BusCounters {
        &self.counters
    }

    /// How a servo has answered so far.
    pub fn tally(&self, id: u8) -> Tally {
        self.tallies.get(&id).copied().unwrap_or_default()
    }

    /// The alarm bits in the latest answer of a servo; zero before it has answered.
    pub fn alarm_bits(&self, id: u8) -> u8 {
        self.alarms.get(&id).copied().unwrap_or(0)
    }

    /// Asks a servo whether it is there.
    pub fn ping(&mut self, id: u8) -> Result<(), BusError> {
        self.ask_one(id, Instruction::Ping, &[], 0).map(drop)
    }

    /// Reads one register.
    pub fn read(&mut self, id: u8, register: Register) -> Result<i32, BusError> {
        let request = [register.address(), register.width()];
        let answer = self.ask_one(
            id,
            Instruction::Read,
            &request,
            usize::from(register.width()),
        )?;
        Ok(register.decode(&answer.params))
    }

    /// Writes one register and reads it back until it holds the value: a lost acknowledgement is no failure, a value
    /// that was acknowledged and dropped (EEPROM while `Lock` is 1) is one.
    pub fn write(&mut self, id: u8, register: Register, value: i32) -> Result<(), BusError> {
        let encoded = register.encode(value)?;
        let mut request = vec![register.address()];
        request.extend(encoded.as_slice());
        let frame = packet::instruction_frame(id, Instruction::Write, &request);
        let mut read = None;
        for attempt in 0..TRIES {
            self.counters.retries += u64::from(attempt > 0);
            self.exchange(&frame, &[id], 0)?;
            // One try: the next round asks again, and a silent servo must not hold the caller up for all of both.
            let question = [register.address(), register.width()];
            let question = packet::instruction_frame(id, Instruction::Read, &question);
            let length = usize::from(register.width());
            let (mut replies, _) = self.exchange(&question, &[id], length)?;
            if let Some(reply) = replies.pop().flatten() {
                let now = register.decode(&reply.params);
                if now == value {
                    return Ok(());
                }
                read = Some(now);
            }
        }
        if read.is_none() {
            *self.counters.lost.entry(id).or_default() += 1;
        }
        Err(match read {
            Some(read) => BusError::NotTaken {
                id,
                register,
                wrote: value,
                read,
            },
            None => BusError::NoReply { id, garbled: false },
        })
    }

    /// Writes one register unless it holds the value already, and reads it back; whether it was written. EEPROM wears out
    /// with every write.
    pub fn ensure(&mut self, id: u8, register: Register, value: i32) -> Result<bool, BusError> {
        if self.read(id, register)? == value {
            return Ok(false);
        }
        self.write(id, register, value).map(|()| true)
    }

    /// Reads a block from several servos with one request, asking again only those that did not come through, up to
    /// `tries` times in all, as far as the tick has time for it. A missing answer is `None`; the others are as they came, in the order of `ids`.
    pub fn sync_read(
        &mut self,
        block: Block,
        ids: &[u8],
        tries: u32,
    ) -> Result<Vec<Option<Vec<u8>>>, BusError> {
        let mut values: Vec<Option<Vec<u8>>> = vec![None; ids.len()];
        let mut missing: Vec<usize> = (0..ids.len()).collect();
        let end = self.clock.now() + RETRY_TIME;
        for attempt in 0..tries {
            if attempt > 0 && self.clock.now() >= end {
                break;
            }
            self.counters.retries += u64::from(attempt > 0);
            let asked: Vec<u8> = missing.iter().map(|index| ids[*index]).collect();
            let mut params = vec![block.address, block.length];
            params.extend(&asked);
            let frame = packet::instruction_frame(BROADCAST, Instruction::SyncRead, &params);
            let (replies, _) = self.exchange(&frame, &asked, usize::from(block.length))?;
            for (index, reply) in missing.iter().zip(replies) {
                values[*index] = reply.map(|packet| packet.params);
            }
            missing.retain(|index| values[*index].is_none());
            if missing.is_empty() {
                break;
            }
        }
        for index in missing {
            *self.counters.lost.entry(ids[index]).or_default() += 1;
        }
        Ok(values)
    }

    /// Writes one register of several servos with one frame. Nobody acknowledges it: success means that it was sent.
    pub fn sync_write(&mut self, register: Register, values: &[(u8, i32)]) -> Result<(), BusError> {
        let mut entries = Vec::with_capacity(values.len() * 3);
        for (id, value) in values {
            entries.push(*id);
            entries.extend(register.encode(*value)?.as_slice());
        }
        let entry = usize::from(register.width()) + 1;
        let most = (packet::MAX_PARAMS - 2) / entry * entry;
        for entries in entries.chunks(most) {
            let mut params = vec![register.address(), register.width()];
            params.extend(entries);
            let frame = packet::instruction_frame(BROADCAST, Instruction::SyncWrite, &params);
            self.exchange(&frame, &[], 0)?;
        }
        Ok(())
    }

    /// Writes one register of every servo on the line, known or not. Nobody acknowledges it.
    pub fn broadcast_write(&mut self, register: Register, value: i32) -> Result<(), BusError> {
        let mut params = vec![register.address()];
        params.extend(register.encode(value)?.as_slice());
        let frame = packet::instruction_frame(BROADCAST, Instruction::Write, &params);
        self.exchange(&frame, &[], 0).map(drop)
    }

    /// Whether the adapter sends back what it is sent. Asks `id` for its id: that request has eight bytes and its answer
    /// seven, so that an echo cannot be mistaken. (The echo of a ping equals an answer with the voltage alarm.)
    pub fn echoes(&mut self, id: u8) -> Result<bool, BusError> {
        let request = [Register::Id.address(), Register::Id.width()];
        let frame = packet::instruction_frame(id, Instruction::Read, &request);
        let talk = self.begin()?;
        self.quieten(&talk)?;
        self.transmit(&talk, &frame)?;
        let answer_bytes = packet::OVERHEAD + usize::from(Register::Id.width());
        let deadline = self.deadline(frame.len() + answer_bytes);
        let mut received = Vec::new();
        while received.len() < frame.len() && self.receive(&talk, deadline, &mut received)? {}
        self.answers_due = true;
        Ok(received.starts_with(&frame))
    }

    /// Asks one servo, up to [`TRIES`] times.
    fn ask_one(
        &mut self,
        id: u8,
        instruction: Instruction,
        params: &[u8],
        length: usize,
    ) -> Result<Packet, BusError> {
        let frame = packet::instruction_frame(id, instruction, params);
        let mut garbled = false;
        for attempt in 0..TRIES {
            self.counters.retries += u64::from(attempt > 0);
            let (mut replies, noise) = self.exchange(&frame, &[id], length)?;
            if let Some(packet) = replies.pop().flatten() {
                return Ok(packet);
            }
            garbled |= noise;
        }
        *self.counters.lost.entry(id).or_default() += 1;
        Err(BusError::NoReply { id, garbled })
    }

    /// One request and its answers, in the order of `ids`; whether anything arrived that was not asked for.
    fn exchange(
        &mut self,
        frame: &[u8],
        ids: &[u8],
        length: usize,
    ) -> Result<(Vec<Option<Packet>>, bool), BusError> {
        let talk = self.begin()?;
        self.quieten(&talk)?;
        let noise_before = self.parser.discarded();
        self.transmit(&talk, frame)?;
        let deadline = self.deadline(frame.len() + ids.len() * (packet::OVERHEAD + length));
        let mut replies = Replies::from(ids, length);
        let mut received = Vec::new();
        let mut total = 0;
        while !replies.over() && total < MAX_RECEIVED {
            received.clear();
            if !self.receive(&talk, deadline, &mut received)? {
                break;
            }
            total += received.len();
            self.parser.push(&received);
            while let Some(packet) = self.parser.next_packet() {
                replies.take(packet);
            }
        }
        for packet in self.parser.finish() {
            replies.take(packet);
        }
        let noise = self.parser.discarded() > noise_before;
        self.counters.corrupt += u64::from(noise);
        self.counters.unexpected += replies.unexpected;
        self.answers_due = replies.packets.iter().any(Option::is_none);
        if !self.answers_due && !ids.is_empty() {
            let left = deadline.saturating_sub(self.clock.now());
            let after = self.reply_time.allowed().saturating_sub(left);
            self.reply_time.answered(after);
        }
        self.note(&replies);
        Ok((replies.packets, noise || replies.unexpected > 0))
    }

    /// Counts what came and what did not.
    fn note(&mut self, replies: &Replies<'_>) {
        let now = self.clock.now();
        for (id, packet) in replies.ids.iter().zip(&replies.packets) {
            let tally = self.tallies.entry(*id).or_default();
            if let Some(packet) = packet {
                tally.answers += 1;
                tally.answered_at = Some(now);
                self.note_alarms(packet);
            } else {
                tally.missed += 1;
            }
        }
    }

    /// An alarm is news, not a refusal: the servo has obeyed and its data are good.
    fn note_alarms(&mut self, packet: &Packet) {
        let before = self.alarms.insert(packet.id, packet.code).unwrap_or(0);
        if before != packet.code {
            log::warn!(
                "servo {}: alarm bits {before:#04x} -> {:#04x}",
                packet.id,
                packet.code
            );
        }
    }

    fn begin(&self) -> Result<Conversation, BusError> {
        self.line.begin(self.voice).ok_or(BusError::Taken)
    }

    /// Throws away what belongs to earlier requests.
    fn quieten(&mut self, talk: &Conversation) -> Result<(), BusError> {
        if self.answers_due {
            self.answers_due = false;
            let mut late = Vec::new();
            let end = self.clock.now() + self.reply_time.allowed();
            while late.len() < MAX_RECEIVED && self.clock.now() < end {
                let deadline = self.clock.now() + QUIET_TIME;
                if !self.receive(talk, deadline, &mut late)? {
                    break;
                }
            }
            if !late.is_empty() {
                self.reply_time.came_late();
            }
        }
        self.port
            .clear(ClearBuffer::Input)
            .map_err(|error| BusError::Disconnected(error.to_string()))
    }

    fn transmit(&mut self, talk: &Conversation, frame: &[u8]) -> Result<(), BusError> {
        self.counters.transactions += 1;
        // What the last read had left of its time may be too short for a write, and a write that times out looks like a
        // pulled cable.
        self.port
            .set_timeout(self.reply_time.allowed().max(SHORTEST_TIMEOUT))
            .map_err(|error| BusError::Disconnected(error.to_string()))?;
        // No flush: some USB drivers poll for the end of transmission by the kernel's tick, which costs milliseconds.
        talk.write(|| self.port.write_all(frame))
            .ok_or(BusError::Taken)?
            .map_err(|error| BusError::Disconnected(error.to_string()))
    }

    fn deadline(&self, bytes_on_wire: usize) -> Duration {
        self.clock.now() + BYTE_TIME * bytes_on_wire as u32 + self.reply_time.allowed()
    }

    /// Waits for bytes until `deadline`; false when none came by then.
    fn receive(
        &mut self,
        talk: &Conversation,
        deadline: Duration,
        into: &mut Vec<u8>,
    ) -> Result<bool, BusError> {
        let gone = |detail: &str| BusError::Disconnected(detail.to_owned());
        let mut chunk = [0; 256];
        loop {
            if !talk.goes_on() {
                return Err(BusError::Taken);
            }
            let remaining = deadline.saturating_sub(self.clock.now());
            // On a busy machine it may be this thread that comes late; then the answers are there already.
            if remaining.is_zero() && self.waiting()? == 0 {
                return Ok(false);
            }
            self.port
                .set_timeout(remaining.max(SHORTEST_TIMEOUT))
                .map_err(|error| gone(&error.to_string()))?;
            match self.port.read(&mut chunk) {
                // A pulled USB plug shows itself as an end of file on some systems.
                Ok(0) => return Err(gone("end of file")),
                Ok(count) => {
                    into.extend_from_slice(&chunk[..count]);
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The timeout was all the time that was left, whatever the clock says.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
                    ) =>
                {
                    return Ok(false);
                }
                Err(error) => return Err(gone(&error.to_string())),
            }
        }
    }

    /// Bytes that have arrived and were not read yet.
    fn waiting(&self) -> Result<u32, BusError> {
        self.port
            .bytes_to_read()
            .map_err(|error| BusError::Disconnected(error.to_string()))
    }
}
