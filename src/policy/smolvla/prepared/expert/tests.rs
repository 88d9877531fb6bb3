//! What ten steps cost the host: counts that must hold, and times to look at.

#![expect(clippy::print_stdout, reason = "errors and times are meant to be read")]

mod full;

use burn::tensor::Device;

use super::*;
use crate::gpu::compute::Format;
use crate::gpu::kernels::testing;
use crate::policy::TensorSource;
use crate::policy::geometry::smolvla_base;
use crate::policy::seeded::{Precision, Seeded};
use crate::policy::smolvla::prepared::weights::Widths;
use crate::policy::smolvla::tiny;
use crate::policy::smolvla::weights::Weights;

const PREFIX: usize = 241;
const STEPS: usize = 10;

fn load(compute: &Compute, architecture: &Architecture, format: Format) -> PreparedExpert {
    let source = Seeded::new(architecture, 7, Precision::F32);
    load_from(compute, &source, architecture, format)
}

fn load_from(
    compute: &Compute,
    source: &dyn TensorSource,
    architecture: &Architecture,
    format: Format,
) -> PreparedExpert {
    let (device, progress) = (Device::flex(), &mut |_| ());
    let mut weights = Weights::new(source, &device, progress);
    let mut packer = Packer {
        weights: &mut weights,
        compute,
        format,
        widths: Widths::Fitting,
    };
    let plan = Plan::new(architecture).unwrap();
    PreparedExpert::load(&mut packer, architecture, plan).unwrap()
}

/// As many layers and actions as the 450M model has, at a width that computes nothing to speak of.
fn deep() -> Architecture {
    Architecture {
        num_vlm_layers: 16,
        num_expert_layers: 16,
        expert_hidden_size: 48,
        chunk_size: 50,
        num_steps: STEPS,
        ..tiny::architecture()
    }
}

#[test]
fn a_longer_prefix_grows_memory_once_and_a_shorter_one_never() {
    // Counts of its own: other tests run at the same time.
    let Some(setup) = testing::opened().and_then(|opened| opened.setup) else {
        return;
    };
    let compute = Compute::new(&setup);
    let mut expert = load(&compute, &deep(), Format::F32);
    expert.prepare(70, 3).unwrap();
    let made = |expert: &mut PreparedExpert, tokens: usize, steps: usize| {
        let before = compute.counts();
        expert.prepare(tokens, steps).unwrap();
        compute.counts().since(&before)
    };
    let nothing = crate::gpu::compute::Counts::default();
    assert_eq!(
        made(&mut expert, 70, 3),
        nothing,
        "the same is planned anew"
    );
    // Three tables and the uniforms of other lengths, but no room for keys and values.
    let layers = expert.layers() as u64;
    let again = made(&mut expert, 128, 3);
    assert!(again.buffers < layers && again.pipelines == 0, "{again:?}");
    let longer = made(&mut expert, 129, 3);
    assert!(longer.buffers >= layers, "{longer:?}");
    let shorter = made(&mut expert, 5, 3);
    assert!(shorter.buffers < layers, "{shorter:?}");
    assert!(expert.prepare(70, 0).is_err() && expert.prepare(70, 51).is_err());
}

/// `cargo test --release host_time -- --ignored --nocapture`: encode and submit ten steps, as the 450M model has them and at
/// a tiny width. A look, no verdict: clocks of shared machines differ.
#[test]
#[ignore = "prints times, and the 450M model takes a while on a software adapter"]
fn host_time_of_ten_steps() {
    let Some(compute) = testing::compute() else {
        return;
    };
    for (name, architecture, runs) in [("tiny width", deep(), 21), ("450M", smolvla_base(), 5)] {
        let mut expert = load(&compute, &architecture, Format::F16);
        expert.prepare(PREFIX, STEPS).unwrap();
        let noise = vec![0.5; architecture.chunk_size * architecture.max_action_dim];
        let mut hosts = Vec::new();
        let mut walls = Vec::new();
        for _ in 0..=runs {
            let start = Instant::now();
            let done = expert.denoise(&noise, None, &mut Trace::off()).unwrap();
            walls.push(start.elapsed());
            hosts.push(done.host);
        }
        let launches = expert.sequence().unwrap().launches();
        let median = |times: &mut Vec<Duration>| {
            times.remove(0);
            times.sort();
            times[times.len() / 2]
        };
        let (host, wall) = (median(&mut hosts), median(&mut walls));
        println!(
            "{name}: {launches} launches, host {host:.2?} (least {:.2?}), whole {wall:.1?}",
            hosts[0]
        );
    }
}
