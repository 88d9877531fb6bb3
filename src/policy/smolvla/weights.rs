//! Brings checkpoint tensors to the device one by one, so that host memory never holds the network twice.

use burn::tensor::{Device, Tensor, TensorData};

use super::error::{NetworkError, Result};
use super::layers::{LayerNorm, Linear, RmsNorm};
use crate::gpu;
use crate::policy::TensorSource;

/// Reads tensors by name, checks their shapes and uploads them.
pub(super) struct Weights<'a> {
    source: &'a dyn TensorSource,
    device: &'a Device,
    progress: &'a mut dyn FnMut(f32),
    /// Linear layers stay tensors, whatever the device does best.
    as_tensors: bool,
    /// Elements read so far, and in the whole checkpoint.
    read: u64,
    total: u64,
}

impl<'a> Weights<'a> {
    /// `progress` is told the fraction that has been read.
    pub(super) fn new(
        source: &'a dyn TensorSource,
        device: &'a Device,
        progress: &'a mut dyn FnMut(f32),
    ) -> Self {
        let total = source
            .names()
            .iter()
            .filter_map(|name| source.shape(name))
            .map(|shape| elements(&shape) as u64)
            .sum();
        Self {
            source,
            device,
            progress,
            as_tensors: false,
            read: 0,
            total,
        }
    }

    /// Keeps linear layers as tensors: for the naive twin, which runs operation by operation.
    pub(super) fn keeping_tensors(mut self) -> Self {
        self.as_tensors = true;
        self
    }

    /// A linear layer of tensors on the device.
    pub(super) fn layer(&self, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Linear {
        if self.as_tensors {
            Linear::of_tensors(weight, bias)
        } else {
            Linear::new(weight, bias)
        }
    }

    /// Where tensors go.
    pub(super) fn device(&self) -> &'a Device {
        self.device
    }

    /// Where tensors come from.
    pub(super) fn source(&self) -> &'a dyn TensorSource {
        self.source
    }

    /// Elements read so far.
    pub(super) fn elements_read(&self) -> u64 {
        self.read
    }

    /// Counts elements that somebody else read.
    pub(super) fn advance(&mut self, count: usize) {
        self.read += count as u64;
        if self.total > 0 {
            (self.progress)((self.read as f32 / self.total as f32).min(1.0));
        }
    }

    /// Reads one tensor to the host.
    ///
    /// # Errors
    /// It is missing, unreadable or of another shape.
    pub(super) fn host(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let tensor = self
            .source
            .tensor(name)
            .map_err(|source| NetworkError::Tensor {
                name: name.to_owned(),
                source,
            })?;
        if tensor.shape != shape || tensor.values.len() != elements(shape) {
            return Err(NetworkError::Shape {
                name: name.to_owned(),
                expected: shape.to_vec(),
                found: tensor.shape,
            });
        }
        self.advance(tensor.values.len());
        Ok(tensor.values)
    }

    /// Uploads `[len]`.
    pub(super) fn vector(&mut self, name: &str, len: usize) -> Result<Tensor<1>> {
        let values = self.host(name, &[len])?;
        Ok(self.upload(values, [len]))
    }

    /// Copies host values to the device.
    pub(super) fn upload<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
        placed(values, shape, self.device)
    }

    /// `{name}.weight` and, if wanted, `{name}.bias`.
    pub(super) fn linear(
        &mut self,
        name: &str,
        inputs: usize,
        outputs: usize,
        bias: bool,
    ) -> Result<Linear> {
        self.side_by_side(&[(name, outputs, 1.0)], inputs, bias)
    }

    /// Several linear layers with the same input as one: their outputs lie side by side, in the order given. Each
    /// part is `(name, outputs, scale)`; the scale multiplies weight and bias (exactly, when it is a power of two).
    pub(super) fn side_by_side(
        &mut self,
        parts: &[(&str, usize, f32)],
        inputs: usize,
        bias: bool,
    ) -> Result<Linear> {
        if let [(name, outputs, 1.0)] = *parts {
            // As it was read, without another copy.
            let weight = self.host(&format!("{name}.weight"), &[outputs, inputs])?;
            let weight = self.upload(weight, [outputs, inputs]);
            let bias = bias
                .then(|| self.vector(&format!("{name}.bias"), outputs))
                .transpose()?;
            return Ok(Linear::new(weight, bias));
        }
        let outputs = parts.iter().map(|part| part.1).sum();
        let mut weight = Vec::with_capacity(inputs * outputs);
        let mut biases = Vec::new();
        for &(name, outputs, scale) in parts {
            let values = self.host(&format!("{name}.weight"), &[outputs, inputs])?;
            append_scaled(&mut weight, &values, scale);
            if bias {
                let values = self.host(&format!("{name}.bias"), &[outputs])?;
                append_scaled(&mut biases, &values, scale);
            }
        }
        let weight = self.upload(weight, [outputs, inputs]);
        let bias = bias.then(|| self.upload(biases, [outputs]));
        Ok(self.layer(weight, bias))
    }

    /// `{name}.weight` of a norm without mean.
    pub(super) fn rms_norm(&mut self, name: &str, width: usize, eps: f64) -> Result<RmsNorm> {
        let weight = self.vector(&format!("{name}.weight"), width)?;
        Ok(RmsNorm::new(weight, eps))
    }

    /// `{name}.weight` and `{name}.bias` of a norm with mean.
    pub(super) fn layer_norm(&mut self, name: &str, width: usize, eps: f64) -> Result<LayerNorm> {
        let weight = self.vector(&format!("{name}.weight"), width)?;
        let bias = self.vector(&format!("{name}.bias"), width)?;
        Ok(LayerNorm::new(weight, bias, eps))
    }
}

fn append_scaled(to: &mut Vec<f32>, values: &[f32], scale: f32) {
    if scale == 1.0 {
        to.extend_from_slice(values);
    } else {
        to.extend(values.iter().map(|value| value * scale));
    }
}

/// Elements of a tensor of that shape.
pub(super) fn elements(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Host values as a tensor of the device. All that a chunk sends to the device goes through here, and is counted.
pub(super) fn placed<const D: usize>(
    values: Vec<f32>,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D> {
    gpu::note_upload(size_of_val(values.as_slice()));
    Tensor::from_data(TensorData::new(values, shape), device)
}
