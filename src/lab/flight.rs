//! One flight of the lab: the real loop, driver and bus on a virtual clock, over a pretend arm, ticked by whoever measures.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::TrySendError;

use crate::arm::Options;
use crate::lab::eyes::Eyes;
use crate::lab::meter::Meter;
use crate::lab::pilot::Pilot;
use crate::runtime::{
    Command, Connection, FaultKind, Knobs, LatencyModel, Mode, PolicyStatus, RecordLink,
    Scheduling, Setup, Snapshot, Stepped,
};
use crate::sim::{Scenery, SimArm, SimStudio, Viewpoint};

/// How long a take-off may take, virtual time.
const TAKE_OFF: Duration = Duration::from_secs(30);

/// Width and height of the pictures for a policy that sees: those of the rig's cameras, pixels.
const PICTURE: [u32; 2] = [320, 240];

/// Why there is nothing to measure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system gives no thread.
    #[error("the system gives no thread: {0}")]
    Thread(#[from] std::io::Error),
    /// The policy does not drive.
    #[error("the policy does not take off: {0}")]
    TakeOff(String),
    /// A thread of the lab has fallen over.
    #[error("a thread that measures has fallen over; this is a defect of the program: {0}")]
    Fallen(String),
    /// The one who asked does not want it any more.
    #[error("cancelled")]
    Cancelled,
    /// A report cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: std::path::PathBuf,
        source: std::io::Error,
    },
    /// A plot cannot be drawn.
    #[error("cannot draw {name}: {why}")]
    Plot { name: &'static str, why: String },
}

/// How a flight is flown.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the policy is told.
    pub task: String,
    pub knobs: Knobs,
    pub latency: LatencyModel,
    /// Seed of the policy's noise.
    pub seed: u64,
    /// Keep the level of the queue at every tick.
    pub traces: bool,
}

/// A policy that drives a pretend arm on a virtual clock.
pub struct Flight {
    pub arm: SimArm,
    pub runtime: Stepped,
    pub eyes: Eyes,
    pub meter: Meter,
    /// After the last tick.
    pub seen: Arc<Snapshot>,
    /// When the policy took over, on the virtual clock.
    pub began: Duration,
    latency: LatencyModel,
    /// Draws for a policy that sees.
    studio: Option<SimStudio>,
    /// When the open request left.
    asked: Duration,
}

impl Flight {
    /// Connects, arms, loads, and lets the policy drive.
    ///
    /// # Errors
    /// The system gives no thread, or the policy does not come to drive; the error says why.
    pub fn take_off(arm: SimArm, pilot: &Pilot, plan: &Plan) -> Result<Self, Error> {
        let mut flight = Self::prepare(arm, pilot, plan, None)?;
        flight.let_drive()?;
        flight.began = flight.now();
        flight.meter = Meter::new(plan.traces);
        Ok(flight)
    }

    /// Connects, arms and loads; what is recorded goes to `recorder`.
    ///
    /// # Errors
    /// The system gives no thread, or the policy is not ready in time; the error says why.
    pub fn prepare(
        arm: SimArm,
        pilot: &Pilot,
        plan: &Plan,
        recorder: Option<RecordLink>,
    ) -> Result<Self, Error> {
        let eyes = Eyes::open();
        let (clock, pretended) = (arm.clock().clone(), arm.clone());
        let setup = Setup {
            arm: "pretend arm of the lab".to_owned(),
            connector: Some(Box::new(move || pretended.connect(Options::default()))),
            feeds: eyes.feeds(),
            policy: Some(pilot.load()),
            task: plan.task.clone(),
            knobs: plan.knobs,
            seed: plan.seed,
            recorder,
            ..Setup::new(clock, pilot.loader(&arm))
        };
        let mut flight = Self {
            runtime: Stepped::new(setup, plan.latency.clone())?,
            arm,
            eyes,
            meter: Meter::new(plan.traces),
            seen: Arc::default(),
            began: Duration::ZERO,
            latency: plan.latency.clone(),
            studio: pilot.sees().then(studio),
            asked: Duration::ZERO,
        };
        flight.until("it does not connect", |seen| {
            matches!(seen.connection, Connection::Connected { .. })
        })?;
        flight.tell(Command::EnableTorque)?;
        flight.until("torque does not come on", |seen| {
            seen.connection == Connection::Connected { torque: true }
        })?;
        flight.until("the policy is not ready", |seen| {
            seen.policy == PolicyStatus::Ready { busy: false }
        })?;
        Ok(flight)
    }

    /// Hands the arm to the policy, as the operator does; after a stop, once that is released.
    ///
    /// # Errors
    /// The policy does not drive a while later.
    pub fn let_drive(&mut self) -> Result<(), Error> {
        if self.seen.stopped.is_some() {
            self.tell(Command::Resume)?;
            self.until("the stop is not released", |seen| seen.stopped.is_none())?;
        }
        self.look();
        self.tell(Command::SetMode(Mode::Policy))?;
        self.until("it does not drive", |seen| seen.mode == Mode::Policy)
    }

    /// Asks something of the runtime.
    ///
    /// # Errors
    /// It has ended, or heeds nothing.
    pub fn tell(&self, command: Command) -> Result<(), Error> {
        let sent = self.runtime.commands.try_send(command);
        sent.map_err(|error| {
            let why = match error {
                TrySendError::Full(command) => format!("nobody hears {command:?}"),
                TrySendError::Disconnected(command) => format!("too late for {command:?}"),
            };
            Error::TakeOff(why)
        })
    }

    /// The virtual clock.
    pub fn now(&self) -> Duration {
        self.arm.clock().now()
    }

    /// Since the policy took over.
    pub fn time(&self) -> Duration {
        self.now().saturating_sub(self.began)
    }

    /// One control period.
    pub fn tick(&mut self) -> &Snapshot {
        if self.may_ask() {
            self.look();
        }
        self.eyes.deliver(self.now());
        self.seen = self.runtime.tick();
        if self.seen.history.back().is_some_and(|it| it.requested) {
            self.asked = self.seen.now;
        }
        self.meter.read(&self.seen);
        &self.seen
    }

    /// Shows a policy that sees what is before it now.
    fn look(&mut self) {
        if let Some(studio) = &mut self.studio {
            let truth = self.arm.truth();
            let pixels = studio.draw(truth.joints, &truth.props());
            self.eyes.show(PICTURE, pixels);
        }
    }

    /// Whether the policy may be asked in the next tick: drawing costs more than the rest of a tick.
    fn may_ask(&self) -> bool {
        let (seen, knobs) = (&self.seen, &self.seen.knobs);
        if self.studio.is_none() || seen.mode != Mode::Policy {
            return false;
        }
        if seen.policy == (PolicyStatus::Ready { busy: true }) {
            // The answer that comes next may be asked after at once.
            let latency = self.latency.draw(seen.requests);
            let period = Duration::from_secs_f32(1.0 / knobs.fps);
            return seen.now + period * 2 >= self.asked + latency;
        }
        let is_low = seen.queue.fill < knobs.chunk_size_threshold;
        let plans_ahead = knobs.scheduling != Scheduling::Sync;
        seen.queue.upcoming.is_empty() || plans_ahead && is_low
    }

    /// From now on every answer takes this many times as long as planned.
    pub fn slow_down(&mut self, factor: u32) {
        self.runtime.set_latency(self.latency.slowed(factor));
    }

    /// The kinds of fault that are active now.
    pub fn faults(&self) -> BTreeSet<FaultKind> {
        let active = self.seen.faults.iter().filter(|fault| fault.active);
        active.map(|fault| fault.kind).collect()
    }

    /// Why the policy drives no more, if so.
    pub fn grounded(&self) -> Option<String> {
        let seen = &self.seen;
        let fault = || {
            let mut faults = seen.faults.iter().filter(|fault| fault.active);
            faults.next().map(|fault| fault.what.clone())
        };
        if let Some(stopped) = &seen.stopped {
            return Some(fault().unwrap_or_else(|| format!("stopped by {}", stopped.by)));
        }
        if let PolicyStatus::Refused { why, .. }
        | PolicyStatus::Failed {
            why,
            restarting: false,
        } = &seen.policy
        {
            return Some(why.clone());
        }
        let drives = seen.mode == Mode::Policy;
        (!drives).then(|| fault().unwrap_or_else(|| "the policy was switched off".to_owned()))
    }

    /// Flies until `condition` holds.
    ///
    /// # Errors
    /// It does not for long, for which `why` is the word; or the policy is refused.
    pub fn until(&mut self, why: &str, condition: impl Fn(&Snapshot) -> bool) -> Result<(), Error> {
        let end = self.now() + TAKE_OFF;
        while !condition(self.tick()) {
            let refused = match &self.seen.policy {
                PolicyStatus::Refused { why, .. } => Some(why.clone()),
                _ => None,
            };
            if let Some(refused) = refused {
                return Err(Error::TakeOff(refused));
            }
            if self.now() >= end || self.runtime.has_ended() {
                let faults: Vec<_> = self.seen.faults.iter().map(|it| it.what.as_str()).collect();
                return Err(Error::TakeOff(format!("{why}. {}", faults.join(". "))));
            }
        }
        Ok(())
    }
}

/// Draws both cameras as the plain rig has them.
fn studio() -> SimStudio {
    let cameras = [Viewpoint::Front, Viewpoint::Wrist];
    SimStudio::new(PICTURE, Scenery::plain(), &cameras)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::lab::Measures;
    use crate::lab::pilot::tests::waving;
    use crate::sim::Layout;

    const MS: Duration = Duration::from_millis(1);

    fn bare_table() -> SimArm {
        SimArm::on_table(Clock::virtual_at_zero(), &Layout::default())
    }

    fn fly(knobs: Knobs, latency: impl Into<LatencyModel>, seconds: u64) -> Measures {
        let arm = bare_table();
        let plan = Plan {
            task: "wave".to_owned(),
            knobs,
            latency: latency.into(),
            seed: 1,
            traces: true,
        };
        let mut flight = Flight::take_off(arm, &waving(), &plan).unwrap();
        while flight.time() < Duration::from_secs(seconds) {
            flight.tick();
        }
        assert_eq!(flight.grounded(), None);
        flight.meter.measures()
    }

    fn knobs(scheduling: Scheduling, g: f32, n_action_steps: usize) -> Knobs {
        Knobs {
            scheduling,
            chunk_size_threshold: g,
            n_action_steps,
            ..Knobs::default()
        }
    }

    #[test]
    fn async_does_not_starve_above_the_bound_and_does_below() {
        // 300 ms of a chunk of 1.67 s: the bound is 0.18.
        let above = fly(knobs(Scheduling::Async, 0.3, 50), 300 * MS, 4);
        assert_eq!(above.starved_ticks, 0);
        let below = fly(knobs(Scheduling::Async, 0.0, 50), 300 * MS, 5);
        assert!(below.starved_ticks > 10, "{}", below.starved_ticks);
    }

    #[test]
    fn sync_waits_for_the_latency_of_each_chunk() {
        let measures = fly(knobs(Scheduling::Sync, 0.7, 10), 300 * MS, 5);
        // Ten ticks of motion, then nine of waiting.
        let share = measures.idle_ticks as f64 / measures.ticks as f64;
        assert!((share - 9.0 / 19.0).abs() < 0.03, "{share}");
        assert_eq!(measures.longest_gap_ticks, 9);
    }

    #[test]
    fn the_same_seed_gives_the_same_flight_bit_for_bit() {
        let jitter = LatencyModel::LogNormal {
            mean: 300 * MS,
            sd: 90 * MS,
            seed: 3,
        };
        let once = || fly(knobs(Scheduling::Async, 0.7, 10), jitter.clone(), 2);
        let first = once();
        assert_eq!(first, once());
        let other = fly(knobs(Scheduling::Async, 0.7, 10), jitter.reseeded(4), 2);
        assert_ne!(first.trace, other.trace);
    }

    #[test]
    fn a_policy_that_cannot_be_loaded_is_named() {
        let arm = bare_table();
        let plan = Plan {
            task: "wave".to_owned(),
            knobs: Knobs::default(),
            latency: MS.into(),
            seed: 1,
            traces: false,
        };
        let refused = Flight::take_off(arm, &crate::lab::pilot::tests::broken(), &plan);
        let why = refused.err().unwrap().to_string();
        assert!(why.contains("model.safetensors"), "{why}");
    }
}
