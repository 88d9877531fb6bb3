//! What can be typed about recording: behind `run`, `teleop`, `sim record` and `replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::camera;
use crate::cli::args::{ArmArgs, JsonArgs, KnobArgs};
use crate::cli::parse;
use crate::dataset::Codec;
use crate::runtime::SessionPlan;
use crate::sim::{Task, Viewpoint};

/// Times of a session with a person beside it, seconds: as LeRobot has them, but for shorter waits.
const EPISODE_S: f64 = 60.0;
const RESET_S: f64 = 10.0;
const WARM_UP_S: f64 = 5.0;

/// Recording beside a run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Recording")]
pub struct RecordArgs {
    /// Record into this data set: made where there is none, added to where there is one
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Episodes to record; without it until the run ends
    #[arg(long, value_name = "N", requires = "record", value_parser = clap::value_parser!(u32).range(1..))]
    pub episodes: Option<u32>,
    /// Longest episode, which is then kept [default: 60]
    #[arg(long, value_name = "S", requires = "record", value_parser = parse::positive_seconds)]
    pub episode_time: Option<f64>,
    /// Time to put things back between episodes; nobody drives then but a person [default: 10, on the rig 0.5]
    #[arg(long, value_name = "S", requires = "record", value_parser = parse::seconds)]
    pub reset_time: Option<f64>,
    /// Time to get ready before the first episode [default: 5, on the rig 0]
    #[arg(long, value_name = "S", requires = "record", value_parser = parse::seconds)]
    pub warm_up: Option<f64>,
    /// Rows a second, whatever the control rate is [default: 30]
    #[arg(long, value_name = "N", requires = "record", value_parser = clap::value_parser!(u32).range(1..=120))]
    pub record_fps: Option<u32>,
    #[command(flatten)]
    pub columns: ColumnArgs,
}

/// What is recorded with each row.
#[derive(Args, Clone, Debug, Default)]
pub struct ColumnArgs {
    /// `h264` (built in), or `ffmpeg:NAME` for an encoder of an installed ffmpeg, such as `ffmpeg:libsvtav1` [default: h264]
    #[arg(long, value_name = "CODEC", value_parser = codec)]
    pub codec: Option<Codec>,
    /// Only LeRobot's own columns, not who drove and with which knobs: what a data set of LeRobot's is added to with
    #[arg(long)]
    pub no_provenance: bool,
    /// Keep the predicted chunk with each row
    #[arg(long, conflicts_with = "no_provenance")]
    pub record_chunk: bool,
}

impl RecordArgs {
    /// The session that was asked for, if one was. On the rig its referee ends the episodes.
    pub fn plan(&self, is_rig: bool) -> Option<SessionPlan> {
        let seconds = |said: Option<f64>, real: f64, rig: f64| {
            let usual = if is_rig { rig } else { real };
            Duration::from_secs_f64(said.unwrap_or(usual))
        };
        Some(SessionPlan {
            episodes: self.episodes.unwrap_or(0),
            episode_limit: seconds(self.episode_time, EPISODE_S, EPISODE_S),
            reset: seconds(
                self.reset_time,
                RESET_S,
                SessionPlan::RIG_RESET.as_secs_f64(),
            ),
            warm_up: seconds(self.warm_up, WARM_UP_S, 0.0),
            fps: self.record_fps.unwrap_or(30),
            codec: self.columns.codec.clone().unwrap_or_default(),
            provenance: !self.columns.no_provenance,
            chunk: self.columns.record_chunk,
            judged: is_rig,
            ..SessionPlan::new(self.record.clone()?)
        })
    }
}

/// `smolpilot sim record`
#[derive(Args, Clone, Debug)]
pub struct SimRecordArgs {
    /// What is demonstrated, in words
    #[arg(long, value_name = "TEXT", default_value_t = Task::USUAL, value_parser = task)]
    pub task: Task,
    /// Episodes to record
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub episodes: u32,
    /// The data set: made where there is none, added to where there is one
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Seed of the first table; the others follow. Equal seeds record equal rows
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Pixels of each picture
    #[arg(long, value_name = "WxH", default_value = "320x240", value_parser = size)]
    pub size: [u32; 2],
    /// front, wrist or top [may be repeated; default: front and wrist]
    #[arg(long = "camera", value_name = "NAME", value_parser = viewpoint)]
    pub cameras: Vec<Viewpoint>,
    /// Other light, colours and lenses in each episode, 0 (none) to 1
    #[arg(long, value_name = "STRENGTH", default_value = "0", value_parser = parse::part)]
    pub vary: f32,
    /// How long the expert takes to answer, milliseconds
    #[arg(long, value_name = "MS", default_value = "100", value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub latency_ms: u64,
    /// A try that takes longer has failed, seconds of virtual time [default: 40, and 100 to sort]
    #[arg(long, value_name = "S", value_parser = parse::positive_seconds)]
    pub limit: Option<f64>,
    /// Threads that fly and draw; what is recorded does not depend on it [default: one a core]
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub jobs: Option<usize>,
    /// Keep episodes that failed as well, marked as failures
    #[arg(long)]
    pub keep_failures: bool,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub knobs: KnobArgs,
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `smolpilot replay`
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// The data set
    #[arg(value_name = "DIR")]
    pub root: PathBuf,
    /// The episode, counted from 0
    #[arg(long, value_name = "N")]
    pub episode: usize,
    /// Begin again after the end, until Ctrl-C
    #[arg(long)]
    pub repeat: bool,
    #[command(flatten)]
    pub arms: ArmArgs,
    /// Switch the torque of a real follower on; without it nothing moves (the rig's is always on)
    #[arg(long, requires = "follower")]
    pub arm: bool,
    /// Seed of the simulated table
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// A camera to record with: a device id or path, an image, or a directory of images [may be repeated]
    #[arg(long = "camera", value_name = "NAME=SOURCE")]
    pub cameras: Vec<camera::Spec>,
    #[command(flatten)]
    pub json: JsonArgs,
}

fn codec(text: &str) -> Result<Codec, String> {
    match text.split_once(':') {
        None if text == "h264" => Ok(Codec::H264),
        Some(("ffmpeg", encoder)) if !encoder.is_empty() => Ok(Codec::Ffmpeg(encoder.to_owned())),
        _ => Err(
            "expected h264, or ffmpeg: and the name of an encoder, for example ffmpeg:libsvtav1"
                .to_owned(),
        ),
    }
}

fn task(text: &str) -> Result<Task, String> {
    text.parse()
        .map_err(|error: crate::sim::UnknownTask| error.to_string())
}

fn size(text: &str) -> Result<[u32; 2], String> {
    let edges = text.split_once('x').and_then(|(width, height)| {
        let edge = |word: &str| word.parse::<u32>().ok();
        Some([edge(width)?, edge(height)?])
    });
    edges
        .filter(|edges| {
            edges
                .iter()
                .all(|edge| (16..=1920).contains(edge) && edge % 2 == 0)
        })
        .ok_or_else(|| {
            "expected WIDTHxHEIGHT, both even, from 16 to 1920, for example 640x480".to_owned()
        })
}

fn viewpoint(text: &str) -> Result<Viewpoint, String> {
    let mut all = Viewpoint::ALL.into_iter();
    all.find(|it| it.name() == text)
        .ok_or_else(|| "expected front, wrist or top".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Verb};

    fn recorded(words: &str) -> RecordArgs {
        let line = format!("smolpilot run {words}");
        match Cli::try_parse_from(line.split_whitespace()).unwrap().verb {
            Some(Verb::Run(args)) => args.record,
            other => panic!("{line} is {other:?}"),
        }
    }

    #[test]
    fn nothing_is_recorded_unless_a_folder_is_named() {
        assert_eq!(recorded("").plan(true), None);
        let alone = "smolpilot run --episodes 3";
        let why = Cli::try_parse_from(alone.split_whitespace()).unwrap_err();
        assert!(why.to_string().contains("--record"), "{why}");
    }

    #[test]
    fn the_rig_is_judged_and_a_person_gets_time() {
        let args = recorded("--record d --episodes 3 --episode-time 20 --codec ffmpeg:libsvtav1");
        let rig = args.plan(true).unwrap();
        assert!(rig.judged && rig.warm_up.is_zero() && rig.provenance && !rig.chunk);
        assert_eq!(rig.codec, Codec::Ffmpeg("libsvtav1".to_owned()));
        let real = args.plan(false).unwrap();
        assert!(!real.judged);
        assert_eq!(
            (real.reset, real.episode_limit),
            (Duration::from_secs(10), Duration::from_secs(20))
        );
        assert_eq!((real.episodes, real.fps), (3, 30));
        let zero = recorded("--record d --reset-time 0 --record-chunk")
            .plan(false)
            .unwrap();
        assert!(zero.reset.is_zero() && zero.chunk);
    }

    #[test]
    fn words_are_turned_into_sizes_cameras_and_codecs() {
        assert_eq!(size("640x480"), Ok([640, 480]));
        for wrong in ["640", "641x480", "8x8", "4000x480", "x"] {
            assert!(size(wrong).unwrap_err().contains("640x480"), "{wrong}");
        }
        assert_eq!(viewpoint("top"), Ok(Viewpoint::Top));
        assert!(viewpoint("left").is_err());
        assert_eq!(codec("h264"), Ok(Codec::H264));
        for wrong in ["av1", "ffmpeg", "ffmpeg:"] {
            assert!(
                codec(wrong).unwrap_err().contains("ffmpeg:libsvtav1"),
                "{wrong}"
            );
        }
    }
}
