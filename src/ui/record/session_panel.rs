//! The strip of the session above the 3D panel: the plan while nothing is recorded; then where it is, and what is next.

use egui::{Align, Button, CornerRadius, Layout, RichText, Ui, Vec2};

use crate::dataset::Outcome;
use crate::runtime::{Command, SessionOrder, SessionPhase, SessionView, Snapshot};
use crate::ui::card::{card_ui, weak_cut_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::record::interrupted::{Verdict, interrupted_ui};
use crate::ui::record::next::{Next, begin};
use crate::ui::record::plan_panel::plan_ui;
use crate::ui::record::saving::{saving_ui, sized_bar_ui};
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme;
use crate::ui::words;

/// Draws the strip.
pub fn session_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let Some(session) = snapshot.session.as_deref() else {
        return;
    };
    let tokens = theme::tokens(ui);
    let interrupted = &session.recorder.interrupted;
    if let Some(verdict) = interrupted_ui(ui, interrupted, &mut draft.record.forgets) {
        commands.push(Command::Session(match verdict {
            Verdict::Recover(id) => SessionOrder::Recover(id),
            Verdict::Forget(id) => SessionOrder::Forget(id),
        }));
    }
    for trouble in [&session.trouble, &session.recorder.trouble]
        .into_iter()
        .flatten()
    {
        card_ui(ui, tokens.fault, |ui| ui.label(trouble));
    }
    if session.phase == SessionPhase::Off {
        planned_ui(ui, snapshot, draft, commands);
    } else {
        draft.record.plans = false;
        card_ui(ui, tokens.recorded, |ui| {
            running_ui(ui, snapshot, session, commands);
        });
    }
    ui.add_space(2.0);
}

/// One line while nothing is recorded; the whole plan when it is opened.
fn planned_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    ui.horizontal(|ui| {
        ui.label(theme::section(ui, "RECORD"));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let text = RichText::new("Record").color(tokens.on_recorded);
            let button = Button::new(text).fill(tokens.recorded);
            let hint = "Begins a session with this plan. Key R.";
            if ui.add(button).on_hover_text(hint).clicked() {
                begin(snapshot, draft, commands);
            }
            let word = if draft.record.plans {
                "Close"
            } else {
                "Plan…"
            };
            let hint = "What is recorded, how often, how long, and where it goes.";
            if ui.button(word).on_hover_text(hint).clicked() {
                draft.record.plans = !draft.record.plans;
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let form = &draft.preferences.recording;
                let root = form.root(snapshot);
                let name = root.file_name().map_or_else(
                    || root.display().to_string(),
                    |name| name.to_string_lossy().into_owned(),
                );
                let many = match form.episodes {
                    0 => "episodes until you end it".to_owned(),
                    count => words::plural(count as usize, "episode"),
                };
                let longest = form.episode_seconds;
                weak_cut_ui(ui, format!("{name} · {many} of up to {longest} s"))
                    .on_hover_text(root.display().to_string());
            });
        });
    });
    if draft.record.plans {
        card_ui(ui, tokens.recorded, |ui| plan_ui(ui, snapshot, draft));
    }
}

fn running_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    session: &SessionView,
    commands: &mut Vec<Command>,
) {
    let tokens = theme::tokens(ui);
    let next = Next::of(session, snapshot.now);
    ui.horizontal(|ui| {
        let headline = theme::strong(&next.headline).size(theme::LEAD);
        ui.label(headline.color(tokens.recorded));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            buttons_ui(ui, session, commands);
        });
    });
    ui.horizontal_wrapped(|ui| {
        if matches!(
            session.phase,
            SessionPhase::Recording | SessionPhase::Verdict
        ) {
            verdict_ui(ui, session, commands);
        }
        weak_ui(ui, next.advice.as_str());
        if let Some(task) = upcoming_task(session) {
            weak_ui(ui, format!("Task: {task}"));
        }
    });
    if let Some(share) = next.share() {
        let time = next.limit.map_or_else(String::new, |limit| {
            format!("{} / {}", words::clock(next.elapsed), words::clock(limit))
        });
        let size = Vec2::new(ui.available_width(), 18.0);
        sized_bar_ui(ui, size, &time, share, tokens.recorded);
    }
    saving_ui(ui, &session.recorder);
    undo_ui(ui, session, commands);
}

/// The episode that was dropped last can be had back until the next one begins.
fn undo_ui(ui: &mut Ui, session: &SessionView, commands: &mut Vec<Command>) {
    let Some(dropped) = &session.recorder.discarded else {
        return;
    };
    ui.horizontal(|ui| {
        let long = words::seconds(dropped.length);
        weak_ui(ui, format!("Dropped: an episode of {long}."));
        let hint = "Keeps it after all. Until the next one begins.";
        if ui.button("Undo").on_hover_text(hint).clicked() {
            let id = dropped.id.clone();
            commands.push(Command::Session(SessionOrder::Recover(id)));
        }
    });
}

/// The task of the episode that comes next, where the plan names tasks.
fn upcoming_task(session: &SessionView) -> Option<&str> {
    let tasks = &session.plan.as_ref()?.tasks;
    let turn = session.kept as usize % tasks.len().max(1);
    tasks.get(turn).map(String::as_str)
}

/// What can be asked now, right to left.
fn buttons_ui(ui: &mut Ui, session: &SessionView, commands: &mut Vec<Command>) {
    use SessionPhase::{Finishing, Opening, Ready, Recording, Reset, Verdict, WarmUp};
    let tokens = theme::tokens(ui);
    let mut asked = None;
    let mut ask = |ui: &mut Ui, name: &str, hint: &str, is_next: bool, order: SessionOrder| {
        let (fill, ink) = if is_next {
            (tokens.recorded, tokens.on_recorded)
        } else {
            (tokens.hovered, tokens.text)
        };
        let button = Button::new(RichText::new(name).color(ink))
            .fill(fill)
            .corner_radius(CornerRadius::same(4));
        if ui.add(button).on_hover_text(hint).clicked() {
            asked = Some(order);
        }
    };
    if session.phase != Finishing {
        let hint =
            "Records no more. What was kept is saved; of an episode that runs you are asked first.";
        ask(ui, "End session", hint, false, SessionOrder::End);
    }
    match session.phase {
        Recording | Verdict => {
            let hint =
                "Drops the episode and records it again after the reset time. Shift + Backspace.";
            ask(ui, "Redo", hint, false, SessionOrder::Redo);
            let hint = "Drops the episode. Backspace.";
            ask(ui, "Discard", hint, false, SessionOrder::Discard);
            let hint = "Ends the episode and keeps it. Enter.";
            ask(ui, "Keep", hint, true, SessionOrder::Keep);
        }
        WarmUp | Reset => {
            ask(
                ui,
                "Record now",
                "Waits no longer. Key R.",
                true,
                SessionOrder::Record,
            );
        }
        Ready => ask(
            ui,
            "Record",
            "Records an episode. Key R.",
            true,
            SessionOrder::Record,
        ),
        Opening | Finishing | SessionPhase::Off => {}
    }
    commands.extend(asked.map(Command::Session));
}

/// How the episode went, as the operator says; said again it is taken back.
fn verdict_ui(ui: &mut Ui, session: &SessionView, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    let marks = [
        (Outcome::Success, "success", "The task was done. Key S."),
        (Outcome::Failure, "failure", "It was not. Key F."),
    ];
    let segments = marks.map(|(outcome, label, hint)| {
        Segment::plain(tokens, label, session.outcome == outcome, hint)
    });
    let size = Vec2::new(132.0, 22.0);
    if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(theme::SMALL)) {
        let outcome = if session.outcome == marks[i].0 {
            Outcome::Unmarked
        } else {
            marks[i].0
        };
        commands.push(Command::Session(SessionOrder::Mark(outcome)));
    }
}
