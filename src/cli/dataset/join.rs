//! `smolpilot data merge` and `split`: new data sets from the episodes of others, which stay as they are.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::change::{tell, told};
use super::numbers::Episodes;
use crate::cli::args::JsonArgs;
use crate::cli::output::Outcome;
use crate::dataset::{Dataset, Disk, edit};

/// `smolpilot data merge`
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// The data sets' folders, in the order of their episodes; they must have the same features and fps
    #[arg(value_name = "DIR", required = true)]
    roots: Vec<PathBuf>,
    /// The new data set's folder
    #[arg(long, value_name = "NEW")]
    into: PathBuf,
    #[command(flatten)]
    json: JsonArgs,
}

/// `smolpilot data split`
#[derive(Args, Debug)]
pub struct SplitArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// Which: 3, or 0,2,5-7
    #[arg(long, value_name = "LIST")]
    episodes: Episodes,
    /// The new data set's folder
    #[arg(long, value_name = "NEW")]
    into: PathBuf,
    #[command(flatten)]
    json: JsonArgs,
}

/// Runs `smolpilot data merge`.
///
/// # Errors
/// They differ, one cannot be read, or the new one cannot be written.
pub fn merge(args: &MergeArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let merged = edit::merge(&args.roots, &args.into, &Disk::new(), &mut told())?;
    tell(&merged, &args.json, out)
}

/// Runs `smolpilot data split`.
///
/// # Errors
/// An episode is not in it, it cannot be read, or the new one cannot be written.
pub fn split(args: &SplitArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let episodes = args
        .episodes
        .of(Dataset::open(&args.root)?.episodes().len());
    let (root, into) = (&args.root, &args.into);
    let made = edit::extract(root, &episodes, into, &Disk::new(), &mut told())?;
    tell(&made, &args.json, out)
}
