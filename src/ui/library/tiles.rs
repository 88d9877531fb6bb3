//! The pictures of all cameras at one row, and beside them the arm as it stood then.

use egui::{
    Align2, CornerRadius, Image, Rect, Role, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2,
};

use crate::runtime::{Command, EpisodeView, Snapshot};
use crate::ui::draft::Draft;
use crate::ui::library::within_ui;
use crate::ui::scene_panel::{SceneSubject, scene_ui};
use crate::ui::theme;

const GAP: f32 = 8.0;
/// The shape of a tile whose picture is not known yet.
const SHAPE: f32 = 0.75;

/// Draws the row of tiles, `height` points high.
pub fn tiles_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    shown: &EpisodeView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
    height: f32,
) {
    draft
        .library
        .pictures
        .refresh_recorded(ui.ctx(), &shown.frames);
    let size = Vec2::new(ui.available_width(), height);
    let (row, _) = ui.allocate_exact_size(size, Sense::hover());
    let joints = shown.states.get(draft.library.player.row()).copied();
    let cameras = shown.frames.len() + shown.blind.len();
    let many = cameras + usize::from(joints.is_some());
    if many == 0 {
        let words = "This data set has neither pictures nor the joints of an SO-101.";
        let font = theme::font(theme::BODY);
        let ink = theme::tokens(ui).weak;
        ui.painter()
            .text(row.center(), Align2::CENTER_CENTER, words, font, ink);
        return;
    }
    let width = ((row.width() - GAP * (many - 1) as f32) / many as f32).floor();
    let place = |i: usize| {
        let left = row.left() + (width + GAP) * i as f32;
        Rect::from_min_size(pos2(left.round(), row.top()), Vec2::new(width, height))
    };
    for (i, (camera, _)) in shown.frames.iter().enumerate() {
        picture_ui(ui, draft, camera, place(i));
    }
    for (i, (camera, why)) in shown.blind.iter().enumerate() {
        blind_ui(ui, camera, why, place(shown.frames.len() + i));
    }
    if let Some(joints) = joints {
        draft.scene.subject = Some(SceneSubject {
            joints,
            ghost: None,
        });
        within_ui(ui, place(cameras), |ui| {
            scene_ui(ui, snapshot, draft, commands);
        });
    }
}

/// A camera's picture, as large as fits, with its name.
fn picture_ui(ui: &mut Ui, draft: &Draft, camera: &str, place: Rect) {
    let tokens = theme::tokens(ui);
    let id = ui.scope_id().with(("recorded", camera));
    let response = ui.interact(place, id, Sense::hover());
    let label = format!("recorded {camera}");
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &label));
    let radius = CornerRadius::same(4);
    ui.painter().rect_filled(place, radius, tokens.well);
    if let Some(texture) = draft.library.pictures.get(camera) {
        let [w, h] = texture.size();
        let shape = if w == 0 { SHAPE } else { h as f32 / w as f32 };
        let width = place.width().min(place.height() / shape.max(0.05));
        let rect = Rect::from_center_size(place.center(), Vec2::new(width, width * shape));
        Image::new(texture).corner_radius(radius).paint_at(ui, rect);
    }
    frame_ui(ui, camera, place);
}

fn blind_ui(ui: &mut Ui, camera: &str, why: &str, place: Rect) {
    let tokens = theme::tokens(ui);
    ui.painter()
        .rect_filled(place, CornerRadius::same(4), tokens.well);
    within_ui(
        ui,
        place.shrink(10.0).with_min_y(place.top() + 26.0),
        |ui| {
            let text = egui::RichText::new(why).size(theme::SMALL);
            ui.add(egui::Label::new(text.color(tokens.weak)).wrap());
        },
    );
    frame_ui(ui, camera, place);
}

fn frame_ui(ui: &Ui, camera: &str, place: Rect) {
    let tokens = theme::tokens(ui);
    let edge = Stroke::new(1.0, tokens.line);
    ui.painter()
        .rect_stroke(place, CornerRadius::same(4), edge, StrokeKind::Inside);
    let font = theme::font(theme::SMALL);
    let words = ui
        .painter()
        .layout_no_wrap(camera.to_owned(), font, tokens.text);
    let corner = place.left_top() + Vec2::splat(5.0);
    let plate = Rect::from_min_size(corner, words.size() + Vec2::new(10.0, 3.0));
    let ground = tokens.panel.gamma_multiply(0.85);
    ui.painter()
        .rect_filled(plate, CornerRadius::same(3), ground);
    ui.painter()
        .galley(corner + Vec2::new(5.0, 1.5), words, tokens.text);
}
