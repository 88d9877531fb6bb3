//! The core under commands, stops and faults.

use std::time::Duration;

use crate::clock::Tick;
use crate::joint::{Joint, JointVec};
use crate::policy::{LoadProgress, LoadStage, Refusal};
use crate::runtime::core::bench::{Bench, Temper, assert_still, flying, scheduled};
use crate::runtime::core::{ArmOrder, LOST_AFTER};
use crate::runtime::fault_book::Words;
use crate::runtime::supervisor::PolicyEvent;
use crate::runtime::{Command, FaultKind, Knob, Knobs, Mode, PolicyStatus, Scheduling};

#[test]
fn warm_up_counts_neither_as_latency_nor_as_delay() {
    let mut bench = Bench::at_rest(Knobs::default(), 100, Temper::Counts);
    bench.load_time = Duration::from_secs(7);
    bench.tick(vec![]);
    bench.tick(vec![Command::EnableTorque, Command::SetMode(Mode::Policy)]);
    assert_still(&mut bench, 6 * 30);
    assert!(matches!(bench.seen.policy, PolicyStatus::Loading(_)));
    assert!(bench.seen.queue.starved_since.is_some());
    bench.run(4.0);
    let seen = &bench.seen;
    assert!(seen.latency.total.p95 < Duration::from_millis(101));
    assert_eq!((seen.starved_ticks, seen.delay.p95), (0, 3));
    // Reported against LeRobot (PR 4223): the first chunk lost the actions of the time that it warmed up.
    assert_eq!(bench.executed[..3], [0.0, 1.0, 2.0]);
}

#[test]
fn sync_mode_observes_waits_and_executes_n_action_steps() {
    let mut bench = Bench::driving(scheduled(Scheduling::Sync), 100, Temper::Counts);
    bench.run(10.0);
    let ticks: Vec<u64> = bench.requests.iter().map(|it| it.observed_at.0).collect();
    assert!(ticks.len() > 20);
    for pair in ticks.windows(2) {
        assert_eq!(
            pair[1] - pair[0],
            10 + 3,
            "ten steps and the wait for a chunk"
        );
    }
    assert_eq!(bench.seen.delay.p95, 0);
    bench.turn(Knob::NActionSteps(4));
    bench.run(5.0);
    let ticks: Vec<u64> = bench.requests.iter().map(|it| it.observed_at.0).collect();
    let tail = &ticks[ticks.len() - 5..];
    assert!(tail.windows(2).all(|pair| pair[1] - pair[0] == 4 + 3));
}

#[test]
fn a_new_task_drops_the_plan_and_the_answer_on_its_way() {
    let mut bench = flying(400);
    bench.until(3.0, |bench| bench.seen.queue.requested_at.is_some());
    let generation = bench.seen.generation;
    let asked = bench.requests.len();
    bench.tick(vec![Command::SetTask("stack the cubes".to_owned())]);
    let seen = &bench.seen;
    assert_eq!(
        (seen.task.as_str(), seen.generation),
        ("stack the cubes", generation + 1)
    );
    assert!(seen.queue.upcoming.is_empty() && seen.queue.requested_at.is_some());
    assert_eq!(bench.requests.len(), asked, "one request in flight");
    let pose = bench.pose;
    bench.until(1.0, |bench| bench.seen.stale_chunks == 1);
    assert_eq!(bench.pose, pose);
    assert_eq!(bench.requests.len(), asked + 1, "asked in the same tick");
    assert_eq!(bench.requests[asked].observation.task, "stack the cubes");
    bench.run(1.0);
    assert_ne!(bench.pose, pose);
    assert_eq!(bench.seen.starved_ticks, 0, "a new task is no starvation");
    let generation = bench.seen.generation;
    bench.tick(vec![Command::SetTask("stack the cubes".to_owned())]);
    assert_eq!(bench.seen.generation, generation, "the same task again");
}

#[test]
fn stop_latches_within_one_tick_and_is_confirmed_by_the_bus() {
    let mut bench = flying(100);
    let pose = bench.pose;
    bench.presses = 1;
    bench.tick(vec![]);
    assert_eq!((bench.order, bench.pose), (ArmOrder::Freeze, pose));
    assert_eq!(bench.seen.mode, Mode::Hold);
    assert!(
        bench
            .seen
            .stopped
            .as_ref()
            .is_some_and(|stop| stop.acknowledged)
    );
    bench.tick(vec![Command::SetMode(Mode::Policy)]);
    assert_eq!(
        (bench.seen.mode, bench.order),
        (Mode::Hold, ArmOrder::Nothing)
    );
    assert_still(&mut bench, 60);
    bench.tick(vec![Command::Resume]);
    assert_eq!(bench.seen.stopped, None);
    assert_still(&mut bench, 30);
    bench.tick(vec![Command::SetMode(Mode::Policy)]);
    bench.run(1.0);
    assert_ne!(bench.pose, pose);
}

#[test]
fn a_stop_that_the_bus_did_not_confirm_is_tried_again_and_not_released() {
    let mut bench = flying(100);
    bench.mute = Some("motor 3 (elbow_flex) does not answer".to_owned());
    bench.tick(vec![Command::Stop, Command::Resume]);
    assert_eq!(bench.order, ArmOrder::Freeze);
    bench.tick(vec![Command::Resume]);
    assert_eq!(bench.order, ArmOrder::Freeze);
    assert!(
        bench
            .seen
            .stopped
            .as_ref()
            .is_some_and(|stop| !stop.acknowledged)
    );
    bench.mute = None;
    bench.tick(vec![]);
    assert!(
        bench
            .seen
            .stopped
            .as_ref()
            .is_some_and(|stop| stop.acknowledged)
    );
    bench.presses = 5;
    bench.tick(vec![Command::Resume]);
    assert!(
        bench.seen.stopped.is_some(),
        "a press wins over a release in the same tick"
    );
    bench.tick(vec![Command::Resume]);
    assert_eq!(bench.seen.stopped, None);
}

#[test]
fn a_release_on_its_way_cannot_undo_a_later_stop() {
    let mut bench = flying(100);
    bench.presses = 1;
    bench.tick(vec![Command::Resume, Command::SetMode(Mode::Policy)]);
    assert!(bench.seen.stopped.is_some() && bench.seen.mode == Mode::Hold);
    bench.tick(vec![Command::Resume]);
    assert_eq!(bench.seen.stopped, None);
    // Without an arm nobody confirms, and the release must still be the later of the two.
    bench.absent = true;
    bench.tick(vec![]);
    bench.presses = 2;
    bench.tick(vec![Command::Resume]);
    assert!(bench.seen.stopped.is_some());
    bench.tick(vec![Command::Resume]);
    assert_eq!(bench.seen.stopped, None);
}

#[test]
fn a_limp_arm_is_sent_nothing_and_refuses_to_be_driven() {
    let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
    for mode in [Mode::Policy, Mode::Jog] {
        bench.tick(vec![Command::SetMode(mode)]);
        assert_eq!(
            (bench.order, bench.seen.mode),
            (ArmOrder::Nothing, Mode::Hold)
        );
    }
    assert_eq!(
        bench.fault(FaultKind::Arming).map(|fault| fault.count),
        Some(2)
    );
    bench.pose = JointVec([7.0; 6]);
    bench.tick(vec![]);
    assert_eq!(bench.seen.commanded, bench.pose, "a limp arm is followed");
    bench.tick(vec![Command::EnableTorque]);
    assert_eq!(bench.order, ArmOrder::EnableTorque);
    bench.tick(vec![]);
    assert_eq!(bench.order, ArmOrder::Send(JointVec([7.0; 6])));
    bench.tick(vec![Command::ReleaseTorque]);
    assert_eq!(bench.order, ArmOrder::ReleaseTorque);
    bench.tick(vec![]);
    assert_eq!(bench.order, ArmOrder::Nothing);
}

#[test]
fn servos_that_go_limp_by_themselves_are_not_energised_again() {
    let mut bench = flying(50);
    bench.torque = false;
    bench.run(0.5);
    assert_eq!(
        (bench.order, bench.seen.mode),
        (ArmOrder::Nothing, Mode::Hold)
    );
    bench.torque = true;
    bench.tick(vec![]);
    assert_eq!(
        bench.order,
        ArmOrder::Nothing,
        "not before it is armed again"
    );
    assert!(bench.fault(FaultKind::Arming).is_some());
}

/// A pulled cable was told as an arm that takes no goals, with the torque as the way out.
#[test]
fn an_arm_that_is_lost_while_it_moves_is_told_by_what_broke() {
    let mut bench = flying(50);
    bench.torque = false;
    bench.mute = Some("the adapter is gone".to_owned());
    bench.tick(vec![]);
    let told = bench.fault(FaultKind::Arming);
    let told = told.map(|it| (it.what.clone(), it.remedy.clone()));
    let (what, remedy) = told.unwrap();
    assert!(what.contains("the adapter is gone"), "{what}");
    assert_eq!(remedy, "check the cable");
    assert_eq!(bench.seen.mode, Mode::Hold);
}

#[test]
fn jog_goes_where_the_operator_points_and_hold_stays() {
    let mut bench = flying(50);
    let start = bench.pose;
    bench.tick(vec![Command::SetMode(Mode::Jog)]);
    assert_eq!(bench.order, ArmOrder::Send(start));
    bench.tick(vec![Command::JogTo(Joint::ElbowFlex, 12.0)]);
    assert_eq!(bench.pose[Joint::ElbowFlex], 12.0);
    assert_eq!(bench.pose[Joint::Gripper], start[Joint::Gripper]);
    bench.tick(vec![Command::JogTo(Joint::ElbowFlex, f32::NAN)]);
    bench.tick(vec![Command::SetMode(Mode::Hold)]);
    bench.tick(vec![Command::JogTo(Joint::ElbowFlex, 50.0)]);
    assert_eq!(bench.pose[Joint::ElbowFlex], 12.0);
}

#[test]
fn one_unread_tick_is_held_and_some_in_a_row_are_a_lost_arm() {
    let mut bench = flying(50);
    let why = "motor 3 (elbow_flex) does not answer";
    let pose = bench.pose;
    bench.mute = Some(why.to_owned());
    let asked = bench.requests.len();
    bench.tick(vec![Command::SetTask("go blind".to_owned())]);
    assert_eq!((bench.order, bench.pose), (ArmOrder::Nothing, pose));
    assert_eq!(
        bench.requests.len(),
        asked,
        "nobody asks about an unread pose"
    );
    assert!(
        bench
            .fault(FaultKind::BusRetry)
            .is_some_and(|it| it.what.contains(why))
    );
    bench.mute = None;
    bench.run(0.3);
    assert_ne!(bench.pose, pose, "the run goes on");
    assert_eq!(bench.seen.mode, Mode::Policy);
    bench.mute = Some(why.to_owned());
    for _ in 0..LOST_AFTER {
        bench.tick(vec![]);
    }
    assert_eq!(bench.seen.mode, Mode::Hold);
    let lost = bench.fault(FaultKind::BusLost);
    assert!(lost.is_some_and(|it| it.active && it.what.contains(why)));
    bench.mute = None;
    bench.tick(vec![]);
    assert!(bench.fault(FaultKind::BusLost).is_some_and(|it| !it.active));
    assert_eq!(bench.seen.mode, Mode::Hold, "not without the operator");
    assert_still(&mut bench, 30);
}

#[test]
fn an_arm_that_is_gone_is_given_up_and_comes_back_limp() {
    let mut bench = flying(50);
    bench.mute = Some("the adapter is gone".to_owned());
    bench.gone = true;
    for _ in 0..=LOST_AFTER {
        bench.tick(vec![]);
    }
    assert_eq!(bench.order, ArmOrder::Disconnect);
    (bench.mute, bench.torque) = (None, false);
    bench.tick(vec![Command::SetMode(Mode::Policy)]);
    assert_eq!(
        (bench.order, bench.seen.mode),
        (ArmOrder::Nothing, Mode::Hold)
    );
}

#[test]
fn torque_can_be_released_though_a_stop_is_not_confirmed() {
    let mut bench = flying(50);
    bench.mute = Some("motor 3 (elbow_flex) does not answer".to_owned());
    bench.tick(vec![Command::ReleaseTorque, Command::Stop]);
    assert_eq!(bench.order, ArmOrder::Freeze, "the stop came last");
    bench.tick(vec![Command::ReleaseTorque]);
    assert_eq!(bench.order, ArmOrder::ReleaseTorque);
}

#[test]
fn alarms_are_listed_by_joint_while_they_last() {
    let mut bench = flying(50);
    let alarm = |what: &str| Words {
        what: what.to_owned(),
        remedy: "let it cool".to_owned(),
    };
    bench.alarms = vec![alarm("gripper: hot"), alarm("wrist_roll: hot")];
    bench.run(1.0);
    let named = |bench: &Bench, active| {
        let alarms = bench.seen.faults.iter();
        let alarms = alarms.filter(|it| it.kind == FaultKind::ServoAlarm && it.active == active);
        alarms.map(|it| it.count).collect::<Vec<_>>()
    };
    assert_eq!(named(&bench, true), [1, 1]);
    bench.alarms.pop();
    bench.tick(vec![]);
    assert_eq!(
        (named(&bench, true), named(&bench, false)),
        (vec![1], vec![1])
    );
    bench.alarms.clear();
    bench.tick(vec![]);
    assert_eq!(named(&bench, false), [1, 1]);
    assert_eq!(bench.seen.mode, Mode::Policy);
}

#[test]
fn a_shorter_chunk_trims_the_tail_at_once() {
    let mut bench = flying(50);
    let next = bench.seen.queue.upcoming[0];
    bench.turn(Knob::ActionsPerChunk(8));
    assert_eq!(bench.pose, next);
    assert!(bench.seen.queue.upcoming.len() <= 8);
    bench.run(2.0);
    assert!(bench.seen.queue.upcoming.len() <= 8 && bench.seen.starved_ticks == 0);
}

#[test]
fn knobs_fit_the_policy_and_come_back_with_a_longer_one() {
    let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
    bench.chunk_size = 6;
    bench.tick(vec![]);
    bench.tick(vec![]);
    assert_eq!(bench.seen.knobs.actions_per_chunk, 6);
    bench.chunk_size = 50;
    bench.tick(vec![Command::LoadPolicy("longer".to_owned())]);
    bench.tick(vec![]);
    assert_eq!(bench.seen.knobs.actions_per_chunk, 50);
    assert_eq!(bench.seen.policy_source, "longer");
    assert_eq!(bench.seen.wanted, Knobs::default());
}

#[test]
fn knobs_that_nobody_turned_keep_the_whole_chunk_of_any_network() {
    let mut bench = Bench::at_rest(Knobs::untouched(), 50, Temper::Counts);
    bench.load_time = Duration::from_secs(1);
    bench.chunk_size = 100;
    bench.tick(vec![]);
    assert_eq!(
        bench.seen.knobs.actions_per_chunk, 50,
        "while none is known"
    );
    bench.run(2.0);
    assert_eq!(bench.seen.knobs.actions_per_chunk, 100);
}

#[test]
fn a_refused_policy_offers_its_statistics() {
    let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
    bench.load_time = Duration::from_mins(1);
    bench.tick(vec![]);
    let stage = LoadStage::Loading;
    let fraction = Some(0.5);
    let progress = LoadProgress { stage, fraction };
    bench.report(Duration::ZERO, PolicyEvent::Progress(progress.clone()));
    bench.tick(vec![]);
    assert_eq!(bench.seen.policy, PolicyStatus::Loading(progress));
    let refusal = Refusal {
        why: "statistics of two data sets".to_owned(),
        stats: vec!["so100".to_owned(), "so101".to_owned()],
    };
    bench.report(Duration::ZERO, PolicyEvent::Refused(refusal));
    bench.tick(vec![]);
    assert!(matches!(&bench.seen.policy, PolicyStatus::Refused { stats, .. } if stats.len() == 2));
    assert!(
        bench
            .fault(FaultKind::PolicyLoad)
            .is_some_and(|it| it.active)
    );
    bench.load_time = Duration::ZERO;
    bench.tick(vec![Command::ChooseStats("so101".to_owned())]);
    bench.tick(vec![]);
    assert_eq!(bench.seen.policy, PolicyStatus::Ready { busy: false });
    assert!(
        bench
            .fault(FaultKind::PolicyLoad)
            .is_some_and(|it| !it.active)
    );
    assert_eq!(
        bench.control.supervisor.load().stats.as_deref(),
        Some("so101")
    );
}

#[test]
fn loading_can_be_cancelled_and_what_was_loaded_comes_too_late() {
    let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
    bench.load_time = Duration::from_secs(2);
    bench.tick(vec![]);
    bench.tick(vec![Command::CancelLoad]);
    assert_eq!(bench.seen.policy, PolicyStatus::Absent);
    assert_eq!(bench.left, 1, "its thread is not waited for");
    bench.run(3.0);
    assert_eq!(bench.seen.policy, PolicyStatus::Absent);
    bench.load_time = Duration::ZERO;
    bench.tick(vec![Command::LoadPolicy("another".to_owned())]);
    bench.tick(vec![Command::CancelLoad]);
    bench.tick(vec![]);
    assert_eq!(bench.seen.policy, PolicyStatus::Absent);
    bench.tick(vec![Command::LoadPolicy("another".to_owned())]);
    bench.tick(vec![]);
    bench.tick(vec![Command::CancelLoad]);
    assert_eq!(
        bench.seen.policy,
        PolicyStatus::Ready { busy: false },
        "nothing is being loaded"
    );
}

#[test]
fn each_request_has_its_noise_and_each_seed_its_own() {
    let noises = |seed| {
        let mut bench = Bench::driving(Knobs::default(), 50, Temper::Counts);
        bench.control.seed = seed;
        bench.run(5.0);
        let noise = bench.requests.iter().map(|it| it.options.noise.clone());
        noise.collect::<Vec<_>>()
    };
    let (first, again, other) = (noises(1), noises(1), noises(2));
    assert_eq!(first, again);
    assert!(first.len() > 3 && first.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(first.iter().skip(1).all(|noise| !other.contains(noise)));
}

#[test]
fn requests_tell_the_rate_that_the_knob_says_now() {
    let mut bench = Bench::driving(Knobs::default(), 50, Temper::Counts);
    bench.run(2.0);
    bench.turn(Knob::Fps(20.0));
    bench.run(4.0);
    let periods = [bench.requests.first(), bench.requests.last()]
        .map(|request| request.map(|request| request.options.period.as_secs_f32()));
    assert_eq!(periods, [Some(1.0 / 30.0), Some(0.05)]);
}

#[test]
fn chunks_lie_on_the_axis_where_they_are_executed() {
    let mut bench = flying(200);
    bench.until(3.0, |bench| {
        bench.seen.history.back().is_some_and(|it| it.arrived)
    });
    let Some(chunk) = bench.seen.chunk.clone() else {
        panic!("no chunk");
    };
    assert_eq!((chunk.skipped, chunk.arrived_at), (6, bench.seen.tick));
    assert_eq!(chunk.first_tick, Tick(bench.seen.tick.0 - 6));
    let executed = bench.executed.last().copied().unwrap_or_default();
    assert!((chunk.actions[6].0[0] - executed).abs() < 1e-3);
    assert!((chunk.seam - 1.0).abs() < 1e-3, "{}", chunk.seam);
}
