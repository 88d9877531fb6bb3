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
