//! Whole visits to the workshop, step by step as a person makes them, on pretend arms behind pretend ports and in virtual
//! time; and the runtime that keeps the workshop and the flown arm apart.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use smolpilot::arm::calibrating::Stage;
use smolpilot::arm::finding::Finding;
use smolpilot::arm::numbering::{Numbered, Verdict};
use smolpilot::arm::{
    Arm, Calibration, Calibrations, Error, ErrorKind, Options, Port, PortInfo, Role,
};
use smolpilot::clock::Clock;
use smolpilot::joint::{JOINT_COUNT, Joint};
use smolpilot::latest::Latest;
use smolpilot::runtime::workshop::{
    Activity, ArmCard, CalibratingView, CalibrationState, Line, NumberingView, Order, SavedView,
    Shop, Tools, WorkshopView,
};
use smolpilot::runtime::{
    ArmSource, Command, Connection, FaultKind, Runtime, Setup, Snapshot, Sources,
};
use smolpilot::sim::{Fault, SimArm};

use crate::scripted::loader;
use crate::stand::{armed, connected, fault};

const LIMIT: Duration = Duration::from_secs(20);

/// Ports with pretend arms behind them.
#[derive(Clone, Default)]
struct Ports(Arc<Mutex<Vec<(PortInfo, Option<SimArm>)>>>);

impl Ports {
    fn plug(&self, path: &str, arm: Option<&SimArm>) {
        let info = PortInfo {
            path: path.to_owned(),
            description: "USB Single Serial".to_owned(),
            usb: true,
            serial: Some(format!("SN-{path}")),
            adapter: true,
        };
        self.0.lock().unwrap().push((info, arm.cloned()));
    }

    fn unplug(&self, path: &str) {
        self.0.lock().unwrap().retain(|(info, _)| info.path != path);
    }

    fn list(&self) -> Vec<PortInfo> {
        let ports = self.0.lock().unwrap();
        ports.iter().map(|(info, _)| info.clone()).collect()
    }

    fn open(&self, path: &str) -> Result<Port, Error> {
        let ports = self.0.lock().unwrap();
        let port = ports.iter().find(|(info, _)| info.path == path);
        let kind = match port {
            Some((_, Some(arm))) => return Ok(arm.port()),
            Some((_, None)) => ErrorKind::Permission,
            None => ErrorKind::NoPort,
        };
        Err(Error {
            port: path.to_owned(),
            kind,
        })
    }

    fn tools(&self, clock: &Clock, calibrations: &Path) -> Tools {
        let (list, open) = (self.clone(), self.clone());
        Tools {
            list: Arc::new(move || list.list()),
            open: Arc::new(move |path| open.open(path)),
            calibrations: Some(Calibrations::below(calibrations)),
            clock: clock.clone(),
        }
    }
}

/// A person in the workshop.
struct Visit {
    shop: Shop,
    clock: Clock,
    ports: Ports,
    place: tempfile::TempDir,
    arm: SimArm,
    /// Encoder counts of the joints of the arm that is worked on, running on beyond a turn.
    at: [i32; JOINT_COUNT],
    offsets: [i32; JOINT_COUNT],
}

impl Visit {
    /// To a workshop with one arm on `/dev/ttyACM0`, as the factory and somebody's numbers have left it: not calibrated.
    fn with_fresh_arm() -> Self {
        let clock = Clock::virtual_at_zero();
        let arm = SimArm::new(clock.clone());
        for id in 1..=6 {
            // Offset 0, limits 0 and 4095.
            arm.inject(Fault::Offset(id, 0));
            for (address, value) in [(9, 0), (10, 0), (11, 0xFF), (12, 0x0F)] {
                arm.inject(Fault::Poke { id, address, value });
            }
        }
        Self::with(&arm)
    }

    fn with(arm: &SimArm) -> Self {
        let place = tempfile::tempdir().unwrap();
        let (clock, ports) = (arm.clock().clone(), Ports::default());
        ports.plug("/dev/ttyACM0", Some(arm));
        Self {
            shop: Shop::new(ports.tools(&clock, place.path())),
            clock,
            ports,
            place,
            arm: arm.clone(),
            at: [0; JOINT_COUNT],
            offsets: [0; JOINT_COUNT],
        }
    }

    fn say(&mut self, order: Order) -> WorkshopView {
        self.shop.obey(order);
        self.shop.view()
    }

    /// Lets the workshop work for as long as something goes on by itself.
    fn turns(&mut self, turns: u32) -> WorkshopView {
        for _ in 0..turns {
            self.clock.advance(Duration::from_millis(20));
            self.shop.turn();
        }
        self.shop.view()
    }

    fn calibrating(&self) -> CalibratingView {
        match self.shop.view().activity {
            Activity::Calibrating(it) => *it,
            other => panic!("{other:?}"),
        }
    }

    fn numbering(&self) -> NumberingView {
        match self.shop.view().activity {
            Activity::Numbering(it) => *it,
            other => panic!("{other:?}"),
        }
    }

    fn saved(&self) -> SavedView {
        match self.shop.view().activity {
            Activity::Saved(it) => *it,
            other => panic!("{other:?}: {:?}", self.shop.view().trouble),
        }
    }

    fn card(&self, path: &str) -> ArmCard {
        match &self.shop.view().port(path).unwrap().line {
            Line::Arm(card) => ArmCard::clone(card),
            other => panic!("{other:?}"),
        }
    }

    fn begin(&mut self, role: Role) {
        let port = "/dev/ttyACM0".to_owned();
        let seen = self.say(Order::Calibrate { port, role });
        assert_eq!(seen.trouble, None);
        let view = self.calibrating();
        self.offsets = view.before.map(|entry| entry.homing_offset);
        let pose = self.arm.calibration();
        let truth = self.arm.pose();
        self.at = Joint::ALL
            .map(|joint| pose.unnormalize(joint, truth[joint]) + pose.motor(joint).homing_offset);
    }

    fn lead(&mut self, joint: Joint, by: i32) {
        let index = joint.index();
        let goal = self.at[index] + by;
        while self.at[index] != goal {
            self.at[index] += (goal - self.at[index]).clamp(-150, 150);
            let position = self.at[index] - self.offsets[index];
            self.arm.inject(Fault::Position(index as u8 + 1, position));
            self.turns(1);
        }
    }

    fn next(&mut self) -> Stage {
        let seen = self.say(Order::Next);
        assert_eq!(seen.trouble, None);
        self.calibrating().stage
    }

    /// From the middle pose to the check. The gripper opens upward.
    fn go_through(&mut self) {
        self.turns(30);
        assert_eq!(self.next(), Stage::Sweep);
        for joint in Joint::ALL {
            if joint != Joint::WristRoll {
                for by in [-1000, 2000, -1000] {
                    self.lead(joint, by);
                }
            }
        }
        assert_eq!(self.next(), Stage::Close);
        self.lead(Joint::Gripper, -1000);
        assert_eq!(self.next(), Stage::Open);
        self.lead(Joint::Gripper, 2000);
        assert_eq!(self.next(), Stage::Check);
    }

    fn files(&self) -> usize {
        let mut folders = vec![self.place.path().to_owned()];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files += 1;
                }
            }
        }
        files
    }
}

fn connect(arm: &SimArm, calibration: Calibration) -> Result<Arm, Error> {
    let options = Options {
        clock: arm.clock().clone(),
        ..Options::default()
    };
    Arm::connect(arm.port(), calibration, options)
}

#[test]
fn a_fresh_arm_is_found_calibrated_and_fit_to_be_driven() {
    let mut visit = Visit::with_fresh_arm();
    visit.ports.plug("/dev/ttyACM7", None);
    visit.say(Order::Survey);
    visit.turns(4);
    let card = visit.card("/dev/ttyACM0");
    assert_eq!((card.present, card.role), (6, Role::Follower));
    assert_eq!(card.calibration, CalibrationState::Absent);
    assert_eq!(card.problems, Vec::<String>::new());
    let closed = visit.shop.view().port("/dev/ttyACM7").unwrap().line.clone();
    assert!(matches!(closed, Line::Refused(trouble) if trouble.what.contains("/dev/ttyACM7")));

    visit.begin(Role::Follower);
    visit.go_through();
    let view = visit.calibrating();
    assert_eq!(view.obstacles, Vec::<String>::new());
    assert!(view.pose.is_some() && view.plan.is_some());
    assert_eq!(visit.arm.writes(), [], "nothing before the last word");
    assert_eq!(visit.files(), 0);
    visit.say(Order::Save {
        id: "blue".to_owned(),
    });
    let saved = visit.saved();
    assert_eq!((saved.paths.len(), saved.changed.len()), (2, 6));
    let kept = Calibrations::below(visit.place.path());
    let calibration = kept.read(Role::Follower, "blue").unwrap();
    assert_eq!(Some(calibration), view.plan);
    for joint in Joint::ALL {
        if joint != Joint::WristRoll {
            let entry = calibration.motor(joint);
            assert_eq!(entry.range_max - entry.range_min, 2000, "{joint}");
        }
    }
    let mut arm = connect(&visit.arm, calibration).unwrap();
    let pose = arm.read_state().unwrap();
    assert!((pose[Joint::Gripper] - 100.0).abs() < 0.1, "{pose:?}");
    visit.turns(4);
    let known = CalibrationState::Known(vec![(Role::Follower, "blue".to_owned())]);
    assert_eq!(visit.card("/dev/ttyACM0").calibration, known);
}

#[test]
fn a_visit_can_be_left_at_any_step_with_nothing_written() {
    for steps in 0..=4 {
        let mut visit = Visit::with(&SimArm::new(Clock::virtual_at_zero()));
        visit.begin(Role::Leader);
        if steps == 4 {
            visit.go_through();
        } else if steps > 0 {
            visit.turns(30);
            visit.next();
            visit.lead(Joint::ElbowFlex, 100 * steps);
        }
        let seen = visit.say(Order::Cancel);
        assert_eq!((seen.activity, seen.trouble), (Activity::Idle, None));
        assert_eq!((visit.arm.writes().len(), visit.files()), (0, 0));
        assert!(connect(&visit.arm, visit.arm.calibration()).is_ok() || steps > 0);
    }
}

#[test]
fn a_step_that_is_not_done_says_what_is_missing() {
    let mut visit = Visit::with_fresh_arm();
    visit.begin(Role::Follower);
    visit.turns(30);
    visit.next();
    visit.lead(Joint::ShoulderPan, 500);
    let seen = visit.say(Order::Next);
    let trouble = seen.trouble.unwrap();
    assert!(trouble.remedy.contains("elbow_flex"), "{trouble:?}");
    assert_eq!(visit.calibrating().stage, Stage::Sweep);
    let seen = visit.say(Order::Save {
        id: "blue".to_owned(),
    });
    assert!(seen.trouble.unwrap().remedy.contains("Nothing was written"));
    visit.say(Order::Redo(Joint::ShoulderPan));
    assert_eq!(visit.calibrating().bars[0].travel, 0.0);
    visit.say(Order::Back);
    assert_eq!(visit.calibrating().stage, Stage::Middle);
    assert_eq!((visit.arm.writes().len(), visit.files()), (0, 0));
}

#[test]
fn an_arm_that_holds_is_let_go_before_it_is_moved() {
    let mut visit = Visit::with(&SimArm::new(Clock::virtual_at_zero()));
    let mut flown = connect(&visit.arm, visit.arm.calibration()).unwrap();
    flown.begin_arming();
    while !flown.torque_enabled() {
        flown.advance_torque().unwrap();
        visit.clock.advance(Duration::from_millis(10));
    }
    drop(flown);
    visit.begin(Role::Follower);
    assert_eq!(visit.calibrating().holding.len(), JOINT_COUNT);
    visit.turns(30);
    let trouble = visit.say(Order::Next).trouble.unwrap();
    assert!(trouble.remedy.contains("Support"), "{trouble:?}");
    visit.say(Order::LetGo("/dev/ttyACM0".to_owned()));
    assert_eq!(visit.calibrating().holding, []);
    assert!(Joint::ALL.iter().all(|joint| !visit.arm.torque(*joint)));
}

#[test]
fn a_cable_that_comes_out_ends_the_visit_and_says_that_nothing_was_written() {
    let mut visit = Visit::with_fresh_arm();
    visit.begin(Role::Follower);
    visit.turns(30);
    visit.next();
    visit.arm.inject(Fault::Disconnect);
    let seen = visit.turns(1);
    assert_eq!(seen.activity, Activity::Idle);
    let trouble = seen.trouble.unwrap();
    assert!(
        trouble.what.contains("/dev/ttyACM0") && trouble.remedy.contains("Nothing was written")
    );
}

#[test]
fn a_full_disk_leaves_the_servos_alone() {
    let mut visit = Visit::with_fresh_arm();
    visit.begin(Role::Follower);
    visit.go_through();
    // A file where a folder is to be.
    std::fs::write(visit.place.path().join("robots"), "").unwrap();
    let seen = visit.say(Order::Save {
        id: "blue".to_owned(),
    });
    assert!(seen.trouble.unwrap().what.contains("robots"));
    assert_eq!(visit.arm.writes(), []);
    let seen = visit.say(Order::Save {
        id: "../blue".to_owned(),
    });
    assert!(seen.trouble.unwrap().what.contains("cannot be the name"));
    std::fs::remove_file(visit.place.path().join("robots")).unwrap();
    visit.say(Order::Save {
        id: " blue ".to_owned(),
    });
    assert_eq!(visit.saved().id, "blue", "the visit goes on after it");
}

#[test]
fn the_arm_that_a_hand_moves_is_the_one() {
    let mut visit = Visit::with_fresh_arm();
    let other = SimArm::new(visit.clock.clone());
    visit.ports.plug("/dev/ttyACM1", Some(&other));
    visit.ports.plug("/dev/ttyACM2", None);
    visit.say(Order::Identify);
    visit.turns(3);
    let arms = |visit: &Visit| match visit.shop.view().activity {
        Activity::Identifying(arms) => arms,
        other => panic!("{other:?}"),
    };
    assert!(arms(&visit).iter().all(|arm| !arm.is_this));
    assert!(arms(&visit)[2].trouble.is_some());
    for counts in [2100, 2250, 2400] {
        other.inject(Fault::Position(1, counts));
        visit.turns(1);
    }
    let moved: Vec<bool> = arms(&visit).iter().map(|arm| arm.is_this).collect();
    assert_eq!(moved, [false, true, false]);
    assert!(arms(&visit)[1].travel[0] > 20.0);
    assert_eq!((other.writes(), visit.arm.writes()), (vec![], vec![]));
}

#[test]
fn a_port_is_found_by_its_plug() {
    let mut visit = Visit::with_fresh_arm();
    visit.ports.plug("/dev/ttyACM1", None);
    visit.say(Order::FindPort);
    visit.turns(2);
    visit.ports.unplug("/dev/ttyACM0");
    let seen = visit.turns(1);
    assert!(
        matches!(&seen.activity, Activity::Finding(Finding::Replug { gone, .. }) if gone.path == "/dev/ttyACM0")
    );
    visit.ports.plug("/dev/ttyACM3", None);
    let seen = visit.turns(1);
    assert!(
        matches!(seen.activity, Activity::Finding(Finding::Found(port)) if port.path == "/dev/ttyACM3")
    );
}

/// Six servos of which the operator plugs in one at a time: the others are mute.
#[test]
fn servos_are_numbered_one_at_a_time_and_never_two() {
    let arm = SimArm::new(Clock::virtual_at_zero());
    let mut visit = Visit::with(&arm);
    let port = "/dev/ttyACM0".to_owned();
    let role = Role::Follower;
    visit.say(Order::SetIds { port, role });
    assert_eq!(visit.numbering().wanted.map(|motor| motor.id), Some(6));
    visit.say(Order::Next);
    visit.turns(1);
    let refused = visit.numbering().verdict.unwrap();
    assert!(
        matches!(refused, Verdict::Refused(_)),
        "all six are there: {refused:?}"
    );
    for id in 1..=4 {
        arm.inject(Fault::Mute(id));
    }
    // Two that talk at once.
    arm.inject(Fault::Readdress(6, 5));
    visit.say(Order::Next);
    visit.turns(1);
    assert!(matches!(
        visit.numbering().verdict,
        Some(Verdict::Refused(_))
    ));
    assert_eq!(arm.writes(), [], "nobody was given a number");
    // A servo of another joint: only if the operator insists.
    arm.heal();
    for id in [1, 2, 3, 5] {
        arm.inject(Fault::Mute(id));
    }
    visit.say(Order::Next);
    visit.turns(1);
    assert!(matches!(visit.numbering().verdict, Some(Verdict::Foreign(motor)) if motor.id == 4));
    assert_eq!(arm.writes(), []);
    visit.say(Order::Insist);
    let view = visit.numbering();
    assert_eq!(view.done[5], Some(Numbered::From(4)));
    assert_eq!(view.wanted.map(|motor| motor.id), Some(5));
    // Nobody there: every speed is tried, and then it is said.
    arm.inject(Fault::Silent);
    visit.say(Order::Next);
    visit.turns(7);
    assert!(visit.numbering().hunting.is_some());
    visit.turns(1);
    assert_eq!(visit.numbering().hunting, None);
    assert!(matches!(
        visit.numbering().verdict,
        Some(Verdict::Refused(_))
    ));
}

/// A runtime that flies one pretend arm, with a workshop beside it that has another.
struct Hangar {
    runtime: Runtime,
    flown: SimArm,
    _place: tempfile::TempDir,
}

fn hangar() -> Hangar {
    let clock = Clock::real();
    let place = tempfile::tempdir().unwrap();
    let (flown, other) = (SimArm::new(clock.clone()), SimArm::new(clock.clone()));
    let ports = Ports::default();
    ports.plug("/dev/ttyACM0", Some(&flown));
    ports.plug("/dev/ttyACM1", Some(&other));
    let source = port("/dev/ttyACM0");
    let no_policy = loader(&Latest::new(), &Latest::new());
    let wired = ports.clone();
    let supply_clock = clock.clone();
    let supply = move |_: Role, source: &ArmSource| -> smolpilot::runtime::Connector {
        let (ports, path) = (wired.clone(), source.port().unwrap().to_owned());
        let clock = supply_clock.clone();
        Box::new(move || {
            let options = Options {
                clock: clock.clone(),
                ..Options::default()
            };
            Arm::connect(ports.open(&path)?, Calibration::simulated(), options)
        })
    };
    let first = supply(Role::Follower, &source);
    let runtime = Runtime::start(Setup {
        connector: Some(first),
        sources: Sources {
            follower: Some(source),
            leader: None,
        },
        supply: Some(Arc::new(supply)),
        tools: Some(ports.tools(&clock, place.path())),
        ..Setup::new(clock, no_policy)
    })
    .unwrap();
    Hangar {
        runtime,
        flown,
        _place: place,
    }
}

fn port(path: &str) -> ArmSource {
    ArmSource::Port {
        path: path.to_owned(),
        id: "blue".to_owned(),
    }
}

impl Hangar {
    fn tell(&self, command: Command) {
        self.runtime.commands.send(command).unwrap();
    }

    fn until(&self, what: &str, condition: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        self.runtime.wait_for(LIMIT, condition).unwrap_or_else(|| {
            let seen = self.runtime.snapshot.get().unwrap_or_default();
            panic!(
                "never {what}: {:?} {:?} {:#?}",
                seen.connection, seen.workshop, seen.faults
            )
        })
    }
}

fn line<'a>(seen: &'a Snapshot, path: &str) -> Option<&'a Line> {
    seen.workshop.port(path).map(|port| &port.line)
}

#[test]
fn the_workshop_never_opens_the_port_that_is_flown() {
    let hangar = hangar();
    hangar.until("connected", connected);
    hangar.tell(Command::Workshop(Order::Survey));
    let seen = hangar.until("surveyed", |seen| {
        matches!(line(seen, "/dev/ttyACM1"), Some(Line::Arm(_)))
    });
    assert_eq!(line(&seen, "/dev/ttyACM0"), Some(&Line::Unknown));
    let role = Role::Follower;
    let calibrate = |path: &str| {
        let port = path.to_owned();
        Command::Workshop(Order::Calibrate { port, role })
    };
    hangar.tell(calibrate("/dev/ttyACM0"));
    let seen = hangar.until("refused", |seen| fault(seen, FaultKind::Workshop).is_some());
    assert_eq!(seen.workshop.activity, Activity::Idle);
    // The other one is on the bench; it cannot be flown meanwhile.
    hangar.tell(calibrate("/dev/ttyACM1"));
    hangar.until("on the bench", |seen| {
        seen.workshop.busy_port() == Some("/dev/ttyACM1")
    });
    hangar.tell(Command::UseArm(role, Some(port("/dev/ttyACM1"))));
    let seen = hangar.until("refused", |seen| {
        let told = fault(seen, FaultKind::Workshop);
        told.is_some_and(|told| told.what.contains("/dev/ttyACM1"))
    });
    assert_eq!(seen.sources.follower, Some(port("/dev/ttyACM0")));
}

#[test]
fn an_arm_that_holds_is_kept_and_a_limp_one_is_changed() {
    let hangar = hangar();
    hangar.until("connected", connected);
    hangar.tell(Command::EnableTorque);
    hangar.until("armed", armed);
    let other = Command::UseArm(Role::Follower, Some(port("/dev/ttyACM1")));
    hangar.tell(other.clone());
    let seen = hangar.until("refused", |seen| fault(seen, FaultKind::Workshop).is_some());
    assert!(armed(&seen) && hangar.flown.torque(Joint::ShoulderPan));
    hangar.tell(Command::ReleaseTorque);
    hangar.until("limp", |seen| !armed(seen) && seen.held_joints == 0);
    hangar.tell(other);
    let seen = hangar.until("changed", |seen| {
        seen.arm == "/dev/ttyACM1" && connected(seen)
    });
    assert!(seen.arms_chosen && !armed(&seen));
    // The first one is free for the workshop now.
    hangar.tell(Command::Workshop(Order::Look("/dev/ttyACM0".to_owned())));
    hangar.until("looked at", |seen| {
        matches!(line(seen, "/dev/ttyACM0"), Some(Line::Arm(_)))
    });
    hangar.tell(Command::UseArm(Role::Follower, None));
    let seen = hangar.until("let go", |seen| seen.connection == Connection::Absent);
    assert_eq!(seen.sources.follower, None);
}
