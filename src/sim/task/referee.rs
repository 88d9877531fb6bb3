//! Judges whether a task is done, and how far it is, by what is truly so: neither a flick nor a lucky drop counts.

use std::time::Duration;

use crate::joint::Joint;
use crate::kinematics::{PINCH_POINT, forward_robot};
use crate::sim::task::track::{Track, height, is_gripped, keep, lasted};
use crate::sim::task::{SORTED, Task, is_inside};
use crate::sim::{Colour, CubeTruth, Support, Truth};

/// For how long a cube is held in the air, or rests in its place, before that counts.
const STEADY: Duration = Duration::from_millis(500);
/// For how long the finger tips touch a cube.
const TOUCH: Duration = Duration::from_millis(150);
/// Height of a cube that is picked up, metres.
const PICKED_UP: f32 = 0.05;
/// A cube that is touched may give way so far, metres.
const GENTLE: f32 = 0.02;
/// Closest that the finger tips are to the middle of what they have let go of, metres.
const AWAY: f32 = 0.035;
/// Less open than this the gripper is closed, percent.
const CLOSED: f32 = 8.0;
/// Highest place above its goal from which a cube is set down and not dropped, metres.
const SET_DOWN: f32 = 0.06;

/// How a task stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// 0 to 1.
    pub progress: f32,
    /// In words, for example "carried to the box".
    pub stage: String,
    /// It stays done until the table is laid anew.
    pub is_done: bool,
}

impl Verdict {
    fn at(progress: f32, stage: impl Into<String>) -> Self {
        Self {
            progress,
            stage: stage.into(),
            is_done: false,
        }
    }

    fn done() -> Self {
        Self {
            progress: 1.0,
            stage: "done".to_owned(),
            is_done: true,
        }
    }
}

/// Where a cube is to be set down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Tray(usize),
    Cube(usize),
}

/// Watches one task on one table. Show it every moment, 20 times a second at least, so that it misses nothing.
#[derive(Clone, Debug)]
pub struct Referee {
    task: Task,
    tracks: Vec<Track>,
    laid: Option<u64>,
    steady_since: Option<Duration>,
    /// A cube that was pushed was in contact on the mark.
    arrived: bool,
    is_done: bool,
}

impl Referee {
    /// One who has seen nothing yet.
    pub fn new(task: Task) -> Self {
        Self {
            task,
            tracks: Vec::new(),
            laid: None,
            steady_since: None,
            arrived: false,
            is_done: false,
        }
    }

    /// The task that it judges.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Takes in one moment and says how the task stands. A table that was laid anew begins anew.
    pub fn watch(&mut self, truth: &Truth) -> Verdict {
        if self.laid != Some(truth.laid) || self.tracks.len() != truth.cubes.len() {
            *self = Self::new(self.task);
            self.laid = Some(truth.laid);
            self.tracks = vec![Track::default(); truth.cubes.len()];
        }
        for (track, cube) in self.tracks.iter_mut().zip(&truth.cubes) {
            track.watch(truth, cube);
        }
        if self.is_done {
            return Verdict::done();
        }
        let verdict = self.judge(truth);
        self.is_done = verdict.is_done;
        verdict
    }

    fn judge(&mut self, truth: &Truth) -> Verdict {
        if let Some(obstacle) = self.task.obstacle(truth) {
            return Verdict::at(0.0, obstacle);
        }
        let first = self
            .task
            .colours()
            .first()
            .and_then(|colour| truth.cube_of(*colour))
            .unwrap_or(0);
        match self.task {
            Task::Touch(_) => self.touch(truth, first),
            Task::PickUp(_) => self.pick_up(truth, first),
            Task::PutInBox(_) => self.set_down(truth, first, Place::Tray(0)),
            Task::Stack(_, base) => match truth.cube_of(base) {
                Some(base) => self.set_down(truth, first, Place::Cube(base)),
                None => Verdict::default(),
            },
            Task::Push(_) => self.push(truth, first),
            Task::Sort => self.sort(truth),
        }
    }

    fn touch(&self, truth: &Truth, index: usize) -> Verdict {
        let (track, cube) = (&self.tracks[index], &truth.cubes[index]);
        let near = tip_distance(truth, cube) - 0.5 * cube.cube.edge;
        if !cube.is_touched || near > 0.02 {
            let far = (near / 0.2).clamp(0.0, 1.0);
            return Verdict::at(
                0.8 * (1.0 - far),
                format!("reaching for the {} cube", cube.colour),
            );
        }
        if track.moved(cube) > GENTLE || track.was_lifted {
            return Verdict::at(
                0.5,
                format!("the {} cube was shoved, not touched", cube.colour),
            );
        }
        if track.touched(truth.at) >= TOUCH {
            Verdict::done()
        } else {
            Verdict::at(0.9, "touching")
        }
    }

    fn pick_up(&mut self, truth: &Truth, index: usize) -> Verdict {
        let (track, cube) = (&self.tracks[index], &truth.cubes[index]);
        let is_up = track.is_held(truth.at) && height(cube) > PICKED_UP;
        keep(&mut self.steady_since, is_up, truth.at);
        if lasted(self.steady_since, truth.at) >= STEADY {
            return Verdict::done();
        }
        if is_up {
            return Verdict::at(0.9, "held in the air");
        }
        before_carried(truth, track, cube, 0.8)
    }

    /// How far one cube is on its way to its place.
    fn set_down(&mut self, truth: &Truth, index: usize, place: Place) -> Verdict {
        let cube = &truth.cubes[index];
        let is_there = lies_on(truth, cube, place);
        let track = &mut self.tracks[index];
        let stands = cube.rests_on.is_some() && !cube.is_touched && !is_there;
        if stands {
            track.start_over();
        }
        let name = match place {
            Place::Tray(_) => "in the box".to_owned(),
            Place::Cube(base) => format!("on the {} cube", truth.cubes[base].colour),
        };
        let set_down = track
            .let_go
            .is_some_and(|at| is_just_above(truth, at, cube, place));
        if is_there && track.is_carried && set_down {
            let is_let_go = !cube.is_touched
                && tip_distance(truth, cube) > AWAY
                && truth.joints[Joint::Gripper] > CLOSED;
            if !is_let_go {
                return Verdict::at(0.9, format!("{name}, not let go yet"));
            }
            return if track.rested(truth.at) >= STEADY {
                Verdict::done()
            } else {
                Verdict::at(0.95, format!("{name}, coming to rest"))
            };
        }
        if is_there && !is_gripped(cube) {
            return Verdict::at(
                0.3,
                format!("{name}, but not set down there by the gripper"),
            );
        }
        if track.is_carried && track.is_held(truth.at) {
            return Verdict::at(0.6, format!("the {} cube is carried", cube.colour));
        }
        before_carried(truth, track, cube, 0.5)
    }

    fn push(&mut self, truth: &Truth, index: usize) -> Verdict {
        let Some((_, mark)) = truth.marks.first() else {
            return Verdict::default();
        };
        let (track, cube) = (&mut self.tracks[index], &truth.cubes[index]);
        let off = cube.cube.position.truncate().distance(mark.position);
        let is_on_mark = off <= mark.radius;
        let stands = cube.rests_on == Some(Support::Table) && !cube.is_touched;
        if cube.is_dragged || stands && !is_on_mark {
            track.start_over();
            self.arrived = false;
        }
        // What is carried here, or slides here by itself, was not pushed here. Where it began is told by `stood`.
        let began_outside = track
            .stood
            .is_some_and(|stood| stood.truncate().distance(mark.position) > mark.radius);
        self.arrived |= is_on_mark && cube.is_touched && began_outside;
        if track.was_lifted {
            return Verdict::at(0.2, "lifted, not pushed");
        }
        if is_on_mark && self.arrived {
            return if track.rested(truth.at) >= STEADY && !cube.is_touched {
                Verdict::done()
            } else {
                Verdict::at(0.9, "on the mark, coming to rest")
            };
        }
        if is_on_mark {
            return Verdict::at(0.3, "on the mark, but not pushed there");
        }
        let near = 0.8 * (1.0 - (off / 0.3).min(1.0));
        let what = if cube.is_touched {
            "being pushed"
        } else {
            "to be pushed"
        };
        Verdict::at(near, format!("the {} cube is {what}", cube.colour))
    }

    fn sort(&mut self, truth: &Truth) -> Verdict {
        let (mut count, mut done, mut best) = (0_u8, 0_u8, Verdict::default());
        for (index, cube) in truth.cubes.iter().enumerate() {
            if !SORTED.contains(&cube.colour) {
                continue;
            }
            let Some(tray) = tray_of(truth, cube.colour) else {
                return Verdict::default();
            };
            count += 1;
            let verdict = self.set_down(truth, index, Place::Tray(tray));
            if verdict.is_done {
                done += 1;
            } else if verdict.progress >= best.progress {
                best = verdict;
            }
        }
        if done == count {
            return Verdict::done();
        }
        let progress = (f32::from(done) + best.progress) / f32::from(count);
        Verdict::at(
            progress,
            format!("{done} of {count} sorted; {}", best.stage),
        )
    }
}

/// How far a cube is that is not carried yet; `most` is what a firm grip is worth.
fn before_carried(truth: &Truth, track: &Track, cube: &CubeTruth, most: f32) -> Verdict {
    if track.is_held(truth.at) {
        return Verdict::at(most, format!("the {} cube is held", cube.colour));
    }
    let far = (tip_distance(truth, cube) / 0.3).min(1.0);
    Verdict::at(
        0.5 * most * (1.0 - far),
        format!("reaching for the {} cube", cube.colour),
    )
}

/// Distance between the finger tips and the middle of a cube, metres.
fn tip_distance(truth: &Truth, cube: &CubeTruth) -> f32 {
    forward_robot(truth.joints)
        .gripper_point(PINCH_POINT)
        .distance(cube.cube.position)
}

/// The box of this colour.
pub(in crate::sim) fn tray_of(truth: &Truth, colour: Colour) -> Option<usize> {
    truth.trays.iter().position(|(own, _)| *own == colour)
}

/// Whether a cube lies in its box, be it on another one there, or on its cube.
fn lies_on(truth: &Truth, cube: &CubeTruth, place: Place) -> bool {
    match (place, cube.rests_on) {
        (Place::Tray(tray), Some(Support::Tray(_) | Support::Cube(_))) => truth
            .trays
            .get(tray)
            .is_some_and(|(_, tray)| is_inside(cube, tray)),
        (Place::Cube(base), Some(Support::Cube(below))) => {
            below == base && !truth.cubes[base].is_dragged
        }
        _ => false,
    }
}

/// Whether a cube that was let go at `at` was set down in its place, not thrown or dropped on it.
fn is_just_above(truth: &Truth, at: glam::Vec3, cube: &CubeTruth, place: Place) -> bool {
    match place {
        Place::Tray(tray) => truth.trays.get(tray).is_some_and(|(_, tray)| {
            let off = super::tray_from_base(tray, at.truncate()).abs();
            off.cmple(0.5 * tray.inner).all() && at.z < tray.height + SET_DOWN
        }),
        Place::Cube(base) => {
            let base = &truth.cubes[base].cube;
            let above = at.z - base.position.z - 0.5 * (base.edge + cube.cube.edge);
            at.truncate().distance(base.position.truncate()) < base.edge && above < 0.02
        }
    }
}

#[cfg(test)]
mod tests;
