//! `smolpilot data`: what can be done with data sets without a window.

mod compare;
mod export;
mod hub;

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
        SetVerb::Export(args) => export::run(args, out),
        SetVerb::Compare(args) => compare::run(args, out),
        SetVerb::Download(args) => hub::fetch(args, out),
        SetVerb::Upload(args) => hub::send(args, out),
    }
}
