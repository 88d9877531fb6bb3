//! A chunk that fails half-way must not leave the next one with plans over memory that has moved.

use super::*;
use crate::gpu::kernels::testing;
use crate::policy::seeded::{Precision, Seeded};
use crate::policy::smolvla::tiny;

fn load(compute: &Compute) -> PreparedSmolVla {
    let architecture = tiny::architecture();
    let source = Seeded::new(&architecture, 7, Precision::F32);
    let (device, format) = (Device::flex(), Format::F32);
    PreparedSmolVla::load(
        &architecture,
        &source,
        &device,
        compute,
        format,
        &mut |_| (),
    )
    .unwrap()
}

fn fly(network: &mut PreparedSmolVla, input: &NetworkInput, steps: usize) -> Result<Vec<f32>> {
    let sample = network.sample_actions(input, steps, None, &mut Trace::off())?;
    Ok(sample.actions)
}

/// One camera, then a failure after two were looked at, then the one with another picture.
#[test]
fn an_older_picture_is_never_seen_again() {
    let Some(compute) = testing::compute() else {
        return;
    };
    let (mut network, both) = (load(&compute), tiny::input(&tiny::architecture(), 1));
    let mut one = both.clone();
    one.images[1].present = vec![false];
    let before = fly(&mut network, &one, 3).unwrap();
    assert!(fly(&mut network, &both, 0).is_err());
    for pixel in &mut one.images[0].pixels {
        *pixel = -*pixel;
    }
    let after = fly(&mut network, &one, 3).unwrap();
    assert_ne!(after, before);
    assert_eq!(after, fly(&mut load(&compute), &one, 3).unwrap());
}

#[test]
fn keys_and_values_follow_where_the_expert_looks() {
    let Some(compute) = testing::compute() else {
        return;
    };
    let (mut network, input) = (load(&compute), tiny::input(&tiny::architecture(), 1));
    let before = fly(&mut network, &input, 3).unwrap();
    // As a longer prompt does, whose chunk then fails.
    network.expert.prepare(500, 3).unwrap();
    assert_eq!(fly(&mut network, &input, 3).unwrap(), before);
}
