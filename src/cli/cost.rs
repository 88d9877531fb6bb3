//! What a chunk costs by formula, so that a measured time can be judged and an unmeasured one foretold.
//!
//! Two numbers a stage, functions of the architecture, of the length of the prefix, of how weights are stored and of what is
//! left out:
//!
//! - `flops`: 2·MAC of every matrix product and convolution; softmax, norms and activations are not counted.
//! - `bytes_read`: every matrix product reads its weight (or its second operand) once and its input once, the weight as it is
//!   stored and the input in f32; a weight shared by several cameras is read once. Elementwise work is not counted, so
//!   this is the least a device must fetch, not what it does fetch.

use std::fmt;
use std::ops::{Add, Mul};

use serde::{Deserialize, Serialize};

use crate::gpu::compute::Format;
use crate::policy::Architecture;

/// Bytes of an activation, of a key or of a value: all of them are f32, however weights are stored.
const VALUE_BYTES: u64 = 4;

/// Language tokens that a usual task has, for estimates.
pub const USUAL_WORDS: usize = 13;

/// Who computes a chunk, and so what is left out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The prepared network of own kernels: as Burn's, and `action_in_proj` is folded into the layer behind it.
    Own,
    /// Burn's network: of the last VLM layer only K and V, the cross layers' K and V once a chunk, the time's half of
    /// `action_time_mlp_in` as one row a step.
    Burn,
    /// As LeRobot 0.6.1: the whole last layer, and the cross layers' K and V and the time of every action anew at each step.
    Naive,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "own kernels",
            Self::Burn => "Burn",
            Self::Naive => "naive",
        })
    }
}

/// Work of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// 2·MAC of matrix products and convolutions.
    pub flops: u64,
    /// Bytes that must be fetched at least.
    pub bytes_read: u64,
}

/// Work before it is known how weights are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Terms {
    flops: u64,
    /// Weights that are read; those that are read twice count twice.
    weights: u64,
    /// Other values that are read.
    values: u64,
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
    /// Who computes it.
    pub way: Way,
    /// How weight matrices are stored.
    pub weights: Format,
}

/// Work of one chunk on a network.
pub fn chunk_cost(network: &Architecture, load: Load) -> ChunkCost {
    let prefix_tokens = prefix_tokens(network, load) as u64;
    let naive = load.way == Way::Naive;
    let once = if naive {
        Terms::default()
    } else {
        cross_keys_values(network, prefix_tokens)
    };
    let steps = load.steps as u64;
    let width = network.expert_hidden_size as u64;
    let times = if naive {
        Terms::default()
    } else {
        product(steps, width, width)
    };
    let step = denoise_step(network, prefix_tokens, load.way);
    let stored = |terms: Terms| terms.stored(load.weights);
    ChunkCost {
        vision: stored(vision(network, load.images as u64, load.image_edge)),
        prefix: stored(prefix(network, prefix_tokens, naive) + once),
        denoise: stored(step * steps + times),
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

/// Launches of own kernels by stage: vision, prefix, denoise.
pub fn own_launches(network: &Architecture, load: Load) -> [u64; 3] {
    let layers = network.vision.num_layers as u64;
    // Two norms, q/k/v in one, attention, and three more products a layer; patches, last norm and connector.
    let vision = if load.images == 0 { 0 } else { 7 * layers + 3 };
    // The same a layer; the last has its norm and K and V alone. One puts the prefix together.
    let prefix = 7 * served_layers(network).saturating_sub(1) + 2 + 1;
    // q/k/v, attention, and three more products a layer and step; two before the layers and one behind them. K and V of the
    // cross layers once.
    let step = 5 * network.num_expert_layers as u64 + 3;
    let denoise = step * load.steps as u64 + cross_layers(network);
    [vision, prefix, denoise]
}

/// The SigLIP tower and the connector over `images` pictures of `edge` pixels.
fn vision(network: &Architecture, images: u64, edge: usize) -> Terms {
    let tower = &network.vision;
    if images == 0 {
        return Terms::default();
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
fn prefix(network: &Architecture, tokens: u64, naive: bool) -> Terms {
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
fn cross_keys_values(network: &Architecture, prefix_tokens: u64) -> Terms {
    let keys = attention_widths(network)[1];
    product(prefix_tokens, keys, keys) * 2 * cross_layers(network)
}

/// One Euler step of the expert.
fn denoise_step(network: &Architecture, prefix_tokens: u64, way: Way) -> Terms {
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
    let again = match way {
        Way::Naive => cross_keys_values(network, prefix_tokens) + product(rows, width, width),
        Way::Burn | Way::Own => Terms::default(),
    };
    let entrance = match way {
        Way::Naive | Way::Burn => product(rows, action, width) + product(rows, width, width),
        Way::Own => product(rows, action, width),
    };
    entrance
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
fn product(rows: u64, inner: u64, columns: u64) -> Terms {
    Terms {
        flops: 2 * rows * inner * columns,
        weights: inner * columns,
        values: rows * inner,
    }
}

/// Gate, up and down.
fn gated_mlp(rows: u64, width: u64, inner: u64) -> Terms {
    product(rows, width, inner) * 2 + product(rows, inner, width)
}

/// Scores and their sum over the values, fused: Q, K and V are fetched once and the scores stay on the chip.
fn attention(rows: u64, columns: u64, query_width: u64, key_width: u64) -> Terms {
    Terms {
        flops: 4 * rows * columns * query_width,
        weights: 0,
        values: rows * query_width + 2 * columns * key_width,
    }
}

impl Terms {
    fn stored(self, weights: Format) -> Cost {
        Cost {
            flops: self.flops,
            bytes_read: self.weights * weights.bits() as u64 / 8 + self.values * VALUE_BYTES,
        }
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

impl Add for Terms {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            flops: self.flops + other.flops,
            weights: self.weights + other.weights,
            values: self.values + other.values,
        }
    }
}

impl Mul<u64> for Terms {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self {
            flops: self.flops * times,
            weights: self.weights * times,
            values: self.values * times,
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
            way: Way::Burn,
            weights: Format::F32,
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
        let step = |way| denoise_step(&network, 241, way).flops;
        assert_eq!(giga(step(Way::Naive), 3), 11.425);
        // The reference's own minimum still computes the time of every action.
        let times = product(50, 720, 720).flops;
        assert_eq!(giga(step(Way::Burn) + times, 3), 10.636);
        assert_eq!(step(Way::Burn) - step(Way::Own), times);
        assert_eq!(giga(cross_keys_values(&network, 241).flops, 3), 0.790);
    }

    #[test]
    fn a_whole_chunk_adds_up() {
        let network = smolvla_base();
        let load = three_cameras();
        let total = |load| chunk_cost(&network, load).total().flops;
        // Which the reference's minimum computes for every action and step, and Burn's network once a step.
        let times = product(10 * 50, 720, 720).flops - product(10, 720, 720).flops;
        let least = |load| giga(total(load) + times, 1);
        assert_eq!(least(load), 827.8);
        let naive = Load {
            way: Way::Naive,
            ..load
        };
        assert_eq!(giga(total(naive), 1), 839.6);
        let few_words = Load {
            language_tokens: 13,
            ..load
        };
        assert_eq!(least(few_words), 815.4);
        let one_camera = Load { images: 1, ..load };
        assert_eq!(least(one_camera), 352.3);
    }

    #[test]
    fn weights_are_read_once_a_stage_and_once_a_step() {
        let network = smolvla_base();
        let one = vision(&network, 1, 512);
        let three = vision(&network, 3, 512);
        assert_eq!(
            one.weights, three.weights,
            "cameras share the tower's weights"
        );
        let load = Load {
            images: 1,
            image_edge: 512,
            language_tokens: 13,
            steps: 1,
            way: Way::Naive,
            weights: Format::F32,
        };
        let bytes = |load| chunk_cost(&network, load).denoise.bytes_read;
        let ten = Load { steps: 10, ..load };
        assert_eq!(bytes(ten), 10 * bytes(load));
        // The expert's weights alone are 399.4 MB in f32, and half of that in f16.
        assert!(bytes(load) > 399_000_000, "{}", bytes(load));
        let half = Load {
            weights: Format::F16,
            ..load
        };
        let saved = bytes(load) - bytes(half);
        assert!((199_000_000..201_000_000).contains(&saved), "{saved}");
    }

    #[test]
    fn own_kernels_are_few() {
        let network = smolvla_base();
        let [vision, prefix, denoise] = own_launches(&network, three_cameras());
        assert_eq!((vision, prefix, denoise), (87, 108, 838));
        // The bar: six a layer and step.
        assert!(denoise <= 6 * 16 * 10);
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
