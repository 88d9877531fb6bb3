//! Statistics of an episode that was cut: of its numbers always anew, of its pictures only where some are gone.

use crate::dataset::Error;
use crate::dataset::read::Dataset;
use crate::dataset::schema::{Feature, Features};
use crate::dataset::stats::{FeatureStats, PictureCount, Pictures, Running, Stats};
use crate::dataset::table::Table;

use super::cut::Cut;

/// Pictures that are looked at for the statistics of one camera: LeRobot takes about as many of an episode.
const LOOKED_AT: usize = 100;

/// Statistics of the rows of an episode, in the order of the features. Cameras come from `cameras`.
pub fn of_rows(table: &Table, features: &Features, cameras: &Stats) -> Stats {
    let mut stats = Stats::new();
    for (key, feature) in features.iter() {
        let found = if feature.dtype.is_picture() {
            cameras
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, stats)| stats.clone())
        } else {
            of_column(table, key)
        };
        if let Some(found) = found {
            stats.push((key.to_owned(), found));
        }
    }
    stats
}

fn of_column(table: &Table, key: &str) -> Option<FeatureStats> {
    let column = table.get(key)?;
    let mut running = Running::new(column.width);
    running.push_rows(&column.values.floats()?);
    running.finish()
}

/// Statistics of the cameras of a cut. Those of a whole episode are kept; of a part they are measured, or where its films cannot
/// be decoded taken from the whole.
///
/// # Errors
/// Pictures cannot be decoded, and there are no statistics of the whole.
pub fn of_cameras(set: &mut Dataset, cut: &Cut, before: &Stats) -> Result<Stats, Error> {
    let cameras: Vec<(String, Feature)> = set
        .info()
        .features
        .cameras()
        .map(|(key, feature)| (key.to_owned(), feature.clone()))
        .collect();
    let mut stats = Stats::new();
    for (key, feature) in cameras {
        let known = before.iter().find(|(name, _)| *name == key);
        let known = known.map(|(_, stats)| stats.clone());
        let known_whole = known
            .clone()
            .filter(|_| cut.is_whole() || feature.is_depth());
        let found = match known_whole {
            Some(stats) => stats,
            None => match (look(set, cut, &key, known.as_ref()), known) {
                (Ok(stats), _) | (Err(_), Some(stats)) => stats,
                (Err(error), None) => return Err(error),
            },
        };
        stats.push((key, found));
    }
    Ok(stats)
}

fn look(
    set: &mut Dataset,
    cut: &Cut,
    key: &str,
    known: Option<&FeatureStats>,
) -> Result<FeatureStats, Error> {
    let mut pictures = Pictures::default();
    let every = cut.rows.len().div_ceil(LOOKED_AT).max(1);
    for row in cut.rows.clone().step_by(every) {
        let frame = set.frame(cut.episode, key, row)?;
        pictures.push(frame.width, frame.height, &frame.rgb);
    }
    // LeRobot counts pictures, or pixels where it encoded while it recorded; the others of the data set must not weigh more.
    let count = match known {
        Some(known) if known.count > cut.length as u64 => PictureCount::Pixels,
        _ => PictureCount::Pictures,
    };
    pictures
        .finish(count)
        .ok_or_else(|| Error::Absent(format!("{key} of episode {} has no pictures", cut.episode)))
}
