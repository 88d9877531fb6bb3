//! When the policy is asked for the next chunk, and what it is asked.

use std::time::Duration;

use crate::clock::Tick;
use crate::joint::JointVec;
use crate::observation::Observation;
use crate::policy::{PredictOptions, RtcGuidance};
use crate::runtime::{Knobs, Scheduling};

/// One question to the policy.
#[derive(Clone, Debug)]
pub struct ChunkRequest {
    /// Names the request in the answer.
    pub id: u64,
    /// The reset count; the answer of another generation is dropped.
    pub generation: u64,
    /// The tick of the observation; action 0 of the answer belongs to it.
    pub observed_at: Tick,
    pub observation: Observation,
    pub options: PredictOptions,
}

/// What the control core remembers of the request that is under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InFlight {
    pub id: u64,
    pub tick: Tick,
    pub at: Duration,
    /// Actions consumed when it left.
    pub consumed: u64,
    /// How chunks were executed when it left; that decides how the answer is queued.
    pub scheduling: Scheduling,
    /// Euler steps; a change meanwhile makes its latency a measurement of something else.
    pub num_steps: usize,
    /// It was guided by a left-over, so that its answer replaces the plan.
    pub guided: bool,
    /// Age of the newest picture in it.
    pub capture: Duration,
}

/// The similarity filter: an observation too close to the last processed one is not worth a chunk.
#[derive(Debug, Default)]
pub struct SimilarityFilter {
    last: Option<JointVec>,
    refused: u64,
}

impl SimilarityFilter {
    /// Whether `state` is at least `epsilon` robot units away from the last processed state. `None` is off.
    pub fn needs_processing(&self, state: JointVec, epsilon: Option<f32>) -> bool {
        match (epsilon, self.last) {
            (Some(epsilon), Some(last)) => state.distance(last) >= epsilon,
            _ => true,
        }
    }

    /// Remembers a state that was processed.
    pub fn processed(&mut self, state: JointVec) {
        self.last = Some(state);
    }

    /// Forgets the last processed state; the count of refusals stays.
    pub fn reset(&mut self) {
        self.last = None;
    }

    /// Requests refused since the start.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Decides about a queue of `len` actions, counting refusals. An empty queue always asks, whatever the filter says.
    pub fn asks(&mut self, len: usize, state: JointVec, knobs: &Knobs) -> bool {
        if len == 0 {
            return true;
        }
        if !below_threshold(len, knobs) {
            return false;
        }
        let needed = self.needs_processing(state, knobs.epsilon);
        self.refused += u64::from(!needed);
        needed
    }
}

/// `len / actions_per_chunk < g`; never in sync mode, which waits for the end of its steps.
fn below_threshold(len: usize, knobs: &Knobs) -> bool {
    let fill = len as f32 / knobs.actions_per_chunk.max(1) as f32;
    knobs.scheduling != Scheduling::Sync && fill < knobs.chunk_size_threshold
}

/// The guidance for a request, `None` when there is nothing to continue.
///
/// `latency` is a high percentile of the measured time from request to arrival, warm-up excluded. It was measured from
/// tick to tick, so that rounding undoes the jitter of the loop. The delay cannot be
/// longer than the actions that are left, because only consumed actions count.
pub fn guidance(
    left_over: Vec<Vec<f32>>,
    queued: usize,
    latency: Duration,
    knobs: &Knobs,
) -> Option<RtcGuidance> {
    if left_over.is_empty() {
        return None;
    }
    let ticks = (latency.as_secs_f64() * f64::from(knobs.fps)).round() as usize;
    let guidance = RtcGuidance {
        left_over,
        inference_delay: ticks.min(queued),
        execution_horizon: knobs.rtc.execution_horizon,
        max_guidance_weight: knobs.rtc.max_guidance_weight,
        schedule: knobs.rtc.schedule,
    };
    // A tail shorter than the horizon goes on with its last action; this is the one place where that happens.
    Some(guidance.extended())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: f32) -> JointVec {
        JointVec([value, 0.0, 0.0, 0.0, 0.0, 0.0])
    }

    #[test]
    fn the_threshold_is_strict_and_sync_never_asks_early() {
        let mut filter = SimilarityFilter::default();
        let mut asks = |g: f32, scheduling, len| {
            let knobs = Knobs {
                chunk_size_threshold: g,
                scheduling,
                ..Knobs::default()
            };
            filter.asks(len, at(0.0), &knobs)
        };
        assert!(!asks(0.5, Scheduling::Async, 25) && asks(0.5, Scheduling::Async, 24));
        assert!(!asks(0.0, Scheduling::Async, 1) && asks(0.0, Scheduling::Async, 0));
        assert!(!asks(1.0, Scheduling::Rtc, 50) && asks(1.0, Scheduling::Rtc, 49));
        assert!(!asks(1.0, Scheduling::Sync, 1) && asks(1.0, Scheduling::Sync, 0));
    }

    #[test]
    fn the_filter_counts_what_it_refuses_and_an_empty_queue_always_asks() {
        let knobs = Knobs {
            epsilon: Some(1.0),
            ..Knobs::default()
        };
        let mut filter = SimilarityFilter::default();
        assert!(filter.asks(10, at(0.0), &knobs));
        filter.processed(at(0.0));
        assert!(!filter.asks(10, at(0.5), &knobs));
        assert!(filter.asks(10, at(1.0), &knobs) && filter.asks(0, at(0.5), &knobs));
        assert_eq!(filter.refused(), 1);
        filter.reset();
        assert!(filter.asks(10, at(0.5), &knobs));
    }

    #[test]
    fn the_expected_delay_cannot_exceed_what_is_queued() {
        let knobs = Knobs::default();
        let guide = |queued, ms| {
            let rows = vec![vec![0.0]; queued];
            guidance(rows, queued, Duration::from_millis(ms), &knobs)
        };
        assert_eq!(guide(30, 235).map(|rtc| rtc.inference_delay), Some(7));
        assert_eq!(guide(5, 900).map(|rtc| rtc.inference_delay), Some(5));
        assert_eq!(guide(5, 900).map(|rtc| rtc.left_over.len()), Some(10));
        assert_eq!(guide(30, 210).map(|rtc| rtc.left_over.len()), Some(30));
        assert_eq!(guide(0, 100), None);
    }
}
