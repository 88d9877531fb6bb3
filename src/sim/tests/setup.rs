//! Servos that are not set up as they should be, and what is written to them.

use super::{IDS, bus, connect, enable, kind, release, rig};
use crate::arm::register::{FACTORY_START, RAM_START, Register};
use crate::arm::{Arm, ErrorKind, Options, Role};
use crate::joint::Joint;
use crate::sim::{Fault, SimArm, WriteRecord};

/// Writes of settings: to the EEPROM or to the factory's area.
fn settings(log: &[WriteRecord]) -> Vec<(u8, u8, Vec<u8>)> {
    let kept = |write: &&WriteRecord| !(RAM_START..FACTORY_START).contains(&write.address);
    let settings = log.iter().filter(kept);
    settings
        .map(|write| (write.id, write.address, write.bytes.clone()))
        .collect()
}

#[test]
fn a_new_arm_is_set_up_once_and_locked_again() {
    let rig = rig();
    connect(&rig).unwrap();
    let log = rig.writes();
    let wrote = settings(&log);
    for (id, register, value) in [
        (1, Register::PCoefficient, 16),
        (1, Register::MaximumAcceleration, 254),
        (6, Register::ProtectionCurrent, 250),
        (6, Register::OverloadTorque, 25),
        (6, Register::MaxTorqueLimit, 500),
    ] {
        let bytes = register.encode(value).unwrap().as_slice().to_vec();
        let write = (id, register.address(), bytes);
        assert!(wrote.contains(&write), "{register:?} of {id}");
        assert_eq!(bus(&rig).read(id, register).unwrap(), value);
    }
    let arm_only = [Register::ProtectionCurrent, Register::MaxTorqueLimit];
    let addresses = arm_only.map(Register::address);
    assert!(
        wrote
            .iter()
            .all(|(id, address, _)| *id == 6 || !addresses.contains(address))
    );
    for id in IDS {
        let of_this = log.iter().filter(|write| write.id == id);
        let ends = |write: Option<&WriteRecord>| write.map(|it| (it.address, it.bytes[0]));
        let lock = Register::Lock.address();
        assert_eq!(ends(of_this.clone().next()), Some((lock, 0)));
        assert_eq!(ends(of_this.clone().next_back()), Some((lock, 1)));
    }
    assert!(
        Joint::ALL.iter().all(|joint| !rig.torque(*joint)),
        "limp all the while"
    );
    // In force at once, not only after a power cycle.
    assert_eq!(bus(&rig).read(6, Register::TorqueLimit).unwrap(), 500);
    connect(&rig).unwrap();
    assert_eq!(rig.writes(), log, "nothing is written twice");
}

#[test]
fn a_servo_that_counts_turns_or_turns_like_a_wheel_is_put_right() {
    let rig = rig();
    rig.inject("poke:3:18=28".parse().unwrap());
    rig.inject("poke:4:33=1".parse().unwrap());
    connect(&rig).unwrap();
    let mut bus = bus(&rig);
    assert_eq!(bus.read(3, Register::Phase).unwrap(), 12, "no other bit");
    assert_eq!(bus.read(4, Register::OperatingMode).unwrap(), 0);
}

#[test]
fn an_arm_that_a_dead_program_left_holding_is_not_set_up_before_it_is_limp() {
    let rig = rig();
    let mut arm = connect(&rig).unwrap();
    enable(&mut arm).unwrap();
    drop(arm);
    rig.inject("poke:2:21=32".parse().unwrap());
    let before = rig.writes();
    let mut arm = connect(&rig).unwrap();
    assert_eq!(rig.writes(), before, "torque that is on is not touched");
    assert!(Joint::ALL.iter().all(|joint| rig.torque(*joint)));
    let unset = arm.unset();
    assert_eq!(unset.len(), 1);
    let text = unset[0].to_string();
    assert_eq!(
        text,
        "shoulder_lift (motor 2) has PCoefficient 32 instead of 16"
    );
    // It may be driven as it is. Once it was limp it is set up before torque comes on.
    enable(&mut arm).unwrap();
    assert_eq!(arm.unset().len(), 1);
    release(&mut arm).unwrap();
    enable(&mut arm).unwrap();
    assert!(arm.unset().is_empty());
    assert_eq!(bus(&rig).read(2, Register::PCoefficient).unwrap(), 16);
}

#[test]
fn nothing_is_written_to_what_may_be_another_arm() {
    let rig = rig();
    rig.inject("offset:5=-1500".parse().unwrap());
    assert!(matches!(kind(connect(&rig)), ErrorKind::Unfit(_)));
    assert!(rig.writes().is_empty());
}

#[test]
fn a_leader_is_met_without_what_matters_to_driving_and_gets_no_torque() {
    let rig = rig();
    // Leaning over the end of its range, at the voltage of its class.
    rig.inject("pos:2=600".parse().unwrap());
    for id in IDS {
        rig.inject(format!("poke:{id}:14=80").parse().unwrap());
    }
    rig.inject("supply:7.4".parse().unwrap());
    rig.clock().advance(std::time::Duration::from_millis(5));
    assert!(
        matches!(kind(connect(&rig)), ErrorKind::Unfit(_)),
        "no follower"
    );
    let mut arm = leader(&rig).unwrap();
    assert!(arm.read_state().unwrap()[Joint::ShoulderLift] < -110.0);
    let before = rig.writes();
    assert_eq!(kind(enable(&mut arm)), ErrorKind::Leader);
    assert_eq!(rig.writes(), before);
    rig.inject("supply:12".parse().unwrap());
    rig.clock().advance(std::time::Duration::from_millis(5));
    let burning = kind(leader(&rig));
    let text = burning.to_string();
    assert!(
        text.contains("12.0 V, but is made for 4.5 to 8.0 V"),
        "{text}"
    );
}

fn leader(rig: &SimArm) -> Result<Arm, crate::arm::Error> {
    let options = Options {
        role: Role::Leader,
        ..super::options(rig)
    };
    Arm::connect(rig.port(), rig.calibration(), options)
}

#[test]
fn a_follower_of_twelve_volts_is_refused_on_seven() {
    let rig = rig();
    rig.inject("supply:7.4".parse().unwrap());
    rig.clock().advance(std::time::Duration::from_millis(5));
    let text = kind(connect(&rig)).to_string();
    assert_eq!(
        text.matches("7.4 V, but is made for 9.5 to 13.0 V").count(),
        6,
        "{text}"
    );
    assert!(rig.writes().is_empty());
}

#[test]
fn f17_settings_that_a_servo_does_not_keep_are_an_error_that_names_joint_and_register() {
    let rig = rig();
    rig.inject(Fault::Worn(2));
    let error = connect(&rig).unwrap_err();
    let ErrorKind::NotTaken {
        motor, register, ..
    } = &error.kind
    else {
        panic!("{error}");
    };
    assert_eq!(
        (motor.joint, *register),
        (Joint::ShoulderLift, Register::PCoefficient)
    );
    for words in [
        "shoulder_lift (motor 2)",
        "PCoefficient = 16",
        "it says 32",
        "worn out",
    ] {
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert_eq!(
        bus(&rig).read(2, Register::Lock).unwrap(),
        1,
        "locked again all the same"
    );
    assert!(Joint::ALL.iter().all(|joint| !rig.torque(*joint)));
    // What only the factory's area does not keep is no reason to refuse an arm.
    let rig = super::rig();
    connect(&rig).unwrap();
    rig.inject("poke:3:85=50".parse().unwrap());
    rig.inject(Fault::Worn(3));
    assert!(connect(&rig).is_ok());
}
