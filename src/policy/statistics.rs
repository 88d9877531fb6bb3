//! Finds the numbers that turn robot units into the network's and back, wherever this checkpoint keeps them.
//!
//! Three places are known. LeRobot 0.4 and later: state files beside the processor JSONs. LeRobot 0.3 and before: buffers
//! inside the weights. And `lerobot/smolvla_base`: statistics of several data sets side by side, of which LeRobot finds
//! none and then silently sends z-scores to the arm. Here, what is absent, infinite or ambiguous stops the load.

use std::collections::BTreeMap;
use std::path::Path;

use super::checkpoint::{self, Checkpoint, TensorFile};
use super::config::{ACTION, Config, Mode, Modes, STATE};
use super::processor::{
    FeatureStats, Normalizer, NormalizerStep, POSTPROCESSOR, PREPROCESSOR, Pipeline,
};

/// Values of a picture's statistics: one a colour.
const CHANNELS: usize = 3;

/// How every feature of a checkpoint is normalised.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalization {
    pub state: Normalizer,
    pub action: Normalizer,
    /// One a visual feature key.
    pub images: BTreeMap<String, Normalizer>,
    /// What the operator should know about these statistics.
    pub warnings: Vec<String>,
}

/// Why the statistics of a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    File(#[from] checkpoint::Error),
    #[error("{0}")]
    Unusable(String),
    /// The operator must name a data set.
    #[error("{why}")]
    Choose { why: String, datasets: Vec<String> },
}

/// Statistics by feature, and where they came from.
#[derive(Clone, Debug, Default, PartialEq)]
struct Table {
    origin: String,
    features: BTreeMap<String, FeatureStats>,
}

/// Both directions of one checkpoint.
struct Tables {
    pre: Table,
    post: Table,
    modes: (Modes, Modes),
    eps: f32,
    warnings: Vec<String>,
}

/// Finds the statistics of a checkpoint and builds its normalisers; `choice` names a data set if the operator did.
///
/// # Errors
/// A file cannot be read; a statistic that is needed is absent, infinite, NaN or of another width; or several data sets
/// are on offer and none was chosen.
pub fn normalization(
    directory: &Path,
    config: &Config,
    (pre, post): (Option<&Pipeline>, Option<&Pipeline>),
    weights: &Checkpoint,
    choice: Option<&str>,
) -> Result<Normalization, Error> {
    let mut tables = gather(directory, config, (pre, post), weights)?;
    let chosen = choose(&mut tables, choice)?;
    build(&tables, config, chosen)
}

fn gather(
    directory: &Path,
    config: &Config,
    (pre, post): (Option<&Pipeline>, Option<&Pipeline>),
    weights: &Checkpoint,
) -> Result<Tables, Error> {
    let pre_step = pre.and_then(|pipeline| pipeline.normalizer.as_ref());
    let post_step = post.and_then(|pipeline| pipeline.normalizer.as_ref());
    let modes_of = |step: Option<&NormalizerStep>| {
        step.map_or(config.normalization_mapping, |step| step.modes)
    };
    let mut tables = Tables {
        pre: Table::read(directory, PREPROCESSOR, pre_step)?,
        post: Table::read(directory, POSTPROCESSOR, post_step)?,
        modes: (modes_of(pre_step), modes_of(post_step)),
        eps: pre_step.map_or(1e-8, |step| step.eps),
        warnings: Vec::new(),
    };
    let old = weights.statistics()?;
    let empty = tables.pre.features.is_empty() && tables.post.features.is_empty();
    if empty && !old.is_empty() {
        (tables.pre, tables.post) = from_weights(&old, config, directory);
        tables.warnings.push(
            "old layout: the statistics are inside the weights (LeRobot 0.3 or before)".into(),
        );
        return Ok(tables);
    }
    let needed = tables.modes.0.state != Mode::Identity || tables.modes.1.action != Mode::Identity;
    for (name, pipeline) in [(PREPROCESSOR, pre), (POSTPROCESSOR, post)] {
        if pipeline.is_none() && needed {
            return Err(Error::Unusable(format!(
                "{} is missing, and the weights hold no statistics of an old layout either; without them actions would be \
                 sent un-scaled. Copy the file from the original checkpoint, or save the policy again with LeRobot 0.4 or later",
                directory.join(name).display()
            )));
        }
    }
    Ok(tables)
}

impl Table {
    fn read(directory: &Path, json: &str, step: Option<&NormalizerStep>) -> Result<Self, Error> {
        let Some(state_file) = step.and_then(|step| step.state_file.as_deref()) else {
            return Ok(Self {
                origin: directory.join(json).display().to_string(),
                ..Self::default()
            });
        };
        if state_file.contains(['/', '\\']) {
            return Err(Error::Unusable(format!(
                "{} names a state file outside its directory: {state_file}",
                directory.join(json).display()
            )));
        }
        let file = TensorFile::open(&directory.join(state_file))?;
        let mut table = Self {
            origin: file.path().display().to_string(),
            ..Self::default()
        };
        for name in file.names() {
            // Extras of other types (counts as integers) are nobody's business here.
            let Ok(tensor) = file.read(name) else {
                continue;
            };
            table.insert(name, tensor.values);
        }
        Ok(table)
    }

    /// `<feature>.<stat>`; the feature itself may hold dots.
    fn insert(&mut self, name: &str, values: Vec<f32>) {
        if let Some((feature, stat)) = name.rsplit_once('.') {
            let stats = self.features.entry(feature.to_owned()).or_default();
            stats.insert(stat.to_owned(), values);
        }
    }

    /// Names of data sets in keys such as `so100.buffer.action`.
    fn datasets(&self) -> impl Iterator<Item = &str> {
        self.features
            .keys()
            .filter_map(|key| key.split_once(".buffer.").map(|(dataset, _)| dataset))
    }

    /// Keeps the statistics of one data set, under the plain feature keys.
    fn only(&mut self, dataset: &str) {
        let start = format!("{dataset}.buffer.");
        self.features = std::mem::take(&mut self.features)
            .into_iter()
            .filter_map(|(key, stats)| Some((key.strip_prefix(&start)?.to_owned(), stats)))
            .collect();
    }
}

/// Statistics of the old layout: `normalize_inputs.[<dataset>_]buffer_<feature>.<stat>`, dots of the feature as underscores.
fn from_weights(
    old: &BTreeMap<String, Vec<f32>>,
    config: &Config,
    directory: &Path,
) -> (Table, Table) {
    let origin = format!("the weights in {}", directory.display());
    let mut pre = Table {
        origin: origin.clone(),
        ..Table::default()
    };
    let mut post = Table {
        origin,
        ..Table::default()
    };
    for (name, values) in old {
        let Some((group, rest)) = name.split_once('.') else {
            continue;
        };
        let Some((buffer, stat)) = rest.rsplit_once('.') else {
            continue;
        };
        let (dataset, feature) = match buffer.strip_prefix("buffer_") {
            Some(feature) => (None, feature),
            None => match buffer.split_once("_buffer_") {
                Some((dataset, feature)) => (Some(dataset), feature),
                None => continue,
            },
        };
        let feature = dotted(feature, config);
        let key = match dataset {
            Some(dataset) => format!("{dataset}.buffer.{feature}.{stat}"),
            None => format!("{feature}.{stat}"),
        };
        let table = if group == "unnormalize_outputs" {
            &mut post
        } else {
            &mut pre
        };
        table.insert(&key, values.clone());
    }
    (pre, post)
}

/// Finds the feature whose dots became underscores. LeRobot's own migration turns every underscore into a dot, which
/// breaks names such as `observation.images.wrist_left`.
fn dotted(flat: &str, config: &Config) -> String {
    let inputs = config.input_features.0.iter();
    let mut keys = inputs
        .chain(&config.output_features.0)
        .map(|(key, _)| key)
        .filter(|key| key.replace('.', "_") == flat);
    keys.next().map_or_else(|| flat.to_owned(), Clone::clone)
}

/// Settles on one data set if the statistics are kept by data set; true when the operator's choice was needed.
fn choose(tables: &mut Tables, choice: Option<&str>) -> Result<bool, Error> {
    let mut datasets: Vec<String> = tables.pre.datasets().map(str::to_owned).collect();
    datasets.extend(tables.post.datasets().map(str::to_owned));
    datasets.sort();
    datasets.dedup();
    let plain = tables.post.features.contains_key(ACTION);
    let list = datasets.join(", ");
    match choice {
        None if datasets.is_empty() || plain => Ok(false),
        None => Err(Error::Choose {
            why: format!(
                "{} keeps statistics by data set ({list}), and none of them is yours by default. Choose the one whose robot \
                 and units match your arm (--stats NAME), or fine-tune on your own data",
                tables.post.origin
            ),
            datasets,
        }),
        Some(name) if datasets.iter().any(|dataset| dataset == name) => {
            tables.pre.only(name);
            tables.post.only(name);
            tables.warnings.push(format!(
                "the statistics are those of data set `{name}`, chosen by the operator"
            ));
            Ok(true)
        }
        Some(name) if datasets.is_empty() => {
            tables.warnings.push(format!(
                "this checkpoint has one set of statistics; the choice `{name}` was not needed"
            ));
            Ok(false)
        }
        Some(name) => Err(Error::Choose {
            why: format!("there are no statistics of a data set `{name}`; there are: {list}"),
            datasets,
        }),
    }
}

fn build(tables: &Tables, config: &Config, chosen: bool) -> Result<Normalization, Error> {
    let mut warnings = tables.warnings.clone();
    let eps = tables.eps;
    let make = |table: &Table, key: &str, mode, width| {
        let empty = FeatureStats::new();
        let stats = table.features.get(key).unwrap_or(&empty);
        Normalizer::new(mode, stats, width, eps)
            .map_err(|why| Error::Unusable(format!("`{key}` {why} (in {})", table.origin)))
    };
    let (before, after) = tables.modes;
    let state = if chosen && !tables.pre.features.contains_key(STATE) {
        // `smolvla_base` carries action statistics only, and LeRobot feeds the state as it is.
        warnings.push(format!(
            "the chosen data set has no statistics of `{STATE}`: the state goes to the network un-normalised, as in LeRobot"
        ));
        Normalizer::Identity
    } else {
        make(&tables.pre, STATE, before.state, config.state_dim())?
    };
    let action = make(&tables.post, ACTION, after.action, config.action_dim())?;
    let mut images = BTreeMap::new();
    for key in config.cameras() {
        let normalizer = make(&tables.pre, key, before.visual, CHANNELS)?;
        images.insert(key.to_owned(), normalizer);
    }
    for (key, normalizer) in [(STATE, &state), (ACTION, &action)] {
        let frozen = normalizer.frozen();
        if !frozen.is_empty() {
            warnings.push(format!(
                "dimensions {frozen:?} of `{key}` never changed in the training data"
            ));
        }
    }
    if action == Normalizer::Identity {
        warnings.push(format!(
            "`{ACTION}` is not normalised by this checkpoint: what the network says, mostly between -3 and 3, goes to the \
             arm as robot units"
        ));
    }
    Ok(Normalization {
        state,
        action,
        images,
        warnings,
    })
}

#[cfg(test)]
mod tests;
