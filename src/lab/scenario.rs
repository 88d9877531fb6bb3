//! Disturbances with an expected end: what goes wrong in mid-run, what the control stack must do then, and whether it did.

use std::collections::BTreeSet;
use std::time::Duration;

use glam::Vec2;
use serde::Serialize;

use crate::joint::{Joint, JointVec};
use crate::lab::course::{Course, Runs};
use crate::lab::flight::{Error, Flight};
use crate::lab::pilot::Pilot;
use crate::runtime::{FaultKind, Knobs};
use crate::sim::{CubeTruth, Fault, Referee, Task, Verdict};

/// What the policy takes to answer when nothing is wrong.
const LATENCY: Duration = Duration::from_millis(300);
/// A disturbed run that takes longer has failed.
const LIMIT: Duration = Duration::from_mins(1);
/// Ticks within which the arm must hold.
const SOON: u64 = 2;
/// A jaw that presses harder than this holds on to the cube, newtons.
const GRASP: f32 = 0.2;
/// How far a hand moves the cube, metres, and how long that takes.
const SHOVE: f32 = 0.07;
const SHOVE_TIME: Duration = Duration::from_millis(500);
/// How long a camera is frozen.
const FREEZE: Duration = Duration::from_secs(3);
/// When the latency grows, for how long, and by what.
const SLOW_FROM: Duration = Duration::from_secs(2);
const SLOW_FOR: Duration = Duration::from_secs(9);
const SLOWER: u32 = 10;
/// Transactions for which a servo is mute: few enough to be asked again, and too many.
const HICCUP: u64 = 3;
const SILENCE: u64 = 60;

/// One disturbance.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub expected: &'static str,
    play: fn(&mut Play),
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub name: String,
    pub expected: String,
    pub seen: String,
    pub passed: bool,
}

impl Outcome {
    /// PASS or FAIL.
    pub fn verdict(&self) -> &'static str {
        if self.passed { "PASS" } else { "FAIL" }
    }
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self {
            name: "cube moved in mid-grasp",
            expected: "the expert grasps again and succeeds",
            play: cube_moved,
        },
        Self {
            name: "camera frozen for 3 s",
            expected: "policy paused, arm holds within 2 ticks, goes on by itself, succeeds",
            play: camera_frozen,
        },
        Self {
            name: "servo mute for 3 transactions",
            expected: "asked again, no stop, succeeds",
            play: servo_hiccup,
        },
        Self {
            name: "servo mute for 60 transactions",
            expected: "bus fault and stop, goals frozen, succeeds once the operator resumes",
            play: servo_mute,
        },
        Self {
            name: "latency x 10 for 9 s",
            expected: "starvation counted and shown, arm holds meanwhile, succeeds later",
            play: latency_grows,
        },
    ];

    /// Plays it on the table of `seed`.
    ///
    /// # Errors
    /// The policy does not take off.
    pub fn run(&self, pilot: &Pilot, task: Task, seed: u64) -> Result<Outcome, Error> {
        let mut play = Play::begin(pilot, task, seed)?;
        (self.play)(&mut play);
        play.check_success();
        Ok(Outcome {
            name: self.name.to_owned(),
            expected: self.expected.to_owned(),
            seen: play.seen(),
            passed: play.checks.iter().all(|(_, holds)| *holds),
        })
    }
}

/// A run while something goes wrong.
struct Play {
    flight: Flight,
    referee: Referee,
    task: Task,
    verdict: Verdict,
    /// Since the policy took over.
    done_at: Option<Duration>,
    /// Faults of the run so far.
    faults: BTreeSet<FaultKind>,
    /// Facts that were found, and whether each is as expected.
    checks: Vec<(String, bool)>,
}

impl Play {
    fn begin(pilot: &Pilot, task: Task, seed: u64) -> Result<Self, Error> {
        let course = Course {
            task,
            knobs: Knobs::default(),
            latency: LATENCY.into(),
            runs: Runs::Episodes {
                count: 1,
                limit: LIMIT,
            },
            traces: false,
        };
        Ok(Self {
            flight: course.take_off(pilot, seed)?,
            referee: Referee::new(task),
            task,
            verdict: Verdict::default(),
            done_at: None,
            faults: BTreeSet::new(),
            checks: vec![],
        })
    }

    fn tick(&mut self) {
        self.flight.tick();
        self.verdict = self.referee.watch(&self.flight.arm.truth());
        if self.verdict.is_done {
            self.done_at.get_or_insert(self.flight.time());
        }
        self.faults.extend(self.flight.faults());
    }

    /// Ticks until something is so; false when it does not come to be before the limit.
    fn until(&mut self, mut holds: impl FnMut(&Self) -> bool) -> bool {
        loop {
            self.tick();
            if holds(self) {
                return true;
            }
            if self.flight.time() >= LIMIT {
                return false;
            }
        }
    }

    fn until_time(&mut self, time: Duration) {
        self.until(|play| play.flight.time() >= time);
    }

    /// Goals do not change for so long; the ticks before `SOON` are the arm's.
    fn holds_for(&mut self, time: Duration) -> bool {
        for _ in 0..SOON {
            self.tick();
        }
        let (goal, end) = (self.flight.seen.commanded, self.flight.time() + time);
        let mut held = true;
        while self.flight.time() < end {
            self.tick();
            held &= stands(self.flight.seen.commanded, goal);
        }
        held
    }

    fn check(&mut self, fact: impl Into<String>, holds: bool) {
        self.checks.push((fact.into(), holds));
    }

    fn check_success(&mut self) {
        self.until(|play| play.done_at.is_some() || play.flight.grounded().is_some());
        let fact = match (self.done_at, self.flight.grounded()) {
            (Some(at), _) => format!("success at {:.1} s", at.as_secs_f32()),
            (None, Some(why)) => format!("grounded: {why}"),
            (None, None) => format!(
                "no success in {} s ({})",
                LIMIT.as_secs(),
                self.verdict.stage
            ),
        };
        self.check(fact, self.done_at.is_some());
    }

    /// The facts, those that are not as expected marked.
    fn seen(&self) -> String {
        let facts = self.checks.iter().map(|(fact, holds)| match holds {
            true => fact.clone(),
            false => format!("✗ {fact}"),
        });
        facts.collect::<Vec<_>>().join("; ")
    }

    /// The cube that the task is about, and its number.
    fn cube(&self) -> Option<(usize, CubeTruth)> {
        let truth = self.flight.arm.truth();
        let at = truth.cube_of(*self.task.colours().first()?)?;
        Some((at, truth.cubes[at]))
    }

    fn grasps(&self) -> bool {
        let pressed = |cube: CubeTruth| cube.jaws.iter().all(|force| *force > GRASP);
        self.cube().is_some_and(|(_, cube)| pressed(cube))
    }
}

/// Whether no joint of the arm was sent elsewhere. The gripper's driver eases a grip whatever anybody asks for.
fn stands(goal: JointVec, before: JointVec) -> bool {
    let mut joints = Joint::ALL.into_iter();
    joints.all(|joint| joint == Joint::Gripper || goal[joint] == before[joint])
}

fn cube_moved(play: &mut Play) {
    let grasped = play.until(Play::grasps);
    play.check(
        format!("grasped at {:.1} s", play.flight.time().as_secs_f32()),
        grasped,
    );
    let Some((at, cube)) = play.cube() else {
        play.check("there is no such cube", false);
        return;
    };
    let from = cube.cube.position.truncate();
    // Towards the middle of the table, where the arm can reach.
    let to = from - Vec2::new(0.0, SHOVE.copysign(from.y));
    play.flight.arm.drag(at, Some(to));
    play.until_time(play.flight.time() + SHOVE_TIME);
    play.flight.arm.drag(at, None);
    play.tick();
    let moved = play.cube().map_or(0.0, |(_, cube)| {
        cube.cube.position.truncate().distance(from)
    });
    let fact = format!("taken away and set down {:.0} mm aside", moved * 1000.0);
    play.check(fact, moved > SHOVE / 2.0);
    let again = play.until(Play::grasps);
    play.check("grasped again", again);
}

fn camera_frozen(play: &mut Play) {
    play.until_time(Duration::from_secs(2));
    let began = play.flight.time();
    play.flight.eyes.freeze(Some(1));
    let stale = play.until(|play| play.flight.faults().contains(&FaultKind::CameraStale));
    let after = play.flight.time().saturating_sub(began);
    play.check(
        format!("camera stale after {:.2} s", after.as_secs_f32()),
        stale,
    );
    let held = play.holds_for(FREEZE.saturating_sub(after));
    play.check("arm holds", held);
    play.flight.eyes.freeze(None);
    let chunks = play.flight.seen.chunks;
    let again = play.until(|play| play.flight.seen.chunks > chunks);
    play.check("policy goes on", again);
}

fn servo_hiccup(play: &mut Play) {
    play.until_time(Duration::from_secs(2));
    let id = play.flight.arm.id(Joint::ElbowFlex);
    let retries = play.flight.seen.bus_retries;
    play.flight.arm.inject(Fault::MuteFor(id, HICCUP));
    play.until_time(Duration::from_secs(4));
    let asked = play.flight.seen.bus_retries.saturating_sub(retries);
    play.check(format!("{asked} packets asked again"), asked > 0);
    let told = play.faults.contains(&FaultKind::BusRetry);
    play.check("told", told);
    let drives = play.flight.grounded().is_none();
    play.check("no stop", drives);
}

fn servo_mute(play: &mut Play) {
    play.until_time(Duration::from_secs(2));
    let id = play.flight.arm.id(Joint::ElbowFlex);
    play.flight.arm.inject(Fault::MuteFor(id, SILENCE));
    let began = play.flight.seen.tick;
    let stopped = play.until(|play| play.flight.seen.stopped.is_some());
    let after = play.flight.seen.tick.since(began);
    play.check(format!("stopped after {after} ticks"), stopped);
    let told = play.faults.contains(&FaultKind::BusLost);
    play.check("bus fault raised", told);
    let confirmed = play.until(|play| {
        let stop = play.flight.seen.stopped.as_ref();
        stop.is_some_and(|stop| stop.acknowledged)
    });
    let held = play.holds_for(Duration::from_secs(1));
    play.check("goals frozen", confirmed && held);
    if let Err(error) = play.flight.let_drive() {
        play.check(error.to_string(), false);
    }
}

fn latency_grows(play: &mut Play) {
    play.until_time(SLOW_FROM);
    let starved = play.flight.seen.starved_ticks;
    play.flight.slow_down(SLOWER);
    let (mut held, mut shown, mut gap) = (true, false, 0);
    while play.flight.time() < SLOW_FROM + SLOW_FOR {
        let goal = play.flight.seen.commanded;
        play.tick();
        let seen = &play.flight.seen;
        let starved = seen.history.back().is_some_and(|sample| sample.starved);
        gap = if starved { gap + 1 } else { 0 };
        if gap > SOON {
            held &= stands(seen.commanded, goal);
        }
        shown |= starved && seen.queue.starved_because.is_some();
    }
    let starved = play.flight.seen.starved_ticks.saturating_sub(starved);
    play.check(format!("{starved} ticks starved"), starved > 0);
    play.check("cause shown", shown);
    play.check("arm holds meanwhile", held);
    let told = play.faults.contains(&FaultKind::TooSlow);
    play.check("too slow told", told);
    play.flight.slow_down(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(name: &str) {
        let scenario = Scenario::ALL.iter().find(|it| it.name.starts_with(name));
        let task = Task::PutInBox(crate::sim::Colour::Red);
        let outcome = scenario.unwrap().run(&Pilot::Expert, task, 1).unwrap();
        assert!(outcome.passed, "{outcome:?}");
    }

    #[test]
    fn a_cube_that_is_taken_away_is_grasped_again() {
        passes("cube moved");
    }

    #[test]
    fn a_frozen_camera_pauses_the_policy() {
        passes("camera frozen");
    }

    #[test]
    fn a_servo_that_is_mute_for_a_moment_is_asked_again() {
        passes("servo mute for 3");
    }

    #[test]
    fn a_mute_servo_stops_the_arm_until_the_operator_resumes() {
        passes("servo mute for 60");
    }

    #[test]
    fn a_latency_ten_times_as_long_starves_the_queue_and_no_more() {
        passes("latency");
    }
}
