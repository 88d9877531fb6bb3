//! The page of the data sets: what is on disk, what is in it, and one episode of it at a glance: pictures, joints, and the arm.

mod episode_list;
mod episode_panel;
mod notes;
mod player;
mod plots;
mod shelves;
mod thumbs;
mod tiles;
mod timeline;
mod tool_cards;
mod tools;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use egui::{Align, Layout, Rect, Ui, UiBuilder, Vec2};

use crate::runtime::{Command, Finding, LibraryOrder, LibraryView, Shelf, Snapshot};
use crate::ui::card::{weak_cut_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::library::player::Player;
use crate::ui::library::thumbs::Thumbs;
use crate::ui::library::tools::Tool;
use crate::ui::pictures::Pictures;
use crate::ui::theme;
use crate::ui::words;

/// Height of the line above everything, points.
const HEAD: f32 = 30.0;
/// The left column: share of the page, and bounds in points.
const LEFT: (f32, [f32; 2]) = (0.27, [240.0, 340.0]);
const GAP: f32 = 14.0;

/// What the window keeps of the page.
#[derive(Default)]
pub struct LibraryDraft {
    /// The page was drawn in the frame before.
    is_seen: bool,
    /// What a recording had left on the disk, and where: whole episodes and unfinished ones.
    recorded: Option<(PathBuf, usize, usize)>,
    /// A folder, and a name on the hub, being typed.
    folder: String,
    hub: String,
    /// The data set for which the rest holds.
    root: Option<PathBuf>,
    /// Episodes that are chosen for what is done to several.
    chosen: BTreeSet<usize>,
    /// What is being asked before it is done.
    tool: Option<Tool>,
    /// The interrupted episode that is to be dropped if the operator says so again.
    forgets: Option<String>,
    /// The findings that were read and put away.
    read: Option<Arc<[Finding]>>,
    /// A replay on the arm begins again after its end.
    repeats: bool,
    player: Player,
    pictures: Pictures,
    thumbs: Thumbs,
}

impl LibraryDraft {
    /// Follows what the library shows; what was meant for another data set is dropped.
    fn follow(&mut self, library: &LibraryView) {
        let root = library.open.as_ref().map(|shelf| &shelf.root);
        if root != self.root.as_ref() {
            self.root = root.cloned();
            self.chosen.clear();
            self.tool = None;
            self.player.follow(None);
        }
        let many = library.episodes.len();
        self.chosen.retain(|episode| *episode < many);
        self.player.follow(library.shown.as_deref());
    }

    /// A recording has left something on the disk, or has ended: the library looks anew, whichever page is open.
    pub fn heed_recording(&mut self, snapshot: &Snapshot, commands: &mut Vec<Command>) {
        let recorder = snapshot.session.as_ref().map(|session| &session.recorder);
        let recorded = recorder.and_then(|recorder| {
            let root = recorder.root.clone()?;
            Some((root, recorder.episodes, recorder.interrupted.len()))
        });
        if recorded != self.recorded {
            self.recorded = recorded;
            if snapshot.library.is_some() {
                order(commands, LibraryOrder::Refresh);
            }
        }
    }

    /// The page is not looked at; when it is opened again, what is on disk is looked at anew.
    pub fn leave(&mut self) {
        self.is_seen = false;
        self.player.is_playing = false;
    }

    /// How many recorded pictures went to the GPU so far.
    pub fn uploads(&self) -> u64 {
        self.pictures.uploads()
    }

    /// The episodes that an edit is meant for: those chosen, or the one that is shown.
    fn targets(&self, library: &LibraryView) -> Vec<usize> {
        if self.chosen.is_empty() {
            return library.shown.iter().map(|shown| shown.index).collect();
        }
        self.chosen.iter().copied().collect()
    }
}

/// Draws the page.
pub fn library_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let Some(library) = snapshot.library.as_deref() else {
        ui.heading("Data");
        weak_ui(
            ui,
            "There is no library in this session; `smolpilot data list` lists the data sets without a window.",
        );
        return;
    };
    draft.library.follow(library);
    if !std::mem::replace(&mut draft.library.is_seen, true) {
        order(commands, LibraryOrder::Refresh);
    }
    let area = ui.available_rect_before_wrap();
    let head = area.with_max_y(area.top() + HEAD);
    let body = area.with_min_y(head.bottom() + 6.0);
    let left = (LEFT.0 * area.width()).clamp(LEFT.1[0], LEFT.1[1]);
    let column = body.with_max_x(body.left() + left);
    let rest = body.with_min_x(column.right() + GAP);
    within_ui(ui, head, |ui| head_ui(ui, library, draft, commands));
    within_ui(ui, column, |ui| match library.open {
        None => shelves::shelves_ui(ui, snapshot, library, draft, commands),
        Some(_) => episode_list::episode_list_ui(ui, library, draft, commands),
    });
    within_ui(ui, rest, |ui| {
        notes::notes_ui(ui, snapshot, library, draft, commands);
        tool_cards::tool_ui(ui, library, draft, commands);
        match &library.shown {
            Some(shown) => {
                episode_panel::episode_ui(ui, snapshot, library, shown, draft, commands);
            }
            None => teach_ui(ui, library),
        }
    });
    ui.advance_cursor_after_rect(area);
    if let Some(row) = draft.library.player.wanted() {
        order(commands, LibraryOrder::Seek(row));
    }
}

/// Draws into exactly this place.
fn within_ui(ui: &mut Ui, rect: Rect, add: impl FnOnce(&mut Ui)) {
    let layout = Layout::top_down(Align::Min);
    let mut inner = ui.new_child(UiBuilder::new().max_rect(rect).layout(layout));
    inner.shrink_clip_rect(rect.expand(3.0));
    add(&mut inner);
}

fn order(commands: &mut Vec<Command>, order: LibraryOrder) {
    commands.push(Command::Library(order));
}

/// What is open, and what can be done with all of it.
fn head_ui(ui: &mut Ui, library: &LibraryView, draft: &mut Draft, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        let Some(open) = &library.open else {
            ui.heading("Data");
            return;
        };
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let is_busy = library.doing.is_some();
            ui.spacing_mut().button_padding = Vec2::new(8.0, 3.0);
            if ui.button("Close").clicked() {
                order(commands, LibraryOrder::Close);
            }
            ui.add_enabled_ui(!is_busy, |ui| {
                tools::set_tools_ui(ui, library, open, draft, commands);
            });
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.label(theme::strong(&open.name).size(theme::LEAD))
                    .on_hover_text(open.root.display().to_string());
                weak_cut_ui(ui, shelf_words(open));
            });
        });
    });
}

/// A data set in a few numbers.
fn shelf_words(shelf: &Shelf) -> String {
    let mut parts = vec![
        words::plural(shelf.episodes, "episode"),
        format!("{} rows", words::count(shelf.frames)),
        format!("{} fps", shelf.fps),
    ];
    for word in [&shelf.robot, &shelf.version] {
        if !word.is_empty() {
            parts.push(word.clone());
        }
    }
    parts.join(" · ")
}

/// What the page is for, while nothing is shown.
fn teach_ui(ui: &mut Ui, library: &LibraryView) {
    ui.add_space(8.0);
    if library.open.is_some() {
        ui.label("Click an episode to look at it.");
        weak_ui(
            ui,
            "Tick several to delete, relabel or mark them at once. A whole data set is merged with another, checked, or sent to the \
             hub by the buttons above.",
        );
        return;
    }
    ui.label("Choose a data set at the left, open a folder, or fetch one from the hub.");
    weak_ui(
        ui,
        format!(
            "What you record (key R) goes to {} and is listed here, beside what LeRobot keeps in its own place. Data sets of \
             LeRobot's versions 3.0 and 2.1 can be looked at; only 3.0 can be changed.",
            library.home.display()
        ),
    );
}
