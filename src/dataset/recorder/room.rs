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
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_full_room_is_waited_for_and_an_empty_one_takes_anything() {
        let room = Room::new(10);
        drop(room.take(25));
        let places = [room.take(6), room.take(4)];
        thread::scope(|scope| {
            let waits = scope.spawn(|| room.take(5));
            drop(places);
            assert_eq!(waits.join().unwrap().bytes, 5);
        });
        // Everything was given back, or this would wait for ever.
        assert_eq!(room.take(10).bytes, room.size());
    }

    #[test]
    fn never_more_is_taken_than_there_is() {
        let (room, most) = (Room::new(10), AtomicUsize::new(0));
        let taken = AtomicUsize::new(0);
        thread::scope(|scope| {
            for bytes in [3, 4, 5, 6] {
                let (room, most, taken) = (&room, &most, &taken);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let place = room.take(bytes);
                        let now = taken.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        most.fetch_max(now, Ordering::SeqCst);
                        taken.fetch_sub(bytes, Ordering::SeqCst);
                        drop(place);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 10);
    }
}
