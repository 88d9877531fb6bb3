//! The policy going wrong, and cameras that stop, while the arm holds.

use std::time::Duration;

use smolpilot::joint::JointVec;
use smolpilot::observation::Frame;
use smolpilot::runtime::{Command, FaultKind, Mode, PolicyStatus};

use crate::scripted::Mood;
use crate::stand::{Stand, fault};

const NEAR: JointVec = JointVec([5.0, -48.0, 48.0, 48.0, 0.0, 20.0]);
const OTHER: JointVec = JointVec([-5.0, -48.0, 48.0, 48.0, 0.0, 20.0]);

/// Lets the policy go wrong, checks that the arm holds with this fault, and that it flies again once the mood is better.
fn goes_wrong_and_recovers(mood: Mood, kind: FaultKind) {
    let stand = Stand::driving(NEAR);
    stand.mood.set(mood);
    let (seen, shown) = stand.until_fault(kind);
    assert!(!shown.remedy.is_empty());
    assert_eq!(seen.mode, Mode::Policy);
    stand.assert_holds(5);
    stand.mood.set(Mood::Pose(OTHER));
    let chunks = stand.snapshot().chunks;
    let seen = stand.until("flying again", |seen| seen.chunks > chunks + 1);
    assert!(fault(&seen, kind).is_none(), "the fault is over");
    stand.until("there", |seen| seen.measured.max_abs_diff(OTHER) < 1.0);
    assert!(stand.snapshot().max_step <= 2.1);
}

#[test]
fn a_policy_that_errs() {
    goes_wrong_and_recovers(Mood::Errs, FaultKind::PolicyError);
}

#[test]
fn a_policy_that_hangs() {
    goes_wrong_and_recovers(Mood::Hangs, FaultKind::PolicyHung);
}

#[test]
fn a_policy_that_panics() {
    goes_wrong_and_recovers(Mood::Panics, FaultKind::PolicyDied);
}

#[test]
fn a_policy_that_cannot_be_loaded_says_why_and_another_can() {
    let stand = Stand::armed(NEAR);
    stand.tell(Command::LoadPolicy("broken".to_owned()));
    let (seen, shown) = stand.until_fault(FaultKind::PolicyLoad);
    assert!(
        matches!(&seen.policy, PolicyStatus::Refused { why, .. } if why.contains("model.vlm.x"))
    );
    assert!(shown.what.contains("model.vlm.x"));
    stand.tell(Command::LoadPolicy("another".to_owned()));
    let seen = stand.until("ready", |seen| {
        seen.policy == PolicyStatus::Ready { busy: false }
    });
    assert_eq!(seen.policy_source, "another");
}

#[test]
fn a_camera_that_stops_pauses_the_policy_until_it_delivers_again() {
    let stand = Stand::driving(NEAR);
    let seen = stand.seen.get().unwrap();
    assert_eq!(seen.images[0].0, "observation.images.front");
    let frame = |at| Frame::new(2, 2, vec![9; 12], 2, at).unwrap();
    stand.front.frames.set(frame(Duration::ZERO));
    let (_, stale) = stand.until_fault(FaultKind::CameraStale);
    assert!(stale.what.contains("front"), "{}", stale.what);
    let seen = stand.until("paused", |seen| seen.queue.starved_since.is_some());
    assert!(
        seen.queue
            .starved_because
            .as_deref()
            .unwrap()
            .contains("front")
    );
    stand.assert_holds(5);
    let fresh = stand.clock.now() + Duration::from_mins(10);
    stand.front.frames.set(frame(fresh));
    let chunks = stand.snapshot().chunks;
    stand.until("flying again", |seen| seen.chunks > chunks);
}

#[test]
fn the_queue_of_a_fast_policy_never_runs_dry() {
    let stand = Stand::driving(NEAR);
    let seen = stand.after(90);
    assert_eq!((seen.starved_ticks, seen.stale_chunks), (0, 0));
    assert!(seen.chunks >= 3 && seen.latency.chunks == seen.chunks);
    assert!(seen.queue.g_min.unwrap() < 0.5);
    stand.until("there", |seen| seen.measured.max_abs_diff(NEAR) < 1.0);
}
