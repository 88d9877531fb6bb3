//! One session with the window: the rig behind it, and what the operator chose last time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use serde::Serialize;

use crate::app::ending;
use crate::app::gamepad::Gamepad;
use crate::app::keeper::{self, Keeper};
use crate::app::log;
use crate::app::window::{self, WindowSetup};
use crate::app::wiring::{ArmChoice, FIRST_TASK, Rig, RigOptions};
use crate::arm::{PortInfo, list_ports};
use crate::gpu;
use crate::latest::Latest;
use crate::runtime::{
    ArmSource, EXPERT, FaultKind, Halted, KeptArm, Punctuality, Settings, Snapshot, ViewBinding,
};
use crate::sim::Task;
use crate::ui::{FrameReport, Preferences};

/// How the window is drawn, and whether that is reported.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// Where to.
    pub report: Option<PathBuf>,
    /// On the policy's device instead of its own.
    pub one_device: bool,
}

/// What a report on punctuality tells.
#[derive(Serialize)]
struct Report {
    one_device: bool,
    /// What the policy computes on, and one chunk there, milliseconds.
    device: String,
    chunk_p50_ms: f64,
    /// The window's frames.
    frames: FrameReport,
    /// The arm's loop.
    ticks: TickReport,
}

#[derive(Serialize)]
struct TickReport {
    idle: Punctuality,
    thinking: Punctuality,
    late_ticks: u64,
}

impl Report {
    fn of(drawing: &Drawing, frames: FrameReport, last: &Snapshot) -> Self {
        Self {
            one_device: drawing.one_device,
            device: last
                .spec
                .as_ref()
                .map_or_else(String::new, |spec| spec.device.clone()),
            chunk_p50_ms: last.latency.total.p50.as_secs_f64() * 1e3,
            frames,
            ticks: TickReport {
                idle: last.idle,
                thinking: last.thinking,
                late_ticks: last.late_ticks,
            },
        }
    }

    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Opens the window over a rig and stays until it is closed.
///
/// Knobs, task and views are those of the last session unless `options` names them; the policy and the arm are always
/// those that were named, so that a start never drives something unexpected.
///
/// # Errors
/// The rig cannot be started or the window cannot be opened; the message says why.
pub fn open(mut options: RigOptions, drawing: &Drawing) -> anyhow::Result<()> {
    // Opened first, on this thread: the window cannot wait for the policy's.
    let shared = drawing
        .one_device
        .then(|| gpu::open_for(options.device))
        .transpose()?
        .and_then(|device| device.setup);
    options.is_shown = true;
    let path = settings_path(&mut options);
    let settings = path
        .as_ref()
        .map(|path| load(path, &mut options))
        .unwrap_or_default();
    recall(&mut options, &settings);
    let preferences = path
        .as_deref()
        .map(keeper::read_preferences)
        .unwrap_or_default();
    ending::listen();
    let rig = Rig::start(options)?;
    ending::guard(rig.runtime.halt());
    let shown: Latest<Preferences> = Latest::new();
    shown.set(preferences.clone());
    let keeper = path
        .map(|path| Keeper::start(path, settings, rig.runtime.snapshot.clone(), shown.clone()))
        .transpose()
        .context("cannot keep the settings")?;
    let estop = rig.runtime.estop.clone();
    let stop: Arc<dyn Fn() + Send + Sync> = Arc::new(move || estop.press());
    let gamepad = Gamepad::start(rig.runtime.commands.clone(), Arc::clone(&stop))
        .context("cannot look for gamepads")?;
    let frames = Latest::new();
    let setup = WindowSetup {
        snapshots: rig.runtime.snapshot.clone(),
        commands: rig.runtime.commands.clone(),
        stop,
        is_over: Box::new(ending::interrupted),
        preferences,
        save: Box::new(move |chosen| shown.set(chosen.clone())),
        log: log::lines(),
        pad: gamepad.status(),
        shared,
        frames: frames.clone(),
    };
    // A window that crashes takes nothing along: the arm is stopped and the settings are kept all the same.
    let closed = catch_unwind(AssertUnwindSafe(|| window::run(setup)));
    drop(keeper);
    drop(gamepad);
    let last = rig.runtime.snapshot.get().unwrap_or_default();
    let halted = rig.shutdown();
    ending::over();
    closed.unwrap_or_else(|_| Err(anyhow!("the window crashed; see the message above")))?;
    if let Some(path) = &drawing.report {
        let frames = frames.get().as_deref().copied().unwrap_or_default();
        Report::of(drawing, frames, &last).write(path)?;
    }
    if halted == Halted::Unconfirmed {
        bail!(ending::UNCONFIRMED);
    }
    Ok(())
}

fn settings_path(options: &mut RigOptions) -> Option<PathBuf> {
    Settings::path()
        .map_err(|error| {
            let remedy = "Knobs and tasks start from their defaults each time.";
            options
                .faults
                .push((FaultKind::Settings, error.to_string(), remedy.to_owned()));
        })
        .ok()
}

fn load(path: &std::path::Path, options: &mut RigOptions) -> Settings {
    let (settings, error) = Settings::load(path);
    if let Some(error) = error {
        let remedy = "Set again what is named there; it is kept from now on.";
        options
            .faults
            .push((FaultKind::Settings, error.to_string(), remedy.to_owned()));
    }
    settings
}

/// Fills in from the last session what was not named.
fn recall(options: &mut RigOptions, settings: &Settings) {
    options.knobs = settings.knobs;
    recall_arms(options, settings, &list_ports());
    let is_rig = options.arm == ArmChoice::Simulated;
    if is_rig && !options.policy_named {
        EXPERT.clone_into(&mut options.policy.source);
    }
    if options.task.is_empty() {
        options.task = match settings.task.as_str() {
            "" if is_rig => Task::USUAL.to_string(),
            "" => FIRST_TASK.to_owned(),
            last => last.to_owned(),
        };
    }
    let named = |view: &ViewBinding| options.views.iter().any(|other| other.view == view.view);
    let remembered: Vec<ViewBinding> = settings
        .views
        .iter()
        .filter(|view| !named(view))
        .cloned()
        .collect();
    options.views.extend(remembered);
}

/// Goes on with the arms that were chosen in the window, wherever they are plugged in now. They are connected, not armed.
fn recall_arms(options: &mut RigOptions, settings: &Settings, ports: &[PortInfo]) {
    let kept = |arm: &Option<KeptArm>| match arm.as_ref()?.source(ports) {
        ArmSource::Port { path, id } => Some(ArmChoice::Remembered { port: path, id }),
        ArmSource::Simulated => None,
    };
    let leader = kept(&settings.arms.leader);
    let follower = kept(&settings.arms.follower).filter(|_| !options.arm_named);
    if let Some(follower) = follower {
        options.arm = follower;
        options.takeoff = false;
    }
    // The rig's leader waves by itself: no real arm ever follows it.
    let waves = options.leader == Some(ArmChoice::Simulated);
    let is_open = options.leader.is_none() || waves;
    if is_open && !options.leader_named && leader.is_some() {
        options.leader = leader;
    } else if waves && options.arm != ArmChoice::Simulated {
        options.leader = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::Bounds;
    use crate::gpu::DeviceChoice;
    use crate::policy::LoadRequest;
    use crate::runtime::Knobs;

    fn options() -> RigOptions {
        RigOptions {
            policy: LoadRequest::default(),
            policy_named: false,
            device: DeviceChoice::Flex.into(),
            arm: ArmChoice::Simulated,
            arm_named: false,
            leader: None,
            leader_named: false,
            bounds: Bounds::default(),
            cameras: vec![],
            views: vec![],
            task: String::new(),
            knobs: Knobs::default(),
            seed: 0,
            takeoff: true,
            is_shown: true,
            records: false,
            faults: vec![],
        }
    }

    fn binding(view: &str, camera: &str) -> ViewBinding {
        ViewBinding {
            view: view.into(),
            camera: Some(camera.into()),
        }
    }

    #[test]
    fn what_was_named_wins_over_the_last_session() {
        let mut settings = Settings {
            task: "stack".into(),
            views: vec![binding("a", "front"), binding("b", "wrist")],
            ..Settings::default()
        };
        settings.knobs.fps = 20.0;
        let mut named = RigOptions {
            task: "sort".into(),
            views: vec![binding("a", "side")],
            ..options()
        };
        recall(&mut named, &settings);
        assert_eq!((named.task.as_str(), named.knobs.fps), ("sort", 20.0));
        assert_eq!(named.views, [binding("a", "side"), binding("b", "wrist")]);
        let mut bare = options();
        recall(&mut bare, &settings);
        assert_eq!(bare.task, "stack");
        recall(&mut bare, &Settings::default());
        let mut first = options();
        recall(&mut first, &Settings::default());
        assert_eq!(first.task, Task::USUAL.to_string());
        assert_eq!(first.policy.source, EXPERT);
        let mut demo = RigOptions {
            policy_named: true,
            ..options()
        };
        let mut real = RigOptions {
            arm: ArmChoice::Remembered {
                port: "COM5".into(),
                id: "blue".into(),
            },
            ..options()
        };
        for other in [&mut demo, &mut real] {
            recall(other, &Settings::default());
            assert_ne!(other.policy.source, EXPERT);
        }
        assert_eq!(real.task, FIRST_TASK);
    }

    #[test]
    fn an_arm_that_was_chosen_is_found_again_under_another_path_and_never_armed() {
        let mut settings = Settings::default();
        settings.arms.follower = Some(KeptArm {
            path: "/dev/ttyACM0".into(),
            id: "blue".into(),
            serial: Some("A1".into()),
        });
        settings.arms.leader = settings.arms.follower.clone();
        let ports = [PortInfo {
            path: "/dev/ttyACM3".into(),
            serial: Some("A1".into()),
            ..PortInfo::default()
        }];
        let mut bare = options();
        recall_arms(&mut bare, &settings, &ports);
        let found = ArmChoice::Remembered {
            port: "/dev/ttyACM3".into(),
            id: "blue".into(),
        };
        assert_eq!((bare.arm, bare.takeoff), (found.clone(), false));
        assert_eq!(bare.leader, Some(found));
        // A leader that waves by itself is never followed by a real arm.
        settings.arms.leader = None;
        let mut waved = RigOptions {
            leader: Some(ArmChoice::Simulated),
            ..options()
        };
        recall_arms(&mut waved, &settings, &ports);
        assert_eq!(waved.leader, None);
        // `--leader none` is said for this session.
        settings.arms.leader = settings.arms.follower.clone();
        let mut alone = RigOptions {
            leader_named: true,
            ..options()
        };
        recall_arms(&mut alone, &settings, &ports);
        assert_eq!(alone.leader, None);
        let mut named = RigOptions {
            arm_named: true,
            ..options()
        };
        recall_arms(&mut named, &settings, &ports);
        assert_eq!((named.arm, named.takeoff), (ArmChoice::Simulated, true));
    }

    #[test]
    fn spoilt_settings_are_a_fault_and_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        std::fs::write(&path, "{ half").unwrap();
        let mut options = options();
        assert_eq!(load(&path, &mut options), Settings::default());
        assert_eq!(options.faults[0].0, FaultKind::Settings);
    }
}
