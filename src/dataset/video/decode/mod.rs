//! Coded pictures back to RGB: H.264 and AV1 by what is built in, so that most data sets can be looked at without installing anything.

mod av1;
mod h264;

use av1::Av1;
use h264::H264;

use super::pixels::Planes;
use super::unit::{CodecConfig, Coding};

/// A decoder of one stream.
pub(super) enum Decoder {
    H264(H264),
    Av1(Box<Av1>),
}

impl Decoder {
    /// `None` where nothing built in reads this coding.
    ///
    /// # Errors
    /// Says why the decoder does not start.
    pub(super) fn open(config: &CodecConfig) -> Result<Option<Self>, String> {
        Ok(match config.coding() {
            Coding::H264 => Some(Self::H264(H264::open(config)?)),
            Coding::Av1 => Some(Self::Av1(Box::new(Av1::open(config)?))),
            _ => None,
        })
    }

    /// Decodes a unit. `each` gets the pictures that came out, in the order of showing; with reordered streams they lag behind.
    ///
    /// # Errors
    /// Says what is wrong with the unit.
    pub(super) fn decode(
        &mut self,
        unit: &[u8],
        key: bool,
        each: &mut dyn FnMut(Planes<'_>),
    ) -> Result<(), String> {
        match self {
            Self::H264(decoder) => decoder.decode(unit, key, each),
            Self::Av1(decoder) => decoder.decode(unit, key, each),
        }
    }

    /// Gives what the decoder held back; after it only a key frame may follow.
    ///
    /// # Errors
    /// Says what went wrong.
    pub(super) fn drain(&mut self, each: &mut dyn FnMut(Planes<'_>)) -> Result<(), String> {
        match self {
            Self::H264(decoder) => decoder.drain(each),
            Self::Av1(decoder) => decoder.take_pictures(each),
        }
    }
}
