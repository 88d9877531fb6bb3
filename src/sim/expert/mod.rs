//! A policy without a network: it sees the truth about the simulated table, plans with inverse kinematics, and answers an
//! observation with a chunk as a network would. It shows what the control stack does to a plan that is known to be good.

mod course;
mod draft;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod flight;
mod grasp;
mod path;
mod plan;
#[cfg(test)]
mod tests;
mod tip;

use std::time::Instant;

use crate::action::Action;
use crate::joint::{JOINT_COUNT, Joint, JointVec};
use crate::latest::Latest;
use crate::observation::Observation;
use crate::policy::{Policy, PolicySpec, PredictOptions, Prediction, RtcGuidance, StageTimes, rtc};
use crate::sim::expert::course::{Committed, Course};
use crate::sim::expert::path::Departure;
use crate::sim::{Task, Truth};

/// What people call it.
pub const NAME: &str = "scripted expert";
/// Actions in a chunk.
const CHUNK: usize = 50;
/// Views that it asks for, so that it is asked as a network would be; it does not look at them.
const VIEWS: [&str; 2] = ["observation.images.front", "observation.images.wrist"];
/// Robot units at 0 and at 1 of the normalised space.
const MIDDLE: JointVec = JointVec([0.0, 0.0, 0.0, 0.0, 0.0, 50.0]);
const SPAN: JointVec = JointVec([100.0, 100.0, 100.0, 100.0, 160.0, 50.0]);

/// The scripted expert as a policy. A function of what it has seen and been asked so far, and of nothing else.
pub struct Expert {
    spec: PolicySpec,
    truth: Latest<Truth>,
    course: Course,
}

impl Expert {
    /// An expert for the table whose truth is in `truth`. Its actions are as far apart as [`PredictOptions::period`] says.
    pub fn new(truth: Latest<Truth>) -> Self {
        let spec = PolicySpec {
            name: NAME.to_owned(),
            views: VIEWS.map(str::to_owned).to_vec(),
            state_dim: JOINT_COUNT,
            state_names: Joint::ALL.map(|joint| format!("{joint}.pos")).to_vec(),
            action_dim: JOINT_COUNT,
            max_action_dim: JOINT_COUNT,
            chunk_size: CHUNK,
            n_action_steps: CHUNK,
            num_steps: 1,
            device: "rules, no network".to_owned(),
            device_why: "it plans with inverse kinematics on the processor".to_owned(),
            precision: "f32".to_owned(),
            plans_with_truth: true,
            warnings: vec![
                "the scripted expert sees the simulator's truth, which no camera shows: it works on the simulated table only"
                    .to_owned(),
            ],
            ..PolicySpec::default()
        };
        Self {
            spec,
            truth,
            course: Course::default(),
        }
    }

    /// The chunk for a state, and what is to be said about it.
    fn chunk(
        &mut self,
        state: JointVec,
        task: &str,
        options: &PredictOptions,
    ) -> (Vec<Action>, Option<String>) {
        let holds = |why: String| (vec![state; CHUNK], Some(why));
        let Some(truth) = self.truth.get() else {
            return holds("the simulated table has not told yet how it is".to_owned());
        };
        // What it does understand is said where tasks are typed.
        let Ok(task) = task.parse::<Task>() else {
            return holds(format!(
                "it holds: \"{task}\" is no task of the simulated table"
            ));
        };
        let (rtc, period) = (options.rtc.as_ref(), options.period.as_secs_f32());
        let left_over = rtc.map_or_else(Vec::new, left_over);
        let committed = rtc.and_then(|rtc| committed(&left_over, rtc.inference_delay, period));
        let now = self.course.look(task, &truth, state, committed);
        let Some(plan) = self.course.plan() else {
            return holds("there is no plan".to_owned());
        };
        let planned = (0..CHUNK).map(|k| plan.path.command(now + k as f32 * period));
        let weights = rtc.map_or_else(
            || vec![0.0; CHUNK],
            |rtc| {
                rtc::weights(
                    rtc.schedule,
                    rtc.inference_delay,
                    rtc.execution_horizon,
                    CHUNK,
                )
            },
        );
        let guided = planned
            .enumerate()
            .map(|(k, action)| match left_over.get(k) {
                Some(old) => action.zip(*old, |new, old| new + weights[k] * (old - new)),
                None => action,
            });
        (guided.collect(), plan.warning.clone())
    }
}

impl Policy for Expert {
    fn spec(&self) -> &PolicySpec {
        &self.spec
    }

    fn predict_action_chunk(
        &mut self,
        observation: &Observation,
        options: &PredictOptions,
    ) -> anyhow::Result<Prediction> {
        let began = Instant::now();
        let state = JointVec::from_slice(&observation.state).filter(|state| state.is_finite()).ok_or_else(|| {
            anyhow::anyhow!(
                "the scripted expert needs the state of {JOINT_COUNT} joints as numbers, and got {:?}",
                observation.state
            )
        })?;
        let (actions, warning) = self.chunk(state, &observation.task, options);
        Ok(Prediction {
            actions_normalized: actions
                .iter()
                .map(|action| normalized(*action).0.to_vec())
                .collect(),
            actions: actions.iter().map(|action| action.0.to_vec()).collect(),
            times: StageTimes {
                total: began.elapsed(),
                ..StageTimes::default()
            },
            warnings: warning.into_iter().collect(),
        })
    }
}

fn normalized(action: Action) -> JointVec {
    JointVec::from_fn(|joint| (action[joint] - MIDDLE[joint]) / SPAN[joint])
}

/// What is left of the chunk before, robot units.
fn left_over(rtc: &RtcGuidance) -> Vec<Action> {
    let rows = rtc
        .left_over
        .iter()
        .filter_map(|row| JointVec::from_slice(row.get(..JOINT_COUNT)?));
    rows.map(|row| JointVec::from_fn(|joint| MIDDLE[joint] + SPAN[joint] * row[joint]))
        .collect()
}

/// Where the arm will be, and how fast, when a chunk that is asked for now arrives.
fn committed(left_over: &[Action], delay: usize, period: f32) -> Option<Committed> {
    let joints = *left_over.get(delay.min(left_over.len().saturating_sub(1)))?;
    let before = left_over
        .get(delay.saturating_sub(1))
        .copied()
        .unwrap_or(joints);
    let speeds = joints.zip(before, |joints, before| (joints - before) / period);
    Some(Committed {
        time: delay as f32 * period,
        departure: Departure { joints, speeds },
    })
}

/// The expert as a demonstrator: a goal for each tick instead of chunks, for recording episodes.
pub struct Demonstrator {
    course: Course,
    task: Task,
}

impl Demonstrator {
    /// One that shows how this task is done.
    pub fn new(task: Task) -> Self {
        Self {
            course: Course::default(),
            task,
        }
    }

    /// Where the arm is to go now, robot units, from what is so and from the joints' state.
    pub fn goal(&mut self, truth: &Truth, state: JointVec) -> Action {
        let now = self.course.look(self.task, truth, state, None);
        self.course
            .plan()
            .map_or(state, |plan| plan.path.command(now))
    }

    /// What keeps it from going on, if anything.
    pub fn warning(&self) -> Option<&str> {
        self.course.plan()?.warning.as_deref()
    }
}
