//! A slot that holds only the newest value: one thread writes, any number read, nobody waits.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

/// The newest value of a stream. Clones share the slot; reading and writing are lock-free.
#[derive(Debug)]
pub struct Latest<T>(Arc<ArcSwapOption<T>>);

impl<T> Latest<T> {
    /// An empty slot.
    pub fn new() -> Self {
        Self(Arc::new(ArcSwapOption::empty()))
    }

    /// Replaces the value; readers that hold the old one keep it.
    pub fn set(&self, value: T) {
        self.0.store(Some(Arc::new(value)));
    }

    /// The newest value, if there has been one.
    pub fn get(&self) -> Option<Arc<T>> {
        self.0.load_full()
    }

    /// Empties the slot.
    pub fn clear(&self) {
        self.0.store(None);
    }
}

impl<T> Clone for Latest<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_value_is_kept() {
        let slot = Latest::new();
        assert!(slot.get().is_none());
        slot.set(1);
        let held = slot.get();
        slot.clone().set(2);
        assert_eq!(held.as_deref(), Some(&1));
        assert_eq!(slot.get().as_deref(), Some(&2));
        slot.clear();
        assert!(slot.get().is_none());
    }
}
