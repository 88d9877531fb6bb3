//! What a tick costs on the bus: how many questions, how much time on the wire, and what a silent servo adds to it.

use std::time::Duration;

use super::{armed, tick};
use crate::sim::Fault;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_tick_is_one_question_to_all_servos_and_one_order() {
    let (rig, mut arm) = armed();
    let goal = arm.read_state().unwrap();
    let (before, began) = (arm.counters(), rig.clock().now());
    for _ in 0..10 {
        arm.read_state().unwrap();
        arm.send_action(goal).unwrap();
    }
    let spent = rig.clock().now().saturating_sub(began);
    let after = arm.counters();
    assert_eq!(after.transactions - before.transactions, 2 * 10);
    assert_eq!(after.retries, before.retries);
    // 14 bytes out, six answers of 37, with their pauses, and nobody waits for the goals.
    assert!(spent / 10 < 3 * MS, "{:?} a tick", spent / 10);
}

#[test]
fn a_silent_servo_costs_a_tick_once_and_little_from_then_on() {
    for id in super::IDS {
        let (rig, mut arm) = armed();
        arm.read_state().unwrap();
        rig.inject(Fault::Mute(id));
        let mut took = [Duration::ZERO; 3];
        for took in &mut took {
            tick(&rig);
            let began = rig.clock().now();
            assert!(arm.read_state().is_ok(), "its last position stands in");
            *took = rig.clock().now().saturating_sub(began);
        }
        assert!(took[0] < 33 * MS, "motor {id}: {took:?}");
        assert!(
            took[1] < 13 * MS && took[2] < 13 * MS,
            "motor {id}: {took:?}"
        );
    }
}

#[test]
fn each_servo_counts_its_own_errors_and_tells_how_old_its_answer_is() {
    let (rig, mut arm) = armed();
    arm.read_state().unwrap();
    let before = arm.errors();
    assert!(
        arm.ages().iter().all(|age| *age < 5 * MS),
        "{:?}",
        arm.ages()
    );
    rig.inject(Fault::Mute(4));
    for _ in 0..3 {
        tick(&rig);
        arm.read_state().unwrap();
    }
    let (errors, ages) = (arm.errors(), arm.ages());
    for index in 0..6 {
        let more = errors[index] - before[index];
        assert_eq!(more >= 3, index == 3, "{errors:?}");
        assert_eq!(ages[index] > 90 * MS, index == 3, "{ages:?}");
    }
    rig.heal();
    arm.read_state().unwrap();
    assert!(arm.ages()[3] < 5 * MS);
}
