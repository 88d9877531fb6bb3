//! SmolVLA itself: pictures, words and state in, a chunk of actions out, on whatever device Burn was given.
//!
//! The network runs as the reference computes it, without what cannot change the answer: missing cameras and word padding are
//! never computed, the prefix is read once a chunk, of the last VLM layer only keys and values are made, and the cross-attention
//! layers project the prefix once a chunk. `naive` runs it the reference's way, to compare and to measure.

mod attention;
mod cache;
mod connector;
mod cpu;
mod embedding;
mod error;
mod expert;
mod flow;
mod layers;
mod mask;
pub mod naive;
mod prefix;
pub mod prepared;
mod rope;
mod suffix;
mod text;
pub mod tiny;
mod trace;
mod vision;
mod vlm;
mod weights;

use std::time::{Duration, Instant};

use burn::tensor::{Device, Tensor};

pub use cache::PrefixCache;
pub use error::{NetworkError, Result};
pub use flow::{EulerSteps, MAX_STEPS};
pub use mask::{att_2d_masks, position_ids};
pub use prefix::{MAX_GRID, Prefix};
pub use rope::apply_rope;
pub use suffix::sinusoid;
pub use trace::{Stage, Trace};
pub use vlm::Vlm;

use self::expert::LmExpert;
use self::flow::Guide;
use self::layers::Linear;
use self::suffix::SuffixEmbedding;
use self::weights::Weights;
use crate::policy::{Architecture, NetworkInput, RtcGuidance, TensorSource};

/// A loaded network. Load, run and drop it on one thread.
#[derive(Debug)]
pub struct SmolVla {
    vlm: Vlm,
    lm_expert: LmExpert,
    suffix: SuffixEmbedding,
    action_out_proj: Linear,
    parameters: u64,
}

/// A sampled chunk and where its time went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Normalised, `[batch, chunk_size, max_action_dim]`.
    pub actions: Vec<f32>,
    /// Tower and connector.
    pub vision: Duration,
    /// Prefix embedding, VLM layers and the expert's projections of them.
    pub prefix: Duration,
    /// All Euler steps.
    pub denoise: Duration,
}

/// How much of the checkpoint is loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// What the actions depend on.
    Needed,
    /// Every layer whole, as the reference computes them.
    Whole,
}

impl SmolVla {
    /// Reads what the actions depend on, tensor by tensor. `progress` is told the fraction that has been read.
    ///
    /// # Errors
    /// A tensor that is missing or has another shape than `architecture` says, or sizes that contradict each other.
    pub fn load(
        architecture: &Architecture,
        source: &dyn TensorSource,
        device: &Device,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self> {
        Self::load_extent(architecture, source, device, progress, Extent::Needed)
    }

    fn load_extent(
        architecture: &Architecture,
        source: &dyn TensorSource,
        device: &Device,
        progress: &mut dyn FnMut(f32),
        extent: Extent,
    ) -> Result<Self> {
        check_architecture(architecture)?;
        let mut weights = Weights::new(source, device, progress);
        if extent == Extent::Whole {
            weights = weights.keeping_tensors();
        }
        let weights = &mut weights;
        let lm_expert = LmExpert::load(weights, architecture)?;
        let (a, width) = (architecture, architecture.expert_hidden_size);
        let network = Self {
            vlm: Vlm::load(weights, architecture, lm_expert.plan, extent)?,
            lm_expert,
            suffix: SuffixEmbedding::load(weights, a)?,
            action_out_proj: weights.linear(
                "model.action_out_proj",
                width,
                a.max_action_dim,
                true,
            )?,
            parameters: weights.elements_read(),
        };
        // Uploads are queued: only now it shows whether the device had room for them.
        device.sync().map_err(|error| NetworkError::Device {
            stage: "the upload of the weights".into(),
            reason: error.to_string(),
        })?;
        progress(1.0);
        Ok(network)
    }

    /// Sizes and switches.
    pub fn architecture(&self) -> &Architecture {
        &self.vlm.architecture
    }

    /// Where the network lives.
    pub fn device(&self) -> &Device {
        &self.vlm.device
    }

    /// Parameters that were loaded.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// As [`Vlm::embed_images`].
    ///
    /// # Errors
    /// As [`Vlm::embed_images`].
    pub fn embed_images(
        &self,
        input: &NetworkInput,
        trace: &mut Trace,
    ) -> Result<Option<Tensor<3>>> {
        self.vlm.embed_images(input, trace)
    }

    /// As [`Vlm::embed_prefix`].
    ///
    /// # Errors
    /// As [`Vlm::embed_prefix`].
    pub fn embed_prefix(
        &self,
        input: &NetworkInput,
        features: Option<Tensor<3>>,
    ) -> Result<Prefix> {
        self.vlm.embed_prefix(input, features)
    }

    /// Runs the VLM over the prefix. The cache is all that the denoising steps need.
    ///
    /// # Errors
    /// Only of the trace.
    pub fn prefill(&self, prefix: &Prefix, trace: &mut Trace) -> Result<PrefixCache> {
        let keys_and_values = self.vlm.prefill(prefix, trace)?;
        Ok(self
            .lm_expert
            .cache(&keys_and_values, prefix, self.architecture().chunk_size))
    }

    /// What each Euler step's time adds to its suffix; one row a step.
    ///
    /// # Shapes
    /// `[1, steps, expert_hidden_size]`
    pub fn time_rows(&self, steps: &EulerSteps) -> Tensor<3> {
        self.suffix.time_rows(&steps.times, self.device())
    }

    /// Mirrors `denoise_step`: the velocity at `x_t`. `time_rows` comes from [`SmolVla::time_rows`], `step` picks its row.
    ///
    /// # Shapes
    /// `x_t` `[batch, chunk_size, max_action_dim]`, unchanged
    ///
    /// # Errors
    /// Only of the trace.
    pub fn denoise_step(
        &self,
        cache: &PrefixCache,
        x_t: Tensor<3>,
        time_rows: &Tensor<3>,
        step: usize,
        trace: &mut Trace,
    ) -> Result<Tensor<3>> {
        trace.see(|| format!("denoise.{step}.x_t"), &x_t)?;
        let suffix = self.embed_suffix(x_t, time_rows, step);
        trace.see(|| format!("denoise.{step}.suffix_embs"), &suffix)?;
        let out = self.lm_expert.forward(suffix, cache, step, trace)?;
        let v_t = self.action_out_proj.forward(out);
        trace.see(|| format!("denoise.{step}.v_t"), &v_t)?;
        Ok(v_t)
    }

    /// Mirrors `embed_suffix`.
    ///
    /// # Shapes
    /// `x_t` `[batch, chunk_size, max_action_dim]` to `[batch, chunk_size, expert_hidden_size]`
    pub fn embed_suffix(&self, x_t: Tensor<3>, time_rows: &Tensor<3>, step: usize) -> Tensor<3> {
        self.suffix
            .forward(x_t, time_rows.clone().narrow(1, step, 1))
    }

    /// Mirrors `sample_actions`: noise in, normalised actions out.
    ///
    /// # Errors
    /// An input that does not fit, a device that fails, or an answer that is not a number.
    pub fn sample_actions(
        &self,
        input: &NetworkInput,
        num_steps: usize,
        guidance: Option<&RtcGuidance>,
        trace: &mut Trace,
    ) -> Result<Sample> {
        prefix::check_input(self.architecture(), input)?;
        let steps = EulerSteps::new(num_steps)?;
        let guide = self.guide(guidance)?;

        let start = Instant::now();
        let features = self.embed_images(input, trace)?;
        if let Some(features) = &features {
            trace::wait_for(features, "the pictures")?;
        }
        let vision = start.elapsed();

        let start = Instant::now();
        let prefix = self.embed_prefix(input, features)?;
        trace.see(|| "prefix.embs".into(), &prefix.embs)?;
        let cache = self.prefill(&prefix, trace)?;
        cache.wait()?;
        let prefix = start.elapsed();

        let start = Instant::now();
        let time_rows = self.time_rows(&steps);
        let x_0 = flow::integrate(self.noise(input), &steps, guide.as_ref(), |step, x_t| {
            self.denoise_step(&cache, x_t, &time_rows, step, trace)
        })?;
        let actions = finite(trace::values_of(x_0, "the actions")?)?;
        let denoise = start.elapsed();
        Ok(Sample {
            actions,
            vision,
            prefix,
            denoise,
        })
    }

    fn guide(&self, guidance: Option<&RtcGuidance>) -> Result<Option<Guide>> {
        let (chunk, width) = (
            self.architecture().chunk_size,
            self.architecture().max_action_dim,
        );
        guidance.map_or(Ok(None), |guidance| {
            Guide::new(guidance, chunk, width, self.device())
        })
    }

    fn noise(&self, input: &NetworkInput) -> Tensor<3> {
        let shape = [
            input.batch,
            self.architecture().chunk_size,
            self.architecture().max_action_dim,
        ];
        weights::placed(input.noise.clone(), shape, self.device())
    }
}

fn finite(actions: Vec<f32>) -> Result<Vec<f32>> {
    match actions.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(NetworkError::Poisoned {
            index,
            count: actions.len(),
        }),
        None => Ok(actions),
    }
}

/// Refuses sizes that would divide by zero or panic later.
fn check_architecture(architecture: &Architecture) -> Result<()> {
    let a = architecture;
    let refuse = |what: String| Err(NetworkError::Architecture(what));
    for (name, value) in [
        ("hidden_size", a.hidden_size),
        ("intermediate_size", a.intermediate_size),
        ("expert_hidden_size", a.expert_hidden_size),
        ("num_attention_heads", a.num_attention_heads),
        ("num_key_value_heads", a.num_key_value_heads),
        ("head_dim", a.head_dim),
        ("chunk_size", a.chunk_size),
        ("max_state_dim", a.max_state_dim),
        ("max_action_dim", a.max_action_dim),
        ("scale_factor", a.scale_factor),
        ("vision patch_size", a.vision.patch_size),
        ("vocab_size", a.vocab_size),
    ] {
        if value == 0 {
            return refuse(format!("{name} is 0"));
        }
    }
    if !a.num_attention_heads.is_multiple_of(a.num_key_value_heads) {
        return refuse(format!(
            "{} query heads cannot share {} key heads",
            a.num_attention_heads, a.num_key_value_heads
        ));
    }
    if !a.head_dim.is_multiple_of(2) || !a.expert_hidden_size.is_multiple_of(2) {
        return refuse("head_dim and expert_hidden_size must be even".into());
    }
    if !(a.min_period > 0.0 && a.max_period > 0.0) {
        return refuse("min_period and max_period must be positive".into());
    }
    Ok(())
}
