//! The workshop's pages: what a person without a terminal presses to find, number, calibrate and choose an arm.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::Key;
use smolpilot::arm::workbench::calibrating::{Calibrating, Stage};
use smolpilot::arm::workbench::finding::Finding;
use smolpilot::arm::workbench::numbering::{Numbered, Verdict};
use smolpilot::arm::{Calibration, Motor, MotorCalibration, PortInfo, Role};
use smolpilot::joint::{JOINT_COUNT, Joint, JointVec};
use smolpilot::runtime::workshop::{
    Activity, ArmCard, CalibratingView, CalibrationState, IdentifiedArm, Line, NumberingView,
    Order, PortView, SavedView, Trouble, WorkshopView,
};
use smolpilot::runtime::{ArmSource, Command, Connection, Fault, FaultKind, Snapshot};
use smolpilot::ui::Page;

use crate::fixture;
use crate::rig::Rig;

const PORT: &str = "/dev/ttyACM0";

fn port(path: &str, line: Line) -> PortView {
    PortView {
        info: PortInfo {
            path: path.to_owned(),
            description: "USB Single Serial".to_owned(),
            usb: true,
            serial: Some("5A46083062".to_owned()),
            adapter: true,
        },
        line,
    }
}

fn card(calibration: CalibrationState) -> ArmCard {
    ArmCard {
        present: JOINT_COUNT,
        calibration,
        hint: Some("12 V servos: a follower".to_owned()),
        volts: Some(12.1),
        ..ArmCard::default()
    }
}

fn arm(card: ArmCard) -> Line {
    Line::Arm(Box::new(card))
}

fn known(role: Role, id: &str) -> CalibrationState {
    CalibrationState::Known(vec![(role, id.to_owned())])
}

fn source(path: &str, id: &str) -> ArmSource {
    ArmSource::Port {
        path: path.to_owned(),
        id: id.to_owned(),
    }
}

/// The tab Arms over this workshop; what it asks for when it opens has been asked.
fn arms(workshop: WorkshopView) -> Rig {
    arms_over(fixture::idle(), workshop)
}

fn arms_over(mut snapshot: Snapshot, workshop: WorkshopView) -> Rig {
    snapshot.workshop = Arc::new(WorkshopView {
        is_surveyed: true,
        ..workshop
    });
    let mut rig = Rig::new(snapshot);
    rig.0.state_mut().draft.page = Page::Setup;
    rig.settle();
    assert_eq!(rig.choose("Arms"), []);
    rig
}

fn doing(activity: Activity) -> Rig {
    arms(WorkshopView {
        activity,
        ..WorkshopView::default()
    })
}

fn said(order: Order) -> [Command; 1] {
    [Command::Workshop(order)]
}

/// A calibration at this step: by a machine that was led there, so that the bars are true.
fn calibrating(stage: Stage) -> CalibratingView {
    let mut steps = Calibrating::new(Role::Follower, [1, 2, 3, 4, 5, 6], [0; JOINT_COUNT]);
    let mut now = Duration::ZERO;
    let mut look = |steps: &mut Calibrating, at: [i32; JOINT_COUNT]| {
        now += Duration::from_millis(20);
        steps.measured(at.map(Some), now);
    };
    let mut at = [2000; JOINT_COUNT];
    for _ in 0..20 {
        look(&mut steps, at);
    }
    if stage > Stage::Middle {
        assert_eq!(steps.advance(), Ok(Stage::Sweep));
        let led = if stage == Stage::Sweep {
            2
        } else {
            JOINT_COUNT
        };
        for joint in 0..led {
            for step in (-10..=10).chain((0..10).rev()) {
                at[joint] = 2000 + step * 100;
                look(&mut steps, at);
            }
        }
    }
    if stage > Stage::Sweep {
        assert_eq!(steps.advance(), Ok(Stage::Close));
    }
    for (next, gripper) in [(Stage::Open, 1000), (Stage::Check, 3000)] {
        if stage >= next {
            while at[5] != gripper {
                at[5] += (gripper - at[5]).clamp(-100, 100);
                look(&mut steps, at);
            }
            assert_eq!(steps.advance(), Ok(next));
        }
    }
    assert_eq!(steps.stage(), stage);
    CalibratingView {
        port: PORT.to_owned(),
        role: Role::Follower,
        stage,
        holding: vec![],
        bars: steps.bars(),
        obstacles: steps.obstacles().iter().map(ToString::to_string).collect(),
        remarks: vec![],
        pose: steps.pose(),
        expected: JointVec::default(),
        plan: steps.calibration().ok(),
        before: [MotorCalibration {
            id: 1,
            drive_mode: 0,
            homing_offset: 0,
            range_min: 0,
            range_max: 4095,
        }; JOINT_COUNT],
        suggested_id: "blue".to_owned(),
    }
}

fn calibrate(stage: Stage) -> Rig {
    doing(Activity::Calibrating(Box::new(calibrating(stage))))
}

#[test]
fn opening_the_tab_asks_who_is_there_once() {
    let mut rig = Rig::new(fixture::idle());
    rig.0.state_mut().draft.page = Page::Setup;
    rig.settle();
    assert_eq!(rig.choose("Arms"), said(Order::Survey));
    rig.settle();
    assert_eq!(rig.take(), []);
    assert_eq!(rig.press("Look again"), said(Order::Survey));
    assert_eq!(rig.press("Which arm is which?"), said(Order::Identify));
    assert_eq!(rig.press("Find a port by its plug"), said(Order::FindPort));
}

#[test]
fn a_calibrated_arm_is_taken_and_an_uncalibrated_one_is_calibrated_or_numbered() {
    let mut rig = arms(WorkshopView {
        ports: vec![port(PORT, arm(card(known(Role::Follower, "blue"))))],
        ..WorkshopView::default()
    });
    assert!(rig.shows("calibrated: follower blue") && rig.shows("12.1 V"));
    let taken = Command::UseArm(Role::Follower, Some(source(PORT, "blue")));
    assert_eq!(rig.press("Use as follower"), [taken]);
    let mut rig = arms(WorkshopView {
        ports: vec![port(PORT, arm(card(CalibrationState::Absent)))],
        ..WorkshopView::default()
    });
    assert!(rig.shows("not calibrated"));
    assert_eq!(
        rig.press("Use as follower"),
        [],
        "not before it is calibrated"
    );
    assert_eq!(rig.choose("leader"), []);
    let (port, role) = (PORT.to_owned(), Role::Leader);
    assert_eq!(
        rig.press("Calibrate"),
        said(Order::Calibrate {
            port: port.clone(),
            role
        })
    );
    assert_eq!(rig.press("Set ids"), said(Order::SetIds { port, role }));
}

#[test]
fn an_arm_in_use_is_let_go_before_anything_else() {
    let mut snapshot = fixture::idle();
    snapshot.sources.follower = Some(source(PORT, "blue"));
    let mut rig = arms_over(
        snapshot,
        WorkshopView {
            ports: vec![port(PORT, Line::Unknown)],
            ..WorkshopView::default()
        },
    );
    assert!(rig.shows("in use as the follower") && rig.shows("none; choose one below"));
    assert_eq!(
        rig.press("Disconnect the follower"),
        [Command::UseArm(Role::Follower, None)]
    );
    assert_eq!(
        rig.press("Fly the simulated arm"),
        [Command::UseArm(Role::Follower, Some(ArmSource::Simulated))]
    );
}

#[test]
fn an_arm_that_holds_is_let_go_after_a_warning() {
    let held = ArmCard {
        held_joints: 6,
        ..card(CalibrationState::Foreign)
    };
    let mut rig = arms(WorkshopView {
        ports: vec![port(PORT, arm(held))],
        ..WorkshopView::default()
    });
    assert_eq!(rig.press("Let it go…"), []);
    assert!(rig.shows("Support the arm"));
    assert_eq!(rig.press("Keep holding"), []);
    rig.press("Let it go…");
    assert_eq!(
        rig.press("I hold it: let go"),
        said(Order::LetGo(PORT.to_owned()))
    );
}

#[test]
fn a_port_that_cannot_be_opened_says_what_to_do_and_any_port_can_be_named() {
    let refused = Line::Refused(Trouble {
        what: "/dev/ttyACM0: you may not open the port".to_owned(),
        remedy: "The port belongs to the group dialout".to_owned(),
    });
    let mut rig = arms(WorkshopView {
        ports: vec![port(PORT, refused)],
        ..WorkshopView::default()
    });
    assert!(rig.shows("you may not open") && rig.shows("group dialout"));
    rig.write("Another port", "/dev/pts/7");
    assert_eq!(
        rig.press("Look at it"),
        said(Order::Look("/dev/pts/7".to_owned()))
    );
    rig.write("Another port", "/dev/pts/8");
    assert_eq!(
        rig.key(Key::Enter),
        said(Order::Look("/dev/pts/8".to_owned())),
        "Enter does what the button does"
    );
    assert_eq!(rig.key(Key::T), [], "the field is still typed into");
    let rig = arms(WorkshopView::default());
    assert!(rig.shows("No USB port") && rig.shows("USB cable carries"));
}

#[test]
fn a_refusal_is_said_on_the_page_where_it_was_pressed() {
    let mut snapshot = fixture::idle();
    let what = "the arm on /dev/ttyACM0 holds and was not disconnected";
    let remedy = "Support it, press Release torque, then choose again.";
    snapshot.faults = vec![Fault {
        id: 7,
        kind: FaultKind::Workshop,
        what: what.to_owned(),
        remedy: remedy.to_owned(),
        since: Duration::ZERO,
        count: 1,
        active: false,
    }];
    let mut rig = arms_over(snapshot, WorkshopView::default());
    assert!(rig.shows(what) && rig.shows(remedy));
    assert_eq!(rig.press("Acknowledge"), [Command::Acknowledge(7)]);
}

#[test]
fn each_step_of_a_calibration_asks_for_one_thing() {
    let mut rig = calibrate(Stage::Middle);
    assert!(rig.shows("step 1 of 6") && rig.shows("middle of its travel"));
    assert_eq!(rig.press("It stands in the middle"), said(Order::Next));
    assert_eq!(rig.key(Key::Enter), said(Order::Next));
    assert_eq!(rig.press("Cancel"), said(Order::Cancel));

    let mut rig = calibrate(Stage::Sweep);
    assert!(rig.shows("elbow_flex has not moved yet") && rig.shows("and 1 more"));
    assert_eq!(rig.press("All joints are swept"), [], "not yet");
    assert_eq!(rig.key(Key::Enter), []);
    let redo = said(Order::Redo(Joint::ShoulderLift));
    assert_eq!(rig.press("Redo shoulder lift"), redo);
    assert_eq!(rig.press("Back"), said(Order::Back));

    for (stage, words, button) in [
        (Stage::Close, "Close the gripper", "It is closed"),
        (Stage::Open, "which way it opens", "It is open"),
    ] {
        let mut rig = calibrate(stage);
        assert!(rig.shows(words));
        assert_eq!(rig.press(button), [], "the gripper stands elsewhere");
        let state = rig.0.state();
        assert!(
            state.draft.scene.subject.is_some(),
            "the asked pose is drawn"
        );
    }
}

#[test]
fn nothing_is_saved_before_the_name_is_given_and_the_plan_was_seen() {
    let mut rig = calibrate(Stage::Check);
    assert!(rig.shows("must follow"));
    assert_eq!(rig.press("It follows: go on to save"), []);
    assert!(rig.shows("step 6 of 6") && rig.shows("0 → 1047") || rig.shows("0 → "));
    assert_eq!(rig.press("Back"), []);
    assert!(rig.shows("step 5 of 6"));
    rig.press("It follows: go on to save");
    rig.write("Name of this arm", "2");
    let id = "blue2".to_owned();
    assert_eq!(rig.press("Save"), said(Order::Save { id: id.clone() }));
    rig.write("Name of this arm", "");
    assert_eq!(rig.key(Key::Enter), said(Order::Save { id }));
}

#[test]
fn an_arm_with_torque_is_let_go_in_the_wizard() {
    let mut view = calibrating(Stage::Middle);
    view.holding = vec![Motor {
        joint: Joint::Gripper,
        id: 6,
    }];
    let mut rig = doing(Activity::Calibrating(Box::new(view)));
    assert_eq!(rig.press("It stands in the middle"), []);
    rig.press("Let it go…");
    assert_eq!(
        rig.press("I hold it: let go"),
        said(Order::LetGo(PORT.to_owned()))
    );
}

#[test]
fn what_was_saved_is_taken_with_one_press() {
    let mut rig = doing(Activity::Saved(Box::new(SavedView {
        port: PORT.to_owned(),
        role: Role::Leader,
        id: "amber".to_owned(),
        paths: vec![PathBuf::from("/home/me/so_leader/amber.json")],
        changed: vec![],
        calibration: Calibration::simulated(),
    })));
    assert!(rig.shows("leader amber is calibrated") && rig.shows("amber.json"));
    assert_eq!(
        rig.press("Use as leader"),
        [Command::UseArm(Role::Leader, Some(source(PORT, "amber")))]
    );
    assert_eq!(rig.press("Back to the arms"), said(Order::Survey));
}

fn numbering() -> NumberingView {
    NumberingView {
        port: PORT.to_owned(),
        role: Role::Leader,
        wanted: Some(Motor {
            joint: Joint::WristRoll,
            id: 5,
        }),
        done: [None, None, None, None, None, Some(Numbered::From(1))],
        hunting: None,
        verdict: None,
        chain: None,
        trouble: None,
    }
}

#[test]
fn servos_are_numbered_one_a_screen() {
    let view = numbering();
    let mut rig = doing(Activity::Numbering(Box::new(view.clone())));
    assert!(rig.shows("Plug the servo of the wrist roll") && rig.shows("1:147"));
    assert_eq!(rig.press("It is plugged in alone"), said(Order::Next));
    assert_eq!(rig.press("Back"), said(Order::Back));
    let elbow = Motor {
        joint: Joint::ElbowFlex,
        id: 3,
    };
    let mut rig = doing(Activity::Numbering(Box::new(NumberingView {
        verdict: Some(Verdict::Foreign(elbow)),
        ..view.clone()
    })));
    assert!(rig.shows("that of the elbow flex"));
    assert_eq!(rig.press("Number it all the same"), said(Order::Insist));
    let rig = doing(Activity::Numbering(Box::new(NumberingView {
        hunting: Some(0.5),
        ..view.clone()
    })));
    assert!(rig.shows("looking at every speed"));
    let whole = NumberingView {
        wanted: None,
        done: [Some(Numbered::Already); JOINT_COUNT],
        ..view
    };
    let mut rig = doing(Activity::Numbering(Box::new(whole.clone())));
    assert_eq!(rig.press("All six are in the chain"), said(Order::Next));
    let mut rig = doing(Activity::Numbering(Box::new(NumberingView {
        chain: Some(vec![]),
        ..whole
    })));
    let (port, role) = (PORT.to_owned(), Role::Leader);
    assert_eq!(
        rig.press("Calibrate"),
        said(Order::Calibrate { port, role })
    );
}

#[test]
fn the_moved_arm_and_the_found_port_are_named() {
    let arm = |port: &str, is_this: bool| IdentifiedArm {
        port: port.to_owned(),
        now: [Some(0.0); JOINT_COUNT],
        travel: [if is_this { 40.0 } else { 0.0 }; JOINT_COUNT],
        is_this,
        ..IdentifiedArm::default()
    };
    let mut rig = doing(Activity::Identifying(vec![
        arm(PORT, false),
        arm("/dev/ttyACM1", true),
    ]));
    assert!(rig.shows("this one is being moved") && rig.shows("lift 40°"));
    assert_eq!(rig.press("Begin anew"), said(Order::Identify));
    let found = port("/dev/ttyACM3", Line::Unknown).info;
    let mut rig = doing(Activity::Finding(Finding::Found(found)));
    assert!(rig.shows("It is /dev/ttyACM3."));
    assert_eq!(
        rig.press("Who is there?"),
        said(Order::Look("/dev/ttyACM3".to_owned()))
    );
}

#[test]
fn no_arm_and_an_arm_without_calibration_look_different_and_lead_here() {
    let without = |connection: Connection| Snapshot {
        connection,
        ..fixture::idle()
    };
    let why = "/dev/ttyACM0: no calibration of a follower called `blue`".to_owned();
    for (connection, headline) in [
        (Connection::Absent, "No arm"),
        (Connection::Uncalibrated(why), "Not calibrated"),
    ] {
        let mut rig = Rig::new(without(connection));
        assert!(rig.shows(headline), "{headline}");
        assert_eq!(rig.press("Arms…"), said(Order::Survey));
        assert_eq!(rig.0.state().draft.page, Page::Setup);
    }
}

#[test]
fn an_uncalibrated_follower_is_let_go_and_calibrated_in_one_press() {
    let mut snapshot = fixture::idle();
    snapshot.sources.follower = Some(source(PORT, "blue"));
    snapshot.connection = Connection::Uncalibrated("no calibration of it".to_owned());
    let mut rig = arms_over(snapshot, WorkshopView::default());
    assert!(rig.shows("no calibration of it"));
    let (port, role) = (PORT.to_owned(), Role::Follower);
    assert_eq!(
        rig.press("Disconnect and calibrate it"),
        [
            Command::UseArm(role, None),
            Command::Workshop(Order::Calibrate { port, role })
        ]
    );
}

#[test]
fn stop_is_above_every_page_of_the_workshop() {
    let activities = [
        Activity::Calibrating(Box::new(calibrating(Stage::Sweep))),
        Activity::Numbering(Box::new(numbering())),
        Activity::Identifying(vec![IdentifiedArm::default()]),
        Activity::Finding(Finding::begin(vec![])),
    ];
    for activity in activities {
        let mut rig = doing(activity);
        assert_eq!(rig.press("STOP"), [Command::Stop]);
        assert_eq!(rig.key(Key::Space), [Command::Stop]);
    }
}
