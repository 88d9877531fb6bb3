//! The weights of tower and connector as the tall products read them, and which sizes those take.

use crate::gpu::kernels::attention::MAX_HEAD_DIM;
use crate::policy::smolvla::error::{NetworkError, Result};
use crate::policy::smolvla::prepared::tower::{Linear, Loader, NormWeights};
use crate::policy::smolvla::vision::PREFIX;
use crate::policy::{Architecture, VisionArchitecture};

const CONNECTOR: &str = "model.vlm_with_expert.vlm.model.connector.modality_projection.proj";

#[derive(Debug)]
pub(super) struct VisionWeights {
    pub(super) patch_embedding: Linear,
    /// `[positions, hidden]`, on the host: its rows are picked for a size of pictures.
    pub(super) position_embedding: Vec<f32>,
    pub(super) layers: Vec<LayerWeights>,
    pub(super) post_layernorm: NormWeights,
    pub(super) connector: Linear,
}

#[derive(Debug)]
pub(super) struct LayerWeights {
    pub(super) layer_norm1: NormWeights,
    pub(super) qkv_proj: Linear,
    pub(super) out_proj: Linear,
    pub(super) layer_norm2: NormWeights,
    pub(super) fc1: Linear,
    pub(super) fc2: Linear,
}

impl VisionWeights {
    pub(super) fn load(loader: &mut Loader<'_, '_>, architecture: &Architecture) -> Result<Self> {
        let vision = &architecture.vision;
        let (hidden, patch) = (vision.hidden_size, vision.patch_size);
        let name = format!("{PREFIX}.embeddings.patch_embedding");
        let kernel = [hidden, 3, patch, patch];
        let values = loader.weights.host(&format!("{name}.weight"), &kernel)?;
        let bias = loader.upload(&format!("{name}.bias"), &[hidden])?;
        let patch_embedding = loader
            .in_order(&name, &values, 3 * patch * patch)?
            .with_bias(bias);
        let a_side = vision.image_size / patch;
        Ok(Self {
            patch_embedding,
            position_embedding: loader.weights.host(
                &format!("{PREFIX}.embeddings.position_embedding.weight"),
                &[a_side * a_side, hidden],
            )?,
            layers: (0..vision.num_layers)
                .map(|i| LayerWeights::load(loader, vision, i))
                .collect::<Result<_>>()?,
            post_layernorm: loader.norm(
                &format!("{PREFIX}.post_layernorm"),
                hidden,
                vision.layer_norm_eps,
                true,
            )?,
            connector: loader.linear(
                &[(CONNECTOR, architecture.hidden_size)],
                hidden * architecture.scale_factor.pow(2),
                false,
            )?,
        })
    }
}

impl LayerWeights {
    pub(super) fn load(
        loader: &mut Loader<'_, '_>,
        vision: &VisionArchitecture,
        i: usize,
    ) -> Result<Self> {
        let (hidden, inner, eps) = (
            vision.hidden_size,
            vision.intermediate_size,
            vision.layer_norm_eps,
        );
        let at = |part: &str| format!("{PREFIX}.encoder.layers.{i}.{part}");
        let qkv = ["q", "k", "v"].map(|part| at(&format!("self_attn.{part}_proj")));
        let qkv = qkv.each_ref().map(|name| (name.as_str(), hidden));
        Ok(Self {
            layer_norm1: loader.norm(&at("layer_norm1"), hidden, eps, true)?,
            qkv_proj: loader.linear(&qkv, hidden, true)?,
            out_proj: loader.linear(&[(&at("self_attn.out_proj"), hidden)], hidden, true)?,
            layer_norm2: loader.norm(&at("layer_norm2"), hidden, eps, true)?,
            fc1: loader.linear(&[(&at("mlp.fc1"), inner)], hidden, true)?,
            fc2: loader.linear(&[(&at("mlp.fc2"), hidden)], inner, true)?,
        })
    }
}

/// Refuses what the kernels' tiles do not fit.
pub(in super::super) fn check(architecture: &Architecture) -> Result<()> {
    let (vision, s) = (&architecture.vision, architecture.scale_factor);
    let refuse = |what: String| Err(NetworkError::Kernels(what));
    if vision.num_heads == 0 || !vision.hidden_size.is_multiple_of(vision.num_heads) {
        return Err(NetworkError::Architecture(format!(
            "vision hidden_size {} is not a multiple of its {} heads",
            vision.hidden_size, vision.num_heads
        )));
    }
    let head_dim = vision.hidden_size / vision.num_heads;
    if head_dim > MAX_HEAD_DIM || !head_dim.is_multiple_of(4) {
        return refuse(format!(
            "they take vision heads of at most {MAX_HEAD_DIM} channels by fours, not {head_dim}"
        ));
    }
    let patch = vision.patch_size;
    if !patch.is_multiple_of(4) || !(vision.hidden_size * s * s).is_multiple_of(16) {
        return refuse(format!(
            "they take patches by four pixels and tokens by 16 channels, not {patch} and {}",
            vision.hidden_size * s * s
        ));
    }
    Ok(())
}
