//! The library's thread: takes orders, keeps what is looked at, lets one job run beside, and shows how everything stands.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, Sender};

use crate::app::library::edits;
use crate::app::library::job::{CANCELLED, Outcome, PANICKED, Report};
use crate::app::library::places::Places;
use crate::app::library::shelf::{changed_at, shelf};
use crate::app::library::show::{Show, with_answers};
use crate::app::library::work::{self, Task};
use crate::clock::Clock;
use crate::latest::Latest;
use crate::priority::{self, Urgency};
use crate::runtime::{EpisodeLine, LibraryOrder, LibraryView, PolicyLoader};

/// Small pictures are shown in handfuls, so often.
const COVERS: Duration = Duration::from_millis(250);

/// What the thread hears.
#[derive(Debug)]
pub enum Event {
    Order(LibraryOrder),
    Job(Report),
    /// The program ends.
    Leave,
}

/// Everything the thread keeps.
pub struct Desk {
    places: Places,
    loader: PolicyLoader,
    published: Latest<LibraryView>,
    cancel: Arc<AtomicBool>,
    view: LibraryView,
    show: Option<Show>,
    /// When the open data set had been changed last as it was read.
    as_of: Option<SystemTime>,
    lines: Vec<EpisodeLine>,
    /// Pictures so far: each has a number of its own.
    seq: u64,
    /// The row whose pictures are wanted.
    seek: Option<usize>,
    /// The job that runs changes the open data set: its films are closed meanwhile.
    edits: bool,
    clock: Clock,
    shown_at: Duration,
}

impl Desk {
    /// A desk with nothing on it.
    pub fn new(
        places: Places,
        loader: PolicyLoader,
        published: Latest<LibraryView>,
        cancel: Arc<AtomicBool>,
    ) -> Self {
        let view = LibraryView {
            home: places.home.clone(),
            ..LibraryView::default()
        };
        Self {
            places,
            loader,
            published,
            cancel,
            view,
            show: None,
            as_of: None,
            lines: Vec::new(),
            seq: 0,
            seek: None,
            edits: false,
            clock: Clock::real(),
            shown_at: Duration::ZERO,
        }
    }

    /// Serves until the program ends.
    pub fn serve(mut self, heard: &Receiver<Event>, reports: &Sender<Event>) {
        // The arm, its policy and a recording go first.
        priority::claim(Urgency::Patient);
        self.view.encoders = work::encoders().into();
        self.guarded(Self::refresh);
        self.publish();
        let mut has_covers_to_make = true;
        loop {
            let event = if self.seek.is_some() || has_covers_to_make {
                heard.try_recv().ok()
            } else {
                match heard.recv() {
                    Ok(event) => Some(event),
                    Err(_) => return,
                }
            };
            match event {
                Some(Event::Leave) => return,
                Some(Event::Order(order)) => {
                    self.guarded(|desk| desk.obey(order, reports));
                    has_covers_to_make = true;
                }
                Some(Event::Job(report)) => {
                    self.guarded(|desk| desk.hear(report));
                    has_covers_to_make = true;
                }
                None if self.seek.is_some() => {
                    self.guarded(Self::look);
                }
                None => has_covers_to_make = self.guarded(Self::cover).unwrap_or(false),
            }
        }
    }

    /// A panic over a data set closes that data set, and leaves the library to the others.
    fn guarded<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(|| act(self))).ok();
        if done.is_none() {
            self.close();
            self.view.trouble = Some(PANICKED.to_owned());
            self.publish();
        }
        done
    }

    fn publish(&mut self) {
        self.published.set(self.view.clone());
        self.shown_at = self.clock.now();
    }

    fn obey(&mut self, order: LibraryOrder, reports: &Sender<Event>) {
        match order {
            // Only the newest counts: it is read when nothing else waits.
            LibraryOrder::Seek(row) => {
                self.seek = Some(row);
                return;
            }
            LibraryOrder::Cancel => return,
            LibraryOrder::Refresh => self.refresh_all(),
            LibraryOrder::Open(root) => self.open(&root),
            LibraryOrder::Close => self.close(),
            LibraryOrder::Show(index) => self.show_episode(index),
            order => self.begin(order, reports),
        }
        self.publish();
    }

    /// Looks at the places again, and at the open data set: a recording may have grown it, or joined its films.
    fn refresh_all(&mut self) {
        self.refresh();
        let Some(root) = self.view.open.as_ref().map(|open| open.root.clone()) else {
            return;
        };
        self.view.interrupted = work::interrupted(&root);
        if !self.edits && changed_at(&root) != self.as_of {
            self.reopen();
        }
    }

    fn refresh(&mut self) {
        let roots = self.places.roots();
        let shelves = roots.iter().map(|root| shelf(root, self.places.name(root)));
        self.view.shelves = shelves.collect();
    }

    fn open(&mut self, root: &Path) {
        self.close();
        self.view.trouble = None;
        self.view.done = None;
        match edits::settled(root) {
            Ok(words) => self.view.done = words.map(str::to_owned),
            Err(why) => {
                self.view.trouble = Some(why);
                return;
            }
        }
        match Show::open(root) {
            Ok(show) => {
                self.places.visit(root);
                self.take(show);
                self.refresh();
            }
            Err(error) => self.view.trouble = Some(error.to_string()),
        }
    }

    /// Puts a data set on the desk.
    fn take(&mut self, show: Show) {
        let root = show.root().to_owned();
        self.as_of = changed_at(&root);
        self.view.open = Some(shelf(&root, self.places.name(&root)));
        self.view.interrupted = work::interrupted(&root);
        self.lines = show.lines();
        self.view.episodes = self.lines.clone().into();
        self.show = Some(show);
    }

    fn close(&mut self) {
        self.show = None;
        self.lines.clear();
        self.seek = None;
        self.view = LibraryView {
            home: std::mem::take(&mut self.view.home),
            encoders: Arc::clone(&self.view.encoders),
            shelves: Arc::clone(&self.view.shelves),
            doing: self.view.doing.take(),
            ..LibraryView::default()
        };
    }

    /// Opens what is open again after it has changed, at the episode that was looked at.
    fn reopen(&mut self) {
        let Some(root) = self.view.open.as_ref().map(|open| open.root.clone()) else {
            return;
        };
        let index = self.view.shown.as_ref().map(|shown| shown.index);
        let (done, trouble) = (self.view.done.take(), self.view.trouble.take());
        let findings = self.view.findings.take();
        self.close();
        match Show::open(&root) {
            Ok(show) => self.take(show),
            Err(error) => {
                self.view.trouble = Some(error.to_string());
                return;
            }
        }
        if let Some(index) = index.filter(|index| *index < self.lines.len()) {
            self.show_episode(index);
        }
        self.view.done = done;
        self.view.findings = findings;
        self.view.trouble = trouble.or(self.view.trouble.take());
    }

    fn show_episode(&mut self, index: usize) {
        self.seek = None;
        let Some(show) = &self.show else {
            return;
        };
        match show.episode(index) {
            Ok(episode) => {
                // The joints are there at once; the pictures follow.
                self.seek = Some(0);
                self.view.shown = Some(Arc::new(episode));
                self.view.trouble = None;
            }
            Err(error) => self.view.trouble = Some(error.to_string()),
        }
    }

    /// Reads the pictures at the wanted row.
    fn look(&mut self) {
        let row = self.seek.take();
        let (Some(row), Some(show), Some(shown)) = (row, &mut self.show, &self.view.shown) else {
            return;
        };
        if row < shown.rows {
            let next = show.at_row(shown, row, &mut self.seq);
            self.view.shown = Some(Arc::new(next));
            self.publish();
        }
    }

    /// Makes one small picture; false when all are made.
    fn cover(&mut self) -> bool {
        let Some(show) = &mut self.show else {
            return false;
        };
        self.seq += 1;
        let goes_on = show.cover_next(&mut self.lines, self.seq);
        let waited = self.clock.now().saturating_sub(self.shown_at);
        if !goes_on || waited >= COVERS {
            self.view.episodes = self.lines.clone().into();
            self.publish();
        }
        goes_on
    }

    /// Starts what takes long.
    fn begin(&mut self, order: LibraryOrder, reports: &Sender<Event>) {
        if let Some((what, _)) = &self.view.doing {
            let what = what.clone();
            self.view.trouble = Some(format!("Wait for what is being done: {what}"));
            return;
        }
        let open = self.view.open.as_ref().map(|open| open.root.clone());
        let task = match Task::of(order, open, &self.places, &self.loader) {
            Ok(task) => task,
            Err(why) => {
                self.view.trouble = Some(why);
                return;
            }
        };
        self.view.trouble = None;
        self.view.done = None;
        let (what, edits) = (task.what().to_owned(), task.edits());
        if edits {
            // On some systems a file that is open cannot be replaced.
            self.show = None;
        }
        match task.start(reports, &self.cancel) {
            Ok(()) => {
                self.edits = edits;
                self.view.doing = Some((what, None));
            }
            Err(why) => self.view.trouble = Some(why),
        }
    }

    fn hear(&mut self, report: Report) {
        match report {
            Report::Progress(what, share) => {
                if self.view.doing.is_some() {
                    self.view.doing = Some((what, share));
                }
            }
            Report::Over(outcome) => {
                self.view.doing = None;
                match outcome {
                    Ok(outcome) => self.settle(outcome),
                    Err(why) if why == CANCELLED => {
                        self.view.done = Some("Cancelled".to_owned());
                    }
                    Err(why) => self.view.trouble = Some(why),
                }
                if std::mem::take(&mut self.edits) {
                    self.reopen();
                }
                self.refresh_all();
            }
        }
        self.publish();
    }

    fn settle(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Done(words) => self.view.done = Some(words),
            Outcome::Made(root) => {
                self.places.visit(&root);
                if self.view.open.is_none() {
                    self.open(&root);
                }
                self.view.done = Some(format!("It is in {}", root.display()));
            }
            Outcome::Checked(findings) => self.view.findings = Some(findings.into()),
            Outcome::Compared {
                episode,
                predictions,
                error,
            } => {
                let shown = self.view.shown.as_ref();
                // A person may have gone on to another one meanwhile.
                if let Some(shown) = shown.filter(|shown| shown.index == episode) {
                    let next = with_answers(shown, predictions, error);
                    self.view.shown = Some(Arc::new(next));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
