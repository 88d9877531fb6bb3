//! The status bar: faults in a word, the recording, what was counted since the start, and notices that pass.

use egui::{Align, Button, Label, Layout, RichText, Ui};

use crate::runtime::{Command, Snapshot};
use crate::ui::card::dot_ui;
use crate::ui::draft::{Draft, Page};
use crate::ui::health_panel::summary;
use crate::ui::leader_panel::leader_mark_ui;
use crate::ui::record::record_mark_ui;
use crate::ui::theme;
use crate::ui::words;

/// Height of the bar, points.
pub const HEIGHT: f32 = 26.0;

/// A counter is left out where it would run into the words, points.
const COUNTER_WIDTH: f32 = 110.0;

/// Draws the bar.
pub fn status_bar_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    ui.horizontal_centered(|ui| {
        ui.spacing_mut().item_spacing.x = 14.0;
        faults_ui(ui, snapshot, draft);
        leader_mark_ui(ui, snapshot);
        record_mark_ui(ui, snapshot, draft, commands);
        let notice = draft.notice().map(str::to_owned);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            arm_ui(ui, snapshot, draft);
            match notice {
                // It is read and gone; numbers can wait for so long.
                Some(notice) => notice_ui(ui, notice),
                None => numbers_ui(ui, snapshot),
            }
        });
    });
}

/// A notice in the space that is left; the pointer shows what does not fit.
fn notice_ui(ui: &mut Ui, notice: String) {
    let ink = theme::tokens(ui).text;
    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
        let text = RichText::new(notice).size(theme::BODY).color(ink);
        ui.add(Label::new(text).truncate());
    });
}

/// What is measured and counted, right to left.
fn numbers_ui(ui: &mut Ui, snapshot: &Snapshot) {
    if !snapshot.tick_p99.is_zero() {
        let work = words::latency(snapshot.tick_p99);
        let hint = "99th percentile of the time that one control tick works.";
        number_ui(ui, "tick p99", &work, hint);
    }
    let step = format!("{:.1} °/%", snapshot.max_step);
    number_ui(
        ui,
        "max step",
        &step,
        "Largest joint step sent in one tick: degrees, of the gripper %.",
    );
    for (name, value, hint) in counters(snapshot) {
        if ui.available_width() < COUNTER_WIDTH {
            break;
        }
        number_ui(ui, name, &words::count(value), hint);
    }
}

/// The arm's health in three numbers; a click shows each joint.
fn arm_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft) {
    let tokens = theme::tokens(ui);
    let summary = summary(snapshot).unwrap_or_else(|| "—".to_owned());
    let ink = if snapshot.health.wants_attention() {
        tokens.fault_text
    } else {
        tokens.text
    };
    let text = theme::figure(format!("arm  {summary}"), theme::SMALL).color(ink);
    let button = Button::new(text).small();
    let hint = "The hottest servo, the lowest voltage, and answers that were missing or damaged. Click (or V) for each joint.";
    if ui.add(button).on_hover_text(hint).clicked() {
        draft.shows_health = !draft.shows_health;
    }
}

fn faults_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft) {
    let tokens = theme::tokens(ui);
    let active = snapshot.faults.iter().filter(|fault| fault.active).count();
    let past = snapshot.faults.len() - active;
    let (text, color) = match (active, past) {
        (0, 0) => ("No faults".to_owned(), tokens.weak),
        (0, past) => (
            format!("{} to acknowledge", words::plural(past, "past fault")),
            tokens.text,
        ),
        (active, _) => (words::plural(active, "fault"), tokens.fault_text),
    };
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        dot_ui(ui, color, active > 0);
        let label = egui::Label::new(RichText::new(text).size(theme::BODY).color(color));
        let response = ui.add(label.sense(egui::Sense::click()));
        if response.clicked() {
            draft.page = Page::Cockpit;
        }
    });
}

/// What is counted, right to left: name, value, explanation.
fn counters(snapshot: &Snapshot) -> [(&'static str, u64, &'static str); 6] {
    [
        (
            "bus retries",
            snapshot.bus_retries,
            "Packets that the servo bus lost and that were sent again.",
        ),
        (
            "stale chunks",
            snapshot.stale_chunks,
            "Chunks dropped because the task, the mode or a stop had made them obsolete.",
        ),
        (
            "filtered",
            snapshot.filtered,
            "Requests that the similarity filter refused.",
        ),
        (
            "starved ticks",
            snapshot.starved_ticks,
            "Control periods in which the policy drove and the queue was empty.",
        ),
        ("requests", snapshot.requests, "Questions to the policy."),
        ("chunks", snapshot.chunks, "Answers from the policy."),
    ]
}

fn number_ui(ui: &mut Ui, name: &str, value: &str, hint: &str) {
    let tokens = theme::tokens(ui);
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        let value = theme::figure(value, theme::SMALL).color(tokens.text);
        ui.label(value).on_hover_text(hint);
        let name = RichText::new(name).size(theme::SMALL).color(tokens.weak);
        ui.label(name).on_hover_text(hint);
    });
}
