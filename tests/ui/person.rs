//! The states in which a person is at the helm, or about to be.

use std::time::Duration;

use smolpilot::joint::JointVec;
use smolpilot::runtime::{LeaderStatus, LeaderView, Mode, Snapshot};

use crate::fixture;

/// A leader that is read, `by` units from the arm.
fn leader(measured: JointVec, by: f32) -> LeaderView {
    LeaderView {
        name: "/dev/ttyACM1".to_owned(),
        status: LeaderStatus::Live,
        pose: Some(
            measured.zip(JointVec([1.0, -0.4, 0.7, 0.1, -0.9, 0.3]), |at, share| {
                at + share * by
            }),
        ),
        age: Some(Duration::from_millis(8)),
        age_p95: Duration::from_millis(14),
        rate_hz: 99.6,
        errors: 3,
        retries: 12,
    }
}

/// Nobody drives, and a leader is at hand.
pub fn with_leader() -> Snapshot {
    let mut snapshot = fixture::idle();
    snapshot.leader = Some(leader(snapshot.measured, 34.0));
    snapshot
}

/// The policy was taken over from by the leader.
pub fn following() -> Snapshot {
    let mut snapshot = fixture::idle();
    snapshot.mode = Mode::Teleop;
    snapshot.mode_since = snapshot.now.saturating_sub(Duration::from_millis(12_300));
    snapshot.interrupted = Some(Mode::Policy);
    snapshot.leader = Some(leader(snapshot.measured, 1.5));
    snapshot
}

/// The arm is on its way to the leader.
pub fn aligning() -> Snapshot {
    let mut snapshot = following();
    snapshot.approaching = Some(0.4);
    snapshot.leader = Some(leader(snapshot.measured, 34.0));
    snapshot
}

/// The leader's cable is out.
pub fn leader_lost() -> Snapshot {
    let mut snapshot = following();
    if let Some(leader) = &mut snapshot.leader {
        leader.status = LeaderStatus::Lost(
            "/dev/ttyACM1: the adapter is gone (broken pipe). Plug the USB cable in".to_owned(),
        );
        leader.age = Some(Duration::from_millis(2_400));
        leader.rate_hz = 0.0;
    }
    snapshot
}

/// The arm folds itself up.
pub fn parking() -> Snapshot {
    let mut snapshot = fixture::idle();
    snapshot.parking = Some(0.4);
    snapshot
}

/// The policy's first action is far.
pub fn approaching() -> Snapshot {
    let mut snapshot = fixture::running(3_000);
    snapshot.approaching = Some(0.7);
    snapshot
}

/// The tip was pushed as far as it goes.
pub fn blocked() -> Snapshot {
    let mut snapshot = fixture::jogging();
    snapshot.jog_obstacle = Some("elbow_flex is at its limit".to_owned());
    snapshot
}

/// All of them, by name.
pub fn every() -> Vec<(&'static str, Snapshot)> {
    vec![
        ("with-leader", with_leader()),
        ("following", following()),
        ("aligning", aligning()),
        ("leader-lost", leader_lost()),
        ("parking", parking()),
        ("approaching", approaching()),
        ("blocked", blocked()),
    ]
}
