//! The list of faults: each thing that went wrong is there once, with how often it was seen and whether it still holds.

use std::time::Duration;

use crate::runtime::{Fault, FaultKind};

/// How long a momentary fault (a repeated packet) counts as still there after it was last seen.
const LINGER: Duration = Duration::from_secs(2);

/// Faults that are kept at most; beyond, the oldest one that is over goes.
const CAPACITY: usize = 32;

/// What to tell the operator: what happened to which thing, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    pub what: String,
    pub remedy: String,
}

/// Both sentences of a fault.
pub fn words(what: impl Into<String>, remedy: impl Into<String>) -> Words {
    Words {
        what: what.into(),
        remedy: remedy.into(),
    }
}

#[derive(Debug)]
struct Entry {
    subject: String,
    fault: Fault,
    over_at: Option<Duration>,
}

/// All faults that are not acknowledged. A fault is one kind for one subject (a camera, a view).
#[derive(Debug, Default)]
pub struct FaultBook {
    entries: Vec<Entry>,
    last_id: u64,
}

impl FaultBook {
    /// Something happened; it stays active until it is cleared.
    pub fn raise(&mut self, now: Duration, kind: FaultKind, subject: &str, words: Words) {
        let entry = self.entry(now, kind, subject);
        if !entry.fault.active && entry.fault.count > 0 {
            entry.fault.since = now;
        }
        entry.fault.count += 1;
        entry.fault.active = true;
        entry.over_at = None;
        (entry.fault.what, entry.fault.remedy) = (words.what, words.remedy);
    }

    /// Something happened that passes by itself.
    pub fn flash(&mut self, now: Duration, kind: FaultKind, subject: &str, words: Words) {
        self.raise(now, kind, subject, words);
        self.entry(now, kind, subject).over_at = Some(now + LINGER);
    }

    /// A condition holds or not, asked every tick; it counts when it begins.
    pub fn set(
        &mut self,
        now: Duration,
        kind: FaultKind,
        subject: &str,
        words: impl FnOnce() -> Option<Words>,
    ) {
        match (words(), self.find(kind, subject)) {
            (Some(words), Some(at)) if self.entries[at].fault.active => {
                self.entries[at].fault.what = words.what;
            }
            (Some(words), _) => self.raise(now, kind, subject, words),
            (None, Some(at)) => self.entries[at].fault.active = false,
            (None, None) => {}
        }
    }

    /// The cause of every fault of this kind has gone.
    pub fn clear(&mut self, kind: FaultKind) {
        for entry in &mut self.entries {
            entry.fault.active &= entry.fault.kind != kind;
        }
    }

    /// The cause has gone for every subject but those that `stays` names.
    pub fn clear_but(&mut self, kind: FaultKind, stays: impl Fn(&str) -> bool) {
        for entry in &mut self.entries {
            entry.fault.active &= entry.fault.kind != kind || stays(&entry.subject);
        }
    }

    /// The operator has read fault `id`; it goes if its cause has.
    pub fn acknowledge(&mut self, id: u64) {
        self.entries
            .retain(|entry| entry.fault.id != id || entry.fault.active);
    }

    /// Ends the momentary faults whose time has come.
    pub fn expire(&mut self, now: Duration) {
        for entry in &mut self.entries {
            if entry.over_at.is_some_and(|over_at| over_at <= now) {
                entry.fault.active = false;
            }
        }
    }

    /// What a snapshot carries, oldest first.
    pub fn list(&self) -> Vec<Fault> {
        self.entries
            .iter()
            .map(|entry| entry.fault.clone())
            .collect()
    }

    fn find(&self, kind: FaultKind, subject: &str) -> Option<usize> {
        let same = |entry: &Entry| entry.fault.kind == kind && entry.subject == subject;
        self.entries.iter().position(same)
    }

    fn entry(&mut self, now: Duration, kind: FaultKind, subject: &str) -> &mut Entry {
        let at = self.find(kind, subject).unwrap_or_else(|| {
            self.make_room();
            self.last_id += 1;
            self.entries.push(Entry {
                subject: subject.to_owned(),
                fault: Fault {
                    id: self.last_id,
                    kind,
                    what: String::new(),
                    remedy: String::new(),
                    since: now,
                    count: 0,
                    active: false,
                },
                over_at: None,
            });
            self.entries.len() - 1
        });
        &mut self.entries[at]
    }

    fn make_room(&mut self) {
        if self.entries.len() >= CAPACITY {
            let over = self.entries.iter().position(|entry| !entry.fault.active);
            self.entries.remove(over.unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn the_same_fault_is_counted_not_listed_again() {
        let mut book = FaultBook::default();
        book.raise(S, FaultKind::PolicyError, "", words("a", "r"));
        book.raise(S * 2, FaultKind::PolicyError, "", words("b", "r"));
        let list = book.list();
        assert_eq!(list.len(), 1);
        assert_eq!((list[0].count, list[0].since), (2, S));
        assert_eq!((list[0].what.as_str(), list[0].active), ("b", true));
    }

    #[test]
    fn a_fault_goes_only_when_read_and_over() {
        let mut book = FaultBook::default();
        book.raise(S, FaultKind::BusLost, "", words("a", "r"));
        let id = book.list()[0].id;
        book.acknowledge(id);
        assert_eq!(book.list().len(), 1);
        book.clear(FaultKind::BusLost);
        assert!(!book.list()[0].active);
        book.acknowledge(id);
        assert!(book.list().is_empty());
    }

    #[test]
    fn a_condition_counts_each_time_it_begins() {
        let mut book = FaultBook::default();
        for (second, stale) in [true, true, false, true].into_iter().enumerate() {
            let now = S * second as u32;
            book.set(now, FaultKind::CameraStale, "wrist", || {
                stale.then(|| words(format!("age {second}"), "r"))
            });
        }
        let fault = &book.list()[0];
        assert_eq!((fault.count, fault.since), (2, S * 3));
        assert_eq!(fault.what, "age 3");
    }

    #[test]
    fn a_momentary_fault_ends_by_itself() {
        let mut book = FaultBook::default();
        book.flash(S, FaultKind::BusRetry, "", words("a", "r"));
        book.expire(S * 2);
        assert!(book.list()[0].active);
        book.expire(S * 3);
        assert!(!book.list()[0].active);
    }

    #[test]
    fn the_list_is_bounded() {
        let mut book = FaultBook::default();
        for n in 0..100 {
            book.raise(S, FaultKind::CameraMissing, &n.to_string(), words("a", "r"));
        }
        assert_eq!(book.list().len(), CAPACITY);
    }
}
