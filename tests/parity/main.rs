//! SmolVLA against LeRobot 0.6.1, stage by stage, on the CPU and on whatever wgpu adapter this machine has.
//!
//! `cargo test --release --test parity -- --nocapture` prints the largest error of every stage.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test without its reference must stop, and the table of errors is meant to be read"
)]

mod prepared;
mod reference;
mod report;
mod savings;
mod soak;
mod stages;
mod units;
mod whole;

use burn::tensor::Device;

use reference::Case;
use smolpilot::gpu::compute::Format;
use smolpilot::gpu::{self, Arithmetic, DeviceChoice, OpenedDevice};
use smolpilot::policy::self_test::{self, Verdicts};

/// Intermediates are a few dozen f32 sums of numbers up to 10 deep in another order than the reference's; an independent
/// implementation stays within 6e-6.
const STAGES: f32 = 5e-5;
/// Actions are of size 4.
const ACTIONS: f32 = 2e-5;
/// Robot units: degrees up to 100.
const ROBOT_UNITS: f32 = 2e-4;
/// The network as it runs against its naive twin, on one device.
const TWINS: f32 = 2e-5;
/// A step from a cache that was used before against one from a fresh cache, on any adapter. The issue allows 1e-3; the arithmetic is
/// the same, so nothing but a wrong kernel makes a difference.
const CACHED: f32 = 1e-6;
/// One-line formulas in f32.
const FORMULAS: f32 = 2e-6;

#[test]
fn the_cpu_matches_the_reference() {
    let opened = gpu::open(DeviceChoice::Flex).unwrap();
    let device = Device::flex();
    units::check(&device, "Flex");
    for case in stages::CASES.map(Case::open) {
        stages::check(&case, &device, "Flex");
        whole::check(&case, &opened);
    }
    savings::check(&device, "Flex");
}

/// Reported case e01: the cached forward on the very adapter equals the reference, and a second step from the same cache the first.
///
/// All wgpu checks live in this one test: device start-up and kernel compilation are paid once a process, and tensors
/// must not be shared between threads.
#[test]
fn wgpu_matches_the_reference() {
    let Some(opened) = gpu() else { return };
    let own = opened.clone();
    let opened = OpenedDevice {
        arithmetic: Arithmetic::default(),
        ..opened
    };
    let title = opened.summary();
    units::check(&opened.device, &title);
    for case in stages::CASES.map(Case::open) {
        stages::check(&case, &opened.device, &title);
        whole::check(&case, &opened);
    }
    for case in stages::CASES.map(Case::open) {
        whole::check(&case, &own);
    }
    for format in [Format::F32, Format::F16, Format::I8] {
        let mut device = own.clone();
        device.arithmetic.format = format;
        let passed = self_test::verify(&device, &Verdicts::forgetful()).unwrap();
        let (summary, worst) = (device.summary(), &passed.worst);
        println!("self-test on {summary}: {passed}, worst in {worst}");
    }
    let passed = self_test::verify(&opened, &Verdicts::forgetful()).unwrap();
    println!("self-test on {title}: {passed}, worst in {}", passed.worst);
    prepared::check(&own, &own.place());
    savings::check(&opened.device, &title);
    savings::count_kernels(&opened.device, &title);
}

#[test]
fn memory_stays_flat_on_the_cpu() {
    soak::stays_flat("flex", 120);
}

#[test]
fn memory_stays_flat_on_wgpu() {
    if gpu().is_some() {
        soak::stays_flat(&device_name(), 60);
    }
}

/// As a user would name it.
fn device_name() -> String {
    let software = || gpu::open(DeviceChoice::Software).map_or("wgpu", |_| "software");
    std::env::var("SMOLPILOT_TEST_DEVICE").unwrap_or_else(|_| software().to_owned())
}

/// The adapter named in `SMOLPILOT_TEST_DEVICE`, else a software one, else a hardware one. Only
/// `SMOLPILOT_NO_GPU_TESTS=1` excuses a machine without any.
fn gpu() -> Option<OpenedDevice> {
    if std::env::var("SMOLPILOT_NO_GPU_TESTS").as_deref() == Ok("1") {
        println!("SMOLPILOT_NO_GPU_TESTS=1: nothing was checked on wgpu");
        return None;
    }
    let opened = match std::env::var("SMOLPILOT_TEST_DEVICE") {
        Ok(wish) => gpu::open(wish.parse().unwrap()),
        Err(_) => gpu::open(DeviceChoice::Software).or_else(|_| gpu::open(DeviceChoice::Wgpu)),
    };
    Some(opened.unwrap_or_else(|error| {
        panic!(
            "{error}\nThese tests need one wgpu adapter; mesa-vulkan-drivers brings a software one. \
             SMOLPILOT_NO_GPU_TESTS=1 leaves them out."
        )
    }))
}
