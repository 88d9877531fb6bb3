//! What the arm told at the start of a tick, as plain data: the core never speaks to it.

use crate::arm::Clearance;
use crate::joint::JointVec;
use crate::runtime::Health;
use crate::runtime::fault_book::Words;

/// The arm as it was found at the start of a tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ArmInput {
    #[default]
    Absent,
    Connecting,
    /// Not there, with the reason; the connector tries again.
    Lost(ArmFailure),
    /// There, but no calibration fits it; the connector tries again.
    Uncalibrated(ArmFailure),
    Up(ArmState),
}

/// What a connected arm told.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmState {
    /// The pose, or why it could not be read in this tick.
    pub measured: Result<JointVec, ArmFailure>,
    /// The arm takes actions: it was armed, and nothing has happened since that asks for a new start.
    pub torque: bool,
    /// Joints whose servos have torque, be the arm armed or not.
    pub held_joints: usize,
    /// Packets repeated since the connection.
    pub retries: u64,
    /// What the servos complain about; names the joint.
    pub alarms: Vec<Words>,
    /// Lower and upper limit of what may be sent.
    pub limits: [JointVec; 2],
    /// How close it may come to the table and to itself; `None` for an arm that nobody knows the place of.
    pub clearance: Option<Clearance>,
    /// How the servos are.
    pub health: Box<Health>,
}

/// Why the arm could not be read or did not take an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArmFailure {
    /// What happened; names the joint.
    pub what: String,
    /// What to do now.
    pub remedy: String,
    /// Nothing behind the port answers any more: only a full handshake brings the arm back.
    pub gone: bool,
    /// A joint insists on a position that it cannot have come to.
    pub jumped: bool,
}
