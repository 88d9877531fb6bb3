//! What can be made to go wrong on the simulated bus, on purpose and repeatably.

use std::collections::VecDeque;
use std::str::FromStr;
use std::time::Duration;

/// Something wrong with the rig. Most last until [`heal`](crate::sim::SimArm::heal); [`Fault::Next`] strikes once.
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
    /// Every answer comes so much later.
    Delay(Duration),
    /// The host's thread is held up once for so long, after its next read.
    Stall(Duration),
    /// A servo reports these status bits whatever its state.
    Alarms(u8, u8),
    /// A joint is blocked.
    Stuck(u8),
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
    /// At once: a joint stands at this position, counts after homing.
    Position(u8, i32),
    /// At once: a servo holds this homing offset (its pose is relabelled, the horn stays).
    Offset(u8, i32),
    /// At once: a servo lost power for a moment.
    BrownOut(u8),
    /// At once: a servo is this warm, °C.
    Temperature(u8, f64),
    /// At once: one byte of a register file.
    Poke { id: u8, address: u8, value: u8 },
    /// At once: the servo with the first id takes the second.
    Readdress(u8, u8),
}

/// What happens to the answers of one transaction, in the order in which they are sent; `nth` counts from zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Distortion {
    /// The request never reaches the servos.
    LoseRequest,
    /// One answer is missing.
    Drop(usize),
    /// One bit of one answer flips.
    Flip { nth: usize, bit: usize },
    /// All answers together stop after so many bytes.
    Truncate(usize),
    /// Bytes ahead of an answer.
    Before(usize, Vec<u8>),
    /// Bytes in the middle of an answer.
    Inside(usize, Vec<u8>),
    /// One answer comes twice.
    Duplicate(usize),
    /// The answers come in reverse order.
    Reverse,
    /// One answer carries another id, with a right checksum.
    WrongId(usize, u8),
    /// One answer has one parameter byte too many, with a right checksum.
    TooLong(usize),
    /// All answers come so much later.
    Late(Duration),
    /// One answer carries other parameters, with a right checksum.
    Params(usize, Vec<u8>),
}

/// The faults in force.
#[derive(Clone, Debug, Default)]
pub struct FaultScript {
    pub burst: Option<u64>,
    pub mute: Vec<u8>,
    pub mute_for: Vec<(u8, u64)>,
    pub silent: bool,
    pub echo: bool,
    pub delay: Duration,
    pub stall: Duration,
    pub disconnected: bool,
    pub disconnect_after: Option<usize>,
    next: VecDeque<(u64, Distortion)>,
    answered: u64,
}

impl FaultScript {
    /// Queues a distortion.
    pub fn strike(&mut self, skip: u64, distortion: Distortion) {
        self.next.push_back((skip, distortion));
    }

    /// Whether a servo is cut off now.
    pub fn is_mute(&self, id: u8) -> bool {
        self.silent || self.mute.contains(&id) || self.mute_for.iter().any(|(mute, _)| *mute == id)
    }

    /// A transaction is over; mute spells run out.
    pub fn transaction_ends(&mut self) {
        for (_, left) in &mut self.mute_for {
            *left = left.saturating_sub(1);
        }
        self.mute_for.retain(|(_, left)| *left > 0);
    }

    /// Whether the coming transaction's request gets lost.
    pub fn loses_request(&mut self) -> bool {
        match self.next.front() {
            Some((0, Distortion::LoseRequest)) => {
                self.next.pop_front();
                true
            }
            _ => false,
        }
    }

    /// Does to the answers of one transaction what is due. Returns how much later they come.
    pub fn distort(&mut self, answers: &mut Vec<Vec<u8>>) -> Duration {
        self.answered += 1;
        if let Some(period) = self.burst
            && self.answered.is_multiple_of(period.max(1))
        {
            // A stride without a common factor with the frame sizes: in time, every bit of every answer is hit.
            let strike = (self.answered / period.max(1)) as usize;
            let nth = strike % answers.len().max(1);
            Distortion::Flip {
                nth,
                bit: strike.wrapping_mul(31),
            }
            .apply(answers);
        }
        let late = match self.next.front_mut() {
            Some((0, _)) => match self.next.pop_front() {
                Some((_, Distortion::Late(by))) => by,
                Some((_, distortion)) => {
                    distortion.apply(answers);
                    Duration::ZERO
                }
                None => Duration::ZERO,
            },
            Some((skip, _)) => {
                *skip -= 1;
                Duration::ZERO
            }
            None => Duration::ZERO,
        };
        self.delay + late
    }
}

impl Distortion {
    fn apply(self, answers: &mut Vec<Vec<u8>>) {
        match self {
            Self::LoseRequest => answers.clear(),
            Self::Drop(nth) => {
                if nth < answers.len() {
                    answers.remove(nth);
                }
            }
            Self::Truncate(keep) => {
                let mut left = keep;
                for answer in answers {
                    answer.truncate(left);
                    left -= answer.len();
                }
            }
            Self::Duplicate(nth) => {
                if let Some(answer) = answers.get(nth).cloned() {
                    answers.insert(nth, answer);
                }
            }
            Self::Reverse => answers.reverse(),
            Self::Late(_) => {}
            Self::Flip { nth, .. }
            | Self::Before(nth, _)
            | Self::Inside(nth, _)
            | Self::WrongId(nth, _)
            | Self::TooLong(nth)
            | Self::Params(nth, _) => {
                if let Some(answer) = answers.get_mut(nth) {
                    self.damage(answer);
                }
            }
        }
    }

    /// Distortions of a single answer.
    fn damage(self, answer: &mut Vec<u8>) {
        let status = crate::arm::packet::status_frame;
        let params = answer[5..answer.len() - 1].to_vec();
        match self {
            Self::Flip { bit, .. } => {
                let bit = bit % (answer.len() * 8);
                answer[bit / 8] ^= 1 << (bit % 8);
            }
            Self::Before(_, bytes) => {
                answer.splice(0..0, bytes);
            }
            Self::Inside(_, bytes) => {
                let middle = answer.len() / 2;
                answer.splice(middle..middle, bytes);
            }
            Self::WrongId(_, id) => *answer = status(id, answer[4], &params),
            Self::TooLong(_) => *answer = status(answer[2], answer[4], &[params, vec![0]].concat()),
            Self::Params(_, params) => *answer = status(answer[2], answer[4], &params),
            Self::LoseRequest
            | Self::Drop(_)
            | Self::Truncate(_)
            | Self::Duplicate(_)
            | Self::Reverse
            | Self::Late(_) => {}
        }
    }
}

/// A fault that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no fault. Known: burst:N mute:ID mute:ID*TRANSACTIONS silent echo delay:MS stall:MS alarms:ID=BITS stuck:ID kick:ID=COUNTS \
     supply:VOLTS disconnect drop lose truncate:BYTES late:MS pos:ID=COUNTS offset:ID=COUNTS brownout:ID temperature:ID=C id:OLD=NEW poke:ID:ADDRESS=BYTE"
)]
pub struct UnknownFault(String);

impl FromStr for Fault {
    type Err = UnknownFault;

    /// Reads the short form: `burst:50`, `mute:3`, `pos:5=4095`.
    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        parse(text.trim()).ok_or_else(|| UnknownFault(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Fault> {
    let (name, argument) = text.split_once(':').unwrap_or((text, ""));
    let pair = || argument.split_once('=');
    let ms = || argument.parse().ok().map(Duration::from_millis);
    let next = |distortion| {
        Some(Fault::Next {
            skip: 0,
            distortion,
        })
    };
    match name {
        "burst" => argument.parse().ok().map(Fault::Burst),
        "mute" => match argument.split_once('*') {
            Some((id, count)) => Some(Fault::MuteFor(id.parse().ok()?, count.parse().ok()?)),
            None => argument.parse().ok().map(Fault::Mute),
        },
        "silent" => Some(Fault::Silent),
        "echo" => Some(Fault::Echo),
        "delay" => ms().map(Fault::Delay),
        "stall" => ms().map(Fault::Stall),
        "alarms" => {
            pair().and_then(|(id, bits)| Some(Fault::Alarms(id.parse().ok()?, bits.parse().ok()?)))
        }
        "stuck" => argument.parse().ok().map(Fault::Stuck),
        "kick" => pair().and_then(|(id, by)| Some(Fault::Kick(id.parse().ok()?, by.parse().ok()?))),
        "supply" => argument.parse().ok().map(Fault::Supply),
        "disconnect" => Some(Fault::Disconnect),
        "drop" => next(Distortion::Drop(0)),
        "lose" => next(Distortion::LoseRequest),
        "truncate" => next(Distortion::Truncate(argument.parse().ok()?)),
        "late" => next(Distortion::Late(ms()?)),
        "pos" => {
            pair().and_then(|(id, at)| Some(Fault::Position(id.parse().ok()?, at.parse().ok()?)))
        }
        "offset" => {
            pair().and_then(|(id, to)| Some(Fault::Offset(id.parse().ok()?, to.parse().ok()?)))
        }
        "brownout" => argument.parse().ok().map(Fault::BrownOut),
        "temperature" => {
            pair().and_then(|(id, to)| Some(Fault::Temperature(id.parse().ok()?, to.parse().ok()?)))
        }
        "id" => pair()
            .and_then(|(old, new)| Some(Fault::Readdress(old.parse().ok()?, new.parse().ok()?))),
        "poke" => {
            let (place, value) = pair()?;
            let (id, address) = place.split_once(':')?;
            Some(Fault::Poke {
                id: id.parse().ok()?,
                address: address.parse().ok()?,
                value: value.parse().ok()?,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::packet::status_frame;

    #[test]
    fn short_forms_are_read() {
        let ms = Duration::from_millis;
        let cases = [
            ("burst:50", Fault::Burst(50)),
            ("mute:3", Fault::Mute(3)),
            ("mute:3*8", Fault::MuteFor(3, 8)),
            ("delay:8", Fault::Delay(ms(8))),
            ("pos:5=4095", Fault::Position(5, 4095)),
            ("offset:5=-1500", Fault::Offset(5, -1500)),
            (
                "late:20",
                Fault::Next {
                    skip: 0,
                    distortion: Distortion::Late(ms(20)),
                },
            ),
            (
                "poke:2:3=4",
                Fault::Poke {
                    id: 2,
                    address: 3,
                    value: 4,
                },
            ),
        ];
        for (text, fault) in cases {
            assert_eq!(text.parse(), Ok(fault), "{text}");
        }
        for text in ["", "burst", "mute:x", "pos:5", "explode:1"] {
            assert!(
                text.parse::<Fault>()
                    .unwrap_err()
                    .to_string()
                    .contains("mute:ID")
            );
        }
    }

    #[test]
    fn distortions_strike_once_and_in_turn() {
        let mut script = FaultScript::default();
        script.strike(1, Distortion::Drop(0));
        script.strike(0, Distortion::Late(Duration::from_millis(5)));
        let fresh = || vec![status_frame(1, 0, &[1, 2]), status_frame(2, 0, &[3, 4])];
        let mut answers = fresh();
        assert_eq!(script.distort(&mut answers), Duration::ZERO);
        assert_eq!(answers, fresh());
        script.distort(&mut answers);
        assert_eq!(answers, fresh()[1..]);
        assert_eq!(script.distort(&mut fresh()), Duration::from_millis(5));
        assert_eq!(script.distort(&mut fresh()), Duration::ZERO);
    }

    #[test]
    fn a_burst_hits_every_nth_transaction() {
        let mut script = FaultScript {
            burst: Some(50),
            ..FaultScript::default()
        };
        let clean = vec![status_frame(1, 0, &[1, 2]); 6];
        let hits = (0..1000)
            .filter(|_| {
                let mut answers = clean.clone();
                script.distort(&mut answers);
                answers != clean
            })
            .count();
        assert_eq!(hits, 20);
    }
}
