//! Who may look at whom: attention masks and positions from padding and block flags, on the host.

use burn::tensor::{Device, Tensor};

use super::weights::placed;

/// What a masked score is raised by: the least finite f32, so that a wholly masked row becomes uniform instead of NaN.
pub(super) const MASKED: f32 = f32::MIN;

/// Mirrors `make_att_2d_masks`: `visible[q * len + k]`. Tokens of one block see each other and all blocks before; a flag in
/// `att_masks` opens a new block. Padding sees nothing and is not seen.
pub fn att_2d_masks(pad_masks: &[bool], att_masks: &[bool]) -> Vec<bool> {
    let block: Vec<usize> = att_masks
        .iter()
        .scan(0, |block, &opens| {
            *block += usize::from(opens);
            Some(*block)
        })
        .collect();
    let len = pad_masks.len();
    (0..len * len)
        .map(|at| {
            let (q, k) = (at / len, at % len);
            block[k] <= block[q] && pad_masks[q] && pad_masks[k]
        })
        .collect()
}

/// `cumsum(pad_masks) − 1`: padding repeats the position before it.
pub fn position_ids(pad_masks: &[bool]) -> Vec<i64> {
    pad_masks
        .iter()
        .scan(-1, |position, &valid| {
            *position += i64::from(valid);
            Some(*position)
        })
        .collect()
}

/// The mask of a prefix without inner padding: `len` valid tokens of `padded`, of which the last is the state, which
/// sees everything and is seen by nobody else.
pub(super) fn prefix_visible(len: usize, padded: usize) -> Vec<bool> {
    let pad: Vec<bool> = (0..padded).map(|at| at < len).collect();
    let att: Vec<bool> = (0..padded).map(|at| at + 1 == len).collect();
    att_2d_masks(&pad, &att)
}

/// The mask of the suffix in a self-attention layer, `[chunk, padded + chunk]`: every action sees the valid prefix and, because each
/// suffix token opens a block, itself and the actions before it.
pub(super) fn suffix_visible(len: usize, padded: usize, chunk: usize) -> Vec<bool> {
    let keys = padded + chunk;
    (0..chunk * keys)
        .map(|at| {
            let (q, k) = (at / keys, at % keys);
            if k < padded { k < len } else { k - padded <= q }
        })
        .collect()
}

/// A mask as numbers to add to the scores.
///
/// # Shapes
/// `visible` is `[batch * rows * keys]`; the answer is `[batch, 1, rows, keys]` for all heads.
pub(super) fn bias(
    visible: &[bool],
    [batch, rows, keys]: [usize; 3],
    device: &Device,
) -> Tensor<4> {
    let values: Vec<f32> = visible
        .iter()
        .map(|&visible| if visible { 0.0 } else { MASKED })
        .collect();
    placed(values, [batch, 1, rows, keys], device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_sees_all_and_is_seen_by_itself_only() {
        let visible = prefix_visible(3, 4);
        #[rustfmt::skip]
        let want = [
            true,  true,  false, false,
            true,  true,  false, false,
            true,  true,  true,  false,
            false, false, false, false,
        ];
        assert_eq!(visible, want);
    }

    #[test]
    fn actions_look_back_and_at_the_valid_prefix() {
        let visible = suffix_visible(1, 2, 2);
        assert_eq!(visible, [true, false, true, false, true, false, true, true]);
    }

    #[test]
    fn padding_repeats_a_position() {
        assert_eq!(
            position_ids(&[true, false, true, true, false]),
            [0, 0, 1, 2, 2]
        );
    }
}
