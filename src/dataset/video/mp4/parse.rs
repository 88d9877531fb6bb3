//! Reads the table of contents of an mp4 file: where each picture lies, when it is shown, and from which one it can be decoded.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use shiguredo_mp4::aux::SampleTableAccessor;
use shiguredo_mp4::boxes::{HdlrBox, MoovBox, StblBox, TrakBox};
use shiguredo_mp4::{BoxHeader, Decode as _};

use super::super::super::Error;
use super::super::unit::CodecConfig;

/// Most bytes of a table of contents that are read: hours of video have a few megabytes.
const LARGEST_TABLE: u64 = 256 << 20;

/// One picture in a file, in the order of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub offset: u64,
    pub size: u32,
    /// It can be decoded without those before it.
    pub key: bool,
    /// When it is shown, in ticks of the track's clock; the first picture is at 0.
    pub shown_at: i64,
}

/// The table of contents of a film.
#[derive(Clone, Debug)]
pub struct Contents {
    pub path: PathBuf,
    pub config: CodecConfig,
    /// Ticks a second.
    pub timescale: u32,
    /// Ticks from each picture to the next, where they are all equal. The last may be of any length.
    pub duration: Option<u32>,
    /// In the order of decoding.
    pub entries: Vec<Entry>,
    /// For each picture in the order of showing its place in `entries`.
    pub shown: Vec<u32>,
    /// When the first picture is shown, seconds, with the edit list that players obey; 0 in a film that LeRobot reads rightly.
    pub begins_at_s: f64,
}

impl Contents {
    /// Reads the first film of a file.
    ///
    /// # Errors
    /// [`Error::Io`], and [`Error::Video`] if it is no mp4 file, holds no film, or keeps its pictures in fragments.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let io = |error| Error::Io {
            path: path.to_owned(),
            error,
        };
        let mut file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let table = table_bytes(&mut file, length, path)?;
        let broken = |why: String| broken(path, why);
        let (table, _) = MoovBox::decode(&table).map_err(|error| broken(error.to_string()))?;
        if table.mvex_box.is_some() {
            return Err(broken(
                "it is in fragments. Make it whole by `ffmpeg -i IN.mp4 -c copy OUT.mp4`"
                    .to_owned(),
            ));
        }
        let is_film =
            |track: &TrakBox| track.mdia_box.hdlr_box.handler_type == HdlrBox::HANDLER_TYPE_VIDE;
        let clock = f64::from(table.mvhd_box.timescale.get());
        let track = table.trak_boxes.into_iter().find(is_film);
        let track = track.ok_or_else(|| broken("it holds no film".to_owned()))?;
        let shift = shift_of(&track, clock);
        let mut contents = Self::from_track(path, track).map_err(broken)?;
        contents.begins_at_s += shift;
        let beyond = |entry: &Entry| entry.offset + u64::from(entry.size) > length;
        if let Some(at) = contents.entries.iter().position(beyond) {
            return Err(broken(format!("it is cut off: picture {at} is missing")));
        }
        Ok(contents)
    }

    fn from_track(path: &Path, track: TrakBox) -> Result<Self, String> {
        let timescale = track.mdia_box.mdhd_box.timescale.get();
        let table: SampleTableAccessor<StblBox> =
            SampleTableAccessor::new(track.mdia_box.minf_box.stbl_box)
                .map_err(|error| error.to_string())?;
        let first = table.samples().next().ok_or("it holds no pictures")?;
        let config = CodecConfig::new(first.chunk().sample_entry().clone());
        let same = |entry| CodecConfig::new(entry) == config;
        if table
            .chunks()
            .any(|chunk| !same(chunk.sample_entry().clone()))
        {
            return Err("its codec changes on the way".to_owned());
        }
        let mut entries: Vec<Entry> = table
            .samples()
            .map(|sample| Entry {
                offset: sample.data_offset(),
                size: sample.data_size(),
                key: sample.is_sync_sample(),
                shown_at: sample.timestamp() as i64 + sample.composition_time_offset().unwrap_or(0),
            })
            .collect();
        let mut shown: Vec<u32> = (0..entries.len() as u32).collect();
        shown.sort_by_key(|&at| entries[at as usize].shown_at);
        let begin = entries[shown[0] as usize].shown_at;
        for entry in &mut entries {
            entry.shown_at -= begin;
        }
        Ok(Self {
            path: path.to_owned(),
            config,
            timescale,
            duration: constant(&entries, &shown, first_duration(&table)),
            entries,
            shown,
            begins_at_s: begin as f64 / f64::from(timescale),
        })
    }

    /// Pictures in it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Pictures a second, where it is constant.
    pub fn fps(&self) -> Option<f64> {
        let duration = self.duration?;
        Some(f64::from(self.timescale) / f64::from(duration))
    }

    /// When picture `k` is shown, seconds after the first; the end for one behind the last.
    pub fn seconds(&self, k: usize) -> f64 {
        let entry = self.shown.get(k).or(self.shown.last());
        let ticks = entry.map_or(0, |&at| self.entries[at as usize].shown_at);
        ticks as f64 / f64::from(self.timescale)
    }

    /// Whether pictures are decoded in another order than they are shown in.
    pub fn is_reordered(&self) -> bool {
        self.shown
            .iter()
            .enumerate()
            .any(|(k, &at)| k != at as usize)
    }

    /// The place in `entries` of the key frame that picture `k` is decoded from.
    pub(in super::super) fn key_before(&self, k: usize) -> Option<usize> {
        let at = *self.shown.get(k)? as usize;
        (0..=at).rev().find(|&at| self.entries[at].key)
    }

    /// Bytes of the unit at this place in `entries`.
    pub(in super::super) fn unit(&self, file: &mut File, at: usize) -> Result<Vec<u8>, Error> {
        let Some(entry) = self.entries.get(at) else {
            return Err(broken(&self.path, format!("it has no picture {at}")));
        };
        let mut bytes = vec![0; entry.size as usize];
        file.seek(SeekFrom::Start(entry.offset))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| Error::Io {
                path: self.path.clone(),
                error,
            })?;
        Ok(bytes)
    }
}

/// How much later than its own clock says a track is shown, seconds: its edit list may wait first, or leave a begin out.
fn shift_of(track: &TrakBox, clock: f64) -> f64 {
    let edits = track
        .edts_box
        .as_ref()
        .and_then(|edits| edits.elst_box.as_ref());
    let own = f64::from(track.mdia_box.mdhd_box.timescale.get());
    let mut shift = 0.0;
    for edit in edits.map_or(&[][..], |edits| &edits.entries) {
        if edit.media_time >= 0 {
            return shift - edit.media_time as f64 / own;
        }
        shift += edit.edit_duration as f64 / clock;
    }
    shift
}

fn first_duration(table: &SampleTableAccessor<StblBox>) -> u32 {
    table.samples().next().map_or(1, |sample| sample.duration())
}

/// The step from each picture to the next, if it is the same for all; `alone` for a single picture.
fn constant(entries: &[Entry], shown: &[u32], alone: u32) -> Option<u32> {
    let at = |k: usize| entries[shown[k] as usize].shown_at;
    if shown.len() < 2 {
        return (alone > 0).then_some(alone);
    }
    let step = at(1) - at(0);
    let even = (1..shown.len()).all(|k| at(k) - at(k - 1) == step);
    u32::try_from(step).ok().filter(|&step| even && step > 0)
}

/// The bytes of the table of contents.
fn table_bytes(file: &mut File, length: u64, path: &Path) -> Result<Vec<u8>, Error> {
    let io = |error| Error::Io {
        path: path.to_owned(),
        error,
    };
    let mut at = 0;
    while at < length {
        file.seek(SeekFrom::Start(at)).map_err(io)?;
        let mut header = vec![];
        file.by_ref()
            .take(BoxHeader::MAX_SIZE as u64)
            .read_to_end(&mut header)
            .map_err(io)?;
        // Too short a file would be read beyond its end.
        header.resize(BoxHeader::MAX_SIZE, 0);
        let (header, _) = BoxHeader::decode(&header)
            .map_err(|error| broken(path, format!("it is no mp4 file ({error})")))?;
        let size = match header.box_size.get() {
            0 => length - at,
            size => size,
        };
        if size < BoxHeader::MIN_SIZE as u64 {
            break;
        }
        if header.box_type == MoovBox::TYPE {
            if size > LARGEST_TABLE || at + size > length {
                return Err(broken(path, "its table of contents is cut off".to_owned()));
            }
            file.seek(SeekFrom::Start(at)).map_err(io)?;
            let mut table = vec![0; size as usize];
            file.read_exact(&mut table).map_err(io)?;
            return Ok(table);
        }
        at = at.saturating_add(size);
    }
    let why = "it has no table of contents: it is no mp4 file, or whoever wrote it was stopped";
    Err(broken(path, why.to_owned()))
}

fn broken(path: &Path, why: String) -> Error {
    Error::Video {
        path: path.to_owned(),
        why,
    }
}
