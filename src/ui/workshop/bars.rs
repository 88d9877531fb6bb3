//! One bar a joint: how far it usually turns, how far it has been led, and where it is.

use egui::{Align2, CornerRadius, Rect, Sense, Stroke, Ui, Vec2, pos2};

use crate::arm::calibrating::JointBar;
use crate::arm::sweep::Travel;
use crate::ui::theme;
use crate::ui::words;

/// Degrees from the middle to either end of the bar.
const REACH: f32 = 185.0;
const BAR_HEIGHT: f32 = 20.0;
const NAME_WIDTH: f32 = 104.0;
const FIGURES_WIDTH: f32 = 196.0;

/// Draws the bars; the joint that is to be swept again, if its button was pressed.
pub fn bars_ui(ui: &mut Ui, bars: &[JointBar], is_swept: bool) -> Option<crate::joint::Joint> {
    let mut redo = None;
    for bar in bars {
        ui.horizontal(|ui| {
            ui.add_sized(
                Vec2::new(NAME_WIDTH, BAR_HEIGHT),
                egui::Label::new(words::joint(bar.joint)).truncate(),
            );
            let room = ui.available_width() - FIGURES_WIDTH - if is_swept { 64.0 } else { 0.0 };
            bar_ui(ui, bar, room.max(80.0));
            figures_ui(ui, bar);
            if is_swept && bar.is_swept {
                let name = format!("Redo {}", words::joint(bar.joint));
                let response = ui.small_button("Redo").on_hover_text(format!(
                    "Forgets how far {} went; lead it through its travel again.",
                    words::joint(bar.joint)
                ));
                response.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::Role::Button, true, name.as_str())
                });
                if response.clicked() {
                    redo = Some(bar.joint);
                }
            }
        });
    }
    redo
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
    match bar.now {
        Some(now) => {
            painter.vline(x(now), rect.y_range(), Stroke::new(3.0, tokens.text));
        }
        None => {
            let font = theme::font(theme::SMALL);
            let center = Align2::CENTER_CENTER;
            painter.text(rect.center(), center, "silent", font, tokens.fault_text);
        }
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
        Travel::Full => ("whole", tokens.good),
        Travel::TooLong => ("too long", tokens.fault_text),
        Travel::Jumped => ("jumped", tokens.fault_text),
    };
    ui.allocate_ui(Vec2::new(FIGURES_WIDTH, BAR_HEIGHT), |ui| {
        ui.set_min_width(FIGURES_WIDTH);
        ui.label(theme::figure(ends, theme::SMALL).color(tokens.weak));
        let travel = format!("{:>4.0}°", bar.travel);
        ui.label(theme::figure(travel, theme::BODY))
            .on_hover_text(format!(
                "Travel so far; an SO-101's usually turns about {:.0}°.",
                bar.usual
            ));
        ui.label(egui::RichText::new(word).size(theme::SMALL).color(color));
    });
}
