//! The whole pipeline against LeRobot's, on the three small checkpoints.

use std::time::Duration;

use super::golden::{Golden, max_abs_diff, path};
use super::*;
use crate::observation::Frame;
use crate::policy::checkpoint::Checkpoint;
use crate::policy::statistics::normalization;

/// Pictures: f32 rounding in another order than `PyTorch`'s.
const PICTURE_TOLERANCE: f32 = 1e-6;
/// Normalised states are near 1.
const STATE_TOLERANCE: f32 = 1e-6;
/// Robot units reach about 100.
const ACTION_TOLERANCE: f32 = 2e-5;

fn processor(variant: &str) -> (Config, Processor) {
    let directory = path(variant).join("checkpoint");
    let config = Config::read(&directory).unwrap();
    let pre = Pipeline::read(&directory, PREPROCESSOR).unwrap();
    let post = Pipeline::read(&directory, POSTPROCESSOR).unwrap();
    let weights = Checkpoint::open(&directory).unwrap();
    let pipelines = (pre.as_ref(), post.as_ref());
    let stats = normalization(&directory, &config, pipelines, &weights, None).unwrap();
    let tokenizer = TaskTokenizer::read(
        &path(variant).join("vlm/tokenizer.json"),
        config.tokenizer_max_length,
        512,
    );
    let processor = Processor::new(&config, pre.as_ref(), &stats, tokenizer.unwrap());
    (config, processor)
}

/// Sample `sample` of a golden as an observation.
fn observation(golden: &Golden, cameras: &[&str], sample: usize, task: &str) -> Observation {
    let picture = |key: &&str| {
        let (shape, bytes) = golden.u8(&format!("in.{key}"));
        let size = shape[1] * shape[2] * 3;
        let bytes = bytes[sample * size..(sample + 1) * size].to_vec();
        let frame = Frame::new(shape[2] as u32, shape[1] as u32, bytes, 0, Duration::ZERO);
        ((*key).to_owned(), frame.unwrap())
    };
    let (shape, state) = golden.f32("in.state");
    Observation {
        images: cameras.iter().map(picture).collect(),
        state: state[sample * shape[1]..(sample + 1) * shape[1]].to_vec(),
        task: task.to_owned(),
    }
}

fn check(variant: &str, cameras: &[&str], sample: usize, task: &str) -> Vec<String> {
    let golden = Golden::open(&format!("{variant}/golden.safetensors"));
    let (_, processor) = processor(variant);
    let mut warnings = Vec::new();
    let observation = observation(&golden, cameras, sample, task);
    let input = processor
        .preprocess(&observation, Vec::new(), &mut warnings)
        .unwrap();

    for (i, image) in input.images.iter().enumerate().take(cameras.len()) {
        let (shape, expected) = golden.f32(&format!("pre.image.{i}"));
        let size: usize = shape[1..].iter().product();
        let expected = &expected[sample * size..(sample + 1) * size];
        let worst = max_abs_diff(&image.pixels, expected);
        assert!(worst <= PICTURE_TOLERANCE, "{variant} picture {i}: {worst}");
        assert_eq!((image.height, image.width), (shape[2], shape[3]));
        assert_eq!(image.present, [true]);
    }
    let (shape, padded) = golden.f32("pre.state_padded");
    let padded = &padded[sample * shape[1]..(sample + 1) * shape[1]];
    let worst = max_abs_diff(&input.state, padded);
    assert!(worst <= STATE_TOLERANCE, "{variant} state: {worst}");

    let length = golden.u8("pre.lang_mask").0[1];
    let mask = &golden.u8("pre.lang_mask").1[sample * length..(sample + 1) * length];
    let valid = mask.iter().map(|bit| usize::from(*bit)).sum::<usize>();
    let ids = &golden.i64("pre.lang_tokens")[sample * length..][..valid];
    let ours: Vec<i64> = input.tokens[0].iter().map(|id| i64::from(*id)).collect();
    assert_eq!(ours, ids, "{variant}");

    let (shape, actions) = golden.f32("out.actions");
    let (_, post) = golden.f32("out.actions_post");
    let ours: Vec<f32> = actions
        .chunks_exact(shape[2])
        .flat_map(|action| processor.postprocess(action))
        .collect();
    let worst = max_abs_diff(&ours, &post);
    assert!(worst <= ACTION_TOLERANCE, "{variant} actions: {worst}");
    warnings
}

#[test]
fn tiny_a_is_prepared_as_in_lerobot() {
    let cameras = ["observation.images.camera1", "observation.images.camera2"];
    assert!(check("tiny_a", &cameras, 0, "pick up the red cube").is_empty());
}

#[test]
fn tiny_b_notes_its_missing_camera_and_adds_an_empty_one() {
    let cameras = ["observation.images.camera1", "observation.images.camera3"];
    for (sample, task) in ["put 12 blocks in the bin", "stop"].into_iter().enumerate() {
        let warnings = check("tiny_b", &cameras, sample, task);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("camera2` is missing"), "{warnings:?}");
    }
    let golden = Golden::open("tiny_b/golden.safetensors");
    let (_, processor) = processor("tiny_b");
    let observation = observation(&golden, &cameras, 0, "stop");
    let input = processor
        .preprocess(&observation, Vec::new(), &mut Vec::new())
        .unwrap();
    assert_eq!(input.images.len(), 3);
    assert_eq!(input.images[2].present, [false]);
    assert_eq!(golden.u8("pre.image_mask.2").1, [0, 0]);
}

#[test]
fn tiny_c_uses_bounds() {
    assert!(check("tiny_c", &["observation.images.top"], 0, "go home").is_empty());
}

#[test]
fn names_go_through_the_rename_map_and_strangers_are_reported() {
    let golden = Golden::open("tiny_c/golden.safetensors");
    let (_, mut processor) = processor("tiny_c");
    let (from, to) = ("observation.images.front", "observation.images.top");
    let mut observation = observation(&golden, &[to], 0, "go home");
    let direct = processor
        .preprocess(&observation, Vec::new(), &mut Vec::new())
        .unwrap();

    from.clone_into(&mut observation.images[0].0);
    let err = processor
        .preprocess(&observation, Vec::new(), &mut Vec::new())
        .unwrap_err();
    assert!(matches!(err, Error::NoPicture(_)), "{err}");

    processor.rename_map.insert(from.into(), to.into());
    let mut warnings = Vec::new();
    let stranger = (
        "observation.images.side".to_owned(),
        observation.images[0].1.clone(),
    );
    observation.images.push(stranger);
    let renamed = processor
        .preprocess(&observation, Vec::new(), &mut warnings)
        .unwrap();
    assert_eq!(renamed, direct);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("side` is not used"), "{warnings:?}");
}

#[test]
fn a_state_that_does_not_fit_is_refused() {
    let golden = Golden::open("tiny_c/golden.safetensors");
    let (_, processor) = processor("tiny_c");
    let mut observation = observation(&golden, &["observation.images.top"], 0, "go home");
    observation.state[2] = f32::NAN;
    let words = |observation: &Observation| {
        let result = processor.preprocess(observation, Vec::new(), &mut Vec::new());
        result.unwrap_err().to_string()
    };
    assert!(words(&observation).contains("value 2"));
    observation.state.push(0.0);
    assert!(words(&observation).contains("5 values"));
}

#[test]
fn padding_of_the_action_space_is_cut_off() {
    let (config, processor) = processor("tiny_c");
    let width = config.max_action_dim;
    let output: Vec<f32> = (0..2 * width).map(|i| i as f32).collect();
    let steps = processor.normalized_actions(&output);
    assert_eq!(steps, [[0.0, 1.0, 2.0, 3.0], [32.0, 33.0, 34.0, 35.0]]);
}
