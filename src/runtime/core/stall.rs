//! A control loop that stood still: the watchdog has frozen the arm behind its back. After a moment, a busy machine's, it goes
//! on from where the arm was frozen, as slowly as from any other start; after longer, or again and again, a person must look.

use std::time::Duration;

use crate::runtime::core::Control;
use crate::runtime::fault_book::words;
use crate::runtime::watchdog::{self, Trip};
use crate::runtime::{FaultKind, Mode};

/// An arm that was frozen for longer is not what its driver believes it to be.
const MOMENT: Duration = Duration::from_secs(1);
/// A second stall so soon after one is a machine that cannot drive an arm.
const APART: Duration = Duration::from_secs(10);

/// The latest stall.
#[derive(Debug, Default)]
pub(super) struct Stall {
    /// When the loop came back from it.
    at: Option<Duration>,
    /// Who goes on driving once the arm was read back to stand still. Any other stop takes it away.
    pub goes_on_in: Option<Mode>,
}

impl Stall {
    /// The operator wants nobody to drive: neither does whoever drove before the stall.
    pub fn hold(&mut self) {
        self.goes_on_in = self.goes_on_in.map(|_| Mode::Hold);
    }
}

impl Control {
    /// The loop stood still, and the arm was frozen behind its back: what it had in mind is dropped.
    pub(super) fn stalled(&mut self, trip: &Trip) {
        let (mode, stood) = (self.mode, self.now.saturating_sub(trip.at));
        let is_undisturbed = self.stopped.is_none() && self.arm.change.is_none();
        let again = self.stall.at.replace(self.now);
        let is_alone = again.is_none_or(|before| self.now.saturating_sub(before) > APART);
        self.stop(watchdog::NAME);
        log::error!("the control loop runs again {stood:?} after the arm was frozen");
        let kind = FaultKind::LoopStalled;
        if is_undisturbed && is_alone && stood < MOMENT {
            self.stall.goes_on_in = Some(mode);
            let told = words(
                "the control loop stood still for a moment: the watchdog froze the arm, which goes on from there",
                "Close what else runs on this machine. If it comes again soon, the arm stays stopped.",
            );
            self.faults.flash(self.now, kind, "", told);
        } else {
            self.faults
                .raise(self.now, kind, "", watchdog::stall_words());
        }
    }

    /// Gives the arm back to whoever drove it, once it was read back to stand still, if it is still fit to be driven.
    pub(super) fn go_on_after_stall(&mut self) {
        let stands = self.stopped.as_ref().is_some_and(|stop| stop.acknowledged);
        let Some(mode) = self.stall.goes_on_in.filter(|_| stands) else {
            return;
        };
        self.stall.goes_on_in = None;
        self.resume();
        if self.stopped.is_none() && self.arm.armed && self.health.unfit().is_none() {
            self.enter(mode);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::AlarmKind;
    use crate::runtime::Command;
    use crate::runtime::core::bench::{Bench, flying};

    /// An arm that a policy flies, just frozen by the watchdog and read back to stand still.
    fn frozen() -> Bench {
        let mut bench = flying(50);
        bench.tripped = Some(Trip {
            at: bench.now,
            confirmed: true,
        });
        bench.tick(vec![]);
        assert!(bench.seen.stopped.is_some());
        bench
    }

    #[test]
    fn whoever_drove_before_a_short_stall_drives_on() {
        let mut bench = frozen();
        bench.tick(vec![]);
        assert_eq!(
            (bench.seen.mode, &bench.seen.stopped),
            (Mode::Policy, &None)
        );
    }

    #[test]
    fn a_hold_that_is_asked_for_meanwhile_is_a_hold() {
        let mut bench = frozen();
        bench.tick(vec![Command::SetMode(Mode::Hold)]);
        assert_eq!((bench.seen.mode, &bench.seen.stopped), (Mode::Hold, &None));
    }

    #[test]
    fn an_arm_that_became_hot_meanwhile_is_not_driven_on() {
        let mut bench = flying(50);
        bench.health.joints[2].alarms = vec![AlarmKind::Overheated];
        bench.run(0.05);
        assert_eq!(bench.seen.mode, Mode::Policy, "one wrong reading is none");
        bench.tripped = Some(Trip {
            at: bench.now,
            confirmed: true,
        });
        bench.run(0.2);
        assert!(bench.seen.health.unfit.is_some());
        assert_eq!((bench.seen.mode, &bench.seen.stopped), (Mode::Hold, &None));
    }
}
