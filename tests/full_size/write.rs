//! Writes the checkpoint of seed 2026 as LeRobot 0.6.1 lays it out.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use smolpilot::policy::HostTensor;
use smolpilot::policy::config::{ACTION, Config, Feature, FeatureKind, Features, STATE};
use smolpilot::policy::export::{self, StatTensors};
use smolpilot::policy::geometry::smolvla_base;
use smolpilot::policy::seeded::{Precision, Seeded, uniform};

const SEED: u64 = 2026;
const JOINTS: usize = 6;
const CAMERAS: [&str; 3] = [
    "observation.images.camera1",
    "observation.images.camera2",
    "observation.images.camera3",
];
/// Size of the weights that LeRobot's own run wrote.
const BYTES: u64 = 906_712_520;

/// Writes what is not there yet and returns the size of the weights.
pub fn checkpoint(directory: &Path, tokenizer: Option<&Path>) -> Result<u64> {
    std::fs::create_dir_all(directory)?;
    for (name, bytes) in export::small_files(&config(), &stats())? {
        export::write_file(&directory.join(name), &bytes)?;
    }
    if let Some(tokenizer) = tokenizer {
        // Not `copy`: that would take over a write protection and fail the next time.
        let bytes = std::fs::read(tokenizer)
            .with_context(|| format!("cannot read {}", tokenizer.display()))?;
        export::write_file(&directory.join("tokenizer.json"), &bytes)?;
    }
    let weights = directory.join("model.safetensors");
    let size = || std::fs::metadata(&weights).map_or(0, |meta| meta.len());
    if size() != BYTES {
        let seeded = Seeded::new(&smolvla_base(), SEED, Precision::Published);
        export::write_weights(directory, &seeded)?;
    }
    if size() != BYTES {
        bail!("the weights have {} bytes, not {BYTES}", size());
    }
    Ok(BYTES)
}

fn config() -> Config {
    let feature = |kind, shape: &[usize]| Feature {
        kind,
        shape: shape.to_vec(),
    };
    let mut inputs = vec![(STATE.to_owned(), feature(FeatureKind::State, &[JOINTS]))];
    let picture = feature(FeatureKind::Visual, &[3, 256, 256]);
    inputs.extend(CAMERAS.map(|key| (key.to_owned(), picture.clone())));
    let action = feature(FeatureKind::Action, &[JOINTS]);
    Config {
        input_features: Features(inputs),
        output_features: Features(vec![(ACTION.to_owned(), action)]),
        load_vlm_weights: true,
        prefix_length: 0,
        pad_language_to: "max_length".into(),
        num_expert_layers: 0,
        ..Config::default()
    }
}

/// The statistics of the reference run, by the same generator as the weights.
fn stats() -> StatTensors {
    let mut stats = StatTensors::new();
    let mut add = |name: String, shape: Vec<usize>, values: Vec<f32>| {
        stats.insert(name, HostTensor { shape, values });
    };
    for key in [STATE, ACTION] {
        let draw = |stat: &str, scale: f32, offset: f32| -> Vec<f32> {
            let name = format!("stats.{key}.{stat}");
            let values = uniform(SEED, &name, JOINTS).map(|u| u * scale + offset);
            values.collect()
        };
        let (mean, std) = (draw("mean", 30.0, 5.0), draw("std", 6.0, 9.0));
        let reach = |side: f32| mean.iter().zip(&std).map(|(m, s)| m + side * s).collect();
        add(format!("{key}.min"), vec![JOINTS], reach(-2.0));
        add(format!("{key}.max"), vec![JOINTS], reach(2.0));
        add(format!("{key}.count"), vec![1], vec![1234.0]);
        add(format!("{key}.mean"), vec![JOINTS], mean);
        add(format!("{key}.std"), vec![JOINTS], std);
    }
    for key in CAMERAS {
        for (stat, value) in [("mean", 0.5), ("std", 0.25), ("min", 0.0), ("max", 1.0)] {
            add(format!("{key}.{stat}"), vec![3, 1, 1], vec![value; 3]);
        }
        add(format!("{key}.count"), vec![1], vec![1234.0]);
    }
    stats
}
