//! The whole command against the reference's answer: pictures, state and noise in files, a chunk in JSON.

use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::cli;
use crate::cli::Outcome;

/// Tests of the reference hold actions in robot units to this; the widest of them spans some hundred units.
const ROBOT_UNITS: f32 = 1e-3;
const NORMALIZED: f32 = 1e-4;

const FOLDER: &str = "tests/golden/tiny_a";
const CAMERAS: [&str; 2] = ["camera1", "camera2"];

fn floats(golden: &SafeTensors<'_>, name: &str) -> Vec<f32> {
    let bytes = golden
        .tensor(name)
        .unwrap()
        .data()
        .as_chunks::<4>()
        .0
        .to_vec();
    bytes.into_iter().map(f32::from_le_bytes).collect()
}

fn write_picture(golden: &SafeTensors<'_>, camera: &str, to: &Path) {
    let tensor = golden
        .tensor(&format!("in.observation.images.{camera}"))
        .unwrap();
    let [_, height, width, _] = tensor.shape() else {
        panic!("{camera} is no picture");
    };
    let rgb = image::RgbImage::from_raw(*width as u32, *height as u32, tensor.data().to_vec());
    rgb.unwrap().save(to).unwrap();
}

#[test]
fn the_reference_chunk_comes_out() {
    let bytes = std::fs::read(format!("{FOLDER}/golden.safetensors")).unwrap();
    let golden = SafeTensors::deserialize(&bytes).unwrap();
    let place = tempfile::tempdir().unwrap();
    let noise = place.path().join("noise.safetensors");
    let tensor = golden.tensor("in.noise").unwrap();
    let view = TensorView::new(Dtype::F32, tensor.shape().to_vec(), tensor.data()).unwrap();
    safetensors::serialize_to_file([("noise", view)], None, &noise).unwrap();
    let state: Vec<_> = floats(&golden, "in.state")
        .iter()
        .map(f32::to_string)
        .collect();
    let mut words: Vec<String> = ["smolpilot", "predict", "--device", "flex", "--json"]
        .map(str::to_owned)
        .to_vec();
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("--policy", format!("{FOLDER}/checkpoint"));
    option("--task", "pick up the red cube".to_owned());
    option("--noise", noise.display().to_string());
    option("--state", state.join(","));
    for camera in CAMERAS {
        let file = place.path().join(format!("{camera}.png"));
        write_picture(&golden, camera, &file);
        option("--image", format!("{camera}={}", file.display()));
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let outcome = cli::run(words, &mut out, &mut err);
    assert_eq!(outcome, Outcome::Done, "{}", String::from_utf8_lossy(&err));
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    for (key, name, tolerance) in [
        ("actions", "out.actions_post", ROBOT_UNITS),
        ("actions_normalized", "out.actions", NORMALIZED),
    ] {
        let rows: Vec<Vec<f32>> = serde_json::from_value(json[key].clone()).unwrap();
        let wanted = floats(&golden, name);
        assert_eq!(rows.concat().len(), wanted.len());
        let most = rows
            .concat()
            .iter()
            .zip(&wanted)
            .fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
        assert!(most < tolerance, "{key} differ by {most}");
    }
    assert_eq!(json["names"].as_array().unwrap().len(), 6);
    assert!(json["ms"]["total"].as_f64().unwrap() > 0.0);
}
