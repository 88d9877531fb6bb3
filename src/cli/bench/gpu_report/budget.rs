//! The time that a report may take, and what becomes of a part that ends in a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::anyhow;

use crate::gpu;

/// No part is begun after this; the longest part must end in what is left of five minutes.
const LIMIT: Duration = Duration::from_mins(4);

/// What measuring speed may take of it, and what many chunks may take.
const MEASURING: Duration = Duration::from_secs(90);
const SOAKING: Duration = Duration::from_secs(25);

/// A time that runs.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    begun: Instant,
    limit: Duration,
}

impl Budget {
    pub fn start() -> Self {
        Self::of(LIMIT)
    }

    pub fn of(limit: Duration) -> Self {
        Self {
            begun: Instant::now(),
            limit,
        }
    }

    pub fn spent(self) -> Duration {
        self.begun.elapsed()
    }

    pub fn is_over(self) -> bool {
        self.spent() >= self.limit
    }

    /// Until when to go on measuring speed.
    pub fn late(self) -> Instant {
        self.within(MEASURING)
    }

    /// Until when to go on running chunks.
    pub fn soon(self) -> Instant {
        self.within(SOAKING)
    }

    fn within(self, time: Duration) -> Instant {
        (Instant::now() + time).min(self.begun + self.limit)
    }
}

/// Runs `work` and turns a panic into an error: drivers are foreign code, and wgpu panics where nobody listens to its errors.
pub fn guarded<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(anyhow!(gpu::panic_words(&*panic))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_up_when_it_is() {
        let budget = Budget::start();
        assert!(!budget.is_over());
        assert!(budget.late() > budget.soon());
        let none = Budget::of(Duration::ZERO);
        assert!(none.is_over() && none.late() <= Instant::now());
    }

    #[test]
    fn a_panic_is_an_error_with_its_words() {
        let error = guarded::<()>(|| panic!("buffer is gone")).unwrap_err();
        assert_eq!(error.to_string(), "buffer is gone");
        assert_eq!(guarded(|| Ok(3)).unwrap(), 3);
    }
}
