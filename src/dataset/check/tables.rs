//! Whether the tables of rows are those that the list of episodes says, with the columns that `meta/info.json` says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use arrow_schema::DataType;

use crate::dataset::Error;
use crate::dataset::read::listing::files_below;
use crate::dataset::read::parquet_file::ParquetFile;
use crate::dataset::read::{Column, Rows, Values};
use crate::dataset::schema::{Dtype, Feature, Info};

use super::finding::{Finding, Report};
use super::lists::Listed;
use super::moments::Moments;
use super::{Progress, arithmetic, capture, joints, statistics};

/// Moments of all rows, by feature.
pub type Totals = BTreeMap<String, Moments>;

/// Checks all tables and returns the moments of their numbers.
pub fn check(
    root: &Path,
    info: &Info,
    list: &[Listed],
    tasks: &[String],
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Totals {
    let mut totals = Totals::new();
    let files = files_below(&root.join("data"), "parquet");
    let files = files.unwrap_or_else(|error| {
        report.add(Finding::error("data.unreadable", error.to_string()).file("data"));
        Vec::new()
    });
    let relative = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).to_path_buf();
    let on_disk: BTreeSet<PathBuf> = files.iter().map(relative).collect();
    let mut by_file: BTreeMap<&Path, Vec<&Listed>> = BTreeMap::new();
    for listed in list {
        let episodes = by_file.entry(&listed.episode.table).or_default();
        episodes.push(listed);
    }
    for (file, episodes) in &by_file {
        if !on_disk.contains(*file) {
            let what = format!("is missing, with {} episodes", episodes.len());
            report.add(
                Finding::error("data.missing", what)
                    .file(file)
                    .episode(episodes[0].episode.index)
                    .advice("copy the data set whole, or fetch it again"),
            );
        }
    }
    for (done, file) in on_disk.iter().enumerate() {
        progress("rows", 0.1 + 0.5 * done as f32 / on_disk.len() as f32);
        let episodes = by_file.get(file.as_path()).map_or(&[][..], Vec::as_slice);
        if episodes.is_empty() {
            report.add(
                Finding::error("data.orphan", "belongs to no episode")
                    .file(file)
                    .advice("LeRobot reads every table in this folder: its rows shift those of all episodes behind"),
            );
        }
        let table = Table {
            file,
            info,
            tasks,
            episodes,
        };
        if let Err(error) = table.check(&root.join(file), &mut totals, report) {
            report.add(Finding::error("data.unreadable", error.to_string()).file(file));
        }
    }
    totals
}

/// One table and what should be in it.
struct Table<'a> {
    file: &'a Path,
    info: &'a Info,
    tasks: &'a [String],
    episodes: &'a [&'a Listed],
}

impl Table<'_> {
    fn check(&self, path: &Path, totals: &mut Totals, report: &mut Report) -> Result<(), Error> {
        let file = ParquetFile::open(path)?;
        self.columns(&file, report);
        self.layout(&file, report);
        // Pictures make a table large, and are looked at elsewhere.
        let picture = |name: &str| {
            let feature = self.info.features.get(name);
            feature.is_some_and(|it| it.dtype.is_picture())
        };
        let (columns, left_out) = file.columns(|name| !picture(name), 0..file.rows())?;
        for (name, why) in left_out {
            let what = format!("column {name} {why}");
            report.add(Finding::error("data.dtype", what).file(self.file));
        }
        let rows = Rows {
            episode: 0,
            len: file.rows(),
            columns,
            left_out: Vec::new(),
        };
        self.values(&rows, report);
        self.episodes(&rows, totals, report);
        Ok(())
    }

    /// The names must be those of the features: LeRobot opens no data set with one more or less.
    fn columns(&self, file: &ParquetFile, report: &mut Report) {
        let there: BTreeSet<String> = file.names().into_iter().collect();
        let wanted = self.info.features.columns().map(|(key, _)| key.to_owned());
        let wanted: BTreeSet<String> = wanted.collect();
        for name in wanted.difference(&there) {
            report.add(
                Finding::error("data.columns", format!("lacks the column {name}"))
                    .file(self.file)
                    .advice("LeRobot opens no data set without a column of meta/info.json"),
            );
        }
        for name in there.difference(&wanted) {
            report.add(
                Finding::error("data.columns", format!("has the column {name}, which is no feature of meta/info.json"))
                    .file(self.file)
                    .advice("declare it there, or LeRobot opens nothing"),
            );
        }
        for (key, feature) in self.info.features.columns() {
            if let Ok(field) = file.schema().field_with_name(key) {
                self.check_type(key, feature, field.data_type(), report);
            }
        }
    }

    fn check_type(&self, key: &str, feature: &Feature, found: &DataType, report: &mut Report) {
        let Some(wanted) = arrow_type(&feature.dtype) else {
            return;
        };
        let leaf = leaf(found);
        if *leaf == wanted {
            return;
        }
        let what = format!("{key} is of {leaf}, meta/info.json says {}", feature.dtype);
        let finding = match leaf.is_numeric() && wanted.is_numeric() {
            true => Finding::warning("data.dtype", what).advice("LeRobot converts it at each start"),
            false => Finding::error("data.dtype", what),
        };
        report.add(finding.file(self.file));
    }

    fn layout(&self, file: &ParquetFile, report: &mut Report) {
        if !file.footer_for_pyarrow("huggingface") {
            report.add(
                Finding::note("data.hf_metadata", "has no huggingface footer")
                    .file(self.file)
                    .advice("LeRobot reads it; only the hub's preview uses it"),
            );
        }
        let groups = file.row_groups();
        if groups != self.episodes.len() {
            let what = format!("has {groups} row groups for {} episodes", self.episodes.len());
            report.add(
                Finding::note("data.row_groups", what)
                    .file(self.file)
                    .advice("LeRobot writes one an episode; it reads any"),
            );
        }
        let odd = |how: &String| how != "SNAPPY" && how != "UNCOMPRESSED";
        for how in file.compressions().into_iter().filter(odd) {
            report.add(
                Finding::warning("data.compression", format!("is compressed by {how}"))
                    .file(self.file)
                    .advice("the hub's viewer reads SNAPPY or none"),
            );
        }
    }

    /// Numbers that are none, and lists of other lengths than their feature's shape.
    fn values(&self, rows: &Rows, report: &mut Report) {
        for (name, column) in &rows.columns {
            let Some(feature) = self.info.features.get(name) else {
                continue;
            };
            if column.width != feature.width() && rows.len > 0 {
                let what = format!("{name} has {} values a row, its shape is {:?}", column.width, feature.shape);
                report.add(Finding::error("data.shape", what).file(self.file));
            }
            let bad = match &column.values {
                Values::Float(values) => values.iter().filter(|it| !it.is_finite()).count(),
                Values::Double(values) => values.iter().filter(|it| !it.is_finite()).count(),
                _ => 0,
            };
            if bad > 0 {
                report.add(
                    Finding::error("data.nonfinite", format!("{name} has {bad} values that are no numbers"))
                        .file(self.file)
                        .advice("training becomes NaN with the first batch that holds one; delete or trim the episode"),
                );
            }
        }
    }

    fn episodes(&self, rows: &Rows, totals: &mut Totals, report: &mut Report) {
        let Some(numbers) = rows.scalars("episode_index") else {
            return;
        };
        let mut there: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (row, &number) in numbers.iter().enumerate() {
            there.entry(number as i64).or_default().push(row);
        }
        for listed in self.episodes {
            let index = listed.episode.index;
            let Some(places) = i64::try_from(index).ok().and_then(|it| there.remove(&it)) else {
                let what = "has no row of it";
                report.add(
                    Finding::error("data.episode", what)
                        .file(self.file)
                        .episode(index),
                );
                continue;
            };
            let part = picked(rows, &places, index);
            arithmetic::check(self.file, self.info, self.tasks, listed, &part, report);
            capture::check(self.file, self.info, &part, report);
            joints::check(self.file, self.info, &part, report);
            statistics::check_episode(self.file, self.info, listed, &part, totals, report);
        }
        if !there.is_empty() {
            let others: Vec<_> = there.keys().collect();
            let what = format!("has rows of the episodes {others:?}, which should not be in it");
            report.add(Finding::error("data.extra_episode", what).file(self.file));
        }
    }
}

/// The rows at `places`.
fn picked(rows: &Rows, places: &[usize], episode: usize) -> Rows {
    let columns = rows.columns.iter().map(|(name, column)| {
        let column = match &column.values {
            Values::Float(it) => Values::Float(pick(it, column.width, places)),
            Values::Double(it) => Values::Double(pick(it, column.width, places)),
            Values::Int(it) => Values::Int(pick(it, column.width, places)),
            Values::Bool(it) => Values::Bool(pick(it, column.width, places)),
            Values::Text(it) => Values::Text(pick(it, column.width, places)),
            Values::Picture(it) => Values::Picture(pick(it, column.width, places)),
        }
        .of_width(column.width);
        (name.clone(), column)
    });
    Rows {
        episode,
        len: places.len(),
        columns: columns.collect(),
        left_out: Vec::new(),
    }
}

impl Values {
    fn of_width(self, width: usize) -> Column {
        Column {
            width,
            values: self,
        }
    }
}

fn pick<T: Clone>(values: &[T], width: usize, places: &[usize]) -> Vec<T> {
    places
        .iter()
        .flat_map(|&row| values[row * width..(row + 1) * width].iter().cloned())
        .collect()
}

/// The type of one value of a feature.
fn arrow_type(dtype: &Dtype) -> Option<DataType> {
    Some(match dtype {
        Dtype::Float32 => DataType::Float32,
        Dtype::Float64 => DataType::Float64,
        Dtype::Int64 => DataType::Int64,
        Dtype::Int32 => DataType::Int32,
        Dtype::Bool => DataType::Boolean,
        Dtype::Text => DataType::Utf8,
        Dtype::Video | Dtype::Image | Dtype::Other(_) => return None,
    })
}

/// The type of a list's values, however deep.
fn leaf(kind: &DataType) -> &DataType {
    match kind {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            leaf(field.data_type())
        }
        _ => kind,
    }
}
