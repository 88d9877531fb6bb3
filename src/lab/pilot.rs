//! Who flies in the lab: the scripted expert, or any policy that can be loaded.

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::lab::flight::Error;
use crate::lab::seat::shared;
use crate::latest::Latest;
use crate::observation::{Frame, Observation};
use crate::policy::{LoadRequest, Policy, PolicySpec, PredictOptions};
use crate::runtime::{EXPERT, LatencyModel, PolicyLoader};
use crate::sim::{Expert, SimArm, Truth};

/// Chunks that are measured, after one that is not: the first compiles and tunes.
const CHUNKS: usize = 12;
/// Edges of the picture that a policy is measured with.
const SIZE: (u32, u32) = (640, 480);

/// The policy under test.
#[derive(Clone)]
pub enum Pilot {
    /// The scripted expert, which knows the truth about the table and answers at once; the latency is the lab's.
    Expert,
    /// A policy that sees.
    Loaded {
        loader: PolicyLoader,
        load: LoadRequest,
    },
}

impl fmt::Debug for Pilot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pilot").field(&self.name()).finish()
    }
}

impl Pilot {
    /// A policy that is loaded once, when it is first flown, and shared by all flights.
    pub fn loaded(loader: PolicyLoader, load: LoadRequest) -> Self {
        Self::Loaded {
            loader: shared(loader, load.clone()),
            load,
        }
    }

    /// Whether it looks at the pictures; the expert does not.
    pub fn sees(&self) -> bool {
        matches!(self, Self::Loaded { .. })
    }

    /// As the operator named it.
    pub fn name(&self) -> &str {
        match self {
            Self::Expert => EXPERT,
            Self::Loaded { load, .. } => &load.source,
        }
    }

    /// What the runtime is told to load.
    pub fn load(&self) -> LoadRequest {
        match self {
            Self::Expert => LoadRequest {
                source: EXPERT.to_owned(),
                stats: None,
            },
            Self::Loaded { load, .. } => load.clone(),
        }
    }

    /// What loads it to fly this arm.
    pub fn loader(&self, arm: &SimArm) -> PolicyLoader {
        match self {
            Self::Expert => {
                let truth = arm.truth_feed();
                Arc::new(move |_, _| Ok(Box::new(Expert::new(truth.clone()))))
            }
            Self::Loaded { loader, .. } => Arc::clone(loader),
        }
    }
}

impl Pilot {
    /// What a chunk takes on this machine: a few are computed on a thread of their own.
    ///
    /// # Errors
    /// The policy cannot be loaded, or does not answer.
    pub fn measure(&self, num_steps: usize) -> Result<LatencyModel, Error> {
        let loader = match self {
            Self::Expert => {
                let truth = Latest::<Truth>::new();
                truth.set(Truth::default());
                let expert: PolicyLoader =
                    Arc::new(move |_, _| Ok(Box::new(Expert::new(truth.clone()))));
                expert
            }
            Self::Loaded { loader, .. } => Arc::clone(loader),
        };
        let load = self.load();
        let measure = move || {
            let policy = loader(&load, &mut |_| {}).map_err(|refusal| refusal.why);
            policy.and_then(|mut policy| chunk_times(policy.as_mut(), num_steps))
        };
        let thread = thread::Builder::new().name("lab-measure".to_owned());
        let times = thread.spawn(measure)?.join();
        let times = times.map_err(|_panic| Error::Fallen("measuring the latency".to_owned()))?;
        let times = times.map_err(Error::TakeOff)?.into();
        Ok(LatencyModel::Measured { times, seed: 0 })
    }
}

fn chunk_times(policy: &mut dyn Policy, num_steps: usize) -> Result<Vec<Duration>, String> {
    let observation = grey(policy.spec());
    let options = PredictOptions {
        num_steps: Some(num_steps),
        ..PredictOptions::default()
    };
    let mut times = vec![];
    for _ in 0..=CHUNKS {
        let began = Instant::now();
        let chunk = policy.predict_action_chunk(&observation, &options);
        chunk.map_err(|error| format!("{error:#}"))?;
        times.push(began.elapsed());
    }
    times.remove(0);
    Ok(times)
}

/// An observation that shows nothing, in the shape of those to come.
fn grey(spec: &PolicySpec) -> Observation {
    let (width, height) = SIZE;
    let pixels: Arc<[u8]> = vec![127; (width * height * 3) as usize].into();
    let picture = |view: &String| {
        let frame = Frame::new(width, height, Arc::clone(&pixels), 0, Duration::ZERO);
        frame.map(|frame| (view.clone(), frame))
    };
    Observation {
        images: spec.views.iter().filter_map(picture).collect(),
        state: vec![0.0; spec.state_dim],
        task: "measure".to_owned(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::policy::{Prediction, Refusal};

    const CHUNK: usize = 50;

    /// Lets the pan swing to and fro a little about the start pose, whatever it sees. A pose that was measured would sag a
    /// little more with every chunk.
    struct Waving {
        spec: PolicySpec,
        phase: f32,
    }

    impl Policy for Waving {
        fn spec(&self) -> &PolicySpec {
            &self.spec
        }

        fn predict_action_chunk(
            &mut self,
            _observation: &Observation,
            _options: &PredictOptions,
        ) -> anyhow::Result<Prediction> {
            self.phase += 1.0;
            let action = |k: usize| {
                let pan = 3.0 * (self.phase + k as f32 / 10.0).sin();
                vec![pan, -50.0, 50.0, 50.0, 0.0, 20.0]
            };
            let actions: Vec<_> = (0..CHUNK).map(action).collect();
            Ok(Prediction {
                actions_normalized: actions.clone(),
                actions,
                ..Prediction::default()
            })
        }
    }

    /// A policy that waves.
    pub fn waving() -> Pilot {
        let spec = PolicySpec {
            name: "waving".to_owned(),
            views: ["observation.images.front", "observation.images.wrist"]
                .map(str::to_owned)
                .to_vec(),
            state_dim: 6,
            action_dim: 6,
            chunk_size: CHUNK,
            ..PolicySpec::default()
        };
        Pilot::Loaded {
            loader: Arc::new(move |_, _| {
                let (spec, phase) = (spec.clone(), 0.0);
                Ok(Box::new(Waving { spec, phase }))
            }),
            load: LoadRequest::default(),
        }
    }

    /// A policy that cannot be loaded.
    pub fn broken() -> Pilot {
        Pilot::Loaded {
            loader: Arc::new(|_, _| {
                Err(Refusal {
                    why: "model.safetensors lacks model.vlm.x".to_owned(),
                    stats: vec![],
                })
            }),
            load: LoadRequest::default(),
        }
    }

    #[test]
    fn a_policy_is_measured_without_its_first_chunk() {
        let model = waving().measure(10).unwrap();
        assert!(matches!(model, LatencyModel::Measured { times, .. } if times.len() == CHUNKS));
        let why = broken().measure(10).unwrap_err().to_string();
        assert!(why.contains("model.safetensors"), "{why}");
    }
}
