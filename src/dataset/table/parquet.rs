//! Parquet files: opened in any dialect, and written as LeRobot's are.

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriter;
use parquet::basic::Compression;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::dataset::Error;
use crate::dataset::disk::at;

/// What our files say of who wrote them.
const WRITER: &str = concat!("smolpilot version ", env!("CARGO_PKG_VERSION"));

/// Opens a file for reading.
pub(super) fn open(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<fs::File>, Error> {
    let file = fs::File::open(path).map_err(|error| at(path, error))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| broken(path, error))
}

/// Reads the batches of some columns, all when `None`, and of some rows.
pub(super) fn batches(
    path: &Path,
    columns: Option<&[&str]>,
    rows: Option<Range<usize>>,
) -> Result<Vec<RecordBatch>, Error> {
    let mut builder = open(path)?;
    if let Some(columns) = columns {
        let fields = builder.schema().fields().iter().enumerate();
        let wanted = fields.filter(|(_, field)| columns.contains(&field.name().as_str()));
        let wanted: Vec<_> = wanted.map(|(at, _)| at).collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
        builder = builder.with_projection(mask);
    }
    if let Some(rows) = rows {
        builder = builder.with_offset(rows.start).with_limit(rows.len());
    }
    let reader = builder
        .with_batch_size(8192)
        .build()
        .map_err(|error| broken(path, error))?;
    let batches = reader.map(|batch| batch.map_err(|error| malformed(path, &error.to_string())));
    batches.collect()
}

/// The rows of each row group.
pub(super) fn row_groups(path: &Path) -> Result<Vec<usize>, Error> {
    let opened = open(path)?;
    let groups = opened.metadata().row_groups().iter();
    Ok(groups.map(|group| group.num_rows() as usize).collect())
}

/// Whether one of our files, with just these columns: it can be added to.
pub(super) fn is_ours(path: &Path, schema: &SchemaRef) -> bool {
    open(path).is_ok_and(|opened| {
        let writer = opened.metadata().file_metadata().created_by();
        writer.is_some_and(|writer| writer.starts_with("smolpilot")) && opened.schema() == schema
    })
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(WRITER.to_owned())
        // No index of pages: LeRobot's files have none, and copied row groups bring none.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build()
}

/// Writes batches one a row group; before them the first `kept` row groups of `old`, byte for byte.
pub(super) fn write<W: Write + Send>(
    path: &Path,
    into: W,
    schema: &SchemaRef,
    old: Option<(&Path, usize)>,
    batches: impl IntoIterator<Item = Result<RecordBatch, Error>>,
) -> Result<(), Error> {
    let failed = |error| broken(path, error);
    let writer =
        ArrowWriter::try_new(into, SchemaRef::clone(schema), Some(properties())).map_err(failed)?;
    let (mut file, columns) = writer.into_serialized_writer().map_err(failed)?;
    if let Some((old, kept)) = old {
        let source = fs::File::open(old).map_err(|error| at(old, error))?;
        let opened = open(old)?;
        for group in opened.metadata().row_groups().iter().take(kept) {
            let mut copy = file.next_row_group().map_err(failed)?;
            for column in group.columns() {
                let close = ColumnCloseResult {
                    bytes_written: column.compressed_size() as u64,
                    rows_written: group.num_rows() as u64,
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                copy.append_column(&source, close).map_err(failed)?;
            }
            copy.close().map_err(failed)?;
        }
    }
    for batch in batches {
        let batch = batch?;
        let at = file.flushed_row_groups().len();
        let mut writers = columns.create_column_writers(at).map_err(failed)?;
        encode(schema, &batch, &mut writers).map_err(failed)?;
        let mut group = file.next_row_group().map_err(failed)?;
        for column in writers {
            let chunk = column.close().map_err(failed)?;
            chunk.append_to_row_group(&mut group).map_err(failed)?;
        }
        group.close().map_err(failed)?;
    }
    file.close().map(drop).map_err(failed)
}

fn encode(
    schema: &SchemaRef,
    batch: &RecordBatch,
    writers: &mut [parquet::arrow::arrow_writer::ArrowColumnWriter],
) -> Result<(), ParquetError> {
    let mut writers = writers.iter_mut();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        for leaf in parquet::arrow::arrow_writer::compute_leaves(field, column)? {
            if let Some(writer) = writers.next() {
                writer.write(&leaf)?;
            }
        }
    }
    Ok(())
}

/// An error of the file at `path`: of the disk where the disk failed, else of what is in it.
pub(super) fn broken(path: &Path, error: ParquetError) -> Error {
    let error = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => return at(path, *error),
            Err(inner) => ParquetError::External(inner),
        },
        error => error,
    };
    malformed(path, &error.to_string())
}

/// The file at `path` says what it must not.
pub(super) fn malformed(path: &Path, why: &str) -> Error {
    Error::Malformed {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}
