//! The picture of a tick: what the window, the recorder and the tests read.

use std::sync::Arc;

use crate::runtime::bound::Bound;
use crate::runtime::core::park::Parking;
use crate::runtime::core::replay::Replay;
use crate::runtime::core::{ArmOrder, Control, Wanted};
use crate::runtime::fault_book::words;
use crate::runtime::{
    Delay, FaultKind, Mode, PolicyStatus, QueueView, Sample, Scheduling, Snapshot,
};

impl Control {
    /// Judges what only the whole tick shows.
    pub(super) fn assess(&mut self) {
        self.bound = Bound::of(self.latency.total(), &self.knobs);
        let plans_ahead = self.knobs.scheduling != Scheduling::Sync;
        let too_slow = self.mode == Mode::Policy && plans_ahead && self.bound.no_g_keeps_fresh;
        let latency = self.latency.total().mean().unwrap_or_default();
        let chunk_s = self.knobs.actions_per_chunk as f32 / self.knobs.fps;
        self.faults.set(self.now, FaultKind::TooSlow, "", || {
            too_slow.then(|| {
                words(
                    format!(
                        "a chunk takes {:.2} s, more than half of the {chunk_s:.2} s that it lasts: no g keeps the \
                         plan fresh",
                        latency.as_secs_f32()
                    ),
                    "The arm holds between chunks. Use fewer Euler steps, longer chunks, a lower rate, sync mode, or a \
                     faster device.",
                )
            })
        });
        if self.mode != Mode::Policy || self.stopped.is_some() {
            self.starved_since = None;
        }
    }

    /// Writes the sample of this tick and builds the snapshot.
    pub(super) fn publish(&mut self) -> Snapshot {
        self.record();
        Snapshot {
            now: self.now,
            tick: self.tick,
            mode: self.mode,
            mode_since: self.teleop.since(),
            interrupted: self.teleop.interrupted(),
            stopped: self.stopped.clone(),
            arm: self.name.clone(),
            sources: self.sources.clone(),
            arms_chosen: self.arms_chosen,
            connection: self.arm.connection.clone(),
            held_joints: self.arm.held_joints,
            left_holding: self.arm.left_holding,
            arming: self.share_of(Wanted::Torque),
            releasing: self.share_of(Wanted::Release),
            approaching: self.approach.share(),
            parking: self.parking.as_ref().map(Parking::share),
            parked: self.is_parked(),
            leader: self.teleop.leader(),
            health: self.health.view(),
            rate_hz: self.history.rate_hz(),
            late_ticks: self.pace.late_ticks,
            tick_p99: self.pace.tick_p99,
            jitter_p99: self.pace.jitter_p99,
            bus_p99: self.pace.bus_p99,
            idle: self.pace.idle,
            thinking: self.pace.thinking,
            measured: self.arm.measured,
            commanded: self.arm.commanded,
            jog: self.jog.goal,
            jog_obstacle: self.jog.obstacle.clone(),
            limits: self.arm.limits,
            knobs: self.knobs,
            wanted: self.wanted,
            task: self.task.clone(),
            generation: self.generation,
            policy_source: self.supervisor.load().source.clone(),
            policy: self.supervisor.status(),
            policy_restarts: self.supervisor.restarts(),
            policy_warnings: self.warnings.clone(),
            spec: self.supervisor.spec().map(Arc::clone),
            queue: self.queue_view(),
            chunk: self.chunk.clone(),
            previous_chunk: self.previous_chunk.clone(),
            history: self.history.shared(),
            latency: self.latency.shown(),
            delay: Delay {
                last: self.delays.last().unwrap_or_default(),
                p95: self.delays.percentile(0.95).unwrap_or_default(),
            },
            cameras: self.cameras.clone(),
            views: self.views.clone(),
            faults: self.faults.list(),
            chunks: self.counters.chunks,
            starved_ticks: self.counters.starved_ticks,
            requests: self.counters.requests,
            filtered: self.filter.refused(),
            stale_chunks: self.counters.stale_chunks,
            bus_retries: self.arm.retries,
            max_step: self.arm.max_step,
            props: Arc::clone(&self.props),
            rig: self.rig.view.clone(),
            lab: self.lab.clone(),
            session: self.session.view(),
            replay: self.replay.as_ref().map(Replay::view),
            library: self.library.clone(),
            workshop: Arc::clone(&self.workshop),
        }
    }

    fn share_of(&self, change: Wanted) -> Option<f32> {
        let under_way = self
            .arm
            .change
            .filter(|(under_way, _)| *under_way == change);
        under_way.map(|(_, share)| share)
    }

    fn record(&mut self) {
        self.history.push(Sample {
            tick: self.tick,
            at: self.now,
            measured: self.arm.measured,
            commanded: self.arm.commanded,
            mode: self.mode,
            intervention: self.intervenes(),
            queue: self.queue.len() as u32,
            actions_per_chunk: self.knobs.actions_per_chunk as u32,
            threshold: self.knobs.chunk_size_threshold,
            ..self.sample
        });
    }

    fn queue_view(&self) -> QueueView {
        QueueView {
            upcoming: self.queue.upcoming(),
            fill: self.queue.len() as f32 / self.knobs.actions_per_chunk as f32,
            requested_at: self.supervisor.in_flight().map(|request| request.tick),
            starved_since: self.starved_since,
            starved_because: self.starved_since.map(|_| self.starved_because()),
            g_min: self.bound.g_min,
            g_min_p95: self.bound.g_min_p95,
            no_g_keeps_fresh: self.bound.no_g_keeps_fresh,
        }
    }

    fn starved_because(&self) -> String {
        match self.supervisor.status() {
            PolicyStatus::Absent => "no policy is chosen".to_owned(),
            PolicyStatus::Loading(progress) => format!("the policy is loading: {}", progress.stage),
            PolicyStatus::Refused { .. } => "the policy was refused".to_owned(),
            PolicyStatus::Failed { .. } => "the policy failed".to_owned(),
            PolicyStatus::Ready { .. } => self.starved_though_ready(),
        }
    }

    fn starved_though_ready(&self) -> String {
        if let Some(camera) = &self.stale_camera {
            return format!("camera {camera} is stale");
        }
        if self.is_blind() {
            return "no camera feeds any view of the policy".to_owned();
        }
        if self.ordered == ArmOrder::Nothing {
            return "the arm does not answer".to_owned();
        }
        if self.knobs.scheduling == Scheduling::Sync {
            return "sync mode waits for its chunk".to_owned();
        }
        if !self.filled {
            return "the first chunk is on its way".to_owned();
        }
        let refused = self.filter.refused() - self.refused_before;
        if refused > 0 {
            return format!("the similarity filter refused {refused} requests");
        }
        format!(
            "the device is slow: a chunk takes {:.2} s",
            self.latency.shown().total.p50.as_secs_f32()
        )
    }
}
