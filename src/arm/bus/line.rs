//! Who may speak on the wire. Two conversations at once are garbage, and when the loop that drives the arm stands still,
//! another voice must be able to stop the arm without waiting for it.
//!
//! Normally there is one speaker, the owner, and this costs three uncontended locks a conversation. A guard may take the line
//! away. From that moment on nothing that the owner writes reaches a servo, wherever it was interrupted: the permission is
//! looked at and the bytes are written under one lock, so that no stale goal can slip in between. The guard waits a moment
//! for the conversation that is under way, and speaks over one that hangs in a driver; an owner that wakes up in the middle
//! of it finds at its next read that the line is gone, and what it swallowed of the guard's answers is asked for again.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Which of the two speakers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::arm) enum Voice {
    Owner,
    Guard,
}

#[derive(Debug, Default)]
struct Turn {
    /// The owner is in the middle of a conversation.
    talking: bool,
    /// The line is the guard's.
    taken: bool,
}

/// The permission to speak, shared by all handles on one port.
#[derive(Clone, Debug, Default)]
pub(in crate::arm) struct Line(Arc<(Mutex<Turn>, Condvar)>);

impl Line {
    /// Begins a conversation; `None` when the line is not this voice's.
    pub fn begin(&self, voice: Voice) -> Option<Conversation> {
        let mut turn = self.turn();
        if voice == Voice::Owner {
            if turn.taken {
                return None;
            }
            turn.talking = true;
        }
        Some(Conversation {
            line: self.clone(),
            voice,
        })
    }

    /// Takes the line from its owner; waits up to `patience` of the machine's time for the conversation under way.
    pub fn take(&self, patience: Duration) {
        let (_, free) = &*self.0;
        let mut turn = self.turn();
        turn.taken = true;
        let waited = free.wait_timeout_while(turn, patience, |turn| turn.talking);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// The line is its owner's again.
    pub fn give_back(&self) {
        self.turn().taken = false;
    }

    /// A speaker that died while it held the lock has left plain data.
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request and its answers. The line is free for others when it is dropped.
#[derive(Debug)]
pub(in crate::arm) struct Conversation {
    line: Line,
    voice: Voice,
}

impl Conversation {
    /// Writes, unless the line was taken away; `None` then.
    pub fn write(&self, write: impl FnOnce() -> io::Result<()>) -> Option<io::Result<()>> {
        let turn = self.line.turn();
        let allowed = self.is_allowed(&turn);
        allowed.then(write)
    }

    /// Whether the line was not taken away.
    pub fn goes_on(&self) -> bool {
        self.is_allowed(&self.line.turn())
    }

    fn is_allowed(&self, turn: &Turn) -> bool {
        turn.taken == (self.voice == Voice::Guard)
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        if self.voice == Voice::Owner {
            self.line.turn().talking = false;
            self.line.0.1.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_before_the_line_was_taken_writes_nothing_after() {
        let line = Line::default();
        let stale = line.begin(Voice::Owner).unwrap();
        assert!(stale.write(|| Ok(())).is_some());
        line.take(Duration::ZERO);
        let written = stale.write(|| panic!("a stale goal"));
        assert!(written.is_none() && !stale.goes_on());
        assert!(line.begin(Voice::Owner).is_none());
        let guard = line.begin(Voice::Guard).unwrap();
        assert!(guard.write(|| Ok(())).is_some() && guard.goes_on());
        drop((stale, guard));
        line.give_back();
        assert!(line.begin(Voice::Owner).unwrap().goes_on());
    }

    #[test]
    fn the_guard_waits_for_the_conversation_under_way() {
        let line = Line::default();
        let talk = line.begin(Voice::Owner).unwrap();
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| line.take(Duration::from_mins(1)));
            while talk.goes_on() {
                std::thread::yield_now();
            }
            assert!(!taker.is_finished());
            drop(talk);
            taker.join().unwrap();
        });
    }
}
