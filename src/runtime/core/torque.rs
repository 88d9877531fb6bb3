//! The core while torque is being switched on or off, which takes many ticks: everything else goes on, and a stop comes
//! first.

use crate::runtime::core::ArmOrder;
use crate::runtime::core::bench::{Bench, Temper, flying};
use crate::runtime::{Command, Connection, FaultKind, Knob, Knobs, Mode, PolicyStatus};

const TICKS: u32 = 30;

/// A bench in the middle of arming.
fn arming(commands: Vec<Command>) -> Bench {
    let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
    bench.torque_ticks = TICKS;
    bench.tick(vec![]);
    bench.tick(vec![]);
    bench.tick(commands);
    assert_eq!(bench.order, ArmOrder::EnableTorque);
    advance(&mut bench, TICKS / 3);
    assert!(bench.seen.arming.is_some_and(|share| share > 0.3));
    assert_eq!(
        bench.seen.connection,
        Connection::Connected { torque: false }
    );
    bench
}

/// A bench whose arm is being let down.
fn releasing() -> Bench {
    let mut bench = flying(50);
    bench.torque_ticks = TICKS;
    bench.tick(vec![Command::ReleaseTorque]);
    assert_eq!(bench.order, ArmOrder::ReleaseTorque);
    advance(&mut bench, TICKS / 3);
    assert!(bench.seen.releasing.is_some_and(|share| share > 0.3));
    bench
}

fn advance(bench: &mut Bench, ticks: u32) {
    for _ in 0..ticks {
        bench.tick(vec![]);
        assert_eq!(bench.order, ArmOrder::Advance);
    }
}

fn stopped(bench: &Bench) -> Option<bool> {
    let stop = bench.seen.stopped.as_ref();
    stop.map(|stop| stop.acknowledged)
}

#[test]
fn a_stop_in_the_middle_of_arming_takes_effect_in_the_next_tick() {
    let mut bench = arming(vec![Command::EnableTorque, Command::SetMode(Mode::Policy)]);
    bench.presses = 1;
    bench.limp = vec!["gripper (motor 6)".to_owned()];
    bench.tick(vec![]);
    assert_eq!(bench.order, ArmOrder::Freeze);
    assert_eq!((stopped(&bench), bench.seen.arming), (Some(true), None));
    assert_eq!(bench.seen.mode, Mode::Hold);
    let told = bench.fault(FaultKind::Arming).map(|it| it.what.clone());
    assert!(told.is_some_and(|it| it.contains("gripper (motor 6)")));
    for _ in 0..2 * TICKS {
        bench.tick(vec![]);
        assert_eq!(bench.order, ArmOrder::Nothing, "it does not go on arming");
    }
    bench.tick(vec![Command::Resume]);
    bench.tick(vec![]);
    assert_eq!(
        (stopped(&bench), bench.order),
        (None, ArmOrder::Nothing),
        "nor after the stop"
    );
    bench.tick(vec![Command::EnableTorque]);
    advance(&mut bench, TICKS);
    assert_eq!(
        bench.seen.connection,
        Connection::Connected { torque: true }
    );
    assert!(bench.fault(FaultKind::Arming).is_some_and(|it| !it.active));
}

#[test]
fn an_arm_that_holds_in_part_says_so_and_can_be_armed_or_let_down() {
    let mut bench = arming(vec![Command::EnableTorque]);
    bench.presses = 1;
    bench.limp = vec!["gripper (motor 6)".to_owned()];
    bench.tick(vec![]);
    bench.tick(vec![]);
    assert_eq!(bench.seen.held_joints, 5);
    assert_eq!(
        bench.seen.connection,
        Connection::Connected { torque: false }
    );
    bench.tick(vec![Command::Resume]);
    bench.tick(vec![Command::ReleaseTorque]);
    assert_eq!(bench.order, ArmOrder::ReleaseTorque);
    bench.limp.clear();
    advance(&mut bench, TICKS);
    bench.tick(vec![]);
    assert_eq!((bench.torque, bench.seen.held_joints), (false, 0));
    bench.tick(vec![Command::EnableTorque]);
    advance(&mut bench, TICKS);
    bench.tick(vec![]);
    assert_eq!(bench.seen.held_joints, 6);
}

#[test]
fn knobs_and_tasks_apply_while_the_arm_is_armed() {
    let mut bench = arming(vec![Command::EnableTorque]);
    bench.tick(vec![
        Command::Set(Knob::NumSteps(5)),
        Command::SetTask("stack the cubes".to_owned()),
        Command::EnableTorque,
    ]);
    assert_eq!(bench.order, ArmOrder::Advance, "asked for twice, done once");
    let seen = &bench.seen;
    assert_eq!(
        (seen.knobs.num_steps, seen.task.as_str()),
        (5, "stack the cubes")
    );
    assert!(seen.arming.is_some());
    assert_eq!(bench.fault(FaultKind::LateTicks), None);
}

#[test]
fn a_policy_that_is_to_drive_plans_when_the_arm_can_follow() {
    let mut bench = arming(vec![Command::EnableTorque, Command::SetMode(Mode::Policy)]);
    assert_eq!(bench.seen.policy, PolicyStatus::Ready { busy: false });
    assert_eq!((bench.seen.mode, bench.requests.len()), (Mode::Policy, 0));
    let pose = bench.pose;
    bench.until(3.0, |bench| bench.seen.arming.is_none());
    assert_eq!((bench.pose, bench.requests.len()), (pose, 0));
    bench.tick(vec![]);
    assert_eq!(bench.requests.len(), 1);
    bench.run(1.0);
    assert_ne!(bench.pose, pose);
}

#[test]
fn arming_that_fails_half_way_is_over_and_said() {
    let mut bench = arming(vec![Command::EnableTorque, Command::SetMode(Mode::Policy)]);
    bench.mute = Some("motor 3 (elbow_flex) does not answer".to_owned());
    bench.tick(vec![]);
    assert_eq!((bench.seen.arming, bench.seen.mode), (None, Mode::Hold));
    let refused = bench.fault(FaultKind::Arming);
    assert!(refused.is_some_and(|it| it.active && it.what.contains("elbow_flex")));
    bench.mute = None;
    bench.tick(vec![]);
    assert_eq!(bench.order, ArmOrder::Nothing);
}

#[test]
fn a_stop_on_the_way_down_holds_the_arm() {
    let mut bench = releasing();
    bench.tick(vec![Command::SetMode(Mode::Policy)]);
    assert_eq!(bench.seen.mode, Mode::Hold, "refused");
    bench.presses = 1;
    bench.tick(vec![Command::ReleaseTorque]);
    assert_eq!(
        bench.order,
        ArmOrder::Freeze,
        "a press wins over what was asked for in the same tick"
    );
    assert_eq!((stopped(&bench), bench.seen.releasing), (Some(true), None));
    bench.tick(vec![Command::Resume]);
    assert_eq!(
        bench.order,
        ArmOrder::Send(bench.pose),
        "held as before the release"
    );
    bench.tick(vec![Command::ReleaseTorque]);
    advance(&mut bench, TICKS);
    assert_eq!((bench.torque, bench.seen.mode), (false, Mode::Hold));
}

#[test]
fn an_arm_that_is_let_go_has_no_driver() {
    let mut bench = flying(50);
    bench.tick(vec![Command::ReleaseTorque, Command::SetMode(Mode::Policy)]);
    assert_eq!((bench.torque, bench.seen.mode), (false, Mode::Hold));
    let pose = bench.pose;
    bench.tick(vec![Command::EnableTorque]);
    bench.run(1.0);
    assert_eq!((bench.torque, bench.pose), (true, pose));
}

#[test]
fn a_second_press_is_obeyed_like_the_first() {
    let mut bench = flying(50);
    bench.presses = 1;
    bench.tick(vec![]);
    assert_eq!(stopped(&bench), Some(true));
    // Torque may be switched on while the stop is latched, and that can be stopped too.
    bench.torque = false;
    bench.torque_ticks = TICKS;
    bench.tick(vec![]);
    bench.tick(vec![Command::EnableTorque]);
    advance(&mut bench, 5);
    bench.presses = 2;
    bench.tick(vec![Command::Resume]);
    assert_eq!(
        (bench.order, stopped(&bench)),
        (ArmOrder::Freeze, Some(true))
    );
}

#[test]
fn closing_on_the_way_down_leaves_the_arm_holding() {
    let mut bench = releasing();
    bench.tick(vec![Command::Shutdown]);
    assert_eq!(bench.order, ArmOrder::Freeze);
}
