//! The sizes and switches that define one SmolVLA network: all that the network code needs beside the tensors.

use serde::{Deserialize, Serialize};

/// Sizes and switches of a SmolVLA network. The numbers in brackets are those of the 450M model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Architecture {
    pub vision: VisionArchitecture,
    /// Pixel shuffle factor of the connector (4).
    pub scale_factor: usize,
    /// Width of the VLM (960), its MLP (2560) and its vocabulary (49280).
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub vocab_size: usize,
    /// Query heads (15), key/value heads (5) and their width (64), shared by VLM and expert.
    pub num_attention_heads: usize,
    pub num_key_value_heads: usize,
    pub head_dim: usize,
    /// VLM layers that are used (16).
    pub num_vlm_layers: usize,
    /// Width of the expert (720), its MLP (2048) and its layers (16).
    pub expert_hidden_size: usize,
    pub expert_intermediate_size: usize,
    pub num_expert_layers: usize,
    /// Every n-th layer is self-attention, the others cross-attention; 0 or less: all cross (2).
    pub self_attn_every_n_layers: i64,
    /// `attention_mode` contains "cross"; otherwise every expert layer is self-attention.
    pub cross_attention: bool,
    /// Epsilon of every RMSNorm (1e-5).
    pub rms_norm_eps: f64,
    /// Actions in a chunk (50).
    pub chunk_size: usize,
    /// Padded widths of state and action (32).
    pub max_state_dim: usize,
    pub max_action_dim: usize,
    /// Frames each image with `<fake_token_around_image>` and `<global-img>`.
    pub add_image_special_tokens: bool,
    /// Token ids of those two, when they are used.
    pub fake_image_token: u32,
    pub global_image_token: u32,
    /// Pads the prefix on the right up to this length; 0 or less is off.
    pub prefix_length: i64,
    /// Shortest and longest period of the time embedding (4e-3, 4.0).
    pub min_period: f64,
    pub max_period: f64,
    /// Euler steps unless told otherwise (10).
    pub num_steps: usize,
}

/// Sizes of the SigLIP tower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VisionArchitecture {
    /// Width (768), MLP (3072), layers (12), heads (12).
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_layers: usize,
    pub num_heads: usize,
    /// Edge of a patch in pixels (16).
    pub patch_size: usize,
    /// Edge of the image that the position table was made for, in pixels (512).
    pub image_size: usize,
    /// Epsilon of every LayerNorm (1e-6).
    pub layer_norm_eps: f64,
}

/// What the network is given: images, words, state and noise, all prepared on the host.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkInput {
    /// Samples in the batch.
    pub batch: usize,
    /// One entry a camera, in the order of the prefix.
    pub images: Vec<ImageInput>,
    /// Valid token ids of each sample, without padding; `[batch]` lists.
    pub tokens: Vec<Vec<u32>>,
    /// Normalised and zero-padded, `[batch, max_state_dim]`.
    pub state: Vec<f32>,
    /// `x_1`, `[batch, chunk_size, max_action_dim]`.
    pub noise: Vec<f32>,
}

/// One camera's pictures for a whole batch.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageInput {
    /// Rows and columns.
    pub height: usize,
    pub width: usize,
    /// `[batch, 3, height, width]` in -1 to 1.
    pub pixels: Vec<f32>,
    /// Which samples really have this picture; a masked one is never computed. `[batch]`
    pub present: Vec<bool>,
}

impl NetworkInput {
    /// One sample of the batch as a batch of its own.
    #[must_use]
    pub fn sample(&self, at: usize) -> Self {
        let part = |values: &[f32]| {
            let size = values.len() / self.batch.max(1);
            values[at * size..(at + 1) * size].to_vec()
        };
        let images = self.images.iter().map(|image| ImageInput {
            height: image.height,
            width: image.width,
            pixels: part(&image.pixels),
            present: vec![image.present[at]],
        });
        Self {
            batch: 1,
            images: images.collect(),
            tokens: vec![self.tokens[at].clone()],
            state: part(&self.state),
            noise: part(&self.noise),
        }
    }
}
