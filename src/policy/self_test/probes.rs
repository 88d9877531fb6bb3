//! Products and attention in the shapes of the full network, which a tiny network does not reach.

use burn::tensor::{Device, Tensor, TensorData, activation};

use crate::policy::seeded;
use crate::policy::smolvla::{NetworkError, Stage};

/// `(rows, inputs, outputs)`: SigLIP, the VLM and the expert; few outputs, so that slow devices are done soon.
const PRODUCTS: [(usize, usize, usize); 4] = [
    (1024, 768, 64),
    (241, 960, 64),
    (50, 2048, 64),
    (50, 720, 1600),
];

/// All probes on one device.
pub(super) fn all(device: &Device) -> Result<Vec<Stage>, NetworkError> {
    let mut stages = Vec::new();
    for (rows, inputs, outputs) in PRODUCTS {
        let x = uniform([rows, inputs], device);
        // As the network does it: the weight lies transposed.
        let weight = uniform([outputs, inputs], device);
        let y = x
            .matmul(weight.transpose())
            .div_scalar((inputs as f64).sqrt());
        stages.push(stage(&format!("product {rows}x{inputs}x{outputs}"), y)?);
    }
    stages.push(stage("attention over 1024 keys", attention(device))?);
    Ok(stages)
}

fn attention(device: &Device) -> Tensor<2> {
    let (queries, keys, width) = (256, 1024, 64);
    let q = uniform([queries, width], device);
    let k = uniform([keys, width], device);
    let v = uniform([keys, width], device);
    let hidden: Vec<f32> = (0..queries * keys)
        .map(|at| if at % 7 == 3 { f32::MIN } else { 0.0 })
        .collect();
    let bias = Tensor::from_data(TensorData::new(hidden, [queries, keys]), device);
    activation::softmax(q.matmul(k.transpose()) + bias, 1).matmul(v)
}

fn uniform(shape: [usize; 2], device: &Device) -> Tensor<2> {
    let values: Vec<f32> = seeded::uniform(1, &format!("{shape:?}"), shape[0] * shape[1]).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Reads a tensor as a named stage.
pub(super) fn stage<const D: usize>(name: &str, tensor: Tensor<D>) -> Result<Stage, NetworkError> {
    let shape = tensor.dims().to_vec();
    let values = tensor
        .try_into_vec_as::<f32>()
        .map_err(|error| NetworkError::Device {
            stage: name.to_owned(),
            reason: error.to_string(),
        })?;
    Ok(Stage {
        name: name.to_owned(),
        shape,
        values,
    })
}
