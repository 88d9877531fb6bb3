//! What an encoder gives and a file holds: one coded picture, and what a decoder must know before the first of them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use shiguredo_mp4::boxes::{Av1cBox, AvccBox, SampleEntry};
use shiguredo_mp4::{Decode as _, Encode as _};

/// One coded picture as it lies in an mp4 file: for H.264 its NAL units, each after its length in four bytes, without the parameter
/// sets, which are in the [`CodecConfig`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessUnit {
    pub bytes: Vec<u8>,
    /// It can be decoded without the units before it.
    pub key: bool,
}

/// How pictures are coded, by ffmpeg's canonical name: what LeRobot keeps as `video.codec`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coding {
    H264,
    Hevc,
    Av1,
    Vp9,
    /// The four characters of its entry in the file.
    Other(String),
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::H264 => "h264",
            Self::Hevc => "hevc",
            Self::Av1 => "av1",
            Self::Vp9 => "vp9",
            Self::Other(name) => name,
        })
    }
}

/// What a decoder must know before the first unit: the sample entry of an mp4 file. It is written to a journal as base64.
///
/// Equal ones mean that the units of two films can stand in one file.
#[derive(Clone, PartialEq, Eq)]
pub struct CodecConfig {
    entry: SampleEntry,
}

impl CodecConfig {
    /// Keeps of a sample entry what a decoder needs; bit rates and the like, which differ from film to film, are left out.
    pub(super) fn new(mut entry: SampleEntry) -> Self {
        let others = match &mut entry {
            SampleEntry::Avc1(entry) => Some(&mut entry.unknown_boxes),
            SampleEntry::Hev1(entry) => Some(&mut entry.unknown_boxes),
            SampleEntry::Hvc1(entry) => Some(&mut entry.unknown_boxes),
            SampleEntry::Av01(entry) => Some(&mut entry.unknown_boxes),
            SampleEntry::Vp09(entry) => Some(&mut entry.unknown_boxes),
            _ => None,
        };
        if let Some(others) = others {
            others.retain(|other| other.box_type.as_bytes() == b"colr");
        }
        let visual = match &mut entry {
            SampleEntry::Avc1(entry) => Some(&mut entry.visual),
            SampleEntry::Hev1(entry) => Some(&mut entry.visual),
            SampleEntry::Hvc1(entry) => Some(&mut entry.visual),
            SampleEntry::Av01(entry) => Some(&mut entry.visual),
            SampleEntry::Vp09(entry) => Some(&mut entry.visual),
            _ => None,
        };
        if let Some(visual) = visual {
            // The encoder's name and version.
            visual.compressorname = [0; 32];
        }
        Self { entry }
    }

    /// From the bytes of [`CodecConfig::to_bytes`].
    ///
    /// # Errors
    /// Says what is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        match SampleEntry::decode(bytes) {
            Ok((entry, length)) if length == bytes.len() => Ok(Self { entry }),
            Ok(_) => Err("bytes follow the sample entry".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The sample entry as it stands in an mp4 file.
    ///
    /// # Errors
    /// Says what cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        self.entry
            .encode_to_vec()
            .map_err(|error| error.to_string())
    }

    pub(super) fn entry(&self) -> &SampleEntry {
        &self.entry
    }

    pub fn coding(&self) -> Coding {
        match &self.entry {
            SampleEntry::Avc1(_) => Coding::H264,
            SampleEntry::Hev1(_) | SampleEntry::Hvc1(_) => Coding::Hevc,
            SampleEntry::Av01(_) => Coding::Av1,
            SampleEntry::Vp09(_) => Coding::Vp9,
            SampleEntry::Unknown(other) => {
                Coding::Other(String::from_utf8_lossy(other.box_type.as_bytes()).into_owned())
            }
            _ => Coding::Other("other".to_owned()),
        }
    }

    /// Width and height in pixels, where the file says them.
    pub fn size(&self) -> Option<(u32, u32)> {
        let (width, height) = self.entry.video_resolution()?;
        Some((u32::from(width), u32::from(height)))
    }

    pub(super) fn avcc(&self) -> Option<&AvccBox> {
        match &self.entry {
            SampleEntry::Avc1(entry) => Some(&entry.avcc_box),
            _ => None,
        }
    }

    pub(super) fn av1c(&self) -> Option<&Av1cBox> {
        match &self.entry {
            SampleEntry::Av01(entry) => Some(&entry.av1c_box),
            _ => None,
        }
    }
}

impl fmt::Debug for CodecConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (width, height) = self.size().unwrap_or_default();
        write!(f, "{} {width}x{height}", self.coding())
    }
}

impl Serialize for CodecConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.to_bytes().map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for CodecConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
        Self::from_bytes(&bytes).map_err(de::Error::custom)
    }
}
