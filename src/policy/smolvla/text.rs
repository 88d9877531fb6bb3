//! The VLM's language layers: they read the prefix once a chunk and leave keys and values for the expert.

use burn::tensor::{Device, Tensor};

use super::attention::attention;
use super::error::Result;
use super::layers::{GatedMlp, Linear, RmsNorm};
use super::mask;
use super::prefix::Prefix;
use super::rope::{Heads, RopeTable};
use super::trace::Trace;
use super::weights::Weights;
use crate::policy::Architecture;

pub(super) const PREFIX: &str = "model.vlm_with_expert.vlm.model.text_model";

/// Sizes of the heads, shared by the VLM and the expert.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadSizes {
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) head_dim: usize,
}

impl HeadSizes {
    pub(super) fn new(architecture: &Architecture) -> Self {
        Self {
            queries: architecture.num_attention_heads,
            keys: architecture.num_key_value_heads,
            head_dim: architecture.head_dim,
        }
    }

    pub(super) fn query_width(self) -> usize {
        self.queries * self.head_dim
    }

    pub(super) fn key_width(self) -> usize {
        self.keys * self.head_dim
    }

    /// Query heads for a rope table, with the 1/√d of the attention.
    pub(super) fn query_heads(self) -> Heads {
        Heads {
            count: self.queries,
            rotated: true,
            scale: 1.0 / (self.head_dim as f32).sqrt(),
        }
    }

    /// Key heads and value heads for a rope table.
    pub(super) fn key_value_heads(self) -> [Heads; 2] {
        [true, false].map(|rotated| Heads {
            count: self.keys,
            rotated,
            scale: 1.0,
        })
    }

    /// The keys and values out of `[batch, seq, 2 * kv_heads, head_dim]`, as `[2, batch, kv_heads, seq, head_dim]`.
    pub(super) fn keys_and_values(self, kv: Tensor<4>) -> Tensor<5> {
        let [batch, seq, ..] = kv.dims();
        kv.reshape([batch, seq, 2, self.keys, self.head_dim])
            .permute([2, 0, 3, 1, 4])
    }
}

/// Keys and values out of what [`HeadSizes::keys_and_values`] joined.
pub(super) fn halves(kv: &Tensor<5>) -> [Tensor<4>; 2] {
    [0, 1].map(|i| kv.clone().narrow(0, i, 1).squeeze_dim(0))
}

/// Mirrors the first `num_vlm_layers` of `LlamaModel` as SmolVLA runs them: every layer is self-attention on the prefix.
#[derive(Debug)]
pub(super) struct TextModel {
    /// Layers that are run whole.
    pub(super) layers: Vec<TextLayer>,
    /// The last layer that the expert looks at: nothing but its keys and values is ever used.
    last: Option<LastLayer>,
    pub(super) heads: HeadSizes,
}

/// Mirrors `LlamaDecoderLayer`.
#[derive(Debug)]
pub(super) struct TextLayer {
    pub(super) input_layernorm: RmsNorm,
    /// `q_proj`, `k_proj` and `v_proj`.
    pub(super) qkv_proj: Linear,
    pub(super) o_proj: Linear,
    pub(super) post_attention_layernorm: RmsNorm,
    pub(super) mlp: GatedMlp,
}

#[derive(Debug)]
struct LastLayer {
    input_layernorm: RmsNorm,
    /// `k_proj` and `v_proj`.
    kv_proj: Linear,
}

impl TextModel {
    /// Loads `whole` layers and, if `last`, the keys and values of one more.
    pub(super) fn load(
        weights: &mut Weights<'_>,
        architecture: &Architecture,
        whole: usize,
        last: bool,
    ) -> Result<Self> {
        let layers = (0..whole)
            .map(|i| TextLayer::load(weights, architecture, i))
            .collect::<Result<_>>()?;
        let last = if last {
            Some(LastLayer::load(weights, architecture, whole)?)
        } else {
            None
        };
        Ok(Self {
            layers,
            last,
            heads: HeadSizes::new(architecture),
        })
    }

    /// Keys (rotated) and values of every layer that the expert may look at.
    ///
    /// # Shapes
    /// prefix `[batch, len, hidden]` to one `[2, batch, kv_heads, len, head_dim]` a layer
    pub(super) fn prefill(&self, prefix: &Prefix, trace: &mut Trace) -> Result<Vec<Tensor<5>>> {
        let mut x = prefix.embs.clone();
        let [_, len, _] = x.dims();
        let device = x.device();
        let bias = visible_bias(prefix, len, &device);
        let rope = self.rope_table(len, true, &device);
        let mut cache = Vec::with_capacity(self.layers.len() + 1);
        for (i, layer) in self.layers.iter().enumerate() {
            trace.see(|| format!("prefill.vlm_layer_in.{i}"), &x)?;
            let (out, kv) = layer.forward(x, self.heads, &rope, &bias);
            see_keys_and_values(trace, i, &kv)?;
            cache.push(kv);
            x = out;
        }
        if let Some(last) = &self.last {
            let i = self.layers.len();
            trace.see(|| format!("prefill.vlm_layer_in.{i}"), &x)?;
            let rope = self.rope_table(len, false, &device);
            let kv = last.forward(x, self.heads, &rope);
            see_keys_and_values(trace, i, &kv)?;
            cache.push(kv);
        }
        Ok(cache)
    }

    /// The prefix has no holes, so its positions are 0 to len − 1 in every sample; trailing padding is masked.
    fn rope_table(&self, len: usize, queries: bool, device: &Device) -> RopeTable {
        let positions = [(0..len as i64).collect()];
        let mut heads = Vec::from(self.heads.key_value_heads());
        if queries {
            heads.insert(0, self.heads.query_heads());
        }
        RopeTable::new(&positions, &heads, self.heads.head_dim, device)
    }
}

fn visible_bias(prefix: &Prefix, len: usize, device: &Device) -> Tensor<4> {
    let mut lengths = prefix.lengths.clone();
    lengths.dedup();
    if lengths.len() > 1 {
        lengths.clone_from(&prefix.lengths);
    }
    let visible: Vec<bool> = lengths
        .iter()
        .flat_map(|&valid| mask::prefix_visible(valid, len))
        .collect();
    mask::bias(&visible, [lengths.len(), len, len], device)
}

fn see_keys_and_values(trace: &mut Trace, i: usize, kv: &Tensor<5>) -> Result<()> {
    if trace.is_on() {
        let [k, v] = halves(kv);
        trace.see(|| format!("prefill.k.{i}"), &k)?;
        trace.see(|| format!("prefill.v.{i}"), &v)?;
    }
    Ok(())
}

impl TextLayer {
    fn load(weights: &mut Weights<'_>, architecture: &Architecture, i: usize) -> Result<Self> {
        let heads = HeadSizes::new(architecture);
        let (width, inner) = (architecture.hidden_size, architecture.intermediate_size);
        let eps = architecture.rms_norm_eps;
        let at = |part: &str| format!("{PREFIX}.layers.{i}.{part}");
        let (q, k, v) = (
            at("self_attn.q_proj"),
            at("self_attn.k_proj"),
            at("self_attn.v_proj"),
        );
        let (gate, up) = (at("mlp.gate_proj"), at("mlp.up_proj"));
        Ok(Self {
            input_layernorm: weights.rms_norm(&at("input_layernorm"), width, eps)?,
            qkv_proj: weights.side_by_side(
                &[
                    (&q, heads.query_width(), 1.0),
                    (&k, heads.key_width(), 1.0),
                    (&v, heads.key_width(), 1.0),
                ],
                width,
                false,
            )?,
            o_proj: weights.linear(&at("self_attn.o_proj"), heads.query_width(), width, false)?,
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
    /// `[batch, len, hidden]` to the same and `[2, batch, kv_heads, len, head_dim]`
    fn forward(
        &self,
        x: Tensor<3>,
        heads: HeadSizes,
        rope: &RopeTable,
        bias: &Tensor<4>,
    ) -> (Tensor<3>, Tensor<5>) {
        let [batch, len, _] = x.dims();
        let qkv = self
            .input_layernorm
            .then(&self.qkv_proj, x.clone())
            .reshape([batch, len, heads.queries + 2 * heads.keys, heads.head_dim]);
        let qkv = rope.apply(qkv);
        let q = qkv.clone().narrow(2, 0, heads.queries).swap_dims(1, 2);
        let kv = heads.keys_and_values(qkv.narrow(2, heads.queries, 2 * heads.keys));
        let [k, v] = halves(&kv);
        let attended = attention(q, k, v, Some(bias.clone()));
        let x = self.o_proj.forward_onto(x, attended);
        let x = self.mlp.forward_onto(x, &self.post_attention_layernorm);
        (x, kv)
    }
}

impl LastLayer {
    fn load(weights: &mut Weights<'_>, architecture: &Architecture, i: usize) -> Result<Self> {
        let heads = HeadSizes::new(architecture);
        let at = |part: &str| format!("{PREFIX}.layers.{i}.{part}");
        let (k, v) = (at("self_attn.k_proj"), at("self_attn.v_proj"));
        let width = architecture.hidden_size;
        Ok(Self {
            input_layernorm: weights.rms_norm(
                &at("input_layernorm"),
                width,
                architecture.rms_norm_eps,
            )?,
            kv_proj: weights.side_by_side(
                &[(&k, heads.key_width(), 1.0), (&v, heads.key_width(), 1.0)],
                width,
                false,
            )?,
        })
    }

    fn forward(&self, x: Tensor<3>, heads: HeadSizes, rope: &RopeTable) -> Tensor<5> {
        let [batch, len, _] = x.dims();
        let kv = self.input_layernorm.then(&self.kv_proj, x).reshape([
            batch,
            len,
            2 * heads.keys,
            heads.head_dim,
        ]);
        heads.keys_and_values(rope.apply(kv))
    }
}
