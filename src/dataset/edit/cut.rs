//! Parts of episodes, one behind the other: what every edit comes down to.

use std::ops::Range;

use crate::dataset::read::{Dataset, Episode};
use crate::dataset::{Error, Outcome};

use super::Edit;

/// Some rows of an episode that become an episode of the new data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Which of the data sets.
    pub source: usize,
    pub episode: usize,
    pub rows: Range<usize>,
    /// Its length before.
    pub length: usize,
    /// Another task for all rows.
    pub task: Option<String>,
    /// Another mark.
    pub outcome: Option<Outcome>,
}

impl Cut {
    /// A whole episode as it is.
    pub fn whole(source: usize, episode: &Episode) -> Self {
        Self {
            source,
            episode: episode.index,
            rows: 0..episode.length,
            length: episode.length,
            task: None,
            outcome: None,
        }
    }

    /// Whether all rows are kept.
    pub fn is_whole(&self) -> bool {
        self.rows == (0..self.length)
    }
}

/// The cuts that an edit of one data set comes down to.
///
/// # Errors
/// An episode or a row is not in it, or a task has no words.
pub fn of_edit(set: &Dataset, edit: &Edit) -> Result<Vec<Cut>, Error> {
    let mut cuts: Vec<_> = set
        .episodes()
        .iter()
        .map(|episode| Cut::whole(0, episode))
        .collect();
    match edit {
        Edit::Delete(episodes) => {
            known(set, episodes)?;
            cuts.retain(|cut| !episodes.contains(&cut.episode));
        }
        Edit::Trim { episode, rows } => {
            let length = set.episode(*episode)?.length;
            if rows.is_empty() || rows.end > length {
                return Err(Error::Absent(format!(
                    "episode {episode} has {length} rows: from {} to {} are none of them",
                    rows.start, rows.end
                )));
            }
            cuts[*episode].rows = rows.clone();
        }
        Edit::Relabel { episodes, task } => {
            known(set, episodes)?;
            let parts = task.split(|c: char| c.is_whitespace() || c.is_control());
            let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            let task = parts.join(" ");
            if task.is_empty() {
                return Err(Error::Absent("a task needs words".to_owned()));
            }
            for &episode in episodes {
                cuts[episode].task = Some(task.clone());
            }
        }
        Edit::Mark { episodes, outcome } => {
            known(set, episodes)?;
            for &episode in episodes {
                cuts[episode].outcome = Some(*outcome);
            }
        }
    }
    Ok(cuts)
}

fn known(set: &Dataset, episodes: &[usize]) -> Result<(), Error> {
    if episodes.is_empty() {
        return Err(Error::Absent("no episode was named".to_owned()));
    }
    episodes
        .iter()
        .try_for_each(|&episode| set.episode(episode).map(drop))
}
