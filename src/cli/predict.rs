//! `smolpilot predict`: one chunk of actions from pictures, a state and a task, without an arm.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use safetensors::{Dtype, SafeTensors};
use serde::Serialize;

use crate::cli::args::PredictArgs;
use crate::cli::output::{Outcome, deliver, wrong_argument};
use crate::cli::parse::{ImageArg, NoiseArg};
use crate::cli::policy;
use crate::joint::{JOINT_COUNT, Joint};
use crate::observation::{Frame, Observation};
use crate::policy::{Noise, PolicySpec, PredictOptions, Prediction, StageTimes};

/// What `predict --json` prints.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Robot units, `[chunk][action_dim]`.
    actions: Vec<Vec<f32>>,
    /// The network's normalised space, `[chunk][action_dim]`.
    actions_normalized: Vec<Vec<f32>>,
    /// One a dimension of an action.
    names: Vec<String>,
    device: String,
    precision: String,
    ms: Milliseconds,
    warnings: Vec<String>,
}

/// Wall time by stage in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Milliseconds {
    preprocess: f64,
    vision: f64,
    prefix: f64,
    denoise: f64,
    total: f64,
}

impl From<StageTimes> for Milliseconds {
    fn from(times: StageTimes) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Self {
            preprocess: ms(times.preprocess),
            vision: ms(times.vision),
            prefix: ms(times.prefix),
            denoise: ms(times.denoise),
            total: ms(times.total),
        }
    }
}

/// Runs the command.
pub fn run(args: &PredictArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut policy = policy::load(&args.policy, args.device.wish())?;
    let spec = policy.spec().clone();
    let observation = Observation {
        images: pictures(&spec.views, &args.images)?,
        state: state(&spec, &args.state.0)?,
        task: args.task.clone(),
    };
    let options = PredictOptions {
        num_steps: args.num_steps,
        noise: noise(&spec, &args.noise)?,
        ..PredictOptions::default()
    };
    let prediction = policy.predict_action_chunk(&observation, &options)?;
    let report = report(&spec, prediction);
    deliver(out, args.json.json.as_ref(), &report, |out| {
        table(&report, out)
    })?;
    Ok(Outcome::Done)
}

/// Reads the pictures and finds the view of each.
fn pictures(views: &[String], images: &[ImageArg]) -> anyhow::Result<Vec<(String, Frame)>> {
    if images.is_empty() {
        return Err(wrong_argument(format!(
            "the policy must see something: name a picture with --image KEY=FILE; its views are {}",
            views.join(", ")
        )));
    }
    let mut found: Vec<(String, Frame)> = Vec::new();
    for image in images {
        let view = view_named(views, &image.key)?;
        if found.iter().any(|(taken, _)| *taken == view) {
            return Err(wrong_argument(format!(
                "--image names the view {view} twice"
            )));
        }
        found.push((view, picture(&image.file)?));
    }
    Ok(found)
}

/// The declared view whose feature key is `key` or ends in it.
pub fn view_named(views: &[String], key: &str) -> anyhow::Result<String> {
    let last = |view: &str| view.rsplit('.').next().is_some_and(|last| last == key);
    let whole = views.iter().find(|view| *view == key);
    whole
        .or_else(|| views.iter().find(|view| last(view)))
        .cloned()
        .ok_or_else(|| {
            wrong_argument(format!(
                "the checkpoint has no view `{key}`; it declares {}",
                views.join(", ")
            ))
        })
}

/// Reads a PNG or JPEG as RGB, 8 bits a channel.
fn picture(file: &Path) -> anyhow::Result<Frame> {
    let name = || format!("cannot read the picture {}", file.display());
    let rgb = image::ImageReader::open(file)
        .with_context(name)?
        .with_guessed_format()
        .with_context(name)?
        .decode()
        .with_context(name)?
        .into_rgb8();
    let (width, height) = rgb.dimensions();
    let bytes: Arc<[u8]> = rgb.into_raw().into();
    Frame::new(width, height, bytes, 0, Duration::ZERO)
        .with_context(|| format!("the picture {} is empty", file.display()))
}

/// Checks the width of the state, which the network's padding would otherwise hide.
fn state(spec: &PolicySpec, values: &[f32]) -> anyhow::Result<Vec<f32>> {
    if values.len() == spec.state_dim {
        return Ok(values.to_vec());
    }
    Err(wrong_argument(format!(
        "--state has {} values, {} takes {}",
        values.len(),
        spec.name,
        spec.state_dim
    )))
}

/// The starting noise as the network takes it.
fn noise(spec: &PolicySpec, noise: &NoiseArg) -> anyhow::Result<Noise> {
    let file = match noise {
        NoiseArg::Seed(seed) => return Ok(Noise::Seed(*seed)),
        NoiseArg::File(file) => file,
    };
    let name = || format!("cannot read the noise in {}", file.display());
    let bytes = std::fs::read(file).with_context(name)?;
    let tensors = SafeTensors::deserialize(&bytes).with_context(name)?;
    let tensor = tensors.tensor("noise").with_context(name)?;
    let wanted = [spec.chunk_size, spec.max_action_dim];
    let shape = match tensor.shape() {
        [1, rest @ ..] if rest.len() == 2 => rest,
        shape => shape,
    };
    if shape != wanted || tensor.dtype() != Dtype::F32 {
        let [chunk, width] = wanted;
        return Err(wrong_argument(format!(
            "`noise` in {} is {:?} {:?}; it must be F32 [1, {chunk}, {width}] or [{chunk}, {width}]",
            file.display(),
            tensor.dtype(),
            tensor.shape()
        )));
    }
    let values = tensor.data().as_chunks::<4>().0;
    Ok(Noise::Values(
        values
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect(),
    ))
}

fn report(spec: &PolicySpec, prediction: Prediction) -> Report {
    Report {
        names: action_names(spec),
        actions: prediction.actions,
        actions_normalized: prediction.actions_normalized,
        device: spec.device.clone(),
        precision: spec.precision.clone(),
        ms: prediction.times.into(),
        warnings: [spec.warnings.clone(), prediction.warnings].concat(),
    }
}

/// The checkpoint's own names, else LeRobot's for an SO-101, else numbers.
pub fn action_names(spec: &PolicySpec) -> Vec<String> {
    match spec.action_dim {
        dim if dim == spec.state_names.len() => spec.state_names.clone(),
        JOINT_COUNT => Joint::ALL.map(|joint| format!("{joint}.pos")).to_vec(),
        dim => (0..dim).map(|index| format!("action_{index}")).collect(),
    }
}

/// The chunk in robot units, one row a step.
fn table(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let ms = report.ms;
    writeln!(out, "device     {}", report.device)?;
    writeln!(
        out,
        "time       {:.1} ms: preprocess {:.1}, vision {:.1}, prefix {:.1}, denoise {:.1}",
        ms.total, ms.preprocess, ms.vision, ms.prefix, ms.denoise
    )?;
    for warning in &report.warnings {
        writeln!(out, "warning    {warning}")?;
    }
    if is_so101(&report.names) {
        writeln!(out, "actions    degrees; of the gripper, % of its travel")?;
    }
    write!(out, "\n{:>4}", "step")?;
    for name in &report.names {
        write!(out, " {:>13}", name.trim_end_matches(".pos"))?;
    }
    writeln!(out)?;
    for (step, action) in report.actions.iter().enumerate() {
        write!(out, "{step:>4}")?;
        for value in action {
            write!(out, " {value:>13.3}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Whether these are the joints of an SO-101, whose units are known.
fn is_so101(names: &[String]) -> bool {
    let joints = Joint::ALL.map(|joint| format!("{}.pos", joint.name()));
    names == joints
}

#[cfg(test)]
mod golden;

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;

    fn spec() -> PolicySpec {
        PolicySpec {
            name: "tiny".into(),
            views: vec![
                "observation.images.camera1".into(),
                "observation.images.wrist".into(),
            ],
            state_dim: 6,
            action_dim: 6,
            max_action_dim: 4,
            chunk_size: 3,
            device: "CPU".into(),
            precision: "f32".into(),
            warnings: vec!["untrained".into()],
            ..PolicySpec::default()
        }
    }

    #[test]
    fn a_view_is_known_by_its_key_or_the_last_part() {
        let views = spec().views;
        assert_eq!(view_named(&views, "wrist").unwrap(), views[1]);
        assert_eq!(view_named(&views, &views[0]).unwrap(), views[0]);
        let why = view_named(&views, "images").unwrap_err().to_string();
        assert!(why.contains("camera1") && why.contains("wrist"), "{why}");
    }

    #[test]
    fn pictures_keep_their_size_and_colour() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("red.png");
        image::RgbImage::from_pixel(3, 2, image::Rgb([200, 10, 20]))
            .save(&file)
            .unwrap();
        let given = |key: &str| ImageArg {
            key: key.into(),
            file: file.clone(),
        };
        let found = pictures(&spec().views, &[given("wrist")]).unwrap();
        let (view, frame) = &found[0];
        assert_eq!(
            (view.as_str(), frame.width, frame.height),
            ("observation.images.wrist", 3, 2)
        );
        assert_eq!(frame.rgb[..3], [200, 10, 20]);
        let twice = pictures(
            &spec().views,
            &[given("wrist"), given("observation.images.wrist")],
        );
        assert!(twice.unwrap_err().to_string().contains("twice"));
        let none = pictures(&spec().views, &[]).unwrap_err().to_string();
        assert!(
            none.contains("--image") && none.contains("camera1"),
            "{none}"
        );
    }

    #[test]
    fn a_file_that_is_no_picture_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("words.png");
        std::fs::write(&file, "not a picture").unwrap();
        assert!(format!("{:#}", picture(&file).unwrap_err()).contains("words.png"));
    }

    #[test]
    fn a_state_of_the_wrong_width_is_refused() {
        assert!(state(&spec(), &[0.0; 6]).is_ok());
        let why = state(&spec(), &[0.0; 5]).unwrap_err().to_string();
        assert!(why.contains("5 values") && why.contains('6'), "{why}");
    }

    #[test]
    fn noise_is_read_in_both_shapes_and_refused_in_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("noise.safetensors");
        let values: Vec<f32> = (0..12).map(|n| n as f32).collect();
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let read = |shape: Vec<usize>| {
            let view = TensorView::new(Dtype::F32, shape, &bytes).unwrap();
            safetensors::serialize_to_file([("noise", view)], None, &file).unwrap();
            noise(&spec(), &NoiseArg::File(file.clone()))
        };
        assert_eq!(read(vec![1, 3, 4]).unwrap(), Noise::Values(values.clone()));
        assert_eq!(read(vec![3, 4]).unwrap(), Noise::Values(values.clone()));
        let why = read(vec![4, 3]).unwrap_err().to_string();
        assert!(why.contains("[4, 3]") && why.contains("[1, 3, 4]"), "{why}");
    }

    #[test]
    fn the_json_has_the_documented_shape() {
        let prediction = Prediction {
            actions: vec![vec![1.5; 6]; 3],
            actions_normalized: vec![vec![0.25; 6]; 3],
            times: StageTimes {
                vision: Duration::from_millis(2),
                ..StageTimes::default()
            },
            warnings: vec!["camera missing".into()],
        };
        let json = serde_json::to_value(report(&spec(), prediction)).unwrap();
        let keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        let wanted = [
            "actions",
            "actions_normalized",
            "names",
            "device",
            "precision",
            "ms",
            "warnings",
        ];
        assert_eq!(keys, wanted);
        assert_eq!(json["actions"][2][5], 1.5);
        assert_eq!(json["names"][5], "gripper.pos");
        assert_eq!(json["ms"]["vision"], 2.0);
        assert_eq!(
            json["warnings"],
            serde_json::json!(["untrained", "camera missing"])
        );
    }

    #[test]
    fn the_table_has_a_row_a_step() {
        let prediction = Prediction {
            actions: vec![vec![1.5; 6]; 3],
            ..Prediction::default()
        };
        let mut out = Vec::new();
        table(&report(&spec(), prediction), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text.lines().filter(|line| line.contains("1.500")).count(),
            3
        );
        assert!(text.contains("shoulder_pan") && text.contains("warning    untrained"));
    }
}
