//! Attention whose scores never leave the cache: 32 queries at a time against all keys.
//!
//! Everything is turned on its side: a column is a query, a row is a key. Then the scores are a product of keys (left) and queries (right),
//! softmax goes down the columns without ever crossing a vector's lanes, and what it leaves is already the right side of the product with
//! the values.

use std::cell::RefCell;

use pulp::Simd;
use rayon::prelude::*;

use super::lanes::{Sums, Tiled, VECTORS, exp, interleave, tile, tile_size, widest};

/// Heads of rows somewhere in a larger buffer.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Heads<'a> {
    pub(in super::super) values: &'a [f32],
    /// Where the first number is.
    pub(in super::super) start: usize,
    /// Steps between samples, heads and rows; a row itself has no gaps.
    pub(in super::super) strides: [usize; 3],
    /// Samples, heads and rows.
    pub(in super::super) counts: [usize; 3],
    /// Length of a row.
    pub(in super::super) head_dim: usize,
}

impl<'a> Heads<'a> {
    fn row(&self, sample: usize, head: usize, row: usize) -> &'a [f32] {
        let [samples, heads, rows] = self.strides;
        let from = self.start + sample * samples + head * heads + row * rows;
        &self.values[from..from + self.head_dim]
    }

    fn rows(&self, sample: usize, head: usize) -> Vec<&'a [f32]> {
        let rows = 0..self.counts[2];
        rows.map(|row| self.row(sample, head, row)).collect()
    }
}

/// Most queries of a panel, with vectors of 512 bits.
const WIDEST: usize = 32;

/// What is added to the scores: `[1 or samples][queries][keys]`.
pub(in super::super) type Bias<'a> = Option<&'a [f32]>;

/// The keys and values of one head, as tiles read them.
struct KeyHead {
    /// `[tiles of keys][head_dim][ROWS]`
    keys: Vec<f32>,
    /// `[tiles of head_dim][keys][ROWS]`
    values: Vec<f32>,
}

/// Up to one panel of queries against one key head.
struct Panel<'a> {
    head: &'a KeyHead,
    keys: usize,
    queries: Vec<&'a [f32]>,
    /// For each query a row of `[keys]`, if any.
    bias: Vec<&'a [f32]>,
    /// For each query where its answer goes.
    to: Vec<&'a mut [f32]>,
}

/// `softmax(q kᵀ + bias) v`; the queries come already scaled. Query head j looks at key head `j / (heads / key heads)`.
///
/// # Shapes
/// Answers `[samples][queries][heads * head_dim]`.
pub(in super::super) fn attend(
    q: Heads<'_>,
    k: Heads<'_>,
    v: Heads<'_>,
    bias: Bias<'_>,
) -> Vec<f32> {
    let [samples, heads, queries] = q.counts;
    let mut y = vec![0.0; samples * heads * queries * q.head_dim];
    let [_, key_heads, keys] = k.counts;
    let at: Vec<(usize, usize)> = (0..samples)
        .flat_map(|sample| (0..key_heads).map(move |head| (sample, head)))
        .collect();
    let packed: Vec<KeyHead> = at
        .par_iter()
        .map(|&(sample, head)| {
            widest(PackHead {
                k: k.rows(sample, head),
                v: v.rows(sample, head),
            })
        })
        .collect();
    panels(q, &packed, keys, bias, &mut y)
        .into_par_iter()
        .with_max_len(1)
        .for_each(widest);
    y
}

/// The queries that share a key head stand in one row, cut into panels.
fn panels<'a>(
    q: Heads<'a>,
    packed: &'a [KeyHead],
    keys: usize,
    bias: Bias<'a>,
    y: &'a mut [f32],
) -> Vec<Panel<'a>> {
    let [samples, heads, queries] = q.counts;
    let (_, width) = tile_size();
    let key_heads = packed.len() / samples.max(1);
    let group = heads / key_heads.max(1);
    // By key head, then by query head of its group, then by query.
    let mut places: Vec<Vec<&mut [f32]>> = (0..samples * heads).map(|_| Vec::new()).collect();
    for (row, to) in y.chunks_mut((heads * q.head_dim).max(1)).enumerate() {
        for (head, to) in to.chunks_mut(q.head_dim).enumerate() {
            places[row / queries * heads + head].push(to);
        }
    }
    let biases = bias.map_or(0, |bias| bias.len() / (queries * keys).max(1));
    let mut panels: Vec<Panel<'a>> = Vec::new();
    for (at, places) in places.into_iter().enumerate() {
        let (sample, head) = (at / heads, at % heads);
        let key_head = &packed[sample * key_heads + head / group];
        for (query, to) in places.into_iter().enumerate() {
            let is_new_group = head % group == 0 && query == 0;
            let full = panels.last().is_none_or(|panel| panel.to.len() == width);
            if is_new_group || full {
                panels.push(Panel {
                    head: key_head,
                    keys,
                    queries: Vec::with_capacity(width),
                    bias: Vec::new(),
                    to: Vec::with_capacity(width),
                });
            }
            if let Some(panel) = panels.last_mut() {
                panel.queries.push(q.row(sample, head, query));
                panel.to.push(to);
                if let Some(bias) = bias {
                    let from = (sample % biases * queries + query) * keys;
                    panel.bias.push(&bias[from..from + keys]);
                }
            }
        }
    }
    panels
}

struct PackHead<'a> {
    k: Vec<&'a [f32]>,
    v: Vec<&'a [f32]>,
}

impl Tiled for PackHead<'_> {
    type Output = KeyHead;

    #[inline(always)]
    fn run<S: Simd, const ROWS: usize>(self, _: S) -> KeyHead {
        let (count, head_dim) = (self.k.len(), self.k.first().map_or(0, |row| row.len()));
        let mut keys = vec![0.0; count.div_ceil(ROWS) * head_dim * ROWS];
        for (rows, to) in self
            .k
            .chunks(ROWS)
            .zip(keys.chunks_exact_mut(head_dim * ROWS))
        {
            interleave::<ROWS>(rows, to);
        }
        let mut values = vec![0.0; head_dim.div_ceil(ROWS) * count * ROWS];
        for (tile, to) in values.chunks_exact_mut(count * ROWS).enumerate() {
            for (row, to) in self.v.iter().zip(to.chunks_exact_mut(ROWS)) {
                let part = &row[tile * ROWS..head_dim.min((tile + 1) * ROWS)];
                to[..part.len()].copy_from_slice(part);
            }
        }
        KeyHead { keys, values }
    }
}

thread_local! {
    /// Queries and scores of a panel; kept, because a panel is short work and they are as large as the second-level cache allows.
    static SCRATCH: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

impl Tiled for Panel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd, const ROWS: usize>(self, simd: S) {
        let [mut queries, mut scores] = SCRATCH.take();
        let width = VECTORS * S::F32_LANES;
        let head_dim = self.queries.first().map_or(0, |row| row.len());
        queries.clear();
        queries.resize(head_dim * width, 0.0);
        for (j, row) in self.queries.iter().enumerate() {
            for (to, &x) in queries.chunks_exact_mut(width).zip(*row) {
                to[j] = x;
            }
        }
        scores.resize(self.keys.div_ceil(ROWS) * ROWS * width, 0.0);
        let scores_used = &mut scores[..self.keys.div_ceil(ROWS) * ROWS * width];
        let sums = self.weigh::<S, ROWS>(simd, &queries, scores_used);
        let filled = self.keys * width;
        self.sum_values::<S, ROWS>(simd, &scores[..filled], &sums);
        SCRATCH.set([queries, scores]);
    }
}

impl Panel<'_> {
    /// `exp(scores − largest)` for every key and query; answers one over their sum, query by query.
    #[inline(always)]
    fn weigh<S: Simd, const ROWS: usize>(
        &self,
        simd: S,
        queries: &[f32],
        scores: &mut [f32],
    ) -> [S::f32s; VECTORS] {
        let width = VECTORS * S::F32_LANES;
        let head_dim = queries.len() / width;
        let mut most = [simd.splat_f32s(f32::MIN); VECTORS];
        let tiles = self.head.keys.chunks_exact((head_dim * ROWS).max(1));
        for (at, (left, to)) in tiles.zip(scores.chunks_exact_mut(ROWS * width)).enumerate() {
            let sums: Sums<S, ROWS> = tile(simd, left, queries);
            self.keep::<S, ROWS>(simd, at * ROWS, &sums, to, &mut most);
        }
        let (rows, _) = S::as_mut_simd_f32s(scores).0.as_chunks_mut::<VECTORS>();
        let mut total = [simd.splat_f32s(0.0); VECTORS];
        for row in &mut rows[..self.keys] {
            for ((x, most), total) in row.iter_mut().zip(most).zip(&mut total) {
                *x = exp(simd, simd.sub_f32s(*x, most));
                *total = simd.add_f32s(*total, *x);
            }
        }
        total.map(|total| simd.div_f32s(simd.splat_f32s(1.0), total))
    }

    /// Stores a tile of scores, from key `first` on, with its bias, and keeps the largest of each query.
    #[inline(always)]
    fn keep<S: Simd, const ROWS: usize>(
        &self,
        simd: S,
        first: usize,
        sums: &Sums<S, ROWS>,
        to: &mut [f32],
        most: &mut [S::f32s; VECTORS],
    ) {
        let count = ROWS.min(self.keys - first);
        for (r, row) in to
            .chunks_exact_mut(VECTORS * S::F32_LANES)
            .take(count)
            .enumerate()
        {
            for (to, bias) in row.iter_mut().zip(&self.bias) {
                *to = bias[first + r];
            }
        }
        let (rows, _) = S::as_mut_simd_f32s(to).0.as_chunks_mut::<VECTORS>();
        for (row, sums) in rows.iter_mut().zip(sums).take(count) {
            for ((to, &sum), most) in row.iter_mut().zip(sums).zip(&mut *most) {
                *to = if self.bias.is_empty() {
                    sum
                } else {
                    simd.add_f32s(sum, *to)
                };
                *most = simd.max_f32s(*most, *to);
            }
        }
    }

    /// The weighted values, turned back into rows.
    #[inline(always)]
    fn sum_values<S: Simd, const ROWS: usize>(
        self,
        simd: S,
        scores: &[f32],
        scale: &[S::f32s; VECTORS],
    ) {
        let width = VECTORS * S::F32_LANES;
        let mut to = self.to;
        let mut flat = [[0.0; WIDEST]; ROWS];
        let tiles = self.head.values.chunks_exact((self.keys * ROWS).max(1));
        for (at, left) in tiles.enumerate() {
            let sums: Sums<S, ROWS> = tile(simd, left, scores);
            for (flat, sums) in flat.iter_mut().zip(&sums) {
                let (flat, _) = S::as_mut_simd_f32s(&mut flat[..width]);
                for ((flat, &sum), &scale) in flat.iter_mut().zip(sums).zip(scale) {
                    *flat = simd.mul_f32s(sum, scale);
                }
            }
            for (j, to) in to.iter_mut().enumerate() {
                let from = at * ROWS;
                for (to, flat) in to[from..].iter_mut().zip(&flat) {
                    *to = flat[j];
                }
            }
        }
    }
}
