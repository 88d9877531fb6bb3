//! Means and deviations of the rows of the residual stream, and the sum of what split products left for it.

use bytemuck::{Pod, Zeroable};

use super::launches::Launches;
use crate::gpu::compute::{Binding, Compute, Dispatch, Error, KernelSpec, Slice, Work};
use crate::gpu::shaders;

/// One pass over the rows of `x`.
#[derive(Clone, Debug)]
pub struct Rows {
    pub rows: usize,
    pub width: usize,
    /// Words between rows of `x`.
    pub step: usize,
    pub eps: f64,
    /// Around the mean (layer norm), or around zero.
    pub centred: bool,
    pub x: Slice,
    pub added: Option<Added>,
    pub result: Result,
}

/// Sums over slices of the inputs, still to be added to `x`.
#[derive(Clone, Debug)]
pub struct Added {
    pub parts: Slice,
    pub count: usize,
    /// Words between parts, and between rows of a part.
    pub part_step: usize,
    pub row_step: usize,
    pub bias: Option<Slice>,
}

/// What is found out about each row.
#[derive(Clone, Debug)]
pub enum Result {
    /// Mean and reciprocal deviation, two words a row.
    Stats(Slice),
    /// The normalised row, laid out like `x`.
    Normed { gains: Slice, out: Slice },
}

/// The uniform of a launch. Twin: `Params` of `shaders/norm`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct Params {
    width: u32,
    step: u32,
    parts: u32,
    part_step: u32,
    part_row: u32,
    biased: u32,
    eps: f32,
    unused: u32,
}

/// What its launches share.
#[derive(Debug)]
pub struct Norm {
    launches: Launches<Params>,
}

/// Gain and offset of a norm as kernels read them: four gains, their four offsets, and so on, padded with zeros to a multiple of 16
/// channels. A norm without offset has zeros there.
pub fn gains(gain: &[f32], offset: &[f32]) -> Vec<f32> {
    let padded = gain.len().next_multiple_of(16);
    let at = |values: &[f32], i: usize| values.get(i).copied().unwrap_or(0.0);
    (0..padded / 4)
        .flat_map(|four| [gain, offset].map(|values| (four, values)))
        .flat_map(|(four, values)| (4 * four..4 * four + 4).map(move |i| at(values, i)))
        .collect()
}

impl Norm {
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
        rows: &Rows,
    ) -> std::result::Result<Dispatch, Error> {
        use Binding::{Read, Uniform, Write};
        let applies = matches!(rows.result, Result::Normed { .. });
        let switches = [rows.added.is_some(), rows.centred, applies];
        let [add, centred, apply] = switches.map(|on| f64::from(u8::from(on)));
        let spec = KernelSpec {
            shader: shaders::NORM,
            half: false,
            bindings: &[Uniform, Read, Read, Read, Write, Write],
            constants: &[("ADD", add), ("CENTRED", centred), ("APPLY", apply)],
        };
        let kernel = self.launches.compute().kernel(&spec);
        let uniform = self.launches.uniform(rows.params());
        let added = rows.added.as_ref();
        let (gains, out) = match &rows.result {
            Result::Stats(out) => (None, out),
            Result::Normed { gains, out } => (Some(gains), out),
        };
        let launches = &self.launches;
        let slices = [
            uniform,
            launches.or_unread(added.map(|added| &added.parts)),
            launches.or_unread(added.and_then(|added| added.bias.as_ref())),
            launches.or_unread(gains),
            rows.x.clone(),
            out.clone(),
        ];
        let bound = launches.compute().bind(&kernel, &slices);
        Ok(bound.over(label, [rows.rows as u32, 1, 1], rows.work()))
    }
}

impl Rows {
    fn params(&self) -> Params {
        let plain = Params {
            width: self.width as u32,
            step: self.step as u32,
            eps: self.eps as f32,
            ..Params::default()
        };
        match &self.added {
            None => plain,
            Some(added) => Params {
                parts: added.count as u32,
                part_step: added.part_step as u32,
                part_row: added.row_step as u32,
                biased: u32::from(added.bias.is_some()),
                ..plain
            },
        }
    }

    fn work(&self) -> Work {
        let values = (self.rows * self.width) as u64;
        let added = self
            .added
            .as_ref()
            .map_or(0, |added| added.count as u64 + 1);
        let applied = u64::from(matches!(self.result, Result::Normed { .. }));
        Work {
            flops: 0,
            bytes: 4 * (values * (1 + added + applied) + 2 * self.rows as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::kernels::testing;

    /// Sums of a hundred f32 numbers.
    const TOLERANCE: f64 = 2e-6;

    struct Case {
        rows: usize,
        width: usize,
        centred: bool,
        added: usize,
        applied: bool,
    }

    #[test]
    fn rows_are_summed_and_measured() {
        let Some(compute) = testing::compute() else {
            return;
        };
        let mut norm = Norm::new(&compute);
        for (centred, added, applied) in [
            (true, 0, false),
            (false, 3, false),
            (true, 1, true),
            (false, 0, true),
        ] {
            let case = Case {
                rows: 5,
                width: 200,
                centred,
                added,
                applied,
            };
            check(&compute, &mut norm, &case);
        }
    }

    fn check(compute: &Compute, norm: &mut Norm, case: &Case) {
        let (rows, width) = (case.rows, case.width);
        let step = width.next_multiple_of(16);
        // Far from zero: a variance by mean squares would lose its digits.
        let x: Vec<f32> = testing::noise("x", rows * step)
            .iter()
            .map(|value| value + 30.0)
            .collect();
        let parts = testing::noise("parts", case.added * rows * width);
        let bias = testing::noise("bias", width);
        let (gain, offset) = (
            testing::noise("gain", width),
            testing::noise("offset", width),
        );
        let x_buffer = compute.upload("x", &x);
        let out = compute.buffer("out", rows * step);
        let result = if case.applied {
            Result::Normed {
                gains: compute.upload("gains", &gains(&gain, &offset)).whole(),
                out: out.whole(),
            }
        } else {
            Result::Stats(out.whole())
        };
        let added = (case.added > 0).then(|| Added {
            parts: compute.upload("parts", &parts).whole(),
            count: case.added,
            part_step: rows * width,
            row_step: width,
            bias: Some(compute.upload("bias", &bias).whole()),
        });
        let launch = Rows {
            rows,
            width,
            step,
            eps: 1e-5,
            centred: case.centred,
            x: x_buffer.whole(),
            added,
            result,
        };
        let dispatch = norm.dispatch("test", &launch).unwrap();
        let mut flow = compute.flow();
        flow.pass("test", &[dispatch], None);
        flow.submit();
        let ours = compute.read(&out.whole()).unwrap();
        for row in 0..rows {
            let value = |i: usize| {
                let parts = (0..case.added).map(|p| f64::from(parts[(p * rows + row) * width + i]));
                let bias = if case.added > 0 {
                    f64::from(bias[i])
                } else {
                    0.0
                };
                f64::from(x[row * step + i]) + bias + parts.sum::<f64>()
            };
            let values: Vec<f64> = (0..width).map(value).collect();
            let ours = &ours[if case.applied { row * step } else { 2 * row }..];
            compare(case, ours, &values, [&gain, &offset]);
        }
    }

    /// One row by its definition.
    fn compare(case: &Case, ours: &[f32], values: &[f64], [gain, offset]: [&[f32]; 2]) {
        let count = values.len() as f64;
        let mean = if case.centred {
            values.iter().sum::<f64>() / count
        } else {
            0.0
        };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = 1.0 / (squares / count + 1e-5).sqrt();
        if case.applied {
            let affine = gain.iter().zip(offset);
            let twin: Vec<f64> = values
                .iter()
                .zip(affine)
                .map(|(value, (gain, offset))| {
                    (value - mean) * deviation * f64::from(*gain) + f64::from(*offset)
                })
                .collect();
            // The mean itself is a rounded number near 30.
            assert!(testing::error(&ours[..values.len()], &twin) <= 10.0 * TOLERANCE);
            return;
        }
        for (ours, twin) in ours.iter().zip([mean, deviation]) {
            let apart = (f64::from(*ours) - twin).abs();
            assert!(apart <= TOLERANCE * twin.abs(), "{ours} {twin}");
        }
    }
}
