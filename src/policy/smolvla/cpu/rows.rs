//! The left side of a product: rows, normed or gated on their way into the order in which tiles read them.

use pulp::{Scalar, Simd};
use rayon::prelude::*;

use super::lanes::{Tiled, interleave, silu, widest};

/// What happens to a row before it is multiplied.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Before<'a> {
    /// Nothing.
    Plain,
    /// `LayerNorm`.
    LayerNorm {
        weight: &'a [f32],
        bias: &'a [f32],
        eps: f32,
    },
    /// `RmsNorm`.
    RmsNorm { weight: &'a [f32], eps: f32 },
    /// `silu(gate) · up` of rows `[gate, up]`, which are twice as long as what is multiplied.
    Gated,
}

impl Before<'_> {
    /// Length of a row that becomes `inner` long.
    pub(super) fn source_width(self, inner: usize) -> usize {
        match self {
            Before::Gated => 2 * inner,
            _ => inner,
        }
    }
}

/// Rows to be interleaved tile by tile.
struct Tiles<'a> {
    before: Before<'a>,
    inner: usize,
    /// `[rows][source width]`
    from: &'a [f32],
    /// `[tiles][inner][ROWS]`
    to: &'a mut [f32],
}

/// Fills `to` with the tiles of `from`.
///
/// # Shapes
/// from `[rows][source width]`, to `[tiles][inner][tile rows]`
pub(super) fn interleave_rows(
    before: Before<'_>,
    inner: usize,
    tile_rows: usize,
    from: &[f32],
    to: &mut [f32],
) {
    let width = before.source_width(inner);
    to.par_chunks_mut(inner * tile_rows)
        .zip(from.par_chunks(width * tile_rows))
        .for_each(|(to, from)| {
            widest(Tiles {
                before,
                inner,
                from,
                to,
            });
        });
}

impl Tiled for Tiles<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd, const ROWS: usize>(self, simd: S) {
        let inner = self.inner;
        let width = self.before.source_width(inner);
        let mut changed = match self.before {
            Before::Plain => Vec::new(),
            _ => vec![0.0; inner * ROWS],
        };
        let tiles = self.from.chunks(width * ROWS);
        for (from, to) in tiles.zip(self.to.chunks_exact_mut(inner * ROWS)) {
            for (from, to) in from
                .chunks_exact(width)
                .zip(changed.chunks_exact_mut(inner))
            {
                change(simd, self.before, from, to);
            }
            let source = match self.before {
                Before::Plain => from,
                _ => &changed[..from.len() / width * inner],
            };
            let mut rows = [&source[..0]; ROWS];
            let count = source.len() / inner;
            for (row, values) in rows.iter_mut().zip(source.chunks_exact(inner)) {
                *row = values;
            }
            interleave::<ROWS>(&rows[..count], to);
        }
    }
}

/// One row through its norm or gate.
#[inline(always)]
fn change<S: Simd>(simd: S, before: Before<'_>, from: &[f32], to: &mut [f32]) {
    match before {
        Before::Plain => to.copy_from_slice(from),
        Before::LayerNorm { weight, bias, eps } => {
            let count = from.len() as f32;
            let mean = sum(from, |x| x) / count;
            let variance = sum(from, |x| (x - mean) * (x - mean)) / count;
            let root = 1.0 / (variance + eps).sqrt();
            for (((to, x), w), b) in to.iter_mut().zip(from).zip(weight).zip(bias) {
                *to = (x - mean) * root * w + b;
            }
        }
        Before::RmsNorm { weight, eps } => {
            let square = sum(from, |x| x * x) / from.len() as f32;
            let root = 1.0 / (square + eps).sqrt();
            for ((to, x), w) in to.iter_mut().zip(from).zip(weight) {
                *to = x * root * w;
            }
        }
        Before::Gated => {
            let (gate, up) = from.split_at(to.len());
            let (to, to_rest) = S::as_mut_simd_f32s(to);
            let (gate, gate_rest) = S::as_simd_f32s(gate);
            let (up, up_rest) = S::as_simd_f32s(up);
            for ((to, &gate), &up) in to.iter_mut().zip(gate).zip(up) {
                *to = simd.mul_f32s(silu(simd, gate), up);
            }
            for ((to, &gate), &up) in to_rest.iter_mut().zip(gate_rest).zip(up_rest) {
                *to = silu(Scalar::new(), gate) * up;
            }
        }
    }
}

/// `Σ f(x)`, as many sums side by side as fill a few vectors.
#[inline(always)]
fn sum(row: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    const ABREAST: usize = 32;
    let (parts, rest) = row.as_chunks::<ABREAST>();
    let mut sums = [0.0; ABREAST];
    for part in parts {
        for (sum, &x) in sums.iter_mut().zip(part) {
            *sum += f(x);
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|&x| f(x)).sum::<f32>()
}
