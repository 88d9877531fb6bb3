//! The core with a policy that errs, hangs, dies or is slow, and with cameras that go stale.

use std::time::Duration;

use crate::action::ActionChunk;
use crate::joint::JointVec;
use crate::policy::StageTimes;
use crate::runtime::core::bench::{Bench, Temper, assert_still, flying, scheduled};
use crate::runtime::request::ChunkRequest;
use crate::runtime::supervisor::{Arrival, PolicyEvent};
use crate::runtime::{
    CameraStatus, Command, FaultKind, Knob, Knobs, Mode, PolicyStatus, Scheduling,
};

#[test]
fn a_policy_that_errs_holds_the_arm_and_is_tried_again_with_patience() {
    let mut bench = flying(50);
    bench.temper = Temper::Errs;
    bench.until(3.0, |bench| bench.fault(FaultKind::PolicyError).is_some());
    assert!(bench.seen.queue.upcoming.is_empty());
    let asked = bench.requests.len();
    assert_still(&mut bench, 12);
    assert_eq!(bench.requests.len(), asked, "not asked during the wait");
    bench.run(4.0);
    assert!(bench.requests.len() <= asked + 3, "waits grow");
    assert!(
        bench.starts > 1
            && bench
                .fault(FaultKind::PolicyError)
                .is_some_and(|it| it.active)
    );
    bench.temper = Temper::Counts;
    let chunks = bench.seen.chunks;
    bench.until(20.0, |bench| bench.seen.chunks > chunks + 2);
    assert!(
        bench
            .fault(FaultKind::PolicyError)
            .is_some_and(|it| !it.active)
    );
    assert_eq!(bench.seen.mode, Mode::Policy);
}

#[test]
fn a_policy_that_hangs_is_left_behind_and_its_late_answer_dropped() {
    let mut bench = flying(50);
    bench.temper = Temper::Hangs;
    bench.until(15.0, |bench| bench.fault(FaultKind::PolicyHung).is_some());
    let late = PolicyEvent::Chunk(Box::new(Arrival {
        id: bench.seen.requests,
        chunk: ActionChunk {
            observed_at: bench.seen.tick,
            generation: bench.seen.generation,
            actions: vec![JointVec([90.0; 6]); 50],
            normalized: vec![],
        },
        times: StageTimes::default(),
        warnings: vec![],
        finished_at: bench.now,
    }));
    bench.report(Duration::from_millis(700), late);
    assert_still(&mut bench, 10);
    bench.temper = Temper::Counts;
    let stale = bench.seen.stale_chunks;
    bench.until(3.0, |bench| bench.seen.stale_chunks > stale);
    bench.run(1.0);
    assert!(bench.pose.0[0] < 1000.0 && bench.seen.policy_restarts == 1);
    assert!(
        bench
            .fault(FaultKind::PolicyHung)
            .is_some_and(|it| !it.active)
    );
    assert!(matches!(bench.seen.policy, PolicyStatus::Ready { .. }));
}

#[test]
fn a_policy_that_dies_again_and_again_is_given_up_and_can_be_restarted() {
    let mut bench = flying(50);
    bench.temper = Temper::Dies;
    bench.until(120.0, |bench| {
        matches!(
            bench.seen.policy,
            PolicyStatus::Failed {
                restarting: false,
                ..
            }
        )
    });
    let died = bench
        .fault(FaultKind::PolicyDied)
        .map(|it| (it.count, it.active));
    assert_eq!(died, Some((9, true)));
    let starts = bench.starts;
    assert_still(&mut bench, 30 * 30);
    assert_eq!(bench.starts, starts);
    bench.temper = Temper::Counts;
    bench.tick(vec![Command::RestartPolicy]);
    let pose = bench.pose;
    bench.run(1.0);
    assert_ne!(bench.pose, pose);
}

#[test]
fn actions_that_are_not_numbers_never_reach_the_arm() {
    let mut bench = flying(50);
    bench.temper = Temper::Constant(f32::NAN);
    bench.until(3.0, |bench| bench.fault(FaultKind::BadAction).is_some());
    assert!(bench.pose.is_finite());
    assert_still(&mut bench, 30);
}

#[test]
fn a_stale_camera_pauses_the_policy_until_it_is_fresh() {
    let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
    bench.add_camera("front", 20);
    bench.add_camera("spare", 900);
    bench.tick(vec![]);
    bench.tick(vec![Command::BindView {
        view: "observation.images.spare".to_owned(),
        camera: Some("front".to_owned()),
    }]);
    bench.tick(vec![Command::EnableTorque, Command::SetMode(Mode::Policy)]);
    bench.run(2.0);
    assert!(bench.seen.faults.is_empty(), "{:?}", bench.seen.faults);
    assert_eq!(bench.requests[0].observation.images.len(), 2);
    bench.cameras[0].age = Some(Duration::from_millis(501));
    bench.tick(vec![]);
    assert_still(&mut bench, 30);
    let asked = bench.requests.len();
    assert!(
        bench
            .fault(FaultKind::CameraStale)
            .is_some_and(|it| it.what.contains("front"))
    );
    let because = bench.seen.queue.starved_because.clone();
    assert!(because.is_some_and(|why| why.contains("front")));
    assert_eq!(bench.requests.len(), asked);
    bench.cameras[0].age = Some(Duration::from_millis(10));
    let pose = bench.pose;
    bench.run(1.0);
    assert_ne!(bench.pose, pose);
    assert!(
        bench
            .fault(FaultKind::CameraStale)
            .is_some_and(|it| !it.active)
    );
}

/// A camera that never showed a picture kept the run waiting without a word.
#[test]
fn a_camera_that_failed_to_open_is_a_fault_before_the_policy_drives() {
    let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
    bench.add_camera("front", 20);
    (bench.cameras[0].frame, bench.cameras[0].age) = (None, None);
    bench.cameras[0].status = CameraStatus::Opening;
    bench.run(1.0);
    assert!(bench.fault(FaultKind::CameraStale).is_none());
    bench.cameras[0].status = CameraStatus::Lost("broken.png is no picture".to_owned());
    bench.tick(vec![]);
    let told = bench.fault(FaultKind::CameraStale);
    assert!(told.is_some_and(|it| it.active && it.what.contains("broken.png")));
}

#[test]
fn a_view_without_a_camera_is_named_and_left_out() {
    let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
    bench.add_camera("front", 20);
    bench.add_camera("wrist", 20);
    bench.tick(vec![]);
    bench.tick(vec![]);
    let unbound = |name: &str| Command::BindView {
        view: format!("observation.images.{name}"),
        camera: None,
    };
    bench.tick(vec![unbound("front")]);
    bench.tick(vec![Command::EnableTorque, Command::SetMode(Mode::Policy)]);
    bench.run(1.0);
    let missing = bench.fault(FaultKind::CameraMissing);
    assert!(missing.is_some_and(|it| it.active && it.what.contains("images.front")));
    let asked = bench.requests.len();
    assert!(asked > 0);
    let seen = |it: &ChunkRequest| it.observation.images.len();
    assert!(bench.requests.iter().all(|it| seen(it) == 1));
    // A policy that sees nothing at all errs, and would be loaded anew for it again and again.
    bench.tick(vec![unbound("wrist")]);
    bench.run(4.0);
    assert!(
        bench.requests.len() <= asked + 1,
        "{}",
        bench.requests.len()
    );
    let because = bench.seen.queue.starved_because.clone();
    assert!(because.is_some_and(|why| why.contains("no camera feeds any view")));
}

#[test]
fn guidance_continues_the_plan_from_the_action_of_this_tick() {
    let mut bench = Bench::driving(scheduled(Scheduling::Rtc), 200, Temper::Counts);
    bench.run(10.0);
    assert!(
        bench.requests[0].options.rtc.is_none(),
        "nothing to continue yet"
    );
    for request in &bench.requests[1..] {
        let Some(rtc) = &request.options.rtc else {
            panic!("request {} is not guided", request.id);
        };
        // 200 ms are six ticks, on the second chunk too, though the first one skipped nothing.
        assert_eq!((rtc.inference_delay, rtc.execution_horizon), (6, 10));
        assert_eq!(rtc.left_over.len(), 34);
        let steps: Vec<f32> = rtc.left_over.iter().map(|row| row[0] * 1000.0).collect();
        assert!(
            steps
                .windows(2)
                .all(|pair| (pair[1] - pair[0] - 1.0).abs() < 1e-2)
        );
    }
    let ratio = bench.requests.len() as f32 / (300.0 / 16.0);
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    assert_eq!(bench.seen.starved_ticks, 0);
}

#[test]
fn another_number_of_steps_is_measured_anew_and_guided_as_before_meanwhile() {
    let mut bench = Bench::driving(scheduled(Scheduling::Rtc), 200, Temper::Counts);
    bench.run(5.0);
    bench.until(3.0, |bench| bench.seen.queue.requested_at.is_some());
    bench.turn(Knob::NumSteps(5));
    assert_eq!(bench.seen.latency.chunks, 0);
    let (chunks, asked) = (bench.seen.chunks, bench.requests.len());
    bench.until(3.0, |bench| bench.seen.chunks > chunks);
    assert_eq!(
        bench.seen.latency.chunks, 0,
        "a chunk of ten steps says nothing about five"
    );
    bench.latency = Duration::from_millis(100);
    bench.until(3.0, |bench| bench.seen.latency.chunks == 1);
    let delay = |request: &ChunkRequest| {
        let rtc = request.options.rtc.as_ref();
        rtc.map(|rtc| rtc.inference_delay)
    };
    assert_eq!(bench.requests[asked].options.num_steps, Some(5));
    assert_eq!(delay(&bench.requests[asked]), Some(6), "as it was");
    bench.until(3.0, |bench| bench.requests.len() > asked + 1);
    assert_eq!(delay(&bench.requests[asked + 1]), Some(3), "as it is now");
    bench.turn(Knob::NumSteps(5));
    assert!(bench.seen.latency.chunks > 0, "nothing has changed");
}

#[test]
fn a_guided_chunk_replaces_the_plan_where_another_is_blended_in() {
    for (scheduling, next) in [(Scheduling::Rtc, 10.0), (Scheduling::Async, 10.0 / 28.0)] {
        let mut bench = Bench::driving(scheduled(scheduling), 200, Temper::Constant(0.0));
        bench.until(3.0, |bench| bench.seen.chunks == 1);
        bench.temper = Temper::Constant(10.0);
        bench.until(3.0, |bench| bench.seen.chunks == 2);
        // 34 actions were left at the request and six of them are past.
        assert!(
            (bench.pose.0[0] - next).abs() < 1e-5,
            "{scheduling} {}",
            bench.pose.0[0]
        );
        let seam = bench.seen.chunk.as_ref().map_or(0.0, |chunk| chunk.seam);
        assert!((seam - next).abs() < 1e-5);
    }
}

#[test]
fn a_slow_device_says_that_no_g_helps_and_the_arm_holds_between_chunks() {
    let mut bench = Bench::driving(Knobs::default(), 4000, Temper::Counts);
    bench.run(20.0);
    assert!(bench.fault(FaultKind::TooSlow).is_some_and(|it| it.active));
    assert!(bench.seen.queue.no_g_keeps_fresh && bench.seen.starved_ticks > 0);
    bench.until(6.0, |bench| bench.seen.queue.starved_since.is_some());
    let because = bench.seen.queue.starved_because.clone();
    assert!(because.is_some_and(|why| why.contains("slow")));
    bench.turn(Knob::Scheduling(Scheduling::Sync));
    bench.tick(vec![]);
    assert!(bench.fault(FaultKind::TooSlow).is_some_and(|it| !it.active));
}
