//! Checks of layout 2, as far as they help to look at a data set or to convert it: one table and one film an episode.

use std::path::Path;

use crate::dataset::read::{Camera, Dataset};
use crate::dataset::schema::Info;

use super::films::Reel;
use super::finding::{Finding, Report};
use super::lists::Listed;
use super::{Progress, arithmetic, joints};

pub fn check(root: &Path, info: &Info, report: &mut Report, progress: &mut Progress<'_>) {
    let dataset = match Dataset::open(root) {
        Ok(dataset) => dataset,
        Err(error) => {
            report.add(Finding::error("episodes.unreadable", error.to_string()));
            return;
        }
    };
    report.episodes = dataset.episodes().len();
    report.rows = dataset.frames();
    if report.episodes != info.total_episodes || report.rows != info.total_frames {
        let what = format!(
            "says {} episodes and {} rows, the list has {} and {}",
            info.total_episodes, info.total_frames, report.episodes, report.rows
        );
        report.add(Finding::error("episodes.total", what).file("meta/info.json"));
    }
    for episode in dataset.episodes() {
        progress("episodes", episode.index as f32 / report.episodes as f32);
        let listed = Listed {
            episode: episode.clone(),
            statistics: Vec::new(),
        };
        match dataset.numbers(episode.index) {
            Ok(rows) => {
                let tasks = dataset.tasks();
                arithmetic::check(&episode.table, info, tasks, &listed, &rows, report);
                joints::check(&episode.table, &rows, report);
            }
            Err(error) => report.add(
                Finding::error("data.unreadable", error.to_string())
                    .file(&episode.table)
                    .episode(episode.index),
            ),
        }
        let cameras = dataset.cameras().iter().enumerate();
        for (at, camera) in cameras.filter(|(_, camera)| !camera.in_table) {
            film(root, info, &listed, at, camera, report);
        }
    }
}

fn film(
    root: &Path,
    info: &Info,
    listed: &Listed,
    at: usize,
    camera: &Camera,
    report: &mut Report,
) {
    let episode = &listed.episode;
    let (Some(span), Some(feature)) = (episode.spans.get(at), info.features.get(&camera.key))
    else {
        return;
    };
    Reel {
        file: &span.film,
        fps: info.fps,
        camera,
        feature,
        shows: &[(episode.index, episode.length, span)],
    }
    .check(root, report);
}
