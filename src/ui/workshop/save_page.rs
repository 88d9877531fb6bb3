//! The end of a calibration: what will be written and under which name, and afterwards what was.

use egui::{Grid, RichText, TextEdit, Ui};

use crate::joint::Joint;
use crate::runtime::workshop::{CalibratingView, Order, SavedView};
use crate::runtime::{ArmSource, Command, Snapshot};
use crate::ui::card::weak_ui;
use crate::ui::draft::Draft;
use crate::ui::theme;
use crate::ui::words;
use crate::ui::workshop::calibrate_page::STEPS;
use crate::ui::workshop::{UNWRITTEN, back_ui, head_ui, is_entered, next_ui, order, say_ui};

/// Draws the last step.
pub fn save_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    view: &CalibratingView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let title = format!("Calibrate the {} on {}", view.role, view.port);
    head_ui(ui, &title, Some((STEPS, STEPS)), UNWRITTEN, commands);
    say_ui(
        ui,
        "Name the arm and save. Only now anything is written: the servos' homing and limits, then the file that LeRobot reads too.",
    );
    let draft = &mut draft.workshop;
    let is_new = draft.id_for.as_deref() != Some(&view.port);
    if is_new {
        draft.id_for = Some(view.port.clone());
        draft.id.clone_from(&view.suggested_id);
    }
    let mut is_named = false;
    ui.horizontal(|ui| {
        ui.label("Name of this arm");
        let field = TextEdit::singleline(&mut draft.id)
            .hint_text("a word, such as blue")
            .desired_width(200.0);
        let field = ui.add(field).accessible_name("Name of this arm");
        // A name that stands there already is not to be taken by an Enter too many.
        if is_new && draft.id.is_empty() {
            field.request_focus();
        }
        is_named = is_entered(ui, &field);
        let id = draft.id.trim();
        let known = snapshot.workshop.known.iter();
        let mut known = known.filter(|(role, _)| *role == view.role);
        if known.any(|(_, known)| known == id) {
            weak_ui(ui, "known already: its file is replaced and kept as .bak");
        }
    });
    weak_ui(
        ui,
        format!(
            "LeRobot's {} for this arm.",
            match view.role {
                crate::arm::Role::Follower => "--robot.id",
                crate::arm::Role::Leader => "--teleop.id",
            }
        ),
    );
    ui.add_space(10.0);
    plan_ui(ui, view);
    ui.add_space(12.0);
    let id = draft.id.trim().to_owned();
    ui.horizontal(|ui| {
        if back_ui(ui, true) {
            draft.is_saving = false;
        }
        let can_save = !id.is_empty() && view.plan.is_some() && view.holding.is_empty();
        if next_ui(ui, "Save", can_save) || (is_named && can_save) {
            order(commands, Order::Save { id });
        }
    });
    for obstacle in &view.obstacles {
        ui.label(format!("• {obstacle}"));
    }
}

/// Old and new values of each servo.
fn plan_ui(ui: &mut Ui, view: &CalibratingView) {
    let tokens = theme::tokens(ui);
    let Some(plan) = &view.plan else { return };
    Grid::new("plan")
        .striped(true)
        .spacing([18.0, 4.0])
        .show(ui, |ui| {
            for head in [
                "joint",
                "homing offset",
                "lowest",
                "highest",
                "counts, 4096 a turn",
            ] {
                ui.label(theme::section(ui, head));
            }
            ui.end_row();
            for joint in Joint::ALL {
                let (new, old) = (plan.motor(joint), view.before[joint.index()]);
                ui.label(words::joint(joint));
                for (old, new) in [
                    (old.homing_offset, new.homing_offset),
                    (old.range_min, new.range_min),
                    (old.range_max, new.range_max),
                ] {
                    let text = if old == new {
                        format!("{new}")
                    } else {
                        format!("{old} → {new}")
                    };
                    ui.label(theme::figure(text, theme::BODY));
                }
                let remark = match joint {
                    Joint::Gripper if new.drive_mode == 1 => "opens downward: drive mode 1",
                    Joint::WristRoll => "turns freely",
                    _ => "",
                };
                ui.label(RichText::new(remark).size(theme::SMALL).color(tokens.weak));
                ui.end_row();
            }
        });
}

/// Draws what was done.
pub fn saved_ui(ui: &mut Ui, snapshot: &Snapshot, saved: &SavedView, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    let title = format!("The {} {} is calibrated", saved.role, saved.id);
    ui.label(theme::strong(title).size(theme::LEAD).color(tokens.good));
    ui.add_space(6.0);
    let written = match saved.changed.len() {
        0 => "Its servos were right already.".to_owned(),
        1 => "One servo was written and read back.".to_owned(),
        count => format!("{count} servos were written and read back."),
    };
    ui.label(written);
    for path in &saved.paths {
        weak_ui(ui, path.display().to_string());
    }
    ui.add_space(12.0);
    ui.horizontal(|ui| {
        let source = ArmSource::Port {
            path: saved.port.clone(),
            id: saved.id.clone(),
        };
        let is_used = snapshot.sources.of(saved.role) == Some(&source);
        if is_used {
            ui.label(format!("In use as the {}.", saved.role));
        } else if next_ui(ui, &format!("Use as {}", saved.role), true) {
            commands.push(Command::UseArm(saved.role, Some(source)));
        }
        if ui.button("Back to the arms").clicked() {
            order(commands, Order::Survey);
        }
    });
}
