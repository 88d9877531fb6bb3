//! `smolpilot data recover`: finishes what a killed program left, edits and episodes.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use crate::cli::args::JsonArgs;
use crate::cli::output::{Outcome, deliver};
use crate::dataset::edit::{Settled, settle};
use crate::dataset::lock::Lock;
use crate::dataset::{Dataset, Disk, Interrupted, Plan, Recorder, left_in};

/// `smolpilot data recover`
#[derive(Args, Debug)]
pub struct RecoverArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// Only these unfinished episodes, by the names that `--list` shows [may be repeated; default: all]
    #[arg(long = "id", value_name = "ID")]
    ids: Vec<String>,
    /// Drop them for good in place of saving them
    #[arg(long)]
    forget: bool,
    /// Only say what there is
    #[arg(long, conflicts_with = "forget")]
    list: bool,
    #[command(flatten)]
    json: JsonArgs,
}

/// What was found and done.
#[derive(Debug, Default, Serialize)]
struct Recovered {
    root: PathBuf,
    /// `finished` or `taken back`, where an edit was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    edit: Option<&'static str>,
    unfinished: Vec<Unfinished>,
    /// Episodes that are in the data set now.
    episodes: usize,
}

#[derive(Debug, Serialize)]
struct Unfinished {
    id: String,
    task: String,
    rows: u64,
    seconds: f64,
    /// `found`, `saved` or `dropped`.
    state: &'static str,
}

/// Runs the command.
///
/// # Errors
/// The data set is being recorded into, there is no episode of a name, or the disk fails.
pub fn run(args: &RecoverArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut report = Recovered {
        root: args.root.clone(),
        ..Recovered::default()
    };
    if !args.root.is_dir() {
        bail!("there is no folder {}", args.root.display());
    }
    if !args.list {
        let lock = Lock::take(&args.root)?;
        report.edit = match settle(&args.root, &Disk::new())? {
            Settled::Nothing => None,
            Settled::Finished => Some("finished"),
            Settled::TakenBack => Some("taken back"),
        };
        drop(lock);
    }
    let left = left_in(&args.root)?;
    for id in &args.ids {
        if !left.iter().any(|(found, _)| found.id == *id) {
            bail!("{} has no unfinished episode {id}", args.root.display());
        }
    }
    let named = |found: &Interrupted| args.ids.is_empty() || args.ids.contains(&found.id);
    for (found, plan) in left.into_iter().filter(|(found, _)| named(found)) {
        let state = match (args.list, args.forget) {
            (true, _) => "found",
            (_, true) => done_with(plan, &found.id, Recorder::forget, "dropped")?,
            (_, false) => done_with(plan, &found.id, Recorder::recover, "saved")?,
        };
        report.unfinished.push(Unfinished {
            id: found.id,
            task: found.task,
            rows: found.frames,
            seconds: found.length.as_secs_f64(),
            state,
        });
    }
    // A folder with nothing but journals is no data set yet, and has none.
    report.episodes = Dataset::open(&args.root).map_or(0, |set| set.episodes().len());
    deliver(out, args.json.json.as_ref(), &report, |out| {
        print(&report, out)
    })?;
    Ok(Outcome::Done)
}

/// Opens the data set as it was recorded and does the one thing. An episode that was kept is saved by that alone.
fn done_with(
    plan: Plan,
    id: &str,
    act: impl FnOnce(&mut Recorder, &str) -> Result<(), crate::dataset::Error>,
    done: &'static str,
) -> anyhow::Result<&'static str> {
    let mut recorder = Recorder::open(plan)?;
    let offered = recorder.view().interrupted.iter().any(|it| it.id == id);
    let acted = if offered {
        act(&mut recorder, id)
    } else {
        Ok(())
    };
    recorder.close()?;
    acted?;
    Ok(if offered { done } else { "saved" })
}

fn print(report: &Recovered, out: &mut dyn Write) -> io::Result<()> {
    if let Some(how) = report.edit {
        writeln!(out, "an edit that was interrupted is {how}")?;
    }
    for found in &report.unfinished {
        writeln!(
            out,
            "{}: {} rows, {:.1} s, {}: {}",
            found.id, found.rows, found.seconds, found.task, found.state
        )?;
    }
    if report.edit.is_none() && report.unfinished.is_empty() {
        writeln!(
            out,
            "nothing was left unfinished in {}",
            report.root.display()
        )
    } else {
        Ok(())
    }
}
