//! Driving the gripper's tip: where it is, and buttons that push it while they are held.

use egui::{Button, Color32, Grid, Response, Sense, Ui, Vec2};

use crate::kinematics::{ToolTarget, radians_from_robot};
use crate::runtime::{Command, FASTEST_TIP, Snapshot};
use crate::ui::card::weak_ui;
use crate::ui::draft::Draft;
use crate::ui::hand::{PACE, Push};
use crate::ui::knob_slider::rail_style;
use crate::ui::theme;

const BUTTON_HEIGHT: f32 = 30.0;

/// Draws the buttons.
pub fn tip_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, _commands: &mut Vec<Command>) {
    place_ui(ui, snapshot);
    ui.add_space(4.0);
    let width = (ui.available_width() - ui.spacing().item_spacing.x) / 2.0;
    Grid::new("pushes")
        .spacing(Vec2::new(ui.spacing().item_spacing.x, 5.0))
        .show(ui, |ui| {
            for pair in Push::PAIRS {
                for push in pair {
                    push_ui(ui, draft, push, width);
                }
                ui.end_row();
            }
        });
    ui.add_space(4.0);
    obstacle_ui(ui, snapshot);
}

/// The pace of keys and buttons, of joints and tip alike.
pub fn pace_ui(ui: &mut Ui, draft: &mut Draft) {
    let hand = &mut draft.hand;
    ui.horizontal(|ui| {
        weak_ui(ui, "pace");
        let words = format!(
            "{:.0} mm/s · {:.0} °/s",
            FASTEST_TIP * hand.pace * 1e3,
            hand.joint_speed()
        );
        rail_style(ui);
        ui.spacing_mut().slider_width = (ui.available_width() - 108.0).max(40.0);
        let slider = egui::Slider::new(&mut hand.pace, PACE).show_value(false);
        ui.add(slider).accessible_name("pace");
        weak_ui(ui, words);
    });
}

/// Where the point between the finger tips is, in the base frame.
fn place_ui(ui: &mut Ui, snapshot: &Snapshot) {
    let at = ToolTarget::at(radians_from_robot(snapshot.measured));
    let tokens = theme::tokens(ui);
    let [x, y, z] = (at.position * 1e3).to_array();
    let millimetres = format!("x {x:>4.0}  y {y:>4.0}  z {z:>4.0} mm");
    let degrees = format!(
        "tilt {:>4.0}°  roll {:>4.0}°",
        at.pitch.to_degrees(),
        at.roll.to_degrees()
    );
    ui.label(theme::figure(millimetres, theme::BODY).color(tokens.text))
        .on_hover_text("The point between the finger tips: x forward, y left, z up, from the middle of the base on the table.");
    ui.label(theme::figure(degrees, theme::BODY).color(tokens.text))
        .on_hover_text("Tilt: 0° looks ahead, 90° straight down.");
}

/// A button that drives while it is pressed.
fn push_ui(ui: &mut Ui, draft: &mut Draft, push: Push, width: f32) {
    let tokens = theme::tokens(ui);
    let size = Vec2::new(width, BUTTON_HEIGHT);
    let text = format!("{}  {}", push.label(), push.key_name());
    let response: Response = ui
        .scope(|ui| {
            let button = Button::new(text).min_size(size).sense(Sense::drag());
            let active = &mut ui.visuals_mut().widgets.active;
            active.weak_bg_fill = tokens.human;
            active.fg_stroke.color = tokens.on_human;
            active.bg_stroke.color = Color32::TRANSPARENT;
            ui.add(button)
        })
        .inner;
    if response.is_pointer_button_down_on() {
        draft.hand.push(push.drive(draft.hand.pace));
    }
}

/// Why the tip stands although it is pushed.
fn obstacle_ui(ui: &mut Ui, snapshot: &Snapshot) {
    let tokens = theme::tokens(ui);
    match &snapshot.jog_obstacle {
        Some(why) => {
            ui.label(theme::strong(format!("No further: {why}")).color(tokens.human));
        }
        None => {
            weak_ui(ui, "Hold a key or a button: let go of, the arm stops.");
        }
    }
}
