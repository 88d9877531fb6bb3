//! What the session makes of how the recorder is: whether it has opened, why an episode has ended by itself, and what the
//! operator must know before rows are lost.

use std::sync::Arc;
use std::time::Duration;

use crate::dataset::RecorderView;
use crate::runtime::FaultKind;
use crate::runtime::core::Control;
use crate::runtime::core::session::Session;
use crate::runtime::fault_book::words;

/// An episode that the recorder does not know of for so long has ended there; sooner where it has something new to say.
const GONE_AFTER: Duration = Duration::from_secs(5);
const GONE_WITH_WORDS: Duration = Duration::from_millis(300);
/// What the recorder said before it was asked is no answer, unless it goes on saying it for so long.
const SAID_BEFORE: Duration = Duration::from_secs(1);
/// Rows that find no room for so long are a fault; a single one is only counted.
const BEHIND_AFTER: Duration = Duration::from_millis(300);

/// What was seen of the recorder.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The view that was there when it was asked to open, to begin or to close: the answer is in a later one.
    before: Option<Arc<RecorderView>>,
    /// When it was asked to open.
    asked: Option<Duration>,
    /// Episodes saved or being saved when the episode at hand began.
    saved: usize,
    /// How often the rig's table was laid, as far as is known: when another was ordered, then when the episode at hand began.
    laid: Option<u64>,
    /// Since when the recorder has no episode though rows are taken.
    gone_since: Option<Duration>,
    /// Since when rows find no room, and how many did not since the session began.
    behind_since: Option<Duration>,
    lost: u64,
}

impl Watch {
    pub fn begin_session(&mut self, seen: Option<&Arc<RecorderView>>) {
        *self = Self {
            before: seen.map(Arc::clone),
            ..Self::default()
        };
    }

    /// Another table was ordered; this often one was laid before.
    pub fn orders_table(&mut self, laid: Option<u64>) {
        self.laid = laid;
    }

    /// Whether the table is still the one of then.
    pub fn has_table(&self, laid: Option<u64>) -> bool {
        self.laid == laid
    }

    pub fn begin_episode(
        &mut self,
        now: Duration,
        seen: Option<Arc<RecorderView>>,
        laid: Option<u64>,
    ) {
        self.laid = laid;
        self.saved = seen.as_deref().map_or(0, saved);
        self.before = seen;
        self.gone_since = Some(now);
    }

    /// The data set has been asked for.
    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// A row found its place.
    pub fn took(&mut self) {
        self.behind_since = None;
    }

    /// So many rows found none.
    pub fn refused(&mut self, now: Duration, rows: u64) {
        self.behind_since.get_or_insert(now);
        self.lost += rows;
    }
}

impl Session {
    pub(super) fn ask_to_open(&mut self, now: Duration) {
        self.watch.asked = Some(now);
        self.watch.before = self.recorder.as_ref().map(Arc::clone);
    }

    pub(super) fn ask_to_close(&mut self) {
        self.watch.before = self.recorder.as_ref().map(Arc::clone);
    }

    /// How the recorder is since it was asked last.
    fn answer(&self) -> Option<&RecorderView> {
        let now = self.recorder.as_ref()?;
        let before = self.watch.before.as_ref();
        let is_new = before.is_none_or(|before| !Arc::ptr_eq(before, now));
        is_new.then_some(&**now)
    }

    /// What the recorder says that it did not say before it was asked.
    fn new_trouble(&self) -> Option<&String> {
        let said = self.answer()?.trouble.as_ref()?;
        let before = self.watch.before.as_ref();
        let is_old = before.is_some_and(|before| before.trouble.as_ref() == Some(said));
        (!is_old).then_some(said)
    }

    /// Whether the data set is open, or why it cannot be; `None` while that is not known.
    pub(super) fn opened(&self, now: Duration) -> Option<Result<(), String>> {
        let answer = self.answer()?;
        if !self.outbox.is_empty() {
            return None;
        }
        let wanted = self.plan.as_ref().map(|plan| &plan.root);
        if answer.root.is_some() && answer.root.as_ref() == wanted {
            return Some(Ok(()));
        }
        let asked = self.watch.asked?;
        let is_answer = now.saturating_sub(asked) >= SAID_BEFORE;
        let said = answer.trouble.as_ref().filter(|_| is_answer);
        self.new_trouble().or(said).cloned().map(Err)
    }

    /// Whether everything is saved and the data set is closed.
    pub(super) fn has_closed(&self) -> bool {
        let answer = self.answer();
        self.outbox.is_empty() && answer.is_some_and(|it| it.root.is_none())
    }

    /// Why the recorder has ended the episode by itself, if it has, and whether it keeps it.
    pub(super) fn ended_by_recorder(&mut self, now: Duration) -> Option<(String, bool)> {
        let answer = self.answer()?.clone();
        if answer.running.is_some() || !self.outbox.is_empty() {
            self.watch.gone_since = None;
            return None;
        }
        let since = *self.watch.gone_since.get_or_insert(now);
        let patience = match self.new_trouble() {
            Some(_) => GONE_WITH_WORDS,
            None => GONE_AFTER,
        };
        if now.saturating_sub(since) < patience {
            return None;
        }
        let kept = saved(&answer) > self.watch.saved;
        let why = answer.trouble.unwrap_or_else(|| {
            "the recorder has ended the episode: look among the interrupted ones".to_owned()
        });
        Some((why, kept))
    }
}

impl Control {
    /// Raises what the operator must see to.
    pub(super) fn watch_recorder(&mut self) {
        let kind = FaultKind::Recorder;
        let Some(view) = self.session.recorder.as_ref().map(Arc::clone) else {
            self.faults.clear(kind);
            return;
        };
        let watch = &self.session.watch;
        let behind = watch
            .behind_since
            .is_some_and(|since| self.now.saturating_sub(since) >= BEHIND_AFTER);
        let lost = watch.lost;
        self.faults.set(self.now, kind, "behind", || {
            behind.then(|| {
                words(
                    format!("the recorder is behind: {lost} rows found no room and are marked in the episode"),
                    "Record fewer or smaller cameras, another codec, or close what else runs here.",
                )
            })
        });
        self.faults.set(self.now, kind, "trouble", || {
            let remedy = "What was said to be saved is whole.";
            view.trouble.as_ref().map(|it| words(it.clone(), remedy))
        });
        let is_open = view.root.is_some();
        let low = view.disk.filter(|disk| is_open && disk.is_low());
        self.faults.set(self.now, kind, "disk", || {
            low.map(|disk| {
                let left = match disk.time_left {
                    Some(left) => format!("{} min", left.as_secs() / 60),
                    None => format!("{} MB", disk.bytes_left >> 20),
                };
                words(
                    format!("the disk of the data set is nearly full: {left} left"),
                    "Make room, or record into a folder on another disk. Before it is full the episode is ended and kept.",
                )
            })
        });
    }
}

/// Episodes that are saved or on their way.
fn saved(view: &RecorderView) -> usize {
    view.saved + view.saving.len()
}
