//! What a recording holds: rate, cameras, and the columns beside LeRobot's own.

use std::fmt;
use std::path::PathBuf;

/// What is recorded, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The data set's folder: made where there is none, added to where there is one.
    pub root: PathBuf,
    /// Rows a second; `timestamp` is `frame_index / fps`.
    pub fps: u32,
    /// LeRobot's name of the robot: `so_follower`.
    pub robot_type: String,
    /// In the order of [`Step::frames`](super::Step::frames).
    pub cameras: Vec<CameraShape>,
    /// Columns that say who drove, with which knobs, and when each row was truly taken.
    pub provenance: bool,
    /// Actions of the newest predicted chunk that are kept with each row; `None` keeps none.
    pub chunk: Option<usize>,
    pub codec: Codec,
    /// Pictures from one key frame to the next: few make random access fast, many make files small.
    pub key_frame_interval: u32,
}

impl Plan {
    /// A plan for an SO-101 without cameras, at 30 rows a second.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            fps: 30,
            robot_type: "so_follower".to_owned(),
            cameras: vec![],
            provenance: true,
            chunk: None,
            codec: Codec::H264,
            key_frame_interval: 10,
        }
    }
}

/// A camera as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameraShape {
    /// The operator's name, `front`; the feature is `observation.images.front`.
    pub name: String,
    /// Pixels, both even. A frame of another size is scaled to it.
    pub width: u32,
    pub height: u32,
}

/// What the pictures are encoded with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// H.264 by the encoder that is built in.
    #[default]
    H264,
    /// An encoder of an installed ffmpeg, by its name there: `libsvtav1`, `h264_nvenc`.
    Ffmpeg(String),
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::H264 => f.write_str("h264"),
            Self::Ffmpeg(encoder) => write!(f, "ffmpeg:{encoder}"),
        }
    }
}
