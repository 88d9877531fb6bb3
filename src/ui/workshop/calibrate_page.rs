//! Calibrating, one step a screen: what to do in words, the arm as it should stand beside the arm as it stands, and a bar a
//! joint.

use egui::{Key, RichText, Ui, UiBuilder};

use crate::arm::Role;
use crate::arm::workbench::calibrating::Stage;
use crate::arm::workbench::sweep::Travel;
use crate::joint::Joint;
use crate::runtime::workshop::{CalibratingView, Order};
use crate::runtime::{Command, Snapshot};
use crate::ui::card::weak_ui;
use crate::ui::draft::Draft;
use crate::ui::scene_panel::{SceneSubject, scene_ui};
use crate::ui::theme;
use crate::ui::workshop::bars::bars_ui;
use crate::ui::workshop::{UNWRITTEN, areas, back_ui, head_ui, let_go_ui, next_ui, order, swung};

/// Steps in all, with saving.
pub const STEPS: usize = Stage::ALL.len() + 1;

/// Draws the step.
pub fn calibrate_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    view: &CalibratingView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let title = format!("Calibrate the {} on {}", view.role, view.port);
    let step = view.stage as usize + 1;
    head_ui(ui, &title, Some((step, STEPS)), UNWRITTEN, commands);
    draft.scene.subject = Some(subject(ui, view));
    let [words, buttons, picture] = areas(ui);
    ui.scope_builder(UiBuilder::new().max_rect(words), |ui| {
        ui.shrink_clip_rect(words);
        words_ui(ui, view, draft, commands);
    });
    ui.scope_builder(UiBuilder::new().max_rect(buttons), |ui| {
        ui.horizontal(|ui| buttons_ui(ui, view, draft, commands));
    });
    ui.scope_builder(UiBuilder::new().max_rect(picture), |ui| {
        scene_ui(ui, snapshot, draft, commands);
    });
}

fn words_ui(ui: &mut Ui, view: &CalibratingView, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    for text in what_to_do(view) {
        ui.label(RichText::new(text).size(theme::LARGE));
    }
    ui.add_space(8.0);
    if !view.holding.is_empty() {
        let port = view.port.clone();
        let_go_ui(ui, &port, view.holding.len(), &mut draft.workshop, commands);
        ui.add_space(8.0);
    }
    if let Some(joint) = bars_ui(ui, &view.bars, view.stage != Stage::Middle) {
        order(commands, Order::Redo(joint));
    }
    ui.add_space(8.0);
    for remark in &view.remarks {
        weak_ui(ui, remark);
    }
    // What is missing is said before anybody presses Next; all at once would be a wall of words.
    let missing = view.obstacles.len();
    for obstacle in view.obstacles.iter().take(2) {
        ui.label(RichText::new(format!("• {obstacle}")).color(tokens.text));
    }
    if missing > 2 {
        weak_ui(ui, format!("and {} more", missing - 2));
    }
}

fn buttons_ui(ui: &mut Ui, view: &CalibratingView, draft: &mut Draft, commands: &mut Vec<Command>) {
    let is_free = view.obstacles.is_empty() && view.holding.is_empty();
    if back_ui(ui, view.stage != Stage::Middle) {
        order(commands, Order::Back);
    }
    let label = match view.stage {
        Stage::Middle => "It stands in the middle",
        Stage::Sweep => "All joints are swept",
        Stage::Close if view.role == Role::Leader => "It is pressed",
        Stage::Open if view.role == Role::Leader => "It is let go",
        Stage::Close => "It is closed",
        Stage::Open => "It is open",
        Stage::Check => "It follows: go on to save",
    };
    // A hand on the arm reaches the Enter key more easily than a button.
    let is_entered = ui.memory(|memory| memory.focused().is_none())
        && ui.input(|input| input.key_pressed(Key::Enter));
    let is_pressed = next_ui(ui, label, is_free);
    if is_pressed || (is_entered && is_free) {
        if view.stage == Stage::Check {
            draft.workshop.is_saving = true;
        } else {
            order(commands, Order::Next);
        }
    }
    weak_ui(ui, "Enter does the same");
}

/// The step in words.
fn what_to_do(view: &CalibratingView) -> Vec<&'static str> {
    match view.stage {
        Stage::Middle => vec![
            "Put every joint into the middle of its travel, as in the picture, and hold the arm still.",
            match view.role {
                Role::Follower => {
                    "Upper arm up and forward, forearm level, gripper straight ahead and upright, jaws half open."
                }
                Role::Leader => {
                    "Upper arm up and forward, forearm level, handle straight ahead and upright, trigger half way."
                }
            },
        ],
        Stage::Sweep if missing_joint(view).is_none() => vec![
            "Every joint went through its travel. Go on, or lead a joint further if it has not reached both ends.",
        ],
        Stage::Sweep => vec![
            "Lead each joint slowly to both of its ends, in any order. The amber arm shows the next one that is missing.",
            "Wrist roll turns freely and needs no sweep.",
        ],
        Stage::Close => match view.role {
            Role::Follower => vec!["Close the gripper all the way and leave it closed."],
            Role::Leader => vec!["Press the trigger all the way and keep it pressed."],
        },
        Stage::Open => vec![
            match view.role {
                Role::Follower => "Now open the gripper all the way and leave it open.",
                Role::Leader => "Now let the trigger go all the way.",
            },
            "This shows which way it opens: a gripper mounted the other way round is noticed here.",
        ],
        Stage::Check => vec![
            "Move the arm: the one on the screen must follow, each joint the right way.",
            "Bring it into the amber pose: they should meet. If they do not, go back or redo the joint.",
        ],
    }
}

/// The arm as it is, and in amber the pose that is asked for.
fn subject(ui: &Ui, view: &CalibratingView) -> SceneSubject {
    let joints = view.pose.unwrap_or(view.expected);
    let ghost = match view.stage {
        Stage::Middle => None,
        Stage::Sweep => missing_joint(view).map(|joint| swung(ui, joints, joint)),
        Stage::Close | Stage::Open => {
            let mut ghost = joints;
            ghost[Joint::Gripper] = view.expected[Joint::Gripper];
            Some(ghost)
        }
        Stage::Check => Some(view.expected),
    };
    SceneSubject { joints, ghost }
}

/// The first joint whose sweep is not whole.
fn missing_joint(view: &CalibratingView) -> Option<Joint> {
    let missing = |bar: &&crate::arm::workbench::calibrating::JointBar| {
        bar.is_swept && bar.verdict != Travel::Full
    };
    view.bars.iter().find(missing).map(|bar| bar.joint)
}
