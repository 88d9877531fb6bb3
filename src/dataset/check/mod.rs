//! Looks for everything that makes a data set unreadable, or silently something else than was recorded.
//!
//! The checks are those that a reader needs: row numbers and times on their grid, one picture a row in every film, tasks under their
//! numbers, statistics that are those of the rows. What LeRobot refuses or misreads is an error; what it reads, but worse than it
//! could be, is a warning.

mod arithmetic;
mod capture;
mod films;
mod finding;
mod info;
mod joints;
mod leftovers;
mod lists;
mod moments;
mod older;
mod pixels;
mod statistics;
mod tables;
mod tasks;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::dataset::read::{Dataset, Version, opening};
use crate::dataset::schema::Info;

pub use finding::{FilmFacts, Finding, Report, Severity};

/// What is looked at beyond the lists and the rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Depth {
    /// Decode the films too: pictures that never change, and films that end early. Minutes instead of seconds.
    pub pixels: bool,
}

/// How far a check is: what is looked at, and the share of all that is done, 0 to 1.
pub type Progress<'a> = dyn FnMut(&str, f32) + 'a;

/// Checks the data set in `root`. Never fails: what cannot be read is a finding.
pub fn check(root: &Path, depth: Depth, progress: &mut Progress<'_>) -> Report {
    let mut report = Report {
        root: root.to_path_buf(),
        ..Report::default()
    };
    progress("lists", 0.0);
    leftovers::check(root, &mut report);
    match opening::info(root) {
        Err(error) => report.add(
            Finding::error("info.unreadable", error.to_string())
                .file("meta/info.json")
                .advice("nothing else can be checked without it"),
        ),
        Ok((info, version)) => {
            report.version = version.to_string();
            info::check(root, &info, version, &mut report);
            match version {
                Version::V30 => current(root, &info, &mut report, progress),
                Version::V20 | Version::V21 => older::check(root, &info, &mut report, progress),
            }
            if depth.pixels {
                look(root, &mut report, progress);
            }
        }
    }
    progress("done", 1.0);
    report.sort();
    report
}

/// The checks of layout 3.
fn current(root: &Path, info: &Info, report: &mut Report, progress: &mut Progress<'_>) {
    let tasks = tasks::check(root, info, report);
    let list = lists::check(root, info, report);
    let totals = tables::check(root, info, &list, &tasks, report, progress);
    statistics::check_whole(root, info, &totals, report);
    films::check(root, info, &list, report, progress);
}

fn look(root: &Path, report: &mut Report, progress: &mut Progress<'_>) {
    match Dataset::open(root) {
        Ok(dataset) => pixels::check(dataset, report, progress),
        Err(error) => report.add(
            Finding::note("pixels.skipped", error.to_string())
                .advice("pictures can be looked at once the lists are right"),
        ),
    }
}
