//! What to do from here to the end of a task, as one path: reach, close, lift, carry, lower, let go, and home again. Between
//! its parts it says what must be so, and the expert plans anew when it is not.

use glam::{Vec2, Vec3};

use crate::joint::{Joint, JointVec};
use crate::kinematics::{PAN_AXIS, PINCH_POINT, forward_robot};
use crate::sim::expert::draft::{Draft, TRANSIT};
use crate::sim::expert::grasp::{self, Spot, face_of, release, room_at, squeeze, tray_spots};
use crate::sim::expert::path::{Departure, Path};
use crate::sim::task::{SORTED, is_gripped, is_inside, tray_of};
use crate::sim::{Colour, CubeTruth, Support, Task, Truth};

/// Height from which a cube that is picked up counts, with some to spare, metres.
const PICKED_UP: f32 = 0.055;

/// Something that must be so between two times of a path, or the plan is void.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    pub from: f32,
    pub to: f32,
    pub cube: usize,
    pub what: Expected,
}

/// What must be so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// The cube stands here, and nobody drags it.
    At(Vec3),
    /// Both jaws hold it.
    Held,
    /// It is between the jaws, which need not touch it.
    Between,
}

/// A path and what it counts on.
#[derive(Clone, Debug)]
pub struct Plan {
    pub path: Path,
    pub checks: Vec<Check>,
    /// The task is done when it ends, or there is nothing to be done.
    pub is_last: bool,
    /// Why there is nothing to be done.
    pub warning: Option<String>,
}

impl Plan {
    /// The first thing that is not as the plan expects it at this time.
    pub fn broken(&self, time: f32, truth: &Truth) -> Option<Check> {
        let due = self
            .checks
            .iter()
            .filter(|check| check.from <= time && time < check.to);
        due.copied().find(|check| !is_so(*check, truth))
    }
}

/// How far a cube may stand from where it was seen, metres.
const MOVED: f32 = 0.008;

fn is_so(check: Check, truth: &Truth) -> bool {
    let Some(cube) = truth.cubes.get(check.cube) else {
        return false;
    };
    match check.what {
        Expected::At(place) => !cube.is_dragged && cube.cube.position.distance(place) < MOVED,
        Expected::Held => is_in_hand(truth, cube),
        Expected::Between => !cube.is_dragged && from_tip(truth, cube) < BETWEEN,
    }
}

/// Farther from the finger tips than this a cube is not between them, metres.
const BETWEEN: f32 = 0.03;
/// Faster than this it falls, metres a second.
const FALLS: f32 = 0.4;

/// Whether the gripper holds a cube. A contact may flicker, but what hangs in the air near the finger tips is held.
pub fn is_in_hand(truth: &Truth, cube: &CubeTruth) -> bool {
    if cube.is_dragged {
        return false;
    }
    let hangs = cube.rests_on.is_none() && cube.velocity.z > -FALLS && cube.is_touched;
    from_tip(truth, cube) < BETWEEN && (is_gripped(cube) || hangs)
}

/// Distance of a cube's middle from the point between the finger tips, metres.
fn from_tip(truth: &Truth, cube: &CubeTruth) -> f32 {
    let tip = forward_robot(truth.joints).gripper_point(PINCH_POINT);
    tip.distance(cube.cube.position)
}

/// What the planner knows besides what it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Past {
    /// Grasps that came to nothing; another face is tried after each.
    pub failures: usize,
    /// The cube that is to be touched has been.
    pub is_touched: bool,
    /// A cube that slipped out of the jaws: wherever it fell, it was not put there.
    pub dropped: Option<usize>,
}

/// Whether a task is fulfilled as things are.
pub fn is_fulfilled(task: Task, truth: &Truth, past: Past) -> bool {
    let find = |colour: Colour| {
        let index = truth.cube_of(colour)?;
        Some((index, &truth.cubes[index]))
    };
    let stays = |index: usize| past.dropped != Some(index) && is_let_go(&truth.cubes[index]);
    match task {
        Task::Touch(_) => past.is_touched,
        Task::PickUp(colour) => find(colour).is_some_and(|(_, cube)| {
            is_in_hand(truth, cube) && cube.cube.position.z - 0.5 * cube.cube.edge > PICKED_UP
        }),
        Task::PutInBox(colour) => truth
            .trays
            .first()
            .zip(find(colour))
            .is_some_and(|((_, tray), (index, cube))| stays(index) && is_inside(cube, tray)),
        Task::Stack(top, base) => {
            find(base)
                .zip(find(top))
                .is_some_and(|((base, _), (index, top))| {
                    stays(index) && top.rests_on == Some(Support::Cube(base))
                })
        }
        Task::Push(colour) => {
            truth
                .marks
                .first()
                .zip(find(colour))
                .is_some_and(|((_, mark), (_, cube))| {
                    let off = cube.cube.position.truncate().distance(mark.position);
                    is_let_go(cube) && off < 0.9 * mark.radius
                })
        }
        Task::Sort => unsorted(truth, past).is_empty(),
    }
}

/// Nothing but what is below holds a cube.
fn is_let_go(cube: &CubeTruth) -> bool {
    !cube.is_dragged && !is_gripped(cube) && cube.rests_on.is_some()
}

/// Cubes that are not in their own box, or only fell there.
fn unsorted(truth: &Truth, past: Past) -> Vec<usize> {
    let is_unsorted = |index: usize| {
        let cube = &truth.cubes[index];
        let own = tray_of(truth, cube.colour).and_then(|tray| truth.trays.get(tray));
        let stays = past.dropped != Some(index) && is_let_go(cube);
        SORTED.contains(&cube.colour)
            && own.is_some_and(|(_, tray)| !(stays && is_inside(cube, tray)))
    };
    (0..truth.cubes.len())
        .filter(|index| is_unsorted(*index))
        .collect()
}

/// The plan for a task from where the arm is.
pub fn plan(task: Task, truth: &Truth, past: Past, mut departure: Departure) -> Plan {
    let held = truth.cubes.iter().position(|cube| is_in_hand(truth, cube));
    if let Some(held) = held {
        // A grip that is planned from where it is sensed would be loosened.
        let pressed = squeeze(truth.cubes[held].cube.edge);
        departure.joints[Joint::Gripper] = departure.joints[Joint::Gripper].min(pressed);
        departure.speeds[Joint::Gripper] = 0.0;
    }
    let draft = || Draft::new(truth, departure, past.failures);
    if is_fulfilled(task, truth, past) {
        let keeps = matches!(task, Task::PickUp(_));
        return draft().home(keeps).finish(true, None);
    }
    match work(task, truth, past, held, draft()) {
        Ok(plan) => plan,
        Err(why) => draft().home(held.is_some()).finish(true, Some(why)),
    }
}

/// What has to be done for a task that is not fulfilled, or why it cannot be.
fn work(
    task: Task,
    truth: &Truth,
    past: Past,
    held: Option<usize>,
    mut draft: Draft,
) -> Result<Plan, String> {
    let find = |colour: Colour| {
        truth
            .cube_of(colour)
            .ok_or_else(|| format!("there is no {colour} cube on the table"))
    };
    let wanted = match task {
        Task::Sort => held
            .filter(|held| SORTED.contains(&truth.cubes[*held].colour))
            .or(unsorted(truth, past).first().copied()),
        _ => task.colours().first().copied().map(find).transpose()?,
    };
    let target = wanted.ok_or("there is nothing to sort on the table")?;
    if let Some(other) = held
        && (other != target || matches!(task, Task::Push(_) | Task::Touch(_)))
    {
        draft.put_aside(other)?;
        return Ok(draft.finish(false, None));
    }
    let base = match task {
        Task::Stack(_, base) => Some(find(base)?),
        _ => None,
    };
    for below in [Some(target), base].into_iter().flatten() {
        if let Some(cover) = cover_of(truth, below) {
            draft.pick(cover)?;
            draft.put_aside(cover)?;
            return Ok(draft.finish(false, None));
        }
    }
    if truth.cubes[target].is_dragged {
        draft.follow(target)?;
        return Ok(draft.finish(false, None));
    }
    match task {
        Task::Touch(_) => {
            draft.touch(target)?;
            Ok(draft.finish(false, None))
        }
        Task::PickUp(_) => {
            draft.pick(target)?;
            Ok(draft.home(true).finish(true, None))
        }
        Task::PutInBox(_) => {
            let tray = truth.trays.first().ok_or("there is no box on the table")?.1;
            let edge = truth.cubes[target].cube.edge;
            draft.pick(target)?;
            draft.put_down(target, &tray_spots(&tray, edge), &[])?;
            Ok(draft.home(false).finish(true, None))
        }
        Task::Stack(..) => {
            let base = base.ok_or("there is no cube to stack on")?;
            draft.pick(target)?;
            let spot = on_top(truth, base, truth.cubes[target].cube.edge);
            draft.put_down(target, &[spot], &[base])?;
            Ok(draft.home(false).finish(true, None))
        }
        Task::Push(_) => {
            let mark = truth
                .marks
                .first()
                .ok_or("there is no mark on the table")?
                .1;
            draft.push(target, mark.position)?;
            Ok(draft.home(false).finish(true, None))
        }
        Task::Sort => sort(truth, past, target, draft),
    }
}

/// All that is left to sort, beginning with one cube.
fn sort(truth: &Truth, past: Past, first: usize, mut draft: Draft) -> Result<Plan, String> {
    let rest = unsorted(truth, past)
        .into_iter()
        .filter(|index| *index != first);
    for index in [first].into_iter().chain(rest) {
        let cube = &truth.cubes[index];
        let tray = tray_of(truth, cube.colour).and_then(|tray| truth.trays.get(tray));
        let Some((_, tray)) = tray else {
            return Err(format!("there is no {} box on the table", cube.colour));
        };
        draft.pick(index)?;
        draft.put_down(index, &tray_spots(tray, cube.cube.edge), &[])?;
    }
    Ok(draft.home(false).finish(true, None))
}

/// The cube that stands on another one.
fn cover_of(truth: &Truth, below: usize) -> Option<usize> {
    truth
        .cubes
        .iter()
        .position(|cube| cube.rests_on == Some(Support::Cube(below)) && !is_gripped(cube))
}

/// The place for a cube of this edge on top of another one.
fn on_top(truth: &Truth, base: usize, edge: f32) -> Spot {
    let base = &truth.cubes[base].cube;
    Spot {
        place: base.position.truncate(),
        height: base.position.z + 0.5 * (base.edge + edge) + 0.002,
        face: face_of(base),
    }
}

/// Free places of the table for a cube of this edge, those near `from` first.
pub(super) fn free_spots(truth: &Truth, held: usize, from: Vec2) -> Vec<Spot> {
    let edge = truth.cubes[held].cube.edge;
    let mut spots = Vec::new();
    for ring in [0.15, 0.19, 0.23] {
        for k in -6..=6_i8 {
            let place = PAN_AXIS + ring * Vec2::from_angle(0.15 * f32::from(k));
            let off_marks = truth
                .marks
                .iter()
                .all(|(_, mark)| mark.position.distance(place) > mark.radius + edge);
            if off_marks && room_at(truth, place, &[held]) > 0.035 {
                spots.push(Spot {
                    place,
                    height: 0.5 * edge + 0.002,
                    face: 0.0,
                });
            }
        }
    }
    spots.sort_by(|a, b| a.place.distance(from).total_cmp(&b.place.distance(from)));
    spots.truncate(1);
    spots
}

/// Where an arm rests: as a simulated one stands at first.
pub const HOME: JointVec = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);

impl Draft {
    /// Puts a cube down where it is in nobody's way.
    fn put_aside(&mut self, held: usize) -> Result<(), String> {
        let from = self.truth.cubes[held].cube.position.truncate();
        let spots = free_spots(&self.truth, held, from);
        if release(&self.truth, held, &spots, &[]).is_none() {
            return Err(
                "there is no free place on the table for what the gripper holds".to_owned(),
            );
        }
        self.put_down(held, &spots, &[])
    }

    /// Waits above a cube that a person moves.
    fn follow(&mut self, index: usize) -> Result<(), String> {
        let above = grasp::grasps(&self.truth, index)
            .first()
            .map(|grasp| grasp.around().at_height(TRANSIT + 0.02));
        let above = above.ok_or_else(|| self.out_of_reach(index))?;
        self.over(above);
        Ok(())
    }
}
