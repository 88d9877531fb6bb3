//! Turns the raw bytes of a camera into RGB, so that the policy sees the colours that it was trained on.
//!
//! Webcams label packed YUV and NV12 as BT.601 with limited range (Y 16 to 235, chroma 16 to 240): the default of UVC's
//! colour-matching descriptor and of V4L2's quantization for YUV. Inside MJPEG the range is full, as JFIF says.
//!
//! The length of a buffer is checked against its label and never used to guess another layout. A buffer of
//! `width * height * 2` bytes that is labelled NV12 may be YUYV or UYVY: the length cannot tell which, and the wrong one swaps
//! brightness and colour. It is refused with the way out, `read_as`.

use super::error::Error;
use super::mjpeg::rgb_from_mjpeg;
use super::mode::PixelFormat;

/// Decodes one frame to RGB, 8 bits a channel, row-major, `width * height * 3` bytes.
///
/// # Errors
/// [`Error::WrongLength`] names both sizes; [`Error::OddSize`] and [`Error::BadSize`] concern the size; damaged JPEGs give
/// [`Error::Jpeg`] or [`Error::JpegSize`].
pub fn rgb_from_raw(
    format: PixelFormat,
    width: u32,
    height: u32,
    bytes: &[u8],
) -> Result<Vec<u8>, Error> {
    let Some(expected) = expected_len(format, width, height)? else {
        return rgb_from_mjpeg(width, height, bytes);
    };
    if bytes.len() != expected {
        return Err(Error::WrongLength {
            format,
            width,
            height,
            expected,
            got: bytes.len(),
            hint: hint(width as usize * height as usize, bytes.len()),
        });
    }
    Ok(match format {
        PixelFormat::Yuyv => packed(bytes, |[y0, u, y1, v]| [y0, y1, u, v]),
        PixelFormat::Uyvy => packed(bytes, |[u, y0, v, y1]| [y0, y1, u, v]),
        PixelFormat::Nv12 => nv12(width as usize, bytes),
        PixelFormat::Bgr => bytes
            .as_chunks()
            .0
            .iter()
            .flat_map(|&[b, g, r]| [r, g, b])
            .collect(),
        PixelFormat::Gray => bytes.iter().flat_map(|&y| [y; 3]).collect(),
        PixelFormat::Rgb | PixelFormat::Mjpeg => bytes.to_vec(),
    })
}

/// The frame without the rest of its memory page.
///
/// V4L2 maps whole pages and the camera crate hands over the mapping, not the bytes used, so that a frame whose length is
/// no multiple of the page seems longer than it is.
#[cfg(any(feature = "gui", test))]
pub(super) fn without_page_rest(
    format: PixelFormat,
    width: u32,
    height: u32,
    bytes: &[u8],
) -> &[u8] {
    const PAGES: [usize; 3] = [4096, 16384, 65536];
    match expected_len(format, width, height) {
        Ok(Some(expected))
            if PAGES
                .iter()
                .any(|&page| bytes.len() == expected.next_multiple_of(page)) =>
        {
            &bytes[..expected]
        }
        _ => bytes,
    }
}

/// Bytes of a frame; `None` where the layout does not fix it.
fn expected_len(format: PixelFormat, width: u32, height: u32) -> Result<Option<usize>, Error> {
    let odd = match format {
        PixelFormat::Yuyv | PixelFormat::Uyvy => !width.is_multiple_of(2),
        PixelFormat::Nv12 => !width.is_multiple_of(2) || !height.is_multiple_of(2),
        _ => false,
    };
    if odd {
        return Err(Error::OddSize {
            format,
            width,
            height,
        });
    }
    let pixels = (width as usize)
        .checked_mul(height as usize)
        .filter(|&pixels| pixels > 0 && pixels <= usize::MAX / 3)
        .ok_or(Error::BadSize { width, height })?;
    Ok(match format {
        PixelFormat::Mjpeg => None,
        PixelFormat::Yuyv | PixelFormat::Uyvy => Some(pixels * 2),
        PixelFormat::Nv12 => Some(pixels / 2 * 3),
        PixelFormat::Rgb | PixelFormat::Bgr => Some(pixels * 3),
        PixelFormat::Gray => Some(pixels),
    })
}

fn hint(pixels: usize, got: usize) -> String {
    let fits = [
        (
            pixels * 2,
            "YUYV or UYVY, which the length cannot tell apart",
        ),
        (pixels / 2 * 3, "NV12"),
        (pixels * 3, "RGB or BGR, which the length cannot tell apart"),
        (pixels, "GRAY"),
    ];
    fits.iter()
        .find(|(len, _)| *len == got)
        .map(|(_, names)| format!(" (as long as {names}; if it is one, name it with read_as)"))
        .unwrap_or_default()
}

/// Two pixels in four bytes; `order` brings them into Y0 Y1 U V.
fn packed(bytes: &[u8], order: impl Fn([u8; 4]) -> [u8; 4]) -> Vec<u8> {
    let mut rgb = Vec::with_capacity(bytes.len() / 2 * 3);
    for &four in bytes.as_chunks().0 {
        let [y0, y1, u, v] = order(four);
        rgb.extend(rgb_from_yuv(y0, u, v));
        rgb.extend(rgb_from_yuv(y1, u, v));
    }
    rgb
}

fn nv12(width: usize, bytes: &[u8]) -> Vec<u8> {
    let (luma, chroma) = bytes.split_at(bytes.len() / 3 * 2);
    let mut rgb = Vec::with_capacity(luma.len() * 3);
    for (row, line) in luma.chunks_exact(width).enumerate() {
        let pairs = &chroma[row / 2 * width..][..width];
        for (y, uv) in line.as_chunks::<2>().0.iter().zip(pairs.as_chunks::<2>().0) {
            rgb.extend(rgb_from_yuv(y[0], uv[0], uv[1]));
            rgb.extend(rgb_from_yuv(y[1], uv[0], uv[1]));
        }
    }
    rgb
}

/// BT.601, limited range, in 8-bit fixed point: 255/219 and 255/224 times the matrix of Kr = 0.299, Kb = 0.114.
fn rgb_from_yuv(y: u8, u: u8, v: u8) -> [u8; 3] {
    let y = 298 * (i32::from(y) - 16) + 128;
    let u = i32::from(u) - 128;
    let v = i32::from(v) - 128;
    [y + 409 * v, y - 100 * u - 208 * v, y + 516 * u].map(|value| (value >> 8).clamp(0, 255) as u8)
}

#[cfg(test)]
mod tests {
    use image::codecs::jpeg::JpegEncoder;

    use super::*;

    /// Rounding to 8 bits in YUV costs at most two levels in RGB; JPEG at quality 100 adds less than one.
    const LEVELS: i16 = 3;
    const WIDTH: u32 = 128;
    const HEIGHT: u32 = 32;
    /// White, yellow, cyan, green, magenta, red, blue, black, each 16 pixels wide.
    const BARS: [[u8; 3]; 8] = [
        [255, 255, 255],
        [255, 255, 0],
        [0, 255, 255],
        [0, 255, 0],
        [255, 0, 255],
        [255, 0, 0],
        [0, 0, 255],
        [0, 0, 0],
    ];

    fn bars() -> Vec<[u8; 3]> {
        (0..HEIGHT)
            .flat_map(|_| (0..WIDTH).map(|x| BARS[(x / 16) as usize]))
            .collect()
    }

    /// BT.601 limited range from the definition, in floating point.
    fn yuv([r, g, b]: [u8; 3]) -> [u8; 3] {
        let [r, g, b] = [r, g, b].map(|c| f64::from(c) / 255.0);
        let y = 0.299 * r + 0.587 * g + 0.114 * b;
        let u = (b - y) / 1.772;
        let v = (r - y) / 1.402;
        [16.0 + 219.0 * y, 128.0 + 224.0 * u, 128.0 + 224.0 * v].map(|c| c.round() as u8)
    }

    fn encode(format: PixelFormat) -> Vec<u8> {
        let bars = bars();
        let pairs = || bars.as_chunks::<2>().0.iter().map(|pair| pair.map(yuv));
        match format {
            PixelFormat::Yuyv => pairs()
                .flat_map(|[a, b]| [a[0], a[1], b[0], a[2]])
                .collect(),
            PixelFormat::Uyvy => pairs()
                .flat_map(|[a, b]| [a[1], a[0], a[2], b[0]])
                .collect(),
            PixelFormat::Nv12 => {
                let luma = bars.iter().map(|&pixel| yuv(pixel)[0]);
                let chroma = bars
                    .chunks_exact(WIDTH as usize)
                    .step_by(2)
                    .flat_map(|row| row.iter().step_by(2))
                    .flat_map(|&pixel| [yuv(pixel)[1], yuv(pixel)[2]]);
                luma.chain(chroma).collect()
            }
            PixelFormat::Rgb => bars.concat(),
            PixelFormat::Bgr => bars.iter().flat_map(|&[r, g, b]| [b, g, r]).collect(),
            PixelFormat::Gray => bars.iter().map(|&[r, _, _]| r).collect(),
            PixelFormat::Mjpeg => {
                let mut out = Vec::new();
                JpegEncoder::new_with_quality(&mut out, 100)
                    .encode(
                        &bars.concat(),
                        WIDTH,
                        HEIGHT,
                        image::ExtendedColorType::Rgb8,
                    )
                    .unwrap();
                out
            }
        }
    }

    /// Reported case d01.
    #[test]
    fn colour_bars_come_back_from_every_layout() {
        for format in PixelFormat::ALL {
            let rgb = rgb_from_raw(format, WIDTH, HEIGHT, &encode(format)).unwrap();
            let wanted = match format {
                PixelFormat::Gray => bars().iter().flat_map(|&[r, _, _]| [r; 3]).collect(),
                _ => bars().concat(),
            };
            assert_eq!(rgb.len(), wanted.len());
            let worst = rgb
                .iter()
                .zip(&wanted)
                .map(|(&got, &want)| (i16::from(got) - i16::from(want)).abs())
                .max();
            assert!(worst <= Some(LEVELS), "{format}: {worst:?} levels");
        }
    }

    #[test]
    fn the_extremes_of_limited_range_are_black_and_white() {
        assert_eq!(rgb_from_yuv(16, 128, 128), [0, 0, 0]);
        assert_eq!(rgb_from_yuv(235, 128, 128), [255, 255, 255]);
        assert_eq!(rgb_from_yuv(0, 128, 128), [0, 0, 0]);
        assert_eq!(rgb_from_yuv(255, 255, 255)[0], 255);
    }

    #[test]
    fn a_wrong_length_is_an_error_that_names_both_sizes() {
        for format in PixelFormat::ALL {
            let whole = encode(format);
            for bytes in [&whole[..whole.len() - 1], &[], &whole[..7]] {
                assert!(
                    rgb_from_raw(format, WIDTH, HEIGHT, bytes).is_err(),
                    "{format}"
                );
            }
        }
        let short = rgb_from_raw(PixelFormat::Yuyv, 640, 480, &[0; 100]).unwrap_err();
        let text = short.to_string();
        assert!(text.contains("614400") && text.contains("100"), "{text}");
    }

    /// Reported case d01.
    #[test]
    fn nv12_that_is_as_long_as_yuyv_is_refused_with_the_way_out() {
        let yuyv = encode(PixelFormat::Yuyv);
        let text = rgb_from_raw(PixelFormat::Nv12, WIDTH, HEIGHT, &yuyv)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("YUYV or UYVY") && text.contains("read_as"),
            "{text}"
        );
        assert!(text.contains("6144") && text.contains("8192"), "{text}");
    }

    #[test]
    fn sizes_that_no_buffer_has_are_errors() {
        for format in PixelFormat::ALL {
            assert!(rgb_from_raw(format, 0, 480, &[]).is_err(), "{format}");
            assert!(
                rgb_from_raw(format, u32::MAX, u32::MAX, &[]).is_err(),
                "{format}"
            );
        }
        for format in [PixelFormat::Yuyv, PixelFormat::Uyvy, PixelFormat::Nv12] {
            let odd = rgb_from_raw(format, 3, 2, &[0; 12]);
            assert!(matches!(odd, Err(Error::OddSize { .. })), "{format}");
        }
    }

    #[test]
    fn only_the_rest_of_a_page_is_cut_off() {
        let mapped = vec![7; 118_784];
        let frame = without_page_rest(PixelFormat::Yuyv, 320, 180, &mapped);
        assert_eq!(frame.len(), 320 * 180 * 2);
        let nv12_as_yuyv = vec![7; 614_400];
        let kept = without_page_rest(PixelFormat::Nv12, 640, 480, &nv12_as_yuyv);
        assert_eq!(kept.len(), 614_400);
        assert_eq!(
            without_page_rest(PixelFormat::Gray, 8, 8, &[0; 60]).len(),
            60
        );
    }
}
