//! Stops the arm when the control loop stands still. An STS3215 has no watchdog of its own: if its host hangs, it goes on to
//! the last goal and pushes.
//!
//! The loop leaves the moment by which its next tick must have come in an atomic, once a tick, and that is all this costs
//! it. A thread looks at it now and then. When the moment has passed while the arm is driven, the thread takes the line away
//! from the loop and freezes the arm over its own handle on the port: goal = present position, read back. Nobody else ever
//! owns goals. Three orders matter:
//!
//! - The line is taken *before* anything is frozen. Whatever the loop is in the middle of, a goal that it still has in hand is
//!   refused by the line and reaches no servo, even if it wakes up while the watchdog speaks. That is why the loop may be
//!   blocked inside a read of the port, too.
//! - The moment is looked at again *after* the line is taken: a loop that came back in between is left alone, and one
//!   that comes back later finds that it was stopped.
//! - The loop gets the line back only at the start of a tick, together with the news; it latches the stop and freezes the arm
//!   itself before it does anything else.
//!
//! Torque stays as it is, however long the loop stands still: the joints hold without effort where they are, and a raised arm
//! that slowly goes weak comes down on whatever is below it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::arm::Brake;
use crate::clock::Clock;
use crate::latest::Latest;
use crate::priority::{self, Urgency};
use crate::runtime::fault_book::{Words, words};
use crate::runtime::{Fault, FaultKind, Mode, Snapshot, Stopped};

/// How long after its due time a tick may come. A tick in which servos are silent takes a good part of it.
pub const STALL: Duration = Duration::from_millis(150);

/// How often the watchdog looks.
const LOOK: Duration = Duration::from_millis(20);

/// A watchdog that was not let run for so long was held up with the whole machine. The loop gets its turn first, then, but
/// not twice in a row.
const HELD_UP: Duration = Duration::from_millis(60);

/// How often a freeze is tried at the end of a loop that has crashed.
const LAST_TRIES: u32 = 10;

/// Who has stopped the arm.
pub const NAME: &str = "the watchdog";

/// The number that a fault has which the loop cannot know of.
const FAULT_ID: u64 = u64::MAX;

/// What the loop shares with its watchdog.
#[derive(Clone, Debug)]
pub struct Watchdog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// By when the next tick must have come, nanoseconds of the runtime's clock; the far future while nothing is driven.
    due: AtomicU64,
    /// The line was taken from the loop.
    tripped: AtomicBool,
    hand: Mutex<Hand>,
}

#[derive(Debug, Default)]
struct Hand {
    brake: Option<Brake>,
    trip: Option<Trip>,
}

/// The arm was taken from the loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trip {
    /// When, on the runtime's clock.
    pub at: Duration,
    /// All joints were read back to stand still.
    pub confirmed: bool,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self(Arc::new(Shared {
            due: AtomicU64::new(u64::MAX),
            tripped: AtomicBool::new(false),
            hand: Mutex::default(),
        }))
    }
}

impl Watchdog {
    /// An arm was connected.
    pub fn guard(&self, brake: Brake) {
        self.hand().brake = Some(brake);
    }

    /// The arm is given up: its port must be free for the next attempt.
    pub fn dismiss(&self) {
        self.0.due.store(u64::MAX, Ordering::SeqCst);
        *self.hand() = Hand::default();
        self.0.tripped.store(false, Ordering::SeqCst);
    }

    /// The loop lives. Its next sign of life must come by `due`; `None` while nothing is driven.
    pub fn beat(&self, due: Option<Duration>) {
        let due = due.map_or(u64::MAX, |due| due.as_nanos() as u64);
        self.0.due.store(due, Ordering::SeqCst);
    }

    /// Gives the line back to the loop at the start of its tick, if it was taken. The loop must stop the arm then.
    pub fn resume(&self) -> Option<Trip> {
        if !self.0.tripped.load(Ordering::SeqCst) {
            return None;
        }
        let mut hand = self.hand();
        self.0.tripped.store(false, Ordering::SeqCst);
        if let Some(brake) = &hand.brake {
            brake.give_line_back();
        }
        hand.trip.take()
    }

    /// Freezes the arm if the loop stands still at `now`; the news, if there are some.
    pub fn look(&self, now: Duration) -> Option<Trip> {
        if !self.is_overdue(now) {
            return None;
        }
        let mut hand = self.hand();
        let Hand { brake, trip } = &mut *hand;
        let brake = brake.as_mut()?;
        if trip.as_ref().is_some_and(|trip| trip.confirmed) {
            return None;
        }
        if trip.is_none() {
            brake.take_line();
            if !self.is_overdue(now) {
                brake.give_line_back();
                return None;
            }
            self.0.tripped.store(true, Ordering::SeqCst);
            log::error!("the control loop stands still; the watchdog freezes the arm");
        }
        let first = trip.is_none();
        let trip = trip.get_or_insert(Trip {
            at: now,
            confirmed: false,
        });
        match brake.freeze() {
            Ok(()) => trip.confirmed = true,
            Err(error) if first => log::error!("{error}"),
            Err(error) => log::debug!("{error}"),
        }
        (first || trip.confirmed).then(|| trip.clone())
    }

    /// Freezes an arm whose loop has ended without doing so; whether every joint confirmed. The line is not given back.
    fn freeze_at_last(&self) -> bool {
        self.0.due.store(u64::MAX, Ordering::SeqCst);
        let mut hand = self.hand();
        let Some(brake) = &mut hand.brake else {
            return false;
        };
        brake.take_line();
        for _ in 0..LAST_TRIES {
            match brake.freeze() {
                Ok(()) => return true,
                Err(error) => log::error!("{error}"),
            }
        }
        false
    }

    fn is_overdue(&self, now: Duration) -> bool {
        now.as_nanos() as u64 > self.0.due.load(Ordering::SeqCst)
    }

    /// A thread that died while it held the lock has left a handle that still works.
    fn hand(&self) -> MutexGuard<'_, Hand> {
        self.0.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that looks. Dropping it ends the thread.
#[derive(Debug)]
pub struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts the thread. While the loop is silent, it shows in `snapshot` what was done.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(watchdog: Watchdog, clock: Clock, snapshot: Latest<Snapshot>) -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || {
                priority::claim(Urgency::Arm);
                // How busy the machine is shows in its own time, whatever the pace of the runtime's.
                let machine = Clock::real();
                let (mut looked, mut was_held_up) = (machine.now(), false);
                while !told.load(Ordering::SeqCst) {
                    thread::park_timeout(LOOK);
                    let (now, seen) = (clock.now(), machine.now());
                    let pause = seen.saturating_sub(std::mem::replace(&mut looked, seen));
                    was_held_up = pause > HELD_UP && !was_held_up;
                    if was_held_up {
                        continue;
                    }
                    if let Some(trip) = watchdog.look(now) {
                        show(&snapshot, &stall_shown(&trip), NAME, trip.confirmed);
                    }
                }
            })?;
        Ok(Self {
            over,
            thread: Some(thread),
        })
    }

    /// Lets the thread go on until the program ends: the loop hangs, and nobody else can stop the arm.
    pub fn leave(mut self) {
        self.thread = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.over.store(true, Ordering::SeqCst);
        thread.thread().unpark();
        if thread.join().is_err() {
            log::error!("the watchdog had panicked");
        }
    }
}

/// The loop has ended by a panic that said `why`: the arm is frozen, and the last snapshot says so.
pub fn bury(watchdog: &Watchdog, snapshot: &Latest<Snapshot>, why: &str) {
    log::error!("the control loop crashed: {why}");
    let confirmed = watchdog.freeze_at_last();
    let crash = Fault {
        id: FAULT_ID,
        kind: FaultKind::LoopDied,
        what: format!("the control loop crashed: {why}"),
        remedy: "The arm holds where it was. Support it, look at it, and start the program again."
            .to_owned(),
        since: Duration::ZERO,
        count: 1,
        active: true,
    };
    show(snapshot, &crash, "a crash of the program", confirmed);
    watchdog.dismiss();
}

fn stall_shown(trip: &Trip) -> Fault {
    let words = stall_words();
    Fault {
        id: FAULT_ID,
        kind: FaultKind::LoopStalled,
        what: words.what,
        remedy: words.remedy,
        since: trip.at,
        count: 1,
        active: true,
    }
}

/// What is told of a loop that stood still.
pub fn stall_words() -> Words {
    words(
        "the control loop stood still and the watchdog stopped the arm",
        "Look at the arm, then resume. If it comes back, close what else runs on this machine.",
    )
}

/// Changes the last picture of a loop that paints no more.
fn show(snapshot: &Latest<Snapshot>, fault: &Fault, by: &str, confirmed: bool) {
    let last = snapshot.get().unwrap_or_default();
    let mut shown = Snapshot::clone(&last);
    shown.mode = Mode::Hold;
    shown.stopped = Some(Stopped {
        by: by.to_owned(),
        since: fault.since.max(last.now),
        acknowledged: confirmed,
    });
    shown.faults.retain(|other| other.id != fault.id);
    shown.faults.push(fault.clone());
    snapshot.set(shown);
}
