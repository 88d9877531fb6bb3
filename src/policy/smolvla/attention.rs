//! Scaled dot-product attention with grouped heads, in the form that each device does best.

use burn::tensor::{Tensor, activation};

use super::cpu;

/// Largest score matrix that is held at once on a GPU, in bytes. A full-size camera needs 48 MiB; three at once would pass the 128 MiB that
/// WebGPU guarantees for one binding.
const SCORES_BUDGET: usize = 64 << 20;

/// `softmax(q kᵀ + bias) v`. The queries come already scaled by 1/√d.
///
/// Query head j looks at key/value head `j / (heads / kv_heads)`; the keys are not repeated.
///
/// # Shapes
/// q `[batch, heads, queries, head_dim]`, k and v `[batch, kv_heads, keys, head_dim]`, bias `[1 or batch, 1, queries, keys]`;
/// answers `[batch, queries, heads * head_dim]`.
pub(super) fn attention(
    q: Tensor<4>,
    k: Tensor<4>,
    v: Tensor<4>,
    bias: Option<Tensor<4>>,
) -> Tensor<3> {
    if [&q, &k, &v].into_iter().all(cpu::holds) {
        return cpu::attention(q, k, v, bias);
    }
    let [batch, heads, queries, head_dim] = q.dims();
    in_budget(q, k, v, bias)
        .swap_dims(1, 2)
        .reshape([batch, queries, heads * head_dim])
}

/// Splits the batch where the scores would not fit.
fn in_budget(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, bias: Option<Tensor<4>>) -> Tensor<4> {
    let [batch, heads, queries, _] = q.dims();
    let bytes_a_sample = heads * queries * k.dims()[2] * size_of::<f32>();
    let at_once = (SCORES_BUDGET / bytes_a_sample.max(1)).clamp(1, batch.max(1));
    if at_once >= batch {
        return unfused(q, k, v, bias);
    }
    let parts = (0..batch)
        .step_by(at_once)
        .map(|from| {
            let len = at_once.min(batch - from);
            let bias = bias.clone().map(|bias| match bias.dims()[0] {
                1 => bias,
                _ => bias.narrow(0, from, len),
            });
            let part = |x: &Tensor<4>| x.clone().narrow(0, from, len);
            unfused(part(&q), part(&k), part(&v), bias)
        })
        .collect();
    Tensor::cat(parts, 0)
}

/// Two products and a softmax. The queries of a group are stacked as rows against their one key head.
fn unfused(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, bias: Option<Tensor<4>>) -> Tensor<4> {
    let [batch, heads, queries, head_dim] = q.dims();
    let [_, kv_heads, keys, _] = k.dims();
    let stacked = heads / kv_heads * queries;
    let scores = q
        .reshape([batch, kv_heads, stacked, head_dim])
        .matmul(k.transpose()) // [batch, kv_heads, group * queries, keys]
        .reshape([batch, heads, queries, keys]);
    let scores = match bias {
        Some(bias) => scores + bias,
        None => scores,
    };
    activation::softmax(scores, 3)
        .reshape([batch, kv_heads, stacked, keys])
        .matmul(v) // [batch, kv_heads, group * queries, head_dim]
        .reshape([batch, heads, queries, head_dim])
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    /// Sums of a few dozen f32 products in two orders.
    const TOLERANCE: f32 = 2e-6;

    fn wave(shape: [usize; 4], phase: f32) -> Tensor<4> {
        let len = shape.iter().product::<usize>();
        let values: Vec<f32> = (0..len).map(|i| (i as f32 * 0.7 + phase).sin()).collect();
        Tensor::from_data(
            burn::tensor::TensorData::new(values, shape),
            &Device::flex(),
        )
    }

    fn largest_difference(a: Tensor<4>, b: Tensor<4>) -> f32 {
        (a - b).abs().max().into_scalar::<f32>()
    }

    #[test]
    fn grouped_heads_see_their_own_keys() {
        let (q, k, v) = (
            wave([2, 6, 5, 4], 0.0),
            wave([2, 2, 7, 4], 1.0),
            wave([2, 2, 7, 4], 2.0),
        );
        let bias = super::super::mask::bias(
            &(0..2 * 5 * 7).map(|i| i % 3 != 0).collect::<Vec<_>>(),
            [2, 5, 7],
            &Device::flex(),
        );
        // The slow, obvious way: repeat every key head for its three query heads.
        let repeat = |x: &Tensor<4>| {
            let heads = (0..6).map(|j| x.clone().narrow(1, j / 3, 1)).collect();
            Tensor::<4>::cat(heads, 1)
        };
        let want = unfused(q.clone(), repeat(&k), repeat(&v), Some(bias.clone()));
        let got = unfused(q.clone(), k.clone(), v.clone(), Some(bias.clone()));
        assert!(largest_difference(got, want) <= TOLERANCE);
    }
}
