//! How far and how fast each joint may go: the last thing between any action, from anyone, and a motor.

mod clearance;
mod cut;
mod detour;
mod motion;

pub use self::clearance::Clearance;
pub use self::cut::{Cut, CutCounts, Cuts};
pub use self::motion::Motion;

use crate::arm::calibration::Calibration;
use crate::arm::limits::detour::Detour;
use crate::arm::limits::motion::Pace;
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
const DEFAULT_SPEED_DEGREES: f32 = 60.0;
/// Fastest motion of the gripper, percent of its travel a second.
const DEFAULT_SPEED_GRIPPER: f32 = 100.0;
/// Hardest change of speed of the body joints, degrees a second squared: full speed in a tenth of a second. A goal that
/// moves is followed with a lag of speed / (2 · acceleration), so that it can be stopped at: 50 ms at full speed.
const DEFAULT_ACCELERATION_DEGREES: f32 = 600.0;
/// Hardest change of speed of the gripper, percent a second squared.
const DEFAULT_ACCELERATION_GRIPPER: f32 = 1000.0;
/// Goals closer than this to what was asked for were not cut, robot units.
const NEAR: f32 = 1e-3;

/// Where a joint may be sent, how fast and how hard, and how close to the table and to the arm itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    lower: JointVec,
    upper: JointVec,
    max_speed: JointVec,
    max_acceleration: JointVec,
    /// Share of the speed that is allowed now.
    haste: f32,
    clearance: Option<Clearance>,
}

impl Limits {
    /// The calibrated ranges, cut to what the mechanics allow, with a margin; default speeds, accelerations and clearance.
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
            max_acceleration: default_acceleration(),
            haste: 1.0,
            clearance: Some(Clearance::default()),
        }
    }

    /// The same ranges with other speeds, robot units a second. A speed that is not a positive number keeps its default.
    #[must_use]
    pub fn with_max_speed(mut self, max_speed: JointVec) -> Self {
        self.max_speed = max_speed.zip(default_speed(), positive_or);
        self
    }

    /// The same ranges with other accelerations, robot units a second squared. An acceleration that is not a positive number
    /// keeps its default.
    #[must_use]
    pub fn with_max_acceleration(mut self, max_acceleration: JointVec) -> Self {
        self.max_acceleration = max_acceleration.zip(default_acceleration(), positive_or);
        self
    }

    /// The same ranges with another table and other margins, or with none at all.
    #[must_use]
    pub fn with_clearance(mut self, clearance: Option<Clearance>) -> Self {
        self.clearance = clearance;
        self
    }

    /// Lowest and highest goal of each joint, robot units.
    pub fn ranges(&self) -> [JointVec; 2] {
        [self.lower, self.upper]
    }

    /// How close the arm may come to the table and to itself; `None` for one that nobody knows the place of.
    pub fn clearance(&self) -> Option<Clearance> {
        self.clearance
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

    /// Slower from now on: this share of the speed, 0 to 1; 1 is full speed again.
    pub fn set_haste(&mut self, share: f32) {
        self.haste = if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            1.0
        };
    }

    /// One step of `dt_s` seconds from `motion` towards `goal`, and what of the goal was cut: inside the ranges, no faster
    /// and no harder than the limits, and clear of the table and of the arm itself, now and on the way on which it would
    /// come to rest.
    ///
    /// An arm that stands outside its range and is sent elsewhere moves back into it, never further out; one that is to hold
    /// (its goal is where it is) stays, because nobody asked it to move. A joint whose goal is not a number slows down and
    /// stays; a time that is not a positive number moves nothing.
    #[must_use]
    pub fn advance(&self, motion: &Motion, goal: JointVec, dt_s: f32) -> (Motion, Cuts) {
        let mut cuts = Cuts::default();
        if !dt_s.is_finite() || dt_s <= 0.0 {
            return (*motion, cuts);
        }
        let target = self.reachable(motion.position, goal, &mut cuts);
        let wanted = self.step(motion, target, dt_s);
        for joint in Joint::ALL {
            let left = (target[joint] - wanted.position[joint]).abs();
            if left > NEAR && cuts.0[joint.index()].is_none() {
                let far = (target[joint] - motion.position[joint]).abs();
                let fast = far > self.speed(joint) * dt_s;
                cuts.note(joint, if fast { Cut::Speed } else { Cut::Acceleration });
            }
        }
        let Some(clearance) = self
            .clearance
            .filter(|_| wanted != Motion::at(motion.position))
        else {
            return (wanted, cuts);
        };
        let detour = Detour {
            limits: self,
            clearance,
            floors: clearance.floors(&clearance.gaps(motion.position)),
            dt_s,
        };
        if detour.obstacle(wanted).is_none() {
            return (wanted, cuts);
        }
        (detour.around(motion, wanted, &mut cuts), cuts)
    }

    /// One step of slowing down in all joints.
    pub(super) fn rest(&self, motion: &Motion, dt_s: f32) -> Motion {
        self.step(motion, motion.position, dt_s)
    }

    /// The goal as far as ranges allow.
    fn reachable(&self, from: JointVec, goal: JointVec, cuts: &mut Cuts) -> JointVec {
        JointVec::from_fn(|joint| {
            if !goal[joint].is_finite() || goal[joint].to_bits() == from[joint].to_bits() {
                return from[joint];
            }
            let target = goal[joint].clamp(self.lower[joint], self.upper[joint]);
            if (target - goal[joint]).abs() > NEAR {
                cuts.note(joint, Cut::Range);
            }
            target
        })
    }

    fn speed(&self, joint: Joint) -> f32 {
        self.max_speed[joint] * self.haste
    }

    /// One step of every joint by itself.
    fn step(&self, motion: &Motion, target: JointVec, dt_s: f32) -> Motion {
        let mut next = *motion;
        for joint in Joint::ALL {
            let pace = Pace {
                speed: self.speed(joint),
                acceleration: self.max_acceleration[joint],
                dt_s,
            };
            let range = (self.lower[joint], self.upper[joint]);
            let (position, speed) = (motion.position[joint], motion.velocity[joint]);
            (next.position[joint], next.velocity[joint]) =
                pace.step(position, speed, target[joint], range);
        }
        next
    }
}

fn positive_or(asked: f32, default: f32) -> f32 {
    if asked.is_finite() && asked > 0.0 {
        asked
    } else {
        default
    }
}

fn of_joints(body: f32, gripper: f32) -> JointVec {
    JointVec::from_fn(|joint| {
        if joint == Joint::Gripper {
            gripper
        } else {
            body
        }
    })
}

/// Fastest motion without an operator's say, robot units a second.
pub(super) fn default_speed() -> JointVec {
    of_joints(DEFAULT_SPEED_DEGREES, DEFAULT_SPEED_GRIPPER)
}

/// Hardest change of speed without an operator's say, robot units a second squared.
pub(super) fn default_acceleration() -> JointVec {
    of_joints(DEFAULT_ACCELERATION_DEGREES, DEFAULT_ACCELERATION_GRIPPER)
}

#[cfg(test)]
mod tests;
