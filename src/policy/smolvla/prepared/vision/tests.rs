//! Pictures in passes of any size come out alike, whatever was looked at before.

use burn::tensor::Device;

use super::*;
use crate::gpu::compute::{Compute, Format};
use crate::gpu::kernels::testing;
use crate::policy::seeded::{Precision, Seeded};
use crate::policy::smolvla::prefix::by_size;
use crate::policy::smolvla::tiny;
use crate::policy::smolvla::weights::Weights;

/// Sums in another order, because a product is cut along its inputs in another way.
const TOLERANCE: f64 = 2e-6;

fn load(compute: &Compute, architecture: &Architecture) -> PreparedVision {
    let source = Seeded::new(architecture, 5, Precision::F32);
    let (device, progress) = (Device::flex(), &mut |_| ());
    let mut loader = Loader {
        weights: &mut Weights::new(&source, &device, progress),
        compute,
        format: Format::F32,
    };
    PreparedVision::load(&mut loader, architecture).unwrap()
}

/// Features with their parts added, token by token.
fn look(vision: &mut PreparedVision, kernels: &mut Kernels, pictures: &Pictures<'_>) -> Vec<f32> {
    vision
        .prepare(kernels, Geometry::of(Some(pictures)))
        .unwrap();
    vision.write(kernels, pictures);
    let mut flow = kernels.compute.flow();
    vision.encode(&mut flow);
    flow.submit();
    let features = vision.features().unwrap();
    let all = kernels.compute.read(&features.values).unwrap();
    let part = |i: usize| {
        (0..features.parts)
            .map(|p| all[p * features.part_step + i])
            .sum()
    };
    (0..features.part_step).map(part).collect()
}

#[test]
fn pictures_pass_one_by_one_where_a_binding_is_small() {
    let Some(compute) = testing::compute() else {
        return;
    };
    let architecture = tiny::architecture();
    let input = tiny::input(&architecture, 1);
    let both = by_size(&input, usize::MAX).pop().unwrap();
    let first = by_size(&input, 1).remove(0);
    let mut kernels = Kernels::new(&compute, false);
    let mut vision = load(&compute, &architecture);
    let together = look(&mut vision, &mut kernels, &both);
    assert_eq!(vision.sequence().unwrap().launches(), 7 * 2 + 3);
    let alone = look(&mut vision, &mut kernels, &first);
    assert_eq!(
        look(&mut vision, &mut kernels, &both),
        together,
        "a picture less was seen before"
    );
    vision.binding_words = 1;
    vision.plan = None;
    let apart = look(&mut vision, &mut kernels, &both);
    assert_eq!(vision.sequence().unwrap().launches(), 2 * (7 * 2 + 3));
    let twin = |values: &[f32]| {
        values
            .iter()
            .map(|value| f64::from(*value))
            .collect::<Vec<_>>()
    };
    assert!(testing::error(&apart, &twin(&together)) <= TOLERANCE);
    assert!(testing::error(&alone, &twin(&together[..alone.len()])) <= TOLERANCE);
}

#[test]
fn pictures_that_cannot_be_cut_are_named() {
    let Some(compute) = testing::compute() else {
        return;
    };
    let mut kernels = Kernels::new(&compute, false);
    let mut vision = load(&compute, &tiny::architecture());
    for (height, width, says) in [
        (60, 64, "patches of 8"),
        (64, 32, "square"),
        (40, 40, "by 4"),
    ] {
        let geometry = Geometry {
            pictures: 1,
            height,
            width,
        };
        let refused = vision
            .prepare(&mut kernels, geometry)
            .unwrap_err()
            .to_string();
        assert!(refused.contains(says), "{refused}");
    }
}
