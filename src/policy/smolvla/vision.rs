//! The eyes: SigLIP turns each picture into patch features.

use burn::tensor::{Device, Tensor};

use super::attention::attention;
use super::error::{NetworkError, Result};
use super::layers::{LayerNorm, Linear};
use super::trace::Trace;
use super::weights::{Weights, placed};
use crate::policy::{Architecture, VisionArchitecture};

pub(super) const PREFIX: &str = "model.vlm_with_expert.vlm.model.vision_model";

/// Pictures of equal size, packed for the tower: only those that exist.
pub(super) struct Pictures<'a> {
    pub(super) height: usize,
    pub(super) width: usize,
    /// Each `[3, height, width]` in −1 to 1.
    pub(super) pixels: Vec<&'a [f32]>,
}

/// Mirrors `SmolVLMVisionTransformer`.
#[derive(Debug)]
pub(super) struct VisionModel {
    /// The convolution of kernel = stride = patch, as a product of unfolded patches.
    patch_embedding: Linear,
    /// `[positions, hidden]`, kept on the host too for pictures of another size than the table's.
    position_embedding: Vec<f32>,
    layers: Vec<EncoderLayer>,
    post_layernorm: LayerNorm,
    hidden_size: usize,
    patch_size: usize,
    positions_a_side: usize,
}

/// Mirrors `SmolVLMEncoderLayer`: `x += out_proj(MHA(LN1 x))`, `x += fc2(gelu(fc1(LN2 x)))`.
#[derive(Debug)]
struct EncoderLayer {
    layer_norm1: LayerNorm,
    /// `q_proj` (times 1/√d), `k_proj` and `v_proj`.
    qkv_proj: Linear,
    out_proj: Linear,
    layer_norm2: LayerNorm,
    fc1: Linear,
    fc2: Linear,
    num_heads: usize,
}

impl VisionModel {
    pub(super) fn load(weights: &mut Weights<'_>, architecture: &Architecture) -> Result<Self> {
        let vision = &architecture.vision;
        let (hidden, patch) = (vision.hidden_size, vision.patch_size);
        let a_side = vision.image_size / patch.max(1);
        let name = format!("{PREFIX}.embeddings.patch_embedding");
        let kernel = weights.host(&format!("{name}.weight"), &[hidden, 3, patch, patch])?;
        let kernel = weights.upload(kernel, [hidden, 3 * patch * patch]);
        let bias = weights.vector(&format!("{name}.bias"), hidden)?;
        let position_embedding = weights.host(
            &format!("{PREFIX}.embeddings.position_embedding.weight"),
            &[a_side * a_side, hidden],
        )?;
        let layers = (0..vision.num_layers)
            .map(|i| EncoderLayer::load(weights, vision, i))
            .collect::<Result<_>>()?;
        Ok(Self {
            patch_embedding: weights.layer(kernel, Some(bias)),
            position_embedding,
            layers,
            post_layernorm: weights.layer_norm(
                &format!("{PREFIX}.post_layernorm"),
                hidden,
                vision.layer_norm_eps,
            )?,
            hidden_size: hidden,
            patch_size: patch,
            positions_a_side: a_side,
        })
    }

    /// # Shapes
    /// n pictures to `[n, patches, hidden]`; patches row by row.
    ///
    /// # Errors
    /// The size is no multiple of the patch.
    pub(super) fn forward(
        &self,
        pictures: &Pictures<'_>,
        device: &Device,
        trace: &mut Trace,
    ) -> Result<Tensor<3>> {
        let mut x = self.embeddings(pictures, device)?;
        trace.see_rows("vision.embeddings", &x)?;
        for (i, layer) in self.layers.iter().enumerate() {
            x = layer.forward(x);
            if i == 0 {
                trace.see_rows("vision.layer0_out", &x)?;
            }
        }
        let x = self.post_layernorm.forward(x);
        trace.see_rows("vision.last_hidden_state", &x)?;
        Ok(x)
    }

    fn embeddings(&self, pictures: &Pictures<'_>, device: &Device) -> Result<Tensor<3>> {
        let (height, width, patch) = (pictures.height, pictures.width, self.patch_size);
        if height % patch != 0 || width % patch != 0 || height * width == 0 {
            return Err(NetworkError::Input(format!(
                "a picture of {width}x{height} cannot be cut into patches of {patch} pixels"
            )));
        }
        let (rows, columns) = (height / patch, width / patch);
        let mut patches = Vec::with_capacity(pictures.pixels.len() * 3 * height * width);
        for pixels in &pictures.pixels {
            unfold(pixels, [height, width], patch, &mut patches);
        }
        let shape = [pictures.pixels.len(), rows * columns, 3 * patch * patch];
        let patches = placed(patches, shape, device);
        let (table, side) = (&self.position_embedding, self.positions_a_side);
        let positions = positions(table, self.hidden_size, side, [rows, columns]);
        let positions = placed(positions, [1, rows * columns, self.hidden_size], device);
        Ok(self.patch_embedding.forward(patches) + positions)
    }
}

/// Rows of the position table `[a_side², hidden]` for a grid of patches; a smaller grid takes every n-th.
pub(super) fn positions(
    position_embedding: &[f32],
    hidden: usize,
    a_side: usize,
    [rows, columns]: [usize; 2],
) -> Vec<f32> {
    let mut table = Vec::with_capacity(rows * columns * hidden);
    for row in 0..rows {
        for column in 0..columns {
            let id = bucket(row, rows, a_side) * a_side + bucket(column, columns, a_side);
            table.extend_from_slice(&position_embedding[id * hidden..(id + 1) * hidden]);
        }
    }
    table
}

/// Patch `i` of `n` on an axis falls into this one of `side` positions.
fn bucket(i: usize, n: usize, side: usize) -> usize {
    (i * side / n).min(side - 1)
}

/// Cuts a picture `[3, height, width]` into rows of `3 * patch * patch`, channel-major like the convolution's kernel.
fn unfold(pixels: &[f32], [height, width]: [usize; 2], patch: usize, to: &mut Vec<f32>) {
    for top in (0..height).step_by(patch) {
        for left in (0..width).step_by(patch) {
            for channel in 0..3 {
                for y in top..top + patch {
                    let from = (channel * height + y) * width + left;
                    to.extend_from_slice(&pixels[from..from + patch]);
                }
            }
        }
    }
}

impl EncoderLayer {
    fn load(weights: &mut Weights<'_>, vision: &VisionArchitecture, i: usize) -> Result<Self> {
        let (hidden, heads) = (vision.hidden_size, vision.num_heads);
        if heads == 0 || hidden % heads != 0 {
            return Err(NetworkError::Architecture(format!(
                "vision hidden_size {hidden} is not a multiple of its {heads} heads"
            )));
        }
        let scale = 1.0 / ((hidden / heads) as f32).sqrt();
        let at = |part: &str| format!("{PREFIX}.encoder.layers.{i}.{part}");
        let (q, k, v) = (
            at("self_attn.q_proj"),
            at("self_attn.k_proj"),
            at("self_attn.v_proj"),
        );
        let eps = vision.layer_norm_eps;
        Ok(Self {
            layer_norm1: weights.layer_norm(&at("layer_norm1"), hidden, eps)?,
            qkv_proj: weights.side_by_side(
                &[(&q, hidden, scale), (&k, hidden, 1.0), (&v, hidden, 1.0)],
                hidden,
                true,
            )?,
            out_proj: weights.linear(&at("self_attn.out_proj"), hidden, hidden, true)?,
            layer_norm2: weights.layer_norm(&at("layer_norm2"), hidden, eps)?,
            fc1: weights.linear(&at("mlp.fc1"), hidden, vision.intermediate_size, true)?,
            fc2: weights.linear(&at("mlp.fc2"), vision.intermediate_size, hidden, true)?,
            num_heads: heads,
        })
    }

    /// # Shapes
    /// `[n, patches, hidden]`, unchanged.
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [n, patches, hidden] = x.dims();
        let qkv = self
            .layer_norm1
            .then(&self.qkv_proj, false, x.clone())
            .reshape([n, patches, 3, self.num_heads, hidden / self.num_heads])
            .permute([2, 0, 3, 1, 4]); // [3, n, heads, patches, head_dim]
        let part = |i: usize| qkv.clone().narrow(0, i, 1).squeeze_dim::<4>(0);
        let attended = attention(part(0), part(1), part(2), None);
        let x = self.out_proj.forward_onto(x, attended);
        let mlp = self.layer_norm2.then(&self.fc1, true, x.clone());
        self.fc2.forward_onto(x, mlp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_cut_row_by_row_and_channel_major() {
        // Two channels' worth of a 2x4 picture would do, but a picture has three.
        let pixels: Vec<f32> = (0..24).map(|v| v as f32).collect();
        let mut rows = Vec::new();
        unfold(&pixels, [2, 4], 2, &mut rows);
        assert_eq!(rows[..6], [0.0, 1.0, 4.0, 5.0, 8.0, 9.0]);
        assert_eq!(rows[12..16], [2.0, 3.0, 6.0, 7.0]);
    }

    #[test]
    fn a_half_size_picture_takes_every_second_position() {
        assert_eq!(
            (0..16).map(|i| bucket(i, 16, 32)).collect::<Vec<_>>(),
            (0..16).map(|i| 2 * i).collect::<Vec<_>>()
        );
        assert_eq!(bucket(31, 32, 32), 31);
    }
}
