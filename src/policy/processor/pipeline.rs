//! What LeRobot's `policy_preprocessor.json` and `policy_postprocessor.json` ask for around the network.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::policy::config::Modes;

/// The pipeline before the network.
pub const PREPROCESSOR: &str = "policy_preprocessor.json";
/// The pipeline after it.
pub const POSTPROCESSOR: &str = "policy_postprocessor.json";

/// Steps that are done here without any settings: batching, devices, and the newline, which is always added.
const SETTLED: [&str; 3] = [
    "to_batch_processor",
    "device_processor",
    "smolvla_new_line_processor",
];

/// The settings of one pipeline file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pipeline {
    /// Observation keys of the robot to feature keys of the checkpoint.
    pub rename_map: BTreeMap<String, String>,
    pub tokenizer: Option<TokenizerStep>,
    /// The normaliser of a preprocessor, the un-normaliser of a postprocessor.
    pub normalizer: Option<NormalizerStep>,
}

/// The tokenizer step.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TokenizerStep {
    #[serde(default)]
    pub max_length: Option<usize>,
    #[serde(default)]
    pub tokenizer_name: Option<String>,
}

/// The normalising or un-normalising step.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalizerStep {
    pub eps: f32,
    pub modes: Modes,
    /// The file beside the JSON that holds the statistics.
    pub state_file: Option<String>,
}

/// Why a pipeline file cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is not a readable pipeline: {source}. Fetch it again from the original checkpoint", path.display())]
    Parse {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error(
        "{} has a step `{step}` that is not known here; without it the robot would do something else than was trained",
        path.display()
    )]
    UnknownStep { path: PathBuf, step: String },
    #[error(
        "{} has the step `{step}` twice; only one is followed here, and leaving one out would do something else than was trained",
        path.display()
    )]
    Twice { path: PathBuf, step: String },
}

#[derive(Deserialize)]
struct RawPipeline {
    steps: Vec<RawStep>,
}

#[derive(Deserialize)]
struct RawStep {
    registry_name: Option<String>,
    class: Option<String>,
    #[serde(default)]
    config: serde_json::Value,
    state_file: Option<String>,
}

#[derive(Deserialize)]
struct RenameConfig {
    #[serde(default)]
    rename_map: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct NormalizerConfig {
    #[serde(default)]
    eps: Option<f32>,
    #[serde(default)]
    norm_map: Modes,
}

impl Pipeline {
    /// Reads a pipeline file of `directory`; `None` when there is none, as in checkpoints of LeRobot 0.3 and before.
    ///
    /// # Errors
    /// The file is not JSON, or asks for a step that is not known.
    pub fn read(directory: &Path, name: &str) -> Result<Option<Self>, Error> {
        let path = directory.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path).map(Some),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    /// Parses the text of a pipeline file; `path` is only named in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let raw: RawPipeline = from_value(serde_json::from_str(text), path)?;
        let mut pipeline = Self::default();
        for step in raw.steps {
            pipeline.follow(step, path)?;
        }
        Ok(pipeline)
    }

    fn follow(&mut self, step: RawStep, path: &Path) -> Result<(), Error> {
        let class = step.class.as_deref().map(|class| {
            let end = class.rsplit('.').next().unwrap_or(class);
            end.to_owned()
        });
        let name = step.registry_name.or(class);
        let name = name.unwrap_or_else(|| "(without a name)".to_owned());
        let taken = match name.as_str() {
            "rename_observations_processor" => !self.rename_map.is_empty(),
            "tokenizer_processor" => self.tokenizer.is_some(),
            "normalizer_processor" | "unnormalizer_processor" => self.normalizer.is_some(),
            _ => false,
        };
        if taken {
            let (path, step) = (path.to_owned(), name);
            return Err(Error::Twice { path, step });
        }
        match name.as_str() {
            "rename_observations_processor" => {
                let config: RenameConfig = from_json(step.config, path)?;
                self.rename_map = config.rename_map;
            }
            "tokenizer_processor" => self.tokenizer = Some(from_json(step.config, path)?),
            "normalizer_processor" | "unnormalizer_processor" => {
                let config: NormalizerConfig = from_json(step.config, path)?;
                self.normalizer = Some(NormalizerStep {
                    eps: config.eps.unwrap_or(1e-8),
                    modes: config.norm_map,
                    state_file: step.state_file,
                });
            }
            settled if SETTLED.contains(&settled) => {}
            _ => {
                return Err(Error::UnknownStep {
                    path: path.to_owned(),
                    step: name,
                });
            }
        }
        Ok(())
    }
}

fn from_json<T: DeserializeOwned>(value: serde_json::Value, path: &Path) -> Result<T, Error> {
    from_value(serde_json::from_value(value), path)
}

fn from_value<T>(parsed: Result<T, serde_json::Error>, path: &Path) -> Result<T, Error> {
    parsed.map_err(|source| Error::Parse {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::config::Mode;

    fn tiny(name: &str) -> Pipeline {
        let directory =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny_c/checkpoint");
        Pipeline::read(&directory, name).unwrap().unwrap()
    }

    #[test]
    fn a_real_pair_is_followed() {
        let pre = tiny(PREPROCESSOR);
        let tokenizer = pre.tokenizer.unwrap();
        assert_eq!(tokenizer.max_length, Some(48));
        assert_eq!(tokenizer.tokenizer_name.as_deref(), Some("../vlm"));
        let normalizer = pre.normalizer.unwrap();
        assert_eq!(normalizer.modes.state, Mode::MinMax);
        assert_eq!(
            normalizer.state_file.as_deref(),
            Some("policy_preprocessor_step_5_normalizer_processor.safetensors")
        );
        let post = tiny(POSTPROCESSOR);
        assert_eq!(post.normalizer.unwrap().modes.action, Mode::MinMax);
    }

    #[test]
    fn a_stranger_among_the_steps_is_refused() {
        let text =
            r#"{"name": "x", "steps": [{"class": "their.module.SecretStep", "config": {}}]}"#;
        let words = Pipeline::parse(text, Path::new("p.json"))
            .unwrap_err()
            .to_string();
        assert!(words.contains("`SecretStep`"), "{words}");
    }

    #[test]
    fn a_step_that_comes_twice_is_refused() {
        for step in ["normalizer_processor", "tokenizer_processor"] {
            let step = format!(r#"{{"registry_name": "{step}", "config": {{}}}}"#);
            let text = format!(r#"{{"steps": [{step}, {step}]}}"#);
            let err = Pipeline::parse(&text, Path::new("p.json")).unwrap_err();
            assert!(err.to_string().contains("twice"), "{err}");
        }
    }

    #[test]
    fn renames_are_kept_and_an_absent_file_is_none() {
        let text = r#"{"steps": [{"registry_name": "rename_observations_processor",
            "config": {"rename_map": {"observation.images.front": "observation.images.camera1"}}}]}"#;
        let pipeline = Pipeline::parse(text, Path::new("p.json")).unwrap();
        assert_eq!(
            pipeline.rename_map["observation.images.front"],
            "observation.images.camera1"
        );
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Pipeline::read(dir.path(), PREPROCESSOR).unwrap(), None);
    }
}
