//! The last twenty seconds, one sample a tick, so that a turned knob and its effect lie on one time axis.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::runtime::Sample;

/// How far back the plots look.
pub const SPAN: Duration = Duration::from_secs(20);

/// A ring of samples, oldest first.
#[derive(Debug, Default)]
pub struct History(Arc<VecDeque<Sample>>);

impl History {
    /// Adds the sample of this tick and forgets those older than [`SPAN`].
    pub fn push(&mut self, sample: Sample) {
        let ring = Arc::make_mut(&mut self.0);
        ring.push_back(sample);
        while ring
            .front()
            .is_some_and(|oldest| sample.at.saturating_sub(oldest.at) > SPAN)
        {
            ring.pop_front();
        }
    }

    /// What a snapshot carries.
    pub fn shared(&self) -> Arc<VecDeque<Sample>> {
        Arc::clone(&self.0)
    }

    /// Ticks a second over the last second, 0 until there are two.
    pub fn rate_hz(&self) -> f32 {
        let Some(newest) = self.0.back() else {
            return 0.0;
        };
        let recent = self
            .0
            .iter()
            .rev()
            .take_while(|sample| newest.at.saturating_sub(sample.at) <= Duration::from_secs(1));
        let (count, oldest) = recent.fold((0u32, newest.at), |(count, _), sample| {
            (count + 1, sample.at)
        });
        let span = newest.at.saturating_sub(oldest).as_secs_f32();
        if span > 0.0 {
            (count - 1) as f32 / span
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_seconds_are_kept_and_the_rate_is_that_of_the_last() {
        let mut history = History::default();
        assert_eq!(history.rate_hz(), 0.0);
        for tick in 0..1000u64 {
            history.push(Sample {
                at: Duration::from_millis(tick * 50),
                ..Sample::default()
            });
        }
        let ring = history.shared();
        assert_eq!(ring.len(), 401);
        assert_eq!(
            ring.front().map(|sample| sample.at),
            Some(Duration::from_millis(999 * 50 - 20_000))
        );
        assert!((history.rate_hz() - 20.0).abs() < 1e-3);
    }
}
