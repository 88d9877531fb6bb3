//! What a SmolVLA checkpoint says about itself: LeRobot's `config.json`, checked before anything is loaded.
//!
//! Every field but `type` and the features has a default (LeRobot 0.6.1's), because early uploads lack many of them, and
//! unknown keys are ignored, because later versions add some. The order of `input_features` is the order of the cameras
//! in the prefix, so it is kept as written.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::smolvla::MAX_STEPS;

/// The feature key of the joint state.
pub const STATE: &str = "observation.state";
/// The feature key of the action.
pub const ACTION: &str = "action";

/// Words of a task that are ever read: the VLM was trained on 8192 positions.
pub const MAX_TOKENS: usize = 8192;
/// Layers of one kind that are ever looked for; the published networks have 32 at most.
pub const MAX_LAYERS: usize = 512;

/// A count of layers; what is not positive means "as many as there are".
fn layers(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// LeRobot's SmolVLA configuration, as far as running the policy needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the fields are LeRobot's, by its names"
)]
pub struct Config {
    #[serde(rename = "type")]
    pub kind: String,
    pub input_features: Features,
    pub output_features: Features,
    /// Actions in a chunk, and how many of them are executed before the next one is asked for.
    pub chunk_size: usize,
    pub n_action_steps: usize,
    /// Used when the checkpoint has no processor files.
    pub normalization_mapping: Modes,
    pub max_state_dim: usize,
    pub max_action_dim: usize,
    /// Width and height in pixels; `None` feeds the pictures as they come.
    pub resize_imgs_with_padding: Option<(usize, usize)>,
    pub empty_cameras: usize,
    pub adapt_to_pi_aloha: bool,
    pub use_delta_joint_actions_aloha: bool,
    pub tokenizer_max_length: usize,
    pub num_steps: usize,
    pub vlm_model_name: String,
    pub load_vlm_weights: bool,
    pub add_image_special_tokens: bool,
    pub attention_mode: String,
    pub prefix_length: i64,
    pub pad_language_to: String,
    pub num_expert_layers: i64,
    pub num_vlm_layers: i64,
    pub self_attn_every_n_layers: i64,
    pub expert_width_multiplier: f64,
    pub min_period: f64,
    pub max_period: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            kind: "smolvla".into(),
            input_features: Features::default(),
            output_features: Features::default(),
            chunk_size: 50,
            n_action_steps: 50,
            normalization_mapping: Modes::default(),
            max_state_dim: 32,
            max_action_dim: 32,
            resize_imgs_with_padding: Some((512, 512)),
            empty_cameras: 0,
            adapt_to_pi_aloha: false,
            use_delta_joint_actions_aloha: false,
            tokenizer_max_length: 48,
            num_steps: 10,
            vlm_model_name: "HuggingFaceTB/SmolVLM2-500M-Video-Instruct".into(),
            load_vlm_weights: false,
            add_image_special_tokens: false,
            attention_mode: "cross_attn".into(),
            prefix_length: -1,
            pad_language_to: "longest".into(),
            num_expert_layers: -1,
            num_vlm_layers: 16,
            self_attn_every_n_layers: 2,
            expert_width_multiplier: 0.75,
            min_period: 4e-3,
            max_period: 4.0,
        }
    }
}

/// What a feature is, LeRobot's `FeatureType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum FeatureKind {
    State,
    Visual,
    Action,
    /// Environment state, rewards and whatever comes; not read by SmolVLA.
    #[serde(other)]
    Other,
}

/// One declared input or output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    #[serde(rename = "type")]
    pub kind: FeatureKind,
    pub shape: Vec<usize>,
}

/// Features by key, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features(pub Vec<(String, Feature)>);

impl Features {
    /// The feature `key`.
    pub fn get(&self, key: &str) -> Option<&Feature> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, feature)| feature)
    }

    /// Width of the one-dimensional feature `key`; a shape whose product is beyond counting is merely very wide.
    pub fn width(&self, key: &str) -> Option<usize> {
        let count = |shape: &[usize]| shape.iter().fold(1, |all: usize, n| all.saturating_mul(*n));
        self.get(key).map(|feature| count(&feature.shape))
    }
}

impl Serialize for Features {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, feature)| (key, feature)))
    }
}

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Features;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from feature keys to {\"type\", \"shape\"}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Features, A::Error> {
                let mut features = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    features.push(entry);
                }
                Ok(Features(features))
            }

            // An old file may hold null here.
            fn visit_unit<E>(self) -> Result<Features, E> {
                Ok(Features::default())
            }
        }
        deserializer.deserialize_any(InOrder)
    }
}

/// How a kind of feature is normalised, LeRobot's `NormalizationMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    #[default]
    #[serde(rename = "IDENTITY")]
    Identity,
    #[serde(rename = "MEAN_STD")]
    MeanStd,
    #[serde(rename = "MIN_MAX")]
    MinMax,
    /// The 1st and 99th percentile as bounds.
    #[serde(rename = "QUANTILES")]
    Quantiles,
    /// The 10th and 90th percentile as bounds.
    #[serde(rename = "QUANTILE10")]
    Quantile10,
}

/// The mode of each kind of feature. A kind that a given map leaves out is not normalised, as in LeRobot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    #[serde(rename = "VISUAL", default)]
    pub visual: Mode,
    #[serde(rename = "STATE", default)]
    pub state: Mode,
    #[serde(rename = "ACTION", default)]
    pub action: Mode,
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            visual: Mode::Identity,
            state: Mode::MeanStd,
            action: Mode::MeanStd,
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}: {source}. Name the directory of a checkpoint, which holds config.json and its weights", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{} is not a readable SmolVLA configuration: {source}. Fetch it again from the original checkpoint",
        path.display()
    )]
    Parse {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{}: {why}", path.display())]
    Invalid { path: PathBuf, why: String },
}

impl Config {
    /// Reads and checks `config.json` in `directory`.
    ///
    /// # Errors
    /// The file is absent, not JSON, of another policy, or asks for something that cannot be run.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("config.json");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(Error::Read { path, source }),
        };
        Self::parse(&text, &path)
    }

    /// Reads and checks the text of a `config.json`; `path` is only named in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let config: Self = serde_json::from_str(text).map_err(|source| Error::Parse {
            path: path.to_owned(),
            source,
        })?;
        match config.complaint() {
            Some(why) => Err(Error::Invalid {
                path: path.to_owned(),
                why,
            }),
            None => Ok(config),
        }
    }

    /// Keys of the cameras in the checkpoint's order, without the placeholders that `empty_cameras` adds.
    pub fn cameras(&self) -> Vec<&str> {
        let placeholder = |key: &str| {
            key.strip_prefix("observation.images.empty_camera_")
                .and_then(|index| index.parse::<usize>().ok())
                .is_some_and(|index| index < self.empty_cameras)
        };
        self.visual_keys()
            .into_iter()
            .filter(|key| !placeholder(key))
            .collect()
    }

    /// Keys of every visual feature in the checkpoint's order.
    pub fn visual_keys(&self) -> Vec<&str> {
        self.input_features
            .0
            .iter()
            .filter(|(_, feature)| feature.kind == FeatureKind::Visual)
            .map(|(key, _)| key.as_str())
            .collect()
    }

    /// Width of `observation.state` before padding.
    pub fn state_dim(&self) -> usize {
        self.input_features.width(STATE).unwrap_or(0)
    }

    /// Width of an action before padding.
    pub fn action_dim(&self) -> usize {
        self.output_features.width(ACTION).unwrap_or(0)
    }

    /// True when some expert layers attend across to the prefix only.
    pub fn cross_attention(&self) -> bool {
        self.attention_mode.contains("cross")
    }

    /// What is wrong with this configuration, in words, or `None`.
    fn complaint(&self) -> Option<String> {
        self.kind_complaint()
            .or_else(|| self.feature_complaint())
            .or_else(|| self.number_complaint())
            .or_else(|| self.option_complaint())
    }

    fn kind_complaint(&self) -> Option<String> {
        (self.kind != "smolvla").then(|| {
            format!(
                "this is a `{}` policy; only `smolvla` can be run here",
                self.kind
            )
        })
    }

    fn feature_complaint(&self) -> Option<String> {
        let (state, action) = (self.state_dim(), self.action_dim());
        if state == 0 {
            return Some(format!("input_features has no `{STATE}`; SmolVLA needs it"));
        }
        if action == 0 {
            return Some(format!(
                "output_features has no `{ACTION}`, so the width of an action is unknown"
            ));
        }
        if self.cameras().is_empty() {
            return Some(
                "input_features has no camera (type VISUAL); SmolVLA needs at least one".into(),
            );
        }
        if state > self.max_state_dim {
            return Some(format!(
                "`{STATE}` has {state} values, more than max_state_dim {}",
                self.max_state_dim
            ));
        }
        (action > self.max_action_dim).then(|| {
            format!(
                "`{ACTION}` has {action} values, more than max_action_dim {}",
                self.max_action_dim
            )
        })
    }

    fn number_complaint(&self) -> Option<String> {
        let positive = [
            ("chunk_size", self.chunk_size),
            ("n_action_steps", self.n_action_steps),
            ("num_steps", self.num_steps),
            ("tokenizer_max_length", self.tokenizer_max_length),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Some(format!("{name} is 0; it must be at least 1"));
        }
        // Far above every known checkpoint. Each of these sizes memory or a loop, so a damaged file must not set it.
        let bounded = [
            ("chunk_size", self.chunk_size, 1000),
            ("num_steps", self.num_steps, MAX_STEPS),
            (
                "tokenizer_max_length",
                self.tokenizer_max_length,
                MAX_TOKENS,
            ),
            ("max_state_dim", self.max_state_dim, 4096),
            ("max_action_dim", self.max_action_dim, 4096),
            ("empty_cameras", self.empty_cameras, 64),
            ("num_vlm_layers", layers(self.num_vlm_layers), MAX_LAYERS),
            (
                "num_expert_layers",
                layers(self.num_expert_layers),
                MAX_LAYERS,
            ),
        ];
        if let Some((name, value, most)) = bounded.iter().find(|(_, value, most)| value > most) {
            return Some(format!(
                "{name} is {value}, more than the {most} that can be run here; the file is damaged, fetch it again"
            ));
        }
        if self.n_action_steps > self.chunk_size {
            return Some(format!(
                "n_action_steps {} is more than chunk_size {}: a chunk does not hold that many actions",
                self.n_action_steps, self.chunk_size
            ));
        }
        if !(self.min_period > 0.0 && self.max_period > self.min_period) {
            return Some(format!(
                "min_period {} and max_period {} must be positive and rising",
                self.min_period, self.max_period
            ));
        }
        match self.resize_imgs_with_padding {
            Some((width, height)) if width != height || width == 0 => Some(format!(
                "resize_imgs_with_padding is [{width}, {height}]; the vision tower needs a square picture"
            )),
            _ => None,
        }
    }

    fn option_complaint(&self) -> Option<String> {
        if self.use_delta_joint_actions_aloha {
            return Some(
                "use_delta_joint_actions_aloha is true, which LeRobot never implemented for SmolVLA"
                    .into(),
            );
        }
        if !matches!(self.attention_mode.as_str(), "cross_attn" | "self_attn") {
            return Some(format!(
                "attention_mode `{}` is unknown; `cross_attn` and `self_attn` are known",
                self.attention_mode
            ));
        }
        let (state, action) = (self.state_dim(), self.action_dim());
        (self.adapt_to_pi_aloha && (state != 14 || action != 14)).then(|| {
            format!(
                "adapt_to_pi_aloha is for the 14 joints of an Aloha; this checkpoint has {state} states and {action} actions"
            )
        })
    }
}

#[cfg(test)]
mod tests;
