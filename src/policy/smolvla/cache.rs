//! What the prefix leaves behind for the ten denoising steps. Built once a chunk, never appended to, never cropped.

use burn::tensor::{Device, Tensor};

use super::error::Result;
use super::mask;
use super::prefix::Prefix;
use super::rope::RopeTable;
use super::text::HeadSizes;
use super::trace;

/// Keys and values for each expert layer, with the masks and positions that go with them.
#[derive(Clone, Debug)]
pub struct PrefixCache {
    /// `[2, batch, kv_heads, len, head_dim]` for each expert layer. A self-attention layer sees the VLM layer's keys
    /// (rotated) and values as they are; a cross-attention layer sees them through its own `k_proj` and `v_proj`, which do not
    /// depend on the noise and so are applied once a chunk.
    pub(super) layers: Vec<Tensor<5>>,
    /// Hides what a self-attention layer must not see, `[1 or batch, 1, chunk, len + chunk]`.
    pub(super) self_bias: Tensor<4>,
    /// Hides the padding of shorter samples from cross-attention; `None` when there is none.
    pub(super) cross_bias: Option<Tensor<4>>,
    /// Positions after the prefix, for queries, keys and values of self-attention.
    pub(super) self_rope: RopeTable,
    /// Positions from 0, for the queries of cross-attention.
    pub(super) cross_rope: RopeTable,
}

impl PrefixCache {
    pub(super) fn new(
        layers: Vec<Tensor<5>>,
        prefix: &Prefix,
        chunk: usize,
        heads: HeadSizes,
        device: &Device,
    ) -> Self {
        let [_, padded, _] = prefix.embs.dims();
        // Samples of one length share one mask and one set of positions.
        let uniform = prefix.lengths.iter().all(|&len| len == padded);
        let lengths: &[usize] = if uniform { &[padded] } else { &prefix.lengths };
        let visible: Vec<bool> = lengths
            .iter()
            .flat_map(|&len| mask::suffix_visible(len, padded, chunk))
            .collect();
        let cross_visible: Vec<bool> = lengths
            .iter()
            .flat_map(|&len| (0..chunk * padded).map(move |at| at % padded < len))
            .collect();
        let positions: Vec<Vec<i64>> = lengths
            .iter()
            .map(|&len| (0..chunk).map(|s| (len + s) as i64).collect())
            .collect();
        let [keys, values] = heads.key_value_heads();
        let own = [heads.query_heads(), keys, values];
        let d = heads.head_dim;
        Self {
            layers,
            self_bias: mask::bias(&visible, [lengths.len(), chunk, padded + chunk], device),
            cross_bias: (!uniform)
                .then(|| mask::bias(&cross_visible, [lengths.len(), chunk, padded], device)),
            self_rope: RopeTable::new(&positions, &own, d, device),
            cross_rope: RopeTable::new(
                &[(0..chunk as i64).collect()],
                &[heads.query_heads()],
                d,
                device,
            ),
        }
    }

    /// Waits until the cache is computed, for those who time the stages.
    ///
    /// # Errors
    /// The device failed.
    pub fn wait(&self) -> Result<()> {
        self.layers
            .last()
            .map_or(Ok(()), |kv| trace::wait_for(kv, "the prefix"))
    }
}
