//! Whole checkpoints from a name to a chunk, against LeRobot's own answers.

use std::time::Duration;

use super::*;
use crate::gpu::{self, DeviceChoice, open};
use crate::observation::{Frame, Observation};
use crate::policy::processor::golden::{Golden, max_abs_diff, path};
use crate::policy::{Noise, PredictOptions, Prediction};

/// Robot units reach about 100; an independent implementation stays within 2.3e-5.
const ACTION_TOLERANCE: f32 = 1e-4;

fn loaded(request: &LoadRequest) -> Result<Box<dyn Policy>, Refusal> {
    let device = open(DeviceChoice::Flex).unwrap();
    load(request, &device, &mut |_| {})
}

fn checkpoint(variant: &str) -> LoadRequest {
    LoadRequest {
        source: path(variant).join("checkpoint").display().to_string(),
        stats: None,
    }
}

fn frame(golden: &Golden, key: &str) -> (String, Frame) {
    let (shape, bytes) = golden.u8(&format!("in.{key}"));
    let bytes = bytes[..shape[1] * shape[2] * 3].to_vec();
    let frame = Frame::new(shape[2] as u32, shape[1] as u32, bytes, 0, Duration::ZERO);
    (key.to_owned(), frame.unwrap())
}

fn predict(variant: &str, cameras: &[&str], task: &str) -> Prediction {
    let golden = Golden::open(&format!("{variant}/golden.safetensors"));
    let mut policy = loaded(&checkpoint(variant)).unwrap();
    let spec = policy.spec().clone();
    let (_, noise) = golden.f32("in.noise");
    let observation = Observation {
        images: cameras.iter().map(|key| frame(&golden, key)).collect(),
        state: golden.f32("in.state").1[..spec.state_dim].to_vec(),
        task: task.into(),
    };
    let options = PredictOptions {
        noise: Noise::Values(noise[..spec.chunk_size * spec.max_action_dim].to_vec()),
        ..PredictOptions::default()
    };
    let prediction = policy.predict_action_chunk(&observation, &options).unwrap();
    let (_, expected) = golden.f32("out.actions_post");
    let ours: Vec<f32> = prediction.actions.concat();
    let worst = max_abs_diff(&ours, &expected[..ours.len()]);
    assert!(worst <= ACTION_TOLERANCE, "{variant}: {worst}");
    assert_eq!(prediction.actions.len(), spec.chunk_size);
    assert_eq!(prediction.actions_normalized[0].len(), spec.action_dim);
    prediction
}

#[test]
fn three_checkpoints_answer_as_in_lerobot() {
    let a = ["observation.images.camera1", "observation.images.camera2"];
    assert!(
        predict("tiny_a", &a, "pick up the red cube")
            .warnings
            .is_empty()
    );
    let b = ["observation.images.camera1", "observation.images.camera3"];
    assert_eq!(
        predict("tiny_b", &b, "put 12 blocks in the bin")
            .warnings
            .len(),
        1
    );
    predict("tiny_c", &["observation.images.top"], "go home");
}

#[test]
fn a_checkpoint_tells_what_it_is() {
    let policy = loaded(&checkpoint("tiny_b")).unwrap();
    let spec = policy.spec();
    assert_eq!(spec.views.len(), 3);
    assert_eq!((spec.state_dim, spec.action_dim), (9, 7));
    assert_eq!(
        (spec.chunk_size, spec.n_action_steps, spec.num_steps),
        (8, 4, 4)
    );
    assert_eq!((spec.vlm_layers, spec.expert_layers), (4, 4));
    assert!(spec.device.contains("Flex"), "{}", spec.device);
    assert!(spec.parameters > 100_000);
}

#[test]
fn names_that_lead_nowhere_are_explained() {
    let words = |source: &str| {
        let request = LoadRequest {
            source: source.into(),
            stats: None,
        };
        let Err(refusal) = loaded(&request) else {
            panic!("{source} was loaded")
        };
        refusal.why
    };
    assert!(words("no such place").contains("no hub id"));
    let file = path("tiny_a/checkpoint/model.safetensors");
    assert!(words(&file.display().to_string()).contains("is a file"));
    assert!(words(&path("tiny_a").display().to_string()).contains("config.json"));
}

/// Case a01, from the operator's side: one renamed tensor and nothing is loaded.
#[test]
fn a_renamed_tensor_stops_the_load_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let from = path("tiny_a");
    for part in ["checkpoint", "vlm"] {
        std::fs::create_dir(dir.path().join(part)).unwrap();
        for entry in std::fs::read_dir(from.join(part)).unwrap() {
            let entry = entry.unwrap();
            let bytes = std::fs::read(entry.path()).unwrap();
            std::fs::write(dir.path().join(part).join(entry.file_name()), bytes).unwrap();
        }
    }
    let request = LoadRequest {
        source: dir.path().join("checkpoint").display().to_string(),
        stats: None,
    };
    assert!(loaded(&request).is_ok(), "unchanged, it loads");

    let weights = dir.path().join("checkpoint/model.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    let (good, bad) = (b"layers.2.self_attn.q_proj", b"layers.2.self_attn.Q_proj");
    let start = b"lm_expert.".len();
    let wanted = [b"lm_expert.", good.as_slice()].concat();
    let at = bytes
        .windows(wanted.len())
        .position(|w| w == wanted)
        .unwrap()
        + start;
    let mut changed = bytes.clone();
    changed[at..at + bad.len()].copy_from_slice(bad);
    std::fs::write(&weights, changed).unwrap();
    let Err(refusal) = loaded(&request) else {
        panic!("a network with a random layer was loaded")
    };
    for words in [
        "missing     model.vlm_with_expert.lm_expert.layers.2.self_attn.q_proj.weight",
        "unexpected  model.vlm_with_expert.lm_expert.layers.2.self_attn.Q_proj.weight",
    ] {
        assert!(refusal.why.contains(words), "{}", refusal.why);
    }
}

#[test]
fn a_training_output_is_called_by_its_run() {
    assert_eq!(directory_name(Path::new("/x/my_run")), "my_run");
    let deep = Path::new("/x/my_run/checkpoints/last/pretrained_model");
    assert_eq!(directory_name(deep), "my_run/last");
}

/// The demo network must move the arm visibly but gently, answer to what it is given, and never shake.
#[test]
fn the_demo_network_moves_gently() {
    let request = LoadRequest {
        source: DEMO.into(),
        stats: None,
    };
    let mut policy = loaded(&request).unwrap();
    let spec = policy.spec().clone();
    assert_eq!(spec.name, demo::NAME);
    assert!(
        spec.warnings[0].contains("untrained"),
        "{:?}",
        spec.warnings
    );
    let picture = |byte| {
        let bytes: Vec<u8> = (0..64 * 48 * 3u32)
            .map(|i| (i * byte % 256) as u8)
            .collect();
        Frame::new(64, 48, bytes, 0, Duration::ZERO).unwrap()
    };
    let mut run = |task: &str, byte, state: f32| {
        let observation = Observation {
            images: spec
                .views
                .iter()
                .map(|v| (v.clone(), picture(byte)))
                .collect(),
            state: vec![state; spec.state_dim],
            task: task.into(),
        };
        policy
            .predict_action_chunk(&observation, &PredictOptions::default())
            .unwrap()
    };
    let chunk = run("pick up the red cube", 1, 0.0);
    assert!(chunk.warnings.is_empty(), "{:?}", chunk.warnings);
    let per_joint = |joint: usize| chunk.actions.iter().map(move |action| action[joint]);
    for joint in 0..spec.action_dim {
        let (low, high) =
            per_joint(joint).fold((f32::MAX, f32::MIN), |(l, h), x| (l.min(x), h.max(x)));
        let steps = per_joint(joint)
            .zip(per_joint(joint).skip(1))
            .map(|(a, b)| (a - b).abs());
        let largest = steps.fold(0.0f32, f32::max);
        assert!(low > -70.0 && high < 90.0, "joint {joint}: {low} to {high}");
        assert!(high - low > 1.0, "joint {joint} hardly moves");
        assert!(largest < 2.5, "joint {joint} jumps {largest} in a step");
    }
    let other = |changed: &Prediction| {
        let (a, b) = (chunk.actions.concat(), changed.actions.concat());
        max_abs_diff(&a, &b)
    };
    for (what, changed) in [
        ("task", run("open the gripper", 1, 0.0)),
        ("pictures", run("pick up the red cube", 7, 0.0)),
        ("state", run("pick up the red cube", 1, 20.0)),
    ] {
        assert!(other(&changed) > 0.3, "{what} changed nothing");
    }
}

#[test]
fn a_network_that_own_kernels_do_not_take_flies_on_burns_unless_they_were_asked_for() {
    let mut sizes = crate::policy::smolvla::tiny::architecture();
    let mut device = open(DeviceChoice::Flex).unwrap();
    // As a GPU would be opened: no kernel runs here.
    device.arithmetic.kernels = gpu::Kernels::Own;
    let fits = network::fitting(&sizes, device.clone()).unwrap();
    assert_eq!(fits.arithmetic.kernels, gpu::Kernels::Own);
    sizes.max_action_dim = 7;
    let instead = network::fitting(&sizes, device.clone()).unwrap();
    assert_eq!(instead.arithmetic, gpu::Arithmetic::default());
    sizes.max_action_dim = 32;
    sizes.head_dim = 128;
    device.insisted = true;
    let refused = network::fitting(&sizes, device).unwrap_err().to_string();
    assert!(refused.contains("--kernels burn"), "{refused}");
}
