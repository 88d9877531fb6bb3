//! What the workshop shows: ports and who is on them, and how far the thing that is being done has come.

use std::path::PathBuf;

use crate::arm::workbench::calibrating::{JointBar, Stage};
use crate::arm::workbench::finding::Finding;
use crate::arm::workbench::numbering::{Numbered, Verdict};
use crate::arm::{Calibration, Motor, MotorCalibration, PortInfo, Role};
use crate::joint::{JOINT_COUNT, JointVec};

/// Everything that the workshop knows, as plain values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkshopView {
    /// The ports of this machine, adapters first; empty before the first survey.
    pub ports: Vec<PortView>,
    /// They were listed at least once.
    pub is_surveyed: bool,
    /// Ids of the arms that were calibrated on this machine.
    pub known: Vec<(Role, String)>,
    pub activity: Activity,
    /// What could not be done last.
    pub trouble: Option<Trouble>,
}

impl WorkshopView {
    /// The port with this path.
    pub fn port(&self, path: &str) -> Option<&PortView> {
        self.ports.iter().find(|port| port.info.path == path)
    }

    /// Whether something on it changes by itself, so that it is worth drawing often.
    pub fn is_live(&self) -> bool {
        let is_looking = self.ports.iter().any(|port| port.line == Line::Looking);
        is_looking || !matches!(self.activity, Activity::Idle | Activity::Saved(_))
    }

    /// The port that what is being done has open, if it has one.
    pub fn busy_port(&self) -> Option<&str> {
        match &self.activity {
            Activity::Calibrating(it) => Some(&it.port),
            Activity::Numbering(it) => Some(&it.port),
            _ => None,
        }
    }
}

/// What happened, and what to do now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    pub what: String,
    pub remedy: String,
}

/// One port and who is on it.
#[derive(Clone, Debug, PartialEq)]
pub struct PortView {
    pub info: PortInfo,
    pub line: Line,
}

/// Who is on a port.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Line {
    /// Nobody has asked.
    #[default]
    Unknown,
    Looking,
    /// It could not be asked.
    Refused(Trouble),
    /// No servo answers.
    Empty,
    Arm(Box<ArmCard>),
}

/// An arm, or a part of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmCard {
    /// How many of the six servos answer.
    pub present: usize,
    /// Everything that speaks against using it, beyond its calibration.
    pub problems: Vec<String>,
    pub calibration: CalibrationState,
    /// What the voltages say about its role.
    pub hint: Option<String>,
    /// Which role it most likely has.
    pub role: Role,
    pub volts: Option<f32>,
    /// Joints that have torque.
    pub held_joints: usize,
}

/// What the servos hold as a calibration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CalibrationState {
    /// None: as the factory left them.
    #[default]
    Absent,
    /// The one of these arms, which are kept on this machine.
    Known(Vec<(Role, String)>),
    /// One that no file on this machine has.
    Foreign,
}

/// What is being done.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Activity {
    #[default]
    Idle,
    Finding(Finding),
    Identifying(Vec<IdentifiedArm>),
    Calibrating(Box<CalibratingView>),
    Numbering(Box<NumberingView>),
    /// A calibration is in the servos and on the disk.
    Saved(Box<SavedView>),
}

/// One arm while a hand moves some of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdentifiedArm {
    pub port: String,
    /// Degrees from where each joint was at first; `None` while it is silent.
    pub now: [Option<f32>; JOINT_COUNT],
    /// Degrees that each joint has travelled.
    pub travel: [f32; JOINT_COUNT],
    /// This one has been moved, and the others have not.
    pub is_this: bool,
    pub volts: Option<f32>,
    pub hint: Option<String>,
    /// What it is known as.
    pub known: Vec<(Role, String)>,
    /// Joints that have torque and cannot be moved.
    pub held_joints: usize,
    /// Why it cannot be watched.
    pub trouble: Option<Trouble>,
}

/// A calibration on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratingView {
    pub port: String,
    pub role: Role,
    pub stage: Stage,
    /// Joints that have torque: the arm is to be let go first.
    pub holding: Vec<Motor>,
    pub bars: [JointBar; JOINT_COUNT],
    /// What stands in the way of the next step.
    pub obstacles: Vec<String>,
    /// What is odd without standing in the way.
    pub remarks: Vec<String>,
    /// Where the arm is, robot units, as far as that can be said.
    pub pose: Option<JointVec>,
    /// The pose that this step asks for, robot units.
    pub expected: JointVec,
    /// What would be written now.
    pub plan: Option<Calibration>,
    /// What the servos hold.
    pub before: [MotorCalibration; JOINT_COUNT],
    /// The id that this arm has had so far.
    pub suggested_id: String,
}

/// A calibration that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedView {
    pub port: String,
    pub role: Role,
    pub id: String,
    pub paths: Vec<PathBuf>,
    /// Motors that were written; the others were right already.
    pub changed: Vec<Motor>,
    pub calibration: Calibration,
}

/// Servos on their way to their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberingView {
    pub port: String,
    pub role: Role,
    /// The joint whose servo is to be plugged in alone; `None` when all six have their numbers.
    pub wanted: Option<Motor>,
    pub done: [Option<Numbered>; JOINT_COUNT],
    /// Servos are being looked for: the share of the baud rates that were tried.
    pub hunting: Option<f32>,
    /// What was found last, if it was not simply numbered.
    pub verdict: Option<Verdict>,
    /// With all six: what is wrong with the chain; empty when it is right.
    pub chain: Option<Vec<String>>,
    /// What the servo on the line did not take.
    pub trouble: Option<Trouble>,
}
