//! A person's hand on a limp pretend arm: it takes the joints somewhere, sweeps them from stop to stop, or waves with them.

use std::str::FromStr;
use std::time::Duration;

use crate::joint::{JOINT_COUNT, Joint, JointVec};

/// How fast a hand turns a joint, counts a second: about 130° a second.
const HAND_SPEED: f64 = 1500.0;
/// A sweep turns round when it is this close to an end, counts.
const ARRIVED: f64 = 0.5;

/// What the hand does with the joints that are limp; a joint with torque does not give way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Gesture {
    /// Lets go; a limp arm stays where it is.
    #[default]
    Still,
    /// Takes all joints to this pose, robot units, and keeps them there.
    To(JointVec),
    /// Takes one joint there, robot units, and lets the others be.
    Joint(Joint, f32),
    /// Takes every joint to the middle of its travel.
    Middle,
    /// Turns every joint from stop to stop, over and over.
    Sweep,
    /// Moves the arm about its first pose, as somebody who teleoperates does.
    Wave,
}

impl FromStr for Gesture {
    type Err = String;

    /// Reads `still`, `middle`, `sweep`, `wave`, `elbow_flex=20` or six values for a pose.
    fn from_str(text: &str) -> Result<Self, String> {
        let known = || {
            "expected still, middle, sweep, wave, JOINT=VALUE or six values separated by commas"
                .to_owned()
        };
        let number = |word: &str| word.parse::<f32>().ok().filter(|value| value.is_finite());
        match text {
            "still" => return Ok(Self::Still),
            "middle" => return Ok(Self::Middle),
            "sweep" => return Ok(Self::Sweep),
            "wave" => return Ok(Self::Wave),
            _ => {}
        }
        if let Some((name, value)) = text.split_once('=') {
            let joint = Joint::ALL.into_iter().find(|joint| joint.name() == name);
            return match (joint, number(value)) {
                (Some(joint), Some(value)) => Ok(Self::Joint(joint, value)),
                _ => Err(known()),
            };
        }
        let values: Option<Vec<f32>> = text.split(',').map(number).collect();
        values
            .and_then(|values| JointVec::from_slice(&values))
            .map(Self::To)
            .ok_or_else(known)
    }
}

/// Where one joint is being taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pull {
    /// Counts of the encoder.
    pub to: f64,
    /// Counts a second.
    pub speed: f64,
}

/// What the hand has to know of a joint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grip {
    /// Counts of the encoder, now.
    pub encoder: f64,
    /// The ends of the travel, counts of the encoder.
    pub travel: [f64; 2],
    /// Counts for one robot unit.
    pub counts_per_unit: f64,
    /// The first pose, counts of the encoder.
    pub start: f64,
}

/// The hand, and what it is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Hand {
    gesture: Gesture,
    since: Duration,
    /// Which joints a sweep is taking to their lower end.
    downwards: [bool; JOINT_COUNT],
}

impl Hand {
    /// Begins something else at `now`.
    pub fn begin(&mut self, gesture: Gesture, now: Duration) {
        *self = Self {
            gesture,
            since: now,
            downwards: [false; JOINT_COUNT],
        };
    }

    /// Whether it leaves the arm alone.
    pub fn is_still(&self) -> bool {
        self.gesture == Gesture::Still
    }

    /// Where it takes a joint at `now`; `counts` gives the encoder counts of a value in robot units.
    pub fn pull(
        &mut self,
        joint: Joint,
        grip: Grip,
        now: Duration,
        counts: impl Fn(f32) -> f64,
    ) -> Option<Pull> {
        let [low, high] = grip.travel;
        let to = match self.gesture {
            Gesture::To(pose) => counts(pose[joint]),
            Gesture::Joint(one, value) if one == joint => counts(value),
            Gesture::Still | Gesture::Joint(..) => return None,
            Gesture::Middle => f64::midpoint(low, high),
            Gesture::Sweep => {
                let down = &mut self.downwards[joint.index()];
                if *down && grip.encoder <= low + ARRIVED {
                    *down = false;
                } else if !*down && grip.encoder >= high - ARRIVED {
                    *down = true;
                }
                if *down { low } else { high }
            }
            Gesture::Wave => {
                let seconds = now.saturating_sub(self.since).as_secs_f64();
                let (units, period) = wave(joint);
                let phase = seconds * std::f64::consts::TAU / period;
                grip.start + units * grip.counts_per_unit * phase.sin()
            }
        };
        Some(Pull {
            to: to.clamp(low, high),
            speed: HAND_SPEED,
        })
    }
}

/// How far a joint waves, robot units, and how long one wave takes, seconds. The periods share no factor, so that the arm
/// does not repeat itself soon.
fn wave(joint: Joint) -> (f64, f64) {
    match joint {
        Joint::ShoulderPan => (35.0, 7.0),
        Joint::ShoulderLift => (14.0, 5.3),
        Joint::ElbowFlex => (12.0, 4.1),
        Joint::WristFlex => (18.0, 3.7),
        Joint::WristRoll => (40.0, 6.1),
        Joint::Gripper => (18.0, 2.9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRIP: Grip = Grip {
        encoder: 1000.0,
        travel: [500.0, 1500.0],
        counts_per_unit: 11.0,
        start: 900.0,
    };

    fn pull(hand: &mut Hand, encoder: f64) -> Option<f64> {
        let grip = Grip { encoder, ..GRIP };
        let counts = |value: f32| f64::from(value) * 11.0;
        let pull = hand.pull(Joint::ElbowFlex, grip, Duration::from_secs(1), counts);
        pull.map(|pull| pull.to)
    }

    #[test]
    fn gestures_are_read_and_others_refused() {
        let pose = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.5]);
        assert_eq!("sweep".parse(), Ok(Gesture::Sweep));
        assert_eq!("0,-50,50,50,0,20.5".parse(), Ok(Gesture::To(pose)));
        let elbow = Gesture::Joint(Joint::ElbowFlex, -3.5);
        assert_eq!("elbow_flex=-3.5".parse(), Ok(elbow));
        for text in [
            "",
            "fly",
            "1,2,3",
            "elbow=3",
            "gripper=NaN",
            "1,2,3,4,5,inf",
        ] {
            assert!(
                text.parse::<Gesture>().unwrap_err().contains("sweep"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_hand_takes_joints_within_their_travel() {
        let mut hand = Hand::default();
        assert_eq!(pull(&mut hand, 1000.0), None);
        for (gesture, to) in [
            (Gesture::Middle, Some(1000.0)),
            (Gesture::To(JointVec([100.0; 6])), Some(1100.0)),
            (Gesture::To(JointVec([900.0; 6])), Some(1500.0)),
            (Gesture::Joint(Joint::ElbowFlex, 90.0), Some(990.0)),
            (Gesture::Joint(Joint::Gripper, 90.0), None),
        ] {
            hand.begin(gesture, Duration::ZERO);
            assert_eq!(pull(&mut hand, 1000.0), to, "{gesture:?}");
        }
        hand.begin(Gesture::Wave, Duration::ZERO);
        assert!((pull(&mut hand, 1000.0).unwrap() - 900.0).abs() <= 12.0 * 11.0);
    }

    #[test]
    fn a_sweep_turns_round_at_both_ends() {
        let mut hand = Hand::default();
        hand.begin(Gesture::Sweep, Duration::ZERO);
        let ends: Vec<_> = [1000.0, 1500.0, 800.0, 500.0, 700.0]
            .map(|encoder| pull(&mut hand, encoder).unwrap())
            .to_vec();
        assert_eq!(ends, [1500.0, 500.0, 500.0, 1500.0, 1500.0]);
    }
}
