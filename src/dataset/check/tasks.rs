//! Whether each `task_index` leads to the words that were recorded: LeRobot takes them from the pandas index, by place.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::dataset::read::parquet_file::{Footer, explained};
use crate::dataset::schema::Info;
use crate::dataset::table::tasks::PATH;
use crate::dataset::table::{Table, Values, rows};

use super::finding::{Finding, Report};

/// Checks the tasks and returns them in the order of the file.
pub fn check(root: &Path, info: &Info, report: &mut Report) -> Vec<String> {
    let path = root.join(PATH);
    let read = Footer::read(&path).and_then(|footer| Ok((rows::read(&path, None, None)?, footer)));
    let (table, footer) = match read {
        Ok(read) => read,
        Err(error) => {
            let error = explained(error);
            report.add(
                Finding::error("tasks.missing", error.to_string())
                    .file(PATH)
                    .advice("without it no row has a task; LeRobot looks for it on the hub"),
            );
            return Vec::new();
        }
    };
    pandas(&footer, &table, report);
    let words = table
        .columns
        .iter()
        .find_map(|column| match &column.values {
            Values::Texts(words) => Some(words.clone()),
            _ => None,
        });
    let Some(words) = words else {
        let what = "has no column with the tasks in words";
        report.add(Finding::error("tasks.index", what).file(PATH));
        return Vec::new();
    };
    order(&table, &words, report);
    let total = info.total_tasks;
    if total != words.len() {
        let what = format!("has {} tasks, meta/info.json says {total}", words.len());
        report.add(Finding::error("tasks.total", what).file(PATH));
    }
    words
}

/// The footer that makes the words the index of the table.
fn pandas(footer: &Footer, table: &Table, report: &mut Report) {
    let said: Value = footer
        .text("pandas")
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let indices = said.get("index_columns").and_then(Value::as_array);
    let index = indices.and_then(|indices| indices.first()?.as_str());
    let described = |index: &str| {
        let described = said.get("columns").and_then(Value::as_array);
        described
            .into_iter()
            .flatten()
            .any(|column| column.get("field_name").and_then(Value::as_str) == Some(index))
    };
    let is_text = |index: &str| {
        let column = table.get(index);
        column.is_some_and(|column| matches!(column.values, Values::Texts(_)))
    };
    let why = match index {
        None => "has no pandas metadata that names the task as the index",
        Some(index) if !described(index) => {
            "has pandas metadata that does not describe the index column"
        }
        Some(index) if !is_text(index) => "has an index that is not the task in words",
        Some(_) if !footer.shows_pyarrow("pandas") => {
            "has pandas metadata only outside of the arrow schema, where pyarrow does not look"
        }
        Some(_) => return,
    };
    report.add(
        Finding::error("tasks.pandas", why)
            .file(PATH)
            .advice("LeRobot would return numbers in place of the task's words; `smolpilot data relabel` writes the file anew"),
    );
}

fn order(table: &Table, words: &[String], report: &mut Report) {
    let numbers = table.get("task_index").map(|column| &column.values);
    let Some(Values::Integers(numbers)) = numbers else {
        let what = "has no column task_index of integers";
        report.add(Finding::error("tasks.columns", what).file(PATH));
        return;
    };
    if numbers
        .iter()
        .zip(0..)
        .any(|(&number, place)| number != place)
    {
        report.add(
            Finding::error("tasks.order", format!("numbers the tasks {numbers:?}"))
                .file(PATH)
                .advice("the row of a task must be its number: LeRobot goes by the place, and would show other words"),
        );
    }
    if words.iter().collect::<BTreeSet<_>>().len() != words.len() {
        let what = "has the same words under two numbers";
        report.add(Finding::error("tasks.dup", what).file(PATH));
    }
}
