//! Fault scripts on a living bus: events at their moments, random faults that can be repeated, and a hand that moves.

use std::time::Duration;

use super::{COUNT, IDS, armed, bus, connect, rig, tick};
use crate::arm::bus::TRIES;
use crate::arm::register::{Block, Register};
use crate::arm::{ErrorKind, Role};
use crate::clock::Clock;
use crate::joint::{Joint, JointVec};
use crate::sim::{Build, Fault, Gesture, Plug, SimArm, Stage, Traffic};

/// Reads all positions every 10 ms; when which servo was missing after one try.
fn missing(rig: &SimArm, reads: usize) -> Vec<(usize, usize)> {
    let mut bus = bus(rig);
    let mut missing = Vec::new();
    for nth in 0..reads {
        let blocks = bus.sync_read(Block::STATE, &IDS, 1).unwrap();
        let gone = blocks.iter().enumerate().filter(|(_, it)| it.is_none());
        missing.extend(gone.map(|(index, _)| (nth, index)));
        rig.clock().advance(Duration::from_millis(10));
    }
    missing
}

#[test]
fn events_come_at_their_time_and_at_their_transaction() {
    let rig = rig();
    rig.script("on 3 drop:1\nat 1s mute:5\nat 2s heal".parse().unwrap());
    let missing = missing(&rig, 300);
    assert_eq!(missing[0], (2, 1));
    let muted = &missing[1..];
    assert!(muted.iter().all(|(_, index)| *index == 4), "{muted:?}");
    // Each read takes its time on the wire as well.
    assert!((75..=95).contains(&muted[0].0), "{muted:?}");
    assert!((150..=190).contains(&muted.last().unwrap().0), "{muted:?}");
}

/// What the driver has counted and the rig has done in a minute of random faults.
fn soaked(seed: u64) -> (Traffic, String) {
    let (rig, mut arm) = armed();
    let script =
        format!("every 1/100 seed {seed} drop|flip|truncate|before|lose|late:20|mute:ID*2");
    rig.script(script.parse().unwrap());
    let start = arm.read_state().unwrap();
    for step in 0..1500_u32 {
        let mut goal = start;
        goal[Joint::ShoulderPan] += 20.0 * (step as f32 / 60.0).sin();
        arm.send_action(goal).unwrap();
        tick(&rig);
        let state = arm.read_state().unwrap();
        assert!(state.max_abs_diff(rig.pose()) <= 2.5, "step {step}");
    }
    (rig.traffic(), format!("{:?}", arm.counters()))
}

#[test]
fn random_faults_are_the_same_for_the_same_seed() {
    let (traffic, counters) = soaked(7);
    assert!((10..60).contains(&traffic.strikes), "{traffic:?}");
    assert_eq!(soaked(7), (traffic, counters));
    assert_ne!(soaked(8).0, traffic);
}

#[test]
fn a_plague_ends_with_heal_and_the_script_goes_on() {
    let rig = rig();
    rig.script("every 1/1 drop\nat 1s heal\nat 2s mute:2".parse().unwrap());
    assert_eq!(missing(&rig, 50).len(), 50);
    rig.clock().advance(Duration::from_secs(1));
    assert!(missing(&rig, 20).is_empty());
    rig.clock().advance(Duration::from_secs(1));
    assert_eq!(missing(&rig, 20).len(), 20);
    rig.script("at 1min silent".parse().unwrap());
    rig.end_scripts();
    rig.heal();
    rig.clock().advance(Duration::from_mins(2));
    assert!(missing(&rig, 20).is_empty());
}

#[test]
fn an_echo_can_end_and_all_servos_can_lose_power_together() {
    let rig = rig();
    rig.inject("echo".parse().unwrap());
    assert_eq!(connect(&rig).unwrap_err().kind, ErrorKind::Echo);
    rig.inject("echo:off".parse().unwrap());
    let mut arm = connect(&rig).unwrap();
    super::enable(&mut arm).unwrap();
    rig.inject("brownout:all".parse().unwrap());
    assert!(Joint::ALL.iter().all(|joint| !rig.torque(*joint)));
}

#[test]
fn a_hand_leads_a_leader_and_no_servo_that_is_driven() {
    let rig = SimArm::leader(Clock::virtual_at_zero());
    assert_ne!(rig.calibration(), super::rig().calibration());
    let mut arm = connect(&rig).unwrap();
    assert!(arm.read_state().unwrap().max_abs_diff(rig.pose()) <= COUNT);
    let goal = JointVec([30.0, -20.0, 10.0, -40.0, 90.0, 80.0]);
    rig.hand(Gesture::To(goal));
    rig.clock().advance(Duration::from_millis(100));
    let moving = arm.read_state().unwrap();
    assert!(moving.max_abs_diff(goal) > 20.0, "it takes its time");
    rig.clock().advance(Duration::from_secs(2));
    rig.advance();
    assert!(rig.pose().max_abs_diff(goal) <= COUNT);
    assert!(arm.read_state().unwrap().max_abs_diff(goal) <= 2.0 * COUNT);
    rig.hand(Gesture::Wave);
    rig.clock().advance(Duration::from_secs(3));
    rig.advance();
    assert!(rig.pose().max_abs_diff(goal) > 5.0);
    let (rig, arm) = armed();
    let held = rig.pose();
    rig.hand(Gesture::Sweep);
    rig.clock().advance(Duration::from_secs(2));
    rig.advance();
    assert!(rig.pose().max_abs_diff(held) <= COUNT && arm.torque_enabled());
}

#[test]
fn a_sweep_by_hand_ends_at_the_stops_and_the_encoder_may_run_over_on_the_way() {
    for role in Role::ALL {
        let rig = SimArm::uncalibrated(Clock::virtual_at_zero(), role);
        let mut bus = bus(&rig);
        rig.hand(Gesture::Sweep);
        let mut last = None;
        let mut travelled = [[0; 2]; 6];
        let (mut sum, mut jumps) = ([0; 6], 0);
        for _ in 0..1000 {
            rig.clock().advance(Duration::from_millis(10));
            let blocks = bus.sync_read(Block::STATE, &IDS, TRIES).unwrap();
            let now: Vec<i32> = blocks
                .into_iter()
                .map(|block| Block::STATE.value(Register::PresentPosition, &block.unwrap()))
                .collect();
            if let Some(before) = last.replace(now.clone()) {
                for index in 0..6 {
                    let step: i32 = now[index] - before[index];
                    jumps += i32::from(step.abs() > 2048);
                    sum[index] += (step + 2048).rem_euclid(4096) - 2048;
                    let [low, high] = &mut travelled[index];
                    (*low, *high) = ((*low).min(sum[index]), (*high).max(sum[index]));
                }
            }
        }
        assert!(jumps > 0, "{role}: no wrap in any travel");
        for joint in Joint::ALL {
            let motor = rig.calibration().motor(joint);
            let [low, high] = [motor.range_min, motor.range_max];
            let [from, to] = travelled[joint.index()];
            let most = if joint == Joint::WristRoll {
                3660
            } else {
                high - low + 24
            };
            // At the ends it turns round between two readings.
            assert!(
                (to - from - most).abs() <= 16,
                "{role} {joint}: {from} to {to}"
            );
        }
    }
}

#[test]
fn motors_out_of_the_box_get_their_ids_one_at_a_time() {
    let rig = SimArm::boxed(Clock::virtual_at_zero(), Role::Follower);
    let mut bus = bus(&rig);
    assert!(bus.ping(1).is_err(), "nothing is plugged in");
    for joint in Joint::ALL.into_iter().rev() {
        rig.plug(Plug::Only(joint));
        bus.ping(1).unwrap();
        let id = joint.index() as u8 + 1;
        // The answer comes from the old id, so the driver reads back where nobody is any more.
        let written = bus.write(1, Register::Id, i32::from(id));
        assert_eq!(written.is_ok(), id == 1);
        bus.ping(id).unwrap();
        assert_eq!(rig.id(joint), id);
    }
    rig.plug(Plug::All);
    for id in IDS {
        bus.ping(id).unwrap();
    }
    let boxed = Build::new(Role::Leader, Stage::Boxed);
    let rig = SimArm::built(Clock::virtual_at_zero(), boxed);
    rig.plug(Plug::All);
    let mut bus = super::bus(&rig);
    assert!(bus.ping(1).is_err(), "six servos speak at once");
    rig.plug(Plug::Only(Joint::Gripper));
    bus.ping(1).unwrap();
    rig.inject(Fault::Mute(1));
    assert!(bus.ping(1).is_err());
}
