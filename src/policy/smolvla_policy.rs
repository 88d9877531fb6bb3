//! SmolVLA as the runtime sees it: an observation in robot units in, a chunk in robot units out.

use std::time::Instant;

use anyhow::{Context as _, anyhow};

use super::processor::Processor;
use super::smolvla::Trace;
use super::{Network, Policy, PolicySpec, PredictOptions, Prediction, StageTimes, noise};
use crate::observation::Observation;

/// A loaded checkpoint: the network, and all that is done around it.
#[derive(Debug)]
pub struct SmolVlaPolicy {
    spec: PolicySpec,
    processor: Processor,
    network: Network,
}

impl SmolVlaPolicy {
    /// Puts a network and its processor together.
    pub fn new(spec: PolicySpec, processor: Processor, network: Network) -> Self {
        Self {
            spec,
            processor,
            network,
        }
    }

    /// The network alone, for measurements.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The same, to run it: own kernels plan anew when sizes change.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// What surrounds it.
    pub fn processor(&self) -> &Processor {
        &self.processor
    }

    /// As [`Policy::predict_action_chunk`], showing every stage to `trace`.
    ///
    /// # Errors
    /// Those of [`Policy::predict_action_chunk`].
    pub fn predict_traced(
        &mut self,
        observation: &Observation,
        options: &PredictOptions,
        trace: &mut Trace,
    ) -> anyhow::Result<Prediction> {
        let start = Instant::now();
        let mut warnings = Vec::new();
        let count = self.spec.chunk_size * self.spec.max_action_dim;
        let noise = noise::values(&options.noise, count).map_err(|why| anyhow!(why))?;
        let input = self
            .processor
            .preprocess(observation, noise, &mut warnings)?;
        let preprocess = start.elapsed();

        let steps = options.num_steps.unwrap_or(self.spec.num_steps);
        let sample = self
            .network
            .sample_actions(&input, steps, options.rtc.as_ref(), trace)
            .context("the network gave no chunk")?;
        let actions_normalized = self.processor.normalized_actions(&sample.actions);
        let actions = actions_normalized
            .iter()
            .map(|action| self.processor.postprocess(action))
            .collect();
        Ok(Prediction {
            actions,
            actions_normalized,
            times: StageTimes {
                preprocess,
                vision: sample.vision,
                prefix: sample.prefix,
                denoise: sample.denoise,
                total: start.elapsed(),
            },
            warnings,
        })
    }
}

impl Policy for SmolVlaPolicy {
    fn spec(&self) -> &PolicySpec {
        &self.spec
    }

    fn predict_action_chunk(
        &mut self,
        observation: &Observation,
        options: &PredictOptions,
    ) -> anyhow::Result<Prediction> {
        self.predict_traced(observation, options, &mut Trace::off())
    }
}
