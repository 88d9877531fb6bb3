//! Weight matrices as kernels read them: rows of 16-byte groups, in f32, f16 or int8.

use half::f16;
use half::slice::HalfFloatSliceExt as _;
use rayon::prelude::*;
use serde::Serialize;

use super::{Buffer, Compute};

/// How weights lie in device memory. Kernels know it as `override FORMAT: u32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Four values in a `vec4<u32>`.
    #[default]
    F32,
    /// Eight; read with `unpack2x16float`, which every adapter has.
    F16,
    /// Sixteen, with one scale a row; read with `unpack4x8snorm`.
    I8,
}

impl Format {
    /// The value of the kernels' `FORMAT`.
    pub fn code(self) -> f64 {
        match self {
            Self::F32 => 0.0,
            Self::F16 => 1.0,
            Self::I8 => 2.0,
        }
    }

    /// Bits of one value.
    pub fn bits(self) -> usize {
        match self {
            Self::F32 => 32,
            Self::F16 => 16,
            Self::I8 => 8,
        }
    }
}

/// Words that are packed and written at a time: they fit into the cache of a few cores.
const PIECE: usize = 1 << 19;

/// Rows that are too few to be shared between cores.
const LEAST_ROWS: usize = 16;

/// A weight `[outputs, inputs]` on the device, as in the checkpoint: `y = x Wᵀ`.
///
/// Rows are padded with zeros to a multiple of 16 inputs, so that in every format a row is whole `vec4<u32>` groups.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub buffer: Buffer,
    /// One scale an output in [`Format::I8`]; otherwise a buffer of one word that is never read.
    pub scales: Buffer,
    pub outputs: usize,
    pub inputs: usize,
    /// `inputs` rounded up to a multiple of 16; the kernels' `K`.
    pub padded: usize,
    pub format: Format,
}

impl Matrix {
    /// Packs and uploads row-major values.
    ///
    /// # Errors
    /// In words: a value that f16 cannot hold, with its place.
    pub fn upload(
        compute: &Compute,
        label: &str,
        values: &[f32],
        [outputs, inputs]: [usize; 2],
        format: Format,
    ) -> Result<Self, String> {
        let padded = inputs.next_multiple_of(16);
        if format == Format::F16 {
            fit_halves(values, inputs)?;
        }
        let row = padded * format.bits() / 32;
        let buffer = compute.buffer(label, outputs * row);
        // A few rows at a time, on all cores, so that what is packed is written on from the cache.
        let rows = (PIECE / row.max(1)).max(1);
        let mut words = vec![0; rows * row];
        let mut scales = Vec::new();
        let pieces = values.chunks(rows * inputs.max(1));
        for (first, piece) in (0..outputs).step_by(rows).zip(pieces) {
            let count = piece.len() / inputs.max(1);
            let words = &mut words[..count * row];
            scales.extend(pack(words, piece, [inputs, row], format));
            compute.write(&buffer.slice(first * row, words.len()), words);
        }
        if format != Format::I8 {
            scales = vec![0.0];
        }
        Ok(Self {
            buffer,
            scales: compute.upload(label, &scales),
            outputs,
            inputs,
            padded,
            format,
        })
    }

    /// Bytes of the weight on the device.
    pub fn bytes(&self) -> u64 {
        (self.outputs * self.padded * self.format.bits() / 8) as u64
    }
}

/// Refuses what f16 cannot hold.
fn fit_halves(values: &[f32], inputs: usize) -> Result<(), String> {
    let too_big = |value: &f32| f16::from_f32(*value).is_infinite() || !value.is_finite();
    let Some(at) = values.par_iter().position_first(too_big) else {
        return Ok(());
    };
    let (row, column) = (at / inputs.max(1), at % inputs.max(1));
    Err(format!(
        "element [{row}, {column}] is {:e}, which f16 cannot hold; use `--precision f32`",
        values[at]
    ))
}

/// Packs whole rows of values into rows of words, which end in zeros, and returns a scale a row.
fn pack(words: &mut [u32], values: &[f32], [inputs, row]: [usize; 2], format: Format) -> Vec<f32> {
    let rows = words.par_chunks_exact_mut(row.max(1));
    rows.zip(values.par_chunks_exact(inputs.max(1)))
        .with_min_len(LEAST_ROWS)
        .map(|(words, values)| pack_row(words, values, format))
        .collect()
}

fn pack_row(words: &mut [u32], values: &[f32], format: Format) -> f32 {
    match format {
        Format::F32 => {
            let (filled, rest) = words.split_at_mut(values.len());
            filled.copy_from_slice(bytemuck::cast_slice(values));
            rest.fill(0);
            1.0
        }
        Format::F16 => {
            // The earlier value in the low half, as memory is on every machine that wgpu knows.
            let halves: &mut [f16] = bytemuck::cast_slice_mut(words);
            let (filled, rest) = halves.split_at_mut(values.len());
            filled.convert_from_f32_slice(values);
            rest.fill(f16::ZERO);
            1.0
        }
        Format::I8 => pack_bytes(words, values),
    }
}

/// Signed bytes and the scale of their row: value = scale · byte / 127.
fn pack_bytes(words: &mut [u32], values: &[f32]) -> f32 {
    let scale = row_scale(values);
    let inverse = if scale > 0.0 { 127.0 / scale } else { 0.0 };
    let bytes: &mut [i8] = bytemuck::cast_slice_mut(words);
    let (filled, rest) = bytes.split_at_mut(values.len());
    for (byte, value) in filled.iter_mut().zip(values) {
        *byte = (value * inverse).round() as i8;
    }
    rest.fill(0);
    scale
}

/// What a row's bytes are multiplied by: its largest number.
pub fn row_scale(row: &[f32]) -> f32 {
    row.iter()
        .fold(0.0_f32, |most, value| most.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_padded_and_packed() {
        let values = [1.0, -2.0, 0.5, 4.0, 8.0, -16.0];
        let packed = |format: Format| {
            let row = 16 * format.bits() / 32;
            // What lay there before must not shine through the padding.
            let mut words = vec![7; 2 * row];
            let scales = pack(&mut words, &values, [3, row], format);
            (words, scales)
        };
        let (words, _) = packed(Format::F32);
        assert_eq!(words[..4], [0x3f80_0000, 0xc000_0000, 0x3f00_0000, 0]);
        assert_eq!(words[16..20], [0x4080_0000, 0x4100_0000, 0xc180_0000, 0]);
        let (words, _) = packed(Format::F16);
        assert_eq!(words[..3], [0xc000_3c00, 0x0000_3800, 0]);
        assert_eq!(words[8..11], [0x4800_4400, 0x0000_cc00, 0]);
        let (words, scales) = packed(Format::I8);
        assert_eq!((words.len(), scales), (8, vec![2.0, 16.0]));
        assert_eq!(words[0].to_le_bytes(), [64, 129, 32, 0]);
        assert_eq!(words[1], 0);
    }

    #[test]
    fn what_f16_cannot_hold_is_named() {
        let words = fit_halves(&[1.0, 70_000.0], 2).unwrap_err();
        assert!(words.starts_with("element [0, 1] is 7e4"), "{words}");
        assert!(fit_halves(&[f32::NAN], 1).is_err());
        assert_eq!(fit_halves(&[65_504.0, -65_504.0], 1), Ok(()));
    }
}
