//! Whether the list of episodes counts, adds up and leads to files: everything that is read goes through it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use arrow_schema::{DataType, Field};

use crate::dataset::read::listing;
use crate::dataset::read::parquet_file::{Footer, explained, files_below};
use crate::dataset::read::{Episode, opening};
use crate::dataset::schema::{FilePlace, Info, chunk_file};
use crate::dataset::stats::Stats;
use crate::dataset::table::{self, Values, episodes, rows};

use super::finding::{Finding, Report};

/// Statistics as LeRobot keeps them.
pub const STATISTICS: [&str; 10] = [
    "min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99",
];

/// An episode as the list has it.
#[derive(Clone, Debug)]
pub struct Listed {
    pub episode: Episode,
    pub statistics: Stats,
}

/// Checks the list of episodes and returns it, as far as it can be read.
pub fn check(root: &Path, info: &Info, report: &mut Report) -> Vec<Listed> {
    let files = files_below(&root.join(episodes::FOLDER), "parquet");
    if files.is_empty() && info.total_episodes > 0 {
        report.add(
            Finding::error("episodes.missing", "there is no list of episodes")
                .file(episodes::FOLDER)
                .advice("whoever recorded was stopped before writing it; the rows may be whole, but no reader finds them"),
        );
    }
    numbering(root, &files, report);
    let mut list = Vec::new();
    let mut columns: Option<BTreeSet<String>> = None;
    for path in &files {
        let file = path.strip_prefix(root).unwrap_or(path);
        let part = Part { root, info, file };
        match Footer::read(path).map_err(explained) {
            Err(error) => {
                report.add(Finding::error("episodes.unreadable", error.to_string()).file(file));
            }
            Ok(footer) => {
                let names: BTreeSet<String> = footer.names().into_iter().collect();
                part.columns(&footer, report);
                let first = columns.get_or_insert_with(|| names.clone());
                if *first != names {
                    let other: Vec<_> = first.symmetric_difference(&names).collect();
                    let what = format!("has other columns than the first file: {other:?}");
                    report.add(Finding::error("episodes.columns", what).file(file));
                }
                part.read(path, &mut list, report);
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
        let begins_chunk = place.file == 0 && place.chunk == wanted.chunk + 1;
        if place != wanted && !begins_chunk {
            let what = format!(
                "file {:03} of chunk {:03} is missing",
                wanted.file, wanted.chunk
            );
            report.add(
                Finding::warning("episodes.numbering", what)
                    .file(episodes::FOLDER)
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

/// One file of the list.
struct Part<'a> {
    root: &'a Path,
    info: &'a Info,
    file: &'a Path,
}

impl Part<'_> {
    /// Whether the columns are there that readers need.
    fn columns(&self, footer: &Footer, report: &mut Report) {
        let find = |name: &str| footer.schema().field_with_name(name).ok();
        for name in needed(self.info) {
            let wanted = if name.ends_with("_timestamp") {
                DataType::Float64
            } else {
                DataType::Int64
            };
            match find(&name).map(Field::data_type) {
                None => {
                    let what = format!("lacks the column {name}");
                    report.add(Finding::error("episodes.columns", what).file(self.file));
                }
                Some(found) if *found != wanted => {
                    let what = format!("{name} is {found}, LeRobot writes {wanted}");
                    report.add(Finding::warning("episodes.dtype", what).file(self.file));
                }
                Some(_) => {}
            }
        }
        let resumed = ["length", "tasks", CHUNK, FILE];
        for name in resumed.iter().filter(|name| find(name).is_none()) {
            report.add(
                Finding::warning("episodes.columns", format!("lacks the column {name}"))
                    .file(self.file)
                    .advice("LeRobot reads without it, but cannot add episodes"),
            );
        }
        for (key, feature) in self.info.features.iter() {
            let missing = |it: &&&str| find(&format!("stats/{key}/{it}")).is_none();
            let missing: Vec<_> = STATISTICS.iter().filter(missing).copied().collect();
            if !missing.is_empty() && !matches!(feature.dtype.name(), "string" | "language") {
                let what = format!("has no {} of {key}", missing.join(", "));
                report.add(Finding::warning("episodes.stats", what).file(self.file));
            }
        }
    }

    fn read(&self, path: &Path, list: &mut Vec<Listed>, report: &mut Report) {
        let read = episodes::read_file(path, &self.info.features).and_then(|listed| {
            self.lines(path, &listed, report);
            let cameras = opening::cameras(self.info);
            for listed in listed {
                list.push(Listed {
                    episode: listing::episode(self.root, self.info, &cameras, &listed)?,
                    statistics: listed.stats,
                });
            }
            Ok(())
        });
        if let Err(error) = read {
            report.add(Finding::error("episodes.unreadable", error.to_string()).file(self.file));
        }
    }

    /// What only the raw columns say: lengths, and where each line claims to be.
    fn lines(&self, path: &Path, listed: &[table::Episode], report: &mut Report) {
        let Ok(raw) = rows::read(path, Some(&["length", CHUNK, FILE]), None) else {
            return;
        };
        let column = |name: &str| match raw.get(name).map(|column| &column.values) {
            Some(Values::Integers(values)) => values.clone(),
            _ => Vec::new(),
        };
        for (length, line) in column("length").iter().zip(listed) {
            if i64::try_from(line.length) != Ok(*length) {
                let what = format!(
                    "its length is {length}, but its rows go from {} to {}",
                    line.from, line.to
                );
                report.add(
                    Finding::error("episodes.length", what)
                        .file(self.file)
                        .episode(line.index),
                );
            }
        }
        let Some(place) = chunk_file(self.file) else {
            return;
        };
        let (chunks, files) = (column(CHUNK), column(FILE));
        for ((chunk, file), line) in chunks.iter().zip(&files).zip(listed) {
            if (*chunk, *file) != (place.chunk as i64, place.file as i64) {
                let what = format!("it says that it is in file {file} of chunk {chunk}");
                report.add(
                    Finding::warning("episodes.self_ref", what)
                        .file(self.file)
                        .episode(line.index)
                        .advice("LeRobot's merge leaves such numbers; adding episodes may then go wrong"),
                );
            }
        }
    }
}

const CHUNK: &str = "meta/episodes/chunk_index";
const FILE: &str = "meta/episodes/file_index";

/// Columns that nothing can be read without.
fn needed(info: &Info) -> Vec<String> {
    let own = [
        "episode_index",
        "dataset_from_index",
        "dataset_to_index",
        "data/chunk_index",
        "data/file_index",
    ];
    let mut names: Vec<String> = own.map(str::to_owned).to_vec();
    for (key, _) in info.features.videos() {
        for what in ["chunk_index", "file_index", "from_timestamp"] {
            names.push(format!("videos/{key}/{what}"));
        }
    }
    names
}

fn totals(info: &Info, list: &[Listed], report: &mut Report) {
    report.episodes = list.len();
    let mut next = 0;
    for (place, listed) in list.iter().enumerate() {
        let episode = &listed.episode;
        let mut add = |code, what| {
            report.add(
                Finding::error(code, what)
                    .file(episodes::FOLDER)
                    .episode(episode.index),
            );
        };
        if episode.index != place {
            let what = format!("is in the place of episode {place}: LeRobot goes by the place");
            add("episodes.order", what);
        }
        if episode.rows.start != next {
            let begin = episode.rows.start;
            let what = format!("begins at row {begin}, but the one before ends at {next}");
            add("episodes.range", what);
        }
        if episode.length == 0 {
            add("episodes.empty", "has no rows".to_owned());
        }
        next = episode.rows.end;
    }
    report.rows = next;
    let (episodes, frames) = (info.total_episodes, info.total_frames);
    if list.len() != episodes {
        let what = format!("says {episodes} episodes, the list has {}", list.len());
        report.add(Finding::error("episodes.total", what).file("meta/info.json"));
    }
    if next != frames {
        let what = format!("says {frames} rows, the list of episodes ends at {next}");
        report.add(Finding::error("episodes.frames", what).file("meta/info.json"));
    }
}
