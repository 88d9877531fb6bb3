//! A joint that a hand leads through its whole travel: where it has been, counted on beyond a turn, and whether that can be
//! a joint of this arm.
//!
//! A servo counts modulo a turn. Taking the least and the most of what it says is wrong as soon as the travel crosses the
//! place where the count starts again (LeRobot #3587). Here every reading is taken as a small step from the one before, so
//! that the travel is whole wherever it lies on the circle.

use std::time::Duration;

use crate::arm::turn::{FASTEST_LIMP, JUMP_SLACK, degrees, short_way};
use crate::joint::Joint;

/// A step beyond this (135°) may have gone either way round, however long it took.
const AMBIGUOUS: f64 = 1536.0;
/// So many impossible readings in a row are no noise: count has been lost.
const INSISTENCE: u32 = 3;
/// A travel beyond this (350°) leaves no room for the place where the count starts again.
pub const MOST_TRAVEL: i32 = 3982;
/// Travel of each joint in the SO-101's URDF, degrees.
const URDF_TRAVEL: [f32; 6] = [220.0, 200.0, 193.7, 190.0, 320.0, 110.0];
/// A joint that moved less than this was hardly moved on purpose, degrees.
const UNMOVED: f32 = 5.0;
/// Shares of the URDF's travel below which a sweep is refused, and below which it is doubted.
const LEAST_SHARE: f32 = 0.3;
const FULL_SHARE: f32 = 0.75;

/// One joint's travel so far, in encoder counts that run on beyond a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweep {
    now: i32,
    low: i32,
    high: i32,
    at: Duration,
    /// Impossible readings in a row.
    doubts: u32,
    jumped: bool,
}

/// What a sweep is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travel {
    /// Not moved yet.
    Unmoved,
    /// Far less than the joint can do.
    TooShort,
    /// Accepted, but the joint can probably go further.
    Partial,
    Full,
    /// More than a joint with stops can do.
    TooLong,
    /// Count was lost: the joint must be swept again.
    Jumped,
}

impl Travel {
    /// Whether a calibration may be made of it.
    pub fn is_usable(self) -> bool {
        matches!(self, Self::Partial | Self::Full)
    }
}

impl Sweep {
    /// Begins where the encoder is now; a number beyond a turn is as good.
    pub fn begin(encoder: i32, at: Duration) -> Self {
        Self {
            now: encoder,
            low: encoder,
            high: encoder,
            at,
            doubts: 0,
            jumped: false,
        }
    }

    /// Takes a reading of the encoder, 0 to 4095, made at `at`. One that no hand can have caused is not believed; when it
    /// insists, the joint has been moved unseen, and the sweep is spoilt.
    pub fn measured(&mut self, encoder: i32, at: Duration) {
        let step = short_way(self.now, encoder);
        let spent = at.saturating_sub(self.at).as_secs_f64();
        let reach = (JUMP_SLACK + FASTEST_LIMP * spent).min(AMBIGUOUS);
        if f64::from(step).abs() > reach {
            self.doubts += 1;
            if self.doubts < INSISTENCE {
                return;
            }
            self.jumped = true;
        }
        self.doubts = 0;
        self.at = at;
        self.now += step;
        if !self.jumped {
            self.low = self.low.min(self.now);
            self.high = self.high.max(self.now);
        }
    }

    /// Where the joint is, counts on the sweep's own scale.
    pub fn now(&self) -> i32 {
        self.now
    }

    /// Lowest and highest count so far.
    pub fn ends(&self) -> [i32; 2] {
        [self.low, self.high]
    }

    /// Counts from end to end.
    pub fn travel(&self) -> i32 {
        self.high - self.low
    }

    /// What it is worth for this joint.
    pub fn verdict(&self, joint: Joint) -> Travel {
        let travel = degrees(self.travel());
        let whole = URDF_TRAVEL[joint.index()];
        if self.jumped {
            Travel::Jumped
        } else if self.travel() > MOST_TRAVEL {
            Travel::TooLong
        } else if travel < UNMOVED {
            Travel::Unmoved
        } else if travel < whole * LEAST_SHARE {
            Travel::TooShort
        } else if travel < whole * FULL_SHARE {
            Travel::Partial
        } else {
            Travel::Full
        }
    }
}

/// How far a joint of the SO-101 turns, degrees.
pub fn usual_travel(joint: Joint) -> f32 {
    URDF_TRAVEL[joint.index()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arm::turn::{COUNTS_PER_TURN, encoder_from_position};

    const PERIOD: Duration = Duration::from_millis(20);

    /// Leads a joint from `start` through these counts (beyond a turn or not), 200 counts a reading.
    fn led(start: i32, stops: &[i32]) -> Sweep {
        let mut at = Duration::ZERO;
        let mut sweep = Sweep::begin(start.rem_euclid(COUNTS_PER_TURN), at);
        let mut here = start;
        for stop in stops {
            while here != *stop {
                here += (stop - here).clamp(-200, 200);
                at += PERIOD;
                sweep.measured(here.rem_euclid(COUNTS_PER_TURN), at);
            }
        }
        sweep
    }

    #[test]
    fn a_travel_over_the_start_of_the_count_is_whole() {
        let sweep = led(4000, &[3000, 5200, 4100]);
        assert_eq!(sweep.ends(), [3000, 5200]);
        assert_eq!(sweep.now(), 4100);
        assert_eq!(sweep.verdict(Joint::ElbowFlex), Travel::Full);
        assert_eq!(led(10, &[-900, 300]).travel(), 1200);
    }

    #[test]
    fn each_length_has_its_verdict() {
        let verdict = |to| led(0, &[to]).verdict(Joint::ShoulderPan);
        assert_eq!(verdict(30), Travel::Unmoved);
        assert_eq!(verdict(500), Travel::TooShort);
        assert_eq!(verdict(1200), Travel::Partial);
        assert_eq!(verdict(2500), Travel::Full);
        assert_eq!(verdict(3982), Travel::Full);
        assert_eq!(verdict(3983), Travel::TooLong);
        assert_eq!(verdict(9000), Travel::TooLong, "round and round");
    }

    #[test]
    fn one_wild_reading_is_not_believed_and_three_spoil_the_sweep() {
        let mut sweep = led(1000, &[2000]);
        let mut at = sweep.at;
        for _ in 0..2 {
            at += PERIOD;
            sweep.measured(3900, at);
        }
        at += PERIOD;
        sweep.measured(2010, at);
        assert_eq!(
            (sweep.ends(), sweep.verdict(Joint::ShoulderPan)),
            ([1000, 2010], Travel::Partial)
        );
        for _ in 0..3 {
            at += PERIOD;
            sweep.measured(3900, at);
        }
        assert_eq!(sweep.verdict(Joint::ShoulderPan), Travel::Jumped);
        assert_eq!(sweep.ends(), [1000, 2010], "what was seen stays");
        assert_eq!(short_way(sweep.now(), 3900), 0);
    }

    #[test]
    fn a_joint_that_was_thrown_while_nobody_looked_is_noticed() {
        let mut sweep = led(1000, &[1500]);
        let late = sweep.at + Duration::from_secs(2);
        for after in 0..3 {
            sweep.measured(3500, late + PERIOD * after);
        }
        assert_eq!(sweep.verdict(Joint::WristFlex), Travel::Jumped);
        let mut still = led(1000, &[1500]);
        still.measured(1510, still.at + Duration::from_secs(2));
        assert_eq!(still.ends(), [1000, 1510], "a pause alone is no harm");
    }

    #[test]
    fn positions_of_any_servo_give_an_encoder() {
        for (position, offset, encoder) in [
            (4095, 0, 4095),
            (0, 0, 0),
            (4161, 0, 65),
            (-60, 0, 4036),
            (2000, -1500, 500),
            (300, -1500, 2896),
        ] {
            assert_eq!(encoder_from_position(position, offset), encoder);
        }
        assert_eq!(short_way(4000, 100), 196);
        assert_eq!(short_way(100, 4000), -196);
    }

    proptest! {
        /// Wherever the travel lies, and in whatever order a hand leads through it, it comes out as long as it is.
        #[test]
        fn any_travel_anywhere_is_measured(
            low in 0..COUNTS_PER_TURN,
            travel in 1..=MOST_TRAVEL,
            start in 0.0..1.0_f64,
            stops in prop::collection::vec(0.0..1.0_f64, 0..6),
        ) {
            let at = |share: f64| low + (f64::from(travel) * share) as i32;
            let mut way: Vec<i32> = stops.into_iter().map(at).collect();
            way.extend([low, low + travel, low]);
            let sweep = led(at(start), &way);
            prop_assert_eq!(sweep.travel(), travel);
            prop_assert_eq!(sweep.ends()[0].rem_euclid(COUNTS_PER_TURN), low);
            prop_assert_ne!(sweep.verdict(Joint::ShoulderPan), Travel::Jumped);
        }

        /// No reading makes it lose its mind.
        #[test]
        fn any_reading_is_taken(readings in prop::collection::vec((any::<i16>(), 0..500_u64), 0..60)) {
            let mut at = Duration::ZERO;
            let mut sweep = Sweep::begin(2048, at);
            for (reading, ms) in readings {
                at += Duration::from_millis(ms);
                sweep.measured(encoder_from_position(i32::from(reading), 0), at);
                let [low, high] = sweep.ends();
                prop_assert!(low <= high);
            }
        }
    }
}
