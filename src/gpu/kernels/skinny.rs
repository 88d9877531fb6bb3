//! Products of the chunk's few rows with large weights: the action expert, ten times a chunk. Each has its norm before and its
//! activation after it folded in.

use bytemuck::{Pod, Zeroable};

use super::launches::Launches;
use crate::gpu::compute::{
    Binding, Buffer, Compute, Dispatch, Error, Format, Kernel, KernelSpec, Matrix, Slice, Work,
    row_scale,
};
use crate::gpu::shaders;

/// Rows of an activation tile. Activations are `[tile][column][row]`, columns padded to a multiple of 16 with zeros.
pub const TILE: usize = 64;

/// Fewest workgroups that are worth wider ones: enough for one on nearly every core of a large GPU.
const ENOUGH_WORKGROUPS: usize = 80;

/// What is done with the sums. Twin: the constants of `shaders/skinny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epilogue {
    /// `y = silu(sum)`
    Silu,
    /// `y = sum`; its squares into z.
    Plain,
    /// `y += sum`; its squares into z.
    Add,
    /// Queries into y, keys and values of the rows into z `[2 · heads, rows, head_dim]`, rotated by the table in `aside`.
    Rotary,
    /// `y = silu(gate) · up`
    Gate,
    /// An Euler step of y; the velocity into z.
    Euler,
    /// x and y are `[2 · heads, rows, head_dim]`; each half has its own weights.
    Heads,
}

/// The uniform of one product. Twin: `Sizes` of `shaders/skinny`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Sizes {
    /// Blocks of 16 inputs and groups of four outputs: [`Skinny::dispatch`] takes them from the weight.
    pub blocks: u32,
    pub groups: u32,
    /// Rows of x that count.
    pub rows: u32,
    /// Partial sums of squares a tile, as the kernel that made x wrote them; 0 where there is no norm.
    pub parts: u32,
    /// 1 / the normalised width.
    pub share: f32,
    /// Epsilon of the norm.
    pub eps: f32,
    /// Rotary, Heads: width of a head, a multiple of 16.
    pub head_dim: u32,
    /// Rotary: query heads, and those that are rotated.
    pub query_heads: u32,
    pub rotated_heads: u32,
    /// Heads: outputs that read the first half of x.
    pub half_outputs: u32,
    /// Euler: which step, of how many.
    pub step: u32,
    pub steps: u32,
}

/// A weight `[outputs, inputs]` in the order that its epilogue asks for.
#[derive(Clone, Debug)]
pub struct SkinnyWeight {
    matrix: Matrix,
    /// Scale and bias of each output.
    affine: Buffer,
    /// Scales alone, for biases that change.
    scales: Vec<f32>,
    /// Groups of four outputs that a workgroup computes.
    columns: usize,
}

/// One product and all that it touches.
#[derive(Clone, Debug)]
pub struct Product<'a> {
    pub epilogue: Epilogue,
    pub weight: &'a SkinnyWeight,
    /// Another scale and bias an output than the weight's own.
    pub affine: Option<Slice>,
    pub x: Slice,
    /// `[tile][part][row]`
    pub squares: Option<Slice>,
    pub aside: Option<Slice>,
    pub y: Slice,
    pub z: Option<Slice>,
    pub sizes: Sizes,
}

/// What its launches share.
#[derive(Debug)]
pub struct Skinny {
    launches: Launches<Sizes>,
}

impl SkinnyWeight {
    /// Packs and uploads rows that are already in order; `bias` is empty or one number an output.
    ///
    /// # Errors
    /// In words: a value that the format cannot hold, or a number of outputs that is no multiple of four.
    pub fn upload(
        compute: &Compute,
        label: &str,
        rows: &[f32],
        [outputs, inputs]: [usize; 2],
        bias: &[f32],
        format: Format,
    ) -> Result<Self, String> {
        if !outputs.is_multiple_of(4) {
            return Err(format!("{outputs} outputs are no multiple of four"));
        }
        let matrix = Matrix::upload(compute, label, rows, [outputs, inputs], format)?;
        let scales: Vec<f32> = match format {
            Format::I8 => rows.chunks_exact(inputs).map(row_scale).collect(),
            Format::F32 | Format::F16 => vec![1.0; outputs],
        };
        let affine = compute.upload(label, &affine(&scales, bias));
        Ok(Self {
            matrix,
            affine,
            scales,
            columns: columns([outputs, inputs]),
        })
    }

    /// The same weight in workgroups of at most `most` groups of outputs.
    #[must_use]
    pub fn at_most(mut self, most: usize) -> Self {
        self.columns = self.columns.min(most);
        self
    }

    /// The same weight in workgroups as wide as suits another shape `[outputs, inputs]`.
    #[must_use]
    pub fn wide_as(mut self, shape: [usize; 2]) -> Self {
        self.columns = columns(shape);
        self
    }

    /// Scale and bias of each output, for a bias that is not the weight's own.
    pub fn affine(&self, bias: &[f32]) -> Vec<[f32; 2]> {
        affine(&self.scales, bias)
    }

    /// Partial sums of squares that a product with this weight writes, a tile.
    pub fn parts(&self) -> usize {
        (self.matrix.outputs / 4).div_ceil(self.columns)
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.matrix.bytes() + 8 * self.matrix.outputs as u64
    }

    /// Rows of the weight, `y`'s columns before the epilogue.
    pub fn outputs(&self) -> usize {
        self.matrix.outputs
    }
}

fn affine(scales: &[f32], bias: &[f32]) -> Vec<[f32; 2]> {
    let bias = |at: usize| bias.get(at).copied().unwrap_or(0.0);
    let pairs = scales.iter().enumerate();
    pairs.map(|(at, scale)| [*scale, bias(at)]).collect()
}

/// Groups of outputs a workgroup: wide ones read x less often, narrow ones keep more cores busy, but not with less than a block of
/// inputs for each of their slices.
fn columns([outputs, inputs]: [usize; 2]) -> usize {
    let (groups, blocks) = (outputs / 4, inputs.div_ceil(16));
    let busy = |columns: usize| 32 / columns <= blocks;
    let suits = |columns: &usize| groups / columns >= ENOUGH_WORKGROUPS || !busy(columns / 2);
    [8, 4, 2].into_iter().find(suits).unwrap_or(1)
}

impl Skinny {
    pub fn new(compute: &Compute) -> Self {
        Self {
            launches: Launches::new(compute),
        }
    }

    /// Prepares one launch; equal sizes share a uniform.
    ///
    /// # Errors
    /// The driver refuses the kernel.
    pub fn dispatch(
        &mut self,
        label: impl Into<String>,
        product: &Product<'_>,
    ) -> Result<Dispatch, Error> {
        let weight = product.weight;
        let sizes = Sizes {
            blocks: (weight.matrix.padded / 16) as u32,
            groups: (weight.matrix.outputs / 4) as u32,
            ..product.sizes
        };
        let uniform = self.launches.uniform(sizes);
        let launches = &self.launches;
        let affine = product.affine.clone();
        let slices = [
            uniform,
            product.x.clone(),
            weight.matrix.buffer.whole(),
            affine.unwrap_or_else(|| weight.affine.whole()),
            launches.or_unread(product.squares.as_ref()),
            launches.or_unread(product.aside.as_ref()),
            product.y.clone(),
            launches.or_unwritten(product.z.as_ref()),
        ];
        let bound = launches.compute().bind(&self.kernel(product), &slices);
        let rows = sizes.rows as usize;
        let workgroups = [weight.parts() as u32, rows.div_ceil(TILE) as u32, 1];
        Ok(bound.over(label, workgroups, work(weight, rows)))
    }

    fn kernel(&self, product: &Product<'_>) -> Kernel {
        use Binding::{Read, Uniform, Write};
        let weight = product.weight;
        self.launches.compute().kernel(&KernelSpec {
            shader: shaders::SKINNY,
            half: false,
            bindings: &[Uniform, Read, Read, Read, Read, Read, Write, Write],
            constants: &[
                ("FORMAT", weight.matrix.format.code()),
                ("EPILOGUE", f64::from(product.epilogue as u8)),
                ("COLUMNS", weight.columns as f64),
            ],
        })
    }
}

/// Weights once, x and y once.
fn work(weight: &SkinnyWeight, rows: usize) -> Work {
    let (outputs, inputs) = (weight.matrix.outputs, weight.matrix.inputs);
    Work {
        flops: 2 * (rows * outputs * inputs) as u64,
        bytes: weight.bytes() + 4 * (rows * (outputs + inputs)) as u64,
    }
}

/// Row-major `[rows, columns]` as tiles, columns padded to a multiple of 16.
pub fn to_tiles(values: &[f32], columns: usize) -> Vec<f32> {
    let padded = columns.next_multiple_of(16);
    let rows = values.len() / columns.max(1);
    let mut tiles = vec![0.0; rows.div_ceil(TILE) * padded * TILE];
    for (row, line) in values.chunks_exact(columns.max(1)).enumerate() {
        for (column, value) in line.iter().enumerate() {
            tiles[(row / TILE * padded + column) * TILE + row % TILE] = *value;
        }
    }
    tiles
}

/// The first `rows` rows of tiles as row-major `[rows, columns]`.
pub fn from_tiles(tiles: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let padded = columns.next_multiple_of(16);
    let of_row = |row: usize| {
        let from = row / TILE * padded * TILE + row % TILE;
        (0..columns).map(move |column| tiles[from + column * TILE])
    };
    (0..rows).flat_map(of_row).collect()
}

/// Words of an activation `[rows, columns]`.
pub fn tile_words(rows: usize, columns: usize) -> usize {
    rows.div_ceil(TILE) * columns.next_multiple_of(16) * TILE
}

#[cfg(test)]
mod tests;
