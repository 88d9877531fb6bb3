//! What speaks against an arm when it is met: all of it is said at once, nothing is written, and nobody knocks too often.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use smolpilot::arm::{self, ErrorKind};
use smolpilot::runtime::{Command, Connection, FaultKind, Mode};
use smolpilot::sim::{Distortion, Fault, Script};

use crate::flight::{Flight, Plan, RAM, TORQUE, turned};
use crate::stand::connected;

/// Register that protects the settings.
const LOCK: u8 = 55;

fn poke(id: u8, address: u8, value: u8) -> Fault {
    Fault::Poke { id, address, value }
}

/// A flight whose arm is met with these faults, after two seconds; why it was refused. Torque was not touched.
fn refused(faults: &[Fault]) -> (Flight, String) {
    let (flight, why) = unfit(faults);
    assert_eq!(flight.torques(), [false; 6]);
    assert!(flight.arm.writes().is_empty(), "{:?}", flight.arm.writes());
    (flight, why)
}

fn unfit(faults: &[Fault]) -> (Flight, String) {
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

/// The settings that the servos of a fresh arm were told, each with how often.
fn settings(flight: &Flight) -> BTreeMap<(u8, u8, Vec<u8>), u32> {
    let mut told = BTreeMap::new();
    for write in flight.arm.writes() {
        if write.address < RAM {
            *told
                .entry((write.id, write.address, write.bytes))
                .or_default() += 1;
        }
    }
    told
}

#[test]
fn fault_16_a_write_whose_acknowledgement_is_lost_is_read_back() {
    let whole = settings(&Flight::at_rest(Plan::new(turned(0.0))));
    assert!(
        whole.len() >= 9 && whole.values().all(|count| *count == 1),
        "{whole:?}"
    );
    for skip in (0..200).step_by(3) {
        let struck = |distortion| {
            let mut flight = Flight::planned(Plan::new(turned(0.0)));
            flight.arm.inject(Fault::Next { skip, distortion });
            flight.until("connected", connected);
            settings(&flight)
        };
        // The acknowledgement or the answer to the question: the servo has the value, and is told it once or twice.
        let lost = struck(Distortion::Drop(0));
        assert!(lost.keys().eq(whole.keys()), "after {skip}");
        assert!(lost.values().sum::<u32>() <= whole.values().sum::<u32>() + 1);
        // The write itself: it is said again.
        assert!(
            struck(Distortion::LoseRequest).keys().eq(whole.keys()),
            "after {skip}"
        );
    }
}

#[test]
fn fault_17_a_setting_that_a_locked_servo_drops_without_a_word_is_no_success() {
    let mut flight = Flight::planned(Plan::new(turned(0.0)));
    // Whatever it is told, it is locked again before the next word.
    let locked = poke(4, LOCK, 1);
    let script = (1..200).fold(Script::default(), |script, nth| {
        script.on(nth, locked.clone())
    });
    flight.arm.script(script);
    let lost = flight.until_fault(FaultKind::BusLost);
    assert_says(&lost.what, &["wrist_flex (motor 4)", "did not take"]);
    flight.tell(Command::EnableTorque);
    flight.ticks(30);
    assert_eq!(flight.torques(), [false; 6]);
    flight.assert_no_goal_since(Duration::ZERO);
    // Once it lets itself be set up, it is met.
    flight.until("connected", connected);
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
    // A servo that counts several turns, and has torque: it cannot be put right before it is limp.
    let phase = poke(3, 18, 28);
    let (flight, why) = unfit(&[phase.clone(), poke(3, TORQUE, 1), Fault::Position(3, 6096)]);
    assert_says(&why, &["elbow_flex (motor 3)", "several turns", "Phase"]);
    assert!(flight.arm.writes().iter().all(|write| write.id != 3));
    flight.assert_no_goal_since(Duration::ZERO);
    // A limp one is put right, and is where it is.
    let mut flight = Flight::planned(Plan::new(turned(0.0)));
    flight.arm.inject(phase);
    flight.until("connected", connected);
    flight.assert_no_goal_since(Duration::ZERO);
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
