//! Counting on a circle: a servo counts modulo a turn, so that the next count after 4095 is 0, and how far apart two counts
//! are is a matter of which way round.

/// Counts in one turn.
pub const COUNTS_PER_TURN: i32 = 4096;
/// Faster than a hand throws a limp joint (about 1000 °/s), counts a second.
pub(super) const FASTEST_LIMP: f64 = 12_000.0;
/// Counts that two readings may differ by in no time at all.
pub(super) const JUMP_SLACK: f64 = 120.0;

/// Counts to degrees; a plain angle, not LeRobot's 4095ths.
pub fn degrees(counts: i32) -> f32 {
    counts as f32 * 360.0 / COUNTS_PER_TURN as f32
}

/// What the servo's encoder says, 0 to 4095, when its position and the offset it subtracts are known. Some servos report
/// more than one turn or less than none.
pub fn encoder_from_position(position: i32, offset: i32) -> i32 {
    (i64::from(position) + i64::from(offset)).rem_euclid(i64::from(COUNTS_PER_TURN)) as i32
}

/// Counts from `from` to `to` the short way round, -2048 to 2047.
pub fn short_way(from: i32, to: i32) -> i32 {
    let half = COUNTS_PER_TURN / 2;
    (to - from + half).rem_euclid(COUNTS_PER_TURN) - half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_leads_over_the_start_of_the_count() {
        assert_eq!((short_way(4095, 0), short_way(0, 4095)), (1, -1));
        assert_eq!(
            (short_way(1000, 3047), short_way(1000, 3048)),
            (2047, -2048)
        );
        assert_eq!(short_way(5000, 904), 0, "a number beyond a turn is as good");
    }

    #[test]
    fn an_encoder_is_on_the_circle_whatever_the_position() {
        assert_eq!(encoder_from_position(4161, 0), 65);
        assert_eq!(encoder_from_position(-60, 0), 4036);
        assert_eq!(encoder_from_position(2047, -1500), 547);
        assert!((0..4096).contains(&encoder_from_position(i32::MIN, -2047)));
    }
}
