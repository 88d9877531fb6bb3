//! A policy that does what the test says, at once, while the runtime runs.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use smolpilot::joint::JointVec;
use smolpilot::latest::Latest;
use smolpilot::observation::Observation;
use smolpilot::policy::{LoadRequest, Policy, PolicySpec, PredictOptions, Prediction, Refusal};
use smolpilot::runtime::PolicyLoader;

/// What the policy does with the next request.
#[derive(Clone, Debug, PartialEq)]
pub enum Mood {
    /// Every action of the chunk is this pose.
    Pose(JointVec),
    Errs,
    /// Does not answer until the mood changes.
    Hangs,
    Panics,
}

pub const CHUNK: usize = 50;

struct Scripted {
    spec: PolicySpec,
    mood: Latest<Mood>,
    seen: Latest<Observation>,
    warm: bool,
}

/// A loader of scripted policies, with one view `observation.images.front`.
///
/// `seen` shows the newest observation that a policy was asked with.
pub fn loader(mood: &Latest<Mood>, seen: &Latest<Observation>) -> PolicyLoader {
    let (mood, seen) = (mood.clone(), seen.clone());
    Arc::new(move |load: &LoadRequest, _progress| {
        if load.source == "broken" {
            return Err(Refusal {
                why: "model.safetensors lacks model.vlm.x".to_owned(),
                stats: vec![],
            });
        }
        Ok(Box::new(Scripted {
            spec: PolicySpec {
                name: "scripted".to_owned(),
                views: vec!["observation.images.front".to_owned()],
                state_dim: 6,
                action_dim: 6,
                chunk_size: CHUNK,
                ..PolicySpec::default()
            },
            mood: mood.clone(),
            seen: seen.clone(),
            warm: false,
        }))
    })
}

impl Policy for Scripted {
    fn spec(&self) -> &PolicySpec {
        &self.spec
    }

    fn predict_action_chunk(
        &mut self,
        observation: &Observation,
        _options: &PredictOptions,
    ) -> anyhow::Result<Prediction> {
        // The first chunk is the runtime's warm-up.
        let asked = std::mem::replace(&mut self.warm, true);
        if asked {
            self.seen.set(observation.clone());
        }
        while asked && self.mood.get().as_deref() == Some(&Mood::Hangs) {
            thread::sleep(Duration::from_millis(5));
        }
        let mood = self.mood.get().filter(|_| asked);
        let pose = match mood.as_deref() {
            Some(Mood::Pose(pose)) => *pose,
            Some(Mood::Errs) => anyhow::bail!("the device is lost"),
            Some(Mood::Panics) => panic!("the network fell over"),
            Some(Mood::Hangs) | None => JointVec::default(),
        };
        let actions = vec![pose.0.to_vec(); CHUNK];
        Ok(Prediction {
            actions_normalized: actions.clone(),
            actions,
            ..Prediction::default()
        })
    }
}
