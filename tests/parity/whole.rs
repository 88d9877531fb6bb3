//! The whole policy, from the checkpoint's directory and raw pictures to robot units, against the reference.

use std::time::Duration;

use smolpilot::gpu::OpenedDevice;
use smolpilot::observation::{Frame, Observation};
use smolpilot::policy::{self, Noise, PredictOptions, Prediction};

use crate::reference::Case;
use crate::report::Report;
use crate::{ACTIONS, ROBOT_UNITS};

/// Loads and asks it as the runtime does, sample by sample.
pub fn check(case: &Case, device: &OpenedDevice) {
    let mut report = Report::new(format!(
        "{} on {}, whole policy",
        case.name,
        device.summary()
    ));
    let mut policy = policy::load(&case.request, device, &mut |_| ()).unwrap();
    let width = case.architecture.chunk_size * case.architecture.max_action_dim;
    for sample in 0..case.input.batch {
        let options = PredictOptions {
            noise: Noise::Values(case.input.noise[sample * width..(sample + 1) * width].to_vec()),
            ..PredictOptions::default()
        };
        let prediction = policy
            .predict_action_chunk(&observation(case, sample), &options)
            .unwrap();
        compare(case, sample, &prediction, &mut report);
    }
    report.finish();
}

fn compare(case: &Case, sample: usize, prediction: &Prediction, report: &mut Report) {
    for (name, ours, tolerance) in [
        ("out.actions", &prediction.actions_normalized, ACTIONS),
        ("out.actions_post", &prediction.actions, ROBOT_UNITS),
    ] {
        let golden = case.golden.get(name).values;
        let size = golden.len() / case.input.batch;
        let reference = &golden[sample * size..(sample + 1) * size];
        report.compare(name, &ours.concat(), reference, tolerance);
    }
}

fn observation(case: &Case, sample: usize) -> Observation {
    let raw = "in.observation.images.";
    let pictures = case
        .golden
        .names()
        .into_iter()
        .filter(|name| name.starts_with(raw));
    let images = pictures.map(|name| {
        let picture = case.golden.get(&name);
        let (height, width) = (picture.shape[1], picture.shape[2]);
        let size = height * width * 3;
        let bytes: Vec<u8> = picture.values[sample * size..(sample + 1) * size]
            .iter()
            .map(|&value| value as u8)
            .collect();
        let frame = Frame::new(width as u32, height as u32, bytes, 1, Duration::ZERO).unwrap();
        (name["in.".len()..].to_owned(), frame)
    });
    let state = case.golden.get("in.state");
    let width = state.shape[1];
    Observation {
        images: images.collect(),
        state: state.values[sample * width..(sample + 1) * width].to_vec(),
        task: case.golden.tasks()[sample].clone(),
    }
}
