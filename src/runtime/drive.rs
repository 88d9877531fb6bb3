//! How a person pushes the arm: velocities that hold for a moment only, so that a hand that lets go, a pad that falls or a
//! window that hangs stops it.

use std::ops::Add;
use std::time::Duration;

use glam::Vec3;

use crate::joint::{Joint, JointVec};

/// A drive that is not renewed within this time ends: the dead man's switch.
pub const DEAD_MAN: Duration = Duration::from_millis(150);

/// The fastest that may be asked for: of the body joints (degrees a second), of the gripper (percent a second), of the tip
/// (metres and radians a second).
pub const FASTEST_JOINT: f32 = 60.0;
pub const FASTEST_GRIPPER: f32 = 100.0;
pub const FASTEST_TIP: f32 = 0.25;
pub const FASTEST_TURN: f32 = 2.0;

/// Seconds from rest to the fastest, and back when nobody renews.
const RAMP_S: f32 = 0.15;

/// What a hand asks for now. All zero is a hand that has let go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drive {
    /// Joint velocities, robot units a second. While `tip` turns or moves, only the gripper's counts.
    pub joints: JointVec,
    /// Motion of the point between the finger tips.
    pub tip: Twist,
}

/// Motion of the gripper's tip: five ways, because five joints carry it. Its heading follows from where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// Metres a second in the base frame: +x forward, +y left, +z up.
    pub linear: Vec3,
    /// Radians a second; positive points the gripper further down.
    pub pitch: f32,
    /// Radians a second about the approach; positive as the wrist roll joint.
    pub roll: f32,
}

impl Twist {
    /// Nothing moves.
    pub fn is_still(&self) -> bool {
        *self == Self::default()
    }
}

impl Drive {
    /// A hand that moves the tip and opens the gripper at `gripper` percent a second.
    pub fn of_tip(tip: Twist, gripper: f32) -> Self {
        let mut joints = JointVec::default();
        joints[Joint::Gripper] = gripper;
        Self { joints, tip }
    }

    /// A hand that moves one joint, robot units a second.
    pub fn of_joint(joint: Joint, speed: f32) -> Self {
        let mut joints = JointVec::default();
        joints[joint] = speed;
        Self {
            joints,
            tip: Twist::default(),
        }
    }

    /// Nothing moves.
    pub fn is_still(&self) -> bool {
        *self == Self::default()
    }

    /// Every value is a number.
    pub fn is_finite(&self) -> bool {
        let Twist {
            linear,
            pitch,
            roll,
        } = self.tip;
        self.joints.is_finite() && linear.is_finite() && pitch.is_finite() && roll.is_finite()
    }

    /// Brought into what may be asked for; the direction of the tip stays.
    #[must_use]
    pub fn bounded(self) -> Self {
        let joint = |joint: Joint| {
            let most = fastest(joint);
            self.joints[joint].clamp(-most, most)
        };
        Self {
            joints: JointVec::from_fn(joint),
            tip: Twist {
                linear: self.tip.linear.clamp_length_max(FASTEST_TIP),
                pitch: self.tip.pitch.clamp(-FASTEST_TURN, FASTEST_TURN),
                roll: self.tip.roll.clamp(-FASTEST_TURN, FASTEST_TURN),
            },
        }
    }

    /// The velocities `dt_s` seconds later on the way to those that are `asked`.
    #[must_use]
    pub(crate) fn toward(self, asked: Self, dt_s: f32) -> Self {
        let share = dt_s / RAMP_S;
        let slew = |now: f32, asked: f32, most: f32| {
            let reach = most * share;
            now + (asked - now).clamp(-reach, reach)
        };
        let joint = |joint| slew(self.joints[joint], asked.joints[joint], fastest(joint));
        let off = asked.tip.linear - self.tip.linear;
        Self {
            joints: JointVec::from_fn(joint),
            tip: Twist {
                linear: self.tip.linear + off.clamp_length_max(FASTEST_TIP * share),
                pitch: slew(self.tip.pitch, asked.tip.pitch, FASTEST_TURN),
                roll: slew(self.tip.roll, asked.tip.roll, FASTEST_TURN),
            },
        }
    }
}

/// Two hands push at once.
impl Add for Drive {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            joints: self.joints.zip(other.joints, |a, b| a + b),
            tip: Twist {
                linear: self.tip.linear + other.tip.linear,
                pitch: self.tip.pitch + other.tip.pitch,
                roll: self.tip.roll + other.tip.roll,
            },
        }
    }
}

fn fastest(joint: Joint) -> f32 {
    if joint == Joint::Gripper {
        FASTEST_GRIPPER
    } else {
        FASTEST_JOINT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_bounded_and_comes_and_goes_in_steps() {
        let tip = Twist {
            linear: Vec3::new(3.0, 4.0, 0.0),
            pitch: -9.0,
            roll: 0.5,
        };
        let wild = Drive::of_tip(tip, 1e9).bounded();
        assert!((wild.tip.linear - Vec3::new(0.15, 0.2, 0.0)).length() < 1e-6);
        assert_eq!((wild.tip.pitch, wild.tip.roll), (-FASTEST_TURN, 0.5));
        assert_eq!(wild.joints[Joint::Gripper], FASTEST_GRIPPER);
        let mut pace = Drive::default();
        for _ in 0..4 {
            pace = pace.toward(wild, 0.05);
        }
        assert!((pace.tip.linear - wild.tip.linear).length() < 1e-6);
        assert_eq!(pace.joints, wild.joints);
        for _ in 0..4 {
            pace = pace.toward(Drive::default(), 0.05);
        }
        assert!(pace.is_still());
        let odd = Drive::of_joint(Joint::WristRoll, f32::NAN);
        assert!(!odd.is_finite() && !odd.is_still());
    }
}
