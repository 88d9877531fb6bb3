//! The arm's health: three numbers in the status bar, a line for each joint, and what the operator has to clear.

use egui::Key;
use egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use smolpilot::joint::Joint;
use smolpilot::runtime::{Command, Mode};
use smolpilot::ui::Page;

use crate::fixture;
use crate::rig::Rig;
use crate::trouble;

#[test]
fn the_status_bar_tells_the_worst_of_the_arm_and_opens_the_rest() {
    let mut rig = Rig::new(fixture::running(3_000));
    let bar = "arm  38 °C  11.9 V  29 err";
    assert!(rig.shows(bar) && !rig.shows("ARM HEALTH"));
    assert_eq!(rig.press(bar), []);
    assert!(rig.shows("ARM HEALTH"));
    for cell in ["33 °C", "12.0 V", "540 mA", "-22 %", "4 ms", "fine"] {
        assert!(rig.shows(cell), "{cell}");
    }
    assert_eq!(rig.press("Close"), []);
    assert!(!rig.shows("ARM HEALTH"));
}

#[test]
fn one_key_opens_and_closes_it_on_every_page_and_stop_stays() {
    let mut rig = Rig::new(trouble::overloaded());
    for page in Page::ALL {
        rig.0.state_mut().draft.page = page;
        assert_eq!(rig.key(Key::V), []);
        assert!(rig.shows("ARM HEALTH"), "{page:?}");
        assert_eq!(rig.press("STOP"), [Command::Stop], "{page:?}");
        assert_eq!(rig.key(Key::Space), [Command::Stop], "{page:?}");
        rig.key(Key::V);
        assert!(!rig.shows("ARM HEALTH"), "{page:?}");
    }
    for size in [[900.0, 560.0], [3840.0, 2160.0]] {
        let mut rig = Rig::sized(trouble::overloaded(), size);
        rig.key(Key::V);
        assert_eq!(rig.press("STOP"), [Command::Stop], "{size:?}");
        assert_eq!(
            rig.press("Clear gripper"),
            [Command::ClearAlarm(Joint::Gripper)]
        );
    }
}

#[test]
fn a_latched_alarm_says_what_to_do_and_is_cleared_by_a_button() {
    let mut rig = Rig::new(trouble::overloaded());
    rig.key(Key::V);
    for text in [
        "latched, overloaded",
        "getting warm",
        "silent",
        "take out what it squeezes",
        "is not closed further",
        "table 12",
    ] {
        assert!(rig.shows(text), "{text}");
    }
    let clear = rig.press("Clear gripper");
    assert_eq!(clear, [Command::ClearAlarm(Joint::Gripper)]);
    rig.0.state_mut().snapshot = fixture::running(3_000);
    rig.settle();
    assert!(rig.shows("Nothing is to be cleared"));
    assert!(
        rig.0
            .query_by_role_and_label(Role::Button, "Clear gripper")
            .is_none()
    );
}

#[test]
fn an_arm_that_is_too_hot_is_not_driven() {
    let mut rig = Rig::new(trouble::hot());
    rig.key(Key::V);
    assert!(rig.shows("Not fit to be driven") && rig.shows("66 °C"));
    assert_eq!(rig.key(Key::P), [], "the key says why");
    assert!(rig.shows("too hot"));
    assert_eq!(rig.key(Key::H), [Command::SetMode(Mode::Hold)]);
}

#[test]
fn without_an_arm_there_is_nothing_to_tell() {
    let mut rig = Rig::new(fixture::empty());
    assert!(rig.shows("arm  —"));
    rig.key(Key::V);
    assert!(rig.shows("No arm is connected"));
}
