//! What a parquet file says of itself, and in words what is wrong with one that cannot be read: above all one whose writer was killed.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use arrow_schema::Schema;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::RowGroupMetaData;

use crate::dataset::Error;

/// The four bytes that a whole parquet file begins and ends with.
const MAGIC: &[u8; 4] = b"PAR1";

/// The footer of a parquet file.
#[derive(Debug)]
pub struct Footer {
    metadata: ArrowReaderMetadata,
    /// Texts that are kept within arrow's own schema.
    within: HashMap<String, String>,
}

impl Footer {
    /// Reads the footer of a file.
    ///
    /// # Errors
    /// The file is missing, was not finished by whoever wrote it, or is no parquet.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| Error::Io {
            path: path.to_path_buf(),
            error,
        })?;
        // The types as they are in the file: what arrow keeps beside them is looked at by its bytes.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(&file, options).map_err(|error| {
            explained(Error::Malformed {
                path: path.to_path_buf(),
                why: error.to_string(),
            })
        })?;
        let whole = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new());
        let within = whole.map(|whole| whole.schema().metadata().clone());
        Ok(Self {
            metadata,
            within: within.unwrap_or_default().into(),
        })
    }

    /// Rows of the file.
    pub fn rows(&self) -> usize {
        let rows = self.metadata.metadata().file_metadata().num_rows();
        usize::try_from(rows).unwrap_or(0)
    }

    /// Names of the columns, in order.
    pub fn names(&self) -> Vec<String> {
        let fields = self.schema().fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// The columns with their types, lists as plain lists.
    pub fn schema(&self) -> &Schema {
        self.metadata.schema()
    }

    /// Parts that the rows are written in.
    pub fn row_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// How the columns are compressed, each way once.
    pub fn compressions(&self) -> BTreeSet<String> {
        let groups = self.metadata.metadata().row_groups().iter();
        let columns = groups.flat_map(RowGroupMetaData::columns);
        columns
            .map(|column| {
                let name = column.compression().to_string();
                name.split('(').next().unwrap_or_default().to_owned()
            })
            .collect()
    }

    /// A text that is kept under `key`.
    pub fn text(&self, key: &str) -> Option<&str> {
        let file = self.metadata.metadata().file_metadata();
        let mut pairs = file.key_value_metadata().into_iter().flatten();
        let pair = pairs.find(|pair| pair.key == key);
        let beside = pair.and_then(|pair| pair.value.as_deref());
        beside.or_else(|| self.within.get(key).map(String::as_str))
    }

    /// Whether pyarrow finds `key`: where arrow's own schema is kept, it looks only in there.
    pub fn shows_pyarrow(&self, key: &str) -> bool {
        match self.text("ARROW:schema") {
            None => self.text(key).is_some(),
            Some(schema) => {
                let bytes = STANDARD.decode(schema).unwrap_or_default();
                bytes.windows(key.len()).any(|part| part == key.as_bytes())
            }
        }
    }
}

/// The same error, with what the file itself tells of the cause, and the way out.
pub fn explained(error: Error) -> Error {
    match error {
        Error::Malformed { path, why } => {
            let why = cause(&path, &why).unwrap_or(why);
            Error::Malformed { path, why }
        }
        Error::Io { path, error } if error.kind() == std::io::ErrorKind::NotFound => {
            Error::Malformed {
                path,
                why: "is missing: the data set was not copied or fetched whole".to_owned(),
            }
        }
        other => other,
    }
}

fn cause(path: &Path, why: &str) -> Option<String> {
    if path.extension().is_none_or(|it| it != "parquet") {
        return None;
    }
    if why.contains("Disabled feature") {
        return Some(format!(
            "is compressed in a way that is not built in ({why}): write it anew with pyarrow and compression=\"snappy\", which the hub's \
             viewer reads, too"
        ));
    }
    let mut file = File::open(path).ok()?;
    unfinished(&mut file)
}

/// What the ends of a file say about why it cannot be read; `None` where they are as they must be.
fn unfinished(file: &mut File) -> Option<String> {
    if file.metadata().ok()?.len() == 0 {
        return Some("is empty: the program that wrote it was stopped".to_owned());
    }
    let mut end = |at: SeekFrom| -> [u8; 4] {
        let mut bytes = [0; 4];
        let read = file.seek(at).and_then(|_| file.read_exact(&mut bytes));
        read.map_or([0; 4], |()| bytes)
    };
    match (&end(SeekFrom::Start(0)), &end(SeekFrom::End(-4))) {
        (MAGIC, MAGIC) => None,
        (MAGIC, _) => Some(
            "has no footer: the program that recorded it was stopped before the file was finished, and its rows cannot be read. Restore \
             the file from a copy, or record the episodes again"
                .to_owned(),
        ),
        (b"vers", _) => Some(
            "is a Git LFS pointer, not the file itself: fetch it with `git lfs pull` or `smolpilot data download`".to_owned(),
        ),
        _ => Some("is no parquet file".to_owned()),
    }
}

/// Files two levels below `folder` that end in `ending`, sorted as LeRobot reads them; none where there is no folder.
pub fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    crate::dataset::table::episodes::numbered(folder, ending).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_not_finished_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let why = |bytes: &[u8]| {
            let path = folder.path().join("file-000.parquet");
            std::fs::write(&path, bytes).unwrap();
            Footer::read(&path).unwrap_err().to_string()
        };
        assert!(why(b"").contains("is empty"));
        assert!(why(b"PAR1 rows and rows").contains("no footer"));
        assert!(why(b"version https://git-lfs.github.com/spec/v1").contains("LFS"));
        assert!(why(b"something else").contains("no parquet"));
        let gone = Footer::read(&folder.path().join("gone.parquet")).unwrap_err();
        assert!(explained(gone).to_string().contains("is missing"));
    }
}
