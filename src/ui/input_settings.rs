//! The part of the settings that is about other ways to stop, to take over and to drive: global keys, a pedal, a gamepad.

use egui::{ComboBox, RichText, Ui};

use crate::ui::card::{dot_ui, heading_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::inputs::InputStatus;
use crate::ui::preferences::GLOBAL_KEYS;
use crate::ui::theme;

/// Shown for a key that is not used.
const OFF: &str = "Off";

/// Draws the section.
pub fn input_settings_ui(ui: &mut Ui, draft: &mut Draft) {
    ui.add_space(12.0);
    heading_ui(ui, "GLOBAL KEYS", |_| {});
    weak_ui(
        ui,
        "They work while another window has the focus, and are taken away from it. A foot pedal sends such a key.",
    );
    let preferences = &mut draft.preferences;
    let taken = preferences.takeover_key.clone();
    key_ui(
        ui,
        "Stop",
        &mut preferences.stop_key,
        &taken,
        &draft.inputs.stop_key,
    );
    let taken = preferences.stop_key.clone();
    let status = &draft.inputs.takeover_key;
    key_ui(
        ui,
        "Take over",
        &mut preferences.takeover_key,
        &taken,
        status,
    );
    ui.add_space(8.0);
    heading_ui(ui, "GAMEPAD", |_| {});
    match &draft.inputs.pad {
        InputStatus::Off => {
            weak_ui(
                ui,
                "None is plugged in. One that is plugged in later is found by itself.",
            );
        }
        status => status_ui(ui, status),
    }
    for text in [
        "In JOG, while a shoulder button (L1 or R1) is held: left stick forward, back, left, right; right stick up, down and \
         roll; D-pad tilt; triggers close (R2) and open (L2). Let go of the shoulder button and the arm stops.",
        "B (East) stops, always. Start, with a shoulder button held, takes over and gives back.",
    ] {
        weak_ui(ui, text);
    }
}

fn key_ui(ui: &mut Ui, name: &str, key: &mut String, taken: &str, status: &InputStatus) {
    ui.horizontal(|ui| {
        ui.allocate_ui(egui::vec2(76.0, 22.0), |ui| {
            ui.set_min_width(76.0);
            ui.label(name);
        });
        let shown = if key.is_empty() { OFF } else { key.as_str() }.to_owned();
        ComboBox::new(("global key", name), "")
            .selected_text(&shown)
            .width(110.0)
            .show_ui(ui, |ui| {
                if ui.selectable_label(key.is_empty(), OFF).clicked() {
                    key.clear();
                }
                for other in GLOBAL_KEYS.into_iter().filter(|other| *other != taken) {
                    if ui.selectable_label(*key == other, other).clicked() {
                        other.clone_into(key);
                    }
                }
            })
            .response
            .on_hover_text(format!("The key for: {name}"));
        status_ui(ui, status);
    });
}

fn status_ui(ui: &mut Ui, status: &InputStatus) {
    let tokens = theme::tokens(ui);
    let (text, color, works) = match status {
        InputStatus::Off => return,
        InputStatus::Active(what) => (format!("active: {what}"), tokens.text, true),
        InputStatus::Inactive(why) => (format!("not active: {why}"), tokens.fault_text, false),
    };
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        dot_ui(ui, color, works);
        ui.label(RichText::new(text).size(theme::BODY).color(color));
    });
}
