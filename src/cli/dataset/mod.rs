//! `smolpilot data`: what can be done with data sets without a window.

mod change;
mod check;
mod compare;
mod export;
mod hub;
mod join;
mod list;
mod numbers;
mod recover;
mod show;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::cli::output::Outcome;

/// `smolpilot data`
#[derive(Args, Debug)]
pub struct SetArgs {
    #[command(subcommand)]
    verb: SetVerb,
}

/// What to do with a data set.
#[derive(Debug, Subcommand)]
enum SetVerb {
    /// Look for everything that makes a data set unreadable, or something else than was recorded; exit status 1 if there is an error
    Check(check::CheckArgs),
    /// List the data sets of this user, or those below some folders
    List(list::ListArgs),
    /// Say what is in a data set, or in one of its episodes; write one of its pictures
    Show(show::ShowArgs),
    /// Delete episodes; the others move up
    Delete(change::DeleteArgs),
    /// Keep some rows of an episode
    Trim(change::TrimArgs),
    /// Give episodes another task
    Relabel(change::RelabelArgs),
    /// Say how episodes went
    Mark(change::MarkArgs),
    /// Write several data sets into a new one; one alone is written in layout v3.0
    Merge(join::MergeArgs),
    /// Write some episodes into a new data set
    Split(join::SplitArgs),
    /// Finish what an interrupted recording or edit left, or drop it
    Recover(recover::RecoverArgs),
    /// Write an episode as a film with what was done, as a table, or as pictures
    Export(export::ExportArgs),
    /// Ask a policy what it would have done in a recorded episode, and say how far that is from what was done
    Compare(Box<compare::CompareArgs>),
    /// Fetch a data set from the hub
    Download(hub::DownloadArgs),
    /// Send a data set's whole episodes to the hub
    Upload(hub::UploadArgs),
}

/// Runs the command.
///
/// # Errors
/// Those of the verb.
pub fn run(args: &SetArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    match &args.verb {
        SetVerb::Check(args) => check::run(args, out),
        SetVerb::List(args) => list::run(args, out),
        SetVerb::Show(args) => show::run(args, out),
        SetVerb::Delete(args) => change::delete(args, out),
        SetVerb::Trim(args) => change::trim(args, out),
        SetVerb::Relabel(args) => change::relabel(args, out),
        SetVerb::Mark(args) => change::mark(args, out),
        SetVerb::Merge(args) => join::merge(args, out),
        SetVerb::Split(args) => join::split(args, out),
        SetVerb::Recover(args) => recover::run(args, out),
        SetVerb::Export(args) => export::run(args, out),
        SetVerb::Compare(args) => compare::run(args, out),
        SetVerb::Download(args) => hub::fetch(args, out),
        SetVerb::Upload(args) => hub::send(args, out),
    }
}

#[cfg(test)]
mod tests;
