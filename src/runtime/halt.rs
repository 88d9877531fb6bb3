//! Stops the arm from outside the loop and waits until the servos have confirmed it: for a signal, a closing window, the end
//! of a run. Whatever else the end of a program does comes after this.

use std::thread;
use std::time::{Duration, Instant};

use crate::latest::Latest;
use crate::runtime::{Connection, EStop, FaultKind, Snapshot};

/// How often the snapshot is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// Ticks after which a snapshot surely knows of a press: one may have been under way.
const HEARD_AFTER: u64 = 2;

/// The stop, and where it shows. Any number of threads may have one.
#[derive(Clone, Debug)]
pub struct Halt {
    estop: EStop,
    snapshot: Latest<Snapshot>,
}

/// What became of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halted {
    /// Every joint with torque was read back to hold its pose.
    Holding,
    /// There is no arm that this program has left with torque.
    NoArm,
    /// The servos did not confirm it in time, or the arm was lost before they could: it may still move.
    Unconfirmed,
}

impl Halted {
    /// As the last snapshot of a loop tells that has ended.
    pub fn at_end(last: &Snapshot) -> Self {
        if last.stopped.as_ref().is_some_and(|stop| stop.acknowledged) {
            Self::Holding
        } else if may_move(last) {
            Self::Unconfirmed
        } else {
            Self::NoArm
        }
    }
}

impl Halt {
    /// The stop that `estop` presses and `snapshot` shows.
    pub fn new(estop: EStop, snapshot: Latest<Snapshot>) -> Self {
        Self { estop, snapshot }
    }

    /// Stops the arm and waits for its confirmation, at most for `limit`. For threads that may wait, which a window may not.
    pub fn stop(&self, limit: Duration) -> Halted {
        let before = self.snapshot.get().map_or(0, |seen| seen.tick.0);
        self.estop.press();
        let end = Instant::now() + limit;
        loop {
            let seen = self.snapshot.get().unwrap_or_default();
            let heard = seen.tick.0 >= before + HEARD_AFTER;
            let stands = seen.stopped.as_ref().is_some_and(|stop| stop.acknowledged);
            if stands && (heard || is_silent(&seen)) {
                return Halted::Holding;
            }
            if heard && !may_move(&seen) {
                return Halted::NoArm;
            }
            if Instant::now() >= end {
                return Halted::Unconfirmed;
            }
            thread::sleep(LOOK);
        }
    }
}

/// There is an arm that can be asked, or one that no longer can be and had torque.
fn may_move(seen: &Snapshot) -> bool {
    matches!(seen.connection, Connection::Connected { .. }) || seen.left_holding
}

/// A watchdog has written the last snapshot of a loop that ticks no more.
fn is_silent(seen: &Snapshot) -> bool {
    let silence = [FaultKind::LoopStalled, FaultKind::LoopDied];
    let mut faults = seen.faults.iter();
    faults.any(|fault| fault.active && silence.contains(&fault.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Tick;
    use crate::runtime::{Fault, Stopped};

    fn seen(tick: u64, acknowledged: bool) -> Snapshot {
        Snapshot {
            tick: Tick(tick),
            connection: Connection::Connected { torque: true },
            stopped: Some(Stopped {
                by: String::new(),
                since: Duration::ZERO,
                acknowledged,
            }),
            ..Snapshot::default()
        }
    }

    fn halted(before: Snapshot, after: Snapshot) -> Halted {
        let (estop, snapshot) = (EStop::default(), Latest::new());
        snapshot.set(before);
        let halt = Halt::new(estop.clone(), snapshot.clone());
        thread::scope(|scope| {
            let stopping = scope.spawn(move || halt.stop(Duration::from_millis(300)));
            while estop.presses() == 0 {
                thread::yield_now();
            }
            snapshot.set(after);
            stopping.join().unwrap()
        })
    }

    #[test]
    fn only_a_confirmation_after_the_press_counts() {
        let moving = Snapshot::default();
        assert_eq!(halted(moving.clone(), seen(2, true)), Halted::Holding);
        assert_eq!(halted(moving.clone(), seen(1, true)), Halted::Unconfirmed);
        assert_eq!(halted(moving.clone(), seen(9, false)), Halted::Unconfirmed);
        let mut absent = seen(2, false);
        absent.connection = Connection::Absent;
        assert_eq!(halted(moving.clone(), absent.clone()), Halted::NoArm);
        absent.left_holding = true;
        assert_eq!(Halted::at_end(&absent), Halted::Unconfirmed);
        assert_eq!(halted(moving, absent), Halted::Unconfirmed);
    }

    #[test]
    fn a_loop_that_ticks_no_more_was_stopped_by_its_watchdog() {
        let mut dead = seen(0, true);
        dead.faults.push(Fault {
            id: 1,
            kind: FaultKind::LoopDied,
            what: String::new(),
            remedy: String::new(),
            since: Duration::ZERO,
            count: 1,
            active: true,
        });
        assert_eq!(halted(dead.clone(), dead), Halted::Holding);
    }
}
