//! Runs the full network on the reference's inputs and measures every stage that the reference kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use safetensors::{Dtype, SafeTensors};
use smolpilot::gpu::{self, Wish};
use smolpilot::observation::{Frame, Observation};
use smolpilot::policy::checkpoint::Checkpoint;
use smolpilot::policy::smolvla::{Stage, Trace};
use smolpilot::policy::{
    LoadRequest, Noise, Policy as _, PredictOptions, Prediction, SmolVlaPolicy, TensorSource as _,
    fill, inspect,
};

use crate::say;

/// Largest error of any stage relative to its largest value. f32 sums in another order through 44 layers; an independent
/// implementation stays below 1e-5.
pub const TOLERANCE: f32 = 1e-4;

const TASK: &str = "Pick up the red cube and place it in the box.";
/// Rows of the prefix that the reference kept: the first of two cameras, the first word, the state.
const PREFIX_ROWS: &str = ".rows_0_64_192_240";
/// The first rows of one camera's pictures.
const PICTURE_ROWS: &str = ".rows0_3";

/// Loads, runs, compares; returns the largest relative error.
pub fn run(directory: &Path, golden: &Path, wish: Wish, runs: usize) -> Result<f32> {
    let bytes = std::fs::read(golden).with_context(|| golden.display().to_string())?;
    let golden = Golden(SafeTensors::deserialize(&bytes)?);
    check_weights(directory, &golden)?;

    let device = gpu::open_for(wish)?;
    say(&format!("device: {} ({})", device.summary(), device.why))?;
    let start = Instant::now();
    let request = LoadRequest {
        source: directory.display().to_string(),
        stats: None,
    };
    let inspected = inspect(&request, &mut |_| {})?;
    let checked = start.elapsed();
    let mut policy = fill(inspected, &device, &mut |_| {})?;
    say(&format!(
        "checked in {checked:.1?}, loaded {} parameters in {:.1?}",
        policy.spec().parameters,
        start.elapsed()
    ))?;

    let (observation, options) = golden.inputs(policy.spec().views.as_slice())?;
    let mut trace = Trace::on();
    let prediction = policy.predict_traced(&observation, &options, &mut trace)?;
    let worst = report(&golden, trace.into_stages(), &prediction)?;
    time(&mut policy, &observation, &options, runs)?;
    Ok(worst)
}

/// Sums and first values of four tensors, against the reference's own.
fn check_weights(directory: &Path, golden: &Golden<'_>) -> Result<()> {
    let checkpoint = Checkpoint::open(directory)?;
    for name in golden.names("first8.") {
        let tensor = checkpoint.tensor(&name)?;
        ensure!(
            tensor.values[..8] == golden.f32(&format!("first8.{name}"))?,
            "the first values of {name} differ"
        );
        let sums = golden.f64(&format!("check.{name}"))?;
        let values = || tensor.values.iter().map(|value| f64::from(*value));
        let ours = [values().sum::<f64>(), values().map(|x| x * x).sum::<f64>()];
        for (ours, theirs) in ours.iter().zip(sums) {
            ensure!(
                (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0),
                "sums over {name} differ: {ours} and {theirs}"
            );
        }
    }
    say("weights: first values and sums equal the reference's")
}

fn time(
    policy: &mut SmolVlaPolicy,
    observation: &Observation,
    options: &PredictOptions,
    runs: usize,
) -> Result<()> {
    let mut best = None;
    for _ in 0..runs {
        let times = policy.predict_action_chunk(observation, options)?.times;
        let slower = best.is_some_and(|b: smolpilot::policy::StageTimes| b.total <= times.total);
        if !slower {
            best = Some(times);
        }
    }
    match best {
        None => Ok(()),
        Some(t) => say(&format!(
            "a chunk without a trace: preprocess {:.1?}, vision {:.1?}, prefix {:.1?}, denoise {:.1?}, total {:.1?}",
            t.preprocess, t.vision, t.prefix, t.denoise, t.total
        )),
    }
}

/// Prints one line a stage; returns the largest relative error.
fn report(golden: &Golden<'_>, stages: Vec<Stage>, prediction: &Prediction) -> Result<f32> {
    let stages: BTreeMap<String, Stage> = stages
        .into_iter()
        .map(|stage| (stage.name.clone(), stage))
        .collect();
    let mut worst = 0.0f32;
    let mut line = |name: &str, ours: &[f32]| -> Result<()> {
        let theirs = golden.f32(name)?;
        ensure!(
            ours.len() == theirs.len(),
            "{name}: {} and {} values",
            ours.len(),
            theirs.len()
        );
        let differences = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs());
        let error = differences.fold(0.0, f32::max);
        let size = theirs
            .iter()
            .fold(0.0f32, |size, value| size.max(value.abs()));
        worst = worst.max(error / size.max(1.0));
        say(&format!("{name:<44} {error:9.2e} of {size:8.3}"))
    };
    for name in golden.names("") {
        let Some(values) = ours(&name, &stages)? else {
            continue;
        };
        line(&name, &values)?;
    }
    line("out.actions", &prediction.actions_normalized.concat())?;
    line("out.actions_post", &prediction.actions.concat())?;
    Ok(worst)
}

/// Our values of a stage that the reference kept, `None` for what is no stage.
fn ours(name: &str, stages: &BTreeMap<String, Stage>) -> Result<Option<Vec<f32>>> {
    let find = |key: &str| stages.get(key).with_context(|| format!("no stage {key}"));
    if let Some(base) = name.strip_suffix(PREFIX_ROWS) {
        let stage = find(base)?;
        let length = stage.shape[stage.shape.len() - 2];
        // Word padding is never computed here, so that the state is the last row.
        return Ok(Some(rows(stage, &[0, 64, 192, length - 1])));
    }
    if let Some(base) = name.strip_suffix(PICTURE_ROWS) {
        let mut parts = base.splitn(3, '.');
        let (_, camera, part) = (parts.next(), parts.next(), parts.next());
        let camera: usize = camera.unwrap_or_default().parse()?;
        let stage = find(&format!("vision.{}", part.unwrap_or_default()))?;
        let all = rows(stage, &[0, 1, 2]);
        let size = all.len() / stage.shape[0];
        return Ok(Some(all[camera * size..(camera + 1) * size].to_vec()));
    }
    Ok(stages.get(name).map(|stage| stage.values.clone()))
}

/// Some rows of a stage, `[…, rows, width]`.
fn rows(stage: &Stage, wanted: &[usize]) -> Vec<f32> {
    let [.., length, width] = stage.shape[..] else {
        return Vec::new();
    };
    let planes = stage.values.chunks_exact(length * width);
    planes
        .flat_map(|plane| {
            wanted
                .iter()
                .flat_map(|row| &plane[row * width..(row + 1) * width])
        })
        .copied()
        .collect()
}

struct Golden<'a>(SafeTensors<'a>);

impl Golden<'_> {
    /// Names that begin with `start`, without it, sorted.
    fn names(&self, start: &str) -> Vec<String> {
        let names = self.0.names().into_iter();
        let mut names: Vec<String> = names
            .filter_map(|name| name.strip_prefix(start))
            .map(str::to_owned)
            .collect();
        names.sort();
        names
    }

    fn bytes(&self, name: &str, dtype: Dtype) -> Result<(Vec<usize>, &[u8])> {
        let view = self.0.tensor(name).with_context(|| name.to_owned())?;
        if view.dtype() != dtype {
            bail!("{name} is {}, not {dtype}", view.dtype());
        }
        Ok((view.shape().to_vec(), view.data()))
    }

    fn f32(&self, name: &str) -> Result<Vec<f32>> {
        let (words, _) = self.bytes(name, Dtype::F32)?.1.as_chunks::<4>();
        Ok(words.iter().map(|word| f32::from_le_bytes(*word)).collect())
    }

    fn f64(&self, name: &str) -> Result<Vec<f64>> {
        let (words, _) = self.bytes(name, Dtype::F64)?.1.as_chunks::<8>();
        Ok(words.iter().map(|word| f64::from_le_bytes(*word)).collect())
    }

    fn inputs(&self, views: &[String]) -> Result<(Observation, PredictOptions)> {
        let mut observation = Observation {
            state: self.f32("in.state")?,
            task: TASK.into(),
            ..Observation::default()
        };
        for key in views {
            let (shape, bytes) = self.bytes(&format!("in.{key}"), Dtype::U8)?;
            let (height, width) = (shape[1] as u32, shape[2] as u32);
            let frame = Frame::new(width, height, bytes.to_vec(), 0, Duration::ZERO);
            let frame = frame.with_context(|| format!("{key} is no picture"))?;
            observation.images.push((key.clone(), frame));
        }
        let options = PredictOptions {
            noise: Noise::Values(self.f32("in.noise")?),
            ..PredictOptions::default()
        };
        Ok((observation, options))
    }
}
