//! From what is to be recorded to what the data set holds, and whether one that is there holds just that.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::columns::{self, ACTION, PREFIX, STATE};
use super::{Dtype, Feature, Features};
use crate::dataset::video::Settings;
use crate::dataset::{CameraShape, Plan};
use crate::joint::{JOINT_COUNT, Joint};

/// The feature of a camera: `observation.images.front`.
pub fn camera_key(name: &str) -> String {
    format!("observation.images.{name}")
}

impl Features {
    /// The features of a recording, in LeRobot's order.
    pub fn from_plan(plan: &Plan) -> Self {
        let joints = || Some(Joint::ALL.map(|joint| format!("{joint}.pos")).to_vec());
        let arm = || Feature::vector(Dtype::Float32, JOINT_COUNT, joints());
        let mut features = Self::default();
        features.push(ACTION, arm());
        features.push(STATE, arm());
        for camera in &plan.cameras {
            let video = Feature::video(camera.width, camera.height, video_info(plan, camera));
            features.push(camera_key(&camera.name), video);
        }
        if plan.provenance {
            columns::add_provenance(&mut features, plan.chunk, JOINT_COUNT);
        }
        columns::add_defaults(&mut features);
        features
    }
}

/// The codec as ffmpeg names the stream, from the name of one of its encoders: `libsvtav1` is `av1`.
pub fn canonical_codec(encoder: &str) -> &str {
    let known = ["h264", "hevc", "av1", "vp9", "mjpeg"];
    let found = known.into_iter().find(|codec| encoder.contains(codec));
    match encoder {
        "libx264" | "libx264rgb" | "libopenh264" => "h264",
        "libx265" => "hevc",
        "librav1e" => "av1",
        _ => found.unwrap_or(encoder),
    }
}

/// What LeRobot says of a film. Its tools encode anew with these figures; null leaves them to the encoder.
fn video_info(plan: &Plan, camera: &CameraShape) -> Map<String, Value> {
    // An encoder that is unknown is refused when it is opened, before there is a data set.
    let settings = Settings::new(&plan.codec, plan.key_frame_interval).ok();
    let settings = settings.as_ref();
    // LeRobot's presets of AV1 are numbers, those of H.264 words.
    let preset = settings.and_then(|settings| settings.preset);
    let preset = preset.map(|preset| {
        preset
            .parse::<u32>()
            .map_or_else(|_| json!(preset), |number| json!(number))
    });
    let info = json!({
        "is_depth_map": false,
        "video.height": camera.height,
        "video.width": camera.width,
        "video.codec": settings.map(|settings| settings.coding.to_string()),
        "video.pix_fmt": Settings::PIXEL_FORMAT,
        "video.fps": plan.fps,
        "video.channels": 3,
        "has_audio": false,
        "video.g": plan.key_frame_interval,
        "video.crf": settings.and_then(|settings| settings.crf),
        "video.preset": preset,
        "video.fast_decode": settings.and_then(|settings| settings.fast_decode),
        // Anything else makes LeRobot's tools refuse to delete and to split.
        "video.video_backend": "pyav",
        "video.extra_options": {},
    });
    match info {
        Value::Object(info) => info,
        _ => Map::new(),
    }
}

/// Why rows of `wanted` cannot be added to a data set of `there`: the feature and the difference, with the way out; `None` when
/// they can.
pub fn mismatch(there: &Features, wanted: &Features) -> Option<String> {
    let names = |features: &Features| {
        features
            .iter()
            .map(|(name, _)| name.to_owned())
            .collect::<BTreeSet<_>>()
    };
    let (has, needs) = (names(there), names(wanted));
    let mut absent = needs.difference(&has);
    let mut beyond = has.difference(&needs);
    let ours = |name: &&String| name.starts_with(PREFIX);
    if let Some(name) = absent.clone().find(ours) {
        return Some(format!(
            "it has no `{name}`; switch the columns of provenance off, or the predicted chunk, to add to it"
        ));
    }
    if let Some(name) = beyond.clone().find(ours) {
        return Some(format!(
            "it has `{name}`; switch the columns of provenance on, and the predicted chunk where it has one, to add to it"
        ));
    }
    if let Some(name) = absent.next() {
        return Some(format!("it has no `{name}`, which would be recorded"));
    }
    if let Some(name) = beyond.next() {
        return Some(format!("it has `{name}`, which would not be recorded"));
    }
    wanted
        .iter()
        .find_map(|(name, wanted)| differs(name, there.get(name)?, wanted))
}

fn differs(name: &str, there: &Feature, wanted: &Feature) -> Option<String> {
    if there.dtype != wanted.dtype {
        return Some(format!(
            "`{name}` is {} there, {} here",
            there.dtype, wanted.dtype
        ));
    }
    if wanted.dtype.is_picture() {
        let (has, needs) = (there.picture_size(), wanted.picture_size());
        let size = |size: Option<(u32, u32)>| {
            size.map_or("of no size".to_owned(), |(width, height)| {
                format!("{width}x{height}")
            })
        };
        let why = || format!("`{name}` is {} there, {} here", size(has), size(needs));
        return (has != needs || there.is_depth()).then(why);
    }
    if there.shape != wanted.shape {
        return Some(format!(
            "`{name}` has the shape {:?} there, {:?} here",
            there.shape, wanted.shape
        ));
    }
    let (has, needs) = (there.labels(), wanted.labels());
    (has != needs).then(|| format!("`{name}` is of {has:?} there, of {needs:?} here"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Codec;
    use crate::dataset::schema::Info;

    fn plan() -> Plan {
        let mut plan = Plan::new("set");
        plan.cameras.push(CameraShape {
            name: "front".into(),
            width: 640,
            height: 480,
        });
        plan
    }

    #[test]
    fn features_are_in_lerobots_order() {
        let mut plan = plan();
        plan.provenance = false;
        let features = Features::from_plan(&plan);
        let names: Vec<_> = features.iter().map(|(name, _)| name).collect();
        let wanted = [
            "action",
            "observation.state",
            "observation.images.front",
            "timestamp",
            "frame_index",
            "episode_index",
            "index",
            "task_index",
        ];
        assert_eq!(names, wanted);
        let labels = features.get("action").unwrap().labels();
        assert_eq!(labels[0], "shoulder_pan.pos");
        assert_eq!(
            features.get("observation.images.front").unwrap().shape,
            [480, 640, 3]
        );
    }

    #[test]
    fn columns_of_provenance_look_like_no_policys_features() {
        let mut plan = plan();
        plan.chunk = Some(50);
        let features = Features::from_plan(&plan);
        let chunk = features.get(columns::PREDICTED_CHUNK).unwrap();
        assert_eq!(chunk.shape, [300]);
        let beside = features.iter().filter(|(name, _)| name.starts_with(PREFIX));
        assert_eq!(beside.count(), 15);
        for (name, feature) in features.iter() {
            assert!(!name.contains('/'), "{name}");
            // torch makes float32 of a float64 column, which then is not what was declared.
            assert_ne!(feature.dtype, Dtype::Float64, "{name}");
        }
    }

    #[test]
    fn a_mismatch_names_the_feature_and_the_way_out() {
        let wanted = Features::from_plan(&plan());
        assert_eq!(mismatch(&wanted, &wanted), None);
        let with = |change: fn(&mut Plan)| {
            let mut other = plan();
            change(&mut other);
            mismatch(&Features::from_plan(&other), &wanted).unwrap()
        };
        let bare = with(|plan| plan.provenance = false);
        assert!(
            bare.contains("`smolpilot.") && bare.contains("off"),
            "{bare}"
        );
        let chunk = with(|plan| plan.chunk = Some(50));
        assert!(
            chunk.contains("`smolpilot.predicted_") && chunk.contains("on"),
            "{chunk}"
        );
        let size = with(|plan| plan.cameras[0].width = 320);
        assert!(
            size.contains("`observation.images.front` is 320x480 there, 640x480 here"),
            "{size}"
        );
        let name = with(|plan| plan.cameras[0].name = "wrist".into());
        assert!(name.contains("no `observation.images.front`"), "{name}");
        let mut joints = wanted.clone();
        let mut action = joints.get("action").unwrap().clone();
        action.names = Value::from(vec!["a", "b", "c", "d", "e", "f"]);
        joints.push("action", action);
        let names = mismatch(&joints, &wanted).unwrap();
        assert!(
            names.contains("`action`") && names.contains("shoulder_pan.pos"),
            "{names}"
        );
    }

    #[test]
    fn the_films_of_lerobots_own_encoder_are_described_as_lerobot_does() {
        let mut plan = plan();
        plan.codec = Codec::Ffmpeg("libsvtav1".to_owned());
        plan.key_frame_interval = 2;
        let sample = include_str!("../../../tests/golden/lerobot_sample/meta/info.json");
        let sample: Info = serde_json::from_str(sample).unwrap();
        let of = |features: &Features| features.get("observation.images.front").unwrap().clone();
        assert_eq!(of(&Features::from_plan(&plan)), of(&sample.features));
        plan.codec = Codec::H264;
        assert_eq!(of(&Features::from_plan(&plan)).codec(), Some("h264"));
    }

    #[test]
    fn encoders_of_ffmpeg_have_the_names_of_their_streams() {
        let pairs = [
            ("libsvtav1", "av1"),
            ("h264_nvenc", "h264"),
            ("libx264", "h264"),
            ("hevc_videotoolbox", "hevc"),
            ("libaom-av1", "av1"),
        ];
        for (encoder, codec) in pairs {
            assert_eq!(canonical_codec(encoder), codec);
        }
    }
}
