//! A policy that many flights share: it is loaded once, on a thread that alone touches its tensors, and answers whoever asks.

use std::sync::{Arc, OnceLock};
use std::thread;

use crossbeam_channel::{Sender, bounded};

use crate::observation::Observation;
use crate::policy::{LoadRequest, Policy, PolicySpec, PredictOptions, Prediction, Refusal};
use crate::runtime::PolicyLoader;

/// Flights that may wait for an answer at the same time.
const WAITING: usize = 64;

struct Question {
    observation: Observation,
    options: PredictOptions,
    answer: Sender<anyhow::Result<Prediction>>,
}

/// A flight's end of the shared policy.
#[derive(Clone)]
struct Seat {
    spec: Arc<PolicySpec>,
    asks: Sender<Question>,
}

/// A loader that loads `load` with `loader` when it is first called, and shares what came of it. The policy lives as long as
/// the loader that is returned, and as anybody who got it from there.
pub fn shared(loader: PolicyLoader, load: LoadRequest) -> PolicyLoader {
    let seat: OnceLock<Result<Seat, Refusal>> = OnceLock::new();
    Arc::new(move |_, _| {
        let seat = seat.get_or_init(|| start(Arc::clone(&loader), load.clone()));
        let seat = seat.clone()?;
        Ok(Box::new(seat))
    })
}

fn refusal(why: String) -> Refusal {
    let stats = vec![];
    Refusal { why, stats }
}

fn start(loader: PolicyLoader, load: LoadRequest) -> Result<Seat, Refusal> {
    let (asks, asked) = bounded::<Question>(WAITING);
    let (loaded, spec) = bounded(1);
    let serve = move || {
        let mut policy = match loader(&load, &mut |progress| log::debug!("{}", progress.stage)) {
            Ok(policy) => policy,
            Err(refusal) => {
                // Whoever waited for it may be gone.
                loaded.send(Err(refusal)).ok();
                return;
            }
        };
        if loaded.send(Ok(policy.spec().clone())).is_err() {
            return;
        }
        for question in &asked {
            let answer = policy.predict_action_chunk(&question.observation, &question.options);
            question.answer.send(answer).ok();
        }
    };
    let thread = thread::Builder::new().name("lab-policy".to_owned());
    let spawned = thread.spawn(serve);
    spawned.map_err(|error| refusal(format!("the policy's thread cannot be started: {error}")))?;
    let spec = spec.recv().unwrap_or_else(|_| {
        let why = "the policy fell over while it was loaded".to_owned();
        Err(refusal(why))
    })?;
    let spec = Arc::new(spec);
    Ok(Seat { spec, asks })
}

impl Policy for Seat {
    fn spec(&self) -> &PolicySpec {
        &self.spec
    }

    fn predict_action_chunk(
        &mut self,
        observation: &Observation,
        options: &PredictOptions,
    ) -> anyhow::Result<Prediction> {
        let (answer, answered) = bounded(1);
        let question = Question {
            observation: observation.clone(),
            options: options.clone(),
            answer,
        };
        let gone = || anyhow::anyhow!("the shared policy has fallen over");
        self.asks.send(question).map_err(|_unasked| gone())?;
        answered.recv().map_err(|_closed| gone())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::pilot::Pilot;
    use crate::lab::pilot::tests::{broken, waving};

    fn parts(pilot: Pilot) -> (PolicyLoader, LoadRequest) {
        match pilot {
            Pilot::Loaded { loader, load } => (loader, load),
            Pilot::Expert => unreachable!("the tests' pilots are loaded"),
        }
    }

    #[test]
    fn two_flights_ask_one_policy() {
        let (loader, load) = parts(waving());
        let shared = shared(loader, load.clone());
        let mut seats = [(); 2].map(|()| shared(&load, &mut |_| {}).unwrap());
        let observation = Observation {
            state: vec![0.0; 6],
            ..Observation::default()
        };
        let mut first_pan = |at: usize| {
            let options = PredictOptions::default();
            let chunk = seats[at].predict_action_chunk(&observation, &options);
            chunk.unwrap().actions[0][0]
        };
        let pans = [first_pan(0), first_pan(1)];
        // It waves on from question to question, whoever asks.
        assert!((pans[0] - 3.0 * 1_f32.sin()).abs() < 1e-5, "{pans:?}");
        assert!((pans[1] - 3.0 * 2_f32.sin()).abs() < 1e-5, "{pans:?}");
    }

    #[test]
    fn a_refusal_is_shared_too() {
        let (loader, load) = parts(broken());
        let shared = shared(loader, load.clone());
        for _ in 0..2 {
            let refused = shared(&load, &mut |_| {}).err().unwrap();
            assert!(refused.why.contains("model.safetensors"));
        }
    }
}
