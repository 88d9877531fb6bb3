//! Chooses how to take hold of a cube and where to put it down: jaws square to its faces, and room for both fingers.

use std::f32::consts::FRAC_PI_2;

use glam::{Vec2, Vec3, vec2};

use crate::scene::{Cube, Tray};
use crate::sim::Truth;
use crate::sim::expert::tip::{Tip, across, gripper_for, wrapped};
use crate::sim::task::tray_from_base;

/// The fixed jaw comes down this far beside the cube, so that it does not land on its top, metres.
const CLEAR: f32 = 0.004;
/// Pads this much farther apart than the cube is thick, metres: on the moving jaw's side the rest of it is free.
const OPENING: f32 = 0.016;
/// Opening when a cube is let go of, metres: in a box there is little room.
const LETTING_GO: f32 = 0.012;
/// The goal of closing jaws is this much closer than the cube is thick, metres: that is what presses.
const SQUEEZE: f32 = 0.012;
/// Half of a finger along and across the jaws' direction, metres.
const FINGER: Vec2 = vec2(0.006, 0.009);
/// Room beyond which more is no better, metres.
const ROOMY: f32 = 0.012;
/// What a radian of wrist roll is worth in metres of room.
const ROLL_COST: f32 = 0.003;
/// The finger tips are at least so high, metres: the pads reach a little below the point that is steered.
const LOWEST: f32 = 0.0115;

/// A way to take hold of a cube.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grasp {
    /// The jaws around the cube, the fixed one against it.
    pub tip: Tip,
    pub edge: f32,
}

impl Grasp {
    /// The jaws around the cube, touching neither side.
    pub fn around(&self) -> Tip {
        around(self.tip, self.edge)
    }
}

/// Jaws around something of this edge, touching neither side.
pub fn around(tip: Tip, edge: f32) -> Tip {
    Tip {
        across: across(edge, CLEAR),
        ..tip
    }
}

/// Percent open around a cube of this edge.
pub fn open_around(edge: f32) -> f32 {
    gripper_for(edge + OPENING)
}

/// Percent open when it has been let go of.
pub fn open_after(edge: f32) -> f32 {
    gripper_for(edge + LETTING_GO)
}

/// Percent open that is sent to press on it.
pub fn squeeze(edge: f32) -> f32 {
    gripper_for(edge - SQUEEZE)
}

/// Percent open at which the jaws meet it.
pub fn meets(edge: f32) -> f32 {
    gripper_for(edge)
}

/// Direction of one of a cube's upright faces, radians from +X.
pub fn face_of(cube: &Cube) -> f32 {
    let axes = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| cube.orientation * axis);
    let level = axes.into_iter().fold(Vec3::Z, |best, axis| {
        if axis.z.abs() < best.z.abs() {
            axis
        } else {
            best
        }
    });
    level.y.atan2(level.x)
}

/// Every way to take hold of a cube from above, the best first; without those that have no room for a finger, if others have.
pub fn grasps(truth: &Truth, index: usize) -> Vec<Grasp> {
    let Some(cube) = truth.cubes.get(index).map(|cube| cube.cube) else {
        return Vec::new();
    };
    let place = cube.position.truncate();
    let middle = place.extend(cube.position.z.max(LOWEST));
    let mut found: Vec<(f32, f32, Grasp)> = (0..4)
        .filter_map(|k| {
            let yaw = face_of(&cube) + FRAC_PI_2 * k as f32;
            let tip = Tip::down(middle, across(cube.edge, 0.0)).facing(yaw)?;
            let fingers = Fingers {
                place,
                yaw,
                sides: [0.5 * cube.edge + CLEAR, 0.5 * cube.edge + OPENING - CLEAR],
            };
            let room = fingers.room(truth, &[index]).min(ROOMY);
            Some((
                room,
                room - ROLL_COST * tip.roll.abs(),
                Grasp {
                    tip,
                    edge: cube.edge,
                },
            ))
        })
        .collect();
    if found.iter().any(|(room, ..)| *room > 0.0) {
        found.retain(|(room, ..)| *room > 0.0);
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.into_iter().map(|(.., grasp)| grasp).collect()
}

/// Where to put a held cube down, its middle at this height above the table or tray.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub place: Vec2,
    pub height: f32,
    /// Direction of one of the four faces that the jaws may be square to, radians from +X.
    pub face: f32,
}

/// The best pose to let go of cube `held` at one of these spots, and the direction in which it will face, radians. Cubes in
/// `beside` do not count as in the way.
pub fn release(truth: &Truth, held: usize, spots: &[Spot], beside: &[usize]) -> Option<(Tip, f32)> {
    let edge = truth.cubes.get(held)?.cube.edge;
    let mut best: Option<(f32, (Tip, f32))> = None;
    for spot in spots {
        for k in 0..4 {
            let yaw = wrapped(spot.face + FRAC_PI_2 * k as f32);
            let Some(tip) =
                Tip::down(spot.place.extend(spot.height), across(edge, 0.0)).facing(yaw)
            else {
                continue;
            };
            let fingers = Fingers {
                place: spot.place,
                yaw,
                sides: [0.5 * edge, 0.5 * edge + LETTING_GO],
            };
            let ignored: Vec<usize> = beside.iter().copied().chain([held]).collect();
            let itself = room_at(truth, spot.place, &ignored) - 0.6 * edge;
            let score =
                fingers.room(truth, &ignored).min(itself).min(ROOMY) - ROLL_COST * tip.roll.abs();
            if best.is_none_or(|(most, _)| score > most) {
                best = Some((score, (tip, spot.face)));
            }
        }
    }
    best.map(|(_, tip)| tip)
}

/// Places for a cube of this edge in a tray.
pub fn tray_spots(tray: &Tray, edge: f32) -> Vec<Spot> {
    let reach = 0.21 * tray.inner;
    let corners = [
        vec2(1.0, 1.0),
        vec2(1.0, -1.0),
        vec2(-1.0, 1.0),
        vec2(-1.0, -1.0),
    ];
    let spot = |corner: Vec2| Spot {
        place: tray.position + Vec2::from_angle(tray.turn).rotate(corner * reach),
        height: tray.wall + 0.5 * edge + 0.003,
        face: tray.turn,
    };
    corners.map(spot).to_vec()
}

/// Where the fingers are around a cube: the fixed one against the direction of the jaws, the moving one in it.
struct Fingers {
    place: Vec2,
    yaw: f32,
    /// Inner faces of the fixed and the moving finger, metres from the middle of the cube.
    sides: [f32; 2],
}

impl Fingers {
    /// Least room around both, metres; negative where they would hit something.
    fn room(&self, truth: &Truth, ignored: &[usize]) -> f32 {
        let along = Vec2::from_angle(self.yaw);
        let side = along.perp();
        let mut least = f32::INFINITY;
        for (sign, inner) in [-1.0, 1.0].into_iter().zip(self.sides) {
            for (out, across) in [(0.0, 0.0), (2.0, -1.0), (2.0, 1.0), (1.0, -1.0), (1.0, 1.0)] {
                let at =
                    self.place + sign * (inner + out * FINGER.x) * along + across * FINGER.y * side;
                least = least.min(room_at(truth, at, ignored));
            }
        }
        least
    }
}

/// How far a place of the table is from cubes and walls, metres; not positive inside of one.
pub fn room_at(truth: &Truth, place: Vec2, ignored: &[usize]) -> f32 {
    let cubes = truth
        .cubes
        .iter()
        .enumerate()
        .filter(|(index, _)| !ignored.contains(index));
    let from_cubes = cubes.map(|(_, other)| {
        let turned =
            Vec2::from_angle(-face_of(&other.cube)).rotate(place - other.cube.position.truncate());
        from_square(turned, Vec2::splat(0.5 * other.cube.edge))
    });
    let from_walls = truth.trays.iter().map(|(_, tray)| {
        let at = tray_from_base(tray, place);
        let inside = -from_square(at, 0.5 * tray.inner);
        inside.max(from_square(at, 0.5 * tray.inner + tray.wall))
    });
    from_cubes.chain(from_walls).fold(f32::INFINITY, f32::min)
}

/// Distance of a place from a rectangle around the origin, metres; negative inside.
fn from_square(at: Vec2, half: Vec2) -> f32 {
    let off = at.abs() - half;
    off.max(Vec2::ZERO).length() + off.max_element().min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::expert::fixture::truth_of;
    use crate::sim::{Colour, Task};

    #[test]
    fn jaws_are_square_to_the_cube_and_keep_off_its_neighbour() {
        let mut truth = truth_of(&Task::PickUp(Colour::Red).layout(1));
        truth.trays.clear();
        for (k, offset) in [vec2(0.04, 0.0), vec2(0.0, 0.04), vec2(-0.03, -0.03)]
            .into_iter()
            .enumerate()
        {
            let red = truth.cubes[0].cube;
            let turned = Vec2::from_angle(face_of(&red)).rotate(offset);
            truth.cubes[1].cube.position = red.position + turned.extend(0.0);
            let grasp = grasps(&truth, 0)[0];
            let yaw = grasp.tip.roll
                - crate::kinematics::inverse(&crate::kinematics::ToolTarget {
                    position: grasp.tip.position,
                    pitch: grasp.tip.pitch,
                    roll: grasp.tip.roll,
                    tool: Vec3::new(grasp.tip.across, -0.0002, -0.0981),
                })
                .unwrap()[0];
            let quarter = wrapped(4.0 * (yaw - face_of(&red))) / 4.0;
            assert!(quarter.abs() < 0.02, "case {k}: {quarter}");
            if k < 2 {
                let across = Vec2::from_angle(yaw).dot(turned.normalize()).abs();
                assert!(
                    across < 0.1,
                    "case {k}: a finger comes down on the neighbour"
                );
            }
        }
    }

    #[test]
    fn a_second_cube_in_the_box_gets_a_place_of_its_own() {
        let mut truth = truth_of(&Task::PutInBox(Colour::Red).layout(2));
        let tray = truth.trays[0].1;
        let spots = tray_spots(&tray, 0.028);
        let (first, _) = release(&truth, 0, &spots, &[]).unwrap();
        truth.cubes[1].cube.position = first.position;
        let (second, _) = release(&truth, 0, &spots, &[]).unwrap();
        assert!(second.position.distance(first.position) > 0.04);
        let inside = tray_from_base(&tray, second.position.truncate()).abs();
        assert!(inside.max_element() < 0.5 * tray.inner.x - 0.014);
    }

    #[test]
    fn room_is_measured_from_faces_and_walls() {
        let half = Vec2::splat(0.01);
        assert!((from_square(vec2(0.03, 0.0), half) - 0.02).abs() < 1e-6);
        assert!((from_square(vec2(0.004, 0.0), half) + 0.006).abs() < 1e-6);
    }
}
