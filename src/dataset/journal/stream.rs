//! The coded pictures of one camera on disk, and at their end their statistics.

use std::io::Write as _;
use std::path::Path;

use crate::dataset::journal::malformed;
use crate::dataset::journal::record::{Cursor, Records, frame};
use crate::dataset::stats::Pictures;
use crate::dataset::video::{AccessUnit, CodecConfig};
use crate::dataset::{Disk, Error, disk};

const CONFIG: u32 = 1;
const UNIT: u32 = 2;
const STATISTICS: u32 = 3;

/// Writes a stream.
#[derive(Debug)]
pub struct StreamWriter {
    file: disk::File,
    payload: Vec<u8>,
    bytes: Vec<u8>,
    units: u64,
}

impl StreamWriter {
    /// Begins a stream with what its decoder must know.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, config: &CodecConfig, disk: &Disk) -> Result<Self, Error> {
        let mut writer = Self {
            file: disk.create(path)?,
            payload: config.to_bytes().map_err(|why| malformed(path, &why))?,
            bytes: Vec::new(),
            units: 0,
        };
        frame(CONFIG, &writer.payload, &mut writer.bytes);
        writer.flush()?;
        Ok(writer)
    }

    /// Adds a unit; returns its bytes.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn write(&mut self, unit: &AccessUnit) -> Result<usize, Error> {
        self.payload.clear();
        self.payload.extend((self.units as u32).to_le_bytes());
        self.payload.push(u8::from(unit.key));
        self.payload.extend(&unit.bytes);
        self.bytes.clear();
        frame(UNIT, &self.payload, &mut self.bytes);
        self.units += 1;
        self.flush()
    }

    /// Ends the stream: the statistics of all its pictures follow, and it is brought to the disk.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn finish(mut self, pictures: &Pictures) -> Result<(), Error> {
        let text = serde_json::to_vec(pictures);
        let text = text.map_err(|error| malformed(self.file.path(), &error))?;
        self.bytes.clear();
        frame(STATISTICS, &text, &mut self.bytes);
        self.flush()?;
        self.sync()
    }

    /// Brings what was written to the disk.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn sync(&self) -> Result<(), Error> {
        self.file.sync()
    }

    fn flush(&mut self) -> Result<usize, Error> {
        let written = self.file.write_all(&self.bytes);
        written.map_err(|error| disk::at(self.file.path(), error))?;
        Ok(self.bytes.len())
    }
}

/// Reads a stream unit by unit, up to the first record that is not whole or not the next.
#[derive(Debug)]
pub struct Stream {
    records: Records,
    pub config: CodecConfig,
    units: u64,
    ended: bool,
}

impl Stream {
    /// # Errors
    /// The file cannot be read, or does not begin as a stream does.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut records = Records::open(path)?;
        let config = match records.record()? {
            Some((CONFIG, payload)) => {
                CodecConfig::from_bytes(payload).map_err(|why| malformed(path, &why))?
            }
            _ => return Err(malformed(path, &"it was torn before its first picture")),
        };
        Ok(Self {
            records,
            config,
            units: 0,
            ended: false,
        })
    }

    /// The next unit.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn unit(&mut self) -> Result<Option<AccessUnit>, Error> {
        if self.ended {
            return Ok(None);
        }
        let unit = match self.records.record()? {
            Some((UNIT, payload)) => unit_numbered(self.units, payload),
            _ => None,
        };
        self.ended = unit.is_none();
        self.units += u64::from(unit.is_some());
        Ok(unit)
    }

    /// Statistics of all its pictures, if just these have been read and it was ended as it should: those of an episode that was
    /// interrupted have none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn statistics(mut self) -> Result<Option<Pictures>, Error> {
        let pictures = match self.records.record()? {
            Some((STATISTICS, payload)) if !self.ended => {
                serde_json::from_slice::<Pictures>(payload).ok()
            }
            _ => None,
        };
        Ok(pictures.filter(|pictures| pictures.count() == self.units))
    }

    /// How many units are whole in the file at `path`; none where it was never begun.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn count(path: &Path) -> Result<u64, Error> {
        if !path.exists() {
            return Ok(0);
        }
        let mut stream = match Self::open(path) {
            Err(Error::Malformed { .. }) => return Ok(0),
            opened => opened?,
        };
        while stream.unit()?.is_some() {}
        Ok(stream.units)
    }
}

fn unit_numbered(number: u64, payload: &[u8]) -> Option<AccessUnit> {
    let mut from = Cursor(payload);
    let is_next = from.int()? == number as u32;
    let key = from.byte()? != 0;
    let bytes = from.rest().to_vec();
    is_next.then_some(AccessUnit { bytes, key })
}
