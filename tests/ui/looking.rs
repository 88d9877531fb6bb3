//! What the policy is told and shown: the task, the cameras and their views; and what has gone wrong.

use egui::Key;
use smolpilot::runtime::{Command, RigOrder};
use smolpilot::ui::Page;

use crate::fixture;
use crate::rig::Rig;

fn bind(view: &str, camera: Option<&str>) -> Command {
    Command::BindView {
        view: format!("observation.images.{view}"),
        camera: camera.map(str::to_owned),
    }
}

#[test]
fn a_task_is_typed_and_applied_in_mid_run() {
    let mut rig = Rig::new(fixture::running(3_000));
    assert_eq!(rig.key(Key::Slash), []);
    rig.write("Task", " on the left");
    let wanted = "put the red cube in the box on the left".to_owned();
    assert_eq!(rig.key(Key::Enter), [Command::SetTask(wanted.clone())]);
    assert_eq!(rig.0.state().draft.preferences.tasks[0], wanted);
}

#[test]
fn apply_does_what_enter_does() {
    let mut rig = Rig::new(fixture::running(3_000));
    rig.write("Task", " now");
    assert_eq!(
        rig.press("Apply"),
        [Command::SetTask(
            "put the red cube in the box now".to_owned()
        )]
    );
}

#[test]
fn the_digits_send_recent_tasks() {
    let mut rig = Rig::new(fixture::running(3_000));
    assert_eq!(
        rig.key(Key::Num2),
        [Command::SetTask("stack the cubes".to_owned())]
    );
    assert_eq!(rig.key(Key::Num9), [], "there is no ninth task");
}

#[test]
fn a_recent_task_is_picked_from_the_list() {
    let mut rig = Rig::new(fixture::running(3_000));
    rig.press("Recent");
    assert_eq!(rig.press("wave 1"), [Command::SetTask("wave".to_owned())]);
}

#[test]
fn a_camera_is_bound_to_another_view() {
    let mut rig = Rig::new(fixture::running(3_000));
    assert_eq!(
        rig.pick("front feeds", "camera3   (no camera)"),
        [bind("camera1", None), bind("camera3", Some("front"))]
    );
    assert_eq!(rig.pick("wrist feeds", "no view"), [bind("camera2", None)]);
}

#[test]
fn views_are_bound_by_thumbnail() {
    let mut rig = Rig::new(fixture::running(3_000));
    rig.0.state_mut().draft.page = Page::Setup;
    rig.settle();
    assert_eq!(
        rig.choose("wrist feeds camera1"),
        [bind("camera2", None), bind("camera1", Some("wrist"))]
    );
    assert_eq!(rig.choose("nothing feeds camera2"), [bind("camera2", None)]);
}

#[test]
fn a_picture_goes_to_the_gpu_once() {
    let mut rig = Rig::new(fixture::running(3_000));
    let before = rig.0.state().draft.pictures.uploads();
    assert_eq!(before, 2, "one for each camera");
    rig.0.run_steps(10);
    assert_eq!(rig.0.state().draft.pictures.uploads(), before);
    rig.0.state_mut().snapshot = fixture::running(3_001);
    rig.0.run_steps(3);
    assert_eq!(rig.0.state().draft.pictures.uploads(), before + 2);
}

#[test]
fn a_stale_camera_pauses_and_says_so() {
    let rig = Rig::new(fixture::faulty());
    assert!(rig.shows("camera wrist is not fresh"));
    assert!(rig.shows("1 fault"));
}

#[test]
fn a_fault_says_what_to_do_and_is_acknowledged() {
    use egui_kittest::kittest::Queryable as _;
    let mut rig = Rig::new(fixture::faulty());
    assert!(rig.shows("Check its cable and its USB port"));
    // What is still wrong stands first.
    let first = rig.0.get_all_by_label("Acknowledge").next();
    first.expect("a button").click();
    rig.settle();
    assert_eq!(rig.take(), [Command::Acknowledge(7)]);
}

#[test]
fn the_newest_fault_stands_first() {
    use egui_kittest::kittest::Queryable as _;
    let mut snapshot = fixture::faulty();
    let mut newer = snapshot.faults[0].clone();
    (newer.id, newer.since) = (9, snapshot.now);
    snapshot.faults.push(newer);
    let mut rig = Rig::new(snapshot);
    let first = rig.0.get_all_by_label("Acknowledge").next();
    first.expect("a button").click();
    rig.settle();
    assert_eq!(rig.take(), [Command::Acknowledge(9)]);
}

#[test]
fn a_policy_that_looks_is_not_chosen_without_a_camera() {
    let mut snapshot = fixture::idle();
    snapshot.cameras.clear();
    let mut rig = Rig::new(snapshot);
    assert!(rig.shows("the policy has no camera"));
    assert_eq!(rig.key(Key::P), []);
    assert!(rig.shows("looks at cameras and there is none"));
}

#[test]
fn a_fault_that_is_over_claims_nothing_about_the_present() {
    let mut snapshot = fixture::faulty();
    snapshot.faults.remove(0);
    let mut rig = Rig::new(snapshot);
    assert!(rig.shows("lost 2 packets"));
    assert!(rig.shows("began 1 min 15 s ago · 2 times"));
    assert!(
        !rig.shows("Check the cable between"),
        "only under the pointer"
    );
    assert_eq!(rig.press("Acknowledge"), [Command::Acknowledge(5)]);
}

#[test]
fn empty_states_teach() {
    let rig = Rig::new(fixture::empty());
    assert!(rig.shows("No camera yet"));
    assert!(rig.shows("No policy is loaded"));
    assert!(rig.shows("then choose it: Arms…"));
}

#[test]
fn the_cubes_can_be_put_back() {
    let mut rig = Rig::sized(fixture::on_rig(), [1280.0, 1100.0]);
    rig.0.state_mut().draft.page = Page::Setup;
    rig.settle();
    let reset = Command::Rig(RigOrder::Reset { seed: None });
    assert_eq!(rig.press("Put the cubes back"), [reset]);
}

#[test]
fn the_theme_and_the_scale_are_chosen_in_the_settings() {
    use smolpilot::ui::ThemeChoice;
    let mut rig = Rig::new(fixture::idle());
    rig.0.state_mut().draft.page = Page::Settings;
    rig.settle();
    rig.choose("Light");
    rig.choose("150 %");
    rig.choose("30 Hz");
    let preferences = &rig.0.state().draft.preferences;
    assert_eq!(preferences.theme, ThemeChoice::Light);
    assert_eq!((preferences.scale, preferences.frame_rate), (1.5, 30));
}

#[test]
fn an_idle_window_comes_to_rest() {
    for snapshot in [fixture::idle(), fixture::stopped(), fixture::empty()] {
        let mut rig = Rig::new(snapshot);
        let settled = rig.0.try_run();
        assert!(settled.is_ok(), "{settled:?}");
    }
}
