//! LeRobot's calibration file: which servo is which joint, where its zero is, how far it may turn, and the exact
//! conversion between encoder counts and robot units.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::arm::role::Role;
use crate::arm::text::read_text;
use crate::arm::turn::COUNTS_PER_TURN;
use crate::joint::{JOINT_COUNT, Joint, JointVec};

/// Counts of one turn minus one; LeRobot's degrees divide by this, not by 4096.
const MAX_RESOLUTION: f64 = 4095.0;
/// The largest homing offset that eleven bits hold.
pub const MAX_HOMING_OFFSET: i32 = 2047;
/// LeRobot truncates goals toward zero. A position that made the trip through `f32` may miss its own count by less than
/// this, and must come back to it.
const TRUNCATION_SLACK: f64 = 1e-3;

/// One motor's entry, with LeRobot's field names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MotorCalibration {
    /// Bus id.
    pub id: u8,
    /// 1 turns the gripper's percentage round; LeRobot ignores it for joints in degrees, and so does this program.
    pub drive_mode: u8,
    /// Counts that the servo subtracts from its encoder.
    pub homing_offset: i32,
    /// Lowest count of the recorded range.
    pub range_min: i32,
    /// Highest count of the recorded range.
    pub range_max: i32,
}

/// The calibration of one arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    motors: [MotorCalibration; JOINT_COUNT],
}

/// Why a calibration cannot be used or kept.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    #[error(
        "cannot read the calibration {path}: {source}. Calibrate the arm, or name the file that LeRobot wrote"
    )]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{path} is no LeRobot calibration: {source}. Calibrate the arm, or name the file that LeRobot wrote"
    )]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("the calibration {path} is wrong at {motor}: {problem}. Calibrate the arm again")]
    Motor {
        path: PathBuf,
        motor: &'static str,
        problem: String,
    },
    #[error("no calibration of a {role} called `{id}`: {tried} is not there. Calibrate the arm")]
    Absent {
        role: Role,
        id: String,
        /// Where it would be.
        tried: PathBuf,
    },
    #[error("cannot write the calibration {path}: {source}. Make room, or make the folder yours")]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("`{id}` cannot be the name of an arm: {problem}. Choose letters, digits, - and _")]
    Id { id: String, problem: &'static str },
}

/// The file as LeRobot writes it: exactly these six keys.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    shoulder_pan: MotorCalibration,
    shoulder_lift: MotorCalibration,
    elbow_flex: MotorCalibration,
    wrist_flex: MotorCalibration,
    wrist_roll: MotorCalibration,
    gripper: MotorCalibration,
}

impl Calibration {
    /// Reads a file that LeRobot (or this program) wrote.
    pub fn read(path: &Path) -> Result<Self, CalibrationError> {
        let text = read_text(path).map_err(|source| CalibrationError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_json(&text, path)
    }

    /// Parses the text of a calibration file; `path` is only named in errors.
    pub fn from_json(text: &str, path: &Path) -> Result<Self, CalibrationError> {
        let file: File = serde_json::from_str(text).map_err(|source| CalibrationError::Json {
            path: path.to_owned(),
            source,
        })?;
        let motors = [
            file.shoulder_pan,
            file.shoulder_lift,
            file.elbow_flex,
            file.wrist_flex,
            file.wrist_roll,
            file.gripper,
        ];
        Self::new(motors).map_err(|(joint, problem)| CalibrationError::Motor {
            path: path.to_owned(),
            motor: joint.name(),
            problem,
        })
    }

    /// Takes one entry a joint, in LeRobot's order, or says which entry is impossible and why.
    pub fn new(motors: [MotorCalibration; JOINT_COUNT]) -> Result<Self, (Joint, String)> {
        for joint in Joint::ALL {
            let motor = motors[joint.index()];
            let same_id = |other: &&Joint| motors[other.index()].id == motor.id;
            if let Some(other) = Joint::ALL[..joint.index()].iter().find(same_id) {
                return Err((joint, format!("id {} is also that of {other}", motor.id)));
            }
            if let Some(problem) = motor.problem() {
                return Err((joint, problem));
            }
        }
        Ok(Self { motors })
    }

    /// The calibration of the simulated arm: ranges as wide as the joints of the SO-101's URDF, so that degrees are
    /// URDF angles. The homing offsets differ, as they do on any arm that was calibrated by hand.
    pub fn simulated() -> Self {
        let motor = |id, homing_offset, range_min, range_max| MotorCalibration {
            id,
            drive_mode: 0,
            homing_offset,
            range_min,
            range_max,
        };
        Self {
            motors: [
                motor(1, -710, 796, 3298),
                motor(2, 904, 909, 3185),
                motor(3, -1210, 946, 3148),
                motor(4, 333, 966, 3128),
                motor(5, 1502, 0, 4095),
                motor(6, -87, 2034, 3285),
            ],
        }
    }

    /// The text of the file, byte for byte as LeRobot writes it: indented by four, no line end at the end.
    pub fn to_json(&self) -> String {
        let [
            shoulder_pan,
            shoulder_lift,
            elbow_flex,
            wrist_flex,
            wrist_roll,
            gripper,
        ] = self.motors;
        let file = File {
            shoulder_pan,
            shoulder_lift,
            elbow_flex,
            wrist_flex,
            wrist_roll,
            gripper,
        };
        let mut text = Vec::new();
        let indent = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut writer = serde_json::Serializer::with_formatter(&mut text, indent);
        // Whole numbers into memory: there is nothing that could fail.
        file.serialize(&mut writer).ok();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The entry of a joint.
    pub fn motor(&self, joint: Joint) -> MotorCalibration {
        self.motors[joint.index()]
    }

    /// Bus ids in joint order.
    pub fn ids(&self) -> [u8; JOINT_COUNT] {
        self.motors.map(|motor| motor.id)
    }

    /// Counts (after homing) to robot units: degrees from the middle of the range, not clamped; percent open, clamped.
    pub fn normalize(&self, joint: Joint, counts: f64) -> f32 {
        let motor = self.motor(joint);
        let (min, max) = (f64::from(motor.range_min), f64::from(motor.range_max));
        if joint != Joint::Gripper {
            return ((counts - f64::midpoint(min, max)) * 360.0 / MAX_RESOLUTION) as f32;
        }
        let percent = (counts.clamp(min, max) - min) / (max - min) * 100.0;
        if motor.drive_mode == 0 {
            percent as f32
        } else {
            100.0 - percent as f32
        }
    }

    /// Robot units to counts, truncated toward zero as LeRobot does. Degrees are not clamped here: the driver clamps.
    /// A value that is not a number has no counts; the middle of the range stands in, and callers refuse it before.
    pub fn unnormalize(&self, joint: Joint, value: f32) -> i32 {
        let motor = self.motor(joint);
        let (min, max) = (f64::from(motor.range_min), f64::from(motor.range_max));
        let value = f64::from(value);
        let exact = if value.is_nan() {
            f64::midpoint(min, max)
        } else if joint != Joint::Gripper {
            value * MAX_RESOLUTION / 360.0 + f64::midpoint(min, max)
        } else {
            let open = if motor.drive_mode == 0 {
                value
            } else {
                100.0 - value
            };
            open.clamp(0.0, 100.0) / 100.0 * (max - min) + min
        };
        (exact + TRUNCATION_SLACK.copysign(exact)) as i32
    }

    /// [`Self::normalize`] for all joints.
    pub fn robot_units(&self, counts: [i32; JOINT_COUNT]) -> JointVec {
        JointVec::from_fn(|joint| self.normalize(joint, f64::from(counts[joint.index()])))
    }

    /// Counts in one robot unit (a degree, or a percent of the gripper's travel).
    pub fn counts_per_unit(&self, joint: Joint) -> f64 {
        let motor = self.motor(joint);
        if joint == Joint::Gripper {
            f64::from(motor.range_max - motor.range_min) / 100.0
        } else {
            MAX_RESOLUTION / 360.0
        }
    }
}

impl MotorCalibration {
    fn problem(&self) -> Option<String> {
        let Self {
            id,
            homing_offset,
            range_min,
            range_max,
            ..
        } = *self;
        if id > 253 {
            Some(format!("id {id} cannot be a servo's"))
        } else if range_min >= range_max {
            Some(format!("its range {range_min} to {range_max} is empty"))
        } else if range_min < 0 || range_max >= COUNTS_PER_TURN {
            Some(format!(
                "its range {range_min} to {range_max} is outside one turn (0 to 4095)"
            ))
        } else if homing_offset.abs() > MAX_HOMING_OFFSET {
            Some(format!(
                "homing_offset {homing_offset} does not fit into the servo (±{MAX_HOMING_OFFSET})"
            ))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of the reference's documentation: every motor 750 to 3400, the gripper 2010 to 3480.
    fn sample() -> Calibration {
        let entry = |name: &str, id: u8, min: i32, max: i32| {
            format!(
                "\"{name}\": {{\"id\": {id}, \"drive_mode\": 0, \"homing_offset\": -710, \"range_min\": {min}, \"range_max\": {max}}}"
            )
        };
        let mut entries: Vec<String> = Joint::ALL[..5]
            .iter()
            .map(|joint| entry(joint.name(), joint.index() as u8 + 1, 750, 3400))
            .collect();
        entries[4] = entry("wrist_roll", 5, 0, 4095);
        entries.push(entry("gripper", 6, 2010, 3480));
        Calibration::from_json(
            &format!("{{{}}}", entries.join(",\n")),
            Path::new("arm.json"),
        )
        .unwrap()
    }

    #[test]
    fn degrees_match_lerobot() {
        let calibration = sample();
        let joint = Joint::ShoulderPan;
        for (counts, degrees) in [
            (2047, -2.461538461538462_f64),
            (2075, 0.0),
            (750, -116.48351648351648),
            (700, -120.87912087912088),
        ] {
            let got = calibration.normalize(joint, f64::from(counts));
            assert_eq!(got, degrees as f32, "{counts}");
        }
        for (degrees, counts) in [
            (10.0, 2188),
            (-10.0, 1961),
            (45.5, 2592),
            (-90.0, 1051),
            (200.0, 4350),
        ] {
            assert_eq!(calibration.unnormalize(joint, degrees), counts);
        }
        assert_eq!(calibration.unnormalize(Joint::WristRoll, 0.0), 2047);
        assert_eq!(
            calibration.normalize(Joint::WristRoll, 2047.0),
            -0.043_956_043_956_043_96_f64 as f32
        );
    }

    #[test]
    fn gripper_percent_matches_lerobot() {
        let calibration = sample();
        assert_eq!(
            calibration.normalize(Joint::Gripper, 2500.0),
            33.33333333333333_f64 as f32
        );
        for (percent, counts) in [(1.0, 2024), (50.0, 2745), (-5.0, 2010), (101.0, 3480)] {
            assert_eq!(calibration.unnormalize(Joint::Gripper, percent), counts);
        }
        let mut motors = sample().motors;
        motors[5].drive_mode = 1;
        let reversed = Calibration::new(motors).unwrap();
        assert_eq!(reversed.unnormalize(Joint::Gripper, 0.0), 3480);
        assert_eq!(reversed.normalize(Joint::Gripper, 3480.0), 0.0);
    }

    /// What `draccus.dump(calibration, file, indent=4)` of LeRobot 0.6.1 makes of two of these entries.
    const AS_LEROBOT_WRITES: &str = r#"{
    "shoulder_pan": {
        "id": 1,
        "drive_mode": 0,
        "homing_offset": -710,
        "range_min": 796,
        "range_max": 3298
    },"#;

    #[test]
    fn a_file_is_written_byte_for_byte_as_lerobot_does() {
        let text = Calibration::simulated().to_json();
        assert!(text.starts_with(AS_LEROBOT_WRITES), "{text}");
        let end = r#"    "gripper": {
        "id": 6,
        "drive_mode": 0,
        "homing_offset": -87,
        "range_min": 2034,
        "range_max": 3285
    }
}"#;
        assert!(text.ends_with(end), "{text}");
        let read = Calibration::from_json(&text, Path::new("arm.json")).unwrap();
        assert_eq!(read, Calibration::simulated());
        assert_eq!(read.to_json(), text);
    }

    #[test]
    fn every_count_survives_the_trip_through_robot_units() {
        for calibration in [sample(), Calibration::simulated()] {
            for joint in Joint::ALL {
                let motor = calibration.motor(joint);
                for counts in motor.range_min..=motor.range_max {
                    let units = calibration.normalize(joint, f64::from(counts));
                    assert_eq!(calibration.unnormalize(joint, units), counts, "{joint}");
                }
            }
        }
    }

    #[test]
    fn impossible_files_say_what_is_wrong_where() {
        let wrong = |change: &dyn Fn(&mut MotorCalibration)| {
            let mut motors = sample().motors;
            change(&mut motors[4]);
            Calibration::new(motors).unwrap_err()
        };
        type Change<'a> = &'a dyn Fn(&mut MotorCalibration);
        let cases: [(Change<'_>, &str); 4] = [
            (&|motor| motor.range_max = motor.range_min, "empty"),
            (&|motor| motor.range_max = 4161, "one turn"),
            (&|motor| motor.homing_offset = 2114, "does not fit"),
            (&|motor| motor.id = 1, "also that of shoulder_pan"),
        ];
        for (change, word) in cases {
            let (joint, problem) = wrong(change);
            assert_eq!(joint, Joint::WristRoll);
            assert!(problem.contains(word), "{problem}");
        }
        let error = Calibration::from_json("{}", Path::new("my_arm.json")).unwrap_err();
        assert!(error.to_string().contains("my_arm.json"));
        assert!(error.to_string().contains("shoulder_pan"));
        let gone = Calibration::read(Path::new("/nowhere/arm.json")).unwrap_err();
        assert!(gone.to_string().contains("/nowhere/arm.json"));
    }

    #[test]
    fn the_simulated_arm_has_a_possible_calibration() {
        let simulated = Calibration::simulated();
        assert_eq!(Calibration::new(simulated.motors), Ok(simulated));
    }
}
