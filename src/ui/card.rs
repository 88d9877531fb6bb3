//! The few shapes that all panels share: a section heading, a badge, a card with a coloured edge, a round mark.

use egui::{
    Align, Color32, CornerRadius, Frame, InnerResponse, Label, Layout, Margin, Response, RichText,
    Sense, Stroke, Ui, Vec2,
};

use crate::ui::theme::{self, Tokens};

/// A heading with room for a remark at the right end.
pub fn heading_ui(ui: &mut Ui, text: &str, right: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        ui.label(theme::section(ui, text));
        ui.with_layout(Layout::right_to_left(Align::Center), right);
    });
}

/// A word on a tinted ground.
pub fn badge_ui(ui: &mut Ui, text: &str, ink: Color32) -> Response {
    let text = RichText::new(text).size(theme::SMALL).color(ink);
    Frame::new()
        .fill(Tokens::wash(ink, 0.14))
        .corner_radius(CornerRadius::same(3))
        .inner_margin(Margin::symmetric(5, 1))
        .show(ui, |ui| ui.label(text))
        .inner
}

/// A card whose left edge carries the colour of its matter.
pub fn card_ui<R>(ui: &mut Ui, edge: Color32, add: impl FnOnce(&mut Ui) -> R) -> InnerResponse<R> {
    let tokens = theme::tokens(ui);
    let response = Frame::new()
        .fill(tokens.raised)
        .corner_radius(CornerRadius::same(5))
        .inner_margin(Margin {
            left: 12,
            right: 8,
            top: 6,
            bottom: 6,
        })
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            add(ui)
        });
    let rect = response.response.rect;
    let bar = rect.with_max_x(rect.left() + 4.0);
    let radius = CornerRadius {
        nw: 5,
        sw: 5,
        ..CornerRadius::ZERO
    };
    ui.painter().rect_filled(bar, radius, edge);
    response
}

/// A filled or hollow dot, as high as the text beside it.
pub fn dot_ui(ui: &mut Ui, color: Color32, is_full: bool) {
    let (rect, _) = ui.allocate_exact_size(Vec2::new(10.0, 14.0), Sense::hover());
    if is_full {
        ui.painter().circle_filled(rect.center(), 4.0, color);
    } else {
        ui.painter()
            .circle_stroke(rect.center(), 3.5, Stroke::new(1.5, color));
    }
}

/// Small text in the label colour.
pub fn weak_ui(ui: &mut Ui, text: impl Into<String>) -> Response {
    let color = theme::tokens(ui).weak;
    ui.label(RichText::new(text).size(theme::SMALL).color(color))
}

/// Small text in the label colour, cut off at the edge; the pointer shows the rest.
pub fn weak_cut_ui(ui: &mut Ui, text: impl Into<String>) -> Response {
    let color = theme::tokens(ui).weak;
    ui.add(Label::new(RichText::new(text).size(theme::SMALL).color(color)).truncate())
}
