//! Monotonic time, real or virtual, and the control tick. Nothing in the house reads the wall clock to decide.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Number of a control period since the runtime started.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tick(pub u64);

impl Tick {
    /// Ticks from `earlier` to `self`, zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A monotonic clock. All instants in the house are durations since its start, so that they are plain data.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's monotonic clock.
    Real(Instant),
    /// Advanced by hand, for tests.
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// Starts a real clock at zero.
    pub fn real() -> Self {
        Self::Real(Instant::now())
    }

    /// Starts a virtual clock at zero.
    pub fn virtual_at_zero() -> Self {
        Self::Virtual(Arc::new(AtomicU64::new(0)))
    }

    /// Time since the clock started.
    pub fn now(&self) -> Duration {
        match self {
            Self::Real(start) => start.elapsed(),
            Self::Virtual(nanos) => Duration::from_nanos(nanos.load(Ordering::SeqCst)),
        }
    }

    /// Moves a virtual clock on; a real clock ignores it.
    pub fn advance(&self, by: Duration) {
        if let Self::Virtual(nanos) = self {
            nanos.fetch_add(by.as_nanos() as u64, Ordering::SeqCst);
        }
    }

    /// Waits until `deadline`; a virtual clock jumps there at once.
    pub fn sleep_until(&self, deadline: Duration) {
        match self {
            Self::Real(_) => std::thread::sleep(deadline.saturating_sub(self.now())),
            Self::Virtual(_) => self.advance(deadline.saturating_sub(self.now())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_clock_moves_only_when_told() {
        let clock = Clock::virtual_at_zero();
        clock.advance(Duration::from_millis(5));
        clock.sleep_until(Duration::from_millis(3));
        assert_eq!(clock.now(), Duration::from_millis(5));
        clock.sleep_until(Duration::from_millis(8));
        assert_eq!(clock.now(), Duration::from_millis(8));
        assert_eq!(Tick(3).since(Tick(5)), 0);
    }
}
