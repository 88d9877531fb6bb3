//! Which arm is which: move one by hand and see which bars follow. No motor is driven for it.

use egui::{CornerRadius, RichText, Sense, Ui, Vec2};

use crate::joint::Joint;
use crate::runtime::Command;
use crate::runtime::workshop::{IdentifiedArm, Order};
use crate::ui::card::{badge_ui, card_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::theme;
use crate::ui::words;
use crate::ui::workshop::{UNWRITTEN, head_ui, let_go_ui, order, say_ui};

/// Degrees of travel that fill a bar.
const FULL: f32 = 90.0;

/// Draws the page.
pub fn identify_ui(
    ui: &mut Ui,
    arms: &[IdentifiedArm],
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    head_ui(ui, "Which arm is which?", None, UNWRITTEN, commands);
    say_ui(
        ui,
        "Move one arm by hand: its bars follow, and its port is named. Nothing is driven.",
    );
    for arm in arms {
        let tokens = theme::tokens(ui);
        let edge = if arm.is_this {
            tokens.human
        } else {
            tokens.line
        };
        card_ui(ui, edge, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.label(theme::strong(&arm.port).size(theme::LARGE));
                if arm.is_this {
                    badge_ui(ui, "this one is being moved", tokens.human);
                }
                for (role, id) in &arm.known {
                    badge_ui(ui, &format!("calibrated: {role} {id}"), tokens.good);
                }
                if let Some(volts) = arm.volts {
                    ui.label(theme::figure(format!("{volts:.1} V"), theme::BODY));
                }
                if let Some(hint) = &arm.hint {
                    weak_ui(ui, hint);
                }
            });
            if let Some(trouble) = &arm.trouble {
                ui.label(&trouble.what);
                weak_ui(ui, &trouble.remedy);
                return;
            }
            if arm.held_joints > 0 {
                let_go_ui(
                    ui,
                    &arm.port,
                    arm.held_joints,
                    &mut draft.workshop,
                    commands,
                );
            }
            ui.horizontal(|ui| {
                for joint in Joint::ALL {
                    travel_ui(ui, arm, joint);
                }
            });
        });
        ui.add_space(6.0);
    }
    if ui.button("Begin anew").clicked() {
        order(commands, Order::Identify);
    }
}

fn travel_ui(ui: &mut Ui, arm: &IdentifiedArm, joint: Joint) {
    let tokens = theme::tokens(ui);
    ui.vertical(|ui| {
        let size = Vec2::new(96.0, 10.0);
        let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
        let radius = CornerRadius::same(3);
        ui.painter().rect_filled(rect, radius, tokens.well);
        let share = (arm.travel[joint.index()] / FULL).min(1.0);
        let moved = rect.with_max_x(rect.left() + rect.width() * share);
        let fill = if arm.is_this {
            tokens.human
        } else {
            tokens.measured
        };
        ui.painter().rect_filled(moved, radius, fill);
        let text = match arm.now[joint.index()] {
            Some(_) => format!(
                "{} {:.0}°",
                words::joint_short(joint),
                arm.travel[joint.index()]
            ),
            None => format!("{} silent", words::joint_short(joint)),
        };
        ui.label(RichText::new(text).size(theme::SMALL).color(tokens.weak));
    });
}
