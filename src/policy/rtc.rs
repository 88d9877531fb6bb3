//! Real-time chunking: how strongly each step of a new chunk is pulled towards what is left of the old one. Needs no autodiff.

use super::{RtcGuidance, RtcSchedule};

/// Weight of each of `total` steps: 1 for those that will have passed (`start`, the delay), 0 from `end` (the horizon) on.
pub fn weights(schedule: RtcSchedule, start: usize, end: usize, total: usize) -> Vec<f32> {
    let start = start.min(end);
    let fading = end.min(total).saturating_sub(start);
    (0..total)
        .map(|step| match schedule {
            RtcSchedule::Zeros => f32::from(step < start),
            RtcSchedule::Ones => f32::from(step < end),
            _ if step < start => 1.0,
            _ if step >= start + fading => 0.0,
            RtcSchedule::Linear => linear(step - start, fading) as f32,
            RtcSchedule::Exp => {
                let l = linear(step - start, fading);
                (l * l.exp_m1() / 1f64.exp_m1()) as f32
            }
        })
        .collect()
}

/// Step k of m between 1 and 0, both ends excluded.
fn linear(k: usize, m: usize) -> f64 {
    1.0 - (k + 1) as f64 / (m + 1) as f64
}

/// g(t): weak in the middle of the flow, strong at both ends, at most `max`. t = 1 is noise.
pub fn guidance_weight(time: f32, max: f32) -> f32 {
    let tau = 1.0 - time;
    if tau == 0.0 {
        return max;
    }
    let rest = 1.0 - tau;
    let inverse_r2 = (rest * rest + tau * tau) / (rest * rest);
    (rest / tau * inverse_r2).min(max)
}

impl RtcGuidance {
    /// The same guidance with `left_over` carried on by its last action up to the horizon.
    ///
    /// For real runs: where fewer actions are left than the horizon, the reference's engine fills up with zeros, and zero is the
    /// mean pose of the data set, so that the arm is pulled there.
    #[must_use]
    pub fn extended(mut self) -> Self {
        if let Some(last) = self.left_over.last().cloned()
            && self.left_over.len() < self.execution_horizon
        {
            self.left_over.resize(self.execution_horizon, last);
        }
        self
    }

    /// `left_over` padded with zeros, `[chunk * max_action_dim]`: padded dimensions are guided to 0 as in the reference.
    ///
    /// # Errors
    /// In words, when the tail is longer or wider than the network's chunk, or holds something that is not a number.
    pub fn padded_target(&self, chunk: usize, max_action_dim: usize) -> Result<Vec<f32>, String> {
        if self.left_over.len() > chunk {
            return Err(format!(
                "RTC left_over has {} steps, more than the chunk's {chunk}",
                self.left_over.len()
            ));
        }
        let mut target = vec![0.0; chunk * max_action_dim];
        for (step, action) in self.left_over.iter().enumerate() {
            if action.len() > max_action_dim || action.iter().any(|value| !value.is_finite()) {
                return Err(format!(
                    "RTC left_over step {step} is not {max_action_dim} numbers or fewer"
                ));
            }
            let from = step * max_action_dim;
            target[from..from + action.len()].copy_from_slice(action);
        }
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guidance(left_over: Vec<Vec<f32>>) -> RtcGuidance {
        RtcGuidance {
            left_over,
            inference_delay: 0,
            execution_horizon: 3,
            max_guidance_weight: 10.0,
            schedule: RtcSchedule::Linear,
        }
    }

    #[test]
    fn a_short_tail_is_carried_on_by_its_last_action() {
        let extended = guidance(vec![vec![1.0], vec![2.0]]).extended();
        assert_eq!(extended.left_over, [[1.0], [2.0], [2.0]]);
        let long = guidance(vec![vec![1.0]; 5]);
        assert_eq!(long.clone().extended(), long);
        assert!(guidance(vec![]).extended().left_over.is_empty());
    }

    #[test]
    fn targets_are_padded_and_checked() {
        let target = guidance(vec![vec![1.0, 2.0]]).padded_target(2, 3).unwrap();
        assert_eq!(target, [1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(guidance(vec![vec![0.0]; 3]).padded_target(2, 3).is_err());
        assert!(guidance(vec![vec![f32::NAN]]).padded_target(2, 3).is_err());
    }

    #[test]
    fn the_weight_is_bounded_at_both_ends() {
        assert_eq!(guidance_weight(1.0, 10.0), 10.0);
        assert_eq!(guidance_weight(0.5, 10.0), 2.0);
        assert_eq!(guidance_weight(0.01, 10.0), 10.0);
    }
}
