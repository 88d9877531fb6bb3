//! The same runtime on a real serial port: a pseudo-terminal with a pretend arm behind it, opened by its path.

use std::time::Duration;

use smolpilot::arm::{Arm, Options, open_port};
use smolpilot::clock::Clock;
use smolpilot::joint::{Joint, JointVec};
use smolpilot::latest::Latest;
use smolpilot::runtime::{Command, Connection, Mode, Runtime, Setup, Snapshot};
use smolpilot::sim::{Gesture, Pty, SimArm};

use crate::scripted::loader;
use crate::stand::{armed, connected};

/// Longer than anything here takes on a busy machine; reached only when the test fails.
const LIMIT: Duration = Duration::from_secs(20);
/// Two more processes between driver and servos than on a desk, and a busy machine: silence is told from slowness later.
const PATIENT: Duration = Duration::from_millis(400);

fn options(clock: &Clock) -> Options {
    Options {
        clock: clock.clone(),
        reply_timeout: PATIENT,
        ..Options::default()
    }
}

/// A runtime that opens the port behind `link` whenever it connects.
fn flown(sim: &SimArm, link: &std::path::Path) -> Runtime {
    let (clock, calibration) = (sim.clock().clone(), sim.calibration());
    let path = link.to_str().unwrap().to_owned();
    let no_policy = loader(&Latest::new(), &Latest::new());
    let setup = Setup {
        arm: path.clone(),
        connector: Some(Box::new(move || {
            Arm::connect(open_port(&path)?, calibration, options(&clock))
        })),
        ..Setup::new(sim.clock().clone(), no_policy)
    };
    Runtime::start(setup).unwrap()
}

fn until(runtime: &Runtime, what: &str, condition: impl Fn(&Snapshot) -> bool) {
    let seen = runtime.wait_for(LIMIT, condition);
    assert!(seen.is_some(), "never {what}: {:?}", runtime.snapshot.get());
}

#[test]
fn an_arm_behind_a_real_port_is_armed_moved_lost_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("arm");
    let sim = SimArm::new(Clock::real());
    let _pty = Pty::start(sim.clone(), Some(link.clone())).unwrap();
    let runtime = flown(&sim, &link);
    until(&runtime, "connected", connected);
    runtime.commands.send(Command::EnableTorque).unwrap();
    until(&runtime, "armed", armed);
    assert!(sim.torque(Joint::Gripper));
    runtime.commands.send(Command::SetMode(Mode::Jog)).unwrap();
    until(&runtime, "ready to jog", |seen| seen.mode == Mode::Jog);
    let jog = Command::JogTo(Joint::ShoulderPan, 15.0);
    runtime.commands.send(jog).unwrap();
    let there = |seen: &Snapshot| (seen.measured[Joint::ShoulderPan] - 15.0).abs() < 1.0;
    until(&runtime, "there", there);
    assert!((sim.pose()[Joint::ShoulderPan] - 15.0).abs() < 1.5);
    sim.inject("disconnect".parse().unwrap());
    until(&runtime, "lost", |seen| {
        matches!(seen.connection, Connection::Lost(_))
    });
    sim.heal();
    until(&runtime, "found", connected);
    runtime.shutdown();
}

#[test]
fn a_leader_is_read_while_a_hand_moves_it() {
    let sim = SimArm::leader(Clock::real());
    let pty = Pty::start(sim.clone(), None).unwrap();
    let path = pty.path().unwrap();
    let open = || open_port(path.to_str().unwrap()).unwrap();
    let mut arm = Arm::connect(open(), sim.calibration(), options(sim.clock())).unwrap();
    let goal = JointVec([20.0, -30.0, 30.0, 10.0, -25.0, 60.0]);
    sim.hand(Gesture::To(goal));
    let end = sim.clock().now() + LIMIT;
    while arm.read_state().unwrap().max_abs_diff(goal) > 0.5 {
        assert!(sim.clock().now() < end, "never there: {:?}", sim.pose());
    }
    // Whoever comes next finds the port free.
    drop(arm);
    Arm::connect(open(), sim.calibration(), options(sim.clock())).unwrap();
}
