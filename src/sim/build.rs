//! How a pretend arm is made up before anybody talks to it: which of the two arms, how far its set-up has come, how its
//! horns sit on their encoders, and where its joints stop.

use crate::arm::register::Register;
use crate::arm::{Calibration, MotorCalibration, Role};
use crate::joint::{JOINT_COUNT, Joint, JointVec};
use crate::sim::servo::{SimServo, Variant};

/// Where an arm stands at first: raised, folded a little, looking down at the table, jaws ajar.
const START: JointVec = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);
/// How far the mechanical ends lie beyond the calibrated range, counts (about a degree).
const PLAY: f64 = 12.0;
/// How far a hand turns the joint that has no ends of its own to either side of its middle, counts (about 160°): the
/// cable would not like more.
const HALF_ROLL: f64 = 1830.0;

/// The leader's joints turn as far as the follower's, but its horns were put on by somebody else.
const LEADER: [MotorCalibration; JOINT_COUNT] = [
    motor(1, 1187, 801, 3303),
    motor(2, -960, 902, 3178),
    motor(3, 655, 939, 3141),
    motor(4, -1377, 971, 3133),
    motor(5, -240, 0, 4095),
    motor(6, 1698, 1702, 2953),
];

const fn motor(id: u8, homing_offset: i32, range_min: i32, range_max: i32) -> MotorCalibration {
    MotorCalibration {
        id,
        drive_mode: 0,
        homing_offset,
        range_min,
        range_max,
    }
}

fn leader() -> Calibration {
    // Checked by a test: the table is a possible one.
    Calibration::new(LEADER).unwrap_or_else(|_| Calibration::simulated())
}

/// How far the set-up of an arm has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Ready to drive.
    #[default]
    Calibrated,
    /// The motors have their ids, and nothing else: no homing offset, limits of a whole turn.
    Uncalibrated,
    /// As it comes out of the box: every motor has id 1, and none is plugged in.
    Boxed,
}

/// What arm to pretend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Build {
    pub role: Role,
    pub stage: Stage,
    /// Where it stands at first, robot units.
    pub start: JointVec,
}

impl Build {
    /// An arm in its usual start pose.
    pub fn new(role: Role, stage: Stage) -> Self {
        Self {
            role,
            stage,
            start: START,
        }
    }

    /// What a right calibration of the arm says: how its horns truly sit on their encoders, and how far its joints turn.
    /// Without a homing offset, the travel of some joints runs across the end of the encoder.
    pub fn calibration(&self) -> Calibration {
        match self.role {
            Role::Follower => Calibration::simulated(),
            Role::Leader => leader(),
        }
    }

    /// A leader moves nothing, so it is always of the weaker kind.
    pub(super) fn variant(&self) -> Variant {
        match self.role {
            Role::Follower => Variant::Volts12,
            Role::Leader => Variant::Volts7,
        }
    }

    /// The six servos, limp.
    pub(super) fn servos(&self) -> [SimServo; JOINT_COUNT] {
        let mounting = Mounting(self.calibration());
        Joint::ALL.map(|joint| {
            let motor = mounting.0.motor(joint);
            let stops = (joint != Joint::WristRoll).then(|| mounting.travel(joint));
            let encoder = mounting.encoder(joint, self.start[joint]);
            let new = SimServo::new(self.variant(), encoder, stops);
            let mut servo = match self.stage {
                Stage::Calibrated => new.calibrated(motor),
                Stage::Uncalibrated | Stage::Boxed => new,
            };
            match self.stage {
                Stage::Calibrated => {}
                Stage::Uncalibrated => servo.set(Register::Id, i32::from(motor.id)),
                Stage::Boxed => servo.plug(false),
            }
            servo
        })
    }
}

/// How the horns sit on their encoders, in the form of the calibration that tells it right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mounting(pub Calibration);

impl Mounting {
    fn offset(&self, joint: Joint) -> f64 {
        f64::from(self.0.motor(joint).homing_offset)
    }

    /// The ends of a joint's travel, counts of the encoder.
    pub fn travel(&self, joint: Joint) -> [f64; 2] {
        let motor = self.0.motor(joint);
        let [low, high] =
            [motor.range_min, motor.range_max].map(|count| f64::from(count) + self.offset(joint));
        if joint == Joint::WristRoll {
            let middle = f64::midpoint(low, high);
            [middle - HALF_ROLL, middle + HALF_ROLL]
        } else {
            [low - PLAY, high + PLAY]
        }
    }

    /// Where the encoder is when the joint has this value, robot units.
    pub fn encoder(&self, joint: Joint, value: f32) -> f64 {
        f64::from(self.0.unnormalize(joint, value)) + self.offset(joint)
    }

    /// [`Self::encoder`] without the rounding to whole counts.
    pub fn exact_encoder(&self, joint: Joint, value: f32) -> f64 {
        let whole = self.encoder(joint, value);
        let off = value - self.value(joint, whole);
        whole + f64::from(off) * self.counts_per_unit(joint)
    }

    /// Counts for one robot unit, negative where the motor turns the other way.
    fn counts_per_unit(&self, joint: Joint) -> f64 {
        let per_unit = self.0.counts_per_unit(joint);
        if joint == Joint::Gripper && self.0.motor(joint).drive_mode != 0 {
            -per_unit
        } else {
            per_unit
        }
    }

    /// The value of a joint whose encoder is there, robot units.
    pub fn value(&self, joint: Joint, encoder: f64) -> f32 {
        self.0.normalize(joint, encoder - self.offset(joint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_differ_in_what_the_servos_hold() {
        let ids = |stage| {
            Build::new(Role::Leader, stage).servos().map(|servo| {
                (
                    servo.id(),
                    servo.hears(1_000_000),
                    servo.get(Register::MaxPositionLimit),
                )
            })
        };
        assert_eq!(ids(Stage::Boxed), [(1, false, 4095); 6]);
        let uncalibrated = ids(Stage::Uncalibrated);
        assert_eq!(uncalibrated.map(|(id, ..)| id), [1, 2, 3, 4, 5, 6]);
        assert!(
            uncalibrated
                .iter()
                .all(|(_, plugged, max)| *plugged && *max == 4095)
        );
        let calibrated = ids(Stage::Calibrated);
        let ranges = Calibration::new(LEADER).unwrap();
        for joint in Joint::ALL {
            assert_eq!(calibrated[joint.index()].2, ranges.motor(joint).range_max);
        }
    }

    #[test]
    fn the_start_pose_lies_inside_the_travel_and_some_travels_cross_the_end_of_the_encoder() {
        for role in [Role::Follower, Role::Leader] {
            let build = Build::new(role, Stage::Uncalibrated);
            let mounting = Mounting(build.calibration());
            let mut crossing = 0;
            for joint in Joint::ALL {
                let [low, high] = mounting.travel(joint);
                let at = mounting.encoder(joint, build.start[joint]);
                assert!(
                    low < at && at < high && high - low < 4096.0,
                    "{role:?} {joint}"
                );
                assert!((mounting.value(joint, at) - build.start[joint]).abs() < 0.1);
                crossing += i32::from((low / 4096.0).floor() != (high / 4096.0).floor());
            }
            assert!(crossing > 0, "{role:?}");
        }
    }
}
