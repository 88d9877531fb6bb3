//! What a bad line does to the answers of one transaction.

use std::time::Duration;

use rand::{Rng as _, RngExt as _};
use rand_chacha::ChaCha8Rng;

use crate::arm::packet::status_frame;

/// Bits of the longest answer that a driver usually asks for, 15 bytes of state.
const USUAL_BITS: usize = 21 * 8;
/// The most bytes of noise that a random strike inserts.
const NOISE_BYTES: usize = 8;

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
    /// Bytes behind an answer.
    After(usize, Vec<u8>),
    /// One answer comes twice.
    Duplicate(usize),
    /// The answers come in reverse order.
    Reverse,
    /// Two answers change places.
    Swap(usize, usize),
    /// One answer carries another id, with a right checksum.
    WrongId(usize, u8),
    /// One answer has one parameter byte too many, with a right checksum.
    TooLong(usize),
    /// One answer has one parameter byte too few, with a right checksum.
    TooShort(usize),
    /// All answers come so much later.
    Late(Duration),
    /// One answer carries other parameters, with a right checksum.
    Params(usize, Vec<u8>),
}

impl Distortion {
    /// Does it to the answers; how much later they come.
    pub(super) fn apply(self, answers: &mut Vec<Vec<u8>>) -> Duration {
        match self {
            Self::Late(by) => return by,
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
            Self::Swap(first, second) => {
                if first.max(second) < answers.len() {
                    answers.swap(first, second);
                }
            }
            Self::Flip { nth, .. }
            | Self::Before(nth, _)
            | Self::Inside(nth, _)
            | Self::After(nth, _)
            | Self::WrongId(nth, _)
            | Self::TooLong(nth)
            | Self::TooShort(nth)
            | Self::Params(nth, _) => {
                if let Some(answer) = answers.get_mut(nth) {
                    self.damage(answer);
                }
            }
        }
        Duration::ZERO
    }

    /// Distortions of a single answer.
    fn damage(self, answer: &mut Vec<u8>) {
        // Another distortion of the same transaction may have cut it short.
        let params = match answer.as_slice() {
            [_, _, _, _, _, params @ .., _] => params.to_vec(),
            _ => return,
        };
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
            Self::After(_, bytes) => answer.extend(bytes),
            Self::WrongId(_, id) => *answer = status_frame(id, answer[4], &params),
            Self::TooLong(_) => {
                *answer = status_frame(answer[2], answer[4], &[params, vec![0]].concat());
            }
            Self::TooShort(_) => {
                let shorter = &params[..params.len().saturating_sub(1)];
                *answer = status_frame(answer[2], answer[4], shorter);
            }
            Self::Params(_, params) => *answer = status_frame(answer[2], answer[4], &params),
            Self::LoseRequest
            | Self::Drop(_)
            | Self::Truncate(_)
            | Self::Duplicate(_)
            | Self::Reverse
            | Self::Swap(..)
            | Self::Late(_) => {}
        }
    }

    /// The same with every number drawn anew; a time or bytes that were given stay.
    pub(super) fn anywhere(mut self, rng: &mut ChaCha8Rng) -> Self {
        let mut noise = vec![0; rng.random_range(1..=NOISE_BYTES)];
        rng.fill_bytes(&mut noise);
        let (some, other) = (rng.random_range(0..60), rng.random_range(0..60));
        match &mut self {
            Self::Drop(nth) | Self::Duplicate(nth) | Self::TooLong(nth) | Self::TooShort(nth) => {
                *nth = some;
            }
            Self::Flip { nth, bit } => (*nth, *bit) = (some, rng.random_range(0..USUAL_BITS)),
            Self::Truncate(keep) => *keep = rng.random_range(0..USUAL_BITS / 8),
            Self::Before(nth, bytes) | Self::Inside(nth, bytes) | Self::After(nth, bytes) => {
                (*nth, *bytes) = (some, noise);
            }
            Self::Swap(first, second) => (*first, *second) = (some, other),
            Self::WrongId(nth, id) => (*nth, *id) = (some, rng.random_range(0..=0xFD)),
            Self::Params(nth, _) => *nth = some,
            Self::LoseRequest | Self::Reverse | Self::Late(_) => {}
        }
        self
    }

    /// The same among so many answers: what points behind the last one starts over at the first.
    pub(super) fn among(mut self, answers: usize) -> Self {
        let answers = answers.max(1);
        match &mut self {
            Self::Drop(nth)
            | Self::Flip { nth, .. }
            | Self::Before(nth, _)
            | Self::Inside(nth, _)
            | Self::After(nth, _)
            | Self::Duplicate(nth)
            | Self::WrongId(nth, _)
            | Self::TooLong(nth)
            | Self::TooShort(nth)
            | Self::Params(nth, _) => *nth %= answers,
            Self::Swap(first, second) => {
                *first %= answers;
                *second %= answers;
            }
            Self::LoseRequest | Self::Truncate(_) | Self::Reverse | Self::Late(_) => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> Vec<Vec<u8>> {
        vec![
            status_frame(1, 0, &[1, 2]),
            status_frame(2, 0x20, &[3, 4]),
            status_frame(3, 0, &[5, 6]),
        ]
    }

    fn after(distortion: Distortion) -> Vec<Vec<u8>> {
        let mut answers = answers();
        assert_eq!(distortion.apply(&mut answers), Duration::ZERO);
        answers
    }

    #[test]
    fn each_distortion_does_what_it_says_and_spares_the_others() {
        let clean = answers();
        assert_eq!(
            after(Distortion::Drop(1)),
            [clean[0].clone(), clean[2].clone()]
        );
        assert_eq!(after(Distortion::Swap(0, 2))[0], clean[2]);
        assert_eq!(
            after(Distortion::Duplicate(1))[1..3],
            [clean[1].clone(), clean[1].clone()]
        );
        assert_eq!(
            after(Distortion::WrongId(1, 9))[1],
            status_frame(9, 0x20, &[3, 4])
        );
        assert_eq!(
            after(Distortion::TooShort(1))[1],
            status_frame(2, 0x20, &[3])
        );
        assert_eq!(
            after(Distortion::TooLong(1))[1],
            status_frame(2, 0x20, &[3, 4, 0])
        );
        assert_eq!(after(Distortion::Truncate(10)).concat().len(), 10);
        assert_eq!(after(Distortion::After(0, vec![7]))[0].last(), Some(&7));
        assert_eq!(after(Distortion::Before(2, vec![7]))[2].first(), Some(&7));
        assert_eq!(
            after(Distortion::Inside(2, vec![7]))[2].len(),
            clean[2].len() + 1
        );
        assert_eq!(after(Distortion::Drop(3)), clean);
        assert!(after(Distortion::LoseRequest).is_empty());
        let mut later = answers();
        let by = Duration::from_millis(4);
        assert_eq!(Distortion::Late(by).apply(&mut later), by);
        assert_eq!(later, clean);
    }

    #[test]
    fn several_strikes_on_one_answer_do_not_panic() {
        let mut answers = answers();
        for distortion in [
            Distortion::Truncate(3),
            Distortion::WrongId(0, 9),
            Distortion::Flip { nth: 0, bit: 500 },
            Distortion::TooShort(1),
        ] {
            distortion.apply(&mut answers);
        }
        assert_eq!(answers.concat().len(), 3);
    }
}
