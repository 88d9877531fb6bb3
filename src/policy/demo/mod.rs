//! A small SmolVLA that needs no download: it shows the whole cockpit at work on any machine, and says that it is untrained.
//!
//! The checkpoint is written in LeRobot's format into the user's cache at first start, by the seed rule, and loaded by the
//! same road as any other. It knows nothing: its motions answer to pictures, words and joints, but to no purpose.

mod tokenizer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::config::{ACTION, Config, Feature, FeatureKind, Features, STATE};
use super::export::{self, StatTensors};
use super::seeded::{Precision, Seeded};
use super::tensor_table::EXPERT;
use super::{Architecture, HostTensor, VisionArchitecture};
use crate::joint::JOINT_COUNT;

/// What people call it.
pub const NAME: &str = "untrained demo network";
/// What the operator is told.
pub const WARNING: &str =
    "this is the untrained demo network: it moves the arm gently and to no purpose";

const SEED: u64 = 0xDE40;
const FOLDER: &str = "demo-network";
const CAMERAS: [&str; 2] = ["observation.images.front", "observation.images.wrist"];
/// Edge of a picture in pixels: 64 patches a camera, 4 tokens.
const PICTURE: usize = 128;

/// Robot units: degrees from the middle of each joint's range, percent for the gripper. A pose above the table.
const MEAN: [f32; JOINT_COUNT] = [0.0, -30.0, 30.0, 45.0, 0.0, 35.0];
/// How far arms of this kind stray from it, for the state's normalisation.
const SPREAD: [f32; JOINT_COUNT] = [25.0, 25.0, 25.0, 20.0, 25.0, 20.0];
/// The noise that a chunk starts from stays in its steps, so that an action's unit must be small; [`OUT_GAIN`] makes up
/// for it.
const STEP: [f32; JOINT_COUNT] = [0.2, 0.15, 0.15, 0.12, 0.12, 0.2];

/// Random weights pass the starting noise on from step to step. Nearly blind to it, the velocity follows pictures, words
/// and joints instead.
const IN_GAIN: f32 = 0.005;
const OUT_GAIN: f32 = 120.0;
/// Sharp random queries turn with every position in the chunk, and the arm would tremble; blunt ones turn slowly.
const QUERY_GAIN: f32 = 0.2;

/// Writes the demo checkpoint unless it is there, whole and unchanged, and returns its directory.
///
/// # Errors
/// Neither the cache nor the temporary directory can be written.
pub fn directory() -> Result<PathBuf, export::Error> {
    let dirs = directories::ProjectDirs::from("", "", "smolpilot");
    let cache = dirs.map(|dirs| dirs.cache_dir().join(FOLDER));
    let fallback = std::env::temp_dir().join(format!("smolpilot-{FOLDER}"));
    let Some(cache) = cache else {
        return prepare(&fallback);
    };
    prepare(&cache).or_else(|err| {
        log::warn!("{err}; the demo network goes to {}", fallback.display());
        prepare(&fallback)
    })
}

/// Makes sure that `target` holds exactly the demo checkpoint.
fn prepare(target: &Path) -> Result<PathBuf, export::Error> {
    let files = files()?;
    if !is_whole(target, &files) {
        write(target, &files)?;
    }
    Ok(target.to_owned())
}

fn is_whole(target: &Path, files: &BTreeMap<String, Vec<u8>>) -> bool {
    files
        .iter()
        .all(|(name, bytes)| std::fs::read(target.join(name)).is_ok_and(|found| found == *bytes))
}

/// Writes beside the target and renames, so that no start ever sees half of it.
fn write(target: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), export::Error> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mark = format!(
        "{}-{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    );
    let fresh = target.with_extension(format!("{mark}.new"));
    let old = target.with_extension(format!("{mark}.old"));
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |source| export::Error::Write { path, source }
    };
    std::fs::create_dir_all(fresh.join("vlm")).map_err(failed(&fresh))?;
    for (name, bytes) in files {
        export::write_file(&fresh.join(name), bytes)?;
    }
    if target.exists() {
        std::fs::rename(target, &old).map_err(failed(target))?;
        // What was there was not ours or not whole; a leftover does no harm.
        std::fs::remove_dir_all(&old).ok();
    }
    let renamed = std::fs::rename(&fresh, target).map_err(failed(target));
    if renamed.is_err() && is_whole(target, files) {
        // Another start of the program was quicker.
        std::fs::remove_dir_all(&fresh).ok();
        return Ok(());
    }
    renamed
}

/// Every file of the checkpoint by its path in the directory.
fn files() -> Result<BTreeMap<String, Vec<u8>>, export::Error> {
    let config = config();
    let mut files: BTreeMap<_, _> = export::small_files(&config, &stats())?
        .into_iter()
        .collect();
    let words = tokenizer::json().map_err(|why| export::Error::Tokenizer { why })?;
    files.insert("tokenizer.json".into(), words.clone().into_bytes());
    files.insert("vlm/tokenizer.json".into(), words.into_bytes());
    let vlm = serde_json::to_vec_pretty(&vlm_config())?;
    files.insert("vlm/config.json".into(), vlm);
    files.insert(
        "model.safetensors".into(),
        export::weight_bytes(&weights())?,
    );
    Ok(files)
}

fn weights() -> Seeded {
    let arch = architecture();
    let weights = Seeded::new(&arch, SEED, Precision::Published)
        .with_gain("model.action_in_proj.weight", IN_GAIN)
        .with_gain("model.action_out_proj.weight", OUT_GAIN);
    (0..arch.num_expert_layers).fold(weights, |weights, layer| {
        let query = format!("{EXPERT}.layers.{layer}.self_attn.q_proj.weight");
        weights.with_gain(&query, QUERY_GAIN)
    })
}

fn config() -> Config {
    let feature = |kind, shape: &[usize]| Feature {
        kind,
        shape: shape.to_vec(),
    };
    let joints = feature(FeatureKind::State, &[JOINT_COUNT]);
    let picture = feature(FeatureKind::Visual, &[3, 480, 640]);
    let mut inputs = vec![(STATE.to_owned(), joints)];
    inputs.extend(CAMERAS.map(|key| (key.to_owned(), picture.clone())));
    let action = feature(FeatureKind::Action, &[JOINT_COUNT]);
    Config {
        input_features: Features(inputs),
        output_features: Features(vec![(ACTION.to_owned(), action)]),
        resize_imgs_with_padding: Some((PICTURE, PICTURE)),
        // A byte is a token here.
        tokenizer_max_length: 160,
        num_vlm_layers: 4,
        num_expert_layers: 4,
        vlm_model_name: "vlm".into(),
        prefix_length: 0,
        ..Config::default()
    }
}

fn stats() -> StatTensors {
    let row = |values: [f32; JOINT_COUNT]| HostTensor {
        shape: vec![JOINT_COUNT],
        values: values.to_vec(),
    };
    StatTensors::from([
        (format!("{STATE}.mean"), row(MEAN)),
        (format!("{STATE}.std"), row(SPREAD)),
        (format!("{ACTION}.mean"), row(MEAN)),
        (format!("{ACTION}.std"), row(STEP)),
    ])
}

/// The VLM's own configuration, for LeRobot and for the sizes that shapes do not tell.
fn vlm_config() -> serde_json::Value {
    let arch = architecture();
    json!({
        "model_type": "smolvlm",
        "architectures": ["SmolVLMForConditionalGeneration"],
        "scale_factor": arch.scale_factor,
        "vocab_size": arch.vocab_size,
        "text_config": {
            "model_type": "llama",
            "hidden_size": arch.hidden_size,
            "intermediate_size": arch.intermediate_size,
            "num_hidden_layers": arch.num_vlm_layers,
            "num_attention_heads": arch.num_attention_heads,
            "num_key_value_heads": arch.num_key_value_heads,
            "head_dim": arch.head_dim,
            "rms_norm_eps": arch.rms_norm_eps,
            "vocab_size": arch.vocab_size,
        },
        "vision_config": {
            "model_type": "smolvlm_vision",
            "hidden_size": arch.vision.hidden_size,
            "intermediate_size": arch.vision.intermediate_size,
            "num_hidden_layers": arch.vision.num_layers,
            "num_attention_heads": arch.vision.num_heads,
            "image_size": arch.vision.image_size,
            "patch_size": arch.vision.patch_size,
        },
    })
}

/// Small enough for ten Euler steps on a CPU in well under a tenth of a second. The expert's widths follow from the VLM's
/// by LeRobot's rule (0.75, then the next 256 above 8/3).
fn architecture() -> Architecture {
    let config = config();
    Architecture {
        vision: VisionArchitecture {
            hidden_size: 128,
            intermediate_size: 256,
            num_layers: 3,
            num_heads: 2,
            patch_size: 16,
            image_size: PICTURE,
            layer_norm_eps: 1e-6,
        },
        scale_factor: 4,
        hidden_size: 128,
        intermediate_size: 256,
        vocab_size: tokenizer::VOCAB_SIZE,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        head_dim: 64,
        num_vlm_layers: 4,
        expert_hidden_size: 96,
        expert_intermediate_size: 256,
        num_expert_layers: 4,
        self_attn_every_n_layers: config.self_attn_every_n_layers,
        cross_attention: true,
        rms_norm_eps: 1e-5,
        chunk_size: config.chunk_size,
        max_state_dim: config.max_state_dim,
        max_action_dim: config.max_action_dim,
        add_image_special_tokens: false,
        fake_image_token: 0,
        global_image_token: 0,
        prefix_length: config.prefix_length,
        min_period: config.min_period,
        max_period: config.max_period,
        num_steps: config.num_steps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_copy_is_replaced_and_a_whole_one_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("deep/er").join(FOLDER);
        prepare(&target).unwrap();
        let written = |name: &str| {
            std::fs::metadata(target.join(name))
                .unwrap()
                .modified()
                .unwrap()
        };
        let before = written("model.safetensors");
        prepare(&target).unwrap();
        assert_eq!(written("model.safetensors"), before);

        let weights = std::fs::read(target.join("model.safetensors")).unwrap();
        std::fs::write(
            target.join("model.safetensors"),
            &weights[..weights.len() / 2],
        )
        .unwrap();
        prepare(&target).unwrap();
        assert_eq!(
            std::fs::read(target.join("model.safetensors")).unwrap(),
            weights
        );
        let left = std::fs::read_dir(target.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "nothing else stays behind");
    }
}
