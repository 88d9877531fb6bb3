//! The thread that turns journals into episodes of the data set, one after another, while the next episode runs.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::dataset::journal::{Commit, Journal, Shelf};
use crate::dataset::recorder::board::Board;
use crate::dataset::recorder::film::episode;
use crate::dataset::recorder::settler::{COMMITTED, Job, Kept, Settler};
use crate::dataset::recorder::take::Take;
use crate::dataset::save::Store;
use crate::dataset::{Disk, Error, Outcome, Plan};
use crate::priority::{self, Urgency};

/// Episodes whose encoders may have work before keeping another one waits.
const KEPT: usize = 4;
/// Episodes that may lie in their journals before keeping another one waits.
const COMMITTED_ONES: usize = 1024;
/// Share of a save that is done when the films are made.
const FILMED: f32 = 0.9;

/// The way to the threads that end and save episodes. Dropping it waits until everything that was asked for is done.
#[derive(Debug)]
pub struct Saver {
    board: Board,
    /// Dropped to end the threads.
    kept: Option<Sender<Kept>>,
    threads: Vec<JoinHandle<()>>,
}

impl Saver {
    /// Starts the threads, which own the store from now on.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(store: Store, plan: &Plan, disk: &Disk, board: &Board) -> Result<Self, Error> {
        let (kept, is_kept) = bounded(KEPT);
        let (jobs, waiting) = bounded(COMMITTED_ONES);
        let settler = Settler {
            disk: disk.clone(),
            board: board.clone(),
            jobs,
        };
        let desk = Desk {
            shelf: Shelf::new(&plan.root, disk),
            plan: plan.clone(),
            disk: disk.clone(),
            board: board.clone(),
            store: Some(store),
        };
        let threads = [
            start("settler", move || settler.work(&is_kept)),
            start("saver", move || desk.work(&waiting)),
        ];
        let threads = threads.into_iter().collect::<io::Result<_>>();
        let refused = |error| {
            Error::Ended(format!(
                "the system gives no thread to save episodes on: {error}"
            ))
        };
        Ok(Self {
            board: board.clone(),
            kept: Some(kept),
            threads: threads.map_err(refused)?,
        })
    }

    /// Has an episode saved; returns the number that it will have.
    pub fn keep(&self, take: Take, outcome: Outcome) -> usize {
        let id = take.journal.id().to_owned();
        let episode = self.board.queue(&id);
        self.ask(&id, Kept::Take(Box::new(take), outcome));
        episode
    }

    /// Has a committed journal saved.
    pub fn save(&self, journal: Journal, commit: Commit) -> usize {
        let id = journal.id().to_owned();
        let episode = self.board.queue(&id);
        self.ask(&id, Kept::Journal(journal, commit));
        episode
    }

    fn ask(&self, id: &str, kept: Kept) {
        let way = self.kept.as_ref();
        let is_sent = way.is_some_and(|way| way.send(kept).is_ok());
        if !is_sent {
            let gone = "the threads that save episodes are gone; open the data set again to save what was kept";
            let gone = Error::Ended(gone.to_owned());
            self.board.failed(id, None, &gone);
        }
    }

    /// Waits until everything that was asked for is done, and leaves nothing but the data set and what can be recovered.
    pub fn close(&mut self) {
        if let Some(kept) = &self.kept {
            // Threads that are gone leave what they leave.
            kept.send(Kept::Tidy).ok();
        }
        self.settle();
    }

    /// Waits until everything that was asked for is done; nothing more can be asked.
    fn settle(&mut self) {
        self.kept = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                log::error!("a thread that saves episodes had panicked");
            }
        }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.settle();
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// The saving thread's end.
struct Desk {
    plan: Plan,
    disk: Disk,
    shelf: Shelf,
    board: Board,
    /// `None` after a fault: what is on disk is read again before it is built upon.
    store: Option<Store>,
}

impl Desk {
    fn work(mut self, waiting: &Receiver<Job>) {
        // Saving can wait; the arm cannot.
        priority::claim(Urgency::Patient);
        while let Ok(job) = waiting.recv() {
            match job {
                Job::Save(journal, commit) => self.take_on(&journal, commit),
                Job::Tidy => self.tidy(),
            }
        }
    }

    fn take_on(&mut self, journal: &Journal, commit: Commit) {
        let saved = catch_unwind(AssertUnwindSafe(|| self.save(journal, commit)));
        let saved = saved.unwrap_or_else(|_| {
            let why = "saving the episode panicked; see the log. It can be recovered";
            Err(Error::Ended(why.to_owned()))
        });
        match saved {
            Ok((episodes, frames)) => {
                if let Err(error) = self.shelf.remove(journal.folder()) {
                    // The episode is in the data set, which knows the journal by its id when it is opened again.
                    log::warn!("the journal of a saved episode stays: {error}");
                }
                self.board.saved(journal.id(), episodes, frames);
            }
            Err(error) => {
                self.store = None;
                log::error!("an episode is not saved: {error}");
                let whole = journal.whole().ok();
                let left = whole.map(|whole| journal.interrupted(&whole));
                self.board.failed(journal.id(), left, &error);
            }
        }
    }

    /// Makes the episode's films, and puts it into the data set; returns how many episodes and rows that holds now.
    fn save(&mut self, journal: &Journal, commit: Commit) -> Result<(usize, u64), Error> {
        let mut store = match self.store.take() {
            Some(store) => store,
            None => Store::open(&self.plan, &self.disk)?,
        };
        let id = journal.id();
        if !store.contains(id) {
            let told = |stage: &str, from: f32, to: f32, share: f32| {
                self.board.progress(id, stage, from + (to - from) * share);
            };
            let films = |stage: &str, share: f32| told(stage, COMMITTED, FILMED, share);
            let parts = episode(journal, commit, &self.disk, &films)?;
            let mut tables = |stage: &str, share: f32| told(stage, FILMED, 1.0, share);
            store.save_telling(&parts, &mut tables)?;
        }
        let held = (store.episodes(), store.frames());
        self.store = Some(store);
        Ok(held)
    }

    /// Joins the session's films, and removes the folder of the journals if none is left. The store's lock is held meanwhile, so
    /// that no other program begins one there.
    fn tidy(&mut self) {
        let Some(store) = &mut self.store else {
            return;
        };
        if let Err(error) = store.pack() {
            // The data set is whole in its many films. What was begun is written down in that folder and finished at the next opening.
            log::warn!("the films are not joined: {error}");
            return;
        }
        if let Err(error) = self.shelf.close() {
            // The data set is whole; a folder that LeRobot looks past is all that stays.
            log::warn!("the folder of the journals stays: {error}");
        }
    }
}
