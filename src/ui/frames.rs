//! How smoothly the window is drawn: how late frames come and what they cost, with the policy idle and while it thinks.

use std::time::Duration;

use serde::Serialize;

use crate::runtime::{PolicyStatus, Snapshot, Spread};

/// Frames are told apart by this much, up to two seconds.
const BIN: Duration = Duration::from_millis(1);

/// What is known about the frames so far.
#[derive(Debug)]
pub struct FrameClock {
    /// When the next frame was due.
    due: Option<Duration>,
    idle: Frames,
    thinking: Frames,
}

#[derive(Debug)]
struct Frames {
    late: Spread,
    work: Spread,
}

/// How the frames of one kind were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FrameSpread {
    pub frames: u64,
    /// 99 of 100 began less than this after they were due, milliseconds; and the worst. A picture that the device has not
    /// finished holds the next one up.
    pub late_p99_ms: f64,
    pub late_max_ms: f64,
    /// 99 of 100 kept the window's thread busy for less than this, milliseconds; and the worst.
    pub work_p99_ms: f64,
    pub work_max_ms: f64,
}

/// Frames by what the policy did meanwhile. Those while it was loaded are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FrameReport {
    pub idle: FrameSpread,
    pub thinking: FrameSpread,
}

impl Default for FrameClock {
    fn default() -> Self {
        Self {
            due: None,
            idle: Frames::new(),
            thinking: Frames::new(),
        }
    }
}

impl FrameClock {
    /// A frame begins at `now`, which shows `snapshot`; the one before it took `work` of the window's thread.
    pub fn begins(&mut self, now: Duration, snapshot: &Snapshot, work: Option<Duration>) {
        let due = self.due.take();
        let frames = match snapshot.policy {
            PolicyStatus::Ready { busy: true } => &mut self.thinking,
            PolicyStatus::Ready { busy: false } => &mut self.idle,
            _ => return,
        };
        if let Some(due) = due {
            frames.late.push(now.saturating_sub(due));
        }
        if let Some(work) = work {
            frames.work.push(work);
        }
    }

    /// At `now` a frame asks for the next one after `pause`.
    pub fn asks(&mut self, now: Duration, pause: Duration) {
        self.due = Some(now + pause);
    }

    /// Nothing is drawn for a while, and nobody is kept waiting.
    pub fn rests(&mut self) {
        self.due = None;
    }

    /// What is known.
    pub fn report(&self) -> FrameReport {
        FrameReport {
            idle: self.idle.spread(),
            thinking: self.thinking.spread(),
        }
    }
}

impl Frames {
    fn new() -> Self {
        Self {
            late: Spread::new(BIN),
            work: Spread::new(BIN),
        }
    }

    fn spread(&self) -> FrameSpread {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        FrameSpread {
            frames: self.late.count(),
            late_p99_ms: ms(self.late.p99()),
            late_max_ms: ms(self.late.longest()),
            work_p99_ms: ms(self.work.p99()),
            work_max_ms: ms(self.work.longest()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_frame_is_late_by_what_it_begins_after_it_was_asked_for() {
        let showing = |policy| Snapshot {
            policy,
            ..Snapshot::default()
        };
        let [idle, thinking] = [false, true].map(|busy| showing(PolicyStatus::Ready { busy }));
        let mut clock = FrameClock::default();
        clock.begins(Duration::ZERO, &showing(PolicyStatus::Absent), None);
        clock.asks(Duration::ZERO, 16 * MS);
        // An input brings the next frame before its time.
        clock.begins(3 * MS, &idle, Some(MS));
        clock.asks(3 * MS, 16 * MS);
        clock.begins(49 * MS, &thinking, Some(4 * MS));
        clock.rests();
        clock.begins(900 * MS, &thinking, None);
        let report = clock.report();
        assert_eq!((report.idle.frames, report.thinking.frames), (1, 1));
        assert_eq!(report.idle.late_max_ms, 0.0);
        assert_eq!(report.thinking.late_max_ms, 30.0);
        assert_eq!(report.thinking.late_p99_ms, 31.0);
        assert_eq!(report.thinking.work_max_ms, 4.0);
    }
}
