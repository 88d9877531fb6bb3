//! The noisy actions and the time, as the expert reads them.

use burn::tensor::{Device, Tensor};

use super::error::Result;
use super::layers::{Linear, silu};
use super::weights::{Weights, placed};
use crate::policy::Architecture;

/// Mirrors `embed_suffix`: `out(silu(in(action_in_proj(x_t) ⊕ sinusoid(t))))`.
#[derive(Debug)]
pub(super) struct SuffixEmbedding {
    action_in_proj: Linear,
    /// The columns of `action_time_mlp_in` that read the actions.
    action_mlp_in: Linear,
    /// The columns that read the time, and the bias.
    time_mlp_in: Linear,
    action_time_mlp_out: Linear,
    width: usize,
    periods: (f64, f64),
}

impl SuffixEmbedding {
    pub(super) fn load(weights: &mut Weights<'_>, architecture: &Architecture) -> Result<Self> {
        let width = architecture.expert_hidden_size;
        let name = "model.action_time_mlp_in";
        let both = weights.host(&format!("{name}.weight"), &[width, 2 * width])?;
        let bias = weights.vector(&format!("{name}.bias"), width)?;
        let columns = |from: usize| {
            let part = both
                .chunks_exact(2 * width)
                .flat_map(|row| &row[from..from + width])
                .copied()
                .collect();
            weights.upload(part, [width, width])
        };
        let (action_part, time_part) = (columns(0), columns(width));
        Ok(Self {
            action_in_proj: weights.linear(
                "model.action_in_proj",
                architecture.max_action_dim,
                width,
                true,
            )?,
            action_mlp_in: weights.layer(action_part, None),
            time_mlp_in: weights.layer(time_part, Some(bias)),
            action_time_mlp_out: weights.linear("model.action_time_mlp_out", width, width, true)?,
            width,
            periods: (architecture.min_period, architecture.max_period),
        })
    }

    /// What each time adds before the activation; the time is the same for all actions, so this needs one row a step, and
    /// all rows are made in one product.
    ///
    /// # Shapes
    /// `[1, times, width]`
    pub(super) fn time_rows(&self, times: &[f32], device: &Device) -> Tensor<3> {
        let table: Vec<f32> = times
            .iter()
            .flat_map(|&time| sinusoid(time, self.width, self.periods))
            .collect();
        let table = placed(table, [1, times.len(), self.width], device);
        self.time_mlp_in.forward(table)
    }

    /// # Shapes
    /// `x_t` `[batch, chunk, max_action_dim]`, `time_row` `[1, 1, width]`; answers `[batch, chunk, width]`
    pub(super) fn forward(&self, x_t: Tensor<3>, time_row: Tensor<3>) -> Tensor<3> {
        let actions = self.action_mlp_in.forward(self.action_in_proj.forward(x_t));
        self.action_time_mlp_out.forward(silu(actions + time_row))
    }
}

/// Mirrors `create_sinusoidal_pos_embedding`: sines, then cosines, of periods spread geometrically.
///
/// The angle grows to 2π/0.004 ≈ 1571 rad, where f32 would lose 1e-4: it is computed in f64.
pub fn sinusoid(time: f32, width: usize, (min_period, max_period): (f64, f64)) -> Vec<f32> {
    let half = width / 2;
    let angle = |i: usize| {
        let fraction = if half > 1 {
            i as f64 / (half - 1) as f64
        } else {
            0.0
        };
        let period = min_period * (max_period / min_period).powf(fraction);
        1.0 / period * 2.0 * std::f64::consts::PI * f64::from(time)
    };
    let sines = (0..half).map(|i| angle(i).sin() as f32);
    let cosines = (0..half).map(|i| angle(i).cos() as f32);
    sines.chain(cosines).collect()
}
