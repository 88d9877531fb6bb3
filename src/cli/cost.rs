//! What one chunk costs by formula, so that a measured time can be judged and an unmeasured one foretold.
//!
//! Two numbers a stage, both functions of the architecture and of the length of the prefix alone:
//!
//! - `flops`: 2·MAC of every matrix product and convolution; softmax, norms and activations are not counted.
//! - `bytes_read`: every matrix product reads its weight (or its second operand) once and its input once, at
//!   four bytes a value; a weight shared by several cameras is read once. Elementwise work is not counted, so
//!   this is the least a device must fetch, not what it does fetch.

use std::ops::{Add, AddAssign, Mul};

use serde::Serialize;

use crate::policy::Architecture;

/// Bytes of one value in memory: all arithmetic is f32.
const VALUE_BYTES: u64 = 4;

/// Work of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// 2·MAC of matrix products and convolutions.
    pub flops: u64,
    /// Bytes that must be fetched at least.
    pub bytes_read: u64,
}

/// Work of one chunk by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChunkCost {
    pub vision: Cost,
    pub prefix: Cost,
    pub denoise: Cost,
}

/// What the work of a chunk depends on beside the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Cameras that are really computed.
    pub images: usize,
    /// Edge of their pictures as the network gets them, pixels.
    pub image_edge: usize,
    /// Language tokens that are really computed.
    pub language_tokens: usize,
    /// Euler steps.
    pub steps: usize,
    /// As LeRobot 0.6.1 does it: the whole last layer, and the cross layers' K and V anew at every step.
    pub naive: bool,
}

/// Work of one chunk on a network.
pub fn chunk_cost(network: &Architecture, load: Load) -> ChunkCost {
    let prefix_tokens = prefix_tokens(network, load) as u64;
    let once = if load.naive {
        Cost::default()
    } else {
        cross_keys_values(network, prefix_tokens)
    };
    let step = denoise_step(network, prefix_tokens, load.naive);
    ChunkCost {
        vision: vision(network, load.images as u64, load.image_edge),
        prefix: prefix(network, prefix_tokens, load.naive) + once,
        denoise: step * load.steps as u64,
    }
}

impl ChunkCost {
    /// All stages together.
    pub fn total(self) -> Cost {
        self.vision + self.prefix + self.denoise
    }
}

/// Length of the prefix: images with their frame tokens, language, and one state token.
pub fn prefix_tokens(network: &Architecture, load: Load) -> usize {
    let grid = load.image_edge / network.vision.patch_size / network.scale_factor.max(1);
    let frame_tokens = if network.add_image_special_tokens {
        3
    } else {
        0
    };
    load.images * (grid * grid + frame_tokens) + load.language_tokens + 1
}

/// The SigLIP tower and the connector over `images` pictures of `edge` pixels.
fn vision(network: &Architecture, images: u64, edge: usize) -> Cost {
    let tower = &network.vision;
    if images == 0 {
        return Cost::default();
    }
    let side = (edge / tower.patch_size) as u64;
    let patches = side * side;
    let rows = images * patches;
    let [width, inner] = [tower.hidden_size as u64, tower.intermediate_size as u64];
    let patch_values = 3 * (tower.patch_size * tower.patch_size) as u64;
    let layer = product(rows, width, width) * 4
        + product(rows, width, inner)
        + product(rows, inner, width)
        + attention(patches, patches, width, width) * images;
    let shuffled = (network.scale_factor * network.scale_factor) as u64;
    product(rows, patch_values, width)
        + layer * tower.num_layers as u64
        + product(
            rows / shuffled,
            width * shuffled,
            network.hidden_size as u64,
        )
}

/// The VLM's layers over the prefix. Of the last layer that the expert looks at only K and V matter; `naive` computes
/// all of all.
fn prefix(network: &Architecture, tokens: u64, naive: bool) -> Cost {
    let width = network.hidden_size as u64;
    let [queries, keys] = attention_widths(network);
    let keys_values = product(tokens, width, keys) * 2;
    let rest = product(tokens, width, queries)
        + product(tokens, queries, width)
        + gated_mlp(tokens, width, network.intermediate_size as u64)
        + attention(tokens, tokens, queries, keys);
    let layers = if naive {
        network.num_vlm_layers as u64
    } else {
        served_layers(network)
    };
    let whole_layers = layers.saturating_sub(u64::from(!naive));
    product(1, network.max_state_dim as u64, width) + keys_values * layers + rest * whole_layers
}

/// The cross layers' projections of the cached keys and values, all layers.
fn cross_keys_values(network: &Architecture, prefix_tokens: u64) -> Cost {
    let keys = attention_widths(network)[1];
    product(prefix_tokens, keys, keys) * 2 * cross_layers(network)
}

/// One Euler step of the expert.
fn denoise_step(network: &Architecture, prefix_tokens: u64, naive: bool) -> Cost {
    let rows = network.chunk_size as u64;
    let width = network.expert_hidden_size as u64;
    let action = network.max_action_dim as u64;
    let [queries, keys] = attention_widths(network);
    let cross = cross_layers(network);
    let own = network.num_expert_layers as u64 - cross;
    let every_layer = product(rows, width, queries)
        + product(rows, queries, width)
        + gated_mlp(rows, width, network.expert_intermediate_size as u64);
    let self_layer =
        product(rows, width, keys) * 2 + attention(rows, prefix_tokens + rows, queries, keys);
    let cross_layer = attention(rows, prefix_tokens, queries, keys);
    let again = if naive {
        cross_keys_values(network, prefix_tokens)
    } else {
        Cost::default()
    };
    product(rows, action, width)
        + product(rows, 2 * width, width)
        + product(rows, width, width)
        + product(rows, width, action)
        + every_layer * (own + cross)
        + self_layer * own
        + cross_layer * cross
        + again
}

/// VLM layers up to the last one that an expert layer looks at.
fn served_layers(network: &Architecture) -> u64 {
    let expert = network.num_expert_layers.max(1);
    let multiple = network.num_vlm_layers / expert;
    ((expert - 1) * multiple + 1).min(network.num_vlm_layers) as u64
}

/// Expert layers that attend to the prefix only.
fn cross_layers(network: &Architecture) -> u64 {
    if !network.cross_attention {
        return 0;
    }
    let every = network.self_attn_every_n_layers;
    let multiple = network.num_vlm_layers / network.num_expert_layers.max(1);
    let is_cross = |layer: &usize| every <= 0 || (layer * multiple) as i64 % every != 0;
    (0..network.num_expert_layers).filter(is_cross).count() as u64
}

/// Widths of all query heads and of all key heads.
fn attention_widths(network: &Architecture) -> [u64; 2] {
    [
        (network.num_attention_heads * network.head_dim) as u64,
        (network.num_key_value_heads * network.head_dim) as u64,
    ]
}

/// `[rows, inner] x [inner, columns]`, the second a weight.
fn product(rows: u64, inner: u64, columns: u64) -> Cost {
    Cost {
        flops: 2 * rows * inner * columns,
        bytes_read: VALUE_BYTES * (rows * inner + inner * columns),
    }
}

/// Gate, up and down.
fn gated_mlp(rows: u64, width: u64, inner: u64) -> Cost {
    product(rows, width, inner) * 2 + product(rows, inner, width)
}

/// Scores and their sum over the values, fused: Q, K and V are fetched once and the scores stay on the chip.
fn attention(rows: u64, columns: u64, query_width: u64, key_width: u64) -> Cost {
    Cost {
        flops: 4 * rows * columns * query_width,
        bytes_read: VALUE_BYTES * (rows * query_width + 2 * columns * key_width),
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            flops: self.flops + other.flops,
            bytes_read: self.bytes_read + other.bytes_read,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Cost {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self {
            flops: self.flops * times,
            bytes_read: self.bytes_read * times,
        }
    }
}

#[cfg(test)]
pub(in crate::cli) mod tests {
    use super::*;
    use crate::policy::geometry::smolvla_base;

    pub(in crate::cli) fn three_cameras() -> Load {
        Load {
            images: 3,
            image_edge: 512,
            language_tokens: 48,
            steps: 10,
            naive: false,
        }
    }

    fn giga(flops: u64, decimals: i32) -> f64 {
        let scale = 10_f64.powi(decimals);
        (flops as f64 / 1e9 * scale).round() / scale
    }

    #[test]
    fn the_published_model_costs_what_the_reference_counts() {
        let network = smolvla_base();
        let connector = product(64, 768 * 16, 960);
        assert_eq!(giga(connector.flops, 2), 1.51);
        let image = vision(&network, 1, 512);
        assert_eq!(giga(image.flops - connector.flops, 2), 213.81);
        assert_eq!(giga(vision(&network, 3, 512).flops, 1), 646.0);
        assert_eq!(prefix_tokens(&network, three_cameras()), 241);
        assert_eq!(giga(prefix(&network, 241, true).flops, 1), 79.4);
        assert_eq!(giga(prefix(&network, 241, false).flops, 1), 74.7);
        assert_eq!(giga(denoise_step(&network, 241, true).flops, 3), 11.425);
        assert_eq!(giga(denoise_step(&network, 241, false).flops, 3), 10.636);
        assert_eq!(giga(cross_keys_values(&network, 241).flops, 3), 0.790);
    }

    #[test]
    fn a_whole_chunk_adds_up() {
        let network = smolvla_base();
        let load = three_cameras();
        let total = |load| giga(chunk_cost(&network, load).total().flops, 1);
        assert_eq!(total(load), 827.8);
        assert_eq!(
            total(Load {
                naive: true,
                ..load
            }),
            839.6
        );
        assert_eq!(
            total(Load {
                language_tokens: 13,
                ..load
            }),
            815.4
        );
        let one_camera = Load { images: 1, ..load };
        assert_eq!(total(one_camera), 352.3);
    }

    #[test]
    fn weights_are_read_once_a_stage_and_once_a_step() {
        let network = smolvla_base();
        let one = vision(&network, 1, 512).bytes_read;
        let three = vision(&network, 3, 512).bytes_read;
        assert!(three < 3 * one, "the tower's weights are shared by cameras");
        let load = Load {
            images: 1,
            image_edge: 512,
            language_tokens: 13,
            steps: 1,
            naive: true,
        };
        let bytes = |steps| {
            chunk_cost(&network, Load { steps, ..load })
                .denoise
                .bytes_read
        };
        assert_eq!(bytes(10), 10 * bytes(1));
        // The expert's weights alone are 399.4 MB in f32.
        assert!(bytes(1) > 399_000_000, "{}", bytes(1));
    }

    #[test]
    fn an_expert_of_cross_layers_alone_is_counted() {
        let mut network = smolvla_base();
        assert_eq!((cross_layers(&network), served_layers(&network)), (8, 16));
        network.self_attn_every_n_layers = 0;
        assert_eq!(cross_layers(&network), 16);
        network.num_expert_layers = 4;
        assert_eq!(served_layers(&network), 13);
        network.cross_attention = false;
        assert_eq!(cross_layers(&network), 0);
    }
}
