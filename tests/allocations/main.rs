//! What a chunk on own kernels asks of the host's heap, counted exactly: the same in every chunk, and nothing stays.
//!
//! A binary of its own, because the count is the whole process's.

#![expect(clippy::print_stdout, reason = "the counts are meant to be read")]

use std::alloc::System;

use smolpilot::gpu::compute::{Compute, Format};
use smolpilot::gpu::{self, DeviceChoice};
use smolpilot::policy::seeded::{Precision, Seeded};
use smolpilot::policy::smolvla::prepared::PreparedSmolVla;
use smolpilot::policy::smolvla::{Trace, tiny};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Chunks before the count, in which the driver's and wgpu's own stores reach their size.
const WARM_UP: usize = 12;
const CHUNKS: usize = 40;
/// What may stay over all chunks together: a store of wgpu's that still grows by a step. A leak of one launch's 100 bytes in
/// each of 100 launches would be six times as much.
const MAY_STAY: isize = 64 << 10;

#[test]
fn chunks_leave_nothing_on_the_heap() {
    if std::env::var("SMOLPILOT_NO_GPU_TESTS").as_deref() == Ok("1") {
        return;
    }
    let opened = gpu::open(DeviceChoice::Software).or_else(|_| gpu::open(DeviceChoice::Wgpu));
    let opened = opened.unwrap();
    let compute = Compute::new(opened.setup.as_ref().unwrap());
    let architecture = tiny::architecture();
    let source = Seeded::new(&architecture, 3, Precision::F32);
    let (device, format) = (&opened.device, Format::F32);
    let mut network = PreparedSmolVla::load(
        &architecture,
        &source,
        device,
        &compute,
        format,
        &mut |_| (),
    )
    .unwrap();
    let input = tiny::input(&architecture, 1);
    let mut chunk = || {
        let region = Region::new(HEAP);
        let steps = architecture.num_steps;
        network
            .sample_actions(&input, steps, None, &mut Trace::off())
            .unwrap();
        region.change()
    };
    for _ in 0..WARM_UP {
        chunk();
    }
    let before = compute.counts();
    let seen: Vec<Stats> = (0..CHUNKS).map(|_| chunk()).collect();
    let made = compute.counts().since(&before);
    let mut counts: Vec<usize> = seen
        .iter()
        .map(|s| s.allocations + s.reallocations)
        .collect();
    counts.sort_unstable();
    let stays: isize = seen.iter().map(stays).sum();
    println!(
        "{} launches: {} heap allocations a chunk ({} to {}), {stays} bytes stayed after {CHUNKS} chunks",
        made.kernels / CHUNKS as u64,
        counts[CHUNKS / 2],
        counts[0],
        counts[CHUNKS - 1],
    );
    assert!(stays <= MAY_STAY, "{stays} bytes stay on the heap");
    assert_eq!((made.buffers, made.bind_groups, made.pipelines), (0, 0, 0));
}

/// Bytes that a region took and did not give back.
fn stays(stats: &Stats) -> isize {
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}
