//! A person at the helm: takeover, the leader, keys and buttons that drive while they are held, parking.

use egui::{Event, Key, Modifiers, PointerButton};
use egui_kittest::kittest::Queryable as _;
use smolpilot::joint::Joint;
use smolpilot::runtime::{Command, Drive, Mode};
use smolpilot::ui::{InputStatus, Page, Push};

use crate::rig::Rig;
use crate::{fixture, person};

/// The pace that the window begins with.
const PACE: f32 = 0.25;

fn key_event(key: Key, pressed: bool) -> Event {
    Event::Key {
        key,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: Modifiers::NONE,
    }
}

/// Presses the pointer on a button without letting go.
fn hold(rig: &mut Rig, label: &str) {
    let place = rig.0.get_by_label(label).rect().center();
    rig.0.event(Event::PointerMoved(place));
    pointer(rig, place, true);
}

fn pointer(rig: &mut Rig, pos: egui::Pos2, pressed: bool) {
    rig.0.event(Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    });
}

fn drives(commands: &[Command]) -> Vec<Drive> {
    let drive = |command: &Command| match command {
        Command::Drive(drive) => Some(*drive),
        _ => None,
    };
    commands.iter().filter_map(drive).collect()
}

#[test]
fn one_key_takes_over_and_gives_back() {
    let mut rig = Rig::new(fixture::running(3_000));
    assert_eq!(rig.key(Key::T), [Command::Takeover]);
    let mut rig = Rig::new(person::following());
    assert!(rig.shows("You drive 12.3 s"));
    assert!(rig.shows("by the leader · T: back to the policy"));
    assert_eq!(rig.key(Key::T), [Command::Takeover]);
    assert_eq!(rig.press("Give back to the policy"), [Command::Takeover]);
    let mut rig = Rig::new(fixture::stopped());
    assert_eq!(rig.key(Key::T), []);
    assert!(rig.shows("Press Resume first"));
}

#[test]
fn the_segment_of_the_leader_says_what_it_lacks() {
    let mut rig = Rig::new(person::with_leader());
    assert_eq!(rig.choose("TELEOP"), [Command::SetMode(Mode::Teleop)]);
    let mut rig = Rig::new(fixture::idle());
    assert_eq!(rig.choose("TELEOP"), []);
    assert!(rig.shows("There is no leader arm"));
    let mut lost = person::leader_lost();
    lost.mode = Mode::Hold;
    let mut rig = Rig::new(lost);
    assert_eq!(rig.choose("TELEOP"), []);
    assert!(rig.shows("Check its cable"));
}

#[test]
fn the_difference_to_the_leader_is_seen_before_and_while_it_is_approached() {
    let rig = Rig::new(person::with_leader());
    assert!(rig.shows("leader 100 Hz · shoulder pan 34.0° apart"));
    let rig = Rig::new(person::aligning());
    assert!(rig.shows("ttyACM1") && rig.shows("100 Hz") && rig.shows("8 ms old"));
    assert!(rig.shows("aligning 40 % · T: back to the policy"));
    assert!(rig.shows("Move the leader closer, or wait"));
    let rig = Rig::new(person::leader_lost());
    assert!(rig.shows("The arm holds: the leader is not read"));
    assert!(rig.shows("the adapter is gone"));
    let rig = Rig::new(person::approaching());
    assert!(rig.shows("Approaching 70 %"));
}

#[test]
fn a_held_key_is_said_again_and_again_and_a_zero_when_it_goes_up() {
    let mut rig = Rig::new(fixture::jogging());
    rig.0.event(key_event(Key::ArrowUp, true));
    rig.0.run_steps(8);
    let said = drives(&rig.take());
    assert!(
        (3..=5).contains(&said.len()),
        "every 30 ms of 160: {}",
        said.len()
    );
    let wanted = Push::Forward.drive(PACE);
    assert!(said.iter().all(|drive| *drive == wanted));
    rig.0.event(key_event(Key::PageUp, true));
    rig.settle();
    assert_eq!(drives(&rig.take())[0], wanted + Push::Up.drive(PACE));
    rig.0.event(key_event(Key::ArrowUp, false));
    rig.0.event(key_event(Key::PageUp, false));
    rig.settle();
    assert_eq!(rig.take().last(), Some(&Command::Drive(Drive::default())));
    rig.settle();
    assert_eq!(rig.take(), []);
}

#[test]
fn a_window_that_loses_the_focus_lets_go() {
    let mut rig = Rig::new(fixture::jogging());
    rig.0.event(key_event(Key::ArrowLeft, true));
    rig.settle();
    assert!(!rig.take().is_empty());
    rig.0.event(Event::WindowFocused(false));
    rig.settle();
    assert_eq!(rig.take(), [Command::Drive(Drive::default())]);
}

#[test]
fn keys_drive_only_while_the_person_jogs_in_the_cockpit_and_types_nothing() {
    let held = |rig: &mut Rig| {
        rig.0.event(key_event(Key::O, true));
        rig.settle();
        rig.take()
    };
    assert_eq!(held(&mut Rig::new(fixture::idle())), []);
    assert_eq!(held(&mut Rig::new(person::following())), []);
    let mut rig = Rig::new(fixture::jogging());
    rig.0.state_mut().draft.page = Page::Log;
    assert_eq!(held(&mut rig), []);
    let mut rig = Rig::new(fixture::jogging());
    rig.key(Key::Slash);
    assert_eq!(held(&mut rig), []);
    let mut rig = Rig::new(fixture::jogging());
    assert_eq!(drives(&held(&mut rig))[0], Push::Open.drive(PACE));
}

#[test]
fn a_button_of_the_tip_drives_while_it_is_pressed() {
    let mut rig = Rig::new(person::blocked());
    rig.choose("TIP");
    assert!(rig.shows("No further: elbow_flex is at its limit"));
    hold(&mut rig, "Up  PgUp");
    rig.0.run_steps(8);
    let said = drives(&rig.take());
    assert!(said.len() > 2 && said.iter().all(|drive| *drive == Push::Up.drive(PACE)));
    pointer(&mut rig, egui::Pos2::ZERO, false);
    rig.settle();
    assert_eq!(rig.take(), [Command::Drive(Drive::default())]);
    assert_eq!(rig.slide("pace", 1.0), []);
    hold(&mut rig, "Tilt down  End");
    rig.settle();
    assert_eq!(drives(&rig.take())[0], Push::TiltDown.drive(1.0));
}

#[test]
fn a_joint_button_steps_when_clicked_and_drives_when_held() {
    let mut rig = Rig::new(fixture::jogging());
    hold(&mut rig, "elbow flex more");
    rig.0.run_steps(20);
    let said = rig.take();
    let speed = 60.0 * PACE;
    assert!(said.len() > 3);
    assert_eq!(
        said[0],
        Command::Drive(Drive::of_joint(Joint::ElbowFlex, speed))
    );
    let place = rig.0.get_by_label("elbow flex more").rect().center();
    pointer(&mut rig, place, false);
    rig.settle();
    assert_eq!(
        rig.take(),
        [Command::Drive(Drive::default())],
        "and no step"
    );
}

#[test]
fn parking_is_offered_before_the_arm_drops() {
    let mut rig = Rig::new(fixture::idle());
    assert_eq!(rig.press("Park"), [Command::Park]);
    rig.press("Release torque…");
    assert_eq!(rig.press("Park, then release"), [Command::ParkAndRelease]);
    assert!(!rig.shows("The arm drops"));
    assert!(Rig::new(person::parking()).shows("Parking 40 %"));
    let mut rig = Rig::new(fixture::stopped());
    rig.press("Release torque…");
    assert!(!rig.shows("Park, then release"), "not while it is stopped");
    let mut parked = fixture::idle();
    parked.parked = true;
    let mut rig = Rig::new(parked);
    rig.press("Release torque…");
    assert!(rig.shows("The arm is parked") && !rig.shows("Park, then release"));
    assert_eq!(rig.press("Release"), [Command::ReleaseTorque]);
}

#[test]
fn in_a_low_window_the_joints_come_before_the_policys_times() {
    let jogging = fixture::jogging();
    let low = Rig::sized(jogging.clone(), [960.0, 600.0]);
    assert!(low.shows("elbow flex") && !low.shows("denoise"));
    assert!(Rig::sized(jogging, [1280.0, 800.0]).shows("denoise"));
}

#[test]
fn settings_say_which_global_keys_and_which_pad_work_and_why_not() {
    let mut rig = Rig::new(fixture::idle());
    let draft = &mut rig.0.state_mut().draft;
    draft.page = Page::Settings;
    draft.inputs.stop_key = InputStatus::Active("Pause".to_owned());
    draft.inputs.takeover_key = InputStatus::Inactive("another program has F9".to_owned());
    draft.inputs.pad = InputStatus::Active("Wireless Controller".to_owned());
    rig.settle();
    assert!(rig.shows("active: Pause") && rig.shows("not active: another program has F9"));
    assert!(rig.shows("Wireless Controller"));
}

#[test]
fn the_help_names_the_keys_that_drive() {
    let mut rig = Rig::new(fixture::jogging());
    rig.key(Key::Questionmark);
    for words in ["Take over", "the tip goes forward", "gripper opens"] {
        assert!(rig.shows(words), "{words}");
    }
}
