//! Everything the operator can turn while the arm moves, with its range and default.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::policy::RtcSchedule;

/// When the policy is asked and how its chunks are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// Observe, wait for the chunk holding the pose, execute `n_action_steps`, repeat.
    Sync,
    /// Ask when the queue falls below g, merge the overlap.
    #[default]
    Async,
    /// Ask like `Async`; the new chunk is guided to continue the old one and replaces it.
    Rtc,
}

/// How a new chunk is merged with what is still queued. The last four are LeRobot's names and weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// α rises linearly along the overlap.
    #[default]
    LinearRamp,
    /// α rises along half a cosine.
    CosineRamp,
    /// The new chunk wins.
    LatestOnly,
    /// 0.3 old + 0.7 new.
    WeightedAverage,
    /// 0.5 old + 0.5 new.
    Average,
    /// 0.7 old + 0.3 new.
    Conservative,
}

impl Aggregate {
    /// All of them, in the order they are offered.
    pub const ALL: [Self; 6] = [
        Self::LinearRamp,
        Self::CosineRamp,
        Self::LatestOnly,
        Self::WeightedAverage,
        Self::Average,
        Self::Conservative,
    ];

    /// Words for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::LinearRamp => "linear ramp",
            Self::CosineRamp => "cosine ramp",
            Self::LatestOnly => "latest only",
            Self::WeightedAverage => "weighted average",
            Self::Average => "average",
            Self::Conservative => "conservative",
        }
    }
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::Rtc => "RTC",
        })
    }
}

/// Real-time chunking.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RtcKnobs {
    /// Steps that are guided, 1 to `chunk_size`.
    pub execution_horizon: usize,
    /// Upper bound of the guidance weight, 0 to 100.
    pub max_guidance_weight: f32,
    /// How the weights fade.
    pub schedule: RtcSchedule,
}

impl Default for RtcKnobs {
    fn default() -> Self {
        Self {
            execution_horizon: 10,
            max_guidance_weight: 10.0,
            schedule: RtcSchedule::Linear,
        }
    }
}

/// As many actions of each chunk as there are.
pub const WHOLE_CHUNK: usize = 1 << 20;

/// The knobs as they stand. `clamped_to` brings them into range for a policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Knobs {
    /// Sync, async or RTC.
    pub scheduling: Scheduling,
    /// g: ask when `len(queue) / actions_per_chunk < g`, 0 to 1.
    pub chunk_size_threshold: f32,
    /// Keep g a little above the measured bound.
    pub auto_threshold: bool,
    /// Actions executed before the next observation in sync mode, 1 to `actions_per_chunk`.
    pub n_action_steps: usize,
    /// Actions kept of each chunk, 1 to `chunk_size`; [`WHOLE_CHUNK`] keeps them all, whatever the network.
    pub actions_per_chunk: usize,
    /// Merge function of the overlap.
    pub aggregate: Aggregate,
    /// Overlap used by the ramps in steps; `None` takes all of it.
    pub blend_steps: Option<usize>,
    /// Euler steps, 1 to 50.
    pub num_steps: usize,
    /// Similarity filter: least joint-space distance between processed observations, robot units; `None` is off.
    pub epsilon: Option<f32>,
    /// Control rate in Hz, 5 to 100.
    pub fps: f32,
    /// Real-time chunking.
    pub rtc: RtcKnobs,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            scheduling: Scheduling::Async,
            chunk_size_threshold: 0.7,
            auto_threshold: false,
            n_action_steps: 10,
            actions_per_chunk: 50,
            aggregate: Aggregate::LinearRamp,
            blend_steps: None,
            num_steps: 10,
            epsilon: None,
            fps: 30.0,
            rtc: RtcKnobs::default(),
        }
    }
}

impl Knobs {
    /// What nobody has turned yet: the defaults for any network.
    pub fn untouched() -> Self {
        Self {
            actions_per_chunk: WHOLE_CHUNK,
            ..Self::default()
        }
    }

    /// Brings every knob into its range for a network of `chunk_size`; a value that is not a number takes its default.
    #[must_use]
    pub fn clamped_to(self, chunk_size: usize) -> Self {
        let default = Self::default();
        let chunk_size = chunk_size.max(1);
        let finite = |value: f32, fallback: f32| if value.is_finite() { value } else { fallback };
        let actions_per_chunk = self.actions_per_chunk.clamp(1, chunk_size);
        Self {
            chunk_size_threshold: finite(self.chunk_size_threshold, default.chunk_size_threshold)
                .clamp(0.0, 1.0),
            n_action_steps: self.n_action_steps.clamp(1, actions_per_chunk),
            actions_per_chunk,
            blend_steps: self.blend_steps.map(|steps| steps.clamp(1, chunk_size)),
            num_steps: self.num_steps.clamp(1, 50),
            epsilon: self
                .epsilon
                .filter(|value| value.is_finite())
                .map(|value| value.max(0.0)),
            fps: finite(self.fps, default.fps).clamp(5.0, 100.0),
            rtc: RtcKnobs {
                execution_horizon: self.rtc.execution_horizon.clamp(1, chunk_size),
                max_guidance_weight: finite(
                    self.rtc.max_guidance_weight,
                    default.rtc.max_guidance_weight,
                )
                .clamp(0.0, 100.0),
                schedule: self.rtc.schedule,
            },
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_are_brought_into_range() {
        let wild = Knobs {
            chunk_size_threshold: f32::NAN,
            n_action_steps: 0,
            actions_per_chunk: 900,
            num_steps: 1000,
            fps: 0.0,
            epsilon: Some(-1.0),
            ..Knobs::default()
        };
        let tame = wild.clamped_to(8);
        assert_eq!(tame.chunk_size_threshold, 0.7);
        assert_eq!(
            (tame.n_action_steps, tame.actions_per_chunk, tame.num_steps),
            (1, 8, 50)
        );
        assert_eq!((tame.fps, tame.epsilon), (5.0, Some(0.0)));
        for chunk_size in [8, 50, 100] {
            let fitted = Knobs::untouched().clamped_to(chunk_size);
            assert_eq!(fitted.actions_per_chunk, chunk_size);
        }
    }
}
