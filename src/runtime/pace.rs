//! Keeps the control loop on its period: absolute deadlines, missed periods counted and never replayed; and measures how
//! well that works.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::runtime::core::Pace;
use crate::runtime::spread::Spread;

/// Width of a bin of work and bus times, which fill a good part of a period.
const COARSE: Duration = Duration::from_micros(100);
/// Width of a bin of wake-up delays, which a healthy machine keeps below a tenth of a millisecond.
const FINE: Duration = Duration::from_micros(10);

/// When the next tick is due, and how well that has worked so far.
#[derive(Debug)]
pub struct Pacer {
    deadline: Duration,
    late_ticks: u64,
    work: Spread,
    jitter: Spread,
    bus: Spread,
    /// The same while the policy waits to be asked, and while it thinks.
    idle: Ticks,
    thinking: Ticks,
    /// Which of them the present tick belongs to.
    thinks: Option<bool>,
}

/// How punctual the loop is, where 99 of 100 ticks are better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Punctuality {
    pub ticks: u64,
    /// How long a tick works.
    #[serde(rename = "work_p99_ms", serialize_with = "milliseconds")]
    pub work_p99: Duration,
    /// How long after its deadline a tick begins, and the worst of all.
    #[serde(rename = "jitter_p99_ms", serialize_with = "milliseconds")]
    pub jitter_p99: Duration,
    #[serde(rename = "jitter_max_ms", serialize_with = "milliseconds")]
    pub jitter_max: Duration,
}

/// A time as files give it.
fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1e3)
}

#[derive(Debug)]
struct Ticks {
    work: Spread,
    jitter: Spread,
}

impl Ticks {
    fn new() -> Self {
        Self {
            work: Spread::new(COARSE),
            jitter: Spread::new(FINE),
        }
    }

    fn punctuality(&self) -> Punctuality {
        Punctuality {
            ticks: self.jitter.count(),
            work_p99: self.work.p99(),
            jitter_p99: self.jitter.p99(),
            jitter_max: self.jitter.longest(),
        }
    }
}

impl Pacer {
    /// The first tick is due at `now`.
    pub fn new(now: Duration) -> Self {
        Self {
            deadline: now,
            late_ticks: 0,
            work: Spread::new(COARSE),
            jitter: Spread::new(FINE),
            bus: Spread::new(COARSE),
            idle: Ticks::new(),
            thinking: Ticks::new(),
            thinks: None,
        }
    }

    /// A tick begins at `now`. One that a stop has woken before its time is not late. `thinks` says whether the policy is
    /// answering; `None` while there is none that could.
    pub fn begins(&mut self, now: Duration, thinks: Option<bool>) {
        let late = now.saturating_sub(self.deadline);
        self.jitter.push(late);
        self.thinks = thinks;
        if let Some(ticks) = self.ticks() {
            ticks.jitter.push(late);
        }
    }

    fn ticks(&mut self) -> Option<&mut Ticks> {
        let ticks = self.thinks?;
        Some(if ticks {
            &mut self.thinking
        } else {
            &mut self.idle
        })
    }

    /// So much of the present tick went into the bus.
    pub fn spent_on_bus(&mut self, time: Duration) {
        self.bus.push(time);
    }

    /// A tick that began at `began` has ended at `now`; returns when the next one is due.
    ///
    /// Periods that have passed altogether are skipped, because replaying them would send the arm stale goals in a burst.
    pub fn next(&mut self, began: Duration, now: Duration, period: Duration) -> Duration {
        let work = now.saturating_sub(began);
        self.work.push(work);
        if let Some(ticks) = self.ticks() {
            ticks.work.push(work);
        }
        self.deadline += period;
        let missed = now.saturating_sub(self.deadline).as_nanos() / period.as_nanos().max(1);
        self.late_ticks += missed as u64;
        self.deadline += period * u32::try_from(missed).unwrap_or(u32::MAX);
        self.deadline
    }

    /// What has been measured so far.
    pub fn pace(&self) -> Pace {
        Pace {
            late_ticks: self.late_ticks,
            tick_p99: self.work.p99(),
            jitter_p99: self.jitter.p99(),
            bus_p99: self.bus.p99(),
            idle: self.idle.punctuality(),
            thinking: self.thinking.punctuality(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn deadlines_are_absolute_and_missed_periods_are_skipped() {
        let mut pacer = Pacer::new(Duration::ZERO);
        assert_eq!(pacer.next(Duration::ZERO, 4 * MS, 10 * MS), 10 * MS);
        assert_eq!(pacer.next(10 * MS, 23 * MS, 10 * MS), 20 * MS);
        assert_eq!(pacer.pace().late_ticks, 0, "a little late is made up for");
        assert_eq!(pacer.next(23 * MS, 57 * MS, 10 * MS), 50 * MS);
        assert_eq!(pacer.pace().late_ticks, 2);
        assert_eq!(pacer.next(57 * MS, 58 * MS, 10 * MS), 60 * MS);
    }

    #[test]
    fn the_percentile_is_the_upper_edge_of_its_bin() {
        let mut pacer = Pacer::new(Duration::ZERO);
        assert_eq!(pacer.pace(), Pace::default());
        for _ in 0..99 {
            pacer.next(Duration::ZERO, 2 * MS, 10 * MS);
        }
        pacer.next(Duration::ZERO, 5000 * MS, 10 * MS);
        assert_eq!(pacer.pace().tick_p99, Duration::from_micros(2100));
    }

    #[test]
    fn a_tick_is_late_by_what_it_begins_after_its_deadline() {
        let mut pacer = Pacer::new(Duration::ZERO);
        pacer.begins(Duration::from_micros(5), None);
        pacer.next(Duration::ZERO, MS, 10 * MS);
        assert_eq!(pacer.pace().jitter_p99, FINE);
        pacer.begins(3 * MS, None);
        assert_eq!(pacer.pace().jitter_p99, FINE, "woken by a stop");
        pacer.next(3 * MS, 4 * MS, 10 * MS);
        pacer.begins(21 * MS, None);
        assert_eq!(pacer.pace().jitter_p99, MS + FINE);
    }

    #[test]
    fn ticks_are_told_apart_by_what_the_policy_does() {
        let mut pacer = Pacer::new(Duration::ZERO);
        for (at, thinks) in [
            (0, None),
            (11, Some(false)),
            (25, Some(true)),
            (32, Some(true)),
        ] {
            pacer.begins(at * MS, thinks);
            pacer.next(at * MS, (at + 2) * MS, 10 * MS);
        }
        let pace = pacer.pace();
        assert_eq!((pace.idle.ticks, pace.thinking.ticks), (1, 2));
        assert_eq!(pace.idle.jitter_p99, MS + FINE);
        assert_eq!(pace.thinking.jitter_p99, 5 * MS + FINE);
        assert_eq!(pace.thinking.jitter_max, 5 * MS);
        assert_eq!(pace.thinking.work_p99, 2 * MS + COARSE);
    }

    #[test]
    fn files_give_milliseconds() {
        let pace = Punctuality {
            work_p99: Duration::from_micros(1500),
            ..Punctuality::default()
        };
        let json = serde_json::to_value(pace).unwrap();
        assert_eq!(json["work_p99_ms"], 1.5, "{json}");
        assert_eq!(json["jitter_max_ms"], 0.0, "{json}");
    }
}
