//! How a session goes on by itself: from one phase to the next, an episode after the other.

use std::sync::Arc;
use std::time::Duration;

use crate::dataset::{CameraShape, Outcome, Plan};
use crate::runtime::core::session::grid::Grid;
use crate::runtime::core::{Control, Outputs};
use crate::runtime::{Connection, Mode, RecordOrder, RigOrder, SessionPhase, SessionPlan};

/// How long a camera may take to show its first picture, from which its size is known.
const FIRST_PICTURE: Duration = Duration::from_secs(10);
/// How long an ordered table is waited for.
const TABLE_LIMIT: Duration = Duration::from_secs(3);
/// Actions of a chunk that are kept while no policy is there to say how many it predicts.
const CHUNK_UNKNOWN: usize = 50;

impl Control {
    /// Goes on with what is being recorded.
    pub(in crate::runtime::core) fn go_on_recording(&mut self, outputs: &mut Outputs) {
        self.watch_recorder();
        match self.session.phase {
            SessionPhase::Off | SessionPhase::Ready | SessionPhase::Verdict => {}
            SessionPhase::Opening => self.go_on_opening(outputs),
            SessionPhase::WarmUp | SessionPhase::Reset => {
                if self.wait_is_over() {
                    self.begin_episode(outputs);
                }
            }
            SessionPhase::Recording => self.go_on_with_episode(outputs),
            SessionPhase::Finishing => {
                if self.session.has_closed() {
                    self.session.enter(SessionPhase::Off, self.now, None);
                    self.session.plan = None;
                }
            }
        }
    }

    fn wait_is_over(&self) -> bool {
        let waited = self.now.saturating_sub(self.session.since);
        self.session.limit.is_some_and(|limit| waited >= limit)
    }

    /// Opens the data set as soon as the size of every camera is known, and waits until it is open.
    fn go_on_opening(&mut self, outputs: &mut Outputs) {
        if self.session.watch.is_asked() {
            match self.session.opened(self.now) {
                Some(Ok(())) => self.go_to_first(outputs),
                Some(Err(why)) => self.fail_session(why),
                None => {}
            }
            return;
        }
        let Some(wanted) = self.session.plan.clone() else {
            return;
        };
        match self.plan_for(&wanted) {
            Ok(Some(plan)) => {
                let cameras = plan.cameras.iter().map(|camera| camera.name.clone());
                self.session.cameras = cameras.collect();
                self.session.tell(RecordOrder::Open(Box::new(plan)));
                self.session.ask_to_open(self.now);
            }
            Ok(None) => {}
            Err(why) => self.fail_session(why),
        }
    }

    /// What the recorder is to open; `None` while a camera has shown no picture yet.
    fn plan_for(&self, wanted: &SessionPlan) -> Result<Option<Plan>, String> {
        let names: Vec<&str> = if wanted.cameras.is_empty() {
            self.cameras.iter().map(|it| it.name.as_str()).collect()
        } else {
            wanted.cameras.iter().map(String::as_str).collect()
        };
        let mut cameras = Vec::new();
        for name in names {
            let Some(camera) = self.cameras.iter().find(|it| it.name == name) else {
                return Err(format!(
                    "there is no camera {name}: connect it, or record without it"
                ));
            };
            let Some(frame) = &camera.frame else {
                let waited = self.now.saturating_sub(self.session.since);
                return if waited < FIRST_PICTURE {
                    Ok(None)
                } else {
                    Err(format!(
                        "camera {name} shows no picture: check its plug, or record without it"
                    ))
                };
            };
            cameras.push(CameraShape {
                name: name.to_owned(),
                width: frame.width & !1,
                height: frame.height & !1,
            });
        }
        let predicted = || {
            let spec = self.supervisor.spec();
            spec.map_or(CHUNK_UNKNOWN, |spec| spec.chunk_size)
        };
        Ok(Some(Plan {
            fps: wanted.fps,
            cameras,
            provenance: wanted.provenance,
            chunk: wanted.chunk.then(predicted),
            codec: wanted.codec.clone(),
            ..Plan::new(wanted.root.clone())
        }))
    }

    fn fail_session(&mut self, why: String) {
        self.session.trouble = Some(why);
        self.session.policy_waits = false;
        self.session.enter(SessionPhase::Off, self.now, None);
    }

    fn go_to_first(&mut self, outputs: &mut Outputs) {
        let wait = self.session.plan.as_ref().map(|plan| plan.warm_up);
        self.wait(SessionPhase::WarmUp, wait.unwrap_or_default());
        self.set_the_table(false, outputs);
    }

    /// The episode at hand is over: the next one, or the end.
    pub(super) fn go_to_next(&mut self, outputs: &mut Outputs) {
        let Some(plan) = &self.session.plan else {
            return;
        };
        let is_last = plan.episodes > 0 && self.session.kept >= plan.episodes;
        if self.session.ends || is_last {
            self.finish_session();
            return;
        }
        self.wait(SessionPhase::Reset, plan.reset);
        self.set_the_table(true, outputs);
    }

    /// Waits for so long, or for the operator.
    fn wait(&mut self, phase: SessionPhase, time: Duration) {
        if time == SessionPlan::BY_HAND {
            self.session.enter(SessionPhase::Ready, self.now, None);
        } else {
            self.session.enter(phase, self.now, Some(time));
            // Hands are on the table now.
            self.hold_policy();
        }
    }

    /// The policy drives no further until the next episode begins.
    pub(super) fn hold_policy(&mut self) {
        if self.mode == Mode::Policy {
            self.enter(Mode::Hold);
            self.session.policy_waits = true;
        }
    }

    /// Says the task of the next episode, and on the rig, where the referee ends episodes, lays the table for it.
    fn set_the_table(&mut self, anew: bool, outputs: &mut Outputs) {
        let Some(plan) = &self.session.plan else {
            return;
        };
        let judged = plan.judged;
        let turn = self.session.kept as usize % plan.tasks.len().max(1);
        let task = plan.tasks.get(turn).cloned();
        let is_other = task.as_ref().is_some_and(|task| *task != self.task);
        if let Some(task) = task.filter(|_| is_other) {
            if judged {
                self.order_rig(RigOrder::Lay { task }, outputs);
            } else {
                self.set_task(task);
            }
        }
        let seed = self.rig.view.as_ref().map(|view| view.seed);
        if judged && let Some(seed) = seed {
            let laid = self.laid();
            self.session.watch.orders_table(laid);
            self.session.awaits_table = Some(self.now + TABLE_LIMIT);
            let seed = anew.then(|| seed.wrapping_add(1));
            self.order_rig(RigOrder::Reset { seed }, outputs);
        }
    }

    /// Begins to take rows, unless something is in the way: then the operator is waited for.
    pub(super) fn begin_episode(&mut self, outputs: &mut Outputs) {
        if outputs.rig.iter().any(lays) || self.is_laying() || self.awaits_table() {
            // About a table that is soon no more, there is nothing to record: in a moment.
            if self.session.phase == SessionPhase::Ready {
                self.session
                    .enter(SessionPhase::Reset, self.now, Some(Duration::ZERO));
            }
            return;
        }
        let waits = std::mem::take(&mut self.session.policy_waits);
        let mut why = self.obstacle_to_episode();
        if waits && why.is_none() {
            self.set_mode(Mode::Policy);
            let drives = self.mode == Mode::Policy;
            why = (!drives).then(|| "the policy cannot drive; the fault says why".to_owned());
        }
        if why.is_some() {
            self.session.trouble = why;
            self.session.enter(SessionPhase::Ready, self.now, None);
            return;
        }
        let Some(plan) = &self.session.plan else {
            return;
        };
        let limit = plan.episode_limit.min(SessionPlan::LONGEST);
        self.session.grid = Some(Grid::new(plan.fps));
        self.session.awaits_table = None;
        self.session.unplaced = None;
        self.session.outcome = Outcome::Unmarked;
        self.session.trouble = None;
        let seen = self.session.recorder.as_ref().map(Arc::clone);
        let laid = self.laid();
        self.session.watch.begin_episode(self.now, seen, laid);
        self.session.tell(RecordOrder::Begin);
        self.session
            .enter(SessionPhase::Recording, self.now, Some(limit));
    }

    /// How often the rig's table was laid.
    fn laid(&self) -> Option<u64> {
        self.rig.view.as_ref().map(|view| view.laid)
    }

    /// The table that was ordered is not there yet.
    fn awaits_table(&self) -> bool {
        let is_old = self.session.watch.has_table(self.laid());
        let until = self.session.awaits_table;
        is_old && until.is_some_and(|until| self.now < until)
    }

    fn obstacle_to_episode(&self) -> Option<String> {
        if self.stopped.is_some() {
            return Some("the arm is stopped: press Resume, then record".to_owned());
        }
        if !matches!(self.arm.connection, Connection::Connected { .. }) {
            return Some("no arm is connected: its pose could not be recorded".to_owned());
        }
        self.task.trim().is_empty().then(|| {
            "there is no task: say in words what the arm does, a policy is trained with it"
                .to_owned()
        })
    }

    fn go_on_with_episode(&mut self, outputs: &mut Outputs) {
        if let Some(why) = self.interruption() {
            self.break_off(why);
            return;
        }
        if let Some((trouble, kept)) = self.session.ended_by_recorder(self.now) {
            self.session.kept += u32::from(kept);
            self.session.grid = None;
            self.session.trouble = Some(trouble);
            self.session.enter(SessionPhase::Ready, self.now, None);
            return;
        }
        let is_judged = self.session.plan.as_ref().is_some_and(|plan| plan.judged);
        if is_judged && self.is_done() {
            self.session.outcome = Outcome::Success;
            self.keep(outputs);
        } else if self.wait_is_over() {
            if is_judged && self.session.outcome == Outcome::Unmarked {
                self.session.outcome = Outcome::Failure;
            }
            self.keep(outputs);
        }
    }

    /// Why the episode does not go on, if so: a pose that cannot be read, or an arm that was stopped, is no demonstration.
    fn interruption(&self) -> Option<String> {
        match &self.arm.connection {
            Connection::Connected { .. } => {}
            Connection::Lost(why) => return Some(format!("the arm was lost: {why}")),
            _ => return Some("the arm was disconnected".to_owned()),
        }
        if !self.session.watch.has_table(self.laid()) {
            return Some("the table was laid anew".to_owned());
        }
        let stopped = self.stopped.as_ref()?;
        // A moment's stall is a gap in the rows, which is counted.
        let goes_on = self.stall.goes_on_in.is_some();
        (!goes_on).then(|| format!("the arm was stopped by {}", stopped.by))
    }

    /// The referee saw the task done in this episode.
    fn is_done(&self) -> bool {
        let done = self.rig.view.as_ref().and_then(|view| view.done_since);
        done.is_some_and(|done| done > self.session.since)
    }

    /// No more rows: the operator says what becomes of the episode.
    pub(super) fn break_off(&mut self, why: String) {
        if self.session.rows() == 0 {
            self.discard();
            self.session.trouble = Some(why);
            if self.session.ends {
                self.finish_session();
            } else {
                self.session.enter(SessionPhase::Ready, self.now, None);
            }
            return;
        }
        self.session.trouble = Some(why);
        self.session.enter(SessionPhase::Verdict, self.now, None);
    }

    /// Keeps the episode at hand. One without a row is nothing to keep.
    pub(super) fn keep(&mut self, outputs: &mut Outputs) {
        if self.session.rows() == 0 {
            self.discard();
        } else {
            let outcome = self.session.outcome;
            self.session.place_last();
            self.session.tell(RecordOrder::Keep(outcome));
            self.session.grid = None;
            self.session.trouble = None;
            self.session.kept += 1;
        }
        self.go_to_next(outputs);
    }

    /// Drops the episode at hand.
    pub(super) fn discard(&mut self) {
        self.session.unplaced = None;
        self.session.watch.took();
        self.session.tell(RecordOrder::Discard);
        self.session.grid = None;
        self.session.trouble = None;
    }

    /// Has the data set closed. An episode that was neither kept nor dropped can be recovered.
    pub(super) fn finish_session(&mut self) {
        self.session.policy_waits = false;
        self.session.grid = None;
        self.session.place_last();
        self.session.tell(RecordOrder::Close);
        self.session.ask_to_close();
        self.session.enter(SessionPhase::Finishing, self.now, None);
    }
}

/// Another table comes of this order.
fn lays(order: &RigOrder) -> bool {
    matches!(order, RigOrder::Reset { .. } | RigOrder::Lay { .. })
}
