//! Driving by hand: one slider and two buttons a joint, or the gripper's tip; bounded by the limits that commands respect.

use egui::{Align, Button, DragValue, Layout, Response, Slider, Ui, Vec2};

use crate::joint::{Joint, JointVec};
use crate::runtime::{Command, Drive, Snapshot};
use crate::ui::card::{heading_ui, weak_ui};
use crate::ui::draft::{Draft, JogDraft};
use crate::ui::knob_slider::rail_style;
use crate::ui::leader_panel::give_back_ui;
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme;
use crate::ui::tip_panel::{pace_ui, tip_ui};
use crate::ui::words;

/// One press of a button, robot units.
const STEP: f32 = 2.0;
/// Room for the measured value, points.
const MEASURED_WIDTH: f32 = 64.0;
/// A goal that was sent is shown for so long before the snapshot's pose is, seconds; limits may take this to get there.
const SHOWN_SECONDS: f64 = 1.5;
/// A button that is held for so long drives until it is let go of, seconds; a shorter press is one step.
const HELD_SECONDS: f64 = 0.25;

/// Draws the panel in the right column while a person drives.
pub fn jog_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let now = ui.input(|input| input.time);
    heading_ui(ui, "JOG", |ui| give_back_ui(ui, snapshot, commands));
    tabs_ui(ui, draft);
    pace_ui(ui, draft);
    if draft.hand.shows_tip {
        tip_ui(ui, snapshot, draft, commands);
        return;
    }
    weak_ui(ui, "The arm's limits bound each goal and its speed.");
    let mut goal = shown_goal(snapshot, draft, now);
    for joint in Joint::ALL {
        let wanted = joint_row_ui(ui, snapshot, draft, joint, goal[joint]);
        if let Some(wanted) = wanted {
            goal[joint] = wanted;
            commands.push(Command::JogTo(joint, wanted));
            draft.jog = Some(JogDraft { goal, sent_at: now });
        }
    }
}

/// The goals on the sliders: what was just sent, else what the runtime is driving to.
fn shown_goal(snapshot: &Snapshot, draft: &mut Draft, now: f64) -> JointVec {
    match &draft.jog {
        Some(jog) if now - jog.sent_at < SHOWN_SECONDS => jog.goal,
        _ => {
            draft.jog = None;
            snapshot.jog
        }
    }
}

fn tabs_ui(ui: &mut Ui, draft: &mut Draft) {
    let tokens = theme::tokens(ui);
    let is_tip = draft.hand.shows_tip;
    let tabs = [
        Segment::plain(tokens, "JOINTS", !is_tip, "Joint by joint."),
        Segment::plain(
            tokens,
            "TIP",
            is_tip,
            "The gripper's tip, in straight lines.",
        ),
    ];
    let size = Vec2::new(ui.available_width(), 26.0);
    if let Some(i) = segmented_ui(ui, &tabs, size, &theme::font(theme::BODY)) {
        draft.hand.shows_tip = i == 1;
    }
    ui.add_space(2.0);
}

fn joint_row_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    joint: Joint,
    goal: f32,
) -> Option<f32> {
    let tokens = theme::tokens(ui);
    let Some([low, high]) = limits(snapshot, joint) else {
        weak_ui(ui, format!("{}: limits not known yet", words::joint(joint)));
        return None;
    };
    let mut value = goal.clamp(low, high);
    let before = value;
    let unit = match joint {
        Joint::Gripper => " %",
        _ => joint.unit(),
    };
    let measured = words::joint_value(joint, snapshot.measured[joint]);
    ui.horizontal(|ui| {
        weak_ui(ui, words::joint(joint));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            // Of one width, so that the goals stand below each other.
            let size = Vec2::new(MEASURED_WIDTH, 18.0);
            let layout = Layout::right_to_left(Align::Center);
            ui.allocate_ui_with_layout(size, layout, |ui| {
                ui.set_min_width(MEASURED_WIDTH);
                weak_ui(ui, format!("at {measured}"));
            });
            let number = DragValue::new(&mut value)
                .range(low..=high)
                .speed(0.25)
                .fixed_decimals(1)
                .suffix(unit)
                .update_while_editing(false)
                .min_size(Vec2::new(62.0, 20.0));
            ui.style_mut().visuals.widgets.inactive.weak_bg_fill = tokens.well;
            ui.add(number)
                .accessible_name(format!("{} goal", words::joint(joint)));
        });
    });
    ui.horizontal(|ui| {
        let button = |text: &str| Button::new(text.to_owned()).min_size(Vec2::new(26.0, 20.0));
        let less = ui
            .add_enabled(value > low, button("−"))
            .accessible_name(format!("{} less", words::joint(joint)));
        rail_style(ui);
        ui.spacing_mut().slider_width = (ui.available_width() - 34.0).max(40.0);
        let slider = Slider::new(&mut value, low..=high).show_value(false);
        ui.add(slider).accessible_name(words::joint(joint));
        let more = ui
            .add_enabled(value < high, button("+"))
            .accessible_name(format!("{} more", words::joint(joint)));
        for (button, sign) in [(less, -1.0), (more, 1.0)] {
            if is_held(ui, &button) {
                let speed = sign * draft.hand.joint_speed();
                draft.hand.push(Drive::of_joint(joint, speed));
            } else if button.clicked() && !draft.hand.is_driving() {
                value = (before + sign * STEP).clamp(low, high);
            }
        }
    });
    ui.add_space(2.0);
    (value != before).then_some(value)
}

/// Pressed for longer than a click.
fn is_held(ui: &Ui, button: &Response) -> bool {
    let long = ui.input(|input| {
        let since = input.pointer.press_start_time();
        since.is_some_and(|since| input.time - since > HELD_SECONDS)
    });
    button.is_pointer_button_down_on() && long
}

/// The joint's limits, once the arm has told them.
fn limits(snapshot: &Snapshot, joint: Joint) -> Option<[f32; 2]> {
    let [low, high] = &snapshot.limits;
    (low[joint] < high[joint]).then_some([low[joint], high[joint]])
}
