//! The kernel that lays out what the VLM reads: features, embedded words and the state, each in its row.

use bytemuck::{Pod, Zeroable};

use super::launches::Launches;
use crate::gpu::compute::{Binding, Compute, Dispatch, Error, KernelSpec, Slice, Work};
use crate::gpu::shaders;

/// Where a row of the prefix comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A token of the connector.
    Feature(usize),
    /// A row that the host sent.
    Host(usize),
    /// The projected state.
    State,
}

impl Source {
    /// Twin: `sources` of `shaders/prefix`.
    pub fn code(self) -> u32 {
        match self {
            Self::Feature(row) => row as u32,
            Self::Host(row) => row as u32 | 1 << 30,
            Self::State => 1 << 31,
        }
    }
}

/// One layout and all that it touches.
#[derive(Clone, Debug)]
pub struct Assembly {
    pub rows: usize,
    pub width: usize,
    /// Words between rows of the prefix.
    pub step: usize,
    /// One [`Source::code`] a row.
    pub sources: Slice,
    pub features: Features,
    /// `[rows, width]`
    pub host_rows: Slice,
    pub state: Slice,
    pub state_width: usize,
    /// `[width, state_width]`
    pub weight: Slice,
    pub bias: Slice,
    pub x: Slice,
}

/// The connector's output, in parts that are still to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    pub values: Slice,
    pub parts: usize,
    /// Words between parts, and between rows.
    pub part_step: usize,
    pub row_step: usize,
    /// What they are multiplied by.
    pub scale: f32,
}

/// The uniform of a launch. Twin: `Params` of `shaders/prefix`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct Params {
    width: u32,
    step: u32,
    parts: u32,
    part_step: u32,
    feature_row: u32,
    state_width: u32,
    scale: f32,
    unused: u32,
}

/// What its launches share.
#[derive(Debug)]
pub struct Prefix {
    launches: Launches<Params>,
}

impl Prefix {
    pub fn new(compute: &Compute) -> Self {
        Self {
            launches: Launches::new(compute),
        }
    }

    /// Prepares one launch.
    ///
    /// # Errors
    /// The driver refuses the kernel.
    pub fn dispatch(
        &mut self,
        label: impl Into<String>,
        assembly: &Assembly,
    ) -> Result<Dispatch, Error> {
        use Binding::{Read, Uniform, Write};
        let spec = KernelSpec {
            shader: shaders::PREFIX,
            half: false,
            bindings: &[Uniform, Read, Read, Read, Read, Read, Read, Write],
            constants: &[],
        };
        let kernel = self.launches.compute().kernel(&spec);
        let features = &assembly.features;
        let uniform = self.launches.uniform(Params {
            width: assembly.width as u32,
            step: assembly.step as u32,
            parts: features.parts as u32,
            part_step: features.part_step as u32,
            feature_row: features.row_step as u32,
            state_width: assembly.state_width as u32,
            scale: features.scale,
            unused: 0,
        });
        let slices = [
            uniform,
            assembly.sources.clone(),
            features.values.clone(),
            assembly.host_rows.clone(),
            assembly.state.clone(),
            assembly.weight.clone(),
            assembly.bias.clone(),
            assembly.x.clone(),
        ];
        let bound = self.launches.compute().bind(&kernel, &slices);
        let values = (assembly.rows * assembly.width) as u64;
        let projected = (assembly.width * assembly.state_width) as u64;
        let work = Work {
            flops: 2 * projected,
            bytes: 4 * (values * (1 + features.parts as u64) + projected),
        };
        Ok(bound.over(label, [assembly.rows as u32, 1, 1], work))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::kernels::testing;

    #[test]
    fn each_row_comes_from_its_source() {
        let Some(compute) = testing::compute() else {
            return;
        };
        let (width, step, state_width) = (70, 80, 5);
        let features = testing::noise("features", 2 * 3 * step);
        let host = testing::noise("host", 2 * width);
        let state = testing::noise("state", state_width);
        let weight = testing::noise("weight", width * state_width);
        let bias = testing::noise("bias", width);
        let sources = [
            Source::Host(1),
            Source::Feature(2),
            Source::Feature(0),
            Source::State,
            Source::Host(0),
        ];
        let x = compute.buffer("x", sources.len() * step);
        let upload = |values: &[f32]| compute.upload("test", values).whole();
        let assembly = Assembly {
            rows: sources.len(),
            width,
            step,
            sources: compute.upload("test", &sources.map(Source::code)).whole(),
            features: Features {
                values: upload(&features),
                parts: 2,
                part_step: 3 * step,
                row_step: step,
                scale: 3.0,
            },
            host_rows: upload(&host),
            state: upload(&state),
            state_width,
            weight: upload(&weight),
            bias: upload(&bias),
            x: x.whole(),
        };
        let dispatch = Prefix::new(&compute).dispatch("test", &assembly).unwrap();
        let mut flow = compute.flow();
        flow.pass("test", &[dispatch], None);
        flow.submit();
        let ours = compute.read(&x.whole()).unwrap();
        for (row, source) in sources.iter().enumerate() {
            let twin: Vec<f64> = (0..width)
                .map(|i| match *source {
                    Source::Host(row) => f64::from(host[row * width + i]),
                    Source::Feature(row) => {
                        let part = |p: usize| f64::from(features[(p * 3 + row) * step + i]);
                        3.0 * (part(0) + part(1))
                    }
                    Source::State => {
                        let product =
                            |j: usize| f64::from(weight[i * state_width + j]) * f64::from(state[j]);
                        f64::from(bias[i]) + (0..state_width).map(product).sum::<f64>()
                    }
                })
                .collect();
            let error = testing::error(&ours[row * step..row * step + width], &twin);
            assert!(error <= 1e-6, "row {row}: {error:e}");
        }
    }
}
