//! Keeps the control loop on its period: absolute deadlines, missed periods counted and never replayed.

use std::time::Duration;

/// Width of a bin of the histogram of work times.
const BIN: Duration = Duration::from_micros(100);

/// Bins up to 200 ms; the last one holds all that is longer.
const BINS: usize = 2000;

/// When the next tick is due, and how well that has worked so far.
#[derive(Debug)]
pub struct Pacer {
    deadline: Duration,
    late_ticks: u64,
    work: Vec<u64>,
}

impl Pacer {
    /// The first tick is due at `now`.
    pub fn new(now: Duration) -> Self {
        Self {
            deadline: now,
            late_ticks: 0,
            work: vec![0; BINS],
        }
    }

    /// A tick that began at `began` has ended at `now`; returns when the next one is due.
    ///
    /// Periods that have passed altogether are skipped, because replaying them would send the arm stale goals in a burst.
    pub fn next(&mut self, began: Duration, now: Duration, period: Duration) -> Duration {
        let bin = now.saturating_sub(began).as_nanos() / BIN.as_nanos();
        self.work[(bin as usize).min(BINS - 1)] += 1;
        self.deadline += period;
        let missed = now.saturating_sub(self.deadline).as_nanos() / period.as_nanos().max(1);
        self.late_ticks += missed as u64;
        self.deadline += period * u32::try_from(missed).unwrap_or(u32::MAX);
        self.deadline
    }

    /// Periods missed so far.
    pub fn late_ticks(&self) -> u64 {
        self.late_ticks
    }

    /// The time that 99 of 100 ticks work at most.
    pub fn p99(&self) -> Duration {
        let ticks: u64 = self.work.iter().sum();
        let rank = (ticks * 99).div_ceil(100);
        let mut below = 0;
        let bin = self.work.iter().position(|&count| {
            below += count;
            below >= rank.max(1)
        });
        bin.map_or(Duration::ZERO, |bin| BIN * (bin as u32 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn deadlines_are_absolute_and_missed_periods_are_skipped() {
        let mut pacer = Pacer::new(Duration::ZERO);
        assert_eq!(pacer.next(Duration::ZERO, 4 * MS, 10 * MS), 10 * MS);
        assert_eq!(pacer.next(10 * MS, 23 * MS, 10 * MS), 20 * MS);
        assert_eq!(pacer.late_ticks(), 0, "a little late is made up for");
        assert_eq!(pacer.next(23 * MS, 57 * MS, 10 * MS), 50 * MS);
        assert_eq!(pacer.late_ticks(), 2);
        assert_eq!(pacer.next(57 * MS, 58 * MS, 10 * MS), 60 * MS);
    }

    #[test]
    fn the_percentile_is_the_upper_edge_of_its_bin() {
        let mut pacer = Pacer::new(Duration::ZERO);
        assert_eq!(pacer.p99(), Duration::ZERO);
        for _ in 0..99 {
            pacer.next(Duration::ZERO, 2 * MS, 10 * MS);
        }
        pacer.next(Duration::ZERO, 5000 * MS, 10 * MS);
        assert_eq!(pacer.p99(), Duration::from_micros(2100));
    }
}
