//! One run on the table: a task laid by a seed, flown until the referee is content, or as often as it fits into a window.

use std::time::Duration;

use serde::Serialize;

use crate::clock::Clock;
use crate::lab::flight::{Error, Flight, Plan};
use crate::lab::meter::Measures;
use crate::lab::pilot::Pilot;
use crate::runtime::{Knobs, LatencyModel};
use crate::sim::{Referee, SimArm, Task};

/// Tables of one window: no other window's begin within so many seeds.
const WINDOW_STRIDE: u64 = 1000;

/// How long a run lasts, virtual time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Runs {
    /// So many episodes, each until success or until this limit.
    Episodes { count: u32, limit: Duration },
    /// So many windows of this length, in which the task is done again and again: after each success the table is laid anew
    /// and the arm goes on from where it is.
    Windows { count: u32, length: Duration },
}

impl Runs {
    /// How many runs there are.
    pub fn count(self) -> u32 {
        match self {
            Self::Episodes { count, .. } | Self::Windows { count, .. } => count,
        }
    }
}

/// What is flown.
#[derive(Clone, Debug)]
pub struct Course {
    pub task: Task,
    pub knobs: Knobs,
    pub latency: LatencyModel,
    pub runs: Runs,
    /// Keep the level of the queue at every tick.
    pub traces: bool,
}

/// What became of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeRow {
    pub seed: u64,
    pub success: bool,
    /// From the take-over to success, seconds of virtual time.
    pub time_s: Option<f64>,
    /// How the run ended: success, time-out, window, or the fault that grounded the arm.
    pub ended: String,
    /// How far the task was at the end, 0 to 1.
    pub progress: f32,
    /// How often the task was done.
    pub done: u32,
    #[serde(flatten)]
    pub measures: Measures,
}

impl Course {
    /// Flies the run with this seed.
    ///
    /// # Errors
    /// The policy does not take off.
    pub fn fly(&self, pilot: &Pilot, seed: u64) -> Result<EpisodeRow, Error> {
        let seed_of_table = match self.runs {
            Runs::Episodes { .. } => seed,
            Runs::Windows { .. } => seed.wrapping_mul(WINDOW_STRIDE),
        };
        let mut flight = self.take_off(pilot, seed_of_table)?;
        let mut referee = Referee::new(self.task);
        let mut row = EpisodeRow {
            seed,
            success: false,
            time_s: None,
            ended: String::new(),
            progress: 0.0,
            done: 0,
            measures: Measures::default(),
        };
        while row.ended.is_empty() {
            flight.tick();
            let verdict = referee.watch(&flight.arm.truth());
            row.progress = verdict.progress;
            if verdict.is_done {
                row.done += 1;
                row.success = true;
                row.time_s.get_or_insert(flight.time().as_secs_f64());
                if let Runs::Windows { .. } = self.runs {
                    referee = Referee::new(self.task);
                    let next = seed_of_table.wrapping_add(u64::from(row.done));
                    flight.arm.lay(&self.task.layout(next), false);
                }
            }
            row.ended = self.ended(&flight, verdict.is_done).unwrap_or_default();
        }
        row.measures = flight.meter.measures();
        Ok(row)
    }

    /// A flight over the table of this seed, in which the policy drives.
    ///
    /// # Errors
    /// The policy does not take off.
    pub fn take_off(&self, pilot: &Pilot, seed: u64) -> Result<Flight, Error> {
        let clock = Clock::virtual_at_zero();
        let arm = SimArm::on_table(clock, &self.task.layout(seed));
        let plan = Plan {
            task: self.task.to_string(),
            knobs: self.knobs,
            latency: self.latency.reseeded(seed),
            seed,
            traces: self.traces,
        };
        Flight::take_off(arm, pilot, &plan)
    }

    /// How the run has ended, if it has.
    fn ended(&self, flight: &Flight, is_done: bool) -> Option<String> {
        if let Some(why) = flight.grounded() {
            return Some(why);
        }
        match self.runs {
            Runs::Episodes { .. } if is_done => Some("success".to_owned()),
            Runs::Episodes { limit, .. } if flight.time() >= limit => Some("time-out".to_owned()),
            Runs::Windows { length, .. } if flight.time() >= length => Some("window".to_owned()),
            Runs::Episodes { .. } | Runs::Windows { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(runs: Runs) -> Course {
        Course {
            task: "put the red cube in the box".parse().unwrap(),
            knobs: Knobs::default(),
            latency: Duration::from_millis(300).into(),
            runs,
            traces: false,
        }
    }

    #[test]
    fn the_expert_succeeds_and_twice_alike() {
        let limit = Duration::from_secs(40);
        let course = course(Runs::Episodes { count: 1, limit });
        let row = course.fly(&Pilot::Expert, 3).unwrap();
        assert!(row.success, "{row:?}");
        assert_eq!(row.measures.starved_ticks, 0);
        assert_eq!(row, course.fly(&Pilot::Expert, 3).unwrap());
    }

    #[test]
    fn a_window_ends_by_the_clock() {
        let length = Duration::from_secs(2);
        let course = course(Runs::Windows { count: 1, length });
        let row = course.fly(&Pilot::Expert, 3).unwrap();
        assert_eq!((row.ended.as_str(), row.measures.ticks / 10), ("window", 6));
    }
}
