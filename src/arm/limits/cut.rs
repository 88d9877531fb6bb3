//! Why a joint was not sent where it was asked to go: every cut has a reason that can be shown and counted.

use std::fmt;

use crate::joint::{JOINT_COUNT, Joint};
use crate::kinematics::Link;

/// One reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The goal is outside the joint's range.
    Range,
    /// It is farther away than the joint may move in one step.
    Speed,
    /// It would change the joint's speed too hard, or leave no way to stop at it.
    Acceleration,
    /// It is farther from the measured position than `max_relative_target`.
    RelativeTarget,
    /// The gripper holds something, or is overloaded, and is not closed further.
    Grip,
    /// This link would come too close to the table.
    Table(Link),
    /// These links would come too close to each other.
    SelfCollision(Link, Link),
}

impl Cut {
    /// Whether it keeps a part of the arm from hitting something.
    pub fn is_obstacle(self) -> bool {
        matches!(self, Self::Table(_) | Self::SelfCollision(..))
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range => f.write_str("the goal is outside the joint's range"),
            Self::Speed => f.write_str("the goal is too far away for one step"),
            Self::Acceleration => f.write_str("the goal changes its speed too hard"),
            Self::RelativeTarget => f.write_str("the goal is too far ahead of the joint"),
            Self::Grip => f.write_str("the gripper is not closed further"),
            Self::Table(link) => write!(f, "the {link} would come too close to the table"),
            Self::SelfCollision(one, other) => {
                write!(f, "the {one} would come too close to the {other}")
            }
        }
    }
}

/// What was cut of one action: the gravest reason of each joint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts(pub [Option<Cut>; JOINT_COUNT]);

impl Cuts {
    /// Notes a reason; it takes the place of a lighter one.
    pub(in crate::arm) fn note(&mut self, joint: Joint, cut: Cut) {
        self.0[joint.index()] = Some(cut);
    }

    /// All reasons.
    pub fn iter(&self) -> impl Iterator<Item = Cut> {
        self.0.into_iter().flatten()
    }

    /// What the arm would have hit, if anything.
    pub fn obstacle(&self) -> Option<Cut> {
        self.iter().find(|cut| cut.is_obstacle())
    }
}

/// Actions in which something was cut, by reason, since the arm was connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutCounts {
    pub range: u64,
    pub speed: u64,
    pub acceleration: u64,
    pub relative_target: u64,
    pub grip: u64,
    pub table: u64,
    pub self_collision: u64,
}

impl CutCounts {
    /// Counts one action.
    pub(in crate::arm) fn count(&mut self, cuts: &Cuts) {
        let has = |wanted: fn(Cut) -> bool| u64::from(cuts.iter().any(wanted));
        self.range += has(|cut| cut == Cut::Range);
        self.speed += has(|cut| cut == Cut::Speed);
        self.acceleration += has(|cut| cut == Cut::Acceleration);
        self.relative_target += has(|cut| cut == Cut::RelativeTarget);
        self.grip += has(|cut| cut == Cut::Grip);
        self.table += has(|cut| matches!(cut, Cut::Table(_)));
        self.self_collision += has(|cut| matches!(cut, Cut::SelfCollision(..)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_counts_once_an_action_and_names_its_links() {
        let mut cuts = Cuts::default();
        cuts.note(Joint::ShoulderPan, Cut::Speed);
        cuts.note(Joint::ShoulderLift, Cut::Speed);
        cuts.note(Joint::ElbowFlex, Cut::Range);
        assert_eq!(cuts.obstacle(), None);
        let table = Cut::Table(Link::MovingJaw);
        cuts.note(Joint::ElbowFlex, table);
        assert_eq!(cuts.obstacle(), Some(table));
        let mut counts = CutCounts::default();
        counts.count(&cuts);
        counts.count(&cuts);
        let seen = (counts.speed, counts.range, counts.table);
        assert_eq!(seen, (2, 0, 2));
        assert!(table.to_string().contains("moving jaw"));
        let own = Cut::SelfCollision(Link::Gripper, Link::Base);
        assert!(own.to_string().contains("gripper") && own.to_string().contains("base"));
    }
}
