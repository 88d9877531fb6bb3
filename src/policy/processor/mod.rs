//! Around the network: from camera pictures, joint angles and words to its inputs, and from its outputs to robot units.
//!
//! Order and formulas are those of LeRobot 0.6.1's SmolVLA pipelines.

mod aloha;
#[cfg(test)]
pub(crate) mod golden;
mod images;
mod normalize;
mod pipeline;
mod resize;

use std::collections::BTreeMap;

pub use normalize::{FeatureStats, Normalizer};
pub use pipeline::{Error as PipelineError, NormalizerStep, POSTPROCESSOR, PREPROCESSOR, Pipeline};
pub use resize::{Planes, resize_with_pad};

use self::images::Images;
use super::NetworkInput;
use super::config::{Config, STATE};
use super::statistics::Normalization;
use super::tokenizer::{self, TaskTokenizer};
use crate::observation::Observation;

/// Why an observation cannot be given to the network.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no camera picture is there; this checkpoint looks at: {0}")]
    NoPicture(String),
    #[error(
        "`{key}` is {width}x{height}; this checkpoint does not resize pictures and needs square ones"
    )]
    NotSquare {
        key: String,
        width: usize,
        height: usize,
    },
    #[error("`{STATE}` has {got} values; this checkpoint was trained with {wanted}")]
    StateWidth { got: usize, wanted: usize },
    #[error("value {index} of `{STATE}` is {value}, not a number that a joint can have")]
    StateValue { index: usize, value: f32 },
    #[error(transparent)]
    Tokenizer(#[from] tokenizer::Error),
}

/// Everything that is done to an observation before the network and to its answer after it.
#[derive(Clone, Debug)]
pub struct Processor {
    images: Images,
    views: Vec<String>,
    rename_map: BTreeMap<String, String>,
    state: Normalizer,
    action: Normalizer,
    tokenizer: TaskTokenizer,
    aloha: bool,
    state_dim: usize,
    max_state_dim: usize,
    action_dim: usize,
    max_action_dim: usize,
}

impl Processor {
    /// Puts a checkpoint's settings together.
    pub fn new(
        config: &Config,
        pre: Option<&Pipeline>,
        normalization: &Normalization,
        tokenizer: TaskTokenizer,
    ) -> Self {
        Self {
            images: Images::new(config, &normalization.images),
            views: config.cameras().into_iter().map(str::to_owned).collect(),
            rename_map: pre.map(|pre| pre.rename_map.clone()).unwrap_or_default(),
            state: normalization.state.clone(),
            action: normalization.action.clone(),
            tokenizer,
            aloha: config.adapt_to_pi_aloha,
            state_dim: config.state_dim(),
            max_state_dim: config.max_state_dim,
            action_dim: config.action_dim(),
            max_action_dim: config.max_action_dim,
        }
    }

    /// Prepares the network's input for one observation; oddities are appended to `warnings`.
    ///
    /// # Errors
    /// No picture of a declared view, a state of the wrong width or with a value that is not finite, or a task that
    /// cannot be tokenized.
    pub fn preprocess(
        &self,
        observation: &Observation,
        noise: Vec<f32>,
        warnings: &mut Vec<String>,
    ) -> Result<NetworkInput, Error> {
        self.note_cameras(observation, warnings);
        let frame = |key: &str| {
            let renamed = || {
                let found = observation
                    .images
                    .iter()
                    .find(|(name, _)| self.view(name) == key);
                found.map(|(_, frame)| frame)
            };
            observation.image(key).or_else(renamed)
        };
        let tokens = self.tokenizer.encode(&observation.task)?;
        if tokens.cut > 0 {
            warnings.push(format!(
                "the task is too long: its first {} tokens were cut off",
                tokens.cut
            ));
        }
        Ok(NetworkInput {
            batch: 1,
            images: self.images.prepare(frame)?,
            tokens: vec![tokens.ids],
            state: self.state(&observation.state)?,
            noise,
        })
    }

    /// The checkpoint's key of a picture; its own keys mean themselves, others go through the rename map.
    fn view<'a>(&'a self, key: &'a str) -> &'a str {
        if self.views.iter().any(|view| view == key) {
            return key;
        }
        self.rename_map.get(key).map_or(key, String::as_str)
    }

    fn note_cameras(&self, observation: &Observation, warnings: &mut Vec<String>) {
        let given: Vec<&str> = observation
            .images
            .iter()
            .map(|(key, _)| self.view(key))
            .collect();
        for view in self
            .views
            .iter()
            .filter(|view| !given.contains(&view.as_str()))
        {
            warnings.push(format!(
                "camera `{view}` is missing; the policy acts without it"
            ));
        }
        for key in given {
            if !self.views.iter().any(|view| view == key) {
                warnings.push(format!(
                    "camera `{key}` is not used: this checkpoint looks at {}",
                    self.views.join(", ")
                ));
            }
        }
    }

    /// Normalised and zero-padded, `[state_dim]` to `[max_state_dim]`.
    fn state(&self, raw: &[f32]) -> Result<Vec<f32>, Error> {
        if raw.len() != self.state_dim {
            return Err(Error::StateWidth {
                got: raw.len(),
                wanted: self.state_dim,
            });
        }
        if let Some(index) = raw.iter().position(|value| !value.is_finite()) {
            return Err(Error::StateValue {
                index,
                value: raw[index],
            });
        }
        let mut state: Vec<f32> = raw
            .iter()
            .enumerate()
            .map(|(index, value)| self.state.forward(index, *value))
            .collect();
        if self.aloha {
            aloha::adapt_state(&mut state);
        }
        state.resize(self.max_state_dim, 0.0);
        Ok(state)
    }

    /// Cuts the padding off the network's answer.
    ///
    /// # Shapes
    /// `[steps * max_action_dim]` to `[steps][action_dim]`, still in normalised space.
    pub fn normalized_actions(&self, output: &[f32]) -> Vec<Vec<f32>> {
        output
            .chunks_exact(self.max_action_dim)
            .map(|step| step[..self.action_dim].to_vec())
            .collect()
    }

    /// Brings one normalised action into robot units, `[action_dim]`.
    pub fn postprocess(&self, normalized: &[f32]) -> Vec<f32> {
        let mut action = normalized.to_vec();
        if self.aloha {
            aloha::adapt_action(&mut action);
        }
        for (index, value) in action.iter_mut().enumerate() {
            *value = self.action.inverse(index, *value);
        }
        action
    }
}

#[cfg(test)]
mod tests;
