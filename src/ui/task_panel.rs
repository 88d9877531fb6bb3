//! The task in words: typed, chosen from the recent ones, applied while the arm moves.

use egui::{Align, Button, Id, Key, Layout, PopupCloseBehavior, RichText, TextEdit, Ui, Vec2};

use crate::runtime::{Command, Snapshot};
use crate::ui::draft::Draft;
use crate::ui::theme;

/// Names the text field, so that a key can give it the focus.
pub fn field_id() -> Id {
    Id::unique("task field")
}

/// Draws the strip above the 3D panel.
pub fn task_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.label(theme::section(ui, "TASK"));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            recent_ui(ui, snapshot, draft, commands);
            let is_changed = draft.task.text.trim() != snapshot.task;
            let apply = Button::new("Apply").min_size(Vec2::new(56.0, 26.0));
            let hint = "Sends the task in mid-run: the queue of the old task is dropped. Enter does the same.";
            let is_clicked = ui
                .add_enabled(is_changed, apply)
                .on_hover_text(hint)
                .on_disabled_hover_text("This is the task in force.")
                .clicked();
            let is_entered = field_ui(ui, draft);
            if (is_clicked || is_entered) && is_changed {
                let text = draft.task.text.trim().to_owned();
                send(draft, commands, text);
            }
        });
    });
}

/// The text field; true when Enter was pressed in it.
fn field_ui(ui: &mut Ui, draft: &mut Draft) -> bool {
    let tokens = theme::tokens(ui);
    let field = TextEdit::singleline(&mut draft.task.text)
        .id(field_id())
        .hint_text(RichText::new("Say what to do: put the red cube in the box").color(tokens.faint))
        .font(theme::font(theme::LARGE))
        .align(egui::Align2::LEFT_CENTER)
        .min_size(Vec2::new(80.0, 26.0))
        .desired_width(ui.available_width());
    let response = ui.add(field).accessible_name("Task");
    if std::mem::take(&mut draft.task.wants_focus) {
        response.request_focus();
    }
    response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
}

fn recent_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tasks = draft.preferences.tasks.clone();
    let button = Button::new("Recent").min_size(Vec2::new(60.0, 26.0));
    let response = ui
        .add_enabled(!tasks.is_empty(), button)
        .on_hover_text("The recent tasks; keys 1 to 9 send them.")
        .on_disabled_hover_text("No task has been sent yet.");
    egui::Popup::menu(&response)
        .close_behavior(PopupCloseBehavior::CloseOnClick)
        .show(|ui| {
            ui.set_min_width(340.0);
            for (i, task) in tasks.iter().enumerate() {
                let number = if i < 9 {
                    format!("{}", i + 1)
                } else {
                    String::new()
                };
                let is_current = *task == snapshot.task;
                let row = Button::selectable(is_current, task.as_str()).shortcut_text(number);
                if ui.add(row).clicked() {
                    send(draft, commands, task.clone());
                }
            }
        });
}

fn send(draft: &mut Draft, commands: &mut Vec<Command>, task: String) {
    draft.task.text.clone_from(&task);
    draft.preferences.remember_task(&task);
    commands.push(Command::SetTask(task));
}
