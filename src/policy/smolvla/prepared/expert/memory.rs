//! What the steps write and read: buffers that are made once, and those that grow with the longest prefix.

use super::super::weights::ExpertWeights;
use crate::gpu::compute::{Buffer, Compute, Slice};
use crate::gpu::kernels::skinny::{TILE, tile_words};
use crate::policy::Architecture;
use crate::policy::smolvla::rope;
use crate::policy::smolvla::text::HeadSizes;

/// Prefixes grow by so many tokens at once, so that a longer prompt seldom needs new memory.
const ROOM: usize = 64;

/// Activations of one chunk, in tiles of 64 rows.
#[derive(Debug)]
pub(super) struct Memory {
    /// Noisy actions, `max_action_dim` wide.
    pub(super) x_t: Buffer,
    /// Their velocity in the last step.
    pub(super) velocity: Buffer,
    /// Inside the suffix embedding.
    pub(super) embedded: Buffer,
    /// The residual stream.
    pub(super) hidden: Buffer,
    /// Partial sums of its squares, `[tile][part][row]`.
    pub(super) squares: Buffer,
    pub(super) queries: Buffer,
    /// The actions' own keys, then values, `[kv_heads, chunk, head_dim]` each.
    pub(super) own: Buffer,
    pub(super) attended: Buffer,
    pub(super) gated: Buffer,
    /// Rotary table of positions from 0, for the queries of cross-attention.
    pub(super) cross_rope: Buffer,
    /// Where the host reads the actions.
    pub(super) staging: Buffer,
}

impl Memory {
    pub(super) fn new(
        compute: &Compute,
        architecture: &Architecture,
        weights: &ExpertWeights,
    ) -> Self {
        let (a, heads) = (architecture, HeadSizes::new(architecture));
        let chunk = a.chunk_size;
        let tiles = |label: &str, width: usize| compute.buffer(label, tile_words(chunk, width));
        let parts = weights
            .layers
            .iter()
            .flat_map(|layer| [layer.o.parts(), layer.down.parts()])
            .fold(weights.suffix.mlp_out.parts(), usize::max);
        Self {
            x_t: tiles("x_t", a.max_action_dim),
            velocity: tiles("velocity", a.max_action_dim),
            embedded: tiles("embedded actions", a.expert_hidden_size),
            hidden: tiles("hidden", a.expert_hidden_size),
            squares: compute.buffer("squares", chunk.div_ceil(TILE) * parts * TILE),
            queries: tiles("queries", heads.query_width()),
            own: compute.buffer("own keys and values", 2 * chunk * heads.key_width()),
            attended: tiles("attended", heads.query_width()),
            gated: tiles("gated", a.expert_intermediate_size),
            cross_rope: compute.upload("rotary table", &rotary_table(0, chunk, heads.head_dim)),
            staging: compute.staging("actions", tile_words(chunk, a.max_action_dim)),
        }
    }
}

/// What expert layers look at.
#[derive(Debug)]
pub(super) struct PrefixMemory {
    /// Most tokens that fit.
    pub(super) tokens: usize,
    /// Keys and values for each expert layer.
    pub(super) seen: Vec<Buffer>,
    /// Keys and values as the VLM made them, for each cross-attention layer.
    pub(super) raw: Vec<Option<Buffer>>,
}

impl PrefixMemory {
    pub(super) fn new(
        compute: &Compute,
        architecture: &Architecture,
        weights: &ExpertWeights,
        prefix: usize,
    ) -> Self {
        let tokens = prefix.next_multiple_of(ROOM);
        let words = words(architecture, tokens);
        let make = |label: &str| compute.buffer(label, words);
        let layers = weights.layers.iter();
        let raw = layers.clone().map(|layer| {
            let crossed = layer.cross.is_some();
            crossed.then(|| make("keys and values of the VLM"))
        });
        Self {
            tokens,
            raw: raw.collect(),
            seen: layers.map(|_| make("keys and values")).collect(),
        }
    }

    /// What layer `j` sees of a prefix of `tokens`.
    pub(super) fn seen(&self, architecture: &Architecture, j: usize, tokens: usize) -> Slice {
        self.seen[j].slice(0, words(architecture, tokens))
    }

    /// Where the VLM leaves keys and values for layer `j`.
    pub(super) fn vlm_leaves(&self, architecture: &Architecture, j: usize, tokens: usize) -> Slice {
        let buffer = self.raw[j].as_ref().unwrap_or(&self.seen[j]);
        buffer.slice(0, words(architecture, tokens))
    }
}

fn words(architecture: &Architecture, tokens: usize) -> usize {
    2 * tokens * HeadSizes::new(architecture).key_width()
}

/// Cosine and sine of every pair of channels, `[tile][pair][row]`, for positions from `first`.
pub(super) fn rotary_table(first: usize, rows: usize, head_dim: usize) -> Vec<[f32; 2]> {
    let half = head_dim / 2;
    let mut table = vec![[0.0; 2]; rows.div_ceil(TILE) * half * TILE];
    for row in 0..rows {
        for pair in 0..half {
            let (sin, cos) = rope::angle((first + row) as i64, pair, head_dim).sin_cos();
            table[(row / TILE * half + pair) * TILE + row % TILE] = [cos as f32, sin as f32];
        }
    }
    table
}
