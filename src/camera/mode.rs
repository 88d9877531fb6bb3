//! What a camera can deliver, what the operator wants, and the choice between the modes on offer.

use std::fmt;
use std::str::FromStr;

/// How the bytes of a frame are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelFormat {
    /// One JPEG picture a frame, often without Huffman tables.
    Mjpeg,
    /// Y0 U Y1 V: two pixels in four bytes.
    Yuyv,
    /// U Y0 V Y1: the same in another order.
    Uyvy,
    /// A plane of Y, then a plane of U V pairs at half the size.
    Nv12,
    /// Three bytes a pixel.
    Rgb,
    /// Three bytes a pixel, blue first.
    Bgr,
    /// One byte a pixel.
    Gray,
}

impl PixelFormat {
    /// Every format, in the order of preference: MJPEG first, because two uncompressed streams do not fit on one USB 2 hub.
    pub const ALL: [Self; 7] = [
        Self::Mjpeg,
        Self::Yuyv,
        Self::Uyvy,
        Self::Nv12,
        Self::Rgb,
        Self::Bgr,
        Self::Gray,
    ];

    fn rank(self) -> usize {
        Self::ALL
            .iter()
            .position(|&format| format == self)
            .unwrap_or(Self::ALL.len())
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mjpeg => "MJPEG",
            Self::Yuyv => "YUYV",
            Self::Uyvy => "UYVY",
            Self::Nv12 => "NV12",
            Self::Rgb => "RGB",
            Self::Bgr => "BGR",
            Self::Gray => "GRAY",
        })
    }
}

impl FromStr for PixelFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|format| format.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                format!("{text:?} is no pixel format: mjpeg, yuyv, uyvy, nv12, rgb, bgr or gray")
            })
    }
}

/// One way in which a camera can deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Frames a second.
    pub rate_hz: u32,
    /// Layout of the bytes.
    pub format: PixelFormat,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}x{} {} at {} Hz",
            self.width, self.height, self.format, self.rate_hz
        )
    }
}

/// What the operator wants of a camera. Pictures from files keep their own size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Pixels per row, rows.
    pub size: (u32, u32),
    /// Frames a second.
    pub rate_hz: u32,
    /// Only this layout.
    pub format: Option<PixelFormat>,
    /// The layout that the bytes really have, for cameras and drivers that label them wrongly.
    pub read_as: Option<PixelFormat>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: (640, 480),
            rate_hz: 30,
            format: None,
            read_as: None,
        }
    }
}

impl Options {
    /// The best of `modes`: the nearest size that is not smaller, then a sufficient rate, then the preferred layout.
    ///
    /// Returns `None` when no mode has the layout asked for, or there is no mode at all.
    pub fn choose(&self, modes: &[Mode]) -> Option<Mode> {
        modes
            .iter()
            .filter(|mode| self.format.is_none_or(|format| format == mode.format))
            .min_by_key(|mode| self.cost(mode))
            .copied()
    }

    fn cost(&self, mode: &Mode) -> (bool, u32, u32, usize, u32) {
        let (width, height) = self.size;
        (
            mode.width < width || mode.height < height,
            mode.width.abs_diff(width) + mode.height.abs_diff(height),
            self.rate_hz.saturating_sub(mode.rate_hz),
            mode.format.rank(),
            mode.rate_hz.abs_diff(self.rate_hz),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(width: u32, height: u32, rate_hz: u32, format: PixelFormat) -> Mode {
        Mode {
            width,
            height,
            rate_hz,
            format,
        }
    }

    #[test]
    fn the_nearest_size_wins_then_the_rate_then_the_layout() {
        let modes = [
            mode(320, 240, 30, PixelFormat::Mjpeg),
            mode(640, 480, 10, PixelFormat::Mjpeg),
            mode(640, 480, 30, PixelFormat::Yuyv),
            mode(640, 480, 60, PixelFormat::Yuyv),
            mode(1920, 1080, 30, PixelFormat::Mjpeg),
        ];
        let wanted = Options::default();
        assert_eq!(wanted.choose(&modes), Some(modes[2]));
        let large = Options {
            size: (1280, 720),
            ..wanted
        };
        assert_eq!(large.choose(&modes), Some(modes[4]));
        let huge = Options {
            size: (3840, 2160),
            ..wanted
        };
        assert_eq!(huge.choose(&modes), Some(modes[4]));
    }

    #[test]
    fn at_equal_size_and_rate_mjpeg_is_preferred_unless_another_layout_is_asked_for() {
        let modes = [
            mode(640, 480, 30, PixelFormat::Yuyv),
            mode(640, 480, 30, PixelFormat::Mjpeg),
        ];
        assert_eq!(Options::default().choose(&modes), Some(modes[1]));
        let asked = Options {
            format: Some(PixelFormat::Yuyv),
            ..Options::default()
        };
        assert_eq!(asked.choose(&modes), Some(modes[0]));
        let absent = Options {
            format: Some(PixelFormat::Nv12),
            ..Options::default()
        };
        assert_eq!(absent.choose(&modes), None);
        assert_eq!(Options::default().choose(&[]), None);
    }

    #[test]
    fn every_layout_reads_back_from_its_name() {
        for format in PixelFormat::ALL {
            assert_eq!(format.to_string().to_lowercase().parse(), Ok(format));
        }
        assert!("h264".parse::<PixelFormat>().is_err());
    }
}
