//! The lab: sync against async on seeded tables, measured beside the run and on clocks of its own.

use egui::{Button, CornerRadius, Grid, ProgressBar, RichText, ScrollArea, Sense, Ui, Vec2};

use crate::runtime::{Command, LabLine, LabOrder, LabView, Snapshot};
use crate::ui::card::{heading_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::theme;

const BAR: Vec2 = Vec2::new(220.0, 12.0);

/// Draws the page.
pub fn lab_ui(ui: &mut Ui, snapshot: &Snapshot, _draft: &mut Draft, commands: &mut Vec<Command>) {
    ui.heading("Lab");
    weak_ui(
        ui,
        "The scripted expert flies the same seeded tables in sync, async and RTC. Each run has a virtual clock: the numbers of a \
         busy machine are the same.",
    );
    ui.add_space(8.0);
    let Some(lab) = snapshot.lab.as_deref() else {
        weak_ui(
            ui,
            "There is no lab in this session; `smolpilot lab` measures without a window.",
        );
        return;
    };
    controls_ui(ui, lab, commands);
    ui.add_space(8.0);
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        if let Some(error) = &lab.error {
            let ink = theme::tokens(ui).fault_text;
            ui.label(RichText::new(format!("No report: {error}.")).color(ink));
            ui.add_space(8.0);
        }
        if lab.lines.is_empty() {
            weak_ui(
                ui,
                if lab.progress.is_some() {
                    "The table comes when all runs are over. Leave the page as you like."
                } else {
                    "Nothing has been measured yet. Quick takes one or two minutes."
                },
            );
            return;
        }
        heading_ui(ui, "SYNC AND ASYNC", |_| {});
        lines_ui(ui, &lab.lines);
        ui.add_space(10.0);
        heading_ui(ui, "WHAT IT SAYS", |_| {});
        for finding in &lab.findings {
            ui.label(format!("• {finding}"));
        }
        ui.add_space(10.0);
        heading_ui(ui, "DISTURBANCES", |_| {});
        verdicts_ui(ui, lab);
        if let Some(report) = &lab.report {
            ui.add_space(10.0);
            ui.label(format!("Tables and plots: {report}"));
        }
    });
}

fn controls_ui(ui: &mut Ui, lab: &LabView, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        let Some((done, total)) = lab.progress else {
            for (words, hint, quick) in [
                ("Run quick", "Fewer episodes: one or two minutes.", true),
                (
                    "Run all",
                    "Everything: some minutes on a fast machine.",
                    false,
                ),
            ] {
                if ui.button(words).on_hover_text(hint).clicked() {
                    commands.push(Command::Lab(LabOrder::Run { quick }));
                }
            }
            return;
        };
        let word = if lab.ends { "Ending…" } else { "Cancel" };
        let cancel = ui.add_enabled(!lab.ends, Button::new(word));
        if cancel.clicked() {
            commands.push(Command::Lab(LabOrder::Cancel));
        }
        let share = done as f32 / total.max(1) as f32;
        ui.add(ProgressBar::new(share).desired_width(BAR.x));
        weak_ui(ui, stage(lab, done, total));
    });
}

/// What is flown now; the disturbances come first and are no runs of a table.
fn stage(lab: &LabView, done: usize, total: usize) -> String {
    if total > 1 {
        format!("{done} of {total} runs; {}", lab.what)
    } else if lab.what.is_empty() {
        "taking off".to_owned()
    } else {
        format!("first the disturbances: {}", lab.what)
    }
}

/// One bar a setting, as long as its time.
fn lines_ui(ui: &mut Ui, lines: &[LabLine]) {
    let tokens = theme::tokens(ui);
    let times = lines.iter().filter_map(|line| line.time_s);
    let longest = times.fold(1e-3, f64::max);
    Grid::new("lab lines")
        .spacing(Vec2::new(18.0, 5.0))
        .striped(true)
        .show(ui, |ui| {
            for word in ["latency", "schedule", "success", "time", "", "idle"] {
                weak_ui(ui, word);
            }
            ui.end_row();
            for line in lines {
                ui.label(&line.latency);
                ui.label(&line.label);
                ui.label(format!("{}/{}", line.successes, line.episodes));
                let time = line.time_s;
                ui.label(time.map_or("–".to_owned(), |time| format!("{time:.1} s")));
                let (rect, _) = ui.allocate_exact_size(BAR, Sense::hover());
                let share = time.map_or(0.0, |time| (time / longest) as f32);
                let ground = CornerRadius::same(2);
                ui.painter().rect_filled(rect, ground, tokens.raised);
                let full = rect.with_max_x(rect.left() + rect.width() * share);
                ui.painter().rect_filled(full, ground, tokens.commanded);
                ui.label(format!("{:.0} %", line.idle * 100.0));
                ui.end_row();
            }
        });
}

fn verdicts_ui(ui: &mut Ui, lab: &LabView) {
    let tokens = theme::tokens(ui);
    for verdict in &lab.verdicts {
        ui.horizontal_wrapped(|ui| {
            let (word, ink) = if verdict.passed {
                ("PASS", tokens.good)
            } else {
                ("FAIL", tokens.fault_text)
            };
            ui.label(theme::strong(word).color(ink));
            ui.label(&verdict.name);
            weak_ui(ui, verdict.seen.as_str());
        });
    }
}
