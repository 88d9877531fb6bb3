//! How often the window draws: fast while something moves, seldom when nothing does, so that an idle cockpit costs little.

use std::time::Duration;

use egui::ViewportInfo;

use crate::runtime::{CameraStatus, Connection, Mode, PolicyStatus, Snapshot};

/// Drawing rate when only camera pictures change, Hz; never above half of the bound.
const PICTURES_HZ: f32 = 10.0;
/// Drawing rate when nothing changes, Hz.
const IDLE_HZ: f32 = 3.0;
/// Drawing rate at most where the window's GPU is emulated on the CPU, Hz. There a picture of 1280x800 costs about 0.14 s
/// of one core (seen with lavapipe), which the policy needs more.
const EMULATED_HZ: u32 = 15;
/// The same when only camera pictures change, and when nothing changes, Hz.
const EMULATED_PICTURES_HZ: f32 = 3.0;
const EMULATED_IDLE_HZ: f32 = 1.0;
/// How often a hidden window looks at what came in for it.
const HIDDEN_PAUSE: Duration = Duration::from_millis(500);
/// A joint that moved less than this over the newest samples stands still, robot units; servos tick by 0.09°.
const STILL: f32 = 0.25;
/// How many of the newest samples tell whether the arm moves.
const SAMPLES: usize = 10;

/// The pause until the next drawing. `frame_rate` is the most that the operator wants, Hz; a device that is emulated on the
/// CPU draws less, so that it does not starve the rest.
pub fn pause(snapshot: &Snapshot, frame_rate: u32, is_emulated: bool) -> Duration {
    let (most, pictures, idle) = if is_emulated {
        let most = frame_rate.min(EMULATED_HZ);
        (most, EMULATED_PICTURES_HZ, EMULATED_IDLE_HZ)
    } else {
        (frame_rate, PICTURES_HZ, IDLE_HZ)
    };
    let most = most.max(1) as f32;
    let rate = if moves(snapshot) || is_coming(snapshot) && !is_emulated {
        most
    } else if is_coming(snapshot) {
        // A bar needs no more, and what is being loaded needs the CPU.
        pictures
    } else if shows_pictures(snapshot) {
        pictures.min(most / 2.0)
    } else {
        idle
    };
    Duration::from_secs_f32(1.0 / rate)
}

/// While nobody can see the window nothing is drawn; this is the pause until it looks at its log and snapshot again.
pub fn hidden_pause(window: &ViewportInfo) -> Option<Duration> {
    (window.visible() == Some(false)).then_some(HIDDEN_PAUSE)
}

fn moves(snapshot: &Snapshot) -> bool {
    let is_driven = snapshot.mode != Mode::Hold && snapshot.stopped.is_none();
    is_driven || snapshot.workshop.is_live() || arm_moves(snapshot)
}

/// A policy or an arm is on its way.
fn is_coming(snapshot: &Snapshot) -> bool {
    matches!(snapshot.policy, PolicyStatus::Loading(_))
        || snapshot.connection == Connection::Connecting
}

fn arm_moves(snapshot: &Snapshot) -> bool {
    let Some(newest) = snapshot.history.back() else {
        return false;
    };
    snapshot
        .history
        .iter()
        .rev()
        .take(SAMPLES)
        .any(|sample| sample.measured.max_abs_diff(newest.measured) > STILL)
}

fn shows_pictures(snapshot: &Snapshot) -> bool {
    snapshot
        .cameras
        .iter()
        .any(|camera| camera.status == CameraStatus::Live)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::JointVec;
    use crate::policy::{LoadProgress, LoadStage};
    use crate::runtime::{CameraView, Sample};
    use std::collections::VecDeque;
    use std::sync::Arc;

    fn rate(snapshot: &Snapshot) -> f32 {
        (1.0 / pause(snapshot, 60, false).as_secs_f32()).round()
    }

    #[test]
    fn the_window_draws_fast_only_while_something_moves() {
        let mut snapshot = Snapshot::default();
        assert_eq!(rate(&snapshot), IDLE_HZ);
        snapshot.mode = Mode::Policy;
        assert_eq!(rate(&snapshot), 60.0);
        snapshot.mode = Mode::Hold;
        let samples: VecDeque<Sample> = (0..20_u8)
            .map(|i| Sample {
                measured: JointVec([f32::from(i) * 0.5; 6]),
                ..Sample::default()
            })
            .collect();
        snapshot.history = Arc::new(samples);
        assert_eq!(rate(&snapshot), 60.0, "an arm that sinks is drawn too");
        snapshot.history = Arc::new(VecDeque::from(vec![Sample::default(); 20]));
        assert_eq!(rate(&snapshot), IDLE_HZ);
    }

    #[test]
    fn a_hidden_window_only_looks() {
        let window = |minimized, occluded| ViewportInfo {
            minimized,
            occluded,
            ..ViewportInfo::default()
        };
        let minimised = window(Some(true), None);
        assert_eq!(hidden_pause(&minimised), Some(HIDDEN_PAUSE));
        let covered = window(Some(false), Some(true));
        assert_eq!(hidden_pause(&covered), Some(HIDDEN_PAUSE));
        for seen in [window(Some(false), Some(false)), window(None, None)] {
            assert_eq!(hidden_pause(&seen), None, "in doubt it is drawn");
        }
    }

    #[test]
    fn an_emulated_gpu_draws_less_often() {
        let mut snapshot = Snapshot::default();
        let mut slower = |change: fn(&mut Snapshot)| {
            change(&mut snapshot);
            (pause(&snapshot, 60, false), pause(&snapshot, 60, true))
        };
        let changes: [fn(&mut Snapshot); 3] = [
            |_| {},
            |snapshot| {
                snapshot.cameras.push(CameraView {
                    name: "front".to_owned(),
                    source: "simulated".to_owned(),
                    frame: None,
                    age: None,
                    rate_hz: 30.0,
                    status: CameraStatus::Live,
                });
            },
            |snapshot| snapshot.mode = Mode::Policy,
        ];
        for change in changes {
            let (hardware, emulated) = slower(change);
            assert!(emulated > hardware, "{emulated:?} after {hardware:?}");
        }
    }

    /// Drawing the bar took two cores from what it shows the progress of.
    #[test]
    fn a_policy_that_loads_has_the_cpu_where_the_window_needs_it_too() {
        let loading = Snapshot {
            policy: PolicyStatus::Loading(LoadProgress {
                stage: LoadStage::Loading,
                fraction: None,
            }),
            ..Snapshot::default()
        };
        assert_eq!(rate(&loading), 60.0);
        let emulated = pause(&loading, 60, true);
        assert_eq!(
            emulated,
            Duration::from_secs_f32(1.0 / EMULATED_PICTURES_HZ)
        );
    }

    #[test]
    fn the_operators_bound_holds() {
        let snapshot = Snapshot {
            mode: Mode::Jog,
            ..Snapshot::default()
        };
        assert_eq!(
            pause(&snapshot, 15, false),
            Duration::from_secs_f32(1.0 / 15.0)
        );
    }
}
