//! The states in which something is on its way or wrong, each of which must be seen at a glance.

use std::sync::Arc;
use std::time::Duration;

use smolpilot::arm::{AlarmKind, Grip};
use smolpilot::policy::{LoadProgress, LoadStage};
use smolpilot::runtime::{
    CameraStatus, Connection, Fault, FaultKind, Latched, Mode, Percentiles, PolicyStatus, Snapshot,
};

use crate::fixture;

fn fault(kind: FaultKind, what: &str, remedy: &str, now: Duration) -> Fault {
    Fault {
        id: 11,
        kind,
        what: what.to_owned(),
        remedy: remedy.to_owned(),
        since: now.saturating_sub(Duration::from_millis(2_600)),
        count: 1,
        active: true,
    }
}

fn loading(stage: LoadStage, fraction: Option<f32>) -> Snapshot {
    let mut snapshot = fixture::idle();
    snapshot.spec = None;
    "lerobot/smolvla_base".clone_into(&mut snapshot.policy_source);
    snapshot.policy = PolicyStatus::Loading(LoadProgress { stage, fraction });
    snapshot
}

/// The arm answers, and nothing holds it.
pub fn limp() -> Snapshot {
    let mut snapshot = fixture::idle();
    snapshot.connection = Connection::Connected { torque: false };
    snapshot
}

/// Torque comes on, joint by joint.
pub fn arming() -> Snapshot {
    let mut snapshot = limp();
    snapshot.held_joints = 2;
    snapshot.arming = Some(0.4);
    snapshot
}

/// The arm is let down before torque goes off.
pub fn releasing() -> Snapshot {
    let mut snapshot = fixture::idle();
    snapshot.releasing = Some(0.6);
    snapshot
}

/// A start was broken off: some servos hold, the others do not.
pub fn held_in_part() -> Snapshot {
    let mut snapshot = limp();
    snapshot.held_joints = 2;
    snapshot
}

/// The checkpoint carries statistics of several data sets, and the operator must choose.
pub fn refused() -> Snapshot {
    let mut snapshot = fixture::idle();
    snapshot.spec = None;
    snapshot.policy = PolicyStatus::Refused {
        why: "The checkpoint carries statistics of 3 data sets; the wrong ones make wrong motion."
            .to_owned(),
        stats: ["so100-blue", "so100-red", "aloha"]
            .map(str::to_owned)
            .into(),
    };
    snapshot
}

/// The policy's thread ended in mid-run.
pub fn failed(restarting: bool) -> Snapshot {
    let mut snapshot = fixture::running(3_000);
    let why = "The policy's thread ended: out of memory on the device.";
    snapshot.policy = PolicyStatus::Failed {
        why: why.to_owned(),
        restarting,
    };
    let remedy = "It is being started again; fewer cameras or another device need less memory.";
    snapshot.faults = vec![fault(FaultKind::PolicyDied, why, remedy, snapshot.now)];
    snapshot.policy_restarts = 2;
    snapshot
}

/// A chunk takes longer than half of what it lasts, and there is still something to execute.
pub fn too_slow() -> Snapshot {
    let mut snapshot = fixture::running(3_000);
    snapshot.latency.total = Percentiles {
        p50: Duration::from_millis(9_600),
        p95: Duration::from_millis(10_100),
    };
    snapshot.queue.g_min = Some(5.76);
    snapshot.queue.g_min_p95 = Some(6.06);
    snapshot.queue.no_g_keeps_fresh = true;
    snapshot.policy_warnings = vec![
        "the task was cut to 48 tokens".to_owned(),
        "no camera feeds camera3".to_owned(),
    ];
    snapshot
}

/// A camera was unplugged.
pub fn camera_lost() -> Snapshot {
    let mut snapshot = fixture::running(3_000);
    snapshot.cameras[0].status = CameraStatus::Lost("it was unplugged".to_owned());
    snapshot.cameras[0].age = Some(Duration::from_millis(4_200));
    snapshot.cameras[0].rate_hz = 0.0;
    let what = "Camera front is gone; the policy is paused.";
    let remedy = "Plug it in again; it is being reopened.";
    snapshot.faults = vec![fault(FaultKind::CameraStale, what, remedy, snapshot.now)];
    snapshot
}

/// The servo bus was unplugged in mid-run.
pub fn bus_lost() -> Snapshot {
    let mut snapshot = fixture::running(3_000);
    snapshot.mode = Mode::Hold;
    let why = "/dev/ttyACM0 was unplugged";
    snapshot.connection = Connection::Lost(why.to_owned());
    let remedy =
        "Plug the USB cable in again and check the arm's power; the port is being reopened.";
    snapshot.faults = vec![fault(FaultKind::BusLost, why, remedy, snapshot.now)];
    snapshot.chunk = None;
    snapshot.queue.upcoming = Arc::from([]);
    snapshot
}

/// A gripper that squeezed for too long, a servo that gets warm, and goals that the limits have cut.
pub fn overloaded() -> Snapshot {
    let mut snapshot = fixture::running(3_000);
    let what = "the gripper is overloaded: it is not closed further, and holds with less torque";
    let remedy =
        "Open it, or take out what it squeezes. Then press Clear: it lets go for a moment.";
    let health = &mut snapshot.health;
    let gripper = &mut health.joints[5];
    (gripper.celsius, gripper.load_percent, gripper.milliamperes) = (47, -20.0, 610.0);
    gripper.alarms = vec![AlarmKind::Overload];
    gripper.latched = Some(Latched {
        what: what.to_owned(),
        remedy: remedy.to_owned(),
        since: snapshot.now.saturating_sub(Duration::from_millis(8_400)),
    });
    health.joints[1].celsius = 57;
    health.joints[1].alarms = vec![AlarmKind::Warm];
    health.joints[3].age = Duration::from_millis(700);
    health.grip = Grip::Overloaded(31.0);
    (
        health.cuts.speed,
        health.cuts.acceleration,
        health.cuts.table,
    ) = (1_204, 310, 12);
    snapshot.faults = vec![fault(FaultKind::Overload, what, remedy, snapshot.now)];
    snapshot
}

/// A servo is so hot that nobody may drive.
pub fn hot() -> Snapshot {
    let mut snapshot = fixture::idle();
    let what = "wrist_roll is at 66 °C: the arm is put down, and nobody may drive it";
    let remedy =
        "Let it cool. An arm that still holds heats it further: support it and release torque.";
    snapshot.health.joints[4].celsius = 66;
    snapshot.health.joints[4].alarms = vec![AlarmKind::Hot];
    snapshot.health.unfit = Some(what.to_owned());
    snapshot.faults = vec![fault(FaultKind::Overheat, what, remedy, snapshot.now)];
    snapshot
}

/// Stopped, and the servos have not said yet that they hold.
pub fn unconfirmed() -> Snapshot {
    let mut snapshot = fixture::stopped();
    if let Some(stopped) = &mut snapshot.stopped {
        stopped.acknowledged = false;
    }
    snapshot
}

/// All of them, by name.
pub fn every() -> Vec<(&'static str, Snapshot)> {
    vec![
        ("limp", limp()),
        ("arming", arming()),
        ("releasing", releasing()),
        ("held-in-part", held_in_part()),
        ("loading", loading(LoadStage::Loading, Some(0.4))),
        ("warm-up", loading(LoadStage::WarmUp, None)),
        ("refused", refused()),
        ("failed", failed(false)),
        ("restarting", failed(true)),
        ("too-slow", too_slow()),
        ("camera-lost", camera_lost()),
        ("bus-lost", bus_lost()),
        ("unconfirmed", unconfirmed()),
        ("overloaded", overloaded()),
        ("hot", hot()),
    ]
}
