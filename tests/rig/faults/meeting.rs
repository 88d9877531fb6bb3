//! What speaks against an arm when it is met: all of it is said at once, nothing is written, and nobody knocks too often.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use smolpilot::arm::{self, ErrorKind};
use smolpilot::runtime::{Command, Connection, FaultKind, Mode};
use smolpilot::sim::Fault;

use crate::flight::{Flight, Plan, turned};

/// A flight whose arm is met with these faults, after two seconds; why it was refused.
fn refused(faults: &[Fault]) -> (Flight, String) {
    let mut flight = Flight::planned(Plan::new(turned(0.0)));
    for fault in faults {
        flight.arm.inject(fault.clone());
    }
    flight.tell(Command::EnableTorque);
    flight.tell(Command::SetMode(Mode::Policy));
    let seen = flight.ticks(60);
    let Connection::Lost(why) = &seen.connection else {
        panic!("not refused: {:?}", seen.connection);
    };
    let why = why.clone();
    let lost = flight.fault(FaultKind::BusLost).unwrap();
    assert!(!lost.remedy.is_empty());
    assert_eq!(flight.torques(), [false; 6]);
    assert!(flight.arm.writes().is_empty(), "{:?}", flight.arm.writes());
    (flight, why)
}

fn assert_says(why: &str, parts: &[&str]) {
    for part in parts {
        assert!(why.contains(part), "`{part}` is not in: {why}");
    }
}

#[test]
fn fault_11_an_echoing_adapter_is_refused() {
    let (flight, why) = refused(&[Fault::Echo]);
    assert_says(&why, &["echo"]);
    let lost = flight.fault(FaultKind::BusLost).unwrap();
    assert_says(&lost.remedy, &["adapter"]);
}

#[test]
fn fault_21_two_servos_of_one_id_are_suspected() {
    let (_, why) = refused(&[Fault::Readdress(3, 2)]);
    assert_says(
        &why,
        &[
            "shoulder_lift (motor 2)",
            "duplicate id",
            "elbow_flex (motor 3)",
        ],
    );
}

#[test]
fn fault_22_everything_wrong_is_said_in_one_error() {
    let poke = |id, address, value| Fault::Poke { id, address, value };
    let (_, why) = refused(&[Fault::Readdress(5, 9), poke(2, 3, 4), poke(4, 1, 6)]);
    assert_says(
        &why,
        &[
            "wrist_roll (motor 5)",
            "not answer",
            "shoulder_lift (motor 2)",
            "model",
            "mixed firmware",
            "wrist_flex (motor 4) 3.6",
        ],
    );
}

#[test]
fn fault_23_a_joint_outside_its_range_is_not_energised() {
    let (_, why) = refused(&[Fault::Position(2, 500)]);
    assert_says(
        &why,
        &["shoulder_lift (motor 2)", "outside its range", "by hand"],
    );
    // A servo that counts several turns.
    let phase = Fault::Poke {
        id: 3,
        address: 18,
        value: 28,
    };
    let (_, why) = refused(&[phase, Fault::Position(3, 2000 + 4096)]);
    assert_says(&why, &["elbow_flex (motor 3)", "several turns", "Phase"]);
}

/// A flight whose port does not open; what it says after 20 seconds, and how often it was tried.
fn knocking(mut open: impl FnMut() -> ErrorKind + Send + 'static) -> (Flight, u32) {
    let knocks = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&knocks);
    let mut flight = Flight::planned(Plan {
        connector: Some(Box::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            Err(arm::Error {
                port: "/dev/ttyACM0".to_owned(),
                kind: open(),
            })
        })),
        ..Plan::new(turned(0.0))
    });
    while flight.now() < Duration::from_secs(20) {
        flight.tick();
    }
    (flight, knocks.load(Ordering::SeqCst))
}

#[test]
fn fault_31_a_port_that_may_not_be_opened_is_explained_and_not_stormed() {
    for (kind, words) in [
        (
            ErrorKind::Busy,
            ["another program", "Close the other program"],
        ),
        (ErrorKind::Permission, ["may not open", "dialout"]),
    ] {
        let (flight, knocks) = knocking(move || kind.clone());
        assert!((5..=9).contains(&knocks), "{knocks} knocks in 20 s");
        let lost = flight.fault(FaultKind::BusLost).unwrap();
        assert_says(&lost.what, &["/dev/ttyACM0", words[0]]);
        assert_says(&lost.remedy, &[words[1]]);
    }
}

/// The same with a port that really is open elsewhere.
#[cfg(unix)]
#[test]
fn fault_31_a_port_that_another_program_has_is_busy() {
    use serialport::SerialPort as _;
    let (_master, slave) = serialport::TTYPort::pair().unwrap();
    let path = slave.name().unwrap();
    drop(slave);
    let _other = arm::open_port(&path).unwrap();
    let named = path.clone();
    let (flight, knocks) = knocking(move || match arm::open_port(&path) {
        Err(error) => error.kind,
        Ok(_) => ErrorKind::NoResponse,
    });
    assert!(knocks <= 9, "{knocks} knocks in 20 s");
    let lost = flight.fault(FaultKind::BusLost).unwrap();
    assert_says(&lost.what, &["another program"]);
    assert!(named.starts_with('/'));
}
