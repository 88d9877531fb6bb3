//! Whether every film shows one picture a row, each at its time: one missing picture shifts all behind it, and no reader notices.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::dataset::read::listing::seconds;
use crate::dataset::read::parquet_file::files_below;
use crate::dataset::read::{Camera, Span, opening};
use crate::dataset::schema::{Feature, Info, canonical_codec};
use crate::dataset::video::LONGEST_FILM;
use crate::dataset::video::mp4::{Contents, grid};

use super::Progress;
use super::arithmetic::TOLERANCE_S;
use super::finding::{FilmFacts, Finding, Report};
use super::lists::Listed;

/// More pictures than this between key frames make every random access slow.
const FAR_KEYS: usize = 60;
/// What a time may be off its place from adding up fractions, seconds.
const ADDED_UP_S: f64 = 1e-6;

/// Checks the films of all cameras.
pub fn check(
    root: &Path,
    info: &Info,
    list: &[Listed],
    report: &mut Report,
    progress: &mut Progress<'_>,
) {
    let cameras = opening::cameras(info);
    for (at, camera) in cameras.iter().enumerate() {
        progress("films", 0.6 + 0.3 * at as f32 / cameras.len() as f32);
        let Some(feature) = info.features.get(&camera.key).filter(|_| !camera.in_table) else {
            continue;
        };
        let mut by_film: BTreeMap<&Path, Vec<(usize, usize, &Span)>> = BTreeMap::new();
        for listed in list {
            let episode = &listed.episode;
            if let Some(span) = episode.spans.get(at) {
                let shows = by_film.entry(&span.film).or_default();
                shows.push((episode.index, episode.length, span));
            }
        }
        // What belongs to nothing is known only where everything that should be could be read.
        if !report.has_errors() {
            orphans(root, camera, &by_film, report);
        }
        for (file, shows) in by_film {
            let film = Reel {
                file,
                fps: info.fps,
                camera,
                feature,
                shows: &shows,
            };
            film.check(root, report);
        }
    }
}

fn orphans<T>(root: &Path, camera: &Camera, used: &BTreeMap<&Path, T>, report: &mut Report) {
    let folder = root.join("videos").join(&camera.key);
    let files: Vec<PathBuf> = files_below(&folder, "mp4");
    for path in files {
        let file = path.strip_prefix(root).unwrap_or(&path);
        if !used.contains_key(file) {
            report.add(
                Finding::warning("video.orphan", "belongs to no episode")
                    .file(file)
                    .advice("no reader looks at it; it can be removed"),
            );
        }
    }
}

/// A film, and the episodes that it should show: number, rows, place.
pub struct Reel<'a> {
    pub file: &'a Path,
    pub fps: u32,
    pub camera: &'a Camera,
    pub feature: &'a Feature,
    pub shows: &'a [(usize, usize, &'a Span)],
}

impl Reel<'_> {
    /// Checks the film below `root`.
    pub fn check(&self, root: &Path, report: &mut Report) {
        let path = root.join(self.file);
        let wanted = self.places(report);
        if !path.is_file() {
            let what = format!("is missing, with {} episodes", self.shows.len());
            let finding = Finding::error("video.missing", what).advice(
                "copy the data set whole, or fetch it again: LeRobot looks for it on the hub",
            );
            report.add(self.here(finding));
            return;
        }
        match Contents::read(&path) {
            Err(error) => {
                let finding = Finding::error("video.unreadable", error.to_string());
                report.add(self.here(finding));
            }
            Ok(contents) => {
                self.pictures(&contents, wanted, report);
                self.times(&contents, report);
                self.declared(&contents, report);
                self.keys(&contents, report);
                report.films.push(facts(self.file, &path, &contents));
            }
        }
    }

    /// Whether the episodes follow each other without a gap; how many pictures they need.
    fn places(&self, report: &mut Report) -> usize {
        let fps = self.fps;
        let mut next = 0;
        for (episode, length, span) in self.shows {
            let due = seconds(next, fps);
            let off = (span.from_s - due).abs();
            let what = format!("begins at {:.6} s, its place is {due:.6} s", span.from_s);
            if off > TOLERANCE_S {
                let finding = Finding::error("video.from_timestamp", what)
                    .advice("all its pictures belong to other rows");
                report.add(self.here(finding).episode(*episode));
            } else if off > ADDED_UP_S {
                let finding = Finding::warning("video.from_timestamp", what);
                report.add(self.here(finding).episode(*episode));
            }
            let (lasts, rows) = (span.to_s - span.from_s, seconds(*length, fps));
            if (lasts - rows).abs() > 0.5 / f64::from(fps) {
                let what = format!("lasts {lasts:.6} s, its rows {rows:.6} s");
                let finding = Finding::error("video.to_timestamp", what);
                report.add(self.here(finding).episode(*episode));
            }
            next += length;
        }
        next
    }

    fn pictures(&self, contents: &Contents, wanted: usize, report: &mut Report) {
        let there = contents.len();
        if there != wanted {
            let what = format!("has {there} pictures, its episodes have {wanted} rows");
            let advice = if there < wanted {
                "pictures behind the missing ones belong to later rows, and nothing says from where on: delete its episodes, or \
                         look through them"
            } else {
                "pictures are left over at its end or somewhere in it: look through its episodes"
            };
            report.add(self.here(Finding::error("video.frames", what).advice(advice)));
        }
        let lasts = seconds(there, self.fps);
        if lasts > LONGEST_FILM.as_secs_f64() {
            let what = format!(
                "is {lasts:.0} s long: beyond {} s times are coarser than LeRobot's tolerance",
                LONGEST_FILM.as_secs()
            );
            let finding = Finding::warning("video.length", what)
                .advice("pictures of long episodes near its end may be refused; `data split` makes shorter films");
            report.add(self.here(finding));
        }
    }

    /// Pictures must be at k / fps, from 0.
    fn times(&self, contents: &Contents, report: &mut Report) {
        let fps = self.fps;
        let begin = contents.begins_at_s;
        let off = (0..contents.len())
            .map(|k| (begin + contents.seconds(k) - seconds(k, fps)).abs())
            .fold(0.0, f64::max);
        let what = format!(
            "shows pictures up to {off:.6} s from their place, k / {}",
            self.fps
        );
        if off >= TOLERANCE_S {
            let advice = if begin.abs() >= TOLERANCE_S {
                "its first picture is not at 0"
            } else {
                "its rate is not constant, or not fps; LeRobot refuses such pictures, or shows the wrong ones"
            };
            let finding = Finding::error("video.pts", what).advice(advice);
            report.add(self.here(finding));
        } else if off > ADDED_UP_S {
            report.add(self.here(Finding::warning("video.pts", what)));
        }
        let (timescale, _) = grid(self.fps);
        if contents.timescale != timescale {
            let what = format!(
                "counts {} ticks a second, ffmpeg {timescale}",
                contents.timescale
            );
            let finding = Finding::warning("video.timescale", what)
                .advice("LeRobot's merge joins films of different clocks without noticing");
            report.add(self.here(finding));
        }
        if contents.is_reordered() {
            let finding = Finding::note("video.bframes", "has B-frames")
                .advice("LeRobot's tools join and cut it less safely");
            report.add(self.here(finding));
        }
    }

    fn declared(&self, contents: &Contents, report: &mut Report) {
        let config = &contents.config;
        let (width, height) = config.size().unwrap_or_default();
        if (width, height) != (self.camera.width, self.camera.height) {
            let what = format!(
                "is {width}x{height}, the feature {} is {}x{}",
                self.camera.key, self.camera.width, self.camera.height
            );
            report.add(self.here(Finding::error("video.size", what)));
        }
        let coding = config.coding().to_string();
        let said = self.feature.codec().map(canonical_codec);
        if let Some(said) = said.filter(|said| *said != coding) {
            let what = format!("is {coding}, meta/info.json says {said}");
            let finding = Finding::warning("video.info", what)
                .advice("LeRobot's tools encode by what is said there");
            report.add(self.here(finding));
        }
        let info = self.feature.info.as_ref();
        let backend = info.and_then(|info| info.get("video.video_backend"));
        if let Some(backend) = backend
            .and_then(|it| it.as_str())
            .filter(|it| *it != "pyav")
        {
            let what = format!("video.video_backend of {} is {backend}", self.camera.key);
            report.add(
                Finding::warning("video.backend", what)
                    .file("meta/info.json")
                    .advice("LeRobot's own delete and split fail with anything but pyav"),
            );
        }
    }

    fn keys(&self, contents: &Contents, report: &mut Report) {
        let keys: BTreeSet<usize> = contents
            .shown
            .iter()
            .enumerate()
            .filter(|(_, at)| contents.entries[**at as usize].key)
            .map(|(shown, _)| shown)
            .collect();
        let ends = keys.iter().copied().skip(1).chain([contents.len()]);
        let far = keys.iter().zip(ends).map(|(a, b)| b - a).max().unwrap_or(0);
        if far > FAR_KEYS {
            let what = format!("has up to {far} pictures from one key frame to the next");
            let finding = Finding::warning("video.gop", what)
                .advice("training reads at random, and decodes them all for one");
            report.add(self.here(finding));
        }
        let mut next = 0;
        for (episode, length, _) in self.shows {
            if !keys.contains(&next) {
                let finding = Finding::note("video.episode_key", "does not begin on a key frame")
                    .advice("to cut there, pictures must be encoded again");
                report.add(self.here(finding).episode(*episode));
            }
            next += length;
        }
    }

    fn here(&self, finding: Finding) -> Finding {
        finding.file(self.file)
    }
}

fn facts(file: &Path, path: &Path, contents: &Contents) -> FilmFacts {
    let (width, height) = contents.config.size().unwrap_or_default();
    FilmFacts {
        file: file.to_path_buf(),
        codec: contents.config.coding().to_string(),
        width,
        height,
        frames: contents.len() as u64,
        key_frames: contents.entries.iter().filter(|it| it.key).count() as u64,
        bytes: path.metadata().map_or(0, |it| it.len()),
    }
}
