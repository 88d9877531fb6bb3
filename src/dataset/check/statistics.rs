//! Whether the statistics are those of the rows: a policy normalises by them, and with wrong ones it learns or drives wrong.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::dataset::read::Rows;
use crate::dataset::schema::{Feature, Info};
use crate::dataset::stats::FeatureStats;

use super::finding::{Finding, Report};
use super::lists::{Listed, STATISTICS};
use super::moments::Moments;
use super::tables::Totals;

const FILE: &str = "meta/stats.json";
/// What 32-bit sums of a long recording may be off, of the column's range.
const ROUNDING: f64 = 1e-3;
/// What makes a policy's numbers visibly wrong, of the column's range.
const WRONG: f64 = 0.02;

/// Compares an episode's statistics with its rows, and adds the rows to `totals`.
pub fn check_episode(
    file: &Path,
    info: &Info,
    listed: &Listed,
    rows: &Rows,
    totals: &mut Totals,
    report: &mut Report,
) {
    for (key, feature) in info.features.columns() {
        let Some(column) = rows.table.get(key).filter(|_| !feature.dtype.is_picture()) else {
            continue;
        };
        let Some(numbers) = column.values.floats().filter(|numbers| !numbers.is_empty()) else {
            continue;
        };
        let moments = Moments::of(&numbers, column.width);
        let said = listed.statistics.iter().find(|(name, _)| name == key);
        if let Some((_, said)) = said {
            for (off, what) in differences(&named(said), &moments) {
                let finding = if off > WRONG {
                    Finding::warning(
                        "episodes.stats_differ",
                        format!("statistics of {key}: {what}"),
                    )
                } else {
                    Finding::note(
                        "episodes.stats_differ",
                        format!("statistics of {key}: {what}"),
                    )
                };
                report.add(finding.file(file).episode(listed.episode.index));
            }
        }
        totals.entry(key.to_owned()).or_default().merge(&moments);
    }
}

/// Statistics by their names.
fn named(stats: &FeatureStats) -> BTreeMap<String, Vec<f64>> {
    let parts = [
        ("min", &stats.min),
        ("max", &stats.max),
        ("mean", &stats.mean),
        ("std", &stats.std),
    ];
    let mut named: BTreeMap<_, _> = parts
        .into_iter()
        .map(|(name, values)| (name.to_owned(), values.clone()))
        .collect();
    named.insert("count".to_owned(), vec![stats.count as f64]);
    named
}

/// Checks `meta/stats.json` against the rows of all episodes.
pub fn check_whole(root: &Path, info: &Info, totals: &Totals, report: &mut Report) {
    let Ok(text) = std::fs::read_to_string(root.join(FILE)) else {
        report.add(
            Finding::warning("stats.missing", "is missing")
                .file(FILE)
                .advice("LeRobot opens the data set, but no policy can be trained on it"),
        );
        return;
    };
    let said: Value = match serde_json::from_str(&text) {
        Ok(said) => said,
        Err(error) => {
            let what = format!("is not JSON: {error}");
            report.add(Finding::error("stats.json", what).file(FILE));
            return;
        }
    };
    for (key, feature) in info.features.iter() {
        if matches!(feature.dtype.name(), "string" | "language") {
            continue;
        }
        let Some(of_feature) = said.get(key).and_then(Value::as_object) else {
            let what = format!("has no statistics of {key}");
            report.add(Finding::warning("stats.feature", what).file(FILE));
            continue;
        };
        let flat: BTreeMap<String, Vec<f64>> = of_feature
            .iter()
            .map(|(name, value)| (name.clone(), flattened(value)))
            .collect();
        check_feature(key, feature, &flat, totals.get(key), report);
    }
}

fn check_feature(
    key: &str,
    feature: &Feature,
    said: &BTreeMap<String, Vec<f64>>,
    moments: Option<&Moments>,
    report: &mut Report,
) {
    let add = |report: &mut Report, finding: Finding| report.add(finding.file(FILE));
    let missing: Vec<_> = STATISTICS
        .iter()
        .filter(|name| !said.contains_key(**name))
        .copied()
        .collect();
    if !missing.is_empty() {
        let what = format!("{key} lacks {}", missing.join(", "));
        add(report, Finding::warning("stats.keys", what));
    }
    let picture = feature.dtype.is_picture();
    let width = if picture {
        if feature.is_depth() { 1 } else { 3 }
    } else {
        feature.width()
    };
    for (name, values) in said.iter().filter(|(name, _)| *name != "count") {
        if values.len() != width {
            let what = format!(
                "{name} of {key} has {} values in place of {width}",
                values.len()
            );
            add(report, Finding::error("stats.shape", what));
        } else if values.iter().any(|value| !value.is_finite()) {
            let what = format!("{name} of {key} holds what is no number");
            add(report, Finding::error("stats.nonfinite", what));
        } else if picture
            && !feature.is_depth()
            && values.iter().any(|it| !(-1e-6..=1.0 + 1e-6).contains(it))
        {
            let what = format!("{name} of {key} is not between 0 and 1");
            add(report, Finding::error("stats.range", what));
        }
    }
    order(key, said, report);
    if let Some(moments) = moments {
        for (off, what) in differences(said, moments) {
            let what = format!("statistics of {key}: {what}");
            let finding = if off > WRONG {
                Finding::error("stats.differ", what)
                    .advice("a policy normalises by them: any edit of this program, such as `data relabel`, computes them anew")
            } else {
                Finding::note("stats.differ", what)
            };
            add(report, finding);
        }
    }
}

/// Quantiles must grow, from the least to the greatest.
fn order(key: &str, said: &BTreeMap<String, Vec<f64>>, report: &mut Report) {
    let names = ["min", "q01", "q10", "q50", "q90", "q99", "max"];
    let found: Vec<_> = names.iter().filter_map(|name| said.get(*name)).collect();
    let range = said.get("min").zip(said.get("max"));
    let slack = |at: usize| {
        let range = range.and_then(|(min, max)| Some(max.get(at)? - min.get(at)?));
        1e-6 + 1e-3 * range.unwrap_or(0.0).abs()
    };
    let wrong = found.windows(2).any(|pair| {
        let both = pair[0].iter().zip(pair[1]).enumerate();
        both.into_iter()
            .any(|(at, (low, high))| *low > *high + slack(at))
    });
    if wrong {
        let what = format!("the quantiles of {key} do not grow from min to max");
        report.add(Finding::warning("stats.order", what).file(FILE));
    }
}

/// What differs between statistics and moments, and by how much of the range.
fn differences(said: &BTreeMap<String, Vec<f64>>, moments: &Moments) -> Vec<(f64, String)> {
    let mut found = Vec::new();
    if moments.mean.iter().any(|mean| !mean.is_finite()) {
        // Values that are no numbers have none; that they are there is said of the rows.
        return found;
    }
    let std = moments.std();
    let wanted = [
        ("min", &moments.min),
        ("max", &moments.max),
        ("mean", &moments.mean),
        ("std", &std),
    ];
    for (name, wanted) in wanted {
        let Some(values) = said.get(name).filter(|it| it.len() == wanted.len()) else {
            continue;
        };
        let mut worst = (0.0, String::new());
        for (at, (value, wanted)) in values.iter().zip(wanted).enumerate() {
            let range = (moments.max[at] - moments.min[at]).abs();
            let scale = range.max(1e-3 * wanted.abs()).max(1e-6);
            let off = (value - wanted).abs() / scale;
            if off > worst.0 {
                let what = format!("{name}[{at}] is {value:.6}, the rows say {wanted:.6}");
                worst = (off, what);
            }
        }
        if worst.0 > ROUNDING {
            found.push(worst);
        }
    }
    let count = said.get("count").and_then(|count| count.first());
    if let Some(count) = count.filter(|count| **count != moments.count) {
        let what = format!("count is {count}, there are {} rows", moments.count);
        found.push((ROUNDING, what));
    }
    found
}

/// All numbers of nested lists.
fn flattened(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(flattened).collect(),
        // JSON has no NaN: python writes the word, and a reader that is lenient gives null.
        _ => vec![value.as_f64().unwrap_or(f64::NAN)],
    }
}
