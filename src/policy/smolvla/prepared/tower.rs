//! What vision tower and language layers share on the device: weights as the tall products read them, the residual stream, and a
//! program of launches that can be watched stage by stage.

use super::super::error::{NetworkError, Result};
use super::super::trace::Trace;
use super::super::weights::Weights;
use crate::gpu::compute::{
    Buffer, Compute, Dispatch, Flow, Format, Matrix, Sequence, Slice, Stage,
};
use crate::gpu::kernels::attention::{Attending, Attention};
use crate::gpu::kernels::matmul::{self, Finish, Layout, Matmul, Normed, Product, Split};
use crate::gpu::kernels::norm::{self, Added, Norm, Rows};
use crate::gpu::kernels::prefix::{Assembly, Prefix};

/// The kernels of tower and prefix, compiled variant by variant at their first use.
#[derive(Debug)]
pub(super) struct Kernels {
    pub(super) compute: Compute,
    matmul: Matmul,
    attending: Attending,
    norm: Norm,
    prefix: Prefix,
}

/// A linear layer on the device.
#[derive(Debug)]
pub(super) struct Linear {
    pub(super) matrix: Matrix,
    bias: Option<Buffer>,
}

/// A norm's weights on the device.
#[derive(Debug)]
pub(super) struct NormWeights {
    gains: Buffer,
    eps: f64,
    centred: bool,
}

/// Reads tensors and uploads them in the format of the tower.
pub(super) struct Loader<'a, 'b> {
    pub(super) weights: &'a mut Weights<'b>,
    pub(super) compute: &'a Compute,
    pub(super) format: Format,
}

/// Rows of hidden states that every layer adds to.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) x: Slice,
    pub(super) rows: usize,
    pub(super) width: usize,
    /// Mean and deviation of each row.
    pub(super) stats: Slice,
    /// Room for the parts of split products.
    pub(super) parts: Slice,
    /// What is still to be added to `x`.
    pending: Option<Added>,
}

/// Memory that only grows.
#[derive(Debug, Default)]
pub(super) struct Grown(Option<Buffer>);

/// Launches in the making.
#[derive(Debug)]
pub(super) struct Builder<'a> {
    pub(super) kernels: &'a mut Kernels,
    dispatches: Vec<Dispatch>,
    views: Vec<View>,
}

/// Prepared launches, and what can be seen between them.
#[derive(Debug)]
pub(super) struct Program {
    sequence: Sequence,
    views: Vec<View>,
}

/// Values that a trace looks at.
#[derive(Clone, Debug)]
pub(super) struct View {
    name: String,
    /// The last number is the width of a row.
    shape: Vec<usize>,
    values: Slice,
    /// Words between rows.
    step: usize,
    /// Parts that are still to be added, and words between them.
    parts: (usize, usize),
    /// Launches before it.
    after: usize,
}

/// Words between rows of an activation: products read whole groups of 16.
pub(super) fn step_of(width: usize) -> usize {
    width.next_multiple_of(16)
}

impl Kernels {
    pub(super) fn new(compute: &Compute, half: bool) -> Self {
        Self {
            matmul: Matmul::new(compute, half),
            attending: Attending::new(compute, half),
            norm: Norm::new(compute),
            prefix: Prefix::new(compute),
            compute: compute.clone(),
        }
    }

    /// Takes large tiles whatever the sizes.
    pub(super) fn use_large_tiles(&mut self) {
        self.matmul.use_large_tiles();
    }
}

impl Loader<'_, '_> {
    /// Linear layers with the same input, side by side.
    ///
    /// # Errors
    /// A tensor that is missing, of another shape, or that the format cannot hold.
    pub(super) fn linear(
        &mut self,
        parts: &[(&str, usize)],
        inputs: usize,
        bias: bool,
    ) -> Result<Linear> {
        let (mut values, mut biases) = (Vec::new(), Vec::new());
        for &(name, outputs) in parts {
            values.extend(self.rows(name, [outputs, inputs])?);
            if bias {
                biases.extend(self.weights.host(&format!("{name}.bias"), &[outputs])?);
            }
        }
        let name = parts.first().map_or("", |part| part.0);
        let matrix = self.pack(name, &values, inputs)?;
        let bias = bias.then(|| self.compute.upload(name, &biases));
        Ok(Linear { matrix, bias })
    }

    /// `{name}.weight`, row by row.
    pub(super) fn rows(&mut self, name: &str, shape: [usize; 2]) -> Result<Vec<f32>> {
        self.weights.host(&format!("{name}.weight"), &shape)
    }

    /// Rows that are in order already, as a layer without bias.
    pub(super) fn in_order(&self, name: &str, values: &[f32], inputs: usize) -> Result<Linear> {
        let matrix = self.pack(name, values, inputs)?;
        Ok(Linear { matrix, bias: None })
    }

    pub(super) fn pack(&self, name: &str, values: &[f32], inputs: usize) -> Result<Matrix> {
        let shape = [values.len() / inputs.max(1), inputs];
        let packed = self.compute.checked(format!("memory for {name}"), || {
            Matrix::upload(self.compute, name, values, shape, self.format)
        })?;
        packed.map_err(|reason| NetworkError::Packing {
            name: name.to_owned(),
            reason,
        })
    }

    /// A norm with mean and offset, or (`centred` false) without.
    pub(super) fn norm(
        &mut self,
        name: &str,
        width: usize,
        eps: f64,
        centred: bool,
    ) -> Result<NormWeights> {
        let gain = self.weights.host(&format!("{name}.weight"), &[width])?;
        let offset = if centred {
            self.weights.host(&format!("{name}.bias"), &[width])?
        } else {
            Vec::new()
        };
        Ok(NormWeights {
            gains: self.compute.upload(name, &norm::gains(&gain, &offset)),
            eps,
            centred,
        })
    }

    /// Numbers that stay f32.
    pub(super) fn upload(&mut self, name: &str, shape: &[usize]) -> Result<Buffer> {
        let values = self.weights.host(name, shape)?;
        Ok(self.compute.upload(name, &values))
    }
}

impl Linear {
    /// Adds a bias to what it gives.
    pub(super) fn with_bias(self, bias: Buffer) -> Self {
        Self {
            bias: Some(bias),
            ..self
        }
    }

    /// A product with it, rows of A one after another, the sums stored.
    pub(super) fn after(
        &self,
        a: &Slice,
        rows: usize,
        out: &Slice,
        out_step: usize,
    ) -> Product<'_> {
        Product {
            rows,
            a: a.clone(),
            a_base: 0,
            layout: Layout::Rows {
                step: self.matrix.padded,
            },
            weight: &self.matrix,
            bias: self.bias.as_ref().map(Buffer::whole),
            norm: None,
            finish: Finish::Store,
            table: None,
            out: out.clone(),
            out_base: 0,
            out_step,
            kv: None,
            split: Split::Whole,
        }
    }

    /// Words of the parts that its product with so many rows leaves.
    pub(super) fn part_words(&self, rows: usize) -> usize {
        matmul::parts(rows, &self.matrix) * rows * step_of(self.matrix.outputs)
    }
}

impl Stream {
    pub(super) fn new(x: Slice, rows: usize, width: usize, stats: Slice, parts: Slice) -> Self {
        Self {
            x,
            rows,
            width,
            stats,
            parts,
            pending: None,
        }
    }

    pub(super) fn step(&self) -> usize {
        step_of(self.width)
    }

    /// All its rows, `[outer, rows / outer, width]`.
    pub(super) fn view(&self, name: impl Into<String>, outer: usize) -> View {
        let shape = vec![outer, self.rows / outer.max(1), self.width];
        View::rows(name, shape, &self.x, self.step())
    }
}

impl Grown {
    /// At least `words` words; zero as long as nobody wrote them.
    ///
    /// # Errors
    /// The device has no room.
    pub(super) fn fit(&mut self, compute: &Compute, label: &str, words: usize) -> Result<Slice> {
        let words = words.max(4);
        if let Some(buffer) = self.0.as_ref().filter(|buffer| buffer.words() >= words) {
            return Ok(buffer.slice(0, words));
        }
        self.0 = None;
        let made = compute.checked(format!("memory for {label}"), || {
            compute.buffer(label, words)
        })?;
        let slice = made.slice(0, words);
        self.0 = Some(made);
        Ok(slice)
    }
}

impl View {
    /// Rows `step` words apart.
    pub(super) fn rows(
        name: impl Into<String>,
        shape: Vec<usize>,
        values: &Slice,
        step: usize,
    ) -> Self {
        Self {
            name: name.into(),
            shape,
            values: values.clone(),
            step,
            parts: (1, 0),
            after: 0,
        }
    }

    /// The same, in parts `step` words apart that are still to be added.
    pub(super) fn in_parts(self, parts: usize, step: usize) -> Self {
        Self {
            parts: (parts, step),
            ..self
        }
    }

    fn read(&self, compute: &Compute) -> Result<Vec<f32>> {
        let all = compute.read(&self.values)?;
        let width = self.shape.last().copied().unwrap_or(1);
        let rows = self.shape.iter().product::<usize>() / width.max(1);
        let (parts, part_step) = self.parts;
        let value = |row: usize, i: usize| -> f32 {
            let at = row * self.step + i;
            (0..parts).map(|part| all[part * part_step + at]).sum()
        };
        Ok((0..rows)
            .flat_map(|row| (0..width).map(move |i| (row, i)))
            .map(|(row, i)| value(row, i))
            .collect())
    }
}

impl<'a> Builder<'a> {
    pub(super) fn new(kernels: &'a mut Kernels) -> Self {
        Self {
            kernels,
            dispatches: Vec::new(),
            views: Vec::new(),
        }
    }

    pub(super) fn product(
        &mut self,
        label: impl Into<String>,
        product: &Product<'_>,
    ) -> Result<()> {
        let dispatch = self.kernels.matmul.dispatch(label, product)?;
        self.dispatches.push(dispatch);
        Ok(())
    }

    pub(super) fn attend(&mut self, label: impl Into<String>, attention: &Attention) -> Result<()> {
        let dispatch = self.kernels.attending.dispatch(label, attention)?;
        self.dispatches.push(dispatch);
        Ok(())
    }

    pub(super) fn assemble(&mut self, label: impl Into<String>, all: &Assembly) -> Result<()> {
        let dispatch = self.kernels.prefix.dispatch(label, all)?;
        self.dispatches.push(dispatch);
        Ok(())
    }

    /// Adds a layer's output to the stream: at once, or in parts that the next norm adds, where the rows are too few to keep a
    /// GPU busy.
    pub(super) fn add(
        &mut self,
        label: impl Into<String>,
        linear: &Linear,
        a: &Slice,
        stream: &mut Stream,
    ) -> Result<()> {
        let (rows, step) = (stream.rows, stream.step());
        let count = matmul::parts(rows, &linear.matrix);
        if count == 1 {
            let product = Product {
                finish: Finish::Add,
                ..linear.after(a, rows, &stream.x, step)
            };
            return self.product(label, &product);
        }
        let part_step = rows * step;
        let mut product = Product {
            split: Split::Inputs {
                parts: count,
                step: part_step,
            },
            ..linear.after(a, rows, &stream.parts, step)
        };
        stream.pending = Some(Added {
            parts: stream.parts.clone(),
            count,
            part_step,
            row_step: step,
            bias: product.bias.take(),
        });
        self.product(label, &product)
    }

    /// Completes the stream and measures its rows for the products that follow.
    pub(super) fn measure(
        &mut self,
        label: impl Into<String>,
        stream: &mut Stream,
        norm: &NormWeights,
    ) -> Result<Normed> {
        let result = norm::Result::Stats(stream.stats.clone());
        self.finish_rows(label, stream, norm, result)?;
        Ok(Normed {
            centred: norm.centred,
            gains: norm.gains.whole(),
            stats: stream.stats.clone(),
        })
    }

    /// Completes the stream and writes it normalised.
    pub(super) fn normalize(
        &mut self,
        label: impl Into<String>,
        stream: &mut Stream,
        norm: &NormWeights,
        out: &Slice,
    ) -> Result<()> {
        let result = norm::Result::Normed {
            gains: norm.gains.whole(),
            out: out.clone(),
        };
        self.finish_rows(label, stream, norm, result)
    }

    fn finish_rows(
        &mut self,
        label: impl Into<String>,
        stream: &mut Stream,
        norm: &NormWeights,
        result: norm::Result,
    ) -> Result<()> {
        let rows = Rows {
            rows: stream.rows,
            width: stream.width,
            step: stream.step(),
            eps: norm.eps,
            centred: norm.centred,
            x: stream.x.clone(),
            added: stream.pending.take(),
            result,
        };
        let dispatch = self.kernels.norm.dispatch(label, &rows)?;
        self.dispatches.push(dispatch);
        Ok(())
    }

    /// Lets a trace see values as they are after the launches so far.
    pub(super) fn see(&mut self, view: View) {
        let after = self.dispatches.len();
        self.views.push(View { after, ..view });
    }

    pub(super) fn finish(self, name: &'static str) -> Program {
        let stage = Stage {
            name,
            dispatches: self.dispatches,
        };
        Program {
            sequence: Sequence::new(&self.kernels.compute, vec![stage], true),
            views: self.views,
        }
    }
}

impl Program {
    /// The prepared launches.
    pub(super) fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    pub(super) fn encode(&self, flow: &mut Flow<'_>) {
        self.sequence.encode(flow);
    }

    /// Runs it in pieces and shows what is between them.
    ///
    /// # Errors
    /// The device is lost.
    pub(super) fn run_watched(&self, compute: &Compute, trace: &mut Trace) -> Result<()> {
        let launches = self.sequence.stages().iter().flat_map(|s| &s.dispatches);
        let launches: Vec<Dispatch> = launches.cloned().collect();
        let mut done = 0;
        let run = |from: usize, to: usize| {
            let mut flow = compute.flow();
            flow.pass("watched", &launches[from..to], None);
            flow.submit();
        };
        for view in &self.views {
            run(done, view.after);
            done = view.after;
            trace.see_values(|| view.name.clone(), &view.shape, || view.read(compute))?;
        }
        run(done, launches.len());
        Ok(())
    }
}
