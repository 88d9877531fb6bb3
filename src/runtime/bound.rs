//! The starvation bound of asynchronous inference: how high g must be for a device this slow, and when no g helps.
//!
//! Source: SmolVLA (arXiv 2506.01844), section 3.3: `g ≥ E[l] / (n Δt)`.

use std::time::Duration;

use crate::runtime::Knobs;
use crate::runtime::latency::Window;

/// Actions above the bound that auto g keeps: one because the comparison with g is strict, one for the tick that an
/// answer waits for.
const MARGIN_STEPS: f32 = 2.0;

/// The share of the way to its target that auto g goes with each chunk.
const FOLLOW: f32 = 0.2;

/// The bound as measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// `E[l] / (n Δt)` from the mean latency.
    pub g_min: Option<f32>,
    /// The same from the 95th percentile.
    pub g_min_p95: Option<f32>,
    /// The mean latency is above half a chunk: no g keeps the plan fresh.
    pub no_g_keeps_fresh: bool,
}

impl Bound {
    /// Measures against the chunk and the rate that the knobs ask for.
    pub fn of(latency: &Window<Duration>, knobs: &Knobs) -> Self {
        let chunk_s = knobs.actions_per_chunk as f32 / knobs.fps;
        let share = |latency: Duration| latency.as_secs_f32() / chunk_s;
        let g_min = latency.mean().map(share);
        Self {
            g_min,
            g_min_p95: latency.percentile(0.95).map(share),
            no_g_keeps_fresh: g_min.is_some_and(|g_min| g_min > 0.5),
        }
    }

    /// The next g of auto g: a step from `g` towards a little above the bound.
    pub fn followed(&self, g: f32, actions_per_chunk: usize) -> f32 {
        let Some(bound) = self.g_min_p95 else {
            return g;
        };
        let target = (bound + MARGIN_STEPS / actions_per_chunk as f32).clamp(0.0, 1.0);
        (g + FOLLOW * (target - g)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(ms: u64, knobs: &Knobs) -> Bound {
        let mut latency = Window::default();
        latency.push(Duration::from_millis(ms));
        Bound::of(&latency, knobs)
    }

    #[test]
    fn the_bound_is_latency_over_the_chunk() {
        let knobs = Knobs::default();
        let half = bound(500, &knobs);
        assert!(half.g_min.is_some_and(|g| (g - 0.3).abs() < 1e-6));
        assert!(!half.no_g_keeps_fresh);
        assert!(bound(834, &knobs).no_g_keeps_fresh);
        let short = Knobs {
            actions_per_chunk: 25,
            ..knobs
        };
        assert!(bound(500, &short).no_g_keeps_fresh);
        assert_eq!(Bound::of(&Window::default(), &knobs), Bound::default());
    }

    #[test]
    fn auto_g_follows_slowly_to_a_little_above_the_bound() {
        let knobs = Knobs::default();
        let bound = bound(500, &knobs);
        let mut g = 1.0;
        g = bound.followed(g, 50);
        assert!((g - (1.0 - 0.2 * (1.0 - 0.34))).abs() < 1e-6);
        for _ in 0..60 {
            g = bound.followed(g, 50);
        }
        assert!((g - 0.34).abs() < 1e-4);
        assert_eq!(Bound::default().followed(0.7, 50), 0.7);
    }
}
