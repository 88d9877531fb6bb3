//! Tensors by checkpoint name, wherever they come from: a memory-mapped file, or the seed rule.

use anyhow::Context as _;

/// A tensor in host memory, widened to f32.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// Row-major values.
    pub values: Vec<f32>,
}

/// A set of named tensors.
///
/// Names are those of LeRobot's `model.safetensors`, for example `model.state_proj.weight`.
pub trait TensorSource {
    /// Every name that can be asked for, sorted.
    fn names(&self) -> Vec<String>;

    /// Shape of a tensor without reading its values.
    fn shape(&self, name: &str) -> Option<Vec<usize>>;

    /// Reads one tensor and widens it to f32 (BF16 and F16 exactly).
    ///
    /// # Errors
    /// The tensor does not exist or has a type that holds no numbers; the message names it.
    fn tensor(&self, name: &str) -> anyhow::Result<HostTensor>;

    /// Reads some rows (the outermost dimension) of a tensor, in the order of `rows`.
    ///
    /// The default reads the whole tensor; a source that can seek should do better, because the token embedding alone is
    /// 189 MB when it is widened.
    ///
    /// # Errors
    /// As [`TensorSource::tensor`], or a row does not exist; the message names it.
    fn rows(&self, name: &str, rows: &[u32]) -> anyhow::Result<HostTensor> {
        let whole = self.tensor(name)?;
        let width: usize = whole.shape.iter().skip(1).product();
        let mut values = Vec::with_capacity(rows.len() * width);
        for &row in rows {
            let from = row as usize * width;
            let part = whole.values.get(from..from + width);
            values.extend_from_slice(part.with_context(|| format!("{name} has no row {row}"))?);
        }
        let mut shape = whole.shape;
        if let Some(first) = shape.first_mut() {
            *first = rows.len();
        }
        Ok(HostTensor { shape, values })
    }
}
