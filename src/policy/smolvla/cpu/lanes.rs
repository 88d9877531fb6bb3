//! The innermost loops of the CPU path, written once for whatever vectors the machine has.
//!
//! A product is made of tiles: a few rows by two vectors of columns, held in registers while the shared dimension passes by. How many
//! rows a tile has follows from the number of registers; 13 with 32 of them, which wastes little on the network's 50, 206 and 1024 rows.

use pulp::{Arch, Simd, WithSimd};

/// Rows of a tile where there are 32 vector registers: 26 sums, two columns and a factor.
const ROWS_OF_32: usize = 13;
/// And where there are 16: 12 sums, two columns and a factor.
const ROWS_OF_16: usize = 6;
/// Vectors beside each other in a tile.
pub(super) const VECTORS: usize = 2;

/// The sums of a tile.
pub(super) type Sums<S, const ROWS: usize> = [[<S as Simd>::f32s; VECTORS]; ROWS];

/// Work that is done in tiles of `ROWS` rows. Its functions are to be inlined always, so that they are compiled for the vectors of `S`.
pub(super) trait Tiled {
    type Output;

    fn run<S: Simd, const ROWS: usize>(self, simd: S) -> Self::Output;
}

struct Dispatch<T>(T);

impl<T: Tiled> WithSimd for Dispatch<T> {
    type Output = T::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> T::Output {
        if const { S::REGISTER_COUNT >= 32 } {
            self.0.run::<S, ROWS_OF_32>(simd)
        } else {
            self.0.run::<S, ROWS_OF_16>(simd)
        }
    }
}

/// Does `work` with the widest vectors of this machine.
pub(super) fn widest<T: Tiled>(work: T) -> T::Output {
    Arch::new().dispatch(Dispatch(work))
}

/// Rows and columns of a tile on this machine.
pub(super) fn tile_size() -> (usize, usize) {
    struct Size;
    impl Tiled for Size {
        type Output = (usize, usize);

        #[inline(always)]
        fn run<S: Simd, const ROWS: usize>(self, _: S) -> (usize, usize) {
            (ROWS, VECTORS * S::F32_LANES)
        }
    }
    widest(Size)
}

/// One tile of a product.
///
/// # Shapes
/// `left` `[inner][ROWS]`, `right` `[inner][VECTORS * lanes]`
#[inline(always)]
pub(super) fn tile<S: Simd, const ROWS: usize>(
    simd: S,
    left: &[f32],
    right: &[f32],
) -> Sums<S, ROWS> {
    let (left, _) = left.as_chunks::<ROWS>();
    let (right, _) = S::as_simd_f32s(right).0.as_chunks::<VECTORS>();
    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
    for (left, right) in left.iter().zip(right) {
        for (sums, &factor) in sums.iter_mut().zip(left) {
            let factor = simd.splat_f32s(factor);
            for (sum, &column) in sums.iter_mut().zip(right) {
                *sum = simd.mul_add_e_f32s(factor, column, *sum);
            }
        }
    }
    sums
}

/// Turns up to `ROWS` rows of one length into `[length][ROWS]`, as [`tile`] reads its left side. Missing rows become zeros.
#[inline(always)]
pub(super) fn interleave<const ROWS: usize>(rows: &[&[f32]], to: &mut [f32]) {
    /// Columns that are turned at once, so that reads stay in few cache lines.
    const STEP: usize = 16;
    let (columns, _) = to.as_chunks_mut::<ROWS>();
    for (at, columns) in columns.chunks_mut(STEP).enumerate() {
        let from = at * STEP;
        let mut rest = [[0.0; STEP]; ROWS];
        let mut block = [&[0.0; STEP]; ROWS];
        for ((block, rest), row) in block.iter_mut().zip(&mut rest).zip(rows) {
            *block = row[from..].first_chunk().unwrap_or_else(|| {
                rest[..row.len() - from].copy_from_slice(&row[from..]);
                rest
            });
        }
        for (j, column) in columns.iter_mut().enumerate() {
            for (to, block) in column.iter_mut().zip(&block) {
                *to = block[j];
            }
        }
    }
}

/// `eˣ` to 2e-7 relative; below −87 it stays at the least normal number, above 88 at the largest power.
///
/// eˣ = 2ⁿ eʳ with |r| ≤ ½ ln 2, where the series to the sixth power is exact to an f32.
#[inline(always)]
pub(super) fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    /// Adding it pushes the fraction out of an f32 and leaves an integer in its low bits.
    const SHIFT: f32 = 12_582_912.0;
    /// ln 2 in two parts; the first has few bits, so that its multiples are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    /// 1/6!, 1/5!, … 1/0!
    const SERIES: [f32; 7] = [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let splat = |value| simd.splat_f32s(value);
    let x = simd.min_f32s(simd.max_f32s(x, splat(-87.0)), splat(88.0));
    let shifted = simd.mul_add_f32s(x, splat(std::f32::consts::LOG2_E), splat(SHIFT));
    let n = simd.sub_f32s(shifted, splat(SHIFT));
    let r = simd.mul_add_f32s(n, splat(-LN_2[0]), x);
    let r = simd.mul_add_f32s(n, splat(-LN_2[1]), r);
    let mut y = splat(SERIES[0]);
    for factor in &SERIES[1..] {
        y = simd.mul_add_f32s(y, r, splat(*factor));
    }
    let exponent =
        simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(y), exponent))
}

/// `x · sigmoid(u)`, with −u given: an overflowing exponential ends in nearly zero, never in a NaN.
#[inline(always)]
fn gated<S: Simd>(simd: S, x: S::f32s, minus_u: S::f32s) -> S::f32s {
    simd.div_f32s(x, simd.add_f32s(exp(simd, minus_u), simd.splat_f32s(1.0)))
}

/// Twin of `layers::silu`.
#[inline(always)]
pub(super) fn silu<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    gated(simd, x, simd.neg_f32s(x))
}

/// Twin of `layers::gelu_tanh`.
#[inline(always)]
pub(super) fn gelu_tanh<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    /// −2·√(2/π) and −2·√(2/π)·0.044715
    const SLOPE: f32 = -1.595_769_2;
    const CUBIC: f32 = -0.071_354_82;
    let splat = |value| simd.splat_f32s(value);
    let square = simd.mul_f32s(x, x);
    let slope = simd.mul_add_f32s(square, splat(CUBIC), splat(SLOPE));
    gated(simd, x, simd.mul_f32s(slope, x))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some values through a function, in vectors.
    struct Through(Vec<f32>);

    impl Tiled for Through {
        type Output = Vec<f32>;

        #[inline(always)]
        fn run<S: Simd, const ROWS: usize>(mut self, simd: S) -> Vec<f32> {
            for x in S::as_mut_simd_f32s(&mut self.0).0 {
                *x = exp(simd, *x);
            }
            self.0
        }
    }

    #[test]
    fn the_exponential_is_exact_to_a_few_units() {
        // A multiple of every vector's length.
        let inputs: Vec<f32> = (0..1 << 15).map(|i| i as f32 * 0.005 - 86.0).collect();
        let inputs: Vec<f32> = inputs.into_iter().map(|x| x.min(87.0)).collect();
        let found = widest(Through(inputs.clone()));
        for (x, y) in inputs.iter().zip(found) {
            let want = f64::from(*x).exp();
            assert!((f64::from(y) / want - 1.0).abs() < 3e-7, "{x}: {y} {want}");
        }
    }

    #[test]
    fn the_exponential_stays_finite_and_falls_to_nothing_far_out() {
        let found = widest(Through([[f32::MIN, f32::MAX]; 32].concat()));
        assert!(found[0] >= 0.0 && found[0] < 2e-38 && found[1] > 1e38 && found[1].is_finite());
    }
}
