//! The thread that ends an episode which was kept: waits for its encoders, and commits its journal, so that it is safe within
//! moments however many episodes wait to be saved before it.

use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use crate::dataset::journal::{Commit, Journal};
use crate::dataset::recorder::board::Board;
use crate::dataset::recorder::take::Take;
use crate::dataset::{Disk, Error, Outcome};
use crate::priority::{self, Urgency};

/// How often the encoders' backlog is looked at, for the bar.
const LOOK: Duration = Duration::from_millis(20);
/// Share of a save that is done when its journal is committed.
pub const COMMITTED: f32 = 0.5;

/// What is to be ended or passed on.
pub enum Kept {
    /// An episode that has just been kept; its encoders still have work.
    Take(Box<Take>, Outcome),
    /// One that lies whole in its journal.
    Journal(Journal, Commit),
    /// The last: nothing but the data set is to stay.
    Tidy,
}

/// What is to be saved.
pub enum Job {
    Save(Journal, Commit),
    Tidy,
}

/// The thread's end.
pub struct Settler {
    pub disk: Disk,
    pub board: Board,
    /// The way to the thread that saves.
    pub jobs: Sender<Job>,
}

impl Settler {
    pub fn work(self, kept: &Receiver<Kept>) {
        priority::claim(Urgency::Usual);
        while let Ok(kept) = kept.recv() {
            let job = match kept {
                Kept::Tidy => Job::Tidy,
                Kept::Journal(journal, commit) => Job::Save(journal, commit),
                Kept::Take(take, outcome) => match self.settle(*take, outcome) {
                    Some((journal, commit)) => Job::Save(journal, commit),
                    None => continue,
                },
            };
            if self.jobs.send(job).is_err() {
                // What is committed is saved by the next to open the data set.
                log::error!("the thread that saves episodes is gone");
                return;
            }
        }
    }

    /// Waits for the encoders and commits the journal; `None` when it could not be, and is offered to be recovered.
    fn settle(&self, take: Take, outcome: Outcome) -> Option<(Journal, Commit)> {
        let id = take.journal.id().to_owned();
        let all = take.waiting().max(1);
        while let waiting @ 1.. = take.waiting() {
            let done = 1.0 - waiting as f32 / all as f32;
            self.board.progress(&id, "encoding", COMMITTED * done);
            thread::sleep(LOOK);
        }
        let mut finished = take.finish();
        let committed = match finished.fault.take() {
            Some(fault) => Err(fault),
            None => self.commit(&finished.journal, finished.given(), outcome),
        };
        match committed {
            Ok(commit) => {
                self.board.progress(&id, "waiting", COMMITTED);
                Some((finished.journal, commit))
            }
            Err(error) => {
                log::error!("an episode is not kept: {error}");
                finished.fault = Some(error);
                let left = finished.interrupted();
                let error = finished.fault.as_ref()?;
                self.board.failed(&id, left, error);
                None
            }
        }
    }

    fn commit(&self, journal: &Journal, rows: u64, outcome: Outcome) -> Result<Commit, Error> {
        let commit = Commit { rows, outcome };
        journal.commit(commit, &self.disk)?;
        Ok(commit)
    }
}
