//! Which settings the lab compares: not the full product, but one table a question.

use std::time::Duration;

use serde::Serialize;

use crate::lab::course::{Course, Runs};
use crate::runtime::{Aggregate, Knobs, LatencyModel, Scheduling};
use crate::sim::Task;

/// Actions of a chunk that the lab's policies keep, the usual size of the network's.
const CHUNK: usize = 50;
/// The g of the paper's asynchronous runs.
const G: f32 = 0.7;
/// The latency of the tables that turn another knob, milliseconds.
const LATENCY_MS: u64 = 300;
/// An episode that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(40);
/// The window of the paper's throughput figure.
const WINDOW: Duration = Duration::from_mins(1);

/// The question that a table answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Sync, async and RTC at several latencies.
    Schedules,
    /// g.
    Threshold,
    /// `n_action_steps` in sync mode.
    Steps,
    /// Merge functions.
    Merge,
    /// How often a task is done in a fixed window.
    Windows,
    /// Where starvation begins.
    Bound,
    /// What was asked for on the command line.
    #[default]
    Evaluation,
}

impl Section {
    /// All of them, in the order in which a report tells them.
    pub const ALL: [Self; 7] = [
        Self::Schedules,
        Self::Threshold,
        Self::Steps,
        Self::Merge,
        Self::Windows,
        Self::Bound,
        Self::Evaluation,
    ];
}

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Setting {
    pub section: Section,
    /// What tells it from its neighbours.
    pub label: String,
    pub course: Course,
    /// Seed of the first run; the others follow.
    pub seed: u64,
}

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Grid {
    pub task: Task,
    pub seed: u64,
    /// Fewer episodes and latencies, for a look in between.
    pub quick: bool,
}

impl Grid {
    /// All settings, section by section.
    pub fn settings(&self) -> Vec<Setting> {
        [
            self.schedules(),
            self.threshold(),
            self.steps(),
            self.merge(),
            self.windows(),
            self.bound(),
        ]
        .concat()
    }

    fn pick<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    fn episodes(&self) -> Runs {
        Runs::Episodes {
            count: self.pick(6, 20),
            limit: LIMIT,
        }
    }

    /// Latencies of the main table, milliseconds. At 700 a synchronous chunk idles as long as in the paper.
    fn latencies(&self) -> &'static [u64] {
        self.pick(&[100, 300, 700], &[100, 300, 500, 700, 1000])
    }

    fn setting(&self, section: Section, label: String, knobs: Knobs, ms: u64) -> Setting {
        self.running(section, label, knobs, ms, self.episodes())
    }

    fn running(
        &self,
        section: Section,
        label: String,
        knobs: Knobs,
        ms: u64,
        runs: Runs,
    ) -> Setting {
        let course = Course {
            task: self.task,
            knobs,
            latency: LatencyModel::Constant(Duration::from_millis(ms)),
            runs,
            traces: section == Section::Threshold,
        };
        Setting {
            section,
            label,
            course,
            seed: self.seed,
        }
    }

    fn schedules(&self) -> Vec<Setting> {
        let schedules = [
            ("sync, 50 steps".to_owned(), sync(CHUNK)),
            ("sync, 10 steps".to_owned(), sync(10)),
            (format!("async, g {G}"), at_g(G)),
            (
                format!("RTC, g {G}"),
                Knobs {
                    scheduling: Scheduling::Rtc,
                    ..at_g(G)
                },
            ),
        ];
        let mut settings = vec![];
        for &ms in self.latencies() {
            for (label, knobs) in &schedules {
                settings.push(self.setting(Section::Schedules, label.clone(), *knobs, ms));
            }
        }
        settings
    }

    fn threshold(&self) -> Vec<Setting> {
        let gs = [0.0, 0.3, 0.5, 0.7, 1.0];
        let setting =
            |g| self.setting(Section::Threshold, format!("g {g:.1}"), at_g(g), LATENCY_MS);
        gs.map(setting).to_vec()
    }

    fn steps(&self) -> Vec<Setting> {
        let steps = self.pick(&[5, 10, 25, 50][..], &[1, 5, 10, 25, 50][..]);
        let setting = |&n: &usize| {
            let label = format!("{n} steps");
            self.setting(Section::Steps, label, sync(n), LATENCY_MS)
        };
        steps.iter().map(setting).collect()
    }

    fn merge(&self) -> Vec<Setting> {
        let setting = |aggregate: Aggregate| {
            let knobs = Knobs {
                aggregate,
                ..at_g(G)
            };
            let label = aggregate.label().to_owned();
            self.setting(Section::Merge, label, knobs, LATENCY_MS)
        };
        Aggregate::ALL.map(setting).to_vec()
    }

    fn windows(&self) -> Vec<Setting> {
        let runs = Runs::Windows {
            count: self.pick(2, 5),
            length: WINDOW,
        };
        let schedules = [
            ("sync, 50 steps".to_owned(), sync(CHUNK)),
            ("sync, 10 steps".to_owned(), sync(10)),
            (format!("async, g {G}"), at_g(G)),
        ];
        let mut settings = vec![];
        for ms in [300, 700] {
            for (label, knobs) in &schedules {
                let label = label.clone();
                settings.push(self.running(Section::Windows, label, *knobs, ms, runs));
            }
        }
        settings
    }

    fn bound(&self) -> Vec<Setting> {
        let runs = Runs::Windows {
            count: 1,
            length: Duration::from_secs(self.pick(10, 20)),
        };
        let latencies: &[u64] = self.pick(&[200, 500, 1000], &[100, 300, 500, 700, 800, 900, 1000]);
        let steps: u8 = self.pick(5, 20);
        let mut settings = vec![];
        for &ms in latencies {
            for step in 0..=steps {
                let g = f32::from(step) / f32::from(steps);
                let label = format!("g {g:.2}");
                settings.push(self.running(Section::Bound, label, at_g(g), ms, runs));
            }
        }
        settings
    }
}

fn sync(n_action_steps: usize) -> Knobs {
    Knobs {
        scheduling: Scheduling::Sync,
        n_action_steps,
        actions_per_chunk: CHUNK,
        ..Knobs::default()
    }
}

fn at_g(g: f32) -> Knobs {
    Knobs {
        scheduling: Scheduling::Async,
        chunk_size_threshold: g,
        actions_per_chunk: CHUNK,
        ..Knobs::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(quick: bool) -> Vec<Setting> {
        let task = "put the red cube in the box".parse().unwrap();
        Grid {
            task,
            seed: 1,
            quick,
        }
        .settings()
    }

    #[test]
    fn no_two_lines_of_a_section_are_alike() {
        for quick in [true, false] {
            let settings = settings(quick);
            for (at, one) in settings.iter().enumerate() {
                let twins = settings[at + 1..].iter().filter(|other| {
                    other.section == one.section
                        && other.label == one.label
                        && other.course.latency == one.course.latency
                });
                assert_eq!(twins.count(), 0, "{one:?}");
            }
        }
    }

    #[test]
    fn a_quick_look_flies_a_fraction() {
        let runs = |quick| {
            let settings = settings(quick);
            settings
                .iter()
                .map(|it| it.course.runs.count())
                .sum::<u32>()
        };
        assert!(runs(true) * 3 < runs(false));
    }
}
