//! Flies the expert against the physics through the real driver, without the runtime, on a virtual clock: for tests and tuning.

use std::time::Duration;

use crate::arm::{Arm, Options, TorqueStep};
use crate::clock::Clock;
use crate::joint::JointVec;
use crate::observation::Observation;
use crate::policy::{Policy as _, PredictOptions, RtcGuidance, RtcSchedule};
use crate::sim::{Expert, Referee, SimArm, Task, Truth};

/// How chunks are asked for and executed.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub fps: f32,
    /// Ticks from an observation to its chunk.
    pub latency: usize,
    /// The next chunk is asked for when so many actions are left.
    pub low: usize,
    /// Actions of a chunk that are executed.
    pub kept: usize,
    /// Chunks continue what is left of the one before.
    pub rtc: bool,
}

impl Schedule {
    /// Observe, execute ten actions, observe again, with a policy that takes no time.
    pub const SYNC: Self = Self {
        fps: 30.0,
        latency: 0,
        low: 0,
        kept: 10,
        rtc: false,
    };
}

/// How a flight ended.
#[derive(Clone, Debug)]
pub struct Landing {
    pub done_after: Option<Duration>,
    pub stage: String,
    pub last: Truth,
    /// Ticks without an action after the first chunk.
    pub starved: usize,
    /// Way of all body joints back against where they went a tick before, degrees: 0 for a motion that flows.
    pub back: f32,
    /// What the expert warned of.
    pub warnings: Vec<String>,
}

/// What of a chunk is under way.
struct Coming {
    due: usize,
    consumed: usize,
    actions: Vec<JointVec>,
    normalized: Vec<Vec<f32>>,
}

/// The runtime's queue in a few lines.
#[derive(Default)]
struct Queue {
    actions: Vec<(JointVec, Vec<f32>)>,
    consumed: usize,
}

impl Queue {
    fn take(&mut self) -> Option<JointVec> {
        if self.actions.is_empty() {
            return None;
        }
        self.consumed += 1;
        Some(self.actions.remove(0).0)
    }

    /// Blends a chunk in by a linear ramp, or puts it in the place of what is left.
    fn merge(&mut self, coming: Coming, replaces: bool) {
        let past = self.consumed - coming.consumed;
        let fresh = coming.actions.into_iter().zip(coming.normalized).skip(past);
        if replaces {
            self.actions = fresh.collect();
            return;
        }
        let width = self.actions.len().min(fresh.len()) as f32;
        for (k, new) in fresh.enumerate() {
            match self.actions.get_mut(k) {
                Some(old) => {
                    let share = ((k + 1) as f32 / width).min(1.0);
                    old.0 = old.0.zip(new.0, |old, new| old + share * (new - old));
                    old.1 = new.1;
                }
                None => self.actions.push(new),
            }
        }
    }
}

/// One episode of at most `seconds`; `disturb` may do something to the rig at each tick, told the time since the start.
pub fn fly(
    task: Task,
    seed: u64,
    schedule: Schedule,
    seconds: f32,
    disturb: impl FnMut(&SimArm, f32),
) -> Landing {
    fly_as(|_| task.to_string(), task, seed, schedule, seconds, disturb)
}

/// The same with other words for the task, which may change with time.
pub fn fly_as(
    words: impl Fn(f32) -> String,
    task: Task,
    seed: u64,
    schedule: Schedule,
    seconds: f32,
    mut disturb: impl FnMut(&SimArm, f32),
) -> Landing {
    let clock = Clock::virtual_at_zero();
    let rig = SimArm::on_table(clock.clone(), &task.layout(seed));
    let mut arm = armed(&rig);
    arm.set_period(Duration::from_secs_f32(1.0 / schedule.fps));
    let mut expert = Expert::new(rig.truth_feed());
    let mut referee = Referee::new(task);
    let (mut queue, mut coming) = (Queue::default(), None::<Coming>);
    let mut landing = Landing {
        done_after: None,
        stage: String::new(),
        last: rig.truth(),
        starved: 0,
        back: 0.0,
        warnings: Vec::new(),
    };
    let start = clock.now();
    let mut sent = [rig.pose(); 3];
    for tick in 0..(seconds * schedule.fps) as usize {
        let since = tick as f32 / schedule.fps;
        let state = arm.read_state().unwrap();
        if coming.is_none() && queue.actions.len() <= schedule.low {
            let observation = Observation {
                state: state.0.to_vec(),
                task: words(since),
                ..Observation::default()
            };
            let rtc =
                (schedule.rtc && !queue.actions.is_empty()).then(|| guidance(&queue, schedule));
            let options = PredictOptions {
                rtc,
                period: Duration::from_secs_f32(1.0 / schedule.fps),
                ..PredictOptions::default()
            };
            let chunk = expert.predict_action_chunk(&observation, &options).unwrap();
            landing.warnings.extend(chunk.warnings);
            landing.warnings.dedup();
            let rows = chunk.actions.iter().take(schedule.kept);
            coming = Some(Coming {
                due: tick + schedule.latency,
                consumed: queue.consumed,
                actions: rows.filter_map(|row| JointVec::from_slice(row)).collect(),
                normalized: chunk.actions_normalized,
            });
        }
        if let Some(coming) = coming.take_if(|coming| coming.due <= tick) {
            queue.merge(coming, schedule.rtc);
        }
        let action = queue.take();
        landing.starved += usize::from(action.is_none() && queue.consumed > 0);
        let goal = arm.send_action(action.unwrap_or(sent[2])).unwrap();
        sent = [sent[1], sent[2], goal];
        landing.back += back(sent);
        disturb(&rig, since);
        let end = start + Duration::from_secs_f32((tick + 1) as f32 / schedule.fps);
        while clock.now() < end {
            clock.sleep_until(end.min(clock.now() + Duration::from_millis(12)));
            rig.advance();
            let verdict = referee.watch(&rig.truth());
            landing.stage = verdict.stage;
            if verdict.is_done && landing.done_after.is_none() {
                landing.done_after = Some(clock.now().saturating_sub(start));
            }
        }
        landing.last = rig.truth();
        if landing.done_after.is_some() {
            break;
        }
    }
    landing
}

/// A driver with torque on.
fn armed(rig: &SimArm) -> Arm {
    let mut arm = rig.connect(Options::default()).unwrap();
    arm.begin_arming();
    while let TorqueStep::Going(_) = arm.advance_torque().unwrap() {
        rig.clock().advance(Duration::from_millis(10));
    }
    arm
}

fn guidance(queue: &Queue, schedule: Schedule) -> RtcGuidance {
    let rtc = RtcGuidance {
        left_over: queue.actions.iter().map(|(_, row)| row.clone()).collect(),
        inference_delay: schedule.latency.min(queue.actions.len()),
        execution_horizon: 10,
        max_guidance_weight: 10.0,
        schedule: RtcSchedule::Linear,
    };
    rtc.extended()
}

/// How far the last step goes back against the one before.
fn back([first, second, third]: [JointVec; 3]) -> f32 {
    (0..5)
        .map(|k| (second.0[k] - first.0[k], third.0[k] - second.0[k]))
        .filter(|(before, after)| before * after < 0.0)
        .map(|(before, after)| before.abs().min(after.abs()))
        .sum()
}
