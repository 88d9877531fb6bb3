//! The house's compute kernels, one a file: how each is compiled, bound and launched, and what it must compute.

pub mod attention;
pub mod attention_suffix;
mod launches;
pub mod matmul;
pub mod norm;
pub mod prefix;
pub mod skinny;

#[cfg(test)]
pub(crate) mod testing {
    //! One device for every kernel's twin test.

    use std::sync::OnceLock;

    use crate::gpu::compute::Compute;
    use crate::gpu::{self, DeviceChoice, OpenedDevice};

    /// A software adapter, else a hardware one. Only `SMOLPILOT_NO_GPU_TESTS=1` excuses a machine without any.
    pub fn opened() -> Option<OpenedDevice> {
        if std::env::var("SMOLPILOT_NO_GPU_TESTS").as_deref() == Ok("1") {
            return None;
        }
        let opened = gpu::open(DeviceChoice::Software);
        let opened = opened.or_else(|_| gpu::open(DeviceChoice::Wgpu));
        Some(opened.unwrap_or_else(|error| {
            panic!("{error}; SMOLPILOT_NO_GPU_TESTS=1 leaves these tests out")
        }))
    }

    /// Its own kernels' side.
    pub fn compute() -> Option<Compute> {
        static COMPUTE: OnceLock<Option<Compute>> = OnceLock::new();
        COMPUTE
            .get_or_init(|| opened()?.setup.as_ref().map(Compute::new))
            .clone()
    }

    /// Numbers between -1 and 1, the same on every machine.
    pub fn noise(name: &str, count: usize) -> Vec<f32> {
        // A linear congruence, seeded by the name: the policy room's generator is a floor above.
        let seed = name.bytes().fold(0x9E37_79B9_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / (1_u64 << 23) as f32) - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// The largest difference, relative to the largest number.
    pub fn error(ours: &[f32], twin: &[f64]) -> f64 {
        assert_eq!(ours.len(), twin.len());
        let size = twin
            .iter()
            .fold(1e-3_f64, |size, value| size.max(value.abs()));
        let differences = ours.iter().zip(twin).map(|(ours, twin)| {
            assert!(ours.is_finite(), "a number is none");
            (f64::from(*ours) - twin).abs()
        });
        differences.fold(0.0, f64::max) / size
    }
}
