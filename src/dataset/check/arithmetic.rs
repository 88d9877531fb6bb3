//! Whether an episode's rows count as LeRobot counts: frame by frame, on the grid of `fps`, under tasks that there are.

use std::collections::BTreeSet;
use std::path::Path;

use crate::dataset::read::Rows;
use crate::dataset::schema::Info;

use super::finding::{Finding, Report};
use super::lists::Listed;

/// How far LeRobot lets a time be from its place, seconds.
pub const TOLERANCE_S: f64 = 1e-4;
/// How far it is when it was only rounded to 32 bits: 1000 s have a step of 6e-5.
const ROUNDING_S: f64 = 6.2e-5;
/// An episode that is shorter was stopped by accident, seconds.
const SHORT_S: f64 = 1.0;

pub fn check(
    file: &Path,
    info: &Info,
    tasks: &[String],
    listed: &Listed,
    rows: &Rows,
    report: &mut Report,
) {
    let episode = &listed.episode;
    let here = |finding: Finding| finding.file(file).episode(episode.index);
    if rows.len() != episode.length {
        let what = format!(
            "has {} rows of it, the list says {}",
            rows.len(),
            episode.length
        );
        report.add(here(Finding::error("data.length", what)));
    }
    if !counts_from(rows, "frame_index", 0) {
        let what = format!(
            "frame_index does not count from 0 to {}",
            rows.len().saturating_sub(1)
        );
        report.add(here(Finding::error("data.frame_index", what)));
    }
    if !counts_from(rows, "index", episode.rows.start) {
        let what = format!("index does not count from {}", episode.rows.start);
        report.add(here(Finding::error("data.index", what)));
    }
    times(info, rows, &here, report);
    let seconds = episode.length as f64 / f64::from(info.fps);
    if seconds < SHORT_S {
        let what = format!("lasts only {seconds:.2} s");
        report.add(here(Finding::note("data.short", what)));
    }
    check_tasks(tasks, listed, rows, &here, report);
}

fn counts_from(rows: &Rows, column: &str, first: u64) -> bool {
    let Some(numbers) = rows.scalars(column) else {
        // That it is missing is said of the table.
        return true;
    };
    let wanted = (first..).map(|number| number as f64);
    numbers
        .iter()
        .zip(wanted)
        .all(|(number, wanted)| *number == wanted)
}

fn times(info: &Info, rows: &Rows, here: &dyn Fn(Finding) -> Finding, report: &mut Report) {
    let fps = f64::from(info.fps);
    let stamps = rows.scalars("timestamp").unwrap_or_default();
    let off = stamps
        .iter()
        .enumerate()
        .map(|(row, stamp)| (stamp - row as f64 / fps).abs())
        .fold(0.0, f64::max);
    if off >= TOLERANCE_S {
        let what = format!("timestamp is up to {off:.6} s from frame_index / fps");
        report.add(here(
            Finding::error("data.timestamp", what)
                .advice("LeRobot refuses every picture that is 1e-4 s off; real capture times belong in a column of their own"),
        ));
    } else if off > ROUNDING_S {
        let what = format!("timestamp is up to {off:.6} s from frame_index / fps");
        report.add(here(Finding::warning("data.timestamp", what)));
    }
}

fn check_tasks(
    tasks: &[String],
    listed: &Listed,
    rows: &Rows,
    here: &dyn Fn(Finding) -> Finding,
    report: &mut Report,
) {
    let numbers = rows.scalars("task_index").unwrap_or_default();
    let mut used = BTreeSet::new();
    for number in numbers {
        let task = tasks.get(number as usize).filter(|_| number >= 0.0);
        let Some(task) = task else {
            let what = format!(
                "task_index {number} leads to none of the {} tasks",
                tasks.len()
            );
            report.add(here(Finding::error("data.task_index", what)));
            return;
        };
        used.insert(task.as_str());
    }
    if listed.episode.tasks.is_empty() {
        // A list without them is said to be one elsewhere.
        return;
    }
    let said: BTreeSet<_> = listed.episode.tasks.iter().map(String::as_str).collect();
    if said != used {
        let what = format!("the list gives it the tasks {said:?}, its rows {used:?}");
        report.add(here(
            Finding::error("data.tasks", what).advice("`smolpilot data relabel` writes both anew"),
        ));
    }
}
