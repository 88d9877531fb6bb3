//! Whether the list of episodes counts, adds up and leads to files: everything that is read goes through it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use arrow_schema::DataType;

use crate::dataset::read::listing::{Lines, files_below};
use crate::dataset::read::parquet_file::ParquetFile;
use crate::dataset::read::{Camera, Episode, opening};
use crate::dataset::schema::{FilePlace, Info, chunk_file};

use super::finding::{Finding, Report};

/// Statistics as LeRobot keeps them.
pub const STATISTICS: [&str; 10] = [
    "min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99",
];

/// An episode as the list has it.
#[derive(Clone, Debug)]
pub struct Listed {
    pub episode: Episode,
    /// Tasks as listed; `None` where the list has no such column.
    pub tasks: Option<Vec<String>>,
    /// By feature and name of the statistic, flat.
    pub statistics: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
}

/// Checks the list of episodes and returns it, as far as it can be read.
pub fn check(root: &Path, info: &Info, report: &mut Report) -> Vec<Listed> {
    let files = match files_below(&root.join("meta/episodes"), "parquet") {
        Ok(files) => files,
        Err(error) => {
            report.add(Finding::error("episodes.unreadable", error.to_string()));
            return Vec::new();
        }
    };
    if files.is_empty() && info.total_episodes > 0 {
        report.add(
            Finding::error("episodes.missing", "there is no list of episodes")
                .file("meta/episodes")
                .advice("whoever recorded was stopped before writing it; the rows may be whole, but no reader finds them"),
        );
    }
    numbering(root, &files, report);
    let cameras = opening::cameras(info);
    let mut list = Vec::new();
    let mut columns: Option<BTreeSet<String>> = None;
    for path in files {
        let relative = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
        match ParquetFile::open(&path) {
            Err(error) => {
                report.add(
                    Finding::error("episodes.unreadable", error.to_string()).file(&relative),
                );
            }
            Ok(file) => {
                let names: BTreeSet<String> = file.names().into_iter().collect();
                check_columns(&file, info, &relative, report);
                let first = columns.get_or_insert_with(|| names.clone());
                if *first != names {
                    let other: Vec<_> = first.symmetric_difference(&names).collect();
                    let what = format!("has other columns than the first file: {other:?}");
                    report.add(Finding::error("episodes.columns", what).file(&relative));
                }
                read(&file, &relative, info, &cameras, &mut list, report);
            }
        }
    }
    totals(info, &list, report);
    list
}

/// The hub's viewer goes through the files by number, until one is missing.
fn numbering(root: &Path, files: &[PathBuf], report: &mut Report) {
    let places: BTreeSet<_> = files.iter().filter_map(|path| chunk_file(path)).collect();
    let mut wanted = FilePlace::default();
    for place in places {
        let chunk_begins = place.file == 0 && place.chunk == wanted.chunk + 1;
        if place != wanted && !chunk_begins {
            let what = format!("file {:03} of chunk {:03} is missing", wanted.file, wanted.chunk);
            report.add(
                Finding::warning("episodes.numbering", what)
                    .file("meta/episodes")
                    .advice("the hub's viewer shows no episodes behind the gap"),
            );
        }
        wanted = FilePlace {
            chunk: place.chunk,
            file: place.file + 1,
        };
    }
    for path in files.iter().filter(|path| chunk_file(path).is_none()) {
        report.add(
            Finding::warning("episodes.name", "is not named file-NNN.parquet")
                .file(path.strip_prefix(root).unwrap_or(path))
                .advice("LeRobot reads it, but sorted by its name"),
        );
    }
}

fn check_columns(file: &ParquetFile, info: &Info, relative: &Path, report: &mut Report) {
    let schema = file.schema();
    let has = |name: &str| schema.field_with_name(name).ok();
    let mut whole = vec![
        "episode_index".to_owned(),
        "dataset_from_index".to_owned(),
        "dataset_to_index".to_owned(),
        "data/chunk_index".to_owned(),
        "data/file_index".to_owned(),
    ];
    for (key, _) in info.features.videos() {
        for what in ["chunk_index", "file_index", "from_timestamp"] {
            whole.push(format!("videos/{key}/{what}"));
        }
    }
    for name in &whole {
        match has(name) {
            None => {
                let what = format!("lacks the column {name}");
                report.add(Finding::error("episodes.columns", what).file(relative));
            }
            Some(field) => {
                let wanted = match name.ends_with("_timestamp") {
                    true => DataType::Float64,
                    false => DataType::Int64,
                };
                if *field.data_type() != wanted {
                    let what = format!("{name} is {}, LeRobot writes {wanted}", field.data_type());
                    report.add(Finding::warning("episodes.dtype", what).file(relative));
                }
            }
        }
    }
    let resumed = [
        "length",
        "tasks",
        "meta/episodes/chunk_index",
        "meta/episodes/file_index",
    ];
    for name in resumed.iter().filter(|name| has(name).is_none()) {
        report.add(
            Finding::warning("episodes.columns", format!("lacks the column {name}"))
                .file(relative)
                .advice("LeRobot reads without it, but cannot add episodes"),
        );
    }
    for (key, feature) in info.features.iter() {
        let missing = |it: &&&str| has(&format!("stats/{key}/{it}")).is_none();
        let missing: Vec<_> = STATISTICS.iter().filter(missing).collect();
        if !missing.is_empty() && !matches!(feature.dtype.name(), "string" | "language") {
            let what = format!("has no {} of {key}", missing.iter().map(|it| **it).collect::<Vec<_>>().join(", "));
            report.add(Finding::warning("episodes.stats", what).file(relative));
        }
    }
}

fn read(
    file: &ParquetFile,
    relative: &Path,
    info: &Info,
    cameras: &[Camera],
    list: &mut Vec<Listed>,
    report: &mut Report,
) {
    let batches = match file.batches(|_| true, 0..file.rows()) {
        Ok(batches) => batches,
        Err(error) => {
            report.add(Finding::error("episodes.unreadable", error.to_string()).file(relative));
            return;
        }
    };
    let place = chunk_file(relative);
    for batch in batches {
        let lines = Lines {
            batch: &batch,
            info,
            cameras,
        };
        for row in 0..batch.num_rows() {
            match lines.episode(row) {
                Err(why) => {
                    let what = format!("row {row} {why}");
                    report.add(Finding::error("episodes.row", what).file(relative));
                }
                Ok(episode) => {
                    check_line(&lines, row, &episode, place, relative, report);
                    list.push(Listed {
                        tasks: lines.tasks(row),
                        statistics: statistics(&lines, row, info),
                        episode,
                    });
                }
            }
        }
    }
}

fn check_line(
    lines: &Lines<'_>,
    row: usize,
    episode: &Episode,
    place: Option<FilePlace>,
    relative: &Path,
    report: &mut Report,
) {
    let index = episode.index;
    if let Ok(length) = lines.count("length", row)
        && length != episode.length
    {
        let what = format!("its length is {length}, but its rows are {:?}", episode.rows);
        report.add(
            Finding::error("episodes.length", what)
                .file(relative)
                .episode(index),
        );
    }
    let said = |what: &str| lines.count(&format!("meta/episodes/{what}"), row);
    if let (Ok(chunk), Ok(file), Some(place)) = (said("chunk_index"), said("file_index"), place)
        && (FilePlace { chunk, file }) != place
    {
        let what = format!("it is listed as being in file {file} of chunk {chunk} of the list, but is here");
        report.add(
            Finding::warning("episodes.self_ref", what)
                .file(relative)
                .episode(index)
                .advice("LeRobot may add episodes to the wrong file"),
        );
    }
}

fn statistics(
    lines: &Lines<'_>,
    row: usize,
    info: &Info,
) -> BTreeMap<String, BTreeMap<String, Vec<f64>>> {
    let mut found = BTreeMap::new();
    for (key, _) in info.features.iter() {
        let of_feature: BTreeMap<String, Vec<f64>> = STATISTICS
            .iter()
            .filter_map(|name| {
                let numbers = lines.numbers(&format!("stats/{key}/{name}"), row);
                Some(((*name).to_owned(), numbers.ok()?))
            })
            .collect();
        if !of_feature.is_empty() {
            found.insert(key.to_owned(), of_feature);
        }
    }
    found
}

fn totals(info: &Info, list: &[Listed], report: &mut Report) {
    report.episodes = list.len();
    let mut next = 0;
    for (place, listed) in list.iter().enumerate() {
        let episode = &listed.episode;
        let add = |report: &mut Report, code, what| {
            report.add(
                Finding::error(code, what)
                    .file("meta/episodes")
                    .episode(episode.index),
            );
        };
        if episode.index != place {
            let what = format!("is in the place of episode {place}: LeRobot goes by the place");
            add(report, "episodes.order", what);
        }
        if episode.rows.start != next {
            let what = format!("begins at row {}, but the one before ends at {next}", episode.rows.start);
            add(report, "episodes.range", what);
        }
        if episode.length == 0 {
            add(report, "episodes.empty", "has no rows".to_owned());
        }
        next = episode.rows.end;
    }
    report.rows = next;
    if list.len() != info.total_episodes {
        let what = format!(
            "says {} episodes, the list has {}",
            info.total_episodes,
            list.len()
        );
        report.add(Finding::error("episodes.total", what).file("meta/info.json"));
    }
    if next != info.total_frames {
        let what = format!("says {} rows, the list of episodes ends at {next}", info.total_frames);
        report.add(Finding::error("episodes.frames", what).file("meta/info.json"));
    }
}
