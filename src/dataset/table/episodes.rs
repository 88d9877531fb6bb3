//! The table of episodes, `meta/episodes/chunk-000/file-000.parquet`: where the rows and films of each lie, and its statistics.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{Array as _, ArrayRef, Float64Array, Int64Array, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::array::{element, flatten, list_at};
use super::column::Values;
use super::parquet::{self, malformed};
use crate::dataset::disk::at;
use crate::dataset::schema::{Features, FilePlace, chunk_file};
use crate::dataset::stats::{FeatureStats, QUANTILES, Stats};
use crate::dataset::{Disk, Error};

/// Where they lie in a data set.
pub const FOLDER: &str = "meta/episodes";

/// One row of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Episode {
    pub index: usize,
    /// The distinct tasks of its rows, in words.
    pub tasks: Vec<String>,
    /// Rows.
    pub length: usize,
    /// The table of its rows.
    pub rows: FilePlace,
    /// Its first row and the one after its last, counted over the data set.
    pub from: u64,
    pub to: u64,
    /// By camera, in the features' order.
    pub films: Vec<(String, Span)>,
    /// Empty where the table has none.
    pub stats: Stats,
    /// The table of episodes that it is in.
    pub meta: FilePlace,
}

impl Episode {
    /// Where its film of a camera lies.
    pub fn film(&self, key: &str) -> Option<Span> {
        let found = self.films.iter().find(|(camera, _)| camera == key);
        found.map(|(_, span)| *span)
    }
}

/// Where an episode lies in a film.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    pub place: FilePlace,
    /// Seconds from the film's begin.
    pub from_s: f64,
    pub to_s: f64,
}

/// The file of a place.
pub fn path(root: &Path, place: FilePlace) -> PathBuf {
    let (chunk, file) = (place.chunk, place.file);
    root.join(FOLDER)
        .join(format!("chunk-{chunk:03}/file-{file:03}.parquet"))
}

/// The files that are there, in the order that LeRobot reads them in.
///
/// # Errors
/// A folder cannot be listed.
pub fn files(root: &Path) -> Result<Vec<PathBuf>, Error> {
    numbered(&root.join(FOLDER), "parquet")
}

/// The files `chunk-*/*.ext` of a folder, by path; none when there is no such folder.
pub fn numbered(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Error> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>, Error> {
        if !folder.is_dir() {
            return Ok(vec![]);
        }
        let entries = fs::read_dir(folder).map_err(|error| at(folder, error))?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = paths
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| at(folder, error))?;
        paths.sort_unstable();
        Ok(paths)
    };
    let mut files = vec![];
    for chunk in list(folder)? {
        let inside = list(&chunk)?;
        files.extend(
            inside
                .into_iter()
                .filter(|path| path.extension().is_some_and(|it| it == extension)),
        );
    }
    Ok(files)
}

/// Reads every episode, with its statistics. They are in the order of their numbers, which are 0, 1, 2, ...
///
/// # Errors
/// A file cannot be read, lacks a column, or the numbers have a gap.
pub fn read(root: &Path, features: &Features) -> Result<Vec<Episode>, Error> {
    let mut episodes: Vec<Episode> = vec![];
    for path in files(root)? {
        for episode in read_file(&path, features)? {
            if episode.index != episodes.len() {
                let why = format!(
                    "episode {} follows on {} others: a program that wrote to it was interrupted, or a file is missing",
                    episode.index,
                    episodes.len()
                );
                return Err(malformed(&path, &why));
            }
            episodes.push(episode);
        }
    }
    Ok(episodes)
}

/// Reads the episodes of one file.
///
/// # Errors
/// It cannot be read, or lacks a column.
pub fn read_file(path: &Path, features: &Features) -> Result<Vec<Episode>, Error> {
    let mut episodes = vec![];
    for batch in parquet::batches(path, None, None)? {
        let meta = chunk_file(path).unwrap_or_default();
        let columns = Columns {
            path,
            batch: &batch,
        };
        for row in 0..batch.num_rows() {
            episodes.push(columns.episode(row, features, meta)?);
        }
    }
    Ok(episodes)
}

/// A batch of the table, read by the names of its columns.
struct Columns<'a> {
    path: &'a Path,
    batch: &'a RecordBatch,
}

impl Columns<'_> {
    fn episode(&self, row: usize, features: &Features, meta: FilePlace) -> Result<Episode, Error> {
        let films = features.videos().map(|(key, _)| {
            let column = |name: &str| format!("videos/{key}/{name}");
            let span = Span {
                place: self.place(&column("chunk_index"), &column("file_index"), row)?,
                from_s: self.number(&column("from_timestamp"), row)?,
                to_s: self.number(&column("to_timestamp"), row).unwrap_or(0.0),
            };
            Ok((key.to_owned(), span))
        });
        let (from, to) = (
            self.count("dataset_from_index", row)?,
            self.count("dataset_to_index", row)?,
        );
        let stats = features
            .iter()
            .filter_map(|(name, _)| Some((name.to_owned(), self.stats(name, row)?)));
        Ok(Episode {
            index: self.count("episode_index", row)? as usize,
            tasks: self.texts("tasks", row),
            length: to.saturating_sub(from) as usize,
            rows: self.place("data/chunk_index", "data/file_index", row)?,
            from,
            to,
            films: films.collect::<Result<_, Error>>()?,
            stats: stats.collect(),
            meta,
        })
    }

    fn column(&self, name: &str) -> Result<&ArrayRef, Error> {
        let column = self.batch.column_by_name(name);
        column.ok_or_else(|| malformed(self.path, &format!("it has no column `{name}`")))
    }

    fn number(&self, name: &str, row: usize) -> Result<f64, Error> {
        let one = flatten(&self.column(name)?.slice(row, 1)).ok();
        let number = one.and_then(|one| one.floats()?.first().copied());
        number.ok_or_else(|| {
            malformed(
                self.path,
                &format!("column `{name}` is no number in row {row}"),
            )
        })
    }

    fn count(&self, name: &str, row: usize) -> Result<u64, Error> {
        let number = self.number(name, row)?;
        let whole = number.fract() == 0.0 && number >= 0.0;
        whole.then_some(number as u64).ok_or_else(|| {
            malformed(
                self.path,
                &format!("column `{name}` is {number} in row {row}"),
            )
        })
    }

    fn place(&self, chunk: &str, file: &str, row: usize) -> Result<FilePlace, Error> {
        Ok(FilePlace {
            chunk: self.count(chunk, row)? as usize,
            file: self.count(file, row)? as usize,
        })
    }

    fn texts(&self, name: &str, row: usize) -> Vec<String> {
        let list = self
            .batch
            .column_by_name(name)
            .and_then(|lists| list_at(lists, row));
        match list.and_then(|list| flatten(&list).ok()) {
            Some(Values::Texts(texts)) => texts,
            _ => vec![],
        }
    }

    /// The statistics of a feature; `None` where there are none.
    fn stats(&self, feature: &str, row: usize) -> Option<FeatureStats> {
        let values = |name: &str| {
            let lists = self
                .batch
                .column_by_name(&format!("stats/{feature}/{name}"))?;
            flatten(&list_at(lists, row)?).ok()?.floats()
        };
        let quantiles = QUANTILES.map(|(name, _)| values(name));
        Some(FeatureStats {
            min: values("min")?,
            max: values("max")?,
            mean: values("mean")?,
            std: values("std")?,
            count: values("count")?.first().copied()? as u64,
            quantiles: match quantiles {
                [Some(q01), Some(q10), Some(q50), Some(q90), Some(q99)] => {
                    Some([q01, q10, q50, q90, q99])
                }
                _ => None,
            },
        })
    }
}

/// The columns as LeRobot orders them.
pub fn schema(features: &Features) -> SchemaRef {
    let (whole, real) = (DataType::Int64, DataType::Float64);
    let list = |of: DataType| DataType::List(element(of));
    let mut fields = vec![
        ("episode_index".to_owned(), whole.clone()),
        ("tasks".to_owned(), list(DataType::Utf8)),
        ("length".to_owned(), whole.clone()),
        ("data/chunk_index".to_owned(), whole.clone()),
        ("data/file_index".to_owned(), whole.clone()),
        ("dataset_from_index".to_owned(), whole.clone()),
        ("dataset_to_index".to_owned(), whole.clone()),
    ];
    for (key, _) in features.videos() {
        let columns = [
            ("chunk_index", &whole),
            ("file_index", &whole),
            ("from_timestamp", &real),
            ("to_timestamp", &real),
        ];
        fields.extend(columns.map(|(name, of)| (format!("videos/{key}/{name}"), of.clone())));
    }
    for (key, feature) in features.iter().filter(|(_, feature)| has_stats(feature)) {
        let values = if feature.dtype.is_picture() {
            list(list(list(real.clone())))
        } else {
            list(real.clone())
        };
        let names = ["min", "max", "mean", "std"].map(|name| (name, values.clone()));
        let count = [("count", list(whole.clone()))];
        let quantiles = QUANTILES.map(|(name, _)| (name, values.clone()));
        let stats = names.into_iter().chain(count).chain(quantiles);
        fields.extend(stats.map(|(name, of)| (format!("stats/{key}/{name}"), of)));
    }
    fields.extend(
        ["chunk_index", "file_index"].map(|name| (format!("meta/episodes/{name}"), whole.clone())),
    );
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, of)| Field::new(name, of, true))
        .collect();
    Arc::new(Schema::new(fields))
}

/// Texts have no statistics.
fn has_stats(feature: &crate::dataset::schema::Feature) -> bool {
    use crate::dataset::schema::Dtype;
    !matches!(&feature.dtype, Dtype::Text | Dtype::Other(_))
}

/// The columns of a file that is there: all files of a data set must have the same.
///
/// # Errors
/// It cannot be read.
pub fn schema_of(path: &Path) -> Result<SchemaRef, Error> {
    let fields = parquet::open(path)?.schema().fields().clone();
    Ok(Arc::new(Schema::new(fields)))
}

/// Whether it is one of our files with just these columns, which may be written anew with more episodes.
pub fn can_grow(path: &Path, schema: &SchemaRef) -> bool {
    parquet::is_ours(path, schema)
}

/// Writes a file of episodes with the columns of `schema`, whole or not at all. Each episode's `meta` must be that of the path.
///
/// # Errors
/// The disk fails, or the schema has a column of a type that none of ours has.
pub fn write(
    disk: &Disk,
    path: &Path,
    schema: &SchemaRef,
    episodes: &[Episode],
) -> Result<(), Error> {
    let arrays = schema.fields().iter().map(|field| {
        let array = column(field.name(), field.data_type(), episodes);
        array.unwrap_or_else(|| new_null_array(field.data_type(), episodes.len()))
    });
    let batch = RecordBatch::try_new(SchemaRef::clone(schema), arrays.collect());
    let batch = batch.map_err(|error| malformed(path, &error.to_string()));
    disk.replace_by(path, |file| {
        parquet::write(path, file, schema, None, [batch])
    })
}

/// A column by its name; `None` for one that is not ours, or of another type than ours.
fn column(name: &str, of: &DataType, episodes: &[Episode]) -> Option<ArrayRef> {
    let whole = |value: &dyn Fn(&Episode) -> Option<usize>| -> ArrayRef {
        let values = episodes
            .iter()
            .map(|episode| value(episode).map(|value| value as i64));
        Arc::new(values.collect::<Int64Array>())
    };
    let array = match name {
        "episode_index" => whole(&|episode| Some(episode.index)),
        "length" => whole(&|episode| Some(episode.length)),
        "data/chunk_index" => whole(&|episode| Some(episode.rows.chunk)),
        "data/file_index" => whole(&|episode| Some(episode.rows.file)),
        "dataset_from_index" => whole(&|episode| Some(episode.from as usize)),
        "dataset_to_index" => whole(&|episode| Some(episode.to as usize)),
        "meta/episodes/chunk_index" => whole(&|episode| Some(episode.meta.chunk)),
        "meta/episodes/file_index" => whole(&|episode| Some(episode.meta.file)),
        "tasks" => texts(episodes),
        _ => {
            let (kind, rest) = name.split_once('/')?;
            let (key, last) = rest.rsplit_once('/')?;
            match (kind, last) {
                ("videos", "chunk_index") => whole(&|episode| Some(episode.film(key)?.place.chunk)),
                ("videos", "file_index") => whole(&|episode| Some(episode.film(key)?.place.file)),
                ("videos", "from_timestamp") => {
                    real(episodes, |episode| Some(episode.film(key)?.from_s))
                }
                ("videos", "to_timestamp") => {
                    real(episodes, |episode| Some(episode.film(key)?.to_s))
                }
                ("stats", last) => stats(key, last, of, episodes),
                _ => return None,
            }
        }
    };
    (array.data_type() == of).then_some(array)
}

fn real(episodes: &[Episode], value: impl Fn(&Episode) -> Option<f64>) -> ArrayRef {
    Arc::new(episodes.iter().map(value).collect::<Float64Array>())
}

fn texts(episodes: &[Episode]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(element(DataType::Utf8));
    for episode in episodes {
        lists.append_value(episode.tasks.iter().map(Some));
    }
    Arc::new(lists.finish())
}

fn stats(feature: &str, name: &str, of: &DataType, episodes: &[Episode]) -> ArrayRef {
    let found = episodes.iter().map(|episode| {
        let found = episode.stats.iter().find(|(key, _)| key == feature);
        found.map(|(_, stats)| stats)
    });
    let deep = match of {
        DataType::List(inner) => matches!(inner.data_type(), DataType::List(_)),
        _ => false,
    };
    match name {
        "count" => counts(found),
        name if deep => colours(found.map(|stats| values(stats?, name))),
        name => {
            let mut lists =
                ListBuilder::new(Float64Builder::new()).with_field(element(DataType::Float64));
            for stats in found {
                lists.append_option(
                    stats
                        .and_then(|stats| values(stats, name))
                        .map(|values| values.iter().copied().map(Some)),
                );
            }
            Arc::new(lists.finish())
        }
    }
}

fn counts<'a>(stats: impl Iterator<Item = Option<&'a FeatureStats>>) -> ArrayRef {
    let mut lists = ListBuilder::new(Int64Builder::new()).with_field(element(DataType::Int64));
    for stats in stats {
        lists.append_option(stats.map(|stats| [Some(stats.count as i64)]));
    }
    Arc::new(lists.finish())
}

/// Colours as LeRobot nests them: `[3][1][1]`.
fn colours<'a>(rows: impl Iterator<Item = Option<&'a Vec<f64>>>) -> ArrayRef {
    let list = |of: DataType| DataType::List(element(of));
    let inner = ListBuilder::new(Float64Builder::new()).with_field(element(DataType::Float64));
    let middle = ListBuilder::new(inner).with_field(element(list(DataType::Float64)));
    let mut lists = ListBuilder::new(middle).with_field(element(list(list(DataType::Float64))));
    for row in rows {
        for &colour in row.into_iter().flatten() {
            lists.values().values().values().append_value(colour);
            lists.values().values().append(true);
            lists.values().append(true);
        }
        lists.append(row.is_some());
    }
    Arc::new(lists.finish())
}

fn values<'a>(stats: &'a FeatureStats, name: &str) -> Option<&'a Vec<f64>> {
    match name {
        "min" => Some(&stats.min),
        "max" => Some(&stats.max),
        "mean" => Some(&stats.mean),
        "std" => Some(&stats.std),
        name => {
            let at = QUANTILES.iter().position(|(known, _)| *known == name)?;
            Some(&stats.quantiles.as_ref()?[at])
        }
    }
}

#[cfg(test)]
mod tests;
