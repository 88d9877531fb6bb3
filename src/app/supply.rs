//! Ways to arms that are chosen while the program runs: the pretend one, or the one behind a port with the calibration of an
//! id. Looked up anew at each try, so that an arm which was calibrated or plugged in meanwhile is found.

use std::sync::{Arc, Mutex, PoisonError};

use crate::app::world;
use crate::arm::workbench::Workbench;
use crate::arm::{
    self, Arm, Bounds, Calibration, CalibrationError, Calibrations, Error, ErrorKind, Role,
    list_ports, open_port, path_of,
};
use crate::clock::Clock;
use crate::runtime::{ArmSource, ArmSupply, Connector};
use crate::sim::SimArm;

/// Arms by source. `pretended` is the arm of the pretend rig, if there is one; it is made at need otherwise. `bounds` are
/// those of the follower.
pub fn arms(clock: &Clock, pretended: Option<SimArm>, bounds: Bounds) -> ArmSupply {
    let clock = clock.clone();
    let spare = Arc::new(Mutex::new(pretended));
    Arc::new(move |role, source| match (role, source) {
        (Role::Follower, ArmSource::Simulated) => {
            world::connector(pretend_arm(&spare, &clock), Role::Follower, bounds)
        }
        (Role::Leader, ArmSource::Simulated) => world::waving_leader(clock.clone()),
        (role, ArmSource::Port { path, id }) => real(role, path, id, &clock, bounds),
    })
}

/// The one pretend arm: let go and taken again, it is where it was.
fn pretend_arm(spare: &Mutex<Option<SimArm>>, clock: &Clock) -> SimArm {
    let mut spare = spare.lock().unwrap_or_else(PoisonError::into_inner);
    spare
        .get_or_insert_with(|| SimArm::new(clock.clone()))
        .clone()
}

fn options(role: Role, clock: &Clock, bounds: Bounds) -> arm::Options {
    arm::Options {
        role,
        bounds,
        clock: clock.clone(),
        ..arm::Options::default()
    }
}

fn real(role: Role, path: &str, id: &str, clock: &Clock, bounds: Bounds) -> Connector {
    let (path, id, clock) = (path.to_owned(), id.to_owned(), clock.clone());
    // Whoever is plugged in first is /dev/ttyACM0; the board's own number stays.
    let mut serial: Option<String> = None;
    Box::new(move || {
        let ports = list_ports();
        if serial.is_none() {
            let here = ports.iter().find(|port| port.path == path);
            serial = here.and_then(|port| port.serial.clone());
        }
        let path = path_of(serial.as_deref(), &path, &ports);
        let kept = Calibrations::of_user();
        let calibration = kept.map(|kept| kept.read(role, &id));
        let port = open_port(&path)?;
        match calibration {
            Some(Ok(calibration)) => Arm::connect(port, calibration, options(role, &clock, bounds)),
            Some(Err(error)) => Err(uncalibrated(port, &path, &clock, &error)),
            None => Err(Error {
                port: path,
                kind: ErrorKind::Uncalibrated(
                    "this system names no home, where calibrations would be kept".to_owned(),
                ),
            }),
        }
    })
}

/// Whether there is an arm at all: without one, a missing calibration is not what is the matter.
fn uncalibrated(port: arm::Port, path: &str, clock: &Clock, missing: &CalibrationError) -> Error {
    let census = Workbench::open(port, path, clock).and_then(|mut bench| bench.census());
    let kind = match census {
        Ok(census) if census.present().next().is_none() => ErrorKind::NoResponse,
        Ok(_) => ErrorKind::Uncalibrated(match missing {
            CalibrationError::Absent { role, id, .. } => {
                format!("no calibration of a {role} called `{id}` is on this machine")
            }
            unusable => unusable.to_string(),
        }),
        Err(error) => error.kind,
    };
    Error {
        port: path.to_owned(),
        kind,
    }
}

/// An arm whose port and calibration file were named at the start.
pub fn named(
    role: Role,
    port: &str,
    calibration: Calibration,
    clock: &Clock,
    bounds: Bounds,
) -> Connector {
    let (port, clock) = (port.to_owned(), clock.clone());
    let options = move || options(role, &clock, bounds);
    Box::new(move || Arm::connect(open_port(&port)?, calibration, options()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pretend_arm_is_one_and_the_same() {
        let clock = Clock::virtual_at_zero();
        let supply = arms(&clock, None, Bounds::default());
        let mut first = supply(Role::Follower, &ArmSource::Simulated)().unwrap();
        let pose = first.read_state().unwrap();
        drop(first);
        let mut again = supply(Role::Follower, &ArmSource::Simulated)().unwrap();
        assert_eq!(again.read_state().unwrap(), pose);
    }

    #[test]
    fn a_port_that_is_not_there_is_named_whatever_the_calibration() {
        let supply = arms(&Clock::real(), None, Bounds::default());
        let source = ArmSource::Port {
            path: "/nowhere/ttyACM9".to_owned(),
            id: "no such arm".to_owned(),
        };
        let error = supply(Role::Follower, &source)().unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoPort);
        assert!(error.to_string().contains("/nowhere/ttyACM9"));
    }
}
