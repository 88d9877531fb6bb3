//! `smolpilot check`: what this machine and a checkpoint can do together, said before any torque is switched on.

mod checkpoint;
mod machine;
mod probe;
mod units;
mod verdict;

pub use probe::Speed;

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;

use self::checkpoint::{Doctor, Latency};
use self::machine::Machine;
use self::verdict::{Facts, verdict};
use crate::cli::args::{CheckArgs, PolicyArgs};
use crate::cli::output::{Outcome, deliver, in_full};
use crate::cli::rig::{RIG_CAMERAS, known_cameras, known_views};
use crate::cli::{policy, predict};
use crate::gpu::OpenedDevice;
use crate::observation::{Frame, Observation};
use crate::policy::self_test::{self, Verdicts};
use crate::policy::{self as policies, Inspected, Policy as _, PredictOptions, SmolVlaPolicy};
use crate::runtime::{CameraStatus, CameraView, ViewBinding, guess_views};

/// A chunk that should take longer than this is not measured, only foretold, seconds.
const MEASURED_AT_MOST: f64 = 30.0;

/// What `check --json` prints.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    machine: Machine,
    /// How the device did in the test that it must pass before a policy may drive on it.
    self_test: Option<String>,
    policy: Option<Doctor>,
    /// Why the policy cannot be used here.
    policy_error: Option<String>,
}

/// Runs the command. The report always comes; a fault in it makes the exit status 1.
pub fn run(args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (machine, device) = Machine::look(args.device.wish());
    let tested = device
        .as_ref()
        .map(|device| self_test::verify(device, &Verdicts::of_user()));
    let (self_test, mut fault) = match &tested {
        None => (None, machine.device_error.clone()),
        Some(Ok(passed)) => (Some(passed.to_string()), None),
        Some(Err(error)) => (Some(error.to_string()), Some(error.to_string())),
    };
    let usable = device.filter(|_| fault.is_none());
    let examined = args
        .policy
        .as_ref()
        .map(|source| examine(source, args, &machine, usable.as_ref()));
    let (policy, policy_error) = match examined {
        None => (None, None),
        Some(Ok(doctor)) => (Some(doctor), None),
        Some(Err(error)) => (None, Some(in_full(&error))),
    };
    let unfit = policy.as_ref().and_then(|doctor| doctor.verdict.as_ref());
    fault = fault.or_else(|| policy_error.clone()).or_else(|| {
        unfit
            .filter(|verdict| !verdict.can_drive)
            .map(|_| String::new())
    });
    let report = Report {
        machine,
        self_test,
        policy,
        policy_error,
    };
    deliver(out, args.json.json.as_ref(), &report, |out| {
        report.machine.print(out)?;
        if let Some(words) = &report.self_test {
            writeln!(out, "self-test  {words}")?;
        }
        if let Some(doctor) = &report.policy {
            doctor.print(out)?;
        }
        if let Some(error) = &report.policy_error {
            writeln!(out, "\npolicy     {error}")?;
        }
        Ok(())
    })?;
    Ok(if fault.is_some() {
        Outcome::Fault
    } else {
        Outcome::Done
    })
}

/// Examines a checkpoint and, where the device allows, measures it.
fn examine(
    source: &str,
    args: &CheckArgs,
    machine: &Machine,
    device: Option<&OpenedDevice>,
) -> anyhow::Result<Doctor> {
    let inspected = policy::inspect(&PolicyArgs {
        policy: Some(source.to_owned()),
        stats: args.stats.clone(),
    })?;
    let cameras: Vec<String> = match args.cameras.as_slice() {
        [] => RIG_CAMERAS.map(str::to_owned).to_vec(),
        named => named.iter().map(|camera| camera.name.clone()).collect(),
    };
    known_cameras(&args.views, &cameras)?;
    known_views(&args.views, &inspected.spec.views)?;
    let bindings = bind(&inspected.spec.views, &cameras, &args.views);
    let names = predict::action_names(&inspected.spec);
    let mut doctor = Doctor::of(&inspected, &names, &bindings);
    let speed = machine.device.as_ref().and_then(|device| device.gflops);
    let foretold = speed.map(|speed| doctor.foretold(speed));
    doctor.latency = match (device, foretold) {
        (Some(device), Some(foretold)) if foretold.seconds <= MEASURED_AT_MOST => {
            Some(Latency::measured(measure(inspected, &bindings, device)?))
        }
        (_, foretold) => foretold,
    };
    if let Some(latency) = doctor.latency {
        let spec = policies::PolicySpec {
            name: doctor.name.clone(),
            state_dim: doctor.state_dim,
            action_dim: doctor.action_dim,
            chunk_size: doctor.chunk_size,
            ..policies::PolicySpec::default()
        };
        doctor.verdict = Some(verdict(&Facts {
            spec: &spec,
            bindings: &bindings,
            cameras: &cameras,
            latency_s: latency.seconds,
            measured: latency.measured,
            fps: f64::from(args.fps),
        }));
    }
    Ok(doctor)
}

/// The bindings that a run with these cameras would start with.
fn bind(views: &[String], cameras: &[String], named: &[ViewBinding]) -> Vec<ViewBinding> {
    let camera = |name: &String| CameraView {
        name: name.clone(),
        source: String::new(),
        frame: None,
        age: None,
        rate_hz: 0.0,
        status: CameraStatus::Opening,
    };
    let cameras: Vec<CameraView> = cameras.iter().map(camera).collect();
    guess_views(views, &cameras, named)
}

/// Loads the policy and times its second chunk; the first one compiles.
fn measure(
    inspected: Inspected,
    bindings: &[ViewBinding],
    device: &OpenedDevice,
) -> anyhow::Result<Duration> {
    let mut told = policy::Progress::default().told();
    let mut loaded: SmolVlaPolicy =
        policies::fill(inspected, device, &mut told).map_err(policy::in_words)?;
    let grey = Frame::new(640, 480, vec![127; 640 * 480 * 3], 0, Duration::ZERO)
        .context("the made-up picture is empty")?;
    let bound: Vec<_> = bindings
        .iter()
        .filter(|binding| binding.camera.is_some())
        .collect();
    let shown = bindings
        .iter()
        .filter(|binding| bound.is_empty() || bound.contains(binding));
    let observation = Observation {
        images: shown
            .map(|binding| (binding.view.clone(), grey.clone()))
            .collect(),
        state: vec![0.0; loaded.spec().state_dim],
        task: crate::app::wiring::FIRST_TASK.to_owned(),
    };
    let options = PredictOptions::default();
    loaded.predict_action_chunk(&observation, &options)?;
    let start = Instant::now();
    loaded.predict_action_chunk(&observation, &options)?;
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_bound_as_a_run_would_bind_them() {
        let views = ["observation.images.top", "observation.images.wrist"].map(str::to_owned);
        let cameras = ["wrist", "front"].map(str::to_owned);
        let bound = bind(&views, &cameras, &[]);
        assert_eq!(bound[0].camera.as_deref(), Some("front"));
        assert_eq!(bound[1].camera.as_deref(), Some("wrist"));
        let named = ViewBinding {
            view: views[0].clone(),
            camera: Some("wrist".into()),
        };
        assert_eq!(
            bind(&views, &cameras, &[named])[0].camera.as_deref(),
            Some("wrist")
        );
    }
}
