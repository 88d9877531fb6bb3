//! Whether data sets can become one: a policy and every reader take all episodes for the same robot, cameras and rate.

use crate::dataset::Error;
use crate::dataset::read::Dataset;
use crate::dataset::schema::{Feature, canonical_codec};

/// Names of the same arm, as LeRobot called it over the years.
const SO_ARMS: [&str; 3] = ["so_follower", "so101_follower", "so100_follower"];

/// Checks that all data sets are like the first.
///
/// # Errors
/// There is none, or one differs: which, in what.
pub fn check(sets: &[Dataset]) -> Result<(), Error> {
    let Some((first, others)) = sets.split_first() else {
        return Err(Error::Absent("no data set was named".to_owned()));
    };
    for other in others {
        if let Some(why) = difference(first, other) {
            return Err(Error::Absent(format!(
                "{} and {} cannot be merged: {why}",
                first.root().display(),
                other.root().display()
            )));
        }
    }
    Ok(())
}

fn difference(first: &Dataset, other: &Dataset) -> Option<String> {
    let (a, b) = (first.info(), other.info());
    if a.fps != b.fps {
        return Some(format!("they have {} and {} rows a second", a.fps, b.fps));
    }
    let (ours, theirs) = (first.robot_type(), other.robot_type());
    let same_arm = SO_ARMS.contains(&ours) && SO_ARMS.contains(&theirs);
    if ours != theirs && !same_arm {
        return Some(format!("they are of the robots {ours} and {theirs}"));
    }
    for (key, feature) in a.features.iter() {
        let Some(other) = b.features.get(key) else {
            return Some(format!("only the first has {key}"));
        };
        if let Some(why) = feature_difference(feature, other) {
            return Some(format!("{key} {why}"));
        }
    }
    let mut theirs = b.features.iter().map(|(key, _)| key);
    let alone = theirs.find(|key| a.features.get(key).is_none());
    alone.map(|key| format!("only the second has {key}"))
}

fn feature_difference(a: &Feature, b: &Feature) -> Option<String> {
    if a.dtype != b.dtype {
        return Some(format!("is {} in one, {} in the other", a.dtype, b.dtype));
    }
    if a.dtype.is_picture() {
        let size = |feature: &Feature| {
            let (width, height) = feature.picture_size().unwrap_or_default();
            format!("{width}x{height}")
        };
        if size(a) != size(b) {
            return Some(format!("is {} in one, {} in the other", size(a), size(b)));
        }
        let (ours, theirs) = (
            a.codec().map(canonical_codec),
            b.codec().map(canonical_codec),
        );
        if let (Some(ours), Some(theirs)) = (ours, theirs)
            && ours != theirs
        {
            return Some(format!(
                "is encoded as {ours} in one, as {theirs} in the other; encode one of them again first"
            ));
        }
        return None;
    }
    if a.shape != b.shape {
        return Some(format!("has the shapes {:?} and {:?}", a.shape, b.shape));
    }
    (a.labels() != b.labels()).then(|| {
        format!(
            "names other parts: {} in one, {} in the other",
            a.labels().join(", "),
            b.labels().join(", ")
        )
    })
}
