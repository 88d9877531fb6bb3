//! Room for pictures that wait for an encoder, in bytes, so that a recorder which falls behind cannot fill the memory.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A number of bytes of which parts are taken and given back. Clones share it.
#[derive(Clone, Debug)]
pub struct Room(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    size: usize,
    used: Mutex<usize>,
    given_back: Condvar,
}

/// A part of a room; dropping it gives it back.
#[derive(Debug)]
pub struct Place {
    room: Room,
    bytes: usize,
}

impl Room {
    /// An empty room of so many bytes.
    pub fn new(size: usize) -> Self {
        Self(Arc::new(Inside {
            size,
            used: Mutex::new(0),
            given_back: Condvar::new(),
        }))
    }

    /// Waits for a place. What is larger than the whole room gets it when it is empty.
    pub fn take(&self, bytes: usize) -> Place {
        let inside = &self.0;
        // The number stays right whatever a thread did that panicked while it held the lock.
        let mut used = inside.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > inside.size {
            used = inside
                .given_back
                .wait(used)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
        self.place(bytes)
    }

    /// A place, if there is one now.
    pub fn try_take(&self, bytes: usize) -> Option<Place> {
        let inside = &self.0;
        let mut used = inside.used.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = *used == 0 || *used + bytes <= inside.size;
        fits.then(|| {
            *used += bytes;
            self.place(bytes)
        })
    }

    fn place(&self, bytes: usize) -> Place {
        Place {
            room: self.clone(),
            bytes,
        }
    }

    pub fn size(&self) -> usize {
        self.0.size
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let inside = &self.room.0;
        let mut used = inside.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_sub(self.bytes);
        drop(used);
        inside.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_full_room_is_waited_for_and_an_empty_one_takes_anything() {
        let room = Room::new(10);
        let large = room.take(25);
        assert!(room.try_take(1).is_none());
        drop(large);
        let first = room.take(6);
        assert!(room.try_take(5).is_none());
        assert!(room.try_take(4).is_some(), "given back at once");
        thread::scope(|scope| {
            let waits = scope.spawn(|| room.take(5));
            drop(first);
            assert_eq!(waits.join().unwrap().bytes, 5);
        });
        assert!(room.try_take(10).is_some());
        assert_eq!(room.size(), 10);
    }
}
