//! `smolpilot run`: the runtime without a window, for a while, with a summary at the end.

pub mod knobs;
pub mod summary;

use std::io::Write;
use std::time::Duration;

use anyhow::bail;

use self::summary::{Summary, failure, lost_arm};
use crate::app::ending;
use crate::app::wiring::{ArmChoice, Rig};
use crate::cli::args::RunArgs;
use crate::cli::output::{Outcome, deliver};
use crate::cli::policy::{Progress, choices};
use crate::cli::record::{Recorded, see_through};
use crate::cli::rig::known_views;
use crate::runtime::{
    CameraStatus, CameraView, Connection, Halted, Mode, PolicyStatus, Runtime, SessionPlan,
    Snapshot,
};

/// How long an arm may take to answer for the first time.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long a camera may take to show its first picture; some take several seconds to open.
const OPEN_LIMIT: Duration = Duration::from_secs(30);
/// How often a wait looks for news to log.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(args: &RunArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    ending::listen();
    let options = args.options()?;
    let plan = args.record.plan(options.arm == ArmChoice::Simulated);
    let rig = Rig::start(options)?;
    ending::guard(rig.runtime.halt());
    let flown = fly(&rig.runtime, args, plan);
    // The picture before the stop: its faults are those of the run.
    let last = rig.runtime.snapshot.get().unwrap_or_default();
    let halted = rig.shutdown();
    ending::over();
    if halted == Halted::Unconfirmed {
        log::error!("{}", ending::UNCONFIRMED);
    }
    let (first, recorded) = flown?;
    let recorded = recorded.map(Recorded::counted);
    let trouble = recorded.as_ref().and_then(|it| it.trouble.clone());
    let summary = Summary {
        recorded,
        ..Summary::between(&first, &last)
    };
    deliver(out, args.json.json.as_ref(), &summary, |out| {
        summary.print(out)
    })?;
    match failure(&last).or(trouble) {
        Some(why) => bail!("{why}"),
        None if halted == Halted::Unconfirmed => bail!(ending::UNCONFIRMED),
        None => Ok(Outcome::Done),
    }
}

/// Waits until the run begins and then until it is over, or until what was to be recorded is; returns the snapshot that it
/// began with, and what was recorded.
fn fly(
    runtime: &Runtime,
    args: &RunArgs,
    plan: Option<SessionPlan>,
) -> anyhow::Result<(Snapshot, Option<Recorded>)> {
    let first = begin(runtime, args)?;
    if let Some(plan) = plan {
        let recorded = see_through(runtime, judgeable(plan, &first), args.seconds)?;
        return Ok((first, Some(recorded)));
    }
    let over = |seen: &Snapshot| {
        ending::interrupted()
            || args
                .seconds
                .is_some_and(|seconds| seen.now.saturating_sub(first.now).as_secs_f64() >= seconds)
    };
    while runtime.wait_for(LOOK, over).is_none() {
        if !runtime.is_running() {
            bail!("{}", crashed(runtime));
        }
    }
    Ok((first, None))
}

/// The plan, without a referee where none understands the task.
fn judgeable(plan: SessionPlan, seen: &Snapshot) -> SessionPlan {
    let is_understood = seen.rig.as_ref().is_some_and(|rig| rig.task.is_some());
    SessionPlan {
        judged: plan.judged && is_understood,
        ..plan
    }
}

/// What became of a loop that has ended by itself.
fn crashed(runtime: &Runtime) -> String {
    let last = runtime.snapshot.get().unwrap_or_default();
    failure(&last).unwrap_or_else(|| "the control thread has ended".to_owned())
}

/// Waits until the policy drives, or, with an arm that is only watched, until it could.
fn begin(runtime: &Runtime, args: &RunArgs) -> anyhow::Result<Snapshot> {
    let mut progress = Progress::default();
    loop {
        let begun = |seen: &Snapshot| ending::interrupted() || has_begun(seen);
        let begun = runtime.wait_for(LOOK, begun);
        if let Some(spec) = runtime.snapshot.get().and_then(|seen| seen.spec.clone()) {
            known_views(&args.rig.views, &spec.views)?;
        }
        if let Some(seen) = begun {
            return Ok(Snapshot::clone(&seen));
        }
        let Some(seen) = runtime.snapshot.get() else {
            if !runtime.is_running() {
                bail!("the control thread did not start");
            }
            continue;
        };
        if let Some(why) = obstacle(&seen) {
            bail!("{why}");
        }
        if let PolicyStatus::Loading(now) = &seen.policy
            && let Some(line) = progress.line(now)
        {
            log::info!("{line}");
        }
    }
}

fn has_begun(seen: &Snapshot) -> bool {
    let ready = matches!(seen.policy, PolicyStatus::Ready { .. });
    let limp = seen.connection == Connection::Connected { torque: false };
    seen.mode == Mode::Policy && ready || limp && ready && seen.now > CONNECT_LIMIT
}

/// Why the run will not begin.
fn obstacle(seen: &Snapshot) -> Option<String> {
    match &seen.policy {
        PolicyStatus::Refused { why, stats } => return Some(choices(why.clone(), stats)),
        PolicyStatus::Failed {
            why,
            restarting: false,
        } => return Some(why.clone()),
        _ => {}
    }
    match &seen.connection {
        Connection::Lost(why) if seen.now > CONNECT_LIMIT => Some(lost_arm(seen, why)),
        Connection::Uncalibrated(why) => Some(lost_arm(seen, why)),
        _ => blind(seen),
    }
}

/// Why a camera that feeds a view shows nothing; the policy is not let loose before it does, so the run would wait for
/// ever without a word.
fn blind(seen: &Snapshot) -> Option<String> {
    let feeds = |camera: &&CameraView| {
        let mut names = seen.views.iter().filter_map(|view| view.camera.as_ref());
        names.any(|name| *name == camera.name)
    };
    let why = |camera: &CameraView| match &camera.status {
        CameraStatus::Lost(why) if seen.now > CONNECT_LIMIT => {
            Some(format!("camera {} shows nothing: {why}", camera.name))
        }
        CameraStatus::Opening if seen.now > OPEN_LIMIT => Some(format!(
            "camera {} has not shown a picture in {} s; check its plug, or name another one with --camera {}=SOURCE",
            camera.name,
            OPEN_LIMIT.as_secs(),
            camera.name
        )),
        _ => None,
    };
    seen.cameras.iter().filter(feeds).find_map(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::ViewBinding;

    fn seen(mode: Mode, policy: PolicyStatus, connection: Connection) -> Snapshot {
        Snapshot {
            mode,
            connection,
            policy,
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_run_begins_when_the_policy_drives() {
        let (ready, armed) = (
            PolicyStatus::Ready { busy: true },
            Connection::Connected { torque: true },
        );
        assert!(has_begun(&seen(Mode::Policy, ready.clone(), armed.clone())));
        assert!(!has_begun(&seen(Mode::Hold, ready, armed.clone())));
        assert!(!has_begun(&seen(Mode::Policy, PolicyStatus::Absent, armed)));
    }

    #[test]
    fn what_keeps_a_run_from_beginning_is_named() {
        let refused = PolicyStatus::Refused {
            why: "config.json is missing".into(),
            stats: vec![],
        };
        let why = obstacle(&seen(Mode::Hold, refused, Connection::Connecting)).unwrap();
        assert_eq!(why, "config.json is missing");
        let mut lost = seen(
            Mode::Hold,
            PolicyStatus::Absent,
            Connection::Lost("no answer".into()),
        );
        assert_eq!(obstacle(&lost), None);
        lost.now = CONNECT_LIMIT * 2;
        assert!(obstacle(&lost).unwrap().contains("no answer"));
    }

    /// `--camera front=broken.png` made a run that waited for ever.
    #[test]
    fn a_camera_that_shows_nothing_ends_the_wait() {
        let ready = PolicyStatus::Ready { busy: false };
        let mut blind = seen(Mode::Hold, ready, Connection::Connected { torque: true });
        blind.cameras = vec![CameraView {
            name: "front".into(),
            source: String::new(),
            frame: None,
            age: None,
            rate_hz: 0.0,
            status: CameraStatus::Lost("broken.png is no picture".into()),
        }];
        blind.now = CONNECT_LIMIT * 2;
        assert_eq!(obstacle(&blind), None, "it feeds no view");
        blind.views = vec![ViewBinding {
            view: "observation.images.top".into(),
            camera: Some("front".into()),
        }];
        let why = obstacle(&blind).unwrap();
        assert!(why.contains("front") && why.contains("broken.png"), "{why}");
        blind.now = CONNECT_LIMIT / 2;
        assert_eq!(obstacle(&blind), None, "it may still come");
        blind.cameras[0].status = CameraStatus::Opening;
        blind.now = CONNECT_LIMIT * 2;
        assert_eq!(obstacle(&blind), None);
        blind.now = OPEN_LIMIT * 2;
        assert!(obstacle(&blind).unwrap().contains("--camera front=SOURCE"));
    }
}
