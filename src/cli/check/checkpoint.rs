//! The checkpoint's part of `check`: what it needs, what it costs, and whether it can drive this setup.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::probe::Speed;
use super::units::{Range, doubts, ranges};
use super::verdict::{Verdict, seconds};
use crate::cli::cost::{ChunkCost, Load, USUAL_WORDS, Way, chunk_cost};
use crate::gpu::compute::Format;
use crate::policy::tensor_table::tensor_table;
use crate::policy::{Architecture, Inspected};
use crate::runtime::ViewBinding;

/// What `check --policy P --json` prints under `policy`.
#[derive(Debug, Serialize)]
pub struct Doctor {
    pub name: String,
    pub directory: String,
    pub views: Vec<ViewLine>,
    pub state_dim: usize,
    pub action_dim: usize,
    pub chunk_size: usize,
    pub n_action_steps: usize,
    pub num_steps: usize,
    pub vlm_layers: usize,
    pub expert_layers: usize,
    pub parameters: u64,
    /// Ranges that the statistics speak of, robot units; empty when values are not normalised.
    pub state: Vec<Range>,
    pub action: Vec<Range>,
    pub warnings: Vec<String>,
    pub memory: Memory,
    pub cost: CostLine,
    pub latency: Option<Latency>,
    pub verdict: Option<Verdict>,
}

/// A view and the camera that would feed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViewLine {
    pub view: String,
    pub camera: Option<String>,
}

/// Bytes that a device must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// All weights but the token table, which stays in the file.
    pub weights_bytes: u64,
    /// The largest intermediate values: attention scores and the wide layer of one camera's tower.
    pub activations_bytes: u64,
}

/// Work of a chunk with every view, and what each knob of the checkpoint costs of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostLine {
    #[serde(flatten)]
    pub chunk: ChunkCost,
    /// 2·MAC that one more camera, one more Euler step and one more VLM layer cost.
    pub flops_a_view: u64,
    pub flops_a_step: u64,
    pub flops_a_layer: u64,
}

/// How long a chunk takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    pub seconds: f64,
    /// Measured on the loaded network; otherwise computed from the device's speed.
    pub measured: bool,
}

impl Doctor {
    /// Everything that can be said without the device.
    pub fn of(inspected: &Inspected, names: &[String], bindings: &[ViewBinding]) -> Self {
        let (spec, sizes) = (&inspected.spec, &inspected.architecture);
        let state = ranges(&inspected.normalization.state, names);
        let action = ranges(&inspected.normalization.action, names);
        let mut warnings = spec.warnings.clone();
        if spec.state_dim == names.len() {
            warnings.extend(doubts("observation.state", &state));
        }
        warnings.extend(doubts("action", &action));
        Self {
            name: spec.name.clone(),
            directory: inspected.directory.display().to_string(),
            views: bindings.iter().map(view_line).collect(),
            state_dim: spec.state_dim,
            action_dim: spec.action_dim,
            chunk_size: spec.chunk_size,
            n_action_steps: spec.n_action_steps,
            num_steps: spec.num_steps,
            vlm_layers: spec.vlm_layers,
            expert_layers: spec.expert_layers,
            parameters: spec.parameters,
            state,
            action,
            warnings,
            memory: memory(sizes, edge(inspected)),
            cost: cost(sizes, load(inspected, bindings)),
            latency: None,
            verdict: None,
        }
    }

    /// The time of a chunk foretold from the device's speed.
    pub fn foretold(&self, speed: Speed) -> Latency {
        Latency {
            seconds: speed.seconds(&self.cost.chunk),
            measured: false,
        }
    }

    /// The report for people.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\npolicy     {} ({})", self.name, self.directory)?;
        for view in &self.views {
            let camera = view.camera.as_deref().unwrap_or("no camera");
            writeln!(out, "view       {} from {camera}", view.view)?;
        }
        writeln!(
            out,
            "sizes      {} state values, {} joints a step, chunks of {} steps, of which its config executes {}",
            self.state_dim, self.action_dim, self.chunk_size, self.n_action_steps
        )?;
        writeln!(
            out,
            "network    {} VLM layers, {} expert layers, {} steps, {:.1} M parameters",
            self.vlm_layers,
            self.expert_layers,
            self.num_steps,
            self.parameters as f64 / 1e6
        )?;
        print_ranges(out, "state", &self.state)?;
        print_ranges(out, "action", &self.action)?;
        self.print_cost(out)?;
        for warning in &self.warnings {
            writeln!(out, "warning    {warning}")?;
        }
        let words = self.verdict.iter().flat_map(|verdict| &verdict.words);
        for (at, sentence) in words.enumerate() {
            let label = if at == 0 {
                "\nverdict   "
            } else {
                "          "
            };
            writeln!(out, "{label} {sentence}")?;
        }
        Ok(())
    }

    fn print_cost(&self, out: &mut dyn Write) -> io::Result<()> {
        let giga = |flops: u64| flops as f64 / 1e9;
        let mebi = |bytes: u64| bytes.div_ceil(1 << 20);
        let chunk = self.cost.chunk;
        writeln!(
            out,
            "cost       {:.2} GFLOP a chunk: vision {:.2}, prefix {:.2}, denoise {:.2}",
            giga(chunk.total().flops),
            giga(chunk.vision.flops),
            giga(chunk.prefix.flops),
            giga(chunk.denoise.flops)
        )?;
        writeln!(
            out,
            "           one view {:.2}, one step {:.2}, one VLM layer {:.2} GFLOP",
            giga(self.cost.flops_a_view),
            giga(self.cost.flops_a_step),
            giga(self.cost.flops_a_layer)
        )?;
        writeln!(
            out,
            "memory     {} MiB of weights, about {} MiB more while it computes",
            mebi(self.memory.weights_bytes),
            mebi(self.memory.activations_bytes)
        )?;
        if let Some(latency) = self.latency {
            let how = if latency.measured {
                "measured"
            } else {
                "estimated"
            };
            writeln!(
                out,
                "latency    {} a chunk ({how})",
                seconds(latency.seconds)
            )?;
        }
        Ok(())
    }
}

fn print_ranges(out: &mut dyn Write, what: &str, ranges: &[Range]) -> io::Result<()> {
    if ranges.is_empty() {
        return Ok(());
    }
    let ranges: Vec<_> = ranges
        .iter()
        .map(|range| {
            let name = range.name.trim_end_matches(".pos");
            let digits = usize::from(range.high - range.low < 10.0);
            format!("{name} {:.digits$}…{:.digits$}", range.low, range.high)
        })
        .collect();
    writeln!(out, "{what:<10} {}", ranges.join(", "))
}

fn view_line(binding: &ViewBinding) -> ViewLine {
    ViewLine {
        view: binding.view.clone(),
        camera: binding.camera.clone(),
    }
}

/// Edge of the pictures as the network gets them, pixels.
fn edge(inspected: &Inspected) -> usize {
    let own = inspected.architecture.vision.image_size;
    inspected
        .config
        .resize_imgs_with_padding
        .map_or(own, |(edge, _)| edge)
}

/// A chunk with every view that has a camera; with none bound, with every view.
fn load(inspected: &Inspected, bindings: &[ViewBinding]) -> Load {
    let bound = bindings
        .iter()
        .filter(|binding| binding.camera.is_some())
        .count();
    Load {
        images: if bound == 0 { bindings.len() } else { bound },
        image_edge: edge(inspected),
        language_tokens: USUAL_WORDS,
        steps: inspected.spec.num_steps,
        way: Way::Burn,
        weights: Format::F32,
    }
}

fn cost(sizes: &Architecture, load: Load) -> CostLine {
    let flops = |sizes: &Architecture, load: Load| chunk_cost(sizes, load).total().flops;
    let here = flops(sizes, load);
    let more_views = Load {
        images: load.images + 1,
        ..load
    };
    let more_steps = Load {
        steps: load.steps + 1,
        ..load
    };
    let deeper = Architecture {
        num_vlm_layers: sizes.num_vlm_layers * 2,
        num_expert_layers: sizes.num_expert_layers * 2,
        ..sizes.clone()
    };
    CostLine {
        chunk: chunk_cost(sizes, load),
        flops_a_view: flops(sizes, more_views) - here,
        flops_a_step: flops(sizes, more_steps) - here,
        // Twice as deep keeps the pattern of self- and cross-attention.
        flops_a_layer: (flops(&deeper, load) - here) / sizes.num_vlm_layers.max(1) as u64,
    }
}

fn memory(sizes: &Architecture, edge: usize) -> Memory {
    let weights: usize = tensor_table(sizes)
        .iter()
        .filter(|tensor| tensor.read && !tensor.name.ends_with("embed_tokens.weight"))
        .map(|tensor| tensor.shape.iter().product::<usize>())
        .sum();
    let tower = &sizes.vision;
    let patches = (edge / tower.patch_size.max(1)).pow(2);
    let scores = tower.num_heads * patches * patches;
    let wide = 2 * patches * tower.intermediate_size;
    Memory {
        weights_bytes: 4 * weights as u64,
        activations_bytes: 4 * (2 * scores + wide) as u64,
    }
}

impl Latency {
    /// A time that was measured.
    pub fn measured(time: Duration) -> Self {
        Self {
            seconds: time.as_secs_f64(),
            measured: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::cost::tests::three_cameras;
    use crate::policy::geometry::smolvla_base;

    #[test]
    fn the_published_model_needs_what_the_reference_counts() {
        let memory = memory(&smolvla_base(), 512);
        // 450.0 M parameters without the token table, lm_head and the unused norm: 1421.7 MB; the last VLM layer's unread
        // part (32.0 MB) is not loaded either.
        let megabytes = memory.weights_bytes as f64 / 1e6;
        assert!((1380.0..1425.0).contains(&megabytes), "{megabytes}");
        // Two copies of the scores of twelve heads, 1024 x 1024.
        assert!(memory.activations_bytes > 2 * 12 * (1 << 20) * 4);
    }

    #[test]
    fn each_knob_has_its_price() {
        let line = cost(&smolvla_base(), three_cameras());
        let giga = |flops: u64| flops as f64 / 1e9;
        // A step is 10.636 GFLOP without 0.051 for a time that is the same for all actions; a view is its tower, its 64 tokens in the prefix, and what the expert sees of them.
        assert!((giga(line.flops_a_step) - 10.585).abs() < 0.001, "{line:?}");
        assert!(
            (235.0..245.0).contains(&giga(line.flops_a_view)),
            "{line:?}"
        );
        // A VLM layer (4.96 GFLOP) and the expert layer beside it, ten times.
        assert!((10.0..13.0).contains(&giga(line.flops_a_layer)), "{line:?}");
    }
}
