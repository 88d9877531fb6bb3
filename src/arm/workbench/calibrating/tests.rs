//! Whole calibrations by a hand that exists only in numbers.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::arm::turn::COUNTS_PER_TURN;

const PERIOD: Duration = Duration::from_millis(20);
const IDS: [u8; JOINT_COUNT] = [1, 2, 3, 4, 5, 6];

/// An arm whose joints have stops, on servos with some old offsets, and the hand that moves it.
struct Hand {
    it: Calibrating,
    offsets: [i32; JOINT_COUNT],
    /// Encoder counts, running on beyond a turn.
    ends: [[i32; 2]; JOINT_COUNT],
    at: [i32; JOINT_COUNT],
    now: Duration,
    silent: Option<Joint>,
}

impl Hand {
    fn on(offsets: [i32; JOINT_COUNT], ends: [[i32; 2]; JOINT_COUNT]) -> Self {
        Self {
            it: Calibrating::new(Role::Follower, IDS, offsets),
            offsets,
            ends,
            at: ends.map(|[low, high]| low + (high - low) / 2),
            now: Duration::ZERO,
            silent: None,
        }
    }

    /// An SO-101 whose joints lie across the start of the count wherever they can.
    fn usual() -> Self {
        let ends = [
            [3000, 5500],
            [-1100, 1170],
            [900, 3100],
            [4000, 6160],
            [-1700, 1800],
            [3800, 5050],
        ];
        Self::on([0, -1500, 904, 2047, -2047, 1], ends)
    }

    fn look(&mut self) {
        self.now += PERIOD;
        let position =
            |index: usize| (self.at[index] - self.offsets[index]).rem_euclid(COUNTS_PER_TURN);
        let positions =
            Joint::ALL.map(|joint| (self.silent != Some(joint)).then(|| position(joint.index())));
        self.it.measured(positions, self.now);
    }

    fn wait(&mut self) {
        for _ in 0..20 {
            self.look();
        }
    }

    /// Leads one joint to a place in its travel, 0 to 1.
    fn lead(&mut self, joint: Joint, share: f32) {
        let [low, high] = self.ends[joint.index()];
        let goal = low + ((high - low) as f32 * share).round() as i32;
        while self.at[joint.index()] != goal {
            let here = &mut self.at[joint.index()];
            *here += (goal - *here).clamp(-150, 150);
            self.look();
        }
    }

    fn sweep(&mut self, joint: Joint) {
        for share in [0.0, 1.0, 0.5] {
            self.lead(joint, share);
        }
    }

    fn next(&mut self) -> Result<Stage, Vec<Obstacle>> {
        self.it.advance()
    }

    /// Up to the step in which the gripper is closed.
    fn swept(mut self) -> Self {
        self.wait();
        assert_eq!(self.next(), Ok(Stage::Sweep));
        for joint in Joint::ALL {
            if joint != Joint::WristRoll {
                self.sweep(joint);
            }
        }
        assert_eq!(self.next(), Ok(Stage::Close));
        self
    }

    /// Up to the check; `open` says at which end of its travel the gripper is open.
    fn checked(self, open: f32) -> Self {
        let mut hand = self.swept();
        hand.lead(Joint::Gripper, 1.0 - open);
        assert_eq!(hand.next(), Ok(Stage::Open));
        hand.lead(Joint::Gripper, open);
        assert_eq!(hand.next(), Ok(Stage::Check));
        hand
    }

    /// What a servo with the new calibration says of the place where the joint is.
    fn reads(&self, joint: Joint) -> f32 {
        let calibration = self.it.calibration().unwrap();
        let offset = calibration.motor(joint).homing_offset;
        let position = (self.at[joint.index()] - offset).rem_euclid(COUNTS_PER_TURN);
        calibration.normalize(joint, f64::from(position))
    }
}

#[test]
fn a_whole_calibration_measures_every_joint() {
    let mut hand = Hand::usual().checked(1.0);
    assert_eq!(hand.it.obstacles(), []);
    let calibration = hand.it.calibration().unwrap();
    for joint in Joint::ALL {
        let entry = calibration.motor(joint);
        let [low, high] = hand.ends[joint.index()];
        let travel = if joint == Joint::WristRoll {
            4095
        } else {
            high - low
        };
        assert_eq!(entry.range_max - entry.range_min, travel, "{joint}");
        assert_eq!((entry.id, entry.drive_mode), (IDS[joint.index()], 0));
    }
    // Both ends are as far from the middle, and zero is where the arm stood.
    hand.lead(Joint::WristFlex, 0.0);
    let low = hand.reads(Joint::WristFlex);
    hand.lead(Joint::WristFlex, 1.0);
    assert!((hand.reads(Joint::WristFlex) + low).abs() < 0.1);
    assert!(hand.reads(Joint::WristRoll).abs() < 0.1);
    assert_eq!(hand.it.odd_middles(), []);
    hand.look();
    let pose = hand.it.pose().unwrap();
    for joint in Joint::ALL {
        assert!((pose[joint] - hand.reads(joint)).abs() < 0.1, "{joint}");
    }
}

/// Pain 33: a gripper that is mounted the other way round slams open when its percentage is taken as it is.
#[test]
fn the_operator_shows_which_way_the_gripper_opens() {
    for (open, drive_mode) in [(1.0, 0), (0.0, 1)] {
        let mut hand = Hand::usual().checked(open);
        let entry = hand.it.calibration().unwrap().motor(Joint::Gripper);
        assert_eq!(entry.drive_mode, drive_mode);
        assert_eq!(hand.reads(Joint::Gripper), 100.0, "open is 100");
        hand.lead(Joint::Gripper, 1.0 - open);
        assert_eq!(hand.reads(Joint::Gripper), 0.0, "closed is 0");
    }
}

#[test]
fn a_gripper_that_is_not_moved_has_no_direction() {
    let mut hand = Hand::usual().swept();
    assert_eq!(hand.next(), Err(vec![Obstacle::Halfway]));
    hand.lead(Joint::Gripper, 0.1);
    assert_eq!(hand.next(), Ok(Stage::Open));
    assert_eq!(hand.next(), Err(vec![Obstacle::SameEnd]));
    assert!(hand.it.calibration().is_err());
    hand.lead(Joint::Gripper, 0.5);
    assert_eq!(hand.next(), Err(vec![Obstacle::Halfway]));
}

#[test]
fn the_middle_is_taken_from_an_arm_that_stands_still_and_answers() {
    let mut hand = Hand::usual();
    hand.look();
    assert_eq!(hand.next(), Err(vec![Obstacle::Moving]));
    hand.lead(Joint::ElbowFlex, 0.9);
    assert_eq!(hand.next(), Err(vec![Obstacle::Moving]));
    hand.silent = Some(Joint::WristFlex);
    for _ in 0..30 {
        hand.look();
    }
    let refused = hand.next().unwrap_err();
    assert_eq!(refused, [Obstacle::Silent(vec![Joint::WristFlex])]);
    assert!(refused[0].to_string().contains("wrist_flex"));
    assert_eq!(hand.it.bars()[3].now, None);
    hand.silent = None;
    hand.wait();
    assert_eq!(hand.next(), Ok(Stage::Sweep));
}

#[test]
fn joints_that_are_left_out_or_spin_are_named_and_redone() {
    let mut hand = Hand::usual();
    hand.wait();
    hand.next().unwrap();
    hand.sweep(Joint::ShoulderPan);
    let refused = hand.next().unwrap_err();
    let named = [
        Joint::ShoulderLift,
        Joint::ElbowFlex,
        Joint::WristFlex,
        Joint::Gripper,
    ];
    assert_eq!(
        refused,
        named.map(|joint| Obstacle::Travel(joint, Travel::Unmoved))
    );
    for joint in named {
        hand.sweep(joint);
    }
    // Round and round.
    hand.ends[0] = [3000, 8000];
    hand.lead(Joint::ShoulderPan, 1.0);
    let refused = hand.next().unwrap_err();
    assert_eq!(
        refused,
        [Obstacle::Travel(Joint::ShoulderPan, Travel::TooLong)]
    );
    hand.it.redo(Joint::ShoulderPan);
    assert_eq!(hand.it.bars()[0].travel, 0.0);
    hand.ends[0] = [3000, 5500];
    hand.at[0] = 8000 - COUNTS_PER_TURN;
    hand.sweep(Joint::ShoulderPan);
    assert_eq!(hand.next(), Ok(Stage::Close));
    hand.it.redo(Joint::ElbowFlex);
    assert_eq!(hand.it.stage(), Stage::Sweep, "back to where it is swept");
}

#[test]
fn a_jump_spoils_one_joint_until_it_is_redone() {
    let mut hand = Hand::usual().checked(1.0);
    hand.at[1] += 1700;
    hand.wait();
    let refused = hand.it.obstacles();
    assert_eq!(
        refused,
        [Obstacle::Travel(Joint::ShoulderLift, Travel::Jumped)]
    );
    assert!(hand.it.calibration().is_err());
    hand.at[1] -= 1700;
    hand.wait();
    assert_eq!(hand.it.obstacles().len(), 1, "it does not heal by itself");
    hand.it.redo(Joint::ShoulderLift);
    hand.sweep(Joint::ShoulderLift);
    for stage in [Stage::Close, Stage::Open] {
        assert_eq!(hand.next(), Ok(stage));
        hand.lead(
            Joint::Gripper,
            if stage == Stage::Close { 0.0 } else { 1.0 },
        );
    }
    assert_eq!(hand.next(), Ok(Stage::Check));
    let entry = hand.it.calibration().unwrap().motor(Joint::ShoulderLift);
    assert_eq!(entry.range_max - entry.range_min, 2270);
}

#[test]
fn a_wrist_shown_at_its_end_is_no_middle() {
    let mut hand = Hand::usual();
    hand.lead(Joint::WristRoll, 1.0);
    hand.wait();
    hand.next().unwrap();
    for joint in Joint::ALL {
        hand.sweep(joint);
    }
    assert_eq!(
        hand.next(),
        Err(vec![Obstacle::OffCentre(Joint::WristRoll)])
    );
    hand.it.back();
    assert_eq!((hand.it.stage(), hand.it.pose()), (Stage::Middle, None));
    hand.wait();
    assert_eq!(hand.next(), Ok(Stage::Sweep));
    for joint in Joint::ALL {
        hand.sweep(joint);
    }
    assert_eq!(hand.next(), Ok(Stage::Close));
}

#[test]
fn a_half_swept_joint_shows_in_its_odd_middle() {
    let mut hand = Hand::usual();
    hand.wait();
    hand.next().unwrap();
    for joint in Joint::ALL {
        hand.sweep(joint);
    }
    hand.it.redo(Joint::ElbowFlex);
    hand.lead(Joint::ElbowFlex, 1.0);
    let odd = hand.it.odd_middles();
    assert!(odd.len() == 1 && odd[0].0 == Joint::ElbowFlex, "{odd:?}");
    assert_eq!(hand.it.bars()[2].verdict, Travel::Partial);
}

#[test]
fn back_goes_through_every_step_and_keeps_the_sweeps() {
    let mut hand = Hand::usual().checked(1.0);
    for stage in [Stage::Open, Stage::Close, Stage::Sweep] {
        hand.it.back();
        assert_eq!(hand.it.stage(), stage);
    }
    assert_eq!(hand.next(), Ok(Stage::Close));
    hand.it.back();
    hand.it.back();
    assert_eq!(hand.it.stage(), Stage::Middle);
    assert!(hand.it.calibration().is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any arm, with any old offsets and its travels anywhere on the circle: the result fits, is in order over the whole
    /// travel, and has its zero in the middle.
    #[test]
    fn any_arm_can_be_calibrated(
        offsets in prop::array::uniform6(-2047..=2047_i32),
        lows in prop::array::uniform6(0..COUNTS_PER_TURN),
        travels in prop::array::uniform6(1900..3900_i32),
        open in prop::bool::ANY,
    ) {
        let ends = std::array::from_fn(|index| [lows[index], lows[index] + travels[index]]);
        let open = f32::from(u8::from(open));
        let mut hand = Hand::on(offsets, ends).checked(open);
        prop_assert_eq!(hand.it.obstacles(), []);
        for joint in Joint::ALL {
            let last = Joint::Gripper == joint;
            let mut before = f32::NEG_INFINITY;
            for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
                hand.lead(joint, share);
                let reads = hand.reads(joint);
                let upward = if last && open == 0.0 { -reads } else { reads };
                prop_assert!(upward > before, "{} at {} reads {}", joint, share, reads);
                before = upward;
            }
            hand.lead(joint, 0.5);
            let zero = if last { 50.0 } else { 0.0 };
            prop_assert!((hand.reads(joint) - zero).abs() < 0.2);
        }
    }
}
