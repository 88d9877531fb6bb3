//! The thread that owns every tensor: it loads a policy, warms it up, answers requests, and drops it, all in one place,
//! because GPU work that hops threads is corrupted.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use crate::action::ActionChunk;
use crate::clock::Clock;
use crate::joint::JointVec;
use crate::observation::{Frame, Observation};
use crate::policy::{
    LoadProgress, LoadRequest, LoadStage, Policy, PolicySpec, PredictOptions, Prediction, Refusal,
    RtcGuidance, RtcSchedule, StageClock,
};
use crate::priority::{self, Urgency};
use crate::runtime::request::ChunkRequest;
use crate::runtime::supervisor::{Arrival, PolicyEvent, PolicyReport, PolicyStart};

/// Loads a policy on the thread that calls it, telling how far it is.
pub type PolicyLoader = Arc<
    dyn Fn(&LoadRequest, &mut dyn FnMut(LoadProgress)) -> Result<Box<dyn Policy>, Refusal>
        + Send
        + Sync,
>;

/// Events that may wait for the control thread, which empties the channel every tick.
const EVENTS: usize = 64;

/// How long a new thread waits for the memory of the one before it.
const PREDECESSOR_LIMIT: Duration = Duration::from_secs(30);

/// Edge lengths of the grey picture that a policy is warmed up with.
const WARM_UP_SIZE: (u32, u32) = (640, 480);

/// Burn's kernels are tuned at run time in this build.
const TUNES: bool = cfg!(feature = "autotune");

/// What a policy thread needs beside its start order.
#[derive(Clone)]
pub struct PolicySeat {
    pub loader: PolicyLoader,
    pub clock: Clock,
    /// How many cameras there are: the warm-up sees as many views as will be seen later, so that it compiles the same
    /// kernels.
    pub cameras: usize,
}

/// What the first chunk is asked with, so that it costs what later ones cost.
#[derive(Clone, Debug)]
pub struct WarmUp {
    pub task: String,
    pub num_steps: usize,
}

/// The control thread's end of a policy thread. Dropping it ends the thread after what it is doing.
pub struct PolicyThread {
    requests: Sender<ChunkRequest>,
    events: Receiver<PolicyReport>,
    ended: Receiver<()>,
}

impl PolicyThread {
    /// Starts a thread that loads and serves `start.load`, after `previous` has freed its memory.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        start: PolicyStart,
        seat: PolicySeat,
        warm_up: WarmUp,
        previous: Option<Self>,
    ) -> io::Result<Self> {
        let (requests, asked) = bounded(1);
        let (report, events) = bounded(EVENTS);
        let (alive, ended) = bounded::<()>(0);
        // Taking only its ending drops the rest, which tells the thread before to end.
        let previous = previous
            .filter(|_| start.after_previous)
            .map(|thread| thread.ended);
        let name = format!("policy-{}", start.incarnation);
        let life = Life {
            start,
            seat,
            warm_up,
            asked,
            report,
        };
        thread::Builder::new().name(name).spawn(move || {
            // Started by the arm's loop, it would begin with its priority, and so would all that a driver starts for it.
            priority::claim(Urgency::Usual);
            if let Some(previous) = previous {
                await_end(&previous, PREDECESSOR_LIMIT);
            }
            life.live();
            drop(alive);
        })?;
        Ok(Self {
            requests,
            events,
            ended,
        })
    }

    /// Puts a question; the core asks only when none is open.
    pub fn ask(&self, request: ChunkRequest) {
        if self.requests.try_send(request).is_err() {
            // The thread has ended, which it reports by itself, or hangs, which the core finds out.
            log::warn!("the policy thread took no request");
        }
    }

    /// What has been reported since the last call.
    pub fn reports(&self) -> Vec<PolicyReport> {
        self.events.try_iter().collect()
    }

    /// Waits until the thread has answered what it was asked last, or has loaded; everything that it said on the way.
    pub fn await_answer(&self) -> Vec<PolicyReport> {
        let mut heard = vec![];
        while let Ok(report) = self.events.recv() {
            let answered = !matches!(report.event, PolicyEvent::Progress(_));
            heard.push(report);
            if answered {
                break;
            }
        }
        heard
    }

    /// Ends the thread and waits for it; false when it is still busy after `limit`.
    pub fn finish(self, limit: Duration) -> bool {
        // The thread ends when it sees that nobody will ask again.
        drop(self.requests);
        drop(self.events);
        await_end(&self.ended, limit)
    }
}

/// The thread holds the only sender and never sends: the channel breaks when it ends.
fn await_end(ended: &Receiver<()>, limit: Duration) -> bool {
    matches!(
        ended.recv_timeout(limit),
        Err(RecvTimeoutError::Disconnected)
    )
}

/// One incarnation of the policy, on its own thread.
struct Life {
    start: PolicyStart,
    seat: PolicySeat,
    warm_up: WarmUp,
    asked: Receiver<ChunkRequest>,
    report: Sender<PolicyReport>,
}

impl Life {
    fn live(self) {
        // A panic in the network or a driver must not take the arm's thread along.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.serve())) {
            self.tell(PolicyEvent::Died(panic_text(panic.as_ref())));
        }
    }

    fn serve(&self) {
        let now = || self.seat.clock.now();
        let mut stages = StageClock::new(now());
        let mut progress = |progress: LoadProgress| {
            stages.saw(progress.stage, now());
            self.mention(progress);
        };
        let mut policy = match (self.seat.loader)(&self.start.load, &mut progress) {
            Ok(policy) => policy,
            Err(refusal) => {
                self.tell(PolicyEvent::Refused(refusal));
                return;
            }
        };
        stages.saw(LoadStage::WarmUp, now());
        match self.warm_up(policy.as_mut()) {
            Ok(warm_up) => {
                log::log!(
                    self.seat.clock.news(),
                    "policy: ready after {}",
                    stages.words(now())
                );
                let spec = Arc::new(policy.spec().clone());
                self.tell(PolicyEvent::Ready { spec, warm_up });
            }
            Err(error) => {
                let why = format!("the first chunk failed: {error:#}");
                let stats = vec![];
                self.tell(PolicyEvent::Refused(Refusal { why, stats }));
                return;
            }
        }
        for request in &self.asked {
            let event = self.answer(policy.as_mut(), &request);
            if !self.tell(event) {
                return;
            }
        }
    }

    /// Predicts as it will be asked to, which compiles what must be compiled. Its time never enters the measured delay.
    /// Returns what the last chunk took.
    fn warm_up(&self, policy: &mut dyn Policy) -> anyhow::Result<Duration> {
        self.mention(LoadProgress {
            stage: LoadStage::WarmUp,
            fraction: None,
        });
        let options = PredictOptions {
            num_steps: Some(self.warm_up.num_steps),
            rtc: any_guidance(policy.spec()),
            ..PredictOptions::default()
        };
        let cameras = self.seat.cameras.clamp(1, policy.spec().views.len().max(1));
        // Tuned kernels are tuned for a size. That a camera is lost must not tune in mid-run.
        let first = if TUNES { 1 } else { cameras };
        let mut taken = Duration::ZERO;
        for seen in first..=cameras {
            let began = self.seat.clock.now();
            let observation = grey(policy.spec(), seen, &self.warm_up.task);
            policy.predict_action_chunk(&observation, &options)?;
            taken = self.seat.clock.now().saturating_sub(began);
        }
        Ok(taken)
    }

    fn answer(&self, policy: &mut dyn Policy, request: &ChunkRequest) -> PolicyEvent {
        let id = request.id;
        let predicted = policy.predict_action_chunk(&request.observation, &request.options);
        let arrival = predicted.and_then(|prediction| {
            let times = prediction.times;
            let warnings = prediction.warnings.clone();
            Ok(Arrival {
                id,
                chunk: chunk_from_prediction(request, prediction)?,
                times,
                warnings,
                finished_at: self.seat.clock.now(),
            })
        });
        match arrival {
            Ok(arrival) => PolicyEvent::Chunk(Box::new(arrival)),
            Err(error) => PolicyEvent::Failed {
                id,
                why: format!("{error:#}"),
            },
        }
    }

    /// Reports what must arrive; false when nobody listens any more.
    fn tell(&self, event: PolicyEvent) -> bool {
        let incarnation = self.start.incarnation;
        self.report
            .send(PolicyReport { incarnation, event })
            .is_ok()
    }

    /// Reports progress, which may be lost when much of it comes at once.
    ///
    /// When nobody listens any more, loading was cancelled: the thread unwinds from here, past whatever was downloading or
    /// uploading, and frees it.
    fn mention(&self, progress: LoadProgress) {
        let report = PolicyReport {
            incarnation: self.start.incarnation,
            event: PolicyEvent::Progress(progress),
        };
        match self.report.try_send(report) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => log::debug!("a progress report was dropped"),
            Err(TrySendError::Disconnected(_)) => resume_unwind(Box::new("cancelled")),
        }
    }
}

/// Real-time chunking after no plan at all: a guided chunk needs every kernel that an unguided one needs, and some more.
fn any_guidance(spec: &PolicySpec) -> Option<RtcGuidance> {
    (spec.chunk_size > 0).then(|| RtcGuidance {
        left_over: vec![vec![0.0; spec.action_dim]; spec.chunk_size],
        inference_delay: 1,
        execution_horizon: spec.chunk_size,
        max_guidance_weight: 1.0,
        schedule: RtcSchedule::default(),
    })
}

/// An observation that shows nothing, in the shape of those to come.
fn grey(spec: &PolicySpec, cameras: usize, task: &str) -> Observation {
    let (width, height) = WARM_UP_SIZE;
    let pixels: Arc<[u8]> = vec![127; (width * height * 3) as usize].into();
    let seen = spec.views.iter().take(cameras.max(1));
    let picture = |view: &String| {
        Frame::new(width, height, Arc::clone(&pixels), 0, Duration::ZERO)
            .map(|frame| (view.clone(), frame))
    };
    Observation {
        images: seen.filter_map(picture).collect(),
        state: vec![0.0; spec.state_dim],
        task: task.to_owned(),
    }
}

/// A prediction as a chunk for the queue.
fn chunk_from_prediction(
    request: &ChunkRequest,
    prediction: Prediction,
) -> anyhow::Result<ActionChunk> {
    let row = |(step, row): (usize, &Vec<f32>)| {
        JointVec::from_slice(row).ok_or_else(|| {
            anyhow::anyhow!(
                "step {step} of the chunk has {} values, not one a joint",
                row.len()
            )
        })
    };
    let actions = prediction.actions.iter().enumerate().map(row);
    Ok(ActionChunk {
        observed_at: request.observed_at,
        generation: request.generation,
        actions: actions.collect::<anyhow::Result<_>>()?,
        normalized: prediction.actions_normalized,
    })
}

pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Tick;
    use crate::runtime::supervisor::PolicyEvent;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Answers with as many joints as it has views, and panics on the task "fall".
    struct Echo(PolicySpec);

    impl Policy for Echo {
        fn spec(&self) -> &PolicySpec {
            &self.0
        }

        fn predict_action_chunk(
            &mut self,
            observation: &Observation,
            _options: &PredictOptions,
        ) -> anyhow::Result<Prediction> {
            assert!(observation.task != "fall", "fell");
            anyhow::ensure!(observation.images.len() == 2, "{:?}", observation.images);
            Ok(Prediction {
                actions: vec![vec![1.0; observation.state.len()]; 3],
                ..Prediction::default()
            })
        }
    }

    fn start(cameras: usize, previous: Option<PolicyThread>) -> PolicyThread {
        start_loading(LoadRequest::default(), cameras, previous)
    }

    fn start_loading(
        load: LoadRequest,
        cameras: usize,
        previous: Option<PolicyThread>,
    ) -> PolicyThread {
        let loader: PolicyLoader = Arc::new(|request, progress| {
            let mut tell = || {
                progress(LoadProgress {
                    stage: LoadStage::Loading,
                    fraction: Some(0.5),
                });
            };
            tell();
            if request.source == "endless" {
                loop {
                    thread::yield_now();
                    tell();
                }
            }
            Ok(Box::new(Echo(PolicySpec {
                views: ["a", "b", "c"].map(str::to_owned).to_vec(),
                state_dim: 6,
                ..PolicySpec::default()
            })))
        });
        let order = PolicyStart {
            incarnation: 7,
            load,
            after_previous: true,
        };
        let seat = PolicySeat {
            loader,
            clock: Clock::real(),
            cameras,
        };
        let warm_up = WarmUp {
            task: "wave".to_owned(),
            num_steps: 10,
        };
        PolicyThread::start(order, seat, warm_up, previous).unwrap()
    }

    fn request(id: u64, task: &str, state: usize) -> ChunkRequest {
        let picture = Frame::new(1, 1, vec![0; 3], 0, Duration::ZERO).unwrap();
        ChunkRequest {
            id,
            generation: 4,
            observed_at: Tick(9),
            observation: Observation {
                images: vec![("a".to_owned(), picture.clone()), ("b".to_owned(), picture)],
                state: vec![0.0; state],
                task: task.to_owned(),
            },
            options: PredictOptions::default(),
        }
    }

    /// The next event that is not progress.
    fn next(thread: &PolicyThread) -> PolicyEvent {
        loop {
            let report = thread.events.recv_timeout(LIMIT).unwrap();
            assert_eq!(report.incarnation, 7);
            if !matches!(report.event, PolicyEvent::Progress(_)) {
                return report.event;
            }
        }
    }

    #[test]
    fn a_policy_is_warmed_up_asked_and_dropped_on_its_thread() {
        let thread = start(2, None);
        assert!(matches!(next(&thread), PolicyEvent::Ready { .. }));
        thread.ask(request(1, "wave", 6));
        let PolicyEvent::Chunk(arrival) = next(&thread) else {
            panic!("no chunk");
        };
        assert_eq!((arrival.id, arrival.chunk.generation), (1, 4));
        assert_eq!(arrival.chunk.observed_at, Tick(9));
        assert_eq!(arrival.chunk.actions, [JointVec([1.0; 6]); 3]);
        let after = start(2, Some(thread));
        assert!(matches!(next(&after), PolicyEvent::Ready { .. }));
        assert!(after.finish(LIMIT));
    }

    #[test]
    fn errors_panics_and_wrong_widths_are_told_apart() {
        let thread = start(2, None);
        assert!(matches!(next(&thread), PolicyEvent::Ready { .. }));
        thread.ask(request(2, "wave", 5));
        let PolicyEvent::Failed { id: 2, why } = next(&thread) else {
            panic!("not refused");
        };
        assert!(why.contains("5 values"), "{why}");
        thread.ask(request(3, "fall", 6));
        assert_eq!(next(&thread), PolicyEvent::Died("fell".to_owned()));
        assert!(thread.finish(LIMIT));
    }

    #[test]
    fn loading_ends_when_nobody_waits_for_it() {
        let load = LoadRequest {
            source: "endless".to_owned(),
            stats: None,
        };
        let thread = start_loading(load, 2, None);
        let report = thread.events.recv_timeout(LIMIT).unwrap();
        assert!(matches!(report.event, PolicyEvent::Progress(_)));
        assert!(thread.finish(LIMIT), "it would load for ever");
    }

    #[test]
    fn a_first_chunk_that_fails_is_a_refusal() {
        let thread = start(3, None);
        let PolicyEvent::Refused(refusal) = next(&thread) else {
            panic!("not refused");
        };
        assert!(refusal.why.contains("the first chunk failed"));
        assert!(thread.finish(LIMIT));
    }
}
