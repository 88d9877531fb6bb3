//! `smolpilot data check`: what is wrong with a data set, worst first, and what to do about it.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use crate::cli::args::JsonArgs;
use crate::cli::output::{Outcome, claim, deliver};
use crate::dataset::check::{Depth, Finding, Report, Severity, check};

/// Findings of one kind that are printed; the JSON has all.
const PRINTED: usize = 5;

/// `smolpilot data check`
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// Decode every picture, too: films that break off, and cameras that stood still. Takes minutes
    #[arg(long)]
    pixels: bool,
    /// Take warnings for errors
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    json: JsonArgs,
}

/// Runs the command.
///
/// # Errors
/// The data set has errors.
pub fn run(args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    claim(args.json.json.as_ref())?;
    let depth = Depth {
        pixels: args.pixels,
    };
    let mut told = String::new();
    let report = check(&args.root, depth, &mut |what, share| {
        if told != what {
            what.clone_into(&mut told);
            log::info!("{:3.0} % {what}", share * 100.0);
        }
    });
    deliver(out, args.json.json.as_ref(), &report, |out| {
        print(&report, out)
    })?;
    let (errors, warnings) = (
        report.count(Severity::Error),
        report.count(Severity::Warning),
    );
    if errors > 0 || (args.strict && warnings > 0) {
        bail!(
            "{} has {errors} errors and {warnings} warnings",
            args.root.display()
        );
    }
    Ok(Outcome::Done)
}

fn print(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}: {} {} episodes, {} rows, {} films",
        report.root.display(),
        report.version,
        report.episodes,
        report.rows,
        report.films.len()
    )?;
    let mut kind = ("", 0);
    for finding in &report.findings {
        kind = if kind.0 == finding.code {
            (kind.0, kind.1 + 1)
        } else {
            (finding.code, 1)
        };
        if kind.1 <= PRINTED {
            print_finding(finding, out)?;
        } else if kind.1 == PRINTED + 1 {
            let all = report
                .findings
                .iter()
                .filter(|it| it.code == kind.0)
                .count();
            writeln!(out, "         … and {} more of {}", all - PRINTED, kind.0)?;
        }
    }
    if report.findings.is_empty() {
        writeln!(out, "nothing is wrong with it")
    } else {
        Ok(())
    }
}

fn print_finding(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    write!(out, "{severity:8} ")?;
    if let Some(file) = &finding.file {
        write!(out, "{}", file.display())?;
        match finding.episode {
            Some(episode) => write!(out, ", episode {episode}: ")?,
            None => write!(out, ": ")?,
        }
    }
    writeln!(out, "{} [{}]", finding.what, finding.code)?;
    match finding.advice.as_str() {
        "" => Ok(()),
        advice => writeln!(out, "         {advice}"),
    }
}
