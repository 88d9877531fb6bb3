//! The language layers as a GPU flies them: the prefix laid out on the device, and keys and values left where the expert looks.

mod weights;

pub(super) use self::weights::check;
use self::weights::{LastWeights, LayerWeights};
use super::super::embedding::TokenTable;
use super::super::error::Result;
use super::super::prefix::{self, Source};
use super::super::rope;
use super::super::text::{self, HeadSizes};
use super::super::trace::Trace;
use super::tower::{Builder, Grown, Kernels, Linear, Loader, Program, Stream, View, step_of};
use crate::gpu::compute::{Buffer, Flow, Sequence, Slice};
use crate::gpu::kernels::attention::{Attention, Heads};
use crate::gpu::kernels::matmul::{Finish, Normed, Product};
use crate::gpu::kernels::prefix::{Assembly, Features};
use crate::policy::{Architecture, NetworkInput};

/// The layers that the expert looks at. Twin: `TextModel`.
#[derive(Debug)]
pub(super) struct PreparedVlm {
    architecture: Architecture,
    heads: HeadSizes,
    embed_tokens: TokenTable,
    state_weight: Buffer,
    state_bias: Buffer,
    layers: Vec<LayerWeights>,
    last: LastWeights,
    memory: Memory,
    plan: Option<Plan>,
}

#[derive(Debug, Default)]
struct Memory {
    sources: Grown,
    host_rows: Grown,
    state: Grown,
    rotation: Grown,
    x: Grown,
    stats: Grown,
    parts: Grown,
    q: Grown,
    kv: Grown,
    attended: Grown,
    inner: Grown,
}

/// What a plan was made for. The memory counts too: eyes and expert may have moved while a chunk failed, and a plan that reads
/// where they were would find an older chunk.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    rows: usize,
    features: Features,
    /// Where the last layer leaves its keys and values; they move all together.
    kv: Option<Slice>,
}

#[derive(Debug)]
struct Plan {
    key: Key,
    program: Program,
    sources: Slice,
    host_rows: Slice,
    state: Slice,
}

/// A prefix as the host lays it out.
#[derive(Debug)]
pub(super) struct Layout {
    host_rows: Vec<f32>,
    sources: Vec<u32>,
}

/// What the layers share while they run.
struct Room {
    q: Slice,
    /// Keys and values of a layer that the expert does not look at.
    kv: Slice,
    attended: Slice,
    inner: Slice,
    rotation: Slice,
}

impl Layout {
    /// Tokens of the prefix.
    pub(super) fn rows(&self) -> usize {
        self.sources.len()
    }
}

impl PreparedVlm {
    /// `served` is the last VLM layer that the expert looks at.
    ///
    /// # Errors
    /// A tensor that does not fit, sizes that the kernels do not take, or a device without room.
    pub(super) fn load(
        loader: &mut Loader<'_, '_>,
        architecture: &Architecture,
        served: usize,
    ) -> Result<Self> {
        let (a, width) = (architecture, architecture.hidden_size);
        let words = format!("{}.embed_tokens.weight", text::PREFIX);
        Ok(Self {
            heads: HeadSizes::new(a),
            layers: (0..served)
                .map(|i| LayerWeights::load(loader, a, i))
                .collect::<Result<_>>()?,
            last: LastWeights::load(loader, a, served)?,
            embed_tokens: TokenTable::load(loader.weights, &words, a.vocab_size, width)?,
            state_weight: loader.upload("model.state_proj.weight", &[width, a.max_state_dim])?,
            state_bias: loader.upload("model.state_proj.bias", &[width])?,
            memory: Memory::default(),
            plan: None,
            architecture: a.clone(),
        })
    }

    /// Lays out the only sample of `input`; `tokens` is how many a picture becomes.
    ///
    /// # Errors
    /// Token ids outside the vocabulary.
    pub(super) fn lay_out(&self, input: &NetworkInput, tokens: usize) -> Result<Layout> {
        use crate::gpu::kernels::prefix::Source as Row;
        let layout = prefix::lay_out(&self.architecture, &self.embed_tokens, input, tokens)?;
        let code = |source: &Source| match *source {
            Source::Feature(row) => Row::Feature(row).code(),
            Source::Host(row) => Row::Host(row).code(),
            Source::State(_) => Row::State.code(),
        };
        Ok(Layout {
            sources: layout.sources.iter().flatten().map(code).collect(),
            host_rows: layout.host_rows,
        })
    }

    /// Makes ready for a prefix of `rows` tokens. `kv` says where layer i leaves its keys and values. Does nothing when it is
    /// ready already.
    ///
    /// # Errors
    /// A device that refuses.
    pub(super) fn prepare(
        &mut self,
        kernels: &mut Kernels,
        rows: usize,
        features: &Features,
        kv: &dyn Fn(usize) -> Option<Slice>,
    ) -> Result<()> {
        let key = Key {
            rows,
            features: features.clone(),
            kv: kv(self.layers.len()),
        };
        if self.plan.as_ref().is_some_and(|plan| plan.key == key) {
            return Ok(());
        }
        self.plan = None;
        let plan = self.plan_for(kernels, key, kv)?;
        kernels.compute.settle(&mut |_| ())?;
        self.plan = Some(plan);
        Ok(())
    }

    /// The prepared launches, for an account of what they cost.
    pub(super) fn sequence(&self) -> Option<&Sequence> {
        self.plan.as_ref().map(|plan| plan.program.sequence())
    }

    /// Sends words, marks and state.
    pub(super) fn write(&self, kernels: &Kernels, layout: &Layout, state: &[f32]) {
        let Some(plan) = &self.plan else { return };
        let compute = &kernels.compute;
        compute.write(&plan.sources, &layout.sources);
        compute.write(&plan.host_rows, &layout.host_rows);
        compute.write(&plan.state, state);
    }

    pub(super) fn encode(&self, flow: &mut Flow<'_>) {
        if let Some(plan) = &self.plan {
            plan.program.encode(flow);
        }
    }

    /// Runs it in pieces and shows what is between them.
    ///
    /// # Errors
    /// The device is lost.
    pub(super) fn run_watched(&self, kernels: &Kernels, trace: &mut Trace) -> Result<()> {
        match &self.plan {
            Some(plan) => plan.program.run_watched(&kernels.compute, trace),
            None => Ok(()),
        }
    }

    fn plan_for(
        &mut self,
        kernels: &mut Kernels,
        key: Key,
        kv: &dyn Fn(usize) -> Option<Slice>,
    ) -> Result<Plan> {
        let compute = kernels.compute.clone();
        let (a, rows) = (&self.architecture, key.rows);
        let memory = &mut self.memory;
        // The zero row and the marks come before the words.
        let host_words = (rows + 3) * a.hidden_size;
        let sources = memory.sources.fit(&compute, "the prefix", rows)?;
        let host_rows = memory.host_rows.fit(&compute, "the prefix", host_words)?;
        let state = memory.state.fit(&compute, "the state", a.max_state_dim)?;
        let (mut stream, room) = self.room(&compute, rows)?;
        compute.write(&room.rotation, &rotation(rows, self.heads.head_dim));
        let mut builder = Builder::new(kernels);
        let assembly = Assembly {
            rows,
            width: stream.width,
            step: stream.step(),
            sources: sources.clone(),
            features: key.features.clone(),
            host_rows: host_rows.clone(),
            state: state.clone(),
            state_width: self.architecture.max_state_dim,
            weight: self.state_weight.whole(),
            bias: self.state_bias.whole(),
            x: stream.x.clone(),
        };
        builder.assemble("prefix.embs", &assembly)?;
        builder.see(stream.view("prefix.embs", 1));
        for i in 0..self.layers.len() {
            let kv = kv(i).unwrap_or_else(|| room.kv.clone());
            self.layer(&mut builder, i, &mut stream, &room, &kv)?;
        }
        let served = self.layers.len();
        let kv = kv(served).unwrap_or_else(|| room.kv.clone());
        self.last_layer(&mut builder, &mut stream, &room, &kv)?;
        Ok(Plan {
            key,
            program: builder.finish("prefix"),
            sources,
            host_rows,
            state,
        })
    }

    fn room(
        &mut self,
        compute: &crate::gpu::compute::Compute,
        rows: usize,
    ) -> Result<(Stream, Room)> {
        let (a, heads) = (&self.architecture, self.heads);
        let layers = self.layers.iter();
        let parts = layers
            .flat_map(|layer| [&layer.o_proj, &layer.down_proj])
            .map(|linear| linear.part_words(rows))
            .max()
            .unwrap_or(0);
        let memory = &mut self.memory;
        let fit = |grown: &mut Grown, words: usize| grown.fit(compute, "the prefix", words);
        let query_width = step_of(heads.query_width());
        let room = Room {
            q: fit(&mut memory.q, rows * query_width)?,
            kv: fit(&mut memory.kv, 2 * rows * heads.key_width())?,
            attended: fit(&mut memory.attended, rows * query_width)?,
            inner: fit(&mut memory.inner, rows * step_of(a.intermediate_size))?,
            rotation: fit(&mut memory.rotation, rows * heads.head_dim)?,
        };
        let x = fit(&mut memory.x, rows * step_of(a.hidden_size))?;
        let stats = fit(&mut memory.stats, 2 * rows)?;
        let parts = fit(&mut memory.parts, parts)?;
        Ok((Stream::new(x, rows, a.hidden_size, stats, parts), room))
    }

    fn layer(
        &self,
        builder: &mut Builder<'_>,
        i: usize,
        stream: &mut Stream,
        room: &Room,
        kv: &Slice,
    ) -> Result<()> {
        let layer = &self.layers[i];
        let at = |part: &str| format!("prefix.{i}.{part}");
        let inner_step = step_of(self.architecture.intermediate_size);
        let norm = builder.measure(at("norm1"), stream, &layer.input_layernorm)?;
        builder.see(stream.view(format!("prefill.vlm_layer_in.{i}"), 1));
        let queries = self.heads.queries;
        let qkv = self.rotated(&layer.qkv_proj, queries, norm, stream, room, kv);
        builder.product(at("qkv"), &qkv)?;
        self.see_keys_and_values(builder, i, stream.rows, kv);
        builder.attend(at("attention"), &self.attention(stream.rows, room, kv))?;
        builder.add(at("o"), &layer.o_proj, &room.attended, stream)?;
        let norm = builder.measure(at("norm2"), stream, &layer.post_attention_layernorm)?;
        let gate_up = Product {
            norm: Some(norm),
            finish: Finish::Gate,
            ..layer
                .gate_up_proj
                .after(&stream.x, stream.rows, &room.inner, inner_step)
        };
        builder.product(at("gate_up"), &gate_up)?;
        builder.add(at("down"), &layer.down_proj, &room.inner, stream)
    }

    fn last_layer(
        &self,
        builder: &mut Builder<'_>,
        stream: &mut Stream,
        room: &Room,
        kv: &Slice,
    ) -> Result<()> {
        let i = self.layers.len();
        let label = format!("prefix.{i}.norm1");
        let norm = builder.measure(label, stream, &self.last.input_layernorm)?;
        builder.see(stream.view(format!("prefill.vlm_layer_in.{i}"), 1));
        let product = self.rotated(&self.last.kv_proj, 0, norm, stream, room, kv);
        builder.product(format!("prefix.{i}.kv"), &product)?;
        self.see_keys_and_values(builder, i, stream.rows, kv);
        Ok(())
    }

    /// The product that makes `queries` query heads and all keys and values, rotates them and puts them where they belong.
    fn rotated<'a>(
        &self,
        linear: &'a Linear,
        queries: usize,
        norm: Normed,
        stream: &Stream,
        room: &Room,
        kv: &Slice,
    ) -> Product<'a> {
        let half_head = self.heads.head_dim / 2;
        Product {
            norm: Some(norm),
            finish: Finish::Rotate {
                query_pairs: queries * half_head,
                key_pairs: self.heads.keys * half_head,
                half_head,
            },
            table: Some(room.rotation.clone()),
            kv: Some(kv.clone()),
            ..linear.after(
                &stream.x,
                stream.rows,
                &room.q,
                step_of(self.heads.query_width()),
            )
        }
    }

    fn attention(&self, rows: usize, room: &Room, kv: &Slice) -> Attention {
        let HeadSizes {
            queries,
            keys,
            head_dim,
        } = self.heads;
        let row = step_of(queries * head_dim);
        Attention {
            pictures: 1,
            heads: queries,
            group: queries / keys,
            head_dim,
            queries: rows,
            keys: rows,
            // The state is the last token: it sees everything, and only it sees itself.
            hidden: 1,
            scale: 1.0 / (head_dim as f64).sqrt(),
            q: room.q.clone(),
            q_heads: Heads {
                row,
                head: head_dim,
                ..Heads::default()
            },
            k: kv.clone(),
            v: kv.clone(),
            kv_heads: Heads {
                row: head_dim,
                head: rows * head_dim,
                ..Heads::default()
            },
            v_base: keys * rows * head_dim,
            out: room.attended.clone(),
            out_row: row,
        }
    }

    fn see_keys_and_values(&self, builder: &mut Builder<'_>, i: usize, rows: usize, kv: &Slice) {
        let (heads, head_dim) = (self.heads.keys, self.heads.head_dim);
        let shape = vec![1, heads, rows, head_dim];
        for (name, base) in [("k", 0), ("v", heads * rows * head_dim)] {
            let name = format!("prefill.{name}.{i}");
            builder.see(View::rows(name, shape.clone(), &kv.rest(base), head_dim));
        }
    }
}

/// Cosine and sine of each position and pair of channels.
fn rotation(rows: usize, head_dim: usize) -> Vec<f32> {
    let pairs = (0..rows).flat_map(|row| (0..head_dim / 2).map(move |j| (row as i64, j)));
    pairs
        .map(|(position, j)| rope::angle(position, j, head_dim))
        .flat_map(|angle| [angle.cos() as f32, angle.sin() as f32])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_zero_turns_nothing() {
        let table = rotation(2, 4);
        assert_eq!(table[..4], [1.0, 0.0, 1.0, 0.0]);
        assert!((f64::from(table[4]) - 1f64.cos()).abs() < 1e-7);
        assert!((f64::from(table[7]) - 0.01f64.sin()).abs() < 1e-7);
    }
}
