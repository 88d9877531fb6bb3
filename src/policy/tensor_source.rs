//! Tensors by checkpoint name, wherever they come from: a memory-mapped file, or the seed rule.

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
}
