//! Attention over whole sequences: the patches of a picture, and the prefix. The score matrix never lies in memory.

use bytemuck::{Pod, Zeroable};

use super::launches::Launches;
use crate::gpu::compute::{Binding, Compute, Dispatch, Error, KernelSpec, Slice, Work};
use crate::gpu::shaders;

/// Queries of a workgroup.
const TILE: usize = 64;
/// Widest head.
pub const MAX_HEAD_DIM: usize = 64;

/// Where heads lie, in words, all multiples of four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    pub base: usize,
    /// Between rows, between heads and between pictures.
    pub row: usize,
    pub head: usize,
    pub picture: usize,
}

/// One attention and all that it touches.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Pictures or samples that do not see each other.
    pub pictures: usize,
    pub heads: usize,
    /// Consecutive query heads that share a key head.
    pub group: usize,
    /// A multiple of four, at most [`MAX_HEAD_DIM`].
    pub head_dim: usize,
    pub queries: usize,
    pub keys: usize,
    /// The last keys, seen by as many last queries only.
    pub hidden: usize,
    /// What scores are multiplied by, 1/√d.
    pub scale: f64,
    pub q: Slice,
    pub q_heads: Heads,
    pub k: Slice,
    pub v: Slice,
    /// Of the keys; the values lie alike, but begin at `v_base`.
    pub kv_heads: Heads,
    pub v_base: usize,
    /// `[pictures, queries, heads * head_dim]`, rows `out_row` words apart.
    pub out: Slice,
    pub out_row: usize,
}

/// The uniform of a launch. Twin: `Params` of `shaders/attention`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct Params {
    queries: u32,
    keys: u32,
    hidden: u32,
    group: u32,
    q_row: u32,
    q_head: u32,
    q_picture: u32,
    q_base: u32,
    kv_row: u32,
    kv_head: u32,
    kv_picture: u32,
    k_base: u32,
    v_base: u32,
    out_row: u32,
    scale: f32,
    unused: u32,
}

/// What its launches share.
#[derive(Debug)]
pub struct Attending {
    launches: Launches<Params>,
    half: bool,
    eights: bool,
}

impl Attending {
    /// With `half`, tiles of keys and values are f16 where the adapter has it.
    pub fn new(compute: &Compute, half: bool) -> Self {
        Self {
            launches: Launches::new(compute),
            half: half && compute.abilities().shader_f16,
            eights: compute.abilities().eights(),
        }
    }

    /// Prepares one launch.
    ///
    /// # Errors
    /// The driver refuses the kernel.
    pub fn dispatch(
        &mut self,
        label: impl Into<String>,
        attention: &Attention,
    ) -> Result<Dispatch, Error> {
        use Binding::{Read, Uniform, Write};
        let slots = attention.head_dim / 4;
        let spec = KernelSpec {
            shader: if self.eights {
                shaders::ATTENTION.in_eights()
            } else {
                shaders::ATTENTION
            },
            half: self.half,
            bindings: &[Uniform, Read, Read, Read, Write],
            constants: &[
                ("SLOTS", slots as f64),
                ("EIGHTS", f64::from(u8::from(self.eights))),
            ],
        };
        let kernel = self.launches.compute().kernel(&spec);
        let uniform = self.launches.uniform(attention.params());
        let slices = [
            uniform,
            attention.q.clone(),
            attention.k.clone(),
            attention.v.clone(),
            attention.out.clone(),
        ];
        let bound = self.launches.compute().bind(&kernel, &slices);
        let tiles = attention.queries.div_ceil(TILE) as u32;
        let workgroups = [tiles, attention.heads as u32, attention.pictures as u32];
        Ok(bound.over(label, workgroups, attention.work()))
    }
}

impl Attention {
    fn params(&self) -> Params {
        let slots = |words: usize| (words / 4) as u32;
        let (q, kv) = (self.q_heads, self.kv_heads);
        Params {
            queries: self.queries as u32,
            keys: self.keys as u32,
            hidden: self.hidden as u32,
            group: self.group as u32,
            q_row: slots(q.row),
            q_head: slots(q.head),
            q_picture: slots(q.picture),
            q_base: slots(q.base),
            kv_row: slots(kv.row),
            kv_head: slots(kv.head),
            kv_picture: slots(kv.picture),
            k_base: slots(kv.base),
            v_base: slots(self.v_base),
            out_row: slots(self.out_row),
            scale: (self.scale * std::f64::consts::LOG2_E) as f32,
            unused: 0,
        }
    }

    fn work(&self) -> Work {
        let width = (self.heads * self.head_dim) as u64;
        let queries = (self.pictures * self.queries) as u64;
        let kv = 2 * width / self.group as u64 * (self.pictures * self.keys) as u64;
        Work {
            flops: 4 * width * queries * self.keys as u64,
            bytes: 4 * (2 * width * queries + kv),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::kernels::testing;

    /// Sums of some hundred products.
    const TOLERANCE: f64 = 5e-6;
    /// Keys and values rounded to f16.
    const HALF_TOLERANCE: f64 = 2e-3;

    #[test]
    fn tiles_of_keys_give_the_softmax_over_all() {
        let Some(compute) = testing::compute() else {
            return;
        };
        for (half, eights) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut attending = Attending::new(&compute, half);
            if half && !attending.half || eights && !attending.eights {
                continue;
            }
            attending.eights = eights;
            // Pictures; a prefix with grouped heads and a state that the others do not see; a head of eight.
            for (head_dim, queries, group, hidden) in [
                (64, 70, 1, 0),
                (16, 33, 3, 1),
                (8, 64, 1, 0),
                (64, 97, 3, 1),
                (48, 1, 2, 1),
            ] {
                let error = check(&compute, &mut attending, [head_dim, queries, group, hidden]);
                let allowed = if half { HALF_TOLERANCE } else { TOLERANCE };
                assert!(error <= allowed, "{head_dim} {queries} {half}: {error:e}");
            }
        }
    }

    fn check(
        compute: &Compute,
        attending: &mut Attending,
        [head_dim, rows, group, hidden]: [usize; 4],
    ) -> f64 {
        let (pictures, heads) = (2, 6);
        let kv_heads = heads / group;
        // Rows of queries, keys and values side by side, as the vision tower has them.
        let width = (heads + 2 * kv_heads) * head_dim;
        let qkv: Vec<f32> = testing::noise("qkv", pictures * rows * width)
            .iter()
            .map(|value| 3.0 * value)
            .collect();
        let out_row = heads * head_dim + 16;
        let out = compute.buffer("out", pictures * rows * out_row);
        let all = compute.upload("qkv", &qkv).whole();
        let at = |base: usize| Heads {
            base,
            row: width,
            head: head_dim,
            picture: rows * width,
        };
        let k_base = heads * head_dim;
        let attention = Attention {
            pictures,
            heads,
            group,
            head_dim,
            queries: rows,
            keys: rows,
            hidden,
            scale: 1.0 / (head_dim as f64).sqrt(),
            q: all.clone(),
            q_heads: at(0),
            k: all.clone(),
            v: all,
            kv_heads: at(k_base),
            v_base: k_base + kv_heads * head_dim,
            out: out.whole(),
            out_row,
        };
        let dispatch = attending.dispatch("test", &attention).unwrap();
        let mut flow = compute.flow();
        flow.pass("test", &[dispatch], None);
        flow.submit();
        let read = compute.read(&out.whole()).unwrap();
        let rows_read = read.chunks_exact(out_row);
        let ours: Vec<f32> = rows_read
            .flat_map(|row| &row[..heads * head_dim])
            .copied()
            .collect();
        testing::error(&ours, &twin(&attention, &qkv))
    }

    /// The definition, in f64.
    fn twin(attention: &Attention, qkv: &[f32]) -> Vec<f64> {
        let d = attention.head_dim;
        let Attention {
            q_heads, kv_heads, ..
        } = *attention;
        let mut all = Vec::new();
        for picture in 0..attention.pictures {
            for query in 0..attention.queries {
                for head in 0..attention.heads {
                    let from = |heads: Heads, base: usize, row: usize, head: usize| {
                        let at =
                            base + picture * heads.picture + row * heads.row + head * heads.head;
                        &qkv[at..at + d]
                    };
                    let kv_head = head / attention.group;
                    let q = from(q_heads, q_heads.base, query, head);
                    let end = if query + attention.hidden < attention.queries {
                        attention.keys - attention.hidden
                    } else {
                        attention.keys
                    };
                    let powers: Vec<f64> = (0..end)
                        .map(|key| {
                            let k = from(kv_heads, kv_heads.base, key, kv_head);
                            let dot = |(a, b): (&f32, &f32)| f64::from(*a) * f64::from(*b);
                            (q.iter().zip(k).map(dot).sum::<f64>() * attention.scale).exp()
                        })
                        .collect();
                    let sum: f64 = powers.iter().sum();
                    all.extend((0..d).map(|channel| {
                        let weighted = powers.iter().enumerate().map(|(key, power)| {
                            let v = from(kv_heads, attention.v_base, key, kv_head);
                            power * f64::from(v[channel])
                        });
                        weighted.sum::<f64>() / sum
                    }));
                }
            }
        }
        all
    }
}
