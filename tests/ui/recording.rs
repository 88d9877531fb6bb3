//! Recording by hand: the plan, the keys, what each phase offers, and what must be seen at a glance.

use std::path::Path;
use std::sync::Arc;

use egui::{Event, Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use smolpilot::dataset::{Codec, Outcome};
use smolpilot::runtime::{Command, SessionOrder, SessionPlan, Snapshot};
use smolpilot::ui::Page;

use crate::fixture;
use crate::recorded;
use crate::rig::Rig;

fn ordered(order: SessionOrder) -> Vec<Command> {
    vec![Command::Session(order)]
}

/// The plan of a session that was begun by exactly these commands.
fn begun(commands: &[Command]) -> SessionPlan {
    match commands {
        [Command::Session(SessionOrder::Begin(plan))] => (**plan).clone(),
        other => panic!("no session was begun: {other:?}"),
    }
}

#[test]
fn r_begins_a_session_with_the_plan_as_it_was_left() {
    let mut rig = Rig::new(recorded::planned());
    let plan = begun(&rig.key(Key::R));
    assert_eq!(
        plan.root,
        Path::new("/home/me/smolpilot/put_the_red_cube_in_the_box")
    );
    assert_eq!((plan.episodes, plan.fps), (50, 30));
    assert_eq!(plan.episode_limit.as_secs(), 60);
    assert_eq!(plan.codec, Codec::H264);
    assert!(plan.tasks.is_empty() && plan.cameras.is_empty());
    rig.0.state_mut().snapshot.task = "wave".to_owned();
    rig.settle();
    let again = begun(&rig.key(Key::R));
    assert_eq!(
        again.root, plan.root,
        "the task does not name the folder anew"
    );
}

#[test]
fn without_a_recorder_the_keys_do_nothing() {
    let mut rig = Rig::new(fixture::running(3_000));
    for key in [Key::R, Key::Enter, Key::Backspace, Key::S, Key::F] {
        assert_eq!(rig.key(key), [], "{key:?}");
    }
    assert!(!rig.shows("RECORD"));
}

#[test]
fn an_episode_is_kept_dropped_and_marked_by_one_key_each() {
    let mut rig = Rig::new(recorded::recording());
    assert_eq!(rig.key(Key::Enter), ordered(SessionOrder::Keep));
    assert_eq!(rig.key(Key::Backspace), ordered(SessionOrder::Discard));
    assert_eq!(
        rig.key(Key::F),
        ordered(SessionOrder::Mark(Outcome::Failure))
    );
    assert_eq!(
        rig.key(Key::S),
        ordered(SessionOrder::Mark(Outcome::Unmarked)),
        "it is marked a success already"
    );
    rig.0.key_press_modifiers(Modifiers::SHIFT, Key::Backspace);
    rig.settle();
    assert_eq!(rig.take(), ordered(SessionOrder::Redo));
    assert_eq!(rig.key(Key::R), [], "one runs already");
    assert!(rig.shows("Enter keeps it, Backspace drops it"));
}

#[test]
fn the_keys_are_the_texts_while_one_is_typed() {
    let mut rig = Rig::new(recorded::recording());
    rig.key(Key::Slash);
    assert_eq!(rig.key(Key::Backspace), [], "it deletes a letter");
    rig.0.event(Event::Text("r".to_owned()));
    assert_eq!(rig.key(Key::R), []);
}

#[test]
fn each_phase_offers_what_is_next() {
    let mut rig = Rig::new(recorded::warming_up());
    assert!(rig.shows("Get ready: 4 s"));
    assert_eq!(rig.key(Key::Enter), [], "there is nothing to keep");
    assert_eq!(rig.press("Record now"), ordered(SessionOrder::Record));
    assert_eq!(rig.key(Key::R), ordered(SessionOrder::Record));
    let mut rig = Rig::new(recorded::recording());
    assert!(rig.shows("Recording episode 7 of 50"));
    assert_eq!(rig.press("Keep"), ordered(SessionOrder::Keep));
    assert_eq!(rig.press("Discard"), ordered(SessionOrder::Discard));
    assert_eq!(rig.press("Redo"), ordered(SessionOrder::Redo));
    assert_eq!(rig.press("End session"), ordered(SessionOrder::End));
    assert_eq!(
        rig.choose("failure"),
        ordered(SessionOrder::Mark(Outcome::Failure))
    );
    let mut rig = Rig::new(recorded::resetting());
    assert!(rig.shows("Put things back: 7 s"));
    assert_eq!(rig.press("Record now"), ordered(SessionOrder::Record));
    let rig = Rig::new(recorded::finishing());
    assert!(rig.shows("Saving the last episodes"));
    assert!(rig.0.query_by_label("End session").is_none());
}

#[test]
fn the_status_bar_says_what_is_recorded_on_every_page() {
    for page in Page::ALL {
        let mut rig = Rig::new(recorded::recording());
        rig.0.state_mut().draft.page = page;
        rig.settle();
        rig.take();
        for text in ["REC", "episode 7/50", "00:12", "saving 1 · 64 %"] {
            assert!(rig.shows(text), "{page:?}: {text}");
        }
        assert_eq!(rig.press("keep ↵"), ordered(SessionOrder::Keep));
        assert_eq!(rig.press("discard Bksp"), ordered(SessionOrder::Discard));
        assert_eq!(rig.press("STOP"), [Command::Stop], "{page:?}");
    }
}

#[test]
fn recording_saving_a_low_disk_and_a_recovery_look_different() {
    let seen = |snapshot: Snapshot| {
        let rig = Rig::new(snapshot);
        ["REC", "Saving the last", "DISK LOW", "1 episode to recover"].map(|text| rig.shows(text))
    };
    assert_eq!(seen(recorded::recording()), [true, false, false, true]);
    assert_eq!(seen(recorded::finishing()), [false, true, false, true]);
    assert_eq!(seen(recorded::disk_low()), [true, false, true, true]);
    let rig = Rig::new(recorded::disk_low());
    assert!(rig.shows("12 rows filled") && rig.shows("disk 6 min left"));
    assert!(rig.shows("The encoder of front is behind"));
}

#[test]
fn what_was_interrupted_is_recovered_or_dropped_after_a_question() {
    let mut rig = Rig::new(recorded::interrupted());
    assert!(rig.shows("An episode was interrupted"));
    let id = "ep-000018-a1".to_owned();
    assert_eq!(
        rig.press("Recover"),
        ordered(SessionOrder::Recover(id.clone()))
    );
    assert_eq!(rig.press("Forget…"), []);
    assert_eq!(rig.press("Leave it"), []);
    rig.press("Forget…");
    assert_eq!(rig.press("Drop it"), ordered(SessionOrder::Forget(id)));
}

#[test]
fn the_plan_is_edited_and_kept() {
    let mut rig = Rig::sized(recorded::planned(), [1280.0, 1000.0]);
    assert_eq!(rig.press("Plan…"), []);
    rig.write("Data set folder", "cubes");
    rig.write("Another task", "wave");
    rig.press("Add");
    rig.write("Another task", "stack the cubes");
    rig.press("Add");
    rig.press_checkbox("wrist");
    rig.pick("Codec", "libsvtav1");
    let plan = begun(&rig.press_first("Record"));
    assert_eq!(plan.root, Path::new("/home/me/smolpilot/cubes"));
    assert_eq!(plan.tasks, ["wave", "stack the cubes"]);
    assert_eq!(plan.cameras, ["front"]);
    assert_eq!(plan.codec, Codec::Ffmpeg("libsvtav1".to_owned()));
    let kept = &rig.0.state().draft.preferences.recording;
    assert_eq!(kept.folder, "cubes");
    assert!(!rig.shows("Tasks in turn"), "the form is closed");
}

#[test]
fn the_strip_leaves_room_for_everything_in_a_small_window() {
    for snapshot in [recorded::recording(), recorded::disk_low()] {
        let rig = Rig::sized(snapshot, [1000.0, 700.0]);
        let scene = rig.scene();
        assert!(scene.height() > 80.0, "{scene:?}");
        let keep = rig.0.get_by_label("Keep").rect();
        assert!(keep.bottom() < scene.top(), "{keep:?} {scene:?}");
    }
}

#[test]
fn a_replay_is_seen_and_held_by_one_key() {
    use smolpilot::runtime::Mode;
    let mut rig = Rig::new(recorded::replaying());
    assert!(rig.shows("REPLAY") && rig.shows("Row 120 of 370"));
    assert_eq!(rig.choose("REPLAY"), [], "it is chosen already");
    assert_eq!(rig.key(Key::H), [Command::SetMode(Mode::Hold)]);
    let mut idle = Rig::new(recorded::planned());
    assert!(!idle.shows("REPLAY"));
    idle.0.state_mut().snapshot = Snapshot {
        library: Some(Arc::new(recorded::shelves())),
        ..recorded::replaying()
    };
    idle.settle();
    assert!(idle.shows("REPLAY"));
}
