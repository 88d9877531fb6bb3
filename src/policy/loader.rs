//! From a name to a policy that can fly: finds the checkpoint, checks all of it, and only then fills the device's memory.

use std::path::{Path, PathBuf};

use super::checkpoint::Checkpoint;
use super::config::{Config, MAX_TOKENS};
use super::demo;
use super::geometry::{self, ImageTokens};
use super::hub::{Fetched, checkpoint};
use super::network::{self, Network};
use super::processor::{POSTPROCESSOR, PREPROCESSOR, Pipeline, Processor};
use super::smolvla_policy::SmolVlaPolicy;
use super::statistics::{self, Normalization, normalization};
use super::tokenizer::TaskTokenizer;
use super::{
    Architecture, LoadProgress, LoadRequest, LoadStage, Policy, PolicySpec, Refusal,
    TensorSource as _, vlm_files,
};
use crate::gpu::OpenedDevice;
use crate::hub::{Hub, HubId};

/// The name under which the built-in demo network is asked for.
pub const DEMO: &str = "demo";

/// A checkpoint that has passed every check, before its weights are read.
#[derive(Debug)]
pub struct Inspected {
    /// Where it lies.
    pub directory: PathBuf,
    pub config: Config,
    pub architecture: Architecture,
    pub normalization: Normalization,
    /// Everything that the policy will say about itself but the device.
    pub spec: PolicySpec,
    checkpoint: Checkpoint,
    processor: Processor,
}

impl Inspected {
    /// The processor and the weights, for those who measure networks of their own choice.
    pub fn into_parts(self) -> (Processor, Checkpoint) {
        (self.processor, self.checkpoint)
    }
}

/// Loads a policy onto a device. Call it on the thread that will run it.
///
/// # Errors
/// A [`Refusal`] in words: what is wrong with which file or tensor, and the way out; with the names of data sets when the
/// operator must choose one.
pub fn load(
    request: &LoadRequest,
    device: &OpenedDevice,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<Box<dyn Policy>, Refusal> {
    let inspected = inspect(request, progress)?;
    Ok(Box::new(fill(inspected, device, progress)?))
}

/// Finds a checkpoint and checks all that can be checked without a device; the doctor and [`load`] both begin here.
///
/// # Errors
/// As [`load`].
pub fn inspect(
    request: &LoadRequest,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<Inspected, Refusal> {
    let hub = Hub::from_env();
    let (name, fetched) = locate(&request.source, &hub, progress)?;
    progress(LoadProgress {
        stage: LoadStage::Checking,
        fraction: None,
    });
    let mut inspected = open(&fetched.directory, &hub, request.stats.as_deref())?;
    inspected.spec.name = name;
    let warnings = &mut inspected.spec.warnings;
    warnings.extend(fetched.warnings);
    if request.source == DEMO {
        warnings.insert(0, demo::WARNING.to_owned());
    }
    Ok(inspected)
}

/// Reads the weights of a checked checkpoint onto a device.
///
/// # Errors
/// A tensor cannot be read, or the device has no room.
pub fn fill(
    inspected: Inspected,
    device: &OpenedDevice,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<SmolVlaPolicy, Refusal> {
    let mut told = |fraction: f32| {
        progress(LoadProgress {
            stage: LoadStage::Loading,
            fraction: Some(fraction),
        });
    };
    told(0.0);
    let fitting = network::fitting(&inspected.architecture, device.clone()).map_err(refusal)?;
    let device = &fitting;
    let network = Network::load(
        &inspected.architecture,
        &inspected.checkpoint,
        device,
        &mut told,
    )
    .map_err(refusal)?;
    settle(device, progress)?;
    let mut spec = inspected.spec;
    spec.parameters = network.parameters();
    spec.device = device.place();
    spec.device_why.clone_from(&device.why);
    spec.precision = device.arithmetic.to_string();
    Ok(SmolVlaPolicy::new(spec, inspected.processor, network))
}

/// Waits for the kernels that are still being compiled; a driver that refuses one refuses the policy.
fn settle(device: &OpenedDevice, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), Refusal> {
    let Some(compute) = &device.compute else {
        return Ok(());
    };
    let mut told = |fraction| {
        progress(LoadProgress {
            stage: LoadStage::Compiling,
            fraction: Some(fraction),
        });
    };
    compute.settle(&mut told).map_err(refusal)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "so that it can stand in map_err"
)]
fn refusal(why: impl ToString) -> Refusal {
    Refusal {
        why: why.to_string(),
        stats: Vec::new(),
    }
}

/// The directory of a source and its name for people. A path that exists wins over a hub id of the same spelling.
fn locate(
    source: &str,
    hub: &Hub,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<(String, Fetched), Refusal> {
    let here = |directory: PathBuf| Fetched {
        directory,
        warnings: Vec::new(),
    };
    if source == DEMO {
        let directory = demo::directory().map_err(refusal)?;
        return Ok((demo::NAME.to_owned(), here(directory)));
    }
    let path = Path::new(source);
    if path.is_dir() {
        return Ok((directory_name(path), here(path.to_owned())));
    }
    if path.is_file() {
        return Err(refusal(format!(
            "{source} is a file; name the directory of the checkpoint, which holds config.json and model.safetensors"
        )));
    }
    let Some(id) = HubId::parse(source) else {
        return Err(refusal(format!(
            "there is no directory `{source}`, and it is no hub id (owner/name[@revision]) either"
        )));
    };
    let mut told = |fraction| {
        progress(LoadProgress {
            stage: LoadStage::Downloading,
            fraction: Some(fraction),
        });
    };
    let fetched = checkpoint(hub, &id, &mut told).map_err(|err| {
        refusal(format!(
            "there is no directory `{source}` here, and as a name on the hub: {err}"
        ))
    })?;
    Ok((id.to_string(), fetched))
}

/// The last part of a path that says something: `…/my_run/checkpoints/last/pretrained_model` becomes `my_run/last`.
fn directory_name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let parts: Vec<_> = whole
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .filter(|part| {
            !matches!(
                part.as_ref(),
                "pretrained_model" | "checkpoints" | "checkpoint"
            )
        })
        .collect();
    let last_two = &parts[parts.len().saturating_sub(2)..];
    if whole.ends_with("pretrained_model") {
        return last_two.join("/");
    }
    parts.last().map(ToString::to_string).unwrap_or_default()
}

fn open(directory: &Path, hub: &Hub, choice: Option<&str>) -> Result<Inspected, Refusal> {
    let config = Config::read(directory).map_err(refusal)?;
    let pre = Pipeline::read(directory, PREPROCESSOR).map_err(refusal)?;
    let post = Pipeline::read(directory, POSTPROCESSOR).map_err(refusal)?;
    let checkpoint = Checkpoint::open(directory).map_err(refusal)?;
    let vlm = vlm_files::vlm_config(directory, &config.vlm_model_name, hub).map_err(refusal)?;
    let in_weights = |err: geometry::Error| refusal(format!("{}: {err}", directory.display()));
    let unmarked = ImageTokens::default();
    let mut architecture =
        geometry::architecture(&config, &checkpoint, &vlm, unmarked).map_err(in_weights)?;
    checkpoint.verify(&architecture).map_err(refusal)?;
    let pipelines = (pre.as_ref(), post.as_ref());
    let normalization =
        normalization(directory, &config, pipelines, &checkpoint, choice).map_err(of_statistics)?;
    let tokenizer = tokenizer(directory, &config, pre.as_ref(), &architecture, hub)?;
    mark_images(&mut architecture, &tokenizer)?;
    let processor = Processor::new(&config, pre.as_ref(), &normalization, tokenizer);
    Ok(Inspected {
        directory: directory.to_owned(),
        spec: spec(&config, &architecture, &checkpoint, &normalization),
        config,
        architecture,
        normalization,
        checkpoint,
        processor,
    })
}

fn of_statistics(err: statistics::Error) -> Refusal {
    match err {
        statistics::Error::Choose { why, datasets } => Refusal {
            why,
            stats: datasets,
        },
        other => refusal(other),
    }
}

fn tokenizer(
    directory: &Path,
    config: &Config,
    pre: Option<&Pipeline>,
    architecture: &Architecture,
    hub: &Hub,
) -> Result<TaskTokenizer, Refusal> {
    let step = pre.and_then(|pre| pre.tokenizer.as_ref());
    let named = step.and_then(|step| step.tokenizer_name.as_deref());
    let name = named.unwrap_or(&config.vlm_model_name);
    let path = vlm_files::tokenizer(directory, name, hub).map_err(refusal)?;
    let length = step
        .and_then(|step| step.max_length)
        .unwrap_or(config.tokenizer_max_length);
    if !(1..=MAX_TOKENS).contains(&length) {
        return Err(refusal(format!(
            "{}: max_length of the tokenizer is {length}; it must be 1 to {MAX_TOKENS}",
            directory.join(PREPROCESSOR).display()
        )));
    }
    TaskTokenizer::read(&path, length, architecture.vocab_size).map_err(refusal)
}

/// Fills in the ids of the tokens that frame a picture, if this network frames them.
fn mark_images(architecture: &mut Architecture, tokenizer: &TaskTokenizer) -> Result<(), Refusal> {
    if !architecture.add_image_special_tokens {
        return Ok(());
    }
    let id = |token: &str| {
        tokenizer.id(token).ok_or_else(|| {
            refusal(format!(
                "config.json sets add_image_special_tokens, but the tokenizer has no token {token}"
            ))
        })
    };
    architecture.fake_image_token = id("<fake_token_around_image>")?;
    architecture.global_image_token = id("<global-img>")?;
    Ok(())
}

fn spec(
    config: &Config,
    architecture: &Architecture,
    checkpoint: &Checkpoint,
    normalization: &Normalization,
) -> PolicySpec {
    PolicySpec {
        name: String::new(),
        views: config.cameras().into_iter().map(str::to_owned).collect(),
        state_dim: config.state_dim(),
        // LeRobot keeps the names of joints with the data set, not with the policy.
        state_names: Vec::new(),
        action_dim: config.action_dim(),
        max_action_dim: config.max_action_dim,
        chunk_size: config.chunk_size,
        n_action_steps: config.n_action_steps,
        num_steps: config.num_steps,
        vlm_layers: architecture.num_vlm_layers,
        expert_layers: architecture.num_expert_layers,
        parameters: checkpoint
            .names()
            .iter()
            .filter_map(|name| checkpoint.shape(name))
            .map(|shape| shape.iter().product::<usize>() as u64)
            .sum(),
        device: String::new(),
        device_why: String::new(),
        precision: String::new(),
        plans_with_truth: false,
        warnings: normalization.warnings.clone(),
    }
}

#[cfg(test)]
mod tests;
