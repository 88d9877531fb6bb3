//! Who is on a port, in words: asked once, and the port closed again.

use crate::arm::workbench::{Census, Workbench};
use crate::arm::{self, KnownArm, Role, VoltageClass};
use crate::runtime::workshop::view::{ArmCard, CalibrationState, Line, Trouble};

/// Opens nothing itself: asks the workbench and reads the answer against the arms that are known here.
pub fn line_of(bench: Result<Workbench, arm::Error>, known: &[KnownArm]) -> Line {
    let census = bench.and_then(|mut bench| bench.census());
    match census {
        Ok(census) => line_from(&census, known),
        Err(error) => Line::Refused(trouble_of(&error)),
    }
}

/// An error as the operator is told.
pub fn trouble_of(error: &arm::Error) -> Trouble {
    Trouble {
        what: error.what(),
        remedy: error.remedy().into_owned(),
    }
}

fn line_from(census: &Census, known: &[KnownArm]) -> Line {
    if census.present().next().is_none() && census.garbled.is_empty() {
        return Line::Empty;
    }
    let calibration = state_of(census, known);
    Line::Arm(Box::new(ArmCard {
        present: census.present().count(),
        problems: census.complaints(),
        role: role_of(census, &calibration),
        calibration,
        hint: census.role_hint().map(str::to_owned),
        volts: census.volts(),
        held_joints: census.held_joints(),
    }))
}

/// The arms whose calibration is in these servos.
pub fn owners(census: &Census, known: &[KnownArm]) -> Vec<(Role, String)> {
    let holds = |arm: &&KnownArm| {
        let calibration = arm.calibration.as_ref();
        calibration.is_ok_and(|calibration| census.holds(calibration))
    };
    let owners = known.iter().filter(holds);
    owners.map(|arm| (arm.role, arm.id.clone())).collect()
}

fn state_of(census: &Census, known: &[KnownArm]) -> CalibrationState {
    let owners = owners(census, known);
    if !owners.is_empty() {
        CalibrationState::Known(owners)
    } else if census.engraved().is_some() {
        CalibrationState::Foreign
    } else {
        CalibrationState::Absent
    }
}

/// The role in which it is known, else what its voltage says.
fn role_of(census: &Census, calibration: &CalibrationState) -> Role {
    match calibration {
        CalibrationState::Known(owners) if !owners.is_empty() => owners[0].0,
        _ if census.voltage_class() == Some(VoltageClass::Low) => Role::Leader,
        _ => Role::Follower,
    }
}
