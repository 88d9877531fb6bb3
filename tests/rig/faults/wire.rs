//! Answers that are lost, damaged, late or misplaced: the tick has its fresh data all the same, and no goal is another one.

use std::time::Duration;

use smolpilot::arm::register::{Block, Register};
use smolpilot::joint::{Joint, JointVec};
use smolpilot::runtime::FaultKind;
use smolpilot::sim::{Distortion, Fault};

use crate::flight::{COUNT, Flight, Plan, TICK, turned};

/// Counts that a joint may be carried between two readings without being doubted: five degrees.
const CARRIED: i32 = 60;
/// Degrees that an armed joint comes back by within a tick.
const COMES_BACK: f32 = 1.5;

/// A flight on its way and its twin, to which nothing happens.
fn twins() -> [Flight; 2] {
    [Flight::moving(), Flight::moving()]
}

/// The next readings go wrong like this, one after the other.
fn strike(flight: &Flight, distortions: &[Distortion]) {
    for distortion in distortions {
        flight.arm.inject(Fault::Next {
            skip: 0,
            distortion: distortion.clone(),
        });
    }
}

/// Carries the elbow a little way, so that old data can be told from new ones.
fn carry(flight: &Flight) {
    flight.arm.advance();
    let calibration = flight.arm.calibration();
    let elbow = Joint::ElbowFlex;
    let counts = calibration.unnormalize(elbow, flight.arm.pose()[elbow]);
    flight.arm.inject(Fault::Position(3, counts + CARRIED));
}

/// Strikes the reading of the next tick and checks that the tick has fresh data from every joint after so many retries, and
/// that this and the next ticks send what they would have sent anyway.
fn assert_harmless(distortions: &[Distortion], retries: u64) {
    let mut flight = Flight::armed(Plan::new(turned(0.0)));
    let before = flight.snapshot.bus_retries;
    carry(&flight);
    let carried = flight.arm.pose();
    strike(&flight, distortions);
    flight.tick();
    assert_fresh(&flight, carried, &format!("{distortions:?}"));
    let counted = flight.snapshot.bus_retries - before;
    assert_eq!(counted, retries, "{distortions:?}");
    let told = flight.fault(FaultKind::BusRetry);
    assert_eq!(told.is_some(), retries > 0, "{distortions:?} is shown");
    let [mut flight, mut twin] = twins();
    strike(&flight, distortions);
    for _ in 0..15 {
        let commanded = flight.tick().commanded;
        assert_eq!(commanded, twin.tick().commanded, "{distortions:?}");
    }
}

fn assert_fresh(flight: &Flight, carried: JointVec, what: &str) {
    let measured = flight.snapshot.measured;
    for joint in Joint::ALL {
        let slack = if joint == Joint::ElbowFlex {
            COMES_BACK
        } else {
            COUNT
        };
        let off = (measured[joint] - carried[joint]).abs();
        assert!(off <= slack, "{what}: {joint} is off by {off}");
    }
}

#[test]
fn fault_01_a_dropped_reply_is_asked_for_again_in_the_same_tick() {
    for nth in [0, 2, 5] {
        assert_harmless(&[Distortion::Drop(nth)], 1);
    }
    assert_harmless(&[Distortion::LoseRequest], 1);
}

#[test]
fn fault_04_a_corrupted_checksum_is_rejected_and_later_servos_are_still_heard() {
    for bit in [9, 28, 50, 100, 160] {
        // Were more than one asked again, the second strike would hit, too.
        let second = Distortion::Flip { nth: 1, bit: 60 };
        assert_harmless(&[Distortion::Flip { nth: 0, bit }, second.clone()], 1);
        assert_harmless(&[Distortion::Flip { nth: 3, bit }, second], 1);
    }
}

#[test]
fn fault_05_a_truncated_reply_ends_at_the_deadline_and_leaves_nothing_behind() {
    for keep in [1, 4, 20, 70, 125] {
        assert_harmless(&[Distortion::Truncate(keep)], 1);
    }
}

#[test]
fn fault_06_garbage_between_frames_is_skipped() {
    for noise in [
        vec![0xFF],
        vec![0xFF; 3],
        vec![0xFF, 0xFF, 3],
        vec![7, 0xFF],
    ] {
        for nth in [0, 1, 5] {
            assert_harmless(&[Distortion::Before(nth, noise.clone())], 0);
        }
        assert_harmless(&[Distortion::Inside(2, noise)], 1);
    }
}

#[test]
fn fault_07_a_header_inside_the_parameters_is_data() {
    let mut flight = Flight::armed(Plan::new(turned(0.0)));
    let pose = flight.arm.pose();
    let mut params = flight.said(3, Block::WATCH);
    // Speed and load.
    let speed = usize::from(Register::PresentVelocity.address() - Block::WATCH.address);
    params[speed..speed + 4].fill(0xFF);
    let retries = flight.snapshot.bus_retries;
    strike(&flight, &[Distortion::Params(2, params)]);
    flight.tick();
    assert_fresh(&flight, pose, "FF FF");
    assert_eq!(flight.snapshot.bus_retries, retries);
    assert!(flight.snapshot.faults.is_empty());
}

#[test]
fn fault_08_a_late_reply_is_never_taken_for_a_new_one() {
    // Every moment from the end of the deadline to the middle of the next tick, finest where it meets the next reading.
    let coarse = (9..60).step_by(3).map(Duration::from_millis);
    let fine = (0..40).map(|n| TICK + Duration::from_micros(n * 50));
    for late in coarse.chain(fine) {
        let mut flight = Flight::armed(Plan::new(turned(0.0)));
        strike(&flight, &[Distortion::Late(late)]);
        flight.tick();
        carry(&flight);
        let carried = flight.arm.pose();
        flight.tick();
        assert_fresh(&flight, carried, &format!("{late:?} late"));
        let seen = flight.ticks(5);
        assert!(
            seen.stopped.is_none()
                && seen.connection == smolpilot::runtime::Connection::Connected { torque: true }
        );
    }
}

#[test]
fn fault_09_a_reply_of_another_servo_never_lands_on_a_joint() {
    for odd in [
        Distortion::WrongId(0, 9),
        Distortion::WrongId(0, 4),
        Distortion::WrongId(3, 1),
        Distortion::Reverse,
    ] {
        assert_harmless(&[odd], 1);
    }
    assert_harmless(&[Distortion::Duplicate(2)], 0);
}

#[test]
fn fault_10_a_reply_of_the_wrong_length_is_rejected() {
    for nth in [0, 1, 5] {
        assert_harmless(&[Distortion::TooLong(nth)], 1);
    }
}
