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

    use super::super::mask;
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

    /// The slow, obvious way: every key head repeated for its query heads.
    fn repeated(x: &Tensor<4>, group: usize) -> Tensor<4> {
        let heads = x.dims()[1] * group;
        let heads = (0..heads).map(|j| x.clone().narrow(1, j / group, 1));
        Tensor::cat(heads.collect(), 1)
    }

    #[test]
    fn grouped_heads_see_their_own_keys() {
        // Neither queries nor keys nor a head's width fill a tile of the CPU's kernels; the second case needs several.
        for [samples, heads, kv_heads, queries, keys, d] in [
            [2, 6, 2, 5, 7, 4],
            [2, 4, 2, 45, 31, 20],
            [1, 3, 3, 40, 130, 16],
        ] {
            // As the network hands them over: heads beside each other in a row.
            let rows =
                |heads, count, phase| wave([samples, count, heads, d], phase).swap_dims(1, 2);
            let (q, k, v) = (
                rows(heads, queries, 0.0),
                rows(kv_heads, keys, 1.0),
                rows(kv_heads, keys, 2.0),
            );
            for masks in [0, 1, samples] {
                let visible: Vec<bool> = (0..masks * queries * keys).map(|i| i % 3 != 0).collect();
                let shape = [masks, queries, keys];
                let bias = (masks > 0).then(|| mask::bias(&visible, shape, &Device::flex()));
                let group = heads / kv_heads;
                let want = unfused(
                    q.clone(),
                    repeated(&k, group),
                    repeated(&v, group),
                    bias.clone(),
                );
                let got = unfused(q.clone(), k.clone(), v.clone(), bias.clone());
                assert!(largest_difference(got, want.clone()) <= TOLERANCE);
                let got = cpu::attention(q.clone(), k.clone(), v.clone(), bias);
                let got = got.reshape([samples, queries, heads, d]).swap_dims(1, 2);
                assert!(largest_difference(got, want) <= TOLERANCE);
            }
        }
    }

    #[test]
    fn a_wholly_masked_row_is_uniform_and_scores_far_apart_do_not_overflow() {
        let device = Device::flex();
        let q = Tensor::<4>::from_floats([[[[1.0], [1.0]]]], &device);
        let k = Tensor::<4>::from_floats([[[[900.0], [-900.0], [0.0]]]], &device);
        let v = Tensor::<4>::from_floats([[[[3.0], [5.0], [7.0]]]], &device);
        let visible = [true, true, true, false, false, false];
        let bias = mask::bias(&visible, [1, 2, 3], &device);
        let y: Vec<f32> = cpu::attention(q, k, v, Some(bias))
            .try_into_vec_as()
            .unwrap();
        assert!(
            (y[0] - 3.0).abs() <= TOLERANCE && (y[1] - 5.0).abs() <= TOLERANCE,
            "{y:?}"
        );
    }
}
