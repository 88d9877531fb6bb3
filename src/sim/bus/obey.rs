//! What the servos do with a request, and what they say to it.

use std::time::Duration;

use super::{LOG_LENGTH, SimBus, WriteRecord};
use crate::arm::packet::{BROADCAST, Instruction, Packet, status_frame};
use crate::sim::servo::SimServo;

/// Instructions that the servos know and that the driver has no names for, so that it cannot send them: the first one
/// wipes the calibration, the last one changes it.
const RESTORE_FACTORY: u8 = 0x06;
const REBOOT: u8 = 0x08;
const FORGET_TURNS: u8 = 0x0A;
const CALIBRATE_POSITION: u8 = 0x0B;

/// To a broadcast ping every servo answers in its own slot, this long for each id below its own: no document tells how
/// long, and LeRobot waits about this long for each.
const PING_SLOT: Duration = Duration::from_millis(3);

/// The answers to one request, in the order in which they are sent.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub frames: Vec<Vec<u8>>,
    /// Each answer waits for this long times its id.
    pub slot: Duration,
}

impl From<Vec<Vec<u8>>> for Answers {
    fn from(frames: Vec<Vec<u8>>) -> Self {
        Self {
            frames,
            slot: Duration::ZERO,
        }
    }
}

impl SimBus {
    /// Lets every servo that is meant act.
    pub(super) fn obey(&mut self, request: &Packet, now: Duration) -> Answers {
        let params = request.params.as_slice();
        match Instruction::from_code(request.code) {
            Some(Instruction::SyncRead) => match params {
                [address, length, ids @ ..] => ids
                    .iter()
                    .flat_map(|id| self.answer(*id, |servo| Some(servo.read(*address, *length))))
                    .collect::<Vec<_>>()
                    .into(),
                _ => Answers::default(),
            },
            Some(Instruction::SyncWrite) => {
                self.sync_write(params, now);
                Answers::default()
            }
            _ if request.id == BROADCAST => {
                let answers = self.broadcast(request.code, params, now);
                if request.code == Instruction::Ping as u8 {
                    answers
                } else {
                    Answers::default()
                }
            }
            _ => self.obey_one(request.id, request.code, params, now).into(),
        }
    }

    /// Lets every servo on the line act, each id once: servos that share one speak at the same time.
    fn broadcast(&mut self, code: u8, params: &[u8], now: Duration) -> Answers {
        let mut ids: Vec<u8> = self.servos.iter().map(SimServo::id).collect();
        ids.sort_unstable();
        ids.dedup();
        let frames = ids
            .iter()
            .flat_map(|id| self.obey_one(*id, code, params, now))
            .collect();
        Answers {
            frames,
            slot: PING_SLOT,
        }
    }

    fn obey_one(&mut self, id: u8, code: u8, params: &[u8], now: Duration) -> Vec<Vec<u8>> {
        let acknowledged = |servo: &SimServo| servo.acknowledges().then(Vec::new);
        match (Instruction::from_code(code), params) {
            (Some(Instruction::Ping), _) => self.answer(id, |_| Some(Vec::new())),
            (Some(Instruction::Read), [address, length]) => {
                self.answer(id, |servo| Some(servo.read(*address, *length)))
            }
            (Some(Instruction::Write), [address, bytes @ ..]) => {
                self.remember(id, *address, bytes, now);
                self.answer(id, |servo| {
                    servo.write(*address, bytes);
                    acknowledged(servo)
                })
            }
            (Some(Instruction::RegWrite), [address, bytes @ ..]) => self.answer(id, |servo| {
                servo.write_later(*address, bytes);
                acknowledged(servo)
            }),
            (Some(Instruction::Action), _) => self.answer(id, |servo| {
                servo.act();
                acknowledged(servo)
            }),
            (None, _) => self.obey_unnamed(id, code, params),
            _ => Vec::new(),
        }
    }

    fn obey_unnamed(&mut self, id: u8, code: u8, params: &[u8]) -> Vec<Vec<u8>> {
        let acknowledged = |servo: &SimServo| servo.acknowledges().then(Vec::new);
        self.answer(id, |servo| match code {
            RESTORE_FACTORY => {
                servo.restore_factory();
                acknowledged(servo)
            }
            REBOOT => {
                servo.reboot();
                None
            }
            FORGET_TURNS => {
                servo.forget_turns();
                acknowledged(servo)
            }
            CALIBRATE_POSITION if servo.calibrate_position(params) => acknowledged(servo),
            _ => None,
        })
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
        let baud_rate = self.baud_rate;
        let mut heard: Option<Vec<u8>> = None;
        for servo in self
            .servos
            .iter_mut()
            .filter(|servo| servo.id() == id && servo.hears(baud_rate))
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
        let hears = |servo: &SimServo| servo.id() == id && servo.hears(self.baud_rate);
        if self.faults.is_mute(id) || !self.servos.iter().any(hears) {
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
