//! Servos out of the box, plugged in one at a time, until they are an arm.

use std::time::Duration;

use smolpilot::arm::register::Register;
use smolpilot::arm::workbench::IDS;
use smolpilot::arm::workbench::numbering::{Numbered, Refusal, Verdict};
use smolpilot::arm::{Calibrations, Role};
use smolpilot::clock::Clock;
use smolpilot::joint::Joint;
use smolpilot::runtime::workshop::{Activity, CalibrationState, Order};
use smolpilot::sim::{Fault, Plug, SimArm};

use crate::workshop::{PORT, Visit, connect};

fn numbering(role: Role) -> Visit {
    let mut visit = Visit::with(SimArm::boxed(Clock::virtual_at_zero(), role));
    let port = PORT.to_owned();
    visit.say(Order::SetIds { port, role });
    visit
}

impl Visit {
    /// Plugs one servo in, alone, and says so.
    fn plug(&mut self, joint: Joint) {
        self.arm.plug(Plug::Only(joint));
        self.hunt();
    }

    /// Lets the workshop look for what is plugged in.
    fn hunt(&mut self) {
        self.say(Order::Next);
        while self.numbering().hunting.is_some() {
            self.turns(1);
        }
    }
}

/// The whole way of a person who has two boards and a bag of servos.
#[test]
fn a_boxed_arm_is_numbered_chained_calibrated_and_fit_to_be_used() {
    for role in Role::ALL {
        let mut visit = numbering(role);
        for joint in Joint::ALL.into_iter().rev() {
            assert_eq!(
                visit.numbering().wanted.map(|motor| motor.joint),
                Some(joint)
            );
            visit.plug(joint);
            let done = visit.numbering().done[joint.index()];
            let expected = match joint {
                Joint::ShoulderPan => Numbered::Already,
                _ => Numbered::From(1),
            };
            assert_eq!(done, Some(expected), "{joint}");
        }
        // Two plugs are still out.
        visit.arm.plug(Plug::All);
        visit.arm.plug(Plug::Out(Joint::WristRoll));
        visit.arm.plug(Plug::Out(Joint::Gripper));
        visit.say(Order::Next);
        let chain = visit.numbering().chain.unwrap();
        assert!(
            chain[0].contains("cable from it to wrist_roll"),
            "{chain:?}"
        );
        visit.arm.plug(Plug::All);
        visit.say(Order::Next);
        assert_eq!(visit.numbering().chain, Some(vec![]));
        assert_eq!(Joint::ALL.map(|joint| visit.arm.id(joint)), IDS);

        visit.begin(role);
        visit.go_through();
        visit.say(Order::Save {
            id: "fresh".to_owned(),
        });
        let paths = visit.saved().paths;
        let kept = Calibrations::below(visit.place.path());
        let calibration = kept.read(role, "fresh").unwrap();
        assert_eq!(paths[0], kept.find(role, "fresh").unwrap());
        let mut arm = connect(&visit.arm, calibration).unwrap();
        let (read, truth) = (arm.read_state().unwrap(), visit.arm.pose());
        assert!(read.max_abs_diff(truth) < 1.5, "{read:?} for {truth:?}");
        visit.say(Order::Survey);
        visit.turns(4);
        let known = CalibrationState::Known(vec![(role, "fresh".to_owned())]);
        assert_eq!(
            (visit.card(PORT).calibration, visit.card(PORT).role),
            (known, role)
        );
    }
}

#[test]
fn two_servos_are_refused_whatever_their_numbers() {
    let mut visit = numbering(Role::Follower);
    // Two fresh ones: both are number 1 and talk at once.
    visit.arm.plug(Plug::In(Joint::Gripper));
    visit.arm.plug(Plug::In(Joint::WristRoll));
    visit.hunt();
    let refused = visit.numbering().verdict;
    assert_eq!(refused, Some(Verdict::Refused(Refusal::Garbled)));
    assert_eq!(visit.arm.writes(), []);
    visit.plug(Joint::Gripper);
    // The numbered one was left in.
    visit.arm.plug(Plug::In(Joint::WristRoll));
    let written = visit.arm.writes().len();
    visit.hunt();
    let refused = visit.numbering().verdict;
    assert_eq!(
        refused,
        Some(Verdict::Refused(Refusal::Several(vec![1, 6])))
    );
    assert_eq!(
        visit.arm.writes().len(),
        written,
        "nobody was given a number"
    );
    assert_eq!(visit.arm.id(Joint::WristRoll), 1);
}

#[test]
fn a_servo_that_listens_at_another_speed_is_found_and_brought_to_the_arms() {
    let mut visit = numbering(Role::Follower);
    visit.plug(Joint::Gripper);
    let slow = Fault::Poke {
        id: 6,
        address: Register::BaudRate.address(),
        value: 4,
    };
    visit.arm.inject(slow);
    visit.say(Order::Back);
    let began = visit.clock.now();
    visit.hunt();
    let view = visit.numbering();
    assert_eq!(
        (view.trouble, view.done[5]),
        (None, Some(Numbered::From(6)))
    );
    let spent = visit.clock.now().saturating_sub(began);
    assert!(
        spent > Duration::from_secs(3),
        "four speeds in vain: {spent:?}"
    );
    visit.say(Order::Back);
    visit.hunt();
    assert_eq!(visit.numbering().done[5], Some(Numbered::Already));
}

#[test]
fn another_joints_servo_is_asked_about_and_back_goes_back() {
    let mut visit = numbering(Role::Leader);
    visit.plug(Joint::Gripper);
    let written = visit.arm.writes().len();
    visit.hunt();
    let verdict = visit.numbering().verdict;
    assert!(matches!(verdict, Some(Verdict::Foreign(motor)) if motor.joint == Joint::Gripper));
    assert_eq!(visit.arm.writes().len(), written);
    visit.say(Order::Insist);
    assert_eq!(visit.numbering().done[4], Some(Numbered::From(6)));
    assert_eq!(visit.arm.id(Joint::Gripper), 5);
    visit.say(Order::Back);
    visit.say(Order::Back);
    assert_eq!(visit.numbering().wanted.map(|motor| motor.id), Some(6));
    visit.hunt();
    visit.say(Order::Insist);
    assert_eq!(visit.arm.id(Joint::Gripper), 6);
}

#[test]
fn an_empty_line_is_listened_to_at_every_speed_and_can_be_left_meanwhile() {
    let mut visit = numbering(Role::Follower);
    visit.arm.plug(Plug::Out(Joint::Gripper));
    let began = visit.clock.now();
    visit.hunt();
    let refused = visit.numbering().verdict;
    assert_eq!(refused, Some(Verdict::Refused(Refusal::Nobody)));
    assert!(
        visit.clock.now().saturating_sub(began) > Duration::from_secs(6),
        "eight speeds"
    );
    visit.say(Order::Next);
    visit.turns(2);
    let seen = visit.say(Order::Cancel);
    assert_eq!(
        (seen.activity, visit.arm.writes()),
        (Activity::Idle, vec![])
    );
}
