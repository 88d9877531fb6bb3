//! The sampler: ten Euler steps carry noise to actions. Time convention: t = 1 is noise, t = 0 is the action.

use burn::tensor::{Device, Tensor};

use super::error::{NetworkError, Result};
use super::weights::placed;
use crate::policy::RtcGuidance;
use crate::policy::rtc;

/// Most Euler steps that are accepted.
pub const MAX_STEPS: usize = 50;

/// The times of an Euler integration from 1 to 0.
#[derive(Clone, Debug, PartialEq)]
pub struct EulerSteps {
    /// Where each step starts, rounded to f32 as the network sees it.
    pub times: Vec<f32>,
    /// −1 / number of steps.
    pub dt: f32,
}

impl EulerSteps {
    /// `t = 1 + s · dt` for each step s, never accumulated.
    ///
    /// # Errors
    /// Not 1 to [`MAX_STEPS`].
    pub fn new(num_steps: usize) -> Result<Self> {
        if !(1..=MAX_STEPS).contains(&num_steps) {
            return Err(NetworkError::Input(format!(
                "num_steps is {num_steps}, but must be 1 to {MAX_STEPS}"
            )));
        }
        let dt = -1.0 / num_steps as f64;
        Ok(Self {
            times: (0..num_steps)
                .map(|s| (1.0 + s as f64 * dt) as f32)
                .collect(),
            dt: dt as f32,
        })
    }
}

/// Real-time chunking on the device: where the guided steps shall go, and how strongly.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    /// `[1, chunk, max_action_dim]`, zero where nothing is left over.
    target: Tensor<3>,
    /// `[1, chunk, 1]`
    weights: Tensor<3>,
    max_guidance_weight: f32,
}

impl Guide {
    /// # Errors
    /// A tail that does not fit the network.
    pub(super) fn new(
        guidance: &RtcGuidance,
        chunk: usize,
        max_action_dim: usize,
        device: &Device,
    ) -> Result<Option<Self>> {
        if guidance.left_over.is_empty() {
            return Ok(None);
        }
        let target = guidance
            .padded_target(chunk, max_action_dim)
            .map_err(NetworkError::Input)?;
        let horizon = guidance.execution_horizon.min(guidance.left_over.len());
        let weights = rtc::weights(guidance.schedule, guidance.inference_delay, horizon, chunk);
        Ok(Some(Self {
            target: placed(target, [1, chunk, max_action_dim], device),
            weights: placed(weights, [1, chunk, 1], device),
            max_guidance_weight: guidance.max_guidance_weight,
        }))
    }

    /// Mirrors `RTCProcessor.denoise_step`: `v − g · (target − x̂₀) ⊙ w` with `x̂₀ = x_t − t · v`.
    ///
    /// The reference asks autograd for a vector–Jacobian product, but v is a constant in its graph, so the product is the
    /// error itself and no backward pass is needed.
    pub(super) fn correct(&self, v_t: Tensor<3>, x_t: Tensor<3>, time: f32) -> Tensor<3> {
        let x_0 = x_t - v_t.clone().mul_scalar(time);
        let error = (self.target.clone() - x_0) * self.weights.clone();
        v_t - error.mul_scalar(rtc::guidance_weight(time, self.max_guidance_weight))
    }
}

/// Integrates from `x_1` to `x_0`. `velocity(step, x_t)` is the network.
///
/// # Errors
/// Those of `velocity`.
pub(super) fn integrate(
    x_1: Tensor<3>,
    steps: &EulerSteps,
    guide: Option<&Guide>,
    mut velocity: impl FnMut(usize, Tensor<3>) -> Result<Tensor<3>>,
) -> Result<Tensor<3>> {
    let mut x_t = x_1;
    for (step, &time) in steps.times.iter().enumerate() {
        let v_t = velocity(step, x_t.clone())?;
        let v_t = match guide {
            Some(guide) => guide.correct(v_t, x_t.clone(), time),
            None => v_t,
        };
        x_t = x_t + v_t.mul_scalar(steps.dt);
    }
    Ok(x_t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_from_one_and_are_not_accumulated() {
        let steps = EulerSteps::new(10).unwrap();
        assert_eq!(steps.times[0], 1.0);
        assert_eq!(steps.times[7], (1.0 - 0.7_f64) as f32);
        assert_eq!(steps.dt, -0.1);
        assert!(EulerSteps::new(0).is_err() && EulerSteps::new(51).is_err());
    }

    #[test]
    fn a_straight_flow_is_integrated_exactly() {
        let device = Device::flex();
        let noise = Tensor::<3>::from_floats([[[1.0, -2.0]]], &device);
        let goal = Tensor::<3>::from_floats([[[0.5, 4.0]]], &device);
        let v = noise.clone() - goal;
        let x_0 = integrate(noise, &EulerSteps::new(4).unwrap(), None, |_, _| {
            Ok(v.clone())
        })
        .unwrap();
        let x_0: Vec<f32> = x_0.try_into_vec_as().unwrap();
        assert_eq!(x_0, [0.5, 4.0]);
    }
}
