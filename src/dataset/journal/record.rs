//! Records of a journal's files: framed and summed each, so that a torn tail is told from what is whole.

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use crate::dataset::Error;

/// Begins each record; a tail of zeros, which a lost power leaves, does not hold it.
const MARK: [u8; 4] = *b"SpJ1";
/// Mark, kind, length; before the payload. The sum follows it.
const HEAD: usize = 12;
const SUM: usize = 4;
/// A longer one is not a record but a length that was torn.
const LONGEST: usize = 1 << 28;

/// Appends a record to `out`.
pub fn frame(kind: u32, payload: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(MARK);
    out.extend(kind.to_le_bytes());
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend(payload);
    let sum = crc32fast::hash(&out[start..]);
    out.extend(sum.to_le_bytes());
}

/// Reads the records of a file one after another, up to the first that is not whole.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    source: BufReader<File>,
    torn: bool,
    /// Mark, kind, length, payload and sum of the newest record.
    bytes: Vec<u8>,
}

impl Records {
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| Error::Io {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            path: path.to_owned(),
            source: BufReader::with_capacity(1 << 16, file),
            torn: false,
            bytes: Vec::new(),
        })
    }

    /// The next record, its kind and its payload; `None` after the last whole one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn record(&mut self) -> Result<Option<(u32, &[u8])>, Error> {
        if self.torn {
            return Ok(None);
        }
        match self.read() {
            Ok(Some(kind)) => Ok(Some((kind, &self.bytes[HEAD..self.bytes.len() - SUM]))),
            Ok(None) => {
                self.torn = true;
                Ok(None)
            }
            Err(error) => Err(Error::Io {
                path: self.path.clone(),
                error,
            }),
        }
    }

    fn read(&mut self) -> io::Result<Option<u32>> {
        self.bytes.clear();
        if !self.take(HEAD)? {
            return Ok(None);
        }
        let word = |at: usize| {
            let bytes = [0, 1, 2, 3].map(|byte| self.bytes[at + byte]);
            u32::from_le_bytes(bytes)
        };
        let (kind, length) = (word(4), word(8) as usize);
        if self.bytes[..4] != MARK || length > LONGEST || !self.take(length + SUM)? {
            return Ok(None);
        }
        let (summed, sum) = self.bytes.split_at(HEAD + length);
        Ok((sum == crc32fast::hash(summed).to_le_bytes()).then_some(kind))
    }

    /// Reads so many more bytes; false where the file ends before them.
    fn take(&mut self, count: usize) -> io::Result<bool> {
        let source = self.source.by_ref();
        let read = source.take(count as u64).read_to_end(&mut self.bytes)?;
        Ok(read == count)
    }
}

/// Reads the little-endian numbers of a payload; every answer is `None` beyond its end.
#[derive(Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_le_bytes)
    }

    pub fn int(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub fn long(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub fn float(&mut self) -> Option<f32> {
        self.bytes().map(f32::from_le_bytes)
    }

    /// What has not been read yet.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        fs::write(&path, bytes).unwrap();
        let mut records = Records::open(&path).unwrap();
        let mut found = Vec::new();
        while let Some((kind, payload)) = records.record().unwrap() {
            found.push((kind, payload.to_vec()));
        }
        found
    }

    fn three() -> (Vec<u8>, [usize; 3]) {
        let mut bytes = Vec::new();
        let ends = [(1, b"one".as_slice()), (7, b""), (2, b"another")].map(|(kind, payload)| {
            frame(kind, payload, &mut bytes);
            bytes.len()
        });
        (bytes, ends)
    }

    /// Wherever the file is torn, what was whole before is read, and nothing else.
    #[test]
    fn a_file_that_is_cut_anywhere_gives_the_records_before_the_cut() {
        let (bytes, ends) = three();
        assert_eq!(ends[0], HEAD + 3 + SUM);
        for cut in 0..=bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(read(&bytes[..cut]).len(), whole, "cut at {cut}");
            let mut zeros = bytes[..cut].to_vec();
            zeros.extend([0; 64]);
            // A record that lacks only zeros is whole with them.
            assert!(read(&zeros).len() >= whole, "zeros from {cut}");
        }
        let all = read(&bytes);
        assert_eq!(all[0], (1, b"one".to_vec()));
        assert_eq!(all[2], (2, b"another".to_vec()));
    }

    #[test]
    fn a_byte_that_flips_ends_the_reading_there() {
        let (bytes, ends) = three();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            let whole = ends.iter().filter(|end| **end <= at).count();
            assert_eq!(read(&flipped).len(), whole, "flipped at {at}");
        }
    }

    #[test]
    fn numbers_are_read_until_they_run_out() {
        let mut cursor = Cursor(&[1, 2, 0, 0, 0, 9]);
        assert_eq!((cursor.byte(), cursor.int()), (Some(1), Some(2)));
        assert_eq!(cursor.long(), None);
        assert_eq!(cursor.rest(), [9]);
    }
}
