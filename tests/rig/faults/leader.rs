//! A leader that stands elsewhere when the follower begins to follow it.

use std::time::Duration;

use smolpilot::joint::{Joint, JointVec};
use smolpilot::runtime::{Command, LeaderView, Mode, Snapshot};
use smolpilot::sim::{Gesture, SimArm};

use crate::flight::{COUNT, Flight, Plan, START};

/// Of a body joint and of the gripper on the way, robot units a second: half of what driving may do.
const SLOW: [f32; 2] = [30.0, 50.0];
/// At 60 Hz.
const PERIOD_S: f32 = 1.0 / 60.0;

/// Where the leader stands: elsewhere in every joint, and clear of the table.
const ELSEWHERE: JointVec = JointVec([40.0, -30.0, 30.0, 20.0, -35.0, 70.0]);

/// An armed follower, and a leader that is read.
fn apart() -> Flight {
    let mut plan = Plan::new(START);
    let leader = SimArm::leader(plan.arm.clock().clone());
    leader.hand(Gesture::To(ELSEWHERE));
    plan.leader = Some(leader);
    let mut flight = Flight::armed(plan);
    flight.until("led", |seen| {
        let leader = seen.leader.as_ref().filter(|leader| leader.is_live());
        leader.is_some_and(|leader| at(leader).max_abs_diff(ELSEWHERE) < 1.0)
    });
    flight
}

fn at(leader: &LeaderView) -> JointVec {
    leader.pose.unwrap()
}

fn follows(seen: &Snapshot) -> bool {
    seen.mode == Mode::Teleop && seen.approaching.is_none()
}

#[test]
fn fault_25_a_follower_comes_slowly_to_a_leader_that_stands_elsewhere() {
    let mut flight = apart();
    let (then, start) = (flight.now(), flight.snapshot.commanded);
    flight.tell(Command::SetMode(Mode::Teleop));
    flight.until("on its way", |seen| seen.approaching.is_some());
    let seen = flight.until("aligned", follows);
    assert!(
        flight.now().saturating_sub(then) >= Duration::from_millis(1500),
        "there is time to see it and to press stop"
    );
    let leader = at(seen.leader.as_ref().unwrap());
    assert!(seen.commanded.max_abs_diff(leader) <= 1.0, "{leader:?}");
    for joint in Joint::ALL {
        let speed = SLOW[usize::from(joint == Joint::Gripper)];
        let calibration = flight.arm.calibration();
        let goals = flight.goals_since(then, calibration.motor(joint).id);
        let units = goals
            .iter()
            .map(|goal| calibration.normalize(joint, (*goal).into()));
        let all: Vec<f32> = std::iter::once(start[joint]).chain(units).collect();
        for pair in all.windows(2) {
            let step = (pair[1] - pair[0]).abs();
            assert!(step <= speed * PERIOD_S + COUNT, "{joint} by {step}");
        }
    }
}

/// Not only at the first start: whenever somebody begins to drive, whatever the hand did meanwhile.
#[test]
fn fault_25_a_leader_that_went_on_during_a_stop_is_approached_anew() {
    let mut flight = apart();
    flight.tell(Command::SetMode(Mode::Teleop));
    flight.until("aligned", follows);
    flight.runtime.estop.press();
    flight.ticks(3);
    flight.assert_stopped();
    let leader = flight.leader.clone().unwrap();
    leader.hand(Gesture::To(START));
    flight.ticks(60);
    flight.assert_still(30);
    let then = flight.now();
    flight.tell(Command::Resume);
    flight.tell(Command::SetMode(Mode::Teleop));
    flight.until("on its way", |seen| seen.approaching.is_some());
    flight.until("aligned again", follows);
    assert!(flight.now().saturating_sub(then) >= Duration::from_millis(1500));
    assert!(flight.snapshot.commanded.max_abs_diff(START) <= 1.0);
    let pan = flight.arm.calibration().motor(Joint::ShoulderPan).id;
    let goals = flight.goals_since(then, pan);
    let calibration = flight.arm.calibration();
    let units = |goal: i32| calibration.normalize(Joint::ShoulderPan, goal.into());
    for pair in goals.windows(2) {
        let step = (units(pair[1]) - units(pair[0])).abs();
        assert!(step <= SLOW[0] * PERIOD_S + COUNT, "{step}");
    }
}
