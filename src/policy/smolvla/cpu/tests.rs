//! Each kernel against Burn's operations on the same tensors, at sizes that fill no tile.

use burn::tensor::{Device, Tensor, TensorData};

use crate::policy::smolvla::layers::{GatedMlp, LayerNorm, Linear, RmsNorm};

/// Sums of some dozen f32 products of size 1 in two orders.
const TOLERANCE: f32 = 5e-6;
/// Rows, inputs and outputs.
const SIZES: [[usize; 3]; 4] = [[1, 5, 3], [50, 40, 72], [27, 33, 64], [209, 16, 37]];

fn wave<const D: usize>(shape: [usize; D], pace: f32) -> Tensor<D> {
    let len = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..len).map(|i| (i as f32 * pace).sin()).collect();
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

fn same(kernel: Tensor<3>, twin: Tensor<3>, what: &str) {
    assert_eq!(kernel.dims(), twin.dims(), "{what}");
    let error = (kernel - twin).abs().max().into_scalar::<f32>();
    assert!(error <= TOLERANCE, "{what} is {error:e} off");
}

/// The same layer for the kernels and for Burn.
fn both([_, inputs, outputs]: [usize; 3], bias: bool) -> [Linear; 2] {
    let weight = wave([outputs, inputs], 0.73) / (inputs as f32).sqrt();
    let bias = bias.then(|| wave([outputs], 0.31));
    [
        Linear::new(weight.clone(), bias.clone()),
        Linear::of_tensors(weight, bias),
    ]
}

#[test]
fn products_take_bias_residual_and_activation_along() {
    for size @ [rows, inputs, outputs] in SIZES {
        let (x, onto) = (
            wave([1, rows, inputs], 0.37),
            wave([1, rows, outputs], 0.11),
        );
        for bias in [false, true] {
            let [kernel, twin] = both(size, bias);
            same(
                kernel.forward(x.clone()),
                twin.forward(x.clone()),
                "product",
            );
            same(
                kernel.forward_onto(onto.clone(), x.clone()),
                twin.forward_onto(onto.clone(), x.clone()),
                "residual",
            );
            let norm = LayerNorm::new(wave([inputs], 0.9), wave([inputs], 0.4), 1e-6);
            for gelu in [false, true] {
                let x = x.clone() * 3.0 + 0.5;
                same(
                    norm.then(&kernel, gelu, x.clone()),
                    norm.then(&twin, gelu, x),
                    "layer norm",
                );
            }
            let norm = RmsNorm::new(wave([inputs], 0.9), 1e-5);
            same(
                norm.then(&kernel, x.clone()),
                norm.then(&twin, x.clone()),
                "rms norm",
            );
        }
    }
}

#[test]
fn a_batch_is_one_tall_matrix_and_views_are_read_in_their_order() {
    let [kernel, twin] = both([0, 24, 40], true);
    let x = wave([3, 24, 7], 0.37).swap_dims(1, 2);
    same(kernel.forward(x.clone()), twin.forward(x), "a turned view");
    let x = wave([3, 9, 24], 0.37).narrow(1, 2, 7);
    same(kernel.forward(x.clone()), twin.forward(x), "a part");
}

#[test]
fn the_gate_is_opened_on_the_way_into_the_product() {
    for [rows, width, inner] in SIZES {
        let [gate_up, gate_up_twin] = both([rows, width, 2 * inner], false);
        let [down, down_twin] = both([rows, inner, width], false);
        let mlp = |gate_up_proj, down_proj| GatedMlp {
            gate_up_proj,
            down_proj,
            intermediate_size: inner,
        };
        let (x, norm) = (
            wave([1, rows, width], 0.37),
            RmsNorm::new(wave([width], 0.9), 1e-5),
        );
        same(
            mlp(gate_up, down).forward_onto(x.clone(), &norm),
            mlp(gate_up_twin, down_twin).forward_onto(x, &norm),
            "gated mlp",
        );
    }
}

#[test]
fn some_outputs_are_a_layer_of_their_own() {
    let [kernel, twin] = both([0, 24, 70], true);
    let x = wave([1, 9, 24], 0.37);
    let part = |linear: &Linear| linear.outputs(33, 67).forward(x.clone());
    same(part(&kernel), part(&twin), "outputs 33 to 67");
}
