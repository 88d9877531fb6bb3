//! What the columns of provenance tell of how well an episode was recorded: gaps, pictures shown again, a loop that was slow.

use std::path::Path;

use crate::dataset::read::Rows;
use crate::dataset::schema::Info;
use crate::dataset::schema::columns::{CAPTURE_TIME, REPEATED};

use super::finding::{Finding, Report};

/// A row this many periods after the one before is a gap.
const GAP_PERIODS: f64 = 2.5;
/// The share of filled rows or repeated pictures above which a policy learns to stand still.
const MUCH: f64 = 0.05;
/// How far the rate of recording may be from `fps`.
const RATE_OFF: f64 = 0.03;
/// Nanoseconds a second.
const NANOSECONDS: f64 = 1e9;

pub fn check(file: &Path, info: &Info, rows: &Rows, report: &mut Report) {
    let here = |finding: Finding| finding.file(file).episode(rows.episode);
    let repeated = rows.scalars(REPEATED);
    if let Some(bits) = &repeated {
        shown_again(info, bits, &here, report);
    }
    let Some(times) = rows.scalars(CAPTURE_TIME) else {
        return;
    };
    let filled = |row: usize| {
        let bits = repeated.as_ref().and_then(|bits| bits.get(row));
        bits.is_some_and(|bits| (*bits as u64) & 1 == 1)
    };
    // A filled row has the time of the row that it repeats.
    let taken: Vec<f64> = times
        .iter()
        .enumerate()
        .filter(|(row, _)| !filled(*row))
        .map(|(_, nanoseconds)| nanoseconds / NANOSECONDS)
        .collect();
    let period = 1.0 / f64::from(info.fps);
    let steps: Vec<f64> = taken.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if steps.iter().any(|step| *step < 0.0) {
        let what = "its capture times go back";
        report.add(here(Finding::warning("capture.order", what)));
    }
    let longest = steps.iter().copied().fold(0.0, f64::max);
    if longest > GAP_PERIODS * period {
        let gaps = steps
            .iter()
            .filter(|step| **step > GAP_PERIODS * period)
            .count();
        let what = format!("{gaps} gaps, the longest of {:.0} ms", longest * 1000.0);
        report.add(here(Finding::warning("capture.gap", what).advice(
            "the control loop was held up; rows in between were filled",
        )));
    }
    let lasted = times.last().copied().unwrap_or(0.0) / NANOSECONDS;
    let planned = (rows.len().max(1) - 1) as f64 * period;
    if planned > 1.0 && (lasted / planned - 1.0).abs() > RATE_OFF {
        let what = format!(
            "took {lasted:.2} s, its rows at {} fps say {planned:.2} s",
            info.fps
        );
        report.add(here(Finding::warning("capture.rate", what).advice(
            "replayed, it runs at another speed than it was recorded at",
        )));
    }
}

/// Rows that were filled, and pictures that were shown again.
fn shown_again(info: &Info, bits: &[f64], here: &dyn Fn(Finding) -> Finding, report: &mut Report) {
    let cameras = info.features.cameras().map(|(key, _)| key);
    for (bit, name) in std::iter::once("").chain(cameras).enumerate() {
        let count = bits
            .iter()
            .filter(|it| (**it as u64) >> bit & 1 == 1)
            .count();
        if count == 0 {
            continue;
        }
        let share = count as f64 / bits.len() as f64;
        let what = match bit {
            0 => format!(
                "{count} of {} rows fill instants that nothing was taken at",
                bits.len()
            ),
            _ => format!(
                "{count} of {} rows show the picture of {name} before again",
                bits.len()
            ),
        };
        let code = if bit == 0 {
            "capture.filled"
        } else {
            "capture.repeated"
        };
        report.add(here(if share > MUCH {
            Finding::warning(code, what).advice("the camera or the loop is slower than fps")
        } else {
            Finding::note(code, what)
        }));
    }
}
