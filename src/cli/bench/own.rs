//! Watches the prepared network of own kernels: it says itself where a stage ends, and its launches are known before they run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::account::{Account, KernelAccount, Moment};
use super::report::StageRun;
use super::stages::{ChunkSeen, Look, Result, Seen};
use crate::cli::memory::peak_rss_bytes;
use crate::gpu::compute::{self, Compute, Dispatch, Sequence, Stage};
use crate::gpu::{LaunchWatch, Launches, OpenedDevice};
use crate::policy::smolvla::prepared::PreparedSmolVla;
use crate::policy::smolvla::{NetworkError, Trace};

/// Launches that are timed in one go: each takes two of the 4096 queries that a set may have.
const TIMED_AT_ONCE: usize = 2000;

/// A chunk that is being watched.
struct Watched {
    device: OpenedDevice,
    compute: Compute,
    /// Burn's launches; there are some as long as part of the network is Burn's.
    launches: Option<LaunchWatch>,
    launched: Launches,
    before: Moment,
    since: Instant,
    seen: ChunkSeen,
    failed: Option<compute::Error>,
}

/// Runs `sample` and sees each stage apart, waiting for the device between them.
///
/// # Errors
/// Those of `sample`, or a device that is lost.
pub fn by_stages(
    device: &OpenedDevice,
    compute: &Compute,
    look: Look,
    sample: impl FnOnce(&mut Trace) -> Result<Vec<f32>>,
) -> Result<(ChunkSeen, Vec<f32>)> {
    let counting = look == Look::Count;
    let watched = Rc::new(RefCell::new(Watched {
        device: device.clone(),
        compute: compute.clone(),
        launches: counting.then(LaunchWatch::begin),
        launched: Launches::default(),
        before: Moment::default(),
        since: Instant::now(),
        seen: ChunkSeen::default(),
        failed: None,
    }));
    watched.borrow_mut().begin();
    let marked = Rc::clone(&watched);
    let mut trace = Trace::with_marks(move |stage| marked.borrow_mut().end(stage));
    let actions = sample(&mut trace)?;
    drop(trace);
    let mut watched = watched.borrow_mut();
    if let Some(error) = watched.failed.take() {
        return Err(error.into());
    }
    Ok((std::mem::take(&mut watched.seen), actions))
}

impl Watched {
    fn begin(&mut self) {
        if self.launches.is_some() {
            self.before = Moment::of(&self.device, Some(self.compute.counts()));
        }
        self.since = Instant::now();
    }

    fn end(&mut self, stage: &str) {
        let host = self.since.elapsed();
        if let Err(error) = self.compute.wait() {
            self.failed.get_or_insert(error);
        }
        let all = self.since.elapsed();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let mut seen = Seen {
            run: StageRun {
                ms: milliseconds(all),
                host_ms: Some(milliseconds(host)),
            },
            ..Seen::default()
        };
        if let Some(launches) = &self.launches {
            let so_far = launches.so_far();
            let after = Moment::of(&self.device, Some(self.compute.counts()));
            let launched = so_far.since(&self.launched);
            seen.account = self.before.account(&after, &launched);
            self.launched = so_far;
        }
        let peak = peak_rss_bytes();
        let chunk = &mut self.seen;
        let (place, at) = match stage {
            "vision" => (&mut chunk.vision, 0),
            "prefix" => (&mut chunk.prefix, 1),
            _ => (&mut chunk.denoise, 2),
        };
        *place = seen;
        chunk.peak_rss_bytes[at] = peak;
        self.begin();
    }
}

/// Adds the prepared launches by kind to what was seen of Burn's.
pub fn list_kernels(network: &PreparedSmolVla, seen: &mut ChunkSeen) {
    let stages = [&mut seen.vision, &mut seen.prefix, &mut seen.denoise];
    for (seen, sequence) in stages.into_iter().zip(network.sequences()) {
        let Some(sequence) = sequence else { continue };
        let mut kinds: BTreeMap<&str, KernelAccount> = BTreeMap::new();
        for dispatch in dispatches(sequence) {
            let kind = kinds
                .entry(dispatch.kernel)
                .or_insert_with(|| KernelAccount {
                    kernel: dispatch.kernel.to_owned(),
                    flops: Some(0),
                    bytes: Some(0),
                    ..KernelAccount::default()
                });
            kind.launches += 1;
            kind.flops = kind.flops.map(|flops| flops + dispatch.work.flops);
            kind.bytes = kind.bytes.map(|bytes| bytes + dispatch.work.bytes);
        }
        let own = Account {
            by_kernel: kinds.into_values().collect(),
            ..Account::default()
        };
        seen.account.by_kernel = (&seen.account + &own).by_kernel;
    }
}

/// Replays the prepared launches, once as they are and once each in a pass of its own, and writes down what the device's time
/// stamps say. What they compute meanwhile is of no use to anybody.
///
/// # Errors
/// The device is lost.
pub fn clock(network: &PreparedSmolVla, accounts: [&mut Account; 3]) -> Result<()> {
    let compute = network.compute();
    for (account, sequence) in accounts.into_iter().zip(network.sequences()) {
        let Some(sequence) = sequence else { continue };
        let whole = replay(compute, sequence.stages().to_vec())?;
        account.device_ms = Some(whole.values().sum());
        let alone: Vec<Stage> = dispatches(sequence)
            .map(|dispatch| Stage {
                name: dispatch.kernel,
                dispatches: vec![dispatch.clone()],
            })
            .collect();
        let mut times: BTreeMap<&str, f64> = BTreeMap::new();
        for some in alone.chunks(TIMED_AT_ONCE) {
            for (kernel, ms) in replay(compute, some.to_vec())? {
                *times.entry(kernel).or_default() += ms;
            }
        }
        for kind in &mut account.by_kernel {
            kind.device_ms = times.get(kind.kernel.as_str()).copied();
        }
    }
    Ok(())
}

/// Milliseconds by the names of the stages.
fn replay(compute: &Compute, stages: Vec<Stage>) -> Result<BTreeMap<&'static str, f64>> {
    let sequence = Sequence::new(compute, stages, true);
    let mut flow = compute.flow();
    sequence.encode(&mut flow);
    flow.submit();
    let times = sequence.times(compute).map_err(NetworkError::from)?;
    let mut by_name = BTreeMap::new();
    for stage in times {
        *by_name.entry(stage.name).or_default() += stage.time.as_secs_f64() * 1e3;
    }
    Ok(by_name)
}

fn dispatches(sequence: &Sequence) -> impl Iterator<Item = &Dispatch> {
    sequence.stages().iter().flat_map(|stage| &stage.dispatches)
}
