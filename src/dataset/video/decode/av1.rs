//! AV1 by a Rust port of dav1d: what LeRobot itself records, so most of what the Hub holds.

use std::mem;

use re_rav1d::pixel::{MatrixCoefficients, YUVRange};
use re_rav1d::{Decoder, Error, Picture, PixelLayout, PlanarImageComponent, Settings};

use super::super::pixels::{Matrix, Planes};
use super::super::unit::CodecConfig;

pub(in super::super) struct Av1 {
    decoder: Decoder,
    /// The sequence header of the file, to go before its first key frame.
    header: Vec<u8>,
}

impl Av1 {
    pub(super) fn open(config: &CodecConfig) -> Result<Self, String> {
        let mut settings = Settings::new();
        // One picture in, one out: no thread of its own beside the arm's, and none held back.
        settings.set_n_threads(1);
        settings.set_max_frame_delay(1);
        let decoder = Decoder::with_settings(&settings).map_err(|error| error.to_string())?;
        let header = config.av1c().map(|config| config.config_obus.clone());
        Ok(Self {
            decoder,
            header: header.unwrap_or_default(),
        })
    }

    pub(super) fn decode(
        &mut self,
        unit: &[u8],
        key: bool,
        each: &mut dyn FnMut(Planes<'_>),
    ) -> Result<(), String> {
        let mut bytes = if key {
            mem::take(&mut self.header)
        } else {
            vec![]
        };
        bytes.extend_from_slice(unit);
        let mut sent = self.decoder.send_data(bytes, None, None, None);
        loop {
            self.take_pictures(each)?;
            match sent {
                Ok(()) => return Ok(()),
                Err(Error::Again) => sent = self.decoder.send_pending_data(),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    pub(super) fn take_pictures(&mut self, each: &mut dyn FnMut(Planes<'_>)) -> Result<(), String> {
        loop {
            match self.decoder.get_picture() {
                Ok(picture) => give(&picture, each)?,
                Err(Error::Again) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// Hands over the planes of a picture, those of more than 8 bits rounded to 8.
fn give(picture: &Picture, each: &mut dyn FnMut(Planes<'_>)) -> Result<(), String> {
    let layout = picture.pixel_layout();
    let bits = picture.bits_per_component().map_or(8, |bits| bits.0);
    let plane = |component| {
        let plane = picture.plane(component);
        let stride = picture.stride(component) as usize;
        if bits > 8 {
            (rounded(&plane, bits), stride / 2)
        } else {
            (plane.to_vec(), stride)
        }
    };
    let (y, stride) = plane(PlanarImageComponent::Y);
    let ((u, chroma_stride), (v, _)) = if layout == PixelLayout::I400 {
        ((vec![], 0), (vec![], 0))
    } else {
        (
            plane(PlanarImageComponent::U),
            plane(PlanarImageComponent::V),
        )
    };
    let halved = match layout {
        PixelLayout::I400 | PixelLayout::I420 => (true, true),
        PixelLayout::I422 => (true, false),
        PixelLayout::I444 => (false, false),
    };
    let matrix = match picture.matrix_coefficients() {
        MatrixCoefficients::Identity => {
            return Err("its planes are red, green and blue, which is not read".to_owned());
        }
        MatrixCoefficients::BT709 => Matrix::BT709,
        _ => Matrix::BT601,
    };
    let full = matches!(picture.color_range(), YUVRange::Full);
    each(Planes {
        width: picture.width() as usize,
        height: picture.height() as usize,
        y: &y,
        u: &u,
        v: &v,
        strides: (stride, chroma_stride),
        halved,
        matrix: if full { matrix.full_range() } else { matrix },
    });
    Ok(())
}

/// Two bytes a value, little endian, `bits` of them used, rounded to 8 bits.
fn rounded(plane: &[u8], bits: usize) -> Vec<u8> {
    let shift = bits - 8;
    plane
        .as_chunks::<2>()
        .0
        .iter()
        .map(|&value| {
            let value = u16::from_le_bytes(value);
            ((value + (1 << (shift - 1))) >> shift).min(255) as u8
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_bits_are_rounded_to_eight() {
        let plane: Vec<u8> = [0_u16, 1, 2, 4, 941, 942, 1023]
            .into_iter()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(rounded(&plane, 10), [0, 0, 1, 1, 235, 236, 255]);
    }
}
