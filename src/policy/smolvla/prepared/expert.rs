//! All Euler steps as one prepared sequence of own kernels: nothing is compiled, bound or allocated while an arm waits.

mod memory;
mod steps;

use std::time::{Duration, Instant};

use self::memory::{Memory, PrefixMemory};
use self::steps::{Geometry, Steps};
use super::weights::{ExpertWeights, Packer};
use crate::gpu::compute::{Compute, Sequence, Slice};
use crate::gpu::kernels::attention_suffix::SuffixAttention;
use crate::gpu::kernels::skinny::{Skinny, from_tiles, to_tiles};
use crate::policy::smolvla::error::Result;
use crate::policy::smolvla::expert::{Kind, Plan};
use crate::policy::smolvla::flow::EulerSteps;
use crate::policy::smolvla::trace::Trace;
use crate::policy::{Architecture, RtcGuidance};

/// The expert on the device, with everything that its steps touch.
#[derive(Debug)]
pub(super) struct PreparedExpert {
    compute: Compute,
    architecture: Architecture,
    plan: Plan,
    weights: ExpertWeights,
    skinny: Skinny,
    attention: SuffixAttention,
    memory: Memory,
    prefix: Option<PrefixMemory>,
    steps: Option<Steps>,
}

/// A denoised chunk.
#[derive(Debug)]
pub(super) struct Denoised {
    /// `[chunk_size, max_action_dim]`
    pub(super) actions: Vec<f32>,
    /// What the host took to encode and submit all steps.
    pub(super) host: Duration,
}

impl PreparedExpert {
    /// Reads, folds, packs and uploads the expert's weights, and compiles what can be compiled before the first prefix.
    ///
    /// # Errors
    /// A tensor that does not fit, a format that cannot hold it, or a device that refuses.
    pub(super) fn load(
        packer: &mut Packer<'_, '_>,
        architecture: &Architecture,
        plan: Plan,
    ) -> Result<Self> {
        let compute = packer.compute.clone();
        let weights = ExpertWeights::load(packer, architecture, plan)?;
        let memory = compute.checked("memory for the action expert", || {
            Memory::new(&compute, architecture, &weights)
        })?;
        Ok(Self {
            skinny: Skinny::new(&compute),
            attention: SuffixAttention::new(&compute)?,
            compute,
            architecture: architecture.clone(),
            plan,
            weights,
            memory,
            prefix: None,
            steps: None,
        })
    }

    /// Makes ready for prefixes of `prefix` tokens and so many steps. Does nothing when it is ready already.
    ///
    /// # Errors
    /// The device refuses, or a number of steps that cannot be.
    pub(super) fn prepare(&mut self, prefix: usize, num_steps: usize) -> Result<()> {
        let geometry = Geometry { prefix, num_steps };
        if self.steps.as_ref().map(Steps::geometry) == Some(geometry) {
            return Ok(());
        }
        let euler = EulerSteps::new(num_steps)?;
        if self
            .prefix
            .as_ref()
            .is_none_or(|memory| memory.tokens < prefix)
        {
            self.prefix = None;
            self.steps = None;
            let made = self
                .compute
                .checked(format!("memory for a prefix of {prefix} tokens"), || {
                    PrefixMemory::new(&self.compute, &self.architecture, &self.weights, prefix)
                })?;
            self.prefix = Some(made);
        }
        self.steps = Some(self.plan_steps(geometry, &euler)?);
        Ok(())
    }

    /// Where keys, then values, of the VLM layer that serves expert layer `j` are to be written before
    /// [`PreparedExpert::denoise`], `[kv_heads, prefix, head_dim]` each; `None` before [`PreparedExpert::prepare`].
    pub(super) fn keys_and_values(&self, j: usize) -> Option<Slice> {
        let (memory, steps) = (self.prefix.as_ref()?, self.steps.as_ref()?);
        let tokens = steps.geometry().prefix;
        Some(memory.vlm_leaves(&self.architecture, j, tokens))
    }

    /// The prepared launches, for an account of what they cost.
    pub(super) fn sequence(&self) -> Option<&Sequence> {
        self.steps.as_ref().map(Steps::sequence)
    }

    /// Which VLM layer expert layer `j` looks at.
    pub(super) fn vlm_layer(&self, j: usize) -> usize {
        j * self.plan.multiple
    }

    /// Expert layers.
    pub(super) fn layers(&self) -> usize {
        self.weights.layers.len()
    }

    fn kind(&self, j: usize) -> Kind {
        self.plan.kind(&self.architecture, j)
    }

    /// From noise `[chunk_size, max_action_dim]` to actions, in one submission. Call [`PreparedExpert::prepare`] first.
    ///
    /// # Errors
    /// A tail of real-time chunking that does not fit, or a device that fails.
    pub(super) fn denoise(
        &mut self,
        noise: &[f32],
        guidance: Option<&RtcGuidance>,
        trace: &mut Trace,
    ) -> Result<Denoised> {
        let start = Instant::now();
        let (rows, width) = (
            self.architecture.chunk_size,
            self.architecture.max_action_dim,
        );
        self.guide(guidance)?;
        let x_t = self.memory.x_t.whole();
        self.compute.write(&x_t, &to_tiles(noise, width));
        if trace.is_on() {
            self.run_watched(trace)?;
        } else {
            let mut flow = self.compute.flow();
            if let Some(steps) = &self.steps {
                steps.sequence().encode(&mut flow);
            }
            flow.read_back(&x_t, &self.memory.staging);
            flow.submit();
        }
        let host = start.elapsed();
        let tiles = if trace.is_on() {
            self.compute.read(&x_t)?
        } else {
            self.compute.take(&self.memory.staging, x_t.words())?
        };
        Ok(Denoised {
            actions: from_tiles(&tiles, rows, width),
            host,
        })
    }
}

#[cfg(test)]
mod tests;
