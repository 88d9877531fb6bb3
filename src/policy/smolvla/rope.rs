//! Rotary positions, as SmolVLA does them: base 10000 whatever the VLM's config says, halves rotated, in f32.

use burn::tensor::{Device, Tensor};

use super::weights::placed;

use super::cpu;

/// SmolVLA's own `apply_rope` ignores the VLM's `rope_theta` of 100000.
const BASE: f32 = 10_000.0;

/// Consecutive heads that are treated alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    /// How many.
    pub(super) count: usize,
    /// Rotated (queries and keys) or passed through (values).
    pub(super) rotated: bool,
    /// Multiplies them; queries take the 1/√d of the attention here, at no cost.
    pub(super) scale: f32,
}

/// Cosines and sines for every position, head and channel, made once a chunk.
#[derive(Clone, Debug)]
pub(super) struct RopeTable {
    /// `[1 or batch, seq, heads, head_dim]`
    cos: Tensor<4>,
    /// The same, negative in the first half.
    sin: Tensor<4>,
}

impl RopeTable {
    /// `positions` holds one list a sample, or a single list for all.
    pub(super) fn new(
        positions: &[Vec<i64>],
        heads: &[Heads],
        head_dim: usize,
        device: &Device,
    ) -> Self {
        let seq = positions.first().map_or(0, Vec::len);
        let total: usize = heads.iter().map(|heads| heads.count).sum();
        let len = positions.len() * seq * total * head_dim;
        let (mut cos, mut sin) = (Vec::with_capacity(len), Vec::with_capacity(len));
        for &position in positions.iter().flatten() {
            for group in heads {
                for _ in 0..group.count {
                    push_head(&mut cos, &mut sin, position, *group, head_dim);
                }
            }
        }
        let shape = [positions.len(), seq, total, head_dim];
        Self {
            cos: placed(cos, shape, device),
            sin: placed(sin, shape, device),
        }
    }

    /// Mirrors `apply_rope`: `[x1 cos − x2 sin, x2 cos + x1 sin]`, all heads at once.
    ///
    /// # Shapes
    /// `[batch, seq, heads, head_dim]`, unchanged.
    pub(super) fn apply(&self, x: Tensor<4>) -> Tensor<4> {
        if cpu::holds(&x) {
            return cpu::rotate(x, &self.cos, &self.sin);
        }
        let [batch, seq, heads, head_dim] = x.dims();
        let swapped = x
            .clone()
            .reshape([batch, seq, heads, 2, head_dim / 2])
            .flip([3]) // the halves change places
            .reshape([batch, seq, heads, head_dim]);
        x * self.cos.clone() + swapped * self.sin.clone()
    }
}

/// Mirrors `apply_rope` for heads that are all rotated; `positions` holds one list a sample, or one for all.
///
/// # Shapes
/// `[batch, seq, heads, head_dim]`, unchanged
pub fn apply_rope(x: Tensor<4>, positions: &[Vec<i64>]) -> Tensor<4> {
    let [_, _, count, head_dim] = x.dims();
    let all = Heads {
        count,
        rotated: true,
        scale: 1.0,
    };
    RopeTable::new(positions, &[all], head_dim, &x.device()).apply(x)
}

fn push_head(cos: &mut Vec<f32>, sin: &mut Vec<f32>, position: i64, heads: Heads, head_dim: usize) {
    let half = head_dim / 2;
    for sign in [-1.0, 1.0] {
        for j in 0..half {
            if heads.rotated {
                let angle = angle(position, j, head_dim);
                cos.push(heads.scale * angle.cos() as f32);
                sin.push(heads.scale * sign * angle.sin() as f32);
            } else {
                cos.push(heads.scale);
                sin.push(0.0);
            }
        }
    }
}

/// The angle is rounded to f32 as the reference rounds it, then handed on for an exact sine.
pub(super) fn angle(position: i64, j: usize, head_dim: usize) -> f64 {
    let exponent = 2.0 / head_dim as f32 * j as f32;
    f64::from(position as f32 / BASE.powf(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_zero_only_scales_and_values_pass_through() {
        let device = Device::flex();
        let heads = [
            Heads {
                count: 1,
                rotated: true,
                scale: 0.5,
            },
            Heads {
                count: 1,
                rotated: false,
                scale: 1.0,
            },
        ];
        let table = RopeTable::new(&[vec![0, 7]], &heads, 2, &device);
        let x = Tensor::<4>::from_floats(
            [[[[2.0, 4.0], [3.0, 5.0]], [[2.0, 0.0], [3.0, 5.0]]]],
            &device,
        );
        let y: Vec<f32> = table.apply(x).try_into_vec_as().unwrap();
        assert_eq!(y[..4], [1.0, 2.0, 3.0, 5.0]);
        let (sin, cos) = 7f64.sin_cos();
        assert!((f64::from(y[4]) - cos).abs() < 1e-6 && (f64::from(y[5]) - sin).abs() < 1e-6);
        assert_eq!(y[6..], [3.0, 5.0]);
    }
}
