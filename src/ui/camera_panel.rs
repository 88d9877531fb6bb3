//! The cameras as the policy sees them: picture, age, rate, state in words, and which view of the checkpoint each feeds.

use egui::{
    Align, Align2, Color32, ComboBox, CornerRadius, Image, Layout, Rect, RichText, Sense, Stroke,
    StrokeKind, Ui, Vec2,
};

use crate::runtime::{CameraStatus, CameraView, Command, Snapshot, ViewBinding};
use crate::ui::card::{card_ui, heading_ui, weak_ui};
use crate::ui::draft::{Draft, Page};
use crate::ui::theme;
use crate::ui::words;

/// The word "feeds" is left out where it would run into the camera's name, points.
const FEEDS_WIDTH: f32 = 40.0;
/// The word "live" is left out where it would run into the age, points.
const BADGES_WIDTH: f32 = 170.0;

/// Draws the column of cameras.
pub fn camera_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    if snapshot.cameras.is_empty() {
        heading_ui(ui, "CAMERAS", |_| {});
        empty_ui(ui, draft);
    }
    for camera in &snapshot.cameras {
        one_camera_ui(ui, snapshot, draft, commands, camera);
        ui.add_space(6.0);
    }
    blind_views_ui(ui, snapshot);
}

fn empty_ui(ui: &mut Ui, draft: &mut Draft) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.line, |ui| {
        ui.label("No camera yet.");
        weak_ui(
            ui,
            "Start with --camera front=0 for the first camera of this machine, --camera front=PICTURE for a file, \
             or with --rig for the two simulated ones.",
        );
        if ui.button("Set-up").clicked() {
            draft.page = Page::Setup;
        }
    });
}

fn one_camera_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
    camera: &CameraView,
) {
    let tokens = theme::tokens(ui);
    ui.horizontal(|ui| {
        ui.label(theme::strong(&camera.name).size(theme::BODY))
            .on_hover_text(&camera.source);
        binding_ui(ui, snapshot, commands, camera);
    });
    picture_ui(ui, draft, camera);
    if let CameraStatus::Lost(why) = &camera.status {
        let text = RichText::new(format!("{why} · being reopened")).size(theme::SMALL);
        ui.label(text.color(tokens.fault_text));
    }
}

/// The picture in its frame; red edge and a veil when it must not be trusted.
fn picture_ui(ui: &mut Ui, draft: &Draft, camera: &CameraView) {
    let tokens = theme::tokens(ui);
    let shape = camera.frame.as_ref().map_or(0.75, |frame| {
        (frame.height as f32 / frame.width as f32).clamp(0.4, 1.0)
    });
    let width = ui.available_width();
    let size = Vec2::new(width, (width * shape).round());
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let radius = CornerRadius::same(4);
    ui.painter().rect_filled(rect, radius, tokens.well);
    let is_fresh = camera.status == CameraStatus::Live;
    match draft.pictures.get(&camera.name) {
        Some(texture) => {
            let tint = if is_fresh {
                Color32::WHITE
            } else {
                tokens.weak
            };
            Image::new(texture)
                .corner_radius(radius)
                .tint(tint)
                .paint_at(ui, rect);
        }
        None => {
            ui.painter().text(
                rect.center(),
                Align2::CENTER_CENTER,
                "no picture yet",
                theme::font(theme::BODY),
                tokens.weak,
            );
        }
    }
    let edge = if is_fresh || camera.status == CameraStatus::Opening {
        Stroke::new(1.0, tokens.line)
    } else {
        Stroke::new(2.0, tokens.fault)
    };
    ui.painter()
        .rect_stroke(rect, radius, edge, StrokeKind::Inside);
    badges(ui, rect, camera);
    response.on_hover_text(&camera.source);
}

/// State and rate at the left, age at the right; red when the picture must not be trusted.
fn badges(ui: &Ui, rect: Rect, camera: &CameraView) {
    let tokens = theme::tokens(ui);
    let quiet = (tokens.panel.gamma_multiply(0.85), tokens.text);
    let alarm = (tokens.fault, tokens.on_fault);
    let rate = format!("{:.0} fps", camera.rate_hz);
    let (word, colors) = match camera.status {
        CameraStatus::Opening => ("opening".to_owned(), quiet),
        CameraStatus::Live if rect.width() < BADGES_WIDTH => (rate, quiet),
        CameraStatus::Live => (format!("live  {rate}"), quiet),
        CameraStatus::Stale => ("STALE".to_owned(), alarm),
        CameraStatus::Lost(_) => ("LOST".to_owned(), alarm),
    };
    let inner = rect.shrink(5.0);
    badge(ui, inner, Align2::LEFT_BOTTOM, word, colors);
    if let Some(age) = camera.age {
        let text = format!("age {}", words::span(age));
        badge(ui, inner, Align2::RIGHT_BOTTOM, text, colors);
    }
}

fn badge(ui: &Ui, within: Rect, corner: Align2, text: String, colors: (Color32, Color32)) {
    let (ground, ink) = colors;
    let galley = ui
        .painter()
        .layout_no_wrap(text, theme::figures(theme::SMALL), ink);
    let size = galley.size() + Vec2::new(10.0, 4.0);
    let rect = corner.align_size_within_rect(size, within);
    ui.painter()
        .rect_filled(rect, CornerRadius::same(3), ground);
    ui.painter()
        .galley(rect.min + Vec2::new(5.0, 2.0), galley, ink);
}

/// Which view of the checkpoint this camera feeds.
fn binding_ui(ui: &mut Ui, snapshot: &Snapshot, commands: &mut Vec<Command>, camera: &CameraView) {
    if snapshot.views.is_empty() {
        return;
    }
    let bound = snapshot
        .views
        .iter()
        .find(|binding| binding.camera.as_deref() == Some(&camera.name));
    let shown = bound.map_or("no view", |binding| words::view(&binding.view));
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let width = (ui.available_width() - 46.0).clamp(60.0, 130.0);
        let combo = ComboBox::from_id_salt(("feeds", &camera.name))
            .width(width)
            .selected_text(shown)
            .show_ui(ui, |ui| {
                for binding in &snapshot.views {
                    let is_bound = bound == Some(binding);
                    let label = view_label(binding);
                    if ui.selectable_label(is_bound, label).clicked() && !is_bound {
                        commands.extend(rebind(snapshot, Some(&binding.view), &camera.name));
                    }
                }
                if ui.selectable_label(bound.is_none(), "no view").clicked() && bound.is_some() {
                    commands.extend(rebind(snapshot, None, &camera.name));
                }
            });
        combo
            .response
            .accessible_name(format!("{} feeds", camera.name))
            .on_hover_text(
                "The view of the checkpoint that this camera feeds. Wrong views make wrong actions.",
            );
        if ui.available_width() > FEEDS_WIDTH {
            weak_ui(ui, "feeds");
        }
    });
}

fn view_label(binding: &ViewBinding) -> String {
    let name = words::view(&binding.view);
    match &binding.camera {
        Some(camera) => format!("{name}   (now {camera})"),
        None => format!("{name}   (no camera)"),
    }
}

/// The commands that make `camera` feed exactly `view`: a camera feeds at most one view.
pub fn rebind(snapshot: &Snapshot, view: Option<&str>, camera: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = snapshot
        .views
        .iter()
        .filter(|binding| {
            binding.camera.as_deref() == Some(camera) && Some(binding.view.as_str()) != view
        })
        .map(|binding| Command::BindView {
            view: binding.view.clone(),
            camera: None,
        })
        .collect();
    if let Some(view) = view {
        commands.push(Command::BindView {
            view: view.to_owned(),
            camera: Some(camera.to_owned()),
        });
    }
    commands
}

/// Views of the checkpoint that nothing feeds.
fn blind_views_ui(ui: &mut Ui, snapshot: &Snapshot) {
    let blind: Vec<&str> = snapshot
        .views
        .iter()
        .filter(|binding| binding.camera.is_none())
        .map(|binding| words::view(&binding.view))
        .collect();
    if blind.is_empty() || snapshot.cameras.is_empty() {
        return;
    }
    let text = format!("No camera for {}; it counts as missing.", blind.join(", "));
    weak_ui(ui, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_camera_leaves_its_old_view_when_it_takes_a_new_one() {
        let binding = |view: &str, camera: Option<&str>| ViewBinding {
            view: view.to_owned(),
            camera: camera.map(str::to_owned),
        };
        let snapshot = Snapshot {
            views: vec![binding("a", Some("front")), binding("b", None)],
            ..Snapshot::default()
        };
        let bind = |view: &str, camera: Option<&str>| Command::BindView {
            view: view.to_owned(),
            camera: camera.map(str::to_owned),
        };
        assert_eq!(
            rebind(&snapshot, Some("b"), "front"),
            [bind("a", None), bind("b", Some("front"))]
        );
        assert_eq!(rebind(&snapshot, None, "front"), [bind("a", None)]);
        assert_eq!(rebind(&snapshot, None, "wrist"), []);
    }
}
