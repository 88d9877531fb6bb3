//! Who drives: modes, stop and resume in every state, torque, and the keys for them.

use egui::Key;
use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use smolpilot::runtime::{Command, Connection, Mode, Snapshot};
use smolpilot::ui::{Page, theme};

use crate::fixture;
use crate::rig::Rig;
use crate::trouble;

/// A snapshot by the name of its state.
pub type State = (&'static str, fn() -> Snapshot);

/// The states that a window must show, one of each kind.
pub const EVERY_STATE: [State; 7] = [
    ("empty", fixture::empty),
    ("idle", fixture::idle),
    ("running", || fixture::running(3_000)),
    ("jogging", fixture::jogging),
    ("starved", fixture::starved),
    ("faulty", fixture::faulty),
    ("stopped", fixture::stopped),
];

#[test]
fn stop_is_drawn_and_works_in_every_state_and_on_every_page() {
    for (name, snapshot) in EVERY_STATE {
        let mut rig = Rig::new(snapshot());
        for page in Page::ALL {
            rig.0.state_mut().draft.page = page;
            rig.settle();
            assert_eq!(rig.press("STOP"), [Command::Stop], "{name}, {page:?}");
            assert_eq!(rig.key(Key::Space), [Command::Stop], "{name}, {page:?}");
            assert_eq!(rig.key(Key::Escape), [Command::Stop], "{name}, {page:?}");
        }
    }
}

#[test]
fn stop_fits_into_a_small_window() {
    for size in [[900.0, 560.0], [1024.0, 640.0], [3840.0, 2160.0]] {
        let mut rig = Rig::sized(fixture::stopped(), size);
        assert_eq!(rig.press("STOP"), [Command::Stop], "{size:?}");
        assert_eq!(rig.press("Resume"), [Command::Resume], "{size:?}");
    }
}

#[test]
fn space_types_a_space_while_a_text_is_typed_and_escape_stops_all_the_same() {
    let mut rig = Rig::new(fixture::running(3_000));
    rig.key(Key::Slash);
    rig.0.key_press(Key::Space);
    rig.0.event(egui::Event::Text(" ".to_owned()));
    rig.settle();
    assert_eq!(rig.take(), []);
    assert_eq!(
        rig.0.state().draft.task.text,
        "put the red cube in the box "
    );
    assert_eq!(rig.key(Key::H), [], "letters belong to the text");
    assert_eq!(rig.key(Key::Escape), [Command::Stop]);
}

#[test]
fn a_focused_button_does_not_swallow_a_stop() {
    let mut rig = Rig::new(fixture::running(3_000));
    for _ in 0..4 {
        rig.key(Key::Tab);
    }
    assert_eq!(rig.key(Key::Space), [Command::Stop]);
}

#[test]
fn each_mode_has_a_segment_and_a_key() {
    let mut rig = Rig::new(fixture::idle());
    assert_eq!(rig.choose("POLICY"), [Command::SetMode(Mode::Policy)]);
    assert_eq!(rig.choose("JOG"), [Command::SetMode(Mode::Jog)]);
    assert_eq!(rig.choose("HOLD"), [Command::SetMode(Mode::Hold)]);
    assert_eq!(rig.key(Key::P), [Command::SetMode(Mode::Policy)]);
    assert_eq!(rig.key(Key::J), [Command::SetMode(Mode::Jog)]);
    assert_eq!(rig.key(Key::H), [Command::SetMode(Mode::Hold)]);
}

#[test]
fn a_latched_stop_is_released_by_resume_alone() {
    let mut rig = Rig::new(fixture::stopped());
    assert!(rig.shows("Stopped 12.0 s"));
    assert!(rig.shows("confirmed · by the operator"));
    assert_eq!(rig.choose("POLICY"), []);
    assert_eq!(rig.key(Key::P), []);
    assert!(rig.shows("Press Resume first"), "the key says why not");
    assert_eq!(rig.press("Resume"), [Command::Resume]);
}

#[test]
fn a_stop_that_the_servos_have_not_confirmed_says_so() {
    let mut snapshot = fixture::stopped();
    if let Some(stopped) = &mut snapshot.stopped {
        stopped.acknowledged = false;
    }
    assert!(Rig::new(snapshot).shows("NOT CONFIRMED"));
}

#[test]
fn without_an_arm_nobody_can_drive() {
    let mut rig = Rig::new(fixture::empty());
    assert!(rig.shows("No arm"));
    assert_eq!(rig.choose("POLICY"), []);
    assert_eq!(rig.key(Key::J), []);
}

#[test]
fn torque_is_released_only_after_a_warning() {
    let mut rig = Rig::new(fixture::idle());
    assert_eq!(rig.press("Release torque…"), []);
    assert!(rig.shows("The arm drops"));
    assert_eq!(rig.press("Keep holding"), []);
    assert!(!rig.shows("The arm drops"));
    rig.press("Release torque…");
    assert_eq!(
        rig.press("Release: the arm drops"),
        [Command::ReleaseTorque]
    );
    rig.press("Release torque…");
    assert_eq!(rig.key(Key::Escape), [Command::Stop]);
    assert!(!rig.shows("The arm drops"), "a stop withdraws the question");
}

#[test]
fn torque_is_enabled_at_once() {
    let mut snapshot = fixture::idle();
    snapshot.connection = Connection::Connected { torque: false };
    let mut rig = Rig::new(snapshot);
    assert_eq!(rig.press("Enable torque"), [Command::EnableTorque]);
    assert_eq!(
        rig.press("Enable torque: it holds"),
        [Command::EnableTorque]
    );
    assert_eq!(rig.key(Key::P), [], "nothing drives without torque");
    rig.0.state_mut().draft.follow(&Snapshot::default(), 1e9);
    assert_eq!(rig.choose("POLICY"), []);
    assert!(
        rig.shows("Press Enable torque; the servos then hold"),
        "a click that does nothing says what to do"
    );
}

#[test]
fn torque_on_its_way_is_shown_and_not_asked_for_twice() {
    for (snapshot, button, headline, share) in [
        (
            trouble::arming(),
            "Enable torque",
            "Enabling torque 40 %",
            "40 %",
        ),
        (
            trouble::releasing(),
            "Release torque…",
            "Letting down 60 %",
            "60 %",
        ),
    ] {
        let mut rig = Rig::new(snapshot);
        assert!(rig.shows(headline));
        assert!(rig.shows(share));
        let node = rig.0.get_by_role_and_label(Role::Button, button);
        assert!(node.accesskit_node().is_disabled(), "{button}");
        assert!(!rig.shows("The arm is limp"));
        assert_eq!(rig.press("STOP"), [Command::Stop]);
    }
    let mut rig = Rig::new(trouble::arming());
    assert_eq!(
        rig.key(Key::P),
        [Command::SetMode(Mode::Policy)],
        "it drives when it can"
    );
    let mut rig = Rig::new(trouble::releasing());
    assert_eq!(rig.key(Key::P), []);
}

#[test]
fn an_arm_that_holds_in_part_can_be_armed_and_let_down() {
    let mut rig = Rig::new(trouble::held_in_part());
    assert!(rig.shows("2 of 6 joints have torque"));
    assert!(!rig.shows("The arm is limp"));
    assert_eq!(rig.press("Enable torque"), [Command::EnableTorque]);
    assert_eq!(
        rig.press("Enable torque: it holds"),
        [Command::EnableTorque]
    );
    assert_eq!(rig.press("Release…"), []);
    assert_eq!(
        rig.press("Release: the arm drops"),
        [Command::ReleaseTorque]
    );
    assert_eq!(rig.press("Release it…"), []);
    assert!(rig.shows("The arm drops"));
    assert_eq!(rig.key(Key::J), [], "nothing drives it");
}

#[test]
fn the_name_and_the_state_of_the_arm_are_not_cut() {
    for size in [[1280.0, 800.0], [1920.0, 1080.0]] {
        let mut snapshot = fixture::idle();
        "simulated rig".clone_into(&mut snapshot.arm);
        let rig = Rig::sized(snapshot, size);
        let shown = rig.0.get_by_label("simulated rig connected").rect();
        let other = rig.0.get_by_label("30.0 Hz").rect();
        assert!(shown.right() <= other.left(), "{shown:?} {other:?}");
        let needed = rig.0.ctx.fonts_mut(|fonts| {
            let text = "simulated rig connected".to_owned();
            let font = theme::font(theme::BODY);
            fonts
                .layout_no_wrap(text, font, egui::Color32::WHITE)
                .size()
                .x
        });
        assert!(
            shown.width() >= needed - 0.5,
            "{} of {needed}",
            shown.width()
        );
    }
}

#[test]
fn jogging_asks_for_one_joint_within_its_limits() {
    use smolpilot::joint::Joint;
    let mut rig = Rig::new(fixture::jogging());
    assert_eq!(
        rig.slide("gripper", 60.0),
        [Command::JogTo(Joint::Gripper, 60.0)]
    );
    let far = rig.slide("shoulder pan", 400.0);
    assert_eq!(far, [Command::JogTo(Joint::ShoulderPan, 110.0)]);
    let commanded = rig.0.state().snapshot.commanded;
    assert_eq!(
        rig.press("elbow flex more"),
        [Command::JogTo(
            Joint::ElbowFlex,
            commanded[Joint::ElbowFlex] + 2.0
        )]
    );
    assert_eq!(rig.press("Give back"), [Command::SetMode(Mode::Hold)]);
}

#[test]
fn the_question_mark_opens_help_and_closes_it() {
    let mut rig = Rig::new(fixture::running(3_000));
    rig.key(Key::Questionmark);
    assert_eq!(rig.0.state().draft.page, Page::Help);
    assert!(rig.shows("Stop, always"));
    rig.key(Key::Questionmark);
    assert_eq!(rig.0.state().draft.page, Page::Cockpit);
}
