//! What can be typed: the commands, their options and what each is for.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::arm::Role;
use crate::camera;
use crate::cli::bench::Made;
use crate::cli::dataset::SetArgs;
use crate::cli::emulate::{EmulateArgs, SimArgs};
use crate::cli::lab::LabArgs;
use crate::cli::parse::{self, ImageArg, JsonTo, NoiseArg, StateArg};
use crate::cli::record::{RecordArgs, ReplayArgs};
use crate::gpu::{DeviceChoice, Kernels, Precision, Wish};
use crate::policy::RtcSchedule;
use crate::runtime::{Aggregate, Scheduling, ViewBinding};

/// Flies an SO-101 with the SmolVLA policy, on any GPU. Without a command it opens the window.
#[derive(Debug, Parser)]
#[command(
    name = "smolpilot",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Exit status: 0 on success, 1 on a fault that is named on stderr, 2 on wrong arguments."
)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Option<Verb>,
    #[command(flatten)]
    pub window: WindowArgs,
}

/// What to do instead of opening the window.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Drive the arm, or the rig, without a window, and print a summary
    Run(Box<RunArgs>),
    /// Let the follower follow a leader arm, without a window, and print a summary
    Teleop(Box<TeleopArgs>),
    /// Let an arm, or the rig's, go through a recorded episode again: slowly to its first pose, then at its rate
    Replay(Box<ReplayArgs>),
    /// Predict one chunk of actions from pictures, a state and a task
    Predict(PredictArgs),
    /// Measure a policy on this machine: time by stage, launches, bytes, memory
    Bench(BenchArgs),
    /// Say what this machine and a checkpoint can do together, before any torque
    Check(CheckArgs),
    /// Give an arm's servos their numbers, one at a time; without a port, find it by its plug first
    Setup(SetupArgs),
    /// Calibrate an arm by hand, as LeRobot does, and keep it where LeRobot looks for it
    Calibrate(CalibrateArgs),
    /// Serve pretend arms on serial ports, for this program, LeRobot or any other
    Emulate(Box<EmulateArgs>),
    /// The simulated rig by itself
    Sim(SimArgs),
    /// Compare sync, async and RTC, and what g, `n_action_steps`, merge and latency do: tables and plots on a virtual clock
    Lab(Box<LabArgs>),
    /// Data sets: look into them, change them, compare a policy with them, send them around
    Data(SetArgs),
}

/// The device that computes.
#[derive(Args, Clone, Debug)]
pub struct DeviceArgs {
    /// auto, flex (the CPU), wgpu (the best hardware adapter), gpu:N (adapter N of `check`), or software
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// own (this program's, GPU only) or burn (Burn's, on any device) [default: own where it can be]
    #[arg(long, value_name = "WHOSE", value_parser = parse::named::<Kernels>)]
    pub kernels: Option<Kernels>,
    /// f32; f16 (weights at f16); auto (f16 on a hardware GPU that passes its self-test that way, else f32); int8 (the expert's
    /// weights at 8 bits, an experiment); f16 and int8 with own kernels only
    #[arg(long, value_name = "P", default_value = "f32", value_parser = parse::named::<Precision>)]
    pub precision: Precision,
}

impl DeviceArgs {
    /// All that was said about the device.
    pub fn wish(&self) -> Wish {
        Wish {
            device: self.device,
            kernels: self.kernels,
            precision: self.precision,
        }
    }
}

/// The policy.
#[derive(Args, Clone, Debug)]
pub struct PolicyArgs {
    /// A checkpoint directory, a hub id such as `lerobot/smolvla_base`, `demo`, the untrained network that is always there, or on
    /// the rig `expert`, a script that sees where the cubes are [default: demo; expert in the window over the rig]
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// The data set whose statistics are right, for a checkpoint that carries several
    #[arg(long, value_name = "NAME")]
    pub stats: Option<String>,
}

/// Where machine-readable output goes.
#[derive(Args, Clone, Debug)]
pub struct JsonArgs {
    /// JSON in place of the text on stdout, or into FILE beside the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<JsonTo>,
}

/// The arm that works, and the one in a person's hand.
#[derive(Args, Clone, Debug)]
pub struct ArmArgs {
    /// The simulated arm and cameras; the default when no arm is named
    #[arg(long, conflicts_with = "follower")]
    pub rig: bool,
    /// The serial port of a real SO-101 follower, for example /dev/ttyACM0 or COM5
    #[arg(long, value_name = "PORT")]
    pub follower: Option<String>,
    /// LeRobot's calibration of that arm; by default the file of `--id` where LeRobot keeps it
    #[arg(
        long,
        value_name = "FILE",
        requires = "follower",
        conflicts_with = "id"
    )]
    pub calibration: Option<PathBuf>,
    /// The id that the arm was calibrated under with LeRobot (its `--robot.id`); by default the only one there is
    #[arg(long, value_name = "ID", requires = "follower")]
    pub id: Option<String>,
    /// Height of the table above the foot of the arm, below which no link is sent; `none` where there is no table under it
    #[arg(long, value_name = "MM", value_parser = parse::table, default_value = "0", allow_hyphen_values = true)]
    pub table: parse::TableAt,
    /// The farthest that a goal may be from where its joint is: degrees, of the gripper percent [default: any distance]
    #[arg(long, value_name = "UNITS", value_parser = parse::distance)]
    pub max_relative_target: Option<f32>,
    /// The serial port of a leader arm; `simulated` is one that waves by itself, which the rig has unless told `none`
    #[arg(long, value_name = "PORT")]
    pub leader: Option<String>,
    /// LeRobot's calibration of the leader; by default the file of `--leader-id` where LeRobot keeps it
    #[arg(
        long,
        value_name = "FILE",
        requires = "leader",
        conflicts_with = "leader_id"
    )]
    pub leader_calibration: Option<PathBuf>,
    /// The id that the leader was calibrated under with LeRobot (its `--teleop.id`); by default the only one there is
    #[arg(long, value_name = "ID", requires = "leader")]
    pub leader_id: Option<String>,
}

/// The window.
#[derive(Args, Clone, Debug)]
pub struct WindowArgs {
    #[command(flatten)]
    pub rig: RigArgs,
    /// Write how punctual the window's frames and the control ticks were, with the policy idle and thinking, into FILE (JSON)
    /// when the window is closed
    #[arg(long, value_name = "FILE")]
    pub frame_report: Option<PathBuf>,
    /// Draw on the device that the policy computes on, to compare; otherwise the window has its own
    #[arg(long, hide = true)]
    pub one_device: bool,
}

/// The arm, its cameras and what it is to do: shared by the window and `run`.
#[derive(Args, Clone, Debug)]
pub struct RigArgs {
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub arms: ArmArgs,
    /// A camera: a device id or path, an image, a directory of images, a film, or a recorded episode, `DIR#3/front` [may be
    /// repeated]
    #[arg(long = "camera", value_name = "NAME=SOURCE")]
    pub cameras: Vec<camera::Spec>,
    /// A view of the checkpoint and the camera that feeds it [may be repeated]
    #[arg(long = "view", value_name = "VIEW=CAMERA", value_parser = parse::view)]
    pub views: Vec<ViewBinding>,
    /// What the arm is to do, in words
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// Seed of the simulated table and of the policy's noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

/// Everything that can be turned while the arm moves.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Knobs")]
pub struct KnobArgs {
    /// sync, async or rtc [default: async]
    #[arg(long, value_name = "HOW", value_parser = parse::named::<Scheduling>)]
    pub scheduling: Option<Scheduling>,
    /// g: ask for a chunk when the queue is below this part of a chunk, 0 to 1 [default: 0.7]
    #[arg(long = "g", alias = "chunk-size-threshold", value_name = "G", value_parser = parse::part)]
    pub chunk_size_threshold: Option<f32>,
    /// Keep g a little above the measured bound
    #[arg(long)]
    pub auto_g: bool,
    /// Actions executed before the next observation, in sync mode [default: 10]
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub n_action_steps: Option<usize>,
    /// Actions kept of each chunk [default: the whole chunk]
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub actions_per_chunk: Option<usize>,
    /// `linear_ramp`, `cosine_ramp`, `latest_only`, `weighted_average`, `average` or `conservative` [default: `linear_ramp`]
    #[arg(long, value_name = "NAME", value_parser = parse::named::<Aggregate>)]
    pub aggregate: Option<Aggregate>,
    /// Length of the ramps in steps [default: the whole overlap]
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub blend_steps: Option<usize>,
    /// Euler steps of the flow, 1 to 50 [default: 10]
    #[arg(long, value_name = "N", value_parser = parse::euler_steps)]
    pub num_steps: Option<usize>,
    /// Similarity filter: least joint distance between observations, robot units [default: off]
    #[arg(long, value_name = "DISTANCE", value_parser = parse::distance)]
    pub epsilon: Option<f32>,
    /// Control rate in Hz, 5 to 100 [default: 30]
    #[arg(long, value_name = "HZ", value_parser = parse::control_rate)]
    pub fps: Option<f32>,
    /// Steps that real-time chunking guides [default: 10]
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub rtc_horizon: Option<usize>,
    /// Upper bound of its guidance weight [default: 10]
    #[arg(long, value_name = "WEIGHT", value_parser = parse::distance)]
    pub rtc_max_weight: Option<f32>,
    /// ZEROS, ONES, LINEAR or EXP [default: LINEAR]
    #[arg(long, value_name = "NAME", value_parser = parse::named::<RtcSchedule>)]
    pub rtc_schedule: Option<RtcSchedule>,
}

/// `smolpilot run`
#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub rig: RigArgs,
    #[command(flatten)]
    pub knobs: KnobArgs,
    /// How long to run from the moment the policy drives; without it until Ctrl-C
    #[arg(long, value_name = "S", value_parser = parse::positive_seconds)]
    pub seconds: Option<f64>,
    /// Switch the torque of a real arm on; without it a real arm is only watched (the rig's is always on)
    #[arg(long, requires = "follower")]
    pub arm: bool,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `smolpilot teleop`
#[derive(Args, Debug)]
pub struct TeleopArgs {
    #[command(flatten)]
    pub arms: ArmArgs,
    /// A camera to record with: a device id or path, an image, or a directory of images; the rig has its own [may be repeated]
    #[arg(long = "camera", value_name = "NAME=SOURCE", requires = "record")]
    pub cameras: Vec<camera::Spec>,
    /// What is demonstrated, in words
    #[arg(long, value_name = "TEXT", requires = "record")]
    pub task: Option<String>,
    /// Seed of the simulated table
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub record: RecordArgs,
    /// How long to follow from the moment the arm is aligned; without it until Ctrl-C
    #[arg(long, value_name = "S", value_parser = parse::positive_seconds)]
    pub seconds: Option<f64>,
    /// Switch the torque of a real follower on; without it nothing moves (the rig's is always on)
    #[arg(long, requires = "follower")]
    pub arm: bool,
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `smolpilot predict`
#[derive(Args, Debug)]
pub struct PredictArgs {
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// A picture for a view: its feature key or the last part of it; PNG or JPEG of any size. A declared camera that is not
    /// given counts as missing [may be repeated]
    #[arg(long = "image", value_name = "KEY=FILE", value_parser = parse::image)]
    pub images: Vec<ImageArg>,
    /// The joint state in robot units, separated by commas
    #[arg(long, value_name = "v,v,…", allow_hyphen_values = true)]
    pub state: StateArg,
    /// The task in words
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub task: String,
    /// The starting noise: a seed, or a safetensors file with one f32 tensor `noise` [1, chunk, 32] or [chunk, 32]
    #[arg(long, value_name = "FILE|SEED", default_value = "0")]
    pub noise: NoiseArg,
    /// Euler steps [default: the checkpoint's]
    #[arg(long, value_name = "N", value_parser = parse::euler_steps)]
    pub num_steps: Option<usize>,
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `smolpilot bench`
#[derive(Args, Debug)]
pub struct BenchArgs {
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// A network with weights from a seed in place of a checkpoint: `tiny`, `small`, `quarter` or `full` (the 450M model)
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["policy", "stats"])]
    pub made: Option<Made>,
    /// Measured runs, after one that compiles and is not counted
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub runs: u64,
    /// Also run as LeRobot 0.6.1 does, in turns: grow and crop the cache, project the prefix anew at each step
    #[arg(long)]
    pub naive: bool,
    /// Where own kernels fly, also run Burn's network, in turns
    #[arg(long)]
    pub burn: bool,
    /// The whole account: launches by kind, host time between them, copies, memory, time stamps, floors
    #[arg(long)]
    pub trace: bool,
    /// Views that are computed [default: all that the checkpoint declares]
    #[arg(long, value_name = "N")]
    pub views: Option<usize>,
    /// The task in words; its length sets the length of the prefix
    #[arg(long, value_name = "TEXT", default_value = parse::BENCH_TASK)]
    pub task: String,
    /// Euler steps [default: the checkpoint's]
    #[arg(long, value_name = "N", value_parser = parse::euler_steps)]
    pub num_steps: Option<usize>,
    /// Only foretell the least time on a GPU by its data sheet, for example `RTX 4090`, or on `all` that are known; no device is
    /// needed
    #[arg(long, value_name = "GPU", conflicts_with_all = ["naive", "trace", "soak", "gpu_report", "gpu_table"])]
    pub floor: Option<String>,
    /// Only run N chunks and tell whether memory stays flat; exit status 1 if it grows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(3..=1_000_000), conflicts_with_all = ["naive", "trace", "gpu_report", "gpu_table"])]
    pub soak: Option<u64>,
    /// Write everything that can be said about this machine's GPU to FILE, in less than five minutes, without a checkpoint;
    /// for the table in the README
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "stats", "naive", "trace", "gpu_table"])]
    pub gpu_report: Option<PathBuf>,
    /// Only turn such files into rows of that table
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub gpu_table: Vec<PathBuf>,
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `smolpilot check`
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// A checkpoint directory, a hub id, or `demo`; without it only the machine is checked
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// The data set whose statistics are right, for a checkpoint that carries several
    #[arg(long, value_name = "NAME")]
    pub stats: Option<String>,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// A camera that will be there, to see whether the views have one [may be repeated]
    #[arg(long = "camera", value_name = "NAME=SOURCE")]
    pub cameras: Vec<camera::Spec>,
    /// A view of the checkpoint and the camera that feeds it [may be repeated]
    #[arg(long = "view", value_name = "VIEW=CAMERA", value_parser = parse::view)]
    pub views: Vec<ViewBinding>,
    /// The control rate that the chunk's length is judged by, in Hz
    #[arg(long, value_name = "HZ", default_value_t = 30.0, value_parser = parse::control_rate)]
    pub fps: f32,
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `smolpilot setup`
#[derive(Args, Debug)]
pub struct SetupArgs {
    /// The serial port; without it, it is found by pulling its plug
    #[arg(long, value_name = "PORT")]
    pub port: Option<String>,
    /// What the arm is for, follower or leader: a leader has other gears
    #[arg(long, value_name = "ROLE", default_value = "follower")]
    pub role: Role,
}

/// `smolpilot calibrate`
#[derive(Args, Debug)]
pub struct CalibrateArgs {
    /// The serial port, for example /dev/ttyACM0 or COM5
    #[arg(long, value_name = "PORT")]
    pub port: String,
    /// What the arm is for: follower or leader
    #[arg(long, value_name = "ROLE")]
    pub role: Role,
    /// The name of the arm, LeRobot's `--robot.id` or `--teleop.id`
    #[arg(long, value_name = "NAME")]
    pub id: String,
    /// Ask nothing: a step is over when it is done and the arm has stood still for two seconds
    #[arg(long)]
    pub yes: bool,
}
