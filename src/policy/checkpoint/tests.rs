//! Checkpoints that users really have: whole, sharded, compiled, renamed, cut short.

use std::path::{Path, PathBuf};

use super::*;
use crate::policy::config::Config;
use crate::policy::geometry::{ImageTokens, VlmConfig, architecture};
use crate::policy::seeded::{Precision, Seeded};
use crate::policy::tensor_table::EXPERT;

fn golden(variant: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{variant}"))
}

fn arch_of(source: &dyn TensorSource, variant: &str) -> Architecture {
    let config = Config::read(&golden(variant).join("checkpoint")).unwrap();
    let vlm = VlmConfig::read(&golden(variant).join("vlm/config.json")).unwrap();
    architecture(&config, source, &vlm, ImageTokens::default()).unwrap()
}

/// Each tensor of a file as (name, dtype, shape, bytes), with its name changed by `rename` or dropped.
fn rewrite(from: &Path, to: &Path, rename: impl Fn(&str) -> Option<String>) {
    use safetensors::tensor::TensorView;
    let bytes = std::fs::read(from).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let kept = file.tensors().into_iter().filter_map(|(name, view)| {
        let view = TensorView::new(view.dtype(), view.shape().to_vec(), view.data()).unwrap();
        Some((rename(&name)?, view))
    });
    safetensors::serialize_to_file(kept, None, to).unwrap();
}

fn model(variant: &str) -> PathBuf {
    golden(variant).join("checkpoint/model.safetensors")
}

#[test]
fn golden_checkpoints_hold_exactly_what_their_networks_want() {
    for (variant, seed, precision) in [
        ("tiny_a", 11, Precision::F32),
        ("tiny_b", 22, Precision::Published),
        ("tiny_c", 33, Precision::Published),
    ] {
        let checkpoint = Checkpoint::open(&golden(variant).join("checkpoint")).unwrap();
        let arch = arch_of(&checkpoint, variant);
        checkpoint.verify(&arch).unwrap();
        // The same weights follow from the seed, bit for bit.
        let seeded = Seeded::new(&arch, seed, precision);
        assert_eq!(checkpoint.names(), seeded.names(), "{variant}");
        for name in checkpoint.names() {
            assert_eq!(
                checkpoint.tensor(&name).unwrap(),
                seeded.tensor(&name).unwrap(),
                "{variant} {name}"
            );
        }
    }
}

#[test]
fn the_seed_rule_writes_the_same_file() {
    let checkpoint = Checkpoint::open(&golden("tiny_b/checkpoint")).unwrap();
    let arch = arch_of(&checkpoint, "tiny_b");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(SINGLE);
    let seeded = Seeded::new(&arch, 22, Precision::Published);
    safetensors::serialize_to_file(seeded.views(), None, &path).unwrap();
    let (ours, theirs) = (
        std::fs::read(&path).unwrap(),
        std::fs::read(model("tiny_b")).unwrap(),
    );
    assert!(ours == theirs, "{} and {} bytes", ours.len(), theirs.len());
}

/// Case a01: renamed and dropped tensors are listed by name, all of them, and nothing is loaded.
#[test]
fn every_lost_and_every_foreign_tensor_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let renamed = format!("{EXPERT}.layers.1.self_attn.q_proj.weight");
    let dropped = "model.action_out_proj.bias";
    rewrite(&model("tiny_a"), &dir.path().join(SINGLE), |name| {
        if name == renamed {
            return Some(format!("{EXPERT}.layers.1.self_attn.q.so100-blue_weight"));
        }
        (name != dropped).then(|| name.to_owned())
    });
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    let whole = Checkpoint::open(&golden("tiny_a/checkpoint")).unwrap();
    let words = checkpoint
        .verify(&arch_of(&whole, "tiny_a"))
        .unwrap_err()
        .to_string();
    assert!(words.contains(&format!("missing     {renamed}")), "{words}");
    assert!(words.contains(&format!("missing     {dropped}")), "{words}");
    assert!(words.contains("unexpected"), "{words}");
    assert!(words.contains("q.so100-blue_weight"), "{words}");
    assert_eq!(words.lines().count(), 4, "{words}");
}

#[test]
fn a_wrong_shape_is_named_with_both() {
    let checkpoint = Checkpoint::open(&golden("tiny_a/checkpoint")).unwrap();
    let mut arch = arch_of(&checkpoint, "tiny_a");
    arch.max_state_dim = 16;
    let words = checkpoint.verify(&arch).unwrap_err().to_string();
    assert!(
        words.contains("wrong shape model.state_proj.weight: [48, 32] instead of [48, 16]"),
        "{words}"
    );
}

/// Quantised weights must be refused before anything is loaded, all of them by name.
#[test]
fn tensors_of_a_foreign_type_and_hostile_names_are_listed() {
    let name = "model.action_out_proj.bias";
    let mut text = std::fs::read(model("tiny_a")).unwrap();
    let size = u64::from_le_bytes(*text.first_chunk::<8>().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&text[8..8 + size]).unwrap();
    header[name]["dtype"] = "I32".into();
    let lost = header["model.state_proj.bias"].take();
    header
        .as_object_mut()
        .unwrap()
        .remove("model.state_proj.bias");
    header["model.state\u{1b}[31m_proj.bias"] = lost;
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(text.drain(8 + size..));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(SINGLE), file).unwrap();
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    let whole = Checkpoint::open(&golden("tiny_a/checkpoint")).unwrap();
    let words = checkpoint
        .verify(&arch_of(&whole, "tiny_a"))
        .unwrap_err()
        .to_string();
    assert!(
        words.contains(&format!("wrong type  {name}: I32")),
        "{words}"
    );
    assert!(
        words.contains("unexpected") && !words.contains('\u{1b}'),
        "{words}"
    );
}

#[test]
fn unread_tensors_may_be_absent_and_compiled_names_are_understood() {
    let dir = tempfile::tempdir().unwrap();
    rewrite(&model("tiny_c"), &dir.path().join(SINGLE), |name| {
        let unread = name.contains("lm_head") || name.ends_with("text_model.norm.weight");
        (!unread).then(|| name.replacen("model.", "model._orig_mod.", 1))
    });
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    let arch = arch_of(&checkpoint, "tiny_c");
    checkpoint.verify(&arch).unwrap();
    let whole = Checkpoint::open(&golden("tiny_c/checkpoint")).unwrap();
    let name = "model.state_proj.weight";
    assert_eq!(
        checkpoint.tensor(name).unwrap(),
        whole.tensor(name).unwrap()
    );
}

#[test]
fn shards_are_read_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let expert = |name: &str| name.contains("lm_expert");
    for (shard, wanted) in [("a.safetensors", true), ("b.safetensors", false)] {
        rewrite(&model("tiny_a"), &dir.path().join(shard), |name| {
            (expert(name) == wanted).then(|| name.to_owned())
        });
    }
    let index = r#"{"metadata": {}, "weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}"#;
    std::fs::write(dir.path().join(INDEX), index).unwrap();
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    checkpoint.verify(&arch_of(&checkpoint, "tiny_a")).unwrap();

    std::fs::remove_file(dir.path().join("b.safetensors")).unwrap();
    let words = Checkpoint::open(dir.path()).unwrap_err().to_string();
    assert!(words.contains("not there: b.safetensors"), "{words}");
}

#[test]
fn a_directory_without_weights_says_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let words = |dir: &Path| Checkpoint::open(dir).unwrap_err().to_string();
    assert!(words(dir.path()).contains("neither model.safetensors"));
    assert!(words(&dir.path().join("gone")).contains("no such directory"));
    std::fs::write(dir.path().join("adapter_model.safetensors"), "x").unwrap();
    assert!(words(dir.path()).contains("LoRA adapter"));
    std::fs::create_dir(dir.path().join(SINGLE)).unwrap();
    assert!(words(dir.path()).contains("is a directory"));
}
