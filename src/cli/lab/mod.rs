//! `smolpilot lab` and `smolpilot sim eval`: seeded episodes on a virtual clock, as tables, JSON and plots.

mod args;
mod eval;

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

pub use args::{EvalArgs, LabArgs, PilotArgs};
pub use eval::run as eval;

use crate::app::wiring::policy_loader;
use crate::cli::output::{Outcome, claim, deliver};
use crate::lab::{Grid, Pilot, Progress, Report, Row, Runner};
use crate::policy::LoadRequest;
use crate::runtime::EXPERT;

/// How often progress is told.
const TELL: Duration = Duration::from_secs(5);

/// Runs `smolpilot lab`.
///
/// # Errors
/// The policy does not take off, or the report cannot be written.
pub fn run(args: &LabArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    claim(args.json.json.as_ref())?;
    if let Some(folder) = &args.out {
        Report::claim(folder)?;
    }
    let began = Instant::now();
    let grid = Grid {
        task: args.pilot.task,
        seed: args.pilot.seed,
        quick: args.quick,
    };
    let runner = Runner::new(args.pilot.jobs);
    let report = runner.report(&args.pilot.pilot(), &grid, &teller())?;
    let took = began.elapsed();
    deliver(out, args.json.json.as_ref(), &report.rows, |out| {
        write!(out, "{}", report.text())?;
        writeln!(out, "\n{}", speed(&report.rows, took))
    })?;
    if let Some(folder) = &args.out {
        for path in report.write(folder)? {
            log::info!("written: {}", path.display());
        }
    }
    Ok(if report.passed() {
        Outcome::Done
    } else {
        Outcome::Fault
    })
}

/// Tells progress on the log, now and then.
fn teller() -> impl Fn(Progress) + Sync {
    let told = Mutex::new(Instant::now());
    move |progress| {
        let Ok(mut told) = told.lock() else { return };
        let Progress { done, total, what } = progress;
        if done == total || told.elapsed() >= TELL {
            *told = Instant::now();
            log::info!("{done} of {total} runs; {what}");
        }
    }
}

/// How much faster than life it was.
fn speed(rows: &[Row], took: Duration) -> String {
    let seconds: f64 = rows
        .iter()
        .map(|row| row.ticks as f64 / f64::from(row.knobs.fps))
        .sum();
    let took = took.as_secs_f64();
    format!(
        "{seconds:.0} s of flight in {took:.1} s: {:.0} times as fast as life",
        seconds / took.max(1e-3)
    )
}

impl PilotArgs {
    /// The policy that was named.
    fn pilot(&self) -> Pilot {
        if self.policy == EXPERT {
            return Pilot::Expert;
        }
        let load = LoadRequest {
            source: self.policy.clone(),
            stats: self.stats.clone(),
        };
        Pilot::loaded(policy_loader(self.device.wish(), false), load)
    }
}
