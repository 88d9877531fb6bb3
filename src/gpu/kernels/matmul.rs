//! Products with many rows: the vision tower, the connector and the prefix. Each has its norm before and its activation after it
//! folded in.

use bytemuck::{Pod, Zeroable};

use super::launches::Launches;
use crate::gpu::compute::{
    Binding, Compute, Dispatch, Error, Kernel, KernelSpec, Matrix, Slice, Work,
};
use crate::gpu::shaders;

/// Columns of a tile, and rows of a large one.
const TILE: usize = 64;
/// Workgroups that keep a large GPU busy: two on each of some 128 cores.
const ENOUGH_WORKGROUPS: usize = 256;
/// Groups of 16 inputs that a slice of K is worth its reduction for.
const FEWEST_STEPS: usize = 8;
/// Beyond every row and slot: nothing is divided.
const NEVER: u32 = 1 << 30;

/// Where the values of A lie, row by row of the product. Lengths in words, all multiples of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Rows one after another.
    Rows { step: usize },
    /// Pictures `[3, height, width]`: a row is a patch, channel-major like the kernel of a convolution.
    Patches {
        height: usize,
        width: usize,
        patch: usize,
    },
    /// Patch rows of pictures with `side`² patches: a row is the `factor`² neighbours that become one token.
    Shuffled {
        side: usize,
        factor: usize,
        width: usize,
        step: usize,
    },
}

/// What becomes of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Store,
    Gelu,
    /// Added to what `out` holds.
    Add,
    /// Added to row `row % period` of `table`.
    Table {
        period: usize,
        step: usize,
    },
    /// Heads of queries into `out` `[rows, heads, head_dim]`, of keys and then values into `kv`
    /// `[keys and values, heads, rows, head_dim]`; queries and keys are rotated by `table` `[rows, head_dim / 2]` of cosine and
    /// sine. The weight's rows come in pairs, see [`dealt`].
    Rotate {
        query_pairs: usize,
        key_pairs: usize,
        half_head: usize,
    },
    /// `silu(gate) · up`; gate and up are the two of a pair, see [`dealt`].
    Gate,
}

/// The norm before a product.
#[derive(Clone, Debug)]
pub struct Normed {
    /// With mean (layer norm), or root mean square only.
    pub centred: bool,
    /// As [`super::norm::gains`] lays it out.
    pub gains: Slice,
    /// As [`super::norm`] writes it.
    pub stats: Slice,
}

/// One product and all that it touches.
#[derive(Clone, Debug)]
pub struct Product<'a> {
    pub rows: usize,
    pub a: Slice,
    /// Words before the first row of A.
    pub a_base: usize,
    pub layout: Layout,
    pub weight: &'a Matrix,
    pub bias: Option<Slice>,
    pub norm: Option<Normed>,
    pub finish: Finish,
    pub table: Option<Slice>,
    pub out: Slice,
    /// Words before the first row of the output, and between rows.
    pub out_base: usize,
    pub out_step: usize,
    pub kv: Option<Slice>,
    pub split: Split,
}

/// What the third dimension of the launch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// One product.
    Whole,
    /// Each of so many takes its share of the inputs; the sums lie `step` words apart and are still to be added.
    Inputs { parts: usize, step: usize },
}

/// The uniform of a launch. Twin: `Params` of `shaders/matmul`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct Params {
    rows: u32,
    columns: u32,
    steps: u32,
    weight_slots: u32,
    z_slots: u32,
    z_out: u32,
    a: Starts,
    out_step: u32,
    out_base: u32,
    period: u32,
    table_step: u32,
    query_pairs: u32,
    key_pairs: u32,
    half_head: u32,
    unused: [u32; 3],
}

/// Where rows and segments of A begin, in groups of four values.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct Starts {
    base: u32,
    outer: u32,
    outer_step: u32,
    inner: u32,
    inner_step: u32,
    row_step: u32,
    segment: u32,
    across: u32,
    down_step: u32,
    across_step: u32,
}

/// What its launches share.
#[derive(Debug)]
pub struct Matmul {
    launches: Launches<Params>,
    half: bool,
    eights: bool,
    /// Workgroups that make large tiles worth while.
    enough: usize,
}

/// In how many slices of K a product should be cut so that a large GPU has enough to do; each slice has the same length.
pub fn parts(rows: usize, weight: &Matrix) -> usize {
    let tiles = rows.div_ceil(TILE) * weight.outputs.div_ceil(TILE);
    let steps = weight.padded / 16;
    let cuts = |parts: &usize| steps.is_multiple_of(*parts) && steps / parts >= FEWEST_STEPS;
    let mut possible = (1..=16).filter(cuts);
    let enough = possible.find(|parts| tiles * parts >= ENOUGH_WORKGROUPS);
    enough.unwrap_or_else(|| (1..=16).filter(cuts).max().unwrap_or(1))
}

/// Rows of a weight in the order that [`Finish::Rotate`] and [`Finish::Gate`] ask for: eight firsts of pairs, then their eight seconds.
/// `pair` gives the two rows of a pair; a number of pairs that is no multiple of eight is not taken.
pub fn dealt<'a>(pairs: usize, pair: impl Fn(usize) -> [&'a [f32]; 2]) -> Vec<f32> {
    let rows = (0..pairs / 8).flat_map(|eight| {
        let pair = &pair;
        (0..2).flat_map(move |side| (0..8).map(move |at| pair(8 * eight + at)[side]))
    });
    rows.flatten().copied().collect()
}

impl Layout {
    /// A row's offset may depend on more than its number.
    fn gathers(self) -> bool {
        !matches!(self, Self::Rows { .. })
    }

    fn starts(self, base: usize) -> Starts {
        let plain = Starts {
            base: (base / 4) as u32,
            outer: NEVER,
            inner: NEVER,
            segment: NEVER,
            across: NEVER,
            ..Starts::default()
        };
        match self {
            Self::Rows { step } => Starts {
                row_step: (step / 4) as u32,
                ..plain
            },
            Self::Patches {
                height,
                width,
                patch,
            } => Starts {
                outer: (height / patch * (width / patch)) as u32,
                outer_step: (3 * height * width / 4) as u32,
                inner: (width / patch) as u32,
                inner_step: (patch * width / 4) as u32,
                row_step: (patch / 4) as u32,
                segment: (patch / 4) as u32,
                across: patch as u32,
                down_step: (height * width / 4) as u32,
                across_step: (width / 4) as u32,
                ..plain
            },
            Self::Shuffled {
                side,
                factor,
                width,
                step,
            } => Starts {
                inner: (side / factor) as u32,
                inner_step: (factor * side * step / 4) as u32,
                row_step: (factor * step / 4) as u32,
                segment: (width / 4) as u32,
                across: factor as u32,
                down_step: (side * step / 4) as u32,
                across_step: (step / 4) as u32,
                ..plain
            },
        }
    }
}

impl Finish {
    fn code(self) -> u8 {
        match self {
            Self::Store => 0,
            Self::Gelu => 1,
            Self::Add => 2,
            Self::Table { .. } => 3,
            Self::Rotate { .. } => 4,
            Self::Gate => 5,
        }
    }
}

impl Matmul {
    /// With `half`, tiles are f16 where the adapter has it.
    pub fn new(compute: &Compute, half: bool) -> Self {
        Self {
            launches: Launches::new(compute),
            half: half && compute.abilities().shader_f16,
            eights: compute.abilities().eights(),
            enough: ENOUGH_WORKGROUPS,
        }
    }

    /// Takes tiles of 64 rows whatever the sizes: for those who test a device with a small network.
    pub fn use_large_tiles(&mut self) {
        self.enough = 0;
    }

    /// Prepares one launch.
    ///
    /// # Errors
    /// The driver refuses the kernel.
    pub fn dispatch(
        &mut self,
        label: impl Into<String>,
        product: &Product<'_>,
    ) -> Result<Dispatch, Error> {
        let params = product.params();
        let columns = params.columns.div_ceil(TILE as u32);
        let depth = product.depth() as u32;
        let large = product.rows.div_ceil(TILE) * (columns * depth) as usize;
        let large = large >= self.enough;
        let kernel = self.kernel(product, large);
        let launches = &mut self.launches;
        let uniform = launches.uniform(params);
        let norm = product.norm.as_ref();
        let slices = [
            uniform,
            product.a.clone(),
            product.weight.buffer.whole(),
            launches.or_unread(product.bias.as_ref()),
            launches.or_unread(norm.map(|norm| &norm.gains)),
            launches.or_unread(norm.map(|norm| &norm.stats)),
            launches.or_unread(product.table.as_ref()),
            product.out.clone(),
            launches.or_unwritten(product.kv.as_ref()),
        ];
        let bound = launches.compute().bind(&kernel, &slices);
        let rows = product.rows.div_ceil(if large { TILE } else { TILE / 2 }) as u32;
        Ok(bound.over(label, [columns, rows, depth], product.work()))
    }

    fn kernel(&self, product: &Product<'_>, large: bool) -> Kernel {
        use Binding::{Read, Uniform, Write};
        let switch = |on: bool| f64::from(u8::from(on));
        let norm = product.norm.as_ref();
        let norm = norm.map_or(0, |norm| 1 + u8::from(norm.centred));
        let rows = match (large, self.eights) {
            (true, true) => 16.0,
            (true, false) | (false, true) => 8.0,
            (false, false) => 4.0,
        };
        let constants = [
            ("FORMAT", product.weight.format.code()),
            ("ROWS", rows),
            ("EIGHTS", switch(self.eights)),
            ("BIAS", switch(product.bias.is_some())),
            ("NORM", f64::from(norm)),
            ("GATHER", switch(product.layout.gathers())),
            ("FINISH", f64::from(product.finish.code())),
        ];
        let spec = KernelSpec {
            shader: if self.eights {
                shaders::MATMUL.in_eights()
            } else {
                shaders::MATMUL
            },
            half: self.half,
            bindings: &[Uniform, Read, Read, Read, Read, Read, Read, Write, Write],
            constants: &constants,
        };
        self.launches.compute().kernel(&spec)
    }
}

impl Product<'_> {
    fn depth(&self) -> usize {
        match self.split {
            Split::Whole => 1,
            Split::Inputs { parts, .. } => parts,
        }
    }

    fn params(&self) -> Params {
        let weight = self.weight;
        let mut params = Params {
            rows: self.rows as u32,
            columns: weight.outputs as u32,
            steps: (weight.padded / 16) as u32,
            weight_slots: (weight.padded / 4) as u32,
            a: self.layout.starts(self.a_base),
            out_step: self.out_step as u32,
            out_base: self.out_base as u32,
            ..Params::default()
        };
        match self.split {
            Split::Whole => (),
            Split::Inputs { parts, step } => {
                params.steps /= parts as u32;
                params.z_slots = 4 * params.steps;
                params.z_out = step as u32;
            }
        }
        match self.finish {
            Finish::Table { period, step } => {
                (params.period, params.table_step) = (period as u32, step as u32);
            }
            Finish::Rotate {
                query_pairs,
                key_pairs,
                half_head,
            } => {
                params.query_pairs = query_pairs as u32;
                params.key_pairs = key_pairs as u32;
                params.half_head = half_head as u32;
            }
            Finish::Store | Finish::Gelu | Finish::Add | Finish::Gate => (),
        }
        params
    }

    /// A, the weight and the output once; what is added to is read too.
    fn work(&self) -> Work {
        let (rows, weight) = (self.rows as u64, self.weight);
        let parts = self.depth() as u64;
        let outputs = weight.outputs as u64;
        let stored = match self.finish {
            Finish::Gate => outputs / 2,
            Finish::Add | Finish::Table { .. } => 2 * outputs,
            Finish::Store | Finish::Gelu | Finish::Rotate { .. } => outputs * parts,
        };
        Work {
            flops: 2 * rows * outputs * weight.inputs as u64,
            bytes: weight.bytes() + 4 * rows * (weight.inputs as u64 + stored),
        }
    }
}

#[cfg(test)]
mod tests;
