//! One `.safetensors` file, memory-mapped: its header is read at once, a tensor only when it is asked for.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use memmap2::Mmap;
use rayon::prelude::*;
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::{Error, header};
use crate::policy::HostTensor;

/// Floats that are too few to be shared between cores.
const LEAST_SHARE: usize = 1 << 15;

/// An open `.safetensors` file.
#[derive(Debug)]
pub struct TensorFile {
    path: PathBuf,
    bytes: Mmap,
    /// Where the values begin, after the header.
    start: usize,
    tensors: BTreeMap<String, TensorInfo>,
}

impl TensorFile {
    /// Maps a file and reads its header.
    ///
    /// # Errors
    /// The file cannot be opened, or is no complete safetensors file; the message says what it is instead.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unreadable = |source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let damaged = |why: String| Error::Damaged {
            path: path.to_owned(),
            why,
        };
        if let Some(why) = header::complaint(path).map_err(unreadable)? {
            return Err(damaged(why));
        }
        let file = File::open(path).map_err(unreadable)?;
        let bytes = map(&file).map_err(unreadable)?;
        let size = bytes
            .first_chunk::<8>()
            .map_or(0, |size| u64::from_le_bytes(*size) as usize);
        // The file may have changed since its beginning was looked at.
        let header = bytes.get(8..8 + size).unwrap_or_default();
        let metadata: Metadata = serde_json::from_slice(header)
            .map_err(|err| damaged(format!("has a header that makes no sense: {err}")))?;
        let start = 8 + size;
        let short =
            header::truncation(start as u64, metadata.data_len() as u64, bytes.len() as u64);
        if let Some(why) = short {
            return Err(damaged(why));
        }
        let tensors = metadata.tensors();
        Ok(Self {
            path: path.to_owned(),
            start,
            tensors: tensors.into_iter().map(|(k, v)| (k, v.clone())).collect(),
            bytes,
        })
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names in the file, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Shape of a tensor, outermost first.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|info| info.shape.as_slice())
    }

    /// The type of a tensor, when it is none that is read here.
    pub fn foreign_type(&self, name: &str) -> Option<Dtype> {
        let dtype = self.tensors.get(name)?.dtype;
        let read = matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16);
        (!read).then_some(dtype)
    }

    /// Reads one tensor of any of the three float types, widened to f32 exactly.
    ///
    /// # Errors
    /// There is no such tensor, or it does not hold floats.
    pub fn read(&self, name: &str) -> Result<HostTensor, Error> {
        let info = self.info(name)?;
        let (from, to) = info.data_offsets;
        let values = self.widen(
            name,
            info.dtype,
            &self.bytes[self.start + from..self.start + to],
        )?;
        Ok(HostTensor {
            shape: info.shape.clone(),
            values,
        })
    }

    /// Reads some rows of a tensor, as [`TensorFile::read`], without touching the others.
    ///
    /// # Errors
    /// As [`TensorFile::read`], or a row is not there.
    pub fn read_rows(&self, name: &str, rows: &[u32]) -> Result<HostTensor, Error> {
        let info = self.info(name)?;
        let (from, to) = info.data_offsets;
        let count = info.shape.first().copied().unwrap_or(0);
        let width = (to - from) / count.max(1);
        let mut bytes = Vec::with_capacity(rows.len() * width);
        for &row in rows {
            if row as usize >= count {
                return Err(self.bad(name, format!("has no row {row}")));
            }
            let at = self.start + from + row as usize * width;
            bytes.extend_from_slice(&self.bytes[at..at + width]);
        }
        let mut shape = info.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = rows.len();
        }
        let values = self.widen(name, info.dtype, &bytes)?;
        Ok(HostTensor { shape, values })
    }

    fn info(&self, name: &str) -> Result<&TensorInfo, Error> {
        let info = self.tensors.get(name);
        info.ok_or_else(|| self.bad(name, "is not in the file".into()))
    }

    fn widen(&self, name: &str, dtype: Dtype, bytes: &[u8]) -> Result<Vec<f32>, Error> {
        widen(dtype, bytes).ok_or_else(|| {
            self.bad(
                name,
                format!("has type {dtype}; BF16, F16 and F32 are read"),
            )
        })
    }

    fn bad(&self, name: &str, why: String) -> Error {
        Error::Tensor {
            path: self.path.clone(),
            name: name.to_owned(),
            why,
        }
    }
}

/// Little-endian floats as f32, or `None` for another type. On all cores: half of the time of a load on one.
fn widen(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f32>> {
    match dtype {
        Dtype::F32 => Some(all(bytes, f32::from_le_bytes)),
        Dtype::BF16 => Some(all(bytes, |half| bf16::from_le_bytes(half).to_f32())),
        Dtype::F16 => Some(all(bytes, |half| f16::from_le_bytes(half).to_f32())),
        _ => None,
    }
}

fn all<const N: usize>(bytes: &[u8], float: impl Fn([u8; N]) -> f32 + Sync + Send) -> Vec<f32> {
    let (floats, _) = bytes.as_chunks::<N>();
    if floats.len() < LEAST_SHARE {
        return floats.iter().map(|bytes| float(*bytes)).collect();
    }
    let floats = floats.par_iter().with_min_len(LEAST_SHARE);
    floats.map(|bytes| float(*bytes)).collect()
}

#[expect(
    unsafe_code,
    reason = "a checkpoint is a gigabyte; mapping it is what keeps memory at the size of one tensor"
)]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is read-only and private to this process. What the type system cannot promise is that no other
    // program shortens the file while it is mapped (reading past the end would then end this process); checkpoints are
    // replaced by rename, here and by the hub's cache, never rewritten in place.
    let bytes = unsafe { Mmap::map(file)? };
    // The disk reads on while the beginning is being converted. Only advice: whatever comes of it, the file can be read.
    #[cfg(unix)]
    if let Err(error) = bytes.advise(memmap2::Advice::WillNeed) {
        log::debug!("the file is not read ahead: {error}");
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_widens_exactly() {
        let one = bf16::from_f32(-1.5).to_le_bytes();
        assert_eq!(widen(Dtype::BF16, &one), Some(vec![-1.5]));
        let two = f16::from_f32(0.25).to_le_bytes();
        assert_eq!(widen(Dtype::F16, &two), Some(vec![0.25]));
        assert_eq!(widen(Dtype::I64, &[0; 8]), None);
        // So many that the cores share them.
        let many: Vec<f32> = (0..4 * LEAST_SHARE).map(|n| n as f32).collect();
        let bytes: Vec<u8> = many.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(widen(Dtype::F32, &bytes), Some(many));
    }

    #[test]
    fn a_cut_file_and_a_missing_one_say_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        assert!(matches!(TensorFile::open(&path), Err(Error::Read { .. })));

        let golden = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/golden/tiny_c/checkpoint/model.safetensors"
        );
        let whole = std::fs::read(golden).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        let words = TensorFile::open(&path).unwrap_err().to_string();
        assert!(words.contains("cut off"), "{words}");
        assert!(words.contains("model.safetensors"), "{words}");

        let mut header = whole.clone();
        header[9] = b'!';
        std::fs::write(&path, &header).unwrap();
        assert!(matches!(
            TensorFile::open(&path),
            Err(Error::Damaged { .. })
        ));
    }
}
