//! The expert on own kernels at full size: what each format of its weights does to the actions. The prefix is read on the CPU, which
//! takes seconds where a software adapter takes minutes.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use safetensors::SafeTensors;
use smolpilot::gpu::compute::{Compute, Format};
use smolpilot::gpu::{self, DeviceChoice};
use smolpilot::policy::checkpoint::Checkpoint;
use smolpilot::policy::smolvla::prepared::PreparedSmolVla;
use smolpilot::policy::smolvla::{Stage, Trace};
use smolpilot::policy::{LoadRequest, Noise, inspect};

use crate::compare::Golden;
use crate::say;

/// Loads, runs and compares the expert in each format.
pub fn run(directory: &Path, golden: &Path, choice: DeviceChoice, runs: usize) -> Result<()> {
    let bytes = std::fs::read(golden).with_context(|| golden.display().to_string())?;
    let golden = Golden(SafeTensors::deserialize(&bytes)?);
    let opened = gpu::open(choice)?;
    let setup = opened
        .setup
        .as_ref()
        .context("own kernels need a GPU device")?;
    let compute = Compute::new(setup);
    let request = LoadRequest {
        source: directory.display().to_string(),
        stats: None,
    };
    let inspected = inspect(&request, &mut |_| {})?;
    let (observation, options) = golden.inputs(&inspected.spec.views)?;
    let Noise::Values(noise) = options.noise else {
        bail!("the reference's noise is given by value");
    };
    let processor = inspected.processor();
    let input = processor.preprocess(&observation, noise, &mut Vec::new())?;
    let (architecture, width) = (inspected.architecture, inspected.spec.action_dim);
    let source = Checkpoint::open(directory)?;
    let flex = gpu::open(DeviceChoice::Flex)?.device;
    for format in [Format::F32, Format::F16, Format::I8] {
        let start = Instant::now();
        let mut network =
            PreparedSmolVla::load(&architecture, &source, &flex, &compute, format, &mut |_| ())?;
        say(&format!(
            "{format:?} on {}: loaded in {:.1?}",
            opened.name,
            start.elapsed()
        ))?;
        let mut trace = Trace::on();
        let steps = architecture.num_steps;
        let sample = network.sample_actions(&input, steps, None, &mut trace)?;
        for stage in trace.into_stages() {
            compare(&golden, &stage)?;
        }
        let rows = sample.actions.chunks(architecture.max_action_dim);
        let actions: Vec<f32> = rows.flat_map(|row| &row[..width]).copied().collect();
        for name in ["out.actions", "out.actions_native_mixed"] {
            line(name, &actions, &golden.f32(name)?)?;
        }
        for _ in 0..runs {
            let sample = network.sample_actions(&input, steps, None, &mut Trace::off())?;
            let (denoise, host) = (sample.denoise, network.denoise_host());
            say(&format!(
                "  ten steps {denoise:.1?}, of them {host:.2?} of the host"
            ))?;
        }
    }
    Ok(())
}

fn compare(golden: &Golden<'_>, stage: &Stage) -> Result<()> {
    let known = stage.name.starts_with("denoise.") && golden.names("").contains(&stage.name);
    if !known {
        return Ok(());
    }
    line(&stage.name, &stage.values, &golden.f32(&stage.name)?)
}

fn line(name: &str, ours: &[f32], theirs: &[f32]) -> Result<()> {
    let differences = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs());
    let most = differences.clone().fold(0.0, f32::max);
    let mean = differences.sum::<f32>() / theirs.len() as f32;
    let size = theirs
        .iter()
        .fold(0.0f32, |size, value| size.max(value.abs()));
    say(&format!(
        "  {name:<34} max {most:9.2e} mean {mean:9.2e} of {size:8.3}"
    ))
}
