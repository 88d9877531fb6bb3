//! The house's own kernels on the device that Burn opened: prepared once, replayed every chunk, counted exactly.

mod buffer;
mod compile;
mod kernel;
mod sequence;
mod share;
mod weight;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use burn_wgpu::WgpuSetup;
use serde::Serialize;

use buffer::Uploads;
pub use buffer::{Buffer, Slice};
pub use kernel::{Binding, Bound, Kernel, KernelSpec};
pub use sequence::{Dispatch, Flow, Sequence, Stage, StageTime, Work};
pub use weight::{Format, Matrix, row_scale};

/// What the device refused.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what}: {reason}")]
pub struct Error {
    /// What was tried, for example `"buffers for 3 pictures"`.
    pub what: String,
    /// wgpu's words.
    pub reason: String,
}

/// What a device can do beyond wgpu's defaults; kernels have variants for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Abilities {
    /// Fewest and most threads that run in step, where kernels may speak across them.
    pub subgroup: Option<(u32, u32)>,
    /// Half-precision arithmetic.
    pub shader_f16: bool,
    /// Time stamps at the ends of a pass.
    pub timestamps: bool,
}

impl Abilities {
    /// Exactly eight threads run in step, and may speak across: lavapipe.
    pub fn eights(&self) -> bool {
        self.subgroup == Some((8, 8))
    }
}

/// A handle on the device, cheap to clone. Everything made through it is counted.
#[derive(Clone, Debug)]
pub struct Compute(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    device: wgpu::Device,
    queue: wgpu::Queue,
    abilities: Abilities,
    tally: Tally,
    pipelines: compile::Kernels,
    uploads: Mutex<Uploads>,
    share: share::Share,
    /// A kernel that a pass had to go without.
    refused: OnceLock<Error>,
}

/// Running counts; they only grow.
#[derive(Debug, Default)]
struct Tally {
    kernels: AtomicU64,
    submissions: AtomicU64,
    buffers: AtomicU64,
    buffer_bytes: AtomicU64,
    bind_groups: AtomicU64,
    pipelines: AtomicU64,
    to_device_bytes: AtomicU64,
    to_host_bytes: AtomicU64,
}

/// What was made and done through one [`Compute`] so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Dispatches encoded.
    pub kernels: u64,
    /// Submissions to the queue.
    pub submissions: u64,
    /// Buffers created, staging included.
    pub buffers: u64,
    /// Their bytes.
    pub buffer_bytes: u64,
    /// Bind groups created.
    pub bind_groups: u64,
    /// Pipelines compiled.
    pub pipelines: u64,
    /// Bytes copied from the host.
    pub to_device_bytes: u64,
    /// Bytes copied to the host.
    pub to_host_bytes: u64,
}

impl Counts {
    /// What came to it since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            kernels: self.kernels - before.kernels,
            submissions: self.submissions - before.submissions,
            buffers: self.buffers - before.buffers,
            buffer_bytes: self.buffer_bytes - before.buffer_bytes,
            bind_groups: self.bind_groups - before.bind_groups,
            pipelines: self.pipelines - before.pipelines,
            to_device_bytes: self.to_device_bytes - before.to_device_bytes,
            to_host_bytes: self.to_host_bytes - before.to_host_bytes,
        }
    }
}

impl Compute {
    /// On the device that Burn opened, so that both can see the same memory and one queue orders their work.
    pub fn new(setup: &WgpuSetup) -> Self {
        let features = setup.device.features();
        let info = setup.adapter.get_info();
        let subgroups = features.contains(wgpu::Features::SUBGROUP);
        Self(Arc::new(Inner {
            device: setup.device.clone(),
            queue: setup.queue.clone(),
            abilities: Abilities {
                subgroup: subgroups.then_some((info.subgroup_min_size, info.subgroup_max_size)),
                shader_f16: features.contains(wgpu::Features::SHADER_F16),
                timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
            },
            tally: Tally::default(),
            pipelines: compile::Kernels::default(),
            uploads: Mutex::default(),
            share: share::Share::default(),
            refused: OnceLock::new(),
        }))
    }

    /// The same device, with nothing compiled or counted yet.
    #[cfg(test)]
    fn anew(&self) -> Self {
        Self(Arc::new(Inner {
            device: self.0.device.clone(),
            queue: self.0.queue.clone(),
            abilities: self.0.abilities,
            tally: Tally::default(),
            pipelines: compile::Kernels::default(),
            uploads: Mutex::default(),
            share: share::Share::default(),
            refused: OnceLock::new(),
        }))
    }

    /// What the device can do.
    pub fn abilities(&self) -> Abilities {
        self.0.abilities
    }

    /// wgpu's own handle.
    pub fn device(&self) -> &wgpu::Device {
        &self.0.device
    }

    /// wgpu's own handle.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.0.queue
    }

    /// What was made and done so far.
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let tally = &self.0.tally;
        Counts {
            kernels: of(&tally.kernels),
            submissions: of(&tally.submissions),
            buffers: of(&tally.buffers),
            buffer_bytes: of(&tally.buffer_bytes),
            bind_groups: of(&tally.bind_groups),
            pipelines: of(&tally.pipelines),
            to_device_bytes: of(&tally.to_device_bytes),
            to_host_bytes: of(&tally.to_host_bytes),
        }
    }

    /// Runs `make`, which creates things on the device, and turns what the device refuses into an error. Without this wgpu
    /// would panic.
    ///
    /// # Errors
    /// Out of memory, or an invalid request.
    pub fn checked<T>(
        &self,
        what: impl Into<String>,
        make: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        let device = &self.0.device;
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validity = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let made = make();
        let invalid = pollster::block_on(validity.pop());
        let full = pollster::block_on(memory.pop());
        match invalid.or(full) {
            Some(error) => Err(Error {
                what: what.into(),
                reason: error.to_string(),
            }),
            None => Ok(made),
        }
    }

    /// Waits until everything submitted so far is done.
    ///
    /// # Errors
    /// The device is lost.
    pub fn wait(&self) -> Result<(), Error> {
        let polled = self.0.device.poll(wgpu::PollType::wait_indefinitely());
        self.is_done();
        if let Some(refused) = self.0.refused.get() {
            return Err(refused.clone());
        }
        polled.map(|_| ()).map_err(|error| Error {
            what: "waiting for the device".into(),
            reason: error.to_string(),
        })
    }
}

fn add(count: &AtomicU64, by: u64) {
    count.fetch_add(by, Ordering::Relaxed);
}
