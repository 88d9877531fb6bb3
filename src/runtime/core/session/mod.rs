//! The recording session: when rows are taken, what becomes of an episode, and what the operator is waited for. The files are
//! written elsewhere; what is ordered there and what is told from there crosses in plain data.

mod flow;
mod grid;
mod order;
mod row;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use self::grid::Grid;
use self::watch::Watch;
use crate::dataset::{Outcome, RecorderView, Step};
use crate::runtime::core::Control;
use crate::runtime::{RecordOrder, SessionPhase, SessionPlan, SessionView};

/// A session as the core keeps it.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// How the recorder is; `None` where there is no recorder.
    recorder: Option<Arc<RecorderView>>,
    phase: SessionPhase,
    since: Duration,
    limit: Option<Duration>,
    plan: Option<Box<SessionPlan>>,
    /// The cameras that are recorded, in the order of the data set.
    cameras: Vec<String>,
    kept: u32,
    outcome: Outcome,
    trouble: Option<String>,
    /// Record no more after the episode at hand.
    ends: bool,
    /// The policy drove when a wait began, and drives again when it is over.
    pub policy_waits: bool,
    /// The rig's table was ordered anew, and is waited for until then.
    awaits_table: Option<Duration>,
    /// The rows of the episode at hand.
    grid: Option<Grid>,
    /// The task of the row before, so that equal tasks share their words.
    task: Arc<str>,
    /// The last row, while it has found no place: no row after it makes up for it, if it stays the last.
    unplaced: Option<Box<Step>>,
    watch: Watch,
    /// What the recorder is still to be told, oldest first.
    outbox: VecDeque<RecordOrder>,
}

impl Session {
    /// Takes in how the recorder is.
    pub fn hear(&mut self, recorder: Option<Arc<RecorderView>>) {
        self.recorder = recorder;
    }

    /// What the window sees; `None` where nothing can be recorded.
    pub fn view(&self) -> Option<Arc<SessionView>> {
        let recorder = self.recorder.as_deref()?;
        Some(Arc::new(SessionView {
            phase: self.phase,
            since: self.since,
            limit: self.limit,
            kept: self.kept,
            wanted: self.plan.as_ref().map_or(0, |plan| plan.episodes),
            outcome: self.outcome,
            plan: self.plan.as_deref().cloned(),
            recorder: recorder.clone(),
            trouble: self.trouble.clone(),
        }))
    }

    /// There is an episode that is to be kept or dropped.
    fn has_episode(&self) -> bool {
        matches!(self.phase, SessionPhase::Recording | SessionPhase::Verdict)
    }

    /// Rows that the episode at hand has, those that were missed included.
    fn rows(&self) -> u64 {
        self.grid.map_or(0, |grid| grid.rows())
    }

    fn enter(&mut self, phase: SessionPhase, now: Duration, limit: Option<Duration>) {
        (self.phase, self.since, self.limit) = (phase, now, limit);
    }

    /// No row comes any more: the last one waits for a place, so that the episode is as long as it was.
    fn place_last(&mut self) {
        self.watch.took();
        if let Some(step) = self.unplaced.take() {
            self.tell(RecordOrder::Step(step));
        }
    }

    fn tell(&mut self, order: RecordOrder) {
        self.outbox.push_back(order);
    }
}

impl Control {
    /// Hands what was ordered, and the row of this tick, to the recorder as far as it takes them. A row that it has no room for
    /// is missed; anything else waits for room.
    pub fn hand_over(&mut self, mut take: impl FnMut(RecordOrder) -> Result<(), RecordOrder>) {
        let session = &mut self.session;
        while let Some(order) = session.outbox.pop_front() {
            let is_row = matches!(order, RecordOrder::Step(_));
            match take(order) {
                Ok(()) if is_row => {
                    session.watch.took();
                    session.unplaced = None;
                }
                Ok(()) => {}
                Err(RecordOrder::Step(step)) if session.outbox.is_empty() => {
                    session.watch.refused(self.now, u64::from(step.missed) + 1);
                    if let Some(grid) = &mut session.grid {
                        grid.give_back(step.missed);
                        session.unplaced = (grid.rows() > 0).then_some(step);
                    }
                }
                Err(order) => {
                    session.outbox.push_front(order);
                    break;
                }
            }
        }
    }
}
