//! Keeps to a plan, or drops it: finds where on its path the arm is, although the arm lags and may have been held meanwhile, and
//! plans anew when things are not as the plan counted on.

use std::time::Duration;

use crate::joint::{Joint, JointVec};
use crate::kinematics::{PINCH_POINT, forward_robot};
use crate::sim::expert::path::{Departure, Path, STEP_S};
use crate::sim::expert::plan::{Expected, Past, Plan, is_fulfilled, is_in_hand, plan};
use crate::sim::{Task, Truth};

/// How long after a command the arm is where it was sent while it moves, seconds.
const LAG: f32 = 0.12;
/// The time that the clock says is believed when the arm is about as near to its place there as to any other, squared degrees.
/// An arm that presses on something never quite gets where it was sent.
const AGREES: f32 = 10.0;
/// An arm that has not come on for so long is stuck, seconds.
const STUCK: f32 = 2.5;
/// An arm that is held after each action shows too little of where it is: the plan goes on by an action a look all the same, so
/// far ahead of what shows at most, seconds.
const UNSEEN: f32 = 0.25;
const AN_ACTION: f32 = 0.04;
/// Of the time between two looks no more than this counts for how far the arm should have come, seconds.
const SHORT_LOOK: f32 = 0.1;
/// Farther from its path than this the arm has been led away, robot units of any body joint.
const ASTRAY: f32 = 12.0;
/// How far around the guess the arm is looked for, seconds.
const LOOK_BACK: f32 = 0.4;
const LOOK_AHEAD: f32 = 0.3;
/// What a second away from the guess is worth in squared degrees: it decides only where the path stands still.
const TIE: f32 = 2.0;
/// Weight of the gripper's percent against degrees.
const GRIPPER: f32 = 0.3;
/// An arm that has this share of the path's speed goes along with it.
const GOES_ALONG: f32 = 0.5;
/// Slower than this, in degrees a second, the arm stands.
const STANDS: f32 = 2.0;
/// A cube that is touched counts as such after so long: longer than the referee asks for.
const TOUCH: Duration = Duration::from_millis(250);
/// Between two looks a plan goes on for so long at most, seconds: whatever happened meanwhile is seen by where the arm is.
const LONGEST: f32 = 3.0;

/// What the arm is about to do anyway, which a plan that begins later continues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Committed {
    /// Seconds from now until the plan takes over.
    pub time: f32,
    pub departure: Departure,
}

/// The plan in force and what is remembered of the past.
#[derive(Clone, Debug, Default)]
pub struct Course {
    job: Option<(Task, u64)>,
    past: Past,
    plan: Option<Plan>,
    /// At this moment of the rig's clock the plan was at this time of its path.
    at: Duration,
    time: f32,
    /// How far the arm had come then, by what showed of it, seconds of the path.
    shown: f32,
    /// For how long the arm has not come on, seconds.
    stuck: f32,
    /// Since when the cube that is to be touched has been.
    touched_since: Option<Duration>,
}

impl Course {
    /// Takes in what is so, and returns the time of the path that is now, seconds; the path of [`Course::plan`].
    pub fn look(
        &mut self,
        task: Task,
        truth: &Truth,
        state: JointVec,
        committed: Option<Committed>,
    ) -> f32 {
        if self.job != Some((task, truth.laid)) {
            // The path is still what the arm follows until another one is planned.
            *self = Self {
                job: Some((task, truth.laid)),
                plan: self.plan.take(),
                at: self.at,
                time: self.time,
                ..Self::default()
            };
            let departure = self.departure(truth, state);
            return self.begin(task, truth, departure, committed);
        }
        self.past.dropped = self.past.dropped.filter(|dropped| {
            let cube = truth.cubes.get(*dropped);
            cube.is_some_and(|cube| !cube.is_dragged && !is_in_hand(truth, cube))
        });
        let elapsed = truth.at.saturating_sub(self.at).as_secs_f32().min(LONGEST);
        let Some(place) = self
            .plan
            .as_ref()
            .and_then(|plan| located(&plan.path, self.time + elapsed, elapsed, truth, state))
        else {
            log::debug!("the scripted expert plans anew: the arm is not on its path");
            let departure = Departure {
                joints: state,
                speeds: slow(truth.speeds),
            };
            return self.begin(task, truth, departure, committed);
        };
        // An arm that waits for each chunk has come on little in a long time, and is not stuck.
        let came_on = place.command > self.shown + 0.1 * elapsed.min(SHORT_LOOK);
        self.stuck = if came_on { 0.0 } else { self.stuck + elapsed };
        let next = (self.time + AN_ACTION).min(place.command + UNSEEN);
        self.time = if elapsed >= AN_ACTION {
            place.command.max(next)
        } else {
            place.command
        };
        (self.at, self.shown) = (truth.at, place.command);
        if self.stuck > STUCK {
            log::debug!("the scripted expert plans anew: the arm is stuck");
            self.past.failures += 1;
            let departure = Departure {
                joints: state,
                speeds: JointVec::default(),
            };
            return self.begin(task, truth, departure, committed);
        }
        if self.is_void(task, truth, place.sensed) {
            let departure = self.departure(truth, state);
            return self.begin(task, truth, departure, committed);
        }
        self.time
    }

    /// The plan in force.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Whether the plan has come to an end or to grief, with the arm at this time of its path.
    fn is_void(&mut self, task: Task, truth: &Truth, sensed: f32) -> bool {
        let Some(plan) = &self.plan else {
            return true;
        };
        if !self.past.is_touched {
            let since = self.touched_since.unwrap_or(truth.at);
            self.touched_since = is_touched(task, truth).then_some(since);
            self.past.is_touched =
                self.touched_since.is_some() && truth.at.saturating_sub(since) >= TOUCH;
            if self.past.is_touched {
                return true;
            }
        }
        if let Some(check) = plan.broken(sensed, truth) {
            log::debug!("the scripted expert plans anew: {check:?} does not hold");
            let was_missed = check.what == Expected::Held;
            if was_missed {
                self.past.failures += 1;
                self.past.dropped = Some(check.cube);
            }
            return true;
        }
        let is_over = self.time >= plan.path.end();
        is_over && !(plan.is_last && plan.warning.is_none() && is_fulfilled(task, truth, self.past))
    }

    /// Where a new plan takes over from the one in force.
    fn departure(&self, truth: &Truth, state: JointVec) -> Departure {
        match &self.plan {
            Some(plan) if astray(plan.path.command(self.time), state) < ASTRAY => Departure {
                joints: plan.path.command(self.time),
                speeds: slow(plan.path.speed(self.time)),
            },
            _ => Departure {
                joints: state,
                speeds: slow(truth.speeds),
            },
        }
    }

    fn begin(
        &mut self,
        task: Task,
        truth: &Truth,
        departure: Departure,
        committed: Option<Committed>,
    ) -> f32 {
        let departure = committed.map_or(departure, |committed| committed.departure);
        self.plan = Some(plan(task, truth, self.past, departure));
        self.at = truth.at;
        self.stuck = 0.0;
        self.time = committed.map_or(STEP_S, |committed| -committed.time);
        self.shown = self.time;
        self.time
    }
}

/// Speeds that a path may begin with: what is faster was a jolt.
fn slow(speeds: JointVec) -> JointVec {
    JointVec::from_fn(|joint| {
        if joint == Joint::Gripper {
            0.0
        } else {
            speeds[joint].clamp(-50.0, 50.0)
        }
    })
}

/// Largest difference of any body joint, degrees.
fn astray(a: JointVec, b: JointVec) -> f32 {
    let off = a.zip(b, |a, b| (a - b).abs());
    off.0[..5].iter().copied().fold(0.0, f32::max)
}

/// Where on its path an arm is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    /// Time of the path that the arm has come to, and of the command that is due, seconds.
    sensed: f32,
    command: f32,
}

/// Finds the arm on a path, near the time that its clock says; `None` when it is not there.
fn located(path: &Path, guess: f32, elapsed: f32, truth: &Truth, state: JointVec) -> Option<Place> {
    let index = |time: f32| (time.max(0.0) / STEP_S) as usize;
    let lagged = guess - LAG;
    let cost = |k: usize| -> Option<f32> {
        let off = path.expected(k)?.zip(state, |is, was| is - was);
        let body: f32 = off.0[..5].iter().map(|degrees| degrees * degrees).sum();
        let grip = GRIPPER * off[Joint::Gripper];
        let late = k as f32 * STEP_S - lagged;
        Some(body + grip * grip + TIE * late * late)
    };
    let last = path.len().saturating_sub(1);
    let [first, late] =
        [guess - elapsed - LOOK_BACK, guess + LOOK_AHEAD].map(|time| index(time).min(last));
    let (nearest, least) = (first..=late)
        .filter_map(|k| cost(k).map(|cost| (k, cost)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    if astray(path.expected(nearest)?, state) > ASTRAY {
        return None;
    }
    let due = index(lagged).min(last);
    // Not of an arm that is held where its path moves: the clock has gone on without it.
    let goes_along = liveliness(path.speed(lagged), truth.speeds) > GOES_ALONG;
    if goes_along && cost(due).is_some_and(|cost| cost < least + AGREES) {
        return Some(Place {
            sensed: lagged,
            command: guess,
        });
    }
    let sensed = nearest as f32 * STEP_S;
    let command = sensed + LAG * liveliness(path.speed(sensed), truth.speeds);
    Some(Place { sensed, command })
}

/// 1 where the arm moves along as its path does or the path stands still, 0 where it is held.
fn liveliness(planned: JointVec, is: JointVec) -> f32 {
    let body = |speeds: JointVec| -> Vec<f32> { speeds.0[..5].to_vec() };
    let (planned, is) = (body(planned), body(is));
    let square: f32 = planned.iter().map(|speed| speed * speed).sum();
    if square < STANDS * STANDS {
        return 1.0;
    }
    let along: f32 = planned.iter().zip(&is).map(|(a, b)| a * b).sum();
    (along / square).clamp(0.0, 1.0)
}

/// Whether the finger tips touch the cube that is to be touched.
fn is_touched(task: Task, truth: &Truth) -> bool {
    let Task::Touch(colour) = task else {
        return false;
    };
    let tip = forward_robot(truth.joints).gripper_point(PINCH_POINT);
    truth.cube_of(colour).is_some_and(|index| {
        let cube = &truth.cubes[index];
        cube.is_touched && tip.distance(cube.cube.position) < 0.5 * cube.cube.edge + 0.018
    })
}
