//! The runtime as the window and the command line hold it: commands go in, snapshots come out, and a stop goes past both.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded};

use crate::camera::Feed;
use crate::clock::Clock;
use crate::latest::Latest;
use crate::policy::LoadRequest;
use crate::runtime::bay::Bay;
use crate::runtime::control_thread::{ControlThread, ResetScene, spawn};
use crate::runtime::core::{Config, Control};
use crate::runtime::link::{Connector, Link};
use crate::runtime::policy_thread::{PolicyLoader, PolicySeat};
use crate::runtime::supervisor::Patience;
use crate::runtime::workshop::Tools;
use crate::runtime::{ArmSupply, Command, EStop, FaultKind, Knobs, Snapshot, Sources, ViewBinding};
use crate::scene::Props;

/// Commands that may wait for the next tick.
const COMMANDS: usize = 256;

/// How long closing waits for room in the command channel; the control thread makes room every tick.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// How often [`Runtime::wait_for`] looks.
const LOOK: Duration = Duration::from_millis(2);

/// What a runtime is made of.
pub struct Setup {
    /// The clock of all instants in the snapshot; cameras and the simulated rig must use the same.
    pub clock: Clock,
    /// Name of the rig or port, for people.
    pub arm: String,
    /// How to get the arm; `None` goes without one.
    pub connector: Option<Connector>,
    /// The arms that are in use at the start.
    pub sources: Sources,
    /// How to get an arm that is chosen later; without it there is none then.
    pub supply: Option<ArmSupply>,
    /// What the workshop works with; `None` goes without it.
    pub tools: Option<Tools>,
    pub feeds: Vec<Feed>,
    /// Cameras and things that belong to the pretend arm: names of the feeds. They are not shown beside a real one.
    pub pretend_feeds: Vec<String>,
    /// What lies on the table of the simulated rig.
    pub props: Latest<Props>,
    pub reset_scene: Option<ResetScene>,
    pub loader: PolicyLoader,
    /// The policy to load at the start.
    pub policy: Option<LoadRequest>,
    pub knobs: Knobs,
    pub task: String,
    /// What the operator bound in an earlier session.
    pub views: Vec<ViewBinding>,
    pub patience: Patience,
    /// Seed of the policy's noise.
    pub seed: u64,
    /// What went wrong before the start: kind, what happened, what to do.
    pub faults: Vec<(FaultKind, String, String)>,
}

impl Setup {
    /// A runtime without arm, cameras or policy, which loads what it is told to with `loader`.
    pub fn new(clock: Clock, loader: PolicyLoader) -> Self {
        Self {
            clock,
            arm: String::new(),
            connector: None,
            sources: Sources::default(),
            supply: None,
            tools: None,
            feeds: vec![],
            pretend_feeds: vec![],
            props: Latest::new(),
            reset_scene: None,
            loader,
            policy: None,
            knobs: Knobs::default(),
            task: String::new(),
            views: vec![],
            patience: Patience::default(),
            seed: 0,
            faults: vec![],
        }
    }
}

/// A running control loop. Dropping it ends the loop; the arm goes on holding.
pub struct Runtime {
    /// What the operator asks for, applied at the start of the next tick.
    pub commands: Sender<Command>,
    /// The newest picture of everything.
    pub snapshot: Latest<Snapshot>,
    /// Stops the arm past all queues.
    pub estop: EStop,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    /// Starts the loop.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(setup: Setup) -> io::Result<Self> {
        let mut control = Control::new(Config {
            arm: setup.arm,
            sources: setup.sources.clone(),
            knobs: setup.knobs,
            task: setup.task,
            policy: setup.policy,
            views: setup.views,
            patience: setup.patience,
            seed: setup.seed,
        });
        for (kind, what, remedy) in setup.faults {
            control.report(kind, what, remedy);
        }
        let (commands, received) = bounded(COMMANDS);
        let (snapshot, estop) = (Latest::new(), EStop::default());
        let seat = PolicySeat {
            loader: setup.loader,
            clock: setup.clock.clone(),
            cameras: setup.feeds.len(),
        };
        let thread = spawn(ControlThread {
            clock: setup.clock,
            control,
            link: Link::start(setup.connector)?,
            commands: received,
            estop: estop.clone(),
            feeds: setup.feeds,
            props: setup.props,
            snapshot: snapshot.clone(),
            reset_scene: setup.reset_scene,
            seat,
            policy: None,
            heard: 0,
            pending: vec![],
            bay: Bay::start(
                setup.sources,
                setup.supply,
                setup.tools,
                setup.pretend_feeds,
            )?,
        })?;
        Ok(Self {
            commands,
            snapshot,
            estop,
            thread: Some(thread),
        })
    }

    /// Whether the loop still ticks. When it does not, the servos hold the last goal.
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// The first snapshot from now on for which `condition` holds, `None` after `limit`. For scripts and tests; the window
    /// never waits.
    pub fn wait_for(
        &self,
        limit: Duration,
        condition: impl Fn(&Snapshot) -> bool,
    ) -> Option<Arc<Snapshot>> {
        let end = Instant::now() + limit;
        loop {
            let seen = self.snapshot.get();
            if let Some(snapshot) = seen.filter(|snapshot| condition(snapshot)) {
                return Some(snapshot);
            }
            if Instant::now() >= end || !self.is_running() {
                return None;
            }
            thread::sleep(LOOK);
        }
    }

    /// Ends the loop and waits for it: the arm holds, the threads end.
    pub fn shutdown(mut self) {
        self.close();
    }

    fn close(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let told = self.commands.send_timeout(Command::Shutdown, CLOSE_LIMIT);
        if told.is_err() && !thread.is_finished() {
            log::error!("the control thread takes no commands and is left behind");
        } else if thread.join().is_err() {
            log::error!("the control thread had panicked");
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.close();
    }
}
