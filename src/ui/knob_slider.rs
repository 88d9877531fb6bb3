//! One knob: a slider that acts while it is dragged, keeps the old value as a tick, and returns on a double click.

use std::ops::RangeInclusive;

use egui::{
    Align, Align2, DragValue, Layout, PointerButton, Rect, Sense, Slider, Stroke, Ui, Vec2, lerp,
};

use crate::ui::draft::KnobDraft;
use crate::ui::theme;

/// Width of the label in front of a knob, points.
pub const LABEL_WIDTH: f32 = 62.0;
const VALUE_WIDTH: f32 = 80.0;
const ROW_HEIGHT: f32 = 22.0;
/// How long a sent value is shown before the snapshot's is believed again, seconds: a few control ticks.
const PENDING_SECONDS: f64 = 0.4;
/// A pause this long begins a new turn, whose start becomes the old value.
const TURN_SECONDS: f64 = 0.8;

/// What a knob is and how it stands.
pub struct KnobSlider<'a> {
    /// Its name, for the label, for the tests and for the draft.
    pub name: &'static str,
    /// The value of the snapshot.
    pub value: f64,
    pub range: RangeInclusive<f64>,
    pub decimals: usize,
    pub suffix: &'static str,
    /// Where a double click returns it to.
    pub default: f64,
    /// Why it cannot be turned now.
    pub obstacle: Option<&'a str>,
    pub hint: &'a str,
    /// A value marked under the rail: the bound of g.
    pub mark: Option<f64>,
    /// Said in place of the number: the end of a rail that stands for off or for all.
    pub word: Option<&'static str>,
}

impl KnobSlider<'_> {
    /// Draws the knob; returns a new value when the operator turned it.
    pub fn ui(&self, ui: &mut Ui, draft: &mut KnobDraft) -> Option<f64> {
        let now = ui.input(|input| input.time);
        let shown = self.shown(draft, now);
        let mut value = shown;
        let row = Vec2::new(ui.available_width(), ROW_HEIGHT);
        let layout = Layout::left_to_right(Align::Center);
        ui.allocate_ui_with_layout(row, layout, |ui| {
            ui.add_enabled_ui(self.obstacle.is_none(), |ui| {
                self.row_ui(ui, draft, &mut value);
            });
        });
        let turned = self.rounded(value);
        // A screen reader can set even a disabled slider.
        if turned == self.rounded(shown) || self.obstacle.is_some() {
            return None;
        }
        let before = draft.before.entry(self.name);
        let before = before.or_insert((self.value, f64::NEG_INFINITY));
        if now - before.1 > TURN_SECONDS {
            before.0 = self.value;
        }
        before.1 = now;
        draft.pending.insert(self.name, (turned, now));
        Some(turned)
    }

    fn rounded(&self, value: f64) -> f64 {
        let scale = 10_f64.powi(self.decimals as i32);
        (value * scale).round() / scale
    }

    /// The value to show: the sent one until the snapshot has it, or until it is clear that it will not.
    fn shown(&self, draft: &mut KnobDraft, now: f64) -> f64 {
        let Some(&(sent, at)) = draft.pending.get(self.name) else {
            return self.value;
        };
        if self.rounded(sent) == self.rounded(self.value) || now - at > PENDING_SECONDS {
            draft.pending.remove(self.name);
            return self.value;
        }
        sent
    }

    fn row_ui(&self, ui: &mut Ui, draft: &KnobDraft, value: &mut f64) {
        let tokens = theme::tokens(ui);
        let hint = self.obstacle.unwrap_or(self.hint);
        label_ui(ui, self.name, hint);
        let rail = (ui.available_width() - VALUE_WIDTH - 8.0).max(40.0);
        ui.spacing_mut().slider_width = rail;
        rail_style(ui);
        let slider = Slider::new(value, self.range.clone())
            .show_value(false)
            .step_by(10_f64.powi(-(self.decimals as i32)));
        let response = ui
            .add(slider)
            .accessible_name(self.name)
            .on_hover_text(self.hint)
            .on_disabled_hover_text(hint);
        let wants_default = response.contains_pointer()
            && ui.is_enabled()
            && ui.input(|input| input.pointer.button_double_clicked(PointerButton::Primary));
        if wants_default {
            *value = self.default;
        }
        self.paint_ticks(ui, response.rect, draft);
        let number = DragValue::new(value)
            .range(self.range.clone())
            .speed((self.range.end() - self.range.start()) / 400.0)
            .fixed_decimals(self.decimals)
            .suffix(if self.word.is_some() { "" } else { self.suffix })
            .update_while_editing(false)
            .min_size(Vec2::new(VALUE_WIDTH, 20.0));
        let number = match self.word {
            Some(word) => number.custom_formatter(|_, _| word.to_owned()),
            None => number,
        };
        ui.style_mut().visuals.widgets.inactive.weak_bg_fill = tokens.well;
        ui.add(number)
            .accessible_name(format!("{} value", self.name))
            .on_disabled_hover_text(hint);
    }

    fn paint_ticks(&self, ui: &Ui, rect: Rect, draft: &KnobDraft) {
        let tokens = theme::tokens(ui);
        // egui keeps the handle inside the rail by its own radius.
        let travel = rect.x_range().shrink(rect.height() / 2.5);
        let place = |value: f64| {
            let (low, high) = (*self.range.start(), *self.range.end());
            let share = ((value - low) / (high - low).max(f64::EPSILON)).clamp(0.0, 1.0);
            lerp(travel.min..=travel.max, share as f32)
        };
        if let Some(&(before, _)) = draft.before.get(self.name)
            && self.rounded(before) != self.rounded(self.value)
        {
            let x = place(before);
            let y = rect.center().y;
            ui.painter()
                .vline(x, y - 7.0..=y + 7.0, Stroke::new(1.5, tokens.weak));
        }
        if let Some(mark) = self.mark {
            let tip = egui::pos2(place(mark), rect.center().y + 4.0);
            let wing = Vec2::new(4.0, 6.0);
            let points = vec![tip, tip + wing, tip + Vec2::new(-wing.x, wing.y)];
            ui.painter().add(egui::Shape::convex_polygon(
                points,
                tokens.text,
                Stroke::NONE,
            ));
        }
    }
}

/// Rails in the neutral colour: blue means commanded, and nothing else.
pub fn rail_style(ui: &mut Ui) {
    let tokens = theme::tokens(ui);
    let visuals = ui.visuals_mut();
    visuals.selection.bg_fill = tokens.weak;
    for widget in [
        &mut visuals.widgets.inactive,
        &mut visuals.widgets.hovered,
        &mut visuals.widgets.active,
    ] {
        widget.fg_stroke.color = tokens.text;
        widget.bg_stroke = Stroke::NONE;
    }
    visuals.widgets.inactive.bg_fill = tokens.faint.gamma_multiply(0.7);
    visuals.widgets.hovered.bg_fill = tokens.text;
    visuals.widgets.active.bg_fill = tokens.text;
}

/// The name of a knob in the label column.
pub fn label_ui(ui: &mut Ui, text: &str, hint: &str) {
    let tokens = theme::tokens(ui);
    let ink = if ui.is_enabled() {
        tokens.weak
    } else {
        tokens.faint
    };
    let size = Vec2::new(LABEL_WIDTH, ROW_HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let font = theme::font(theme::BODY);
    ui.painter()
        .text(rect.left_center(), Align2::LEFT_CENTER, text, font, ink);
    if !hint.is_empty() {
        response.on_hover_text(hint);
    }
}
