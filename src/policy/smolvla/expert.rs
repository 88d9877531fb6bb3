//! The action expert: a narrow transformer that turns noisy actions into a velocity while it looks at the prefix.

use burn::tensor::Tensor;

use super::attention::attention;
use super::cache::PrefixCache;
use super::error::{NetworkError, Result};
use super::layers::{GatedMlp, Linear, RmsNorm};
use super::prefix::Prefix;
use super::text::{HeadSizes, halves};
use super::trace::Trace;
use super::weights::Weights;
use crate::policy::Architecture;

pub(super) const PREFIX: &str = "model.vlm_with_expert.lm_expert";

/// How an expert layer looks at the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Actions see the prefix and the actions before them.
    SelfAttention,
    /// Actions see the prefix only.
    CrossAttention,
}

/// Which VLM layer each expert layer serves, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Expert layer j serves VLM layer j · multiple.
    pub(super) multiple: usize,
}

impl Plan {
    /// # Errors
    /// A combination that the reference cannot run either.
    pub(super) fn new(architecture: &Architecture) -> Result<Self> {
        let (vlm, expert) = (architecture.num_vlm_layers, architecture.num_expert_layers);
        let refuse = |what: String| Err(NetworkError::Architecture(what));
        if expert == 0 || vlm == 0 || vlm % expert != 0 {
            return refuse(format!(
                "num_vlm_layers ({vlm}) is not a multiple of num_expert_layers ({expert})"
            ));
        }
        let multiple = vlm / expert;
        let n = architecture.self_attn_every_n_layers;
        if architecture.cross_attention && n > 0 {
            let n = n as usize;
            let orphan = (0..vlm).find(|i| i % n == 0 && i % multiple != 0);
            let torn = (0..expert).find(|j| (j * multiple % n == 0) != (j % n == 0));
            if let Some(i) = orphan.or(torn) {
                return refuse(format!(
                    "self_attn_every_n_layers ({n}) does not suit {expert} expert layers on {vlm} VLM layers (layer {i})"
                ));
            }
        }
        Ok(Self { multiple })
    }

    /// Mirrors the test in `VLMWithExpertModel.forward`, which counts VLM layers.
    pub(super) fn kind(self, architecture: &Architecture, j: usize) -> Kind {
        let n = architecture.self_attn_every_n_layers;
        let own = !architecture.cross_attention
            || (n > 0 && (j * self.multiple).is_multiple_of(n as usize));
        if own {
            Kind::SelfAttention
        } else {
            Kind::CrossAttention
        }
    }
}

/// Mirrors `lm_expert` inside SmolVLA's `VLMWithExpertModel`.
#[derive(Debug)]
pub(super) struct LmExpert {
    pub(super) layers: Vec<ExpertLayer>,
    pub(super) norm: RmsNorm,
    pub(super) plan: Plan,
    pub(super) heads: HeadSizes,
}

/// Mirrors `LlamaDecoderLayer` at the expert's width.
#[derive(Debug)]
pub(super) struct ExpertLayer {
    pub(super) input_layernorm: RmsNorm,
    /// `q_proj` of the actions; in a self-attention layer their `k_proj` and `v_proj` beside it.
    pub(super) own_proj: Linear,
    /// Only in a cross-attention layer.
    pub(super) cross: Option<CrossProjections>,
    pub(super) o_proj: Linear,
    pub(super) post_attention_layernorm: RmsNorm,
    pub(super) mlp: GatedMlp,
}

/// `k_proj` and `v_proj` of a cross-attention layer: they read the VLM layer's keys and values.
#[derive(Debug)]
pub(super) struct CrossProjections {
    pub(super) k_proj: Linear,
    pub(super) v_proj: Linear,
}

impl LmExpert {
    pub(super) fn load(weights: &mut Weights<'_>, architecture: &Architecture) -> Result<Self> {
        let plan = Plan::new(architecture)?;
        let layers = (0..architecture.num_expert_layers)
            .map(|j| ExpertLayer::load(weights, architecture, j, plan.kind(architecture, j)))
            .collect::<Result<_>>()?;
        Ok(Self {
            layers,
            norm: weights.rms_norm(
                &format!("{PREFIX}.norm"),
                architecture.expert_hidden_size,
                architecture.rms_norm_eps,
            )?,
            plan,
            heads: HeadSizes::new(architecture),
        })
    }

    /// Turns the VLM's keys and values (one entry a VLM layer) into what each expert layer looks at.
    pub(super) fn cache(&self, vlm: &[Tensor<5>], prefix: &Prefix, chunk: usize) -> PrefixCache {
        let layers = self
            .layers
            .iter()
            .zip(vlm.iter().step_by(self.plan.multiple))
            .map(|(layer, kv)| layer.look_at(kv, self.heads))
            .collect();
        PrefixCache::new(layers, prefix, chunk, self.heads, &prefix.embs.device())
    }

    /// # Shapes
    /// suffix `[batch, chunk, width]`, unchanged
    ///
    /// # Errors
    /// Only of the trace.
    pub(super) fn forward(
        &self,
        suffix: Tensor<3>,
        cache: &PrefixCache,
        step: usize,
        trace: &mut Trace,
    ) -> Result<Tensor<3>> {
        let mut x = suffix;
        for (j, (layer, seen)) in self.layers.iter().zip(&cache.layers).enumerate() {
            trace.see(|| format!("denoise.{step}.expert_layer_in.{j}"), &x)?;
            let attended = layer.attend(x.clone(), seen, cache, self.heads);
            x = layer.finish(x, attended);
        }
        trace.see(|| format!("denoise.{step}.expert_norm_in"), &x)?;
        let x = self.norm.forward(x);
        trace.see(|| format!("denoise.{step}.expert_out"), &x)?;
        Ok(x)
    }
}

impl ExpertLayer {
    fn load(
        weights: &mut Weights<'_>,
        architecture: &Architecture,
        j: usize,
        kind: Kind,
    ) -> Result<Self> {
        let heads = HeadSizes::new(architecture);
        let (width, inner) = (
            architecture.expert_hidden_size,
            architecture.expert_intermediate_size,
        );
        let (queries, keys, eps) = (
            heads.query_width(),
            heads.key_width(),
            architecture.rms_norm_eps,
        );
        let at = |part: &str| format!("{PREFIX}.layers.{j}.{part}");
        let (q, k, v) = (
            at("self_attn.q_proj"),
            at("self_attn.k_proj"),
            at("self_attn.v_proj"),
        );
        let (own_proj, cross) = match kind {
            Kind::SelfAttention => {
                let parts = [(&*q, queries, 1.0), (&*k, keys, 1.0), (&*v, keys, 1.0)];
                (weights.side_by_side(&parts, width, false)?, None)
            }
            Kind::CrossAttention => {
                let k_proj = weights.linear(&k, keys, keys, false)?;
                let v_proj = weights.linear(&v, keys, keys, false)?;
                let q_proj = weights.linear(&q, width, queries, false)?;
                (q_proj, Some(CrossProjections { k_proj, v_proj }))
            }
        };
        let (gate, up) = (at("mlp.gate_proj"), at("mlp.up_proj"));
        Ok(Self {
            input_layernorm: weights.rms_norm(&at("input_layernorm"), width, eps)?,
            own_proj,
            cross,
            o_proj: weights.linear(&at("self_attn.o_proj"), queries, width, false)?,
            post_attention_layernorm: weights.rms_norm(
                &at("post_attention_layernorm"),
                width,
                eps,
            )?,
            mlp: GatedMlp {
                gate_up_proj: weights.side_by_side(
                    &[(&gate, inner, 1.0), (&up, inner, 1.0)],
                    width,
                    false,
                )?,
                down_proj: weights.linear(&at("mlp.down_proj"), inner, width, false)?,
                intermediate_size: inner,
            },
        })
    }

    /// # Shapes
    /// `[2, batch, kv_heads, len, head_dim]`, unchanged
    fn look_at(&self, kv: &Tensor<5>, heads: HeadSizes) -> Tensor<5> {
        let Some(CrossProjections { k_proj, v_proj }) = &self.cross else {
            return kv.clone();
        };
        let [_, batch, kv_heads, len, head_dim] = kv.dims();
        let project = |i: usize, linear: &Linear| {
            let flat = kv
                .clone()
                .narrow(0, i, 1)
                .squeeze_dim::<4>(0)
                .swap_dims(1, 2) // [batch, len, kv_heads, head_dim]
                .reshape([batch, len, heads.key_width()]);
            linear
                .forward(flat)
                .reshape([batch, len, kv_heads, head_dim])
                .swap_dims(1, 2) // [batch, kv_heads, len, head_dim]
        };
        Tensor::stack(vec![project(0, k_proj), project(1, v_proj)], 0)
    }

    /// # Shapes
    /// x `[batch, chunk, width]` to `[batch, chunk, heads * head_dim]`
    fn attend(
        &self,
        x: Tensor<3>,
        prefix: &Tensor<5>,
        cache: &PrefixCache,
        heads: HeadSizes,
    ) -> Tensor<3> {
        let [batch, chunk, _] = x.dims();
        let (h, d) = (heads.queries, heads.head_dim);
        let own = self.input_layernorm.then(&self.own_proj, x);
        if self.cross.is_some() {
            let q = cache.cross_rope.apply(own.reshape([batch, chunk, h, d]));
            let [k, v] = halves(prefix);
            return attention(q.swap_dims(1, 2), k, v, cache.cross_bias.clone());
        }
        let own = cache
            .self_rope
            .apply(own.reshape([batch, chunk, h + 2 * heads.keys, d]));
        let q = own.clone().narrow(2, 0, h).swap_dims(1, 2);
        let kv = heads.keys_and_values(own.narrow(2, h, 2 * heads.keys));
        // Prefix first. Keys and values are joined in one go; the cache itself stays as it is.
        let [k, v] = halves(&Tensor::cat(vec![prefix.clone(), kv], 3));
        attention(q, k, v, Some(cache.self_bias.clone()))
    }

    /// Output projection, residual and MLP.
    pub(super) fn finish(&self, x: Tensor<3>, attended: Tensor<3>) -> Tensor<3> {
        let x = self.o_proj.forward_onto(x, attended);
        self.mlp.forward_onto(x, &self.post_attention_layernorm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(vlm: usize, expert: usize, n: i64) -> Architecture {
        let mut architecture = super::super::tiny::architecture();
        architecture.num_vlm_layers = vlm;
        architecture.num_expert_layers = expert;
        architecture.self_attn_every_n_layers = n;
        architecture
    }

    #[test]
    fn only_combinations_that_the_reference_runs_are_taken() {
        for (vlm, expert, n, runs) in [
            (16, 16, 2, true),
            (4, 2, 2, false), // expert layer 1 would be self by the VLM's count and cross by its own
            (4, 2, 3, false), // VLM layer 3 would be self and has no expert
            (4, 2, 4, true),
            (4, 2, 0, true),
            (4, 3, 2, false),
            (4, 0, 2, false),
        ] {
            assert_eq!(
                Plan::new(&sizes(vlm, expert, n)).is_ok(),
                runs,
                "{vlm} {expert} {n}"
            );
        }
    }

    #[test]
    fn the_kind_follows_the_layer_of_the_vlm() {
        let architecture = sizes(4, 4, 2);
        let plan = Plan::new(&architecture).unwrap();
        let kinds = [0, 1, 2, 3].map(|j| plan.kind(&architecture, j) == Kind::SelfAttention);
        assert_eq!(kinds, [true, false, true, false]);
    }
}
