//! How long answers take, stage by stage, as running percentiles; the warm-up never enters here.

use std::collections::VecDeque;
use std::time::Duration;

use crate::policy::StageTimes;
use crate::runtime::{Latencies, Percentiles};

/// How many chunks the percentiles look back on.
const WINDOW: usize = 100;

/// The newest values of one quantity.
#[derive(Clone, Debug, Default)]
pub struct Window<T>(VecDeque<T>);

impl<T> Window<T> {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T: Copy + Ord> Window<T> {
    /// Adds a value, forgetting the oldest beyond the window.
    pub fn push(&mut self, value: T) {
        if self.0.len() == WINDOW {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// The value below or at which the share `q` of the window lies (nearest rank).
    pub fn percentile(&self, q: f64) -> Option<T> {
        let mut sorted: Vec<T> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        percentile(&sorted, q)
    }

    /// The newest value.
    pub fn last(&self) -> Option<T> {
        self.0.back().copied()
    }
}

impl Window<Duration> {
    /// The mean of the window.
    pub fn mean(&self) -> Option<Duration> {
        let count = u32::try_from(self.0.len())
            .ok()
            .filter(|&count| count > 0)?;
        Some(self.0.iter().sum::<Duration>() / count)
    }

    fn percentiles(&self) -> Percentiles {
        Percentiles {
            p50: self.percentile(0.5).unwrap_or_default(),
            p95: self.percentile(0.95).unwrap_or_default(),
        }
    }
}

/// The value below or at which the share `q` of ascending values lies (nearest rank); `None` of none.
pub fn percentile<T: Copy>(sorted: &[T], q: f64) -> Option<T> {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// One measured chunk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    pub capture: Duration,
    pub times: StageTimes,
    pub wait: Duration,
    pub total: Duration,
}

/// Where the time from picture to action goes.
#[derive(Clone, Debug, Default)]
pub struct LatencyMeter {
    chunks: u64,
    capture: Window<Duration>,
    preprocess: Window<Duration>,
    vision: Window<Duration>,
    prefix: Window<Duration>,
    denoise: Window<Duration>,
    wait: Window<Duration>,
    total: Window<Duration>,
    shown: Latencies,
}

impl LatencyMeter {
    /// Takes in one chunk.
    pub fn push(&mut self, measured: &Measured) {
        self.chunks += 1;
        self.capture.push(measured.capture);
        self.preprocess.push(measured.times.preprocess);
        self.vision.push(measured.times.vision);
        self.prefix.push(measured.times.prefix);
        self.denoise.push(measured.times.denoise);
        self.wait.push(measured.wait);
        self.total.push(measured.total);
        self.shown = Latencies {
            chunks: self.chunks,
            capture: self.capture.percentiles(),
            preprocess: self.preprocess.percentiles(),
            vision: self.vision.percentiles(),
            prefix: self.prefix.percentiles(),
            denoise: self.denoise.percentiles(),
            wait: self.wait.percentiles(),
            total: self.total.percentiles(),
        };
    }

    /// From request to arrival.
    pub fn total(&self) -> &Window<Duration> {
        &self.total
    }

    /// Everything, for the window.
    pub fn shown(&self) -> Latencies {
        self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank_over_the_window() {
        let mut window = Window::default();
        assert_eq!((window.percentile(0.95), window.mean()), (None, None));
        for ms in (0..200).rev() {
            window.push(Duration::from_millis(ms));
        }
        assert_eq!(window.percentile(0.5), Some(Duration::from_millis(49)));
        assert_eq!(window.percentile(0.95), Some(Duration::from_millis(94)));
        assert_eq!(window.percentile(1.0), Some(Duration::from_millis(99)));
        assert_eq!(window.mean(), Some(Duration::from_micros(49_500)));
        assert_eq!(window.last(), Some(Duration::ZERO));
    }

    #[test]
    fn each_stage_has_its_own_percentiles() {
        let mut meter = LatencyMeter::default();
        let ms = Duration::from_millis;
        meter.push(&Measured {
            capture: ms(12),
            times: StageTimes {
                vision: ms(30),
                denoise: ms(50),
                ..StageTimes::default()
            },
            wait: ms(4),
            total: ms(100),
        });
        let shown = meter.shown();
        assert_eq!((shown.chunks, shown.capture.p50), (1, ms(12)));
        assert_eq!((shown.vision.p95, shown.denoise.p95), (ms(30), ms(50)));
        assert_eq!((shown.wait.p50, shown.total.p95), (ms(4), ms(100)));
    }
}
