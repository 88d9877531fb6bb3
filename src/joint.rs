//! The six joints of an SO-101 in LeRobot's order, and a value for each of them in robot units.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// How many joints the arm has; also the state and action width of an SO-101 checkpoint.
pub const JOINT_COUNT: usize = 6;

/// One joint, in the order of LeRobot's `SOFollower` (servo ids 1 to 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Joint {
    ShoulderPan,
    ShoulderLift,
    ElbowFlex,
    WristFlex,
    WristRoll,
    Gripper,
}

impl Joint {
    /// Every joint, in LeRobot's order.
    pub const ALL: [Self; JOINT_COUNT] = [
        Self::ShoulderPan,
        Self::ShoulderLift,
        Self::ElbowFlex,
        Self::WristFlex,
        Self::WristRoll,
        Self::Gripper,
    ];

    /// Position in [`Joint::ALL`], 0 to 5.
    pub fn index(self) -> usize {
        self as usize
    }

    /// LeRobot's motor name, the key of the calibration file and of `<motor>.pos`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ShoulderPan => "shoulder_pan",
            Self::ShoulderLift => "shoulder_lift",
            Self::ElbowFlex => "elbow_flex",
            Self::WristFlex => "wrist_flex",
            Self::WristRoll => "wrist_roll",
            Self::Gripper => "gripper",
        }
    }

    /// The robot unit of this joint, for labels.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Gripper => "%",
            _ => "°",
        }
    }
}

impl fmt::Display for Joint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One value a joint in robot units: degrees from the middle of the calibrated range for the five body joints,
/// percent open (0 to 100) for the gripper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JointVec(pub [f32; JOINT_COUNT]);

impl JointVec {
    /// Builds a vector joint by joint.
    pub fn from_fn(mut f: impl FnMut(Joint) -> f32) -> Self {
        Self(Joint::ALL.map(&mut f))
    }

    /// Takes a slice of exactly [`JOINT_COUNT`] values.
    pub fn from_slice(values: &[f32]) -> Option<Self> {
        values.try_into().ok().map(Self)
    }

    /// Applies `f` to the values of the same joint in `self` and `other`.
    #[must_use]
    pub fn zip(self, other: Self, mut f: impl FnMut(f32, f32) -> f32) -> Self {
        Self::from_fn(|joint| f(self[joint], other[joint]))
    }

    /// Euclidean distance in robot units.
    pub fn distance(self, other: Self) -> f32 {
        let squares = self.zip(other, |a, b| (a - b) * (a - b));
        squares.0.iter().sum::<f32>().sqrt()
    }

    /// The largest absolute difference of any joint, robot units.
    pub fn max_abs_diff(self, other: Self) -> f32 {
        let diff = self.zip(other, |a, b| (a - b).abs());
        diff.0.iter().copied().fold(0.0, f32::max)
    }

    /// True when every value is a finite number.
    pub fn is_finite(self) -> bool {
        self.0.iter().all(|value| value.is_finite())
    }
}

impl Index<Joint> for JointVec {
    type Output = f32;

    fn index(&self, joint: Joint) -> &f32 {
        &self.0[joint.index()]
    }
}

impl IndexMut<Joint> for JointVec {
    fn index_mut(&mut self, joint: Joint) -> &mut f32 {
        &mut self.0[joint.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_euclidean_and_largest() {
        let a = JointVec([0.0, 3.0, 0.0, 0.0, 4.0, 0.0]);
        assert_eq!(a.distance(JointVec::default()), 5.0);
        assert_eq!(a.max_abs_diff(JointVec::default()), 4.0);
        assert_eq!(a[Joint::WristRoll], 4.0);
        assert!(!JointVec([f32::NAN; 6]).is_finite());
        assert_eq!(JointVec::from_slice(&[0.0; 5]), None);
    }
}
