//! The flown arm and the workshop: one port has one owner.

use std::sync::Arc;
use std::time::Duration;

use smolpilot::arm::{Arm, Calibration, Options, Role};
use smolpilot::clock::Clock;
use smolpilot::joint::Joint;
use smolpilot::latest::Latest;
use smolpilot::runtime::workshop::{Activity, Line, Order};
use smolpilot::runtime::{
    ArmSource, Command, Connection, FaultKind, LeaderStatus, Runtime, Setup, Snapshot, Sources,
};
use smolpilot::sim::SimArm;

use crate::scripted::loader;
use crate::stand::{armed, connected, fault};
use crate::workshop::Ports;

const LIMIT: Duration = Duration::from_secs(20);

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

#[test]
fn a_leader_is_chosen_read_and_let_go() {
    let hangar = hangar();
    let leader = Command::UseArm(Role::Leader, Some(port("/dev/ttyACM1")));
    hangar.tell(leader);
    let live = |seen: &Snapshot| {
        let leader = seen.leader.as_ref();
        leader.is_some_and(|leader| leader.status == LeaderStatus::Live)
    };
    let seen = hangar.until("read", live);
    assert_eq!(seen.sources.leader, Some(port("/dev/ttyACM1")));
    hangar.tell(Command::UseArm(Role::Leader, None));
    let seen = hangar.until("let go", |seen| seen.leader.is_none());
    assert_eq!(seen.sources.leader, None);
    // Its port is free again.
    hangar.tell(Command::Workshop(Order::Look("/dev/ttyACM1".to_owned())));
    hangar.until("looked at", |seen| {
        matches!(line(seen, "/dev/ttyACM1"), Some(Line::Arm(_)))
    });
}
