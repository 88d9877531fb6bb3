//! `smolpilot data compare`: what a policy would have done in a recorded episode, against what was done.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::export::until_stopped;
use crate::cli::args::{DeviceArgs, JsonArgs, PolicyArgs};
use crate::cli::output::{Outcome, claim, deliver, wrong_argument};
use crate::cli::{parse, policy};
use crate::dataset::Dataset;
use crate::lab::{Comparison, Question, compare, draw_comparison};
use crate::runtime::{EXPERT, ViewBinding};

/// `smolpilot data compare`
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// The episode, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    episode: usize,
    /// Ask the policy at every so many rows
    #[arg(long, value_name = "ROWS", default_value = "10", value_parser = parse::count)]
    every: usize,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// A view of the checkpoint and the camera that feeds it [may be repeated]
    #[arg(long = "view", value_name = "VIEW=CAMERA", value_parser = parse::view)]
    views: Vec<ViewBinding>,
    /// Seed of the policy's noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write compare.json, with every prediction, and compare.svg into DIR
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgs,
}

/// Runs the command.
///
/// # Errors
/// The episode cannot be read, the policy cannot be loaded or does not fit it, or nothing can be written.
pub fn run(args: &CompareArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if args.policy.policy.as_deref() == Some(EXPERT) {
        return Err(wrong_argument(
            "the expert plans with where things truly are on the simulated table, which no recording holds: compare a policy that sees \
             pictures",
        ));
    }
    claim(args.json.json.as_ref())?;
    let mut dataset = Dataset::open(&args.root)?;
    dataset.episode(args.episode)?;
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut policy = policy::load(&args.policy, args.device.wish())?;
    let question = Question {
        episode: args.episode,
        every: args.every,
        views: args.views.clone(),
        seed: args.seed,
    };
    let found = compare(
        &mut dataset,
        policy.as_mut(),
        &question,
        &mut until_stopped(),
    )?;
    if let Some(folder) = &args.out {
        write(&found, folder)?;
    }
    deliver(out, args.json.json.as_ref(), &found, |out| {
        table(&found, out)
    })?;
    Ok(Outcome::Done)
}

fn write(found: &Comparison, folder: &Path) -> anyhow::Result<()> {
    let svg = draw_comparison(found).map_err(anyhow::Error::msg)?;
    let json = serde_json::to_string(found)?;
    for (name, text) in [("compare.svg", svg), ("compare.json", json)] {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        log::info!("written: {}", path.display());
    }
    Ok(())
}

/// Steps ahead whose error is told by itself.
const STEPS: [usize; 4] = [0, 9, 24, 49];

/// Mean absolute errors, a line a joint.
fn table(found: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{} against episode {} of {}: {} chunks, one at every {} rows, {:.0} ms each",
        found.policy,
        found.episode,
        found.dataset,
        found.asked.len(),
        found.every,
        found.chunk_s * 1e3
    )?;
    for (view, camera) in &found.views {
        let camera = camera.as_deref().unwrap_or("no camera");
        writeln!(out, "  {view} sees {camera}")?;
    }
    for warning in &found.warnings {
        writeln!(out, "  warning: {warning}")?;
    }
    let steps: Vec<usize> = STEPS
        .into_iter()
        .filter(|step| *step < found.by_step.len())
        .collect();
    write!(
        out,
        "\nmean error, robot units\n{:<16}{:>9}{:>9}",
        "", "all", "at rest"
    )?;
    for step in &steps {
        write!(out, "{:>9}", format!("step {}", step + 1))?;
    }
    writeln!(out)?;
    for (joint, name) in found.names.iter().enumerate() {
        let (all, held) = (found.by_joint[joint], found.by_joint_held[joint]);
        write!(out, "{name:<16}{all:>9.2}{held:>9.2}")?;
        for step in &steps {
            write!(out, "{:>9.2}", found.by_step[*step][joint])?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "\nat rest: the error of an arm that stays where it was when the policy was asked"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_each_joint_and_no_step_that_was_not_predicted() {
        let found = Comparison {
            names: vec!["pan".to_owned(), "lift".to_owned()],
            by_joint: vec![1.5, 2.25],
            by_joint_held: vec![3.0, 4.0],
            by_step: vec![vec![0.5, 0.75]; 12],
            views: vec![("camera1".to_owned(), None)],
            ..Comparison::default()
        };
        let mut out = vec![];
        table(&found, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lift = text.lines().find(|line| line.starts_with("lift")).unwrap();
        let numbers: Vec<_> = lift.split_whitespace().skip(1).collect();
        assert_eq!(numbers, ["2.25", "4.00", "0.75", "0.75"]);
        assert!(
            text.contains("camera1 sees no camera") && text.contains("step 10"),
            "{text}"
        );
        assert!(!text.contains("step 25"));
    }
}
