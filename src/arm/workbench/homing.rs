//! Where a joint's zero goes, chosen after its travel is known: in the middle, so that the place where the count starts
//! again lies as far outside the travel as it can.
//!
//! LeRobot chooses it before, from a pose held by eye, and fails when that pose reads 4095 (an offset of 2048 does not fit
//! into eleven bits) or when the travel then crosses the start of the count. Neither can happen here.

use crate::arm::calibration::{MAX_HOMING_OFFSET, MotorCalibration};
use crate::arm::turn::{COUNTS_PER_TURN, short_way};

/// What a joint reads where its zero is: half a turn.
const HALF_TURN: i32 = 2047;

/// The entry of a joint whose travel goes from `low` to `high`, encoder counts that may run on beyond a turn, at most
/// [`MOST_TRAVEL`](crate::arm::workbench::sweep::MOST_TRAVEL) apart.
pub fn centred(id: u8, drive_mode: u8, [low, high]: [i32; 2]) -> MotorCalibration {
    let centre = low + (high - low) / 2;
    let homing_offset = homing_offset(centre);
    // 2047, or 2046 where the offset that it takes does not fit by one.
    let middle = (centre - homing_offset).rem_euclid(COUNTS_PER_TURN);
    MotorCalibration {
        id,
        drive_mode,
        homing_offset,
        range_min: middle + (low - centre),
        range_max: middle + (high - centre),
    }
}

/// The entry of a joint that may go all the way round, as LeRobot has it for `wrist_roll`: the pose that is shown as the
/// middle reads 2047.
pub fn full_turn(id: u8, middle: i32) -> MotorCalibration {
    MotorCalibration {
        id,
        drive_mode: 0,
        homing_offset: homing_offset(middle),
        range_min: 0,
        range_max: COUNTS_PER_TURN - 1,
    }
}

/// The offset with which an encoder that is at `encoder` reads half a turn; a number beyond a turn is as good. Where that
/// would be ±2048, which the register cannot hold, the result is one count off, which nobody can see.
pub fn homing_offset(encoder: i32) -> i32 {
    short_way(HALF_TURN, encoder).clamp(-MAX_HOMING_OFFSET, MAX_HOMING_OFFSET)
}

/// Whether a travel stays clear of the start of the count when the joint's zero is at `middle`.
pub fn is_clear_of_wrap(middle: i32, [low, high]: [i32; 2]) -> bool {
    let half = COUNTS_PER_TURN / 2 - 1;
    middle - low < half && high - middle < half
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arm::register::Register;
    use crate::arm::workbench::sweep::MOST_TRAVEL;

    /// What the servo says when its encoder is at `encoder`.
    fn position(entry: &MotorCalibration, encoder: i32) -> i32 {
        (encoder - entry.homing_offset).rem_euclid(COUNTS_PER_TURN)
    }

    fn fits(entry: &MotorCalibration) -> bool {
        let written = [
            (Register::HomingOffset, entry.homing_offset),
            (Register::MinPositionLimit, entry.range_min),
            (Register::MaxPositionLimit, entry.range_max),
        ];
        let fits = |(register, value): (Register, i32)| register.encode(value).is_ok();
        written.into_iter().all(fits) && entry.range_min >= 0 && entry.range_max < COUNTS_PER_TURN
    }

    /// Reported case c04: the middle pose where LeRobot fails.
    #[test]
    fn the_middle_may_be_anywhere() {
        for middle in [4095, 0, 4161, 65, 2047, 2048] {
            let entry = full_turn(5, middle);
            assert!(fits(&entry), "{entry:?}");
            assert!(
                (2046..=2047).contains(&position(&entry, middle)),
                "{middle}"
            );
            let entry = centred(4, 0, [middle - 900, middle + 900]);
            assert!(fits(&entry) && entry.range_max - entry.range_min == 1800);
        }
    }

    #[test]
    fn an_offset_is_what_the_servo_is_to_subtract() {
        assert_eq!(homing_offset(4095), -2047);
        assert_eq!(homing_offset(0), -2047);
        assert_eq!(homing_offset(65), 65 - 2047);
        assert_eq!(homing_offset(547), -1500);
    }

    #[test]
    fn a_wrist_whose_middle_is_no_middle_is_noticed() {
        assert!(is_clear_of_wrap(2000, [2000 - 1800, 2000 + 1850]));
        assert!(!is_clear_of_wrap(2000, [2000 - 2047, 2000 + 100]));
        assert!(!is_clear_of_wrap(2000, [1900, 2000 + 2047]));
    }

    proptest! {
        /// Any travel, anywhere on the circle: every encoder count of it has its own position, in order, inside the range,
        /// and everything that is written fits.
        #[test]
        fn the_whole_travel_is_in_order_and_in_range(
            low in -3 * COUNTS_PER_TURN..3 * COUNTS_PER_TURN,
            travel in 1..=MOST_TRAVEL,
            drive_mode in 0..=1_u8,
        ) {
            let entry = centred(3, drive_mode, [low, low + travel]);
            prop_assert!(fits(&entry), "{:?}", entry);
            prop_assert_eq!(position(&entry, low), entry.range_min);
            prop_assert_eq!(position(&entry, low + travel), entry.range_max);
            let positions: Vec<i32> = (low..=low + travel).map(|encoder| position(&entry, encoder)).collect();
            prop_assert!(positions.windows(2).all(|pair| pair[1] == pair[0] + 1));
            // As much room on one side as on the other.
            let room = [entry.range_min, COUNTS_PER_TURN - 1 - entry.range_max];
            prop_assert!((room[0] - room[1]).abs() <= 3, "{:?}", room);
        }

        #[test]
        fn any_middle_has_an_offset_that_fits(middle in any::<i16>()) {
            let entry = full_turn(5, i32::from(middle));
            prop_assert!(fits(&entry));
            prop_assert!((2046..=2047).contains(&position(&entry, i32::from(middle))));
        }
    }
}
