//! Turns reports that users sent into rows of the README's table.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::parity::Parity;
use super::{FORMAT, VERSION};
use crate::cli::bench::holdings::Holdings;
use crate::cli::bench::report::{Stages, known};
use crate::cli::cost::Way;
use crate::cli::output::Outcome;

/// What a row needs of a report.
#[derive(Debug, Deserialize)]
struct Report {
    format: String,
    version: u32,
    complete: bool,
    program: Program,
    device: Device,
    network: Network,
    parity: Vec<Parity>,
    speed: Vec<Speed>,
    floor: Option<Floor>,
}

#[derive(Debug, Deserialize)]
struct Program {
    version: String,
    os: String,
    release: bool,
}

#[derive(Debug, Deserialize)]
struct Device {
    name: String,
    backend: String,
    driver: String,
}

#[derive(Debug, Deserialize)]
struct Network {
    size: String,
}

#[derive(Debug, Deserialize)]
struct Speed {
    way: Way,
    precision: String,
    #[serde(flatten)]
    stages: Stages,
    memory: Holdings,
}

#[derive(Debug, Deserialize)]
struct Floor {
    f32: ChunkFloor,
    f16: ChunkFloor,
}

#[derive(Debug, Deserialize)]
struct ChunkFloor {
    total_ms: f64,
}

const HEAD: &str = "| GPU | network | computed by | vision | prefix | denoise | total, ms | of its floor | launches | on the device | \
                    largest error | driver, system, version |\n|---|---|---|---|---|---|---|---|---|---|---|---|";

/// Prints the table of some reports.
///
/// # Errors
/// A file that is no report, or one of another version.
pub fn table(files: &[PathBuf], out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let reports: Vec<_> = files
        .iter()
        .map(|file| read(file))
        .collect::<Result<_, _>>()?;
    writeln!(out, "{HEAD}")?;
    for report in &reports {
        for speed in &report.speed {
            writeln!(out, "{}", row(report, speed))?;
        }
    }
    Ok(Outcome::Done)
}

fn read(file: &Path) -> anyhow::Result<Report> {
    let name = file.display();
    let text = std::fs::read(file).with_context(|| format!("cannot read {name}"))?;
    let report: Report = serde_json::from_slice(&text)
        .with_context(|| format!("{name} is no report of `smolpilot bench --gpu-report`"))?;
    if report.format != FORMAT || report.version != VERSION {
        bail!(
            "{name} is a {} of version {}, not a {FORMAT} of version {VERSION}; make it anew with this program",
            report.format,
            report.version
        );
    }
    if report.speed.is_empty() {
        bail!("{name} holds no times: it ended before them");
    }
    Ok(report)
}

fn row(report: &Report, speed: &Speed) -> String {
    let ms = |stage: &crate::cli::bench::report::StageReport| digits(stage.ms.median);
    let Stages {
        vision,
        prefix,
        denoise,
        total,
    } = &speed.stages;
    let floor = report.floor.as_ref().map(|floor| {
        let least = match speed.precision.as_str() {
            "f16" => &floor.f16,
            _ => &floor.f32,
        };
        format!(
            "{:.1} × {}",
            total.ms.median / least.total_ms,
            digits(least.total_ms)
        )
    });
    let megabytes = |bytes: u64| format!("{} MB", bytes / 1_000_000);
    let way = match speed.way {
        Way::Own => "own kernels",
        Way::Burn => "Burn",
        Way::Naive => "naive",
    };
    let unfinished = if report.complete && report.program.release {
        ""
    } else {
        " (unfinished, or a slow build)"
    };
    format!(
        "| {}, {}{unfinished} | {} | {way}, {} | {} | {} | {} | **{}** | {} | {} | {} | {} | {}, {}, {} |",
        plain(&report.device.name),
        plain(&report.device.backend),
        report.network.size,
        speed.precision,
        ms(vision),
        ms(prefix),
        ms(denoise),
        ms(total),
        known(floor),
        known(total.kernels),
        known(speed.memory.model_bytes.map(megabytes)),
        known(error(report, speed)),
        plain(&report.device.driver),
        report.program.os,
        report.program.version,
    )
}

/// The worst stage of the networks that were compared in this way and precision.
fn error(report: &Report, speed: &Speed) -> Option<String> {
    let same = |parity: &&Parity| (parity.way, &parity.precision) == (speed.way, &speed.precision);
    let errors = report.parity.iter().filter(same).map(Parity::most);
    let worst = errors
        .collect::<Option<Vec<f32>>>()?
        .into_iter()
        .reduce(f32::max)?;
    Some(format!("{worst:.0e}"))
}

/// Three digits are what such times are worth.
fn digits(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.2}"),
        ms if ms < 100.0 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    }
}

/// A driver's text must not end a cell.
fn plain(text: &str) -> String {
    text.replace('|', "/")
        .replace(['\n', '\r'], " ")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::report::tests::stages;

    fn report(version: u32) -> serde_json::Value {
        let mut speed = serde_json::to_value(stages(&[5.0], true)).unwrap();
        let own = serde_json::json!({"way": "own", "precision": "f16", "memory": {
            "pool": null, "driver": null, "rss_bytes": null, "model_bytes": 812_000_000_u64
        }});
        speed
            .as_object_mut()
            .unwrap()
            .extend(own.as_object().unwrap().clone());
        let worst = serde_json::json!({"vision": {"stage": "vision.x", "error": 0.002}});
        serde_json::json!({
            "format": FORMAT, "version": version, "complete": true, "seconds": 3.0,
            "program": {"version": "0.1.0", "os": "linux", "release": true, "more": 1},
            "device": {"name": "A | B", "backend": "Vulkan", "driver": "x 1"},
            "network": {"size": "full", "why": ""},
            "parity": [{"network": "tiny", "way": "own", "precision": "f16", "stages": 3, "worst": worst, "actions": null}],
            "speed": [speed],
            "floor": {"f32": {"total_ms": 20.0}, "f16": {"total_ms": 10.0}},
        })
    }

    fn rows(report: &serde_json::Value) -> anyhow::Result<String> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("a.json");
        std::fs::write(&file, report.to_string())?;
        let mut out = Vec::new();
        table(&[file], &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    #[test]
    fn a_report_becomes_a_row() {
        let text = rows(&report(VERSION)).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let columns = |line: &str| line.matches('|').count();
        assert_eq!(columns(lines[2]), columns(lines[0]), "{text}");
        assert_eq!(columns(lines[1]), columns(lines[0]));
        assert_eq!(
            lines[2],
            "| A / B, Vulkan | full | own kernels, f16 | 5.00 | 10.0 | 15.0 | **30.0** | 3.0 × 10.0 | 21 | 812 MB | 2e-3 | \
             x 1, linux, 0.1.0 |"
        );
    }

    #[test]
    fn what_is_no_report_is_refused_by_name() {
        let other = rows(&report(VERSION + 1)).unwrap_err().to_string();
        assert!(
            other.contains("a.json") && other.contains("version 2"),
            "{other}"
        );
        let nonsense = rows(&serde_json::json!({"format": 3}))
            .unwrap_err()
            .to_string();
        assert!(nonsense.contains("is no report"), "{nonsense}");
        let mut early = report(VERSION);
        early["speed"] = serde_json::json!([]);
        assert!(
            rows(&early)
                .unwrap_err()
                .to_string()
                .contains("holds no times")
        );
    }
}
