//! What can be typed behind `smolpilot emulate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::arm::Role;
use crate::cli::lab::EvalArgs;
use crate::cli::parse;
use crate::cli::record::SimRecordArgs;
use crate::sim::{Gesture, Stage};

/// `smolpilot sim`
#[derive(Args, Debug)]
pub struct SimArgs {
    #[command(subcommand)]
    pub verb: SimVerb,
}

/// What the simulated rig can do by itself.
#[derive(Debug, Subcommand)]
pub enum SimVerb {
    /// Serve pretend arms on serial ports, for this program, LeRobot or any other (also: `smolpilot emulate`)
    Emulate(Box<EmulateArgs>),
    /// Fly seeded episodes of a task on a virtual clock, and tell how often and how fast they succeed
    Eval(Box<EvalArgs>),
    /// Record demonstrations of the scripted expert on a virtual clock, as a data set of LeRobot's
    Record(Box<SimRecordArgs>),
}

/// `smolpilot emulate`
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
#[derive(Args, Clone, Debug, Default)]
#[command(
    after_help = "Prints one line an arm, its role and the path of its port, and serves until Ctrl-C.\n\
    Fault scripts: one event a line, `# …` is a comment. When: `at 2.5s`, `on 120` (transaction), or at once. What: faults such as\n\
    mute:3, drop, flip, late:20, stuck:6, brownout:2, disconnect, heal; `every 1/500 seed 7 drop|flip|mute:ID*3` for random ones;\n\
    hand:sweep, hand:middle, hand:gripper=40; plug:gripper, unplug:gripper, only:gripper. A wrong word is answered with all of them."
)]
pub struct EmulateArgs {
    /// follower or leader; a follower if nothing is said [may be repeated]
    #[arg(long = "role", value_name = "ROLE")]
    pub roles: Vec<Role>,
    /// A follower and a leader
    #[arg(long, conflicts_with = "roles")]
    pub pair: bool,
    /// A fault script that every arm plays
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// Motors that have their ids and were never calibrated
    #[arg(long)]
    pub fresh: bool,
    /// Motors out of the box: every id is 1, only the gripper's is plugged in; script words plug the others
    #[arg(long, conflicts_with = "fresh")]
    pub boxed: bool,
    /// What a hand does with the limp leader, or with every arm where there is no leader: still, wave, sweep, middle,
    /// JOINT=VALUE or six values
    #[arg(
        long,
        value_name = "GESTURE",
        default_value = "still",
        allow_hyphen_values = true
    )]
    pub hand: Gesture,
    /// A link that leads to the port, one for each arm in their order [may be repeated]
    #[arg(long = "link", value_name = "PATH")]
    pub links: Vec<PathBuf>,
    /// Where to write the arms' calibrations, in LeRobot's folders: what `$HF_LEROBOT_CALIBRATION` names
    #[arg(long, value_name = "DIR", conflicts_with_all = ["fresh", "boxed"])]
    pub calibration: Option<PathBuf>,
    /// The id under which the calibrations are written
    #[arg(
        long,
        value_name = "ID",
        default_value = "emulated",
        requires = "calibration"
    )]
    pub id: String,
    /// How long to serve; without it until Ctrl-C
    #[arg(long, value_name = "S", value_parser = parse::positive_seconds)]
    pub seconds: Option<f64>,
    /// Say on stderr what goes on: clients, transactions a second, faults
    #[arg(long)]
    pub log: bool,
    /// Play lines of a fault script from stdin as they come, `follower` or `leader` in front to mean one arm; ends with stdin
    #[arg(long)]
    pub control: bool,
}

impl EmulateArgs {
    /// Which arms, in order.
    pub fn arms(&self) -> Vec<Role> {
        if self.pair {
            Role::ALL.to_vec()
        } else if self.roles.is_empty() {
            vec![Role::Follower]
        } else {
            self.roles.clone()
        }
    }

    /// How far their set-up has come.
    pub fn stage(&self) -> Stage {
        if self.boxed {
            Stage::Boxed
        } else if self.fresh {
            Stage::Uncalibrated
        } else {
            Stage::Calibrated
        }
    }
}
