//! An episode as a table for spreadsheets and scripts: a line each row, a column each value, and the task in words.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{io as failed, unfinished};
use crate::dataset::read::Rows;
use crate::dataset::schema::{Dtype, Feature, Features};
use crate::dataset::table::{Column, Values};
use crate::dataset::{Dataset, Error};

/// Writes it; pictures are left out.
pub fn write(dataset: &Dataset, episode: usize, file: &Path) -> Result<(), Error> {
    let rows = dataset.rows(episode)?;
    let part = unfinished(file);
    let out = File::create(&part).map_err(failed(&part))?;
    let mut out = BufWriter::new(out);
    lines(&mut out, &rows, &dataset.info().features, dataset.tasks()).map_err(failed(&part))?;
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)
        .and_then(|out| out.sync_all())
        .and_then(|()| std::fs::rename(&part, file))
        .map_err(failed(file))
}

fn lines(
    out: &mut dyn Write,
    rows: &Rows,
    features: &Features,
    tasks: &[String],
) -> io::Result<()> {
    let columns: Vec<&Column> = rows
        .table
        .columns
        .iter()
        .filter(|column| !matches!(column.values, Values::Pictures(_)))
        .collect();
    let mut names = vec![];
    for column in &columns {
        let key = &column.name;
        let parts = features.get(key).map(Feature::labels).unwrap_or_default();
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
    // Half as wide, they are written with no more digits than they have.
    let is_single = |column: &&Column| {
        let feature = features.get(&column.name);
        feature.is_some_and(|it| it.dtype == Dtype::Float32)
    };
    let single: Vec<bool> = columns.iter().map(is_single).collect();
    for row in 0..rows.len() {
        for (column, single) in columns.iter().zip(&single) {
            for at in row * column.width..(row + 1) * column.width {
                write!(out, "{},", value(&column.values, at, *single))?;
            }
        }
        let task = indices.get(row).and_then(|task| tasks.get(*task));
        writeln!(out, "{}", quoted(task.map_or("", String::as_str)))?;
    }
    Ok(())
}

/// A value as it is written; empty where there is none.
fn value(values: &Values, at: usize, single: bool) -> String {
    let text = match values {
        Values::Floats(values) if single => values.get(at).map(|&it| (it as f32).to_string()),
        Values::Floats(values) => values.get(at).map(ToString::to_string),
        Values::Integers(values) => values.get(at).map(ToString::to_string),
        Values::Texts(values) => values.get(at).map(|text| quoted(text)),
        Values::Pictures(_) => None,
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
        let floats = Values::Floats(vec![f64::from(0.1_f32), 0.25]);
        assert_eq!([0, 1].map(|at| value(&floats, at, true)), ["0.1", "0.25"]);
        assert_eq!(value(&Values::Integers(vec![7]), 0, false), "7");
        assert_eq!(value(&Values::Integers(vec![]), 3, false), "");
    }
}
