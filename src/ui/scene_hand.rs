//! A hand on the pretend table: a cube under the pointer is taken and dragged, whatever the policy is doing with it.

use egui::{CursorIcon, PointerButton, Pos2, Rect, Response, Shape, Stroke, Ui};
use glam::{Vec2, Vec3, vec2, vec3};

use crate::runtime::{Command, RigOrder, Snapshot};
use crate::scene::{Cube, View, picked_cube};
use crate::ui::theme;

/// Sides of the ring around a cube that can be taken.
const RING_SIDES: u8 = 40;
/// Its radius, edges of the cube.
const RING_RADIUS: f32 = 1.1;

/// A cube is taken by a pointer this close to its middle, points.
const NEAR: f32 = 14.0;

/// The cube in the hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    cube: usize,
    /// From where the pointer meets the height of the cube's middle to the middle itself, metres.
    offset: Vec2,
    /// The height at which the pointer moves it, metres.
    height: f32,
}

/// The picture as a hand reaches into it.
struct Reach<'a> {
    snapshot: &'a Snapshot,
    view: View,
    rect: Rect,
}

/// Takes, drags and lets go of cubes; whether the pointer is the hand's, and turns nothing then.
pub fn hand_ui(
    ui: &Ui,
    response: &Response,
    snapshot: &Snapshot,
    view: View,
    held: &mut Option<Held>,
    commands: &mut Vec<Command>,
) -> bool {
    let rect = response.rect;
    let reach = Reach {
        snapshot,
        view,
        rect,
    };
    if let Some(hand) = *held {
        return drag(ui, response, &reach, hand, held, commands);
    }
    let is_shifted = ui.input(|input| input.modifiers.shift);
    if snapshot.rig.is_none() || is_shifted || response.dragged() && !response.drag_started() {
        return false;
    }
    let pressed = ui.input(|input| input.pointer.press_origin());
    let is_taken = response.drag_started_by(PointerButton::Primary);
    let pointer = if is_taken {
        pressed
    } else {
        response.hover_pos().filter(|_| response.contains_pointer())
    };
    let Some((cube, at)) = pointer.and_then(|at| Some((reach.cube_at(at)?, at))) else {
        return false;
    };
    let foot = reach
        .cube(cube)
        .map_or(0.0, |it| it.position.z - 0.5 * it.edge);
    ring(ui, &reach, cube, foot, 1.5);
    ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
    if is_taken && let Some(hand) = reach.taken(cube, at) {
        *held = Some(hand);
        ui.ctx().request_repaint();
    }
    true
}

/// Goes on with a cube in the hand.
fn drag(
    ui: &Ui,
    response: &Response,
    reach: &Reach<'_>,
    hand: Held,
    held: &mut Option<Held>,
    commands: &mut Vec<Command>,
) -> bool {
    let cube = hand.cube;
    if reach.snapshot.rig.is_none() {
        // A real arm was taken meanwhile: there is nothing to be let go of.
        *held = None;
        return true;
    }
    if !response.dragged() || reach.cube(cube).is_none() {
        *held = None;
        commands.push(Command::Rig(RigOrder::LetGo { cube }));
        return true;
    }
    // On the table, where it will be set down: the hand carries it well above.
    ring(ui, reach, cube, 0.0, 2.5);
    ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
    // Said again while the hand rests, too: a hand that is heard of no more has let go.
    let at = response.interact_pointer_pos();
    if let Some(place) = at.and_then(|at| reach.table_at(at, hand.height)) {
        let [x, y] = (place + hand.offset).to_array();
        commands.push(Command::Rig(RigOrder::Drag { cube, x, y }));
    }
    true
}

impl Reach<'_> {
    fn cube(&self, index: usize) -> Option<&Cube> {
        self.snapshot.props.cubes.get(index)
    }

    /// The cube that is seen under the pointer, or the nearest one close by: from afar they are small.
    fn cube_at(&self, at: Pos2) -> Option<usize> {
        let props = &self.snapshot.props;
        let under = picked_cube(&self.view, self.share(at), self.rect.aspect_ratio(), props);
        under.or_else(|| {
            let cubes = props.cubes.iter().enumerate();
            let far = cubes.map(|(i, cube)| (self.on_screen(cube.position).distance(at), i));
            let (far, nearest) = far.min_by(|a, b| a.0.total_cmp(&b.0))?;
            (far < NEAR).then_some(nearest)
        })
    }

    /// Where the pointer meets this height, metres.
    fn table_at(&self, at: Pos2, height: f32) -> Option<Vec2> {
        let met = self
            .view
            .on_plane(self.share(at), self.rect.aspect_ratio(), height)?;
        Some(met.truncate())
    }

    fn taken(&self, cube: usize, at: Pos2) -> Option<Held> {
        let middle = self.cube(cube)?.position;
        let height = middle.z;
        Some(Held {
            cube,
            offset: middle.truncate() - self.table_at(at, height)?,
            height,
        })
    }

    /// (0, 0) top left to (1, 1) bottom right.
    fn share(&self, at: Pos2) -> Vec2 {
        let from = at - self.rect.min;
        vec2(from.x / self.rect.width(), from.y / self.rect.height())
    }

    /// Where a point stands in the picture.
    fn on_screen(&self, point: Vec3) -> Pos2 {
        let clip = self.view.clip_from_base(self.rect.aspect_ratio());
        let at = clip.project_point3(point);
        self.rect.min + self.rect.size() * egui::vec2(0.5 + 0.5 * at.x, 0.5 - 0.5 * at.y)
    }
}

/// A ring around a cube, or below it at this height, in the colour of a person's doing.
fn ring(ui: &Ui, reach: &Reach<'_>, cube: usize, height: f32, width: f32) {
    let Some(cube) = reach.cube(cube) else { return };
    let point = |i: u8| {
        let turn = std::f32::consts::TAU * f32::from(i) / f32::from(RING_SIDES);
        let out = RING_RADIUS * cube.edge * vec3(turn.cos(), turn.sin(), 0.0);
        reach.on_screen(cube.position.with_z(height) + out)
    };
    let stroke = Stroke::new(width, theme::tokens(ui).human);
    let points = (0..RING_SIDES).map(point).collect();
    ui.painter()
        .with_clip_rect(reach.rect)
        .add(Shape::closed_line(points, stroke));
}
