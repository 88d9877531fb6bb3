//! Flies the expert against the physics by the shortest way there is, without bus and runtime: for tests and tuning.

use std::time::Duration;

use crate::arm::{Calibration, Limits, Motion};
use crate::joint::{JOINT_COUNT, Joint, JointVec};
use crate::kinematics::radians_from_robot;
use crate::latest::Latest;
use crate::observation::Observation;
use crate::policy::{Policy as _, PredictOptions};
use crate::sim::world::{Drive, STEP, World};
use crate::sim::{Expert, Referee, Task, Truth};

/// Where the arm stands at first.
const HOME: JointVec = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);

/// How chunks are asked for and executed.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub fps: f32,
    /// Ticks from an observation to its chunk.
    pub latency: usize,
    /// The next chunk is asked for when so many actions are left; 0 waits until the arm stands.
    pub low: usize,
    /// Actions of a chunk that are executed.
    pub kept: usize,
}

impl Schedule {
    pub const SYNC: Self = Self { fps: 30.0, latency: 0, low: 0, kept: 10 };
}

/// How a flight ended.
#[derive(Clone, Debug)]
pub struct Landing {
    pub done_after: Option<Duration>,
    pub stage: String,
    pub last: Truth,
    /// Largest change of the commands' speed between two ticks, degrees a second.
    pub jolt: f32,
}

/// A servo that follows its goal.
fn drives(goal: JointVec) -> [Drive; JOINT_COUNT] {
    let angles = radians_from_robot(goal);
    Joint::ALL.map(|joint| Drive {
        target: angles[joint.index()],
        stiffness: 50.0,
        damping: 2.0,
        torque: if joint == Joint::Gripper { 0.6 } else { 2.94 },
        ..Drive::default()
    })
}

/// One episode of at most `seconds`; `disturb` may do something to the world at each tick.
pub fn fly(
    task: Task,
    seed: u64,
    schedule: Schedule,
    seconds: f32,
    mut disturb: impl FnMut(&mut World, f32),
) -> Landing {
    let mut world = World::new(&task.layout(seed), radians_from_robot(HOME));
    let feed = Latest::new();
    let mut expert = Expert::new(feed.clone(), schedule.fps);
    let mut referee = Referee::new(task);
    let limits = Limits::new(&Calibration::simulated());
    let mut motion = Motion::at(HOME);
    let (mut queue, mut coming): (Vec<JointVec>, Option<(usize, usize, Vec<JointVec>)>) = (Vec::new(), None);
    let (mut now, mut jolt) = (Duration::ZERO, 0.0_f32);
    let mut consumed = 0;
    let mut stage = String::new();
    for tick in 0..(seconds * schedule.fps) as usize {
        let truth = world.truth(now);
        feed.set(truth.clone());
        if coming.is_none() && queue.len() <= schedule.low {
            let observation = Observation {
                state: truth.joints.0.to_vec(),
                task: task.to_string(),
                ..Observation::default()
            };
            let chunk = expert.predict_action_chunk(&observation, &PredictOptions::default()).unwrap();
            let actions = chunk.actions.iter().take(schedule.kept).filter_map(|row| JointVec::from_slice(row));
            coming = Some((tick + schedule.latency, consumed, actions.collect()));
        }
        if let Some((_, asked, actions)) = coming.take_if(|(due, ..)| *due <= tick) {
            merge(&mut queue, actions.get(consumed - asked..).unwrap_or(&[]));
        }
        let goal = if queue.is_empty() {
            motion.position
        } else {
            consumed += 1;
            queue.remove(0)
        };
        let (next, _) = limits.advance(&motion, goal, 1.0 / schedule.fps);
        jolt = jolt.max(next.velocity.max_abs_diff(motion.velocity));
        motion = next;
        disturb(&mut world, now.as_secs_f32());
        let end = Duration::from_secs_f32((tick + 1) as f32 / schedule.fps);
        while now + STEP <= end {
            world.step(&drives(motion.position));
            now += STEP;
            let verdict = referee.watch(&world.truth(now));
            stage = verdict.stage;
            if verdict.is_done {
                return Landing { done_after: Some(now), stage, last: world.truth(now), jolt };
            }
        }
    }
    Landing { done_after: None, stage, last: world.truth(now), jolt }
}

/// Blends a chunk into the queue, as the runtime does by a linear ramp.
fn merge(queue: &mut Vec<JointVec>, fresh: &[JointVec]) {
    let width = queue.len().min(fresh.len());
    for (k, new) in fresh.iter().enumerate() {
        match queue.get_mut(k) {
            Some(old) => {
                let share = (k + 1) as f32 / width as f32;
                *old = old.zip(*new, |old, new| old + share * (new - old));
            }
            None => queue.push(*new),
        }
    }
}
