//! The encoders of ffmpeg that a data set may be recorded with, and how each is asked for what LeRobot's decoders need.
//!
//! LeRobot's tools encode again by what `info.json` says of the codec, so only codecs that it knows are offered. Pictures that wait for
//! later ones (B-frames) are turned off everywhere: LeRobot's merge cannot join films with and without them.

use std::ffi::OsString;
use std::path::Path;

use super::super::super::{Codec, Error};
use super::super::mp4::grid;
use super::super::unit::Coding;

/// How a data set's films are encoded, as LeRobot keeps it in the feature's `info`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `video.codec`
    pub coding: Coding,
    /// `video.g`: pictures from one key frame to the next.
    pub key_frame_interval: u32,
    /// `video.crf`, where the encoder has one.
    pub crf: Option<u32>,
    /// `video.preset`, where the encoder has one; a number for AV1.
    pub preset: Option<&'static str>,
    /// `video.fast_decode`, SVT-AV1 only.
    pub fast_decode: Option<u32>,
}

impl Settings {
    /// `video.pix_fmt` of all of them.
    pub const PIXEL_FORMAT: &'static str = "yuv420p";

    /// What `codec` encodes with.
    ///
    /// # Errors
    /// [`Error::Encoder`] for an encoder of ffmpeg that recordings cannot be made with.
    pub fn new(codec: &Codec, key_frame_interval: u32) -> Result<Self, Error> {
        let Codec::Ffmpeg(name) = codec else {
            return Ok(Self {
                coding: Coding::H264,
                key_frame_interval,
                crf: None,
                preset: None,
                fast_decode: None,
            });
        };
        let known = known(name)?;
        Ok(Self {
            coding: known.coding.clone(),
            key_frame_interval,
            crf: known.value("-crf").and_then(|crf| crf.parse().ok()),
            preset: known.value("-preset"),
            fast_decode: (known.name == "libsvtav1").then_some(0),
        })
    }
}

/// An encoder and its arguments.
#[derive(Debug)]
pub(super) struct Known {
    pub name: &'static str,
    coding: Coding,
    /// Before the input.
    device: &'static [&'static str],
    options: &'static [&'static str],
}

impl Known {
    fn value(&self, option: &str) -> Option<&'static str> {
        let at = self.options.iter().position(|&is| is == option)?;
        self.options.get(at + 1).copied()
    }
}

const fn software(name: &'static str, coding: Coding, options: &'static [&'static str]) -> Known {
    Known {
        name,
        coding,
        device: &[],
        options,
    }
}

/// The first is LeRobot's own, with its settings.
#[rustfmt::skip]
pub(super) static KNOWN: [Known; 13] = [
    software("libsvtav1", Coding::Av1, &["-preset", "12", "-crf", "30", "-svtav1-params", "fast-decode=0", "-pix_fmt", "yuv420p"]),
    software("libaom-av1", Coding::Av1, &["-cpu-used", "8", "-crf", "30", "-b:v", "0", "-row-mt", "1", "-lag-in-frames", "0", "-pix_fmt", "yuv420p"]),
    software("libx264", Coding::H264, &["-preset", "veryfast", "-crf", "23", "-bf", "0", "-pix_fmt", "yuv420p"]),
    software("libx265", Coding::Hevc, &["-preset", "veryfast", "-crf", "26", "-bf", "0", "-x265-params", "log-level=error", "-tag:v", "hvc1", "-pix_fmt", "yuv420p"]),
    software("h264_nvenc", Coding::H264, &["-rc", "vbr", "-cq", "24", "-b:v", "0", "-bf", "0", "-pix_fmt", "yuv420p"]),
    software("hevc_nvenc", Coding::Hevc, &["-rc", "vbr", "-cq", "26", "-b:v", "0", "-bf", "0", "-tag:v", "hvc1", "-pix_fmt", "yuv420p"]),
    software("av1_nvenc", Coding::Av1, &["-rc", "vbr", "-cq", "30", "-b:v", "0", "-bf", "0", "-pix_fmt", "yuv420p"]),
    software("h264_qsv", Coding::H264, &["-global_quality", "24", "-bf", "0", "-pix_fmt", "nv12"]),
    software("hevc_qsv", Coding::Hevc, &["-global_quality", "26", "-bf", "0", "-tag:v", "hvc1", "-pix_fmt", "nv12"]),
    software("h264_videotoolbox", Coding::H264, &["-b:v", "6M", "-allow_sw", "1", "-bf", "0", "-pix_fmt", "yuv420p"]),
    software("hevc_videotoolbox", Coding::Hevc, &["-b:v", "4M", "-allow_sw", "1", "-bf", "0", "-tag:v", "hvc1", "-pix_fmt", "yuv420p"]),
    Known { name: "h264_vaapi", coding: Coding::H264, device: VAAPI, options: &["-vf", "format=nv12,hwupload", "-qp", "24", "-bf", "0"] },
    Known { name: "hevc_vaapi", coding: Coding::Hevc, device: VAAPI, options: &["-vf", "format=nv12,hwupload", "-qp", "26", "-bf", "0", "-tag:v", "hvc1"] },
];

const VAAPI: &[&str] = &["-vaapi_device", "/dev/dri/renderD128"];

fn known(name: &str) -> Result<&'static Known, Error> {
    KNOWN.iter().find(|known| known.name == name).ok_or_else(|| {
        let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
        Error::Encoder {
            encoder: format!("ffmpeg:{name}"),
            why: format!(
                "it makes no films that LeRobot reads. Choose one of {}, or the built-in encoder, h264",
                names.join(", ")
            ),
        }
    })
}

/// The arguments that turn the film `source` into `target`, `fps` pictures a second.
///
/// # Errors
/// As [`Settings::new`].
pub(super) fn arguments(
    encoder: &str,
    source: &Path,
    target: &Path,
    fps: u32,
    key_frame_interval: u32,
) -> Result<Vec<OsString>, Error> {
    let known = known(encoder)?;
    let (timescale, _) = grid(fps);
    let numbers = [key_frame_interval.to_string(), timescale.to_string()];
    let mut arguments = vec!["-v", "error", "-nostdin", "-y"];
    arguments.extend(known.device);
    let mut arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
    arguments.extend(["-i".into(), source.into()]);
    arguments.extend(["-map", "0:v:0", "-an", "-c:v", known.name].map(OsString::from));
    arguments.extend(known.options.iter().map(OsString::from));
    let [interval, timescale] = numbers.map(OsString::from);
    arguments.extend(["-g".into(), interval]);
    arguments.extend(["-video_track_timescale".into(), timescale]);
    arguments.extend(["-progress", "pipe:1", "-nostats", "-f", "mp4"].map(OsString::from));
    arguments.push(target.into());
    Ok(arguments)
}

/// The names in what `ffmpeg -encoders` prints: ` V....D libsvtav1   SVT-AV1 encoder (codec av1)`.
pub(super) fn names_from(listing: &str) -> Vec<String> {
    listing
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let flags = words.next()?;
            let name = words.next()?;
            let is_video = flags.len() == 6 && flags.starts_with('V');
            (is_video && name != "=").then(|| name.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listing_of_ffmpeg_is_read() {
        let listing = "Encoders:\n V..... = Video\n A..... = Audio\n ------\n V....D a64multi             Multicolor\n \
                       V..... libsvtav1            SVT-AV1 encoder (codec av1)\n V..... h264_nvenc  NVIDIA\n A....D aac   AAC\n";
        assert_eq!(names_from(listing), ["a64multi", "libsvtav1", "h264_nvenc"]);
    }

    #[test]
    fn lerobots_own_encoder_gets_lerobots_own_settings() {
        let line = arguments("libsvtav1", Path::new("in.mp4"), Path::new("out"), 30, 2);
        let line: Vec<_> = line
            .expect("known")
            .into_iter()
            .map(|argument| argument.into_string().expect("ascii"))
            .collect();
        assert_eq!(
            line.join(" "),
            "-v error -nostdin -y -i in.mp4 -map 0:v:0 -an -c:v libsvtav1 -preset 12 -crf 30 -svtav1-params fast-decode=0 -pix_fmt \
             yuv420p -g 2 -video_track_timescale 15360 -progress pipe:1 -nostats -f mp4 out"
        );
        let settings = Settings::new(&Codec::Ffmpeg("libsvtav1".to_owned()), 2).expect("known");
        assert_eq!((settings.crf, settings.preset), (Some(30), Some("12")));
        assert_eq!(
            (settings.coding, settings.fast_decode),
            (Coding::Av1, Some(0))
        );
    }

    #[test]
    fn a_card_is_opened_before_the_input_and_no_encoder_reorders() {
        let line = arguments("h264_vaapi", Path::new("in"), Path::new("out"), 30, 10);
        let line = line.expect("known");
        let place = |word: &str| line.iter().position(|argument| argument == word);
        assert!(place("-vaapi_device") < place("-i") && place("-i") < place("-qp"));
        for known in KNOWN.iter().filter(|known| !known.name.starts_with("lib")) {
            assert_eq!(known.value("-bf"), Some("0"), "{}", known.name);
        }
    }

    #[test]
    fn what_lerobot_cannot_read_is_refused_with_the_way_out() {
        let said = Settings::new(&Codec::Ffmpeg("mjpeg".to_owned()), 2).expect_err("unknown");
        let said = said.to_string();
        assert!(
            said.contains("ffmpeg:mjpeg") && said.contains("libsvtav1"),
            "{said}"
        );
        let built_in = Settings::new(&Codec::H264, 10).expect("built in");
        assert_eq!((built_in.coding, built_in.crf), (Coding::H264, None));
    }
}
