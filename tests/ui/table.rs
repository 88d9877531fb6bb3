//! The simulated rig in the window: another table, slow motion, and a cube that a hand drags while the policy drives.

use std::sync::Arc;

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, PointerButton, Pos2, pos2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use smolpilot::runtime::{ArmSource, Command, RigOrder, RigView, Snapshot};
use smolpilot::ui::Draft;

use crate::fixture;
use crate::rig::Rig;

fn reset(seed: Option<u64>) -> Command {
    Command::Rig(RigOrder::Reset { seed })
}

fn lay(task: &str) -> Command {
    let task = task.to_owned();
    Command::Rig(RigOrder::Lay { task })
}

/// A rig that differs from the usual one.
fn with(change: impl FnOnce(&mut RigView)) -> Snapshot {
    let mut snapshot = fixture::on_rig();
    let mut rig = snapshot.rig.as_deref().cloned().unwrap_or_default();
    change(&mut rig);
    snapshot.rig = Some(Arc::new(rig));
    snapshot
}

fn text(draft: &Draft) -> &str {
    &draft.task.text
}

#[test]
fn a_task_from_the_menu_lays_its_table_and_is_the_task() {
    let mut rig = Rig::new(fixture::on_rig());
    rig.press("Tasks");
    assert_eq!(rig.press("sort the cubes"), [lay("sort the cubes")]);
    assert_eq!(text(&rig.0.state().draft), "sort the cubes");
    let first = rig.0.state().draft.preferences.tasks.first().cloned();
    assert_eq!(first.as_deref(), Some("sort the cubes"), "it has a key now");
}

#[test]
fn the_table_is_laid_as_it_was_or_with_the_next_seed() {
    let mut rig = Rig::new(fixture::on_rig());
    assert_eq!(rig.press("Reset"), [reset(None)]);
    assert_eq!(rig.key(Key::L), [reset(None)]);
    assert_eq!(rig.press("Next"), [reset(Some(8))]);
    let mut arm = Rig::new(fixture::running(3_000));
    assert_eq!(arm.key(Key::L), [], "there is no table to be laid");
}

#[test]
fn another_seed_is_typed() {
    let mut rig = Rig::new(fixture::on_rig());
    let seed = |rig: &Rig| {
        let field = rig
            .0
            .get_by_role_and_label(Role::SpinButton, "Seed of the table");
        field.rect().center()
    };
    let at = seed(&rig);
    click(&mut rig, at);
    rig.0.event(Event::Text("42".to_owned()));
    rig.settle();
    assert_eq!(rig.take(), [], "not while it is typed");
    assert_eq!(rig.key(Key::Enter), [reset(Some(42))]);
}

#[test]
fn the_table_repeats_itself_only_while_it_is_wanted() {
    let mut rig = Rig::new(fixture::on_rig());
    let repeat = |rig: &mut Rig| {
        rig.0
            .get_by_role_and_label(Role::CheckBox, "Repeat")
            .click();
        rig.settle();
        rig.take()
    };
    assert_eq!(repeat(&mut rig), [Command::Rig(RigOrder::Repeat(false))]);
    let mut still = Rig::new(with(|rig| rig.repeats = false));
    assert_eq!(repeat(&mut still), [Command::Rig(RigOrder::Repeat(true))]);
}

#[test]
fn slow_motion_is_chosen_and_never_beside_a_real_arm() {
    let mut rig = Rig::new(fixture::on_rig());
    for (label, rate) in [("0.1×", 0.1), ("0.25×", 0.25), ("0.5×", 0.5), ("2×", 2.0)] {
        assert_eq!(rig.choose(label), [Command::Rig(RigOrder::Speed(rate))]);
    }
    let mut led = fixture::on_rig();
    led.sources.leader = Some(ArmSource::Port {
        path: "COM6".to_owned(),
        id: "amber".to_owned(),
    });
    let rig = Rig::new(led);
    let slow = rig.0.get_by_role_and_label(Role::RadioButton, "0.1×");
    assert!(slow.accesskit_node().is_disabled());
}

#[test]
fn progress_is_told_in_words_and_a_success_is_seen() {
    let rig = Rig::new(fixture::on_rig());
    assert!(rig.shows("the red cube is carried"));
    assert!(rig.shows("2 of 3"));
    assert!(rig.0.query_by_label("done").is_none());
    let done = with(|rig| {
        (rig.progress, rig.successes) = (1.0, 3);
        rig.done_since = Some(std::time::Duration::from_secs(99));
    });
    let rig = Rig::new(done);
    assert!(rig.shows("3 of 3"));
    assert!(rig.0.query_by_label("done").is_some());
}

#[test]
fn a_task_that_nobody_judges_is_answered_with_those_that_are() {
    let rig = Rig::new(with(|rig| rig.task = None));
    assert!(rig.shows("no referee for this task"));
    assert!(rig.shows("put the … cube in the box"));
}

#[test]
fn a_task_that_the_table_is_not_laid_for_brings_another_table() {
    let mut snapshot = with(|rig| {
        rig.task = Some("sort the cubes".to_owned());
        rig.obstacle = Some("there is no red box on the table".to_owned());
    });
    snapshot.task = "please sort the cubes".to_owned();
    let mut rig = Rig::new(snapshot);
    assert!(rig.shows("there is no red box"));
    assert_eq!(
        rig.press("Lay the table for it"),
        [lay("please sort the cubes")]
    );
}

#[test]
fn the_expert_and_the_demo_are_one_click_away() {
    let mut rig = Rig::new(fixture::on_rig());
    assert_eq!(rig.choose("Demo"), [Command::LoadPolicy("demo".to_owned())]);
    assert_eq!(
        rig.choose("Expert"),
        [Command::LoadPolicy("expert".to_owned())]
    );
    assert_eq!(rig.choose("Other…"), []);
    rig.write("Policy source", "lerobot/smolvla_base");
    let other = Command::LoadPolicy("lerobot/smolvla_base".to_owned());
    assert_eq!(rig.press("Load"), [other]);
}

#[test]
fn nothing_of_it_is_shown_beside_a_real_arm() {
    let rig = Rig::new(fixture::running(3_000));
    assert!(rig.0.query_by_label("RIG").is_none());
    assert!(rig.0.query_by_label("Expert").is_none());
}

/// Where the first cube of the fixture is seen.
fn cube_at(rig: &Rig) -> Pos2 {
    let state = rig.0.state();
    let scene = rig.scene();
    let view = state.draft.scene.orbit.view();
    let at = view
        .clip_from_base(scene.aspect_ratio())
        .project_point3(state.snapshot.props.cubes[0].position);
    pos2(
        scene.left() + scene.width() * (0.5 + 0.5 * at.x),
        scene.top() + scene.height() * (0.5 - 0.5 * at.y),
    )
}

fn button(rig: &mut Rig, at: Pos2, pressed: bool) {
    rig.0.event(Event::PointerButton {
        pos: at,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    });
    rig.0.run_steps(1);
}

fn point(rig: &mut Rig, at: Pos2) {
    rig.0.event(Event::PointerMoved(at));
    rig.0.run_steps(1);
}

fn click(rig: &mut Rig, at: Pos2) {
    point(rig, at);
    button(rig, at, true);
    button(rig, at, false);
    rig.settle();
}

#[test]
fn a_cube_is_dragged_with_the_mouse_and_let_go() {
    let mut rig = Rig::new(fixture::on_rig());
    let orbit = rig.0.state().draft.scene.orbit;
    let cube = rig.0.state().snapshot.props.cubes[0].position;
    // A little beside it is near enough.
    let at = cube_at(&rig) + egui::vec2(11.0, 0.0);
    point(&mut rig, at);
    button(&mut rig, at, true);
    let there = at + egui::vec2(60.0, 10.0);
    point(&mut rig, at + egui::vec2(20.0, 0.0));
    point(&mut rig, there);
    point(&mut rig, there);
    let dragged = rig.take();
    assert!(dragged.len() > 1, "{dragged:?}");
    let Some(&Command::Rig(RigOrder::Drag { cube: 0, x, y })) = dragged.last() else {
        panic!("{dragged:?}");
    };
    let moved = glam::vec2(x, y).distance(cube.truncate());
    assert!((0.02..0.3).contains(&moved), "{moved}");
    // A hand that rests holds it, and says so.
    rig.0.run_steps(2);
    let last = Command::Rig(RigOrder::Drag { cube: 0, x, y });
    assert_eq!(rig.take(), [last.clone(), last]);
    button(&mut rig, there, false);
    rig.settle();
    assert_eq!(
        rig.take().last(),
        Some(&Command::Rig(RigOrder::LetGo { cube: 0 }))
    );
    assert_eq!(rig.0.state().draft.scene.orbit, orbit, "nothing was turned");
    rig.settle();
    assert_eq!(rig.take(), []);
}

#[test]
fn beside_a_cube_and_beside_a_real_arm_the_mouse_turns_the_picture() {
    for (snapshot, is_on_cube) in [(fixture::on_rig(), false), (fixture::running(3_000), true)] {
        let mut rig = Rig::new(snapshot);
        let orbit = rig.0.state().draft.scene.orbit;
        let at = if is_on_cube {
            cube_at(&rig)
        } else {
            rig.scene().left_bottom() + egui::vec2(40.0, -60.0)
        };
        point(&mut rig, at);
        button(&mut rig, at, true);
        point(&mut rig, at + egui::vec2(20.0, 0.0));
        point(&mut rig, at + egui::vec2(60.0, 0.0));
        button(&mut rig, at + egui::vec2(60.0, 0.0), false);
        assert_eq!(rig.take(), []);
        assert_ne!(rig.0.state().draft.scene.orbit, orbit);
    }
}
