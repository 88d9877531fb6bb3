//! Fetches a checkpoint from the hub once, and flies from the cache ever after.
//!
//! A snapshot that is complete in the cache is used without touching the network: what flew yesterday flies today, also
//! on a bench without a network.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::processor::{POSTPROCESSOR, PREPROCESSOR, Pipeline};
use crate::hub::{Error, Hub, HubId};

/// A checkpoint on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub directory: PathBuf,
    /// What was odd, such as a start from an incomplete cache.
    pub warnings: Vec<String>,
}

/// The directory of a checkpoint, fetched if it is not here yet; `progress` hears the fraction of the weights.
///
/// # Errors
/// It is not in the cache and cannot be fetched; the words say why and what to do.
pub fn checkpoint(hub: &Hub, id: &HubId, progress: &mut dyn FnMut(f32)) -> Result<Fetched, Error> {
    let whole = |directory: PathBuf| Fetched {
        directory,
        warnings: Vec::new(),
    };
    let cached = hub.snapshot(id);
    if let Some(directory) = cached.as_deref().filter(|at| is_complete(at)) {
        return Ok(whole(directory.to_owned()));
    }
    match download(hub, id, progress) {
        Ok(directory) => Ok(whole(directory)),
        // Perhaps this checkpoint has no processor files, and then the cache holds all there is.
        Err(err) if err.is_unreachable() => match cached.filter(|at| has_weights(at)) {
            Some(directory) => Ok(Fetched {
                directory,
                warnings: vec![format!(
                    "started from the cache without asking the hub: {err}"
                )],
            }),
            None => Err(err),
        },
        Err(err) => Err(err),
    }
}

fn download(hub: &Hub, id: &HubId, progress: &mut dyn FnMut(f32)) -> Result<PathBuf, Error> {
    let reading = hub.read(id)?;
    let listed: BTreeSet<&str> = reading.files.keys().map(String::as_str).collect();
    let wanted = wanted(&listed);
    if !wanted.iter().any(|name| is_weights(name)) || !listed.contains("config.json") {
        return Err(Error::unfit(
            id,
            "has no config.json with model*.safetensors, so it is no policy checkpoint",
        ));
    }
    let weights = wanted.iter().filter(|name| is_weights(name)).count() as f32;
    let mut done = 0.0;
    for name in wanted {
        let share = if is_weights(name) { 1.0 / weights } else { 0.0 };
        if !reading.holds(name) {
            reading.fetch(name, &mut |part| {
                progress(done + part * share);
                ControlFlow::Continue(())
            })?;
        }
        done += share;
    }
    reading.name_it()?;
    Ok(reading.directory())
}

/// True when a snapshot can be opened at all.
fn has_weights(snapshot: &Path) -> bool {
    let here = |name: &str| snapshot.join(name).is_file();
    here("config.json") && (here("model.safetensors") || has_all_shards(snapshot))
}

/// True when nothing can be missing: configuration, weights, both pipelines and the state files they name.
fn is_complete(snapshot: &Path) -> bool {
    has_weights(snapshot)
        && [PREPROCESSOR, POSTPROCESSOR].iter().all(|name| {
            let Ok(Some(pipeline)) = Pipeline::read(snapshot, name) else {
                return false;
            };
            let state_file = pipeline.normalizer.and_then(|step| step.state_file);
            state_file.is_none_or(|file| snapshot.join(file).is_file())
        })
}

fn has_all_shards(snapshot: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(snapshot.join("model.safetensors.index.json")) else {
        return false;
    };
    let index: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    index["weight_map"].as_object().is_some_and(|map| {
        map.values().all(|shard| {
            shard
                .as_str()
                .is_some_and(|name| snapshot.join(name).is_file())
        })
    })
}

/// What running a policy needs, weights last.
fn wanted<'a>(listed: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let small = |name: &&str| {
        !name.contains('/')
            && (matches!(
                *name,
                "config.json" | "tokenizer.json" | "tokenizer_config.json"
            ) || name.ends_with(".safetensors.index.json")
                || (name.starts_with("policy_")
                    && (ends_in(name, "json") || ends_in(name, "safetensors"))))
    };
    let mut wanted: Vec<&str> = listed.iter().copied().filter(|name| small(name)).collect();
    let whole = listed.contains("model.safetensors");
    wanted.extend(
        listed
            .iter()
            .copied()
            .filter(|name| is_weights(name) && (!whole || *name == "model.safetensors")),
    );
    wanted
}

fn ends_in(name: &str, extension: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|end| end == extension)
}

fn is_weights(name: &str) -> bool {
    !name.contains('/') && name.starts_with("model") && ends_in(name, "safetensors")
}

#[cfg(test)]
mod tests;
