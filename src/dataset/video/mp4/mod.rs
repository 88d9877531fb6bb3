//! mp4 files as LeRobot reads, cuts and merges them: one film, a picture each k/fps, the table of contents before the pictures.
//!
//! LeRobot's tools copy streams by ffmpeg, which keeps a track's own clock. So the clock is the one that ffmpeg would choose, the first
//! picture is at 0, and there is no edit list; other files came out of LeRobot's merge with pictures thousands of seconds long.

mod parse;
mod splice;

use std::io::{self, Write};
use std::num::NonZeroU32;

use shiguredo_mp4::TrackKind;
use shiguredo_mp4::mux::{Mp4FileMuxer, Mp4FileMuxerOptions, MuxError, Sample as Muxed};

use super::unit::CodecConfig;
pub use parse::{Contents, Entry};
pub(super) use splice::concat_into;
pub use splice::{Part, Recode, Spliced, concat, splice};

/// A unit as the table of contents knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Bytes of the unit.
    pub size: u32,
    /// It can be decoded without those before it.
    pub key: bool,
}

/// Ticks a second of ffmpeg's clock for a constant rate, and ticks from one picture to the next.
///
/// ffmpeg doubles the rate until it is at least 10 000: 15360 for 30 pictures a second.
pub fn grid(fps: u32) -> (u32, u32) {
    const LEAST: u32 = 10_000;
    let mut timescale = fps.max(1);
    let mut duration = 1;
    while timescale < LEAST {
        timescale *= 2;
        duration *= 2;
    }
    (timescale, duration)
}

/// Everything of a film that comes before its first unit; the units follow one after the other, and then nothing.
///
/// # Errors
/// Without units, without a key frame, or with an `fps` of 0.
pub fn head(config: &CodecConfig, fps: u32, samples: &[Sample]) -> io::Result<Vec<u8>> {
    if fps == 0 {
        return Err(io::Error::other(
            "a film needs at least one picture a second",
        ));
    }
    if !samples.first().is_some_and(|sample| sample.key) {
        return Err(io::Error::other("a film must begin with a key frame"));
    }
    // The first time to learn how much room the table needs, the second time to put it there.
    let (_, room) = muxed(config, fps, samples, 0)?;
    let (head, _) = muxed(config, fps, samples, room)?;
    Ok(head)
}

/// The head with `room` bytes for the table of contents, and the bytes that it has.
fn muxed(
    config: &CodecConfig,
    fps: u32,
    samples: &[Sample],
    room: usize,
) -> io::Result<(Vec<u8>, usize)> {
    let (timescale, duration) = grid(fps);
    let options = Mp4FileMuxerOptions {
        reserved_moov_box_size: room,
        ..Mp4FileMuxerOptions::default()
    };
    let broken = |error: MuxError| io::Error::other(error.to_string());
    let mut muxer = Mp4FileMuxer::with_options(options).map_err(broken)?;
    let begin = muxer.initial_boxes_bytes().len();
    let mut offset = begin as u64;
    for (at, sample) in samples.iter().enumerate() {
        let muxed = Muxed {
            track_kind: TrackKind::Video,
            sample_entry: (at == 0).then(|| config.entry().clone()),
            keyframe: sample.key,
            timescale: NonZeroU32::new(timescale).unwrap_or(NonZeroU32::MIN),
            duration,
            composition_time_offset: None,
            data_offset: offset,
            data_size: sample.size as usize,
        };
        muxer.append_sample(&muxed).map_err(broken)?;
        offset += u64::from(sample.size);
    }
    let boxes = muxer.finalize().map_err(broken)?;
    let mut head = vec![0; begin];
    for (at, bytes) in boxes.offset_and_bytes_pairs() {
        let at = at as usize;
        // Without room for it the table would stand behind the pictures.
        if let Some(place) = head.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        } else if room > 0 {
            return Err(io::Error::other("the table of contents found no room"));
        }
    }
    Ok((head, boxes.moov_box_size()))
}

/// Writes a film of the units that `units` gives, which must be those of `samples`.
///
/// Returns the bytes written.
///
/// # Errors
/// As [`head`]; if a unit has another size, or there are more or fewer; and whatever `units` and `out` fail with.
pub fn write(
    out: &mut dyn Write,
    config: &CodecConfig,
    fps: u32,
    samples: &[Sample],
    units: impl IntoIterator<Item = io::Result<Vec<u8>>>,
) -> io::Result<u64> {
    let head = head(config, fps, samples)?;
    out.write_all(&head)?;
    let mut written = head.len() as u64;
    let mut units = units.into_iter();
    for (at, sample) in samples.iter().enumerate() {
        let unit = units
            .next()
            .unwrap_or_else(|| Err(io::Error::other(format!("picture {at} is missing"))))?;
        if unit.len() != sample.size as usize {
            let why = format!("picture {at} has {} bytes, not {}", unit.len(), sample.size);
            return Err(io::Error::other(why));
        }
        out.write_all(&unit)?;
        written += unit.len() as u64;
    }
    if units.next().is_some() {
        return Err(io::Error::other(format!(
            "more than {} pictures",
            samples.len()
        )));
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::super::super::Codec;
    use super::super::encode::open_encoder;
    use super::*;

    fn config() -> CodecConfig {
        open_encoder(&Codec::H264, 96, 64, 30, 10)
            .expect("built in")
            .config()
            .clone()
    }

    #[test]
    fn the_clock_is_ffmpegs() {
        for (fps, is) in [
            (30, (15360, 512)),
            (60, (15360, 256)),
            (15, (15360, 1024)),
            (25, (12800, 512)),
            (50, (12800, 256)),
        ] {
            assert_eq!(grid(fps), is, "{fps}");
        }
    }

    fn samples(count: u32) -> Vec<Sample> {
        let sample = |k| Sample {
            size: 100 + k,
            key: k % 10 == 0,
        };
        (0..count).map(sample).collect()
    }

    #[test]
    fn the_table_of_contents_comes_first_and_says_where_the_units_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.mp4");
        for count in [1, 2, 11, 400] {
            let samples = samples(count);
            let units = samples
                .iter()
                .map(|sample| Ok(vec![sample.size as u8; sample.size as usize]));
            let mut file = vec![];
            let written = write(&mut file, &config(), 30, &samples, units).expect("written");
            assert_eq!(written, file.len() as u64);
            let place = |name: &[u8]| file.windows(4).position(|window| window == name);
            assert!(place(b"moov") < place(b"mdat") && place(b"elst").is_none());
            std::fs::write(&path, &file).expect("written");
            let contents = Contents::read(&path).expect("readable");
            assert_eq!(contents.config, config());
            assert_eq!((contents.timescale, contents.duration), (15360, Some(512)));
            assert_eq!(contents.len(), samples.len());
            for (k, (entry, sample)) in contents.entries.iter().zip(&samples).enumerate() {
                assert_eq!((entry.size, entry.key), (sample.size, sample.key), "{k}");
                assert_eq!(entry.shown_at, 512 * k as i64);
                let unit = &file[entry.offset as usize..][..entry.size as usize];
                assert!(unit.iter().all(|&byte| byte == sample.size as u8), "{k}");
            }
        }
    }

    #[test]
    fn a_film_that_cannot_be_played_is_refused() {
        let two = samples(2);
        let unit = |length: usize| Ok(vec![0; length]);
        let said = |samples: &[Sample], units: Vec<io::Result<Vec<u8>>>| {
            let said = write(&mut vec![], &config(), 30, samples, units);
            said.expect_err("refused").to_string()
        };
        assert!(said(&[], vec![]).contains("key frame"));
        assert!(said(&samples(2)[1..], vec![unit(101)]).contains("key frame"));
        assert!(said(&two, vec![unit(100)]).contains("picture 1 is missing"));
        assert!(said(&two, vec![unit(100), unit(7)]).contains("7 bytes, not 101"));
        assert!(said(&two, vec![unit(100), unit(101), unit(1)]).contains("more than 2"));
        assert!(head(&config(), 0, &two).is_err());
    }
}
