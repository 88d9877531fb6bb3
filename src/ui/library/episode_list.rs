//! The episodes of the open data set: a small picture, the task, how long, how it went; and what is done to several at once.

use egui::{
    Align2, Button, CornerRadius, CursorIcon, Image, Rect, Response, Role, ScrollArea, Sense,
    Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2,
};

use crate::dataset::Outcome;
use crate::runtime::{Command, EpisodeLine, LibraryOrder, LibraryView};
use crate::ui::card::weak_ui;
use crate::ui::draft::Draft;
use crate::ui::library::tools::Tool;
use crate::ui::library::{LibraryDraft, order, within_ui};
use crate::ui::theme;
use crate::ui::words;

const ROW: f32 = 58.0;
const PICTURE: Vec2 = Vec2::new(72.0, 54.0);
const TICK: f32 = 24.0;
/// Height of what is done to several, points.
const FOOT: f32 = 82.0;

/// Draws the column.
pub fn episode_list_ui(
    ui: &mut Ui,
    library: &LibraryView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let area = ui.available_rect_before_wrap();
    let list = area.with_max_y(area.bottom() - FOOT);
    let foot = area.with_min_y(list.bottom() + 4.0);
    let shown = library.shown.as_ref().map(|shown| shown.index);
    within_ui(ui, list, |ui| {
        if library.episodes.is_empty() {
            weak_ui(ui, "No episode is in it yet.");
        }
        ui.spacing_mut().item_spacing.y = 2.0;
        ScrollArea::vertical()
            .id_salt("episodes")
            .auto_shrink(false)
            .show_rows(ui, ROW, library.episodes.len(), |ui, rows| {
                for line in &library.episodes[rows] {
                    let is_shown = shown == Some(line.index);
                    if line_ui(ui, line, is_shown, &mut draft.library).clicked() {
                        order(commands, LibraryOrder::Show(line.index));
                    }
                }
            });
    });
    within_ui(ui, foot, |ui| foot_ui(ui, library, draft, commands));
}

fn line_ui(ui: &mut Ui, line: &EpisodeLine, is_shown: bool, draft: &mut LibraryDraft) -> Response {
    let tokens = theme::tokens(ui);
    let size = Vec2::new(ui.available_width(), ROW);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let name = format!("Episode {}", line.index);
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_shown, &name));
    let radius = CornerRadius::same(4);
    let fill = match (is_shown, response.hovered()) {
        (true, _) => tokens.hovered,
        (false, true) => tokens.raised,
        (false, false) => tokens.panel,
    };
    ui.painter().rect_filled(rect, radius, fill);
    if is_shown {
        // A bar beside the shade: not every eye sees so small a step.
        let bar = rect.with_max_x(rect.left() + 3.0);
        ui.painter().rect_filled(bar, radius, tokens.chosen);
    }
    tick_ui(ui, line, rect, draft);
    let left = rect.left() + TICK + 4.0;
    let picture = Rect::from_min_size(pos2(left, rect.center().y - PICTURE.y / 2.0), PICTURE);
    picture_ui(ui, line, picture, draft);
    let text = rect
        .with_min_x(picture.right() + 8.0)
        .shrink2(Vec2::new(4.0, 3.0));
    words_ui(ui, line, text);
    response.on_hover_cursor(CursorIcon::PointingHand)
}

fn tick_ui(ui: &mut Ui, line: &EpisodeLine, rect: Rect, draft: &mut LibraryDraft) {
    let place = rect
        .with_max_x(rect.left() + TICK)
        .translate(Vec2::new(4.0, 0.0));
    let mut is_chosen = draft.chosen.contains(&line.index);
    let response = ui
        .put(place, egui::Checkbox::without_text(&mut is_chosen))
        .accessible_name(format!("Choose episode {}", line.index));
    if response.changed() {
        if is_chosen {
            draft.chosen.insert(line.index);
        } else {
            draft.chosen.remove(&line.index);
        }
    }
}

fn picture_ui(ui: &Ui, line: &EpisodeLine, rect: Rect, draft: &mut LibraryDraft) {
    let tokens = theme::tokens(ui);
    let radius = CornerRadius::same(3);
    ui.painter().rect_filled(rect, radius, tokens.well);
    if let Some(frame) = &line.thumbnail {
        let texture = draft.thumbs.get(ui.ctx(), frame);
        Image::new(texture).corner_radius(radius).paint_at(ui, rect);
    }
    let edge = Stroke::new(1.0, tokens.line);
    ui.painter()
        .rect_stroke(rect, radius, edge, StrokeKind::Inside);
}

fn words_ui(ui: &Ui, line: &EpisodeLine, rect: Rect) {
    let tokens = theme::tokens(ui);
    let painter = ui.painter().with_clip_rect(rect);
    let number = painter.text(
        rect.left_top(),
        Align2::LEFT_TOP,
        line.index,
        theme::figures(theme::LARGE),
        tokens.text,
    );
    if let Some((word, ink)) = outcome_mark(line.outcome, tokens) {
        let place = number.right_center() + Vec2::new(8.0, 0.0);
        let font = theme::font(theme::SMALL);
        painter.text(place, Align2::LEFT_CENTER, word, font, ink);
    }
    let task = line.tasks.first().map_or("no task", String::as_str);
    let task = match line.tasks.len() {
        0 | 1 => task.to_owned(),
        many => format!("{task} (+{})", many - 1),
    };
    let place = rect.left_center() + Vec2::new(0.0, 1.0);
    let font = theme::font(theme::SMALL);
    painter.text(place, Align2::LEFT_CENTER, task, font, tokens.text);
    let long = format!(
        "{} · {} rows",
        words::seconds(line.length),
        words::count(line.frames as u64)
    );
    let font = theme::figures(theme::TINY);
    painter.text(
        rect.left_bottom(),
        Align2::LEFT_BOTTOM,
        long,
        font,
        tokens.weak,
    );
}

/// How it went, as a sign and a word.
pub fn outcome_mark(
    outcome: Outcome,
    tokens: &theme::Tokens,
) -> Option<(&'static str, egui::Color32)> {
    match outcome {
        Outcome::Unmarked => None,
        Outcome::Success => Some(("● success", tokens.good)),
        Outcome::Failure => Some(("○ failure", tokens.weak)),
    }
}

/// What is done to several episodes.
fn foot_ui(ui: &mut Ui, library: &LibraryView, draft: &mut Draft, commands: &mut Vec<Command>) {
    let targets = draft.library.targets(library);
    let is_busy = library.doing.is_some();
    ui.horizontal(|ui| {
        let text = match (draft.library.chosen.len(), targets.as_slice()) {
            (0, [one]) => format!("Episode {one}"),
            (0, _) => "No episode".to_owned(),
            (many, _) => words::plural(many, "episode"),
        };
        ui.label(theme::strong(text));
        if ui.small_button("All").clicked() {
            draft.library.chosen = (0..library.episodes.len()).collect();
        }
        if ui.small_button("None").clicked() {
            draft.library.chosen.clear();
        }
    });
    let can = !targets.is_empty() && !is_busy;
    ui.add_enabled_ui(can, |ui| {
        ui.horizontal(|ui| {
            let delete = ui.button("Delete…").on_hover_text("You are asked first.");
            if delete.clicked() {
                draft.library.tool = Some(Tool::Delete);
            }
            let hint = "Gives them another task.";
            if ui.button("Relabel…").on_hover_text(hint).clicked() {
                let task = first_task(library, &targets);
                draft.library.tool = Some(Tool::Relabel { task });
            }
            mark_ui(ui, &targets, commands);
        });
    });
}

fn first_task(library: &LibraryView, targets: &[usize]) -> String {
    let first = targets
        .first()
        .and_then(|index| library.episodes.get(*index));
    first
        .and_then(|line| line.tasks.first())
        .cloned()
        .unwrap_or_default()
}

/// Success, failure, or neither.
fn mark_ui(ui: &mut Ui, targets: &[usize], commands: &mut Vec<Command>) {
    let response = ui
        .button("Mark")
        .on_hover_text("Says how they went; LeRobot ignores it.");
    egui::Popup::menu(&response).show(|ui| {
        for (outcome, word) in [
            (Outcome::Success, "Success"),
            (Outcome::Failure, "Failure"),
            (Outcome::Unmarked, "No mark"),
        ] {
            if ui.add(Button::new(word)).clicked() {
                let episodes = targets.to_vec();
                order(commands, LibraryOrder::Mark { episodes, outcome });
                ui.close();
            }
        }
    });
}
