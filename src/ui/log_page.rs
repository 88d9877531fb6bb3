//! The recent log lines, newest last, with a filter.

use egui::{Align, Layout, RichText, ScrollArea, TextEdit, Ui, Vec2};
use log::Level;

use crate::runtime::{Command, Snapshot};
use crate::ui::card::weak_ui;
use crate::ui::draft::Draft;
use crate::ui::log_tail::LogLine;
use crate::ui::theme;

const ROW: f32 = 18.0;

/// Draws the page.
pub fn log_ui(ui: &mut Ui, _snapshot: &Snapshot, draft: &mut Draft, _commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    ui.horizontal(|ui| {
        ui.heading("Log");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("Clear").clicked() {
                draft.log.clear();
            }
            let field = TextEdit::singleline(&mut draft.log_filter)
                .hint_text(RichText::new("only lines with…").color(tokens.faint))
                .min_size(Vec2::new(60.0, 22.0))
                .desired_width(240.0);
            ui.add(field).accessible_name("Filter");
        });
    });
    ui.add_space(4.0);
    let wanted = draft.log_filter.to_lowercase();
    let lines: Vec<&LogLine> = draft
        .log
        .iter()
        .filter(|line| {
            wanted.is_empty()
                || line.text.to_lowercase().contains(&wanted)
                || line.target.contains(&wanted)
        })
        .collect();
    if lines.is_empty() {
        let words = if draft.log.is_empty() {
            "Nothing has been logged yet."
        } else {
            "No line holds these words."
        };
        weak_ui(ui, words);
        return;
    }
    ScrollArea::vertical()
        .auto_shrink(false)
        .stick_to_bottom(true)
        .show_rows(ui, ROW, lines.len(), |ui, rows| {
            for line in &lines[rows] {
                line_ui(ui, line);
            }
        });
}

fn line_ui(ui: &mut Ui, line: &LogLine) {
    let tokens = theme::tokens(ui);
    let (word, ink) = match line.level {
        Level::Error => ("error", tokens.fault_text),
        Level::Warn => ("warn", tokens.text),
        Level::Info => ("info", tokens.weak),
        Level::Debug => ("debug", tokens.faint),
        Level::Trace => ("trace", tokens.faint),
    };
    let body = if line.level <= Level::Warn {
        tokens.text
    } else {
        tokens.weak
    };
    ui.horizontal(|ui| {
        ui.set_height(ROW);
        let piece = |width: f32, text: String, color: egui::Color32, ui: &mut Ui| {
            let size = Vec2::new(width, ROW);
            let layout = Layout::left_to_right(Align::Center);
            ui.allocate_ui_with_layout(size, layout, |ui| {
                ui.set_min_size(size);
                ui.label(RichText::new(text).size(theme::BODY).color(color));
            });
        };
        let at = format!("{:9.3} s", line.at.as_secs_f64());
        piece(80.0, at, tokens.faint, ui);
        piece(42.0, word.to_owned(), ink, ui);
        piece(120.0, line.target.clone(), tokens.faint, ui);
        let text = RichText::new(&line.text).size(theme::BODY).color(body);
        ui.add(egui::Label::new(text).selectable(true).truncate());
    });
}
