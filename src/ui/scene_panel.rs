//! The 3D panel: the arm, its ghost at the end of the plan, ribbons of what was and will be done. It only asks for a
//! picture; whoever owns the GPU draws it between two frames.

use egui::{
    Align2, Color32, CornerRadius, CursorIcon, Image, PointerButton, Rect, Response, Role, Sense,
    Stroke, StrokeKind, TextureId, Ui, Vec2, WidgetInfo,
};

use crate::joint::JointVec;
use crate::runtime::{Command, Snapshot};
use crate::scene::{Orbit, Preset};
use crate::ui::draft::Draft;
use crate::ui::scene_hand::{Held, hand_ui};
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme;

/// Radians a point of dragging.
const TURN_SPEED: f32 = 0.008;
/// Share of the way to a preset that is gone in a second's sixtieth.
const GLIDE: f32 = 0.18;
/// The eye has arrived when it is this close to the goal, metres.
const ARRIVED: f32 = 0.002;
const PRESETS: [(Preset, &str); 4] = [
    (Preset::Corner, "Free"),
    (Preset::Front, "Front"),
    (Preset::Side, "Side"),
    (Preset::Top, "Top"),
];

/// What the panel wants drawn and what has been drawn.
#[derive(Clone, Debug, Default)]
pub struct SceneDraft {
    pub orbit: Orbit,
    /// The preset that the eye glides to.
    pub goal: Option<Preset>,
    /// Size of the panel in the last frame, pixels; zero when the panel was not shown.
    pub wanted: [u32; 2],
    /// The picture, drawn by the owner of the GPU.
    pub texture: Option<TextureId>,
    /// Why there is no picture, if it cannot be drawn.
    pub trouble: Option<String>,
    /// What is shown in the place of the flown arm.
    pub subject: Option<SceneSubject>,
    /// The cube that a hand drags.
    pub held: Option<Held>,
}

/// Another arm than the flown one, without table and paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneSubject {
    /// Robot units.
    pub joints: JointVec,
    /// A pose that a person is asked for, in their colour; robot units.
    pub ghost: Option<JointVec>,
}

/// Draws the panel into all the space that is left.
pub fn scene_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    let size = ui.available_size().max(Vec2::splat(16.0));
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, "3D view"));
    let pixels = rect.size() * ui.pixels_per_point();
    draft.scene.wanted = [pixels.x.round() as u32, pixels.y.round() as u32];
    glide(ui, &mut draft.scene);
    let radius = CornerRadius::same(4);
    ui.painter().rect_filled(rect, radius, tokens.well);
    if let Some(texture) = draft.scene.texture {
        Image::new((texture, rect.size()))
            .corner_radius(radius)
            .paint_at(ui, rect);
    } else {
        let words = draft.scene.trouble.as_deref().unwrap_or("drawing the arm");
        let font = theme::font(theme::BODY);
        let center = Align2::CENTER_CENTER;
        ui.painter()
            .text(rect.center(), center, words, font, tokens.weak);
    }
    let edge = Stroke::new(1.0, tokens.line);
    ui.painter()
        .rect_stroke(rect, radius, edge, StrokeKind::Inside);
    let view = draft.scene.orbit.view();
    let held = &mut draft.scene.held;
    let is_bare = draft.scene.subject.is_some();
    let is_hand = !is_bare && hand_ui(ui, &response, snapshot, view, held, commands);
    steer(ui, &response, &mut draft.scene, is_hand);
    presets_ui(ui, rect, &mut draft.scene);
    legend(ui, rect, snapshot, draft.scene.subject.is_some());
}

/// Moves the eye. What a hand does to a cube turns nothing.
fn steer(ui: &Ui, response: &Response, scene: &mut SceneDraft, is_hand: bool) {
    let is_shifted = ui.input(|input| input.modifiers.shift);
    let drag = response.drag_delta();
    if response.dragged() && drag != Vec2::ZERO && !is_hand {
        scene.goal = None;
        if response.dragged_by(PointerButton::Primary) && !is_shifted {
            scene.orbit.orbit(-drag.x * TURN_SPEED, drag.y * TURN_SPEED);
        } else {
            let share = drag / response.rect.height().max(1.0);
            scene.orbit.pan(glam::vec2(share.x, share.y));
        }
    }
    if response.contains_pointer() {
        let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
        if scroll != 0.0 || pinch != 1.0 {
            scene.goal = None;
            scene.orbit.zoom((-scroll * 0.003).exp() / pinch);
        }
        let icon = if response.dragged() {
            CursorIcon::Grabbing
        } else {
            CursorIcon::Grab
        };
        if !is_hand {
            ui.ctx().set_cursor_icon(icon);
        }
    }
    if response.double_clicked() && !is_hand {
        scene.goal = Some(Preset::Corner);
    }
}

/// Moves the eye towards its preset, so that the hand that looks knows from where to where.
fn glide(ui: &Ui, scene: &mut SceneDraft) {
    let Some(preset) = scene.goal else { return };
    let goal = Orbit::preset(preset);
    let frames = ui.input(|input| input.stable_dt).min(0.1) * 60.0;
    scene
        .orbit
        .glide_to(&goal, 1.0 - (1.0 - GLIDE).powf(frames));
    if scene.orbit.view().eye.distance(goal.view().eye) < ARRIVED {
        scene.orbit = goal;
        scene.goal = None;
    } else {
        ui.ctx().request_repaint();
    }
}

fn presets_ui(ui: &mut Ui, rect: Rect, scene: &mut SceneDraft) {
    let tokens = theme::tokens(ui);
    let size = Vec2::new(212.0, 24.0);
    let min = rect.right_top() + Vec2::new(-size.x - 8.0, 8.0);
    let place = Rect::from_min_size(min, size);
    if rect.width() < size.x + 16.0 || rect.height() < 60.0 {
        return;
    }
    let hint = "Drag turns, Shift-drag moves, the wheel goes nearer, a double click returns. On the simulated rig a cube \
                is dragged by itself.";
    let segments = PRESETS.map(|(preset, name)| {
        let is_here = scene.goal == Some(preset) || scene.orbit == Orbit::preset(preset);
        Segment::plain(tokens, name, is_here, hint)
    });
    ui.scope_builder(egui::UiBuilder::new().max_rect(place), |ui| {
        if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(theme::BODY)) {
            scene.goal = Some(PRESETS[i].0);
        }
    });
}

/// Which line is which; each word stands in its colour beside its sign.
fn legend(ui: &Ui, rect: Rect, snapshot: &Snapshot, is_subject: bool) {
    let tokens = theme::tokens(ui);
    if rect.height() < 90.0 || is_subject {
        return;
    }
    let entries: [(&str, Color32, bool); 3] = [
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
            theme::font(theme::SMALL),
            tokens.weak,
        );
        x = text.right() + 14.0;
    }
}
