//! The stop that no queue, channel or lock can delay: an atomic that the control thread reads first in every tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shared by whoever may stop the arm. It counts presses instead of holding a flag: releasing the latch then cannot
/// swallow a press that came in between.
#[derive(Clone, Debug, Default)]
pub struct EStop(Arc<AtomicU64>);

impl EStop {
    /// Stops the arm at the next tick and latches it until `Command::Resume`.
    pub fn press(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// How often it has been pressed.
    pub fn presses(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_count() {
        let stop = EStop::default();
        stop.clone().press();
        assert_eq!(stop.presses(), 1);
    }
}
