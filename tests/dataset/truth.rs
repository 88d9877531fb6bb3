//! What a camera showed, against what is read again: each row has its own picture, not its neighbour's, within the codec's loss.
//!
//! With `SMOLPILOT_TRUTH=FOLDER` the data set and the pictures stay there, for `tests/lerobot/pixels.py` to hold LeRobot's reader against
//! both.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use smolpilot::action::Action;
use smolpilot::dataset::{CameraShape, Dataset, Outcome, Plan, Provenance, Recorder, Step};
use smolpilot::joint::JointVec;
use smolpilot::observation::Frame;

const WIDTH: u32 = 160;
const HEIGHT: u32 = 120;
/// Mean difference of 255 that the codec may make of a picture with hard edges.
const LOSS: f64 = 6.0;

#[test]
fn each_row_is_read_with_the_picture_that_was_taken_at_it() {
    let kept = std::env::var_os("SMOLPILOT_TRUTH").map(PathBuf::from);
    let place = tempfile::tempdir().unwrap();
    let folder = kept.clone().unwrap_or_else(|| place.path().to_owned());
    let root = folder.join("set");
    // Longer than a group of pictures, not a multiple of it.
    let lengths = if kept.is_some() { [95, 40] } else { [23, 12] };
    record(&root, &lengths);
    let mut dataset = Dataset::open(&root).unwrap();
    for (episode, length) in lengths.into_iter().enumerate() {
        for row in 0..length {
            for camera in 0..2 {
                let name = ["front", "wrist"][camera];
                let read = dataset.frame(episode, name, row).unwrap();
                let own = difference(&read, &frame(episode, camera, row));
                assert!(own < LOSS, "{name} of row {row}: {own}");
                let next = difference(&read, &frame(episode, camera, row + 1));
                assert!(own < next, "{name} of row {row} shows the next one");
            }
        }
        if let Some(folder) = &kept {
            keep_pictures(&folder.join(format!("episode-{episode}")), episode, length);
        }
    }
}

fn record(root: &Path, lengths: &[usize]) {
    let shape = |name: &str| CameraShape {
        name: name.to_owned(),
        width: WIDTH,
        height: HEIGHT,
    };
    let plan = Plan {
        cameras: vec![shape("front"), shape("wrist")],
        ..Plan::new(root)
    };
    let mut recorder = Recorder::open(plan).unwrap();
    for (episode, length) in lengths.iter().enumerate() {
        recorder.begin().unwrap();
        for row in 0..*length {
            recorder.push(step(episode, row)).unwrap();
        }
        recorder.keep(Outcome::Success).unwrap();
    }
    recorder.close().unwrap();
}

fn step(episode: usize, row: usize) -> Step {
    let pose = |shift: f32| {
        JointVec::from_fn(|joint| (row as f32 * 0.1 + joint.index() as f32).sin() * 30.0 + shift)
    };
    let action: Action = pose(1.0);
    Step {
        at: Duration::from_nanos(row as u64 * 1_000_000_000 / 30),
        state: pose(0.0),
        action,
        frames: (0..2)
            .map(|camera| Some(frame(episode, camera, row)))
            .collect(),
        task: Arc::from("follow the bar"),
        provenance: Provenance::default(),
        missed: 0,
    }
}

/// A slope with a bar and a block on it, which are elsewhere in each picture of each camera and episode.
fn frame(episode: usize, camera: usize, row: usize) -> Frame {
    let bar = (row * 11 + episode * 40 + camera * 70) as u32 % WIDTH;
    let block = (row * 7 + camera * 30) as u32 % (HEIGHT - 24);
    let pixel = |x: u32, y: u32| {
        if x.abs_diff(bar) < 6 {
            return [240, 240, 60];
        }
        if y.abs_diff(block + 12) < 12 && x.abs_diff(WIDTH / 2) < 16 {
            return [40, 90, 220];
        }
        [
            (x * 200 / WIDTH) as u8,
            (y * 200 / HEIGHT) as u8,
            40 + 100 * camera as u8,
        ]
    };
    let rgb: Vec<u8> = (0..HEIGHT)
        .flat_map(|y| (0..WIDTH).flat_map(move |x| pixel(x, y)))
        .collect();
    Frame::new(WIDTH, HEIGHT, rgb, row as u64 + 1, Duration::ZERO).unwrap()
}

/// Mean absolute difference of 255.
fn difference(a: &Frame, b: &Frame) -> f64 {
    let pairs = a.rgb.iter().zip(b.rgb.iter());
    let sum: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / a.rgb.len() as f64
}

fn keep_pictures(folder: &Path, episode: usize, length: usize) {
    std::fs::create_dir_all(folder).unwrap();
    for row in 0..length {
        for (camera, name) in ["front", "wrist"].into_iter().enumerate() {
            let path = folder.join(format!("{name}-{row:06}.png"));
            let frame = frame(episode, camera, row);
            let kind = image::ExtendedColorType::Rgb8;
            image::save_buffer(path, &frame.rgb, frame.width, frame.height, kind).unwrap();
        }
    }
}
