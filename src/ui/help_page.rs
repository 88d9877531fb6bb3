//! The keys, the colours, and the two numbers that decide whether the arm moves smoothly.

use egui::{Color32, CornerRadius, Grid, Margin, RichText, ScrollArea, Sense, Ui, Vec2};

use crate::runtime::{Command, Snapshot};
use crate::ui::card::heading_ui;
use crate::ui::draft::Draft;
use crate::ui::keys::HELP;
use crate::ui::theme;

/// Draws the page.
pub fn help_ui(
    ui: &mut Ui,
    _snapshot: &Snapshot,
    _draft: &mut Draft,
    _commands: &mut Vec<Command>,
) {
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.heading("Help");
        ui.add_space(6.0);
        heading_ui(ui, "KEYS", |_| {});
        keys_ui(ui);
        ui.add_space(10.0);
        heading_ui(ui, "COLOURS", |_| {});
        colours_ui(ui);
        ui.add_space(10.0);
        heading_ui(ui, "THE SIMULATED RIG", |_| {});
        for text in [
            "Tasks lays the table for a task and sends it. A task that you type is judged on the table as it is.",
            "A cube is dragged with the mouse in the 3D view, while the policy drives: see whether it finds it again.",
            "Slow motion slows the arm and the whole runtime, but not the policy: its latency shrinks against the arm.",
        ] {
            ui.label(text);
        }
        ui.add_space(10.0);
        heading_ui(ui, "THE QUEUE", |_| {});
        for text in [
            "The policy answers each look with a chunk of actions; the arm takes one a tick from the queue.",
            "In async mode the next chunk is asked for when queue / chunk falls below g. It arrives one latency later.",
            "g_min = latency / (chunk / fps): below it the queue runs dry before the answer comes, and the arm holds.",
            "When the latency is above half a chunk, no g keeps the plan fresh: fewer steps, a longer chunk, a lower \
             rate or a faster device help.",
        ] {
            ui.label(text);
        }
    });
}

fn keys_ui(ui: &mut Ui) {
    let tokens = theme::tokens(ui);
    Grid::new("keys")
        .spacing(Vec2::new(16.0, 6.0))
        .show(ui, |ui| {
            for (key, meaning) in HELP {
                egui::Frame::new()
                    .fill(tokens.raised)
                    .corner_radius(CornerRadius::same(4))
                    .inner_margin(Margin::symmetric(7, 2))
                    .show(ui, |ui| ui.label(theme::strong(key).size(theme::BODY)));
                ui.label(meaning);
                ui.end_row();
            }
        });
}

fn colours_ui(ui: &mut Ui) {
    let tokens = theme::tokens(ui);
    let meanings: [(Color32, &str, &str); 8] = [
        (tokens.measured, "measured", "what the servos report"),
        (tokens.commanded, "commanded", "what was sent to the servos"),
        (
            tokens.predicted,
            "predicted",
            "the newest chunk, the queue, the policy at the helm",
        ),
        (tokens.previous, "previous", "the chunk before it, dashed"),
        (tokens.human, "human", "a person drives"),
        (
            tokens.recorded,
            "recorded",
            "an episode is being recorded, or recorded actions drive",
        ),
        (tokens.fault, "fault", "something is wrong, or stops"),
        (tokens.good, "acknowledged", "confirmed by a read-back"),
    ];
    Grid::new("colours")
        .spacing(Vec2::new(12.0, 5.0))
        .show(ui, |ui| {
            for (color, name, meaning) in meanings {
                let (rect, _) = ui.allocate_exact_size(Vec2::new(22.0, 12.0), Sense::hover());
                ui.painter().rect_filled(rect, CornerRadius::same(3), color);
                ui.label(theme::strong(name));
                ui.label(RichText::new(meaning).color(tokens.weak));
                ui.end_row();
            }
        });
}
