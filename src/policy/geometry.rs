//! The sizes of a network, read from the shapes of its tensors.
//!
//! LeRobot keeps the VLM's sizes in the VLM's own `config.json`, which a checkpoint does not carry. Shapes tell nearly
//! all of them; only the width of a head, the number of vision heads and the epsilons must come from that file, or from
//! SmolVLM2's values when it cannot be found.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::config::{Config, MAX_LAYERS};
use super::smolvla::MAX_GRID;
use super::tensor_table::{EXPERT, VLM, is_self_attention};
use super::{Architecture, TensorSource, VisionArchitecture};

/// Width of an attention head in every published SmolVLM2.
const HEAD_DIM: usize = 64;

/// What the VLM's `config.json` adds to the shapes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct VlmConfig {
    text_config: TextConfig,
    vision_config: VisionConfig,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct TextConfig {
    hidden_size: Option<usize>,
    num_attention_heads: Option<usize>,
    head_dim: Option<usize>,
    rms_norm_eps: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct VisionConfig {
    num_attention_heads: Option<usize>,
    layer_norm_eps: Option<f64>,
}

impl VlmConfig {
    /// Reads a VLM's `config.json`.
    ///
    /// # Errors
    /// The file cannot be read or is not JSON.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let unreadable = |why: String| Error::Vlm {
            path: path.to_owned(),
            why,
        };
        let text = std::fs::read_to_string(path).map_err(|err| unreadable(err.to_string()))?;
        serde_json::from_str(&text).map_err(|err| unreadable(err.to_string()))
    }

    fn head_dim(&self) -> usize {
        let text = &self.text_config;
        let divided = text.hidden_size.zip(text.num_attention_heads);
        text.head_dim
            .or(divided.map(|(hidden, heads)| hidden / heads.max(1)))
            .unwrap_or(HEAD_DIM)
    }
}

/// Why the sizes of a network cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read the VLM's configuration {}: {why}", path.display())]
    Vlm { path: PathBuf, why: String },
    #[error("no tensor `{0}` in the weights, so the sizes of the network cannot be told")]
    Missing(String),
    #[error("{0}")]
    Inconsistent(String),
}

/// Token ids that frame a picture when `add_image_special_tokens` is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageTokens {
    pub fake: u32,
    pub global: u32,
}

/// Derives the sizes of the network in `source`.
///
/// # Errors
/// A tensor that tells a size is absent or has the wrong rank, or sizes contradict each other or the configuration.
pub fn architecture(
    config: &Config,
    source: &dyn TensorSource,
    vlm: &VlmConfig,
    image_tokens: ImageTokens,
) -> Result<Architecture, Error> {
    let shapes = Shapes {
        source,
        names: source.names(),
    };
    let [vocab_size, hidden_size] = shapes.of(&format!("{VLM}.text_model.embed_tokens.weight"))?;
    let text = format!("{VLM}.text_model.layers");
    let expert = format!("{EXPERT}.layers");
    let [query_width, _] = shapes.layer(&text, "self_attn.q_proj.weight")?;
    let [key_width, _] = shapes.layer(&text, "self_attn.k_proj.weight")?;
    let [intermediate_size, _] = shapes.layer(&text, "mlp.gate_proj.weight")?;
    let [expert_intermediate_size, expert_hidden_size] =
        shapes.layer(&expert, "mlp.gate_proj.weight")?;
    let (vision, scale_factor) = vision(&shapes, vlm)?;
    let head_dim = vlm.head_dim();
    let num_vlm_layers = requested(config.num_vlm_layers, || shapes.layers(&text));
    let num_expert_layers = requested(config.num_expert_layers, || num_vlm_layers);
    let arch = Architecture {
        vision,
        scale_factor,
        hidden_size,
        intermediate_size,
        vocab_size,
        num_attention_heads: heads("query", query_width, head_dim)?,
        num_key_value_heads: heads("key", key_width, head_dim)?,
        head_dim,
        num_vlm_layers,
        expert_hidden_size,
        expert_intermediate_size,
        num_expert_layers,
        self_attn_every_n_layers: config.self_attn_every_n_layers,
        cross_attention: config.cross_attention(),
        rms_norm_eps: vlm.text_config.rms_norm_eps.unwrap_or(1e-5),
        chunk_size: config.chunk_size,
        max_state_dim: config.max_state_dim,
        max_action_dim: config.max_action_dim,
        add_image_special_tokens: config.add_image_special_tokens,
        fake_image_token: image_tokens.fake,
        global_image_token: image_tokens.global,
        prefix_length: config.prefix_length,
        min_period: config.min_period,
        max_period: config.max_period,
        num_steps: config.num_steps,
    };
    check(&arch, config)?;
    Ok(arch)
}

fn requested(count: i64, otherwise: impl FnOnce() -> usize) -> usize {
    usize::try_from(count)
        .ok()
        .filter(|count| *count > 0)
        .unwrap_or_else(otherwise)
}

fn heads(what: &str, width: usize, head_dim: usize) -> Result<usize, Error> {
    if head_dim > 0 && width > 0 && width.is_multiple_of(head_dim) {
        return Ok(width / head_dim);
    }
    Err(Error::Inconsistent(format!(
        "the {what} projection is {width} wide, which is no multiple of the head width {head_dim}; \
         put the VLM's config.json beside the checkpoint so that its head_dim can be read"
    )))
}

/// Sizes of the vision tower, and the connector's pixel shuffle factor.
fn vision(shapes: &Shapes<'_>, vlm: &VlmConfig) -> Result<(VisionArchitecture, usize), Error> {
    let root = format!("{VLM}.vision_model");
    let layers = format!("{root}.encoder.layers");
    let [hidden_size, _, patch_size, _] =
        shapes.of(&format!("{root}.embeddings.patch_embedding.weight"))?;
    let [positions, _] = shapes.of(&format!("{root}.embeddings.position_embedding.weight"))?;
    let [intermediate_size, _] = shapes.layer(&layers, "mlp.fc1.weight")?;
    let [_, connector_in] =
        shapes.of(&format!("{VLM}.connector.modality_projection.proj.weight"))?;
    let squared = connector_in / hidden_size.max(1);
    if squared * hidden_size != connector_in {
        return Err(Error::Inconsistent(format!(
            "the connector takes {connector_in} values, no multiple of the vision width {hidden_size}"
        )));
    }
    let num_heads = vlm
        .vision_config
        .num_attention_heads
        .unwrap_or(hidden_size.div_ceil(HEAD_DIM));
    if num_heads == 0 || !hidden_size.is_multiple_of(num_heads) {
        return Err(Error::Inconsistent(format!(
            "the vision width {hidden_size} cannot be shared by {num_heads} heads; \
             put the VLM's config.json beside the checkpoint"
        )));
    }
    let tower = VisionArchitecture {
        hidden_size,
        intermediate_size,
        num_layers: shapes.layers(&layers),
        num_heads,
        patch_size,
        image_size: root_of(positions, "position embeddings")? * patch_size,
        layer_norm_eps: vlm.vision_config.layer_norm_eps.unwrap_or(1e-6),
    };
    Ok((tower, root_of(squared, "pixels that the connector joins")?))
}

fn root_of(square: usize, what: &str) -> Result<usize, Error> {
    let root = square.isqrt();
    if root > 0 && root * root == square {
        return Ok(root);
    }
    Err(Error::Inconsistent(format!(
        "the number of {what}, {square}, is no square"
    )))
}

/// Rules that the network's code relies on.
fn check(arch: &Architecture, config: &Config) -> Result<(), Error> {
    let fail = |why: String| Err(Error::Inconsistent(why));
    if !arch
        .num_attention_heads
        .is_multiple_of(arch.num_key_value_heads)
    {
        return fail(format!(
            "{} query heads cannot share {} key heads evenly",
            arch.num_attention_heads, arch.num_key_value_heads
        ));
    }
    if let Some((edge, _)) = config.resize_imgs_with_padding {
        let step = arch.vision.patch_size * arch.scale_factor;
        if !edge.is_multiple_of(step) {
            return fail(format!(
                "resize_imgs_with_padding is {edge} pixels; patches of {} and a pixel shuffle of {} need a multiple of {step}",
                arch.vision.patch_size, arch.scale_factor
            ));
        }
        if edge / arch.vision.patch_size.max(1) > MAX_GRID {
            return fail(format!(
                "resize_imgs_with_padding is {edge} pixels, more than {MAX_GRID} patches of {}: no device has the memory \
                 for it; config.json is damaged, fetch it again",
                arch.vision.patch_size
            ));
        }
    }
    check_layers(arch)
}

/// Which expert layers have prefix-wide keys is decided by the expert's own count, the kind of attention by the VLM's;
/// only combinations where the two agree can run.
fn check_layers(arch: &Architecture) -> Result<(), Error> {
    let (vlm, expert) = (arch.num_vlm_layers, arch.num_expert_layers);
    let numbers = format!(
        "num_vlm_layers {vlm}, num_expert_layers {expert}, self_attn_every_n_layers {}",
        arch.self_attn_every_n_layers
    );
    if expert == 0 || expert > vlm || !vlm.is_multiple_of(expert) {
        return Err(Error::Inconsistent(format!(
            "{numbers}: the expert's layers must divide the VLM's"
        )));
    }
    let multiple = vlm / expert;
    let alone = (0..vlm).find(|i| is_self_attention(arch, *i) && !i.is_multiple_of(multiple));
    if let Some(layer) = alone {
        return Err(Error::Inconsistent(format!(
            "{numbers}: VLM layer {layer} asks for expert self-attention, but no expert layer serves it"
        )));
    }
    let torn =
        (0..expert).find(|j| is_self_attention(arch, *j) != is_self_attention(arch, j * multiple));
    match torn {
        Some(layer) => Err(Error::Inconsistent(format!(
            "{numbers}: expert layer {layer} is shaped for one kind of attention and used for the other"
        ))),
        None => Ok(()),
    }
}

struct Shapes<'a> {
    source: &'a dyn TensorSource,
    names: Vec<String>,
}

impl Shapes<'_> {
    fn of<const RANK: usize>(&self, name: &str) -> Result<[usize; RANK], Error> {
        let shape = self
            .source
            .shape(name)
            .ok_or_else(|| Error::Missing(name.to_owned()))?;
        <[usize; RANK]>::try_from(shape.as_slice())
            .ok()
            .ok_or_else(|| {
                Error::Inconsistent(format!("`{name}` has shape {shape:?}, not {RANK} sizes"))
            })
    }

    /// The shape of `tail` in the first layer that has it, so that one lost tensor does not hide the others.
    fn layer<const RANK: usize>(&self, root: &str, tail: &str) -> Result<[usize; RANK], Error> {
        let found = (0..self.layers(root))
            .map(|layer| format!("{root}.{layer}.{tail}"))
            .find(|name| self.source.shape(name).is_some());
        self.of(&found.unwrap_or_else(|| format!("{root}.0.{tail}")))
    }

    /// One more than the highest layer number under `root`. A number that no network has makes no layers of its own: its
    /// tensor is then listed as a stranger, where counting up to it would take all memory.
    fn layers(&self, root: &str) -> usize {
        let numbers = self.names.iter().filter_map(|name| {
            let rest = name.strip_prefix(root)?.strip_prefix('.')?;
            let number = rest.split('.').next()?.parse::<usize>().ok()?;
            (number < MAX_LAYERS).then_some(number)
        });
        numbers.max().map_or(0, |highest| highest + 1)
    }
}

/// Sizes of `lerobot/smolvla_base`, the 450M model.
pub fn smolvla_base() -> Architecture {
    Architecture {
        vision: VisionArchitecture {
            hidden_size: 768,
            intermediate_size: 3072,
            num_layers: 12,
            num_heads: 12,
            patch_size: 16,
            image_size: 512,
            layer_norm_eps: 1e-6,
        },
        scale_factor: 4,
        hidden_size: 960,
        intermediate_size: 2560,
        vocab_size: 49280,
        num_attention_heads: 15,
        num_key_value_heads: 5,
        head_dim: HEAD_DIM,
        num_vlm_layers: 16,
        expert_hidden_size: 720,
        expert_intermediate_size: 2048,
        num_expert_layers: 16,
        self_attn_every_n_layers: 2,
        cross_attention: true,
        rms_norm_eps: 1e-5,
        chunk_size: 50,
        max_state_dim: 32,
        max_action_dim: 32,
        add_image_special_tokens: false,
        fake_image_token: 49189,
        global_image_token: 49152,
        prefix_length: 0,
        min_period: 4e-3,
        max_period: 4.0,
        num_steps: 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::seeded::{Precision, Seeded};

    fn base_config() -> Config {
        Config {
            prefix_length: 0,
            num_expert_layers: 0,
            ..Config::default()
        }
    }

    #[test]
    fn shapes_tell_the_sizes_of_the_full_network() {
        let base = smolvla_base();
        let source = Seeded::new(&base, 1, Precision::Published);
        let tokens = ImageTokens {
            fake: 49189,
            global: 49152,
        };
        let derived = architecture(&base_config(), &source, &VlmConfig::default(), tokens).unwrap();
        assert_eq!(derived, base);
    }

    #[test]
    fn layer_counts_that_cannot_run_are_refused() {
        let layers = |vlm, expert, every| {
            let mut arch = smolvla_base();
            arch.num_vlm_layers = vlm;
            arch.num_expert_layers = expert;
            arch.self_attn_every_n_layers = every;
            check_layers(&arch)
        };
        // From LeRobot: these run.
        for good in [(16, 16, 2), (4, 4, 3), (4, 2, 4), (4, 2, 0), (4, 4, -1)] {
            assert!(layers(good.0, good.1, good.2).is_ok(), "{good:?}");
        }
        // These fail there with a shape error, an empty list, or an assertion.
        for bad in [(4, 2, 2), (4, 2, 3), (4, 3, 2), (2, 4, 2)] {
            assert!(layers(bad.0, bad.1, bad.2).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_lost_tensor_is_named() {
        let source = Seeded::new(&smolvla_base(), 1, Precision::Published)
            .without("model.vlm_with_expert.vlm.model.text_model.embed_tokens.weight");
        let err = architecture(
            &base_config(),
            &source,
            &VlmConfig::default(),
            ImageTokens::default(),
        );
        assert!(err.unwrap_err().to_string().contains("embed_tokens"));
    }

    #[test]
    fn a_picture_that_patches_do_not_tile_is_refused() {
        let config = Config {
            resize_imgs_with_padding: Some((500, 500)),
            ..base_config()
        };
        let err = check(&smolvla_base(), &config).unwrap_err().to_string();
        assert!(err.contains("multiple of 64"), "{err}");
    }

    #[test]
    fn a_picture_that_would_take_all_memory_is_refused() {
        let config = Config {
            resize_imgs_with_padding: Some((1 << 20, 1 << 20)),
            ..base_config()
        };
        let err = check(&smolvla_base(), &config).unwrap_err().to_string();
        assert!(err.contains("1048576 pixels"), "{err}");
    }

    /// The largest number once counted to zero layers, and a smaller one to more tensors than memory holds.
    #[test]
    fn a_layer_number_that_no_network_has_is_not_counted_to() {
        let layer = |number: &str| format!("m.layers.{number}.weight");
        let names = ["0", "3", "99999999999", "18446744073709551615", "x"];
        let shapes = Shapes {
            source: &Seeded::new(&smolvla_base(), 1, Precision::Published),
            names: names.map(layer).to_vec(),
        };
        assert_eq!(shapes.layers("m.layers"), 4);
    }
}
