//! Lets a test look at every stage of the network, by the names of the reference tensors, at no cost when nobody looks.

use std::fmt;

use burn::tensor::Tensor;

use super::error::{NetworkError, Result};
use crate::gpu;

/// One intermediate tensor, copied to the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// For example `prefill.k.3` or `denoise.0.v_t`.
    pub name: String,
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// Row-major values.
    pub values: Vec<f32>,
}

/// Collects stages, or nothing.
#[derive(Default)]
pub struct Trace {
    stages: Option<Vec<Stage>>,
    at_mark: Option<AtMark>,
}

/// What is done at the end of each part of a chunk.
type AtMark = Box<dyn FnMut(&'static str)>;

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("stages", &self.stages.as_ref().map(Vec::len))
            .field("marks", &self.at_mark.is_some())
            .finish()
    }
}

impl Trace {
    /// A trace that costs nothing and keeps nothing: what a real run uses.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    /// A trace that copies every stage to the host, in the order of computation.
    #[must_use]
    pub fn on() -> Self {
        Self {
            stages: Some(Vec::new()),
            at_mark: None,
        }
    }

    /// A trace that keeps nothing, and calls `at_mark` with `"vision"`, `"prefix"` and `"denoise"` when the host has given all of
    /// that part to the device: for those who count or time the parts of a prepared network.
    #[must_use]
    pub fn with_marks(at_mark: impl FnMut(&'static str) + 'static) -> Self {
        Self {
            stages: None,
            at_mark: Some(Box::new(at_mark)),
        }
    }

    /// Says that a part is given to the device.
    pub(super) fn mark(&mut self, part: &'static str) {
        if let Some(at_mark) = &mut self.at_mark {
            at_mark(part);
        }
    }

    /// Whether stages are kept, for callers that would compute something only to show it.
    pub fn is_on(&self) -> bool {
        self.stages.is_some()
    }

    /// What was seen.
    #[must_use]
    pub fn into_stages(self) -> Vec<Stage> {
        self.stages.unwrap_or_default()
    }

    /// Copies `tensor` to the host if somebody looks.
    ///
    /// # Errors
    /// The device could not give the values.
    pub(super) fn see<const D: usize>(
        &mut self,
        name: impl FnOnce() -> String,
        tensor: &Tensor<D>,
    ) -> Result<()> {
        if let Some(stages) = &mut self.stages {
            let name = name();
            let values = values_of(tensor.clone(), &name)?;
            stages.push(Stage {
                name,
                shape: tensor.dims().to_vec(),
                values,
            });
        }
        Ok(())
    }

    /// Like [`Trace::see`], for values that are no tensor of Burn's; `read` copies them to the host if somebody looks.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn see_values(
        &mut self,
        name: impl FnOnce() -> String,
        shape: &[usize],
        read: impl FnOnce() -> Result<Vec<f32>>,
    ) -> Result<()> {
        if let Some(stages) = &mut self.stages {
            stages.push(Stage {
                name: name(),
                shape: shape.to_vec(),
                values: read()?,
            });
        }
        Ok(())
    }

    /// Like [`Trace::see`], for a stage that is computed in parts: the rows of a later part follow those of an earlier one.
    pub(super) fn see_rows<const D: usize>(
        &mut self,
        name: &str,
        tensor: &Tensor<D>,
    ) -> Result<()> {
        let earlier = self.stages.as_mut().and_then(|stages| {
            let same = |stage: &&mut Stage| {
                stage.name == name && stage.shape.get(1..) == tensor.dims().get(1..)
            };
            stages.iter_mut().find(same)
        });
        let Some(stage) = earlier else {
            return self.see(|| name.to_owned(), tensor);
        };
        stage.values.extend(values_of(tensor.clone(), name)?);
        stage.shape[0] += tensor.dims()[0];
        Ok(())
    }
}

/// Reads a tensor to the host and so waits for the device. All that comes back from the device comes through here, and is
/// counted.
pub(super) fn values_of<const D: usize>(tensor: Tensor<D>, stage: &str) -> Result<Vec<f32>> {
    let values = tensor
        .try_into_vec_as::<f32>()
        .map_err(|error| NetworkError::Device {
            stage: stage.to_owned(),
            reason: error.to_string(),
        })?;
    gpu::note_read_back(size_of_val(values.as_slice()));
    Ok(values)
}

/// Waits until `tensor` is computed, by reading one value of it: a plain sync does not always wait.
pub(super) fn wait_for<const D: usize>(tensor: &Tensor<D>, stage: &str) -> Result<()> {
    let first = tensor.clone().slice([(); D].map(|()| 0..1));
    values_of(first, stage).map(|_| ())
}
