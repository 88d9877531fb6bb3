//! A quick look at how fast a device multiplies matrices of the network's shapes, to foretell the time of a chunk.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use burn::tensor::{Device, Tensor};
use serde::Serialize;

use crate::cli::cost::ChunkCost;

/// The shapes that dominate each stage of the 450M model, `[rows, inner, columns]`.
const VISION: [usize; 3] = [1024, 768, 3072];
const PREFIX: [usize; 3] = [192, 960, 2560];
const DENOISE: [usize; 3] = [50, 720, 2048];

/// Products are repeated for so long, and at least twice; the fastest counts.
const TIME: Duration = Duration::from_millis(300);

/// The network does more than multiply: with softmax, norms and activations a chunk of the 450M model took 12 CPU-seconds
/// on two cores whose products alone would have taken 10.
const OVERHEAD: f64 = 1.2;

/// Speed of each stage's products, GFLOP/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    pub vision: f64,
    pub prefix: f64,
    pub denoise: f64,
}

impl Speed {
    /// Measures a device; takes about a second, longer where kernels must be compiled.
    ///
    /// # Errors
    /// The device fails.
    pub fn measure(device: &Device) -> anyhow::Result<Self> {
        Ok(Self {
            vision: gflops(VISION, device)?,
            prefix: gflops(PREFIX, device)?,
            denoise: gflops(DENOISE, device)?,
        })
    }

    /// Seconds that a chunk of this cost takes, roughly.
    pub fn seconds(&self, cost: &ChunkCost) -> f64 {
        let stage = |flops: u64, speed: f64| flops as f64 / 1e9 / speed;
        OVERHEAD
            * (stage(cost.vision.flops, self.vision)
                + stage(cost.prefix.flops, self.prefix)
                + stage(cost.denoise.flops, self.denoise))
    }
}

fn gflops([rows, inner, columns]: [usize; 3], device: &Device) -> anyhow::Result<f64> {
    let a = Tensor::<2>::ones([rows, inner], device);
    let b = Tensor::<2>::ones([inner, columns], device);
    let product = || {
        let start = Instant::now();
        let corner = a.clone().matmul(b.clone()).slice([0..1, 0..1]);
        let value = corner.try_into_vec_as::<f32>();
        let took = start.elapsed();
        match value.as_deref() {
            Ok([sum]) if *sum == inner as f32 => Ok(took),
            Ok(wrong) => Err(anyhow!(
                "the device multiplies wrongly: {wrong:?} instead of {inner}"
            )),
            Err(error) => Err(anyhow!("the device failed in a matrix product: {error}")),
        }
    };
    product()?;
    let begun = Instant::now();
    let mut best = product()?;
    while begun.elapsed() < TIME {
        best = best.min(product()?);
    }
    let flops = 2.0 * rows as f64 * inner as f64 * columns as f64;
    Ok(flops / best.as_secs_f64() / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::cost::Cost;

    #[test]
    fn a_chunk_takes_its_work_over_the_speed_of_each_stage() {
        let stage = |giga: u64| Cost {
            flops: giga * 1_000_000_000,
            bytes_read: 0,
        };
        let cost = ChunkCost {
            vision: stage(100),
            prefix: stage(20),
            denoise: stage(30),
        };
        let speed = Speed {
            vision: 100.0,
            prefix: 40.0,
            denoise: 20.0,
        };
        assert!((speed.seconds(&cost) - OVERHEAD * 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_cpu_can_be_measured() {
        let speed = Speed::measure(&Device::flex()).unwrap();
        assert!(speed.vision > 0.0 && speed.prefix > 0.0 && speed.denoise > 0.0);
    }
}
