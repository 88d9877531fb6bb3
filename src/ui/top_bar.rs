//! The top bar: who drives, what state the arm is in, and STOP, in every state and above every page.

use egui::{
    Align, Align2, Button, Color32, CornerRadius, CursorIcon, Label, Layout, ProgressBar, Response,
    RichText, Role, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo,
};

use crate::runtime::{Command, Connection, Mode, Snapshot};
use crate::ui::card::dot_ui;
use crate::ui::draft::{Draft, Page};
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::state::{State, Tone, held_in_part, mode_obstacle};
use crate::ui::theme::{self, Tokens};
use crate::ui::words;

/// Height of the bar, points.
pub const HEIGHT: f32 = 60.0;
const STOP_SIZE: Vec2 = Vec2::new(126.0, 46.0);
const MODE_SIZE: Vec2 = Vec2::new(322.0, 40.0);
const MODE_SIZE_NARROW: Vec2 = Vec2::new(270.0, 40.0);
/// What the word REPLAY adds while recorded actions drive.
const REPLAY_WIDTH: f32 = 40.0;
const BRAND_WIDTH: f32 = 300.0;
const ARM_WIDTH: f32 = 186.0;
const ARM_WIDTH_NARROW: f32 = 158.0;
const ENABLE: &str = "Enable torque";
const RELEASE: &str = "Release torque…";
/// From this width on everything has room.
const WIDE: f32 = 1180.0;
const RATE_WIDTH: f32 = 84.0;

/// Ground and inks of the bar: a person at the helm turns it amber, a stop turns it red.
#[derive(Clone, Copy)]
struct Ink {
    ground: Color32,
    text: Color32,
    weak: Color32,
}

/// The fill of the bar for this snapshot.
pub fn ground(ui: &Ui, snapshot: &Snapshot) -> Color32 {
    ink(theme::tokens(ui), snapshot).ground
}

fn ink(tokens: &Tokens, snapshot: &Snapshot) -> Ink {
    let on = |ground: Color32, text: Color32| Ink {
        ground,
        text,
        weak: text.gamma_multiply(0.85),
    };
    if snapshot.stopped.is_some() {
        on(tokens.fault, tokens.on_fault)
    } else if snapshot.mode.is_human() {
        on(tokens.human, tokens.on_human)
    } else {
        Ink {
            ground: tokens.panel,
            text: tokens.text,
            weak: tokens.weak,
        }
    }
}

/// Draws the bar.
pub fn top_bar_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let ink = ink(theme::tokens(ui), snapshot);
    let is_stopped = snapshot.stopped.is_some();
    let is_wide = ui.available_width() > WIDE;
    ui.horizontal_centered(|ui| {
        ui.spacing_mut().item_spacing.x = if is_wide { 14.0 } else { 10.0 };
        column_ui(ui, BRAND_WIDTH, |ui| brand_ui(ui, snapshot, draft, ink));
        let mode_size = if is_wide { MODE_SIZE } else { MODE_SIZE_NARROW };
        mode_ui(ui, snapshot, draft, commands, mode_size);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if stop_ui(ui, is_stopped).clicked() {
                commands.push(Command::Stop);
            }
            // Where there is little room, what releases a stop, and whose it was, come before the rest.
            if is_wide && !is_stopped {
                column_ui(ui, RATE_WIDTH, |ui| rate_ui(ui, snapshot, ink));
            }
            if is_wide || !is_stopped {
                let width = if is_wide { ARM_WIDTH } else { ARM_WIDTH_NARROW };
                column_ui(ui, width, |ui| {
                    arm_ui(ui, snapshot, draft, commands, ink);
                });
            }
            if is_stopped {
                resume_ui(ui, commands);
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                column_ui(ui, ui.available_width(), |ui| state_ui(ui, snapshot, ink));
            });
        });
    });
}

/// Two lines, centred in the height of the bar, of a width that no number changes.
fn column_ui(ui: &mut Ui, width: f32, add: impl FnOnce(&mut Ui)) {
    let size = Vec2::new(width, 40.0);
    ui.allocate_ui_with_layout(size, Layout::top_down(Align::Min), |ui| {
        ui.set_min_size(size);
        ui.set_max_width(width);
        ui.spacing_mut().item_spacing = Vec2::new(8.0, 3.0);
        add(ui);
    });
}

fn brand_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, ink: Ink) {
    ui.horizontal(|ui| {
        ui.label(theme::strong("smolpilot").size(theme::LEAD).color(ink.text));
        let device = snapshot.spec.as_ref().map_or("", |spec| &spec.device);
        let text = RichText::new(device).size(theme::SMALL).color(ink.weak);
        ui.add(Label::new(text).truncate());
    });
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        ui.add_space(-5.0);
        for page in Page::ALL {
            tab_ui(ui, draft, page, ink);
        }
    });
}

fn tab_ui(ui: &mut Ui, draft: &mut Draft, page: Page, ink: Ink) {
    let is_open = draft.page == page;
    let color = if is_open { ink.text } else { ink.weak };
    let text = RichText::new(page.label()).size(theme::BODY).color(color);
    let button = Button::new(text)
        .fill(Color32::TRANSPARENT)
        .stroke(Stroke::NONE)
        .min_size(Vec2::new(0.0, 18.0));
    let response = ui
        .scope(|ui| {
            ui.spacing_mut().button_padding = Vec2::new(5.0, 1.0);
            ui.add(button)
        })
        .inner
        .on_hover_cursor(CursorIcon::PointingHand);
    response.widget_info(|| WidgetInfo::selected(Role::Tab, true, is_open, page.label()));
    if is_open || response.hovered() {
        let rect = response.rect;
        let width = if is_open { 2.0 } else { 1.0 };
        let span = rect.left() + 5.0..=rect.right() - 5.0;
        ui.painter()
            .hline(span, rect.bottom() + 1.0, Stroke::new(width, color));
    }
    if response.clicked() {
        draft.page = page;
    }
}

fn mode_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
    size: Vec2,
) {
    let tokens = theme::tokens(ui);
    let mut modes = vec![
        (
            Mode::Hold,
            "Hold the last pose. Key H.",
            (tokens.chosen, tokens.on_chosen),
        ),
        (
            Mode::Policy,
            "Let the policy drive. Key P.",
            (tokens.predicted, tokens.on_predicted),
        ),
        (
            Mode::Teleop,
            "Drive by the leader arm; the arm comes to it slowly. Key T takes over in mid-run, and gives back.",
            (tokens.human, tokens.on_human),
        ),
        (
            Mode::Jog,
            "Drive by hand: joints, or the gripper's tip. Key J.",
            (tokens.human, tokens.on_human),
        ),
    ];
    let (mut size, mut letters) = (size, theme::LEAD);
    // It is begun on the page of the data sets, where it is said what is replayed.
    if snapshot.mode == Mode::Replay {
        let hint = "Recorded actions drive. H holds.";
        modes.push((Mode::Replay, hint, (tokens.recorded, tokens.on_recorded)));
        (size.x, letters) = (size.x + REPLAY_WIDTH, theme::LARGE);
    }
    let labels: Vec<String> = modes.iter().map(|(mode, ..)| mode.to_string()).collect();
    let segments: Vec<Segment<'_>> = modes
        .iter()
        .zip(&labels)
        .map(|(&(mode, hint, chosen), label)| Segment {
            label,
            is_chosen: snapshot.mode == mode && snapshot.stopped.is_none(),
            obstacle: mode_obstacle(snapshot, mode),
            hint,
            chosen,
        })
        .collect();
    if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(letters)) {
        match segments[i].obstacle {
            None if modes[i].0 == Mode::Replay => {}
            None => commands.push(Command::SetMode(modes[i].0)),
            Some(why) => draft.notify(why, ui.input(|input| input.time)),
        }
    }
}

fn state_ui(ui: &mut Ui, snapshot: &Snapshot, ink: Ink) {
    let tokens = theme::tokens(ui);
    let state = State::of(snapshot);
    let is_tinted = ink.ground != tokens.panel;
    let color = match state.tone {
        _ if is_tinted => ink.text,
        Tone::Calm | Tone::Human => ink.text,
        Tone::Policy => tokens.predicted,
        Tone::Recorded => tokens.recorded,
        Tone::Fault => tokens.fault_text,
    };
    let headline = theme::strong(&state.headline)
        .size(theme::LEAD)
        .color(color);
    ui.add(Label::new(headline).truncate());
    let detail = RichText::new(&state.detail)
        .size(theme::BODY)
        .color(ink.weak);
    ui.add(Label::new(detail).truncate());
}

/// The arm: what it is and how it is connected, and below it the torque and its buttons.
fn arm_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
    ink: Ink,
) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let is_on = matches!(snapshot.connection, Connection::Connected { .. });
        dot_ui(ui, ink.text, is_on);
        let text = RichText::new(arm_words(snapshot, ui.available_width())).size(theme::BODY);
        let label = ui.add(Label::new(text.color(ink.text)).truncate());
        if let Connection::Lost(why) = &snapshot.connection {
            label.on_hover_text(why);
        }
    });
    if !matches!(snapshot.connection, Connection::Connected { .. }) {
        arms_button_ui(ui, snapshot, draft, ink);
        return;
    }
    ui.horizontal(|ui| {
        ui.spacing_mut().interact_size.y = 18.0;
        ui.spacing_mut().button_padding = Vec2::new(7.0, 1.0);
        ui.spacing_mut().item_spacing.x = 6.0;
        torque_ui(ui, snapshot, draft, commands);
    });
}

/// Without an arm that could be armed, the way to one. While one is being connected there is nothing to choose.
fn arms_button_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, ink: Ink) {
    if snapshot.connection == Connection::Connecting {
        let text = RichText::new("torque unknown").size(theme::SMALL);
        ui.label(text.color(ink.weak));
        return;
    }
    ui.horizontal(|ui| {
        ui.spacing_mut().interact_size.y = 18.0;
        ui.spacing_mut().button_padding = Vec2::new(7.0, 1.0);
        let hint = "Set-up, Arms: ports, calibration, and which arm is flown.";
        if torque_button_ui(ui, "Arms…", hint, true) {
            draft.page = Page::Setup;
            draft.workshop.is_open = true;
        }
    });
}

/// The name, and what is the matter with the arm; where there is little room, the filled dot alone says that it answers.
fn arm_words(snapshot: &Snapshot, room: f32) -> String {
    let name = match snapshot.arm.rsplit('/').next() {
        None | Some("") => "arm",
        Some(name) => name,
    };
    match &snapshot.connection {
        Connection::Absent => format!("absent: {name}"),
        Connection::Connecting => format!("connecting: {name}"),
        Connection::Connected { .. } if room < ARM_WIDTH_NARROW => name.to_owned(),
        Connection::Connected { .. } => format!("{name} connected"),
        Connection::Uncalibrated(_) => format!("not calibrated: {name}"),
        Connection::Lost(_) => format!("lost: {name}"),
    }
}

/// What may be done about the torque now; while it changes, how far that has come.
fn torque_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let changing = match (snapshot.arming, snapshot.releasing) {
        (Some(share), _) => Some((share, ENABLE)),
        (None, Some(share)) => Some((share, RELEASE)),
        (None, None) => None,
    };
    if let Some((share, name)) = changing {
        let button = Button::new(RichText::new(name).size(theme::SMALL));
        ui.add_enabled(false, button)
            .on_disabled_hover_text("It is on its way. STOP breaks it off and holds the arm.");
        progress_ui(ui, share);
        return;
    }
    let is_armed = snapshot.connection == (Connection::Connected { torque: true });
    let is_held_in_part = held_in_part(snapshot).is_some();
    if !is_armed {
        let hint =
            "Arms the servos from the present pose: goal = present position, then torque on.";
        // What is to be done next stands out.
        if torque_button_ui(ui, ENABLE, hint, true) {
            commands.push(Command::EnableTorque);
        }
    }
    if is_armed || is_held_in_part {
        let name = if is_armed { RELEASE } else { "Release…" };
        let hint = "Servos hold. Releasing lets the arm drop; you are asked first.";
        if torque_button_ui(ui, name, hint, false) {
            draft.asks_to_release = true;
            draft.page = Page::Cockpit;
        }
    }
    if is_armed && snapshot.parking.is_none() && !snapshot.parked {
        let hint = "Folds the arm up slowly; it holds there. STOP or a mode breaks it off.";
        if torque_button_ui(ui, "Park", hint, false) {
            if snapshot.stopped.is_some() {
                draft.notify(
                    "The arm is stopped. Press Resume first.",
                    ui.input(|input| input.time),
                );
            } else {
                commands.push(Command::Park);
            }
        }
    }
}

fn torque_button_ui(ui: &mut Ui, name: &str, hint: &str, is_next: bool) -> bool {
    let tokens = theme::tokens(ui);
    let (fill, color) = if is_next {
        (tokens.chosen, tokens.on_chosen)
    } else {
        (tokens.raised, tokens.text)
    };
    let text = RichText::new(name).size(theme::SMALL).color(color);
    let response = ui.add(Button::new(text).fill(fill));
    response.on_hover_text(hint).clicked()
}

/// A short bar with its share in words: a colour alone would not be read on the amber or the red bar.
fn progress_ui(ui: &mut Ui, share: f32) {
    let tokens = theme::tokens(ui);
    let text = RichText::new(format!("{:.0} %", share * 100.0)).size(theme::SMALL);
    let bar = ProgressBar::new(share)
        .desired_width(ui.available_width().clamp(40.0, 72.0))
        .desired_height(16.0)
        .fill(tokens.faint)
        .text(text.color(tokens.text));
    ui.add(bar);
}

fn rate_ui(ui: &mut Ui, snapshot: &Snapshot, ink: Ink) {
    ui.with_layout(Layout::top_down(Align::Max), |ui| {
        let rate = format!("{:.1} Hz", snapshot.rate_hz);
        ui.label(theme::figure(rate, theme::LARGE).color(ink.text))
            .on_hover_text("Measured rate of the control loop.");
        let many = if snapshot.late_ticks == 1 { "" } else { "s" };
        let late = format!("{} late tick{many}", words::count(snapshot.late_ticks));
        ui.label(RichText::new(late).size(theme::SMALL).color(ink.weak))
            .on_hover_text(
                "Control periods that began too late; they are counted, never replayed.",
            );
    });
}

fn resume_ui(ui: &mut Ui, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    let text = theme::strong("Resume")
        .size(theme::LEAD)
        .color(tokens.fault);
    let button = Button::new(text)
        .fill(tokens.on_fault)
        .corner_radius(CornerRadius::same(6))
        .min_size(Vec2::new(96.0, 36.0));
    let response = ui
        .add(button)
        .on_hover_text("Releases the stop. The arm goes on holding; nothing moves by itself.");
    if response.clicked() {
        commands.push(Command::Resume);
    }
}

/// The stop button; `is_latched` inverts it, so that it stands out from the red bar.
fn stop_ui(ui: &mut Ui, is_latched: bool) -> Response {
    let tokens = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(STOP_SIZE, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, "STOP"));
    let ground = if response.is_pointer_button_down_on() {
        tokens.fault.gamma_multiply(0.75)
    } else if response.hovered() {
        tokens.fault.gamma_multiply(0.92)
    } else {
        tokens.fault
    };
    let radius = CornerRadius::same(8);
    let edge = if is_latched { 2.5 } else { 0.0 };
    ui.painter().rect(
        rect,
        radius,
        ground,
        Stroke::new(edge, tokens.on_fault),
        StrokeKind::Inside,
    );
    if response.has_focus() {
        let stroke = Stroke::new(2.0, tokens.on_fault);
        ui.painter()
            .rect_stroke(rect.shrink(3.0), radius, stroke, StrokeKind::Inside);
    }
    // A square beside the word: the sign for stop where the colour is not seen.
    let sign =
        egui::Rect::from_center_size(rect.center() - Vec2::new(38.0, 0.0), Vec2::splat(13.0));
    ui.painter()
        .rect_filled(sign, CornerRadius::same(2), tokens.on_fault);
    ui.painter().text(
        rect.center() + Vec2::new(12.0, 0.0),
        Align2::CENTER_CENTER,
        "STOP",
        theme::figures(theme::STOP),
        tokens.on_fault,
    );
    response
        .on_hover_cursor(CursorIcon::PointingHand)
        .on_hover_text("Holds the arm where it is, until Resume. Keys Space and Esc.")
}
