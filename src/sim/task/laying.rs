//! Lays a table on which a task can be done: by a seed, everything within reach of a grasp from above, and room for the
//! fingers around each thing.
//!
//! All tasks but sorting share the usual table, three cubes with one box and one mark, so that another task can be
//! asked for without a new table.

use std::f32::consts::{FRAC_PI_2, PI};

use glam::Vec2;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::kinematics::PAN_AXIS;
use crate::scene::{Mark, Tray};
use crate::sim::Colour;
use crate::sim::layout::{CubeSpot, Layout};
use crate::sim::task::{SORTED, Task, tray_from_base};

/// Distances of cubes from the pan axis, metres: where the gripper can point straight down.
const CUBE_DISTANCES: (f32, f32) = (0.135, 0.235);
/// Directions of cubes, radians to either side of straight ahead.
const CUBE_DIRECTIONS: f32 = 0.80;
/// Edges of cubes, metres.
const EDGES: (f32, f32) = (0.020, 0.030);
/// Closest two cubes stand, metres between their middles: a finger and a half fit between.
const APART: f32 = 0.068;
/// Closest a cube stands to the outside of a tray, metres from its middle.
const FROM_TRAY: f32 = 0.050;
/// Closest a cube stands to the rim of a mark, metres from its middle.
const FROM_MARK: f32 = 0.030;
/// Room on either side of the way on which a cube is to be pushed, metres.
const WAY: f32 = 0.055;

/// Size of a box between its walls, metres: four cubes side by side and the fingers.
const TRAY_INNER: f32 = 0.11;
const TRAY_HEIGHT: f32 = 0.030;
const TRAY_WALL: f32 = 0.003;
const TRAY_DISTANCES: (f32, f32) = (0.185, 0.200);
const TRAY_DIRECTIONS: (f32, f32) = (1.05, 1.20);
const MARK_RADIUS: f32 = 0.030;
const MARK_DISTANCES: (f32, f32) = (0.150, 0.215);
const MARK_DIRECTIONS: (f32, f32) = (0.45, 1.05);

/// Tries to place one cube before the table is begun anew.
const TRIES: usize = 200;
/// Tables begun before distances are kept a little less strictly.
const TABLES: usize = 40;

/// Colour of the usual box and mark; both are what something is brought to.
const PLACES: Colour = Colour::Teal;
const USUAL: [Colour; 3] = [Colour::Red, Colour::Blue, Colour::Green];

impl Task {
    /// A table for this task that depends on the seed alone.
    pub fn layout(self, seed: u64) -> Layout {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut strictness = 1.0;
        loop {
            for _ in 0..TABLES {
                if let Some(layout) = self.laid(&mut rng, strictness) {
                    return layout;
                }
            }
            strictness *= 0.9;
        }
    }

    fn laid(self, rng: &mut ChaCha8Rng, strictness: f32) -> Option<Layout> {
        let mut layout = Layout::default();
        let side = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
        if self == Self::Sort {
            layout.trays.push((SORTED[0], tray(rng, side, SORTED[0])));
            layout.trays.push((SORTED[1], tray(rng, -side, SORTED[1])));
        } else {
            layout.trays.push((PLACES, tray(rng, side, PLACES)));
            layout.marks.push((PLACES, mark(rng, -side)));
        }
        for colour in self.on_table() {
            let cube = (0..TRIES)
                .map(|_| cube(rng, colour))
                .find(|cube| has_room(cube, &layout, strictness))?;
            layout.cubes.push(cube);
        }
        self.is_free(&layout, strictness).then_some(layout)
    }

    /// Colours of the cubes on its table.
    fn on_table(self) -> Vec<Colour> {
        if self == Self::Sort {
            return [SORTED, SORTED].concat();
        }
        let named = self.colours();
        let mut colours = USUAL.to_vec();
        for colour in &named {
            if !colours.contains(colour)
                && let Some(place) = colours.iter().position(|usual| !named.contains(usual))
            {
                colours[place] = *colour;
            }
        }
        colours
    }

    /// Nothing stands in the way of what is to be pushed.
    fn is_free(self, layout: &Layout, strictness: f32) -> bool {
        let Self::Push(colour) = self else {
            return true;
        };
        let pushed = layout.cubes.iter().find(|cube| cube.colour == colour);
        let (Some(pushed), Some((_, mark))) = (pushed, layout.marks.first()) else {
            return false;
        };
        let from = pushed.position;
        let others = layout.cubes.iter().filter(|cube| cube.colour != colour);
        let free = others
            .map(|cube| distance_to_way(cube.position, from, mark.position))
            .all(|distance| distance > WAY * strictness);
        free && layout.trays.iter().all(|(_, tray)| {
            (0..=10).all(|k| {
                let at = from.lerp(mark.position, k as f32 / 10.0);
                outside(tray, at) > FROM_TRAY * strictness
            })
        })
    }
}

fn polar(distance: f32, direction: f32) -> Vec2 {
    PAN_AXIS + distance * Vec2::from_angle(direction)
}

fn tray(rng: &mut ChaCha8Rng, side: f32, colour: Colour) -> Tray {
    let direction = side * rng.random_range(TRAY_DIRECTIONS.0..TRAY_DIRECTIONS.1);
    Tray {
        position: polar(
            rng.random_range(TRAY_DISTANCES.0..TRAY_DISTANCES.1),
            direction,
        ),
        turn: direction + rng.random_range(-0.1..0.1),
        inner: Vec2::splat(TRAY_INNER),
        height: TRAY_HEIGHT,
        wall: TRAY_WALL,
        color: colour.rgb(),
    }
}

fn mark(rng: &mut ChaCha8Rng, side: f32) -> Mark {
    let direction = side * rng.random_range(MARK_DIRECTIONS.0..MARK_DIRECTIONS.1);
    Mark {
        position: polar(
            rng.random_range(MARK_DISTANCES.0..MARK_DISTANCES.1),
            direction,
        ),
        radius: MARK_RADIUS,
        color: PLACES.rgb(),
    }
}

fn cube(rng: &mut ChaCha8Rng, colour: Colour) -> CubeSpot {
    let direction = rng.random_range(-CUBE_DIRECTIONS..CUBE_DIRECTIONS);
    CubeSpot {
        colour,
        edge: rng.random_range(EDGES.0..EDGES.1),
        position: polar(
            rng.random_range(CUBE_DISTANCES.0..CUBE_DISTANCES.1),
            direction,
        ),
        turn: rng.random_range(0.0..FRAC_PI_2) - 0.25 * PI,
    }
}

fn has_room(cube: &CubeSpot, layout: &Layout, strictness: f32) -> bool {
    let at = cube.position;
    let from_cubes = layout
        .cubes
        .iter()
        .map(|other| other.position.distance(at) - APART * strictness);
    let from_trays = layout
        .trays
        .iter()
        .map(|(_, tray)| outside(tray, at) - FROM_TRAY * strictness);
    let from_marks = layout
        .marks
        .iter()
        .map(|(_, mark)| mark.position.distance(at) - mark.radius - FROM_MARK * strictness);
    from_cubes
        .chain(from_trays)
        .chain(from_marks)
        .all(|room| room > 0.0)
}

/// How far a place is outside the walls of a tray, metres; 0 inside.
fn outside(tray: &Tray, place: Vec2) -> f32 {
    let half = 0.5 * tray.inner + tray.wall;
    (tray_from_base(tray, place).abs() - half)
        .max(Vec2::ZERO)
        .length()
}

/// Distance of a place from a straight way, metres.
fn distance_to_way(place: Vec2, from: Vec2, to: Vec2) -> f32 {
    let way = to - from;
    let along = ((place - from).dot(way) / way.length_squared().max(1e-9)).clamp(0.0, 1.0);
    place.distance(from + along * way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinematics::{ToolTarget, inverse};

    #[test]
    fn whatever_the_seed_everything_can_be_grasped_and_stands_apart() {
        for task in Task::ALL {
            for seed in 0..200 {
                let layout = task.layout(seed);
                for (k, cube) in layout.cubes.iter().enumerate() {
                    let middle = cube.position.extend(0.5 * cube.edge);
                    let down = inverse(&ToolTarget::pinch(middle, FRAC_PI_2));
                    assert!(down.is_ok(), "{task}, seed {seed}: {down:?}");
                    for other in &layout.cubes[k + 1..] {
                        assert!(other.position.distance(cube.position) > 0.8 * APART);
                    }
                    for (_, tray) in &layout.trays {
                        assert!(outside(tray, cube.position) > 0.8 * FROM_TRAY);
                    }
                    for (_, mark) in &layout.marks {
                        assert!(mark.position.distance(cube.position) > mark.radius + 0.02);
                    }
                    assert!((0.02..0.03).contains(&cube.edge));
                }
                for (_, tray) in &layout.trays {
                    let over = inverse(&ToolTarget::pinch(tray.position.extend(0.03), FRAC_PI_2));
                    assert!(over.is_ok(), "{task}, seed {seed}: {over:?}");
                    assert!(
                        layout
                            .marks
                            .iter()
                            .all(|(_, mark)| { outside(tray, mark.position) > mark.radius })
                    );
                }
            }
        }
    }

    #[test]
    fn a_table_depends_on_its_seed_and_serves_every_task_but_sorting() {
        let red = Task::PutInBox(Colour::Red);
        assert_eq!(red.layout(3), red.layout(3));
        assert_ne!(red.layout(3), red.layout(4));
        assert_eq!(
            red.layout(3),
            Task::Stack(Colour::Blue, Colour::Green).layout(3)
        );
        let yellow = Task::Touch(Colour::Yellow).layout(5);
        assert!(
            yellow
                .cubes
                .iter()
                .any(|cube| cube.colour == Colour::Yellow)
        );
        assert_eq!(
            (yellow.cubes.len(), yellow.trays.len(), yellow.marks.len()),
            (3, 1, 1)
        );
        let sort = Task::Sort.layout(5);
        let count = |colour| {
            sort.cubes
                .iter()
                .filter(|cube| cube.colour == colour)
                .count()
        };
        assert_eq!(
            (count(Colour::Red), count(Colour::Blue), sort.cubes.len()),
            (2, 2, 4)
        );
        let trays: Vec<Colour> = sort.trays.iter().map(|(colour, _)| *colour).collect();
        assert_eq!(trays, SORTED);
    }

    #[test]
    fn nothing_stands_in_the_way_of_what_is_pushed() {
        for seed in 0..100 {
            let layout = Task::Push(Colour::Blue).layout(seed);
            let (mark, blue) = (layout.marks[0].1, layout.cubes[1]);
            for other in [layout.cubes[0], layout.cubes[2]] {
                let room = distance_to_way(other.position, blue.position, mark.position);
                assert!(room > 0.8 * WAY, "seed {seed}: {room}");
            }
        }
    }
}
