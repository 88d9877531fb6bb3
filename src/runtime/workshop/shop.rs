//! The workshop without its thread: what an order begins, and one look at whatever is open at each turn.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::arm::workbench::Workbench;
use crate::arm::workbench::finding::Finding;
use crate::arm::{self, Calibrations, ErrorKind, KnownArm, Port, PortInfo};
use crate::clock::Clock;
use crate::runtime::workshop::Order;
use crate::runtime::workshop::calibration::CalibrationJob;
use crate::runtime::workshop::identify::IdentifyJob;
use crate::runtime::workshop::numbering::NumberingJob;
use crate::runtime::workshop::survey::{line_of, trouble_of};
use crate::runtime::workshop::view::{Activity, Line, PortView, SavedView, Trouble, WorkshopView};

/// Between two looks at an arm that a hand moves, at ports that come and go, and at nothing in particular.
const ARM_PAUSE: Duration = Duration::from_millis(20);
const PORTS_PAUSE: Duration = Duration::from_millis(250);
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// A port that the runtime has just let go may be busy for a moment; it is tried so often, with pauses.
const OPEN_TRIES: u32 = 20;
const OPEN_PAUSE: Duration = Duration::from_millis(100);

/// Lists the serial ports of this machine.
pub type ListPorts = Arc<dyn Fn() -> Vec<PortInfo> + Send + Sync>;
/// Opens one of them.
pub type OpenPort = Arc<dyn Fn(&str) -> Result<Port, arm::Error> + Send + Sync>;

/// What the workshop works with; in tests all of it is pretended.
#[derive(Clone)]
pub struct Tools {
    pub list: ListPorts,
    pub open: OpenPort,
    /// Where calibrations are kept; `None` on a system that names no place.
    pub calibrations: Option<Calibrations>,
    /// The clock of the ports.
    pub clock: Clock,
}

impl Tools {
    /// The machine's own ports and the user's calibrations.
    pub fn of_machine(clock: Clock) -> Self {
        Self {
            list: Arc::new(arm::list_ports),
            open: Arc::new(arm::open_port),
            calibrations: Calibrations::of_user(),
            clock,
        }
    }

    /// The arms that are calibrated on this machine.
    pub fn known(&self) -> Vec<KnownArm> {
        self.calibrations
            .as_ref()
            .map(Calibrations::list)
            .unwrap_or_default()
    }

    /// Opens a port and puts what is behind it on the workbench.
    pub(super) fn bench(&self, path: &str) -> Result<Workbench, arm::Error> {
        let mut tries = 1;
        loop {
            match (self.open)(path) {
                Ok(port) => return Workbench::open(port, path, &self.clock),
                Err(error) if error.kind == ErrorKind::Busy && tries < OPEN_TRIES => tries += 1,
                Err(error) => return Err(error),
            }
            self.clock.sleep_until(self.clock.now() + OPEN_PAUSE);
        }
    }
}

/// What is being done.
enum Job {
    Idle,
    Finding(Finding),
    Identifying(IdentifyJob),
    Calibrating(Box<CalibrationJob>),
    Numbering(Box<NumberingJob>),
    Saved(Box<SavedView>),
}

/// The workshop.
pub struct Shop {
    tools: Tools,
    /// Ports that the runtime drives: never opened here.
    driven: Vec<String>,
    ports: Vec<PortView>,
    /// Ports that the operator named and no list has.
    extra: Vec<String>,
    /// Ports that are still to be asked who is on them.
    unseen: VecDeque<String>,
    is_surveyed: bool,
    known: Vec<KnownArm>,
    job: Job,
    trouble: Option<Trouble>,
}

impl Shop {
    /// A workshop that has not looked at anything.
    pub fn new(tools: Tools) -> Self {
        Self {
            tools,
            driven: Vec::new(),
            ports: Vec::new(),
            extra: Vec::new(),
            unseen: VecDeque::new(),
            is_surveyed: false,
            known: Vec::new(),
            job: Job::Idle,
            trouble: None,
        }
    }

    /// How long to wait for an order before the next turn; `None`: until there is one.
    pub fn pause(&self) -> Option<Duration> {
        match &self.job {
            Job::Identifying(_) | Job::Calibrating(_) => Some(ARM_PAUSE),
            Job::Numbering(job) if job.is_hunting() => Some(Duration::ZERO),
            Job::Finding(_) => Some(PORTS_PAUSE),
            // The arm that was saved is likely to be taken next: nobody stands in its port then.
            Job::Saved(_) => None,
            _ if !self.unseen.is_empty() => Some(Duration::ZERO),
            _ if self.is_surveyed => Some(IDLE_PAUSE),
            _ => None,
        }
    }

    /// The runtime drives these ports from now on.
    pub fn leave_alone(&mut self, ports: Vec<String>) {
        self.driven = ports;
        let driven = &self.driven;
        self.unseen.retain(|path| !driven.contains(path));
        for port in &mut self.ports {
            // What was seen before the runtime took it over may no longer be so.
            if driven.contains(&port.info.path) {
                port.line = Line::Unknown;
            }
        }
    }

    /// Does what the operator asked for, or says why not.
    pub fn obey(&mut self, order: Order) {
        self.trouble = None;
        if let Some(port) = order.port()
            && self.driven.iter().any(|driven| driven == port)
        {
            self.trouble = Some(driven_trouble(port));
            return;
        }
        match order {
            Order::Survey | Order::Cancel => {
                self.leave();
                self.survey();
            }
            Order::Look(path) => {
                self.leave();
                // It may have been calibrated meanwhile, in a terminal or by LeRobot.
                self.known = self.tools.known();
                self.look_at(path);
            }
            Order::FindPort => {
                self.leave();
                self.job = Job::Finding(Finding::begin((self.tools.list)()));
            }
            Order::Identify => self.identify(),
            Order::Calibrate { port, role } => {
                self.leave();
                self.known = self.tools.known();
                match CalibrationJob::begin(&self.tools, &self.known, &port, role) {
                    Ok(job) => self.job = Job::Calibrating(Box::new(job)),
                    Err(trouble) => self.trouble = Some(trouble),
                }
            }
            Order::SetIds { port, role } => {
                self.leave();
                match self.tools.bench(&port) {
                    Ok(bench) => {
                        let job = NumberingJob::new(bench, port, role);
                        self.job = Job::Numbering(Box::new(job));
                    }
                    Err(error) => self.trouble = Some(trouble_of(&error)),
                }
            }
            step => self.step(step),
        }
    }

    /// An order about what is being done.
    fn step(&mut self, order: Order) {
        let done = match (&mut self.job, order) {
            (Job::Calibrating(job), Order::Save { id }) => match job.save(&self.tools, &id) {
                Ok(saved) => {
                    self.job = Job::Saved(Box::new(saved));
                    return;
                }
                Err(trouble) => Err(trouble),
            },
            (Job::Calibrating(job), order) => job.obey(&order),
            (Job::Numbering(job), order) => job.obey(&order),
            (Job::Identifying(job), Order::LetGo(port)) => job.let_go(&port),
            (_, Order::LetGo(port)) => self.let_go(&port),
            (_, order) => Err(Trouble {
                what: format!("nothing is under way that {order} could belong to"),
                remedy: "Begin with one of the arms in the list.".to_owned(),
            }),
        };
        self.trouble = done.err();
    }

    /// One look at whatever is open.
    pub fn turn(&mut self) {
        let result = match &mut self.job {
            Job::Finding(finding) => {
                let ports = (self.tools.list)();
                let before = std::mem::replace(finding, Finding::begin(Vec::new()));
                *finding = before.seen(&ports);
                Ok(())
            }
            Job::Identifying(job) => {
                job.turn(self.tools.clock.now());
                Ok(())
            }
            Job::Calibrating(job) => job.turn(self.tools.clock.now()),
            Job::Numbering(job) => job.turn(),
            Job::Idle => {
                self.watch_ports();
                Ok(())
            }
            Job::Saved(_) => Ok(()),
        };
        if let Err(trouble) = result {
            // Nothing that is gone can be gone on with.
            self.job = Job::Idle;
            self.trouble = Some(trouble);
            self.survey();
        }
    }

    /// What there is to see.
    pub fn view(&self) -> WorkshopView {
        let activity = match &self.job {
            Job::Idle => Activity::Idle,
            Job::Finding(finding) => Activity::Finding(finding.clone()),
            Job::Identifying(job) => Activity::Identifying(job.view()),
            Job::Calibrating(job) => Activity::Calibrating(Box::new(job.view())),
            Job::Numbering(job) => Activity::Numbering(Box::new(job.view())),
            Job::Saved(saved) => Activity::Saved(saved.clone()),
        };
        let known = self.known.iter();
        WorkshopView {
            ports: self.ports.clone(),
            is_surveyed: self.is_surveyed,
            known: known.map(|arm| (arm.role, arm.id.clone())).collect(),
            activity,
            trouble: self.trouble.clone(),
        }
    }

    /// Ends what is being done; its port is closed.
    fn leave(&mut self) {
        self.job = Job::Idle;
    }

    /// Lists the ports anew and asks all adapters who is there.
    fn survey(&mut self) {
        self.known = self.tools.known();
        self.ports.clear();
        self.unseen.clear();
        self.is_surveyed = true;
        self.watch_ports();
    }

    /// Follows ports that come and go, and asks one of the new ones who is there.
    fn watch_ports(&mut self) {
        if !self.is_surveyed {
            return;
        }
        if let Some(path) = self.unseen.pop_front() {
            self.ask(&path);
            return;
        }
        let mut infos = (self.tools.list)();
        let unlisted = self.extra.iter().filter(|extra| {
            let listed = |info: &PortInfo| info.path == **extra;
            !infos.iter().any(listed)
        });
        let unlisted: Vec<PortInfo> = unlisted.map(|path| named(path)).collect();
        infos.extend(unlisted);
        self.ports.retain(|port| infos.contains(&port.info));
        for info in infos {
            if self.ports.iter().any(|port| port.info == info) {
                continue;
            }
            let is_free = !self.driven.contains(&info.path);
            let is_asked = is_free && (info.adapter || self.extra.contains(&info.path));
            let line = if is_asked {
                self.unseen.push_back(info.path.clone());
                Line::Looking
            } else {
                Line::Unknown
            };
            self.ports.push(PortView { info, line });
        }
        self.ports
            .sort_by(|a, b| (!a.info.usb, &a.info.path).cmp(&(!b.info.usb, &b.info.path)));
    }

    /// Asks a port that the operator named.
    fn look_at(&mut self, path: String) {
        if !self.is_surveyed {
            self.survey();
        }
        let listed = |port: &PortView| port.info.path == path;
        if !self.ports.iter().any(listed) {
            self.extra.push(path.clone());
            self.ports.push(PortView {
                info: named(&path),
                line: Line::Looking,
            });
        }
        self.unseen.retain(|other| *other != path);
        self.unseen.push_front(path);
    }

    fn ask(&mut self, path: &str) {
        if self.driven.iter().any(|driven| driven == path) {
            return;
        }
        let line = line_of(self.tools.bench(path), &self.known);
        if let Some(port) = self.ports.iter_mut().find(|port| port.info.path == path) {
            port.line = line;
        }
    }

    fn identify(&mut self) {
        self.leave();
        self.known = self.tools.known();
        let mut paths: Vec<String> = (self.tools.list)()
            .into_iter()
            .filter(|info| info.adapter)
            .map(|info| info.path)
            .collect();
        paths.extend(self.extra.iter().cloned());
        paths.retain(|path| !self.driven.contains(path));
        paths.dedup();
        if paths.is_empty() {
            self.trouble = Some(Trouble {
                what: "there is no arm to watch: every port is in use, or none is there".to_owned(),
                remedy: arm::System::here().without_port().to_owned(),
            });
            return;
        }
        self.job = Job::Identifying(IdentifyJob::begin(&self.tools, &self.known, &paths));
    }

    /// Lets an arm go that nothing else is done with.
    fn let_go(&mut self, path: &str) -> Result<(), Trouble> {
        let bench = self.tools.bench(path);
        let gone = bench.and_then(|mut bench| bench.let_go());
        let result = gone.map_err(|error| trouble_of(&error));
        self.look_at(path.to_owned());
        result
    }
}

fn named(path: &str) -> PortInfo {
    PortInfo {
        path: path.to_owned(),
        description: "named by you".to_owned(),
        ..PortInfo::default()
    }
}

fn driven_trouble(port: &str) -> Trouble {
    Trouble {
        what: format!("{port} is in use: the runtime drives the arm on it"),
        remedy: "Disconnect that arm first, under Arms.".to_owned(),
    }
}
