//! Rotary positions in one pass.

use pulp::Simd;

use super::lanes::{Tiled, widest};

struct Rotation<'a> {
    x: &'a [f32],
    cos: &'a [f32],
    sin: &'a [f32],
    head_dim: usize,
}

/// `x cos + swapped(x) sin`, where the halves of each head have changed places and the table begins again with each sample.
pub(super) fn rotate(x: &[f32], cos: &[f32], sin: &[f32], head_dim: usize) -> Vec<f32> {
    widest(Rotation {
        x,
        cos,
        sin,
        head_dim,
    })
}

impl Tiled for Rotation<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<S: Simd, const ROWS: usize>(self, _: S) -> Vec<f32> {
        let mut y = vec![0.0; self.x.len()];
        let d = self.head_dim;
        let table = self.cos.chunks_exact(d).zip(self.sin.chunks_exact(d));
        let heads = y.chunks_exact_mut(d).zip(self.x.chunks_exact(d));
        for ((y, x), (cos, sin)) in heads.zip(table.cycle()) {
            let (first, second) = x.split_at(d / 2);
            let (y_1, y_2) = y.split_at_mut(d / 2);
            let (cos_1, cos_2) = cos.split_at(d / 2);
            let (sin_1, sin_2) = sin.split_at(d / 2);
            turn(y_1, first, second, cos_1, sin_1);
            turn(y_2, second, first, cos_2, sin_2);
        }
        y
    }
}

#[inline(always)]
fn turn(to: &mut [f32], x: &[f32], other: &[f32], cos: &[f32], sin: &[f32]) {
    let factors = cos.iter().zip(sin);
    for (((to, x), other), (cos, sin)) in to.iter_mut().zip(x).zip(other).zip(factors) {
        *to = x * cos + other * sin;
    }
}
