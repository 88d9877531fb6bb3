//! From a journal to an episode: its rows are read, and each camera's pictures become a film.

use std::io;
use std::path::{Path, PathBuf};

use crate::dataset::journal::{Commit, Journal, Row, Stream, Tape};
use crate::dataset::save::{EpisodeParts, RowRecord, VideoPart};
use crate::dataset::stats::Pictures;
use crate::dataset::video::mp4::{self, Sample};
use crate::dataset::video::{Film, transcode};
use crate::dataset::{Codec, Disk, Error, disk};

/// Reads a committed journal, and makes the films beside it. Called again it makes the same.
///
/// # Errors
/// The journal cannot be read or holds less than was committed, or the disk cannot be written.
pub fn episode(
    journal: &Journal,
    commit: Commit,
    disk: &Disk,
    told: &dyn Fn(&str, f32),
) -> Result<EpisodeParts, Error> {
    let (rows, tasks) = Tape::rows(&journal.rows_path(), commit.rows)?;
    let cameras = journal.header.cameras.len();
    let mut videos = Vec::with_capacity(cameras);
    for (camera, shape) in journal.header.cameras.iter().enumerate() {
        let stage = format!("film of {}", shape.name);
        let so_far = |share: f32| told(&stage, (camera as f32 + share) / cameras as f32);
        so_far(0.0);
        videos.push(film(journal, camera, commit.rows, disk, &so_far)?);
    }
    Ok(EpisodeParts {
        journal: journal.id().to_owned(),
        rows: rows.into_iter().map(kept).collect(),
        tasks,
        outcome: commit.outcome,
        videos,
    })
}

fn kept(row: Row) -> RowRecord {
    RowRecord {
        state: row.state,
        action: row.action,
        task: row.task as usize,
        captured_at: row.at,
        repeated: row.repeated,
        provenance: row.provenance,
    }
}

/// Makes the film of a camera's first `rows` pictures, with the codec that the operator chose.
fn film(
    journal: &Journal,
    camera: usize,
    rows: u64,
    disk: &Disk,
    told: &dyn Fn(f32),
) -> Result<VideoPart, Error> {
    let (path, pictures) = packed(journal, camera, rows, disk)?;
    let Codec::Ffmpeg(encoder) = journal.header.codec() else {
        return Ok(VideoPart { path, pictures });
    };
    let encoded = path.with_extension("again.mp4");
    let interval = journal.header.key_frame_interval;
    disk.replace_by(&encoded, |out| {
        transcode(&encoder, &path, interval, out, &mut |share| told(share)).map(drop)
    })?;
    Ok(VideoPart {
        path: encoded,
        pictures,
    })
}

/// Packs the pictures as they were encoded while the episode ran.
fn packed(
    journal: &Journal,
    camera: usize,
    rows: u64,
    disk: &Disk,
) -> Result<(PathBuf, Pictures), Error> {
    let (from, to) = (journal.stream_path(camera), journal.film_path(camera));
    let mut stream = Stream::open(&from)?;
    let mut samples = Vec::new();
    while (samples.len() as u64) < rows {
        let Some(unit) = stream.unit()? else {
            return Err(Error::Malformed {
                path: from,
                why: format!("{} pictures are whole, not {rows}", samples.len()),
            });
        };
        samples.push(Sample {
            size: unit.bytes.len() as u32,
            key: unit.key,
        });
    }
    let config = stream.config.clone();
    let pictures = stream.statistics()?;
    let fps = journal.header.fps;
    disk.replace_by(&to, |out| {
        let units = units(&from, samples.len())?;
        let written = mp4::write(out, &config, fps, &samples, units);
        written.map(drop).map_err(|error| disk::at(&to, error))
    })?;
    let pictures = match pictures {
        Some(pictures) => pictures,
        None => seen(&to)?,
    };
    Ok((to, pictures))
}

/// Statistics of a film's pictures: of an episode that was interrupted, whose own are not there.
fn seen(path: &Path) -> Result<Pictures, Error> {
    let mut film = Film::open(path)?;
    let mut pictures = Pictures::default();
    for k in 0..film.len() {
        let frame = film.frame(k)?;
        pictures.push(frame.width, frame.height, &frame.rgb);
    }
    Ok(pictures)
}

/// The units of a stream once more, so that a long film need not fit the memory.
fn units(path: &Path, count: usize) -> Result<impl Iterator<Item = io::Result<Vec<u8>>>, Error> {
    let mut stream = Stream::open(path)?;
    let next = move || match stream.unit() {
        Ok(unit) => unit.map(|unit| Ok(unit.bytes)),
        Err(error) => Some(Err(io::Error::other(error))),
    };
    Ok(std::iter::from_fn(next).take(count))
}
