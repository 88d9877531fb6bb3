//! How the arm is: heat, volts, load and errors of every servo, what its limits cut, and what the operator has to clear.

use std::time::Duration;

use crate::arm::{AlarmKind, Cut, CutCounts, Grip};
use crate::joint::{JOINT_COUNT, Joint};

/// One servo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointHealth {
    pub celsius: i32,
    pub volts: f32,
    /// Share of the motor's duty cycle, signed. Not a force.
    pub load_percent: f32,
    pub milliamperes: f32,
    /// Since its last good answer.
    pub age: Duration,
    /// Answers that were missing, damaged or not believed since the connection.
    pub errors: u64,
    /// What it complains about now.
    pub alarms: Vec<AlarmKind>,
    /// What stays until the operator clears it.
    pub latched: Option<Latched>,
}

impl JointHealth {
    /// Whether it complains of this.
    pub fn has(&self, alarm: AlarmKind) -> bool {
        self.alarms.contains(&alarm)
    }

    /// Too hot to be driven on.
    pub fn is_hot(&self) -> bool {
        self.has(AlarmKind::Hot) || self.has(AlarmKind::Overheated)
    }
}

/// An alarm that is not over when its cause is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latched {
    /// What happened, to which joint.
    pub what: String,
    /// What to do before it is cleared.
    pub remedy: String,
    /// Since when, on the runtime's clock.
    pub since: Duration,
}

/// The arm as a whole; all zeros while none is connected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    pub joints: [JointHealth; JOINT_COUNT],
    /// What the gripper does by itself.
    pub grip: Grip,
    /// What the arm would have hit if the latest action had been followed.
    pub obstacle: Option<Cut>,
    /// Actions of which something was cut, by reason.
    pub cuts: CutCounts,
    /// Values of actions that were not numbers.
    pub rejected: u64,
    /// Why nobody may drive the arm now.
    pub unfit: Option<String>,
}

impl Health {
    /// One joint.
    pub fn joint(&self, joint: Joint) -> &JointHealth {
        &self.joints[joint.index()]
    }

    /// The temperature of the hottest servo, °C.
    pub fn hottest(&self) -> i32 {
        let all = self.joints.iter().map(|joint| joint.celsius);
        all.max().unwrap_or_default()
    }

    /// The lowest voltage at any servo.
    pub fn volts(&self) -> f32 {
        let all = self.joints.iter().map(|joint| joint.volts);
        all.fold(f32::INFINITY, f32::min)
    }

    /// What all servos draw together, milliamperes.
    pub fn milliamperes(&self) -> f32 {
        let all = self.joints.iter().map(|joint| joint.milliamperes.abs());
        all.sum()
    }

    /// Errors of all joints.
    pub fn errors(&self) -> u64 {
        self.joints.iter().map(|joint| joint.errors).sum()
    }

    /// Whether something waits for the operator, or is about to.
    pub fn wants_attention(&self) -> bool {
        let complains = |joint: &JointHealth| !joint.alarms.is_empty() || joint.latched.is_some();
        self.unfit.is_some() || self.joints.iter().any(complains)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arm_is_as_well_as_its_worst_joint() {
        let mut health = Health::default();
        for (n, joint) in health.joints.iter_mut().enumerate() {
            joint.celsius = 30 + n as i32;
            joint.volts = 12.0 - n as f32 / 10.0;
            joint.milliamperes = -100.0;
            joint.errors = n as u64;
        }
        assert_eq!((health.hottest(), health.volts()), (35, 11.5));
        assert_eq!((health.milliamperes(), health.errors()), (600.0, 15));
        assert!(!health.wants_attention());
        health.joints[5].alarms.push(AlarmKind::Warm);
        assert!(health.wants_attention());
        assert!(!health.joint(Joint::Gripper).is_hot());
    }
}
