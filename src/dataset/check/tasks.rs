//! Whether each `task_index` leads to the words that were recorded: LeRobot takes them from the pandas index, by place.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::dataset::read::parquet_file::ParquetFile;
use crate::dataset::read::{Column, Values};
use crate::dataset::schema::Info;

use super::finding::{Finding, Report};

const FILE: &str = "meta/tasks.parquet";

/// Checks the tasks and returns them in the order of the file.
pub fn check(root: &Path, info: &Info, report: &mut Report) -> Vec<String> {
    let read = ParquetFile::open(root.join(FILE))
        .and_then(|file| Ok((file.columns(|_| true, 0..file.rows())?.0, file)));
    let (columns, file) = match read {
        Ok(read) => read,
        Err(error) => {
            report.add(
                Finding::error("tasks.missing", error.to_string())
                    .file(FILE)
                    .advice("without it no row has a task; LeRobot looks for it on the hub"),
            );
            return Vec::new();
        }
    };
    pandas(&file, &columns, report);
    let words = columns.iter().find_map(|(_, column)| match &column.values {
        Values::Text(words) => Some(words.clone()),
        _ => None,
    });
    let Some(words) = words else {
        let what = "has no column with the tasks in words";
        report.add(Finding::error("tasks.index", what).file(FILE));
        return Vec::new();
    };
    order(&columns, &words, report);
    let total = info.total_tasks;
    if total != words.len() {
        let what = format!("has {} tasks, meta/info.json says {total}", words.len());
        report.add(Finding::error("tasks.total", what).file(FILE));
    }
    words
}

/// The footer that makes the words the index of the table.
fn pandas(file: &ParquetFile, columns: &[(String, Column)], report: &mut Report) {
    let said: Value = file
        .footer("pandas")
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let indices = said.get("index_columns").and_then(Value::as_array);
    let index = indices.and_then(|indices| indices.first()?.as_str());
    let described = |index: &str| {
        let described = said.get("columns").and_then(Value::as_array);
        described.into_iter().flatten().any(|column| {
            column.get("field_name").and_then(Value::as_str) == Some(index)
        })
    };
    let is_text = |index: &str| {
        columns.iter().any(|(name, column)| {
            name == index && matches!(column.values, Values::Text(_))
        })
    };
    let why = match index {
        None => "has no pandas metadata that names the task as the index",
        Some(index) if !described(index) => {
            "has pandas metadata that does not describe the index column"
        }
        Some(index) if !is_text(index) => "has an index that is not the task in words",
        Some(_) if !file.footer_for_pyarrow("pandas") => {
            "has pandas metadata only outside of the arrow schema, where pyarrow does not look"
        }
        Some(_) => return,
    };
    report.add(
        Finding::error("tasks.pandas", why)
            .file(FILE)
            .advice("LeRobot would return numbers in place of the task's words; `smolpilot data relabel` writes the file anew"),
    );
}

fn order(columns: &[(String, Column)], words: &[String], report: &mut Report) {
    let numbers = columns.iter().find(|(name, _)| name == "task_index");
    let Some(Values::Int(numbers)) = numbers.map(|(_, column)| &column.values) else {
        let what = "has no column task_index of integers";
        report.add(Finding::error("tasks.columns", what).file(FILE));
        return;
    };
    if numbers.iter().zip(0..).any(|(&number, place)| number != place) {
        report.add(
            Finding::error("tasks.order", format!("numbers the tasks {numbers:?}"))
                .file(FILE)
                .advice("the row of a task must be its number: LeRobot goes by the place, and would show other words"),
        );
    }
    if words.iter().collect::<BTreeSet<_>>().len() != words.len() {
        let what = "has the same words under two numbers";
        report.add(Finding::error("tasks.dup", what).file(FILE));
    }
}
