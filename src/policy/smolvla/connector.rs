//! Joins the eyes to the language: neighbouring patches become one token of the VLM.

use burn::tensor::Tensor;

use super::error::{NetworkError, Result};
use super::layers::Linear;
use super::weights::Weights;
use crate::policy::Architecture;

/// Mirrors `SmolVLMConnector`: pixel shuffle and one linear layer without bias.
#[derive(Debug)]
pub(super) struct Connector {
    /// `modality_projection.proj`
    modality_projection: Linear,
    scale_factor: usize,
}

impl Connector {
    pub(super) fn load(weights: &mut Weights<'_>, architecture: &Architecture) -> Result<Self> {
        let inputs = architecture.vision.hidden_size * architecture.scale_factor.pow(2);
        Ok(Self {
            modality_projection: weights.linear(
                "model.vlm_with_expert.vlm.model.connector.modality_projection.proj",
                inputs,
                architecture.hidden_size,
                false,
            )?,
            scale_factor: architecture.scale_factor,
        })
    }

    /// Token (R, C) is made of the patches (sR + dy, sC + dx), dy outer and dx inner.
    ///
    /// # Shapes
    /// `[n, side², vision_hidden]` to `[n, (side / s)², hidden]`
    ///
    /// # Errors
    /// The patches form no square, or its side is no multiple of the factor.
    pub(super) fn forward(&self, x: Tensor<3>) -> Result<Tensor<3>> {
        let [n, patches, hidden] = x.dims();
        let (side, s) = (patches.isqrt(), self.scale_factor);
        if side * side != patches || side % s != 0 {
            return Err(NetworkError::Input(format!(
                "{patches} patches a picture cannot be shuffled by {s}: pictures must be square, their patch grid a \
                 multiple of {s}"
            )));
        }
        let out = side / s;
        let shuffled = x
            .reshape([n, out, s, out, s, hidden])
            .permute([0, 1, 3, 2, 4, 5])
            .reshape([n, out * out, s * s * hidden]);
        Ok(self.modality_projection.forward(shuffled))
    }
}
