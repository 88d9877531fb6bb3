//! The 3D panel: the arm, its ghost at the end of the plan, ribbons of what was and will be done. It only asks for a
//! picture; whoever owns the GPU draws it between two frames.

use egui::{
    Align2, CornerRadius, CursorIcon, Image, PointerButton, Rect, Response, Sense, Stroke,
    StrokeKind, TextureId, Ui, Vec2,
};
use glam::Vec3;

use crate::runtime::{Command, Snapshot};
use crate::ui::draft::Draft;
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme;

/// How far the eye may go, metres.
const DISTANCE: std::ops::RangeInclusive<f32> = 0.15..=2.5;
/// Keeps the eye from standing on its head, radians.
const PITCH: std::ops::RangeInclusive<f32> = -0.2..=1.55;
/// Radians a point of dragging.
const ORBIT_SPEED: f32 = 0.008;

/// Where the eye stands: it looks at `target` from `distance` metres. Base frame: +X forward, +Y left, +Z up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orbit {
    pub target: Vec3,
    /// About +Z from +X, radians.
    pub yaw: f32,
    /// Above the table, radians.
    pub pitch: f32,
    pub distance: f32,
}

impl Orbit {
    /// Names of the presets, with their eyes.
    pub const PRESETS: [(&'static str, Self); 4] = [
        ("Free", Self::at(-0.75, 0.45, 0.85)),
        ("Front", Self::at(0.0, 0.15, 0.85)),
        ("Side", Self::at(-std::f32::consts::FRAC_PI_2, 0.1, 0.85)),
        ("Top", Self::at(std::f32::consts::PI, 1.54, 0.85)),
    ];

    const fn at(yaw: f32, pitch: f32, distance: f32) -> Self {
        Self {
            target: Vec3::new(0.16, 0.0, 0.1),
            yaw,
            pitch,
            distance,
        }
    }

    /// The place of the eye, metres.
    pub fn eye(&self) -> Vec3 {
        let flat = self.pitch.cos();
        let towards = Vec3::new(
            self.yaw.cos() * flat,
            self.yaw.sin() * flat,
            self.pitch.sin(),
        );
        self.target + towards * self.distance
    }

    /// Turns about the target by a drag in points.
    fn turn(&mut self, drag: Vec2) {
        self.yaw = (self.yaw - drag.x * ORBIT_SPEED).rem_euclid(std::f32::consts::TAU);
        self.pitch = (self.pitch + drag.y * ORBIT_SPEED).clamp(*PITCH.start(), *PITCH.end());
    }

    /// Moves eye and target across the picture by a drag in points of a picture `height` points high.
    fn shift(&mut self, drag: Vec2, height: f32) {
        let scale = self.distance / height.max(1.0);
        let right = Vec3::new(-self.yaw.sin(), self.yaw.cos(), 0.0);
        let up = right.cross((self.target - self.eye()).normalize_or_zero());
        self.target += (-right * drag.x + up * drag.y) * scale;
        self.target = self.target.clamp(Vec3::splat(-0.6), Vec3::splat(0.6));
    }

    /// Goes nearer or farther by a scroll in points.
    fn approach(&mut self, scroll: f32) {
        let distance = self.distance * (-scroll * 0.003).exp();
        self.distance = distance.clamp(*DISTANCE.start(), *DISTANCE.end());
    }
}

impl Default for Orbit {
    fn default() -> Self {
        Self::PRESETS[0].1
    }
}

/// What the panel wants drawn and what has been drawn.
#[derive(Clone, Debug, Default)]
pub struct SceneDraft {
    pub orbit: Orbit,
    /// Size of the panel in the last frame, pixels; zero when the panel was not shown.
    pub wanted: [u32; 2],
    /// The picture, drawn by the owner of the GPU.
    pub texture: Option<TextureId>,
    /// Why there is no picture, if it cannot be drawn.
    pub trouble: Option<String>,
}

/// Draws the panel into all the space that is left.
pub fn scene_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, _commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    let size = ui.available_size().max(Vec2::splat(16.0));
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let pixels = rect.size() * ui.pixels_per_point();
    draft.scene.wanted = [pixels.x.round() as u32, pixels.y.round() as u32];
    steer(ui, &response, &mut draft.scene.orbit);
    let radius = CornerRadius::same(4);
    ui.painter().rect_filled(rect, radius, tokens.well);
    if let Some(texture) = draft.scene.texture {
        Image::new((texture, rect.size()))
            .corner_radius(radius)
            .paint_at(ui, rect);
    } else {
        let words = draft.scene.trouble.as_deref().unwrap_or("drawing the arm");
        let font = theme::font(12.5);
        let center = Align2::CENTER_CENTER;
        ui.painter()
            .text(rect.center(), center, words, font, tokens.weak);
    }
    let edge = Stroke::new(1.0, tokens.line);
    ui.painter()
        .rect_stroke(rect, radius, edge, StrokeKind::Inside);
    presets_ui(ui, rect, &mut draft.scene.orbit);
    legend(ui, rect, snapshot);
}

fn steer(ui: &Ui, response: &Response, orbit: &mut Orbit) {
    let is_shifted = ui.input(|input| input.modifiers.shift);
    if response.dragged_by(PointerButton::Primary) && !is_shifted {
        orbit.turn(response.drag_delta());
    } else if response.dragged() {
        orbit.shift(response.drag_delta(), response.rect.height());
    }
    if response.contains_pointer() {
        let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta.y, input.zoom_delta()));
        orbit.approach(scroll + pinch.ln() * 300.0);
        ui.set_cursor_icon_over(response);
    }
    if response.double_clicked() {
        *orbit = Orbit::default();
    }
}

/// A hand over the picture, closed while it turns.
trait CursorOver {
    fn set_cursor_icon_over(&self, response: &Response);
}

impl CursorOver for Ui {
    fn set_cursor_icon_over(&self, response: &Response) {
        let icon = if response.dragged() {
            CursorIcon::Grabbing
        } else {
            CursorIcon::Grab
        };
        self.ctx().set_cursor_icon(icon);
    }
}

fn presets_ui(ui: &mut Ui, rect: Rect, orbit: &mut Orbit) {
    let tokens = theme::tokens(ui);
    let size = Vec2::new(212.0, 24.0);
    let place = Rect::from_min_size(rect.right_top() + Vec2::new(-size.x - 8.0, 8.0), size);
    if rect.width() < size.x + 16.0 || rect.height() < 60.0 {
        return;
    }
    let segments = Orbit::PRESETS.map(|(name, eye)| {
        let is_here = *orbit == eye;
        Segment::plain(
            tokens,
            name,
            is_here,
            "Drag turns, Shift-drag moves, the wheel goes nearer, a double click returns.",
        )
    });
    ui.scope_builder(egui::UiBuilder::new().max_rect(place), |ui| {
        if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(12.0)) {
            *orbit = Orbit::PRESETS[i].1;
        }
    });
}

/// Which line is which; each word stands in its colour beside its sign.
fn legend(ui: &Ui, rect: Rect, snapshot: &Snapshot) {
    let tokens = theme::tokens(ui);
    if rect.height() < 90.0 {
        return;
    }
    let entries = [
        ("executed", tokens.measured, !snapshot.history.is_empty()),
        ("new chunk", tokens.predicted, snapshot.chunk.is_some()),
        (
            "old chunk",
            tokens.previous,
            snapshot.previous_chunk.is_some(),
        ),
    ];
    let mut x = rect.left() + 10.0;
    let y = rect.bottom() - 14.0;
    for (word, color, _) in entries.into_iter().filter(|entry| entry.2) {
        ui.painter().hline(x..=x + 14.0, y, Stroke::new(3.0, color));
        let place = egui::pos2(x + 19.0, y);
        let text = ui.painter().text(
            place,
            Align2::LEFT_CENTER,
            word,
            theme::font(11.0),
            tokens.weak,
        );
        x = text.right() + 14.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eye_keeps_its_distance_while_it_turns() {
        let mut orbit = Orbit::default();
        for drag in [Vec2::new(300.0, 40.0), Vec2::new(-900.0, 900.0)] {
            orbit.turn(drag);
            let distance = orbit.eye().distance(orbit.target);
            assert!((distance - orbit.distance).abs() < 1e-5);
            assert!(PITCH.contains(&orbit.pitch));
        }
    }

    #[test]
    fn the_front_view_looks_at_the_gripper() {
        let (_, front) = Orbit::PRESETS[1];
        assert!(front.eye().x > front.target.x);
    }

    #[test]
    fn the_wheel_is_bounded() {
        let mut orbit = Orbit::default();
        orbit.approach(1e6);
        assert_eq!(orbit.distance, *DISTANCE.start());
        orbit.approach(-1e6);
        assert_eq!(orbit.distance, *DISTANCE.end());
    }
}
