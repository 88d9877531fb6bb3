//! Attention of the chunk's actions over the prefix and over themselves: one launch a layer, whatever the prefix's length.

use bytemuck::{Pod, Zeroable};

use super::launches::Launches;
use crate::gpu::compute::{Binding, Compute, Dispatch, Error, Kernel, KernelSpec, Slice, Work};
use crate::gpu::shaders;

/// Rows (query head, action) of a workgroup.
const ROWS: usize = 8;

/// How much there is to look at. Twin: `Sizes` of `shaders/attention_suffix`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
struct Sizes {
    prefix: u32,
    own: u32,
    chunk: u32,
    group: u32,
    key_heads: u32,
    quads: u32,
}

/// Heads and lengths of one attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Keys of the prefix, all visible.
    pub prefix: usize,
    /// Whether the actions also see themselves and those before them.
    pub causal: bool,
    /// Actions.
    pub chunk: usize,
    pub query_heads: usize,
    pub key_heads: usize,
    /// 16, 32, 64 or 128.
    pub head_dim: usize,
}

/// Where an attention reads and writes.
#[derive(Clone, Debug)]
pub struct Parts {
    /// `[tile][query head · channel][row]`, scaled by `1/√head_dim`.
    pub queries: Slice,
    /// Keys, then values, `[key_heads, prefix, head_dim]` each.
    pub seen: Slice,
    /// Keys, then values, `[key_heads, chunk, head_dim]` each; of no matter where nothing is causal.
    pub own: Slice,
    /// As the queries.
    pub y: Slice,
}

/// The compiled kernel, and the uniforms that layers share.
#[derive(Debug)]
pub struct SuffixAttention {
    kernel: Kernel,
    launches: Launches<Sizes>,
}

/// Whether the kernel takes heads of this width.
pub fn takes(head_dim: usize) -> bool {
    matches!(head_dim, 16 | 32 | 64 | 128)
}

impl SuffixAttention {
    /// # Errors
    /// The driver refuses the kernel.
    pub fn new(compute: &Compute) -> Result<Self, Error> {
        use Binding::{Read, Uniform, Write};
        Ok(Self {
            kernel: compute.kernel(&KernelSpec {
                shader: shaders::ATTENTION_SUFFIX,
                half: false,
                bindings: &[Uniform, Read, Read, Read, Write],
                constants: &[],
            }),
            launches: Launches::new(compute),
        })
    }

    /// Prepares one launch.
    pub fn dispatch(&mut self, label: impl Into<String>, shape: &Shape, parts: &Parts) -> Dispatch {
        let group = shape.query_heads / shape.key_heads;
        let sizes = Sizes {
            prefix: shape.prefix as u32,
            own: if shape.causal { shape.chunk as u32 } else { 0 },
            chunk: shape.chunk as u32,
            group: group as u32,
            key_heads: shape.key_heads as u32,
            quads: (shape.head_dim / 4) as u32,
        };
        let slices = [
            self.launches.uniform(sizes),
            parts.queries.clone(),
            parts.seen.clone(),
            parts.own.clone(),
            parts.y.clone(),
        ];
        let bound = self.launches.compute().bind(&self.kernel, &slices);
        let rows = group * shape.chunk;
        let workgroups = [rows.div_ceil(ROWS) as u32, shape.key_heads as u32, 1];
        bound.over(label, workgroups, work(shape))
    }
}

/// Two products over all keys; keys, values, queries and answers once.
fn work(shape: &Shape) -> Work {
    let own = if shape.causal { shape.chunk } else { 0 };
    let keys = shape.prefix + own;
    let (rows, width) = (shape.query_heads * shape.chunk, shape.head_dim);
    Work {
        flops: 4 * (rows * keys * width) as u64,
        bytes: 4 * (2 * shape.key_heads * keys * width + 2 * rows * width) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::kernels::skinny::{from_tiles, tile_words, to_tiles};
    use crate::gpu::kernels::testing::{self, noise};

    /// Scores of size 60 in f32, in the exponent.
    const TOLERANCE: f64 = 2e-5;

    struct Inputs {
        /// `[chunk, query_heads · head_dim]`
        queries: Vec<f32>,
        seen: Vec<f32>,
        own: Vec<f32>,
    }

    impl Inputs {
        fn new(shape: &Shape) -> Self {
            let scale = 3.0;
            let loud = |name: &str, count: usize| -> Vec<f32> {
                noise(name, count).iter().map(|v| v * scale).collect()
            };
            let width = shape.key_heads * shape.head_dim;
            Self {
                queries: loud("q", shape.chunk * shape.query_heads * shape.head_dim),
                seen: loud("seen", 2 * shape.prefix * width),
                own: loud("own", 2 * shape.chunk * width),
            }
        }

        /// Key (half 0) or value (half 1), one channel.
        fn at(&self, shape: &Shape, half: usize, head: usize, key: usize, channel: usize) -> f64 {
            let head = half * shape.key_heads + head;
            let d = shape.head_dim;
            f64::from(if key < shape.prefix {
                self.seen[(head * shape.prefix + key) * d + channel]
            } else {
                self.own[(head * shape.chunk + key - shape.prefix) * d + channel]
            })
        }
    }

    fn twin(shape: &Shape, inputs: &Inputs) -> Vec<f64> {
        let d = shape.head_dim;
        let mut y = Vec::new();
        for action in 0..shape.chunk {
            for head in 0..shape.query_heads {
                let key_head = head / (shape.query_heads / shape.key_heads);
                let keys = shape.prefix + if shape.causal { action + 1 } else { 0 };
                let q = &inputs.queries[(action * shape.query_heads + head) * d..][..d];
                let score = |key: usize| -> f64 {
                    let products = q.iter().enumerate();
                    products
                        .map(|(i, q)| f64::from(*q) * inputs.at(shape, 0, key_head, key, i))
                        .sum()
                };
                let scores: Vec<f64> = (0..keys).map(score).collect();
                let top = scores.iter().copied().fold(f64::MIN, f64::max);
                let parts: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
                let total: f64 = parts.iter().sum();
                for i in 0..d {
                    let value = |key: usize| inputs.at(shape, 1, key_head, key, i);
                    let sum: f64 = parts.iter().enumerate().map(|(k, p)| p * value(k)).sum();
                    y.push(sum / total);
                }
            }
        }
        y
    }

    fn check(compute: &Compute, attention: &mut SuffixAttention, shape: Shape) {
        let inputs = Inputs::new(&shape);
        let width = shape.query_heads * shape.head_dim;
        let y = compute.buffer("y", tile_words(shape.chunk, width));
        let up = |values: &[f32]| compute.upload("input", values).whole();
        let parts = Parts {
            queries: up(&to_tiles(&inputs.queries, width)),
            seen: up(&inputs.seen),
            own: up(&inputs.own),
            y: y.whole(),
        };
        let mut flow = compute.flow();
        flow.pass("test", &[attention.dispatch("test", &shape, &parts)], None);
        flow.submit();
        let ours = from_tiles(&compute.read(&y.whole()).unwrap(), shape.chunk, width);
        let error = testing::error(&ours, &twin(&shape, &inputs));
        assert!(error < TOLERANCE, "{shape:?}: {error:e}");
    }

    /// One key tile and several, a head of every width, a chunk of several activation tiles, with and without the actions'
    /// own keys, and nothing but them.
    #[test]
    fn actions_look_at_the_prefix_and_back() {
        let Some(compute) = testing::compute() else {
            return;
        };
        let mut attention = SuffixAttention::new(&compute).unwrap();
        for (prefix, causal, chunk, query_heads, key_heads, head_dim) in [
            (241, true, 50, 3, 1, 64),
            (241, false, 10, 6, 2, 64),
            (530, true, 6, 4, 2, 16),
            (7, true, 70, 2, 2, 32),
            (0, true, 9, 1, 1, 16),
            (31, false, 8, 2, 1, 128),
        ] {
            let shape = Shape {
                prefix,
                causal,
                chunk,
                query_heads,
                key_heads,
                head_dim,
            };
            check(&compute, &mut attention, shape);
        }
    }
}
