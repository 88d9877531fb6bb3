//! Counts what a device is made to do: kernels launched, memory held, values copied. For `bench`, and for tests of savings.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use burn::tensor::Device;
use burn_wgpu::WgpuSetup;
use cubecl::logging::{
    LaunchObservation, LaunchObserver, ProfileDuration, TimingMethod, TimingRequest,
};
use serde::{Deserialize, Serialize};

/// Kernels that were launched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Launches {
    /// All of them.
    pub total: u64,
    /// By Burn's name of the kernel, without its type parameters.
    pub by_kernel: BTreeMap<String, u64>,
}

/// Memory that a GPU device holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMemory {
    /// Tensors that are alive.
    pub allocations: u64,
    /// Bytes that they use.
    pub in_use_bytes: u64,
    /// Bytes that Burn has taken from the driver. Burn keeps what it took, so after a run this is the peak.
    pub reserved_bytes: u64,
}

/// Memory that the driver has given to a device, whoever asked for it: Burn, the house's own kernels, the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverMemory {
    /// Pieces that are alive.
    pub allocations: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Bytes of the blocks that they lie in.
    pub reserved_bytes: u64,
}

/// Values copied between the host's memory and a device's, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copies {
    pub to_device_bytes: u64,
    pub to_host_bytes: u64,
}

/// What kernels took on the device, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchTimes {
    pub by_kernel: BTreeMap<String, Duration>,
    /// Launches that the device could not time, because it has no time stamps or had none left.
    pub untimed: u64,
}

/// Runs `work` and counts every kernel that it launches from this thread. The CPU launches none.
///
/// One count at a time in a process: a second one, on another thread, waits.
pub fn count_launches<T>(work: impl FnOnce() -> T) -> (T, Launches) {
    let watch = LaunchWatch::begin();
    let done = work();
    let launches = watch.so_far();
    (done, launches)
}

/// Counts every kernel that Burn launches from this thread as long as it lives; one at a time in a process.
pub struct LaunchWatch {
    counter: Arc<Counter>,
    _watching: LaunchObservation,
    _turn: MutexGuard<'static, ()>,
}

impl LaunchWatch {
    /// Begins, when no other one watches any more.
    pub fn begin() -> Self {
        let turn = turn();
        let counter = Arc::new(Counter {
            thread: thread::current().id(),
            seen: Mutex::default(),
        });
        let observer: Arc<dyn LaunchObserver> = Arc::<Counter>::clone(&counter);
        Self {
            counter,
            _watching: LaunchObservation::new(observer),
            _turn: turn,
        }
    }

    /// What was launched since the beginning.
    pub fn so_far(&self) -> Launches {
        let seen = self.counter.seen.lock();
        let seen = seen.unwrap_or_else(PoisonError::into_inner);
        let mut launches = Launches::default();
        for (kernel, count) in seen.iter() {
            launches.total += count;
            *launches.by_kernel.entry(short(kernel)).or_default() += count;
        }
        launches
    }
}

impl Launches {
    /// What came to it since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut by_kernel = self.by_kernel.clone();
        for (kernel, count) in &before.by_kernel {
            if let Some(now) = by_kernel.get_mut(kernel) {
                *now -= count;
            }
        }
        by_kernel.retain(|_, count| *count > 0);
        Self {
            total: self.total - before.total,
            by_kernel,
        }
    }
}

/// Runs `work` and times every kernel that it launches from this thread, by the device's own time stamps. `work` itself
/// takes longer than usual, because each kernel then has a pass of its own.
pub fn time_launches<T>(work: impl FnOnce() -> T) -> (T, LaunchTimes) {
    let _turn = turn();
    let stopwatch = Arc::new(Stopwatch {
        thread: thread::current().id(),
        seen: Mutex::default(),
    });
    let observer: Arc<dyn LaunchObserver> = Arc::<Stopwatch>::clone(&stopwatch);
    let watching = LaunchObservation::new(observer);
    let done = work();
    drop(watching);
    let mut seen = stopwatch
        .seen
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let mut times = LaunchTimes::default();
    for (kernel, profile) in seen.drain(..) {
        let on_device = profile.timing_method() == TimingMethod::Device;
        match pollster::block_on(profile.resolve()).filter(|_| on_device) {
            Some(ticks) => *times.by_kernel.entry(short(kernel)).or_default() += ticks.duration(),
            None => times.untimed += 1,
        }
    }
    drop(seen);
    (done, times)
}

/// There is one place for an observer in a process.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static COPIED: Cell<Copies> = const {
        Cell::new(Copies {
            to_device_bytes: 0,
            to_host_bytes: 0,
        })
    };
}

/// What this thread has copied through tensors so far. The network says it through [`note_upload`] and
/// [`note_read_back`], because Burn keeps no count; the sizes and strides that Burn sends along with a launch are not in it.
pub fn copies() -> Copies {
    COPIED.get()
}

/// Notes that values went to a device.
pub fn note_upload(bytes: usize) {
    let mut copied = COPIED.get();
    copied.to_device_bytes += bytes as u64;
    COPIED.set(copied);
}

/// Notes that values came from a device.
pub fn note_read_back(bytes: usize) {
    let mut copied = COPIED.get();
    copied.to_host_bytes += bytes as u64;
    COPIED.set(copied);
}

impl Copies {
    /// What came to it since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            to_device_bytes: self.to_device_bytes - before.to_device_bytes,
            to_host_bytes: self.to_host_bytes - before.to_host_bytes,
        }
    }
}

/// What the device holds now; `None` for the CPU.
pub fn memory(device: &Device) -> Option<DeviceMemory> {
    device.memory_pool_usage().map(|usage| DeviceMemory {
        allocations: usage.number_allocs,
        in_use_bytes: usage.bytes_in_use,
        reserved_bytes: usage.bytes_reserved,
    })
}

/// What the driver has given to the device now; `None` where wgpu leaves that to the system (Metal).
///
/// Waits for the device first, so that what was only alive until its commands were done is gone.
pub fn driver_memory(setup: &WgpuSetup) -> Option<DriverMemory> {
    // A lost device answers with an error, and then there is nothing to count.
    setup
        .device
        .poll(wgpu::PollType::wait_indefinitely())
        .ok()?;
    let report = setup.device.generate_allocator_report()?;
    Some(DriverMemory {
        allocations: report.allocations.len() as u64,
        allocated_bytes: report.total_allocated_bytes,
        reserved_bytes: report.total_reserved_bytes,
    })
}

struct Counter {
    thread: ThreadId,
    seen: Mutex<BTreeMap<&'static str, u64>>,
}

impl LaunchObserver for Counter {
    fn launched(&self, kernel: &'static str) {
        if thread::current().id() == self.thread {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            *seen.entry(kernel).or_default() += 1;
        }
    }
}

struct Stopwatch {
    thread: ThreadId,
    seen: Mutex<Vec<(&'static str, ProfileDuration)>>,
}

impl LaunchObserver for Stopwatch {
    fn launched(&self, _kernel: &'static str) {}

    fn timing(&self) -> TimingRequest {
        TimingRequest::Deferred
    }

    fn profiled(&self, kernel: &'static str, profile: ProfileDuration) {
        if thread::current().id() == self.thread {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((kernel, profile));
        }
    }
}

/// `a::b::Kernel<c::D>` becomes `Kernel`, and `a::matmul_kernel::E` stays told apart by its last two parts.
fn short(kernel: &str) -> String {
    let plain = kernel.split('<').next().unwrap_or(kernel);
    let mut parts: Vec<&str> = plain.rsplit("::").take(2).collect();
    parts.reverse();
    parts.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened() {
        assert_eq!(short("burn::kernel::add::Add<f32, u8>"), "add::Add");
        assert_eq!(short("plain"), "plain");
    }

    #[test]
    fn the_cpu_launches_nothing() {
        let (value, launches) = count_launches(|| 7);
        assert_eq!((value, launches.total), (7, 0));
        assert_eq!(memory(&Device::flex()), None);
        let (value, times) = time_launches(|| 8);
        assert_eq!((value, times), (8, LaunchTimes::default()));
    }

    #[test]
    fn launches_are_told_apart_by_when_they_were_made() {
        let launches = |kinds: &[(&str, u64)]| Launches {
            total: kinds.iter().map(|(_, count)| count).sum(),
            by_kernel: kinds.iter().map(|(k, c)| ((*k).to_owned(), *c)).collect(),
        };
        let before = launches(&[("add", 2), ("matmul", 1)]);
        let after = launches(&[("add", 5), ("matmul", 1), ("exp", 1)]);
        let between = launches(&[("add", 3), ("exp", 1)]);
        assert_eq!(after.since(&before), between);
    }

    #[test]
    fn copies_are_counted_on_their_own_thread() {
        let before = copies();
        note_upload(12);
        note_read_back(4);
        thread::scope(|scope| scope.spawn(|| note_upload(1000)).join().unwrap());
        let own = Copies {
            to_device_bytes: 12,
            to_host_bytes: 4,
        };
        assert_eq!(copies().since(before), own);
    }
}
