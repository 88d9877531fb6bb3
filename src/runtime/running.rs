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
use crate::runtime::answers::Answers;
use crate::runtime::bay::{Bay, Stock};
use crate::runtime::control_thread::{ControlThread, spawn};
use crate::runtime::core::{Config, Control};
use crate::runtime::leader::{LeaderSeat, LeaderSetup};
use crate::runtime::link::{Connector, Link};
use crate::runtime::pace::Pacer;
use crate::runtime::policy_thread::{PolicyLoader, PolicySeat};
use crate::runtime::supervisor::Patience;
use crate::runtime::watchdog::{STALL, Watch, Watchdog};
use crate::runtime::workshop::Tools;
use crate::runtime::{
    ArmSupply, Command, EStop, FaultKind, Halt, Halted, Knobs, LabLink, LibraryLink, RecordLink,
    RigLink, Snapshot, Sources, ViewBinding,
};
use crate::scene::Props;

/// Commands that may wait for the next tick.
const COMMANDS: usize = 256;

/// How long closing waits for room in the command channel; the control thread makes room every tick.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// How long closing waits for the loop and the policy behind it; whatever hangs longer hangs in a driver.
const END_LIMIT: Duration = Duration::from_secs(10);

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
    /// The arm in a person's hand; `None` goes without one.
    pub leader: Option<LeaderSetup>,
    pub feeds: Vec<Feed>,
    /// Cameras and things that belong to the pretend arm: names of the feeds. They are not shown beside a real one.
    pub pretend_feeds: Vec<String>,
    /// What lies on the table of the simulated rig.
    pub props: Latest<Props>,
    /// The way to the simulated rig, if the pretend arm stands on one.
    pub rig: Option<RigLink>,
    /// The way to the lab, if there is one.
    pub lab: Option<LabLink>,
    /// The way to the data sets on disk, if there is a library.
    pub library: Option<LibraryLink>,
    /// The way to the recorder's thread, if there is one.
    pub recorder: Option<RecordLink>,
    pub loader: PolicyLoader,
    /// The policy to load at the start.
    pub policy: Option<LoadRequest>,
    pub knobs: Knobs,
    pub task: String,
    /// What the operator bound in an earlier session.
    pub views: Vec<ViewBinding>,
    pub patience: Patience,
    /// How late a tick may come before the watchdog stops the arm.
    pub stall: Duration,
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
            leader: None,
            feeds: vec![],
            pretend_feeds: vec![],
            props: Latest::new(),
            rig: None,
            lab: None,
            library: None,
            recorder: None,
            loader,
            policy: None,
            knobs: Knobs::default(),
            task: String::new(),
            views: vec![],
            patience: Patience::default(),
            stall: STALL,
            seed: 0,
            faults: vec![],
        }
    }
}

/// A loop that is ready to be run, and the ways into it.
pub(super) struct Assembly {
    pub control: ControlThread,
    pub commands: Sender<Command>,
}

/// Puts the loop together.
///
/// # Errors
/// The system gives no thread to connect the arm with.
pub(super) fn assemble(setup: Setup, answers: Answers) -> io::Result<Assembly> {
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
    let seat = PolicySeat {
        loader: setup.loader,
        clock: setup.clock.clone(),
        cameras: setup.feeds.len(),
    };
    let leader = setup
        .leader
        .map(|leader| LeaderSeat::start(leader, setup.clock.clone()))
        .transpose()?;
    let watchdog = Watchdog::default();
    let bay = Bay::start(Stock {
        sources: setup.sources,
        leader,
        supply: setup.supply,
        tools: setup.tools,
        pretend_feeds: setup.pretend_feeds,
        rig: setup.rig,
        clock: setup.clock.clone(),
    })?;
    let control = ControlThread {
        pacer: Pacer::new(setup.clock.now()),
        clock: setup.clock,
        control,
        link: Link::start(setup.connector, watchdog.clone())?,
        bay,
        commands: received,
        estop: EStop::default(),
        feeds: setup.feeds,
        props: setup.props,
        lab: setup.lab,
        library: setup.library,
        recorder: setup.recorder,
        snapshot: Latest::new(),
        seat,
        policy: None,
        answers,
        watchdog,
        stall: setup.stall,
        heard: 0,
        pending: vec![],
    };
    Ok(Assembly { control, commands })
}

/// A running control loop. Dropping it stops the arm and ends the loop; the arm goes on holding.
pub struct Runtime {
    /// What the operator asks for, applied at the start of the next tick.
    pub commands: Sender<Command>,
    /// The newest picture of everything.
    pub snapshot: Latest<Snapshot>,
    /// Stops the arm past all queues.
    pub estop: EStop,
    thread: Option<JoinHandle<()>>,
    watch: Option<Watch>,
}

impl Runtime {
    /// Starts the loop.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(setup: Setup) -> io::Result<Self> {
        let Assembly { control, commands } = assemble(setup, Answers::AsTheyCome)?;
        let (snapshot, estop) = (control.snapshot.clone(), control.estop.clone());
        let watch = Watch::start(
            control.watchdog.clone(),
            control.clock.clone(),
            snapshot.clone(),
        )?;
        Ok(Self {
            commands,
            snapshot,
            estop,
            thread: Some(spawn(control)?),
            watch: Some(watch),
        })
    }

    /// A way to stop the arm from elsewhere.
    pub fn halt(&self) -> Halt {
        Halt::new(self.estop.clone(), self.snapshot.clone())
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

    /// Stops the arm, ends the loop and waits for it: the arm holds, the threads end.
    /// Returns whether the servos have confirmed it.
    pub fn shutdown(mut self) -> Halted {
        self.close();
        Halted::at_end(&self.snapshot.get().unwrap_or_default())
    }

    fn close(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let told = self.commands.send_timeout(Command::Shutdown, CLOSE_LIMIT);
        let end = Instant::now() + END_LIMIT;
        while told.is_ok() && !thread.is_finished() && Instant::now() < end {
            thread::sleep(LOOK);
        }
        if !thread.is_finished() {
            log::error!("the control thread hangs and is left behind");
            if let Some(watch) = self.watch.take() {
                watch.leave();
            }
        } else if thread.join().is_err() {
            log::error!("the control thread had panicked");
        }
        self.watch = None;
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.close();
    }
}
