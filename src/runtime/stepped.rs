//! The runtime driven by hand: the same loop on a virtual clock, one control period a call. Half an hour of faults passes in
//! seconds, and twice alike.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;

use crate::latest::Latest;
use crate::runtime::answers::{Answers, Modelled};
use crate::runtime::control_thread::ControlThread;
use crate::runtime::running::{Assembly, assemble};
use crate::runtime::{Command, EStop, LatencyModel, Setup, Snapshot};

/// How often the watchdog looks at a loop that is made to stand still.
const LOOK: Duration = Duration::from_millis(20);

/// A control loop that ticks when it is told to. Whatever other threads do for it, connecting and predicting, it waits for.
/// Dropping it ends it without a stop, as a killed program would.
pub struct Stepped {
    /// What the operator asks for, applied at the start of the next tick.
    pub commands: Sender<Command>,
    /// Stops the arm past all queues.
    pub estop: EStop,
    control: ControlThread,
    deadline: Option<Duration>,
}

impl Stepped {
    /// A loop on the virtual clock of `setup`, whose policy answers as long after it was asked as the model says.
    ///
    /// # Errors
    /// The system gives no thread to connect the arm with.
    pub fn new(setup: Setup, latency: impl Into<LatencyModel>) -> io::Result<Self> {
        debug_assert!(setup.clock.is_virtual());
        let deadline = Some(setup.clock.now());
        let answers = Answers::Modelled(Modelled::new(latency.into()));
        let Assembly {
            mut control,
            commands,
        } = assemble(setup, answers)?;
        control.link.waits = true;
        Ok(Self {
            commands,
            estop: control.estop.clone(),
            control,
            deadline,
        })
    }

    /// The next control period, at its time. After the last one nothing happens.
    pub fn tick(&mut self) -> Arc<Snapshot> {
        if let Some(deadline) = self.deadline {
            let clock = &self.control.clock;
            clock.sleep_until(deadline);
            // At the last moment before the tick, so that a watchdog that barks too early is found.
            self.control.watchdog.look(clock.now());
            self.deadline = self.control.period();
        }
        self.snapshot().get().unwrap_or_default()
    }

    /// The loop stands still for so long, while its watchdog goes on.
    pub fn stall(&mut self, time: Duration) {
        let clock = &self.control.clock;
        let end = clock.now() + time;
        while clock.now() < end {
            clock.sleep_until(end.min(clock.now() + LOOK));
            self.control.watchdog.look(clock.now());
        }
    }

    /// From now on the policy takes this long to answer, also for what it was asked already.
    pub fn set_latency(&mut self, latency: impl Into<LatencyModel>) {
        if let Answers::Modelled(modelled) = &mut self.control.answers {
            modelled.latency = latency.into();
        }
    }

    /// The newest picture of everything.
    pub fn snapshot(&self) -> &Latest<Snapshot> {
        &self.control.snapshot
    }

    /// Whether it has ended after `Command::Shutdown`.
    pub fn has_ended(&self) -> bool {
        self.deadline.is_none()
    }
}
