//! What the core makes of the arm, the cameras and the pace of its own loop.

use std::time::Duration;

use crate::joint::{JOINT_COUNT, JointVec};
use crate::runtime::binding::{camera_of, guess};
use crate::runtime::cameras::FRESH;
use crate::runtime::core::{
    ArmFailure, ArmInput, ArmOrder, ArmState, Control, LOST_AFTER, Pace, Wanted,
};
use crate::runtime::fault_book::{Words, words};
use crate::runtime::{CameraStatus, CameraView, Connection, FaultKind, Mode, ViewBinding};

/// The stretch over which late ticks are judged.
const LATE_STRETCH: Duration = Duration::from_secs(2);

/// The share of periods missed in a stretch that is a fault.
const LATE_SHARE: f64 = 0.2;

/// Where the count of late ticks stood when the present stretch began.
#[derive(Debug, Default)]
pub(super) struct LateWatch {
    since: Duration,
    late: u64,
    tick: u64,
}

impl Control {
    /// Takes in the arm's state.
    pub(super) fn sense(&mut self, input: ArmInput) {
        self.arm.failed = None;
        match input {
            ArmInput::Up(state) => self.sense_state(state),
            ArmInput::Absent => self.disconnected(Connection::Absent),
            ArmInput::Connecting => self.disconnected(Connection::Connecting),
            ArmInput::Lost(failure) => {
                let lost = words(failure.what.clone(), failure.remedy);
                let kind = FaultKind::BusLost;
                self.faults.set(self.now, kind, "", || Some(lost));
                self.disconnected(Connection::Lost(failure.what));
            }
            ArmInput::Uncalibrated(failure) => {
                let told = words(failure.what.clone(), failure.remedy);
                let kind = FaultKind::Uncalibrated;
                self.faults.clear(FaultKind::BusLost);
                self.faults.set(self.now, kind, "", || Some(told));
                self.disconnected(Connection::Uncalibrated(failure.what));
            }
        }
    }

    fn sense_state(&mut self, state: ArmState) {
        if !matches!(self.arm.connection, Connection::Connected { .. }) {
            self.arm.retries = 0;
            self.arm.failures = 0;
            self.faults.clear(FaultKind::BusLost);
            self.faults.clear(FaultKind::Uncalibrated);
        }
        let torque = state.torque;
        self.arm.connection = Connection::Connected { torque };
        self.arm.held_joints = state.held_joints;
        self.arm.left_holding = false;
        self.arm.limits = state.limits;
        self.arm.clearance = state.clearance;
        if state.retries > self.arm.retries {
            let repeated = state.retries;
            let what = match repeated {
                1 => "one packet on the bus was lost so far and asked for again".to_owned(),
                _ => format!("{repeated} packets on the bus were lost so far and asked for again"),
            };
            let remedy =
                "The run goes on. If the number keeps rising, check the cable and the hub.";
            let kind = FaultKind::BusRetry;
            self.faults
                .flash(self.now, kind, "packets", words(what, remedy));
        }
        self.arm.retries = state.retries;
        if self.arm.armed && !torque {
            self.arm.armed = false;
            self.enter(Mode::Hold);
            let told = disarmed(&state);
            self.faults
                .flash(self.now, FaultKind::Arming, "torque", told);
        }
        self.watch_alarms(&state.alarms);
        self.watch_health(*state.health);
        match state.measured {
            Ok(measured) => {
                self.arm.measured = measured;
                if !self.arm.armed {
                    self.arm.commanded = measured;
                }
            }
            Err(failure) => self.arm.failed = Some(failure),
        }
    }

    fn watch_alarms(&mut self, alarms: &[Words]) {
        let kind = FaultKind::ServoAlarm;
        self.faults.clear_but(kind, |subject| {
            alarms.iter().any(|alarm| alarm.what == subject)
        });
        for alarm in alarms {
            self.faults
                .set(self.now, kind, &alarm.what, || Some(alarm.clone()));
        }
    }

    fn disconnected(&mut self, connection: Connection) {
        self.arm.connection = connection;
        self.arm.left_holding |= self.arm.held_joints > 0;
        self.arm.armed = false;
        self.arm.held_joints = 0;
        self.arm.change = None;
        self.arm.gone = false;
        self.arm.failures = 0;
        self.health.forget();
        self.enter(Mode::Hold);
    }

    /// Torque came on, holding `pose`.
    pub(super) fn armed(&mut self, pose: JointVec) {
        self.arm.armed = true;
        self.arm.change = None;
        self.arm.commanded = pose;
        self.jog.rest_at(pose);
        self.approach.begin();
        self.health.armed();
        self.faults.clear(FaultKind::Overload);
        self.arm.connection = Connection::Connected { torque: true };
        self.faults.clear(FaultKind::Arming);
    }

    /// Torque went off as it was told to.
    pub(super) fn released(&mut self) {
        self.arm.armed = false;
        self.arm.change = None;
        self.arm.connection = Connection::Connected { torque: false };
        self.enter(Mode::Hold);
        self.faults.clear(FaultKind::Arming);
    }

    /// The joints with torque hold `pose`; what else there is must be said, because a stop is trusted.
    pub(super) fn frozen(&mut self, pose: JointVec, limp: &[String]) {
        self.arm.commanded = pose;
        if let Some(stopped) = &mut self.stopped {
            stopped.acknowledged = true;
        }
        if !limp.is_empty() && limp.len() < JOINT_COUNT {
            let what = format!(
                "the stop holds the joints that have torque; limp, and held by nothing: {}",
                limp.join(", ")
            );
            let remedy = "Support the arm. Then resume, and switch the torque on or release it.";
            let kind = FaultKind::Arming;
            self.faults
                .raise(self.now, kind, "stop", words(what, remedy));
        }
    }

    /// The arm did not take its order.
    pub(super) fn order_failed(&mut self, failure: ArmFailure) {
        let did = match self.arm.change.take() {
            Some((Wanted::Torque, _)) => "the torque was not switched on",
            Some((Wanted::Release, _)) => "the torque may still be on",
            Some((Wanted::Nothing, _)) | None => {
                self.arm.failed = Some(failure);
                return;
            }
        };
        self.arm.armed = false;
        self.arm.gone = failure.gone;
        self.enter(Mode::Hold);
        let refused = words(format!("{did}: {}", failure.what), failure.remedy);
        let kind = FaultKind::Arming;
        self.faults.raise(self.now, kind, "torque", refused);
    }

    /// Counts ticks that failed in a row: one is held and shown, some in a row end the run.
    pub(super) fn count_failures(&mut self) {
        let before = self.arm.failures;
        let Some(failure) = self.arm.failed.clone() else {
            self.arm.failures = 0;
            if before >= LOST_AFTER {
                self.faults.clear(FaultKind::BusLost);
            }
            return;
        };
        self.arm.failures += 1;
        let is_lost = self.arm.failures >= LOST_AFTER;
        let told = words(failure.what.clone(), failure.remedy);
        if failure.jumped {
            let kind = FaultKind::ServoAlarm;
            self.faults.raise(self.now, kind, "jump", told);
        } else if is_lost {
            self.arm.gone = failure.gone && self.ordered != ArmOrder::Disconnect;
            let kind = FaultKind::BusLost;
            self.faults.set(self.now, kind, "", || Some(told));
        } else {
            let kind = FaultKind::BusRetry;
            self.faults.flash(self.now, kind, "tick", told);
        }
        if failure.jumped || is_lost {
            self.end_run(&failure.what, failure.gone);
        }
    }

    /// Nobody drives an arm that cannot be trusted; the joints that still hear are not to go on to where they were sent.
    fn end_run(&mut self, why: &str, gone: bool) {
        let is_driven = self.arm.armed && self.arm.change.is_none() && !self.is_letting_go();
        if gone || !is_driven {
            self.enter(Mode::Hold);
        } else if self.stopped.is_none() {
            self.stop(why);
        }
    }

    /// Binds cameras to the views of a policy that has just come.
    pub(super) fn bind_views(&mut self) {
        self.faults.clear(FaultKind::CameraMissing);
        let views = self.supervisor.spec().map(|spec| spec.views.clone());
        let views = views.unwrap_or_default();
        self.views = guess(&views, &self.cameras, &self.remembered);
    }

    /// Finds views without a camera and cameras that stopped delivering; the latter pause the policy.
    pub(super) fn watch_cameras(&mut self) {
        let before = self.stale_camera.take();
        for binding in &self.views {
            let missing = camera_of(binding, &self.cameras).is_none();
            let (kind, view) = (FaultKind::CameraMissing, &binding.view);
            self.faults.set(self.now, kind, view, || {
                missing.then(|| {
                    words(
                        format!("no camera feeds {view}; the policy goes without this view"),
                        "Choose the camera that stands there under Set-up, Cameras; a new one is named at the start: --camera NAME=SOURCE.",
                    )
                })
            });
        }
        for camera in &self.cameras {
            let feeds = |view: &ViewBinding| view.camera.as_deref() == Some(camera.name.as_str());
            let stale = self.views.iter().any(feeds) && camera.age.is_none_or(|age| age > FRESH);
            if stale && self.stale_camera.is_none() {
                self.stale_camera = Some(camera.name.clone());
            }
            // A camera that is still being opened is a fault only once the policy wants to see; one that failed is at once.
            let failed = camera.frame.is_some() || matches!(camera.status, CameraStatus::Lost(_));
            let shown = stale && (failed || self.mode == Mode::Policy);
            let kind = FaultKind::CameraStale;
            self.faults.set(self.now, kind, &camera.name, || {
                shown.then(|| stale_words(camera))
            });
        }
        if self.mode == Mode::Policy && before.is_none() && self.stale_camera.is_some() {
            self.reset();
        }
    }

    /// Judges the loop: a missed period now and then is counted, many are a fault.
    pub(super) fn watch_pace(&mut self, pace: Pace) {
        self.pace = pace;
        let stretch = self.now.saturating_sub(self.late_watch.since);
        if stretch < LATE_STRETCH {
            return;
        }
        let late = pace.late_ticks - self.late_watch.late;
        let ticks = self.tick.0 - self.late_watch.tick;
        let share = late as f64 / (late + ticks).max(1) as f64;
        self.faults.set(self.now, FaultKind::LateTicks, "", || {
            (share > LATE_SHARE).then(|| {
                words(
                    format!(
                        "{:.0} % of the control periods were missed in {:.1} s",
                        share * 100.0,
                        stretch.as_secs_f32()
                    ),
                    "Lower the control rate (fps), or close what else runs on this machine.",
                )
            })
        });
        self.late_watch = LateWatch {
            since: self.now,
            late: pace.late_ticks,
            tick: self.tick.0,
        };
    }
}

fn stale_words(camera: &CameraView) -> Words {
    let name = &camera.name;
    let what = match (&camera.status, camera.age) {
        (CameraStatus::Lost(why), _) => format!("camera {name} is lost: {why}"),
        (_, Some(age)) => format!(
            "the newest picture of camera {name} is {:.1} s old",
            age.as_secs_f32()
        ),
        (_, None) => format!("camera {name} has not delivered a picture yet"),
    };
    words(
        what,
        "The policy is paused and the arm holds. Check the camera's plug, or bind another camera to the view.",
    )
}

/// Why an arm that was armed is no more: what broke if that is known, else what can be seen of it.
fn disarmed(state: &ArmState) -> Words {
    if let Err(failure) = &state.measured {
        let what = format!("the arm takes no goals any more: {}", failure.what);
        return words(what, failure.remedy.as_str());
    }
    let what = if state.held_joints == 0 {
        "the servos went limp by themselves"
    } else {
        "the arm takes no goals any more: it was silent for too long, or a part of it went limp"
    };
    words(
        what,
        "Support the arm, check its supply, then switch the torque on again.",
    )
}
