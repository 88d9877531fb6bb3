//! The thread that turns journals into episodes of the data set, one after another, while the next episode runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::dataset::journal::{Commit, Journal, Shelf};
use crate::dataset::recorder::board::Board;
use crate::dataset::recorder::film::episode;
use crate::dataset::recorder::take::Take;
use crate::dataset::save::Store;
use crate::dataset::{Disk, Error, Outcome, Plan};
use crate::priority::{self, Urgency};

/// Episodes that may wait to be saved before keeping another one waits, too.
const WAITING: usize = 16;
/// How often the encoders' backlog is looked at, for the bar.
const LOOK: Duration = Duration::from_millis(20);

/// What is to be saved.
enum Job {
    /// An episode that has just been kept; its encoders still have work.
    Keep(Box<Take>, Outcome),
    /// One that lies whole in its journal.
    Journal(Journal, Commit),
    /// The last: nothing but the data set is to stay.
    Tidy,
}

/// The way to the thread. Dropping it waits until everything that was asked for is done.
#[derive(Debug)]
pub struct Saver {
    board: Board,
    /// Dropped to end the thread.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    /// Starts the thread, which owns the store from now on.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(store: Store, plan: &Plan, disk: &Disk, board: &Board) -> Result<Self, Error> {
        let (jobs, waiting) = bounded(WAITING);
        let desk = Desk {
            shelf: Shelf::new(&plan.root, disk),
            plan: plan.clone(),
            disk: disk.clone(),
            board: board.clone(),
            store: Some(store),
        };
        let spawned = thread::Builder::new()
            .name("saver".to_owned())
            .spawn(move || desk.work(&waiting));
        let thread = spawned.map_err(|error| {
            Error::Ended(format!(
                "the system gives no thread to save episodes on: {error}"
            ))
        })?;
        Ok(Self {
            board: board.clone(),
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Has an episode saved; returns the number that it will have.
    pub fn keep(&self, take: Take, outcome: Outcome) -> usize {
        let episode = self.board.queue(take.journal.id());
        self.ask(Job::Keep(Box::new(take), outcome));
        episode
    }

    /// Has a committed journal saved.
    pub fn save(&self, journal: Journal, commit: Commit) -> usize {
        let episode = self.board.queue(journal.id());
        self.ask(Job::Journal(journal, commit));
        episode
    }

    fn ask(&self, job: Job) {
        let jobs = self.jobs.as_ref();
        let is_sent = jobs.is_some_and(|jobs| jobs.send(job).is_ok());
        if !is_sent {
            let gone = Error::Ended(
                "the thread that saves episodes is gone; start again to save what was kept"
                    .to_owned(),
            );
            self.board.failed(None, &gone);
        }
    }
}

impl Saver {
    /// Waits until everything that was asked for is done, and leaves nothing but the data set and what can be recovered.
    pub fn close(&mut self) {
        if let Some(jobs) = &self.jobs {
            // A thread that is gone leaves what it leaves.
            jobs.send(Job::Tidy).ok();
        }
        self.settle();
    }

    /// Waits until everything that was asked for is done; nothing more can be asked.
    fn settle(&mut self) {
        self.jobs = None;
        if self
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            log::error!("the thread that saves episodes had panicked");
        }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.settle();
    }
}

/// The thread's end.
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
            self.take_on(job);
        }
    }

    fn take_on(&mut self, job: Job) {
        let (journal, commit) = match job {
            Job::Tidy => return self.tidy(),
            Job::Journal(journal, commit) => (journal, commit),
            Job::Keep(take, outcome) => match self.settle(*take, outcome) {
                Some(settled) => settled,
                None => return,
            },
        };
        let saved = catch_unwind(AssertUnwindSafe(|| self.save(&journal, commit)));
        let saved = saved.unwrap_or_else(|_| {
            Err(Error::Ended(
                "saving the episode panicked; see the log. It can be recovered".to_owned(),
            ))
        });
        match saved {
            Ok((episodes, frames)) => {
                if let Err(error) = self.shelf.remove(journal.folder()) {
                    // The episode is in the data set, which knows the journal by its id when it is opened again.
                    log::warn!("the journal of a saved episode stays: {error}");
                }
                self.board.saved(episodes, frames);
            }
            Err(error) => {
                self.store = None;
                log::error!("an episode is not saved: {error}");
                let whole = journal.whole().ok();
                let left = whole.map(|whole| journal.interrupted(&whole));
                self.board.failed(left, &error);
            }
        }
    }

    /// Removes the folder of the journals if none is left. The store's lock is held meanwhile, so that no other program begins
    /// one there.
    fn tidy(&self) {
        let Some(_) = &self.store else {
            return;
        };
        if let Err(error) = self.shelf.close() {
            // The data set is whole; a folder that LeRobot looks past is all that stays.
            log::warn!("the folder of the journals stays: {error}");
        }
    }

    /// Waits for the encoders and commits the journal; `None` when it could not be, and is offered to be recovered.
    fn settle(&self, take: Take, outcome: Outcome) -> Option<(Journal, Commit)> {
        let all = take.waiting();
        while let waiting @ 1.. = take.waiting() {
            let done = 1.0 - waiting as f32 / all.max(1) as f32;
            self.board.progress("encoding", 0.5 * done);
            thread::sleep(LOOK);
        }
        let finished = take.finish();
        let committed = match &finished.fault {
            Some(fault) => Err(Error::Ended(fault.to_string())),
            None => finished.whole().and_then(|whole| {
                let rows = whole.rows;
                let commit = Commit { rows, outcome };
                finished.journal.commit(commit, &self.disk).map(|()| commit)
            }),
        };
        match committed {
            Ok(commit) => Some((finished.journal, commit)),
            Err(error) => {
                log::error!("an episode is not kept: {error}");
                self.board.failed(finished.interrupted(), &error);
                None
            }
        }
    }

    /// Makes the episode's films, and puts it into the data set; returns how many episodes and rows that holds now.
    fn save(&mut self, journal: &Journal, commit: Commit) -> Result<(usize, u64), Error> {
        let mut store = match self.store.take() {
            Some(store) => store,
            None => Store::open(&self.plan, &self.disk)?,
        };
        if !store.contains(journal.id()) {
            let films = |stage: &str, share: f32| self.board.progress(stage, 0.5 + 0.4 * share);
            let parts = episode(journal, commit, &self.disk, &films)?;
            let mut tables =
                |stage: &str, share: f32| self.board.progress(stage, 0.9 + 0.1 * share);
            store.save_telling(&parts, &mut tables)?;
        }
        let held = (store.episodes(), store.frames());
        self.store = Some(store);
        Ok(held)
    }
}
