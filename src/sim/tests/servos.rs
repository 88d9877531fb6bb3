//! What servos say to instructions that the driver does not send, and at rates that it does not use.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use proptest::prelude::*;

use super::rig;
use crate::arm::Role;
use crate::arm::packet::{BROADCAST, Direction, Packet, Parser, status_frame};
use crate::arm::register::{Block, Register};
use crate::clock::Clock;
use crate::joint::Joint;
use crate::sim::{EVERY_SERVO, Fault, Plug, SimArm};

/// Everything that comes back within a second.
fn ask(rig: &SimArm, id: u8, code: u8, params: &[u8]) -> Vec<Packet> {
    ask_at(rig, 1_000_000, id, code, params)
}

fn ask_at(rig: &SimArm, rate: u32, id: u8, code: u8, params: &[u8]) -> Vec<Packet> {
    let mut port = rig.port();
    port.set_baud_rate(rate).unwrap();
    // A request has the form of an answer whose alarms are the instruction.
    port.write_all(&status_frame(id, code, params)).unwrap();
    rig.clock().advance(Duration::from_secs(1));
    let mut bytes = [0; 512];
    let count = port.read(&mut bytes).unwrap_or(0);
    let mut parser = Parser::new(Direction::Status);
    parser.push(&bytes[..count]);
    parser.finish()
}

fn read(rig: &SimArm, id: u8, register: Register) -> i32 {
    let answers = ask(rig, id, 0x02, &[register.address(), register.width()]);
    register.decode(&answers[0].params)
}

fn ids(answers: &[Packet]) -> Vec<u8> {
    answers.iter().map(|answer| answer.id).collect()
}

#[test]
fn a_broadcast_ping_is_answered_by_each_in_its_slot() {
    let rig = rig();
    rig.inject(Fault::Readdress(6, 40));
    rig.inject(Fault::Mute(2));
    let mut port = rig.port();
    port.write_all(&status_frame(BROADCAST, 0x01, &[])).unwrap();
    let mut arrivals = Vec::new();
    let mut answer = [0; 6];
    port.set_timeout(Duration::from_millis(200)).unwrap();
    while port.read_exact(&mut answer).is_ok() {
        arrivals.push((answer[2], rig.clock().now().as_millis()));
    }
    let slots = arrivals.iter().all(|(id, at)| *at == 3 * u128::from(*id));
    assert!(slots && arrivals.len() == 5, "{arrivals:?}");
    // Two with one id speak at once, and that is no answer.
    rig.heal();
    rig.inject(Fault::Readdress(3, 4));
    assert_eq!(ids(&ask(&rig, BROADCAST, 0x01, &[])), [1, 2, 5, 40]);
}

#[test]
fn instructions_outside_the_drivers_list_are_obeyed() {
    let rig = rig();
    // Calibrated where it stands, to the middle and to a given count.
    assert_eq!(ids(&ask(&rig, 3, 0x0B, &[])), [3]);
    assert_eq!(read(&rig, 3, Register::PresentPosition), 2048);
    ask(&rig, 3, 0x0B, &1000_u16.to_le_bytes());
    assert_eq!(read(&rig, 3, Register::PresentPosition), 1000);
    // Turns are forgotten.
    rig.inject("poke:5:18=28".parse().unwrap());
    rig.inject("pos:5=5000".parse().unwrap());
    assert_eq!(read(&rig, 5, Register::PresentPosition), 5000);
    assert_eq!(ids(&ask(&rig, 5, 0x0A, &[])), [5]);
    assert_eq!(read(&rig, 5, Register::PresentPosition), 904);
    // The factory's settings, all but the id.
    assert_eq!(ids(&ask(&rig, 4, 0x06, &[])), [4]);
    assert_eq!(read(&rig, 4, Register::HomingOffset), 0);
    assert_eq!(read(&rig, 4, Register::Id), 4);
    // A restart: limp at once, silent for a while.
    ask(&rig, 2, 0x03, &[40, 1]);
    assert!(rig.torque(Joint::ShoulderLift));
    let mut port = rig.port();
    port.write_all(&status_frame(2, 0x08, &[])).unwrap();
    assert!(!rig.torque(Joint::ShoulderLift));
    port.write_all(&status_frame(2, 0x01, &[])).unwrap();
    rig.clock().advance(Duration::from_millis(500));
    assert_eq!(port.bytes_to_read().unwrap(), 0);
    rig.clock().advance(Duration::from_millis(500));
    assert_eq!(ids(&ask(&rig, 2, 0x01, &[])), [2]);
    // Nobody knows this one.
    assert!(ask(&rig, 2, 0x0F, &[]).is_empty());
}

#[test]
fn servos_hear_only_the_rate_that_they_are_set_to() {
    let rig = rig();
    assert!(ask_at(&rig, 115_200, 1, 0x01, &[]).is_empty());
    ask(&rig, 1, 0x03, &[6, 4]);
    assert!(ask(&rig, 1, 0x01, &[]).is_empty());
    assert_eq!(ids(&ask_at(&rig, 115_200, 1, 0x01, &[])), [1]);
    assert_eq!(ids(&ask_at(&rig, 1_000_000, 2, 0x01, &[])), [2]);
    // Each byte takes longer on a slower line: six there, six back.
    let mut port = rig.port();
    port.set_baud_rate(115_200).unwrap();
    let began = rig.clock().now();
    port.write_all(&status_frame(1, 0x01, &[])).unwrap();
    port.read_exact(&mut [0; 6]).unwrap();
    let took = rig.clock().now().saturating_sub(began).as_micros();
    assert!((1041..1100).contains(&took), "{took}");
}

#[test]
fn at_answer_level_0_only_questions_are_answered() {
    let rig = rig();
    ask(&rig, 1, 0x03, &[8, 0]);
    assert!(ask(&rig, 1, 0x03, &[41, 20]).is_empty());
    assert_eq!(read(&rig, 1, Register::Acceleration), 20);
    assert_eq!(ids(&ask(&rig, 1, 0x01, &[])), [1]);
    assert_eq!(ids(&ask(&rig, BROADCAST, 0x82, &[56, 2, 1, 2])), [1, 2]);
}

#[test]
fn an_answer_waits_for_the_return_delay() {
    let rig = rig();
    ask(&rig, 1, 0x03, &[7, 250]);
    let mut port = rig.port();
    let began = rig.clock().now();
    port.write_all(&status_frame(1, 0x01, &[])).unwrap();
    port.read_exact(&mut [0; 6]).unwrap();
    let took = rig.clock().now().saturating_sub(began);
    assert_eq!(took, Duration::from_micros(140 + 500));
}

#[test]
fn a_request_whose_end_is_missing_does_not_swallow_the_next_one() {
    let rig = rig();
    let mut port = rig.port();
    // It claims 200 bytes.
    port.write_all(&[0xFF, 0xFF, 1, 200, 3]).unwrap();
    rig.clock().advance(Duration::from_millis(30));
    assert_eq!(ids(&ask(&rig, 1, 0x01, &[])), [1]);
    let traffic = rig.traffic();
    assert_eq!((traffic.requests, traffic.noise), (1, 5));
    assert_eq!((traffic.answers, traffic.strikes), (1, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a host says, in whatever pieces: nothing panics, a locked EEPROM keeps what it holds, and after a pause the
    /// servos listen again.
    #[test]
    fn servos_survive_any_host(
        pieces in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(prop_oneof![Just(0xFF), any::<u8>()], 1..40),
                (1..=6_u8, 0..16_u8, proptest::collection::vec(any::<u8>(), 0..12))
                    .prop_filter("no factory restore", |(_, code, _)| ![0x06, 0x0B].contains(code))
                    .prop_map(|(id, code, params)| status_frame(id, code, &params)),
            ],
            1..20,
        ),
        pause in 0..5_u64,
    ) {
        let rig = rig();
        ask(&rig, BROADCAST, 0x03, &[55, 1]);
        let before = ask(&rig, 3, 0x02, &[5, 35]);
        let mut port = rig.port();
        for piece in pieces {
            port.write_all(&piece).unwrap();
            rig.clock().advance(Duration::from_millis(pause));
        }
        rig.clock().advance(Duration::from_secs(1));
        rig.inject(Fault::Poke { id: 3, address: 55, value: 1 });
        let mut waste = [0; 4096];
        while port.read(&mut waste).is_ok() {}
        let after = ask(&rig, 3, 0x02, &[5, 35]);
        prop_assert_eq!(after.len(), 1);
        // Somebody may have unlocked it first; then only the answer counts.
        let unlocked = rig.writes().iter().any(|write| {
            let last = usize::from(write.address) + write.bytes.len();
            write.id == 3 && write.address <= 55 && last > 55 || write.id == 3 && write.address == 40
        });
        prop_assert!(unlocked || after[0].params == before[0].params);
    }
}

#[test]
fn two_requests_in_one_go_are_answered_one_behind_the_other() {
    let rig = rig();
    let mut port = rig.port();
    let both = [status_frame(2, 0x01, &[]), status_frame(6, 0x01, &[])].concat();
    port.write_all(&both).unwrap();
    rig.clock().advance(Duration::from_secs(1));
    let mut bytes = [0; 12];
    port.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes[..6], status_frame(2, 0, &[]));
    assert_eq!(bytes[6..], status_frame(6, 0, &[]));
}

#[test]
fn many_joints_at_work_pull_the_supply_down() {
    let rig = rig();
    assert_eq!(read(&rig, 1, Register::PresentVoltage), 120);
    rig.inject(Fault::Stuck(EVERY_SERVO));
    let goals = (1..=6).flat_map(|id| [id, 0, 10]);
    let params: Vec<u8> = [42, 2].into_iter().chain(goals).collect();
    assert!(ask(&rig, BROADCAST, 0x83, &params).is_empty());
    let Block { address, length } = Block::STATE;
    let state = &ask(&rig, 1, 0x02, &[address, length])[0].params;
    let value = |register| Block::STATE.value(register, state);
    assert!(value(Register::PresentCurrent) > 300);
    // Sixteen amperes through a fifth of an ohm.
    let decivolts = value(Register::PresentVoltage);
    assert!((85..=95).contains(&decivolts), "{decivolts}");
    let leader = SimArm::leader(Clock::virtual_at_zero());
    leader.clock().advance(Duration::from_millis(5));
    assert_eq!(read(&leader, 1, Register::PresentVoltage), 74);
    assert_eq!(read(&leader, 1, Register::MaxVoltageLimit), 80);
}

#[test]
fn a_servo_that_is_unplugged_forgets_its_ram() {
    let rig = SimArm::uncalibrated(Clock::virtual_at_zero(), Role::Leader);
    ask(&rig, 4, 0x03, &[41, 20]);
    rig.plug(Plug::Out(Joint::WristFlex));
    assert!(ask(&rig, 4, 0x01, &[]).is_empty());
    rig.plug(Plug::In(Joint::WristFlex));
    assert_eq!(read(&rig, 4, Register::Acceleration), 0);
}
