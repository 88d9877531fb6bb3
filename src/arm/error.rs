//! What can go wrong with the arm, said so that the person beside it knows which joint and what to do.

use std::fmt;

use crate::arm::register::{OutOfRange, Register};
use crate::joint::Joint;

/// A joint and the id of its servo, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Motor {
    pub joint: Joint,
    /// Bus id.
    pub id: u8,
}

impl fmt::Display for Motor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (motor {})", self.joint, self.id)
    }
}

/// A failure of the arm on one port. Its text is what happened and what to do now.
#[derive(Debug, thiserror::Error)]
#[error("{port}: {kind}. {}", kind.remedy())]
pub struct Error {
    /// The port's name.
    pub port: String,
    pub kind: ErrorKind,
}

impl Error {
    /// What happened, without the way out.
    pub fn what(&self) -> String {
        format!("{}: {}", self.port, self.kind)
    }

    /// What to do now.
    pub fn remedy(&self) -> &'static str {
        self.kind.remedy()
    }
}

/// The kinds of failure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ErrorKind {
    #[error("another program has the port open")]
    Busy,
    #[error("you may not open the port")]
    Permission,
    #[error("there is no such port")]
    NoPort,
    #[error("the port does not open ({0})")]
    Open(String),
    #[error("the adapter is gone ({0})")]
    Disconnected(String),
    #[error("the watchdog has stopped the arm and has the line")]
    LineTaken,
    #[error("no servo answers")]
    NoResponse,
    #[error("{} does not answer", list(.0))]
    Silent(Vec<Motor>),
    #[error("the adapter echoes what is sent, and an echo can pass for a servo's answer")]
    Echo,
    #[error("the arm is not fit to be driven: {}", list(.0))]
    Unfit(Vec<Problem>),
    #[error("torque is off")]
    TorqueOff,
    #[error("{} lost torque: it restarted, or protected itself", list(.0))]
    TorqueLost(Vec<Motor>),
    #[error("{motor} moved by {units:.1} {} when its torque came on", motor.joint.unit())]
    Moved { motor: Motor, units: f32 },
    #[error("{motor} did not take {register:?} = {wrote} (it says {read})")]
    NotTaken {
        motor: Motor,
        register: Register,
        wrote: i32,
        read: i32,
    },
    #[error("{} may not be holding its pose", list(.0))]
    HoldUnconfirmed(Vec<Motor>),
    #[error("{} may still have torque", list(.0))]
    ReleaseUnconfirmed(Vec<Motor>),
    #[error("{motor} reports a jump from {from:.1} to {to:.1} {} that no joint can make", motor.joint.unit())]
    PositionJump { motor: Motor, from: f32, to: f32 },
    #[error("{0}")]
    OutOfRange(#[from] OutOfRange),
}

/// One reason why an arm must not be driven.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    #[error("{0} does not answer (power, the cable before it, or its id)")]
    Missing(Motor),
    #[error("{0} answers with garbage (possible duplicate id, or a bad cable)")]
    Garbled(Motor),
    #[error("{motor} is model {model}, not an STS3215 (777)")]
    Model { motor: Motor, model: i32 },
    #[error("mixed firmware: {} (update with Feetech's FD tool)", versions(.0))]
    Firmware(Vec<(Motor, i32, i32)>),
    #[error("{0} does not acknowledge writes (set Response_Status_Level to 1)")]
    Unacknowledging(Motor),
    #[error("{0} counts several turns (clear bit 4 of its Phase register, then calibrate)")]
    MultiTurn(Motor),
    #[error("{motor} is in operating mode {mode}, not in position mode (0)")]
    Mode { motor: Motor, mode: i32 },
    #[error(
        "{motor} holds another calibration ({what} {servo} in the servo, {file} in the file): wrong file or other arm"
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
        "{motor} has {volts:.1} V, but is made for {min:.1} to {max:.1} V (check the supply: 7.4 V and 12 V servos look alike)"
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

impl ErrorKind {
    /// What to do now.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Busy => {
                "Close the other program (LeRobot, a serial monitor, another cockpit) and connect again"
            }
            Self::Permission => {
                "On Linux: `sudo usermod -aG dialout $USER`, then log in again. Elsewhere: check the driver of the adapter"
            }
            Self::NoPort => "Plug in the adapter and choose one of the listed ports",
            Self::Open(_) => "Check that it is a serial port and that the adapter is plugged in",
            Self::Disconnected(_) => {
                "The servos hold their last goal by themselves. Plug the USB cable in, connect again, and switch torque on anew"
            }
            Self::LineTaken => {
                "The control loop stood still; the line comes back with its next tick. Look at the arm, then resume"
            }
            Self::NoResponse => {
                "Check the arm's power supply and the cable from the adapter to the first servo, then connect again"
            }
            Self::Silent(_) => {
                "Check the cable into that servo (everything behind a loose plug is silent) and whether it is overloaded; then switch torque on again"
            }
            Self::Echo => {
                "Use an adapter that switches direction by itself (Waveshare, Seeed), not a bare UART"
            }
            Self::Unfit(_) => "Put right what is listed, then try again. Torque was not touched",
            Self::TorqueOff => "Switch torque on",
            Self::TorqueLost(_) => {
                "Support the arm. Check the power supply, its plugs and the alarms, then switch torque on again"
            }
            Self::Moved { .. } => {
                "Torque is off again. Check that nothing pulls at the arm, and its calibration, then try again"
            }
            Self::NotTaken { .. } => "Try again; if it stays, power the arm off and on",
            Self::HoldUnconfirmed(_) => {
                "Support the arm, check cables and power, then switch torque on again"
            }
            Self::ReleaseUnconfirmed(_) => "Switch the arm's power supply off",
            Self::PositionJump { .. } => {
                "Check the cable and the horn screw of that servo before you go on"
            }
            Self::OutOfRange(_) => "Calibrate the arm again",
        }
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.join("; ")
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

    #[test]
    fn an_error_names_port_joint_and_way_out() {
        let elbow = Motor {
            joint: Joint::ElbowFlex,
            id: 3,
        };
        let error = Error {
            port: "/dev/ttyACM0".to_owned(),
            kind: ErrorKind::Silent(vec![elbow]),
        };
        let text = error.to_string();
        for part in [
            "/dev/ttyACM0",
            "elbow_flex (motor 3)",
            "does not answer",
            "Check the cable",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(text.starts_with(&error.what()) && text.ends_with(error.remedy()));
        let unfit = ErrorKind::Unfit(vec![
            Problem::Missing(elbow),
            Problem::Model {
                motor: elbow,
                model: 1284,
            },
        ]);
        assert!(unfit.to_string().contains("1284") && unfit.to_string().contains("; "));
    }
}
