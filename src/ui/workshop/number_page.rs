//! Giving servos their numbers, one servo a screen.

use egui::{ProgressBar, RichText, Ui, UiBuilder};

use crate::arm::workbench::numbering::{Numbered, Verdict, gears, id_of};
use crate::joint::{Joint, JointVec};
use crate::runtime::workshop::{NumberingView, Order};
use crate::runtime::{Command, Snapshot};
use crate::ui::card::{card_ui, dot_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::scene_panel::{SceneSubject, scene_ui};
use crate::ui::theme;
use crate::ui::words;
use crate::ui::workshop::{areas, back_ui, head_ui, next_ui, order, say_ui, swung, trouble_ui};

/// The pose of the picture, robot units: a little folded, so that every joint is seen to turn.
const POSE: JointVec = JointVec([0.0, -30.0, 40.0, 20.0, 0.0, 30.0]);

/// Each number is written at once, into its servo alone.
const NUMBERED: &str = "Leaves. Servos that have their numbers keep them.";

/// Draws the step.
pub fn number_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    view: &NumberingView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let done = view.done.iter().flatten().count();
    let title = format!("Number the servos of the {} on {}", view.role, view.port);
    head_ui(ui, &title, Some((done.min(5) + 1, 6)), NUMBERED, commands);
    draft.scene.subject = Some(SceneSubject {
        joints: POSE,
        ghost: view.wanted.map(|motor| swung(ui, POSE, motor.joint)),
    });
    let [words, buttons, picture] = areas(ui);
    ui.scope_builder(UiBuilder::new().max_rect(words), |ui| {
        ui.shrink_clip_rect(words);
        words_ui(ui, view, commands);
    });
    ui.scope_builder(UiBuilder::new().max_rect(buttons), |ui| {
        buttons_ui(ui, view, done, commands);
    });
    ui.scope_builder(UiBuilder::new().max_rect(picture), |ui| {
        scene_ui(ui, snapshot, draft, commands);
    });
}

fn words_ui(ui: &mut Ui, view: &NumberingView, commands: &mut Vec<Command>) {
    match view.wanted {
        Some(motor) => {
            let gears = gears(view.role, motor.joint);
            say_ui(
                ui,
                &format!(
                    "Plug the servo of the {} into the board, and no other; with the power on. Its gears are {gears}.",
                    words::joint(motor.joint)
                ),
            );
            weak_ui(
                ui,
                format!(
                    "It gets the number {}. Fresh servos are all number 1, so two of them cannot be told apart. \
                     The amber arm moves the joint that is meant.",
                    motor.id
                ),
            );
        }
        None => chain_words_ui(ui, view),
    }
    ui.add_space(8.0);
    if let Some(trouble) = &view.trouble {
        trouble_ui(ui, trouble);
    }
    verdict_ui(ui, view, commands);
    ui.add_space(8.0);
    for joint in Joint::ALL.into_iter().rev() {
        row_ui(ui, view, joint);
    }
}

fn buttons_ui(ui: &mut Ui, view: &NumberingView, done: usize, commands: &mut Vec<Command>) {
    if let Some(share) = view.hunting {
        let bar = ProgressBar::new(share)
            .desired_width(260.0)
            .text("looking at every speed");
        ui.add(bar);
        return;
    }
    ui.horizontal(|ui| {
        if back_ui(ui, done > 0) {
            order(commands, Order::Back);
        }
        let is_whole = view.chain.as_ref().is_some_and(Vec::is_empty);
        if view.wanted.is_some() {
            if next_ui(ui, "It is plugged in alone", true) {
                order(commands, Order::Next);
            }
        } else if is_whole {
            let (port, role) = (view.port.clone(), view.role);
            if next_ui(ui, "Calibrate", true) {
                order(commands, Order::Calibrate { port, role });
            }
        } else if next_ui(ui, "All six are in the chain", true) {
            order(commands, Order::Next);
        }
    });
}

fn chain_words_ui(ui: &mut Ui, view: &NumberingView) {
    let tokens = theme::tokens(ui);
    match &view.chain {
        None => say_ui(
            ui,
            "All six have their numbers. Put them into the arm and plug them in one behind the other, shoulder pan at the board.",
        ),
        Some(problems) if problems.is_empty() => {
            let text = RichText::new("All six servos answer. The arm can be calibrated.");
            ui.label(text.size(theme::LARGE).color(tokens.good));
        }
        Some(problems) => {
            say_ui(ui, "The chain is not right yet:");
            for problem in problems {
                ui.label(RichText::new(problem).color(tokens.fault_text));
            }
        }
    }
}

fn verdict_ui(ui: &mut Ui, view: &NumberingView, commands: &mut Vec<Command>) {
    match &view.verdict {
        Some(Verdict::Refused(why)) => {
            let tokens = theme::tokens(ui);
            card_ui(ui, tokens.fault, |ui| {
                ui.label(theme::strong(format!("Not numbered: {why}.")));
            });
        }
        Some(Verdict::Foreign(motor)) => {
            let tokens = theme::tokens(ui);
            card_ui(ui, tokens.human, |ui| {
                ui.label(theme::strong(format!(
                    "This servo has the number {} already: that of the {}.",
                    motor.id,
                    words::joint(motor.joint)
                )));
                weak_ui(
                    ui,
                    "Is the one before still plugged in? Then swap it. If this is the right one, give it the new number.",
                );
                if ui.button("Number it all the same").clicked() {
                    order(commands, Order::Insist);
                }
            });
        }
        Some(Verdict::Right | Verdict::Number(_)) | None => {}
    }
}

fn row_ui(ui: &mut Ui, view: &NumberingView, joint: Joint) {
    let tokens = theme::tokens(ui);
    let done = view.done[joint.index()];
    let is_wanted = view.wanted.is_some_and(|motor| motor.joint == joint);
    ui.horizontal(|ui| {
        dot_ui(ui, tokens.text, done.is_some());
        let name = format!("{} {}", id_of(joint), words::joint(joint));
        if is_wanted {
            ui.label(theme::strong(format!("{name}  ← now")));
        } else {
            ui.label(name);
        }
        match done {
            Some(Numbered::Already) => {
                weak_ui(ui, "had its number");
            }
            Some(Numbered::From(1)) => {
                weak_ui(ui, "numbered");
            }
            Some(Numbered::From(id)) => {
                weak_ui(ui, format!("numbered; it was {id}"));
            }
            None => {}
        }
    });
}
