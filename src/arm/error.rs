//! What can go wrong with the arm, said so that the person beside it knows which joint and what to do.

use std::borrow::Cow;
use std::fmt;

use crate::arm::access::System;
use crate::arm::problem::Problem;
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
#[error("{port}: {kind}. {}", self.remedy())]
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

    /// What to do now, on this system.
    pub fn remedy(&self) -> Cow<'static, str> {
        Cow::Borrowed(match &self.kind {
            ErrorKind::Permission => return System::here().without_permission(&self.port).into(),
            ErrorKind::NoPort => return System::here().without_named_port().into(),
            ErrorKind::Busy => {
                "Close the other program (LeRobot, a serial monitor, another cockpit) and connect again"
            }
            ErrorKind::Open(_) => {
                "Check that it is a serial port and that the adapter is plugged in"
            }
            ErrorKind::Disconnected(_) => {
                "The servos hold their last goal by themselves. Plug the USB cable in, connect again, and switch torque on anew"
            }
            ErrorKind::LineTaken => {
                "The control loop stood still; the line comes back with its next tick. Look at the arm, then resume"
            }
            ErrorKind::NoResponse => {
                "Check the arm's power supply, the cable from the adapter to the first servo, and the adapter's jumpers (B is USB); servos at another baud rate than 1 Mbaud are silent too. Then connect again"
            }
            ErrorKind::Silent(_) => {
                "Check its power and the cable into it (everything behind a loose plug is silent), and whether it is overloaded; then switch torque on again"
            }
            ErrorKind::Echo => {
                "Use an adapter that switches direction by itself (Waveshare, Seeed), not a bare UART"
            }
            ErrorKind::Unfit(_) => {
                "Put right what is listed, then try again. Torque was not touched"
            }
            ErrorKind::Uncalibrated(_) => "Calibrate it: Set-up, Arms",
            ErrorKind::TorqueOff => "Switch torque on",
            ErrorKind::Leader => "Choose this arm as the follower if it is to be driven",
            ErrorKind::TorqueLost(_) => {
                "Support the arm. Check the power supply, its plugs and the alarms, then switch torque on again"
            }
            ErrorKind::Moved { .. } => {
                "Torque is off again. Check that nothing pulls at the arm, and its calibration, then try again"
            }
            ErrorKind::NotTaken { .. } => {
                "Power the arm off and on and try again; a servo that still refuses is locked or worn out: replace it"
            }
            ErrorKind::HoldUnconfirmed(_) => {
                "Support the arm, check cables and power, then switch torque on again"
            }
            ErrorKind::ReleaseUnconfirmed(_) => "Switch the arm's power supply off",
            ErrorKind::PositionJump { .. } => {
                "Check the cable and the horn screw of that servo before you go on"
            }
            ErrorKind::OutOfRange(_) => "Calibrate the arm again",
        })
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
    /// The servos answer, and there is no calibration for them; says what is missing.
    #[error("{0}")]
    Uncalibrated(String),
    #[error("torque is off")]
    TorqueOff,
    #[error("a leader arm is moved by hand and gets no torque")]
    Leader,
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

impl ErrorKind {
    /// Whether the arm is all right but for its calibration: none is known, or the one that is known is another arm's.
    pub fn is_about_calibration(&self) -> bool {
        let is_that = |problem: &Problem| {
            matches!(
                problem,
                Problem::Calibration { .. } | Problem::Position { .. } | Problem::MultiTurn(_)
            )
        };
        let is_foreign = |problem: &Problem| matches!(problem, Problem::Calibration { .. });
        match self {
            Self::Uncalibrated(_) => true,
            Self::Unfit(problems) => {
                problems.iter().all(is_that) && problems.iter().any(is_foreign)
            }
            _ => false,
        }
    }
}

/// Several things in one line.
pub(super) fn list<T: fmt::Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::alarm::{Alarm, AlarmKind};

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
            "the cable into it",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(text.starts_with(&error.what()) && text.ends_with(&*error.remedy()));
    }

    /// What LeRobot says, what we say instead, and what that must tell of the usual cause and the way out. The messages of
    /// its handshake are the affair of `problem.rs`.
    #[test]
    fn messages_that_users_of_lerobot_meet_have_their_cause_and_their_way_out() {
        let motor = Motor {
            joint: Joint::Gripper,
            id: 6,
        };
        let text = |kind: ErrorKind| {
            let port = "/dev/ttyACM0".to_owned();
            Error { port, kind }.to_string()
        };
        let alarm = |kind: AlarmKind| format!("{}. {}", Alarm { motor, kind }, kind.remedy());
        let overflow = Register::HomingOffset.encode(2114).unwrap_err();
        let rows: [(&str, String, &[&str]); 8] = [
            (
                "There is no status packet! (one servo)",
                text(ErrorKind::Silent(vec![motor])),
                &["gripper (motor 6)", "power", "cable", "overloaded"],
            ),
            (
                "There is no status packet! (all servos)",
                text(ErrorKind::NoResponse),
                &["power supply", "cable", "jumpers", "baud rate"],
            ),
            (
                "[RxPacketError] Input voltage error!",
                alarm(AlarmKind::Voltage),
                &["gripper (motor 6)", "voltage", "supply", "5 A"],
            ),
            (
                "[RxPacketError] Overload error!",
                alarm(AlarmKind::Overload),
                &["overloaded", "load off", "power the arm off and on"],
            ),
            (
                "Magnitude 2114 exceeds 2047 (max for sign_bit_index=11)",
                text(ErrorKind::OutOfRange(overflow)),
                &["2114", "HomingOffset", "2047", "Calibrate"],
            ),
            (
                "Could not connect on port (permissions)",
                text(ErrorKind::Permission),
                &["/dev/ttyACM0", "may not open", "dialout"],
            ),
            (
                "Could not connect on port (somebody else has it)",
                text(ErrorKind::Busy),
                &["/dev/ttyACM0", "another program", "Close"],
            ),
            (
                "Could not connect on port (wrong port)",
                text(ErrorKind::NoPort),
                &["/dev/ttyACM0", "no such port", "listed", "driver"],
            ),
        ];
        for (theirs, ours, words) in rows {
            for word in words {
                assert!(ours.contains(word), "{theirs}: no {word} in: {ours}");
            }
        }
    }

    #[test]
    fn an_arm_that_only_lacks_its_calibration_is_told_apart() {
        let motor = Motor {
            joint: Joint::ElbowFlex,
            id: 3,
        };
        let foreign = Problem::Calibration {
            motor,
            what: "homing_offset",
            servo: 0,
            file: 904,
        };
        let astray = Problem::Position {
            motor,
            position: 4000,
            min: 900,
            max: 3100,
        };
        let about =
            |problems: &[Problem]| ErrorKind::Unfit(problems.to_vec()).is_about_calibration();
        assert!(about(&[foreign.clone(), astray.clone()]));
        assert!(!about(&[astray]), "the right arm, standing wrong");
        assert!(!about(&[foreign, Problem::Missing(motor)]));
        assert!(ErrorKind::Uncalibrated(String::new()).is_about_calibration());
        assert!(!ErrorKind::NoResponse.is_about_calibration());
    }
}
