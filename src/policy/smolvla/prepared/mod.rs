//! SmolVLA as a GPU flies it: prepared launches of the house's own kernels on the device that Burn opened.
//!
//! The steps of the flow always run this way. What looks and reads before them, the `Vlm`, runs on Burn's network, and its keys and
//! values change hands on the device. `SmolVla` is the slow twin: every stage has the same name and the same values.

mod expert;
mod weights;

use std::time::{Duration, Instant};

use burn::tensor::{Device, Tensor};

use self::expert::PreparedExpert;
use self::weights::Packer;
use super::error::{NetworkError, Result};
use super::expert::Plan;
use super::prefix::{self, Prefix};
use super::trace;
use super::vlm::Vlm;
use super::weights::Weights;
use super::{Extent, Sample, Trace, check_architecture, finite};
use crate::gpu::bridge::{self, Lent};
use crate::gpu::compute::{Compute, Format, Sequence};
use crate::gpu::kernels::attention_suffix;
use crate::policy::{Architecture, NetworkInput, RtcGuidance, TensorSource};

/// A loaded network. Load, run and drop it on one thread.
#[derive(Debug)]
pub struct PreparedSmolVla {
    architecture: Architecture,
    compute: Compute,
    format: Format,
    vlm: Vlm,
    expert: PreparedExpert,
    parameters: u64,
    /// What the host took to encode and submit the last chunk's steps.
    denoise_host: Duration,
}

impl PreparedSmolVla {
    /// Reads what the actions depend on, tensor by tensor. `compute` is the same device as `device`.
    ///
    /// # Errors
    /// As `SmolVla::load`; sizes that the kernels do not take; numbers that `format` cannot hold.
    pub fn load(
        architecture: &Architecture,
        source: &dyn TensorSource,
        device: &Device,
        compute: &Compute,
        format: Format,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self> {
        check_architecture(architecture)?;
        check_sizes(architecture)?;
        let plan = Plan::new(architecture)?;
        let mut weights = Weights::new(source, device, progress);
        let mut packer = Packer {
            weights: &mut weights,
            compute,
            format,
        };
        let expert = PreparedExpert::load(&mut packer, architecture, plan)?;
        let vlm = Vlm::load(&mut weights, architecture, plan, Extent::Needed)?;
        let parameters = weights.elements_read();
        device.sync().map_err(|error| NetworkError::Device {
            stage: "the upload of the weights".into(),
            reason: error.to_string(),
        })?;
        compute.wait()?;
        progress(1.0);
        Ok(Self {
            architecture: architecture.clone(),
            compute: compute.clone(),
            format,
            vlm,
            expert,
            parameters,
            denoise_host: Duration::ZERO,
        })
    }

    /// Sizes and switches.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Parameters that were loaded.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// How the expert's weights are held.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Where Burn's part of it lives.
    pub fn device(&self) -> &Device {
        &self.vlm.device
    }

    /// The device, with its counts.
    pub fn compute(&self) -> &Compute {
        &self.compute
    }

    /// The prepared launches of vision, prefix and steps, where there are any, once there was a chunk.
    pub fn sequences(&self) -> [Option<&Sequence>; 3] {
        [None, None, self.denoise_sequence()]
    }

    /// The prepared launches of the steps, once there was a chunk.
    pub fn denoise_sequence(&self) -> Option<&Sequence> {
        self.expert.sequence()
    }

    /// What the host took to encode and submit the last chunk's steps.
    pub fn denoise_host(&self) -> Duration {
        self.denoise_host
    }

    /// Mirrors `sample_actions`: noise in, normalised actions out, sample by sample.
    ///
    /// # Errors
    /// As `SmolVla::sample_actions`.
    pub fn sample_actions(
        &mut self,
        input: &NetworkInput,
        num_steps: usize,
        guidance: Option<&RtcGuidance>,
        trace: &mut Trace,
    ) -> Result<Sample> {
        prefix::check_input(&self.architecture, input)?;
        if input.batch == 1 {
            return self.sample_one(input, num_steps, guidance, trace);
        }
        let mut all = Sample::default();
        for at in 0..input.batch {
            let one = self.sample_one(&input.sample(at), num_steps, guidance, trace)?;
            all.actions.extend(one.actions);
            all.vision += one.vision;
            all.prefix += one.prefix;
            all.denoise += one.denoise;
        }
        Ok(all)
    }

    fn sample_one(
        &mut self,
        input: &NetworkInput,
        num_steps: usize,
        guidance: Option<&RtcGuidance>,
        trace: &mut Trace,
    ) -> Result<Sample> {
        let start = Instant::now();
        let features = self.vlm.embed_images(input, trace)?;
        if let Some(features) = &features {
            trace::wait_for(features, "the pictures")?;
        }
        trace.mark("vision");
        let vision = start.elapsed();

        let start = Instant::now();
        let prefix = self.vlm.embed_prefix(input, features)?;
        trace.see(|| "prefix.embs".into(), &prefix.embs)?;
        self.prefill(&prefix, num_steps, trace)?;
        trace.mark("prefix");
        let prefix = start.elapsed();

        let start = Instant::now();
        let denoised = self.expert.denoise(&input.noise, guidance, trace)?;
        trace.mark("denoise");
        self.denoise_host = denoised.host;
        Ok(Sample {
            actions: finite(denoised.actions)?,
            vision,
            prefix,
            denoise: start.elapsed(),
        })
    }

    /// Runs Burn's VLM over the prefix and hands its keys and values to the expert, without the host.
    fn prefill(&mut self, prefix: &Prefix, num_steps: usize, trace: &mut Trace) -> Result<()> {
        let keys_and_values = self.vlm.prefill(prefix, trace)?;
        let tokens = prefix.lengths().first().copied().unwrap_or(0);
        self.expert.prepare(tokens, num_steps)?;
        let lent = (0..self.expert.layers())
            .map(|j| lend(&keys_and_values[self.expert.vlm_layer(j)]))
            .collect::<Result<Vec<Lent>>>()?;
        let mut flow = self.compute.flow();
        for (j, lent) in lent.iter().enumerate() {
            if let Some(target) = self.expert.keys_and_values(j) {
                flow.copy(lent.slice(), &target);
            }
        }
        flow.submit();
        Ok(self.compute.wait()?)
    }
}

fn lend(keys_and_values: &Tensor<5>) -> Result<Lent> {
    bridge::lend(keys_and_values.clone()).map_err(|reason| NetworkError::Device {
        stage: "the keys and values of the prefix".into(),
        reason,
    })
}

/// Refuses what the kernels' tiles do not fit.
fn check_sizes(architecture: &Architecture) -> Result<()> {
    let a = architecture;
    let refuse = |what: String| {
        Err(NetworkError::Architecture(format!(
            "{what}; `--kernels burn` takes any"
        )))
    };
    if !attention_suffix::takes(a.head_dim) {
        return refuse(format!(
            "own kernels take heads of 16, 32, 64 or 128 channels, not {}",
            a.head_dim
        ));
    }
    for (name, value) in [
        ("expert_hidden_size", a.expert_hidden_size),
        ("expert_intermediate_size", a.expert_intermediate_size),
        ("max_action_dim", a.max_action_dim),
    ] {
        if !value.is_multiple_of(4) {
            return refuse(format!("own kernels take a {name} by fours, not {value}"));
        }
    }
    Ok(())
}
