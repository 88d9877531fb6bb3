//! What one stage of a chunk makes a device do: launches, copies, memory taken. Exact, and the same in every run.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::gpu::compute::Counts;
use crate::gpu::{self, Copies, DeviceMemory, DriverMemory, OpenedDevice};

/// The account of a stage. What cannot be known on a device is `None`, never zero: the CPU launches and submits nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Kernel launches.
    pub kernels: Option<u64>,
    /// Submissions to the device's queue, the one that waits for the stage included.
    pub submits: Option<u64>,
    /// Launches by kernel, the most frequent first.
    pub by_kernel: Vec<KernelAccount>,
    pub allocations: Allocations,
    /// Of tensors and buffers.
    pub copies: Copies,
    /// Time of all kernels on the device, ms, where it has time stamps.
    pub device_ms: Option<f64>,
}

/// One kind of kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelAccount {
    /// Its name: Burn's, or the file of the house's own shader.
    pub kernel: String,
    pub launches: u64,
    /// 2·MAC by formula; only own kernels tell.
    pub flops: Option<u64>,
    /// Bytes fetched and stored at least; only own kernels tell.
    pub bytes: Option<u64>,
    /// All its launches together, on the device.
    pub device_ms: Option<f64>,
}

/// What a stage takes from the device and does not give back before its end, and what it makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocations {
    /// Buffers made by own kernels' code.
    pub buffers: Option<u64>,
    /// Bind groups made; Burn makes one a launch.
    pub bind_groups: Option<u64>,
    /// Pipelines compiled by own kernels' code; Burn does not tell.
    pub pipelines: Option<u64>,
    /// Tensors that came alive, or went, in Burn's pool.
    pub pool_tensors: Option<i64>,
    /// Bytes that Burn's pool took from the driver.
    pub pool_reserved_bytes: Option<i64>,
    /// Pieces of memory that the driver gave, or got back.
    pub driver_pieces: Option<i64>,
    /// Their bytes.
    pub driver_bytes: Option<i64>,
}

/// A device before or after a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    pub pool: Option<DeviceMemory>,
    pub driver: Option<DriverMemory>,
    pub copies: Copies,
    pub own: Option<Counts>,
    submission: Option<u64>,
}

impl Moment {
    /// Looks at a device that has nothing to do. `own` are the counts of own kernels, where they compute.
    pub fn of(device: &OpenedDevice, own: Option<Counts>) -> Self {
        Self {
            pool: gpu::memory(&device.device),
            driver: device.setup.as_ref().and_then(gpu::driver_memory),
            copies: gpu::copies(),
            own,
            submission: submission(device),
        }
    }

    /// What happened from here to `after`. `launched` are the kernels that Burn launched meanwhile.
    pub fn account(&self, after: &Self, launched: &gpu::Launches) -> Account {
        let own = self.own.zip(after.own).map(|(a, b)| b.since(&a));
        let submits = self
            .submission
            .map(|_| submits(self.submission, after.submission));
        let on_device = submits.is_some();
        let kernels = launched.total + own.map_or(0, |own| own.kernels);
        let mut copies = after.copies.since(self.copies);
        if let Some(own) = own {
            copies.to_device_bytes += own.to_device_bytes;
            copies.to_host_bytes += own.to_host_bytes;
        }
        Account {
            kernels: on_device.then_some(kernels),
            submits,
            by_kernel: by_kernel(launched),
            allocations: Allocations {
                buffers: own.map(|own| own.buffers),
                bind_groups: on_device
                    .then(|| launched.total + own.map_or(0, |own| own.bind_groups)),
                pipelines: own.map(|own| own.pipelines),
                pool_tensors: grown(self.pool, after.pool, |pool| pool.allocations),
                pool_reserved_bytes: grown(self.pool, after.pool, |pool| pool.reserved_bytes),
                driver_pieces: grown(self.driver, after.driver, |driver| driver.allocations),
                driver_bytes: grown(self.driver, after.driver, |driver| driver.allocated_bytes),
            },
            copies: if on_device { copies } else { Copies::default() },
            device_ms: None,
        }
    }
}

fn grown<T: Copy>(before: Option<T>, after: Option<T>, pick: fn(T) -> u64) -> Option<i64> {
    let (before, after) = before.zip(after)?;
    Some(pick(after).cast_signed() - pick(before).cast_signed())
}

fn by_kernel(launched: &gpu::Launches) -> Vec<KernelAccount> {
    let kinds = launched.by_kernel.iter();
    let mut kinds: Vec<_> = kinds
        .map(|(kernel, launches)| KernelAccount {
            kernel: kernel.clone(),
            launches: *launches,
            ..KernelAccount::default()
        })
        .collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.launches));
    kinds
}

impl Account {
    /// Writes in what each kernel took on the device. Times of which some are missing are no times.
    pub fn timed(&mut self, times: &gpu::LaunchTimes) {
        if times.untimed > 0 || times.by_kernel.is_empty() {
            return;
        }
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        for kind in &mut self.by_kernel {
            kind.device_ms = times.by_kernel.get(&kind.kernel).copied().map(ms);
        }
        self.device_ms = Some(ms(times.by_kernel.values().sum()));
    }
}

impl Add for &Account {
    type Output = Account;

    fn add(self, other: Self) -> Account {
        let mut by_kernel = self.by_kernel.clone();
        for kind in &other.by_kernel {
            match by_kernel.iter_mut().find(|own| own.kernel == kind.kernel) {
                Some(own) => {
                    own.launches += kind.launches;
                    own.flops = sum(own.flops, kind.flops);
                    own.bytes = sum(own.bytes, kind.bytes);
                    own.device_ms = sum(own.device_ms, kind.device_ms);
                }
                None => by_kernel.push(kind.clone()),
            }
        }
        by_kernel.sort_by_key(|kind| std::cmp::Reverse(kind.launches));
        let (a, b) = (&self.allocations, &other.allocations);
        Account {
            kernels: sum(self.kernels, other.kernels),
            submits: sum(self.submits, other.submits),
            by_kernel,
            allocations: Allocations {
                buffers: sum(a.buffers, b.buffers),
                bind_groups: sum(a.bind_groups, b.bind_groups),
                pipelines: sum(a.pipelines, b.pipelines),
                pool_tensors: sum(a.pool_tensors, b.pool_tensors),
                pool_reserved_bytes: sum(a.pool_reserved_bytes, b.pool_reserved_bytes),
                driver_pieces: sum(a.driver_pieces, b.driver_pieces),
                driver_bytes: sum(a.driver_bytes, b.driver_bytes),
            },
            copies: Copies {
                to_device_bytes: self.copies.to_device_bytes + other.copies.to_device_bytes,
                to_host_bytes: self.copies.to_host_bytes + other.copies.to_host_bytes,
            },
            device_ms: sum(self.device_ms, other.device_ms),
        }
    }
}

/// The sum of what is known; unknown if either is.
fn sum<T: Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.zip(b).map(|(a, b)| a + b)
}

/// The number of an empty submission made now; the CPU has none.
///
/// wgpu numbers submissions, but shows the number only in the debug form of what `submit` returns.
fn submission(device: &OpenedDevice) -> Option<u64> {
    let queue = &device.setup.as_ref()?.queue;
    number_in(&format!("{:?}", queue.submit([])))
}

/// Submissions between two empty ones.
fn submits(before: Option<u64>, after: Option<u64>) -> u64 {
    let between = |(before, after): (u64, u64)| after.saturating_sub(before + 1);
    before.zip(after).map_or(0, between)
}

/// The only number in a text.
fn number_in(text: &str) -> Option<u64> {
    text.trim_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn launched(kinds: &[(&str, u64)]) -> gpu::Launches {
        gpu::Launches {
            total: kinds.iter().map(|(_, count)| count).sum(),
            by_kernel: kinds
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
        }
    }

    #[test]
    fn submissions_are_counted_between_two_empty_ones() {
        assert_eq!(number_in("SubmissionIndex { index: 42 }"), Some(42));
        assert_eq!(number_in("SubmissionIndex"), None);
        assert_eq!(submits(Some(42), Some(43)), 0);
        assert_eq!(submits(Some(42), Some(46)), 3);
        assert_eq!(submits(None, None), 0);
    }

    #[test]
    fn the_cpu_has_no_zeros_to_show() {
        let cpu = gpu::open(gpu::DeviceChoice::Flex).unwrap();
        let before = Moment::of(&cpu, None);
        gpu::note_upload(100);
        let account = before.account(&Moment::of(&cpu, None), &launched(&[]));
        assert_eq!(account, Account::default());
        assert_eq!((account.kernels, account.submits), (None, None));
    }

    #[test]
    fn a_stage_is_what_came_between_two_moments() {
        let before = Moment {
            submission: Some(4),
            driver: Some(DriverMemory {
                allocations: 9,
                allocated_bytes: 900,
                ..DriverMemory::default()
            }),
            ..Moment::default()
        };
        let after = Moment {
            submission: Some(7),
            driver: Some(DriverMemory {
                allocations: 8,
                allocated_bytes: 1000,
                ..DriverMemory::default()
            }),
            copies: Copies {
                to_device_bytes: 12,
                to_host_bytes: 4,
            },
            ..Moment::default()
        };
        let mut account = before.account(&after, &launched(&[("add", 2), ("matmul", 3)]));
        assert_eq!((account.kernels, account.submits), (Some(5), Some(2)));
        assert_eq!(account.by_kernel[0].kernel, "matmul");
        assert_eq!(account.allocations.driver_pieces, Some(-1));
        assert_eq!(account.allocations.driver_bytes, Some(100));
        assert_eq!(account.allocations.pool_tensors, None);
        assert_eq!(account.copies.to_device_bytes, 12);

        let mut times = gpu::LaunchTimes {
            untimed: 1,
            ..gpu::LaunchTimes::default()
        };
        times
            .by_kernel
            .insert("add".into(), Duration::from_micros(1500));
        account.timed(&times);
        assert_eq!(account.device_ms, None, "times with holes are no times");
        times.untimed = 0;
        account.timed(&times);
        assert_eq!(account.device_ms, Some(1.5));

        let twice = &account + &account;
        assert_eq!((twice.kernels, twice.device_ms), (Some(10), Some(3.0)));
        assert_eq!(twice.by_kernel.len(), 2);
        assert_eq!(twice.by_kernel[1].device_ms, Some(3.0));
    }
}
