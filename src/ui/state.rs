//! The answer to the half-second glance: who drives, is it fresh, is it about to run dry, is it safe. One sentence, one tone.

use std::sync::Arc;
use std::time::Duration;

use crate::arm::Role;
use crate::joint::JOINT_COUNT;
use crate::policy::PolicySpec;
use crate::runtime::{CameraStatus, Connection, LeaderView, Mode, PolicyStatus, Snapshot};
use crate::ui::words;

/// Which colour speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing moves.
    Calm,
    /// The policy drives.
    Policy,
    /// A person drives.
    Human,
    /// Recorded actions drive.
    Recorded,
    /// Something is wrong.
    Fault,
}

/// What the top bar says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Two or three words.
    pub headline: String,
    /// The rest of the sentence.
    pub detail: String,
    pub tone: Tone,
}

impl State {
    fn new(headline: impl Into<String>, detail: impl Into<String>, tone: Tone) -> Self {
        Self {
            headline: headline.into(),
            detail: detail.into(),
            tone,
        }
    }

    /// Reads the state off a snapshot; the most urgent matter wins.
    pub fn of(snapshot: &Snapshot) -> Self {
        if let Some(stopped) = &snapshot.stopped {
            // A stop counts when the servos say so, not when it was sent.
            let proof = if stopped.acknowledged {
                "confirmed"
            } else {
                "NOT CONFIRMED"
            };
            let ago = words::seconds(snapshot.now.saturating_sub(stopped.since));
            return Self::new(
                format!("Stopped {ago}"),
                format!("{proof} · by {}", stopped.by),
                Tone::Fault,
            );
        }
        if let Some(state) = Self::of_connection(&snapshot.connection) {
            return state;
        }
        if let Some(state) = Self::of_torque(snapshot) {
            return state;
        }
        match snapshot.mode {
            Mode::Hold if snapshot.parked => {
                Self::new("Parked", "released now, it sinks only a little", Tone::Calm)
            }
            Mode::Hold => Self::new("Holding", hold_detail(snapshot), Tone::Calm),
            Mode::Teleop | Mode::Jog => Self::of_person(snapshot),
            Mode::Policy => Self::of_policy(snapshot),
            Mode::Replay => Self::of_replay(snapshot),
        }
    }

    /// A person at the helm, and for how long.
    fn of_person(snapshot: &Snapshot) -> Self {
        let since = words::seconds(snapshot.now.saturating_sub(snapshot.mode_since));
        let headline = format!("You drive {since}");
        let back = match snapshot.interrupted {
            Some(Mode::Policy) => "T: back to the policy",
            _ => "H: hold",
        };
        let is_led = snapshot.leader.as_ref().is_some_and(LeaderView::is_live);
        let how = match (snapshot.mode, snapshot.approaching) {
            (Mode::Teleop, _) if !is_led => {
                let detail = "the leader is not read; the arm holds";
                return Self::new(headline, detail, Tone::Fault);
            }
            (Mode::Teleop, Some(share)) => {
                format!("aligning {:.0} %", share * 100.0)
            }
            (Mode::Teleop, None) => "by the leader".to_owned(),
            _ => "by hand".to_owned(),
        };
        Self::new(headline, format!("{how} · {back}"), Tone::Human)
    }

    /// Recorded actions at the helm, and how far they have come.
    fn of_replay(snapshot: &Snapshot) -> Self {
        if let Some(share) = snapshot.approaching {
            let headline = format!("Approaching {:.0} %", share * 100.0);
            let detail = "the first recorded pose is far: the arm goes there slowly";
            return Self::new(headline, detail, Tone::Recorded);
        }
        let Some(replay) = &snapshot.replay else {
            return Self::new("Replaying", "recorded actions · H: hold", Tone::Recorded);
        };
        let again = if replay.repeat {
            " · again and again"
        } else {
            ""
        };
        Self::new(
            format!("Row {} of {}", replay.row, replay.rows),
            format!("H: hold · {}{again}", replay.name),
            Tone::Recorded,
        )
    }

    fn of_connection(connection: &Connection) -> Option<Self> {
        match connection {
            Connection::Absent => Some(Self::new(
                "No arm",
                "plug in the SO-101 and its power, then choose it: Arms…",
                Tone::Calm,
            )),
            Connection::Connecting => Some(Self::new(
                "Connecting",
                "looking for six servos on the bus",
                Tone::Calm,
            )),
            Connection::Uncalibrated(why) => Some(Self::new(
                "Not calibrated",
                format!("Arms… calibrates it · {why}"),
                Tone::Calm,
            )),
            Connection::Lost(why) => Some(Self::new("Arm lost", why, Tone::Fault)),
            Connection::Connected { .. } => None,
        }
    }

    /// Torque on its way on or off, or not there.
    fn of_torque(snapshot: &Snapshot) -> Option<Self> {
        let percent = |share: f32| format!("{:.0} %", share * 100.0);
        if let Some(share) = snapshot.arming {
            let headline = format!("Enabling torque {}", percent(share));
            let detail = "joint by joint · Stop breaks it off";
            return Some(Self::new(headline, detail, Tone::Calm));
        }
        if let Some(share) = snapshot.releasing {
            let headline = format!("Letting down {}", percent(share));
            let detail = "the arm sinks · Stop makes it hold";
            return Some(Self::new(headline, detail, Tone::Calm));
        }
        if let Some(share) = snapshot.parking {
            let headline = format!("Parking {}", percent(share));
            let detail = "slowly to its rest pose · Stop holds it";
            return Some(Self::new(headline, detail, Tone::Calm));
        }
        if snapshot.mode != Mode::Hold {
            return None;
        }
        if is_limp(snapshot) {
            return Some(Self::new("Limp", LIMP, Tone::Calm));
        }
        held_in_part(snapshot).map(|held| {
            let detail = format!("{held} of {JOINT_COUNT} joints hold; Enable or Release it");
            Self::new("Not armed", detail, Tone::Calm)
        })
    }

    fn of_policy(snapshot: &Snapshot) -> Self {
        match &snapshot.policy {
            PolicyStatus::Failed { why, restarting } => {
                let headline = if *restarting {
                    "Policy restarts"
                } else {
                    "Policy failed"
                };
                return Self::new(headline, format!("the arm holds · {why}"), Tone::Fault);
            }
            PolicyStatus::Ready { .. } => {}
            _ => {
                return Self::new("Policy waits", policy_detail(snapshot), Tone::Calm);
            }
        }
        let blind = snapshot.cameras.iter().find(|camera| {
            matches!(camera.status, CameraStatus::Stale | CameraStatus::Lost(_))
                && is_bound(snapshot, &camera.name)
        });
        if let Some(camera) = blind {
            let how = match camera.status {
                CameraStatus::Lost(_) => "lost",
                _ => "not fresh",
            };
            let detail = format!("camera {} is {how}, the arm holds", camera.name);
            return Self::new("Paused", detail, Tone::Fault);
        }
        if let Some(since) = snapshot.queue.starved_since {
            let dry = snapshot.now.saturating_sub(since);
            let why = snapshot.queue.starved_because.as_deref();
            return Self::new(
                format!("Starved {}", words::seconds(dry)),
                why.unwrap_or("the queue is empty; the arm holds"),
                Tone::Fault,
            );
        }
        if let Some(share) = snapshot.approaching {
            let headline = format!("Approaching {:.0} %", share * 100.0);
            let detail = "the first action is far: the arm goes there slowly";
            return Self::new(headline, detail, Tone::Policy);
        }
        Self::new("Policy drives", fresh_detail(snapshot), Tone::Policy)
    }
}

/// What to do with an arm that hangs loose.
const LIMP: &str = "Enable torque, then choose who drives";

/// The arm answers but nothing holds it.
pub fn is_limp(snapshot: &Snapshot) -> bool {
    is_unarmed(snapshot) && snapshot.held_joints == 0
}

/// How many joints have torque although the arm is not armed: after a start that was broken off, a servo that restarted,
/// or a program that left the arm holding.
pub fn held_in_part(snapshot: &Snapshot) -> Option<usize> {
    (is_unarmed(snapshot) && snapshot.held_joints > 0).then_some(snapshot.held_joints)
}

fn is_unarmed(snapshot: &Snapshot) -> bool {
    snapshot.connection == (Connection::Connected { torque: false })
        && snapshot.arming.is_none()
        && snapshot.releasing.is_none()
}

fn is_bound(snapshot: &Snapshot, camera: &str) -> bool {
    snapshot
        .views
        .iter()
        .any(|binding| binding.camera.as_deref() == Some(camera))
}

/// A policy that looks at pictures, and no camera at all: it would only fail.
fn is_blind(snapshot: &Snapshot) -> bool {
    !snapshot.views.is_empty() && snapshot.cameras.is_empty()
}

/// A policy that knows the simulated table alone, and a real arm.
fn is_of_rig_alone(snapshot: &Snapshot) -> bool {
    let is_real = snapshot.sources.is_real(Role::Follower);
    let plans_with_truth = |spec: &Arc<PolicySpec>| spec.plans_with_truth;
    is_real && snapshot.spec.as_ref().is_some_and(plans_with_truth)
}

fn fresh_detail(snapshot: &Snapshot) -> String {
    let left =
        Duration::from_secs_f32(snapshot.queue.upcoming.len() as f32 / snapshot.knobs.fps.max(1.0));
    let mut detail = format!(
        "{} queued, {}",
        words::plural(snapshot.queue.upcoming.len(), "action"),
        words::span(left)
    );
    if snapshot.queue.no_g_keeps_fresh {
        detail.push_str(" · no g keeps the plan fresh");
    }
    detail
}

fn hold_detail(snapshot: &Snapshot) -> String {
    match snapshot.policy {
        PolicyStatus::Ready { .. } if is_blind(snapshot) => "the policy has no camera".to_owned(),
        PolicyStatus::Ready { .. } => "policy ready · P lets it drive".to_owned(),
        _ => policy_detail(snapshot),
    }
}

/// The policy's state in a few words.
pub fn policy_detail(snapshot: &Snapshot) -> String {
    match &snapshot.policy {
        PolicyStatus::Absent => "no policy loaded".to_owned(),
        PolicyStatus::Loading(progress) => match progress.fraction {
            Some(fraction) => format!("{} {:.0} %", progress.stage, fraction * 100.0),
            None => progress.stage.to_string(),
        },
        PolicyStatus::Ready { busy: true } => "thinking".to_owned(),
        PolicyStatus::Ready { busy: false } => "ready".to_owned(),
        PolicyStatus::Refused { stats, .. } if !stats.is_empty() => {
            "policy refused: choose its statistics".to_owned()
        }
        PolicyStatus::Refused { .. } => "policy refused".to_owned(),
        PolicyStatus::Failed {
            restarting: true, ..
        } => "policy failed, restarting".to_owned(),
        PolicyStatus::Failed { .. } => "policy failed".to_owned(),
    }
}

/// Why a mode cannot be chosen now, in words for a tooltip; `None` when it can.
pub fn mode_obstacle(snapshot: &Snapshot, mode: Mode) -> Option<&'static str> {
    if mode == Mode::Hold {
        return None;
    }
    if snapshot.stopped.is_some() {
        return Some("The arm is stopped. Press Resume first.");
    }
    if snapshot.releasing.is_some() {
        return Some(
            "The arm is being let down. Wait, then press Enable torque; or press STOP to hold it.",
        );
    }
    if snapshot.health.unfit.is_some() {
        return Some(
            "The arm is too hot, or its supply too weak, to be driven. The fault says what to do.",
        );
    }
    match snapshot.connection {
        Connection::Connected { torque: true } => {}
        // What is chosen now drives as soon as the arm can follow.
        Connection::Connected { torque: false } if snapshot.arming.is_some() => {}
        Connection::Connected { torque: false } if snapshot.held_joints > 0 => {
            return Some(
                "The arm is not armed: only some of its servos are known to hold. Press Enable torque; they then hold \
                 the pose they have. Nothing moves until you choose a mode again.",
            );
        }
        Connection::Connected { torque: false } => {
            return Some(
                "Torque is off: the arm is limp. Press Enable torque; the servos then hold the pose they have. \
                 Nothing moves until you choose a mode again.",
            );
        }
        _ => return Some("No arm is connected."),
    }
    match mode {
        Mode::Jog | Mode::Replay => return None,
        Mode::Teleop => return leader_obstacle(snapshot),
        _ => {}
    }
    match snapshot.policy {
        PolicyStatus::Ready { .. } if is_of_rig_alone(snapshot) => Some(
            "The expert plans with where things truly are on the simulated table. Load a policy that looks at pictures.",
        ),
        PolicyStatus::Ready { .. } if is_blind(snapshot) => Some(
            "The policy looks at cameras and there is none. Start with --camera NAME=SOURCE; Set-up, Cameras says more.",
        ),
        PolicyStatus::Ready { .. } => None,
        PolicyStatus::Absent => Some("No policy is loaded. Load one on the right."),
        PolicyStatus::Loading(_) => Some("The policy is still being loaded."),
        PolicyStatus::Refused { .. } => {
            Some("The policy was refused; see the reason on the right.")
        }
        PolicyStatus::Failed { .. } => Some("The policy failed; restart it on the right."),
    }
}

fn leader_obstacle(snapshot: &Snapshot) -> Option<&'static str> {
    match &snapshot.leader {
        None => Some("There is no leader arm. Choose one under Set-up, Arms, or drive with JOG."),
        Some(leader) if leader.is_live() => None,
        Some(_) => Some("The leader is not read. Check its cable and its supply."),
    }
}

/// Why nobody can take over now; giving back is always possible.
pub fn takeover_obstacle(snapshot: &Snapshot) -> Option<&'static str> {
    if snapshot.mode.is_human() && snapshot.stopped.is_none() {
        return None;
    }
    mode_obstacle(snapshot, Mode::Jog)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{ReplayView, Stopped};

    fn driving() -> Snapshot {
        Snapshot {
            now: Duration::from_mins(1),
            mode: Mode::Policy,
            connection: Connection::Connected { torque: true },
            policy: PolicyStatus::Ready { busy: false },
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_most_urgent_matter_wins() {
        let mut snapshot = driving();
        assert_eq!(State::of(&snapshot).tone, Tone::Policy);
        snapshot.queue.starved_since = Some(Duration::from_millis(57_700));
        snapshot.queue.starved_because = Some("the device is slow".to_owned());
        let starved = State::of(&snapshot);
        assert_eq!(starved.headline, "Starved 2.3 s");
        assert_eq!(starved.detail, "the device is slow");
        snapshot.connection = Connection::Lost("USB unplugged".to_owned());
        assert_eq!(State::of(&snapshot).headline, "Arm lost");
        snapshot.stopped = Some(Stopped {
            by: "the operator".to_owned(),
            since: Duration::from_secs(48),
            acknowledged: true,
        });
        let stopped = State::of(&snapshot);
        assert_eq!(stopped.headline, "Stopped 12.0 s");
        assert_eq!(stopped.detail, "confirmed · by the operator");
    }

    #[test]
    fn a_replay_says_how_far_it_is_and_needs_no_policy() {
        let mut snapshot = driving();
        snapshot.mode = Mode::Replay;
        snapshot.policy = PolicyStatus::Absent;
        snapshot.replay = Some(ReplayView {
            name: "pick_cube, episode 3".to_owned(),
            row: 120,
            rows: 370,
            repeat: false,
        });
        let state = State::of(&snapshot);
        assert_eq!(state.headline, "Row 120 of 370");
        assert_eq!(state.tone, Tone::Recorded);
        assert!(state.detail.contains("pick_cube, episode 3"));
        assert_eq!(mode_obstacle(&snapshot, Mode::Replay), None);
        snapshot.approaching = Some(0.4);
        assert_eq!(State::of(&snapshot).headline, "Approaching 40 %");
        snapshot.connection = Connection::Connected { torque: false };
        assert!(mode_obstacle(&snapshot, Mode::Replay).is_some());
    }

    #[test]
    fn each_obstacle_has_its_words() {
        let mut snapshot = driving();
        assert_eq!(mode_obstacle(&snapshot, Mode::Policy), None);
        snapshot.policy = PolicyStatus::Absent;
        assert!(mode_obstacle(&snapshot, Mode::Policy).is_some());
        assert_eq!(mode_obstacle(&snapshot, Mode::Jog), None);
        snapshot.connection = Connection::Connected { torque: false };
        let obstacle = mode_obstacle(&snapshot, Mode::Jog);
        assert!(obstacle.is_some_and(|why| why.contains("Press Enable torque")));
        snapshot.mode = Mode::Hold;
        assert_eq!(State::of(&snapshot).headline, "Limp");
        assert_eq!(mode_obstacle(&snapshot, Mode::Hold), None);
    }

    #[test]
    fn torque_on_its_way_is_seen_and_told_apart_from_a_limp_arm() {
        let mut snapshot = driving();
        snapshot.mode = Mode::Hold;
        snapshot.connection = Connection::Connected { torque: false };
        snapshot.held_joints = 3;
        assert_eq!(
            (is_limp(&snapshot), held_in_part(&snapshot)),
            (false, Some(3))
        );
        assert_eq!(State::of(&snapshot).headline, "Not armed");
        snapshot.arming = Some(0.42);
        assert_eq!(State::of(&snapshot).headline, "Enabling torque 42 %");
        assert_eq!(held_in_part(&snapshot), None);
        assert_eq!(mode_obstacle(&snapshot, Mode::Policy), None);
        snapshot.arming = None;
        snapshot.releasing = Some(0.5);
        assert_eq!(State::of(&snapshot).headline, "Letting down 50 %");
        assert!(mode_obstacle(&snapshot, Mode::Policy).is_some());
    }
}
