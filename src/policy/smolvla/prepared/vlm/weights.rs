//! The weights of the language layers as the tall products read them, and which sizes those take.

use crate::gpu::kernels::matmul::dealt;
use crate::policy::Architecture;
use crate::policy::smolvla::error::{NetworkError, Result};
use crate::policy::smolvla::prepared::tower::{Linear, Loader, NormWeights};
use crate::policy::smolvla::text::{self, HeadSizes};

#[derive(Debug)]
pub(super) struct LayerWeights {
    pub(super) input_layernorm: NormWeights,
    /// Queries, keys and values, dealt out in rotated pairs.
    pub(super) qkv_proj: Linear,
    pub(super) o_proj: Linear,
    pub(super) post_attention_layernorm: NormWeights,
    /// Gates and what they open, dealt out in pairs.
    pub(super) gate_up_proj: Linear,
    pub(super) down_proj: Linear,
}

/// Of the last layer only keys and values are ever used.
#[derive(Debug)]
pub(super) struct LastWeights {
    pub(super) input_layernorm: NormWeights,
    pub(super) kv_proj: Linear,
}

/// Rows of heads `[heads, head_dim]` in rotated pairs: channel p and p + d/2.
fn in_pairs(rows: &[f32], inputs: usize, head_dim: usize) -> Vec<f32> {
    let (half, row) = (head_dim / 2, |at: usize| {
        &rows[at * inputs..(at + 1) * inputs]
    });
    let outputs = rows.len() / inputs.max(1);
    dealt(outputs / 2, |pair| {
        let at = pair / half * head_dim + pair % half;
        [row(at), row(at + half)]
    })
}

impl LayerWeights {
    pub(super) fn load(
        loader: &mut Loader<'_, '_>,
        architecture: &Architecture,
        i: usize,
    ) -> Result<Self> {
        let heads = HeadSizes::new(architecture);
        let (width, inner) = (architecture.hidden_size, architecture.intermediate_size);
        let eps = architecture.rms_norm_eps;
        let at = |part: &str| format!("{}.layers.{i}.{part}", text::PREFIX);
        let mut qkv = Vec::new();
        for (part, outputs) in [
            ("q", heads.query_width()),
            ("k", heads.key_width()),
            ("v", heads.key_width()),
        ] {
            let rows = loader.rows(&at(&format!("self_attn.{part}_proj")), [outputs, width])?;
            qkv.extend(in_pairs(&rows, width, heads.head_dim));
        }
        let gate = loader.rows(&at("mlp.gate_proj"), [inner, width])?;
        let up = loader.rows(&at("mlp.up_proj"), [inner, width])?;
        let row = |i: usize| i * width..(i + 1) * width;
        let gate_up = dealt(inner, |i| [&gate[row(i)], &up[row(i)]]);
        Ok(Self {
            input_layernorm: loader.norm(&at("input_layernorm"), width, eps, false)?,
            qkv_proj: loader.in_order(&at("self_attn.q_proj"), &qkv, width)?,
            o_proj: loader.linear(
                &[(&at("self_attn.o_proj"), width)],
                heads.query_width(),
                false,
            )?,
            post_attention_layernorm: loader.norm(
                &at("post_attention_layernorm"),
                width,
                eps,
                false,
            )?,
            gate_up_proj: loader.in_order(&at("mlp.gate_proj"), &gate_up, width)?,
            down_proj: loader.linear(&[(&at("mlp.down_proj"), width)], inner, false)?,
        })
    }
}

impl LastWeights {
    pub(super) fn load(
        loader: &mut Loader<'_, '_>,
        architecture: &Architecture,
        i: usize,
    ) -> Result<Self> {
        let heads = HeadSizes::new(architecture);
        let width = architecture.hidden_size;
        let at = |part: &str| format!("{}.layers.{i}.{part}", text::PREFIX);
        let (k, v) = (at("self_attn.k_proj"), at("self_attn.v_proj"));
        let mut kv = Vec::new();
        for name in [&k, &v] {
            let rows = loader.rows(name, [heads.key_width(), width])?;
            kv.extend(in_pairs(&rows, width, heads.head_dim));
        }
        Ok(Self {
            input_layernorm: loader.norm(
                &at("input_layernorm"),
                width,
                architecture.rms_norm_eps,
                false,
            )?,
            kv_proj: loader.in_order(&k, &kv, width)?,
        })
    }
}

/// Refuses what the kernels' tiles do not fit.
pub(in super::super) fn check(architecture: &Architecture) -> Result<()> {
    let (a, heads) = (architecture, HeadSizes::new(architecture));
    let refuse = |what: String| Err(NetworkError::Kernels(what));
    for (name, value, by) in [
        ("width of the query heads", heads.query_width(), 16),
        ("width of the key heads", heads.key_width(), 16),
        ("intermediate_size", a.intermediate_size, 8),
    ] {
        if !value.is_multiple_of(by) {
            return refuse(format!("they take a {name} by {by}, not {value}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_of_a_head_meet_their_other_half() {
        let rows: Vec<f32> = (0..32).map(|row| row as f32).collect();
        let order = in_pairs(&rows, 1, 16);
        assert_eq!(order[..9], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        // A head of four channels: pairs (0, 2), (1, 3), (4, 6) …
        let order = in_pairs(&rows, 1, 4);
        assert_eq!(order[..4], [0.0, 1.0, 4.0, 5.0]);
        assert_eq!(order[8..12], [2.0, 3.0, 6.0, 7.0]);
    }
}
