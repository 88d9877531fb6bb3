//! H.264 by `OpenH264`: what was recorded here, and most of what others recorded.
//!
//! Its wrapper empties the decoder after each unit by default, which breaks every stream whose pictures wait for others (LeRobot's own
//! libx264 files among them). Here it is emptied at the end of a film only.

use openh264::OpenH264API;
use openh264::decoder::{DecodedYUV, Decoder, DecoderConfig, Flush};
use openh264::formats::YUVSource as _;
use shiguredo_mp4::Uint;
use shiguredo_mp4::bitstream::h264::{LengthSize, parse_length_prefixed_nal_units};
use shiguredo_mp4::boxes::SampleEntry;

use super::super::pixels::{Matrix, Planes};
use super::super::unit::CodecConfig;

const START_CODE: [u8; 4] = [0, 0, 0, 1];
/// 4:2:0 with 8 bits. Everything else openh264 refuses.
const READABLE_CHROMA: u8 = 1;

pub(in super::super) struct H264 {
    decoder: Decoder,
    length_size: LengthSize,
    /// With start codes, to go before each key frame.
    parameter_sets: Vec<u8>,
    matrix: Matrix,
    annexb: Vec<u8>,
}

impl H264 {
    pub(super) fn open(config: &CodecConfig) -> Result<Self, String> {
        let avcc = config.avcc().ok_or("no avcC")?;
        let chroma = avcc.chroma_format.map_or(READABLE_CHROMA, Uint::get);
        let deeper = avcc
            .bit_depth_luma_minus8
            .is_some_and(|more| more.get() > 0);
        if chroma != READABLE_CHROMA || deeper {
            return Err("not 4:2:0 with 8 bits".to_owned());
        }
        let mut parameter_sets = vec![];
        for set in avcc.sps_list.iter().chain(&avcc.pps_list) {
            parameter_sets.extend_from_slice(&START_CODE);
            parameter_sets.extend_from_slice(set);
        }
        let settings = DecoderConfig::new().flush_after_decode(Flush::NoFlush);
        let decoder = Decoder::with_api_config(OpenH264API::from_source(), settings);
        let length_size = LengthSize::from_length_size_minus_one(avcc.length_size_minus_one.get());
        Ok(Self {
            decoder: decoder.map_err(|error| error.to_string())?,
            length_size: length_size.map_err(|error| error.to_string())?,
            parameter_sets,
            matrix: matrix(config),
            annexb: vec![],
        })
    }

    pub(super) fn decode(
        &mut self,
        unit: &[u8],
        key: bool,
        each: &mut dyn FnMut(Planes<'_>),
    ) -> Result<(), String> {
        let units = parse_length_prefixed_nal_units(unit, self.length_size);
        self.annexb.clear();
        if key {
            self.annexb.extend_from_slice(&self.parameter_sets);
        }
        for unit in units.map_err(|error| error.to_string())? {
            self.annexb.extend_from_slice(&START_CODE);
            self.annexb.extend_from_slice(unit.data);
        }
        let decoded = self.decoder.decode(&self.annexb);
        if let Some(picture) = decoded.map_err(|error| error.to_string())? {
            each(planes(&picture, self.matrix));
        }
        Ok(())
    }

    pub(super) fn drain(&mut self, each: &mut dyn FnMut(Planes<'_>)) -> Result<(), String> {
        let rest = self.decoder.flush_remaining();
        for picture in rest.map_err(|error| error.to_string())? {
            each(planes(&picture, self.matrix));
        }
        Ok(())
    }
}

fn planes<'a>(picture: &'a DecodedYUV<'_>, matrix: Matrix) -> Planes<'a> {
    let (width, height) = picture.dimensions();
    let (stride, chroma_stride, _) = picture.strides();
    Planes {
        width,
        height,
        y: picture.y(),
        u: picture.u(),
        v: picture.v(),
        strides: (stride, chroma_stride),
        halved: (true, true),
        matrix,
    }
}

/// What the file says of its colours; BT.601 with limited range where it says nothing, as ffmpeg takes it.
fn matrix(config: &CodecConfig) -> Matrix {
    /// `colour_primaries`, `transfer_characteristics` and `matrix_coefficients` in two bytes each, then the range in the first bit.
    const NCLX: &[u8] = b"nclx";
    const BT709: u8 = 1;
    let SampleEntry::Avc1(entry) = config.entry() else {
        return Matrix::BT601;
    };
    let colour = entry
        .unknown_boxes
        .iter()
        .find_map(|other| other.payload.strip_prefix(NCLX));
    let matrix = match colour {
        Some([_, _, _, _, _, BT709, ..]) => Matrix::BT709,
        _ => Matrix::BT601,
    };
    match colour {
        Some([_, _, _, _, _, _, range, ..]) if range & 0x80 != 0 => matrix.full_range(),
        _ => matrix,
    }
}
