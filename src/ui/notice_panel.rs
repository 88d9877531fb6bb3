//! What wants an answer: faults with what to do, and the warning before the arm drops. It takes its place above the 3D
//! panel and covers nothing.

use std::cmp::Reverse;

use egui::{Align, Button, Label, Layout, RichText, ScrollArea, Ui};

use crate::joint::JOINT_COUNT;
use crate::runtime::{Command, Fault, FaultKind, Mode, Snapshot};
use crate::ui::card::{badge_ui, card_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::state::{held_in_part, is_limp, mode_obstacle};
use crate::ui::theme;
use crate::ui::words;

/// Most of the height above the plots that faults may take.
const FAULTS_SHARE: f32 = 0.45;

/// Draws the warning and the faults, if there are any.
pub fn notice_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    if snapshot.releasing.is_some() || is_limp(snapshot) {
        draft.asks_to_release = false;
    }
    if draft.asks_to_release {
        release_ui(ui, snapshot, draft, commands);
    }
    if snapshot.stopped.is_none() {
        if is_limp(snapshot) {
            limp_ui(ui, commands);
        } else if let Some(held) = held_in_part(snapshot) {
            held_in_part_ui(ui, held, draft, commands);
        }
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
            let (mut active, past): (Vec<&Fault>, Vec<&Fault>) =
                snapshot.faults.iter().partition(|fault| fault.active);
            // The newest answers what was just pressed; a lost packet asks for nothing and comes last.
            active.sort_by_key(|fault| (fault.kind == FaultKind::BusRetry, Reverse(fault.since)));
            for fault in active {
                fault_ui(ui, snapshot, fault, commands);
            }
            for fault in past {
                past_fault_ui(ui, snapshot, fault, commands);
            }
        });
}

fn release_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.human, |ui| {
        let (question, hint, release) = if snapshot.parked {
            (
                "Release torque? The arm is parked.",
                "Without torque nothing holds it against gravity. From here it sinks only a little.",
                "Release",
            )
        } else {
            (
                "Release torque? The arm drops.",
                "Without torque nothing holds the arm against gravity. Parked first, it sinks a little; else put a hand under it.",
                "Release: the arm drops",
            )
        };
        ui.label(theme::strong(question).size(theme::LARGE));
        weak_ui(ui, hint);
        ui.horizontal(|ui| {
            let can_park = !snapshot.parked && mode_obstacle(snapshot, Mode::Jog).is_none();
            if can_park {
                let text = theme::strong("Park, then release").color(tokens.on_chosen);
                let park = ui.add(Button::new(text).fill(tokens.chosen)).on_hover_text(
                    "The arm folds up slowly and lets go there. STOP breaks it off.",
                );
                if park.clicked() {
                    commands.push(Command::ParkAndRelease);
                    draft.asks_to_release = false;
                }
            }
            let text = theme::strong(release).color(tokens.on_human);
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
            "Bring it where it may start. Enabled, the servos hold the pose they have; then choose who drives.",
        );
    });
}

/// An arm that nobody armed and that holds all the same: both ways out are offered.
fn held_in_part_ui(ui: &mut Ui, held: usize, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.human, |ui| {
        ends_ui(
            ui,
            |ui| {
                let text =
                    format!("{held} of {JOINT_COUNT} joints have torque, the arm is not armed");
                ui.label(theme::strong(text).size(theme::LARGE));
            },
            |ui| {
                let text = RichText::new("Enable torque: it holds").color(tokens.on_chosen);
                if ui.add(Button::new(text).fill(tokens.chosen)).clicked() {
                    commands.push(Command::EnableTorque);
                }
                if !draft.asks_to_release && ui.button("Release it…").clicked() {
                    draft.asks_to_release = true;
                }
            },
        );
        weak_ui(
            ui,
            "Support the arm: what has no torque hangs loose. Enabled, all servos hold the pose they have; released, none does.",
        );
    });
}

/// A fault that is over takes one line: it asks for nothing but to be read.
fn past_fault_ui(ui: &mut Ui, snapshot: &Snapshot, fault: &Fault, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.faint, |ui| {
        ends_ui(
            ui,
            |ui| {
                let text = RichText::new(&fault.what).size(theme::BODY);
                ui.add(Label::new(text.color(tokens.weak)).truncate())
                    .on_hover_text(format!("{}\n\n{}", fault.what, fault.remedy));
            },
            |ui| {
                acknowledge_ui(ui, fault, commands);
                badge_ui(ui, "over", tokens.weak);
                let ago = words::span(snapshot.now.saturating_sub(fault.since));
                weak_ui(ui, often(fault, &format!("began {ago} ago")));
            },
        );
    });
}

fn acknowledge_ui(ui: &mut Ui, fault: &Fault, commands: &mut Vec<Command>) {
    let response = ui
        .button("Acknowledge")
        .on_hover_text("The fault goes away if its cause has.");
    if response.clicked() {
        commands.push(Command::Acknowledge(fault.id));
    }
}

/// When it was, and how often if more than once.
fn often(fault: &Fault, when: &str) -> String {
    if fault.count > 1 {
        format!("{when} · {} times", words::count(fault.count))
    } else {
        when.to_owned()
    }
}

/// One fault with what to do, when it began, and whether it is over.
pub fn fault_ui(ui: &mut Ui, snapshot: &Snapshot, fault: &Fault, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.fault, |ui| {
        let since = words::span(snapshot.now.saturating_sub(fault.since));
        let remark = if fault.active {
            often(fault, &format!("since {since}"))
        } else {
            often(fault, &format!("{since} ago"))
        };
        ends_ui(
            ui,
            |ui| {
                ui.label(theme::strong(&fault.what).size(theme::BODY));
            },
            |ui| {
                acknowledge_ui(ui, fault, commands);
                if fault.active {
                    badge_ui(ui, "fault", tokens.fault_text);
                }
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
