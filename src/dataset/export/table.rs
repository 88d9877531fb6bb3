//! An episode as a table for spreadsheets and scripts: a line each row, a column each value, and the task in words.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{io as failed, unfinished};
use crate::dataset::read::{Column, Info, Rows, Values};
use crate::dataset::{Dataset, Error};

/// Writes it; pictures are left out.
pub fn write(dataset: &Dataset, episode: usize, file: &Path) -> Result<(), Error> {
    let rows = dataset.rows(episode)?;
    let part = unfinished(file);
    let out = File::create(&part).map_err(failed(&part))?;
    let mut out = BufWriter::new(out);
    lines(&mut out, &rows, dataset.info(), dataset.tasks()).map_err(failed(&part))?;
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)
        .and_then(|out| out.sync_all())
        .and_then(|()| std::fs::rename(&part, file))
        .map_err(failed(file))
}

fn lines(out: &mut dyn Write, rows: &Rows, info: &Info, tasks: &[String]) -> io::Result<()> {
    let columns: Vec<&(String, Column)> = rows
        .columns
        .iter()
        .filter(|(_, column)| !matches!(column.values, Values::Picture(_)))
        .collect();
    let mut names = vec![];
    for (key, column) in &columns {
        let parts = info.feature(key).map(|it| it.names()).unwrap_or_default();
        names.extend((0..column.width).map(|at| match parts.get(at) {
            _ if column.width == 1 => key.clone(),
            Some(part) if parts.len() == column.width => format!("{key}.{part}"),
            _ => format!("{key}.{at}"),
        }));
    }
    names.push("task".to_owned());
    let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
    writeln!(out, "{}", names.join(","))?;
    let indices = rows.task_indices();
    for row in 0..rows.len {
        for (_, column) in &columns {
            for at in row * column.width..(row + 1) * column.width {
                write!(out, "{},", value(&column.values, at))?;
            }
        }
        let task = indices.get(row).and_then(|task| tasks.get(*task));
        writeln!(out, "{}", quoted(task.map_or("", String::as_str)))?;
    }
    Ok(())
}

/// A value as it is written; empty where there is none.
fn value(values: &Values, at: usize) -> String {
    let text = match values {
        Values::Float(values) => values.get(at).map(ToString::to_string),
        Values::Double(values) => values.get(at).map(ToString::to_string),
        Values::Int(values) => values.get(at).map(ToString::to_string),
        Values::Bool(values) => values.get(at).map(|&it| u8::from(it).to_string()),
        Values::Text(values) => values.get(at).map(|text| quoted(text)),
        Values::Picture(_) => None,
    };
    text.unwrap_or_default()
}

/// In quotes where it must be (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_holds_a_comma_or_a_quote_is_quoted() {
        assert_eq!(quoted("put it in the box"), "put it in the box");
        assert_eq!(quoted("a \"red\", cube"), "\"a \"\"red\"\", cube\"");
        assert_eq!(value(&Values::Float(vec![0.1, 2.0]), 0), "0.1");
        assert_eq!(value(&Values::Bool(vec![true]), 0), "1");
        assert_eq!(value(&Values::Int(vec![]), 3), "");
    }
}
