//! The episode that runs: rows and pictures go to their files side by side, as many of the one as of each other.

use std::sync::Arc;
use std::time::Duration;

use crate::dataset::journal::{FILLED, Journal, Line, Row, TapeWriter, Whole, repeated_bit};
use crate::dataset::recorder::eye::{self, Waiting};
use crate::dataset::recorder::lane::{Lane, Scribe};
use crate::dataset::recorder::room::Room;
use crate::dataset::{CameraShape, Disk, Error, Interrupted, Outcome, Plan, Running, Step};
use crate::observation::Frame;
use crate::priority::Urgency;

/// An episode on its way into its journal.
#[derive(Debug)]
pub struct Take {
    pub journal: Journal,
    tape: Lane<Line>,
    cameras: Vec<Camera>,
    room: Room,
    tasks: Vec<Arc<str>>,
    /// The instant of the first row, on the runtime's clock.
    begin: Option<Duration>,
    last: Option<Row>,
    rows: u64,
    missed: u64,
}

/// A camera of the episode.
#[derive(Debug)]
struct Camera {
    shape: CameraShape,
    lane: Lane<Waiting>,
    /// The picture of the newest row.
    shown: Option<Frame>,
    /// The number of the newest picture that the camera itself gave.
    seq: Option<u64>,
    repeated: u64,
}

impl Take {
    /// Begins an episode in this journal. Its files are there and its encoders ready when it returns.
    ///
    /// # Errors
    /// An encoder cannot be had, or the disk cannot be written.
    pub fn begin(journal: Journal, plan: &Plan, room: &Room, disk: &Disk) -> Result<Self, Error> {
        let (rows, on) = (journal.rows_path(), disk.clone());
        let tape = Lane::start("journal", Urgency::Usual, move || {
            TapeWriter::create(&rows, &on)
        })?;
        let open = |(index, shape): (usize, &CameraShape)| {
            let path = journal.stream_path(index);
            Ok(Camera {
                shape: shape.clone(),
                lane: eye::watch(plan, shape, path, disk)?,
                shown: None,
                seq: None,
                repeated: 0,
            })
        };
        let cameras = plan.cameras.iter().enumerate().map(open);
        let cameras = cameras.collect::<Result<_, Error>>()?;
        disk.sync_folder(journal.folder())?;
        Ok(Self {
            journal,
            tape,
            cameras,
            room: room.clone(),
            tasks: Vec::new(),
            begin: None,
            last: None,
            rows: 0,
            missed: 0,
        })
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes in its files.
    pub fn bytes(&self) -> u64 {
        let pictures = self.cameras.iter().map(|camera| camera.lane.bytes());
        self.tape.bytes() + pictures.sum::<u64>()
    }

    /// Takes a row, and before it those that were missed since the one before. False when a thread has ended by a fault.
    pub fn push(&mut self, step: &Step) -> bool {
        let missed = if self.last.is_some() { step.missed } else { 0 };
        (0..missed).all(|_| self.fill()) && self.take(step)
    }

    /// Takes the row before once more, for an instant at which nothing was taken.
    fn fill(&mut self) -> bool {
        let Some(mut row) = self.last.clone() else {
            return true;
        };
        self.missed += 1;
        row.repeated = FILLED;
        let nothing = vec![None; self.cameras.len()];
        self.write(row, &nothing)
    }

    fn take(&mut self, step: &Step) -> bool {
        let begin = *self.begin.get_or_insert(step.at);
        let known = self.tasks.iter().position(|task| *task == step.task);
        let task = known.unwrap_or(self.tasks.len());
        if known.is_none() {
            self.tasks.push(Arc::clone(&step.task));
            if !self.tape.give(Line::Task(step.task.to_string())) {
                return false;
            }
        }
        let row = Row::of(step, begin, task as u32);
        self.write(row, &step.frames)
    }

    /// Writes a row and a picture of each camera.
    fn write(&mut self, mut row: Row, frames: &[Option<Frame>]) -> bool {
        let mut all_go = true;
        for (index, camera) in self.cameras.iter_mut().enumerate() {
            let newest = frames.get(index).and_then(Option::as_ref);
            let is_new = camera.look(newest);
            if !is_new {
                row.repeated |= repeated_bit(index);
            }
            all_go &= camera.give(is_new, &self.room);
        }
        all_go &= self.tape.give(Line::Row(Box::new(row.clone())));
        self.last = Some(row);
        self.rows += 1;
        all_go && !self.has_ended()
    }

    fn has_ended(&self) -> bool {
        let encoders = self.cameras.iter().map(|camera| camera.lane.has_ended());
        encoders.fold(self.tape.has_ended(), |any, ended| any || ended)
    }

    /// How it goes, for the view.
    pub fn running(&self, episode: usize) -> Running {
        let repeated = |camera: &Camera| (camera.shape.name.clone(), camera.repeated);
        let waiting = self.cameras.iter().map(|camera| camera.lane.backlog());
        let one = self.cameras.iter().map(|camera| camera.shape.bytes()).max();
        Running {
            episode,
            frames: self.rows,
            length: self.journal.length_of(self.rows),
            missed: self.missed,
            repeated: self.cameras.iter().map(repeated).collect(),
            backlog: (waiting.sum(), self.room.size() / one.unwrap_or(1).max(1)),
        }
    }

    /// Notes how it went, so that a program that ends now leaves it with its verdict.
    pub fn mark(&self, outcome: Outcome) {
        // A lane that has ended says why in `finish`.
        self.tape.give(Line::Outcome(outcome));
    }

    /// Pictures that wait for an encoder; none when a thread has ended by a fault.
    pub fn waiting(&self) -> usize {
        if self.has_ended() {
            return 0;
        }
        self.cameras
            .iter()
            .map(|camera| camera.lane.backlog())
            .sum()
    }

    /// Lets its threads write what waits, and brings all to the disk.
    pub fn finish(self) -> Finished {
        let Self {
            journal,
            tape,
            cameras,
            tasks,
            rows,
            ..
        } = self;
        let mut ended = tape.finish();
        for camera in cameras {
            ended = ended.and(camera.lane.finish());
        }
        let tasks = tasks.iter().map(ToString::to_string).collect();
        let whole = Whole {
            rows,
            tasks,
            outcome: Outcome::Unmarked,
        };
        Finished {
            journal,
            whole,
            fault: ended.err(),
        }
    }
}

/// An episode whose threads have ended.
#[derive(Debug)]
pub struct Finished {
    pub journal: Journal,
    /// What was given to them.
    whole: Whole,
    /// The first fault of a thread; rows that are whole on disk stay there.
    pub fault: Option<Error>,
}

impl Finished {
    /// Rows that were given to its threads.
    pub fn given(&self) -> u64 {
        self.whole.rows
    }

    /// What of it is whole on disk.
    pub fn whole(&self) -> Result<Whole, Error> {
        match self.fault {
            None => Ok(self.whole.clone()),
            Some(_) => self.journal.whole(),
        }
    }

    /// As it is offered to the operator; `None` where not a row is whole.
    pub fn interrupted(&self) -> Option<Interrupted> {
        let whole = self.whole().ok().filter(|whole| whole.rows > 0)?;
        Some(self.journal.interrupted(&whole))
    }
}

impl Camera {
    /// Takes the newest picture that the camera has given, or the last one again, or black; true for a new one.
    fn look(&mut self, newest: Option<&Frame>) -> bool {
        let fresh = newest.filter(|frame| self.seq != Some(frame.seq));
        if let Some(frame) = fresh {
            self.seq = Some(frame.seq);
            self.shown = Some(frame.clone());
            return true;
        }
        self.repeated += 1;
        if self.shown.is_none() {
            self.shown = self.shape.black();
        }
        false
    }

    /// Gives the picture that is shown to the encoder; waits for room.
    fn give(&self, is_new: bool, room: &Room) -> bool {
        let Some(frame) = self.shown.clone() else {
            return false;
        };
        let place = is_new.then(|| room.take(frame.rgb.len()));
        self.lane.give(Waiting { frame, place })
    }
}

impl CameraShape {
    /// Bytes of a picture.
    fn bytes(&self) -> usize {
        self.width as usize * self.height as usize * 3
    }

    fn black(&self) -> Option<Frame> {
        let black = vec![0; self.bytes()];
        Frame::new(self.width, self.height, black, 0, Duration::ZERO)
    }
}

impl Scribe for TapeWriter {
    type Item = Line;

    fn write(&mut self, line: Line) -> Result<usize, Error> {
        Self::write(self, &line)
    }

    fn sync(&mut self) -> Result<(), Error> {
        Self::sync(self)
    }

    fn finish(self) -> Result<(), Error> {
        Self::sync(&self)
    }
}
