//! Faults that strike at random and yet repeatably: one seed, one story.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{Distortion, Fault};

/// Faults that strike one transaction in so many.
#[derive(Clone, Debug, PartialEq)]
pub struct Chance {
    /// One transaction in so many is struck, on average.
    pub one_in: u32,
    /// The same seed strikes the same transactions with the same faults.
    pub seed: u64,
    /// One of these strikes, all of them equally likely.
    pub of: Vec<Aim>,
}

/// A fault that chance may choose.
#[derive(Clone, Debug, PartialEq)]
pub enum Aim {
    /// As it is.
    Exactly(Fault),
    /// Servo, answer, bit and place are drawn anew each time; times, counts and values stay.
    Anywhere(Fault),
}

impl Chance {
    /// A lost request or answer, a flipped bit, or noise, somewhere in one transaction of so many.
    pub fn noise(one_in: u32, seed: u64) -> Self {
        let kinds = [
            Distortion::LoseRequest,
            Distortion::Drop(0),
            Distortion::Flip { nth: 0, bit: 0 },
            Distortion::Truncate(0),
            Distortion::Before(0, Vec::new()),
            Distortion::Inside(0, Vec::new()),
            Distortion::After(0, Vec::new()),
            Distortion::Duplicate(0),
        ];
        let aim = |distortion| {
            Aim::Anywhere(Fault::Next {
                skip: 0,
                distortion,
            })
        };
        Self {
            one_in,
            seed,
            of: kinds.map(aim).to_vec(),
        }
    }
}

/// A chance that is being played.
#[derive(Clone, Debug)]
pub(super) struct Dice {
    chance: Chance,
    rng: ChaCha8Rng,
}

impl Dice {
    pub fn new(chance: Chance) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(chance.seed),
            chance,
        }
    }

    /// What strikes the next transaction on a line with these servos.
    pub fn roll(&mut self, ids: &[u8]) -> Option<Fault> {
        let hit = self.rng.random_range(0..self.chance.one_in.max(1)) == 0;
        if !hit || self.chance.of.is_empty() {
            return None;
        }
        let choice = self.rng.random_range(0..self.chance.of.len());
        Some(match self.chance.of[choice].clone() {
            Aim::Exactly(fault) => fault,
            Aim::Anywhere(fault) => self.anywhere(fault, ids),
        })
    }

    fn anywhere(&mut self, mut fault: Fault, ids: &[u8]) -> Fault {
        if let Fault::Next { skip, distortion } = fault {
            return Fault::Next {
                skip,
                distortion: distortion.anywhere(&mut self.rng),
            };
        }
        if let Some(place) = fault.servo_mut()
            && !ids.is_empty()
        {
            *place = ids[self.rng.random_range(0..ids.len())];
        }
        fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [u8; 6] = [1, 2, 3, 4, 5, 6];

    fn story(seed: u64, rolls: usize) -> Vec<(usize, Fault)> {
        let mut chance = Chance::noise(50, seed);
        chance.of.push(Aim::Anywhere(Fault::MuteFor(0, 3)));
        let mut dice = Dice::new(chance);
        (0..rolls)
            .filter_map(|nth| Some((nth, dice.roll(&IDS)?)))
            .collect()
    }

    #[test]
    fn a_seed_tells_one_story() {
        assert_eq!(story(7, 5000), story(7, 5000));
        assert_ne!(story(7, 5000), story(8, 5000));
    }

    #[test]
    fn strikes_are_as_rare_as_told_and_reach_every_servo() {
        let strikes = story(7, 50_000);
        assert!((900..1100).contains(&strikes.len()), "{}", strikes.len());
        let mut muted: Vec<u8> = strikes
            .iter()
            .filter_map(|(_, fault)| fault.servo())
            .collect();
        muted.sort_unstable();
        muted.dedup();
        assert_eq!(muted, IDS);
    }
}
