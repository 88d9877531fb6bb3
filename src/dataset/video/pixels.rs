//! RGB to what an encoder eats and back, with the numbers that every LeRobot decoder assumes: BT.601, limited range, 4:2:0.
//!
//! `Y = 16 + 65.481 R + 128.553 G + 24.966 B` for R, G, B from 0 to 1, and likewise for chroma, which is the mean of four pixels. On the
//! way back a pixel takes the chroma of its block as it is, as ffmpeg does where nobody asks for more.

use std::borrow::Cow;

use image::imageops::{self, FilterType};
use image::{ImageBuffer, Rgb};

use crate::observation::Frame;

/// Bits behind the point of the factors to YUV.
const SHIFT: u32 = 15;
/// 65.481, 128.553, 24.966 of 255; they sum to 219.
const Y: [i16; 3] = [8414, 16520, 3208];
/// −37.797, −74.203, 112 of 255; they sum to 0, so that grey has no colour.
const U: [i16; 3] = [-4857, -9535, 14392];
/// 112, −93.786, −18.214 of 255.
const V: [i16; 3] = [14392, -12051, -2341];

/// A picture in planes: full luma, and chroma of half the width and height, rounded up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct I420 {
    width: usize,
    height: usize,
    y: Vec<u8>,
    u: Vec<u8>,
    v: Vec<u8>,
    /// Red, green and blue of two rows.
    rows: [[Vec<u8>; 3]; 2],
}

impl I420 {
    pub fn black(width: u32, height: u32) -> Self {
        let (width, height) = (width as usize, height as usize);
        let chroma = width.div_ceil(2) * height.div_ceil(2);
        let row = || [(); 3].map(|()| vec![0; width]);
        Self {
            width,
            height,
            y: vec![16; width * height],
            u: vec![128; chroma],
            v: vec![128; chroma],
            rows: [row(), row()],
        }
    }

    /// Width and height of luma.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    pub fn y(&self) -> &[u8] {
        &self.y
    }

    pub fn u(&self) -> &[u8] {
        &self.u
    }

    pub fn v(&self) -> &[u8] {
        &self.v
    }

    /// Becomes the picture `rgb`, `width * height * 3` bytes; what is missing of it stays as it was.
    pub fn read_rgb(&mut self, rgb: &[u8]) {
        let Self {
            width,
            y,
            u,
            v,
            rows,
            ..
        } = self;
        let (width, half) = (*width, width.div_ceil(2));
        let [upper, lower] = rows;
        let pairs = rgb
            .chunks(2 * width * 3)
            .zip(y.chunks_mut(2 * width))
            .zip(u.chunks_mut(half).zip(v.chunks_mut(half)));
        for ((rgb, y), (u, v)) in pairs {
            let (rgb_upper, rgb_lower) = rgb.split_at((width * 3).min(rgb.len()));
            let (y_upper, y_lower) = y.split_at_mut(width);
            part(rgb_upper, upper);
            luma(upper, y_upper);
            if y_lower.is_empty() {
                chroma(upper, upper, u, v);
            } else {
                part(rgb_lower, lower);
                luma(lower, y_lower);
                chroma(upper, lower, u, v);
            }
        }
    }
}

/// Red, green and blue apart.
fn part(rgb: &[u8], [red, green, blue]: &mut [Vec<u8>; 3]) {
    let pixels = rgb.as_chunks::<3>().0;
    let planes = red.iter_mut().zip(green).zip(blue);
    for (&[r, g, b], ((red, green), blue)) in pixels.iter().zip(planes) {
        (*red, *green, *blue) = (r, g, b);
    }
}

fn luma([red, green, blue]: &[Vec<u8>; 3], y: &mut [u8]) {
    const HALF: i32 = (16 << SHIFT) + (1 << (SHIFT - 1));
    for (((y, &r), &g), &b) in y.iter_mut().zip(red).zip(green).zip(blue) {
        *y = ((weighted(Y, [r, g, b].map(i16::from)) + HALF) >> SHIFT) as u8;
    }
}

fn weighted(factors: [i16; 3], [r, g, b]: [i16; 3]) -> i32 {
    i32::from(factors[0]) * i32::from(r)
        + i32::from(factors[1]) * i32::from(g)
        + i32::from(factors[2]) * i32::from(b)
}

/// Chroma of two rows. A last column that stands alone counts twice.
fn chroma(upper: &[Vec<u8>; 3], lower: &[Vec<u8>; 3], u: &mut [u8], v: &mut [u8]) {
    // Of the sum of four pixels.
    const SHIFT_4: u32 = SHIFT + 2;
    const HALF: i32 = (128 << SHIFT_4) + (1 << (SHIFT_4 - 1));
    let [r0, g0, b0] = upper.each_ref().map(|row| row.as_chunks::<2>());
    let [r1, g1, b1] = lower.each_ref().map(|row| row.as_chunks::<2>());
    let sum = |[a, b]: [u8; 2], [c, d]: [u8; 2]| {
        i16::from(a) + i16::from(b) + i16::from(c) + i16::from(d)
    };
    let reds = r0.0.iter().zip(r1.0).map(|(&a, &b)| sum(a, b));
    let greens = g0.0.iter().zip(g1.0).map(|(&a, &b)| sum(a, b));
    let blues = b0.0.iter().zip(b1.0).map(|(&a, &b)| sum(a, b));
    let one = |factors, sums| ((weighted(factors, sums) + HALF) >> SHIFT_4) as u8;
    for (((u, v), (r, g)), b) in u
        .iter_mut()
        .zip(v.iter_mut())
        .zip(reds.zip(greens))
        .zip(blues)
    {
        *u = one(U, [r, g, b]);
        *v = one(V, [r, g, b]);
    }
    if let ([r0], [g0], [b0], [r1], [g1], [b1]) = (r0.1, g0.1, b0.1, r1.1, g1.1, b1.1)
        && let (Some(u), Some(v)) = (u.last_mut(), v.last_mut())
    {
        let sums = [(r0, r1), (g0, g1), (b0, b1)].map(|(&a, &b)| sum([a, a], [b, b]));
        *u = one(U, sums);
        *v = one(V, sums);
    }
}

/// How YUV becomes RGB: factors with 13 bits behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    black: i16,
    luma: i16,
    red_v: i16,
    green_u: i16,
    green_v: i16,
    blue_u: i16,
}

/// Bits behind the point of a [`Matrix`].
const BACK: u32 = 13;

impl Matrix {
    /// BT.601 and limited range: webcams, LeRobot, ourselves.
    pub const BT601: Self = Self::limited(0.299, 0.114);
    /// BT.709 and limited range: films of others from 720 rows on.
    pub const BT709: Self = Self::limited(0.2126, 0.0722);

    /// From the shares of red and blue in luma.
    const fn limited(red: f64, blue: f64) -> Self {
        Self::new(red, blue, 16, 255.0 / 219.0, 255.0 / 224.0)
    }

    /// The same with the full range, 0 to 255.
    #[must_use]
    pub const fn full_range(self) -> Self {
        if self.luma == Self::BT709.luma && self.red_v == Self::BT709.red_v {
            Self::new(0.2126, 0.0722, 0, 1.0, 1.0)
        } else {
            Self::new(0.299, 0.114, 0, 1.0, 1.0)
        }
    }

    const fn new(red: f64, blue: f64, black: i16, luma: f64, chroma: f64) -> Self {
        const ONE: f64 = (1 << BACK) as f64;
        let green = 1.0 - red - blue;
        let (from_v, from_u) = (2.0 * (1.0 - red) * chroma, 2.0 * (1.0 - blue) * chroma);
        Self {
            black,
            luma: (luma * ONE + 0.5) as i16,
            red_v: (from_v * ONE + 0.5) as i16,
            green_u: (from_u * blue / green * ONE + 0.5) as i16,
            green_v: (from_v * red / green * ONE + 0.5) as i16,
            blue_u: (from_u * ONE + 0.5) as i16,
        }
    }

    fn rgb(self, y: u8, u: u8, v: u8) -> [u8; 3] {
        let times = |factor: i16, value: i16| i32::from(factor) * i32::from(value);
        let y = times(self.luma, i16::from(y) - self.black) + (1 << (BACK - 1));
        let (u, v) = (i16::from(u) - 128, i16::from(v) - 128);
        [
            y + times(self.red_v, v),
            y - times(self.green_u, u) - times(self.green_v, v),
            y + times(self.blue_u, u),
        ]
        .map(|sum| (sum >> BACK).clamp(0, 255) as u8)
    }
}

/// The planes of a decoded picture, 8 bits each.
#[derive(Clone, Copy, Debug)]
pub struct Planes<'a> {
    pub width: usize,
    pub height: usize,
    pub y: &'a [u8],
    /// Empty, both, for a picture in grey.
    pub u: &'a [u8],
    pub v: &'a [u8],
    /// Bytes from row to row of luma and of chroma.
    pub strides: (usize, usize),
    /// Whether chroma has half the columns, and half the rows.
    pub halved: (bool, bool),
    pub matrix: Matrix,
}

impl Planes<'_> {
    /// RGB, row-major, `width * height * 3` bytes; `None` where a plane is too short.
    pub fn to_rgb(&self) -> Option<Vec<u8>> {
        let mut rgb = vec![0; self.width * self.height * 3];
        let mut wide = [vec![128; self.width], vec![128; self.width]];
        let (halved_x, halved_y) = self.halved;
        let chroma_width = if halved_x {
            self.width.div_ceil(2)
        } else {
            self.width
        };
        let grey = self.u.is_empty() && self.v.is_empty();
        for (row, rgb) in rgb.chunks_mut(self.width * 3).enumerate() {
            let y = self.y.get(row * self.strides.0..)?.get(..self.width)?;
            let chroma_row = if halved_y { row / 2 } else { row };
            if !grey && (row == 0 || !halved_y || row % 2 == 0) {
                for (plane, wide) in [self.u, self.v].into_iter().zip(&mut wide) {
                    let plane = plane
                        .get(chroma_row * self.strides.1..)?
                        .get(..chroma_width)?;
                    widen(plane, halved_x, wide);
                }
            }
            let [u, v] = &wide;
            let pixels = rgb.as_chunks_mut::<3>().0.iter_mut();
            for (pixel, ((&y, &u), &v)) in pixels.zip(y.iter().zip(u).zip(v)) {
                *pixel = self.matrix.rgb(y, u, v);
            }
        }
        Some(rgb)
    }
}

/// Each value twice where there is half of them.
fn widen(plane: &[u8], halved: bool, wide: &mut [u8]) {
    if halved {
        for (pair, &value) in wide.chunks_mut(2).zip(plane) {
            pair.fill(value);
        }
    } else {
        wide.copy_from_slice(plane);
    }
}

/// RGB of one size in another: itself where they are equal, else stretched.
pub fn fit(rgb: &[u8], from: (u32, u32), to: (u32, u32)) -> Cow<'_, [u8]> {
    if from == to {
        return Cow::Borrowed(rgb);
    }
    let Some(picture) = ImageBuffer::<Rgb<u8>, &[u8]>::from_raw(from.0, from.1, rgb) else {
        return Cow::Borrowed(rgb);
    };
    // The mean of the pixels that fall together is fast, and right where there are fewer; else what lies between is made up.
    let scaled = if to.0 <= from.0 && to.1 <= from.1 {
        imageops::thumbnail(&picture, to.0, to.1)
    } else {
        imageops::resize(&picture, to.0, to.1, FilterType::Triangle)
    };
    Cow::Owned(scaled.into_raw())
}

/// The picture at most `width` by `height`, its proportions kept; never larger than it is.
pub fn shrunk(frame: &Frame, width: u32, height: u32) -> Option<Frame> {
    let share = |most: u32, is: u32| f64::from(most.max(1)) / f64::from(is);
    let scale = share(width, frame.width)
        .min(share(height, frame.height))
        .min(1.0);
    let side = |is: u32| ((f64::from(is) * scale).round() as u32).max(1);
    let size = (side(frame.width), side(frame.height));
    let rgb = fit(&frame.rgb, (frame.width, frame.height), size);
    Frame::new(size.0, size.1, rgb.as_ref(), frame.seq, frame.captured_at)
}

/// The pixels that LeRobot takes for its statistics: each n-th of each n-th row, so that about 150 are left along the longer side of a
/// picture of 300 or more.
///
/// Source: `auto_downsample_height_width` in lerobot's `compute_stats.py`.
pub fn sampled(rgb: &[u8], width: u32, height: u32) -> impl Iterator<Item = [u8; 3]> {
    let longer = width.max(height);
    let step = if longer < 300 { 1 } else { longer / 150 } as usize;
    let row = (width as usize * 3).max(1);
    rgb.chunks_exact(row)
        .step_by(step)
        .flat_map(move |row| row.as_chunks::<3>().0.iter().step_by(step).copied())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What two roundings of the same sum can differ by.
    const ROUNDING: i32 = 1;

    fn noise(width: u32, height: u32) -> Vec<u8> {
        let mut state = 0x2545_f491_u32;
        (0..width * height * 3)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                (state >> 11) as u8
            })
            .collect()
    }

    /// The definition, slow and obvious.
    fn twin(rgb: &[u8], width: usize, height: usize) -> [Vec<u8>; 3] {
        let at = |x: usize, y: usize, c: usize| {
            f64::from(rgb[(y.min(height - 1) * width + x.min(width - 1)) * 3 + c]) / 255.0
        };
        let sum = |f: [f64; 3], p: [f64; 3]| f[0] * p[0] + f[1] * p[1] + f[2] * p[2];
        let mut planes = [vec![], vec![], vec![]];
        for y in 0..height {
            for x in 0..width {
                let pixel = [0, 1, 2].map(|c| at(x, y, c));
                let luma = 16.0 + sum([65.481, 128.553, 24.966], pixel);
                planes[0].push(luma.round() as u8);
                if x % 2 == 0 && y % 2 == 0 {
                    let mean = [0, 1, 2].map(|c| {
                        (at(x, y, c) + at(x + 1, y, c) + at(x, y + 1, c) + at(x + 1, y + 1, c))
                            / 4.0
                    });
                    let u = 128.0 + sum([-37.797, -74.203, 112.0], mean);
                    let v = 128.0 + sum([112.0, -93.786, -18.214], mean);
                    planes[1].push(u.round() as u8);
                    planes[2].push(v.round() as u8);
                }
            }
        }
        planes
    }

    fn largest_difference(a: &[u8], b: &[u8]) -> i32 {
        assert_eq!(a.len(), b.len());
        let differences = a
            .iter()
            .zip(b)
            .map(|(&a, &b)| (i32::from(a) - i32::from(b)).abs());
        differences.max().unwrap_or(0)
    }

    #[test]
    fn planes_are_those_of_the_definition_for_even_and_odd_sizes() {
        for (width, height) in [(64, 48), (7, 5), (1, 1), (2, 3), (33, 2)] {
            let rgb = noise(width, height);
            let mut picture = I420::black(width, height);
            picture.read_rgb(&rgb);
            let [y, u, v] = twin(&rgb, width as usize, height as usize);
            for (is, wanted) in [(picture.y(), y), (picture.u(), u), (picture.v(), v)] {
                assert!(
                    largest_difference(is, &wanted) <= ROUNDING,
                    "{width}x{height}"
                );
            }
        }
    }

    #[test]
    fn black_white_and_the_colours_have_the_standards_values() {
        for (rgb, yuv) in [
            ([0, 0, 0], [16, 128, 128]),
            ([255, 255, 255], [235, 128, 128]),
            ([128, 128, 128], [126, 128, 128]),
            ([255, 0, 0], [81, 90, 240]),
            ([0, 255, 0], [145, 54, 34]),
            ([0, 0, 255], [41, 240, 110]),
        ] {
            let mut picture = I420::black(2, 2);
            picture.read_rgb(&rgb.repeat(4));
            assert_eq!(
                [picture.y()[0], picture.u()[0], picture.v()[0]],
                yuv,
                "{rgb:?}"
            );
        }
    }

    #[test]
    fn there_and_back_keeps_a_smooth_picture() {
        /// Of 8 bits, rounded to 219 and 224 steps and back.
        const THERE_AND_BACK: i32 = 3;
        let (width, height) = (64_u32, 32_u32);
        let rgb: Vec<u8> = (0..height / 2)
            .flat_map(|y| [y, y])
            .flat_map(|y| (0..width / 2).flat_map(move |x| [(x, y), (x, y)]))
            .flat_map(|(x, y)| [x * 8, y * 15, 255 - x * 4].map(|value| value as u8))
            .collect();
        let mut picture = I420::black(width, height);
        picture.read_rgb(&rgb);
        let planes = Planes {
            width: 64,
            height: 32,
            y: picture.y(),
            u: picture.u(),
            v: picture.v(),
            strides: (64, 32),
            halved: (true, true),
            matrix: Matrix::BT601,
        };
        let back = planes.to_rgb().expect("the planes are whole");
        assert!(largest_difference(&back, &rgb) <= THERE_AND_BACK);
    }

    #[test]
    fn the_matrices_have_the_known_factors() {
        let near = |is: i16, wanted: f64| (f64::from(is) / 8192.0 - wanted).abs() < 1e-4;
        let bt601 = Matrix::BT601;
        assert!(
            near(bt601.luma, 1.164_38)
                && near(bt601.red_v, 1.596_03)
                && near(bt601.blue_u, 2.017_23)
        );
        assert!(near(bt601.green_u, 0.391_76) && near(bt601.green_v, 0.812_97));
        assert!(near(Matrix::BT709.red_v, 1.792_74) && near(Matrix::BT709.blue_u, 2.112_40));
        assert_eq!(Matrix::BT601.full_range().rgb(255, 128, 128), [255; 3]);
        assert!(near(Matrix::BT709.full_range().red_v, 1.5748));
    }

    #[test]
    fn short_planes_are_refused_and_grey_has_none() {
        let mut planes = Planes {
            width: 4,
            height: 2,
            y: &[235; 8],
            u: &[128; 2],
            v: &[128; 1],
            strides: (4, 2),
            halved: (true, true),
            matrix: Matrix::BT601,
        };
        assert!(planes.to_rgb().is_none());
        (planes.u, planes.v) = (&[], &[]);
        assert_eq!(planes.to_rgb(), Some(vec![255; 24]));
    }

    #[test]
    fn other_sizes_are_stretched_and_equal_ones_borrowed() {
        let rgb = [10, 20, 30].repeat(6 * 4);
        assert!(matches!(fit(&rgb, (6, 4), (6, 4)), Cow::Borrowed(_)));
        for to in [(2, 2), (5, 3), (12, 8), (3, 9)] {
            assert_eq!(
                *fit(&rgb, (6, 4), to),
                [10, 20, 30].repeat((to.0 * to.1) as usize)
            );
        }
    }

    #[test]
    fn a_thumbnail_keeps_proportions_and_never_grows() {
        let frame = Frame::new(640, 480, vec![7; 640 * 480 * 3], 5, Duration::ZERO).expect("whole");
        let small = shrunk(&frame, 160, 160).expect("not empty");
        assert_eq!((small.width, small.height, small.seq), (160, 120, 5));
        let same = shrunk(&frame, 2000, 2000).expect("not empty");
        assert_eq!((same.width, same.height), (640, 480));
    }

    #[test]
    fn statistics_take_the_pixels_that_lerobot_takes() {
        let rgb: Vec<u8> = (0..640 * 480)
            .flat_map(|at| [(at % 640 / 4) as u8, (at / 640 / 4) as u8, 0])
            .collect();
        let pixels: Vec<_> = sampled(&rgb, 640, 480).collect();
        assert_eq!(pixels.len(), 160 * 120);
        assert_eq!((pixels[1], pixels[160]), ([1, 0, 0], [0, 1, 0]));
        assert_eq!(sampled(&[1; 299 * 3], 299, 1).count(), 299);
    }
}
