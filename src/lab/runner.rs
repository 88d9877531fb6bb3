//! Flies the settings of a grid on a few threads. Each run has its own virtual clock, so that the rows do not depend on how many
//! threads there are, nor on what else the machine does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::lab::course::EpisodeRow;
use crate::lab::flight::Error;
use crate::lab::grid::{Grid, Setting};
use crate::lab::pilot::Pilot;
use crate::lab::report::Report;
use crate::lab::row::Row;
use crate::lab::scenario::Scenario;
use crate::priority::{self, Urgency};

/// How far a grid is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs that are over, of how many; first of the disturbances, then of the grid.
    pub done: usize,
    pub total: usize,
    /// The disturbance that is played, or the setting whose run has just ended.
    pub what: String,
}

/// Flies runs.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Threads that fly at the same time.
    pub jobs: usize,
    /// Set to end early.
    pub cancel: Arc<AtomicBool>,
    /// What else this machine does goes first.
    pub urgency: Urgency,
}

impl Runner {
    /// A runner that is in nobody's way but may take all of the machine's cores.
    pub fn new(jobs: Option<usize>) -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        Self {
            jobs: jobs.unwrap_or_else(cores).max(1),
            cancel: Arc::default(),
            urgency: Urgency::Usual,
        }
    }

    /// Plays every disturbance, then flies the grid.
    ///
    /// # Errors
    /// As of [`Runner::run`].
    pub fn report(
        &self,
        pilot: &Pilot,
        grid: &Grid,
        told: &(dyn Fn(Progress) + Sync),
    ) -> Result<Report, Error> {
        let mut scenarios = vec![];
        for (done, scenario) in Scenario::ALL.iter().enumerate() {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            told(Progress {
                done,
                total: Scenario::ALL.len(),
                what: scenario.name.to_owned(),
            });
            let play = AssertUnwindSafe(|| scenario.run(pilot, grid.task, grid.seed));
            let fallen = |_panic| Err(Error::Fallen(scenario.name.to_owned()));
            scenarios.push(catch_unwind(play).unwrap_or_else(fallen)?);
        }
        let rows = self.run(pilot, &grid.settings(), told)?;
        Ok(Report { rows, scenarios })
    }

    /// Flies every run of every setting; the rows come in the order of the settings.
    ///
    /// # Errors
    /// The first run that could not be flown, or that it was cancelled.
    pub fn run(
        &self,
        pilot: &Pilot,
        settings: &[Setting],
        told: &(dyn Fn(Progress) + Sync),
    ) -> Result<Vec<Row>, Error> {
        let flights: Vec<(usize, u64)> = settings
            .iter()
            .enumerate()
            .flat_map(|(at, setting)| {
                let seeds = 0..u64::from(setting.course.runs.count());
                seeds.map(move |run| (at, setting.seed.wrapping_add(run)))
            })
            .collect();
        let rows = self.fly(&flights, told, &|at, seed| {
            let setting = &settings[at];
            (setting.label.clone(), setting.course.fly(pilot, seed))
        })?;
        let mut rows = rows.into_iter();
        let sum_up = |setting: &Setting| {
            let runs = rows.by_ref().take(setting.course.runs.count() as usize);
            Row::new(setting, pilot.name(), runs.collect())
        };
        Ok(settings.iter().map(sum_up).collect())
    }

    fn fly(
        &self,
        flights: &[(usize, u64)],
        told: &(dyn Fn(Progress) + Sync),
        fly: &(dyn Fn(usize, u64) -> (String, Result<EpisodeRow, Error>) + Sync),
    ) -> Result<Vec<EpisodeRow>, Error> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let total = flights.len();
        let flown: Mutex<Vec<Option<EpisodeRow>>> = Mutex::new(vec![None; total]);
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let work = || {
            priority::claim(self.urgency);
            while !self.cancel.load(Ordering::Relaxed) && lock(&failed).is_none() {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(setting, seed)) = flights.get(at) else {
                    break;
                };
                let caught = catch_unwind(AssertUnwindSafe(|| fly(setting, seed)));
                let (what, row) = caught.unwrap_or_else(|_| {
                    let why = format!("setting {setting}, seed {seed}");
                    (String::new(), Err(Error::Fallen(why)))
                });
                match row {
                    Ok(row) => lock(&flown)[at] = Some(row),
                    Err(error) => *lock(&failed) = Some(error),
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                told(Progress { done, total, what });
            }
        };
        thread::scope(|scope| {
            for job in 0..self.jobs.min(total) {
                thread::Builder::new()
                    .name(format!("lab-{}", job + 1))
                    .spawn_scoped(scope, work)?;
            }
            Ok::<_, Error>(())
        })?;
        if let Some(error) = lock(&failed).take() {
            return Err(error);
        }
        let rows = std::mem::take(&mut *lock(&flown)).into_iter();
        rows.collect::<Option<_>>().ok_or(Error::Cancelled)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::meter::Measures;

    fn row(seed: u64) -> EpisodeRow {
        EpisodeRow {
            seed,
            success: true,
            time_s: None,
            ended: String::new(),
            progress: 0.0,
            done: 0,
            measures: Measures::default(),
        }
    }

    fn seeds(jobs: usize) -> Vec<u64> {
        let flights: Vec<_> = (0..40).map(|seed| (0, seed)).collect();
        let told = AtomicUsize::new(0);
        let tell = |progress: Progress| {
            assert!(progress.done <= progress.total);
            told.fetch_add(1, Ordering::Relaxed);
        };
        let runner = Runner::new(Some(jobs));
        let fly = |_, seed| (String::new(), Ok(row(seed)));
        let rows = runner.fly(&flights, &tell, &fly).unwrap();
        assert_eq!(told.into_inner(), 40);
        rows.iter().map(|row| row.seed).collect()
    }

    #[test]
    fn the_order_does_not_depend_on_the_threads() {
        assert_eq!(seeds(1), seeds(3));
    }

    #[test]
    fn a_flight_that_fails_or_falls_over_ends_the_rest() {
        let flights = [(0, 1), (0, 2), (0, 3)];
        let runner = Runner::new(Some(1));
        let refused = runner.fly(&flights, &|_| {}, &|_, seed| {
            assert!(seed != 2, "fell");
            (String::new(), Ok(row(seed)))
        });
        assert!(matches!(refused, Err(Error::Fallen(_))));
        runner.cancel.store(true, Ordering::Relaxed);
        let cancelled = runner.fly(&flights, &|_| {}, &|_, seed| (String::new(), Ok(row(seed))));
        assert!(matches!(cancelled, Err(Error::Cancelled)));
    }
}
