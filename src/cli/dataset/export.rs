//! `smolpilot data export`: an episode as a film, a table or pictures.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;

use crate::app::ending;
use crate::cli::output::Outcome;
use crate::dataset::Dataset;
use crate::dataset::export::export;

/// `smolpilot data export`
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// The episode, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    episode: usize,
    /// Where to: a file that ends in .mp4 (the cameras side by side, with task, time, joints and who drove) or .csv, or a folder for
    /// each picture as PNG
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(args: &ExportArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut dataset = Dataset::open(&args.root)?;
    export(&mut dataset, args.episode, &args.out, &mut until_stopped())?;
    writeln!(out, "{}", args.out.display())?;
    Ok(Outcome::Done)
}

/// Goes on until the operator wants no more; every tenth of the way is on the log.
pub fn until_stopped() -> impl FnMut(f32) -> ControlFlow<()> {
    ending::listen();
    let mut told = 0;
    move |share| {
        let tenths = (share * 10.0) as u32;
        if tenths > told {
            told = tenths;
            log::info!("{} %", tenths * 10);
        }
        if ending::interrupted() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
