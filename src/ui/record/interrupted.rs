//! Episodes that a crash or a power cut left unfinished: each is offered, to be made whole or to be dropped for good.

use egui::Ui;

use crate::dataset::Interrupted;
use crate::ui::card::{card_ui, weak_ui};
use crate::ui::theme;
use crate::ui::words;

/// What the operator said of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Recover(String),
    Forget(String),
}

/// Draws a card for each; `forgets` is the one that is to be dropped if the operator says so again.
pub fn interrupted_ui(
    ui: &mut Ui,
    episodes: &[Interrupted],
    forgets: &mut Option<String>,
) -> Option<Verdict> {
    let tokens = theme::tokens(ui);
    let mut verdict = None;
    for episode in episodes {
        card_ui(ui, tokens.recorded, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.label(theme::strong("An episode was interrupted"));
                weak_ui(ui, words_of(episode));
                if forgets.as_ref() == Some(&episode.id) {
                    ui.label("Drop what was recorded of it for good?");
                    if ui.button("Drop it").clicked() {
                        verdict = Some(Verdict::Forget(episode.id.clone()));
                        *forgets = None;
                    }
                    if ui.button("Leave it").clicked() {
                        *forgets = None;
                    }
                    return;
                }
                let hint = "Makes an episode of the rows that are whole in every stream.";
                if ui.button("Recover").on_hover_text(hint).clicked() {
                    verdict = Some(Verdict::Recover(episode.id.clone()));
                }
                if ui.button("Forget…").clicked() {
                    *forgets = Some(episode.id.clone());
                }
            });
        });
    }
    verdict
}

fn words_of(episode: &Interrupted) -> String {
    let task = if episode.task.is_empty() {
        "no task"
    } else {
        &episode.task
    };
    format!(
        "{task} · {} · {} rows",
        words::seconds(episode.length),
        words::count(episode.frames)
    )
}
