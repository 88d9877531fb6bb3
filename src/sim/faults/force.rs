//! The faults that are in force at this moment, and what they do to each transaction.

use std::collections::VecDeque;
use std::time::Duration;

use super::chance::Dice;
use super::{Chance, Distortion, EVERY_SERVO, Fault};

/// The faults in force.
#[derive(Clone, Debug, Default)]
pub struct InForce {
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
    /// Drawn for the transaction that is going on.
    struck: Vec<Distortion>,
    dice: Vec<Dice>,
    answered: u64,
    /// Transactions that something was done to.
    pub strikes: u64,
}

impl InForce {
    /// Queues a distortion.
    pub fn strike(&mut self, skip: u64, distortion: Distortion) {
        self.next.push_back((skip, distortion));
    }

    /// Lets chance play from now on.
    pub fn play(&mut self, chance: Chance) {
        self.dice.push(Dice::new(chance));
    }

    /// Ends all of them; what was counted stays.
    pub fn end(&mut self) {
        *self = Self {
            strikes: self.strikes,
            ..Self::default()
        };
    }

    /// Whether a servo is cut off now.
    pub fn is_mute(&self, id: u8) -> bool {
        let it = |mute: u8| mute == id || mute == EVERY_SERVO;
        self.silent
            || self.mute.iter().any(|mute| it(*mute))
            || self.mute_for.iter().any(|(mute, _)| it(*mute))
    }

    /// A transaction begins on a line with these servos: what chance has in store for it besides distortions.
    pub fn begin(&mut self, ids: &[u8]) -> Vec<Fault> {
        let drawn: Vec<Fault> = self
            .dice
            .iter_mut()
            .filter_map(|dice| dice.roll(ids))
            .collect();
        let (struck, others): (Vec<Fault>, Vec<Fault>) = drawn
            .into_iter()
            .partition(|fault| matches!(fault, Fault::Next { .. }));
        self.struck = struck
            .into_iter()
            .filter_map(|fault| match fault {
                Fault::Next { distortion, .. } => Some(distortion),
                _ => None,
            })
            .collect();
        self.strikes += others.len() as u64;
        others
    }

    /// A transaction is over; mute spells run out.
    pub fn transaction_ends(&mut self) {
        for (_, left) in &mut self.mute_for {
            *left = left.saturating_sub(1);
        }
        self.mute_for.retain(|(_, left)| *left > 0);
        self.struck.clear();
    }

    /// Whether the request of the transaction that begins gets lost.
    pub fn loses_request(&mut self) -> bool {
        let due = matches!(self.next.front(), Some((0, Distortion::LoseRequest)));
        if due {
            self.next.pop_front();
        }
        let lost = due || self.struck.contains(&Distortion::LoseRequest);
        self.strikes += u64::from(lost);
        lost
    }

    /// Does to the answers of one transaction what is due. Returns how much later they come.
    pub fn distort(&mut self, answers: &mut Vec<Vec<u8>>) -> Duration {
        self.answered += 1;
        let mut due = std::mem::take(&mut self.struck);
        if let Some(period) = self.burst
            && self.answered.is_multiple_of(period.max(1))
        {
            // A stride without a common factor with the frame sizes: in time, every bit of every answer is hit.
            let strike = (self.answered / period.max(1)) as usize;
            due.push(Distortion::Flip {
                nth: strike,
                bit: strike.wrapping_mul(31),
            });
        }
        self.strikes += due.len() as u64;
        let mut late = self.delay;
        for distortion in due {
            late += distortion.among(answers.len()).apply(answers);
        }
        match self.next.front_mut() {
            Some((0, _)) => {
                if let Some((_, distortion)) = self.next.pop_front() {
                    self.strikes += 1;
                    late += distortion.apply(answers);
                }
            }
            Some((skip, _)) => *skip -= 1,
            None => {}
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::packet::status_frame;

    #[test]
    fn distortions_strike_once_and_in_turn() {
        let mut force = InForce::default();
        force.strike(1, Distortion::Drop(0));
        force.strike(0, Distortion::Late(Duration::from_millis(5)));
        let fresh = || vec![status_frame(1, 0, &[1, 2]), status_frame(2, 0, &[3, 4])];
        let mut answers = fresh();
        assert_eq!(force.distort(&mut answers), Duration::ZERO);
        assert_eq!(answers, fresh());
        force.distort(&mut answers);
        assert_eq!(answers, fresh()[1..]);
        assert_eq!(force.distort(&mut fresh()), Duration::from_millis(5));
        assert_eq!(force.distort(&mut fresh()), Duration::ZERO);
        assert_eq!(force.strikes, 2);
    }

    #[test]
    fn a_burst_hits_every_nth_transaction() {
        let mut force = InForce {
            burst: Some(50),
            ..InForce::default()
        };
        let clean = vec![status_frame(1, 0, &[1, 2]); 6];
        let hits = (0..1000)
            .filter(|_| {
                let mut answers = clean.clone();
                force.distort(&mut answers);
                answers != clean
            })
            .count();
        assert_eq!((hits, force.strikes), (20, 20));
    }
}
