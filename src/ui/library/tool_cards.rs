//! One card for each thing that is asked before it is done: to which episodes, into which file, under which name.

use std::path::PathBuf;

use egui::{Button, ComboBox, DragValue, Label, RichText, TextEdit, Ui};

use crate::runtime::{Command, LibraryOrder, LibraryView};
use crate::ui::card::{card_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::library::order;
use crate::ui::library::tools::Tool;
use crate::ui::record::folder_from_text;
use crate::ui::theme;
use crate::ui::words;

/// Draws the card of what is being asked, if anything is.
pub fn tool_ui(ui: &mut Ui, library: &LibraryView, draft: &mut Draft, commands: &mut Vec<Command>) {
    let Some(mut tool) = draft.library.tool.take() else {
        return;
    };
    let tokens = theme::tokens(ui);
    let edge = match tool {
        Tool::Delete | Tool::Trim => tokens.human,
        _ => tokens.chosen,
    };
    let answer = card_ui(ui, edge, |ui| match &mut tool {
        Tool::Delete => delete_ui(ui, library, draft),
        Tool::Relabel { task } => relabel_ui(ui, library, draft, task),
        Tool::Trim => trim_ui(ui, library, draft),
        Tool::Merge { with, into } => merge_ui(ui, library, with, into),
        Tool::Export { file } => export_ui(ui, library, file),
        Tool::Upload { name } => upload_ui(ui, library, name),
        Tool::Compare { policy, every } => compare_ui(ui, library, policy, every),
    });
    ui.add_space(4.0);
    match answer.inner {
        Answer::None => draft.library.tool = Some(tool),
        Answer::Left => {}
        Answer::Do(wanted) => {
            if matches!(wanted, LibraryOrder::Delete(_)) {
                draft.library.chosen.clear();
            }
            order(commands, wanted);
        }
    }
}

enum Answer {
    None,
    Left,
    Do(LibraryOrder),
}

/// The two buttons of a card.
fn answer_ui(
    ui: &mut Ui,
    word: &str,
    leave: &str,
    can: bool,
    wanted: impl FnOnce() -> LibraryOrder,
) -> Answer {
    let tokens = theme::tokens(ui);
    let text = RichText::new(word).color(tokens.on_chosen);
    let button = ui.add_enabled(can, Button::new(text).fill(tokens.chosen));
    if button.clicked() {
        return Answer::Do(wanted());
    }
    if ui.button(leave).clicked() {
        return Answer::Left;
    }
    Answer::None
}

fn field_ui(ui: &mut Ui, name: &str, hint: &str, text: &mut String) {
    weak_ui(ui, name);
    let width = (ui.available_width() - 190.0).max(120.0);
    let hint = RichText::new(hint).color(theme::tokens(ui).faint);
    let field = TextEdit::singleline(text)
        .hint_text(hint)
        .desired_width(width);
    ui.add(field).accessible_name(name);
}

fn delete_ui(ui: &mut Ui, library: &LibraryView, draft: &Draft) -> Answer {
    let episodes = draft.library.targets(library);
    let many = words::plural(episodes.len(), "episode");
    let rows: usize = episodes
        .iter()
        .filter_map(|index| library.episodes.get(*index))
        .map(|line| line.frames)
        .sum();
    let question = format!("Delete {}?", numbers(&episodes));
    ui.label(theme::strong(question).size(theme::LARGE));
    weak_ui(
        ui,
        format!(
            "{} rows and their pictures are gone for good; those after them get lower numbers.",
            words::count(rows as u64)
        ),
    );
    ui.horizontal(|ui| {
        let word = format!("Delete {many}");
        answer_ui(ui, &word, "Keep them", !episodes.is_empty(), || {
            LibraryOrder::Delete(episodes)
        })
    })
    .inner
}

/// "episode 3", "episodes 3, 4, 7", "12 episodes".
fn numbers(episodes: &[usize]) -> String {
    match episodes {
        [one] => format!("episode {one}"),
        few if few.len() <= 8 => {
            let list: Vec<String> = few.iter().map(usize::to_string).collect();
            format!("episodes {}", list.join(", "))
        }
        many => format!("{} episodes", many.len()),
    }
}

fn relabel_ui(ui: &mut Ui, library: &LibraryView, draft: &Draft, task: &mut String) -> Answer {
    let episodes = draft.library.targets(library);
    ui.horizontal_wrapped(|ui| {
        let name = format!("New task of {}", numbers(&episodes));
        weak_ui(ui, name);
        let width = (ui.available_width() - 150.0).max(160.0);
        ui.add(TextEdit::singleline(task).desired_width(width))
            .accessible_name("New task");
        let can = !task.trim().is_empty() && !episodes.is_empty();
        answer_ui(ui, "Relabel", "Leave it", can, || LibraryOrder::Relabel {
            episodes,
            task: task.trim().to_owned(),
        })
    })
    .inner
}

fn trim_ui(ui: &mut Ui, library: &LibraryView, draft: &Draft) -> Answer {
    let (from, to) = draft.library.player.range();
    let Some(shown) = &library.shown else {
        return Answer::Left;
    };
    let question = format!("Keep rows {from} to {} of episode {}?", to - 1, shown.index);
    ui.label(theme::strong(question).size(theme::LARGE));
    let gone = shown.rows - (to - from);
    weak_ui(
        ui,
        format!(
            "{} other rows are gone for good.",
            words::count(gone as u64)
        ),
    );
    ui.horizontal(|ui| {
        answer_ui(ui, "Trim it", "Leave it", true, || LibraryOrder::Trim {
            episode: shown.index,
            from,
            to,
        })
    })
    .inner
}

fn merge_ui(ui: &mut Ui, library: &LibraryView, with: &mut String, into: &mut String) -> Answer {
    let open = library.open.as_ref().map(|open| &open.root);
    let others = || {
        let is_other =
            |shelf: &&crate::runtime::Shelf| Some(&shelf.root) != open && shelf.trouble.is_none();
        library.shelves.iter().filter(is_other)
    };
    ui.horizontal_wrapped(|ui| {
        weak_ui(ui, "Merge with");
        let shown = others()
            .find(|shelf| shelf.root.display().to_string() == *with)
            .map_or(
                if with.is_empty() {
                    "…"
                } else {
                    with.as_str()
                },
                |shelf| shelf.name.as_str(),
            )
            .to_owned();
        let combo = ComboBox::from_id_salt("merge with")
            .width(180.0)
            .selected_text(shown)
            .show_ui(ui, |ui| {
                for shelf in others() {
                    let root = shelf.root.display().to_string();
                    ui.selectable_value(with, root, shelf.name.as_str());
                }
            });
        combo.response.accessible_name("Merge with");
        weak_ui(
            ui,
            "Both stay as they are. Rate, cameras and columns must be the same.",
        );
    });
    ui.horizontal_wrapped(|ui| {
        field_ui(ui, "into", "a new folder", into);
        let can = !with.is_empty() && !into.trim().is_empty();
        answer_ui(ui, "Merge", "Leave it", can, || LibraryOrder::Merge {
            with: PathBuf::from(with.as_str()),
            into: folder_from_text(into.trim(), &library.home),
        })
    })
    .inner
}

fn export_ui(ui: &mut Ui, library: &LibraryView, file: &mut String) -> Answer {
    let Some(shown) = &library.shown else {
        return Answer::Left;
    };
    ui.horizontal_wrapped(|ui| {
        weak_ui(ui, format!("Episode {} as", shown.index));
        for (ending, hint) in [
            ("mp4", "All cameras side by side, with the numbers on them."),
            ("csv", "A row a line."),
        ] {
            let is_it = file.ends_with(&format!(".{ending}"));
            let choice = ui.selectable_label(is_it, ending).on_hover_text(hint);
            if choice.clicked() {
                let stem = file
                    .rsplit_once('.')
                    .map_or(file.as_str(), |(stem, _)| stem);
                *file = format!("{stem}.{ending}");
            }
        }
    });
    ui.horizontal_wrapped(|ui| {
        field_ui(ui, "File", "episode.mp4", file);
        let can = !file.trim().is_empty();
        answer_ui(ui, "Export", "Leave it", can, || LibraryOrder::Export {
            episode: shown.index,
            file: folder_from_text(file.trim(), &library.home),
        })
    })
    .inner
}

fn upload_ui(ui: &mut Ui, library: &LibraryView, name: &mut String) -> Answer {
    let many = library.open.as_ref().map_or(0, |open| open.episodes);
    let text = format!(
        "Send {} to the hub? It is made private; the token of `hf auth login` is used. Interrupted episodes stay here.",
        words::plural(many, "whole episode")
    );
    ui.add(Label::new(text).wrap());
    ui.horizontal_wrapped(|ui| {
        field_ui(ui, "Name on the hub", "you/name", name);
        let can = name
            .trim()
            .split('/')
            .filter(|part| !part.is_empty())
            .count()
            == 2;
        answer_ui(ui, "Upload", "Leave it", can, || {
            LibraryOrder::Upload(name.trim().to_owned())
        })
    })
    .inner
}

fn compare_ui(
    ui: &mut Ui,
    library: &LibraryView,
    policy: &mut String,
    every: &mut usize,
) -> Answer {
    let Some(shown) = &library.shown else {
        return Answer::Left;
    };
    ui.horizontal_wrapped(|ui| {
        field_ui(ui, "Policy", "a checkpoint, or demo", policy);
        weak_ui(ui, "asked every");
        ui.add(DragValue::new(every).range(1..=1_000).suffix(" rows"))
            .accessible_name("asked every");
    });
    ui.horizontal_wrapped(|ui| {
        let can = !policy.trim().is_empty();
        let answer = answer_ui(ui, "Compare", "Leave it", can, || LibraryOrder::Compare {
            episode: shown.index,
            policy: policy.trim().to_owned(),
            every: *every,
        });
        weak_ui(ui, "It computes beside the run; the arm does not move.");
        answer
    })
    .inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn episodes_are_named_while_they_are_few() {
        assert_eq!(numbers(&[3]), "episode 3");
        assert_eq!(numbers(&[3, 4, 7]), "episodes 3, 4, 7");
        assert_eq!(numbers(&(0..12).collect::<Vec<_>>()), "12 episodes");
    }
}
