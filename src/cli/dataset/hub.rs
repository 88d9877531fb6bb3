//! `smolpilot data download` and `upload`: data sets from the hub, and to it.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::export::until_stopped;
use crate::cli::output::{Outcome, wrong_argument};
use crate::dataset::Dataset;
use crate::dataset::hub::{Upload, download, upload, usual_place};
use crate::hub::{Hub, HubId};

/// `smolpilot data download`
#[derive(Args, Debug)]
pub struct DownloadArgs {
    /// The data set's name on the hub, `owner/name` or `owner/name@revision`
    #[arg(value_name = "ID")]
    id: String,
    /// The folder that it becomes [default: where LeRobot keeps it, `~/.cache/huggingface/lerobot/owner/name`]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// `smolpilot data upload`
#[derive(Args, Debug)]
pub struct UploadArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// Its name on the hub, `owner/name`. The token is that of `HF_TOKEN` or of `hf auth login`
    #[arg(long, value_name = "ID")]
    to: String,
    /// If it has yet to be made there, only its owner sees it
    #[arg(long)]
    private: bool,
    /// Take the place of whatever data set has that name
    #[arg(long)]
    replace: bool,
}

fn id(text: &str) -> anyhow::Result<HubId> {
    HubId::dataset(text)
        .ok_or_else(|| wrong_argument(format!("`{text}` is no name on the hub; write owner/name")))
}

/// Runs `smolpilot data download`.
///
/// # Errors
/// The hub does not give it, or the folder is taken.
pub fn fetch(args: &DownloadArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let id = id(&args.id)?;
    let place = args.out.clone().or_else(|| usual_place(&id));
    let place = place.context("this system names no home; say where to with --out DIR")?;
    download(&Hub::from_env(), &id, &place, &mut until_stopped())?;
    let dataset = Dataset::open(&place)?;
    writeln!(
        out,
        "{}: {} episodes, {} rows",
        place.display(),
        dataset.episodes().len(),
        dataset.frames()
    )?;
    Ok(Outcome::Done)
}

/// Runs `smolpilot data upload`.
///
/// # Errors
/// It is being recorded into, nobody is logged in, or the hub does not take it.
pub fn send(args: &UploadArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let how = Upload {
        private: args.private,
        replace: args.replace,
    };
    let sent = upload(
        &Hub::from_env(),
        &id(&args.to)?,
        &args.root,
        how,
        &mut until_stopped(),
    )?;
    writeln!(out, "{} ({} bytes sent)", sent.url, sent.bytes)?;
    Ok(Outcome::Done)
}
