//! The real driver against the pretend arm, with faults: what must never move, and what must always be noticed. Numbers in
//! the names of tests are those of the list of faults that a bus can have; c02 and the like are failures users reported.

mod brake;
mod driver;
mod economy;
mod gripper;
mod handshake;
mod line;
mod reach;
mod script;
mod servos;
mod setup;
mod strength;
mod table;
mod torque;
mod workbench;

use std::time::Duration;

use crate::arm::bus::{Bus, REPLY_TIMEOUT};
use crate::arm::{Arm, Error, ErrorKind, Options, TorqueStep};
use crate::clock::Clock;
use crate::joint::JointVec;
use crate::sim::{Distortion, Fault, SimArm};

const IDS: [u8; 6] = [1, 2, 3, 4, 5, 6];
/// A control period at 30 Hz.
const TICK: Duration = Duration::from_millis(33);
/// Half a count of the coarsest joint, robot units.
const COUNT: f32 = 0.09;

fn rig() -> SimArm {
    SimArm::new(Clock::virtual_at_zero())
}

fn options(rig: &SimArm) -> Options {
    Options {
        clock: rig.clock().clone(),
        ..Options::default()
    }
}

fn connect(rig: &SimArm) -> Result<Arm, Error> {
    Arm::connect(rig.port(), rig.calibration(), options(rig))
}

/// A rig with torque on.
fn armed() -> (SimArm, Arm) {
    let rig = rig();
    let mut arm = connect(&rig).unwrap();
    enable(&mut arm).unwrap();
    (rig, arm)
}

/// Drives towards `goal` for so many ticks; the last pose that was sent.
fn drive(rig: &SimArm, arm: &mut Arm, goal: JointVec, ticks: u32) -> JointVec {
    let mut sent = goal;
    for _ in 0..ticks {
        arm.read_state().unwrap();
        sent = arm.send_action(goal).unwrap();
        tick(rig);
    }
    sent
}

/// Advances a change of torque every few milliseconds until it is over.
fn advance(arm: &mut Arm) -> Result<TorqueStep, Error> {
    loop {
        match arm.advance_torque()? {
            TorqueStep::Going(_) => arm.pause(Duration::from_millis(10)),
            over => return Ok(over),
        }
    }
}

/// Arms it; the pose that it holds.
fn enable(arm: &mut Arm) -> Result<JointVec, Error> {
    arm.begin_arming();
    match advance(arm)? {
        TorqueStep::Armed(pose) => Ok(pose),
        other => panic!("{other:?}"),
    }
}

fn release(arm: &mut Arm) -> Result<(), Error> {
    arm.begin_release();
    assert_eq!(advance(arm)?, TorqueStep::Released);
    Ok(())
}

fn bus(rig: &SimArm) -> Bus {
    Bus::new(rig.port(), rig.clock().clone(), REPLY_TIMEOUT)
}

fn tick(rig: &SimArm) {
    rig.clock().advance(TICK);
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind
}

fn next(distortion: Distortion) -> Fault {
    Fault::Next {
        skip: 0,
        distortion,
    }
}
