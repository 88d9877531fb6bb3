//! `smolpilot sim eval`: one policy, one task, one setting of the knobs, over seeded tables.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::cli::lab::{EvalArgs, speed, teller};
use crate::cli::output::{Outcome, claim, deliver};
use crate::cli::run::knobs::knobs;
use crate::lab::{Course, EpisodeRow, Row, Runner, Runs, Section, Setting};
use crate::runtime::Knobs;
use crate::sim::Task;

/// Runs the command.
///
/// # Errors
/// The policy does not take off.
pub fn run(args: &EvalArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    claim(args.json.json.as_ref())?;
    let began = Instant::now();
    let pilot = args.pilot.pilot();
    let knobs = Knobs {
        // What a row says must be what was flown; the networks here predict that many.
        actions_per_chunk: args
            .knobs
            .actions_per_chunk
            .unwrap_or(Knobs::default().actions_per_chunk),
        ..knobs(&args.knobs)
    };
    let seed = args.pilot.seed;
    let latency = match args.latency.model(seed) {
        Some(model) => model,
        None => pilot.measure(knobs.num_steps)?,
    };
    log::info!("latency: {latency}");
    let course = Course {
        task: args.pilot.task,
        knobs,
        latency,
        runs: Runs::Episodes {
            count: args.episodes,
            limit: args
                .limit
                .map_or_else(|| usual_limit(args.pilot.task), Duration::from_secs_f64),
        },
        traces: false,
    };
    let setting = Setting {
        section: Section::Evaluation,
        label: args.pilot.policy.clone(),
        course,
        seed,
    };
    let runner = Runner::new(args.pilot.jobs);
    let rows = runner.run(&pilot, &[setting], &teller())?;
    let took = began.elapsed();
    for row in &rows {
        deliver(out, args.json.json.as_ref(), row, |out| {
            print(out, row)?;
            writeln!(out, "{}", speed(&rows, took))
        })?;
    }
    Ok(Outcome::Done)
}

/// Time in which a task can be done with some to spare: to sort is four carries.
fn usual_limit(task: Task) -> Duration {
    Duration::from_secs(if task == Task::Sort { 100 } else { 40 })
}

fn print(out: &mut dyn Write, row: &Row) -> io::Result<()> {
    writeln!(out, "task           {}", row.task)?;
    writeln!(
        out,
        "policy         {}, {}, latency {}",
        row.policy, row.mode, row.latency
    )?;
    writeln!(
        out,
        "success        {} of {} ({:.0} %)",
        row.successes,
        row.episodes,
        row.success_rate * 100.0
    )?;
    if let Some(mean) = row.mean_time_s {
        let sd = row.sd_time_s.map(|sd| format!(" (sd {sd:.2})"));
        writeln!(out, "time           {mean:.2} s{}", sd.unwrap_or_default())?;
    }
    writeln!(
        out,
        "queue          {} requests, {} starved and {} idle of {} ticks, longest wait {:.2} s",
        row.requests,
        row.starved_ticks,
        row.idle_ticks,
        row.ticks,
        row.longest_gap_ticks as f64 / f64::from(row.knobs.fps)
    )?;
    writeln!(
        out,
        "motion         seam p95 {:.1}, jerk {:.0} °/s³",
        row.seam_p95, row.jerk_rms
    )?;
    for failure in row.per_episode.iter().filter(|run| !run.success) {
        writeln!(out, "failed         {}", failed(failure))?;
    }
    Ok(())
}

fn failed(run: &EpisodeRow) -> String {
    let faults: Vec<&str> = run.measures.faults.keys().map(String::as_str).collect();
    let faults = match faults.join(", ") {
        none if none.is_empty() => String::new(),
        some => format!("; faults: {some}"),
    };
    format!(
        "seed {}: {} at {:.0} %{faults}",
        run.seed,
        run.ended,
        run.progress * 100.0
    )
}
