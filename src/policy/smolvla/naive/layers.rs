//! Attention the reference's way: projections apart, keys repeated, a cache that grows and is cropped.

use burn::tensor::{Tensor, activation};

use crate::policy::smolvla::expert::{CrossProjections, ExpertLayer};
use crate::policy::smolvla::layers::Linear;
use crate::policy::smolvla::rope::apply_rope;
use crate::policy::smolvla::text::{HeadSizes, TextLayer};

/// Keys and values of one VLM layer, each `[batch, kv_heads, len, head_dim]`; it grows and is cropped in every step.
pub(super) struct GrowingCache {
    pub(super) k: Tensor<4>,
    pub(super) v: Tensor<4>,
}

/// One VLM layer on the padded prefix.
pub(super) fn text_layer(
    layer: &TextLayer,
    x: Tensor<3>,
    heads: HeadSizes,
    positions: &[Vec<i64>],
    bias: &Tensor<4>,
) -> (Tensor<3>, GrowingCache) {
    let normed = layer.input_layernorm.forward(x.clone());
    let (q, k, v) = query_key_value(&layer.qkv_proj, &normed, heads, positions);
    let attended = eager_attention(q, k.clone(), v.clone(), bias.clone());
    let x = x + layer.o_proj.forward(attended);
    let x = layer.mlp.forward_onto(x, &layer.post_attention_layernorm);
    (x, GrowingCache { k, v })
}

/// Three products where the twin has one, and a rotation each for queries and keys.
fn query_key_value(
    qkv_proj: &Linear,
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

/// Appends to the cache, attends, and crops the cache again.
pub(super) fn self_attention(
    layer: &ExpertLayer,
    heads: HeadSizes,
    x: &Tensor<3>,
    seen: &mut GrowingCache,
    prefix_len: usize,
    positions: &[Vec<i64>],
    bias: &Tensor<4>,
) -> Tensor<3> {
    let normed = layer.input_layernorm.forward(x.clone());
    let (q, k, v) = query_key_value(&layer.own_proj, &normed, heads, positions);
    seen.k = Tensor::cat(vec![seen.k.clone(), k], 2);
    seen.v = Tensor::cat(vec![seen.v.clone(), v], 2);
    let attended = eager_attention(q, seen.k.clone(), seen.v.clone(), bias.clone());
    seen.k = seen.k.clone().narrow(2, 0, prefix_len);
    seen.v = seen.v.clone().narrow(2, 0, prefix_len);
    attended
}

/// Projects the prefix once more, then attends.
pub(super) fn cross_attention(
    layer: &ExpertLayer,
    heads: HeadSizes,
    cross: &CrossProjections,
    x: &Tensor<3>,
    seen: &GrowingCache,
    bias: &Tensor<4>,
) -> Tensor<3> {
    let [batch, chunk, _] = x.dims();
    let q = layer
        .own_proj
        .forward(layer.input_layernorm.forward(x.clone()))
        .reshape([batch, chunk, heads.queries, heads.head_dim]);
    let q = apply_rope(q, &[(0..chunk as i64).collect()]).swap_dims(1, 2);
    let project = |x: &Tensor<4>, linear: &Linear| {
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
