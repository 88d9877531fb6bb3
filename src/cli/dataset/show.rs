//! `smolpilot data show`: what is in a data set, or in one episode of it, in words; and any of its pictures.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;

use crate::cli::args::JsonArgs;
use crate::cli::output::{Outcome, deliver};
use crate::dataset::read::{Camera, Episode, Rows};
use crate::dataset::schema::Feature;
use crate::dataset::{self, Dataset};

/// `smolpilot data show`
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The data set's folder
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// Show this episode, counted from 0
    #[arg(long, value_name = "N")]
    episode: Option<usize>,
    /// Write a picture of the episode into this file, PNG or JPEG by its ending
    #[arg(long, value_name = "FILE", requires = "episode")]
    picture: Option<PathBuf>,
    /// Its camera [default: the first]
    #[arg(long, value_name = "NAME", requires = "picture")]
    camera: Option<String>,
    /// Its row, counted from 0
    #[arg(long, value_name = "K", default_value_t = 0, requires = "picture")]
    row: usize,
    #[command(flatten)]
    json: JsonArgs,
}

/// A data set.
#[derive(Debug, Serialize)]
struct SetReport {
    root: PathBuf,
    version: String,
    fps: f64,
    robot: String,
    rows: u64,
    tasks: Vec<String>,
    cameras: Vec<CameraReport>,
    columns: Vec<String>,
    episodes: Vec<EpisodeReport>,
}

#[derive(Debug, Serialize)]
struct CameraReport {
    name: String,
    width: u32,
    height: u32,
    codec: String,
}

#[derive(Debug, Serialize)]
struct EpisodeReport {
    index: usize,
    rows: usize,
    seconds: f64,
    outcome: dataset::Outcome,
    tasks: Vec<String>,
    /// Of the episode that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    columns: Vec<ColumnReport>,
}

/// The numbers of one part of a column.
#[derive(Debug, Serialize)]
struct ColumnReport {
    name: String,
    first: f64,
    last: f64,
    min: f64,
    mean: f64,
    max: f64,
}

/// Runs the command.
///
/// # Errors
/// The data set or the picture cannot be read, or the picture cannot be written.
pub fn run(args: &ShowArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut set = Dataset::open(&args.root)?;
    if let Some(episode) = args.episode {
        let mut report = episode_report(&set, set.episode(episode)?);
        report.columns = columns(&set, &set.numbers(episode)?);
        if let Some(file) = &args.picture {
            write_picture(&mut set, args, episode, file)?;
        }
        deliver(out, args.json.json.as_ref(), &report, |out| {
            print_episode(&report, out)
        })?;
    } else {
        let report = set_report(&set);
        deliver(out, args.json.json.as_ref(), &report, |out| {
            print_set(&report, out)
        })?;
    }
    Ok(Outcome::Done)
}

fn write_picture(
    set: &mut Dataset,
    args: &ShowArgs,
    episode: usize,
    file: &PathBuf,
) -> anyhow::Result<()> {
    let first = set.cameras().first().map(|camera| camera.name.clone());
    let camera = args.camera.clone().or(first);
    let camera = camera.context("the data set has no cameras")?;
    let frame = set.frame(episode, &camera, args.row)?;
    let (width, height) = (frame.width, frame.height);
    image::save_buffer(file, &frame.rgb, width, height, image::ColorType::Rgb8)
        .with_context(|| format!("cannot write the picture to {}", file.display()))
}

fn set_report(set: &Dataset) -> SetReport {
    let camera = |camera: &Camera| CameraReport {
        name: camera.name.clone(),
        width: camera.width,
        height: camera.height,
        codec: camera.codec.clone(),
    };
    let columns = set.info().features.columns();
    SetReport {
        root: set.root().to_path_buf(),
        version: set.version().to_string(),
        fps: set.fps(),
        robot: set.robot_type().to_owned(),
        rows: set.frames(),
        tasks: set.tasks().to_vec(),
        cameras: set.cameras().iter().map(camera).collect(),
        columns: columns.map(|(name, _)| name.to_owned()).collect(),
        episodes: set
            .episodes()
            .iter()
            .map(|episode| episode_report(set, episode))
            .collect(),
    }
}

fn episode_report(set: &Dataset, episode: &Episode) -> EpisodeReport {
    EpisodeReport {
        index: episode.index,
        rows: episode.length,
        seconds: episode.length as f64 / set.fps(),
        outcome: episode.outcome,
        tasks: episode.tasks.clone(),
        columns: Vec::new(),
    }
}

/// The numbers of each column, part by part.
fn columns(set: &Dataset, rows: &Rows) -> Vec<ColumnReport> {
    let mut reports = Vec::new();
    for column in &rows.table.columns {
        let Some(numbers) = column.values.floats().filter(|it| !it.is_empty()) else {
            continue;
        };
        let feature = set.info().features.get(&column.name);
        let labels = feature.map_or_else(Vec::new, Feature::labels);
        for part in 0..column.width {
            let values = numbers.iter().skip(part).step_by(column.width);
            let count = rows.len().max(1) as f64;
            reports.push(ColumnReport {
                name: match (column.width, labels.get(part)) {
                    (1, _) => column.name.clone(),
                    (_, Some(label)) => format!("{} {label}", column.name),
                    (_, None) => format!("{} {part}", column.name),
                },
                first: numbers[part],
                last: numbers[numbers.len() - column.width + part],
                min: values.clone().copied().fold(f64::INFINITY, f64::min),
                mean: values.clone().sum::<f64>() / count,
                max: values.copied().fold(f64::NEG_INFINITY, f64::max),
            });
        }
    }
    reports
}

fn print_set(report: &SetReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}: {}, {} episodes, {} rows at {} fps, robot {}",
        report.root.display(),
        report.version,
        report.episodes.len(),
        report.rows,
        report.fps,
        report.robot
    )?;
    for camera in &report.cameras {
        let (width, height) = (camera.width, camera.height);
        writeln!(
            out,
            "camera {}: {width}x{height} {}",
            camera.name, camera.codec
        )?;
    }
    writeln!(out, "columns: {}", report.columns.join(", "))?;
    for episode in &report.episodes {
        print_line(episode, out)?;
    }
    Ok(())
}

fn print_line(episode: &EpisodeReport, out: &mut dyn Write) -> io::Result<()> {
    let outcome = match episode.outcome {
        dataset::Outcome::Unmarked => "",
        dataset::Outcome::Success => "success",
        dataset::Outcome::Failure => "failure",
    };
    writeln!(
        out,
        "{:6}  {:6} rows {:8.2} s  {outcome:8} {}",
        episode.index,
        episode.rows,
        episode.seconds,
        episode.tasks.join(" / ")
    )
}

fn print_episode(report: &EpisodeReport, out: &mut dyn Write) -> io::Result<()> {
    print_line(report, out)?;
    let names = report
        .columns
        .iter()
        .map(|column| column.name.chars().count());
    let wide = names.max().unwrap_or(0);
    writeln!(
        out,
        "{:wide$} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "", "first", "last", "min", "mean", "max"
    )?;
    for column in &report.columns {
        writeln!(
            out,
            "{:wide$} {:11.3} {:11.3} {:11.3} {:11.3} {:11.3}",
            column.name, column.first, column.last, column.min, column.mean, column.max
        )?;
    }
    Ok(())
}
