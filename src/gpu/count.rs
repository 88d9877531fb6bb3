//! Counts what a device is made to do: kernels launched, memory held. For `bench`, and for tests of savings.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use burn::tensor::Device;
use cubecl::logging::{LaunchObservation, LaunchObserver};
use serde::Serialize;

/// Kernels that were launched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Launches {
    /// All of them.
    pub total: u64,
    /// By Burn's name of the kernel, without its type parameters.
    pub by_kernel: BTreeMap<String, u64>,
}

/// Memory that a GPU device holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceMemory {
    /// Tensors that are alive.
    pub allocations: u64,
    /// Bytes that they use.
    pub in_use_bytes: u64,
    /// Bytes that Burn has taken from the driver. Burn keeps what it took, so after a run this is the peak.
    pub reserved_bytes: u64,
}

/// Runs `work` and counts every kernel that it launches from this thread. The CPU launches none.
///
/// One count at a time in a process: a second one, on another thread, waits.
pub fn count_launches<T>(work: impl FnOnce() -> T) -> (T, Launches) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let counter = Arc::new(Counter {
        thread: thread::current().id(),
        seen: Mutex::default(),
    });
    let observer: Arc<dyn LaunchObserver> = Arc::<Counter>::clone(&counter);
    let watching = LaunchObservation::new(observer);
    let done = work();
    drop(watching);
    let seen = counter.seen.lock().unwrap_or_else(PoisonError::into_inner);
    let mut launches = Launches::default();
    for (kernel, count) in seen.iter() {
        launches.total += count;
        *launches.by_kernel.entry(short(kernel)).or_default() += count;
    }
    drop(seen);
    (done, launches)
}

/// What the device holds now; `None` for the CPU.
pub fn memory(device: &Device) -> Option<DeviceMemory> {
    device.memory_pool_usage().map(|usage| DeviceMemory {
        allocations: usage.number_allocs,
        in_use_bytes: usage.bytes_in_use,
        reserved_bytes: usage.bytes_reserved,
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
    }
}
