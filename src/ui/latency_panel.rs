//! Where the time from picture to action goes: one bar a percentile, one row a stage.

use std::time::Duration;

use egui::{Align, Align2, CornerRadius, Layout, Rect, RichText, Sense, Stroke, Ui, Vec2};

use crate::runtime::{Command, Delay, Latencies, Percentiles, Snapshot};
use crate::ui::card::{heading_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::theme;
use crate::ui::words;

/// Height that the panel needs, points.
pub const HEIGHT: f32 = 206.0;

/// A stage of the strip: its name, its measure and what it covers.
struct Stage {
    name: &'static str,
    time: Percentiles,
    hint: &'static str,
}

/// The five stages in the order in which time passes; preprocessing counts with vision.
fn stages(latency: &Latencies) -> [Stage; 5] {
    let vision = Percentiles {
        p50: latency.preprocess.p50 + latency.vision.p50,
        p95: latency.preprocess.p95 + latency.vision.p95,
    };
    [
        Stage {
            name: "capture",
            time: latency.capture,
            hint: "Age of the newest used frame when the request left.",
        },
        Stage {
            name: "vision",
            time: vision,
            hint: "Images, tokens and normalisation, then the image tower and the connector.",
        },
        Stage {
            name: "prefix",
            time: latency.prefix,
            hint: "The VLM layers over images, language and state.",
        },
        Stage {
            name: "denoise",
            time: latency.denoise,
            hint: "All Euler steps of the action expert.",
        },
        Stage {
            name: "wait",
            time: latency.wait,
            hint: "From arrival to the first executed action of the chunk.",
        },
    ]
}

/// Draws the panel.
pub fn latency_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    _draft: &mut Draft,
    _commands: &mut Vec<Command>,
) {
    let latency = &snapshot.latency;
    ui.spacing_mut().item_spacing.y = 3.0;
    heading_ui(ui, "LATENCY", |ui| {
        if latency.chunks == 0 {
            return;
        }
        let Delay { last, p95 } = snapshot.delay;
        let delay = format!("delay {last}, p95 {p95} actions");
        weak_ui(ui, delay).on_hover_text(
            "Inference delay of the newest chunk, and its 95th percentile, in consumed actions.",
        );
    });
    if latency.chunks == 0 {
        weak_ui(
            ui,
            "Measured once the policy has answered; the first chunk, which compiles, does not count.",
        );
        return;
    }
    let stages = stages(latency);
    let total = |pick: fn(&Percentiles) -> Duration| -> f32 {
        stages
            .iter()
            .map(|stage| pick(&stage.time).as_secs_f32())
            .sum()
    };
    let scale = total(|time| time.p95).max(total(|time| time.p50)).max(1e-6);
    bar_ui(ui, "p50", &stages, scale, |time| time.p50);
    bar_ui(ui, "p95", &stages, scale, |time| time.p95);
    ui.add_space(2.0);
    row_ui(ui, None, "", &["p50", "p95"].map(str::to_owned), "");
    let swatches = theme::tokens(ui).stages;
    for (stage, swatch) in stages.iter().zip(swatches) {
        let numbers = [stage.time.p50, stage.time.p95].map(words::latency);
        row_ui(ui, Some(swatch), stage.name, &numbers, stage.hint);
    }
    let numbers = [latency.total.p50, latency.total.p95].map(words::latency);
    let hint = format!(
        "From request to arrival, over {}.",
        words::plural(latency.chunks as usize, "chunk")
    );
    row_ui(ui, None, "total", &numbers, &hint);
}

fn bar_ui(
    ui: &mut Ui,
    name: &str,
    stages: &[Stage; 5],
    scale: f32,
    pick: fn(&Percentiles) -> Duration,
) {
    let tokens = theme::tokens(ui);
    let size = Vec2::new(ui.available_width(), 14.0);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let font = theme::font(theme::SMALL);
    let label = rect.left_center();
    ui.painter()
        .text(label, Align2::LEFT_CENTER, name, font, tokens.weak);
    let rail = rect.with_min_x(rect.left() + 30.0);
    let mut x = rail.left();
    for (stage, color) in stages.iter().zip(tokens.stages) {
        let width = pick(&stage.time).as_secs_f32() / scale * rail.width();
        let part = Rect::from_min_size(egui::pos2(x, rail.top()), Vec2::new(width, rail.height()));
        let shown = part.with_max_x((part.right() - 1.0).max(part.left()));
        ui.painter()
            .rect_filled(shown, CornerRadius::same(1), color);
        x += width;
    }
    ui.painter().hline(
        rail.x_range(),
        rail.bottom() + 1.5,
        Stroke::new(1.0, tokens.line),
    );
}

fn row_ui(
    ui: &mut Ui,
    swatch: Option<egui::Color32>,
    name: &str,
    numbers: &[String; 2],
    hint: &str,
) {
    let tokens = theme::tokens(ui);
    let size = Vec2::new(ui.available_width(), 16.0);
    let response = ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let (rect, _) = ui.allocate_exact_size(Vec2::new(9.0, 9.0), Sense::hover());
        if let Some(color) = swatch {
            ui.painter().rect_filled(rect, CornerRadius::same(2), color);
        }
        ui.label(RichText::new(name).size(theme::BODY).color(tokens.weak));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            for text in numbers.iter().rev() {
                let (rect, _) = ui.allocate_exact_size(Vec2::new(62.0, 16.0), Sense::hover());
                let ink = if name.is_empty() {
                    tokens.weak
                } else {
                    tokens.text
                };
                ui.painter().text(
                    rect.right_center(),
                    Align2::RIGHT_CENTER,
                    text,
                    theme::figures(theme::BODY),
                    ink,
                );
            }
        });
    });
    if !hint.is_empty() {
        response.response.on_hover_text(hint);
    }
}
