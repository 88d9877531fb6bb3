//! `smolpilot data list`: the data sets of this user, where this program and LeRobot keep them.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::app::library::Places;
use crate::cli::args::JsonArgs;
use crate::cli::output::{Outcome, deliver};
use crate::dataset::{Dataset, left_in};

/// `smolpilot data list`
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Folders to look into, or data sets [default: ~/smolpilot, and LeRobot's place]
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    json: JsonArgs,
}

/// A data set in the list.
#[derive(Debug, Default, Serialize)]
struct Line {
    root: PathBuf,
    version: String,
    episodes: usize,
    rows: u64,
    fps: f64,
    robot: String,
    tasks: Vec<String>,
    /// Episodes that were left unfinished.
    interrupted: usize,
    /// Why it cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// The result cannot be written.
pub fn run(args: &ListArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let lines: Vec<_> = roots(&args.folders).iter().map(|root| line(root)).collect();
    deliver(out, args.json.json.as_ref(), &lines, |out| {
        for line in &lines {
            match &line.trouble {
                Some(why) => writeln!(out, "{}: {why}", line.root.display())?,
                None => writeln!(
                    out,
                    "{}: {}, {} episodes, {} rows at {} fps, {}{}",
                    line.root.display(),
                    line.version,
                    line.episodes,
                    line.rows,
                    line.fps,
                    line.tasks.join(" / "),
                    match line.interrupted {
                        0 => String::new(),
                        count => format!(" ({count} unfinished: `smolpilot data recover`)"),
                    }
                )?,
            }
        }
        if lines.is_empty() {
            writeln!(out, "no data set was found")
        } else {
            Ok(())
        }
    })?;
    Ok(Outcome::Done)
}

fn roots(folders: &[PathBuf]) -> Vec<PathBuf> {
    if folders.is_empty() {
        return Places::of_user().roots();
    }
    let mut roots = Vec::new();
    for folder in folders {
        let mut places = Places {
            home: folder.clone(),
            ..Places::default()
        };
        places.visit(folder);
        roots.extend(places.roots());
    }
    roots
}

fn line(root: &Path) -> Line {
    let interrupted = left_in(root).map_or(0, |left| left.len());
    match Dataset::open(root) {
        Err(error) => Line {
            root: root.to_path_buf(),
            interrupted,
            trouble: Some(error.to_string()),
            ..Line::default()
        },
        Ok(set) => Line {
            root: root.to_path_buf(),
            version: set.version().to_string(),
            episodes: set.episodes().len(),
            rows: set.frames(),
            fps: set.fps(),
            robot: set.robot_type().to_owned(),
            tasks: set.tasks().to_vec(),
            interrupted,
            trouble: None,
        },
    }
}
