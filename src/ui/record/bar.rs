//! The recording in the status bar: a light that cannot be mistaken, the two keys that matter, and the room on the disk.

use std::time::Duration;

use egui::{Button, CornerRadius, Frame, Label, Margin, RichText, Sense, Stroke, Ui};

use crate::runtime::{Command, SessionOrder, SessionPhase, SessionView, Snapshot};
use crate::ui::card::dot_ui;
use crate::ui::draft::{Draft, Page};
use crate::ui::record::next::{Next, begin};
use crate::ui::record::recorded_root;
use crate::ui::record::saving::disk_words;
use crate::ui::theme;
use crate::ui::words;

/// The room on the disk is left out where it would run into the words, points.
const DISK_WIDTH: f32 = 330.0;

/// Draws the marks, left to right.
pub fn record_mark_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let Some(session) = snapshot.session.as_deref() else {
        left_over_ui(ui, snapshot, draft);
        return;
    };
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.x = 8.0;
        match session.phase {
            SessionPhase::Off => off_ui(ui, snapshot, draft, commands),
            SessionPhase::Recording | SessionPhase::Verdict => {
                recording_ui(ui, snapshot, session, commands);
            }
            _ => waiting_ui(ui, snapshot, session),
        }
        saving_ui(ui, session);
        disk_ui(ui, session);
    });
    left_over_ui(ui, snapshot, draft);
}

fn off_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let hint = "Begins a session with the plan as it was left last. Key R.";
    let text = RichText::new("Record  R").size(theme::SMALL);
    if ui
        .add(Button::new(text).small())
        .on_hover_text(hint)
        .clicked()
    {
        begin(snapshot, draft, commands);
    }
}

fn recording_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    session: &SessionView,
    commands: &mut Vec<Command>,
) {
    let tokens = theme::tokens(ui);
    let next = Next::of(session, snapshot.now);
    // It blinks once a second: a light that stands still is easily taken for a picture of one.
    let is_running = session.phase == SessionPhase::Recording;
    let is_lit = is_running && next.elapsed.subsec_millis() < 600;
    plate_ui(ui, tokens.recorded, |ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        dot_ui(ui, tokens.on_recorded, is_lit);
        let word = if is_running { "REC" } else { "KEEP?" };
        let text = theme::strong(word).size(theme::BODY);
        ui.label(text.color(tokens.on_recorded));
    });
    let number = match session.wanted {
        0 => format!("episode {}", session.kept + 1),
        wanted => format!("episode {}/{wanted}", session.kept + 1),
    };
    ui.label(RichText::new(number).size(theme::BODY));
    let taken = session.recorder.running.as_ref();
    let length = taken.map_or(next.elapsed, |running| running.length.max(Duration::ZERO));
    ui.label(theme::figure(words::clock(length), theme::BODY));
    for (name, hint, order) in [
        (
            "keep ↵",
            "Ends the episode and keeps it. Enter.",
            SessionOrder::Keep,
        ),
        (
            "discard Bksp",
            "Ends the episode and drops it. Backspace.",
            SessionOrder::Discard,
        ),
    ] {
        let text = RichText::new(name).size(theme::SMALL);
        let button = ui.add(Button::new(text).small()).on_hover_text(hint);
        if button.clicked() {
            commands.push(Command::Session(order));
        }
    }
}

/// A session that is not taking rows just now: an outline, not the light.
fn waiting_ui(ui: &mut Ui, snapshot: &Snapshot, session: &SessionView) {
    let tokens = theme::tokens(ui);
    let next = Next::of(session, snapshot.now);
    let stroke = Stroke::new(1.0, tokens.recorded);
    Frame::new()
        .stroke(stroke)
        .corner_radius(CornerRadius::same(4))
        .inner_margin(Margin::symmetric(6, 0))
        .show(ui, |ui| {
            let text = RichText::new(next.headline).size(theme::BODY);
            ui.label(text.color(tokens.recorded));
        });
}

fn plate_ui(ui: &mut Ui, fill: egui::Color32, add: impl FnOnce(&mut Ui)) {
    Frame::new()
        .fill(fill)
        .corner_radius(CornerRadius::same(4))
        .inner_margin(Margin::symmetric(6, 0))
        .show(ui, |ui| {
            ui.horizontal(add);
        });
}

fn saving_ui(ui: &mut Ui, session: &SessionView) {
    let tokens = theme::tokens(ui);
    let saving = &session.recorder.saving;
    if saving.is_empty() {
        return;
    }
    let share = saving.iter().map(|one| one.share).sum::<f32>() / saving.len() as f32;
    let text = format!("saving {} · {:.0} %", saving.len(), share * 100.0);
    ui.label(RichText::new(text).size(theme::SMALL).color(tokens.recorded))
        .on_hover_text("Episodes on their way to the disk. They are safe already: a crash is made good at the next start.");
}

fn disk_ui(ui: &mut Ui, session: &SessionView) {
    let tokens = theme::tokens(ui);
    let Some(disk) = &session.recorder.disk else {
        return;
    };
    if disk.is_low() {
        plate_ui(ui, tokens.fault, |ui| {
            let text = disk_words(disk).replacen("disk", "DISK LOW ", 1);
            ui.label(
                theme::strong(text)
                    .size(theme::SMALL)
                    .color(tokens.on_fault),
            );
        });
    } else if session.phase != SessionPhase::Off && ui.available_width() > DISK_WIDTH {
        let text = RichText::new(disk_words(disk)).size(theme::SMALL);
        ui.label(text.color(tokens.weak))
            .on_hover_text("Room for so much more at the measured rate.");
    }
}

/// Episodes that wait to be recovered, wherever they are.
fn left_over_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft) {
    let session = snapshot.session.as_deref();
    let here = session.map_or(0, |session| session.recorder.interrupted.len());
    let shelves = snapshot.library.as_deref().map(|library| &library.shelves);
    let elsewhere: usize = shelves.map_or(0, |shelves| {
        let recorded = recorded_root(snapshot);
        let others = shelves
            .iter()
            .filter(|shelf| Some(shelf.root.as_path()) != recorded);
        others.map(|shelf| shelf.interrupted).sum()
    });
    let (count, page) = if here > 0 {
        (here, Page::Cockpit)
    } else {
        (elsewhere, Page::Data)
    };
    if count == 0 {
        return;
    }
    let tokens = theme::tokens(ui);
    let text = format!("{} to recover", words::plural(count, "episode"));
    let label = RichText::new(text)
        .size(theme::SMALL)
        .color(tokens.recorded);
    let hint = "Interrupted before they were kept. Click to recover or to drop them.";
    let response = ui.add(Label::new(label).sense(Sense::click()));
    if response.on_hover_text(hint).clicked() {
        draft.page = page;
    }
}
