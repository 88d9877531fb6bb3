//! The same network the way LeRobot 0.6.1 runs it: the slow, obvious twin of [`SmolVla`].
//!
//! It computes masked cameras and word padding, pads the prefix, runs the last VLM layer whole, repeats keys for their query heads, and
//! in every Euler step makes the masks and the time embedding anew, appends to the cache and crops it again, and projects the prefix
//! for cross-attention once more. `bench --naive` measures what leaving that out is worth; tests hold the two equal.

mod layers;
mod padded;

use std::time::Instant;

use burn::tensor::{Device, Tensor};

pub use padded::PaddedPrefix;

use self::layers::{GrowingCache, cross_attention, self_attention, text_layer};
use super::error::{NetworkError, Result};
use super::flow::{self, EulerSteps};
use super::layers::RmsNorm;
use super::mask;
use super::prefix::check_input;
use super::text;
use super::trace::{self, Trace};
use super::weights::Weights;
use super::{Extent, Sample, SmolVla, finite};
use crate::policy::{Architecture, NetworkInput, RtcGuidance, TensorSource};

/// How the reference pads words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguagePadding {
    /// Words are padded up to this many (48), or to the longest prompt where that is longer.
    pub length: usize,
    /// What they are padded with (2).
    pub token: u32,
}

/// A network with every layer whole.
#[derive(Debug)]
pub struct NaiveSmolVla {
    network: SmolVla,
    /// The VLM's final norm, whose output nobody reads.
    text_norm: RmsNorm,
    padding: LanguagePadding,
}

impl NaiveSmolVla {
    /// Loads all layers whole.
    ///
    /// # Errors
    /// As [`SmolVla::load`].
    pub fn load(
        architecture: &Architecture,
        source: &dyn TensorSource,
        device: &Device,
        padding: LanguagePadding,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self> {
        let network = SmolVla::load_extent(architecture, source, device, progress, Extent::Whole)?;
        let text_norm = Weights::new(source, device, progress).rms_norm(
            &format!("{}.norm", text::PREFIX),
            architecture.hidden_size,
            architecture.rms_norm_eps,
        )?;
        Ok(Self {
            network,
            text_norm,
            padding,
        })
    }

    /// The network itself, with every layer whole.
    pub fn network(&self) -> &SmolVla {
        &self.network
    }

    fn prefill(&self, prefix: &PaddedPrefix, trace: &mut Trace) -> Result<Vec<GrowingCache>> {
        let network = &self.network;
        let heads = network.vlm.text_model.heads;
        let batch = prefix.pad_masks.len();
        let visible = prefix.visible();
        let bias = mask::bias(
            &visible,
            [batch, prefix.len, prefix.len],
            &network.vlm.device,
        );
        let positions = prefix.position_ids();
        let mut x = prefix.embs.clone();
        let mut cache = Vec::new();
        for (i, layer) in network.vlm.text_model.layers.iter().enumerate() {
            trace.see(|| format!("prefill.vlm_layer_in.{i}"), &x)?;
            let (out, grown) = text_layer(layer, x, heads, &positions, &bias);
            trace.see(|| format!("prefill.k.{i}"), &grown.k)?;
            trace.see(|| format!("prefill.v.{i}"), &grown.v)?;
            cache.push(grown);
            x = out;
        }
        trace.see(|| "prefill.vlm_norm_in".into(), &x)?;
        let out = self.text_norm.forward(x);
        trace.see(|| "prefill.out".into(), &out)?;
        Ok(cache)
    }

    fn denoise_step(
        &self,
        prefix: &PaddedPrefix,
        cache: &mut [GrowingCache],
        x_t: Tensor<3>,
        time: f32,
        step: usize,
        trace: &mut Trace,
    ) -> Result<Tensor<3>> {
        trace.see(|| format!("denoise.{step}.x_t"), &x_t)?;
        let network = &self.network;
        let (batch, chunk) = (prefix.pad_masks.len(), network.vlm.architecture.chunk_size);
        let time_row = network.suffix.time_rows(&[time], &network.vlm.device);
        let mut x = network.suffix.forward(x_t, time_row);
        trace.see(|| format!("denoise.{step}.suffix_embs"), &x)?;

        let visible = prefix.suffix_visible(chunk);
        let self_bias = mask::bias(
            &visible,
            [batch, chunk, prefix.len + chunk],
            &network.vlm.device,
        );
        let cross_bias = self_bias.clone().narrow(3, 0, prefix.len);
        let after = prefix.suffix_position_ids(chunk);
        let multiple = network.lm_expert.plan.multiple;
        let heads = network.lm_expert.heads;
        for (j, layer) in network.lm_expert.layers.iter().enumerate() {
            trace.see(|| format!("denoise.{step}.expert_layer_in.{j}"), &x)?;
            let seen = &mut cache[j * multiple];
            let attended = match &layer.cross {
                None => self_attention(layer, heads, &x, seen, prefix.len, &after, &self_bias),
                Some(cross) => cross_attention(layer, heads, cross, &x, seen, &cross_bias),
            };
            x = layer.finish(x, attended);
        }
        trace.see(|| format!("denoise.{step}.expert_norm_in"), &x)?;
        let out = network.lm_expert.norm.forward(x);
        trace.see(|| format!("denoise.{step}.expert_out"), &out)?;
        let v_t = network.action_out_proj.forward(out);
        trace.see(|| format!("denoise.{step}.v_t"), &v_t)?;
        Ok(v_t)
    }

    /// Mirrors `sample_actions`.
    ///
    /// # Errors
    /// As [`SmolVla::sample_actions`].
    pub fn sample_actions(
        &self,
        input: &NetworkInput,
        num_steps: usize,
        guidance: Option<&RtcGuidance>,
        trace: &mut Trace,
    ) -> Result<Sample> {
        check_input(&self.network.vlm.architecture, input)?;
        let steps = EulerSteps::new(num_steps)?;
        let guide = self.network.guide(guidance)?;
        let start = Instant::now();
        let prefix = self.embed_prefix(input, trace)?;
        trace.see(|| "prefix.embs".into(), &prefix.embs)?;
        trace::wait_for(&prefix.embs, "the pictures")?;
        let vision = start.elapsed();

        let start = Instant::now();
        let mut cache = self.prefill(&prefix, trace)?;
        let last = cache
            .last()
            .ok_or_else(|| NetworkError::Architecture("no VLM layers".into()))?;
        trace::wait_for(&last.v, "the prefix")?;
        let prefill = start.elapsed();

        let start = Instant::now();
        let x_1 = self.network.noise(input);
        let x_0 = flow::integrate(x_1, &steps, guide.as_ref(), |step, x_t| {
            self.denoise_step(&prefix, &mut cache, x_t, steps.times[step], step, trace)
        })?;
        let actions = finite(trace::values_of(x_0, "the actions")?)?;
        Ok(Sample {
            actions,
            vision,
            prefix: prefill,
            denoise: start.elapsed(),
        })
    }
}
