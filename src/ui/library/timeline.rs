//! The time line of an episode: play, step, drag; and two handles that say what is to be kept.

use egui::{
    Button, CornerRadius, CursorIcon, DragValue, Pos2, Rect, Response, Role, Sense, Stroke,
    StrokeKind, Ui, Vec2, WidgetInfo, pos2, remap_clamp,
};

use crate::runtime::EpisodeView;
use crate::ui::card::weak_ui;
use crate::ui::library::player::{Grip, Player};
use crate::ui::library::plots::runs;
use crate::ui::theme::{self, Tokens};
use crate::ui::words;

/// Height of the time line and its controls, points.
pub const HEIGHT: f32 = 58.0;
const LINE: f32 = 26.0;
/// A handle is caught from so far, points.
const REACH: f32 = 9.0;

/// Draws the controls and the line.
pub fn timeline_ui(ui: &mut Ui, shown: &EpisodeView, player: &mut Player) {
    controls_ui(ui, shown, player);
    let size = Vec2::new(ui.available_width(), LINE);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Slider, true, "Time line"));
    drag(ui, &response, rect, shown, player);
    paint(ui, rect, shown, player);
}

fn controls_ui(ui: &mut Ui, shown: &EpisodeView, player: &mut Player) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        let square = |text: &str| Button::new(text.to_owned()).min_size(Vec2::new(28.0, 22.0));
        if ui
            .add(square("◀"))
            .accessible_name("One row back")
            .on_hover_text("One row back. Key ←.")
            .clicked()
        {
            player.step(-1);
        }
        let (sign, name) = if player.is_playing {
            ("▮▮", "Pause")
        } else {
            ("▶", "Play")
        };
        let hint = "Plays at the rate of the record. Key K.";
        if ui
            .add(square(sign).min_size(Vec2::new(40.0, 22.0)))
            .accessible_name(name)
            .on_hover_text(hint)
            .clicked()
        {
            player.toggle();
        }
        if ui
            .add(square("▶▎"))
            .accessible_name("One row on")
            .on_hover_text("One row on. Key →.")
            .clicked()
        {
            player.step(1);
        }
        row_ui(ui, player, shown);
        let second =
            |row: usize| std::time::Duration::from_secs_f32(row as f32 / shown.fps.max(1.0));
        let time = format!(
            "{:>6.2} / {:.2} s",
            second(player.row()).as_secs_f32(),
            second(shown.rows).as_secs_f32()
        );
        ui.label(theme::figure(time, theme::BODY));
        keep_ui(ui, player);
    });
}

fn row_ui(ui: &mut Ui, player: &mut Player, shown: &EpisodeView) {
    let mut row = player.row();
    let last = shown.rows.saturating_sub(1);
    let field = DragValue::new(&mut row).range(0..=last).prefix("row ");
    let response = ui.add(field).accessible_name("Row");
    if response.changed() {
        player.is_playing = false;
        player.seek(row);
    }
    weak_ui(ui, format!("of {}", words::count(shown.rows as u64)));
}

/// What the handles keep, as numbers.
fn keep_ui(ui: &mut Ui, player: &mut Player) {
    let (mut from, mut to) = player.range();
    weak_ui(ui, "keep");
    let first = ui
        .add(DragValue::new(&mut from).speed(0.5))
        .accessible_name("Keep from row");
    if first.changed() {
        player.keep_from(from);
    }
    weak_ui(ui, "to");
    let last = ui
        .add(DragValue::new(&mut to).speed(0.5))
        .accessible_name("Keep to row")
        .on_hover_text("Rows from the first to before the second; drag the handles, or here.");
    if last.changed() {
        player.keep_to(to);
    }
    if player.is_trimmed() && ui.small_button("Keep all").clicked() {
        player.keep_all();
    }
}

fn place_of(rect: Rect, rows: usize, row: usize) -> f32 {
    remap_clamp(
        row as f32,
        0.0..=rows.max(1) as f32,
        rect.left()..=rect.right(),
    )
}

fn row_at(rect: Rect, rows: usize, x: f32) -> usize {
    let rows = rows as f32;
    remap_clamp(x, rect.left()..=rect.right(), 0.0..=rows).round() as usize
}

/// What a press at `pointer` takes hold of.
fn grip_at(rect: Rect, rows: usize, player: &Player, pointer: Pos2) -> Grip {
    let (from, to) = player.range();
    let far = |row: usize| (place_of(rect, rows, row) - pointer.x).abs();
    match () {
        () if far(from) < REACH && pointer.x <= place_of(rect, rows, from) + 2.0 => Grip::From,
        () if far(to) < REACH && pointer.x >= place_of(rect, rows, to) - 2.0 => Grip::To,
        () => Grip::Cursor,
    }
}

fn drag(ui: &Ui, response: &Response, rect: Rect, shown: &EpisodeView, player: &mut Player) {
    if let Some(pointer) = response.hover_pos()
        && grip_at(rect, shown.rows, player, pointer) != Grip::Cursor
    {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
    }
    let Some(pointer) = response.interact_pointer_pos() else {
        player.grip = None;
        return;
    };
    let begun = ui
        .input(|input| input.pointer.press_origin())
        .unwrap_or(pointer);
    let grip = match player.grip {
        Some(grip) => grip,
        None => grip_at(rect, shown.rows, player, begun),
    };
    player.grip = Some(grip);
    let row = row_at(rect, shown.rows, pointer.x);
    match grip {
        Grip::Cursor => {
            player.is_playing = false;
            player.seek(row);
        }
        Grip::From => player.keep_from(row),
        Grip::To => player.keep_to(row),
    }
}

fn paint(ui: &Ui, rect: Rect, shown: &EpisodeView, player: &Player) {
    let tokens = theme::tokens(ui);
    let painter = ui.painter();
    let radius = CornerRadius::same(3);
    painter.rect_filled(rect, radius, tokens.well);
    let x = |row: usize| place_of(rect, shown.rows, row);
    let area = |from: usize, to: usize| {
        Rect::from_min_max(
            pos2(x(from), rect.top()),
            pos2(x(to).max(x(from) + 1.0), rect.bottom()),
        )
    };
    for (from, to) in runs(&shown.interventions) {
        painter.rect_filled(area(from, to), 0.0, Tokens::wash(tokens.human, 0.35));
    }
    for (from, to) in runs(&shown.filled) {
        let mark = area(from, to).with_min_y(rect.bottom() - 5.0);
        painter.rect_filled(mark, 0.0, tokens.fault);
    }
    let (from, to) = player.range();
    for gone in [area(0, from), area(to, shown.rows)] {
        if gone.width() > 1.0 {
            painter.rect_filled(gone, 0.0, tokens.line);
        }
    }
    let edge = Stroke::new(1.0, tokens.line);
    painter.rect_stroke(rect, radius, edge, StrokeKind::Inside);
    let kept = Stroke::new(3.0, tokens.recorded);
    for (row, inward) in [(from, 5.0), (to, -5.0)] {
        let at = x(row).clamp(rect.left() + 1.5, rect.right() - 1.5);
        painter.vline(at, rect.y_range(), kept);
        for y in [rect.top() + 1.5, rect.bottom() - 1.5] {
            painter.line_segment([pos2(at, y), pos2(at + inward, y)], kept);
        }
    }
    let at = x(player.row());
    painter.vline(at, rect.y_range(), Stroke::new(2.0, tokens.text));
}
