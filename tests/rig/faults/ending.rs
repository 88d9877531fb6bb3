//! Torque that goes off, and programs that end: what each servo does then.

use std::time::Duration;

use smolpilot::arm::{Arm, Options};
use smolpilot::clock::Clock;
use smolpilot::joint::Joint;
use smolpilot::runtime::{Command, Connection, FaultKind, Halted, Mode};
use smolpilot::sim::{Fault, SimArm};

use crate::flight::{Flight, Plan, START, turned};
use crate::stand::{RESET, Stand, armed, fault, rig_that};

#[test]
fn fault_28_torque_off_reaches_every_servo_and_names_those_that_did_not_confirm() {
    let mut flight = Flight::armed(Plan::new(turned(0.0)));
    // One complains in every answer, which is an answer; one says nothing.
    flight.arm.inject(Fault::Alarms(4, 0x20));
    flight.tell(Command::ReleaseTorque);
    flight.ticks(3);
    flight.arm.inject(Fault::Mute(3));
    let told = flight.until_fault(FaultKind::Arming);
    assert!(
        told.what.contains("may still be on") && told.what.contains("elbow_flex (motor 3)"),
        "{}",
        told.what
    );
    assert!(!told.what.contains("motor 4"), "{}", told.what);
    assert!(told.remedy.contains("power"), "{}", told.remedy);
    assert_eq!(flight.torques(), [false, false, true, false, false, false]);
    assert!(!armed(flight.tick()));
    // Nothing is switched on again behind the operator's back.
    let then = flight.now();
    flight.ticks(30);
    flight.assert_no_goal_since(then);
    flight.arm.heal();
    flight.tell(Command::ReleaseTorque);
    flight.until("limp", |seen| seen.held_joints == 0);
    assert_eq!(flight.torques(), [false; 6]);
}

#[test]
fn fault_28_a_frame_that_is_lost_is_sent_again() {
    let mut flight = Flight::armed(Plan::new(turned(0.0)));
    flight.tell(Command::ReleaseTorque);
    flight.until("on its way", |seen| seen.releasing > Some(0.9));
    // One servo hears neither the broadcast nor the first frame that is meant for it.
    flight.arm.inject(Fault::MuteFor(2, 4));
    flight.until("limp", |seen| !armed(seen) && seen.releasing.is_none());
    assert_eq!(flight.torques(), [false; 6]);
    assert!(flight.fault(FaultKind::Arming).is_none());
}

#[test]
fn fault_28_the_last_resort_is_a_broadcast() {
    let mut flight = Flight::armed(Plan::new(turned(0.0)));
    flight.tell(Command::ReleaseTorque);
    flight.until("nearly there", |seen| seen.releasing > Some(0.9));
    // Deaf to the first broadcast and to three frames that are meant for it, with their questions.
    let told = loop {
        flight.tick();
        if let Some(told) = flight.fault(FaultKind::Arming) {
            break told;
        }
        flight.arm.heal();
        flight.arm.inject(Fault::MuteFor(2, DEAF));
    };
    assert!(
        told.what.contains("shoulder_lift (motor 2)"),
        "{}",
        told.what
    );
    assert_eq!(flight.torques(), [false; 6], "unconfirmed, and off");
}

#[test]
fn fault_29_closing_in_mid_motion_stops_the_arm_and_leaves_it_holding() {
    let mut flight = Flight::moving();
    flight.tell(Command::Shutdown);
    let mut ticks = 0;
    while !flight.runtime.has_ended() {
        flight.tick();
        ticks += 1;
    }
    assert!(ticks <= 3, "{ticks}");
    flight.assert_stopped();
    assert_eq!(flight.torques(), [true; 6]);
    flight.arm.advance();
    let pose = flight.arm.pose();
    flight.arm.clock().advance(Duration::from_secs(1));
    flight.arm.advance();
    assert!(flight.arm.pose().max_abs_diff(pose) < COAST);
}

#[test]
fn fault_29_an_arm_that_confirms_nothing_does_not_keep_the_program_from_ending() {
    let mut flight = Flight::moving();
    flight.arm.inject(Fault::Mute(3));
    flight.tell(Command::Shutdown);
    let then = flight.now();
    while !flight.runtime.has_ended() {
        flight.tick();
    }
    assert!(flight.now() < then + Duration::from_millis(1500));
    assert!(!flight.snapshot.stopped.as_ref().unwrap().acknowledged);
}

#[test]
fn fault_29_an_arm_that_is_lost_on_the_way_is_not_said_to_stand() {
    let mut flight = Flight::moving();
    flight.arm.inject(Fault::Disconnect);
    flight.tell(Command::Shutdown);
    while !flight.runtime.has_ended() {
        flight.tick();
    }
    let connected = matches!(flight.snapshot.connection, Connection::Connected { .. });
    assert!(!connected && flight.snapshot.left_holding);
    assert_eq!(Halted::at_end(&flight.snapshot), Halted::Unconfirmed);
    // One that was limp does not move.
    let mut flight = Flight::at_rest(Plan::new(START));
    flight.arm.inject(Fault::Disconnect);
    flight.tell(Command::Shutdown);
    while !flight.runtime.has_ended() {
        flight.tick();
    }
    assert_eq!(Halted::at_end(&flight.snapshot), Halted::NoArm);
}

#[test]
fn fault_29_a_runtime_that_is_dropped_stops_the_arm() {
    let Stand { runtime, arm, .. } = Stand::moving();
    drop(runtime);
    assert_holds(&arm);
}

#[test]
fn fault_29_a_crash_of_the_loop_freezes_the_arm_before_it_ends() {
    let stand = Stand::moving_with(|setup| {
        setup.rig = Some(rig_that(|| panic!("the scene fell over")));
    });
    stand.tell(RESET);
    let end = std::time::Instant::now() + Duration::from_secs(20);
    while stand.runtime.is_running() {
        assert!(std::time::Instant::now() < end);
        std::thread::yield_now();
    }
    let last = stand.runtime.snapshot.get().unwrap();
    assert!(last.stopped.as_ref().is_some_and(|stop| stop.acknowledged));
    assert_eq!(last.mode, Mode::Hold);
    let died = fault(&last, FaultKind::LoopDied).unwrap();
    assert!(died.what.contains("the scene fell over"), "{}", died.what);
    assert_holds(&stand.arm);
    assert_eq!(
        stand.runtime.halt().stop(Duration::from_secs(1)),
        Halted::Holding
    );
    let Stand { runtime, arm, .. } = stand;
    assert_eq!(runtime.shutdown(), Halted::Holding);
    // The port is free again.
    let options = Options {
        clock: arm.clock().clone(),
        ..Options::default()
    };
    assert!(Arm::connect(arm.port(), arm.calibration(), options).is_ok());
}

#[test]
fn fault_29_a_halt_from_outside_waits_for_the_read_back() {
    let stand = Stand::moving();
    let halt = stand.runtime.halt();
    assert_eq!(halt.stop(Duration::from_secs(20)), Halted::Holding);
    assert_holds(&stand.arm);
    // A second one changes nothing, and breaks nothing off.
    assert_eq!(halt.stop(Duration::from_secs(20)), Halted::Holding);
    let Stand { runtime, .. } = stand;
    assert_eq!(runtime.shutdown(), Halted::Holding);
    let limp = Stand::with_arm(SimArm::new(Clock::real()), turned(0.0));
    assert_ne!(
        limp.runtime.halt().stop(Duration::from_secs(20)),
        Halted::Unconfirmed
    );
}

/// The transactions of a tick that switches torque off: two readings, a broadcast, and three times a frame and a question.
const DEAF: u64 = 9;

/// What a joint at full speed goes on by until it stands, and the way back to its goal.
const COAST: f32 = 4.0;

/// Torque is on, and nothing moves.
fn assert_holds(arm: &SimArm) {
    arm.advance();
    let pose = arm.pose();
    let clock = arm.clock();
    clock.sleep_until(clock.now() + Duration::from_millis(300));
    arm.advance();
    assert!(arm.pose().max_abs_diff(pose) < COAST, "it goes on");
    assert!(Joint::ALL.iter().all(|&joint| arm.torque(joint)));
}
