//! Writes a checkpoint the way LeRobot does, so that what is made here can be opened there.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::HostTensor;
use super::config::{Config, Feature};
use super::processor::{POSTPROCESSOR, PREPROCESSOR};
use super::seeded::Seeded;

/// State files, named by the position of their step as LeRobot 0.6.1 does.
const PRE_STATE: &str = "policy_preprocessor_step_5_normalizer_processor.safetensors";
const POST_STATE: &str = "policy_postprocessor_step_0_unnormalizer_processor.safetensors";

/// Statistics by `<feature>.<stat>`.
pub type StatTensors = BTreeMap<String, HostTensor>;

/// Why a checkpoint was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write {path}: {source}")]
    Write {
        path: String,
        source: std::io::Error,
    },
    #[error("cannot write tensors to {path}: {source}")]
    Tensors {
        path: String,
        source: safetensors::SafeTensorError,
    },
    #[error("cannot make a tokenizer: {why}")]
    Tokenizer { why: String },
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Every file of a checkpoint but the weights, by name.
///
/// # Errors
/// Only of the writers of JSON and tensors.
pub fn small_files(config: &Config, stats: &StatTensors) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let state = stat_bytes(stats)?;
    Ok(vec![
        (
            "config.json".into(),
            pretty(&serde_json::to_value(config)?)?,
        ),
        (PREPROCESSOR.into(), pretty(&preprocessor(config))?),
        (PRE_STATE.into(), state.clone()),
        (POSTPROCESSOR.into(), pretty(&postprocessor(config))?),
        (POST_STATE.into(), state),
    ])
}

/// Writes `model.safetensors`, one tensor in memory at a time.
///
/// # Errors
/// The disk.
pub fn write_weights(directory: &Path, weights: &Seeded) -> Result<(), Error> {
    let path = directory.join("model.safetensors");
    safetensors::serialize_to_file(weights.views(), None, &path).map_err(|source| Error::Tensors {
        path: path.display().to_string(),
        source,
    })
}

/// The bytes of a small `model.safetensors`.
///
/// # Errors
/// Only of the writer.
pub fn weight_bytes(weights: &Seeded) -> Result<Vec<u8>, Error> {
    safetensors::serialize(weights.views(), None).map_err(|source| Error::Tensors {
        path: "model.safetensors".into(),
        source,
    })
}

/// Writes one file.
///
/// # Errors
/// The disk.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|source| Error::Write {
        path: path.display().to_string(),
        source,
    })
}

fn pretty(value: &Value) -> Result<Vec<u8>, Error> {
    Ok(serde_json::to_vec_pretty(value)?)
}

fn stat_bytes(stats: &StatTensors) -> Result<Vec<u8>, Error> {
    let bytes: Vec<(&String, &HostTensor, Vec<u8>)> = stats
        .iter()
        .map(|(name, tensor)| {
            let bytes = tensor.values.iter().flat_map(|value| value.to_le_bytes());
            (name, tensor, bytes.collect())
        })
        .collect();
    let tensors = |source| Error::Tensors {
        path: PRE_STATE.into(),
        source,
    };
    let views = bytes
        .iter()
        .map(|(name, tensor, bytes)| {
            let dtype = safetensors::Dtype::F32;
            let view = safetensors::tensor::TensorView::new(dtype, tensor.shape.clone(), bytes)?;
            Ok((name.as_str(), view))
        })
        .collect::<Result<Vec<_>, _>>()
        .map_err(tensors)?;
    safetensors::serialize(views, None).map_err(tensors)
}

fn step(name: &str, config: &Value) -> Value {
    json!({ "registry_name": name, "config": config })
}

fn preprocessor(config: &Config) -> Value {
    let inputs = config.input_features.0.iter();
    let mut normalizer = step(
        "normalizer_processor",
        &normalizer(config, inputs.chain(&config.output_features.0)),
    );
    normalizer["state_file"] = json!(PRE_STATE);
    let padding = if config.pad_language_to == "max_length" {
        "max_length"
    } else {
        "longest"
    };
    json!({ "name": "policy_preprocessor", "steps": [
        step("rename_observations_processor", &json!({ "rename_map": {} })),
        step("to_batch_processor", &json!({})),
        step("smolvla_new_line_processor", &json!({})),
        step("tokenizer_processor", &json!({
            "max_length": config.tokenizer_max_length,
            "task_key": "task",
            "padding_side": "right",
            "padding": padding,
            "truncation": true,
            "tokenizer_name": config.vlm_model_name,
        })),
        device(),
        normalizer,
    ]})
}

fn postprocessor(config: &Config) -> Value {
    let outputs = config.output_features.0.iter();
    let mut step = step("unnormalizer_processor", &normalizer(config, outputs));
    step["state_file"] = json!(POST_STATE);
    json!({ "name": "policy_postprocessor", "steps": [step, device()] })
}

fn device() -> Value {
    step(
        "device_processor",
        &json!({ "device": "cpu", "float_dtype": null }),
    )
}

fn normalizer<'a>(config: &Config, features: impl Iterator<Item = &'a (String, Feature)>) -> Value {
    let features: serde_json::Map<String, Value> = features
        .map(|(key, feature)| (key.clone(), json!(feature)))
        .collect();
    json!({ "eps": 1e-8, "features": features, "norm_map": config.normalization_mapping })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::processor::golden;

    fn read(name: &str) -> Value {
        let path = golden::path("tiny_a/checkpoint").join(name);
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn pipelines_are_written_as_lerobot_writes_them() {
        let config = Config::read(&golden::path("tiny_a/checkpoint")).unwrap();
        assert_eq!(preprocessor(&config), read(PREPROCESSOR));
        assert_eq!(postprocessor(&config), read(POSTPROCESSOR));
    }

    #[test]
    fn a_written_configuration_has_only_keys_that_lerobot_knows() {
        let config = Config::read(&golden::path("tiny_a/checkpoint")).unwrap();
        let written = serde_json::to_value(&config).unwrap();
        let original = read("config.json");
        for (key, value) in written.as_object().unwrap() {
            assert_eq!(Some(value), original.get(key), "{key}");
        }
        let keys: Vec<_> = written.as_object().unwrap().keys().collect();
        assert_eq!(keys[0], "type");
    }
}
