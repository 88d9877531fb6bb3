//! The launches of all steps for one geometry, in order, and what they are told before each chunk.

use super::PreparedExpert;
use super::memory::rotary_table;
use crate::gpu::compute::{Buffer, Dispatch, Sequence, Slice, Stage};
use crate::gpu::kernels::attention_suffix::{Parts, Shape};
use crate::gpu::kernels::skinny::{Epilogue, Product, Sizes, TILE, from_tiles, to_tiles};
use crate::policy::RtcGuidance;
use crate::policy::rtc;
use crate::policy::smolvla::error::{NetworkError, Result};
use crate::policy::smolvla::expert::Kind;
use crate::policy::smolvla::flow::EulerSteps;
use crate::policy::smolvla::suffix::sinusoid;
use crate::policy::smolvla::text::HeadSizes;
use crate::policy::smolvla::trace::Trace;

/// Launches of an expert layer.
pub(in super::super) const LAYER_LAUNCHES: usize = 5;
/// Launches of a step before its layers, and after them.
const SUFFIX_LAUNCHES: usize = 2;
const OUT_LAUNCHES: usize = 1;

/// What the launches depend on; others are planned when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) prefix: usize,
    pub(super) num_steps: usize,
}

/// The sequence of one geometry.
#[derive(Debug)]
pub(super) struct Steps {
    geometry: Geometry,
    sequence: Sequence,
    /// `[step]` of (time, guidance weight), `[row]` weights, target in tiles.
    guide: Buffer,
    /// Whether the guide holds a guidance.
    guided: bool,
    times: Vec<f32>,
}

impl Steps {
    pub(super) fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub(super) fn sequence(&self) -> &Sequence {
        &self.sequence
    }
}

/// Buffers that the launches of one geometry share.
struct Shared {
    self_rope: Slice,
    cross_rope: Slice,
    guide: Slice,
    time_biases: Vec<Slice>,
}

impl PreparedExpert {
    pub(super) fn plan_steps(&mut self, geometry: Geometry, euler: &EulerSteps) -> Result<Steps> {
        let unguided = self.unguided(&euler.times);
        let compute = self.compute.clone();
        let (table, times) = (
            rotary_table(
                geometry.prefix,
                self.architecture.chunk_size,
                self.architecture.head_dim,
            ),
            self.time_biases(&euler.times),
        );
        let stride = times.len() / euler.times.len();
        let (rope, guide, times) = compute.checked("memory for the Euler steps", || {
            (
                compute.upload("rotary table", &table),
                compute.upload("guidance", &unguided),
                compute.upload("time biases", &times),
            )
        })?;
        let shared = Shared {
            self_rope: rope.whole(),
            cross_rope: self.memory.cross_rope.whole(),
            guide: guide.whole(),
            time_biases: (0..euler.times.len())
                .map(|step| times.slice(step * stride, stride))
                .collect(),
        };
        let stages = vec![
            Stage {
                name: "cross keys and values",
                dispatches: self.cross_projections(geometry)?,
            },
            Stage {
                name: "denoise",
                dispatches: self.all_steps(geometry, &shared)?,
            },
        ];
        Ok(Steps {
            geometry,
            sequence: Sequence::new(&compute, stages, true),
            guide,
            guided: false,
            times: euler.times.clone(),
        })
    }

    /// One affine table a step, each padded to where a binding may begin.
    fn time_biases(&self, times: &[f32]) -> Vec<f32> {
        let a = &self.architecture;
        let suffix = &self.weights.suffix;
        let stride = (2 * a.expert_hidden_size).next_multiple_of(64);
        let periods = (a.min_period, a.max_period);
        let mut table = Vec::with_capacity(stride * times.len());
        for &time in times {
            let bias = suffix.time_bias(&sinusoid(time, a.expert_hidden_size, periods));
            table.extend(suffix.action_in.affine(&bias).as_flattened());
            table.resize(table.len().next_multiple_of(stride), 0.0);
        }
        table
    }

    fn cross_projections(&mut self, geometry: Geometry) -> Result<Vec<Dispatch>> {
        let Some(memory) = &self.prefix else {
            return Ok(Vec::new());
        };
        let heads = HeadSizes::new(&self.architecture);
        let mut launches = Vec::new();
        for (j, layer) in self.weights.layers.iter().enumerate() {
            let Some(weight) = &layer.cross else { continue };
            let product = Product {
                epilogue: Epilogue::Heads,
                weight,
                affine: None,
                x: memory.vlm_leaves(&self.architecture, j, geometry.prefix),
                squares: None,
                aside: None,
                y: memory.seen(&self.architecture, j, geometry.prefix),
                z: None,
                sizes: Sizes {
                    rows: geometry.prefix as u32,
                    head_dim: heads.head_dim as u32,
                    half_outputs: heads.key_width() as u32,
                    ..Sizes::default()
                },
            };
            launches.push(
                self.skinny
                    .dispatch(format!("expert.{j}.cross_kv"), &product)?,
            );
        }
        Ok(launches)
    }

    /// Layers are bound once: every step launches the same, under names of its own.
    fn all_steps(&mut self, geometry: Geometry, shared: &Shared) -> Result<Vec<Dispatch>> {
        let mut layers = Vec::new();
        let mut parts = self.weights.suffix.mlp_out.parts();
        for j in 0..self.layers() {
            layers.extend(self.layer(j, geometry, shared, parts)?);
            parts = self.weights.layers[j].down.parts();
        }
        let mut all = Vec::new();
        for step in 0..geometry.num_steps {
            all.extend(self.suffix_launches(step, shared)?);
            all.extend(layers.iter().cloned());
            all.push(self.out_launch(step, geometry.num_steps, shared, parts)?);
        }
        Ok(all)
    }

    fn suffix_launches(&mut self, step: usize, shared: &Shared) -> Result<[Dispatch; 2]> {
        let (weights, memory) = (&self.weights.suffix, &self.memory);
        let sizes = Sizes {
            rows: self.architecture.chunk_size as u32,
            ..Sizes::default()
        };
        let first = Product {
            epilogue: Epilogue::Silu,
            weight: &weights.action_in,
            affine: Some(shared.time_biases[step].clone()),
            x: memory.x_t.whole(),
            squares: None,
            aside: None,
            y: memory.embedded.whole(),
            z: None,
            sizes,
        };
        let second = Product {
            epilogue: Epilogue::Plain,
            weight: &weights.mlp_out,
            affine: None,
            x: memory.embedded.whole(),
            y: memory.hidden.whole(),
            z: Some(memory.squares.whole()),
            ..first.clone()
        };
        Ok([
            self.skinny.dispatch("suffix.action_time_mlp_in", &first)?,
            self.skinny
                .dispatch("suffix.action_time_mlp_out", &second)?,
        ])
    }

    fn layer(
        &mut self,
        j: usize,
        geometry: Geometry,
        shared: &Shared,
        parts: usize,
    ) -> Result<Vec<Dispatch>> {
        let causal = self.kind(j) == Kind::SelfAttention;
        let (layer, memory) = (&self.weights.layers[j], &self.memory);
        let heads = HeadSizes::new(&self.architecture);
        let normed = |parts: usize| normed(&self.architecture, parts);
        let qkv = Product {
            epilogue: Epilogue::Rotary,
            weight: &layer.qkv,
            affine: None,
            x: memory.hidden.whole(),
            squares: Some(memory.squares.whole()),
            aside: Some(if causal {
                shared.self_rope.clone()
            } else {
                shared.cross_rope.clone()
            }),
            y: memory.queries.whole(),
            z: Some(memory.own.whole()),
            sizes: Sizes {
                head_dim: heads.head_dim as u32,
                query_heads: heads.queries as u32,
                rotated_heads: (heads.queries + if causal { heads.keys } else { 0 }) as u32,
                ..normed(parts)
            },
        };
        let gate_up = Product {
            epilogue: Epilogue::Gate,
            weight: &layer.gate_up,
            aside: None,
            y: memory.gated.whole(),
            z: None,
            sizes: normed(layer.o.parts()),
            ..qkv.clone()
        };
        let o = Product {
            epilogue: Epilogue::Add,
            weight: &layer.o,
            x: memory.attended.whole(),
            squares: None,
            y: memory.hidden.whole(),
            z: Some(memory.squares.whole()),
            sizes: normed(0),
            ..gate_up.clone()
        };
        let down = Product {
            weight: &layer.down,
            x: memory.gated.whole(),
            ..o.clone()
        };
        let at = |part: &str| format!("expert.{j}.{part}");
        let [before, after] = [
            [("qkv", qkv)].as_slice(),
            &[("o", o), ("gate_up", gate_up), ("down", down)],
        ]
        .map(|products| {
            let launches = products.iter();
            launches
                .map(|(part, product)| self.skinny.dispatch(at(part), product))
                .collect::<Result<Vec<_>, _>>()
        });
        let attention = self.look(j, geometry, causal);
        Ok([before?, vec![attention], after?].concat())
    }

    /// The attention of layer `j`.
    fn look(&mut self, j: usize, geometry: Geometry, causal: bool) -> Dispatch {
        let (memory, heads) = (&self.memory, HeadSizes::new(&self.architecture));
        let shape = Shape {
            prefix: geometry.prefix,
            causal,
            chunk: self.architecture.chunk_size,
            query_heads: heads.queries,
            key_heads: heads.keys,
            head_dim: heads.head_dim,
        };
        let seen = self
            .prefix
            .as_ref()
            .map(|prefix| prefix.seen(&self.architecture, j, geometry.prefix));
        let parts = Parts {
            queries: memory.queries.whole(),
            seen: seen.unwrap_or_else(|| memory.own.whole()),
            own: memory.own.whole(),
            y: memory.attended.whole(),
        };
        let label = format!("expert.{j}.attention");
        self.attention.dispatch(label, &shape, &parts)
    }

    fn out_launch(
        &mut self,
        step: usize,
        steps: usize,
        shared: &Shared,
        parts: usize,
    ) -> Result<Dispatch> {
        let memory = &self.memory;
        let product = Product {
            epilogue: Epilogue::Euler,
            weight: &self.weights.action_out,
            affine: None,
            x: memory.hidden.whole(),
            squares: Some(memory.squares.whole()),
            aside: Some(shared.guide.clone()),
            y: memory.x_t.whole(),
            z: Some(memory.velocity.whole()),
            sizes: Sizes {
                step: step as u32,
                steps: steps as u32,
                ..normed(&self.architecture, parts)
            },
        };
        Ok(self.skinny.dispatch("action_out_proj", &product)?)
    }

    /// The guide of steps that nothing guides.
    fn unguided(&self, times: &[f32]) -> Vec<f32> {
        let a = &self.architecture;
        let tiles = a.chunk_size.div_ceil(TILE) * TILE;
        let mut guide: Vec<f32> = times.iter().flat_map(|&time| [time, 0.0]).collect();
        let target = vec![0.0; a.chunk_size * a.max_action_dim];
        guide.resize(guide.len() + tiles, 0.0);
        guide.extend(to_tiles(&target, a.max_action_dim));
        guide
    }

    /// Tells the device where the steps shall go, if anywhere. Mirrors `Guide` in `flow.rs`.
    pub(super) fn guide(&mut self, guidance: Option<&RtcGuidance>) -> Result<()> {
        let (chunk, width) = (
            self.architecture.chunk_size,
            self.architecture.max_action_dim,
        );
        let guidance = guidance.filter(|guidance| !guidance.left_over.is_empty());
        let Some(steps) = &self.steps else {
            return Ok(());
        };
        if guidance.is_none() && !steps.guided {
            return Ok(());
        }
        let times = &steps.times;
        let mut guide = self.unguided(times);
        if let Some(guidance) = guidance {
            let target = guidance
                .padded_target(chunk, width)
                .map_err(NetworkError::Input)?;
            let horizon = guidance.execution_horizon.min(guidance.left_over.len());
            let weights = rtc::weights(guidance.schedule, guidance.inference_delay, horizon, chunk);
            for (step, &time) in times.iter().enumerate() {
                guide[2 * step + 1] = rtc::guidance_weight(time, guidance.max_guidance_weight);
            }
            let from = 2 * times.len();
            guide[from..from + chunk].copy_from_slice(&weights);
            let from = from + chunk.div_ceil(TILE) * TILE;
            guide.truncate(from);
            guide.extend(to_tiles(&target, width));
        }
        self.compute.write(&steps.guide.whole(), &guide);
        if let Some(steps) = &mut self.steps {
            steps.guided = guidance.is_some();
        }
        Ok(())
    }

    /// Runs launch by launch and shows what each stage left.
    pub(super) fn run_watched(&self, trace: &mut Trace) -> Result<()> {
        let Some(steps) = &self.steps else {
            return Ok(());
        };
        let [cross, all] = steps.sequence.stages() else {
            return Ok(());
        };
        self.launch(&cross.dispatches);
        let memory = &self.memory;
        let (a, layers) = (&self.architecture, self.layers());
        let (wide, narrow) = (a.expert_hidden_size, a.max_action_dim);
        let a_step = SUFFIX_LAUNCHES + layers * LAYER_LAUNCHES + OUT_LAUNCHES;
        for (step, launches) in all.dispatches.chunks_exact(a_step).enumerate() {
            let at = |part: &str| format!("denoise.{step}.{part}");
            self.see(trace, at("x_t"), &memory.x_t, narrow)?;
            let (suffix, rest) = launches.split_at(SUFFIX_LAUNCHES);
            self.launch(suffix);
            self.see(trace, at("suffix_embs"), &memory.hidden, wide)?;
            let (of_layers, out) = rest.split_at(layers * LAYER_LAUNCHES);
            for (j, layer) in of_layers.chunks_exact(LAYER_LAUNCHES).enumerate() {
                let name = at(&format!("expert_layer_in.{j}"));
                self.see(trace, name, &memory.hidden, wide)?;
                self.launch(layer);
            }
            self.see(trace, at("expert_norm_in"), &memory.hidden, wide)?;
            self.launch(out);
            self.see(trace, at("v_t"), &memory.velocity, narrow)?;
        }
        Ok(())
    }

    fn launch(&self, launches: &[Dispatch]) {
        let mut flow = self.compute.flow();
        flow.pass("watched", launches, None);
        flow.submit();
    }

    fn see(&self, trace: &mut Trace, name: String, tiles: &Buffer, width: usize) -> Result<()> {
        let rows = self.architecture.chunk_size;
        let read = || {
            let values = self.compute.read(&tiles.whole())?;
            Ok(from_tiles(&values, rows, width))
        };
        trace.see_values(|| name, &[1, rows, width], read)
    }
}

/// Sizes of a product over the residual stream; `parts` partial sums of squares, or none where it is not normalised.
fn normed(architecture: &crate::policy::Architecture, parts: usize) -> Sizes {
    Sizes {
        rows: architecture.chunk_size as u32,
        parts: parts as u32,
        share: 1.0 / architecture.expert_hidden_size as f32,
        eps: architecture.rms_norm_eps as f32,
        ..Sizes::default()
    }
}
