//! The small pieces that SigLIP, the VLM and the expert share: linear layers, norms and activations.

use burn::tensor::{Tensor, module};

use super::cpu::{self, Before, Packed, Rows};

/// `y = x Wᵀ + b`, mirrors `torch.nn.Linear`.
#[derive(Clone, Debug)]
pub(super) struct Linear(Form);

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a few hundred of them beside weights of a gigabyte"
)]
enum Form {
    /// For Burn's own product.
    Tensors {
        /// `[outputs, inputs]`, as in the checkpoint; the product reads it transposed, which costs no copy.
        weight: Tensor<2>,
        bias: Option<Tensor<1>>,
    },
    /// For the CPU's.
    Packed(Packed),
}

impl Linear {
    /// In the form that the device does best.
    pub(super) fn new(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        if cpu::holds(&weight) {
            Self(Form::Packed(cpu::pack(weight, bias)))
        } else {
            Self::of_tensors(weight, bias)
        }
    }

    /// For Burn's own product, on any device.
    pub(super) fn of_tensors(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        Self(Form::Tensors { weight, bias })
    }

    /// Rows `from..to` of the outputs as a layer of their own, sharing memory where the form allows.
    pub(super) fn outputs(&self, from: usize, to: usize) -> Self {
        Self(match &self.0 {
            Form::Packed(packed) => Form::Packed(packed.narrow(from, to)),
            Form::Tensors { weight, bias } => Form::Tensors {
                weight: weight.clone().narrow(0, from, to - from),
                bias: bias.clone().map(|bias| bias.narrow(0, from, to - from)),
            },
        })
    }

    /// # Shapes
    /// `[batch, seq, inputs]` to `[batch, seq, outputs]`. The rows of the batch are folded into one matrix, so that
    /// the weight is read once.
    pub(super) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let (weight, bias) = match &self.0 {
            Form::Packed(packed) => return cpu::product(packed, x, Before::Plain, false, None),
            Form::Tensors { weight, bias } => (weight, bias),
        };
        let [batch, seq, inputs] = x.dims();
        let [outputs, _] = weight.dims();
        let rows = x.reshape([batch * seq, inputs]); // [rows, inputs]
        let y = rows.matmul(weight.clone().transpose()); // [rows, outputs]
        let y = match bias {
            Some(bias) => y + bias.clone().unsqueeze(),
            None => y,
        };
        y.reshape([batch, seq, outputs])
    }

    /// `residual + self(x)`
    ///
    /// # Shapes
    /// As [`Linear::forward`]; the residual has the answer's.
    pub(super) fn forward_onto(&self, residual: Tensor<3>, x: Tensor<3>) -> Tensor<3> {
        match &self.0 {
            Form::Packed(packed) => cpu::product(packed, x, Before::Plain, false, Some(residual)),
            Form::Tensors { .. } => residual + self.forward(x),
        }
    }
}

/// Mirrors `LlamaRMSNorm`: `w · x / sqrt(mean(x²) + eps)`.
#[derive(Clone, Debug)]
pub(super) struct RmsNorm {
    weight: Tensor<1>,
    eps: f64,
}

impl RmsNorm {
    pub(super) fn new(weight: Tensor<1>, eps: f64) -> Self {
        Self { weight, eps }
    }

    /// # Shapes
    /// `[batch, seq, width]`, unchanged.
    pub(super) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let mean = (x.clone() * x.clone()).mean_dim(2); // [batch, seq, 1]
        let root = mean.add_scalar(self.eps).sqrt();
        x.div(root).mul(self.weight.clone().unsqueeze())
    }

    /// `linear(self(x))`
    ///
    /// # Shapes
    /// As [`Linear::forward`].
    pub(super) fn then(&self, linear: &Linear, x: Tensor<3>) -> Tensor<3> {
        let Form::Packed(packed) = &linear.0 else {
            return linear.forward(self.forward(x));
        };
        let weight = Rows::of(self.weight.clone());
        let before = Before::RmsNorm {
            weight: weight.values(),
            eps: self.eps as f32,
        };
        cpu::product(packed, x, before, false, None)
    }
}

/// Mirrors `torch.nn.LayerNorm`.
#[derive(Clone, Debug)]
pub(super) struct LayerNorm {
    weight: Tensor<1>,
    bias: Tensor<1>,
    eps: f64,
}

impl LayerNorm {
    pub(super) fn new(weight: Tensor<1>, bias: Tensor<1>, eps: f64) -> Self {
        Self { weight, bias, eps }
    }

    /// # Shapes
    /// `[batch, seq, width]`, unchanged.
    pub(super) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        module::layer_norm(x, self.weight.clone(), Some(self.bias.clone()), self.eps)
    }

    /// `linear(self(x))`, and [`gelu_tanh`] of it if asked for.
    ///
    /// # Shapes
    /// As [`Linear::forward`].
    pub(super) fn then(&self, linear: &Linear, gelu: bool, x: Tensor<3>) -> Tensor<3> {
        let Form::Packed(packed) = &linear.0 else {
            let y = linear.forward(self.forward(x));
            return if gelu { gelu_tanh(y) } else { y };
        };
        let (weight, bias) = (Rows::of(self.weight.clone()), Rows::of(self.bias.clone()));
        let before = Before::LayerNorm {
            weight: weight.values(),
            bias: bias.values(),
            eps: self.eps as f32,
        };
        cpu::product(packed, x, before, gelu, None)
    }
}

/// `x · sigmoid(x)`, as one quotient: an overflowing exponential ends in a zero, never in a NaN.
pub(super) fn silu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let denominator = x.clone().neg().exp().add_scalar(1.0);
    x.div(denominator)
}

/// `gelu_pytorch_tanh`. Written with the sigmoid, because ½(1 + tanh u) = sigmoid(2u): fewer kernels, and no
/// `pow` of a negative number, which WGSL leaves undefined.
pub(super) fn gelu_tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    /// 2·√(2/π)
    const SLOPE: f64 = 1.595_769_121_605_730_7;
    /// 2·√(2/π)·0.044715
    const CUBIC: f64 = 0.071_354_816_272_600_25;
    let square = x.clone() * x.clone();
    let twice_u = square.mul_scalar(-CUBIC).sub_scalar(SLOPE) * x.clone(); // −2u
    x.div(twice_u.exp().add_scalar(1.0))
}

/// The gated MLP of Llama with its residual: `x + down(silu(gate(norm x)) · up(norm x))`, gate and up side by side in one product.
#[derive(Clone, Debug)]
pub(super) struct GatedMlp {
    /// `gate_proj` and `up_proj`.
    pub(super) gate_up_proj: Linear,
    pub(super) down_proj: Linear,
    pub(super) intermediate_size: usize,
}

impl GatedMlp {
    /// # Shapes
    /// `[batch, seq, width]`, unchanged.
    pub(super) fn forward_onto(&self, x: Tensor<3>, norm: &RmsNorm) -> Tensor<3> {
        let both = norm.then(&self.gate_up_proj, x.clone()); // [batch, seq, 2 * intermediate]
        if let Form::Packed(down) = &self.down_proj.0 {
            return cpu::product(down, both, Before::Gated, false, Some(x));
        }
        let gate = both.clone().narrow(2, 0, self.intermediate_size);
        let up = both.narrow(2, self.intermediate_size, self.intermediate_size);
        self.down_proj.forward_onto(x, silu(gate) * up)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    /// f32 arithmetic of a few operations against f64.
    const TOLERANCE: f64 = 2e-6;

    #[test]
    fn activations_match_their_definitions_far_out_too() {
        let inputs = [-120.0_f32, -9.0, -1.5, -0.0, 0.3, 2.0, 11.0, 120.0];
        let x = Tensor::<1>::from_floats(inputs, &Device::flex());
        let gelu: Vec<f32> = gelu_tanh(x.clone()).try_into_vec_as().unwrap();
        let silu: Vec<f32> = silu(x).try_into_vec_as().unwrap();
        for (i, &input) in inputs.iter().enumerate() {
            let v = f64::from(input);
            let u = (2.0 / std::f64::consts::PI).sqrt() * (v + 0.044715 * v.powi(3));
            let want = 0.5 * v * (1.0 + u.tanh());
            assert!((f64::from(gelu[i]) - want).abs() <= TOLERANCE * (1.0 + v.abs()));
            let want = v / (1.0 + (-v).exp());
            assert!((f64::from(silu[i]) - want).abs() <= TOLERANCE * (1.0 + v.abs()));
        }
    }
}
