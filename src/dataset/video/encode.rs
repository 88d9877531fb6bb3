//! The encoder that runs beside the arm: one picture in, one coded picture out, at once and always.
//!
//! `OpenH264` with the settings that were measured for 640x480: about 2 ms of one core a picture with its assembly, 4 to 7 ms without.
//! Its defaults leave pictures out to hold a bit rate, which would shift every later picture against its row, so they are not used.

use std::fmt;

use openh264::encoder::{
    BitRate, Complexity, Encoder as OpenH264, EncoderConfig, FrameRate, IntraFramePeriod, Profile,
    QpRange, RateControlMode, VuiConfig,
};
use openh264::formats::YUVSlices;
use openh264::{OpenH264API, Timestamp};
use shiguredo_mp4::bitstream::h264::{
    H264NalUnitType, H264SampleEntryConfig, LengthSize, build_avc1_box_from_annexb,
    parse_annexb_nal_units,
};
use shiguredo_mp4::boxes::SampleEntry;

use super::super::{Codec, Error};
use super::ffmpeg::Ffmpeg;
use super::pixels::{I420, fit};
use super::unit::{AccessUnit, CodecConfig};
use crate::observation::Frame;

/// Bits a second at 640x480 and 30 pictures a second. A ceiling: with the range below, pictures of a robot need less.
const BITS_A_SECOND: f64 = 6e6;
/// Quantizers of what is kept as it is: 37 dB on noisy pictures, where LeRobot's own settings give 37.4.
const KEPT: (u8, u8) = (24, 36);
/// Of what ffmpeg encodes again: close to what the camera gave.
const ENCODED_AGAIN: (u8, u8) = (14, 24);
/// Their ceiling, against that of what is kept.
const ENCODED_AGAIN_BITS: f64 = 4.0;

/// Turns the pictures of one camera into [`AccessUnit`]s.
pub struct Encoder {
    openh264: OpenH264,
    name: String,
    width: u32,
    height: u32,
    fps: u32,
    config: CodecConfig,
    picture: I420,
    annexb: Vec<u8>,
    encoded: u64,
}

/// An encoder for pictures of `width` by `height`, `fps` a second, whose first picture is a key frame and each
/// `key_frame_interval`-th after it.
///
/// For [`Codec::Ffmpeg`] it is the built-in one too, close to lossless: [`transcode`](super::transcode) does the rest when the episode
/// is saved. That ffmpeg is there and has the encoder is asked here, before anything is recorded.
///
/// # Errors
/// [`Error::Encoder`] names the encoder and the way out.
pub fn open_encoder(
    codec: &Codec,
    width: u32,
    height: u32,
    fps: u32,
    key_frame_interval: u32,
) -> Result<Encoder, Error> {
    if let Codec::Ffmpeg(encoder) = codec {
        Ffmpeg::find()?.require(encoder)?;
    }
    Encoder::open(codec, width, height, fps, key_frame_interval)
}

impl Encoder {
    fn open(
        codec: &Codec,
        width: u32,
        height: u32,
        fps: u32,
        key_frame_interval: u32,
    ) -> Result<Self, Error> {
        let name = format!("h264 {width}x{height}");
        if width == 0 || height == 0 || !width.is_multiple_of(2) || !height.is_multiple_of(2) {
            let why = "width and height must be even. Choose another size for the recording";
            return Err(broken(&name, why));
        }
        if fps == 0 || key_frame_interval == 0 {
            return Err(broken(
                &name,
                "fps and the key frame interval must be at least 1",
            ));
        }
        let settings = settings(codec, width, height, fps, key_frame_interval);
        let mut openh264 = OpenH264::with_api_config(OpenH264API::from_source(), settings)
            .map_err(|error| broken(&name, error))?;
        quieten(&mut openh264);
        let picture = I420::black(width, height);
        let mut annexb = vec![];
        // A picture that nobody sees, for its parameter sets.
        code(&mut openh264, &picture, 0, &mut annexb).map_err(|why| broken(&name, why))?;
        let length_size = LengthSize::FourBytes;
        let entry = build_avc1_box_from_annexb(&annexb, &H264SampleEntryConfig { length_size })
            .map_err(|error| broken(&name, error))?;
        openh264.force_intra_frame();
        Ok(Self {
            openh264,
            name,
            width,
            height,
            fps,
            config: CodecConfig::new(SampleEntry::Avc1(entry)),
            picture,
            annexb,
            encoded: 0,
        })
    }

    /// What a decoder of the units must know. It is the same for all encoders of the same size, rate and interval.
    pub fn config(&self) -> &CodecConfig {
        &self.config
    }

    /// Pixels of a picture.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// The next picture becomes a key frame: an episode begins.
    pub fn begin(&mut self) {
        self.openh264.force_intra_frame();
    }

    /// Encodes one picture, scaled if it is of another size.
    ///
    /// # Errors
    /// [`Error::Encoder`] if it gave nothing for this picture twice.
    pub fn encode(&mut self, frame: &Frame) -> Result<AccessUnit, Error> {
        let rgb = fit(&frame.rgb, (frame.width, frame.height), self.size());
        self.encode_rgb(&rgb)
    }

    /// Encodes RGB of the encoder's own size, row-major, 8 bits a channel.
    ///
    /// # Errors
    /// As [`Encoder::encode`], and if `rgb` is of another length.
    pub fn encode_rgb(&mut self, rgb: &[u8]) -> Result<AccessUnit, Error> {
        let wanted = self.width as usize * self.height as usize * 3;
        if rgb.len() != wanted {
            let why = format!("a picture has {} bytes, not {wanted}", rgb.len());
            return Err(broken(&self.name, why));
        }
        self.picture.read_rgb(rgb);
        // The black picture came before them.
        let milliseconds = (self.encoded + 1) * 1000 / u64::from(self.fps);
        code(
            &mut self.openh264,
            &self.picture,
            milliseconds,
            &mut self.annexb,
        )
        .map_err(|why| broken(&self.name, why))?;
        let unit = unit_from_annexb(&self.annexb).map_err(|why| broken(&self.name, why))?;
        self.encoded += 1;
        Ok(unit)
    }

    /// Ends it. Nothing was held back.
    ///
    /// Returns how many pictures were encoded.
    pub fn finish(self) -> u64 {
        self.encoded
    }
}

/// Leaves what `picture` became in `annexb`; never nothing.
fn code(
    openh264: &mut OpenH264,
    picture: &I420,
    milliseconds: u64,
    annexb: &mut Vec<u8>,
) -> Result<(), String> {
    let (width, height) = picture.size();
    let planes = YUVSlices::new(
        (picture.y(), picture.u(), picture.v()),
        (width, height),
        (width, width / 2, width / 2),
    );
    for _ in 0..2 {
        let coded = openh264
            .encode_at(&planes, Timestamp::from_millis(milliseconds))
            .map_err(|error| error.to_string())?;
        annexb.clear();
        coded.write_vec(annexb);
        if !annexb.is_empty() {
            return Ok(());
        }
        openh264.force_intra_frame();
    }
    Err("nothing came out for a picture".to_owned())
}

/// Keeps the library from printing a warning a film: that it cannot keep to a bit rate where it may skip no picture.
#[expect(
    unsafe_code,
    reason = "`openh264` sets this itself, but after the library has printed"
)]
fn quieten(openh264: &mut OpenH264) {
    let mut level = openh264_sys2::WELS_LOG_QUIET;
    // SAFETY: the option is one that may be set before the encoder is initialised; it reads an integer during the call.
    unsafe {
        let level = std::ptr::from_mut(&mut level).cast();
        let option = openh264_sys2::ENCODER_OPTION_TRACE_LEVEL;
        openh264.raw_api().set_option(option, level);
    }
}

fn settings(
    codec: &Codec,
    width: u32,
    height: u32,
    fps: u32,
    key_frame_interval: u32,
) -> EncoderConfig {
    let ((finest, coarsest), factor) = match codec {
        Codec::H264 => (KEPT, 1.0),
        Codec::Ffmpeg(_) => (ENCODED_AGAIN, ENCODED_AGAIN_BITS),
    };
    let pixels_a_second = f64::from(width) * f64::from(height) * f64::from(fps);
    let share = pixels_a_second / (640.0 * 480.0 * 30.0);
    let bits = (BITS_A_SECOND * factor * share).clamp(5e5, 1e8);
    EncoderConfig::new()
        .skip_frames(false)
        .rate_control_mode(RateControlMode::Bitrate)
        .bitrate(BitRate::from_bps(bits as u32))
        .qp(QpRange::new(finest, coarsest))
        .intra_frame_period(IntraFramePeriod::from_num_frames(key_frame_interval))
        .scene_change_detect(false)
        .max_frame_rate(FrameRate::from_hz(fps as f32))
        .complexity(Complexity::Low)
        .profile(Profile::Main)
        .num_threads(1)
        .vui(VuiConfig::bt601())
}

/// The NAL units of a picture, each after its length, without parameter sets and delimiters.
fn unit_from_annexb(annexb: &[u8]) -> Result<AccessUnit, String> {
    let units = parse_annexb_nal_units(annexb).map_err(|error| error.to_string())?;
    let mut bytes = Vec::with_capacity(annexb.len() + 4);
    let mut key = false;
    for unit in units {
        match unit.nal_unit_type {
            H264NalUnitType::Sps | H264NalUnitType::Pps | H264NalUnitType::Aud => {
                continue;
            }
            H264NalUnitType::IdrSlice => key = true,
            _ => {}
        }
        bytes.extend_from_slice(&(unit.data.len() as u32).to_be_bytes());
        bytes.extend_from_slice(unit.data);
    }
    if bytes.is_empty() {
        return Err("a picture has no slices".to_owned());
    }
    Ok(AccessUnit { bytes, key })
}

fn broken(encoder: &str, why: impl fmt::Display) -> Error {
    Error::Encoder {
        encoder: encoder.to_owned(),
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn noise(seq: u64) -> Frame {
        let mut state = seq as u32 * 7919 + 1;
        let rgb: Vec<u8> = (0..160 * 128 * 3)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        Frame::new(160, 128, rgb, seq, Duration::ZERO).expect("whole")
    }

    #[test]
    fn each_picture_gives_one_unit_even_where_the_bit_rate_is_far_too_low_for_it() {
        let mut encoder = open_encoder(&Codec::H264, 160, 128, 30, 10).expect("built in");
        for k in 0..60 {
            let unit = encoder.encode(&noise(k)).expect("encoded");
            assert_eq!(unit.key, k % 10 == 0, "{k}");
            let length = u32::from_be_bytes([0, 1, 2, 3].map(|at| unit.bytes[at]));
            assert!(length as usize + 4 <= unit.bytes.len());
        }
        assert_eq!(encoder.finish(), 60);
    }

    #[test]
    fn an_episode_begins_with_a_key_frame_and_the_same_parameter_sets() {
        let mut encoder = open_encoder(&Codec::H264, 160, 128, 30, 10).expect("built in");
        let before = encoder.config().clone();
        for k in 0..4 {
            encoder.encode(&noise(k)).expect("encoded");
        }
        encoder.begin();
        assert!(encoder.encode(&noise(4)).expect("encoded").key);
        let other = open_encoder(&Codec::H264, 160, 128, 30, 10).expect("built in");
        assert_eq!(&before, other.config());
        assert_eq!(
            (before.coding().to_string(), before.size()),
            ("h264".to_owned(), Some((160, 128)))
        );
    }

    #[test]
    fn a_config_goes_through_a_journal() {
        let encoder = open_encoder(&Codec::H264, 160, 128, 30, 10).expect("built in");
        let text = serde_json::to_string(encoder.config()).expect("written");
        let back: CodecConfig = serde_json::from_str(&text).expect("read");
        assert_eq!(&back, encoder.config());
        assert!(serde_json::from_str::<CodecConfig>("\"AAAA\"").is_err());
    }

    #[test]
    fn pictures_of_another_size_are_scaled_and_broken_ones_refused() {
        let mut encoder = open_encoder(&Codec::H264, 96, 64, 30, 10).expect("built in");
        assert!(encoder.encode(&noise(0)).expect("scaled").key);
        let said = encoder
            .encode_rgb(&[0; 3])
            .expect_err("too short")
            .to_string();
        assert!(said.contains("3 bytes") && said.contains("18432"), "{said}");
    }

    #[test]
    fn odd_sizes_are_refused() {
        for (width, height) in [(95, 64), (96, 63), (0, 64)] {
            let said = open_encoder(&Codec::H264, width, height, 30, 10)
                .err()
                .expect("odd");
            assert!(said.to_string().contains("even"), "{said}");
        }
    }
}
