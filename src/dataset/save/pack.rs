//! Joins the films of short episodes into few files, once a session is over: LeRobot opens a data set of few files faster.
//!
//! The films of episodes that follow on each other are joined to the first of them, which keeps its name: what pointed into it
//! still does, at every moment. Then the table of episodes is made to point the others there, and their films are removed. No
//! picture is encoded again.

use std::path::{Path, PathBuf};

use super::ledger::Packing;
use super::state::State;
use super::{MIB, Store};
use crate::dataset::schema::FilePlace;
use crate::dataset::table::{Episode, episodes};
use crate::dataset::video::LONGEST_FILM;
use crate::dataset::video::mp4::{Contents, concat};
use crate::dataset::{Disk, Error};

/// A film and the episodes in it, which follow on each other.
struct Film {
    place: FilePlace,
    /// The first episode, and the one after the last.
    first: usize,
    end: usize,
    rows: usize,
    bytes: u64,
    contents: Contents,
}

impl Store {
    /// Joins films where that takes no encoding, up to the data set's file size and [`LONGEST_FILM`]. Returns how many became part of
    /// another. A file of LeRobot's is not touched.
    ///
    /// # Errors
    /// The disk failed, or a film is damaged. The data set is whole all the same, and the next opening finishes what was begun.
    pub fn pack(&mut self) -> Result<usize, Error> {
        self.refresh()?;
        let features = &self.state.info.features;
        let cameras: Vec<_> = features.videos().map(|(key, _)| key.to_owned()).collect();
        let mut joined = 0;
        for key in cameras {
            for group in self.groups(&key)? {
                self.stale = true;
                self.join(&key, &group)?;
                self.stale = false;
                joined += group.len() - 1;
            }
        }
        Ok(joined)
    }

    /// The films of a camera that can become one, in the order of their episodes; at least two in each group.
    fn groups(&self, key: &str) -> Result<Vec<Vec<Film>>, Error> {
        let mut groups: Vec<Vec<Film>> = vec![];
        for (place, first, end) in runs(&self.state.episodes, key) {
            let Some(film) = self.film(key, place, first, end)? else {
                continue;
            };
            match groups.last_mut() {
                Some(group) if self.fits(group, &film) => group.push(film),
                _ => groups.push(vec![film]),
            }
        }
        groups.retain(|group| group.len() > 1);
        Ok(groups)
    }

    /// A film that may be joined: all of it belongs to its episodes, and those are in tables that we wrote.
    fn film(
        &self,
        key: &str,
        place: FilePlace,
        first: usize,
        end: usize,
    ) -> Result<Option<Film>, Error> {
        let (state, root) = (&self.state, self.plan.root.as_path());
        let inside = &state.episodes[first..end];
        let outside = state.episodes[..first].iter().chain(&state.episodes[end..]);
        let of = |episode: &Episode| episode.film(key).is_some_and(|span| span.place == place);
        let mut tables: Vec<_> = inside.iter().map(|episode| episode.meta).collect();
        tables.dedup();
        let ours = |meta| episodes::can_grow(&episodes::path(root, meta), &state.columns);
        if outside.into_iter().any(of) || !tables.into_iter().all(ours) {
            return Ok(None);
        }
        let path = state.info.video_path(root, key, place)?;
        let contents = Contents::read(&path)?;
        let rows = inside.iter().map(|episode| episode.length).sum();
        let whole = contents.len() == rows && !contents.is_reordered();
        let begins = contents.entries.first().is_some_and(|entry| entry.key);
        let even = contents
            .fps()
            .is_some_and(|fps| (fps - f64::from(self.plan.fps)).abs() < 1e-3);
        Ok((whole && begins && even).then(|| Film {
            place,
            first,
            end,
            rows,
            bytes: super::size(&path),
            contents,
        }))
    }

    fn fits(&self, group: &[Film], film: &Film) -> bool {
        let limit = u64::from(self.state.info.video_files_size_in_mb) * MIB;
        let all = || group.iter().chain([film]);
        let rows: usize = all().map(|film| film.rows).sum();
        let bytes: u64 = all().map(|film| film.bytes).sum();
        let follows = group.last().is_some_and(|last| last.end == film.first);
        follows
            && bytes < limit
            && rows as f64 / f64::from(self.plan.fps) <= LONGEST_FILM.as_secs_f64()
            && group[0].contents.config == film.contents.config
    }

    fn join(&mut self, key: &str, group: &[Film]) -> Result<(), Error> {
        let root = self.plan.root.clone();
        let (into, first, end) = (group[0].place, group[0].first, group[group.len() - 1].end);
        let mut rows = 0;
        let moved = self.state.episodes[first..end].iter().map(|episode| {
            let begin = rows;
            rows += episode.length;
            (episode.index, begin)
        });
        let moved = moved.collect();
        let films = group[1..].iter().map(|film| film.contents.path.as_path());
        let inside = films
            .clone()
            .filter_map(|film| film.strip_prefix(&root).ok());
        let packing = Packing {
            key: key.to_owned(),
            into,
            rows,
            moved,
            films: inside.map(Path::to_owned).collect(),
        };
        self.state.ledger.packing = Some(packing.clone());
        self.state.ledger.write(&root, &self.disk)?;
        let target = group[0].contents.path.as_path();
        let all: Vec<&Path> = [target].into_iter().chain(films).collect();
        let fps = self.plan.fps;
        self.disk
            .replace_by(target, |out| concat(&all, fps, out).map(drop))?;
        self.state.finish_packing(&root, &self.disk, &packing)?;
        self.state.ledger.packing = None;
        self.state.ledger.write(&root, &self.disk)?;
        self.state.look(&root);
        Ok(())
    }
}

impl State {
    /// Lets the episodes point into the joined film, if it came to be, and removes the others. Done again it does nothing new.
    pub(super) fn finish_packing(
        &mut self,
        root: &Path,
        disk: &Disk,
        packing: &Packing,
    ) -> Result<(), Error> {
        let target = self.info.video_path(root, &packing.key, packing.into)?;
        if Contents::read(&target)?.len() != packing.rows {
            return Ok(());
        }
        let fps = f64::from(self.info.fps);
        let mut tables = vec![];
        for &(index, begin) in &packing.moved {
            let Some(episode) = self.episodes.get_mut(index) else {
                continue;
            };
            let end = begin + episode.length;
            for (_, span) in episode
                .films
                .iter_mut()
                .filter(|(key, _)| *key == packing.key)
            {
                span.place = packing.into;
                (span.from_s, span.to_s) = (begin as f64 / fps, end as f64 / fps);
            }
            tables.push(episode.meta);
        }
        tables.dedup();
        for table in tables {
            let together = self.episodes.iter().filter(|episode| episode.meta == table);
            let together: Vec<_> = together.cloned().collect();
            episodes::write(disk, &episodes::path(root, table), &self.columns, &together)?;
        }
        let used = self.films_in_use(root)?;
        let old = packing.films.iter().map(|film| root.join(film));
        for film in old.filter(|film: &PathBuf| !used.contains(film)) {
            disk.remove(&film)?;
        }
        Ok(())
    }
}

/// The films of a camera, each with its episodes: the first and the one after the last.
fn runs(episodes: &[Episode], key: &str) -> Vec<(FilePlace, usize, usize)> {
    let mut runs: Vec<(FilePlace, usize, usize)> = vec![];
    for (at, episode) in episodes.iter().enumerate() {
        let Some(span) = episode.film(key) else {
            continue;
        };
        match runs.last_mut() {
            Some((place, _, end)) if *place == span.place && *end == at => *end = at + 1,
            _ => runs.push((span.place, at, at + 1)),
        }
    }
    runs
}
