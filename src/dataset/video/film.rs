//! A film as a row of pictures: the k-th one, whichever codec it is in and however far its key frame is away.

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use super::super::Error;
use super::decode::Decoder;
use super::ffmpeg::Reader;
use super::mp4::Contents;
use super::pixels::{Planes, shrunk};
use super::unit::Coding;
use crate::observation::Frame;

/// Bytes of decoded pictures that are kept, so that scrubbing back and forth is cheap: 52 pictures of 640x480.
const KEPT_BYTES: usize = 48 << 20;

/// An mp4 file that is open for looking at it.
pub struct Film {
    contents: Contents,
    file: File,
    source: Source,
    kept: VecDeque<Frame>,
}

/// Who decodes.
enum Source {
    BuiltIn(Playhead),
    Ffmpeg(Reader),
}

/// A decoder on its way through a film.
struct Playhead {
    decoder: Decoder,
    /// The next unit, by its place in the file's order; `None` when it must start at a key frame.
    next: Option<usize>,
    /// The picture that comes out next, counted in the order of showing.
    shown: usize,
}

impl Film {
    /// Opens a film and reads its table of contents.
    ///
    /// # Errors
    /// As [`Contents::read`]; and [`Error::Video`] says what to install if nothing here reads its codec.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let contents = Contents::read(path)?;
        let file = File::open(path).map_err(|error| Error::Io {
            path: path.to_owned(),
            error,
        })?;
        let source = match Decoder::open(&contents.config) {
            Ok(Some(decoder)) => Source::BuiltIn(Playhead {
                decoder,
                next: None,
                shown: 0,
            }),
            Ok(None) => Source::Ffmpeg(Reader::open(&contents, "nothing built in reads it")?),
            Err(why) => Source::Ffmpeg(Reader::open(&contents, &why)?),
        };
        Ok(Self {
            contents,
            file,
            source,
            kept: VecDeque::new(),
        })
    }

    /// Pictures in it.
    pub fn len(&self) -> usize {
        self.contents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.contents.is_empty()
    }

    /// Pixels of a picture.
    pub fn size(&self) -> (u32, u32) {
        self.contents.config.size().unwrap_or_default()
    }

    /// Pictures a second, where it is constant.
    pub fn fps(&self) -> Option<f64> {
        self.contents.fps()
    }

    pub fn coding(&self) -> Coding {
        self.contents.config.coding()
    }

    /// Whether it needs no ffmpeg; so far, because that shows at the first picture that the built-in decoder cannot do.
    pub fn is_built_in(&self) -> bool {
        matches!(self.source, Source::BuiltIn(_))
    }

    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The `k`-th picture, from 0; its `seq` is `k`, its time that in the film.
    ///
    /// # Errors
    /// [`Error::Absent`] behind the end; [`Error::Video`] if it cannot be decoded, with the way out.
    pub fn frame(&mut self, k: usize) -> Result<Frame, Error> {
        if k >= self.len() {
            let (path, len) = (self.contents.path.display(), self.len());
            return Err(Error::Absent(format!(
                "{path} has {len} pictures, and no number {k}"
            )));
        }
        if let Some(frame) = self.kept.iter().find(|frame| frame.seq == k as u64) {
            return Ok(frame.clone());
        }
        if let Source::BuiltIn(playhead) = &mut self.source {
            let most = most_kept(self.contents.config.size());
            match playhead.seek(&self.contents, &mut self.file, k, most, &mut self.kept) {
                Ok(frame) => return Ok(frame),
                Err(error @ Error::Io { .. }) => return Err(error),
                Err(error) => {
                    let why = match error {
                        Error::Video { why, .. } => why,
                        other => other.to_string(),
                    };
                    self.source = Source::Ffmpeg(Reader::open(&self.contents, &why)?);
                }
            }
        }
        let Source::Ffmpeg(reader) = &mut self.source else {
            return Err(broken(&self.contents, "no decoder".to_owned()));
        };
        let rgb = reader.frame(&self.contents, k)?;
        let (width, height) = self.contents.config.size().unwrap_or_default();
        let at = Duration::from_secs_f64(self.contents.seconds(k).max(0.0));
        let frame = Frame::new(width, height, rgb, k as u64, at)
            .ok_or_else(|| broken(&self.contents, "a picture is empty".to_owned()))?;
        keep(
            &mut self.kept,
            &frame,
            most_kept(self.contents.config.size()),
        );
        Ok(frame)
    }

    /// The `k`-th picture, at most `width` by `height`.
    ///
    /// # Errors
    /// As [`Film::frame`].
    pub fn thumbnail(&mut self, k: usize, width: u32, height: u32) -> Result<Frame, Error> {
        let frame = self.frame(k)?;
        Ok(shrunk(&frame, width, height).unwrap_or(frame))
    }
}

impl Playhead {
    /// Decodes on, or from the key frame before `k`, until `k` came out. What came out shortly before it is kept too.
    fn seek(
        &mut self,
        contents: &Contents,
        file: &mut File,
        k: usize,
        most: usize,
        kept: &mut VecDeque<Frame>,
    ) -> Result<Frame, Error> {
        let found = self.decode_until(contents, file, k, most, kept);
        if found.is_err() {
            // What the decoder holds now belongs to no picture that is known.
            self.next = None;
        }
        found
    }

    fn decode_until(
        &mut self,
        contents: &Contents,
        file: &mut File,
        k: usize,
        most: usize,
        kept: &mut VecDeque<Frame>,
    ) -> Result<Frame, Error> {
        let video = |why: String| broken(contents, why);
        let key = contents
            .key_before(k)
            .ok_or_else(|| video("no key frame comes before it".to_owned()))?;
        let is_ahead = self.shown <= k && self.next.is_some_and(|next| next > key);
        if !is_ahead {
            self.decoder = Decoder::open(&contents.config)
                .map_err(video)?
                .ok_or_else(|| video("nothing built in reads it".to_owned()))?;
            self.next = Some(key);
            self.shown = contents
                .shown
                .iter()
                .position(|&at| at as usize == key)
                .unwrap_or(key);
        }
        let mut found = None;
        let mut broken_planes = false;
        while found.is_none() {
            let Some(at) = self.next else {
                return Err(video(format!("picture {k} does not come out")));
            };
            let shown = &mut self.shown;
            let mut each = |planes: Planes<'_>| {
                if *shown + most > k {
                    match frame_from_planes(contents, *shown, &planes) {
                        Some(frame) => {
                            keep(kept, &frame, most);
                            if *shown == k {
                                found = Some(frame);
                            }
                        }
                        None => broken_planes = true,
                    }
                }
                *shown += 1;
            };
            self.next = if at < contents.len() {
                let unit = contents.unit(file, at)?;
                let key = contents.entries[at].key;
                self.decoder
                    .decode(&unit, key, &mut each)
                    .map_err(|why| video(format!("picture {at} cannot be decoded: {why}")))?;
                Some(at + 1)
            } else {
                self.decoder.drain(&mut each).map_err(video)?;
                None
            };
            if broken_planes {
                return Err(video(format!("picture {k} is not whole")));
            }
        }
        found.ok_or_else(|| video(format!("picture {k} does not come out")))
    }
}

fn frame_from_planes(contents: &Contents, k: usize, planes: &Planes<'_>) -> Option<Frame> {
    let at = Duration::from_secs_f64(contents.seconds(k).max(0.0));
    let rgb = planes.to_rgb()?;
    Frame::new(planes.width as u32, planes.height as u32, rgb, k as u64, at)
}

fn most_kept(size: Option<(u32, u32)>) -> usize {
    let (width, height) = size.unwrap_or_default();
    (KEPT_BYTES / (width as usize * height as usize * 3).max(1)).max(2)
}

fn keep(kept: &mut VecDeque<Frame>, frame: &Frame, most: usize) {
    while kept.len() >= most {
        kept.pop_front();
    }
    kept.push_back(frame.clone());
}

fn broken(contents: &Contents, why: String) -> Error {
    Error::Video {
        path: contents.path.clone(),
        why,
    }
}
