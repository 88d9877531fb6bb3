//! Which films a new data set has: whole ones under a second name, parts of others copied from key frame to key frame.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::dataset::read::listing::seconds;
use crate::dataset::read::{Camera, Dataset};
use crate::dataset::schema::{FilePlace, Info};
use crate::dataset::table::Span;
use crate::dataset::video::LONGEST_FILM;
use crate::dataset::video::mp4::{Contents, Part, Recode, splice};
use crate::dataset::{Disk, Error};

use super::cut::Cut;

/// Pictures from key frame to key frame in what is encoded again.
const KEY_FRAME_INTERVAL: u32 = 10;

/// Pictures in a row of one film, and the cuts that they are.
#[derive(Debug)]
struct Run {
    film: PathBuf,
    contents: Contents,
    frames: Range<usize>,
    cuts: Range<usize>,
}

/// One film of the new data set.
#[derive(Debug)]
struct Reel {
    runs: Vec<Run>,
}

/// What became of the films of one camera.
#[derive(Debug, Default)]
pub struct Filmed {
    /// By cut.
    pub spans: Vec<Span>,
    pub kept: u64,
    pub encoded: u64,
}

/// Writes the films of one camera for all cuts below `root`.
///
/// # Errors
/// A film is missing, damaged or too short, cannot be cut where it must be, or the disk fails.
pub fn write(
    sources: &[Dataset],
    cuts: &[Cut],
    camera: (usize, &Camera),
    info: &Info,
    root: &Path,
    disk: &Disk,
) -> Result<Filmed, Error> {
    let mut filmed = Filmed::default();
    let mut place = FilePlace::default();
    let most_bytes = u64::from(info.video_files_size_in_mb) << 20;
    let key = &camera.1.key;
    for reel in reels(runs(sources, cuts, camera.0)?, info.fps, most_bytes) {
        let path = info.video_path(root, key, place)?;
        let total: usize = reel.runs.iter().map(|run| run.frames.len()).sum();
        let encoded = reel.write(&path, info.fps, disk)?;
        filmed.encoded += encoded as u64;
        filmed.kept += (total - encoded) as u64;
        let mut first = 0;
        for at in reel.runs.iter().flat_map(|run| run.cuts.clone()) {
            let length = cuts[at].rows.len();
            filmed.spans.push(Span {
                place,
                from_s: seconds(first, info.fps),
                to_s: seconds(first + length, info.fps),
            });
            first += length;
        }
        place = place.next(info.chunks_size.max(1));
    }
    Ok(filmed)
}

/// Joins cuts that follow each other in the same film.
fn runs(sources: &[Dataset], cuts: &[Cut], camera: usize) -> Result<Vec<Run>, Error> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, cut) in cuts.iter().enumerate() {
        let set = &sources[cut.source];
        let episode = set.episode(cut.episode)?;
        let span = &episode.spans[camera];
        let film = set.root().join(&span.film);
        let first = usize::try_from(span.first).unwrap_or(usize::MAX);
        let frames = first + cut.rows.start..first + cut.rows.end;
        match runs.last_mut() {
            Some(run) if run.film == film && run.frames.end == frames.start => {
                run.frames.end = frames.end;
                run.cuts.end = at + 1;
            }
            _ => runs.push(Run {
                contents: Contents::read(&film)?,
                film,
                frames,
                cuts: at..at + 1,
            }),
        }
    }
    for run in &runs {
        if run.frames.end > run.contents.len() {
            return Err(Error::Video {
                path: run.film.clone(),
                why: format!(
                    "has {} pictures, but its episodes need {}: `smolpilot data check` says which",
                    run.contents.len(),
                    run.frames.end
                ),
            });
        }
    }
    Ok(runs)
}

impl Run {
    /// Whether it is all of its film, which then needs no cutting.
    fn is_whole(&self) -> bool {
        self.frames == (0..self.contents.len())
    }

    /// Whether it can be copied as it is.
    fn begins_on_key(&self) -> bool {
        let entry = self.contents.entries.get(self.frames.start);
        entry.is_some_and(|entry| entry.key) && !self.contents.is_reordered()
    }

    fn bytes(&self) -> u64 {
        let entries = &self.contents.entries[self.frames.clone()];
        entries.iter().map(|entry| u64::from(entry.size)).sum()
    }
}

/// Puts parts that fit each other into one film, up to LeRobot's limits; whole films stay as they are.
fn reels(runs: Vec<Run>, fps: u32, most_bytes: u64) -> Vec<Reel> {
    let mut reels: Vec<Reel> = Vec::new();
    for run in runs {
        let joins = reels.last().is_some_and(|reel| {
            let frames: usize = reel.runs.iter().map(|it| it.frames.len()).sum();
            let bytes: u64 = reel.runs.iter().map(Run::bytes).sum();
            let part = |run: &Run| !run.is_whole() && run.begins_on_key();
            part(&run)
                && reel
                    .runs
                    .iter()
                    .all(|it| part(it) && it.contents.config == run.contents.config)
                && seconds(frames + run.frames.len(), fps) <= LONGEST_FILM.as_secs_f64()
                && bytes + run.bytes() <= most_bytes
        });
        match reels.last_mut() {
            Some(reel) if joins => reel.runs.push(run),
            _ => reels.push(Reel { runs: vec![run] }),
        }
    }
    reels
}

impl Reel {
    /// Writes the film and returns how many pictures were encoded again.
    fn write(&self, path: &Path, fps: u32, disk: &Disk) -> Result<usize, Error> {
        if let [run] = self.runs.as_slice()
            && run.is_whole()
        {
            disk.place(&run.film, path)?;
            return Ok(0);
        }
        if let Some(folder) = path.parent() {
            disk.create_folder(folder)?;
        }
        let parts = self.runs.iter().map(|run| Part {
            contents: run.contents.clone(),
            frames: run.frames.clone(),
        });
        let recode = Recode {
            fps,
            key_frame_interval: KEY_FRAME_INTERVAL,
            scratch: path.parent().unwrap_or(path),
        };
        let mut encoded = 0;
        disk.replace_by(path, |file| {
            encoded = splice(parts.collect(), recode, file)?.encoded;
            Ok(())
        })?;
        Ok(encoded)
    }
}
