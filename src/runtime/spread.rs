//! The slow end of many times, without keeping them: what makes an arm jerk and a picture stutter is one time in a hundred.

use std::time::Duration;

/// Bins of a histogram; the last one holds all that is longer.
const BINS: usize = 2000;

/// Where 99 of 100 times lie below, kept up to date at every one of them: the arm's loop and the window ask all the time.
#[derive(Debug)]
pub struct Spread {
    bin: Duration,
    longest: Duration,
    counts: Vec<u64>,
    total: u64,
    /// The bin of the percentile, and the times up to its end.
    at: usize,
    up_to: u64,
}

impl Spread {
    /// Times are told apart by `bin`; those of 2000 bins and more are alike.
    pub fn new(bin: Duration) -> Self {
        Self {
            bin,
            longest: Duration::ZERO,
            counts: vec![0; BINS],
            total: 0,
            at: 0,
            up_to: 0,
        }
    }

    /// Takes one more time in.
    pub fn push(&mut self, time: Duration) {
        self.longest = self.longest.max(time);
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
    pub fn p99(&self) -> Duration {
        match self.total {
            0 => Duration::ZERO,
            _ => self.bin * (self.at as u32 + 1),
        }
    }

    /// How many times there were.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The longest of all, exactly.
    pub fn longest(&self) -> Duration {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COARSE: Duration = Duration::from_micros(100);

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
    fn the_longest_is_kept_beyond_the_last_bin() {
        let mut spread = Spread::new(COARSE);
        spread.push(Duration::from_secs(3));
        spread.push(COARSE);
        assert_eq!(
            (spread.count(), spread.longest()),
            (2, Duration::from_secs(3))
        );
        assert_eq!(spread.p99(), COARSE * 2000);
    }
}
