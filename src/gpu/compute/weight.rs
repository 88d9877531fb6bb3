//! Weight matrices as kernels read them: rows of 16-byte groups, in f32, f16 or int8.

use half::f16;
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
        let mut scales = vec![0.0];
        let words = match format {
            Format::F32 => padded_rows(values, inputs, padded)
                .map(f32::to_bits)
                .collect(),
            Format::F16 => halves(values, inputs, padded).map_err(|(at, value)| {
                format!(
                    "element [{}, {}] is {value:e}, which f16 cannot hold; use `--precision f32`",
                    at / inputs.max(1),
                    at % inputs.max(1)
                )
            })?,
            Format::I8 => {
                let (words, of_rows) = bytes(values, inputs, padded);
                scales = of_rows;
                words
            }
        };
        Ok(Self {
            buffer: compute.upload::<u32>(label, &words),
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

/// The values row by row, each row followed by zeros.
fn padded_rows(values: &[f32], inputs: usize, padded: usize) -> impl Iterator<Item = f32> {
    values.chunks_exact(inputs.max(1)).flat_map(move |row| {
        let zeros = std::iter::repeat_n(0.0, padded - inputs);
        row.iter().copied().chain(zeros)
    })
}

/// Two values a word, the earlier in the low half.
fn halves(values: &[f32], inputs: usize, padded: usize) -> Result<Vec<u32>, (usize, f32)> {
    let too_big = |value: &f32| f16::from_f32(*value).is_infinite() || !value.is_finite();
    if let Some(at) = values.iter().position(too_big) {
        return Err((at, values[at]));
    }
    let bits: Vec<u16> = padded_rows(values, inputs, padded)
        .map(|value| f16::from_f32(value).to_bits())
        .collect();
    let word = |pair: &[u16; 2]| u32::from(pair[0]) | u32::from(pair[1]) << 16;
    Ok(bits.as_chunks::<2>().0.iter().map(word).collect())
}

/// Four values a word as signed bytes, and the scale of each row: value = scale · byte / 127.
fn bytes(values: &[f32], inputs: usize, padded: usize) -> (Vec<u32>, Vec<f32>) {
    let mut words = Vec::with_capacity(values.len() / inputs.max(1) * padded / 4);
    let mut scales = Vec::new();
    for row in values.chunks_exact(inputs.max(1)) {
        let scale = row_scale(row);
        let inverse = if scale > 0.0 { 127.0 / scale } else { 0.0 };
        let quantized: Vec<u8> = padded_rows(row, inputs, padded)
            .map(|value| ((value * inverse).round() as i8).cast_unsigned())
            .collect();
        words.extend(
            quantized
                .as_chunks::<4>()
                .0
                .iter()
                .map(|four| u32::from_le_bytes(*four)),
        );
        scales.push(scale);
    }
    (words, scales)
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
        let halves = halves(&values, 3, 16).unwrap();
        assert_eq!(halves.len(), 16);
        assert_eq!(halves[0], 0xc000_3c00);
        assert_eq!(halves[1], 0x0000_3800);
        assert_eq!(halves[8], 0x4800_4400);
        let (words, scales) = bytes(&values, 3, 16);
        assert_eq!((words.len(), scales), (8, vec![2.0, 16.0]));
        assert_eq!(words[0].to_le_bytes(), [64, 129, 32, 0]);
    }

    #[test]
    fn what_f16_cannot_hold_is_named() {
        assert_eq!(halves(&[1.0, 70_000.0], 2, 16), Err((1, 70_000.0)));
        assert!(halves(&[f32::NAN], 1, 16).is_err());
    }
}
