//! Whether the tables of rows are those that the list of episodes says, with the columns that `meta/info.json` says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use arrow_schema::DataType;

use crate::dataset::Error;
use crate::dataset::read::Rows;
use crate::dataset::read::parquet_file::{Footer, explained, files_below};
use crate::dataset::schema::columns::EPISODE_INDEX;
use crate::dataset::schema::{Dtype, Feature, Info};
use crate::dataset::table::{Column, Table as Columns, Values, rows};

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
        let footer = Footer::read(path)?;
        self.columns(&footer, report);
        self.layout(&footer, report);
        let mut table = Columns {
            rows: footer.rows(),
            columns: Vec::new(),
        };
        for name in footer.names() {
            // Pictures make a table large, and are looked at elsewhere.
            let feature = self.info.features.get(&name);
            if feature.is_some_and(|it| it.dtype.is_picture()) {
                continue;
            }
            match rows::read(path, Some(&[&name]), None).map_err(explained) {
                Ok(one) => table.columns.extend(one.columns),
                Err(Error::Malformed { why, .. }) => {
                    report.add(Finding::error("data.column", why).file(self.file));
                }
                Err(error) => return Err(error),
            }
        }
        self.values(&table, report);
        self.episodes(&table, totals, report);
        Ok(())
    }

    /// The names must be those of the features: LeRobot opens no data set with one more or less.
    fn columns(&self, footer: &Footer, report: &mut Report) {
        let there: BTreeSet<String> = footer.names().into_iter().collect();
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
                Finding::error(
                    "data.columns",
                    format!("has the column {name}, which is no feature of meta/info.json"),
                )
                .file(self.file)
                .advice("declare it there, or LeRobot opens nothing"),
            );
        }
        for (key, feature) in self.info.features.columns() {
            if let Ok(field) = footer.schema().field_with_name(key) {
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
        let finding = if leaf.is_numeric() && wanted.is_numeric() {
            Finding::warning("data.dtype", what).advice("LeRobot converts it at each start")
        } else {
            Finding::error("data.dtype", what)
        };
        report.add(finding.file(self.file));
    }

    fn layout(&self, footer: &Footer, report: &mut Report) {
        if !footer.shows_pyarrow("huggingface") {
            report.add(
                Finding::note("data.hf_metadata", "has no huggingface footer")
                    .file(self.file)
                    .advice("LeRobot reads it; only the hub's preview uses it"),
            );
        }
        let groups = footer.row_groups();
        if groups != self.episodes.len() {
            let what = format!(
                "has {groups} row groups for {} episodes",
                self.episodes.len()
            );
            report.add(
                Finding::note("data.row_groups", what)
                    .file(self.file)
                    .advice("LeRobot writes one an episode; it reads any"),
            );
        }
        let odd = |how: &String| how != "SNAPPY" && how != "UNCOMPRESSED";
        for how in footer.compressions().into_iter().filter(odd) {
            report.add(
                Finding::warning("data.compression", format!("is compressed by {how}"))
                    .file(self.file)
                    .advice("the hub's viewer reads SNAPPY or none"),
            );
        }
    }

    /// Numbers that are none, and lists of other lengths than their feature's shape.
    fn values(&self, table: &Columns, report: &mut Report) {
        for column in &table.columns {
            let name = &column.name;
            let Some(feature) = self.info.features.get(name) else {
                continue;
            };
            if column.width != feature.width() && table.rows > 0 {
                let shape = &feature.shape;
                let what = format!(
                    "{name} has {} values a row, its shape is {shape:?}",
                    column.width
                );
                report.add(Finding::error("data.shape", what).file(self.file));
            }
            let bad = match &column.values {
                Values::Floats(values) => values.iter().filter(|it| !it.is_finite()).count(),
                _ => 0,
            };
            if bad > 0 {
                let what = format!("{name} has {bad} values that are no numbers");
                report.add(
                    Finding::error("data.nonfinite", what)
                        .file(self.file)
                        .advice("training becomes NaN with the first batch that holds one; delete or trim the episode"),
                );
            }
        }
    }

    fn episodes(&self, table: &Columns, totals: &mut Totals, report: &mut Report) {
        let numbers = table.get(EPISODE_INDEX).map(|column| &column.values);
        let Some(Values::Integers(numbers)) = numbers else {
            return;
        };
        let mut there: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (row, number) in numbers.iter().enumerate() {
            there.entry(*number).or_default().push(row);
        }
        for listed in self.episodes {
            let index = listed.episode.index;
            let Some(places) = there.remove(&(index as i64)) else {
                report.add(
                    Finding::error("data.episode", "has no row of it")
                        .file(self.file)
                        .episode(index),
                );
                continue;
            };
            let part = Rows {
                episode: index,
                table: picked(table, &places),
                left_out: Vec::new(),
                joints: self.info.features.joints(),
            };
            arithmetic::check(self.file, self.info, self.tasks, listed, &part, report);
            capture::check(self.file, self.info, &part, report);
            joints::check(self.file, &part, report);
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
fn picked(table: &Columns, places: &[usize]) -> Columns {
    let together = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
    if let Some(&first) = places.first().filter(|_| together) {
        return table.slice(first..first + places.len());
    }
    let columns = table.columns.iter().map(|column| Column {
        name: column.name.clone(),
        width: column.width,
        values: match &column.values {
            Values::Floats(it) => Values::Floats(pick(it, column.width, places)),
            Values::Integers(it) => Values::Integers(pick(it, column.width, places)),
            Values::Texts(it) => Values::Texts(pick(it, column.width, places)),
            Values::Pictures(it) => Values::Pictures(pick(it, column.width, places)),
        },
    });
    Columns {
        rows: places.len(),
        columns: columns.collect(),
    }
}

fn pick<T: Clone>(values: &[T], width: usize, places: &[usize]) -> Vec<T> {
    let row = |&row: &usize| values[row * width..(row + 1) * width].iter().cloned();
    places.iter().flat_map(row).collect()
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
