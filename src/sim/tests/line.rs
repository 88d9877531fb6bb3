//! The line alone: lost, damaged, late and misplaced answers never become wrong values.

use std::time::Duration;

use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use rustypot::DynamixelProtocolHandler;
use rustypot::servo::feetech::sts3215::DEFINITION;

use super::{IDS, armed, bus, enable, next, rig, tick};
use crate::arm::bus::{Bus, BusError, TRIES};
use crate::arm::register::{Block, Register};
use crate::arm::turn::encoder_from_position;
use crate::arm::workbench::homing::homing_offset;
use crate::arm::{ErrorKind, unrecorded};
use crate::sim::{Distortion, Fault};

/// One clean sync read of all positions with this distortion on the way.
fn distorted_read(distortion: Distortion) -> (Vec<Option<i32>>, Bus) {
    let rig = rig();
    let mut bus = bus(&rig);
    rig.inject(next(distortion));
    let blocks = bus.sync_read(Block::STATE, &IDS, TRIES).unwrap();
    let position = |bytes: Vec<u8>| Block::STATE.value(Register::PresentPosition, &bytes);
    (
        blocks
            .into_iter()
            .map(|block| block.map(position))
            .collect(),
        bus,
    )
}

fn true_positions() -> Vec<Option<i32>> {
    let (positions, bus) = distorted_read(Distortion::Late(Duration::ZERO));
    assert_eq!(
        (bus.counters().transactions, bus.counters().retries),
        (1, 0)
    );
    positions
}

#[test]
fn f04_to_f07_damaged_frames_are_asked_for_again_and_good_ones_kept() {
    let truth = true_positions();
    let noise = vec![0xFF, 0xFF, 0xFF, 3, 0xFF];
    let damages = [
        Distortion::Flip { nth: 0, bit: 50 },
        Distortion::Flip { nth: 5, bit: 9 },
        Distortion::Flip { nth: 2, bit: 28 },
        Distortion::Truncate(70),
        Distortion::Truncate(3),
        Distortion::Before(0, noise.clone()),
        Distortion::Before(3, vec![0xFF]),
        Distortion::Inside(4, noise),
        Distortion::LoseRequest,
    ];
    for damage in damages {
        let (positions, bus) = distorted_read(damage.clone());
        assert_eq!(positions, truth, "{damage:?}");
        let counters = bus.counters();
        let once = counters.retries <= 1 && counters.lost.is_empty();
        assert!(once, "{damage:?} {counters:?}");
    }
    let mut inner = vec![0xFF, 0xFF, 0xFF, 0xFF];
    inner.resize(15, 0xFF);
    let (positions, bus) = distorted_read(Distortion::Params(1, inner));
    assert_eq!(
        positions[1],
        Some(-32767),
        "FF FF in the parameters is data"
    );
    assert_eq!((positions[2], bus.counters().retries), (truth[2], 0));
}

#[test]
fn f08_late_answers_are_never_taken_for_new_ones() {
    let rig = rig();
    let mut bus = bus(&rig);
    rig.inject(next(Distortion::Late(Duration::from_millis(25))));
    bus.read(2, Register::GoalPosition).unwrap();
    assert_eq!(bus.counters().retries, 1);
    rig.inject(Fault::Position(2, 1500));
    // The late answer (goal 0, two bytes) is on the wire while these are asked.
    for _ in 0..20 {
        assert_eq!(bus.read(2, Register::PresentPosition).unwrap(), 1500);
        let blocks = bus.sync_read(Block::STATE, &[2], 1).unwrap();
        assert!(blocks[0].is_some());
        rig.clock().advance(Duration::from_millis(2));
    }
}

#[test]
fn f09_f10_no_value_lands_on_the_wrong_joint() {
    let truth = true_positions();
    for odd in [
        Distortion::WrongId(0, 9),
        Distortion::WrongId(0, 4),
        Distortion::WrongId(3, 1),
        Distortion::Reverse,
        Distortion::Duplicate(2),
        Distortion::TooLong(1),
        Distortion::TooLong(5),
    ] {
        let (positions, bus) = distorted_read(odd.clone());
        assert_eq!(positions, truth, "{odd:?}");
        let counters = bus.counters();
        assert!(counters.unexpected + counters.retries > 0, "{odd:?}");
        assert!(counters.lost.is_empty(), "{odd:?} {counters:?}");
    }
}

#[test]
fn f16_a_lost_acknowledgement_is_no_failure() {
    let rig = rig();
    let mut bus = bus(&rig);
    rig.inject(next(Distortion::Drop(0)));
    bus.write(4, Register::Acceleration, 50).unwrap();
    let writes = rig.writes();
    assert_eq!(writes.len(), 1, "written once, read back: {writes:?}");
}

#[test]
fn f17_a_write_that_a_locked_eeprom_drops_is_an_error() {
    let rig = rig();
    let mut bus = bus(&rig);
    bus.write(4, Register::Lock, 1).unwrap();
    let error = bus.write(4, Register::HomingOffset, -5).unwrap_err();
    assert!(
        matches!(
            error,
            BusError::NotTaken {
                id: 4,
                wrote: -5,
                read: 333,
                ..
            }
        ),
        "{error}"
    );
    bus.write(4, Register::Lock, 0).unwrap();
    bus.write(4, Register::HomingOffset, -5).unwrap();
}

#[test]
fn whatever_the_line_does_a_state_is_true_or_an_error() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (rig, mut arm) = armed();
    let truth = arm.read_state().unwrap();
    let mut errors = 0;
    for round in 0..3000 {
        for skip in 0..rng.random_range(1..4) {
            let distortion = random_distortion(&mut rng);
            rig.inject(Fault::Next { skip, distortion });
        }
        tick(&rig);
        match arm.read_state() {
            Ok(state) => assert_eq!(state, truth, "round {round}"),
            Err(error) => {
                errors += 1;
                assert!(
                    matches!(error.kind, ErrorKind::Silent(_) | ErrorKind::NoResponse),
                    "{error}"
                );
            }
        }
        if !arm.torque_enabled() {
            rig.heal();
            enable(&mut arm).unwrap();
        }
    }
    assert!(errors < 100, "{errors} of 3000 reads failed");
}

fn random_distortion(rng: &mut ChaCha8Rng) -> Distortion {
    let nth = rng.random_range(0..6);
    let mut noise = vec![0; rng.random_range(1..40)];
    rng.fill_bytes(&mut noise);
    match rng.random_range(0..10) {
        0 => Distortion::LoseRequest,
        1 => Distortion::Drop(nth),
        2 => Distortion::Flip {
            nth,
            bit: rng.random_range(0..200),
        },
        3 => Distortion::Truncate(rng.random_range(0..126)),
        4 => Distortion::Before(nth, noise),
        5 => Distortion::Inside(nth, noise),
        6 => Distortion::Duplicate(nth),
        7 => Distortion::Reverse,
        8 => Distortion::TooLong(nth),
        _ => Distortion::Late(Duration::from_millis(rng.random_range(1..60))),
    }
}

proptest! {
    #![proptest_config(unrecorded(64))]

    /// Bytes of any kind in the place of answers: an error or the truth, never a panic and never another value.
    #[test]
    fn random_bytes_on_the_bus_are_an_error_or_the_truth(
        noises in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..80), 1..12),
        nth in 0_usize..6,
    ) {
        let truth = true_positions();
        let rig = rig();
        let mut bus = bus(&rig);
        for noise in noises {
            for distortion in [Distortion::Before(nth, noise.clone()), Distortion::Inside(nth, noise)] {
                rig.inject(next(distortion));
                let blocks = bus.sync_read(Block::STATE, &IDS, TRIES).unwrap();
                for (block, truth) in blocks.into_iter().zip(&truth) {
                    let position = block.map(|bytes| Block::STATE.value(Register::PresentPosition, &bytes));
                    prop_assert!(position.is_none() || position == *truth);
                }
                prop_assert!(bus.read(3, Register::ModelNumber).is_ok_and(|model| model == 777));
            }
        }
    }
}

/// Another driver reads the same from the pretend servos, and they obey it alike.
#[test]
fn another_driver_agrees_with_the_pretend_servos() {
    let rig = rig();
    let theirs = DynamixelProtocolHandler::v1();
    let mut port = rig.port();
    let blocks = theirs.sync_read(port.as_mut(), &IDS, 56, 15).unwrap();
    let ours = bus(&rig).sync_read(Block::STATE, &IDS, 1).unwrap();
    assert_eq!(blocks, ours.into_iter().flatten().collect::<Vec<_>>());
    let offset = DEFINITION.read_register(&theirs, port.as_mut(), 1, "homing_offset");
    assert_eq!(offset.unwrap(), -710);
    DEFINITION
        .write_register(&theirs, port.as_mut(), 1, "homing_offset", -2047)
        .unwrap();
    assert_eq!(bus(&rig).read(1, Register::HomingOffset).unwrap(), -2047);
}

#[test]
fn c02_a_corrupt_packet_in_fifty_ends_no_run() {
    let rig = rig();
    let mut bus = bus(&rig);
    rig.inject("burst:50".parse().unwrap());
    for _ in 0..20_000 {
        let blocks = bus.sync_read(Block::STATE, &IDS, TRIES).unwrap();
        assert!(blocks.iter().all(Option::is_some));
        rig.clock().advance(Duration::from_millis(10));
    }
    let counters = bus.counters();
    let expected = counters.transactions / 50;
    assert!(counters.lost.is_empty(), "{counters:?}");
    assert!(
        counters.corrupt.abs_diff(expected) <= expected / 20,
        "{counters:?}"
    );
    assert!(
        counters.retries.abs_diff(expected) <= expected / 20,
        "{counters:?}"
    );
}

#[test]
fn c04_a_homing_offset_can_be_written_wherever_the_joint_stands() {
    for fault in [
        "pos:5=4095",
        "pos:5=0",
        "pos:5=4161",
        "pos:5=-60",
        "offset:5=-1500",
    ] {
        for multi_turn in [false, true] {
            let rig = rig();
            let mut bus = bus(&rig);
            if multi_turn {
                rig.inject("poke:5:18=28".parse().unwrap());
            }
            rig.inject(fault.parse().unwrap());
            let position = bus.read(5, Register::PresentPosition).unwrap();
            let present = bus.read(5, Register::HomingOffset).unwrap();
            let offset = homing_offset(encoder_from_position(position, present));
            bus.write(5, Register::HomingOffset, offset).unwrap();
            rig.clock().advance(Duration::from_millis(2));
            let reads = bus.read(5, Register::PresentPosition).unwrap();
            assert!(
                (2046..=2048).contains(&reads.rem_euclid(4096)),
                "{fault}: {reads}"
            );
        }
    }
}

#[test]
fn an_answer_that_waits_is_read_even_by_a_thread_that_was_held_up() {
    let rig = rig();
    let mut bus = bus(&rig);
    rig.inject(Fault::Stall(Duration::from_millis(50)));
    let blocks = bus.sync_read(Block::STATE, &IDS, TRIES).unwrap();
    assert!(blocks.iter().all(Option::is_some));
    assert_eq!(bus.counters().retries, 0);
}
