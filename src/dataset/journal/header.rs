//! The first words of a journal: what the episode was recorded with, so that it can be saved without whoever began it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::dataset::{CameraShape, Codec, Plan};

/// Journals of another layout are left alone.
const VERSION: u32 = 1;

/// What a journal says of its episode, `header.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    version: u32,
    /// Names the episode in this data set for ever, and its journal's folder.
    pub id: String,
    /// The program that wrote it, for people.
    program: String,
    pub fps: u32,
    robot_type: String,
    pub cameras: Vec<Camera>,
    provenance: bool,
    chunk: Option<usize>,
    codec: String,
    pub key_frame_interval: u32,
}

/// A camera, in the order of the streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Camera {
    pub name: String,
    pub width: u32,
    pub height: u32,
}

impl Header {
    pub fn new(id: &str, plan: &Plan) -> Self {
        let camera = |shape: &CameraShape| Camera {
            name: shape.name.clone(),
            width: shape.width,
            height: shape.height,
        };
        Self {
            version: VERSION,
            id: id.to_owned(),
            program: concat!("smolpilot ", env!("CARGO_PKG_VERSION")).to_owned(),
            fps: plan.fps,
            robot_type: plan.robot_type.clone(),
            cameras: plan.cameras.iter().map(camera).collect(),
            provenance: plan.provenance,
            chunk: plan.chunk,
            codec: plan.codec.to_string(),
            key_frame_interval: plan.key_frame_interval,
        }
    }

    /// Reads `header.json`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let header: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if header.version != VERSION {
            return Err(format!(
                "it was written by {}, whose journals have another layout: recover the episode with that program",
                header.program
            ));
        }
        if header.fps == 0 {
            return Err("its rows have no rate".to_owned());
        }
        Ok(header)
    }

    /// What the films are to be encoded with.
    pub fn codec(&self) -> Codec {
        codec_from_name(&self.codec)
    }

    /// The plan that the episode was recorded by, for the data set in `root`.
    pub fn plan(&self, root: &Path) -> Plan {
        let shape = |camera: &Camera| CameraShape {
            name: camera.name.clone(),
            width: camera.width,
            height: camera.height,
        };
        Plan {
            root: root.to_owned(),
            fps: self.fps,
            robot_type: self.robot_type.clone(),
            cameras: self.cameras.iter().map(shape).collect(),
            provenance: self.provenance,
            chunk: self.chunk,
            codec: self.codec(),
            key_frame_interval: self.key_frame_interval,
        }
    }
}

/// Reads what [`Codec`] displays. A name that is not known is taken for the built-in codec, which every journal can be saved with.
fn codec_from_name(name: &str) -> Codec {
    match name.strip_prefix("ffmpeg:") {
        Some(encoder) => Codec::Ffmpeg(encoder.to_owned()),
        None => Codec::H264,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_comes_back_from_the_header_it_made() {
        let plan = Plan {
            fps: 15,
            cameras: vec![CameraShape {
                name: "front".to_owned(),
                width: 64,
                height: 48,
            }],
            chunk: Some(50),
            codec: Codec::Ffmpeg("libsvtav1".to_owned()),
            key_frame_interval: 2,
            ..Plan::new("somewhere")
        };
        let header = Header::new("ep-1", &plan);
        let text = serde_json::to_vec(&header).unwrap();
        let read = Header::read(&text).unwrap();
        assert_eq!(read, header);
        assert_eq!(read.plan(Path::new("somewhere")), plan);
        assert_eq!(codec_from_name("h264"), Codec::H264);
    }

    #[test]
    fn a_header_of_another_layout_names_the_program_that_wrote_it() {
        let mut header = Header::new("ep-1", &Plan::new("x"));
        header.version = 2;
        let why = Header::read(&serde_json::to_vec(&header).unwrap()).unwrap_err();
        assert!(why.contains("smolpilot "), "{why}");
        assert!(Header::read(b"{").is_err());
    }
}
