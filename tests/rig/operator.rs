//! The operator's commands, seen in the snapshot after the next tick.

use smolpilot::joint::{Joint, JointVec};
use smolpilot::runtime::{
    Aggregate, Command, FaultKind, Knob, Mode, RtcKnobs, Scheduling, Snapshot,
};
use smolpilot::sim::Fault;

use crate::stand::{Stand, armed, connected, fault};

const FAR: JointVec = JointVec([60.0, -48.0, 48.0, 48.0, 0.0, 20.0]);

#[test]
fn stop_freezes_the_arm_and_the_bus_confirms_it() {
    let stand = Stand::driving(FAR);
    stand.runtime.estop.press();
    let confirmed = |seen: &Snapshot| seen.stopped.as_ref().is_some_and(|stop| stop.acknowledged);
    let seen = stand.until("stopped", confirmed);
    assert_eq!(seen.mode, Mode::Hold);
    let frozen = stand.after(3).commanded;
    stand.tell(Command::SetMode(Mode::Policy));
    let seen = stand.after(20);
    assert_eq!((seen.commanded, seen.mode), (frozen, Mode::Hold));
    assert!(stand.arm.pose().max_abs_diff(frozen) < 2.0);
    assert!(
        Joint::ALL.iter().all(|&joint| stand.arm.torque(joint)),
        "held, not dropped"
    );
    stand.tell(Command::Resume);
    let seen = stand.until("released", |seen| seen.stopped.is_none());
    assert_eq!((seen.mode, armed(&seen)), (Mode::Hold, true));
    stand.tell(Command::SetMode(Mode::Policy));
    let frozen = frozen[Joint::ShoulderPan];
    stand.until("moving", |seen| {
        seen.measured[Joint::ShoulderPan] > frozen + 5.0
    });
}

#[test]
fn a_stop_in_the_middle_of_arming_leaves_the_rest_limp() {
    let stand = Stand::at_rest(FAR);
    let rest = stand.arm.pose();
    let torques = |stand: &Stand| Joint::ALL.map(|joint| stand.arm.torque(joint));
    stand.until("connected", connected);
    stand.tell(Command::EnableTorque);
    stand.until("half way", |seen| {
        seen.arming.is_some_and(|share| share > 0.3)
    });
    stand.tell(Command::Set(Knob::NumSteps(5)));
    let seen = stand.until("turned", |seen| seen.knobs.num_steps == 5);
    assert!(seen.arming.is_some(), "the loop goes on meanwhile");
    stand.runtime.estop.press();
    let confirmed = |seen: &Snapshot| seen.stopped.as_ref().is_some_and(|stop| stop.acknowledged);
    let seen = stand.until("stopped", confirmed);
    assert!(!armed(&seen) && seen.arming.is_none());
    let held = torques(&stand);
    assert!(held[0] && !held[5], "{held:?}");
    stand.until_fault(FaultKind::Arming);
    stand.after(10);
    assert_eq!(
        torques(&stand),
        held,
        "nothing comes on, nothing is dropped"
    );
    stand.tell(Command::Resume);
    stand.tell(Command::EnableTorque);
    stand.until("armed", armed);
    assert!(stand.arm.pose().max_abs_diff(rest) < 2.0, "it jumped");
}

#[test]
fn a_new_task_reaches_the_policy_in_mid_run() {
    let stand = Stand::driving(FAR);
    let generation = stand.snapshot().generation;
    stand.tell(Command::SetTask("stack the cubes".to_owned()));
    let seen = stand.until("changed", |seen| seen.task == "stack the cubes");
    assert_eq!(seen.generation, generation + 1);
    let chunks = seen.chunks;
    stand.until("answered", |seen| seen.chunks > chunks);
    assert_eq!(stand.seen.get().unwrap().task, "stack the cubes");
}

#[test]
fn every_knob_takes_effect_without_a_reset() {
    let stand = Stand::driving(FAR);
    let generation = stand.snapshot().generation;
    let turn = |knob, done: fn(&Snapshot) -> bool| {
        let before = stand.snapshot().tick.0;
        stand.tell(Command::Set(knob));
        let seen = stand.until("turned", done);
        let marks = seen
            .history
            .iter()
            .filter(|it| it.changed && it.tick.0 > before);
        assert_eq!(marks.count(), 1, "{knob:?} is marked on the time axis");
    };
    turn(Knob::Scheduling(Scheduling::Rtc), |it| {
        it.knobs.scheduling == Scheduling::Rtc
    });
    turn(Knob::Scheduling(Scheduling::Sync), |it| {
        it.knobs.scheduling == Scheduling::Sync
    });
    turn(Knob::NActionSteps(5), |it| it.knobs.n_action_steps == 5);
    turn(Knob::Scheduling(Scheduling::Async), |it| {
        it.knobs.scheduling == Scheduling::Async
    });
    turn(Knob::ChunkSizeThreshold(0.4), |it| {
        it.knobs.chunk_size_threshold == 0.4
    });
    turn(Knob::ActionsPerChunk(20), |it| {
        it.queue.upcoming.len() <= 20
    });
    turn(Knob::Aggregate(Aggregate::Average), |it| {
        it.knobs.aggregate == Aggregate::Average
    });
    turn(Knob::BlendSteps(Some(4)), |it| {
        it.knobs.blend_steps == Some(4)
    });
    turn(Knob::NumSteps(5), |it| it.knobs.num_steps == 5);
    turn(Knob::Epsilon(Some(0.5)), |it| it.knobs.epsilon == Some(0.5));
    turn(
        Knob::Rtc(RtcKnobs {
            execution_horizon: 7,
            ..RtcKnobs::default()
        }),
        |it| it.knobs.rtc.execution_horizon == 7,
    );
    turn(Knob::AutoThreshold(true), |it| it.knobs.auto_threshold);
    turn(Knob::Fps(50.0), |it| it.knobs.fps == 50.0);
    let seen = stand.after(5);
    assert_eq!(seen.generation, generation);
    assert!(seen.max_step <= 2.1, "{}", seen.max_step);
}

#[test]
fn jog_moves_one_joint_and_release_lets_the_arm_go() {
    let stand = Stand::armed(FAR);
    stand.tell(Command::SetMode(Mode::Jog));
    stand.tell(Command::JogTo(Joint::Gripper, 50.0));
    let seen = stand.until("open", |seen| seen.measured[Joint::Gripper] > 49.0);
    assert!(seen.measured[Joint::ShoulderPan].abs() < 1.0);
    stand.tell(Command::ReleaseTorque);
    let seen = stand.until("limp", |seen| !armed(seen));
    assert_eq!(seen.mode, Mode::Hold);
    assert!(Joint::ALL.iter().all(|&joint| !stand.arm.torque(joint)));
}

#[test]
fn a_blocked_joint_is_named_and_its_goal_waits() {
    let stand = Stand::armed(FAR);
    stand.arm.inject(Fault::Stuck(1));
    stand.tell(Command::SetMode(Mode::Policy));
    let (_, blocked) = stand.until_fault(FaultKind::JointBlocked);
    assert!(blocked.what.contains("shoulder_pan"), "{}", blocked.what);
    let seen = stand.after(30);
    let pan = Joint::ShoulderPan;
    let lead = seen.commanded[pan] - stand.arm.pose()[pan];
    // It brakes from full speed.
    assert!((30.0..36.0).contains(&lead), "{lead}");
    assert!(armed(&seen) && seen.mode == Mode::Policy);
    stand.arm.heal();
    let seen = stand.until("there", |seen| seen.measured[pan] > FAR[pan] - 1.0);
    assert!(fault(&seen, FaultKind::JointBlocked).is_none());
}

#[test]
fn closing_ends_the_loop_and_leaves_the_arm_holding() {
    let stand = Stand::driving(FAR);
    let Stand { runtime, arm, .. } = stand;
    let snapshot = runtime.snapshot.clone();
    runtime.shutdown();
    let last = snapshot.get().map(|seen| (seen.tick, seen.mode)).unwrap();
    assert_eq!(last.1, Mode::Hold);
    assert!(Joint::ALL.iter().all(|&joint| arm.torque(joint)));
}
