//! The data set that is open, and the episode of it that is looked at.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::app::library::cover::cover;
use crate::dataset::{Dataset, Error};
use crate::runtime::{EpisodeLine, EpisodeView};

/// The column that says which rows were filled, in its first bit.
const REPEATED: &str = "smolpilot.repeated";

/// A data set that is read from.
#[derive(Debug)]
pub struct Show {
    dataset: Dataset,
    /// The same once more for the small pictures: their films must not push the shown ones out.
    covers: Dataset,
    /// The episode whose small picture is made next.
    next: usize,
}

impl Show {
    /// Opens a data set.
    ///
    /// # Errors
    /// It cannot be read; the error says why.
    pub fn open(root: &Path) -> Result<Self, Error> {
        Ok(Self {
            dataset: Dataset::open(root)?,
            covers: Dataset::open(root)?,
            next: 0,
        })
    }

    /// Its episodes, without pictures yet.
    pub fn lines(&self) -> Vec<EpisodeLine> {
        let fps = self.dataset.fps().max(1.0);
        let episodes = self.dataset.episodes().iter();
        episodes
            .map(|episode| EpisodeLine {
                index: episode.index,
                frames: episode.length,
                length: Duration::from_secs_f64(episode.length as f64 / fps),
                tasks: episode.tasks.clone(),
                outcome: episode.outcome,
                thumbnail: None,
            })
            .collect()
    }

    /// Makes the next small picture; false when all are made.
    pub fn cover_next(&mut self, lines: &mut [EpisodeLine], seq: u64) -> bool {
        let Some(camera) = self.covers.cameras().first().map(|first| first.key.clone()) else {
            return false;
        };
        let Some(line) = lines.get_mut(self.next) else {
            self.covers.rest();
            return false;
        };
        self.next += 1;
        if line.frames > 0 {
            // Why there is none is said where the episode is shown.
            let first = self.covers.frame(line.index, &camera, 0);
            line.thumbnail = first.ok().and_then(|frame| cover(&frame, seq));
        }
        true
    }

    /// Reads an episode, without pictures yet.
    ///
    /// # Errors
    /// Its rows cannot be read.
    pub fn episode(&self, index: usize) -> Result<EpisodeView, Error> {
        let listed = self.dataset.episode(index)?;
        let rows = self.dataset.rows(index)?;
        let marks = rows.scalars(REPEATED).unwrap_or_default();
        let filled: Vec<bool> = marks.iter().map(|mask| mask % 2.0 >= 1.0).collect();
        Ok(EpisodeView {
            index,
            fps: self.dataset.fps() as f32,
            rows: listed.length,
            states: rows.states(),
            actions: rows.actions(),
            interventions: rows.interventions(),
            filled: filled.into(),
            outcome: listed.outcome,
            task: listed.tasks.join(" · "),
            ..EpisodeView::default()
        })
    }

    /// The same episode with the pictures at a row; `seq` counts on with each of them.
    pub fn at_row(&mut self, shown: &EpisodeView, row: usize, seq: &mut u64) -> EpisodeView {
        let mut next = EpisodeView {
            row,
            frames: Vec::new(),
            ..shown.clone()
        };
        let cameras = self.dataset.cameras().iter();
        let cameras: Vec<(String, String)> = cameras
            .map(|camera| (camera.key.clone(), camera.name.clone()))
            .collect();
        for (key, name) in cameras {
            if next.blind.iter().any(|(blind, _)| *blind == name) {
                continue;
            }
            match self.dataset.frame(shown.index, &key, row) {
                Ok(mut frame) => {
                    *seq += 1;
                    frame.seq = *seq;
                    next.frames.push((name, frame));
                }
                // A row that cannot be read may have neighbours that can; a codec that nobody knows has none.
                Err(error) => next.blind.push((name, error.to_string())),
            }
        }
        next
    }

    /// What one of an episode's own task is, for a policy that is asked.
    pub fn root(&self) -> &Path {
        self.dataset.root()
    }
}

/// An episode with a policy's answers.
pub fn with_answers(
    shown: &EpisodeView,
    predictions: super::job::Predictions,
    error: Option<crate::joint::JointVec>,
) -> EpisodeView {
    EpisodeView {
        predictions: Arc::from(predictions),
        error,
        ..shown.clone()
    }
}
