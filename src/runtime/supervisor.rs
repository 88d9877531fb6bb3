//! Watches over the policy: which incarnation of it is alive, whether it answers in time, and when it is started again.
//!
//! A thread that hangs in a driver cannot be killed. It is left behind, and what it may say later carries the number of
//! an incarnation that nobody listens to any more.

use std::sync::Arc;
use std::time::Duration;

use crate::action::ActionChunk;
use crate::policy::{LoadProgress, LoadRequest, LoadStage, PolicySpec, Refusal, StageTimes};
use crate::runtime::request::InFlight;
use crate::runtime::{FaultKind, PolicyStatus};

/// What a policy thread tells the control thread.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyEvent {
    /// Loading goes on.
    Progress(LoadProgress),
    /// Loaded and warmed up; the first chunk took `warm_up`, which never counts as latency.
    Ready {
        spec: Arc<PolicySpec>,
        warm_up: Duration,
    },
    /// Not loaded, for this reason.
    Refused(Refusal),
    /// An answer.
    Chunk(Box<Arrival>),
    /// The network could not answer request `id`.
    Failed { id: u64, why: String },
    /// The thread ended: a panic in the network or its driver.
    Died(String),
}

/// A chunk as it comes from the policy thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// The request that it answers.
    pub id: u64,
    pub chunk: ActionChunk,
    pub times: StageTimes,
    /// What was odd: a truncated task, a missing view.
    pub warnings: Vec<String>,
    /// When it was finished, on the runtime's clock.
    pub finished_at: Duration,
}

/// An event and the incarnation that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyReport {
    pub incarnation: u64,
    pub event: PolicyEvent,
}

/// An order to start a policy thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStart {
    pub incarnation: u64,
    pub load: LoadRequest,
    /// The thread before it answers, so that its memory is freed before the new one loads.
    pub after_previous: bool,
}

/// How patient the runtime is with a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// An answer later than this, and than four times the slowest so far, counts as hung.
    pub hang: Duration,
    /// The wait before the first restart; it doubles with each failure in a row.
    pub back_off: Duration,
    /// The longest wait.
    pub back_off_max: Duration,
    /// Failures in a row after which the operator must restart it.
    pub attempts: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            hang: Duration::from_secs(10),
            back_off: Duration::from_millis(500),
            back_off_max: Duration::from_secs(15),
            attempts: 8,
        }
    }
}

/// How much slower than the slowest answer so far (warm-up included) an answer may be.
pub const HANG_FACTOR: u32 = 4;

/// Errors in a row that are retried on the loaded policy before it is loaded again.
const RETRIES_BEFORE_RELOAD: u32 = 2;

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Absent,
    Loading(LoadProgress),
    Ready,
    Refused(Refusal),
    /// `again` says when to go on, and whether the policy must be loaded anew for it.
    Failed {
        why: String,
        again: Option<(Duration, bool)>,
    },
}

/// The life of the policy as the control core sees it.
#[derive(Debug, Default)]
pub struct Supervisor {
    patience: Patience,
    phase: Phase,
    incarnation: u64,
    load: LoadRequest,
    spec: Option<Arc<PolicySpec>>,
    in_flight: Option<InFlight>,
    failures: u32,
    restarts: u64,
    slowest: Duration,
    /// The present thread may never end: do not wait for it.
    abandoned: bool,
}

impl Supervisor {
    /// Nothing is loaded yet.
    pub fn new(patience: Patience) -> Self {
        Self {
            patience,
            ..Self::default()
        }
    }

    /// Starts over with a policy that the operator chose.
    pub fn choose(&mut self, load: LoadRequest) -> PolicyStart {
        self.load = load;
        self.failures = 0;
        self.slowest = Duration::ZERO;
        self.spec = None;
        self.start()
    }

    /// Starts the same policy again.
    pub fn start(&mut self) -> PolicyStart {
        let loading = matches!(self.phase, Phase::Loading(_));
        self.phase = Phase::Loading(LoadProgress {
            stage: LoadStage::Opening,
            fraction: None,
        });
        self.in_flight = None;
        self.incarnation += 1;
        PolicyStart {
            incarnation: self.incarnation,
            load: self.load.clone(),
            after_previous: !(std::mem::take(&mut self.abandoned) || loading),
        }
    }

    /// Gives up a policy that is being loaded; whether there was one.
    pub fn cancel(&mut self) -> bool {
        let loading = matches!(self.phase, Phase::Loading(_));
        if loading {
            self.phase = Phase::Absent;
            self.spec = None;
            self.incarnation += 1;
        }
        loading
    }

    /// Whether a report comes from the living incarnation.
    pub fn hears(&self, report: &PolicyReport) -> bool {
        report.incarnation == self.incarnation
    }

    pub fn progressed(&mut self, progress: LoadProgress) {
        if matches!(self.phase, Phase::Loading(_)) {
            self.phase = Phase::Loading(progress);
        }
    }

    pub fn ready(&mut self, spec: Arc<PolicySpec>, warm_up: Duration) {
        self.spec = Some(spec);
        self.slowest = self.slowest.max(warm_up);
        self.phase = Phase::Ready;
    }

    pub fn refused(&mut self, refusal: Refusal) {
        self.spec = None;
        self.phase = Phase::Refused(refusal);
    }

    /// A request left.
    pub fn asked(&mut self, request: InFlight) {
        self.in_flight = Some(request);
    }

    /// The answer to request `id` came after `latency`.
    pub fn answered(&mut self, id: u64, latency: Duration) -> Option<InFlight> {
        let request = self.in_flight.filter(|request| request.id == id)?;
        self.in_flight = None;
        self.failures = 0;
        self.slowest = self.slowest.max(latency);
        Some(request)
    }

    /// The request under way.
    pub fn in_flight(&self) -> Option<&InFlight> {
        self.in_flight.as_ref()
    }

    /// The number of Euler steps changes: answers may take longer by their ratio before they count as hung.
    pub fn slows_by(&mut self, steps: usize, new_steps: usize) {
        let ratio = new_steps.div_ceil(steps.max(1)).clamp(1, 50);
        self.slowest = self.slowest.saturating_mul(ratio as u32);
    }

    /// How long the request under way has been, when that is too long.
    pub fn hung(&self, now: Duration) -> Option<Duration> {
        let waited = now.saturating_sub(self.in_flight?.at);
        (waited > self.patience.hang.max(self.slowest * HANG_FACTOR)).then_some(waited)
    }

    /// The policy errored, hung or died: plans the next attempt, later with each failure in a row.
    pub fn failed(&mut self, now: Duration, kind: FaultKind, why: String) {
        self.in_flight = None;
        self.failures += 1;
        let answered = matches!(kind, FaultKind::PolicyError | FaultKind::BadAction);
        let reload = !answered || self.failures > RETRIES_BEFORE_RELOAD;
        if reload {
            self.abandoned = kind == FaultKind::PolicyHung;
            self.incarnation += 1;
        }
        let doublings = self.failures.saturating_sub(1).min(16);
        let wait = (self.patience.back_off * (1 << doublings)).min(self.patience.back_off_max);
        let again = (self.failures <= self.patience.attempts).then_some((now + wait, reload));
        self.phase = Phase::Failed { why, again };
    }

    /// Goes on after a failure when its time has come; the order is there when the policy must be loaded anew.
    pub fn go_on(&mut self, now: Duration) -> Option<PolicyStart> {
        let Phase::Failed {
            again: Some((at, reload)),
            ..
        } = self.phase
        else {
            return None;
        };
        if now < at {
            return None;
        }
        if reload {
            self.restarts += 1;
            return Some(self.start());
        }
        self.phase = Phase::Ready;
        None
    }

    /// The spec of a policy that can be asked now, one question at a time.
    pub fn free(&self) -> Option<&Arc<PolicySpec>> {
        let ready = matches!(self.phase, Phase::Ready) && self.in_flight.is_none();
        self.spec.as_ref().filter(|_| ready)
    }

    pub fn spec(&self) -> Option<&Arc<PolicySpec>> {
        self.spec.as_ref()
    }

    /// The request to load as it stands.
    pub fn load(&self) -> &LoadRequest {
        &self.load
    }

    /// How often it was loaded anew after a failure.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    pub fn status(&self) -> PolicyStatus {
        match &self.phase {
            Phase::Absent => PolicyStatus::Absent,
            Phase::Loading(progress) => PolicyStatus::Loading(progress.clone()),
            Phase::Ready => PolicyStatus::Ready {
                busy: self.in_flight.is_some(),
            },
            Phase::Refused(refusal) => PolicyStatus::Refused {
                why: refusal.why.clone(),
                stats: refusal.stats.clone(),
            },
            Phase::Failed { why, again } => PolicyStatus::Failed {
                why: why.clone(),
                restarting: again.is_some(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Tick;
    use crate::runtime::Scheduling;

    const MS: Duration = Duration::from_millis(1);

    fn request(id: u64, at: Duration) -> InFlight {
        InFlight {
            id,
            tick: Tick(0),
            at,
            consumed: 0,
            scheduling: Scheduling::Async,
            num_steps: 10,
            guided: false,
            capture: Duration::ZERO,
        }
    }

    fn ready() -> Supervisor {
        let mut supervisor = Supervisor::new(Patience::default());
        supervisor.choose(LoadRequest::default());
        supervisor.ready(Arc::default(), 200 * MS);
        supervisor
    }

    #[test]
    fn an_answer_is_late_by_the_larger_of_both_measures() {
        let mut supervisor = ready();
        supervisor.asked(request(1, Duration::ZERO));
        assert!(supervisor.free().is_none());
        assert_eq!(supervisor.hung(10_000 * MS), None);
        assert_eq!(supervisor.hung(10_001 * MS), Some(10_001 * MS));
        assert!(supervisor.answered(2, MS).is_none());
        assert!(supervisor.answered(1, 4000 * MS).is_some());
        supervisor.asked(request(2, Duration::ZERO));
        assert_eq!(supervisor.hung(16_000 * MS), None);
        assert!(supervisor.hung(16_001 * MS).is_some());
        supervisor.slows_by(10, 5);
        assert!(supervisor.hung(16_001 * MS).is_some());
        supervisor.slows_by(10, 30);
        assert!(supervisor.hung(48_000 * MS).is_none());
    }

    #[test]
    fn waits_double_up_to_a_bound_and_then_end() {
        let mut supervisor = ready();
        let (mut now, mut waits) = (Duration::ZERO, vec![]);
        loop {
            supervisor.failed(now, FaultKind::PolicyDied, "panic".to_owned());
            let Phase::Failed {
                again: Some((at, true)),
                ..
            } = supervisor.phase
            else {
                break;
            };
            waits.push(at.saturating_sub(now).as_millis());
            assert!(supervisor.go_on(at.saturating_sub(MS)).is_none());
            assert!(
                supervisor
                    .go_on(at)
                    .is_some_and(|start| start.after_previous)
            );
            now = at;
        }
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
        let PolicyStatus::Failed { restarting, .. } = supervisor.status() else {
            panic!("{:?}", supervisor.status());
        };
        assert!(!restarting);
        assert_eq!(supervisor.restarts(), 8);
    }

    #[test]
    fn an_error_is_asked_again_before_it_is_loaded_again() {
        let mut supervisor = ready();
        for reloads in [false, false, true] {
            let before = supervisor.incarnation;
            supervisor.failed(Duration::ZERO, FaultKind::PolicyError, "nan".to_owned());
            assert_eq!(supervisor.go_on(60_000 * MS).is_some(), reloads);
            assert_eq!(supervisor.incarnation > before, reloads);
        }
    }

    #[test]
    fn a_hung_thread_is_left_behind() {
        let mut supervisor = ready();
        let report = PolicyReport {
            incarnation: 1,
            event: PolicyEvent::Died(String::new()),
        };
        assert!(supervisor.hears(&report));
        supervisor.failed(Duration::ZERO, FaultKind::PolicyHung, "late".to_owned());
        assert!(!supervisor.hears(&report));
        let start = supervisor.go_on(500 * MS);
        assert!(start.is_some_and(|start| !start.after_previous));
        assert!(!supervisor.start().after_previous, "it may hang in loading");
    }
}
