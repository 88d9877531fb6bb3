//! Looks at the pictures themselves: whether every one can be decoded, and whether a camera stood still while the arm moved.

use std::sync::Arc;

use crate::dataset::Error;
use crate::dataset::read::Dataset;
use crate::dataset::schema::columns::REPEATED;

use super::Progress;
use super::finding::{Finding, Report};

/// Levels of 255 that two pictures may differ by, on average, and still be the same one encoded twice.
const SAME: f64 = 0.05;
/// The share of an episode's pictures above which standing still is worth a word.
const MUCH: f64 = 0.5;

pub fn check(mut dataset: Dataset, report: &mut Report, progress: &mut Progress<'_>) {
    let episodes = dataset.episodes().to_vec();
    let cameras = dataset.cameras().to_vec();
    for episode in &episodes {
        progress("pictures", episode.index as f32 / episodes.len() as f32);
        let marked = dataset
            .columns(episode.index, &[REPEATED])
            .ok()
            .and_then(|rows| rows.scalars(REPEATED))
            .unwrap_or_default();
        for (at, camera) in cameras.iter().enumerate() {
            let said = |row: usize| {
                let bits = marked.get(row).map_or(0, |bits| *bits as u64);
                bits >> (at + 1) & 1 == 1 || bits & 1 == 1
            };
            let file = if camera.in_table {
                &episode.table
            } else {
                &episode.spans[at].film
            };
            let here = |finding: Finding| finding.file(file).episode(episode.index);
            match still(
                &mut dataset,
                episode.index,
                &camera.key,
                episode.length,
                &said,
            ) {
                Err(error) => {
                    let what = format!("{} cannot be looked at: {error}", camera.name);
                    report.add(here(Finding::error("pixels.unreadable", what)));
                }
                Ok(count) if count as f64 > MUCH * episode.length as f64 => {
                    let what = format!(
                        "{count} of {} pictures of {} are the one before again",
                        episode.length, camera.name
                    );
                    report.add(here(Finding::warning("pixels.frozen", what).advice(
                        "the camera stood still: a policy learns nothing from it. Delete or trim the episode",
                    )));
                }
                Ok(_) => {}
            }
        }
    }
}

/// How many pictures are the one before again, those that are marked as such left out.
fn still(
    dataset: &mut Dataset,
    episode: usize,
    camera: &str,
    length: usize,
    marked: &dyn Fn(usize) -> bool,
) -> Result<usize, Error> {
    let mut count = 0;
    let mut before: Option<Arc<[u8]>> = None;
    for row in 0..length {
        let frame = dataset.frame(episode, camera, row)?;
        let same = before
            .as_ref()
            .is_some_and(|before| apart(before, &frame.rgb) < SAME);
        count += usize::from(same && !marked(row));
        before = Some(frame.rgb);
    }
    Ok(count)
}

/// Mean difference of two pictures, levels of 255.
fn apart(a: &[u8], b: &[u8]) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b)));
    differences.sum::<u64>() as f64 / a.len().max(1) as f64
}
