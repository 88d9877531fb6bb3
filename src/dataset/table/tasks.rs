//! The tasks in words, `meta/tasks.parquet`, and `meta/tasks.jsonl` of old data sets.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde_json::{Value, json};

use super::column::Values;
use super::parquet::{self, malformed};
use crate::dataset::disk::at;
use crate::dataset::{Disk, Error};

/// Where they lie in a data set.
pub const PATH: &str = "meta/tasks.parquet";
/// Where data sets of v2 have them.
pub const V2_PATH: &str = "meta/tasks.jsonl";

/// Reads the tasks by `task_index`, whichever of its names the column of texts has. None there are none.
///
/// # Errors
/// The file cannot be read, or its numbers are not 0, 1, 2, ...
pub fn read(root: &Path) -> Result<Vec<String>, Error> {
    let path = root.join(PATH);
    if path.exists() {
        return read_table(&path);
    }
    let path = root.join(V2_PATH);
    if path.exists() {
        return read_lines(&path);
    }
    Ok(vec![])
}

fn read_table(path: &Path) -> Result<Vec<String>, Error> {
    let table = super::rows::read(path, None, None)?;
    let indices = table
        .get("task_index")
        .and_then(|column| column.values.integers());
    let texts = ["task", "__index_level_0__"]
        .into_iter()
        .find_map(|name| table.get(name));
    match (indices, texts.map(|column| &column.values)) {
        (Some(indices), Some(Values::Texts(texts))) => {
            in_order(path, indices.into_iter().zip(texts.iter().cloned()))
        }
        _ if table.rows == 0 => Ok(vec![]),
        _ => Err(malformed(path, "it has no columns `task_index` and `task`")),
    }
}

fn read_lines(path: &Path) -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(path).map_err(|error| at(path, error))?;
    let tasks = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let task: Value =
                serde_json::from_str(line).map_err(|error| malformed(path, &error.to_string()))?;
            let named = task["task_index"].as_i64().zip(task["task"].as_str());
            let (index, task) =
                named.ok_or_else(|| malformed(path, "a line has no `task_index` and `task`"))?;
            Ok((index, task.to_owned()))
        });
    in_order(path, tasks.collect::<Result<Vec<_>, Error>>()?)
}

fn in_order(
    path: &Path,
    tasks: impl IntoIterator<Item = (i64, String)>,
) -> Result<Vec<String>, Error> {
    let mut tasks: Vec<_> = tasks.into_iter().collect();
    tasks.sort_unstable_by_key(|(index, _)| *index);
    let counted = (0..).zip(&tasks).all(|(at, (index, _))| at == *index);
    if !counted {
        return Err(malformed(path, "its task_index is not 0, 1, 2, ..."));
    }
    Ok(tasks.into_iter().map(|(_, task)| task).collect())
}

/// Writes the tasks, whole or not at all.
///
/// # Errors
/// The disk fails.
pub fn write(disk: &Disk, root: &Path, tasks: &[String]) -> Result<(), Error> {
    let path = root.join(PATH);
    let fields = vec![
        Field::new("task_index", DataType::Int64, true),
        Field::new("task", DataType::Utf8, true),
    ];
    // Without it LeRobot gives the number of a task in place of its words.
    let pandas = HashMap::from([("pandas".to_owned(), pandas().to_string())]);
    let schema: SchemaRef = Arc::new(Schema::new(fields).with_metadata(pandas));
    let indices = Int64Array::from_iter_values(0..tasks.len() as i64);
    let texts = StringArray::from_iter_values(tasks);
    let batch = RecordBatch::try_new(
        SchemaRef::clone(&schema),
        vec![Arc::new(indices), Arc::new(texts)],
    );
    let batch = batch.map_err(|error| malformed(&path, &error.to_string()));
    disk.replace_by(&path, |file| {
        parquet::write(&path, file, &schema, None, [batch])
    })
}

/// What pandas keeps of a table whose index is `task`.
fn pandas() -> Value {
    let text = |name: &str, kind: &str| json!({"name": name, "field_name": name, "pandas_type": kind, "numpy_type": if kind == "int64" { "int64" } else { "object" }, "metadata": null});
    json!({
        "index_columns": ["task"],
        "column_indexes": [{
            "name": null,
            "field_name": null,
            "pandas_type": "unicode",
            "numpy_type": "object",
            "metadata": {"encoding": "UTF-8"},
        }],
        "columns": [text("task_index", "int64"), text("task", "unicode")],
        "attributes": {},
        "creator": {"library": "smolpilot", "version": env!("CARGO_PKG_VERSION")},
        "pandas_version": "2.3.3",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/lerobot_sample");

    #[test]
    fn tasks_go_there_and_back_with_what_pandas_wants() {
        let sample = Path::new(SAMPLE);
        let tasks = read(sample).unwrap();
        assert_eq!(tasks.len(), 2);
        let folder = tempfile::tempdir().unwrap();
        write(&Disk::new(), folder.path(), &tasks).unwrap();
        assert_eq!(read(folder.path()).unwrap(), tasks);
        let keys = |root: &Path| {
            let opened = parquet::open(&root.join(PATH)).unwrap();
            let pandas: Value =
                serde_json::from_str(&opened.schema().metadata()["pandas"]).unwrap();
            let same =
                ["index_columns", "column_indexes", "columns"].map(|key| pandas[key].clone());
            (opened.schema().fields().clone(), same)
        };
        assert_eq!(keys(folder.path()), keys(sample));
    }

    #[test]
    fn old_lists_are_read_and_gaps_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(V2_PATH);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(read(folder.path()).unwrap().is_empty());
        let line = |index, task| format!("{{\"task_index\": {index}, \"task\": \"{task}\"}}\n");
        fs::write(&path, line(1, "lift") + &line(0, "push")).unwrap();
        assert_eq!(read(folder.path()).unwrap(), ["push", "lift"]);
        fs::write(&path, line(0, "push") + &line(2, "lift")).unwrap();
        assert!(
            read(folder.path())
                .unwrap_err()
                .to_string()
                .contains("tasks.jsonl")
        );
    }
}
