//! Calibrations that succeed, that are left, and that fail at each place where they can.

use std::time::Duration;

use smolpilot::arm::register::RAM_START;
use smolpilot::arm::workbench::calibrating::Stage;
use smolpilot::arm::workbench::finding::Finding;
use smolpilot::arm::{Calibrations, Role};
use smolpilot::clock::Clock;
use smolpilot::joint::{JOINT_COUNT, Joint};
use smolpilot::runtime::workshop::{Activity, CalibrationState, Line, Order};
use smolpilot::sim::{Fault, SimArm};

use crate::workshop::{PORT, Visit, connect};

/// Writes that a servo would keep.
fn kept_writes(arm: &SimArm) -> usize {
    let writes = arm.writes();
    writes
        .iter()
        .filter(|write| write.address < RAM_START)
        .count()
}

#[test]
fn a_fresh_arm_is_found_calibrated_and_fit_to_be_driven() {
    let mut visit = Visit::with_fresh_arm(Role::Follower);
    visit.ports.plug("/dev/ttyACM7", None);
    visit.say(Order::Survey);
    visit.turns(4);
    let card = visit.card(PORT);
    assert_eq!((card.present, card.role), (6, Role::Follower));
    assert_eq!(card.calibration, CalibrationState::Absent);
    assert_eq!(card.problems, Vec::<String>::new());
    let closed = visit.shop.view().port("/dev/ttyACM7").unwrap().line.clone();
    assert!(matches!(closed, Line::Refused(trouble) if trouble.what.contains("/dev/ttyACM7")));

    visit.begin(Role::Follower);
    visit.go_through();
    let view = visit.calibrating();
    assert_eq!(view.obstacles, Vec::<String>::new());
    assert!(view.pose.unwrap().max_abs_diff(visit.arm.pose()) < 1.5);
    assert_eq!(visit.arm.writes(), [], "nothing before the last word");
    assert_eq!(visit.files(), 0);
    visit.say(Order::Save {
        id: "blue".to_owned(),
    });
    let saved = visit.saved();
    assert_eq!((saved.paths.len(), saved.changed.len()), (2, 6));
    let kept = Calibrations::below(visit.place.path());
    let calibration = kept.read(Role::Follower, "blue").unwrap();
    assert_eq!(Some(calibration), view.plan);
    // The pretend arm knows what a right calibration of it says; its stops lie a degree beyond.
    let truth = visit.arm.calibration();
    for joint in Joint::ALL {
        let (mine, right) = (calibration.motor(joint), truth.motor(joint));
        let travel = mine.range_max - mine.range_min;
        let wanted = right.range_max - right.range_min;
        assert!(
            (travel - wanted).abs() <= 26,
            "{joint}: {travel} for {wanted}"
        );
        assert_eq!(mine.drive_mode, 0);
    }
    let mut arm = connect(&visit.arm, calibration).unwrap();
    assert!(arm.read_state().unwrap().max_abs_diff(visit.arm.pose()) < 1.5);
    visit.say(Order::Survey);
    visit.turns(4);
    let known = CalibrationState::Known(vec![(Role::Follower, "blue".to_owned())]);
    assert_eq!(visit.card(PORT).calibration, known);
}

#[test]
fn a_visit_can_be_left_at_any_step_with_nothing_written() {
    for steps in [0, 1, 2] {
        let mut visit = Visit::with_fresh_arm(Role::Leader);
        visit.begin(Role::Leader);
        match steps {
            0 => {}
            1 => {
                visit.centre();
                visit.next();
                visit.sweep(Joint::ElbowFlex);
            }
            _ => visit.go_through(),
        }
        let seen = visit.say(Order::Cancel);
        assert_eq!((seen.activity, seen.trouble), (Activity::Idle, None));
        assert_eq!((visit.arm.writes().len(), visit.files()), (0, 0));
    }
}

#[test]
fn a_step_that_is_not_done_says_what_is_missing() {
    let mut visit = Visit::with_fresh_arm(Role::Follower);
    visit.begin(Role::Follower);
    visit.centre();
    visit.next();
    visit.lead(Joint::ShoulderPan, 40.0);
    let seen = visit.say(Order::Next);
    let trouble = seen.trouble.unwrap();
    assert!(trouble.remedy.contains("elbow_flex"), "{trouble:?}");
    assert_eq!(visit.calibrating().stage, Stage::Sweep);
    let seen = visit.say(Order::Save {
        id: "blue".to_owned(),
    });
    assert!(seen.trouble.unwrap().remedy.contains("Nothing was written"));
    visit.say(Order::Redo(Joint::ShoulderPan));
    assert_eq!(visit.calibrating().bars[0].travel, 0.0);
    visit.say(Order::Back);
    assert_eq!(visit.calibrating().stage, Stage::Middle);
    assert_eq!((visit.arm.writes().len(), visit.files()), (0, 0));
}

#[test]
fn an_arm_that_holds_is_let_go_before_it_is_moved() {
    let mut visit = Visit::with(SimArm::new(Clock::virtual_at_zero()));
    let mut flown = connect(&visit.arm, visit.arm.calibration()).unwrap();
    flown.begin_arming();
    while !flown.torque_enabled() {
        flown.advance_torque().unwrap();
        visit.clock.advance(Duration::from_millis(10));
    }
    drop(flown);
    let before = kept_writes(&visit.arm);
    visit.begin(Role::Follower);
    assert_eq!(visit.calibrating().holding.len(), JOINT_COUNT);
    visit.turns(30);
    let trouble = visit.say(Order::Next).trouble.unwrap();
    assert!(trouble.remedy.contains("Support"), "{trouble:?}");
    visit.say(Order::LetGo(PORT.to_owned()));
    assert_eq!(visit.calibrating().holding, []);
    assert!(Joint::ALL.iter().all(|joint| !visit.arm.torque(*joint)));
    assert_eq!(kept_writes(&visit.arm), before);
}

#[test]
fn a_cable_that_comes_out_ends_the_visit_and_says_that_nothing_was_written() {
    let mut visit = Visit::with_fresh_arm(Role::Follower);
    visit.begin(Role::Follower);
    visit.centre();
    visit.next();
    visit.arm.inject(Fault::Disconnect);
    let seen = visit.turns(1);
    assert_eq!(seen.activity, Activity::Idle);
    let trouble = seen.trouble.unwrap();
    assert!(trouble.what.contains(PORT) && trouble.remedy.contains("Nothing was written"));
}

#[test]
fn a_full_disk_leaves_the_servos_alone() {
    let mut visit = Visit::with_fresh_arm(Role::Follower);
    visit.begin(Role::Follower);
    visit.go_through();
    // A file where a folder is to be.
    std::fs::write(visit.place.path().join("robots"), "").unwrap();
    let seen = visit.say(Order::Save {
        id: "blue".to_owned(),
    });
    assert!(seen.trouble.unwrap().what.contains("robots"));
    assert_eq!(visit.arm.writes(), []);
    let seen = visit.say(Order::Save {
        id: "../blue".to_owned(),
    });
    assert!(seen.trouble.unwrap().what.contains("cannot be the name"));
    std::fs::remove_file(visit.place.path().join("robots")).unwrap();
    visit.say(Order::Save {
        id: " blue ".to_owned(),
    });
    assert_eq!(visit.saved().id, "blue", "the visit goes on after it");
}

#[test]
fn the_arm_that_a_hand_moves_is_the_one() {
    let mut visit = Visit::with_fresh_arm(Role::Follower);
    let other = SimArm::leader(visit.clock.clone());
    visit.ports.plug("/dev/ttyACM1", Some(&other));
    visit.ports.plug("/dev/ttyACM2", None);
    visit.say(Order::Identify);
    visit.turns(3);
    let arms = |visit: &Visit| match visit.shop.view().activity {
        Activity::Identifying(arms) => arms,
        other => panic!("{other:?}"),
    };
    assert!(arms(&visit).iter().all(|arm| !arm.is_this));
    assert!(arms(&visit)[2].trouble.is_some());
    other.hand("shoulder_pan=25".parse().unwrap());
    visit.turns(40);
    let moved: Vec<bool> = arms(&visit).iter().map(|arm| arm.is_this).collect();
    assert_eq!(moved, [false, true, false]);
    let leader = &arms(&visit)[1];
    assert!(leader.travel[0] > 20.0 && leader.travel[1] < 1.0);
    assert!(leader.hint.as_ref().unwrap().contains("leader"));
    assert_eq!((other.writes(), visit.arm.writes()), (vec![], vec![]));
}

#[test]
fn a_port_is_found_by_its_plug() {
    let mut visit = Visit::with_fresh_arm(Role::Follower);
    visit.ports.plug("/dev/ttyACM1", None);
    visit.say(Order::FindPort);
    visit.turns(2);
    visit.ports.unplug(PORT);
    let seen = visit.turns(1);
    assert!(
        matches!(&seen.activity, Activity::Finding(Finding::Replug { gone, .. }) if gone.path == PORT)
    );
    visit.ports.plug("/dev/ttyACM3", None);
    let seen = visit.turns(1);
    assert!(
        matches!(seen.activity, Activity::Finding(Finding::Found(port)) if port.path == "/dev/ttyACM3")
    );
}
