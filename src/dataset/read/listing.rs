//! The lists of a data set of layout 3, tasks and episodes, as a reader sees them.

use std::path::{Path, PathBuf};

use crate::dataset::schema::columns::OUTCOME;
use crate::dataset::schema::{FilePlace, Info};
use crate::dataset::stats::Stats;
use crate::dataset::table::episodes;
use crate::dataset::{Error, Outcome, table};

use super::episode::{Camera, Episode, Span};

/// All episodes, in order.
///
/// # Errors
/// The list is missing, damaged, or does not count from 0 without gaps.
pub fn episodes(root: &Path, info: &Info, cameras: &[Camera]) -> Result<Vec<Episode>, Error> {
    if info.total_episodes > 0 && episodes::files(root)?.is_empty() {
        return Err(Error::Malformed {
            path: root.join(episodes::FOLDER),
            why: "holds no list of episodes: the program that recorded them was stopped before it wrote it, or the data set was not \
                  copied whole"
                .to_owned(),
        });
    }
    let listed = episodes::read(root, &info.features)?;
    listed
        .iter()
        .map(|listed| episode(root, info, cameras, listed))
        .collect()
}

/// One episode, with the paths of its files.
///
/// # Errors
/// A path template of `meta/info.json` cannot be filled in.
pub fn episode(
    root: &Path,
    info: &Info,
    cameras: &[Camera],
    listed: &table::Episode,
) -> Result<Episode, Error> {
    let below = |path: PathBuf| {
        path.strip_prefix(root)
            .map_or(path.clone(), Path::to_path_buf)
    };
    let place = |key: &str, place: FilePlace| info.video_path(root, key, place).map(below);
    let spans = cameras.iter().map(|camera| {
        let Some(span) = listed.film(&camera.key) else {
            return Ok(Span::default());
        };
        let end = span.from_s + seconds(listed.length, info.fps);
        Ok(Span {
            film: place(&camera.key, span.place)?,
            first: frame_at(span.from_s, info.fps),
            from_s: span.from_s,
            to_s: if span.to_s > span.from_s {
                span.to_s
            } else {
                end
            },
        })
    });
    Ok(Episode {
        index: listed.index,
        length: listed.length,
        tasks: distinct(&listed.tasks),
        outcome: outcome(&listed.stats),
        rows: listed.from..listed.to,
        table: below(info.rows_path(root, listed.rows)?),
        spans: spans.collect::<Result<_, Error>>()?,
    })
}

/// Each text once, in order.
fn distinct(texts: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for text in texts {
        if !kept.contains(text) {
            kept.push(text.clone());
        }
    }
    kept
}

/// How an episode went, from its statistics: the column is the same in all its rows.
fn outcome(stats: &Stats) -> Outcome {
    let said = stats.iter().find(|(name, _)| name == OUTCOME);
    let greatest = said.and_then(|(_, said)| said.max.first().copied());
    greatest.map_or(Outcome::Unmarked, outcome_from_number)
}

/// How an episode went, from the number in its column.
pub fn outcome_from_number(number: f64) -> Outcome {
    match number.round() as i64 {
        1 => Outcome::Success,
        2 => Outcome::Failure,
        _ => Outcome::Unmarked,
    }
}

/// The number of the picture that is shown at a time.
pub fn frame_at(time_s: f64, fps: u32) -> u64 {
    (time_s * f64::from(fps)).round() as u64
}

/// How long so many rows last.
pub fn seconds(rows: usize, fps: u32) -> f64 {
    rows as f64 / f64::from(fps)
}
