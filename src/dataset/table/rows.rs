//! The tables of rows, `data/chunk-000/file-000.parquet`: everything of a data set but its pictures.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use serde_json::{Map, Value, json};

use super::array::{array, column_type, flatten};
use super::column::{Column, Table};
use super::parquet::{self, malformed};
use crate::dataset::schema::{Dtype, Feature, Features};
use crate::dataset::{Disk, Error};

/// Reads columns, all when `None`, and rows, counted from the file's first, all when `None`. Any dialect: lists fixed or free,
/// numbers of any width. Columns that are asked for and not there are left out.
///
/// # Errors
/// The file cannot be read, its footer is missing, or a column is of a type that no data set of LeRobot has.
pub fn read(
    path: &Path,
    columns: Option<&[&str]>,
    rows: Option<Range<usize>>,
) -> Result<Table, Error> {
    let mut table = Table::default();
    let batches = parquet::batches(path, columns, rows)?;
    for batch in &batches {
        table.rows += batch.num_rows();
    }
    let Some(first) = batches.first() else {
        return Ok(table);
    };
    for (at, field) in first.schema().fields().iter().enumerate() {
        let wrong = |why: &str| malformed(path, &format!("column `{}`: {why}", field.name()));
        let mut parts = batches.iter().map(|batch| flatten(batch.column(at)));
        let mut values = parts
            .next()
            .unwrap_or_else(|| Err("empty".to_owned()))
            .map_err(|why| wrong(&why))?;
        for part in parts {
            if !values.extend(part.map_err(|why| wrong(&why))?) {
                return Err(wrong("its type changes"));
            }
        }
        if table.rows > 0 && values.len() % table.rows != 0 {
            return Err(wrong("rows have different numbers of values"));
        }
        table.columns.push(Column {
            name: field.name().clone(),
            width: values.len() / table.rows.max(1),
            values,
        });
    }
    Ok(table)
}

/// How many rows each row group has; LeRobot writes one row group an episode.
///
/// # Errors
/// As [`read`].
pub fn row_groups(path: &Path) -> Result<Vec<usize>, Error> {
    parquet::row_groups(path)
}

/// Writes tables, one row group each: give it one table an episode. Whole or not at all.
///
/// # Errors
/// The disk fails, a column is missing, or it does not fit its feature.
pub fn write(
    disk: &Disk,
    path: &Path,
    features: &Features,
    tables: impl IntoIterator<Item = Result<Table, Error>>,
) -> Result<(), Error> {
    write_after(disk, path, features, 0, tables)
}

/// As [`write`], after the first `kept` row groups that the file has already.
///
/// # Errors
/// As [`write`].
pub fn write_after(
    disk: &Disk,
    path: &Path,
    features: &Features,
    kept: usize,
    tables: impl IntoIterator<Item = Result<Table, Error>>,
) -> Result<(), Error> {
    let schema = schema(path, features)?;
    let batches = tables
        .into_iter()
        .map(|table| batch(path, features, &schema, &table?));
    let old = (kept > 0).then_some((path, kept));
    disk.replace_by(path, |file| {
        parquet::write(path, file, &schema, old, batches)
    })
}

/// Whether it is one of our files with just these columns, which [`write_after`] may add to.
pub fn can_grow(path: &Path, features: &Features) -> bool {
    schema(path, features).is_ok_and(|schema| parquet::is_ours(path, &schema))
}

/// The columns in the order of the features, exactly as LeRobot writes them.
fn schema(path: &Path, features: &Features) -> Result<SchemaRef, Error> {
    let fields = features.columns().map(|(name, feature)| {
        let column = column_type(feature).ok_or_else(|| {
            let why = format!(
                "column `{name}` of {} in {:?} cannot be written",
                feature.dtype, feature.shape
            );
            malformed(path, &why)
        });
        Ok(Field::new(name, column?, true))
    });
    let fields = fields.collect::<Result<Vec<_>, Error>>()?;
    // In the schema, not only in the footer: pyarrow looks nowhere else once it finds an `ARROW:schema`.
    let dataset = HashMap::from([("huggingface".to_owned(), hub_features(features).to_string())]);
    Ok(Arc::new(Schema::new(fields).with_metadata(dataset)))
}

/// What the `datasets` library and the hub's viewer read of the columns.
fn hub_features(features: &Features) -> Value {
    let columns = features
        .columns()
        .map(|(name, feature)| (name.to_owned(), hub_feature(feature)));
    let columns = Value::Object(columns.collect::<Map<_, _>>());
    let digest = crc32fast::hash(columns.to_string().as_bytes());
    json!({
        "info": {"features": columns},
        "fingerprint": format!("{digest:016x}"),
    })
}

fn hub_feature(feature: &Feature) -> Value {
    if feature.dtype == Dtype::Image {
        return json!({"_type": "Image"});
    }
    let one = json!({"dtype": feature.dtype.name(), "_type": "Value"});
    match feature.shape.as_slice() {
        [1] | [] => one,
        shape => {
            json!({"feature": one, "length": shape.iter().product::<usize>(), "_type": "List"})
        }
    }
}

fn batch(
    path: &Path,
    features: &Features,
    schema: &SchemaRef,
    table: &Table,
) -> Result<RecordBatch, Error> {
    let arrays = features.columns().map(|(name, feature)| {
        let wrong = |why: &str| malformed(path, &format!("column `{name}`: {why}"));
        let column = table.get(name).ok_or_else(|| wrong("it is missing"))?;
        array(feature, &column.values).map_err(|why| wrong(&why))
    });
    let arrays = arrays.collect::<Result<Vec<_>, Error>>()?;
    RecordBatch::try_new(SchemaRef::clone(schema), arrays)
        .map_err(|error| malformed(path, &error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::column::Values;
    use super::*;
    use crate::dataset::Plan;
    use crate::dataset::schema::Info;

    const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/lerobot_sample");

    fn sample() -> (std::path::PathBuf, Info) {
        let root = Path::new(SAMPLE);
        (
            root.join("data/chunk-000/file-000.parquet"),
            Info::read(root).unwrap(),
        )
    }

    #[test]
    fn lerobots_rows_are_read_and_written_again_the_same() {
        let (path, info) = sample();
        let table = read(&path, None, None).unwrap();
        assert_eq!(table.rows, 210);
        assert_eq!(row_groups(&path).unwrap(), [60, 45, 75, 30]);
        let action = table.get("action").unwrap();
        assert_eq!((action.width, action.values.len()), (6, 1260));
        let index: Vec<i64> = (0..210).collect();
        assert_eq!(table.get("index").unwrap().values, Values::Integers(index));

        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("data/chunk-000/file-000.parquet");
        let episodes = [0..60, 60..105, 105..180, 180..210].map(|rows| Ok(table.slice(rows)));
        write(&Disk::new(), &copy, &info.features, episodes).unwrap();
        assert_eq!(read(&copy, None, None).unwrap(), table);
        assert_eq!(row_groups(&copy).unwrap(), [60, 45, 75, 30]);
        // The same types, names and keys of the footer, up to the fingerprint.
        let schema = |path| {
            let opened = parquet::open(path).unwrap();
            let schema = opened.schema();
            let hub = schema.metadata()["huggingface"]
                .split("\"fingerprint\"")
                .next()
                .unwrap()
                .replace(' ', "");
            (
                schema.fields().clone(),
                hub.replace("},", ""),
                schema.metadata().len(),
            )
        };
        assert_eq!(schema(&path), schema(&copy));
        assert!(can_grow(&copy, &info.features) && !can_grow(&path, &info.features));
    }

    #[test]
    fn some_rows_of_some_columns_are_read() {
        let (path, _) = sample();
        let table = read(&path, Some(&["frame_index", "unknown"]), Some(60..62)).unwrap();
        assert_eq!((table.rows, table.columns.len()), (2, 1));
        assert_eq!(
            table.get("frame_index").unwrap().values,
            Values::Integers(vec![0, 1])
        );
        assert_eq!(read(&path, None, Some(500..600)).unwrap().rows, 0);
    }

    #[test]
    fn a_file_grows_by_an_episode_or_shrinks_to_some() {
        let (path, info) = sample();
        let table = read(&path, None, None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("file-000.parquet");
        for rows in [0..60, 60..105, 105..180] {
            let kept = if copy.exists() {
                row_groups(&copy).unwrap().len()
            } else {
                0
            };
            write_after(
                &Disk::new(),
                &copy,
                &info.features,
                kept,
                [Ok(table.slice(rows))],
            )
            .unwrap();
        }
        assert_eq!(row_groups(&copy).unwrap(), [60, 45, 75]);
        assert_eq!(read(&copy, None, None).unwrap(), table.slice(0..180));
        write_after(&Disk::new(), &copy, &info.features, 2, []).unwrap();
        assert_eq!(read(&copy, None, None).unwrap(), table.slice(0..105));
    }

    #[test]
    fn a_file_without_its_footer_is_named() {
        let (path, _) = sample();
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("file-000.parquet");
        let bytes = fs::read(path).unwrap();
        fs::write(&copy, &bytes[..bytes.len() - 100]).unwrap();
        let error = read(&copy, None, None).unwrap_err().to_string();
        assert!(error.contains("file-000.parquet"), "{error}");
    }

    #[test]
    fn a_missing_column_is_named() {
        let features = Info::from_plan(&Plan::new("set")).features;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        let error = write(&Disk::new(), &path, &features, [Ok(Table::default())]).unwrap_err();
        assert!(error.to_string().contains("`action`"), "{error}");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            0,
            "nothing is left behind"
        );
    }
}
