//! The part of the network that looks and reads: from pictures, words and state to keys and values, once a chunk.

use burn::tensor::{Device, Tensor};

use super::Extent;
use super::connector::Connector;
use super::embedding::TokenTable;
use super::error::Result;
use super::expert::Plan;
use super::layers::Linear;
use super::prefix::Prefix;
use super::text::{self, TextModel};
use super::trace::Trace;
use super::vision::VisionModel;
use super::weights::Weights;
use crate::policy::Architecture;

/// Mirrors the VLM inside SmolVLA's `VLMWithExpertModel`, with what lays its prefix out.
#[derive(Debug)]
pub struct Vlm {
    pub(super) architecture: Architecture,
    pub(super) device: Device,
    pub(super) vision_model: VisionModel,
    pub(super) connector: Connector,
    pub(super) embed_tokens: TokenTable,
    pub(super) text_model: TextModel,
    pub(super) state_proj: Linear,
}

impl Vlm {
    /// `plan` says which layers the expert looks at.
    pub(super) fn load(
        weights: &mut Weights<'_>,
        architecture: &Architecture,
        plan: Plan,
        extent: Extent,
    ) -> Result<Self> {
        let a = architecture;
        let served = (a.num_expert_layers - 1) * plan.multiple;
        let text_model = match extent {
            Extent::Needed => TextModel::load(weights, a, served, true)?,
            Extent::Whole => TextModel::load(weights, a, a.num_vlm_layers, false)?,
        };
        Ok(Self {
            vision_model: VisionModel::load(weights, a)?,
            connector: Connector::load(weights, a)?,
            embed_tokens: TokenTable::load(
                weights,
                &format!("{}.embed_tokens.weight", text::PREFIX),
                a.vocab_size,
                a.hidden_size,
            )?,
            text_model,
            state_proj: weights.linear("model.state_proj", a.max_state_dim, a.hidden_size, true)?,
            architecture: a.clone(),
            device: weights.device().clone(),
        })
    }

    /// Keys (rotated) and values of every layer that the expert may look at.
    ///
    /// # Shapes
    /// `[2, batch, kv_heads, len, head_dim]` a layer
    ///
    /// # Errors
    /// Only of the trace.
    pub fn prefill(&self, prefix: &Prefix, trace: &mut Trace) -> Result<Vec<Tensor<5>>> {
        self.text_model.prefill(prefix, trace)
    }
}
