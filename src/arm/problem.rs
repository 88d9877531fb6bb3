//! Reasons against driving an arm, found before torque is touched: what is wrong with which servo, and the way out.

use crate::arm::error::Motor;

/// One reason why an arm must not be driven. Its text ends with what to do, in brackets.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    #[error(
        "{0} does not answer (check its power, the cable into it, for behind a loose plug all are silent, and its id)"
    )]
    Missing(Motor),
    #[error(
        "{0} answers with garbage (possible duplicate id: every new servo is id 1, connect them one by one and set their ids; or a bad cable)"
    )]
    Garbled(Motor),
    #[error(
        "{motor} is model {model}, not an STS3215, which is 777 (replace the servo; if it is one, the cable spoils its answers)"
    )]
    Model { motor: Motor, model: i32 },
    #[error("mixed firmware: {} (update all servos with Feetech's FD tool)", versions(.0))]
    Firmware(Vec<(Motor, i32, i32)>),
    #[error("{0} does not acknowledge writes (set its Response_Status_Level to 1)")]
    Unacknowledging(Motor),
    #[error(
        "{0} counts several turns (release torque and connect again, so that bit 4 of its Phase register can be cleared)"
    )]
    MultiTurn(Motor),
    #[error(
        "{motor} is in operating mode {mode}, not in position mode, which is 0 (release torque and connect again, so that it can be set)"
    )]
    Mode { motor: Motor, mode: i32 },
    #[error(
        "{motor} holds another calibration: {what} is {servo} in the servo, {file} in the file: wrong file or other arm (name the file of this arm, or calibrate it)"
    )]
    Calibration {
        motor: Motor,
        what: &'static str,
        servo: i32,
        file: i32,
    },
    #[error(
        "{motor} stands at {position}, outside its range {min} to {max} (turn it back by hand, or calibrate again)"
    )]
    Position {
        motor: Motor,
        position: i32,
        min: i32,
        max: i32,
    },
    #[error(
        "{motor} has {volts:.1} V, but is made for {min:.1} to {max:.1} V (check the supply: 7.4 V and 12 V servos look alike, and so do their plugs)"
    )]
    Voltage {
        motor: Motor,
        volts: f32,
        min: f32,
        max: f32,
    },
    #[error("{motor} is at {celsius} °C (let it cool)")]
    Hot { motor: Motor, celsius: i32 },
    #[error("{0} reports a broken position sensor (replace the servo)")]
    Encoder(Motor),
}

impl Problem {
    /// Whether setting the servo up puts it right; that needs its torque to be off.
    pub(super) fn is_curable(&self) -> bool {
        matches!(self, Self::MultiTurn(_) | Self::Mode { .. })
    }
}

fn versions(firmware: &[(Motor, i32, i32)]) -> String {
    let texts: Vec<String> = firmware
        .iter()
        .map(|(motor, major, minor)| format!("{motor} {major}.{minor}"))
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::Joint;

    const ELBOW: Motor = Motor {
        joint: Joint::ElbowFlex,
        id: 3,
    };

    /// Each problem, what LeRobot says instead (where it says anything), and what ours must tell of cause and way out.
    fn rows() -> [(Problem, &'static str, &'static [&'static str]); 12] {
        let motor = ELBOW;
        let calibration = Problem::Calibration {
            motor,
            what: "homing_offset",
            servo: 1,
            file: 2,
        };
        let position = Problem::Position {
            motor,
            position: 4000,
            min: 1,
            max: 2,
        };
        let voltage = Problem::Voltage {
            motor,
            volts: 12.1,
            min: 4.5,
            max: 8.0,
        };
        let garbled = &[
            "garbage",
            "duplicate id",
            "every new servo is id 1",
            "cable",
        ];
        let mismatch = &[
            "is 1 in the servo, 2 in the file",
            "name the file of this arm",
        ];
        [
            (
                Problem::Missing(motor),
                "motor check failed on port ... Missing motor IDs",
                &["cable", "loose plug", "its id"],
            ),
            (Problem::Garbled(motor), "Incorrect status packet!", garbled),
            (
                Problem::Model { motor, model: 1284 },
                "Motors with incorrect model numbers",
                &["1284", "777", "replace the servo", "cable"],
            ),
            (
                Problem::Firmware(vec![(motor, 3, 9)]),
                "Some Motors use different firmware versions",
                &["mixed firmware", "3.9", "FD tool"],
            ),
            (
                Problem::Unacknowledging(motor),
                "There is no status packet! (to a write)",
                &["acknowledge", "Response_Status_Level"],
            ),
            (
                Problem::MultiTurn(motor),
                "Magnitude 2114 exceeds 2047 (max for sign_bit_index=11)",
                &["several turns", "Phase"],
            ),
            (
                Problem::Mode { motor, mode: 3 },
                "",
                &["mode 3", "position"],
            ),
            (
                calibration,
                "Mismatch between calibration values in the motor and the calibration file",
                mismatch,
            ),
            (position, "", &["4000", "1 to 2", "by hand"]),
            (
                voltage,
                "[RxPacketError] Input voltage error!",
                &["12.1 V", "4.5 to 8.0 V", "supply", "look alike"],
            ),
            (Problem::Hot { motor, celsius: 66 }, "", &["66 °C", "cool"]),
            (Problem::Encoder(motor), "", &["position sensor", "replace"]),
        ]
    }

    #[test]
    fn every_problem_names_the_joint_its_cause_and_the_way_out() {
        for (problem, theirs, words) in rows() {
            let text = problem.to_string();
            assert!(text.contains("elbow_flex (motor 3)"), "{text}");
            assert!(text.ends_with(')'), "the way out comes last: {text}");
            for word in words {
                assert!(text.contains(word), "{theirs}: no {word} in: {text}");
            }
        }
    }
}
