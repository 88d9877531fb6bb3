//! A leader that is not where the follower is: its pose is approached, at every start, and never sent as it is.

use std::time::Duration;

use smolpilot::joint::Joint;
use smolpilot::runtime::{Command, LeaderStatus, Mode};
use smolpilot::sim::{Gesture, SimArm};

use crate::flight::{COUNT, Flight, Plan, START};

/// Where the leader is held, degrees of pan away from the follower.
const APART: f32 = 40.0;
/// The most that a joint is sent in a tick of an approach: 30 degrees a second at 60 Hz, and the rounding to whole counts.
const SLOW: f32 = 0.5 + COUNT;

fn led() -> (Flight, SimArm) {
    let plan = Plan::new(START);
    let leader = SimArm::leader(plan.arm.clock().clone());
    let mut flight = Flight::armed(Plan {
        leader: Some(leader.clone()),
        ..plan
    });
    hold(&leader, APART);
    flight.until("held", |seen| {
        let leader = seen.leader.as_ref().unwrap();
        let is_there = |pan: f32| (pan - APART).abs() < 1.0;
        leader.status == LeaderStatus::Live
            && leader
                .pose
                .is_some_and(|pose| is_there(pose[Joint::ShoulderPan]))
    });
    (flight, leader)
}

fn hold(leader: &SimArm, pan: f32) {
    let mut pose = START;
    pose[Joint::ShoulderPan] = pan;
    leader.hand(Gesture::To(pose));
}

/// Ticks until the leader's pan is reached, slowly; checks every goal that reached the servo on the way.
fn assert_approached(flight: &mut Flight, pan: f32) {
    let began = flight.now();
    flight.until("approached", |seen| seen.approaching.is_some());
    flight.until("aligned", |seen| seen.approaching.is_none());
    let took = flight.now().saturating_sub(began);
    assert!(took >= Duration::from_millis(1450), "{took:?}");
    let calibration = flight.arm.calibration();
    let joint = Joint::ShoulderPan;
    let goals = flight.goals_since(began, calibration.motor(joint).id);
    let units = goals
        .iter()
        .map(|goal| calibration.normalize(joint, (*goal).into()));
    let units: Vec<f32> = units.collect();
    assert!(units.len() > 80);
    for pair in units.windows(2) {
        assert!((pair[1] - pair[0]).abs() <= SLOW, "{pair:?}");
    }
    assert!((flight.snapshot.commanded[joint] - pan).abs() < 1.0);
}

#[test]
fn fault_25_a_leader_that_is_elsewhere_is_approached_at_every_start() {
    let (mut flight, leader) = led();
    flight.assert_still(10);
    flight.tell(Command::SetMode(Mode::Teleop));
    assert_approached(&mut flight, APART);
    // Stopped in mid-run, while the hand goes on.
    flight.runtime.estop.press();
    flight.ticks(3);
    flight.assert_stopped();
    hold(&leader, -APART);
    flight.ticks(60);
    flight.assert_still(30);
    flight.tell(Command::Resume);
    flight.tell(Command::SetMode(Mode::Teleop));
    assert_approached(&mut flight, -APART);
    assert!(
        flight.snapshot.faults.is_empty(),
        "{:?}",
        flight.snapshot.faults
    );
}
