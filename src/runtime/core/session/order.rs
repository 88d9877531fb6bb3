//! What each wish of the operator does to the session.

use crate::dataset::Outcome;
use crate::runtime::core::{Control, Outputs};
use crate::runtime::fault_book::words;
use crate::runtime::{FaultKind, RecordOrder, SessionOrder, SessionPhase, SessionPlan};

/// Rates that a session may record at, rows a second.
const RATES: std::ops::RangeInclusive<u32> = 1..=120;

impl Control {
    /// Does what the operator asks of the recording.
    pub(in crate::runtime::core) fn order_session(
        &mut self,
        order: SessionOrder,
        outputs: &mut Outputs,
    ) {
        if self.session.recorder.is_none() {
            let remedy = "Open the window, or start with --record DIR.";
            self.refuse_order("there is no recorder in this run", remedy);
            return;
        }
        match order {
            SessionOrder::Begin(plan) => self.begin_session(plan, outputs),
            SessionOrder::Record => self.record_now(outputs),
            SessionOrder::Keep if self.session.has_episode() => self.keep(outputs),
            SessionOrder::Discard if self.session.has_episode() => {
                self.discard();
                if self.session.ends {
                    self.finish_session();
                } else {
                    self.session.enter(SessionPhase::Ready, self.now, None);
                }
            }
            SessionOrder::Redo if self.session.has_episode() => {
                self.discard();
                self.go_to_next(outputs);
            }
            SessionOrder::Mark(outcome) if self.session.has_episode() => {
                self.session.outcome = outcome;
            }
            SessionOrder::Skip => self.skip(outputs),
            // Said twice, or when there is nothing left to say it of.
            SessionOrder::Keep
            | SessionOrder::Discard
            | SessionOrder::Redo
            | SessionOrder::Mark(_) => {}
            SessionOrder::Recover(id) => self.session.tell(RecordOrder::Recover(id)),
            SessionOrder::Forget(id) => self.session.tell(RecordOrder::Forget(id)),
            SessionOrder::End => self.end_session(),
        }
    }

    fn refuse_order(&mut self, why: &str, remedy: &str) {
        let told = words(format!("nothing was recorded: {why}"), remedy);
        self.faults
            .flash(self.now, FaultKind::Session, "order", told);
    }

    fn begin_session(&mut self, plan: Box<SessionPlan>, outputs: &mut Outputs) {
        if self.session.phase != SessionPhase::Off {
            self.refuse_order("a session runs already", "End it first.");
            return;
        }
        if !RATES.contains(&plan.fps) {
            self.refuse_order(
                &format!("{} rows a second is no rate", plan.fps),
                "Choose 1 to 120, usually 30.",
            );
            return;
        }
        let judged = plan.judged;
        if judged && self.rig.view.is_none() {
            self.refuse_order(
                "only the simulated rig has a referee",
                "End episodes yourself, or fly the rig.",
            );
            return;
        }
        self.session.plan = Some(plan);
        (self.session.kept, self.session.ends) = (0, false);
        self.session.trouble = None;
        self.session.outcome = Outcome::Unmarked;
        self.session
            .watch
            .begin_session(self.session.recorder.as_ref());
        self.session.enter(SessionPhase::Opening, self.now, None);
        if judged {
            // The rig lays its table when the session says so, and at no other time.
            self.order_rig(crate::runtime::RigOrder::Repeat(false), outputs);
            self.hold_policy();
        }
    }

    fn record_now(&mut self, outputs: &mut Outputs) {
        match self.session.phase {
            SessionPhase::Off | SessionPhase::Finishing => {
                self.refuse_order("no session runs", "Begin one first.");
            }
            // As soon as it is open.
            SessionPhase::Opening => {
                if let Some(plan) = &mut self.session.plan {
                    plan.warm_up = std::time::Duration::ZERO;
                }
            }
            SessionPhase::Ready | SessionPhase::WarmUp | SessionPhase::Reset => {
                self.begin_episode(outputs);
            }
            SessionPhase::Recording => {}
            SessionPhase::Verdict => self.refuse_order(
                "the episode before is neither kept nor dropped",
                "Keep it or drop it first.",
            ),
        }
    }

    fn skip(&mut self, outputs: &mut Outputs) {
        if matches!(
            self.session.phase,
            SessionPhase::WarmUp | SessionPhase::Reset
        ) {
            self.begin_episode(outputs);
        }
    }

    fn end_session(&mut self) {
        let session = &mut self.session;
        match session.phase {
            SessionPhase::Off | SessionPhase::Finishing => {}
            SessionPhase::Recording => {
                session.ends = true;
                self.break_off("the session is to end".to_owned());
            }
            // Said once more: the episode is left as it is, to be recovered.
            SessionPhase::Verdict if session.ends => self.finish_session(),
            SessionPhase::Verdict => session.ends = true,
            SessionPhase::Opening
            | SessionPhase::Ready
            | SessionPhase::WarmUp
            | SessionPhase::Reset => self.finish_session(),
        }
    }

    /// The program closes. An episode that runs is neither kept nor dropped: the next start offers it.
    pub(in crate::runtime::core) fn leave_session(&mut self) {
        if !matches!(
            self.session.phase,
            SessionPhase::Off | SessionPhase::Finishing
        ) {
            self.finish_session();
        }
    }
}
