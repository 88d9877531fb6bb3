//! Changes data sets without ever having half of a change: the new one is written beside the old, checked, and put in its place.
//!
//! All that can be changed is said as a list of [`Cut`]s, parts of episodes one behind the other. Films are not encoded again:
//! whole ones get a second name, others are copied picture by picture from key frame to key frame; only a trim that begins between
//! key frames encodes up to the next.

mod cut;
mod draft;
mod films;
mod fit;
mod measure;
mod swap;
#[cfg(test)]
mod tests;

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use crate::dataset::check::{Depth, Severity, check};
use crate::dataset::lock::{Lock, WORKSHOP};
use crate::dataset::read::Dataset;
use crate::dataset::schema::info;
use crate::dataset::{Disk, Error, Outcome};

use cut::Cut;
use draft::Draft;

pub use swap::{Pending, Settled, pending, settle};

/// A change of one data set.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Without these episodes. The others move up.
    Delete(Vec<usize>),
    /// Only these rows of an episode.
    Trim { episode: usize, rows: Range<usize> },
    /// Another task for episodes, in all their rows.
    Relabel { episodes: Vec<usize>, task: String },
    /// How episodes went.
    Mark {
        episodes: Vec<usize>,
        outcome: Outcome,
    },
}

/// What a change made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edited {
    /// The data set that holds it.
    pub root: PathBuf,
    pub episodes: usize,
    pub frames: u64,
    /// Pictures that were copied or linked, and those that were encoded again.
    pub kept: u64,
    pub encoded: u64,
}

/// Told what is being done and how far it is, 0 to 1; says whether to go on.
pub type Progress<'a> = dyn FnMut(&str, f32) -> ControlFlow<()> + 'a;

/// Changes the data set in `root`. Until it is put in place, at the very end, nothing of the old one is touched.
///
/// # Errors
/// The data set cannot be read, is being recorded into, an episode or row is not in it, a film cannot be cut, the disk fails, or it
/// was told to stop. The data set is then as before; after a failure in the very last step [`settle`] finishes it.
pub fn apply(
    root: &Path,
    edit: &Edit,
    disk: &Disk,
    progress: &mut Progress<'_>,
) -> Result<Edited, Error> {
    let _hold = Hold::take(root)?;
    unsettled(root)?;
    let source = Dataset::open(root)?;
    let cuts = cut::of_edit(&source, edit)?;
    let mut sources = [source];
    write(&mut sources, &cuts, root, disk, progress)
}

/// Writes the episodes of several data sets, in order, into a new one at `into`. Of one alone it makes a copy in layout 3.0.
///
/// # Errors
/// As [`apply`]; and they differ in a feature or in fps, which is named, or there is something at `into` already.
pub fn merge(
    roots: &[PathBuf],
    into: &Path,
    disk: &Disk,
    progress: &mut Progress<'_>,
) -> Result<Edited, Error> {
    let mut sources = Vec::new();
    for root in roots {
        unsettled(root)?;
        sources.push(Dataset::open(root)?);
    }
    fit::check(&sources)?;
    let whole = |(source, set): (usize, &Dataset)| {
        let episodes = set.episodes().iter();
        let whole = episodes.map(|episode| Cut::whole(source, episode));
        whole.collect::<Vec<_>>()
    };
    let cuts: Vec<_> = sources.iter().enumerate().flat_map(whole).collect();
    write_new(&mut sources, &cuts, into, disk, progress)
}

/// Writes some episodes of a data set, in this order, into a new one at `into`.
///
/// # Errors
/// As [`merge`].
pub fn extract(
    root: &Path,
    episodes: &[usize],
    into: &Path,
    disk: &Disk,
    progress: &mut Progress<'_>,
) -> Result<Edited, Error> {
    unsettled(root)?;
    let source = Dataset::open(root)?;
    let cuts = episodes
        .iter()
        .map(|&episode| Ok(Cut::whole(0, source.episode(episode)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    write_new(&mut [source], &cuts, into, disk, progress)
}

fn write_new(
    sources: &mut [Dataset],
    cuts: &[Cut],
    into: &Path,
    disk: &Disk,
    progress: &mut Progress<'_>,
) -> Result<Edited, Error> {
    if into.join("meta").exists() || into.join("data").exists() {
        return Err(Error::Absent(format!(
            "there is a data set in {} already: name a new folder",
            into.display()
        )));
    }
    let around = into.ancestors().skip(1);
    if let Some(other) = around
        .filter(|folder| folder.join(info::PATH).exists())
        .last()
    {
        return Err(Error::Absent(format!(
            "{} is inside the data set in {}: name a folder outside",
            into.display(),
            other.display()
        )));
    }
    disk.create_folder(into)?;
    let _hold = Hold::take(into)?;
    unsettled(into)?;
    write(sources, cuts, into, disk, progress)
}

/// Writes the cuts beside what is in `root`, checks them, and puts them in its place.
fn write(
    sources: &mut [Dataset],
    cuts: &[Cut],
    root: &Path,
    disk: &Disk,
    progress: &mut Progress<'_>,
) -> Result<Edited, Error> {
    if cuts.is_empty() {
        return Err(Error::Absent(
            "no episode would be left: remove the folder instead".to_owned(),
        ));
    }
    let beside = swap::beside(root);
    disk.remove_folder(&swap::workshop(root))?;
    let written = Draft::new(sources, &beside, disk)
        .and_then(|draft| draft.write(cuts, progress))
        .and_then(|made| {
            go_on(progress, "checking", 0.95)?;
            sound(&beside, sources).map(|()| made)
        });
    let made = match written {
        Ok(made) => made,
        Err(error) => {
            // What was written beside is only room lost, and the next edit removes it, too.
            disk.remove_folder(&swap::workshop(root)).ok();
            return Err(error);
        }
    };
    sources.iter_mut().for_each(Dataset::rest);
    swap::commit(root, disk)?;
    Ok(Edited {
        root: root.to_path_buf(),
        ..made
    })
}

/// The lock of a data set, whose traces are gone when it is let go of: a data set that nothing is recorded into has none.
struct Hold {
    folder: PathBuf,
    lock: Option<Lock>,
}

impl Hold {
    fn take(root: &Path) -> Result<Self, Error> {
        Ok(Self {
            lock: Some(Lock::take(root)?),
            folder: root.join(WORKSHOP),
        })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // An empty folder that stays does no harm, and one with journals in it must stay.
        let others = std::fs::read_dir(&self.folder).map_or(0, Iterator::count);
        if others == 1 {
            std::fs::remove_file(self.folder.join("lock")).ok();
            std::fs::remove_dir(&self.folder).ok();
        }
        self.lock = None;
    }
}

/// Goes on, or stops because it was told to.
fn go_on(progress: &mut Progress<'_>, what: &str, share: f32) -> Result<(), Error> {
    match progress(what, share) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Ended("stopped: nothing was changed".to_owned())),
    }
}

/// Whether the new data set has no error that the old ones did not have.
fn sound(new: &Path, sources: &[Dataset]) -> Result<(), Error> {
    let look = |root: &Path| check(root, Depth::default(), &mut |_, _| {}).findings;
    let errors = |root: &Path| {
        let findings = look(root).into_iter();
        findings.filter(|it| it.severity == Severity::Error)
    };
    let mut found = errors(new).peekable();
    if found.peek().is_none() {
        return Ok(());
    }
    let known: Vec<_> = sources
        .iter()
        .flat_map(|source| errors(source.root()))
        // The statistics of the whole tell as much as those that an edit writes anew: what is no number may stay so.
        .flat_map(|it| match it.code {
            "data.nonfinite" => vec![it.code, "stats.nonfinite"],
            code => vec![code],
        })
        .collect();
    match found.find(|it| !known.contains(&it.code)) {
        None => Ok(()),
        Some(it) => Err(Error::Malformed {
            path: match it.file {
                Some(file) => sources[0].root().join(file),
                None => sources[0].root().to_owned(),
            },
            why: format!(
                "would come out wrong: {}. The data set is as before",
                it.what
            ),
        }),
    }
}

/// Refuses a data set that an edit or a save was interrupted in: what is in it would be lost or doubled.
fn unsettled(root: &Path) -> Result<(), Error> {
    let place = root.display();
    if pending(root) == Pending::Ready {
        return Err(Error::Absent(format!(
            "an edit of {place} was interrupted: `smolpilot data recover {place}` finishes it"
        )));
    }
    if swap::is_being_saved(root) {
        return Err(Error::Absent(format!(
            "a save into {place} was interrupted: `smolpilot data recover {place}` finishes it"
        )));
    }
    Ok(())
}
