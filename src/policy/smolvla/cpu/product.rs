//! Products with weights that lie ready: packed once at load, multiplied without any further copy of them.

use std::sync::Arc;

use pulp::Simd;
use rayon::prelude::*;

use super::lanes::{Sums, Tiled, VECTORS, gelu_tanh, tile, tile_size, widest};
use super::rows::{Before, interleave_rows};

/// Multiplications that one task should do, for a third of a millisecond or so: small enough to share evenly, large enough to be worth
/// a task.
const TASK: usize = 16 << 20;

/// What happens to a product before it is stored, after its bias.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct After<'a> {
    /// `gelu_pytorch_tanh`.
    pub(in super::super) gelu: bool,
    /// Added last, `[rows][outputs]`.
    pub(in super::super) onto: Option<&'a [f32]>,
}

/// A weight matrix and its bias in the order in which tiles read them.
#[derive(Clone, Debug)]
pub(in super::super) struct Packed {
    /// `[panels][inner][panel width]`, zero beyond the last output.
    panels: Arc<Vec<f32>>,
    /// `[panels][panel width]`, zero where there is no bias.
    bias: Arc<Vec<f32>>,
    inner: usize,
    outputs: usize,
}

/// A block of rows times a group of panels.
struct Block<'a> {
    weights: &'a Packed,
    /// `[tiles][inner][ROWS]`
    left: &'a [f32],
    after: After<'a>,
    first_row: usize,
    first_panel: usize,
    /// For each row its part of the answer.
    to: Vec<&'a mut [f32]>,
}

impl Packed {
    /// # Shapes
    /// weight `[outputs][inner]`, bias `[outputs]` or empty
    pub(in super::super) fn new(weight: &[f32], bias: &[f32], inner: usize) -> Self {
        let (_, width) = tile_size();
        let outputs = weight.len() / inner.max(1);
        let panels = outputs.div_ceil(width);
        let mut packed = vec![0.0; panels * inner * width];
        packed
            .par_chunks_mut((inner * width).max(1))
            .zip(weight.par_chunks((inner * width).max(1)))
            .for_each(|(panel, rows)| {
                for (j, row) in rows.chunks_exact(inner).enumerate() {
                    for (to, &value) in panel.chunks_exact_mut(width).zip(row) {
                        to[j] = value;
                    }
                }
            });
        let mut padded = bias.to_vec();
        padded.resize(panels * width, 0.0);
        Self {
            panels: Arc::new(packed),
            bias: Arc::new(padded),
            inner,
            outputs,
        }
    }

    /// Length of an answer's row.
    pub(in super::super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Outputs `from..to` as a matrix of their own. It copies: only the naive twin asks for it.
    pub(in super::super) fn narrow(&self, from: usize, to: usize) -> Self {
        let (_, width) = tile_size();
        let row = |j: usize| {
            let panel = &self.panels[j / width * self.inner * width..];
            (0..self.inner).map(move |i| panel[i * width + j % width])
        };
        let weight: Vec<f32> = (from..to).flat_map(row).collect();
        Self::new(&weight, &self.bias[from..to], self.inner)
    }

    /// `after(before(x) Wᵀ + b)`
    ///
    /// # Shapes
    /// x `[rows][inner]`, or twice as wide where it is gated; answers `[rows][outputs]`
    pub(in super::super) fn multiply(
        &self,
        x: &[f32],
        before: Before<'_>,
        after: After<'_>,
    ) -> Vec<f32> {
        let (tile_rows, _) = tile_size();
        let rows = x.len() / before.source_width(self.inner).max(1);
        let tiles = rows.div_ceil(tile_rows);
        let mut left = vec![0.0; tiles * self.inner * tile_rows];
        interleave_rows(before, self.inner, tile_rows, x, &mut left);
        let mut y = vec![0.0; rows * self.outputs];
        self.blocks(&left, after, &mut y)
            .into_par_iter()
            .with_max_len(1)
            .for_each(widest);
        y
    }

    /// Cuts the answer into blocks of rows and columns.
    fn blocks<'a>(&'a self, left: &'a [f32], after: After<'a>, y: &'a mut [f32]) -> Vec<Block<'a>> {
        let (tile_rows, width) = tile_size();
        let panels = self.outputs.div_ceil(width);
        let tiles = left.len() / (self.inner * tile_rows).max(1);
        let (tiles_a_block, panels_a_block) =
            block_size(tiles, panels, self.inner * tile_rows * width);
        let rows_a_block = tiles_a_block * tile_rows;
        let mut blocks = Vec::new();
        let bands = y.chunks_mut(rows_a_block * self.outputs);
        for (index, (band, left)) in bands
            .zip(left.chunks(rows_a_block * self.inner))
            .enumerate()
        {
            let mut across: Vec<Block<'_>> = (0..panels)
                .step_by(panels_a_block)
                .map(|first_panel| Block {
                    weights: self,
                    left,
                    after,
                    first_row: index * rows_a_block,
                    first_panel,
                    to: Vec::with_capacity(rows_a_block),
                })
                .collect();
            for row in band.chunks_mut(self.outputs) {
                let parts = row.chunks_mut(panels_a_block * width);
                for (block, part) in across.iter_mut().zip(parts) {
                    block.to.push(part);
                }
            }
            blocks.append(&mut across);
        }
        blocks
    }
}

/// Tiles down and panels across of a block: enough blocks for all threads, and none much larger than [`TASK`].
fn block_size(tiles: usize, panels: usize, cost: usize) -> (usize, usize) {
    /// Tiles of a block, so that its rows stay in the second-level cache while the panels pass by.
    const TALLEST: usize = 16;
    let down = tiles.div_ceil(tiles.div_ceil(TALLEST).max(1)).max(1);
    let all = tiles * panels * cost;
    let wanted = (all / TASK).max(2 * rayon::current_num_threads());
    let across = wanted.div_ceil(tiles.div_ceil(down).max(1)).max(1);
    (down, panels.div_ceil(across).max(1))
}

impl Tiled for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd, const ROWS: usize>(mut self, simd: S) {
        let width = VECTORS * S::F32_LANES;
        let inner = self.weights.inner;
        let Some(columns) = self.to.first().map(|row| row.len()) else {
            return;
        };
        for from in (0..columns).step_by(width) {
            let panel = self.first_panel + from / width;
            let right = &self.weights.panels[panel * inner * width..][..inner * width];
            let bias = &self.weights.bias[panel * width..][..width];
            let tiles = self.left.chunks_exact(inner * ROWS);
            for (at, (left, rows)) in tiles.zip(self.to.chunks_mut(ROWS)).enumerate() {
                let sums: Sums<S, ROWS> = tile(simd, left, right);
                for (r, (to, sums)) in rows.iter_mut().zip(&sums).enumerate() {
                    let to = &mut to[from..columns.min(from + width)];
                    let onto = self.after.onto.map(|onto| {
                        let row = self.first_row + at * ROWS + r;
                        &onto[row * self.weights.outputs + panel * width..][..to.len()]
                    });
                    finish(simd, sums, bias, self.after.gelu, onto, to);
                }
            }
        }
    }
}

/// One row of a tile into its place, which is narrower than the tile where the outputs end.
#[inline(always)]
fn finish<S: Simd>(
    simd: S,
    sums: &[S::f32s; VECTORS],
    bias: &[f32],
    gelu: bool,
    onto: Option<&[f32]>,
    to: &mut [f32],
) {
    let (bias, _) = S::as_simd_f32s(bias);
    let mut y = *sums;
    for (y, &bias) in y.iter_mut().zip(bias) {
        *y = simd.add_f32s(*y, bias);
        if gelu {
            *y = gelu_tanh(simd, *y);
        }
    }
    if let ([first, second], []) = S::as_mut_simd_f32s(to) {
        if let Some(onto) = onto {
            let (onto, _) = S::as_simd_f32s(onto);
            for (y, &onto) in y.iter_mut().zip(onto) {
                *y = simd.add_f32s(*y, onto);
            }
        }
        [*first, *second] = y;
    } else {
        for (i, (to, y)) in to
            .iter_mut()
            .zip(bytemuck::cast_slice::<S::f32s, f32>(&y))
            .enumerate()
        {
            *to = onto.map_or(0.0, |onto| onto[i]) + y;
        }
    }
}
