//! `smolpilot data delete`, `trim`, `relabel` and `mark`: changes of one data set, which is as before until all is done.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::numbers::Episodes;
use crate::app::ending;
use crate::cli::args::JsonArgs;
use crate::cli::output::{Outcome, deliver};
use crate::dataset::edit::{Edit, Edited, apply};
use crate::dataset::{self, Dataset, Disk};

/// `smolpilot data delete`
#[derive(Args, Debug)]
pub struct DeleteArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// Which: 3, or 0,2,5-7
    #[arg(long, value_name = "LIST")]
    episodes: Episodes,
    #[command(flatten)]
    json: JsonArgs,
}

/// `smolpilot data trim`
#[derive(Args, Debug)]
pub struct TrimArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// The episode, counted from 0
    #[arg(long, value_name = "N")]
    episode: usize,
    /// The first row that is kept
    #[arg(long, value_name = "ROW", default_value_t = 0)]
    from: usize,
    /// The first row behind those that are kept [default: the end]
    #[arg(long, value_name = "ROW")]
    to: Option<usize>,
    #[command(flatten)]
    json: JsonArgs,
}

/// `smolpilot data relabel`
#[derive(Args, Debug)]
pub struct RelabelArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// Which: 3, 0,2,5-7 or all
    #[arg(long, value_name = "LIST")]
    episodes: Episodes,
    /// What they show, in words
    #[arg(long, value_name = "TEXT")]
    task: String,
    #[command(flatten)]
    json: JsonArgs,
}

/// `smolpilot data mark`
#[derive(Args, Debug)]
pub struct MarkArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// Which: 3, 0,2,5-7 or all
    #[arg(long, value_name = "LIST")]
    episodes: Episodes,
    /// How they went
    #[arg(long = "as", value_name = "HOW")]
    outcome: Mark,
    #[command(flatten)]
    json: JsonArgs,
}

/// How an episode went, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mark {
    Success,
    Failure,
    None,
}

/// What a change came to.
#[derive(Debug, Serialize)]
struct Changed {
    root: PathBuf,
    episodes: usize,
    rows: u64,
    /// Pictures that were copied as they were, and those that were encoded again.
    pictures_kept: u64,
    pictures_encoded: u64,
}

/// Runs `smolpilot data delete`.
///
/// # Errors
/// Those of the edit.
pub fn delete(args: &DeleteArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let episodes = args.episodes.of(count(&args.root)?);
    change(&args.root, &Edit::Delete(episodes), &args.json, out)
}

/// Runs `smolpilot data trim`.
///
/// # Errors
/// Those of the edit.
pub fn trim(args: &TrimArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let length = Dataset::open(&args.root)?.episode(args.episode)?.length;
    let edit = Edit::Trim {
        episode: args.episode,
        rows: args.from..args.to.unwrap_or(length),
    };
    change(&args.root, &edit, &args.json, out)
}

/// Runs `smolpilot data relabel`.
///
/// # Errors
/// Those of the edit.
pub fn relabel(args: &RelabelArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let edit = Edit::Relabel {
        episodes: args.episodes.of(count(&args.root)?),
        task: args.task.clone(),
    };
    change(&args.root, &edit, &args.json, out)
}

/// Runs `smolpilot data mark`.
///
/// # Errors
/// Those of the edit.
pub fn mark(args: &MarkArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let edit = Edit::Mark {
        episodes: args.episodes.of(count(&args.root)?),
        outcome: match args.outcome {
            Mark::Success => dataset::Outcome::Success,
            Mark::Failure => dataset::Outcome::Failure,
            Mark::None => dataset::Outcome::Unmarked,
        },
    };
    change(&args.root, &edit, &args.json, out)
}

fn count(root: &Path) -> anyhow::Result<usize> {
    Ok(Dataset::open(root)?.episodes().len())
}

fn change(
    root: &Path,
    edit: &Edit,
    json: &JsonArgs,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let edited = apply(root, edit, &Disk::new(), &mut told())?;
    tell(&edited, json, out)
}

/// Says what came of a change.
///
/// # Errors
/// It cannot be written.
pub fn tell(edited: &Edited, json: &JsonArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let changed = Changed {
        root: edited.root.clone(),
        episodes: edited.episodes,
        rows: edited.frames,
        pictures_kept: edited.kept,
        pictures_encoded: edited.encoded,
    };
    deliver(out, json.json.as_ref(), &changed, |out| {
        writeln!(
            out,
            "{}: {} episodes, {} rows ({} pictures kept as they were, {} encoded again)",
            changed.root.display(),
            changed.episodes,
            changed.rows,
            changed.pictures_kept,
            changed.pictures_encoded
        )
    })?;
    Ok(Outcome::Done)
}

/// Goes on until the operator wants no more; what is being done is on the log.
pub fn told() -> impl FnMut(&str, f32) -> ControlFlow<()> {
    ending::listen();
    let mut said = String::new();
    move |what, share| {
        if said != what {
            what.clone_into(&mut said);
            log::info!("{:3.0} % {what}", share * 100.0);
        }
        if ending::interrupted() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
