//! A policy against a recorded episode, open loop: what it would have done at some of the rows, and how far that is from what was done.
//!
//! The arm that was recorded does not follow the policy, so that small errors do not add up here as they do in flight: a policy that
//! compares well may still fail, one that compares badly has no chance.

use std::ops::ControlFlow;
use std::time::Duration;

use serde::Serialize;

use crate::action::Action;
use crate::dataset::read::Rows;
use crate::dataset::schema::Feature;
use crate::dataset::schema::columns::{ACTION, STATE};
use crate::dataset::{self, Dataset};
use crate::joint::{JOINT_COUNT, Joint, JointVec};
use crate::observation::Observation;
use crate::policy::{Noise, Policy, PolicySpec, PredictOptions};
use crate::runtime::{CameraStatus, CameraView, ViewBinding, guess_views};

/// Why nothing can be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// This policy and this data set do not fit together.
    #[error("{0}")]
    Unfit(String),
    /// The policy gave no answer.
    #[error("the policy gave no chunk for row {row}: {why}")]
    Policy { row: usize, why: String },
    /// Nobody wants the answer any more.
    #[error("cancelled")]
    Cancelled,
}

/// What is to be compared.
#[derive(Clone, Debug)]
pub struct Question {
    pub episode: usize,
    /// The policy is asked at every so many rows.
    pub every: usize,
    /// Which camera feeds which view; what is not said is guessed as in flight.
    pub views: Vec<ViewBinding>,
    /// Of the policy's noise.
    pub seed: u64,
}

/// A chunk that the policy gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// It saw this row.
    pub row: usize,
    /// What it would have done at this row and those that follow, robot units, `[step][joint]`.
    pub actions: Vec<Vec<f32>>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    pub policy: String,
    pub dataset: String,
    pub episode: usize,
    pub fps: f64,
    pub every: usize,
    /// Names of the joints.
    pub names: Vec<String>,
    /// What was done, robot units, `[row][joint]`.
    pub recorded: Vec<Vec<f32>>,
    pub asked: Vec<Asked>,
    /// Mean absolute difference of prediction and record by joint, robot units.
    pub by_joint: Vec<f32>,
    /// The same of an arm that stays where it was when the policy was asked: what is to be beaten.
    pub by_joint_held: Vec<f32>,
    /// The same as `by_joint` by step ahead, `[step][joint]`; shorter than a chunk where no row lies that far ahead.
    pub by_step: Vec<Vec<f32>>,
    /// Mean time of a chunk, seconds.
    pub chunk_s: f64,
    /// Which camera fed which view.
    pub views: Vec<(String, Option<String>)>,
    /// What was odd.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// The chunks as the window draws them; empty for an arm with other joints.
    pub fn predictions(&self) -> Vec<(usize, Vec<Action>)> {
        let chunk = |asked: &Asked| {
            let actions = asked.actions.iter().map(|it| JointVec::from_slice(it));
            Some((asked.row, actions.collect::<Option<Vec<_>>>()?))
        };
        self.asked.iter().filter_map(chunk).collect()
    }

    /// `by_joint` of an SO-101.
    pub fn error(&self) -> Option<JointVec> {
        JointVec::from_slice(&self.by_joint)
    }
}

/// Asks a policy at rows of a recorded episode. `progress` hears the share and says whether to go on.
///
/// # Errors
/// The episode cannot be read, the policy does not fit the data set's joints or plans with the truth, or gives no answer.
pub fn compare(
    dataset: &mut Dataset,
    policy: &mut dyn Policy,
    question: &Question,
    progress: &mut dyn FnMut(f32) -> ControlFlow<()>,
) -> Result<Comparison, CompareError> {
    let spec = policy.spec().clone();
    let record = Record::of(dataset, question.episode)?;
    record.fits(&spec)?;
    let views = bound(dataset, &spec, question)?;
    let options = PredictOptions {
        noise: Noise::Seed(question.seed),
        period: Duration::from_secs_f64(1.0 / dataset.fps()),
        ..PredictOptions::default()
    };
    let mut found = Comparison {
        policy: spec.name.clone(),
        dataset: dataset.name(),
        episode: question.episode,
        fps: dataset.fps(),
        every: question.every.max(1),
        names: record.names(dataset),
        warnings: spec.warnings.clone(),
        ..Comparison::default()
    };
    let mut time = Duration::ZERO;
    for row in (0..record.actions.len()).step_by(found.every) {
        if progress(row as f32 / record.actions.len() as f32).is_break() {
            return Err(CompareError::Cancelled);
        }
        let mut images = vec![];
        for (view, camera) in &views {
            if let Some(camera) = camera {
                let frame = dataset.frame(question.episode, camera, row)?;
                images.push((view.clone(), frame));
            }
        }
        let observation = Observation {
            images,
            state: record.states[row].clone(),
            task: record.task(dataset, row),
        };
        let prediction = policy
            .predict_action_chunk(&observation, &options)
            .map_err(|why| CompareError::Policy {
                row,
                why: format!("{why:#}"),
            })?;
        time += prediction.times.total;
        for warning in prediction.warnings {
            if !found.warnings.contains(&warning) {
                found.warnings.push(warning);
            }
        }
        found.asked.push(Asked {
            row,
            actions: prediction.actions,
        });
    }
    found.chunk_s = time.as_secs_f64() / found.asked.len().max(1) as f64;
    found.views = views;
    measure(&mut found, &record);
    found.recorded = record.actions;
    Ok(found)
}

/// Which camera of the data set feeds which view of the policy.
fn bound(
    dataset: &Dataset,
    spec: &PolicySpec,
    question: &Question,
) -> Result<Vec<(String, Option<String>)>, CompareError> {
    let camera = |camera: &dataset::read::Camera| CameraView {
        name: camera.name.clone(),
        source: camera.key.clone(),
        frame: None,
        age: None,
        rate_hz: dataset.fps() as f32,
        status: CameraStatus::Live,
    };
    let cameras: Vec<_> = dataset.cameras().iter().map(camera).collect();
    let bindings = guess_views(&spec.views, &cameras, &question.views);
    if !spec.views.is_empty() && bindings.iter().all(|binding| binding.camera.is_none()) {
        return Err(CompareError::Unfit(format!(
            "{} looks at {}, and the data set has no camera for it",
            spec.name,
            spec.views.join(", ")
        )));
    }
    let pairs = bindings
        .into_iter()
        .map(|binding| (binding.view, binding.camera));
    Ok(pairs.collect())
}

/// What was recorded of an episode.
struct Record {
    /// `[row][joint]`.
    states: Vec<Vec<f32>>,
    actions: Vec<Vec<f32>>,
    tasks: Vec<usize>,
}

impl Record {
    fn of(dataset: &Dataset, episode: usize) -> Result<Self, dataset::Error> {
        let rows = dataset.rows(episode)?;
        Ok(Self {
            states: values(&rows, STATE)?,
            actions: values(&rows, ACTION)?,
            tasks: rows.task_indices(),
        })
    }

    fn fits(&self, spec: &PolicySpec) -> Result<(), CompareError> {
        if spec.plans_with_truth {
            return Err(CompareError::Unfit(format!(
                "{} plans with where things truly were on the simulated table, which a data set does not hold: compare a policy that sees \
                 pictures",
                spec.name
            )));
        }
        let width = |rows: &[Vec<f32>]| rows.first().map_or(0, Vec::len);
        let (state, action) = (width(&self.states), width(&self.actions));
        if (state, action) != (spec.state_dim, spec.action_dim) {
            return Err(CompareError::Unfit(format!(
                "{} takes a state of {} values and gives actions of {}; the data set has {state} and {action}",
                spec.name, spec.state_dim, spec.action_dim
            )));
        }
        Ok(())
    }

    fn names(&self, dataset: &Dataset) -> Vec<String> {
        let width = self.actions.first().map_or(0, Vec::len);
        let named = dataset.info().features.get(ACTION).map(Feature::labels);
        let named = named.filter(|names| names.len() == width);
        let names = named.unwrap_or_else(|| match width {
            JOINT_COUNT => Joint::ALL.map(|joint| joint.to_string()).to_vec(),
            _ => (0..width).map(|at| format!("action_{at}")).collect(),
        });
        let plain = |name: String| name.trim_end_matches(".pos").to_owned();
        names.into_iter().map(plain).collect()
    }

    fn task(&self, dataset: &Dataset, row: usize) -> String {
        let index = self.tasks.get(row);
        let task = index.and_then(|index| dataset.tasks().get(*index));
        task.cloned().unwrap_or_default()
    }
}

/// A column as rows of values.
fn values(rows: &Rows, name: &str) -> Result<Vec<Vec<f32>>, dataset::Error> {
    let column = rows.column(name)?;
    let numbers = column.values.floats().unwrap_or_default();
    let row = |row: &[f64]| row.iter().map(|&value| value as f32).collect();
    Ok(numbers.chunks_exact(column.width.max(1)).map(row).collect())
}

/// Differences by joint and by step.
fn measure(found: &mut Comparison, record: &Record) {
    let width = found.names.len();
    let longest = found.asked.iter().map(|asked| asked.actions.len()).max();
    let mut by_step = vec![Mean::new(width); longest.unwrap_or(0)];
    let (mut whole, mut held) = (Mean::new(width), Mean::new(width));
    for asked in &found.asked {
        let ahead = &record.actions[asked.row..];
        for ((step, action), truth) in asked.actions.iter().enumerate().zip(ahead) {
            by_step[step].add(action, truth);
            whole.add(action, truth);
            held.add(&record.states[asked.row], truth);
        }
    }
    found.by_joint = whole.values();
    found.by_joint_held = held.values();
    found.by_step = by_step
        .iter()
        .filter(|it| it.count > 0)
        .map(Mean::values)
        .collect();
}

/// A mean absolute difference, joint by joint.
#[derive(Clone, Debug)]
struct Mean {
    sums: Vec<f64>,
    count: usize,
}

impl Mean {
    fn new(width: usize) -> Self {
        Self {
            sums: vec![0.0; width],
            count: 0,
        }
    }

    fn add(&mut self, a: &[f32], b: &[f32]) {
        for ((sum, a), b) in self.sums.iter_mut().zip(a).zip(b) {
            *sum += f64::from((a - b).abs());
        }
        self.count += 1;
    }

    fn values(&self) -> Vec<f32> {
        let mean = |sum: &f64| (sum / self.count.max(1) as f64) as f32;
        self.sums.iter().map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Prediction;

    fn record() -> Record {
        let row = |at: u8| vec![f32::from(at), 10.0];
        Record {
            states: (0..10u8).map(|at| vec![f32::from(at), 8.0]).collect(),
            actions: (0..10).map(row).collect(),
            tasks: vec![0; 10],
        }
    }

    /// Holds still, and keeps what it was shown.
    struct Still {
        spec: PolicySpec,
        seen: Vec<(u32, String)>,
    }

    impl Policy for Still {
        fn spec(&self) -> &PolicySpec {
            &self.spec
        }

        fn predict_action_chunk(
            &mut self,
            observation: &Observation,
            _: &PredictOptions,
        ) -> anyhow::Result<Prediction> {
            let width = observation
                .images
                .first()
                .map_or(0, |(_, frame)| frame.width);
            self.seen.push((width, observation.task.clone()));
            Ok(Prediction {
                actions: vec![observation.state.clone(); 20],
                ..Prediction::default()
            })
        }
    }

    #[test]
    fn a_policy_is_shown_what_was_recorded_and_its_stillness_is_the_yardstick() {
        let root =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lerobot_sample");
        let mut dataset = Dataset::open(root).unwrap();
        let mut policy = Still {
            spec: PolicySpec {
                name: "still".to_owned(),
                views: vec!["observation.images.camera1".to_owned()],
                state_dim: 6,
                action_dim: 6,
                ..PolicySpec::default()
            },
            seen: vec![],
        };
        let question = Question {
            episode: 3,
            every: 12,
            views: vec![],
            seed: 0,
        };
        let mut on = |_| ControlFlow::Continue(());
        let found = compare(&mut dataset, &mut policy, &question, &mut on).unwrap();
        let rows: Vec<usize> = found.asked.iter().map(|asked| asked.row).collect();
        assert_eq!((rows, found.recorded.len()), (vec![0, 12, 24], 30));
        assert_eq!(found.views[0].1.as_deref(), Some("front"));
        let task = dataset.episode(3).unwrap().tasks[0].clone();
        assert_eq!(policy.seen, vec![(640, task); 3]);
        assert_eq!(found.by_joint, found.by_joint_held);
        assert_eq!((found.by_step.len(), found.names.len()), (20, 6));
        let mut stop = |_| ControlFlow::Break(());
        let cancelled = compare(&mut dataset, &mut policy, &question, &mut stop);
        assert!(matches!(cancelled, Err(CompareError::Cancelled)));
    }

    #[test]
    fn errors_are_told_by_joint_and_by_step_and_end_with_the_record() {
        let record = record();
        // The first joint stays at what was seen, the second is two too high.
        let chunk = |row: usize| Asked {
            row,
            actions: vec![vec![row as f32, 12.0]; 4],
        };
        let mut found = Comparison {
            names: vec!["pan".to_owned(), "lift".to_owned()],
            asked: vec![chunk(0), chunk(8)],
            ..Comparison::default()
        };
        measure(&mut found, &record);
        // Of the chunk at row 8 two steps lie in the record.
        assert_eq!(
            found.by_step,
            [[0.0, 2.0], [1.0, 2.0], [2.0, 2.0], [3.0, 2.0]]
        );
        let mean = (0.0 + 1.0 + 2.0 + 3.0 + 0.0 + 1.0) / 6.0;
        assert!(
            (found.by_joint[0] - mean).abs() < 1e-6,
            "{:?}",
            found.by_joint
        );
        assert_eq!(
            (found.by_joint[1], found.by_joint_held),
            (2.0, vec![mean, 2.0])
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_in_words() {
        let spec = |plans_with_truth, action_dim| PolicySpec {
            name: "some".to_owned(),
            state_dim: 2,
            action_dim,
            plans_with_truth,
            ..PolicySpec::default()
        };
        assert!(record().fits(&spec(false, 2)).is_ok());
        let why = record().fits(&spec(true, 2)).unwrap_err().to_string();
        assert!(why.contains("sees pictures"), "{why}");
        let why = record().fits(&spec(false, 6)).unwrap_err().to_string();
        assert!(
            why.contains("actions of 6") && why.contains("2 and 2"),
            "{why}"
        );
    }

    #[test]
    fn chunks_of_an_so101_are_given_to_the_window() {
        let mut found = Comparison {
            asked: vec![Asked {
                row: 3,
                actions: vec![vec![1.0; 6]; 2],
            }],
            by_joint: vec![0.5; 6],
            ..Comparison::default()
        };
        assert_eq!(found.predictions(), [(3, vec![JointVec([1.0; 6]); 2])]);
        assert_eq!(found.error(), Some(JointVec([0.5; 6])));
        found.asked[0].actions[1].pop();
        assert!(found.predictions().is_empty());
    }
}
