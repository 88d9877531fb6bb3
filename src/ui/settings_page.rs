//! Settings of the window itself: light or dark, how large, how often it draws.

use egui::{Ui, Vec2};

use crate::runtime::{Command, Snapshot};
use crate::ui::card::{heading_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::input_settings::input_settings_ui;
use crate::ui::preferences::{Preferences, ThemeChoice};
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme;

/// Scales on offer; Ctrl + and Ctrl − reach those between.
const SCALES: [(f32, &str); 6] = [
    (0.8, "80 %"),
    (1.0, "100 %"),
    (1.25, "125 %"),
    (1.5, "150 %"),
    (2.0, "200 %"),
    (2.5, "250 %"),
];

/// Draws the page.
pub fn settings_ui(
    ui: &mut Ui,
    _snapshot: &Snapshot,
    draft: &mut Draft,
    _commands: &mut Vec<Command>,
) {
    ui.heading("Settings");
    ui.add_space(6.0);
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| {
            window_ui(ui, draft);
            input_settings_ui(ui, draft);
        });
}

fn window_ui(ui: &mut Ui, draft: &mut Draft) {
    let tokens = theme::tokens(ui);
    let preferences = &mut draft.preferences;
    heading_ui(ui, "THEME", |_| {});
    let themes = ThemeChoice::ALL
        .map(|choice| Segment::plain(tokens, choice.label(), preferences.theme == choice, ""));
    if let Some(i) = row_ui(ui, &themes) {
        preferences.theme = ThemeChoice::ALL[i];
    }
    heading_ui(ui, "SCALE", |_| {});
    let scales = SCALES.map(|(scale, label)| {
        let is_chosen = (preferences.scale - scale).abs() < 0.01;
        Segment::plain(tokens, label, is_chosen, "")
    });
    if let Some(i) = row_ui(ui, &scales) {
        preferences.scale = SCALES[i].0;
    }
    weak_ui(
        ui,
        "On top of the display's own scale. Ctrl + and Ctrl − go in smaller steps, Ctrl 0 returns.",
    );
    ui.add_space(8.0);
    heading_ui(ui, "DRAWING RATE", |_| {});
    let labels = Preferences::FRAME_RATES.map(|rate| format!("{rate} Hz"));
    let rates: Vec<Segment<'_>> = Preferences::FRAME_RATES
        .iter()
        .zip(&labels)
        .map(|(&rate, label)| Segment::plain(tokens, label, preferences.frame_rate == rate, ""))
        .collect();
    if let Some(i) = row_ui(ui, &rates) {
        preferences.frame_rate = Preferences::FRAME_RATES[i];
    }
    weak_ui(
        ui,
        "At most, while something moves; a few times a second when nothing does. The control loop has its own clock.",
    );
    ui.add_space(8.0);
    heading_ui(ui, "RECENT TASKS", |_| {});
    let count = preferences.tasks.len();
    let forget = egui::Button::new(format!("Forget {count}"));
    if ui
        .add_enabled(count > 0, forget)
        .on_disabled_hover_text("No task is remembered.")
        .clicked()
    {
        preferences.tasks.clear();
    }
}

fn row_ui(ui: &mut Ui, segments: &[Segment<'_>]) -> Option<usize> {
    let width = (segments.len() as f32 * 96.0).min(ui.available_width());
    let clicked = segmented_ui(
        ui,
        segments,
        Vec2::new(width, 28.0),
        &theme::font(theme::BODY),
    );
    ui.add_space(8.0);
    clicked
}
