//! The rows of a report: one a setting, its knobs beside what they brought.

use serde::Serialize;

use crate::lab::course::{EpisodeRow, Runs};
use crate::lab::grid::{Section, Setting};
use crate::runtime::Knobs;

/// All runs of one setting.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    pub section: Section,
    /// What tells it from its neighbours in the section.
    pub label: String,
    pub task: String,
    pub policy: String,
    /// sync, async or rtc.
    pub mode: &'static str,
    pub episodes: u32,
    pub successes: u32,
    pub success_rate: f64,
    /// Of the successes, seconds; `None` without one.
    pub mean_time_s: Option<f64>,
    /// Standard deviation of the same.
    pub sd_time_s: Option<f64>,
    /// How often the task was done, in all runs together.
    pub done: u32,
    /// Length of a window, seconds; `None` of episodes.
    pub window_s: Option<f64>,
    pub ticks: u64,
    pub starved_ticks: u64,
    pub idle_ticks: u64,
    pub requests: u64,
    pub chunks: u64,
    /// The worst run's, robot units.
    pub seam_p95: f32,
    pub seam_max: f32,
    /// Root mean square over the runs, degrees a second³.
    pub jerk_rms: f64,
    pub longest_gap_ticks: u64,
    /// Mean of the latency model.
    pub latency_ms: f64,
    /// The model in words.
    pub latency: String,
    /// The starvation bound `E[l] / (n Δt)` that the latency predicts.
    pub g_min: f64,
    pub knobs: Knobs,
    pub seeds: Vec<u64>,
    pub per_episode: Vec<EpisodeRow>,
}

impl Row {
    /// Sums up the runs of a setting.
    ///
    /// One trace of the queue is enough to be drawn.
    pub fn new(setting: &Setting, policy: &str, mut runs: Vec<EpisodeRow>) -> Self {
        for run in runs.iter_mut().skip(1) {
            run.measures.trace.clear();
        }
        let course = &setting.course;
        let sum = |of: fn(&EpisodeRow) -> u64| runs.iter().map(of).sum();
        let most = |of: fn(&EpisodeRow) -> f32| runs.iter().map(of).fold(0.0, f32::max);
        let times: Vec<f64> = runs.iter().filter_map(|run| run.time_s).collect();
        let count = runs.len().max(1) as f64;
        let successes = runs.iter().filter(|run| run.success).count();
        let squares = runs.iter().map(|run| run.measures.jerk_rms.powi(2));
        let latency_s = course.latency.mean().as_secs_f64();
        let knobs = course.knobs;
        let chunk_s = knobs.actions_per_chunk as f64 / f64::from(knobs.fps);
        Self {
            section: setting.section,
            label: setting.label.clone(),
            task: course.task.to_string(),
            policy: policy.to_owned(),
            mode: mode(&knobs),
            episodes: runs.len() as u32,
            successes: successes as u32,
            success_rate: successes as f64 / count,
            mean_time_s: mean(&times),
            sd_time_s: deviation(&times),
            done: runs.iter().map(|run| run.done).sum(),
            window_s: match course.runs {
                Runs::Windows { length, .. } => Some(length.as_secs_f64()),
                Runs::Episodes { .. } => None,
            },
            ticks: sum(|run| run.measures.ticks),
            starved_ticks: sum(|run| run.measures.starved_ticks),
            idle_ticks: sum(|run| run.measures.idle_ticks),
            requests: sum(|run| run.measures.requests),
            chunks: sum(|run| run.measures.chunks),
            seam_p95: most(|run| run.measures.seam_p95),
            seam_max: most(|run| run.measures.seam_max),
            jerk_rms: (squares.sum::<f64>() / count).sqrt(),
            longest_gap_ticks: runs
                .iter()
                .map(|run| run.measures.longest_gap_ticks)
                .max()
                .unwrap_or_default(),
            latency_ms: latency_s * 1000.0,
            latency: course.latency.to_string(),
            g_min: latency_s / chunk_s,
            knobs,
            seeds: runs.iter().map(|run| run.seed).collect(),
            per_episode: runs,
        }
    }

    /// The share of ticks in which the arm held because there was nothing to execute, 0 to 1.
    pub fn idle_share(&self) -> f64 {
        self.idle_ticks as f64 / self.ticks.max(1) as f64
    }

    /// The share of ticks in which the queue had run dry, 0 to 1.
    pub fn starved_share(&self) -> f64 {
        self.starved_ticks as f64 / self.ticks.max(1) as f64
    }

    /// Requests a minute.
    pub fn requests_a_minute(&self) -> f64 {
        self.requests as f64 * f64::from(self.knobs.fps) * 60.0 / self.ticks.max(1) as f64
    }

    /// How often the task was done in a window, on average.
    pub fn done_a_window(&self) -> f64 {
        f64::from(self.done) / f64::from(self.episodes.max(1))
    }
}

/// The scheduling as the command line spells it.
fn mode(knobs: &Knobs) -> &'static str {
    use crate::runtime::Scheduling;
    match knobs.scheduling {
        Scheduling::Sync => "sync",
        Scheduling::Async => "async",
        Scheduling::Rtc => "rtc",
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.iter().sum::<f64>() / count as f64)
}

/// Standard deviation of a sample; `None` of less than two.
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_deviations_of_few() {
        assert_eq!((mean(&[]), deviation(&[3.0])), (None, None));
        assert_eq!(mean(&[1.0, 3.0]), Some(2.0));
        assert!(deviation(&[1.0, 3.0]).is_some_and(|sd| (sd - 2_f64.sqrt()).abs() < 1e-12));
    }
}
