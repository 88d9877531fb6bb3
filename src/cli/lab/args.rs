//! What can be typed behind `smolpilot lab` and `smolpilot sim eval`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::args::{DeviceArgs, JsonArgs, KnobArgs};
use crate::cli::parse;
use crate::runtime::{EXPERT, LatencyModel};
use crate::sim::Task;

/// The most episodes of one evaluation: their rows stay in memory until the last is over.
const MOST_EPISODES: u32 = 100_000;
/// The longest mean or spread of a latency, milliseconds: a policy that needs a minute for a chunk flies nothing.
const LONGEST_MS: f32 = 60_000.0;

/// The policy that is measured.
#[derive(Args, Clone, Debug)]
pub struct PilotArgs {
    /// `expert` (scripted, knows where everything is), a checkpoint directory, a hub id, or `demo`, the untrained network
    #[arg(long, value_name = "P", default_value = EXPERT)]
    pub policy: String,
    /// The data set whose statistics are right, for a checkpoint that carries several
    #[arg(long, value_name = "NAME")]
    pub stats: Option<String>,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// What the arm is to do, in words
    #[arg(long, value_name = "TEXT", default_value_t = Task::USUAL, value_parser = task)]
    pub task: Task,
    /// Seed of the first table; the others follow
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Runs that are flown at the same time; the rows do not depend on it [default: one a core]
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub jobs: Option<usize>,
}

/// How long the policy takes to answer on the virtual clock.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Latency")]
pub struct LatencyArgs {
    /// From request to chunk, milliseconds
    #[arg(long = "latency-ms", value_name = "MS", default_value = "300", value_parser = latency)]
    pub mean_ms: f32,
    /// Standard deviation of a log-normal latency, milliseconds [default: always the same]
    #[arg(long = "latency-sd-ms", value_name = "MS", value_parser = latency)]
    pub sd_ms: Option<f32>,
    /// Measure a few chunks on this device first, and draw from their times
    #[arg(long = "latency-measured", conflicts_with_all = ["mean_ms", "sd_ms"])]
    pub is_measured: bool,
}

impl LatencyArgs {
    /// The model; `None` is one that is still to be measured.
    pub fn model(&self, seed: u64) -> Option<LatencyModel> {
        let time = |ms: f32| Duration::from_micros((f64::from(ms) * 1000.0).round() as u64);
        let mean = time(self.mean_ms);
        if self.is_measured {
            return None;
        }
        Some(match self.sd_ms {
            None => LatencyModel::Constant(mean),
            Some(sd) => LatencyModel::LogNormal {
                mean,
                sd: time(sd),
                seed,
            },
        })
    }
}

/// `smolpilot sim eval`
#[derive(Args, Clone, Debug)]
pub struct EvalArgs {
    #[command(flatten)]
    pub pilot: PilotArgs,
    /// Episodes, each on a table of its own
    #[arg(long, value_name = "N", default_value = "10", value_parser = episodes)]
    pub episodes: u32,
    /// An episode that takes longer has failed, seconds of virtual time [default: 40, and 100 to sort]
    #[arg(long, value_name = "S", value_parser = parse::positive_seconds)]
    pub limit: Option<f64>,
    #[command(flatten)]
    pub latency: LatencyArgs,
    #[command(flatten)]
    pub knobs: KnobArgs,
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `smolpilot lab`
#[derive(Args, Clone, Debug)]
pub struct LabArgs {
    #[command(flatten)]
    pub pilot: PilotArgs,
    /// Fewer episodes, latencies and values: under two minutes on two cores
    #[arg(long)]
    pub quick: bool,
    /// Write lab.md, lab.json and the plots into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub json: JsonArgs,
}

fn episodes(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count) if (1..=MOST_EPISODES).contains(&count) => Ok(count),
        _ => Err(format!("expected a whole number from 1 to {MOST_EPISODES}")),
    }
}

fn latency(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(ms) if (0.0..=LONGEST_MS).contains(&ms) => Ok(ms),
        _ => Err(format!(
            "expected a number of milliseconds from 0 to {LONGEST_MS}, for example 300"
        )),
    }
}

fn task(text: &str) -> Result<Task, String> {
    text.parse()
        .map_err(|error: crate::sim::UnknownTask| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Verb};
    use crate::cli::emulate::SimVerb;

    fn eval(words: &str) -> Box<EvalArgs> {
        let line = format!("smolpilot sim eval {words}");
        match Cli::try_parse_from(line.split_whitespace()).unwrap().verb {
            Some(Verb::Sim(args)) => match args.verb {
                SimVerb::Eval(args) => args,
                other @ (SimVerb::Emulate(_) | SimVerb::Record(_)) => panic!("{line} is {other:?}"),
            },
            other => panic!("{line} is {other:?}"),
        }
    }

    #[test]
    fn the_latency_is_told_in_milliseconds_or_measured() {
        let model = |words: &str| eval(words).latency.model(7);
        let usual = LatencyModel::Constant(Duration::from_millis(300));
        assert_eq!(model(""), Some(usual));
        assert_eq!(model("--latency-measured"), None);
        let jitter = model("--latency-ms 500 --latency-sd-ms 100").unwrap();
        assert_eq!(jitter.to_string(), "500 ± 100 ms");
    }

    #[test]
    fn what_no_machine_could_fly_is_refused_before_it_is_begun() {
        let most = MOST_EPISODES.to_string();
        assert_eq!(episodes(&most), Ok(MOST_EPISODES));
        for wrong in ["0", "-1", "100001", "4294967296", "99999999999999999999"] {
            assert!(episodes(wrong).is_err(), "{wrong}");
        }
        assert_eq!((latency("0"), latency("60000")), (Ok(0.0), Ok(60_000.0)));
        for wrong in ["-5", "NaN", "inf", "1e30"] {
            let why = latency(wrong).unwrap_err();
            assert!(why.contains("from 0 to 60000"), "{why}");
        }
    }

    #[test]
    fn an_evaluation_is_of_the_expert_unless_told() {
        let args = eval("--episodes 3 --task sort --g 0.4");
        assert_eq!((args.pilot.policy.as_str(), args.episodes), (EXPERT, 3));
        assert_eq!(args.pilot.task, Task::Sort);
        assert_eq!(args.knobs.chunk_size_threshold, Some(0.4));
    }
}
