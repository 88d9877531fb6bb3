//! Joins films and cuts them, picture by picture: copied where that can be, encoded again only where a cut falls between key frames.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use super::super::super::{Codec, Error};
use super::super::encode::open_encoder;
use super::super::ffmpeg::{Ffmpeg, transcode};
use super::super::film::Film;
use super::super::scratch::Scratch;
use super::super::unit::Coding;
use super::{Contents, Sample, head, write};

/// Some pictures of a film, in a row.
#[derive(Clone, Debug)]
pub struct Part {
    pub contents: Contents,
    pub frames: Range<usize>,
}

/// What was made of some parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spliced {
    /// Pictures in the new film.
    pub frames: usize,
    /// Those of them that had to be encoded again.
    pub encoded: usize,
}

impl Part {
    /// A whole film.
    ///
    /// # Errors
    /// As [`Contents::read`].
    pub fn whole(path: &Path) -> Result<Self, Error> {
        let contents = Contents::read(path)?;
        let frames = 0..contents.len();
        Ok(Self { contents, frames })
    }

    /// The pictures `frames` of a film.
    ///
    /// # Errors
    /// As [`Contents::read`]; [`Error::Absent`] if there are none, or fewer.
    pub fn new(path: &Path, frames: Range<usize>) -> Result<Self, Error> {
        let contents = Contents::read(path)?;
        if frames.is_empty() || frames.end > contents.len() {
            return Err(Error::Absent(format!(
                "{} has {} pictures, and not {frames:?}",
                path.display(),
                contents.len()
            )));
        }
        Ok(Self { contents, frames })
    }

    /// Whether its units can be copied as they are: it begins with a key frame and no picture waits for another.
    fn is_whole(&self) -> bool {
        let first = self.contents.entries.get(self.frames.start);
        first.is_some_and(|entry| entry.key) && !self.contents.is_reordered()
    }

    /// Up to the first key frame in it, and from there; one part if there is nothing to divide.
    fn divided(self) -> Vec<Self> {
        let Self { contents, frames } = self;
        let key = frames.clone().find(|&k| contents.entries[k].key);
        match key {
            Some(key) if key > frames.start && !contents.is_reordered() => vec![
                Self {
                    contents: contents.clone(),
                    frames: frames.start..key,
                },
                Self {
                    contents,
                    frames: key..frames.end,
                },
            ],
            _ => vec![Self { contents, frames }],
        }
    }
}

/// Joins whole films without touching their units.
///
/// # Errors
/// As [`Contents::read`]; [`Error::Video`] names the first film that does not fit the one before it.
pub fn concat(films: &[&Path], fps: u32, out: &mut dyn Write) -> Result<usize, Error> {
    let parts: Vec<_> = films
        .iter()
        .map(|path| Part::whole(path))
        .collect::<Result<_, _>>()?;
    concat_into(&parts, fps, out)
}

/// Joins parts without touching their units. Returns the pictures.
///
/// # Errors
/// [`Error::Video`] names the first part that does not fit, and why; [`Error::Io`] the file that cannot be read.
pub(in super::super) fn concat_into(
    parts: &[Part],
    fps: u32,
    out: &mut dyn Write,
) -> Result<usize, Error> {
    let first = parts
        .first()
        .ok_or_else(|| Error::Absent("no films to join".to_owned()))?;
    for part in parts {
        misfit(part, &first.contents, fps).map_or(Ok(()), |why| Err(broken(part, why)))?;
    }
    let samples: Vec<_> = parts
        .iter()
        .flat_map(|part| &part.contents.entries[part.frames.clone()])
        .map(|entry| Sample {
            size: entry.size,
            key: entry.key,
        })
        .collect();
    let head = head(&first.contents.config, fps, &samples)
        .map_err(|error| broken(first, error.to_string()))?;
    let to = |part: &Part, error| Error::Io {
        path: part.contents.path.clone(),
        error,
    };
    out.write_all(&head).map_err(|error| to(first, error))?;
    for part in parts {
        copy(part, out).map_err(|error| to(part, error))?;
    }
    Ok(samples.len())
}

/// Why a part cannot stand behind `first` as it is.
fn misfit(part: &Part, first: &Contents, fps: u32) -> Option<String> {
    if part.contents.config != first.config {
        let other = first.path.display();
        return Some(format!(
            "it is encoded otherwise than {other}: encode one of them again"
        ));
    }
    if !part.is_whole() {
        return Some(format!(
            "a film cannot begin with picture {}",
            part.frames.start
        ));
    }
    let is = part.contents.fps();
    if is.is_none_or(|is| (is - f64::from(fps)).abs() > 1e-3) {
        return Some(format!("it does not show {fps} pictures a second, evenly"));
    }
    None
}

/// The units of a part, one after the other.
fn copy(part: &Part, out: &mut dyn Write) -> io::Result<()> {
    let mut file = File::open(&part.contents.path)?;
    let mut unit = vec![];
    for entry in &part.contents.entries[part.frames.clone()] {
        unit.resize(entry.size as usize, 0);
        file.seek(SeekFrom::Start(entry.offset))?;
        file.read_exact(&mut unit)?;
        out.write_all(&unit)?;
    }
    Ok(())
}

/// How what cannot be copied is encoded.
#[derive(Clone, Copy, Debug)]
pub struct Recode<'a> {
    /// Pictures a second of all parts and of the new film.
    pub fps: u32,
    pub key_frame_interval: u32,
    /// A folder for what is needed on the way, on the disk of the data set. It must be there.
    pub scratch: &'a Path,
}

/// Joins parts of films. What begins between key frames is encoded again up to the next one, in the codec of the first part; where
/// that gives units that do not fit the others, all are.
///
/// # Errors
/// As [`concat`]; and [`Error::Encoder`] where the codec needs an ffmpeg that is not there, with the key frames that a cut needs none at.
pub fn splice(parts: Vec<Part>, recode: Recode<'_>, out: &mut dyn Write) -> Result<Spliced, Error> {
    let first = parts
        .first()
        .ok_or_else(|| Error::Absent("no films to join".to_owned()))?;
    let codec = codec_like(first)?;
    let mut made = vec![];
    let mut pieces: Vec<Part> = parts.into_iter().flat_map(Part::divided).collect();
    let mut encoded = 0;
    for piece in &mut pieces {
        if !piece.is_whole() {
            encoded += piece.frames.len();
            *piece = recoded(piece, &codec, recode, &mut made)?;
        }
    }
    let fitting = encoded == 0
        || pieces
            .iter()
            .all(|piece| piece.contents.config == pieces[0].contents.config);
    if !fitting {
        encoded = 0;
        for piece in &mut pieces {
            encoded += piece.frames.len();
            if !made.iter().any(|made| made.path() == piece.contents.path) {
                *piece = recoded(piece, &codec, recode, &mut made)?;
            }
        }
    }
    let frames = concat_into(&pieces, recode.fps, out)?;
    Ok(Spliced { frames, encoded })
}

/// The encoder that makes what the part is made of.
fn codec_like(part: &Part) -> Result<Codec, Error> {
    match part.contents.config.coding() {
        Coding::H264 => Ok(Codec::H264),
        Coding::Av1 => Ok(Codec::Ffmpeg("libsvtav1".to_owned())),
        Coding::Hevc => Ok(Codec::Ffmpeg("libx265".to_owned())),
        other => Err(broken(part, format!("nothing here encodes {other}"))),
    }
}

/// A part encoded again, in a file of its own that ends with `made`.
fn recoded(
    part: &Part,
    codec: &Codec,
    recode: Recode<'_>,
    made: &mut Vec<Scratch>,
) -> Result<Part, Error> {
    if let Codec::Ffmpeg(encoder) = codec {
        let there = Ffmpeg::find().and_then(|ffmpeg| ffmpeg.require(encoder));
        there.map_err(|missing| or_cut_elsewhere(missing, part))?;
    }
    let number = made.len();
    let name = |end: &str| recode.scratch.join(format!("part-{number}.{end}"));
    let units = Scratch::new(name("units"));
    let h264 = Scratch::new(name("h264"));
    encode_part(part, codec, recode, units.path(), h264.path())?;
    let ready = match codec {
        Codec::H264 => h264,
        Codec::Ffmpeg(encoder) => {
            let ready = Scratch::new(name("film"));
            let mut out = create(ready.path())?;
            transcode(
                encoder,
                h264.path(),
                recode.key_frame_interval,
                &mut out,
                &mut |_| {},
            )?;
            close(out, ready.path())?;
            ready
        }
    };
    let part = Part::whole(ready.path())?;
    made.push(ready);
    Ok(part)
}

/// Decodes a part and encodes it with the built-in encoder into the film `target`, by way of the file `units`.
fn encode_part(
    part: &Part,
    codec: &Codec,
    recode: Recode<'_>,
    units: &Path,
    target: &Path,
) -> Result<(), Error> {
    let mut film = Film::open(&part.contents.path)?;
    let (width, height) = film.size();
    let mut encoder = open_encoder(codec, width, height, recode.fps, recode.key_frame_interval)?;
    let mut samples = vec![];
    let mut out = create(units)?;
    for k in part.frames.clone() {
        let unit = encoder.encode(&film.frame(k)?)?;
        samples.push(Sample {
            size: unit.bytes.len() as u32,
            key: unit.key,
        });
        out.write_all(&unit.bytes)
            .map_err(|error| at(units, error))?;
    }
    close(out, units)?;
    let mut source = File::open(units).map_err(|error| at(units, error))?;
    let read = samples.iter().map(|sample| {
        let mut unit = vec![0; sample.size as usize];
        source.read_exact(&mut unit).map(|()| unit)
    });
    let mut out = create(target)?;
    write(&mut out, encoder.config(), recode.fps, &samples, read)
        .map_err(|error| at(target, error))?;
    close(out, target)
}

fn or_cut_elsewhere(missing: Error, part: &Part) -> Error {
    match missing {
        Error::Encoder { encoder, why } => Error::Encoder {
            encoder,
            why: format!("{why}. Or cut {}", nearest_keys(part)),
        },
        other => other,
    }
}

/// Where a cut needs nothing to be encoded.
fn nearest_keys(part: &Part) -> String {
    let start = part.frames.start;
    let entries = &part.contents.entries;
    if part.contents.is_reordered() {
        return "between episodes only".to_owned();
    }
    let before = (0..=start).rev().find(|&k| entries[k].key).unwrap_or(0);
    let after = (start..entries.len()).find(|&k| entries[k].key);
    match after {
        Some(after) => {
            format!("at picture {before} or {after} of its film, which needs no encoder")
        }
        None => format!("at picture {before} of its film, which needs no encoder"),
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, Error> {
    File::create(path)
        .map(BufWriter::new)
        .map_err(|error| at(path, error))
}

fn close(mut out: BufWriter<File>, path: &Path) -> Result<(), Error> {
    out.flush().map_err(|error| at(path, error))
}

fn at(path: &Path, error: io::Error) -> Error {
    Error::Io {
        path: path.to_owned(),
        error,
    }
}

fn broken(part: &Part, why: String) -> Error {
    Error::Video {
        path: part.contents.path.clone(),
        why,
    }
}
