//! Weights that are a pure function of a seed: any network can be made again, bit for bit, without a file.
//!
//! The rule: `fnv1a64(name) XOR seed` starts a splitmix64 stream whose i-th output gives u in [-1, 1), and a weight is
//! `scale * u + offset`, rounded to BF16 where the checkpoint stores BF16. The demo network, the device self-test and
//! the full-size check are made this way; the reference tensors of the tests come from the same rule in Python.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use half::bf16;
use safetensors::{Dtype, View};

use super::tensor_table::{TensorSpec, tensor_table};
use super::{Architecture, HostTensor, TensorSource};

/// How the weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// F32 throughout.
    F32,
    /// The mix of BF16 and F32 of `lerobot/smolvla_base`.
    Published,
}

/// A network of given sizes with weights by the seed rule.
#[derive(Clone, Debug)]
pub struct Seeded {
    seed: u64,
    hidden_size: usize,
    tensors: BTreeMap<String, TensorSpec>,
    gains: BTreeMap<String, f32>,
}

impl Seeded {
    /// All tensors of `arch`, also those that the network does not read.
    pub fn new(arch: &Architecture, seed: u64, precision: Precision) -> Self {
        let stored = |mut spec: TensorSpec| {
            spec.bf16 &= precision == Precision::Published;
            (spec.name.clone(), spec)
        };
        Self {
            seed,
            hidden_size: arch.hidden_size,
            tensors: tensor_table(arch).into_iter().map(stored).collect(),
            gains: BTreeMap::new(),
        }
    }

    /// Multiplies the values of one tensor; a departure from the seed rule that the demo network needs.
    #[must_use]
    pub fn with_gain(mut self, name: &str, gain: f32) -> Self {
        self.gains.insert(name.to_owned(), gain);
        self
    }

    /// Loses one tensor, for tests of what happens then.
    #[cfg(test)]
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.tensors.remove(name);
        self
    }

    /// Every tensor as something that `safetensors` can write, made only when it is asked for its bytes.
    pub fn views(&self) -> impl Iterator<Item = (&str, SeededView<'_>)> {
        self.tensors
            .values()
            .map(|spec| (spec.name.as_str(), SeededView { source: self, spec }))
    }

    fn values<'a>(&'a self, spec: &'a TensorSpec) -> impl Iterator<Item = f32> + 'a {
        self.values_from(spec, 0, spec.shape.iter().product())
    }

    fn values_from<'a>(
        &'a self,
        spec: &'a TensorSpec,
        from: usize,
        count: usize,
    ) -> impl Iterator<Item = f32> + 'a {
        let (scale, offset) = scale_and_offset(&spec.name, &spec.shape, self.hidden_size);
        let gain = self.gains.get(&spec.name).copied().unwrap_or(1.0);
        uniform_from(self.seed, &spec.name, from, count).map(move |u| {
            let value = (scale * u + offset) * gain;
            if spec.bf16 {
                bf16::from_f32(value).to_f32()
            } else {
                value
            }
        })
    }
}

impl TensorSource for Seeded {
    fn names(&self) -> Vec<String> {
        self.tensors.keys().cloned().collect()
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        self.tensors.get(name).map(|spec| spec.shape.clone())
    }

    fn tensor(&self, name: &str) -> Result<HostTensor> {
        let spec = self.spec(name)?;
        Ok(HostTensor {
            shape: spec.shape.clone(),
            values: self.values(spec).collect(),
        })
    }

    fn rows(&self, name: &str, rows: &[u32]) -> Result<HostTensor> {
        let spec = self.spec(name)?;
        let count = spec.shape.first().copied().unwrap_or(0);
        let width = spec.shape.iter().skip(1).product();
        let mut values = Vec::with_capacity(rows.len() * width);
        for &row in rows {
            anyhow::ensure!((row as usize) < count, "`{name}` has no row {row}");
            values.extend(self.values_from(spec, row as usize * width, width));
        }
        let mut shape = spec.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = rows.len();
        }
        Ok(HostTensor { shape, values })
    }
}

impl Seeded {
    fn spec(&self, name: &str) -> Result<&TensorSpec> {
        let spec = self.tensors.get(name);
        spec.ok_or_else(|| anyhow!("a network of these sizes has no tensor `{name}`"))
    }
}

/// One tensor on its way to a file.
pub struct SeededView<'a> {
    source: &'a Seeded,
    spec: &'a TensorSpec,
}

impl View for SeededView<'_> {
    fn dtype(&self) -> Dtype {
        if self.spec.bf16 {
            Dtype::BF16
        } else {
            Dtype::F32
        }
    }

    fn shape(&self) -> &[usize] {
        &self.spec.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let mut bytes = Vec::with_capacity(self.data_len());
        for value in self.source.values(self.spec) {
            if self.spec.bf16 {
                bytes.extend(bf16::from_f32(value).to_le_bytes());
            } else {
                bytes.extend(value.to_le_bytes());
            }
        }
        Cow::Owned(bytes)
    }

    fn data_len(&self) -> usize {
        let width = if self.spec.bf16 { 2 } else { 4 };
        self.spec.shape.iter().product::<usize>() * width
    }
}

/// The first `count` values of the stream of `name`, each in [-1, 1) and exact in f32.
pub fn uniform(seed: u64, name: &str, count: usize) -> impl Iterator<Item = f32> {
    uniform_from(seed, name, 0, count)
}

/// `count` values from index `from` on; the stream can be entered anywhere.
fn uniform_from(
    seed: u64,
    name: &str,
    from: usize,
    count: usize,
) -> impl Iterator<Item = f32> + use<> {
    let skipped = (from as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut state = (fnv1a64(name) ^ seed).wrapping_add(skipped);
    (0..count).map(move |_| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        // 24 bits, so that the product and the difference are exact.
        (z >> 40) as f32 * (-23f32).exp2() - 1.0
    })
}

fn fnv1a64(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// Keeps activations near 1: norms near 1, small biases, and matrices with variance 1 / fan-in.
fn scale_and_offset(name: &str, shape: &[usize], hidden_size: usize) -> (f32, f32) {
    let weight = name.ends_with("weight");
    let norm = name.ends_with("norm.weight")
        || name.contains("layernorm.weight")
        || (name.contains("layer_norm") && weight);
    if norm {
        return (0.2, 1.0);
    }
    if name.rsplit('.').next() == Some("bias") {
        return (0.1, 0.0);
    }
    if name.ends_with("position_embedding.weight") {
        return (0.5, 0.0);
    }
    let hidden = hidden_size as f64;
    if name.ends_with("embed_tokens.weight") {
        return ((3.0 / hidden).sqrt() as f32, 0.0);
    }
    let fan_in: usize = shape[1..].iter().product();
    let scale = (3.0 / fan_in as f64).sqrt();
    if name.contains("modality_projection") {
        // The prefix multiplies picture tokens by the root of the width.
        return ((scale / hidden.sqrt()) as f32, 0.0);
    }
    (scale as f32, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::geometry::smolvla_base;

    fn golden(name: &str) -> Vec<f32> {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/golden/unit_golden.safetensors"
        );
        let bytes = std::fs::read(path).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let tensor = file.tensor(name).unwrap();
        let (words, _) = tensor.data().as_chunks::<4>();
        words.iter().map(|word| f32::from_le_bytes(*word)).collect()
    }

    #[test]
    fn the_stream_matches_the_reference() {
        let expected = golden("det_uniform.seed11.model.state_proj.weight.first16");
        let ours: Vec<f32> = uniform(11, "model.state_proj.weight", 16).collect();
        assert_eq!(ours, expected);
    }

    #[test]
    fn bytes_of_a_view_are_the_values_of_the_source() {
        let source = Seeded::new(&smolvla_base(), 2026, Precision::Published);
        for name in [
            "model.state_proj.bias",
            "model.vlm_with_expert.lm_expert.norm.weight",
        ] {
            let (_, view) = source.views().find(|(key, _)| *key == name).unwrap();
            let bytes = view.data().into_owned();
            assert_eq!(bytes.len(), view.data_len());
            let values: Vec<f32> = if view.dtype() == Dtype::F32 {
                let (words, _) = bytes.as_chunks::<4>();
                words.iter().map(|word| f32::from_le_bytes(*word)).collect()
            } else {
                let (words, _) = bytes.as_chunks::<2>();
                words
                    .iter()
                    .map(|w| bf16::from_le_bytes(*w).to_f32())
                    .collect()
            };
            assert_eq!(source.tensor(name).unwrap().values, values);
        }
    }

    #[test]
    fn rows_are_those_of_the_whole_tensor() {
        let source = Seeded::new(&smolvla_base(), 3, Precision::Published);
        let name = "model.action_in_proj.weight";
        let whole = source.tensor(name).unwrap();
        let rows = source.rows(name, &[719, 0, 5]).unwrap();
        assert_eq!(rows.shape, [3, 32]);
        assert_eq!(rows.values[..32], whole.values[719 * 32..]);
        assert_eq!(rows.values[64..], whole.values[5 * 32..6 * 32]);
        assert!(source.rows(name, &[720]).is_err());
    }

    #[test]
    fn asking_for_a_stranger_names_it() {
        let source = Seeded::new(&smolvla_base(), 1, Precision::F32);
        let err = source.tensor("model.nobody").unwrap_err();
        assert!(err.to_string().contains("model.nobody"));
    }
}
