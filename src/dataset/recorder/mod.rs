//! Records episodes into a data set, so that nothing that was recorded can be lost.
//!
//! An episode is journalled while it runs; kept, it becomes part of the data set on a thread of its own, while the next one runs
//! already. Each row has one picture of every camera, always: where a camera showed nothing new its last picture is taken
//! again, marked and counted.

mod board;
mod eye;
mod film;
mod lane;
mod room;
mod saver;
mod settler;
mod take;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::dataset::journal::{Commit, Shelf};
use crate::dataset::save::Store;
use crate::dataset::video::LONGEST_FILM;
use crate::dataset::{Disk, DiskView, Error, Interrupted, Outcome, Plan, RecorderView, Step};

use board::Board;
use room::Room;
use saver::Saver;
use take::{Finished, Take};

/// Bytes of pictures that may wait for encoders: 70 of 640x480, whatever the disk and the machine do.
const BACKLOG: usize = 64 << 20;
/// Bytes that are kept free on the disk. An episode that needs them is ended and kept.
const RESERVE: u64 = 500_000_000;
/// When nothing could be taken for so long, what follows is another episode.
const LONGEST_GAP: Duration = Duration::from_secs(10);

/// A data set that is being recorded into. Not for the control loop: its calls may wait for encoders and for the disk.
///
/// Dropped without [`Recorder::close`], it finishes the saves that were asked for and leaves the episode that ran to be
/// recovered.
#[derive(Debug)]
pub struct Recorder {
    plan: Plan,
    disk: Disk,
    shelf: Shelf,
    board: Board,
    room: Room,
    reserve: u64,
    running: Option<Take>,
    discarded: Option<Interrupted>,
    /// Why the last call failed.
    trouble: Option<String>,
    bytes_left: Option<u64>,
    /// Bytes that a second of an episode takes, as far as that is known.
    rate: Option<f64>,
    saver: Saver,
}

impl Recorder {
    /// Opens the plan's data set, or makes it. What an earlier session kept but did not save is saved now, on a thread; what it
    /// did not finish is offered in [`RecorderView::interrupted`].
    ///
    /// # Errors
    /// The folder is written to by somebody else, holds a data set that was recorded otherwise, or cannot be written.
    pub fn open(plan: Plan) -> Result<Self, Error> {
        Self::open_on(plan, Disk::new())
    }

    /// The same on a disk that may fail.
    ///
    /// # Errors
    /// As [`Recorder::open`].
    pub fn open_on(plan: Plan, disk: Disk) -> Result<Self, Error> {
        let store = Store::open(&plan, &disk)?;
        let board = Board::default();
        board.with(|state| (state.episodes, state.frames) = (store.episodes(), store.frames()));
        let saver = Saver::start(store, &plan, &disk, &board)?;
        let mut recorder = Self {
            shelf: Shelf::new(&plan.root, &disk),
            room: Room::new(BACKLOG),
            reserve: RESERVE,
            running: None,
            discarded: None,
            trouble: None,
            bytes_left: None,
            rate: None,
            plan,
            disk,
            board,
            saver,
        };
        recorder.take_up()?;
        recorder.look_at_disk();
        Ok(recorder)
    }

    /// Takes up what an earlier session left: saves what it kept, and offers the rest.
    fn take_up(&mut self) -> Result<(), Error> {
        if let Err(error) = self.shelf.sweep() {
            log::warn!("journals that are done with stay: {error}");
        }
        let left = self.shelf.look()?;
        for folder in left.empty {
            if let Err(error) = self.shelf.remove(&folder) {
                log::warn!("an empty journal stays: {error}");
            }
        }
        for (id, error) in left.unreadable {
            log::warn!("a journal cannot be read: {error}");
            let task = format!("cannot be read: {error}");
            self.offer(Interrupted {
                id,
                task,
                ..Interrupted::default()
            });
        }
        for found in left.found {
            let fits = found.journal.fits(&self.plan);
            match found.commit.filter(|_| fits) {
                Some(commit) => {
                    self.saver.save(found.journal, commit);
                }
                None => self.offer(found.journal.interrupted(&found.whole)),
            }
        }
        let discarded = self.shelf.discarded();
        self.discarded = discarded.map(|found| found.journal.interrupted(&found.whole));
        Ok(())
    }

    fn offer(&self, interrupted: Interrupted) {
        self.board.with(|state| state.interrupted.push(interrupted));
    }

    /// Begins an episode; its first row is the next [`Recorder::push`].
    ///
    /// # Errors
    /// One runs already, the disk is nearly full, or cannot be written.
    pub fn begin(&mut self) -> Result<(), Error> {
        let begun = self.try_begin();
        self.told(begun)
    }

    fn try_begin(&mut self) -> Result<(), Error> {
        if self.running.is_some() {
            let why = "an episode is being recorded: keep or discard it before another begins";
            return Err(Error::Ended(why.to_owned()));
        }
        self.look_at_disk();
        self.check_room()?;
        self.shelf.empty_trash()?;
        self.discarded = None;
        let episode = self.board.with(|state| state.next_episode());
        let journal = self.shelf.begin(&self.plan, episode)?;
        let folder = journal.folder().to_owned();
        match Take::begin(journal, &self.plan, &self.room, &self.disk) {
            Ok(take) => {
                self.running = Some(take);
                Ok(())
            }
            Err(error) => {
                // It holds nothing; the next to open the data set removes it if it cannot be removed now.
                self.shelf.remove(&folder).ok();
                Err(error)
            }
        }
    }

    /// Takes a row, and before it fills those that were [`Step::missed`], except before the first row. Waits while an encoder
    /// is behind; drops nothing.
    ///
    /// # Errors
    /// None runs; or the one that ran has been ended: kept, because the disk is nearly full or the episode is too long, or left
    /// to be recovered, because the disk or an encoder failed. The error says which, and so does [`RecorderView::trouble`].
    pub fn push(&mut self, step: Step) -> Result<(), Error> {
        if self.running.is_none() {
            // Why it runs no more is told already, and stays so while the control loop has not heard of it.
            return Err(none_runs());
        }
        let taken = self.try_push(&step);
        drop(step);
        if let Err(error) = &taken {
            self.trouble = Some(error.to_string());
        }
        taken
    }

    fn try_push(&mut self, step: &Step) -> Result<(), Error> {
        let Some(take) = &mut self.running else {
            return Err(none_runs());
        };
        let rows_in = |time: Duration| time.as_secs() * u64::from(self.plan.fps);
        if take.rows() > 0 && u64::from(step.missed) > rows_in(LONGEST_GAP) {
            let why = format!(
                "nothing was taken for more than {} s",
                LONGEST_GAP.as_secs()
            );
            return Err(self.end(&why));
        }
        if take.rows() + u64::from(step.missed) >= rows_in(LONGEST_FILM) {
            let why = format!(
                "it was {} s long, the most that LeRobot can read",
                LONGEST_FILM.as_secs()
            );
            return Err(self.end(&why));
        }
        if !take.push(step) {
            return Err(self.interrupt());
        }
        if take.rows().is_multiple_of(u64::from(self.plan.fps.max(1))) {
            self.measure();
            if let Err(error) = self.check_room() {
                let why = error.to_string();
                return Err(self.end(&why));
            }
        }
        Ok(())
    }

    /// Ends the episode by itself and keeps it; returns what is said of that.
    fn end(&mut self, why: &str) -> Error {
        match self.keep_running(Outcome::Unmarked) {
            Ok(episode) => Error::Ended(format!("episode {episode} was ended and kept: {why}")),
            Err(error) => error,
        }
    }

    /// Ends the episode after a fault; returns what is said of that.
    fn interrupt(&mut self) -> Error {
        let Some(take) = self.running.take() else {
            return none_runs();
        };
        self.leave(take.finish())
    }

    /// Offers what is whole of an episode whose threads have ended; returns what is said of that if it was by a fault.
    fn leave(&self, finished: Finished) -> Error {
        let interrupted = finished.interrupted();
        let what = match &interrupted {
            Some(left) => format!("{} rows of it are safe and can be recovered", left.frames),
            None => "it had no whole row yet".to_owned(),
        };
        if let Some(left) = interrupted {
            self.offer(left);
        }
        let why = finished.fault.map_or_else(
            || "one of its threads ended".to_owned(),
            |fault| fault.to_string(),
        );
        Error::Ended(format!("the episode was ended: {why}; {what}"))
    }

    /// Ends the episode and has it saved on a thread; returns the number that it will have. The next one can begin at once.
    /// It is saved when [`RecorderView::saved`] counts it.
    ///
    /// # Errors
    /// None runs, or it has no row (it is then dropped).
    pub fn keep(&mut self, outcome: Outcome) -> Result<usize, Error> {
        let kept = self.keep_running(outcome);
        self.told(kept)
    }

    fn keep_running(&mut self, outcome: Outcome) -> Result<usize, Error> {
        let take = self.running.take().ok_or_else(none_runs)?;
        if take.rows() == 0 {
            let journal = take.finish().journal;
            self.shelf.remove(journal.folder())?;
            return Err(Error::Absent(
                "the episode had no row and was dropped".to_owned(),
            ));
        }
        take.mark(outcome);
        Ok(self.saver.keep(take, outcome))
    }

    /// Drops the episode that runs. Until the next one begins it can be recovered by the id in [`RecorderView::discarded`].
    ///
    /// # Errors
    /// None runs, or the disk cannot be written; the episode is then offered as an interrupted one.
    pub fn discard(&mut self) -> Result<(), Error> {
        let dropped = self.try_discard();
        self.told(dropped)
    }

    fn try_discard(&mut self) -> Result<(), Error> {
        let take = self.running.take().ok_or_else(none_runs)?;
        let finished = take.finish();
        let interrupted = finished.interrupted();
        match self.shelf.discard(&finished.journal) {
            Err(error) if finished.journal.folder().exists() => {
                if let Some(left) = interrupted {
                    self.offer(left);
                }
                Err(error)
            }
            discarded => {
                // It is dropped, though after a lost power it may be back.
                if let Err(error) = discarded {
                    log::warn!("an episode was dropped, perhaps not for good: {error}");
                }
                self.discarded = interrupted;
                Ok(())
            }
        }
    }

    /// Has an interrupted or just discarded episode saved, as far as its rows are whole.
    ///
    /// # Errors
    /// There is none of that id, it was recorded with another plan, or the disk cannot be written.
    pub fn recover(&mut self, id: &str) -> Result<(), Error> {
        let recovered = self.try_recover(id);
        self.told(recovered)
    }

    fn try_recover(&mut self, id: &str) -> Result<(), Error> {
        let is_saving = self.board.with(|state| state.is_saving(id));
        let runs = self
            .running
            .as_ref()
            .is_some_and(|take| take.journal.id() == id);
        if is_saving || runs {
            return Err(Error::Absent(format!("episode {id} is no interrupted one")));
        }
        let found = self.shelf.find(id)?;
        if !found.journal.fits(&self.plan) {
            return Err(Error::Ended(format!(
                "episode {id} was recorded at another rate, with other cameras or other columns than are recorded now; \
                 `smolpilot data recover` takes those that it was recorded with"
            )));
        }
        let whole = found.whole;
        let journal = self.shelf.restore(found.journal)?;
        let commit = Commit {
            rows: whole.rows,
            outcome: found.commit.map_or(whole.outcome, |commit| commit.outcome),
        };
        journal.commit(commit, &self.disk)?;
        self.saver.save(journal, commit);
        let is_this = |left: &Interrupted| left.id == id;
        self.discarded = self.discarded.take().filter(|left| !is_this(left));
        Ok(())
    }

    /// Drops an interrupted episode for good.
    ///
    /// # Errors
    /// There is none of that id, or it cannot be removed.
    pub fn forget(&mut self, id: &str) -> Result<(), Error> {
        let is_left = self
            .board
            .with(|state| state.interrupted.iter().any(|left| left.id == id));
        let forgotten = if is_left {
            self.shelf.forget(id)
        } else {
            Err(Error::Absent(format!(
                "no interrupted episode is called {id:?}"
            )))
        };
        if forgotten.is_ok() {
            self.board.with(|state| {
                state.interrupted.retain(|left| left.id != id);
                state.failed.retain(|failed| failed != id);
            });
        }
        self.told(forgotten)
    }

    /// How it is now.
    pub fn view(&self) -> RecorderView {
        let state = self.board.state();
        let disk = |bytes_left| DiskView {
            bytes_left,
            time_left: self.time_left(bytes_left),
        };
        let next = state.next_episode();
        RecorderView {
            root: Some(self.plan.root.clone()),
            episodes: state.episodes,
            frames: state.frames,
            saved: state.saved,
            running: self.running.as_ref().map(|take| take.running(next)),
            saving: state.saving(),
            interrupted: state.interrupted,
            discarded: self.discarded.clone(),
            disk: self.bytes_left.map(disk),
            trouble: self.trouble.clone().or(state.trouble),
        }
    }

    /// Waits until all that was kept is saved, and gives the data set back. An episode that runs is left to be recovered.
    ///
    /// # Errors
    /// A save failed, or the episode that ran did; what is whole of it stays to be recovered.
    pub fn close(mut self) -> Result<RecorderView, Error> {
        let finished = self.running.take().map(Take::finish);
        let broken = finished.and_then(|finished| {
            let is_broken = finished.fault.is_some();
            let said = self.leave(finished);
            is_broken.then_some(said)
        });
        self.saver.close();
        let mut view = self.view();
        view.discarded = None;
        if let Some(error) = broken {
            return Err(error);
        }
        let failed = self.board.with(|state| !state.failed.is_empty());
        if failed {
            let why = "an episode could not be saved and can be recovered".to_owned();
            return Err(Error::Ended(view.trouble.unwrap_or(why)));
        }
        Ok(view)
    }

    /// What was asked for went right, or is told.
    fn told<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        self.trouble = done.as_ref().err().map(ToString::to_string);
        done
    }

    fn look_at_disk(&mut self) {
        self.bytes_left = self.disk.room_left(&self.plan.root).ok();
    }

    /// Looks what an episode takes, and what is left.
    fn measure(&mut self) {
        self.look_at_disk();
        if let Some(take) = &self.running {
            let seconds = take.rows() as f64 / f64::from(self.plan.fps.max(1));
            self.rate = (seconds > 0.0).then(|| take.bytes() as f64 / seconds);
        }
    }

    fn time_left(&self, bytes_left: u64) -> Option<Duration> {
        let usable = bytes_left.saturating_sub(self.reserve) as f64;
        let rate = self.rate.filter(|rate| *rate > 0.0)?;
        Duration::try_from_secs_f64(usable / rate).ok()
    }

    fn check_room(&self) -> Result<(), Error> {
        match self.bytes_left {
            Some(left) if left < self.reserve => Err(Error::Full {
                root: self.plan.root.clone(),
                left,
                reserve: self.reserve,
            }),
            _ => Ok(()),
        }
    }
}

fn none_runs() -> Error {
    Error::Absent("no episode is being recorded; begin one first".to_owned())
}
