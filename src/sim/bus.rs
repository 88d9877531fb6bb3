//! The servos' end of the wire: hears requests, lets each servo obey and answer in its turn, and spoils what the fault
//! script says.

use std::collections::VecDeque;
use std::time::Duration;

use crate::arm::Calibration;
use crate::arm::packet::{BROADCAST, Direction, Instruction, Packet, Parser, status_frame};
use crate::arm::register::Register;
use crate::joint::{Joint, JointVec};
use crate::latest::Latest;
use crate::sim::faults::{Fault, FaultScript};
use crate::sim::servo::SimServo;

/// Ten bit times at 1 Mbaud.
const BYTE_TIME: Duration = Duration::from_micros(10);
/// From the end of a request to the first answer, and between answers.
const TURNAROUND: Duration = Duration::from_micros(20);
/// Step of the motor models.
const STEP: Duration = Duration::from_millis(1);
/// Nobody watches what happened during a longer pause.
const LONGEST_CATCH_UP: Duration = Duration::from_mins(1);
/// Inner resistance of the supply and its leads, ohm: five amperes cost a volt.
const SUPPLY_OHM: f64 = 0.2;
/// Writes that are remembered.
const LOG_LENGTH: usize = 4096;

/// A write that a servo has obeyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRecord {
    /// On the rig's clock.
    pub at: Duration,
    pub id: u8,
    pub address: u8,
    pub bytes: Vec<u8>,
}

/// Six servos on one wire.
#[derive(Debug)]
pub struct SimBus {
    servos: Vec<SimServo>,
    calibration: Calibration,
    faults: FaultScript,
    supply_volts: f64,
    requests: Parser,
    /// Bytes on their way to the host, with the moment at which each is there.
    answers: VecDeque<(Duration, u8)>,
    /// Until when the motor models have run.
    time: Duration,
    log: VecDeque<WriteRecord>,
    pose: Latest<JointVec>,
}

impl SimBus {
    /// Servos with `calibration`, standing in `start` (robot units), limp, at `now`.
    pub fn new(
        calibration: Calibration,
        start: JointVec,
        now: Duration,
        pose: Latest<JointVec>,
    ) -> Self {
        let stand = |joint: Joint| {
            let motor = calibration.motor(joint);
            SimServo::new(
                motor,
                f64::from(calibration.unnormalize(joint, start[joint])),
            )
        };
        let bus = Self {
            servos: Joint::ALL.iter().map(|joint| stand(*joint)).collect(),
            calibration,
            faults: FaultScript::default(),
            supply_volts: 12.0,
            requests: Parser::new(Direction::Request),
            answers: VecDeque::new(),
            time: now,
            log: VecDeque::new(),
            pose,
        };
        bus.show();
        bus
    }

    /// The servos in joint order; their ids may have been changed by a fault.
    pub fn servo(&self, joint: Joint) -> &SimServo {
        &self.servos[joint.index()]
    }

    /// Writes so far, oldest first.
    pub fn log(&self) -> Vec<WriteRecord> {
        self.log.iter().cloned().collect()
    }

    /// Whether the cable is out.
    pub fn disconnected(&self) -> bool {
        self.faults.disconnected
    }

    /// Lets the motors run until `now`.
    pub fn advance(&mut self, now: Duration) {
        self.time = self.time.max(now.saturating_sub(LONGEST_CATCH_UP));
        let mut moved = false;
        while self.time + STEP <= now {
            self.time += STEP;
            let amperes: f64 = self.servos.iter().map(SimServo::milliamperes).sum::<f64>() / 1000.0;
            let volts = self.supply_volts - amperes * SUPPLY_OHM;
            for servo in &mut self.servos {
                servo.advance(STEP.as_secs_f64(), volts);
            }
            moved = true;
        }
        if moved {
            self.show();
        }
    }

    /// Publishes where the joints truly are, whatever the servos say.
    fn show(&self) {
        self.pose.set(JointVec::from_fn(|joint| {
            let offset = f64::from(self.calibration.motor(joint).homing_offset);
            let counts = self.servos[joint.index()].encoder() - offset;
            self.calibration.normalize(joint, counts)
        }));
    }

    /// Takes bytes from the host.
    pub fn receive(&mut self, bytes: &[u8], now: Duration) {
        self.advance(now);
        let arrived = now + BYTE_TIME * bytes.len() as u32;
        if self.faults.echo {
            self.answers
                .extend(bytes.iter().map(|byte| (arrived, *byte)));
        }
        self.requests.push(bytes);
        while let Some(request) = self.requests.next_packet() {
            let mut answers = if self.faults.loses_request() {
                Vec::new()
            } else {
                self.obey(&request, now)
            };
            let late = if answers.is_empty() {
                Duration::ZERO
            } else {
                self.faults.distort(&mut answers)
            };
            self.faults.transaction_ends();
            self.send(&answers, arrived + late);
        }
    }

    /// Queues answers behind each other on the wire.
    fn send(&mut self, answers: &[Vec<u8>], from: Duration) {
        let mut at = from;
        for answer in answers {
            at += TURNAROUND;
            for byte in answer {
                at += BYTE_TIME;
                self.answers.push_back((at, *byte));
            }
        }
        // A late answer may be overtaken by the answers to a newer request.
        self.answers.make_contiguous().sort_by_key(|(at, _)| *at);
    }

    /// Moves bytes that have arrived by `now` into `into`; how many.
    pub fn deliver(&mut self, into: &mut [u8], now: Duration) -> usize {
        let mut count = 0;
        while count < into.len() && !self.faults.disconnected {
            match self.answers.front() {
                Some((at, byte)) if *at <= now => into[count] = *byte,
                _ => break,
            }
            self.answers.pop_front();
            count += 1;
            if let Some(left) = &mut self.faults.disconnect_after {
                *left = left.saturating_sub(1);
                self.faults.disconnected = *left == 0;
            }
        }
        count
    }

    /// How long the host is held up now; once.
    pub fn stall(&mut self) -> Duration {
        std::mem::take(&mut self.faults.stall)
    }

    /// Bytes that have arrived and wait to be read.
    pub fn waiting(&self, now: Duration) -> usize {
        self.answers.iter().take_while(|(at, _)| *at <= now).count()
    }

    /// When the next byte will have arrived.
    pub fn next_arrival(&self) -> Option<Duration> {
        self.answers.front().map(|(at, _)| *at)
    }

    /// Throws away what has arrived; what is still on the wire will arrive.
    pub fn clear(&mut self, now: Duration) {
        let waiting = self.waiting(now);
        self.answers.drain(..waiting);
    }

    fn obey(&mut self, request: &Packet, now: Duration) -> Vec<Vec<u8>> {
        let Some(instruction) = Instruction::from_code(request.code) else {
            return Vec::new();
        };
        let params = request.params.as_slice();
        match instruction {
            Instruction::SyncRead => match params {
                [address, length, ids @ ..] => ids
                    .iter()
                    .flat_map(|id| self.answer(*id, |servo| Some(servo.read(*address, *length))))
                    .collect(),
                _ => Vec::new(),
            },
            Instruction::SyncWrite => {
                self.sync_write(params, now);
                Vec::new()
            }
            _ if request.id == BROADCAST => {
                let ids: Vec<u8> = self.servos.iter().map(SimServo::id).collect();
                let answers = ids
                    .iter()
                    .flat_map(|id| self.obey_one(*id, instruction, params, now))
                    .collect();
                if instruction == Instruction::Ping {
                    answers
                } else {
                    Vec::new()
                }
            }
            _ => self.obey_one(request.id, instruction, params, now),
        }
    }

    fn obey_one(
        &mut self,
        id: u8,
        instruction: Instruction,
        params: &[u8],
        now: Duration,
    ) -> Vec<Vec<u8>> {
        match (instruction, params) {
            (Instruction::Ping, _) => self.answer(id, |_| Some(Vec::new())),
            (Instruction::Read, [address, length]) => {
                self.answer(id, |servo| Some(servo.read(*address, *length)))
            }
            (Instruction::Write, [address, bytes @ ..]) => {
                self.remember(id, *address, bytes, now);
                self.answer(id, |servo| {
                    servo.write(*address, bytes);
                    servo.acknowledges().then(Vec::new)
                })
            }
            (Instruction::RegWrite, [address, bytes @ ..]) => self.answer(id, |servo| {
                servo.write_later(*address, bytes);
                servo.acknowledges().then(Vec::new)
            }),
            (Instruction::Action, _) => self.answer(id, |servo| {
                servo.act();
                servo.acknowledges().then(Vec::new)
            }),
            _ => Vec::new(),
        }
    }

    fn sync_write(&mut self, params: &[u8], now: Duration) {
        let [address, length, entries @ ..] = params else {
            return;
        };
        for entry in entries.chunks_exact(usize::from(*length) + 1) {
            self.remember(entry[0], *address, &entry[1..], now);
            self.answer(entry[0], |servo| {
                servo.write(*address, &entry[1..]);
                None
            });
        }
    }

    /// Lets every servo with this id act, and gives their answers as the host hears them: two at once are garbage.
    fn answer(
        &mut self,
        id: u8,
        mut act: impl FnMut(&mut SimServo) -> Option<Vec<u8>>,
    ) -> Vec<Vec<u8>> {
        if self.faults.is_mute(id) {
            return Vec::new();
        }
        let mut heard: Option<Vec<u8>> = None;
        for servo in self
            .servos
            .iter_mut()
            .filter(|servo| servo.id() == id && servo.hears())
        {
            if let Some(params) = act(servo) {
                let frame = status_frame(id, servo.alarms(), &params);
                heard = Some(match heard {
                    None => frame,
                    Some(other) => collide(&other, &frame),
                });
            }
        }
        heard.into_iter().collect()
    }

    fn remember(&mut self, id: u8, address: u8, bytes: &[u8], now: Duration) {
        if self.faults.is_mute(id) || !self.servos.iter().any(|servo| servo.id() == id) {
            return;
        }
        if self.log.len() == LOG_LENGTH {
            self.log.pop_front();
        }
        self.log.push_back(WriteRecord {
            at: now,
            id,
            address,
            bytes: bytes.to_vec(),
        });
    }

    /// Makes something go wrong.
    pub fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::Burst(period) => self.faults.burst = Some(period),
            Fault::Mute(id) => self.faults.mute.push(id),
            Fault::MuteFor(id, transactions) => self.faults.mute_for.push((id, transactions)),
            Fault::Silent => self.faults.silent = true,
            Fault::Echo => self.faults.echo = true,
            Fault::Delay(by) => self.faults.delay = by,
            Fault::Stall(time) => self.faults.stall = time,
            Fault::Supply(volts) => self.supply_volts = volts,
            Fault::Disconnect => self.faults.disconnected = true,
            Fault::DisconnectAfter(bytes) => self.faults.disconnect_after = Some(bytes),
            Fault::Next { skip, distortion } => self.faults.strike(skip, distortion),
            Fault::Alarms(id, _)
            | Fault::Stuck(id)
            | Fault::Kick(id, _)
            | Fault::Position(id, _)
            | Fault::Offset(id, _)
            | Fault::BrownOut(id)
            | Fault::Temperature(id, _)
            | Fault::Poke { id, .. }
            | Fault::Readdress(id, _) => {
                if let Some(servo) = self.servos.iter_mut().find(|servo| servo.id() == id) {
                    spoil(servo, &fault);
                }
                self.show();
            }
        }
    }

    /// Ends all faults that last; a cable that is out is put in again. What was changed at once stays changed.
    pub fn heal(&mut self) {
        self.faults = FaultScript::default();
        self.supply_volts = 12.0;
        self.answers.clear();
        for servo in &mut self.servos {
            servo.forced_alarms = 0;
            servo.stuck = false;
            servo.kick = 0.0;
        }
    }
}

/// Faults of one servo.
fn spoil(servo: &mut SimServo, fault: &Fault) {
    let homing = f64::from(servo.get(Register::HomingOffset));
    match fault {
        Fault::Alarms(_, bits) => servo.forced_alarms = *bits,
        Fault::Stuck(_) => servo.stuck = true,
        Fault::Kick(_, counts) => servo.kick = f64::from(*counts),
        Fault::Position(_, counts) => servo.place(f64::from(*counts) + homing),
        Fault::Offset(_, offset) => {
            servo.set(Register::HomingOffset, *offset);
            servo.place(servo.encoder());
        }
        Fault::BrownOut(_) => servo.power_up(),
        Fault::Temperature(_, celsius) => servo.heat_to(*celsius),
        Fault::Poke { address, value, .. } => {
            servo.poke(*address, *value);
            servo.place(servo.encoder());
        }
        Fault::Readdress(_, id) => servo.set(Register::Id, i32::from(*id)),
        _ => {}
    }
}

/// Two servos that pull the wire at once: a bit is high only where both leave it high, and no two clocks agree.
fn collide(first: &[u8], second: &[u8]) -> Vec<u8> {
    let skewed = std::iter::once(&0xFF)
        .chain(second)
        .chain(std::iter::repeat(&0xFF));
    let length = first.len().max(second.len() + 1);
    let first = first.iter().chain(std::iter::repeat(&0xFF));
    first.zip(skewed).take(length).map(|(a, b)| a & b).collect()
}
