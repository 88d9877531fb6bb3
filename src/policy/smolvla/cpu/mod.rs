//! The CPU path's own kernels: what Burn's Flex device does one operation at a time, done in one pass and in the widest vectors.
//!
//! Measured on Zen 4, a core: products of 50 rows reach 62 to 82 GFLOP/s where the weights are packed for each of them, as Flex's matmul
//! must, and 101 where they were packed at load; tall ones are equal at 107. So weights are packed here, a product takes the norm or gate
//! before it and the bias, activation and residual after it along, and attention keeps its scores in the cache. A chunk of the 450M
//! network takes about half of Flex's time. Burn's operations remain the twin that every kernel is held to, and the way of every tensor
//! that is not plain Flex: on a GPU, or followed for its gradient.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the vectors of its caller"
)]

mod attention;
mod lanes;
mod product;
mod rope;
mod rows;
#[cfg(test)]
mod tests;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Device, Tensor, TensorData};

use product::After;
pub(super) use product::Packed;
pub(super) use rows::Before;

use attention::Heads;

/// Whether these kernels can read the tensor where it lies.
pub(super) fn holds<const D: usize>(x: &Tensor<D>) -> bool {
    x.dtype() == DType::F32 && x.clone().try_into_primitive::<Flex>().is_ok()
}

/// The tensor's memory; from another device it is copied.
fn memory<const D: usize>(x: Tensor<D>) -> FlexTensor {
    let copy = x.clone();
    x.try_into_primitive::<Flex>()
        .unwrap_or_else(|_| FlexTensor::from_data(copy.into_data()))
}

/// A tensor's numbers in row-major order, copied only out of a view with gaps.
pub(super) struct Rows(FlexTensor);

impl Rows {
    pub(super) fn of<const D: usize>(x: Tensor<D>) -> Self {
        let x = memory(x);
        if x.as_slice::<f32>().is_some() {
            Self(x)
        } else {
            Self(x.to_contiguous())
        }
    }

    pub(super) fn values(&self) -> &[f32] {
        self.0.as_slice().unwrap_or_default()
    }
}

/// A tensor that takes over these numbers.
fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

/// # Shapes
/// weight `[outputs, inputs]`
pub(super) fn pack(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Packed {
    let [_, inputs] = weight.dims();
    let bias = bias.map(Rows::of);
    let bias = bias.as_ref().map_or(&[][..], Rows::values);
    Packed::new(Rows::of(weight).values(), bias, inputs)
}

/// # Shapes
/// x `[batch, seq, inputs]`, or twice as wide where it is gated; onto and the answer `[batch, seq, outputs]`
pub(super) fn product(
    weights: &Packed,
    x: Tensor<3>,
    before: Before<'_>,
    gelu: bool,
    onto: Option<Tensor<3>>,
) -> Tensor<3> {
    let [batch, seq, _] = x.dims();
    let onto = onto.map(Rows::of);
    let after = After {
        gelu,
        onto: onto.as_ref().map(Rows::values),
    };
    let y = weights.multiply(Rows::of(x).values(), before, after);
    tensor(y, [batch, seq, weights.outputs()])
}

/// Twin of `attention::unfused`.
///
/// # Shapes
/// As there.
pub(super) fn attention(
    q: Tensor<4>,
    k: Tensor<4>,
    v: Tensor<4>,
    bias: Option<Tensor<4>>,
) -> Tensor<3> {
    let [batch, heads, queries, head_dim] = q.dims();
    let (of_queries, of_keys) = (q.dims(), k.dims());
    let [q, k, v] = [q, k, v].map(without_gaps);
    let bias = bias.map(Rows::of);
    let y = attention::attend(
        heads_of(&q, of_queries),
        heads_of(&k, of_keys),
        heads_of(&v, of_keys),
        bias.as_ref().map(Rows::values),
    );
    tensor(y, [batch, queries, heads * head_dim])
}

/// Rows may stand anywhere, but none may have gaps.
fn without_gaps(x: Tensor<4>) -> FlexTensor {
    let x = memory(x);
    if x.layout().strides().last() == Some(&1) && x.layout().has_positive_strides() {
        x
    } else {
        x.to_contiguous()
    }
}

fn heads_of(x: &FlexTensor, [samples, heads, rows, head_dim]: [usize; 4]) -> Heads<'_> {
    let layout = x.layout();
    let stride = |axis: usize| layout.strides()[axis].unsigned_abs();
    Heads {
        values: x.storage(),
        start: layout.start_offset(),
        strides: [stride(0), stride(1), stride(2)],
        counts: [samples, heads, rows],
        head_dim,
    }
}

/// Twin of the rest of `RopeTable::apply`.
///
/// # Shapes
/// x `[batch, seq, heads, head_dim]`, unchanged; cos and sin `[1 or batch, seq, heads, head_dim]`
pub(super) fn rotate(x: Tensor<4>, cos: &Tensor<4>, sin: &Tensor<4>) -> Tensor<4> {
    let shape = x.dims();
    let (x, cos, sin) = (Rows::of(x), Rows::of(cos.clone()), Rows::of(sin.clone()));
    let y = rope::rotate(x.values(), cos.values(), sin.values(), shape[3]);
    tensor(y, shape)
}
