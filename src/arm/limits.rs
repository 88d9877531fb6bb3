//! How far and how fast each joint may go: the last thing between any action, from anyone, and a motor.

use crate::arm::calibration::Calibration;
use crate::joint::{JOINT_COUNT, Joint, JointVec};

/// Joint limits of the SO-101's URDF (`so101_new_calib.urdf`), degrees; the gripper's travel is 0 to 100 %.
const URDF_RANGES: [(f32, f32); JOINT_COUNT] = [
    (-110.0, 110.0),
    (-100.0, 100.0),
    (-96.83, 96.83),
    (-95.0, 95.0),
    (-157.21, 162.79),
    (0.0, 100.0),
];
/// Degrees kept from either end of the range of a body joint: the ends were found by pushing against hard stops.
const MARGIN_DEGREES: f32 = 2.0;

/// Fastest motion of the body joints without an operator's say, degrees a second (the servos could do about 270).
pub const DEFAULT_SPEED_DEGREES: f32 = 60.0;
/// Fastest motion of the gripper, percent of its travel a second.
pub const DEFAULT_SPEED_GRIPPER: f32 = 100.0;

/// Where a joint may be sent and how fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    lower: JointVec,
    upper: JointVec,
    max_speed: JointVec,
}

impl Limits {
    /// The calibrated ranges, cut to what the mechanics allow, with a margin; default speeds.
    pub fn new(calibration: &Calibration) -> Self {
        let range = |joint: Joint| {
            let motor = calibration.motor(joint);
            let ends = [motor.range_min, motor.range_max]
                .map(|end| calibration.normalize(joint, f64::from(end)));
            let margin = if joint == Joint::Gripper {
                0.0
            } else {
                MARGIN_DEGREES
            };
            let (least, most) = URDF_RANGES[joint.index()];
            let low = ends[0].min(ends[1]).max(least) + margin;
            let high = ends[0].max(ends[1]).min(most) - margin;
            // A range narrower than its margins leaves one pose: the middle.
            if low <= high {
                (low, high)
            } else {
                let middle = f32::midpoint(low, high);
                (middle, middle)
            }
        };
        Self {
            lower: JointVec::from_fn(|joint| range(joint).0),
            upper: JointVec::from_fn(|joint| range(joint).1),
            max_speed: default_speed(),
        }
    }

    /// The same ranges with other speeds, robot units a second. A speed that is not a positive number keeps its default.
    #[must_use]
    pub fn with_max_speed(mut self, max_speed: JointVec) -> Self {
        self.max_speed = max_speed.zip(default_speed(), |asked, default| {
            if asked.is_finite() && asked > 0.0 {
                asked
            } else {
                default
            }
        });
        self
    }

    /// Lowest and highest goal of each joint, robot units.
    pub fn ranges(&self) -> [JointVec; 2] {
        [self.lower, self.upper]
    }

    /// Fastest motion of each joint, robot units a second.
    pub fn max_speed(&self) -> JointVec {
        self.max_speed
    }

    /// `goal` brought into the ranges, however far that is from where the arm is now.
    #[must_use]
    pub fn clamp(&self, goal: JointVec) -> JointVec {
        JointVec::from_fn(|joint| goal[joint].clamp(self.lower[joint], self.upper[joint]))
    }

    /// The next goal on the way from `previous` to `goal`, `dt_s` seconds later: inside the ranges, no faster than the
    /// limit. An arm that stands outside its range and is sent elsewhere moves back into it, never further out; one that is
    /// to hold stays where it is, because nobody asked it to move. A joint whose goal is not a number keeps `previous`; a time that is not a positive number moves nothing.
    #[must_use]
    pub fn step(&self, previous: JointVec, goal: JointVec, dt_s: f32) -> JointVec {
        let dt_s = if dt_s.is_finite() { dt_s.max(0.0) } else { 0.0 };
        JointVec::from_fn(|joint| {
            let from = previous[joint];
            if !goal[joint].is_finite() || goal[joint].to_bits() == from.to_bits() {
                return from;
            }
            let target = goal[joint].clamp(self.lower[joint], self.upper[joint]);
            if !from.is_finite() {
                return target;
            }
            let reach = self.max_speed[joint] * dt_s;
            from + (target - from).clamp(-reach, reach)
        })
    }
}

fn default_speed() -> JointVec {
    JointVec::from_fn(|joint| {
        if joint == Joint::Gripper {
            DEFAULT_SPEED_GRIPPER
        } else {
            DEFAULT_SPEED_DEGREES
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits::new(&Calibration::simulated())
    }

    #[test]
    fn ranges_are_the_narrower_of_calibration_and_mechanics() {
        let [lower, upper] = limits().ranges();
        assert!((upper[Joint::ShoulderPan] - 107.9).abs() < 0.2, "{upper:?}");
        // Calibrated over a full turn; the mechanics allow less.
        assert_eq!(
            (lower[Joint::WristRoll], upper[Joint::WristRoll]),
            (-155.21, 160.79)
        );
        assert_eq!((lower[Joint::Gripper], upper[Joint::Gripper]), (0.0, 100.0));
        assert_eq!(limits().clamp(JointVec([1e9; 6])), upper);
    }

    #[test]
    fn a_step_is_no_faster_than_the_limit() {
        let step = limits().step(JointVec::default(), JointVec([90.0; 6]), 0.1);
        assert_eq!(step, JointVec([6.0, 6.0, 6.0, 6.0, 6.0, 10.0]));
        let near = limits().step(JointVec([50.0; 6]), JointVec([50.5; 6]), 0.1);
        assert_eq!(near, JointVec([50.5; 6]));
        let fast = limits().with_max_speed(JointVec([600.0, f32::NAN, -1.0, 0.0, 1.0, 1.0]));
        assert_eq!(
            fast.max_speed(),
            JointVec([600.0, 60.0, 60.0, 60.0, 1.0, 1.0])
        );
    }

    #[test]
    fn far_goals_end_at_the_range_and_strays_come_back() {
        let limits = limits();
        let [lower, upper] = limits.ranges();
        let mut pose = JointVec([130.0, -130.0, 0.0, 0.0, 0.0, 0.0]);
        for _ in 0..200 {
            let next = limits.step(
                pose,
                JointVec([1000.0, -1000.0, 1000.0, -1000.0, 1000.0, 1000.0]),
                0.05,
            );
            assert!(next.max_abs_diff(pose) <= 5.0 + 1e-4);
            assert!(next[Joint::ShoulderPan] <= pose[Joint::ShoulderPan]);
            pose = next;
        }
        assert_eq!(pose[Joint::ShoulderPan], upper[Joint::ShoulderPan]);
        assert_eq!(pose[Joint::ShoulderLift], lower[Joint::ShoulderLift]);
        assert_eq!(pose[Joint::Gripper], 100.0);
    }

    #[test]
    fn holding_outside_the_range_is_holding() {
        let outside = JointVec([109.0, -99.5, 0.0, 0.0, 0.0, 103.0]);
        assert_eq!(limits().step(outside, outside, 1.0), outside);
    }

    #[test]
    fn what_is_not_a_number_moves_nothing() {
        let limits = limits();
        let previous = JointVec([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(limits.step(previous, JointVec([bad; 6]), 0.1), previous);
            assert_eq!(limits.step(previous, JointVec([90.0; 6]), bad), previous);
        }
        assert_eq!(limits.step(previous, JointVec([90.0; 6]), -1.0), previous);
    }
}
