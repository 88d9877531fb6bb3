//! One episode: its pictures and the arm at the row under the cursor, the time line, the joints, and what can be done with it.

use std::time::Duration;

use egui::{Key, Label, Modifiers, Ui};

use crate::runtime::{Command, EpisodeView, LibraryView, Mode, Snapshot};
use crate::ui::card::weak_ui;
use crate::ui::draft::Draft;
use crate::ui::library::episode_list::outcome_mark;
use crate::ui::library::plots::plots_ui;
use crate::ui::library::tiles::tiles_ui;
use crate::ui::library::timeline::{self, timeline_ui};
use crate::ui::library::tools::{episode_tools_ui, replay_name};
use crate::ui::theme;
use crate::ui::words;

/// Share of the height that the pictures take.
const PICTURES: f32 = 0.46;
/// Height of the buttons below everything, points.
const FOOT: f32 = 30.0;
/// Pictures that are still being read are looked for so often.
const AWAITED: Duration = Duration::from_millis(33);

/// Draws the episode into the space that is left.
pub fn episode_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    library: &LibraryView,
    shown: &EpisodeView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    move_on(ui, snapshot, library, shown, draft);
    title_ui(ui, snapshot, shown);
    let height = ui.available_height() - FOOT - timeline::HEIGHT - 14.0;
    let pictures = (height * PICTURES).max(70.0).floor();
    tiles_ui(ui, snapshot, shown, draft, commands, pictures);
    timeline_ui(ui, shown, &mut draft.library.player);
    episode_tools_ui(ui, snapshot, library, shown, draft, commands);
    plots_ui(ui, shown, &mut draft.library.player);
}

/// Lets time pass and reads the keys of the page.
fn move_on(
    ui: &Ui,
    snapshot: &Snapshot,
    library: &LibraryView,
    shown: &EpisodeView,
    draft: &mut Draft,
) {
    let player = &mut draft.library.player;
    let is_here = |name: &str| name == replay_name(library, shown);
    let replay = snapshot.replay.as_ref();
    let replay = replay.filter(|replay| snapshot.mode == Mode::Replay && is_here(&replay.name));
    player.follow_replay(replay.map(|replay| replay.row));
    if !ui.ctx().text_edit_focused() {
        let pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        if pressed(Key::K) {
            player.toggle();
        }
        // An arrow that moves the focus from one widget to the next is not meant for the film.
        if ui.memory(|memory| memory.focused().is_none()) {
            if pressed(Key::ArrowLeft) {
                player.step(-1);
            }
            if pressed(Key::ArrowRight) {
                player.step(1);
            }
        }
    }
    player.advance(ui.input(|input| input.stable_dt).min(0.2));
    if player.is_playing {
        ui.ctx().request_repaint();
    } else if shown.row != player.row() {
        ui.ctx().request_repaint_after(AWAITED);
    }
}

fn title_ui(ui: &mut Ui, snapshot: &Snapshot, shown: &EpisodeView) {
    let tokens = theme::tokens(ui);
    ui.horizontal(|ui| {
        let name = format!("Episode {}", shown.index);
        ui.label(theme::strong(name).size(theme::LARGE));
        if let Some((word, ink)) = outcome_mark(shown.outcome, tokens) {
            ui.label(egui::RichText::new(word).size(theme::SMALL).color(ink));
        }
        let filled = shown.filled.iter().filter(|is| **is).count();
        if filled > 0 {
            let text = format!("! {} filled", words::plural(filled, "row"));
            let text = egui::RichText::new(text).size(theme::SMALL);
            ui.label(text.color(tokens.fault_text)).on_hover_text(
                "Nothing could be taken at their instant; they repeat the row before and are marked in the data set.",
            );
        }
        if snapshot.mode == Mode::Replay {
            weak_ui(ui, "the arm goes through it");
        }
        ui.add(Label::new(&shown.task).truncate());
    });
}
