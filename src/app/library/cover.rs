//! The small picture of an episode in a list.

use crate::observation::Frame;

/// Pixels at most, sides kept in proportion.
const WIDTH: u32 = 96;
const HEIGHT: u32 = 72;

/// A picture made small: each of its pixels is the mean of those it stands for.
pub fn cover(frame: &Frame, seq: u64) -> Option<Frame> {
    let step = frame
        .width
        .div_ceil(WIDTH)
        .max(frame.height.div_ceil(HEIGHT))
        .max(1);
    let (width, height) = (frame.width / step, frame.height / step);
    if width == 0 || height == 0 {
        return None;
    }
    let mut rgb = Vec::with_capacity((width * height * 3) as usize);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                rgb.push(mean(frame, [x * step, y * step], step, channel));
            }
        }
    }
    Frame::new(width, height, rgb, seq, frame.captured_at)
}

fn mean(frame: &Frame, [left, top]: [u32; 2], side: u32, channel: usize) -> u8 {
    let mut sum = 0_u32;
    for y in top..top + side {
        let row = y as usize * frame.width as usize;
        for x in left..left + side {
            sum += u32::from(frame.rgb[(row + x as usize) * 3 + channel]);
        }
    }
    (sum / (side * side)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_cover_keeps_its_shape_and_its_colours() {
        let pixel = |k: usize| {
            if k % 640 < 320 {
                [200, 0, 0]
            } else {
                [0, 0, 100]
            }
        };
        let rgb: Vec<u8> = (0..640 * 480).flat_map(pixel).collect();
        let frame = Frame::new(640, 480, rgb, 0, Duration::ZERO).unwrap();
        let small = cover(&frame, 7).unwrap();
        assert_eq!((small.width, small.height, small.seq), (91, 68, 7));
        assert_eq!(small.rgb[..3], [200, 0, 0]);
        assert_eq!(small.rgb[90 * 3..91 * 3], [0, 0, 100]);
        let tiny = Frame::new(3, 2, vec![9; 18], 0, Duration::ZERO).unwrap();
        assert_eq!(cover(&tiny, 1).unwrap().width, 3);
    }
}
