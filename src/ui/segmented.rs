//! A row of choices of which exactly one holds, drawn as one control.

use egui::{
    Align2, Color32, CornerRadius, CursorIcon, FontId, Rect, Role, Sense, Stroke, StrokeKind, Ui,
    Vec2, WidgetInfo,
};

use crate::ui::theme::{self, Tokens};

/// One choice.
pub struct Segment<'a> {
    pub label: &'a str,
    pub is_chosen: bool,
    /// Why it cannot be chosen now.
    pub obstacle: Option<&'a str>,
    /// What it does, and its key.
    pub hint: &'a str,
    /// Fill and ink when chosen.
    pub chosen: (Color32, Color32),
}

impl<'a> Segment<'a> {
    /// A choice in the neutral colour.
    pub fn plain(tokens: &Tokens, label: &'a str, is_chosen: bool, hint: &'a str) -> Self {
        Self {
            label,
            is_chosen,
            obstacle: None,
            hint,
            chosen: (tokens.chosen, tokens.on_chosen),
        }
    }
}

/// Draws the segments in equal parts of `size`; returns the index that was clicked, be there an obstacle or not: whoever
/// asks says why not.
pub fn segmented_ui(
    ui: &mut Ui,
    segments: &[Segment<'_>],
    size: Vec2,
    font: &FontId,
) -> Option<usize> {
    let tokens = theme::tokens(ui);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let radius = CornerRadius::same(if size.y > 30.0 { 7 } else { 5 });
    ui.painter().rect(
        rect,
        radius,
        tokens.well,
        Stroke::new(1.0, tokens.line),
        StrokeKind::Inside,
    );
    let inner = rect.shrink(2.0);
    let step = inner.width() / segments.len().max(1) as f32;
    let mut clicked = None;
    for (i, segment) in segments.iter().enumerate() {
        let min = inner.left_top() + Vec2::new(step * i as f32, 0.0);
        let part = Rect::from_min_size(min, Vec2::new(step, inner.height()));
        if segment_ui(ui, segment, part, font) {
            clicked = Some(i);
        }
    }
    clicked
}

fn segment_ui(ui: &mut Ui, segment: &Segment<'_>, rect: Rect, font: &FontId) -> bool {
    let tokens = theme::tokens(ui);
    let is_free = segment.obstacle.is_none() && ui.is_enabled();
    let id = ui.scope_id().with(("segment", segment.label));
    let response = ui.interact(rect, id, Sense::click());
    response.widget_info(|| {
        WidgetInfo::selected(Role::RadioButton, is_free, segment.is_chosen, segment.label)
    });
    let radius = CornerRadius::same(if rect.height() > 26.0 { 5 } else { 3 });
    let (fill, ink) = if segment.is_chosen {
        segment.chosen
    } else if is_free && response.hovered() {
        (tokens.hovered, tokens.text)
    } else if is_free {
        (Color32::TRANSPARENT, tokens.weak)
    } else {
        (Color32::TRANSPARENT, tokens.faint)
    };
    ui.painter().rect_filled(rect, radius, fill);
    if response.has_focus() {
        let stroke = Stroke::new(1.5, tokens.commanded);
        ui.painter()
            .rect_stroke(rect, radius, stroke, StrokeKind::Inside);
    }
    ui.painter().text(
        rect.center(),
        Align2::CENTER_CENTER,
        segment.label,
        font.clone(),
        ink,
    );
    let was_clicked = response.clicked();
    let hint = segment.obstacle.unwrap_or(segment.hint);
    let response = if is_free {
        response.on_hover_cursor(CursorIcon::PointingHand)
    } else {
        response
    };
    if !hint.is_empty() {
        response.on_hover_text(hint);
    }
    was_clicked
}
