//! What a run is measured by: a reading of every tick, and at the end the figures of the control stack.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use crate::joint::{JOINT_COUNT, Joint, JointVec};
use crate::runtime::{Mode, Sample, Snapshot, percentile};

/// Differences of three goals to the next make a third difference.
const GOALS: usize = 4;

/// The level of the queue at one tick.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TracePoint {
    /// Since the policy drives, seconds.
    pub at_s: f32,
    /// Actions after the tick.
    pub queue: u32,
    pub requested: bool,
    pub arrived: bool,
    pub starved: bool,
}

/// The figures of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Control periods while the policy drove.
    pub ticks: u64,
    /// Ticks in which the queue had run dry after the first chunk; in sync mode the wait between chunks counts.
    pub starved_ticks: u64,
    /// Ticks in which the policy drove and there was nothing to execute, so that the pose was held.
    pub idle_ticks: u64,
    pub requests: u64,
    pub chunks: u64,
    /// Largest joint step where a chunk was merged, robot units.
    pub seam_p50: f32,
    pub seam_p95: f32,
    pub seam_max: f32,
    /// Root mean square of the third difference of the five arm joints' goals, degrees a second³.
    pub jerk_rms: f64,
    /// The longest stretch of idle ticks after the first chunk.
    pub longest_gap_ticks: u64,
    /// Largest joint step sent in one tick, robot units.
    pub max_step: f32,
    /// Kinds of fault that were raised, and how often each was seen.
    pub faults: BTreeMap<String, u64>,
    /// The level of the queue, where it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<TracePoint>,
}

/// Reads snapshots, one a tick.
#[derive(Debug, Default)]
pub struct Meter {
    measures: Measures,
    traces: bool,
    seams: Vec<f32>,
    gap: u64,
    goals: VecDeque<JointVec>,
    /// Sum of squares of the third differences, and how many there are.
    jerk: (f64, u64),
    fps: f64,
    began: Option<Sample>,
}

impl Meter {
    /// A meter that keeps the trace of the queue if it is to.
    pub fn new(traces: bool) -> Self {
        Self {
            traces,
            ..Self::default()
        }
    }

    /// Reads one tick.
    pub fn read(&mut self, seen: &Snapshot) {
        let Some(sample) = seen.history.back().copied() else {
            return;
        };
        self.count_faults(seen);
        if seen.mode != Mode::Policy {
            self.goals.clear();
            return;
        }
        self.fps = f64::from(seen.knobs.fps);
        let began = *self.began.get_or_insert(sample);
        let measures = &mut self.measures;
        measures.ticks += 1;
        measures.requests += u64::from(sample.requested);
        measures.starved_ticks += u64::from(sample.starved);
        let is_idle = seen.queue.starved_since.is_some();
        measures.idle_ticks += u64::from(is_idle);
        if sample.arrived {
            measures.chunks += 1;
            self.seams.push(sample.seam);
        }
        self.gap = if sample.starved { self.gap + 1 } else { 0 };
        measures.longest_gap_ticks = measures.longest_gap_ticks.max(self.gap);
        if self.traces {
            measures.trace.push(TracePoint {
                at_s: sample.at.saturating_sub(began.at).as_secs_f32(),
                queue: sample.queue,
                requested: sample.requested,
                arrived: sample.arrived,
                starved: sample.starved,
            });
        }
        self.read_goal(sample.commanded);
    }

    fn count_faults(&mut self, seen: &Snapshot) {
        for fault in seen.faults.iter().filter(|fault| fault.active) {
            let kind = format!("{:?}", fault.kind);
            let count = self.measures.faults.entry(kind).or_default();
            *count = fault.count.max(*count);
        }
    }

    fn read_goal(&mut self, goal: JointVec) {
        if let Some(before) = self.goals.back() {
            let step = goal.max_abs_diff(*before);
            self.measures.max_step = self.measures.max_step.max(step);
        }
        self.goals.push_back(goal);
        if self.goals.len() > GOALS {
            self.goals.pop_front();
        }
        if let [a, b, c, d] = self.goals.make_contiguous() {
            for joint in 0..JOINT_COUNT {
                // The gripper's unit is another one.
                if joint == Joint::Gripper.index() {
                    continue;
                }
                let [a, b, c, d] = [&*a, b, c, d].map(|goal| f64::from(goal.0[joint]));
                let third = d - 3.0 * c + 3.0 * b - a;
                self.jerk.0 += third * third;
                self.jerk.1 += 1;
            }
        }
    }

    /// The figures so far.
    pub fn measures(&self) -> Measures {
        let mut seams = self.seams.clone();
        seams.sort_by(f32::total_cmp);
        let seam = |q| percentile(&seams, q).unwrap_or_default();
        let (sum, count) = self.jerk;
        let mean = sum / count.max(1) as f64;
        Measures {
            seam_p50: seam(0.5),
            seam_p95: seam(0.95),
            seam_max: seams.last().copied().unwrap_or_default(),
            jerk_rms: mean.sqrt() * self.fps.powi(3),
            ..self.measures.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::clock::Tick;
    use crate::runtime::{Knobs, QueueView};

    fn seen(tick: u64, pan: f32, starved: bool) -> Snapshot {
        let sample = Sample {
            tick: Tick(tick),
            at: Duration::from_millis(tick * 10),
            commanded: JointVec([pan, 0.0, 0.0, 0.0, 0.0, pan * 50.0]),
            arrived: tick.is_multiple_of(2),
            seam: tick as f32,
            starved,
            ..Sample::default()
        };
        Snapshot {
            mode: Mode::Policy,
            knobs: Knobs {
                fps: 10.0,
                ..Knobs::default()
            },
            queue: QueueView {
                starved_since: starved.then_some(Duration::ZERO),
                ..QueueView::default()
            },
            history: Arc::new([sample].into()),
            ..Snapshot::default()
        }
    }

    #[test]
    fn jerk_is_the_third_difference_of_the_arm_joints() {
        let mut meter = Meter::new(false);
        // The third difference of a cube of the tick is 6, at 10 Hz 6000 units a second³; four of five joints stand still.
        for tick in 0..20_u8 {
            meter.read(&seen(u64::from(tick), f32::from(tick).powi(3), false));
        }
        let jerk = meter.measures().jerk_rms;
        let wanted = (6000.0_f64.powi(2) / 5.0).sqrt();
        assert!((jerk - wanted).abs() < 1.0, "{jerk} is not {wanted}");
    }

    #[test]
    fn gaps_seams_and_the_trace_are_kept() {
        let mut meter = Meter::new(true);
        let starved = [false, true, true, false, true, true, true, false];
        for (tick, starved) in starved.into_iter().enumerate() {
            meter.read(&seen(tick as u64, 0.0, starved));
        }
        let measures = meter.measures();
        assert_eq!((measures.ticks, measures.starved_ticks), (8, 5));
        assert_eq!((measures.longest_gap_ticks, measures.idle_ticks), (3, 5));
        assert_eq!((measures.seam_p50, measures.seam_max), (2.0, 6.0));
        assert_eq!(measures.trace.len(), 8);
        assert!((measures.trace[7].at_s - 0.07).abs() < 1e-6);
    }

    #[test]
    fn what_happens_while_the_policy_does_not_drive_is_not_measured() {
        let mut meter = Meter::new(false);
        let mut held = seen(3, 0.0, true);
        held.mode = Mode::Hold;
        meter.read(&held);
        assert_eq!(meter.measures(), Measures::default());
    }
}
