//! One bar a joint: how far it usually turns, how far it has been led, and where it is.

use egui::{
    Align, Align2, CornerRadius, Layout, Rect, RichText, Role, Sense, Stroke, Ui, Vec2, WidgetInfo,
    pos2,
};

use crate::arm::workbench::calibrating::JointBar;
use crate::arm::workbench::sweep::Travel;
use crate::joint::Joint;
use crate::ui::card::weak_ui;
use crate::ui::theme;
use crate::ui::words;

/// Degrees from the middle to either end of the bar.
const REACH: f32 = 185.0;
const BAR_HEIGHT: f32 = 20.0;
/// Columns beside it.
const NAME_WIDTH: f32 = 92.0;
const ENDS_WIDTH: f32 = 92.0;
const TRAVEL_WIDTH: f32 = 42.0;
const WORD_WIDTH: f32 = 74.0;
const REDO_WIDTH: f32 = 44.0;

/// Draws the bars; the joint that is to be swept again, if its button was pressed.
pub fn bars_ui(ui: &mut Ui, bars: &[JointBar], is_swept: bool) -> Option<Joint> {
    let spacing = ui.spacing().item_spacing.x;
    let beside = NAME_WIDTH + ENDS_WIDTH + TRAVEL_WIDTH + WORD_WIDTH + 4.0 * spacing;
    let button = if is_swept { REDO_WIDTH + spacing } else { 0.0 };
    // Measured once: what a row holds must not make the next one wider.
    let width = (ui.available_width() - beside - button).max(80.0);
    let mut redo = None;
    head_ui(ui, width);
    for bar in bars {
        ui.horizontal(|ui| {
            cell_ui(ui, NAME_WIDTH, |ui| {
                ui.label(words::joint(bar.joint));
            });
            bar_ui(ui, bar, width);
            figures_ui(ui, bar);
            if is_swept && bar.is_swept && redo_ui(ui, bar.joint) {
                redo = Some(bar.joint);
            }
        });
    }
    redo
}

/// What the columns are.
fn head_ui(ui: &mut Ui, width: f32) {
    ui.horizontal(|ui| {
        let beside = NAME_WIDTH + ui.spacing().item_spacing.x + width;
        cell_ui(ui, beside, |_| {});
        for (words, width) in [("from, to", ENDS_WIDTH), ("travel", TRAVEL_WIDTH)] {
            cell_ui(ui, width, |ui| {
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    weak_ui(ui, words);
                });
            });
        }
    });
}

fn redo_ui(ui: &mut Ui, joint: Joint) -> bool {
    let name = format!("Redo {}", words::joint(joint));
    let response = ui.small_button("Redo").on_hover_text(format!(
        "Forgets how far {} went; lead it through its travel again.",
        words::joint(joint)
    ));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name.as_str()));
    response.clicked()
}

/// Something in a column of this width, from its left edge.
fn cell_ui(ui: &mut Ui, width: f32, add: impl FnOnce(&mut Ui)) {
    let size = Vec2::new(width, BAR_HEIGHT);
    let layout = Layout::left_to_right(Align::Center);
    ui.allocate_ui_with_layout(size, layout, |ui| {
        ui.set_min_width(width);
        ui.set_max_width(width);
        add(ui);
    });
}

fn bar_ui(ui: &mut Ui, bar: &JointBar, width: f32) {
    let tokens = theme::tokens(ui);
    let (rect, _) = ui.allocate_exact_size(Vec2::new(width, BAR_HEIGHT), Sense::hover());
    let x = |degrees: f32| {
        let share = (degrees.clamp(-REACH, REACH) + REACH) / (2.0 * REACH);
        rect.left() + share * rect.width()
    };
    let span = |low: f32, high: f32, shrink: f32| {
        Rect::from_min_max(
            pos2(x(low), rect.top() + shrink),
            pos2(x(high), rect.bottom() - shrink),
        )
    };
    let radius = CornerRadius::same(3);
    let painter = ui.painter();
    painter.rect_filled(rect, radius, tokens.well);
    let half = bar.usual / 2.0;
    painter.rect_filled(span(-half, half, 7.0), radius, tokens.line);
    if bar.travel > 0.0 {
        let fill = if bar.verdict.is_usable() || !bar.is_swept {
            tokens.measured.gamma_multiply(0.55)
        } else {
            tokens.human.gamma_multiply(0.6)
        };
        painter.rect_filled(span(bar.low, bar.high, 4.0), radius, fill);
        for end in [bar.low, bar.high] {
            let edge = Stroke::new(1.5, tokens.measured);
            painter.vline(x(end), rect.y_range(), edge);
        }
    }
    if let Some(now) = bar.now {
        painter.vline(x(now), rect.y_range(), Stroke::new(3.0, tokens.text));
    } else {
        let font = theme::font(theme::SMALL);
        let center = Align2::CENTER_CENTER;
        painter.text(rect.center(), center, "silent", font, tokens.fault_text);
    }
}

/// Ends and travel in figures, and what they are worth in a word.
fn figures_ui(ui: &mut Ui, bar: &JointBar) {
    let tokens = theme::tokens(ui);
    let ends = format!("{:>5.0}° {:>5.0}°", bar.low, bar.high);
    let (word, color) = match bar.verdict {
        _ if !bar.is_swept => ("turns freely", tokens.weak),
        Travel::Unmoved => ("lead it", tokens.weak),
        Travel::TooShort => ("too short", tokens.text),
        Travel::Partial => ("more?", tokens.text),
        Travel::Full => ("full", tokens.good),
        Travel::TooLong => ("too long", tokens.fault_text),
        Travel::Jumped => ("jumped", tokens.fault_text),
    };
    cell_ui(ui, ENDS_WIDTH, |ui| {
        ui.label(theme::figure(ends, theme::SMALL).color(tokens.weak));
    });
    cell_ui(ui, TRAVEL_WIDTH, |ui| {
        let travel = format!("{:>4.0}°", bar.travel);
        ui.label(theme::figure(travel, theme::BODY))
            .on_hover_text(format!(
                "Travel so far; an SO-101's usually turns about {:.0}°.",
                bar.usual
            ));
    });
    cell_ui(ui, WORD_WIDTH, |ui| {
        ui.label(RichText::new(word).size(theme::SMALL).color(color));
    });
}
