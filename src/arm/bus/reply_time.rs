//! How long to wait for an answer. Too short, and every answer of a slow adapter comes in as noise of the next request; too
//! long, and one silent servo costs the others their rate. So the wait follows what the line shows.

use std::time::Duration;

/// The longest wait: an FTDI chip with its latency timer at 16 ms, and some.
pub const SLOWEST: Duration = Duration::from_millis(24);
/// Full conversations after which the wait is set by the slowest of them.
const STRETCH: u32 = 250;

/// The time that an answer may take beyond its time on the wire.
#[derive(Debug)]
pub(in crate::arm) struct ReplyTime {
    least: Duration,
    allowed: Duration,
    /// Of the present stretch.
    slowest: Duration,
    answered: u32,
}

impl ReplyTime {
    /// Never below `least`.
    pub fn new(least: Duration) -> Self {
        Self {
            least,
            allowed: least,
            slowest: Duration::ZERO,
            answered: 0,
        }
    }

    /// Waits as long as for the slowest adapter, until [`settle`](Self::settle).
    pub fn be_patient(&mut self) {
        self.allowed = self.bounded(SLOWEST);
        (self.slowest, self.answered) = (Duration::ZERO, 0);
    }

    /// Sets the wait by what has been seen since.
    pub fn settle(&mut self) {
        self.allowed = self.bounded(self.slowest * 2);
        (self.slowest, self.answered) = (Duration::ZERO, 0);
    }

    /// The wait as it is now.
    pub fn allowed(&self) -> Duration {
        self.allowed
    }

    /// An answer was complete `after` its time on the wire.
    pub fn answered(&mut self, after: Duration) {
        self.slowest = self.slowest.max(after);
        self.answered += 1;
        if self.answered >= STRETCH {
            self.settle();
        }
    }

    /// An answer came after its time was over: waiting a little longer would have had it.
    pub fn came_late(&mut self) {
        self.allowed = self.bounded(self.allowed * 3 / 2);
        (self.slowest, self.answered) = (Duration::ZERO, 0);
    }

    fn bounded(&self, time: Duration) -> Duration {
        time.clamp(self.least, self.least.max(SLOWEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_line_is_waited_for_and_a_fast_one_no_longer_than_needed() {
        let ms = Duration::from_millis;
        let mut time = ReplyTime::new(ms(8));
        time.came_late();
        assert_eq!(time.allowed(), ms(12));
        for _ in 0..STRETCH {
            time.answered(ms(9));
        }
        assert_eq!(time.allowed(), ms(18));
        for _ in 0..10 {
            time.came_late();
        }
        assert_eq!(time.allowed(), SLOWEST);
        for _ in 0..STRETCH {
            time.answered(ms(1));
        }
        assert_eq!(time.allowed(), ms(8));
        time.be_patient();
        time.answered(ms(5));
        assert_eq!(time.allowed(), SLOWEST);
        time.settle();
        assert_eq!(time.allowed(), ms(10));
    }
}
