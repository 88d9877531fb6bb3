//! The policy's side of the core: what is asked, what arrives, and what the queue makes of it.

use std::sync::Arc;
use std::time::Duration;

use crate::joint::{JOINT_COUNT, JointVec};
use crate::policy::{Noise, PolicySpec, PredictOptions, Refusal};
use crate::runtime::binding::{camera_of, observation};
use crate::runtime::bound::Bound;
use crate::runtime::core::{Control, Outputs, Wanted};
use crate::runtime::fault_book::words;
use crate::runtime::latency::{LatencyMeter, Measured};
use crate::runtime::queue::planned_from_chunk;
use crate::runtime::request::{ChunkRequest, InFlight, guidance};
use crate::runtime::supervisor::{Arrival, PolicyEvent, PolicyReport};
use crate::runtime::{ChunkView, FaultKind, Mode, Scheduling};

/// The percentile of the measured latency that real-time chunking plans with.
const DELAY_PERCENTILE: f64 = 0.95;

/// Between the first requests of neighbouring seeds; a run of that many requests would take for ever.
const SEED_STRIDE: u64 = 1 << 40;

const RESTART_REMEDY: &str = "The arm holds and the policy is started again. If it comes back, restart the policy by \
                              hand or choose another one.";

impl Control {
    /// Takes in what a policy thread said.
    pub(super) fn hear(&mut self, report: PolicyReport) {
        if !self.supervisor.hears(&report) {
            let chunk = matches!(report.event, PolicyEvent::Chunk(_));
            self.counters.stale_chunks += u64::from(chunk);
            return;
        }
        match report.event {
            PolicyEvent::Progress(progress) => self.supervisor.progressed(progress),
            PolicyEvent::Ready { spec, warm_up } => self.policy_ready(spec, warm_up),
            PolicyEvent::Refused(refusal) => self.policy_refused(refusal),
            PolicyEvent::Chunk(arrival) => self.arrive(*arrival),
            PolicyEvent::Failed { id, why } => {
                if self.supervisor.in_flight().is_some_and(|at| at.id == id) {
                    self.policy_failed(FaultKind::PolicyError, format!("the policy erred: {why}"));
                }
            }
            PolicyEvent::Died(why) => {
                self.policy_failed(FaultKind::PolicyDied, format!("the policy died: {why}"));
            }
        }
    }

    fn policy_ready(&mut self, spec: Arc<PolicySpec>, warm_up: Duration) {
        if let Some(why) = misfit(&spec) {
            let stats = vec![];
            self.policy_refused(Refusal { why, stats });
            return;
        }
        self.supervisor.ready(spec, warm_up);
        for kind in [
            FaultKind::PolicyLoad,
            FaultKind::PolicyHung,
            FaultKind::PolicyDied,
        ] {
            self.faults.clear(kind);
        }
        self.apply_knobs();
        self.bind_views();
        self.go_on_with_policy();
    }

    fn policy_refused(&mut self, refusal: Refusal) {
        let remedy = if refusal.stats.is_empty() {
            "Choose another policy, or repair this one."
        } else {
            "Choose the data set that this arm was recorded with."
        };
        let refused = words(refusal.why.clone(), remedy);
        self.faults
            .raise(self.now, FaultKind::PolicyLoad, "", refused);
        self.supervisor.refused(refusal);
        self.bind_views();
    }

    /// The arm holds, the fault is shown, and the next attempt is planned.
    fn policy_failed(&mut self, kind: FaultKind, why: String) {
        let failed = words(why.clone(), RESTART_REMEDY);
        self.faults.raise(self.now, kind, "", failed);
        self.supervisor.failed(self.now, kind, why);
        self.reset();
    }

    /// Finds a policy that hangs, and goes on with one whose time to wait is over.
    pub(super) fn supervise(&mut self, outputs: &mut Outputs) {
        if let Some(waited) = self.supervisor.hung(self.now) {
            let waited = waited.as_secs_f32();
            let what = format!("the policy has not answered for {waited:.1} s");
            self.policy_failed(FaultKind::PolicyHung, what);
        }
        if outputs.start.is_none() {
            outputs.start = self.supervisor.go_on(self.now);
        }
    }

    /// The request of this tick, if it is time for one.
    pub(super) fn ask(&mut self) -> Option<ChunkRequest> {
        let drives = self.mode == Mode::Policy && self.stopped.is_none();
        let sees = self.stale_camera.is_none() && self.arm.failed.is_none() && !self.is_blind();
        // A plan from before the arm can follow it would be old by then.
        let drives = drives && self.arm.change.is_none() && self.arm.wants == Wanted::Nothing;
        if !drives || !sees || self.is_laying() || self.supervisor.free().is_none() {
            return None;
        }
        let state = self.arm.measured;
        if !self.filter.asks(self.queue.len(), state, &self.knobs) {
            return None;
        }
        self.filter.processed(state);
        self.counters.requests += 1;
        self.sample.requested = true;
        let (observation, capture) =
            observation(&self.views, &self.cameras, state, self.task.as_str());
        let options = self.options();
        let request = ChunkRequest {
            id: self.counters.requests,
            generation: self.generation,
            observed_at: self.tick,
            observation,
            options,
        };
        self.supervisor.asked(InFlight {
            id: request.id,
            tick: self.tick,
            at: self.now,
            consumed: self.queue.consumed(),
            scheduling: self.knobs.scheduling,
            num_steps: self.knobs.num_steps,
            guided: request.options.rtc.is_some(),
            capture,
        });
        Some(request)
    }

    /// The policy has views and no camera feeds any. It would err on every request and be loaded anew in a circle.
    pub(super) fn is_blind(&self) -> bool {
        let fed = |view| camera_of(view, &self.cameras).is_some();
        !self.views.is_empty() && !self.views.iter().any(fed)
    }

    fn options(&self) -> PredictOptions {
        let rtc = (self.knobs.scheduling == Scheduling::Rtc).then(|| {
            let left_over = self.queue.left_over();
            guidance(
                left_over,
                self.queue.len(),
                self.expected_latency(),
                &self.knobs,
            )
        });
        PredictOptions {
            num_steps: Some(self.knobs.num_steps),
            noise: Noise::Seed(
                self.seed
                    .wrapping_mul(SEED_STRIDE)
                    .wrapping_add(self.counters.requests),
            ),
            rtc: rtc.flatten(),
            period: self.period(),
        }
    }

    /// From request to arrival, as measured; after a change of Euler steps as it was before, until the first new chunk.
    fn expected_latency(&self) -> Duration {
        let measured = self.latency.total().percentile(DELAY_PERCENTILE);
        measured.unwrap_or(self.latency_before)
    }

    /// Another number of Euler steps is another latency; the old measurements would mislead the bound.
    pub(super) fn measure_anew(&mut self) {
        self.latency_before = self.expected_latency();
        self.latency = LatencyMeter::default();
    }

    fn arrive(&mut self, arrival: Arrival) {
        let latency = |request: &InFlight| self.now.saturating_sub(request.at);
        let waited = self.supervisor.in_flight().map_or(Duration::ZERO, latency);
        let Some(request) = self.supervisor.answered(arrival.id, waited) else {
            self.counters.stale_chunks += 1;
            return;
        };
        if arrival.chunk.generation != self.generation {
            self.counters.stale_chunks += 1;
            return;
        }
        if let Some(why) = unusable(&arrival) {
            self.policy_failed(FaultKind::BadAction, why);
            return;
        }
        self.faults.clear(FaultKind::PolicyError);
        self.faults.clear(FaultKind::BadAction);
        self.enqueue(&arrival, &request);
        self.measure(&arrival, &request, waited);
        self.warnings = arrival.warnings;
    }

    /// Puts a chunk into the queue; its first `d` actions, those consumed since it was asked for, are past.
    fn enqueue(&mut self, arrival: &Arrival, request: &InFlight) {
        let skipped = (self.queue.consumed() - request.consumed) as usize;
        let kept = match request.scheduling {
            Scheduling::Sync => self.knobs.n_action_steps,
            Scheduling::Async | Scheduling::Rtc => self.knobs.actions_per_chunk,
        };
        let fresh = planned_from_chunk(&arrival.chunk, skipped, kept);
        if request.guided && !fresh.is_empty() {
            self.queue.replace(fresh);
        } else {
            let (aggregate, blend_steps) = (self.knobs.aggregate, self.knobs.blend_steps);
            self.queue.merge(fresh, aggregate, blend_steps);
        }
        self.filled = true;
        self.counters.chunks += 1;
        self.delays.push(skipped);
        self.sample.arrived = true;
        let step = |next: JointVec| next.max_abs_diff(self.arm.commanded);
        self.sample.seam = self.queue.front().map_or(0.0, step);
        self.previous_chunk = self.chunk.replace(Arc::new(ChunkView {
            first_tick: crate::clock::Tick(self.tick.0.saturating_sub(skipped as u64)),
            arrived_at: self.tick,
            actions: arrival.chunk.actions.as_slice().into(),
            skipped,
            seam: self.sample.seam,
            times: arrival.times,
        }));
    }

    fn measure(&mut self, arrival: &Arrival, request: &InFlight, total: Duration) {
        if request.num_steps == self.knobs.num_steps {
            self.latency.push(&Measured {
                capture: request.capture,
                times: arrival.times,
                wait: self.now.saturating_sub(arrival.finished_at),
                total,
            });
        }
        self.bound = Bound::of(self.latency.total(), &self.knobs);
        if self.knobs.auto_threshold {
            let n = self.knobs.actions_per_chunk;
            self.wanted.chunk_size_threshold =
                self.bound.followed(self.knobs.chunk_size_threshold, n);
            self.apply_knobs();
        }
        self.refused_before = self.filter.refused();
    }

    /// The next planned action, which is taken from the queue once it is sent; `None` while there is none and the arm holds.
    pub(super) fn next_action(&mut self) -> Option<JointVec> {
        let next = self.queue.front();
        if next.is_some() {
            self.starved_since = None;
            return next;
        }
        self.starved_since.get_or_insert(self.now);
        self.sample.starved = self.filled;
        self.counters.starved_ticks += u64::from(self.filled);
        None
    }
}

/// Why a policy cannot fly this arm, if so.
fn misfit(spec: &PolicySpec) -> Option<String> {
    let wrong = |what: &str, width: usize| {
        format!(
            "{} has {width} {what}, an SO-101 has {JOINT_COUNT} joints; choose a policy that was fine-tuned on this arm",
            spec.name
        )
    };
    if spec.action_dim != JOINT_COUNT {
        Some(wrong("action dimensions", spec.action_dim))
    } else if spec.state_dim != JOINT_COUNT {
        Some(wrong("state dimensions", spec.state_dim))
    } else {
        None
    }
}

/// Why a chunk must not reach the arm, if so.
fn unusable(arrival: &Arrival) -> Option<String> {
    let actions = &arrival.chunk.actions;
    if actions.is_empty() {
        return Some("the policy answered with an empty chunk".to_owned());
    }
    let bad = actions.iter().position(|action| !action.is_finite())?;
    Some(format!(
        "action {bad} of the policy's chunk is not a number"
    ))
}
