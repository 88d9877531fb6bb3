//! Set-up: which camera feeds which view of the checkpoint, seen side by side, and what the arm is connected to.

use egui::{
    Align2, CornerRadius, CursorIcon, Image, Role, ScrollArea, Sense, Stroke, StrokeKind, Ui, Vec2,
    WidgetInfo,
};

use crate::joint::JOINT_COUNT;
use crate::runtime::{CameraStatus, Command, Connection, RigOrder, Snapshot, ViewBinding};
use crate::ui::camera_panel::rebind;
use crate::ui::card::{heading_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::state::held_in_part;
use crate::ui::theme;
use crate::ui::words;
use crate::ui::workshop::workshop_ui;

const THUMBNAIL: Vec2 = Vec2::new(148.0, 111.0);
/// From this width on there is room for three thumbnails and another column.
const TWO_COLUMNS: f32 = 1000.0;

/// Draws the page: views, and beside them, where there is room, what they are fed from.
pub fn setup_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    tabs_ui(ui, draft);
    if draft.workshop.is_open {
        workshop_ui(ui, snapshot, draft, commands);
        return;
    }
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        if ui.available_width() < TWO_COLUMNS {
            views_ui(ui, snapshot, draft, commands);
            devices_ui(ui, snapshot, draft, commands);
            return;
        }
        ui.columns(2, |columns| {
            // Columns justify what is in them; here nothing is to be stretched.
            columns[0].vertical(|ui| views_ui(ui, snapshot, draft, commands));
            columns[1].vertical(|ui| devices_ui(ui, snapshot, draft, commands));
        });
    });
}

/// Views and cameras, or the arms.
fn tabs_ui(ui: &mut Ui, draft: &mut Draft) {
    let tokens = theme::tokens(ui);
    ui.horizontal(|ui| {
        ui.heading("Set-up");
        ui.add_space(12.0);
        let is_open = draft.workshop.is_open;
        let segments = [
            Segment::plain(
                tokens,
                "Cameras",
                !is_open,
                "Which camera feeds which view.",
            ),
            Segment::plain(
                tokens,
                "Arms",
                is_open,
                "Ports, calibration, servo numbers, and which arm is flown.",
            ),
        ];
        let size = Vec2::new(200.0, 26.0);
        if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(theme::BODY)) {
            draft.workshop.is_open = i == 1;
        }
    });
    ui.add_space(8.0);
}

fn views_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &Draft, commands: &mut Vec<Command>) {
    heading_ui(ui, "VIEWS OF THE CHECKPOINT", |_| {});
    weak_ui(
        ui,
        "Each view was trained on one camera position. Choose the camera that stands there; the choice is remembered.",
    );
    ui.add_space(4.0);
    if snapshot.views.is_empty() {
        ui.label("Load a policy to see which views it wants.");
    }
    for binding in &snapshot.views {
        view_ui(ui, snapshot, draft, commands, binding);
        ui.add_space(10.0);
    }
}

fn devices_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    heading_ui(ui, "CAMERAS", |_| {});
    cameras_ui(ui, snapshot);
    ui.add_space(10.0);
    heading_ui(ui, "ARM", |_| {});
    arm_ui(ui, snapshot, draft, commands);
}

/// One view with the pictures of all cameras to choose from.
fn view_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &Draft,
    commands: &mut Vec<Command>,
    binding: &ViewBinding,
) {
    ui.label(theme::strong(words::view(&binding.view)).size(theme::LARGE))
        .on_hover_text(&binding.view);
    ui.horizontal_wrapped(|ui| {
        for camera in &snapshot.cameras {
            let is_bound = binding.camera.as_deref() == Some(&camera.name);
            let label = format!("{} feeds {}", camera.name, words::view(&binding.view));
            if thumbnail_ui(ui, draft, Some(&camera.name), is_bound, &label) && !is_bound {
                commands.extend(rebind(snapshot, Some(&binding.view), &camera.name));
            }
        }
        let is_blind = binding.camera.is_none();
        let label = format!("nothing feeds {}", words::view(&binding.view));
        if thumbnail_ui(ui, draft, None, is_blind, &label) && !is_blind {
            commands.push(Command::BindView {
                view: binding.view.clone(),
                camera: None,
            });
        }
    });
}

fn thumbnail_ui(
    ui: &mut Ui,
    draft: &Draft,
    camera: Option<&str>,
    is_chosen: bool,
    label: &str,
) -> bool {
    let tokens = theme::tokens(ui);
    let size = THUMBNAIL + Vec2::new(0.0, 22.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::RadioButton, true, is_chosen, label));
    let picture = rect.with_max_y(rect.top() + THUMBNAIL.y);
    let radius = CornerRadius::same(5);
    ui.painter().rect_filled(picture, radius, tokens.well);
    let texture = camera.and_then(|name| draft.pictures.get(name));
    if let Some(texture) = texture {
        Image::new(texture)
            .corner_radius(radius)
            .paint_at(ui, picture);
    } else {
        let words = camera.map_or("missing view", |_| "no picture yet");
        let font = theme::font(theme::SMALL);
        let center = Align2::CENTER_CENTER;
        ui.painter()
            .text(picture.center(), center, words, font, tokens.weak);
    }
    let edge = if is_chosen {
        Stroke::new(3.0, tokens.chosen)
    } else if response.hovered() {
        Stroke::new(1.5, tokens.weak)
    } else {
        Stroke::new(1.0, tokens.line)
    };
    ui.painter()
        .rect_stroke(picture, radius, edge, StrokeKind::Inside);
    let name = camera.unwrap_or("none");
    let (text, ink) = if is_chosen {
        (format!("● {name}"), tokens.text)
    } else {
        (format!("○ {name}"), tokens.weak)
    };
    let place = rect.left_bottom() + Vec2::new(2.0, -2.0);
    let font = theme::font(theme::BODY);
    ui.painter()
        .text(place, Align2::LEFT_BOTTOM, text, font, ink);
    response.on_hover_cursor(CursorIcon::PointingHand).clicked()
}

fn cameras_ui(ui: &mut Ui, snapshot: &Snapshot) {
    if snapshot.cameras.is_empty() {
        ui.label("No camera is open. Start with --camera NAME=SOURCE, once for each.");
        return;
    }
    for camera in &snapshot.cameras {
        let status = match &camera.status {
            CameraStatus::Opening => "opening".to_owned(),
            CameraStatus::Live => format!("live, {:.0} fps", camera.rate_hz),
            CameraStatus::Stale => "stale: its newest picture is too old".to_owned(),
            CameraStatus::Lost(why) => format!("lost: {why}; being reopened"),
        };
        ui.horizontal(|ui| {
            ui.label(theme::strong(&camera.name));
            ui.label(&camera.source);
            weak_ui(ui, status);
        });
    }
    weak_ui(
        ui,
        "Cameras are named at the start: --camera NAME=SOURCE, once for each. In a terminal, smolpilot check lists the devices.",
    );
}

fn arm_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let held = held_in_part(snapshot)
        .map(|held| format!("connected, {held} of {JOINT_COUNT} joints have torque"));
    let status = match &snapshot.connection {
        Connection::Absent => "none; choose one under Arms",
        Connection::Connecting => "connecting",
        _ if snapshot.arming.is_some() => "connected, torque is coming on",
        _ if snapshot.releasing.is_some() => "connected, being let down",
        Connection::Connected { torque: true } => "connected, torque on",
        Connection::Connected { torque: false } => {
            held.as_deref().unwrap_or("connected, torque off")
        }
        Connection::Lost(why) | Connection::Uncalibrated(why) => why,
    };
    ui.horizontal(|ui| {
        ui.label(theme::strong(&snapshot.arm));
        weak_ui(ui, status);
    });
    if ui
        .button("Choose or calibrate an arm")
        .on_hover_text("The tab Arms.")
        .clicked()
    {
        draft.workshop.is_open = true;
    }
    if snapshot.rig.is_some() && ui.button("Put the cubes back").clicked() {
        commands.push(Command::Rig(RigOrder::Reset { seed: None }));
    }
}
