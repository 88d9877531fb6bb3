//! A thread that writes one file of a journal, so that neither encoding nor the disk is waited for where rows are taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::dataset::Error;
use crate::priority::{self, Urgency};

/// What a lost power may cost.
const SYNC: Duration = Duration::from_secs(1);
/// Items that may wait beside the bytes that are bounded elsewhere.
const WAITING: usize = 512;

/// What a lane does with what it is given. Made on the lane's own thread, where it stays.
pub trait Scribe {
    type Item: Send + 'static;

    /// Writes an item; returns the bytes that went to the file.
    fn write(&mut self, item: Self::Item) -> Result<usize, Error>;

    /// Brings what was written to the disk.
    fn sync(&mut self) -> Result<(), Error>;

    /// Writes what belongs at the end, and brings it to the disk.
    fn finish(self) -> Result<(), Error>;
}

/// The way to such a thread. Dropping it ends the file as it should.
#[derive(Debug)]
pub struct Lane<T> {
    name: String,
    /// Dropped to end the file.
    items: Option<Sender<T>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    /// Bytes in the file.
    bytes: Arc<AtomicU64>,
}

impl<T: Send + 'static> Lane<T> {
    /// Starts a lane, and waits until its scribe is ready. `name` says whose fault a fault is.
    ///
    /// # Errors
    /// The scribe cannot be made, or the system gives no thread.
    pub fn start<S: Scribe<Item = T>>(
        name: &str,
        urgency: Urgency,
        make: impl FnOnce() -> Result<S, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let (items, waiting) = bounded(WAITING);
        let (ready, is_ready) = bounded(1);
        let bytes = Arc::<AtomicU64>::default();
        let track = Track {
            waiting,
            bytes: Arc::clone(&bytes),
        };
        let write = move || {
            priority::claim(urgency);
            let scribe = make()?;
            // Nobody waits for it only if the lane's maker is gone.
            ready.send(()).ok();
            drop(ready);
            track.follow(scribe)
        };
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(write);
        let thread = spawned.map_err(|error| {
            Error::Ended(format!("{name}: the system gives no thread: {error}"))
        })?;
        let lane = Self {
            name: name.to_owned(),
            items: Some(items),
            thread: Some(thread),
            bytes,
        };
        match is_ready.recv() {
            Ok(()) => Ok(lane),
            // It ended before it was ready, and says why.
            Err(_) => lane
                .finish()
                .and(Err(Error::Ended(format!("{name} did not start")))),
        }
    }

    /// Gives it an item; waits while too many are waiting. False when it has ended by a fault, which [`Lane::finish`] tells.
    pub fn give(&self, item: T) -> bool {
        let items = self.items.as_ref();
        items.is_some_and(|items| items.send(item).is_ok())
    }

    /// Whether a fault has ended it.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Items that wait.
    pub fn backlog(&self) -> usize {
        self.items.as_ref().map_or(0, Sender::len)
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Lets it write what waits, and ends the file.
    ///
    /// # Errors
    /// What went wrong on the thread, a panic included.
    pub fn finish(mut self) -> Result<(), Error> {
        self.end()
    }
}

impl<T> Lane<T> {
    fn end(&mut self) -> Result<(), Error> {
        self.items = None;
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        let panicked = || Error::Ended(format!("{} panicked; see the log", self.name));
        thread.join().unwrap_or_else(|_| Err(panicked()))
    }
}

impl<T> Drop for Lane<T> {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            log::error!("{error}");
        }
    }
}

/// The thread's end of a lane.
struct Track<T> {
    waiting: Receiver<T>,
    bytes: Arc<AtomicU64>,
}

impl<T> Track<T> {
    fn follow<S: Scribe<Item = T>>(&self, mut scribe: S) -> Result<(), Error> {
        let mut synced = Instant::now();
        let mut is_synced = true;
        loop {
            match self.waiting.recv_timeout(SYNC) {
                Ok(item) => {
                    let written = scribe.write(item)?;
                    self.bytes.fetch_add(written as u64, Ordering::Relaxed);
                    is_synced = false;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return scribe.finish(),
            }
            if !is_synced && synced.elapsed() >= SYNC {
                scribe.sync()?;
                synced = Instant::now();
                is_synced = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Keeps what it is given; trips over a number.
    struct Notes {
        notes: Arc<Mutex<Vec<String>>>,
        trips_over: u32,
    }

    impl Notes {
        fn note(&self, what: &dyn ToString) {
            self.notes.lock().unwrap().push(what.to_string());
        }
    }

    impl Scribe for Notes {
        type Item = u32;

        fn write(&mut self, item: u32) -> Result<usize, Error> {
            assert_ne!(item, self.trips_over, "as the test wants it");
            self.note(&item);
            Ok(10)
        }

        fn sync(&mut self) -> Result<(), Error> {
            Ok(())
        }

        fn finish(self) -> Result<(), Error> {
            self.note(&"end");
            Ok(())
        }
    }

    fn lane(trips_over: u32) -> (Lane<u32>, Arc<Mutex<Vec<String>>>) {
        let notes = Arc::<Mutex<Vec<String>>>::default();
        let scribe = Notes {
            notes: Arc::clone(&notes),
            trips_over,
        };
        let lane = Lane::start("encoder of camera front", Urgency::Usual, || Ok(scribe));
        (lane.unwrap(), notes)
    }

    #[test]
    fn everything_is_written_in_order_before_the_end() {
        let (lane, notes) = lane(u32::MAX);
        assert!((0..700).all(|item| lane.give(item)));
        let bytes = Arc::clone(&lane.bytes);
        lane.finish().unwrap();
        let notes = notes.lock().unwrap();
        assert_eq!(notes.len(), 701);
        assert_eq!((notes[0].as_str(), notes[699].as_str()), ("0", "699"));
        assert_eq!(notes[700], "end");
        assert_eq!(bytes.load(Ordering::Relaxed), 7000);
    }

    #[test]
    fn a_lane_that_is_dropped_ends_its_file_all_the_same() {
        let (lane, notes) = lane(u32::MAX);
        assert!(lane.give(1));
        drop(lane);
        assert_eq!(*notes.lock().unwrap(), ["1", "end"]);
    }

    #[test]
    fn a_panic_is_felt_by_whoever_gives_and_named_at_the_end() {
        let (lane, notes) = lane(2);
        // It may take a moment until the thread is gone; then nothing is taken any more.
        let mut given = 0_u32;
        while lane.give(given.min(2)) {
            given += 1;
        }
        assert!(given >= 3);
        let error = lane.finish().unwrap_err().to_string();
        assert!(error.contains("camera front panicked"), "{error}");
        assert_eq!(*notes.lock().unwrap(), ["0", "1"]);
    }

    #[test]
    fn a_scribe_that_cannot_be_made_says_why() {
        let refused = || Err::<Notes, _>(Error::Absent("no ink".to_owned()));
        let started = Lane::start("journal", Urgency::Usual, refused);
        assert_eq!(started.unwrap_err().to_string(), "no ink");
    }
}
