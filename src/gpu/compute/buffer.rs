//! Device memory in words of four bytes, and the ways in and out of it.

use std::sync::PoisonError;

use bytemuck::Pod;

use super::{Compute, Error, add};

/// Bytes of a word.
const WORD: u64 = 4;

/// Written values wait on the host until something is submitted. After so many bytes of them a submission is made, so that
/// loading a network does not hold it twice, and so that copying goes on while the next values are prepared. A chunk's pictures
/// are far fewer.
const MOST_WAITING: u64 = 64 << 20;

/// Values on their way to the device.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    /// Bytes since the last submission.
    waiting: u64,
    /// The submission before that.
    last: Option<wgpu::SubmissionIndex>,
}

/// A storage buffer. Clones are the same memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(super) raw: wgpu::Buffer,
    /// Words of four bytes.
    words: usize,
}

/// Part of a [`Buffer`], in words. A binding must begin at a multiple of 64 words (wgpu's default alignment, 256 bytes).
/// Equal ones are the same memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    pub(super) raw: wgpu::Buffer,
    pub(super) from: usize,
    pub(super) words: usize,
}

impl Buffer {
    /// Words of four bytes that it holds.
    pub fn words(&self) -> usize {
        self.words
    }

    /// wgpu's own handle.
    pub fn raw(&self) -> &wgpu::Buffer {
        &self.raw
    }

    /// All of it.
    pub fn whole(&self) -> Slice {
        self.slice(0, self.words)
    }

    /// `words` words from word `from`.
    pub fn slice(&self, from: usize, words: usize) -> Slice {
        Slice {
            raw: self.raw.clone(),
            from,
            words,
        }
    }
}

impl From<&Buffer> for Slice {
    fn from(buffer: &Buffer) -> Self {
        buffer.whole()
    }
}

impl From<&Self> for Slice {
    fn from(slice: &Self) -> Self {
        slice.clone()
    }
}

impl Slice {
    /// Words of four bytes.
    pub fn words(&self) -> usize {
        self.words
    }

    /// `words` words of it, from its word `from`.
    #[must_use]
    pub fn part(&self, from: usize, words: usize) -> Self {
        Self {
            raw: self.raw.clone(),
            from: self.from + from,
            words,
        }
    }

    /// All of it from its word `from`.
    #[must_use]
    pub fn rest(&self, from: usize) -> Self {
        self.part(from, self.words - from)
    }

    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.from as u64 * WORD, self.words as u64 * WORD)
    }
}

impl Compute {
    /// Memory for `words` words (at least one), all zero.
    pub fn buffer(&self, label: &str, words: usize) -> Buffer {
        use wgpu::BufferUsages as Usage;
        self.make(
            label,
            words,
            Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST,
        )
    }

    /// Memory for the parameters of kernels.
    pub fn uniform<T: Pod>(&self, label: &str, values: &[T]) -> Buffer {
        use wgpu::BufferUsages as Usage;
        let bytes = bytemuck::cast_slice::<T, u8>(values);
        let words = bytes.len().div_ceil(WORD as usize);
        let buffer = self.make(label, words, Usage::UNIFORM | Usage::COPY_DST);
        self.write(&buffer.whole(), values);
        buffer
    }

    /// Memory filled with `values`.
    pub fn upload<T: Pod>(&self, label: &str, values: &[T]) -> Buffer {
        let words = size_of_val(values).div_ceil(WORD as usize);
        let buffer = self.buffer(label, words);
        self.write(&buffer.whole(), values);
        buffer
    }

    pub(super) fn make(&self, label: &str, words: usize, usage: wgpu::BufferUsages) -> Buffer {
        // Sixteen bytes at least: a binding of `array<vec4<f32>>` may not be smaller.
        let size = (words as u64 * WORD).next_multiple_of(16).max(16);
        let raw = self.0.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation: false,
        });
        add(&self.0.tally.buffers, 1);
        add(&self.0.tally.buffer_bytes, size);
        Buffer {
            raw,
            words: (size / WORD) as usize,
        }
    }

    /// Copies host values into the beginning of a slice, in order with what is submitted later.
    pub fn write<T: Pod>(&self, to: &Slice, values: &[T]) {
        let bytes = bytemuck::cast_slice::<T, u8>(values);
        if bytes.is_empty() {
            return;
        }
        self.0.queue.write_buffer(&to.raw, to.bytes().0, bytes);
        add(&self.0.tally.to_device_bytes, bytes.len() as u64);
        self.send_off(bytes.len() as u64);
    }

    /// Counts written bytes, and submits them when too many wait.
    fn send_off(&self, bytes: u64) {
        let mut uploads = self
            .0
            .uploads
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        uploads.waiting += bytes;
        if uploads.waiting < MOST_WAITING {
            return;
        }
        uploads.waiting = 0;
        let last = uploads.last.replace(self.0.queue.submit([]));
        if let Some(last) = last {
            let done = wgpu::PollType::Wait {
                submission_index: Some(last),
                timeout: None,
            };
            // A lost device is found by whoever waits for a result.
            self.0.device.poll(done).ok();
        }
    }

    /// What was written so far goes along with a submission.
    pub(super) fn sent_off(&self) {
        let mut uploads = self
            .0
            .uploads
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        uploads.waiting = 0;
    }

    /// A buffer that the host can read, for [`super::Flow::read_back`].
    pub fn staging(&self, label: &str, words: usize) -> Buffer {
        use wgpu::BufferUsages as Usage;
        self.make(label, words, Usage::MAP_READ | Usage::COPY_DST)
    }

    /// Waits for a staging buffer's last copy and takes its first `words` words.
    ///
    /// # Errors
    /// The device is lost.
    pub fn take(&self, staging: &Buffer, words: usize) -> Result<Vec<f32>, Error> {
        let failed = |reason: String| Error {
            what: "reading values back".into(),
            reason,
        };
        let (tell, told) = crossbeam_channel::bounded(1);
        let range = 0..words as u64 * WORD;
        staging
            .raw
            .map_async(wgpu::MapMode::Read, range.clone(), move |mapped| {
                tell.send(mapped).ok();
            });
        let read = || {
            self.wait()?;
            let mapped = told.recv().map_err(|error| failed(error.to_string()))?;
            mapped.map_err(|error| failed(error.to_string()))?;
            let view = staging.raw.get_mapped_range(range);
            let view = view.map_err(|error| failed(error.to_string()))?;
            Ok(bytemuck::pod_collect_to_vec::<u8, f32>(&view))
        };
        let values = read();
        // Also after a failure: wgpu panics when something is copied into a buffer that is mapped, or about to be.
        staging.raw.unmap();
        let values = values?;
        add(&self.0.tally.to_host_bytes, words as u64 * WORD);
        Ok(values)
    }

    /// Reads a slice back at once: waits for the device. For tests and traces; a chunk uses one prepared staging buffer.
    ///
    /// # Errors
    /// The device is lost.
    pub fn read(&self, from: &Slice) -> Result<Vec<f32>, Error> {
        let staging = self.staging("read", from.words);
        let mut flow = self.flow();
        flow.read_back(from, &staging);
        flow.submit();
        self.take(&staging, from.words)
    }
}
