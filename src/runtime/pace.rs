//! Keeps the control loop on its period: absolute deadlines, missed periods counted and never replayed; and measures how
//! well that works.

use std::time::Duration;

use crate::runtime::core::Pace;

/// Width of a bin of work and bus times, which fill a good part of a period.
const COARSE: Duration = Duration::from_micros(100);
/// Width of a bin of wake-up delays, which a healthy machine keeps below a tenth of a millisecond.
const FINE: Duration = Duration::from_micros(10);
/// Bins of a histogram; the last one holds all that is longer.
const BINS: usize = 2000;

/// When the next tick is due, and how well that has worked so far.
#[derive(Debug)]
pub struct Pacer {
    deadline: Duration,
    late_ticks: u64,
    work: Spread,
    jitter: Spread,
    bus: Spread,
}

impl Pacer {
    /// The first tick is due at `now`.
    pub fn new(now: Duration) -> Self {
        Self {
            deadline: now,
            late_ticks: 0,
            work: Spread::new(COARSE),
            jitter: Spread::new(FINE),
            bus: Spread::new(COARSE),
        }
    }

    /// A tick begins at `now`. One that a stop has woken before its time is not late.
    pub fn begins(&mut self, now: Duration) {
        self.jitter.push(now.saturating_sub(self.deadline));
    }

    /// So much of the present tick went into the bus.
    pub fn spent_on_bus(&mut self, time: Duration) {
        self.bus.push(time);
    }

    /// A tick that began at `began` has ended at `now`; returns when the next one is due.
    ///
    /// Periods that have passed altogether are skipped, because replaying them would send the arm stale goals in a burst.
    pub fn next(&mut self, began: Duration, now: Duration, period: Duration) -> Duration {
        self.work.push(now.saturating_sub(began));
        self.deadline += period;
        let missed = now.saturating_sub(self.deadline).as_nanos() / period.as_nanos().max(1);
        self.late_ticks += missed as u64;
        self.deadline += period * u32::try_from(missed).unwrap_or(u32::MAX);
        self.deadline
    }

    /// What has been measured so far.
    pub fn pace(&self) -> Pace {
        Pace {
            late_ticks: self.late_ticks,
            tick_p99: self.work.p99(),
            jitter_p99: self.jitter.p99(),
            bus_p99: self.bus.p99(),
        }
    }
}

/// Where 99 of 100 times lie below, kept up to date at every one of them: the loop asks in every tick.
#[derive(Debug)]
struct Spread {
    bin: Duration,
    counts: Vec<u64>,
    total: u64,
    /// The bin of the percentile, and the times up to its end.
    at: usize,
    up_to: u64,
}

impl Spread {
    fn new(bin: Duration) -> Self {
        Self {
            bin,
            counts: vec![0; BINS],
            total: 0,
            at: 0,
            up_to: 0,
        }
    }

    fn push(&mut self, time: Duration) {
        let bin = (time.as_nanos() / self.bin.as_nanos()) as usize;
        let bin = bin.min(BINS - 1);
        self.counts[bin] += 1;
        self.total += 1;
        self.up_to += u64::from(bin <= self.at);
        let rank = (self.total * 99).div_ceil(100);
        while self.up_to < rank {
            self.at += 1;
            self.up_to += self.counts[self.at];
        }
        while self.up_to - self.counts[self.at] >= rank {
            self.up_to -= self.counts[self.at];
            self.at -= 1;
        }
    }

    /// The upper edge of the bin, zero before the first time.
    fn p99(&self) -> Duration {
        match self.total {
            0 => Duration::ZERO,
            _ => self.bin * (self.at as u32 + 1),
        }
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
        assert_eq!(pacer.pace().late_ticks, 0, "a little late is made up for");
        assert_eq!(pacer.next(23 * MS, 57 * MS, 10 * MS), 50 * MS);
        assert_eq!(pacer.pace().late_ticks, 2);
        assert_eq!(pacer.next(57 * MS, 58 * MS, 10 * MS), 60 * MS);
    }

    #[test]
    fn the_percentile_is_the_upper_edge_of_its_bin() {
        let mut pacer = Pacer::new(Duration::ZERO);
        assert_eq!(pacer.pace(), Pace::default());
        for _ in 0..99 {
            pacer.next(Duration::ZERO, 2 * MS, 10 * MS);
        }
        pacer.next(Duration::ZERO, 5000 * MS, 10 * MS);
        assert_eq!(pacer.pace().tick_p99, Duration::from_micros(2100));
    }

    #[test]
    fn the_percentile_follows_as_times_grow_and_shrink() {
        let mut spread = Spread::new(COARSE);
        let mut times = vec![];
        for n in 0..3000_u64 {
            let time = Duration::from_micros((n * 7919) % 30_011 * (1 + n / 1500));
            spread.push(time);
            times.push(time);
            let mut sorted = times.clone();
            sorted.sort();
            let true_one = sorted[(sorted.len() * 99).div_ceil(100) - 1];
            let above = spread.p99().saturating_sub(true_one);
            assert!(above <= COARSE && spread.p99() > true_one, "{n}");
        }
    }

    #[test]
    fn a_tick_is_late_by_what_it_begins_after_its_deadline() {
        let mut pacer = Pacer::new(Duration::ZERO);
        pacer.begins(Duration::from_micros(5));
        pacer.next(Duration::ZERO, MS, 10 * MS);
        assert_eq!(pacer.pace().jitter_p99, FINE);
        pacer.begins(3 * MS);
        assert_eq!(pacer.pace().jitter_p99, FINE, "woken by a stop");
        pacer.next(3 * MS, 4 * MS, 10 * MS);
        pacer.begins(21 * MS);
        assert_eq!(pacer.pace().jitter_p99, MS + FINE);
    }
}
