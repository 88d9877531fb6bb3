//! Reads the reference tensors under `tests/golden` for this room's tests.

use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};

pub struct Golden(Vec<u8>);

/// A path under `tests/golden`.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

pub fn max_abs_diff(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

impl Golden {
    pub fn open(name: &str) -> Self {
        Self(std::fs::read(path(name)).unwrap())
    }

    fn tensor(&self, name: &str, dtype: Dtype) -> (Vec<usize>, Vec<u8>) {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        let view = file.tensor(name).unwrap();
        assert_eq!(view.dtype(), dtype, "{name}");
        (view.shape().to_vec(), view.data().to_vec())
    }

    pub fn f32(&self, name: &str) -> (Vec<usize>, Vec<f32>) {
        let (shape, bytes) = self.tensor(name, Dtype::F32);
        let (words, _) = bytes.as_chunks::<4>();
        (
            shape,
            words.iter().map(|w| f32::from_le_bytes(*w)).collect(),
        )
    }

    pub fn u8(&self, name: &str) -> (Vec<usize>, Vec<u8>) {
        self.tensor(name, Dtype::U8)
    }

    pub fn i64(&self, name: &str) -> Vec<i64> {
        let (_, bytes) = self.tensor(name, Dtype::I64);
        let (words, _) = bytes.as_chunks::<8>();
        words.iter().map(|w| i64::from_le_bytes(*w)).collect()
    }
}
