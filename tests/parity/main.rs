//! SmolVLA against LeRobot 0.6.1, stage by stage, on the CPU and on whatever wgpu adapter this machine has.
//!
//! `cargo test --release --test parity -- --nocapture` prints the largest error of every stage.

mod reference;
mod report;
mod stages;
mod units;

use burn::tensor::Device;

use reference::Case;

/// Intermediates are a few dozen f32 sums of numbers up to 10 deep in another order than the reference's; an independent
/// implementation stays within 6e-6.
const STAGES: f32 = 5e-5;
/// Actions are of size 4.
const ACTIONS: f32 = 2e-5;
/// The network as it runs against its naive twin, on one device.
const TWINS: f32 = 2e-5;
/// One-line formulas in f32.
const FORMULAS: f32 = 2e-6;

#[test]
fn the_cpu_matches_the_reference() {
    let device = Device::flex();
    units::check(&device, "Flex");
    for name in stages::CASES {
        stages::check(&Case::open(name), &device, "Flex");
    }
}
