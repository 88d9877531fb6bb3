//! The lab behind the window: flies seeded episodes on threads that go last, and leaves a report in the user's folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};
use directories::ProjectDirs;

use crate::lab::{Error, Grid, Pilot, Progress, Report, Row, Runner, Section};
use crate::latest::Latest;
use crate::priority::{self, Urgency};
use crate::runtime::{LabLine, LabLink, LabOrder, LabVerdict, LabView};
use crate::sim::Task;

/// The same tables every time, so that two reports can be compared.
const SEED: u64 = 0;

/// Where the reports of this user are.
pub fn folder() -> PathBuf {
    let places = ProjectDirs::from("", "", "smolpilot");
    // A system that names no home still has room for what can be measured again.
    let home = places.map(|places| places.data_local_dir().to_owned());
    home.unwrap_or_else(|| std::env::temp_dir().join("smolpilot"))
        .join("lab")
}

/// The thread that measures when it is asked to. Dropping it ends the measuring.
#[derive(Debug)]
pub struct LabBench {
    view: Latest<LabView>,
    cancel: Arc<AtomicBool>,
    /// Dropped to end the thread.
    asks: Option<Sender<bool>>,
    thread: Option<JoinHandle<()>>,
}

impl LabBench {
    /// A lab that rests, and writes its reports below `folder`.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(folder: PathBuf) -> io::Result<Self> {
        let (view, cancel) = (Latest::new(), Arc::<AtomicBool>::default());
        view.set(LabView::default());
        let (asks, asked) = bounded(1);
        let (shown, cancelled) = (view.clone(), Arc::clone(&cancel));
        let thread = thread::Builder::new()
            .name("lab".to_owned())
            .spawn(move || serve(&asked, &shown, &cancelled, &folder))?;
        Ok(Self {
            view,
            cancel,
            asks: Some(asks),
            thread: Some(thread),
        })
    }

    /// The runtime's way to it.
    pub fn link(&self) -> Option<LabLink> {
        let (asks, cancel) = (self.asks.clone()?, Arc::clone(&self.cancel));
        let order = move |order| match order {
            LabOrder::Cancel => cancel.store(true, Ordering::Relaxed),
            LabOrder::Run { quick } => {
                cancel.store(false, Ordering::Relaxed);
                // One that is asked for already is enough.
                asks.try_send(quick).ok();
            }
        };
        Some(LabLink {
            view: self.view.clone(),
            order: Box::new(order),
        })
    }
}

impl Drop for LabBench {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
        self.asks = None;
        let Some(thread) = self.thread.take() else {
            return;
        };
        // Whoever still holds a way to it keeps the thread; it is theirs to end.
        if thread.is_finished() && thread.join().is_err() {
            log::error!("the thread of the lab had panicked");
        }
    }
}

fn serve(asked: &Receiver<bool>, view: &Latest<LabView>, cancel: &Arc<AtomicBool>, folder: &Path) {
    // The arm and its policy go first.
    priority::claim(Urgency::Patient);
    while let Ok(quick) = asked.recv() {
        let last = view.get().unwrap_or_default();
        view.set(LabView {
            progress: Some((0, 1)),
            error: None,
            ..LabView::clone(&last)
        });
        let measured = Report::claim(folder)
            .and_then(|()| measure(quick, view, cancel))
            .and_then(|report| {
                report.write(folder)?;
                Ok(report)
            });
        view.set(match measured {
            Ok(report) => shown(&report, folder),
            Err(error) => LabView {
                error: Some(error.to_string()),
                ..LabView::clone(&last)
            },
        });
    }
}

fn measure(quick: bool, view: &Latest<LabView>, cancel: &Arc<AtomicBool>) -> Result<Report, Error> {
    let told = |progress: Progress| {
        let last = view.get().unwrap_or_default();
        view.set(LabView {
            progress: Some((progress.done, progress.total)),
            ends: cancel.load(Ordering::Relaxed),
            what: progress.what,
            ..LabView::clone(&last)
        });
    };
    let runner = Runner {
        cancel: Arc::clone(cancel),
        urgency: Urgency::Patient,
        ..Runner::new(None)
    };
    let grid = Grid {
        task: Task::USUAL,
        seed: SEED,
        quick,
    };
    runner.report(&Pilot::Expert, &grid, &told)
}

fn shown(report: &Report, folder: &Path) -> LabView {
    let line = |row: &Row| LabLine {
        label: row.label.clone(),
        latency: row.latency.clone(),
        successes: row.successes,
        episodes: row.episodes,
        time_s: row.mean_time_s,
        idle: row.idle_share(),
    };
    let rows = report.rows.iter();
    let compared = rows.filter(|row| row.section == Section::Schedules);
    LabView {
        progress: None,
        ends: false,
        what: String::new(),
        lines: compared.map(line).collect(),
        verdicts: report
            .scenarios
            .iter()
            .map(|outcome| LabVerdict {
                name: outcome.name.clone(),
                seen: outcome.seen.clone(),
                passed: outcome.passed,
            })
            .collect(),
        findings: report.findings(),
        report: Some(folder.display().to_string()),
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_that_is_cancelled_says_so_and_can_be_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let view = Latest::new();
        let cancel = Arc::new(AtomicBool::new(true));
        let (asks, asked) = bounded(1);
        asks.send(true).unwrap();
        drop(asks);
        serve(&asked, &view, &cancel, folder.path());
        let seen = view.get().unwrap();
        assert_eq!(seen.error.as_deref(), Some("cancelled"));
        assert_eq!((seen.progress, seen.report.as_ref()), (None, None));
    }

    #[test]
    fn the_table_of_schedules_is_what_is_shown() {
        let row = |section, label: &str| Row {
            section,
            label: label.to_owned(),
            ticks: 100,
            idle_ticks: 25,
            ..Row::default()
        };
        let report = Report {
            rows: vec![
                row(Section::Schedules, "sync"),
                row(Section::Merge, "average"),
            ],
            ..Report::default()
        };
        let view = shown(&report, Path::new("there"));
        assert_eq!(view.lines.len(), 1);
        assert_eq!(
            (view.lines[0].idle, view.report.as_deref()),
            (0.25, Some("there"))
        );
    }
}
