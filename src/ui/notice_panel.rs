//! What wants an answer: faults with what to do, and the warning before the arm drops. It takes its place above the 3D
//! panel and covers nothing.

use egui::{Align, Button, Layout, RichText, ScrollArea, Ui};

use crate::runtime::{Command, Fault, Snapshot};
use crate::ui::card::{badge_ui, card_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::state::is_limp;
use crate::ui::theme;
use crate::ui::words;

/// Most of the height above the plots that faults may take.
const FAULTS_SHARE: f32 = 0.45;

/// Draws the warning and the faults, if there are any.
pub fn notice_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    if draft.asks_to_release {
        release_ui(ui, draft, commands);
    }
    if is_limp(snapshot) && snapshot.stopped.is_none() {
        limp_ui(ui, commands);
    }
    if snapshot.faults.is_empty() {
        return;
    }
    ScrollArea::vertical()
        .id_salt("faults")
        .max_height(ui.available_height() * FAULTS_SHARE)
        .auto_shrink([false, true])
        .show(ui, |ui| {
            // What is still wrong comes first.
            let (active, past): (Vec<&Fault>, Vec<&Fault>) =
                snapshot.faults.iter().partition(|fault| fault.active);
            for fault in active.into_iter().chain(past) {
                fault_ui(ui, snapshot, fault, commands);
            }
        });
}

fn release_ui(ui: &mut Ui, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.human, |ui| {
        ui.label(theme::strong("Release torque? The arm drops.").size(theme::LARGE));
        weak_ui(
            ui,
            "Without torque nothing holds the arm against gravity. Put a hand under it, then release.",
        );
        ui.horizontal(|ui| {
            let text = theme::strong("Release: the arm drops").color(tokens.on_human);
            if ui.add(Button::new(text).fill(tokens.human)).clicked() {
                commands.push(Command::ReleaseTorque);
                draft.asks_to_release = false;
            }
            if ui.button("Keep holding").clicked() {
                draft.asks_to_release = false;
            }
        });
    });
}

/// Torque is a deliberate act, offered where the eye looks for the reason why nothing drives.
fn limp_ui(ui: &mut Ui, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.chosen, |ui| {
        ends_ui(
            ui,
            |ui| {
                ui.label(theme::strong("The arm is limp").size(theme::LARGE));
            },
            |ui| {
                let text = RichText::new("Enable torque: it holds").color(tokens.on_chosen);
                if ui.add(Button::new(text).fill(tokens.chosen)).clicked() {
                    commands.push(Command::EnableTorque);
                }
            },
        );
        weak_ui(
            ui,
            "Bring it where it may start. Enabled, the servos hold the pose they have; then choose POLICY or JOG.",
        );
    });
}

fn fault_ui(ui: &mut Ui, snapshot: &Snapshot, fault: &Fault, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    let edge = if fault.active {
        tokens.fault
    } else {
        tokens.faint
    };
    card_ui(ui, edge, |ui| {
        let since = words::span(snapshot.now.saturating_sub(fault.since));
        let remark = if fault.count > 1 {
            format!("since {since} · {} times", words::count(fault.count))
        } else {
            format!("since {since}")
        };
        ends_ui(
            ui,
            |ui| {
                ui.label(theme::strong(&fault.what).size(theme::BODY));
            },
            |ui| {
                let response = ui
                    .button("Acknowledge")
                    .on_hover_text("The fault goes away if its cause has.");
                if response.clicked() {
                    commands.push(Command::Acknowledge(fault.id));
                }
                let (word, ink) = if fault.active {
                    ("fault", tokens.fault_text)
                } else {
                    ("over", tokens.weak)
                };
                badge_ui(ui, word, ink);
            },
        );
        ends_ui(
            ui,
            |ui| {
                ui.label(
                    RichText::new(&fault.remedy)
                        .size(theme::BODY)
                        .color(tokens.weak),
                );
            },
            |ui| {
                weak_ui(ui, remark);
            },
        );
    });
}

/// A line with something at its right end and text that wraps before it.
fn ends_ui(ui: &mut Ui, left: impl FnOnce(&mut Ui), right: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            right(ui);
            let layout = Layout::left_to_right(Align::Center).with_main_wrap(true);
            ui.with_layout(layout, left);
        });
    });
}
