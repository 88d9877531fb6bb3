//! The expert's weights as its kernels read them: norms and scales folded in, rows in the order of the epilogues, packed.

use crate::gpu::compute::{Compute, Format};
use crate::gpu::kernels::skinny::SkinnyWeight;
use crate::policy::Architecture;
use crate::policy::smolvla::error::{NetworkError, Result};
use crate::policy::smolvla::expert::{Kind, PREFIX, Plan};
use crate::policy::smolvla::text::HeadSizes;
use crate::policy::smolvla::weights::Weights;

/// A column group of four outputs in a head, and in a gated product, is spread over both halves.
const GROUP: usize = 4;

/// Everything after the prefix.
#[derive(Debug)]
pub(super) struct ExpertWeights {
    pub(super) layers: Vec<LayerWeights>,
    pub(super) suffix: SuffixWeights,
    /// The final norm and `action_out_proj`.
    pub(super) action_out: SkinnyWeight,
}

/// One expert layer.
#[derive(Debug)]
pub(super) struct LayerWeights {
    /// Queries, with the 1/√d of the attention; in a self-attention layer keys and values beside them.
    pub(super) qkv: SkinnyWeight,
    /// `k_proj`, then `v_proj`, of a cross-attention layer.
    pub(super) cross: Option<SkinnyWeight>,
    pub(super) o: SkinnyWeight,
    pub(super) gate_up: SkinnyWeight,
    pub(super) down: SkinnyWeight,
}

/// What embeds the noisy actions and the time.
#[derive(Debug)]
pub(super) struct SuffixWeights {
    /// `action_in_proj` folded into the action half of `action_time_mlp_in`.
    pub(super) action_in: SkinnyWeight,
    pub(super) mlp_out: SkinnyWeight,
    /// The time half of `action_time_mlp_in`, `[width, width]`, kept on the host: ten rows a plan.
    time: Vec<f32>,
    /// What both halves' biases amount to.
    bias: Vec<f64>,
}

/// Reads tensors and packs them.
pub(super) struct Packer<'a, 'b> {
    pub(super) weights: &'a mut Weights<'b>,
    pub(super) compute: &'a Compute,
    pub(super) format: Format,
    pub(super) widths: Widths,
}

/// How many outputs a workgroup computes, which decides which variants of the kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Widths {
    /// What suits the network.
    Fitting,
    /// What suits the 450M model, so that a tiny network shows whether a device computes that rightly.
    Full,
}

/// Shapes of the 450M model's products: queries alone, and with keys and values beside them.
const FULL_QUERIES: [usize; 2] = [960, 720];
const FULL_QKV: [usize; 2] = [1600, 720];
const FULL_CROSS: [usize; 2] = [640, 320];
const FULL_O: [usize; 2] = [720, 960];
const FULL_GATE_UP: [usize; 2] = [4096, 720];
const FULL_DOWN: [usize; 2] = [720, 2048];
const FULL_ACTION_IN: [usize; 2] = [720, 32];
const FULL_MLP_OUT: [usize; 2] = [720, 720];
const FULL_ACTION_OUT: [usize; 2] = [32, 720];

/// Rows of a linear layer, `[outputs, inputs]`.
struct Rows {
    values: Vec<f32>,
    inputs: usize,
}

impl Rows {
    /// Multiplies each input by the norm's weight that would have multiplied it before.
    fn after_norm(mut self, norm: &[f32]) -> Self {
        for row in self.values.chunks_exact_mut(self.inputs) {
            for (value, norm) in row.iter_mut().zip(norm) {
                *value *= norm;
            }
        }
        self
    }

    fn scaled(mut self, scale: f32) -> Self {
        for value in &mut self.values {
            *value *= scale;
        }
        self
    }

    fn below(mut self, other: Self) -> Self {
        self.values.extend(other.values);
        self
    }

    fn outputs(&self) -> usize {
        self.values.len() / self.inputs
    }

    fn in_order(self, order: impl Iterator<Item = usize>) -> Self {
        let row = |at: usize| &self.values[at * self.inputs..(at + 1) * self.inputs];
        Self {
            values: order.flat_map(row).copied().collect(),
            inputs: self.inputs,
        }
    }
}

/// Rows so that each group of four holds two rotary pairs (i, i + d/2) of one head.
fn rotary_order(heads: usize, head_dim: usize) -> impl Iterator<Item = usize> {
    let half = head_dim / 2;
    (0..heads).flat_map(move |head| {
        (0..half).step_by(2).flat_map(move |i| {
            [i, i + 1, i + half, i + half + 1].map(|channel| head * head_dim + channel)
        })
    })
}

/// Rows so that each group of four holds two gates and their ups, which lie `inner` rows below.
fn gate_order(inner: usize) -> impl Iterator<Item = usize> {
    (0..inner)
        .step_by(2)
        .flat_map(move |i| [i, i + 1, inner + i, inner + i + 1])
}

impl Packer<'_, '_> {
    fn rows(&mut self, name: &str, [outputs, inputs]: [usize; 2]) -> Result<Rows> {
        let values = self
            .weights
            .host(&format!("{name}.weight"), &[outputs, inputs])?;
        Ok(Rows { values, inputs })
    }

    fn vector(&mut self, name: &str, len: usize) -> Result<Vec<f32>> {
        self.weights.host(name, &[len])
    }

    /// `full` is the shape of this product in the 450M model.
    fn pack(
        &self,
        name: &str,
        rows: &Rows,
        bias: &[f32],
        format: Format,
        full: [usize; 2],
    ) -> Result<SkinnyWeight> {
        let shape = [rows.outputs(), rows.inputs];
        let packed = self.compute.checked(format!("memory for {name}"), || {
            SkinnyWeight::upload(self.compute, name, &rows.values, shape, bias, format)
        })?;
        let packed = packed.map_err(|reason| NetworkError::Packing {
            name: name.to_owned(),
            reason,
        })?;
        Ok(match self.widths {
            Widths::Fitting => packed,
            Widths::Full => packed.wide_as(full),
        })
    }
}

impl ExpertWeights {
    pub(super) fn load(
        packer: &mut Packer<'_, '_>,
        architecture: &Architecture,
        plan: Plan,
    ) -> Result<Self> {
        let (width, actions) = (architecture.expert_hidden_size, architecture.max_action_dim);
        let layers = (0..architecture.num_expert_layers)
            .map(|j| LayerWeights::load(packer, architecture, j, plan.kind(architecture, j)))
            .collect::<Result<_>>()?;
        let norm = packer.vector(&format!("{PREFIX}.norm.weight"), width)?;
        let name = "model.action_out_proj";
        let out = packer.rows(name, [actions, width])?.after_norm(&norm);
        let bias = packer.vector(&format!("{name}.bias"), actions)?;
        Ok(Self {
            layers,
            suffix: SuffixWeights::load(packer, width, actions)?,
            action_out: packer.pack(name, &out, &bias, Format::F32, FULL_ACTION_OUT)?,
        })
    }
}

impl LayerWeights {
    fn load(
        packer: &mut Packer<'_, '_>,
        architecture: &Architecture,
        j: usize,
        kind: Kind,
    ) -> Result<Self> {
        let heads = HeadSizes::new(architecture);
        let (width, inner) = (
            architecture.expert_hidden_size,
            architecture.expert_intermediate_size,
        );
        let (queries, keys, format) = (heads.query_width(), heads.key_width(), packer.format);
        let at = |part: &str| format!("{PREFIX}.layers.{j}.{part}");
        let (q, k, v) = (
            at("self_attn.q_proj"),
            at("self_attn.k_proj"),
            at("self_attn.v_proj"),
        );
        let norm = packer.vector(&at("input_layernorm.weight"), width)?;
        let scale = 1.0 / (heads.head_dim as f32).sqrt();
        let mut qkv = packer.rows(&q, [queries, width])?.scaled(scale);
        let mut own_heads = heads.queries;
        let mut cross = None;
        let mut full_qkv = FULL_QUERIES;
        match kind {
            Kind::SelfAttention => {
                let kv = packer.rows(&k, [keys, width])?;
                qkv = qkv.below(kv).below(packer.rows(&v, [keys, width])?);
                own_heads += 2 * heads.keys;
                full_qkv = FULL_QKV;
            }
            Kind::CrossAttention => {
                let kv = packer.rows(&k, [keys, keys])?;
                let kv = kv.below(packer.rows(&v, [keys, keys])?);
                // f32 in every published checkpoint, and read once a chunk. At most four groups wide, so that no workgroup
                // reads keys and values at once.
                cross = Some(
                    packer
                        .pack(&k, &kv, &[], Format::F32, FULL_CROSS)?
                        .at_most(GROUP),
                );
            }
        }
        let order = rotary_order(own_heads, heads.head_dim);
        let qkv = qkv.after_norm(&norm).in_order(order);
        let norm = packer.vector(&at("post_attention_layernorm.weight"), width)?;
        let gate = packer.rows(&at("mlp.gate_proj"), [inner, width])?;
        let up = packer.rows(&at("mlp.up_proj"), [inner, width])?;
        let gate_up = gate.below(up).after_norm(&norm).in_order(gate_order(inner));
        let (o, down) = (at("self_attn.o_proj"), at("mlp.down_proj"));
        let o_rows = packer.rows(&o, [width, queries])?;
        let down_rows = packer.rows(&down, [width, inner])?;
        Ok(Self {
            qkv: packer.pack(&q, &qkv, &[], format, full_qkv)?,
            cross,
            o: packer.pack(&o, &o_rows, &[], format, FULL_O)?,
            gate_up: packer.pack(&at("mlp.gate_proj"), &gate_up, &[], format, FULL_GATE_UP)?,
            down: packer.pack(&down, &down_rows, &[], format, FULL_DOWN)?,
        })
    }
}

impl SuffixWeights {
    fn load(packer: &mut Packer<'_, '_>, width: usize, actions: usize) -> Result<Self> {
        let name = "model.action_in_proj";
        let first = packer.rows(name, [width, actions])?;
        let first_bias = packer.vector(&format!("{name}.bias"), width)?;
        let name = "model.action_time_mlp_in";
        let both = packer.rows(name, [width, 2 * width])?;
        let bias = packer.vector(&format!("{name}.bias"), width)?;
        let halves = both.values.chunks_exact(2 * width);
        let folded: Vec<(Vec<f64>, f64)> = halves
            .clone()
            .zip(&bias)
            .map(|(row, bias)| fold(&row[..width], &first.values, &first_bias, *bias))
            .collect();
        let rows = Rows {
            values: folded
                .iter()
                .flat_map(|(row, _)| row.iter().map(|value| *value as f32))
                .collect(),
            inputs: actions,
        };
        let out_name = "model.action_time_mlp_out";
        let out = packer.rows(out_name, [width, width])?;
        let out_bias = packer.vector(&format!("{out_name}.bias"), width)?;
        Ok(Self {
            action_in: packer.pack(name, &rows, &[], Format::F32, FULL_ACTION_IN)?,
            mlp_out: packer.pack(out_name, &out, &out_bias, Format::F32, FULL_MLP_OUT)?,
            time: halves.flat_map(|row| &row[width..]).copied().collect(),
            bias: folded.iter().map(|(_, bias)| *bias).collect(),
        })
    }

    /// What a time, embedded as `sinusoid`, adds to the actions before the activation; `[width]`.
    pub(super) fn time_bias(&self, sinusoid: &[f32]) -> Vec<f32> {
        let rows = self.time.chunks_exact(sinusoid.len()).zip(&self.bias);
        rows.map(|(row, bias)| (bias + dot(row, sinusoid)) as f32)
            .collect()
    }
}

/// One row of `outer · inner`, and of its bias; `inner` is `[outer's inputs, columns]`.
fn fold(outer: &[f32], inner: &[f32], inner_bias: &[f32], bias: f32) -> (Vec<f64>, f64) {
    let columns = inner.len() / outer.len().max(1);
    let mut row = vec![0.0; columns];
    for (weight, line) in outer.iter().zip(inner.chunks_exact(columns)) {
        for (sum, value) in row.iter_mut().zip(line) {
            *sum += f64::from(*weight) * f64::from(*value);
        }
    }
    (row, f64::from(bias) + dot(outer, inner_bias))
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
    products.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_what_belongs_together() {
        let order: Vec<usize> = rotary_order(2, 8).collect();
        assert_eq!(
            order,
            [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
        );
        let order: Vec<usize> = gate_order(4).collect();
        assert_eq!(order, [0, 1, 4, 5, 2, 3, 6, 7]);
    }

    #[test]
    fn two_linear_layers_fold_into_one() {
        let (row, bias) = fold(&[2.0, -1.0], &[1.0, 0.0, 3.0, 5.0], &[10.0, 4.0], 0.5);
        assert_eq!((row, bias), (vec![-1.0, -5.0], 16.5));
    }
}
