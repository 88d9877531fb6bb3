//! What can be done to a data set and to the shown episode: buttons that first ask.

use egui::Ui;

use crate::policy::DEMO;
use crate::runtime::{
    Command, EXPERT, EpisodeView, LibraryOrder, LibraryView, Mode, ReplayPlan, Shelf, Snapshot,
};
use crate::ui::draft::Draft;
use crate::ui::library::order;
use crate::ui::state::mode_obstacle;

/// What is being asked, with what has been typed so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    Delete,
    Relabel { task: String },
    Trim,
    Merge { with: String, into: String },
    Export { file: String },
    Upload { name: String },
    Compare { policy: String, every: usize },
}

/// Rows between two questions to a policy, until it is chosen otherwise.
const EVERY: usize = 15;

/// What is done with the whole data set, right to left.
pub fn set_tools_ui(
    ui: &mut Ui,
    library: &LibraryView,
    open: &Shelf,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let tool = &mut draft.library.tool;
    let hint = "Sends it to the hub; you are asked first.";
    if ui.button("Upload…").on_hover_text(hint).clicked() {
        *tool = Some(Tool::Upload {
            name: open.name.clone(),
        });
    }
    let hint = "Writes it and another into a new data set.";
    if ui.button("Merge…").on_hover_text(hint).clicked() {
        let into = library.home.join(format!("{}_merged", base_name(open)));
        *tool = Some(Tool::Merge {
            with: String::new(),
            into: into.display().to_string(),
        });
    }
    let hint = "Reads everything and says what is wrong: rows, times, films, statistics.";
    if ui.button("Check").on_hover_text(hint).clicked() {
        order(commands, LibraryOrder::Check);
    }
}

fn base_name(shelf: &Shelf) -> &str {
    shelf.name.rsplit('/').next().unwrap_or(&shelf.name)
}

/// What is done with the shown episode.
pub fn episode_tools_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    library: &LibraryView,
    shown: &EpisodeView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let is_busy = library.doing.is_some();
    ui.horizontal_wrapped(|ui| {
        replay_ui(ui, snapshot, library, shown, draft, commands);
        ui.add_space(6.0);
        ui.add_enabled_ui(!is_busy, |ui| {
            let is_trimmed = draft.library.player.is_trimmed();
            let trim = ui
                .add_enabled(is_trimmed, egui::Button::new("Trim…"))
                .on_hover_text("Keeps the rows between the handles of the time line.")
                .on_disabled_hover_text("Drag the handles at the ends of the time line first.");
            if trim.clicked() {
                draft.library.tool = Some(Tool::Trim);
            }
            let hint = "Writes the episode as a film with its numbers on it, or as a table.";
            if ui.button("Export…").on_hover_text(hint).clicked() {
                let name = library.open.as_ref().map_or("episode", base_name);
                let file = format!("{name}_episode_{}.mp4", shown.index);
                let file = library.home.join("exports").join(file);
                draft.library.tool = Some(Tool::Export {
                    file: file.display().to_string(),
                });
            }
            let hint = "Asks a policy what it would have done, and draws it beside what was done.";
            let can = !shown.actions.is_empty();
            let compare = ui.add_enabled(can, egui::Button::new("Compare…"));
            if compare.on_hover_text(hint).clicked() {
                // The expert looks at the cubes themselves, and a recording holds pictures of them.
                let policy = match snapshot.policy_source.as_str() {
                    EXPERT => DEMO,
                    policy => policy,
                };
                draft.library.tool = Some(Tool::Compare {
                    policy: policy.to_owned(),
                    every: EVERY,
                });
            }
        });
    });
}

/// The recorded actions on the arm: the rows between the handles.
fn replay_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    library: &LibraryView,
    shown: &EpisodeView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    if snapshot.mode == Mode::Replay && snapshot.stopped.is_none() {
        let hint = "The arm holds where it is. Key H.";
        if ui.button("Stop the replay").on_hover_text(hint).clicked() {
            commands.push(Command::SetMode(Mode::Hold));
        }
        return;
    }
    let obstacle = if shown.actions.is_empty() {
        Some(
            "These actions are not named after the six joints of an SO-101: this arm cannot go through them.",
        )
    } else {
        mode_obstacle(snapshot, Mode::Replay)
    };
    let replay = ui
        .add_enabled(obstacle.is_none(), egui::Button::new("Replay on the arm"))
        .on_hover_text(
            "Goes slowly to the first pose, then sends the recorded actions at their rate, within the limits; then it holds. \
             STOP stops it.",
        )
        .on_disabled_hover_text(obstacle.unwrap_or_default());
    if replay.clicked() {
        let (from, to) = draft.library.player.range();
        let plan = ReplayPlan {
            name: replay_name(library, shown),
            fps: shown.fps,
            actions: shown.actions[from..to.min(shown.actions.len())].into(),
            repeat: draft.library.repeats,
        };
        commands.push(Command::Replay(Box::new(plan)));
    }
    ui.checkbox(&mut draft.library.repeats, "again and again")
        .on_hover_text("Begins again after the end, slowly to the first pose each time.");
}

/// What a replay of the shown episode is called.
pub fn replay_name(library: &LibraryView, shown: &EpisodeView) -> String {
    let set = library.open.as_ref().map_or("", |open| open.name.as_str());
    format!("{set}, episode {}", shown.index)
}
