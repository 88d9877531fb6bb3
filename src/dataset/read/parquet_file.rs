//! Opens a parquet file and says in words what is wrong with one that cannot be read, above all the one whose writer was killed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;

use crate::dataset::Error;

use super::columns::column_from_array;
use super::rows::Column;

/// The four bytes that a whole parquet file begins and ends with.
const MAGIC: &[u8; 4] = b"PAR1";

/// A parquet file whose footer has been read.
#[derive(Debug)]
pub struct ParquetFile {
    path: PathBuf,
    file: File,
    metadata: ArrowReaderMetadata,
}

impl ParquetFile {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    /// It is missing, was not finished by whoever wrote it, or is no parquet.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let file = File::open(&path).map_err(|error| Error::Io {
            path: path.clone(),
            error,
        })?;
        // The lists that arrow keeps beside the columns are not needed, and some writers' are wrong.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = match ArrowReaderMetadata::load(&file, options) {
            Ok(metadata) => metadata,
            Err(error) => {
                let why = unreadable(&file).unwrap_or_else(|| format!("cannot be read: {error}"));
                return Err(Error::Malformed { path, why });
            }
        };
        Ok(Self {
            path,
            file,
            metadata,
        })
    }

    /// Rows of the file.
    pub fn rows(&self) -> usize {
        let rows = self.metadata.metadata().file_metadata().num_rows();
        usize::try_from(rows).unwrap_or(0)
    }

    /// Parts that the rows are written in.
    pub fn row_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// The columns with their types, lists as plain lists.
    pub fn schema(&self) -> &Schema {
        self.metadata.schema()
    }

    /// How the columns are compressed, each way once.
    pub fn compressions(&self) -> BTreeSet<String> {
        let groups = self.metadata.metadata().row_groups().iter();
        let columns = groups.flat_map(|group| group.columns());
        columns
            .map(|column| {
                let name = column.compression().to_string();
                name.split('(').next().unwrap_or_default().to_owned()
            })
            .collect()
    }

    /// A text that the footer keeps under `key`.
    pub fn footer(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata.metadata().file_metadata().key_value_metadata();
        let pair = pairs?.iter().find(|pair| pair.key == key)?;
        pair.value.as_deref()
    }

    /// Whether pyarrow finds `key` in the footer: where arrow's own schema is kept, it looks only in there.
    pub fn footer_for_pyarrow(&self, key: &str) -> bool {
        match self.footer("ARROW:schema") {
            None => self.footer(key).is_some(),
            Some(schema) => {
                let bytes = STANDARD.decode(schema).unwrap_or_default();
                bytes.windows(key.len()).any(|part| part == key.as_bytes())
            }
        }
    }

    /// Names of the columns, in order.
    pub fn names(&self) -> Vec<String> {
        let fields = self.metadata.schema().fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// Reads `rows` of the columns that `wanted` says yes to, batch by batch.
    ///
    /// # Errors
    /// A page is damaged, or the file ends before its time.
    pub fn batches(
        &self,
        wanted: impl Fn(&str) -> bool,
        rows: Range<usize>,
    ) -> Result<Vec<RecordBatch>, Error> {
        let roots = self.names();
        let roots = roots.iter().enumerate().filter(|(_, name)| wanted(name));
        let mask = ProjectionMask::roots(
            self.metadata.parquet_schema(),
            roots.map(|(root, _)| root).collect::<Vec<_>>(),
        );
        let file = self.file.try_clone().map_err(|error| Error::Io {
            path: self.path.clone(),
            error,
        })?;
        ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_projection(mask)
            .with_offset(rows.start)
            .with_limit(rows.len())
            .with_batch_size(rows.len().clamp(1, 16_384))
            .build()
            .and_then(|reader| Ok(reader.collect::<Result<Vec<_>, _>>()?))
            .map_err(|error| self.malformed(damaged(&error)))
    }

    /// Reads `rows` of the columns that `wanted` says yes to as plain values. Columns that are none are named in the second list,
    /// with the reason.
    ///
    /// # Errors
    /// As [`batches`](Self::batches).
    pub fn columns(
        &self,
        wanted: impl Fn(&str) -> bool,
        rows: Range<usize>,
    ) -> Result<(Vec<(String, Column)>, Vec<(String, String)>), Error> {
        let mut read: Vec<(String, Result<Column, String>)> = Vec::new();
        for batch in self.batches(wanted, rows)? {
            let schema = batch.schema();
            for (at, array) in batch.columns().iter().enumerate() {
                let part = column_from_array(array);
                match read.get_mut(at) {
                    None => read.push((schema.field(at).name().clone(), part)),
                    Some((_, whole)) => join(whole, part),
                }
            }
        }
        let (mut columns, mut others) = (Vec::new(), Vec::new());
        for (name, column) in read {
            match column {
                Ok(column) => columns.push((name, column)),
                Err(why) => others.push((name, why)),
            }
        }
        Ok((columns, others))
    }

    /// An error about this file.
    pub fn malformed(&self, why: impl Into<String>) -> Error {
        Error::Malformed {
            path: self.path.clone(),
            why: why.into(),
        }
    }
}

/// Why a page cannot be read, and what helps.
fn damaged(error: &ParquetError) -> String {
    let why = error.to_string();
    match why.contains("Disabled feature") {
        true => format!(
            "is compressed in a way that is not built in ({why}): write it anew with pyarrow, compression=\"snappy\", which is also what \
             the hub's viewer reads"
        ),
        false => format!("is damaged: {why}. Restore it from a copy"),
    }
}

fn join(whole: &mut Result<Column, String>, part: Result<Column, String>) {
    let Ok(column) = whole else { return };
    let joined = part.and_then(|part| {
        if part.width == column.width {
            column.values.extend(part.values)
        } else {
            Err("has lists of different lengths".to_owned())
        }
    });
    if let Err(why) = joined {
        *whole = Err(why);
    }
}

/// What the ends of a file say about why it has no footer; `None` where they are as they must be.
fn unreadable(mut file: &File) -> Option<String> {
    let length = file.metadata().ok()?.len();
    if length == 0 {
        return Some("is empty: the program that wrote it was stopped".to_owned());
    }
    let mut end = |at: SeekFrom| -> Option<[u8; 4]> {
        let mut bytes = [0; 4];
        file.seek(at).ok()?;
        file.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    if end(SeekFrom::Start(0)).as_ref() != Some(MAGIC) {
        return Some(pointer(file).unwrap_or_else(|| "is no parquet file".to_owned()));
    }
    (end(SeekFrom::End(-4)).as_ref() != Some(MAGIC)).then(|| {
        "has no footer: the program that recorded it was stopped before the file was finished, and its rows cannot be read. Restore \
         the file from a copy, or record the episodes again"
            .to_owned()
    })
}

/// A file that git put a pointer in the place of.
fn pointer(mut file: &File) -> Option<String> {
    let mut head = [0; 40];
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_exact(&mut head).ok()?;
    head.starts_with(b"version https://git-lfs").then(|| {
        "is a Git LFS pointer, not the file itself: fetch the data set with `git lfs pull` or `smolpilot data download`".to_owned()
    })
}

/// A file that must be there.
///
/// # Errors
/// It is not, or cannot be read.
pub fn text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| Error::Io {
        path: path.to_path_buf(),
        error,
    })
}
