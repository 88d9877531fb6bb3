//! The VLM's word table. It stays in host memory: a prompt needs a few dozen of its 49280 rows, never the 189 MB.

use half::bf16;

use super::error::{NetworkError, Result};
use super::weights::Weights;

/// Rows that are widened at once while the table is read.
const ROWS_AT_ONCE: usize = 8192;

/// `embed_tokens.weight` on the host, half as large where the checkpoint's numbers allow it without loss.
#[derive(Debug)]
pub(super) struct TokenTable {
    width: usize,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    /// Every value is exact in bf16.
    Bf16(Vec<bf16>),
    F32(Vec<f32>),
}

impl TokenTable {
    /// Copies the table; a file behind `weights` may change or go away afterwards.
    pub(super) fn load(
        weights: &mut Weights<'_>,
        name: &str,
        vocab: usize,
        width: usize,
    ) -> Result<Self> {
        let mut rows = Rows::Bf16(Vec::with_capacity(vocab * width));
        for from in (0..vocab).step_by(ROWS_AT_ONCE) {
            let to = vocab.min(from + ROWS_AT_ONCE);
            let ids: Vec<u32> = (from as u32..to as u32).collect();
            let part =
                weights
                    .source()
                    .rows(name, &ids)
                    .map_err(|source| NetworkError::Tensor {
                        name: name.to_owned(),
                        source,
                    })?;
            if part.shape != [ids.len(), width] || part.values.len() != ids.len() * width {
                return Err(NetworkError::Shape {
                    name: name.to_owned(),
                    expected: vec![ids.len(), width],
                    found: part.shape,
                });
            }
            weights.advance(part.values.len());
            rows.append(&part.values);
        }
        Ok(Self { width, rows })
    }

    /// Number of rows.
    pub(super) fn vocab(&self) -> usize {
        match &self.rows {
            Rows::Bf16(values) => values.len() / self.width,
            Rows::F32(values) => values.len() / self.width,
        }
    }

    /// Appends the row of `token`, times `scale`.
    pub(super) fn push(&self, to: &mut Vec<f32>, token: u32, scale: f32) -> Result<()> {
        let vocab = self.vocab();
        if token as usize >= vocab {
            return Err(NetworkError::Input(format!(
                "token id {token} is outside the vocabulary of {vocab}; tokenizer and checkpoint do not belong together"
            )));
        }
        let from = token as usize * self.width;
        let row = from..from + self.width;
        match &self.rows {
            Rows::Bf16(values) => to.extend(values[row].iter().map(|v| v.to_f32() * scale)),
            Rows::F32(values) => to.extend(values[row].iter().map(|v| v * scale)),
        }
        Ok(())
    }
}

impl Rows {
    fn append(&mut self, part: &[f32]) {
        let exact = |value: &f32| value.to_bits().trailing_zeros() >= 16;
        if let Self::Bf16(values) = self
            && !part.iter().all(exact)
        {
            *self = Self::F32(values.iter().map(|value| value.to_f32()).collect());
        }
        match self {
            Self::Bf16(values) => values.extend(part.iter().map(|&value| bf16::from_f32(value))),
            Self::F32(values) => values.extend_from_slice(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_whichever_way_they_are_kept() {
        let mut rows = Rows::Bf16(Vec::new());
        rows.append(&[1.0, -2.5]);
        assert!(matches!(rows, Rows::Bf16(_)));
        rows.append(&[0.1, 3.0]);
        let table = TokenTable { width: 2, rows };
        assert!(matches!(table.rows, Rows::F32(_)));
        let mut out = Vec::new();
        table.push(&mut out, 0, 2.0).unwrap();
        table.push(&mut out, 1, 1.0).unwrap();
        assert_eq!(out, [2.0, -5.0, 0.1, 3.0]);
        assert!(table.push(&mut out, 2, 1.0).is_err());
    }
}
