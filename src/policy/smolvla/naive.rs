//! The same network the way LeRobot 0.6.1 runs it: the slow, obvious twin of [`SmolVla`](super::SmolVla).
//!
//! It computes masked cameras and word padding, pads the prefix, runs the last VLM layer whole, repeats keys for their query heads, and
//! in every Euler step makes the masks and the time embedding anew, appends to the cache and crops it again, and projects the prefix
//! for cross-attention once more. `bench --naive` measures what leaving that out is worth; tests hold the two equal.

use std::time::Instant;

use burn::tensor::{Tensor, TensorData, activation};

use super::error::{NetworkError, Result};
use super::expert::{CrossProjections, ExpertLayer};
use super::flow::{self, EulerSteps};
use super::layers::RmsNorm;
use super::mask::{self, att_2d_masks, position_ids};
use super::prefix::check_input;
use super::rope::apply_rope;
use super::text::{self, HeadSizes, TextLayer};
use super::trace::{self, Trace};
use super::vision::Pictures;
use super::weights::Weights;
use super::{Extent, Sample, SmolVla, finite};
use crate::policy::{Architecture, ImageInput, NetworkInput, RtcGuidance, TensorSource};

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

/// The padded prefix with its masks, all `[batch, len]` but the embeddings.
#[derive(Clone, Debug)]
pub struct PaddedPrefix {
    /// `[batch, len, hidden]`
    pub embs: Tensor<3>,
    /// Tokens that count.
    pub pad_masks: Vec<Vec<bool>>,
    /// Tokens that open a new block.
    pub att_masks: Vec<bool>,
    /// Tokens, padding included.
    pub len: usize,
}

/// Keys and values of one VLM layer, each `[batch, kv_heads, len, head_dim]`; it grows and is cropped in every step.
struct GrowingCache {
    k: Tensor<4>,
    v: Tensor<4>,
}

impl NaiveSmolVla {
    /// Loads all layers whole.
    ///
    /// # Errors
    /// As [`SmolVla::load`].
    pub fn load(
        architecture: &Architecture,
        source: &dyn TensorSource,
        device: &burn::tensor::Device,
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

    /// Mirrors `embed_prefix`, padding and all. A picture that is missing is computed from a blank one.
    ///
    /// # Errors
    /// Pictures or tokens that do not fit.
    pub fn embed_prefix(&self, input: &NetworkInput, trace: &mut Trace) -> Result<PaddedPrefix> {
        let a = &self.network.architecture;
        let batch = input.batch;
        let scale = (a.hidden_size as f64).sqrt();
        let mut parts = Vec::new();
        let mut pad_masks = vec![Vec::new(); batch];
        for (camera, image) in input.images.iter().enumerate() {
            let features = self.camera_features(camera, image, batch, trace)?;
            let tokens = features.dims()[1];
            let marks = |ids: &[u32]| self.words(&vec![ids.to_vec(); batch], ids.len(), 1.0);
            if a.add_image_special_tokens {
                parts.push(marks(&[a.fake_image_token, a.global_image_token])?);
            }
            parts.push(features.mul_scalar(scale));
            if a.add_image_special_tokens {
                parts.push(marks(&[a.fake_image_token])?);
            }
            for (mask, &there) in pad_masks.iter_mut().zip(&image.present) {
                let marks = usize::from(a.add_image_special_tokens);
                mask.extend(vec![true; 2 * marks]);
                mask.extend(vec![there; tokens]);
                mask.extend(vec![true; marks]);
            }
        }
        let longest = input.tokens.iter().map(Vec::len).max().unwrap_or(0);
        let words = self.padding.length.max(longest);
        parts.push(self.words(&input.tokens, words, scale as f32)?);
        for (mask, prompt) in pad_masks.iter_mut().zip(&input.tokens) {
            mask.extend((0..words).map(|at| at < prompt.len()));
            mask.push(true);
        }
        let state = TensorData::new(input.state.clone(), [batch, 1, a.max_state_dim]);
        let state = Tensor::from_data(state, &self.network.device);
        parts.push(self.network.state_proj.forward(state));
        let embs = Tensor::cat(parts, 1);
        Ok(self.pad(embs, pad_masks))
    }

    /// `prefix_length`, if it asks for more.
    fn pad(&self, embs: Tensor<3>, mut pad_masks: Vec<Vec<bool>>) -> PaddedPrefix {
        let [batch, filled, hidden] = embs.dims();
        let wanted = usize::try_from(self.network.architecture.prefix_length).unwrap_or(0);
        let len = wanted.max(filled);
        let mut att_masks = vec![false; len];
        att_masks[filled - 1] = true; // the state
        for mask in &mut pad_masks {
            mask.resize(len, false);
        }
        let embs = if len > filled {
            let zeros = Tensor::zeros([batch, len - filled, hidden], &self.network.device);
            Tensor::cat(vec![embs, zeros], 1)
        } else {
            embs
        };
        PaddedPrefix {
            embs,
            pad_masks,
            att_masks,
            len,
        }
    }

    fn camera_features(
        &self,
        camera: usize,
        image: &ImageInput,
        batch: usize,
        trace: &mut Trace,
    ) -> Result<Tensor<3>> {
        let size = 3 * image.height * image.width;
        let blank = vec![-1.0; size];
        let pixels = (0..batch)
            .map(|sample| {
                image
                    .pixels
                    .get(sample * size..(sample + 1) * size)
                    .unwrap_or(&blank)
            })
            .collect();
        let pictures = Pictures {
            height: image.height,
            width: image.width,
            pixels,
        };
        let network = &self.network;
        let x = network
            .vision_model
            .forward(&pictures, &network.device, &mut Trace::off())?;
        trace.see(|| format!("vision.{camera}.last_hidden_state"), &x)?;
        let x = network.connector.forward(x)?;
        trace.see(|| format!("vision.{camera}.connector"), &x)?;
        Ok(x)
    }

    /// Embedded words, padded to `len`.
    fn words(&self, prompts: &[Vec<u32>], len: usize, scale: f32) -> Result<Tensor<3>> {
        let network = &self.network;
        let mut rows = Vec::new();
        for prompt in prompts {
            let padding = std::iter::repeat_n(&self.padding.token, len - prompt.len());
            for &token in prompt.iter().chain(padding) {
                network.embed_tokens.push(&mut rows, token, scale)?;
            }
        }
        let shape = [prompts.len(), len, network.architecture.hidden_size];
        Ok(Tensor::from_data(
            TensorData::new(rows, shape),
            &network.device,
        ))
    }

    fn prefill(&self, prefix: &PaddedPrefix, trace: &mut Trace) -> Result<Vec<GrowingCache>> {
        let network = &self.network;
        let heads = network.text_model.heads;
        let batch = prefix.pad_masks.len();
        let visible = prefix.visible();
        let bias = mask::bias(&visible, [batch, prefix.len, prefix.len], &network.device);
        let positions = prefix.position_ids();
        let mut x = prefix.embs.clone();
        let mut cache = Vec::new();
        for (i, layer) in network.text_model.layers.iter().enumerate() {
            trace.see(|| format!("prefill.vlm_layer_in.{i}"), &x)?;
            let (out, grown) = self.text_layer(layer, x, heads, &positions, &bias);
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

    fn text_layer(
        &self,
        layer: &TextLayer,
        x: Tensor<3>,
        heads: HeadSizes,
        positions: &[Vec<i64>],
        bias: &Tensor<4>,
    ) -> (Tensor<3>, GrowingCache) {
        let normed = layer.input_layernorm.forward(x.clone());
        let (q, k, v) = self.query_key_value(&layer.qkv_proj, &normed, heads, positions);
        let attended = eager_attention(q, k.clone(), v.clone(), bias.clone());
        let x = x + layer.o_proj.forward(attended);
        let mlp = layer
            .mlp
            .forward(layer.post_attention_layernorm.forward(x.clone()));
        (x + mlp, GrowingCache { k, v })
    }

    /// Three products where the twin has one, and a rotation each for queries and keys.
    fn query_key_value(
        &self,
        qkv_proj: &super::layers::Linear,
        x: &Tensor<3>,
        heads: HeadSizes,
        positions: &[Vec<i64>],
    ) -> (Tensor<4>, Tensor<4>, Tensor<4>) {
        let (q, k) = (heads.query_width(), heads.key_width());
        let project = |from: usize, width: usize| {
            let y = qkv_proj.outputs(from, from + width).forward(x.clone());
            let [batch, seq, _] = y.dims();
            y.reshape([batch, seq, width / heads.head_dim, heads.head_dim])
        };
        let query = apply_rope(project(0, q), positions);
        let key = apply_rope(project(q, k), positions);
        let value = project(q + k, k);
        (
            query.swap_dims(1, 2),
            key.swap_dims(1, 2),
            value.swap_dims(1, 2),
        )
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
        let (batch, chunk) = (prefix.pad_masks.len(), network.architecture.chunk_size);
        let time_row = network.suffix.time_rows(&[time], &network.device);
        let mut x = network.suffix.forward(x_t, time_row);
        trace.see(|| format!("denoise.{step}.suffix_embs"), &x)?;

        let visible = prefix.suffix_visible(chunk);
        let self_bias = mask::bias(
            &visible,
            [batch, chunk, prefix.len + chunk],
            &network.device,
        );
        let cross_bias = self_bias.clone().narrow(3, 0, prefix.len);
        let after = prefix.suffix_position_ids(chunk);
        let multiple = network.lm_expert.plan.multiple;
        for (j, layer) in network.lm_expert.layers.iter().enumerate() {
            trace.see(|| format!("denoise.{step}.expert_layer_in.{j}"), &x)?;
            let seen = &mut cache[j * multiple];
            let attended = match &layer.cross {
                None => self.self_attention(layer, &x, seen, prefix.len, &after, &self_bias),
                Some(cross) => self.cross_attention(layer, cross, &x, seen, &cross_bias),
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

    fn self_attention(
        &self,
        layer: &ExpertLayer,
        x: &Tensor<3>,
        seen: &mut GrowingCache,
        prefix_len: usize,
        positions: &[Vec<i64>],
        bias: &Tensor<4>,
    ) -> Tensor<3> {
        let heads = self.network.lm_expert.heads;
        let normed = layer.input_layernorm.forward(x.clone());
        let (q, k, v) = self.query_key_value(&layer.own_proj, &normed, heads, positions);
        seen.k = Tensor::cat(vec![seen.k.clone(), k], 2);
        seen.v = Tensor::cat(vec![seen.v.clone(), v], 2);
        let attended = eager_attention(q, seen.k.clone(), seen.v.clone(), bias.clone());
        seen.k = seen.k.clone().narrow(2, 0, prefix_len);
        seen.v = seen.v.clone().narrow(2, 0, prefix_len);
        attended
    }

    fn cross_attention(
        &self,
        layer: &ExpertLayer,
        cross: &CrossProjections,
        x: &Tensor<3>,
        seen: &GrowingCache,
        bias: &Tensor<4>,
    ) -> Tensor<3> {
        let heads = self.network.lm_expert.heads;
        let [batch, chunk, _] = x.dims();
        let q = layer
            .own_proj
            .forward(layer.input_layernorm.forward(x.clone()))
            .reshape([batch, chunk, heads.queries, heads.head_dim]);
        let q = apply_rope(q, &[(0..chunk as i64).collect()]).swap_dims(1, 2);
        let project = |x: &Tensor<4>, linear: &super::layers::Linear| {
            let [batch, kv_heads, len, head_dim] = x.dims();
            let flat = x
                .clone()
                .swap_dims(1, 2)
                .reshape([batch, len, kv_heads * head_dim]);
            linear
                .forward(flat)
                .reshape([batch, len, kv_heads, head_dim])
                .swap_dims(1, 2)
        };
        let (k, v) = (
            project(&seen.k, &cross.k_proj),
            project(&seen.v, &cross.v_proj),
        );
        eager_attention(q, k, v, bias.clone())
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
        check_input(&self.network.architecture, input)?;
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

impl PaddedPrefix {
    /// `visible[q * len + k]` for each sample, one after the other.
    pub fn visible(&self) -> Vec<bool> {
        let masks = self.pad_masks.iter();
        masks
            .flat_map(|pad| att_2d_masks(pad, &self.att_masks))
            .collect()
    }

    /// Positions of the prefix tokens, one list a sample.
    pub fn position_ids(&self) -> Vec<Vec<i64>> {
        self.pad_masks.iter().map(|pad| position_ids(pad)).collect()
    }

    /// The actions' rows of the joint mask, `[batch * chunk * (len + chunk)]`.
    pub fn suffix_visible(&self, chunk: usize) -> Vec<bool> {
        let own = att_2d_masks(&vec![true; chunk], &vec![true; chunk]);
        let mut visible = Vec::new();
        for pad in &self.pad_masks {
            for row in own.chunks(chunk) {
                visible.extend_from_slice(pad);
                visible.extend_from_slice(row);
            }
        }
        visible
    }

    /// Positions of the actions, one list a sample: they go on after the tokens that count.
    pub fn suffix_position_ids(&self, chunk: usize) -> Vec<Vec<i64>> {
        let masks = self.pad_masks.iter();
        masks
            .map(|pad| {
                let from = pad.iter().filter(|&&valid| valid).count() as i64;
                (from..from + chunk as i64).collect()
            })
            .collect()
    }
}

/// Mirrors `eager_attention_forward`: keys and values repeated for their query heads, scores held whole.
fn eager_attention(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, bias: Tensor<4>) -> Tensor<3> {
    let [batch, heads, queries, head_dim] = q.dims();
    let [_, kv_heads, keys, _] = k.dims();
    let group = heads / kv_heads;
    let repeat = |x: Tensor<4>| {
        x.unsqueeze_dim::<5>(2)
            .expand([batch, kv_heads, group, keys, head_dim])
            .reshape([batch, heads, keys, head_dim])
    };
    let scores = q
        .matmul(repeat(k).transpose())
        .div_scalar((head_dim as f64).sqrt());
    activation::softmax(scores + bias, 3)
        .matmul(repeat(v))
        .swap_dims(1, 2)
        .reshape([batch, queries, heads * head_dim])
}
