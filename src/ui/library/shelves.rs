//! The data sets on disk, and the ways to others: a folder, or a name on the hub.

use egui::{Key, Label, RichText, ScrollArea, Sense, TextEdit, Ui};

use crate::runtime::{Command, LibraryOrder, LibraryView, Shelf, Snapshot};
use crate::ui::card::{badge_ui, card_ui, heading_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::library::{order, shelf_words};
use crate::ui::record::{folder_from_text, recorded_root};
use crate::ui::theme;
use crate::ui::words;

/// Draws the column.
pub fn shelves_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    library: &LibraryView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let is_busy = library.doing.is_some();
    let folder = &mut draft.library.folder;
    let hint = "a folder with meta/info.json";
    if let Some(text) = asked_ui(ui, "Open", "Folder", hint, folder, !is_busy) {
        let home = &library.home;
        let folder = folder_from_text(&text, home);
        order(commands, LibraryOrder::Open(folder));
    }
    let hub = &mut draft.library.hub;
    let hint = "lerobot/svla_so101_pickplace";
    if let Some(name) = asked_ui(ui, "Download", "Name on the hub", hint, hub, !is_busy) {
        order(commands, LibraryOrder::Download(name));
    }
    ui.add_space(4.0);
    heading_ui(ui, "DATA SETS", |ui| {
        let hint = "Looks at the usual places again.";
        if ui.small_button("Refresh").on_hover_text(hint).clicked() {
            order(commands, LibraryOrder::Refresh);
        }
    });
    ScrollArea::vertical()
        .id_salt("shelves")
        .auto_shrink(false)
        .show(ui, |ui| {
            if library.shelves.is_empty() {
                weak_ui(ui, "None yet. Record one: key R in the cockpit.");
            }
            for shelf in library.shelves.iter() {
                ui.add_enabled_ui(!is_busy, |ui| shelf_ui(ui, snapshot, shelf, commands));
            }
        });
}

/// A field with a button that does something with what was typed.
fn asked_ui(
    ui: &mut Ui,
    word: &str,
    name: &str,
    hint: &str,
    text: &mut String,
    is_free: bool,
) -> Option<String> {
    let mut asked = None;
    ui.horizontal(|ui| {
        let room = (ui.available_width() - 86.0).max(60.0);
        let hint = RichText::new(hint).color(theme::tokens(ui).faint);
        let field = TextEdit::singleline(text)
            .hint_text(hint)
            .desired_width(room);
        let response = ui.add(field).accessible_name(name);
        let is_entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let typed = text.trim();
        let can = is_free && !typed.is_empty();
        let button = ui
            .add_enabled(can, egui::Button::new(word))
            .on_disabled_hover_text("Type a name first; while something is being done, wait.");
        if can && (button.clicked() || is_entered) {
            asked = Some(typed.to_owned());
        }
    });
    asked
}

fn shelf_ui(ui: &mut Ui, snapshot: &Snapshot, shelf: &Shelf, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    let is_recorded = recorded_root(snapshot) == Some(&shelf.root);
    let unfinished = if is_recorded { 0 } else { shelf.interrupted };
    let edge = match &shelf.trouble {
        Some(_) => tokens.fault,
        None if unfinished > 0 || is_recorded => tokens.recorded,
        None => tokens.line,
    };
    card_ui(ui, edge, |ui| {
        ui.horizontal(|ui| {
            let open = egui::Button::new("Open").small();
            let name = format!("Open {}", shelf.name);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let response = ui.add(open).accessible_name(name);
                if response.clicked() {
                    order(commands, LibraryOrder::Open(shelf.root.clone()));
                }
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    let label = Label::new(theme::strong(&shelf.name)).truncate();
                    ui.add(label.sense(Sense::hover()))
                        .on_hover_text(shelf.root.display().to_string());
                });
            });
        });
        match &shelf.trouble {
            Some(why) => {
                let text = RichText::new(why).size(theme::SMALL);
                ui.add(Label::new(text.color(tokens.fault_text)).wrap());
            }
            None => {
                weak_ui(ui, shelf_words(shelf));
            }
        }
        if is_recorded {
            badge_ui(ui, "being recorded", tokens.recorded);
        }
        if unfinished > 0 {
            let text = format!("{} to recover", words::plural(unfinished, "episode"));
            badge_ui(ui, &text, tokens.recorded);
        }
    });
    ui.add_space(2.0);
}
