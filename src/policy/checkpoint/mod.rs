//! The weights of a LeRobot checkpoint, by their present names, checked against the network that wants them.
//!
//! A network that runs on a few random tensors looks healthy and flies badly, so every tensor that is missing,
//! unexpected or of the wrong shape is listed and the checkpoint refused.

mod file;
mod header;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use file::TensorFile;

use self::names::Named;
use super::tensor_table::tensor_table;
use super::{Architecture, HostTensor, TensorSource};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Why a checkpoint was not opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} {why}", path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("tensor `{name}` in {} {why}", path.display())]
    Tensor {
        path: PathBuf,
        name: String,
        why: String,
    },
    #[error("{} holds no weights: {why}", path.display())]
    NoWeights { path: PathBuf, why: String },
    #[error("{} does not fit this network.{list}", path.display())]
    Mismatch { path: PathBuf, list: String },
}

/// The open weights of a checkpoint directory.
#[derive(Debug)]
pub struct Checkpoint {
    directory: PathBuf,
    files: Vec<TensorFile>,
    /// Present name to file and name in it.
    weights: BTreeMap<String, (usize, String)>,
    statistics: BTreeMap<String, (usize, String)>,
}

impl Checkpoint {
    /// Opens `model.safetensors`, or the shards that `model.safetensors.index.json` names.
    ///
    /// # Errors
    /// A file is absent, damaged or something else altogether, or two tensors end up under one name.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let files = weight_files(directory)?
            .iter()
            .map(|path| TensorFile::open(path))
            .collect::<Result<Vec<_>, _>>()?;
        let mut checkpoint = Self {
            directory: directory.to_owned(),
            files,
            weights: BTreeMap::new(),
            statistics: BTreeMap::new(),
        };
        checkpoint.sort_names()?;
        Ok(checkpoint)
    }

    fn sort_names(&mut self) -> Result<(), Error> {
        for (index, file) in self.files.iter().enumerate() {
            for raw in file.names() {
                let (map, name) = match names::sort(raw) {
                    Named::Weight(name) => (&mut self.weights, name),
                    Named::Statistic(name) => (&mut self.statistics, name),
                    Named::Ignored => continue,
                };
                if let Some((_, twin)) = map.insert(name.clone(), (index, raw.to_owned())) {
                    return Err(Error::Tensor {
                        path: file.path().to_owned(),
                        name: raw.to_owned(),
                        why: format!("and `{twin}` are both called `{name}` today"),
                    });
                }
            }
        }
        Ok(())
    }

    /// Compares the tensors with those that a network of these sizes has.
    ///
    /// # Errors
    /// Lists every missing, unexpected and wrong-shaped tensor by name, and those of a type that is not read.
    pub fn verify(&self, arch: &Architecture) -> Result<(), Error> {
        let list = mismatch(self, arch) + &self.foreign_types(arch);
        if list.is_empty() {
            return Ok(());
        }
        Err(Error::Mismatch {
            path: self.directory.clone(),
            list,
        })
    }

    /// One line for each tensor that the network reads and whose type is not read here.
    fn foreign_types(&self, arch: &Architecture) -> String {
        let line = |name: String| {
            let (file, raw) = self.weights.get(&name)?;
            let dtype = self.files[*file].foreign_type(raw)?;
            Some(format!(
                "\n  wrong type  {name}: {dtype}; BF16, F16 and F32 are read. Save the policy again un-quantised"
            ))
        };
        let table = tensor_table(arch).into_iter().filter(|spec| spec.read);
        table.filter_map(|spec| line(spec.name)).collect()
    }

    /// Statistics that an old version kept in the weights, by name, `normalize_inputs.buffer_observation_state.mean`.
    ///
    /// # Errors
    /// One of them does not hold floats.
    pub fn statistics(&self) -> Result<BTreeMap<String, Vec<f32>>, Error> {
        self.statistics
            .iter()
            .map(|(name, (file, raw))| Ok((name.clone(), self.files[*file].read(raw)?.values)))
            .collect()
    }
}

impl TensorSource for Checkpoint {
    fn names(&self) -> Vec<String> {
        self.weights.keys().cloned().collect()
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        let (file, raw) = self.weights.get(name)?;
        self.files[*file].shape(raw).map(<[usize]>::to_vec)
    }

    fn tensor(&self, name: &str) -> anyhow::Result<HostTensor> {
        let (file, raw) = self.find(name)?;
        Ok(file.read(raw)?)
    }

    fn rows(&self, name: &str, rows: &[u32]) -> anyhow::Result<HostTensor> {
        let (file, raw) = self.find(name)?;
        Ok(file.read_rows(raw, rows)?)
    }
}

impl Checkpoint {
    /// The file that holds a weight, and the weight's name there.
    fn find(&self, name: &str) -> anyhow::Result<(&TensorFile, &str)> {
        let Some((file, raw)) = self.weights.get(name) else {
            anyhow::bail!("no tensor `{name}` in {}", self.directory.display());
        };
        Ok((&self.files[*file], raw))
    }
}

/// What differs between a set of tensors and a network, one line a tensor; empty when they agree.
fn mismatch(source: &dyn TensorSource, arch: &Architecture) -> String {
    let table = tensor_table(arch);
    let expected: BTreeSet<&str> = table.iter().map(|spec| spec.name.as_str()).collect();
    let mut lines = Vec::new();
    let mut line =
        // A damaged file can hold any name, control codes of a terminal too.
        |kind: &str, name: &str, more: String| {
            lines.push(format!("\n  {kind} {}{more}", name.escape_debug()));
        };
    for spec in table.iter().filter(|spec| spec.read) {
        match source.shape(&spec.name) {
            None => line("missing    ", &spec.name, String::new()),
            Some(shape) if shape != spec.shape => line(
                "wrong shape",
                &spec.name,
                format!(": {shape:?} instead of {:?}", spec.shape),
            ),
            Some(_) => {}
        }
    }
    for name in source.names() {
        if !expected.contains(name.as_str()) {
            line("unexpected ", &name, String::new());
        }
    }
    lines.concat()
}

/// The safetensors files of a checkpoint directory.
fn weight_files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let single = directory.join(SINGLE);
    if single.exists() {
        return Ok(vec![single]);
    }
    let index = directory.join(INDEX);
    if index.exists() {
        return shards(&index, directory);
    }
    let here = |name: &str| directory.join(name).exists();
    let why = if !directory.is_dir() {
        "there is no such directory".into()
    } else if here("adapter_model.safetensors") {
        "it is a LoRA adapter (adapter_model.safetensors). Merge it into its base model first"
            .into()
    } else if here("pytorch_model.bin") {
        "pytorch_model.bin is a pickle, which can run code and is not read. Convert it to safetensors".into()
    } else if here("pretrained_model") {
        "they are in its subdirectory `pretrained_model`; name that one".into()
    } else {
        format!("neither {SINGLE} nor {INDEX} is there")
    };
    Err(Error::NoWeights {
        path: directory.to_owned(),
        why,
    })
}

#[derive(Deserialize)]
struct ShardIndex {
    weight_map: BTreeMap<String, String>,
}

fn shards(index: &Path, directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let text = std::fs::read_to_string(index).map_err(|source| Error::Read {
        path: index.to_owned(),
        source,
    })?;
    let damaged = |why: String| Error::Damaged {
        path: index.to_owned(),
        why,
    };
    let parsed: ShardIndex = serde_json::from_str(&text)
        .map_err(|err| damaged(format!("is no index of shards: {err}")))?;
    let names: BTreeSet<&str> = parsed.weight_map.values().map(String::as_str).collect();
    if names.is_empty() {
        return Err(damaged("names no shard".into()));
    }
    if let Some(name) = names.iter().find(|name| name.contains(['/', '\\'])) {
        return Err(damaged(format!(
            "names `{name}`, which lies outside the directory"
        )));
    }
    let lost: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !directory.join(name).exists())
        .collect();
    if !lost.is_empty() {
        return Err(damaged(format!(
            "names shards that are not there: {}",
            lost.join(", ")
        )));
    }
    Ok(names.iter().map(|name| directory.join(name)).collect())
}

#[cfg(test)]
mod tests;
