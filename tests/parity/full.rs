//! The 450M network, whole: against the reference where its tensors are at hand, and timed.
//!
//! Its weights are a function of the seed, so only the reference's 2.4 MB of answers are needed:
//! `SMOLPILOT_FULL_GOLDEN=…/full_golden.safetensors cargo test --release --test parity full -- --ignored --nocapture`
//! on the device named in `SMOLPILOT_TEST_DEVICE` (flex).

use std::time::Instant;

use smolpilot::gpu::{self, DeviceChoice};
use smolpilot::policy::geometry::smolvla_base;
use smolpilot::policy::processor::{Planes, resize_with_pad};
use smolpilot::policy::seeded::{Precision, Seeded};
use smolpilot::policy::smolvla::{SmolVla, Trace};
use smolpilot::policy::{ImageInput, NetworkInput};

use crate::reference::File;
use crate::report::Report;
use crate::stages::cut;
use crate::{ACTIONS, STAGES};

const EDGE: usize = 512;

#[test]
#[ignore = "needs 4 GB, half a minute and the reference's answers in SMOLPILOT_FULL_GOLDEN"]
fn the_full_network_matches_the_reference() {
    let golden = File::at(std::env::var("SMOLPILOT_FULL_GOLDEN").unwrap());
    let wish: DeviceChoice = std::env::var("SMOLPILOT_TEST_DEVICE")
        .map_or(DeviceChoice::Flex, |wish| wish.parse().unwrap());
    let opened = gpu::open(wish).unwrap();
    let start = Instant::now();
    let architecture = smolvla_base();
    let source = Seeded::new(&architecture, 2026, Precision::Published);
    let network = SmolVla::load(&architecture, &source, &opened.device, &mut |_| ()).unwrap();
    println!(
        "{}: {} parameters made and loaded in {:.1?}",
        opened.summary(),
        network.parameters(),
        start.elapsed()
    );

    let input = input(&golden);
    let mut report = Report::new(format!("full network on {}", opened.summary()));
    let mut trace = Trace::on();
    let steps = architecture.num_steps;
    let sample = network
        .sample_actions(&input, steps, None, &mut trace)
        .unwrap();
    for stage in trace.into_stages() {
        if golden.has(&stage.name) {
            report.compare(
                &stage.name,
                &stage.values,
                &golden.get(&stage.name).values,
                STAGES,
            );
        }
    }
    let ours = cut(&sample.actions, architecture.max_action_dim, 6);
    report.compare(
        "out.actions",
        &ours,
        &golden.get("out.actions").values,
        ACTIONS,
    );
    let runs = std::env::var("SMOLPILOT_RUNS").map_or(3, |runs| runs.parse().unwrap());
    for _ in 0..runs {
        let work = || {
            network
                .sample_actions(&input, steps, None, &mut Trace::off())
                .unwrap()
        };
        let (sample, launches) = gpu::count_launches(work);
        println!(
            "vision {:.3?}, prefix {:.3?}, denoise {:.3?}, {} kernels",
            sample.vision, sample.prefix, sample.denoise, launches.total
        );
    }
    println!("memory {:?}", gpu::memory(&opened.device));
    report.finish();
}

fn input(golden: &File) -> NetworkInput {
    let mask = golden.flags("pre.lang_mask");
    let tokens = golden.integers("pre.lang_tokens");
    let words = tokens.iter().zip(&mask).filter(|(_, valid)| **valid);
    NetworkInput {
        batch: 1,
        images: (1..=3).map(|camera| image(golden, camera)).collect(),
        tokens: vec![
            words
                .map(|(token, _)| u32::try_from(*token).unwrap())
                .collect(),
        ],
        state: golden.get("pre.state_padded").values,
        noise: golden.get("in.noise").values,
    }
}

/// Rows of RGB bytes to padded planes in −1 to 1.
fn image(golden: &File, camera: usize) -> ImageInput {
    let raw = golden.get(&format!("in.observation.images.camera{camera}"));
    let (height, width) = (raw.shape[1], raw.shape[2]);
    let plane = |channel: usize| {
        raw.values[channel..]
            .iter()
            .step_by(3)
            .map(|byte| byte / 255.0)
    };
    let planes = Planes {
        height,
        width,
        values: (0..3).flat_map(plane).collect(),
    };
    let mut pixels = resize_with_pad(&planes, EDGE, EDGE, 0.0).values;
    for value in &mut pixels {
        *value = *value * 2.0 - 1.0;
    }
    ImageInput {
        height: EDGE,
        width: EDGE,
        pixels,
        present: vec![true],
    }
}
