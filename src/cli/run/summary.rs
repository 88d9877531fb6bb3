//! What a run without a window tells at its end, and whether it went well.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use crate::cli::policy::choices;
use crate::cli::record::Recorded;
use crate::runtime::{Connection, Fault, FaultKind, PolicyStatus, Punctuality, Snapshot};

/// What `run --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Control periods since the policy began to drive; the counts below are from there as well.
    pub ticks: u64,
    pub late_ticks: u64,
    /// 99th percentile of the time that a tick works, milliseconds.
    pub tick_p99_ms: f64,
    /// 99th percentile of how long after its deadline a tick begins, milliseconds.
    pub jitter_p99_ms: f64,
    /// 99th percentile of the time that the bus takes in a tick, milliseconds.
    pub bus_p99_ms: f64,
    /// The loop while the policy was ready and not asked, and while it was thinking, since the start.
    pub idle: Punctual,
    pub thinking: Punctual,
    /// Chunks that arrived and were merged.
    pub chunks: u64,
    /// Ticks in which the policy drove and the queue was empty.
    pub starved_ticks: u64,
    pub faults: Vec<FaultLine>,
    /// Largest joint step sent in one tick, robot units.
    pub max_step: f32,
    pub requests: u64,
    /// Chunks dropped because their generation was over.
    pub stale_chunks: u64,
    /// Requests that the similarity filter refused.
    pub filtered: u64,
    /// Bus packets lost and retried.
    pub bus_retries: u64,
    /// From request to arrival, warm-up excluded.
    pub chunk_ms: Latency,
    /// Measured control rate at the end, Hz.
    pub rate_hz: f32,
    /// What drove, on what.
    pub policy: String,
    pub device: String,
    /// On the rig, the task in force as its referee takes it, and how often it was done and tried since it was chosen.
    pub task: Option<String>,
    pub successes: Option<u32>,
    pub attempts: Option<u32>,
    /// What was recorded, if anything was to be.
    pub recorded: Option<Recorded>,
}

/// How punctual the loop was: 99 of 100 ticks worked less, and began less late; milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Punctual {
    pub ticks: u64,
    pub tick_p99_ms: f64,
    pub jitter_p99_ms: f64,
    pub jitter_max_ms: f64,
}

impl From<Punctuality> for Punctual {
    fn from(pace: Punctuality) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Self {
            ticks: pace.ticks,
            tick_p99_ms: ms(pace.work_p99),
            jitter_p99_ms: ms(pace.jitter_p99),
            jitter_max_ms: ms(pace.jitter_max),
        }
    }
}

/// Median and 95th percentile in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    pub p50: f64,
    pub p95: f64,
}

/// One fault of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultLine {
    /// For example `CameraStale`.
    pub kind: String,
    pub what: String,
    pub remedy: String,
    pub count: u64,
    /// Its cause was still there at the end.
    pub active: bool,
}

impl From<&Fault> for FaultLine {
    fn from(fault: &Fault) -> Self {
        Self {
            kind: format!("{:?}", fault.kind),
            what: fault.what.clone(),
            remedy: fault.remedy.clone(),
            count: fault.count,
            active: fault.active,
        }
    }
}

impl Summary {
    /// What happened between two snapshots.
    pub fn between(first: &Snapshot, snapshot: &Snapshot) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let spec = snapshot.spec.as_deref();
        let rig = snapshot.rig.as_deref();
        Self {
            ticks: snapshot.tick.since(first.tick),
            late_ticks: snapshot.late_ticks.saturating_sub(first.late_ticks),
            tick_p99_ms: ms(snapshot.tick_p99),
            jitter_p99_ms: ms(snapshot.jitter_p99),
            bus_p99_ms: ms(snapshot.bus_p99),
            idle: snapshot.idle.into(),
            thinking: snapshot.thinking.into(),
            chunks: snapshot.chunks.saturating_sub(first.chunks),
            starved_ticks: snapshot.starved_ticks.saturating_sub(first.starved_ticks),
            faults: snapshot.faults.iter().map(FaultLine::from).collect(),
            max_step: snapshot.max_step,
            requests: snapshot.requests.saturating_sub(first.requests),
            stale_chunks: snapshot.stale_chunks,
            filtered: snapshot.filtered,
            bus_retries: snapshot.bus_retries,
            chunk_ms: Latency {
                p50: ms(snapshot.latency.total.p50),
                p95: ms(snapshot.latency.total.p95),
            },
            rate_hz: snapshot.rate_hz,
            policy: spec.map_or_else(String::new, |spec| spec.name.clone()),
            device: spec.map_or_else(String::new, |spec| {
                format!("{}, {}", spec.device, spec.precision)
            }),
            task: rig.and_then(|rig| rig.task.clone()),
            successes: rig.map(|rig| rig.successes),
            attempts: rig.map(|rig| rig.attempts),
            recorded: None,
        }
    }

    /// The summary for people.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "ticks          {} ({} late, 99 % work less than {:.1} ms, {:.1} Hz)",
            self.ticks, self.late_ticks, self.tick_p99_ms, self.rate_hz
        )?;
        writeln!(
            out,
            "loop           99 % begin less than {:.2} ms late, the bus takes less than {:.1} ms",
            self.jitter_p99_ms, self.bus_p99_ms
        )?;
        writeln!(
            out,
            "chunks         {}, requests {}; {:.0} ms median, {:.0} ms p95",
            self.chunks, self.requests, self.chunk_ms.p50, self.chunk_ms.p95
        )?;
        writeln!(out, "starved ticks  {}", self.starved_ticks)?;
        writeln!(
            out,
            "largest step   {:.2} a tick (degrees, of the gripper %)",
            self.max_step
        )?;
        if !self.policy.is_empty() {
            writeln!(out, "policy         {} on {}", self.policy, self.device)?;
        }
        if let (Some(successes), Some(attempts)) = (self.successes, self.attempts) {
            let task = self
                .task
                .as_deref()
                .unwrap_or("no task that the referee knows");
            writeln!(out, "task           {task}: done {successes} of {attempts}")?;
        }
        if let Some(recorded) = &self.recorded {
            recorded.print(out)?;
        }
        if self.faults.is_empty() {
            writeln!(out, "faults         none")?;
        }
        for fault in &self.faults {
            let state = if fault.active { "still there" } else { "over" };
            writeln!(
                out,
                "fault          {} ({state}, seen {}): {}",
                fault.kind,
                fault.count,
                sentences(&fault.what, &fault.remedy)
            )?;
        }
        Ok(())
    }
}

/// Why the run failed, if it did: the policy or the arm could not be used at the end.
///
/// A policy that is merely too slow, late ticks and retried packets are told, but are no failure.
pub fn failure(snapshot: &Snapshot) -> Option<String> {
    if let PolicyStatus::Refused { why, stats } = &snapshot.policy {
        return Some(choices(why.clone(), stats));
    }
    if let Connection::Lost(why) | Connection::Uncalibrated(why) = &snapshot.connection {
        return Some(lost_arm(snapshot, why));
    }
    let broken = |fault: &&Fault| fault.active && stops_the_policy(fault.kind);
    let fault = snapshot.faults.iter().find(broken)?;
    Some(sentences(&fault.what, &fault.remedy))
}

/// What happened and what to do, as two sentences.
pub fn sentences(what: &str, remedy: &str) -> String {
    format!("{}. {remedy}", what.trim_end_matches('.'))
}

/// Why the arm is not there and what to do about it; the port is named once, whoever named it.
pub fn lost_arm(snapshot: &Snapshot, why: &str) -> String {
    let mut faults = snapshot.faults.iter();
    let remedy = faults.find(|fault| {
        let kinds = [FaultKind::BusLost, FaultKind::Uncalibrated];
        fault.active && kinds.contains(&fault.kind)
    });
    let remedy = remedy.map_or_else(String::new, |fault| format!(". {}", fault.remedy));
    let arm = &snapshot.arm;
    if arm.is_empty() || why.starts_with(arm.as_str()) {
        return format!("{why}{remedy}");
    }
    format!("{arm}: {why}{remedy}")
}

/// Faults under which the policy cannot drive.
fn stops_the_policy(kind: FaultKind) -> bool {
    match kind {
        FaultKind::BusLost
        | FaultKind::Uncalibrated
        | FaultKind::Arming
        | FaultKind::ServoAlarm
        | FaultKind::JointBlocked
        | FaultKind::Overload
        | FaultKind::Overheat
        | FaultKind::Supply
        | FaultKind::CameraStale
        | FaultKind::CameraMissing
        | FaultKind::PolicyError
        | FaultKind::PolicyHung
        | FaultKind::PolicyDied
        | FaultKind::PolicyLoad
        | FaultKind::BadAction
        | FaultKind::LoopStalled
        | FaultKind::LoopDied => true,
        FaultKind::BusRetry
        | FaultKind::Clearance
        | FaultKind::LeaderLost
        | FaultKind::LateTicks
        | FaultKind::TooSlow
        | FaultKind::Settings
        | FaultKind::Workshop
        | FaultKind::Session
        | FaultKind::Recorder
        | FaultKind::Rig => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Tick;
    use crate::runtime::RigView;

    fn fault(kind: FaultKind, active: bool) -> Fault {
        Fault {
            id: 1,
            kind,
            what: "Camera front is stale.".into(),
            remedy: "Plug it in.".into(),
            since: Duration::ZERO,
            count: 2,
            active,
        }
    }

    fn snapshot() -> Snapshot {
        Snapshot {
            tick: Tick(90),
            late_ticks: 1,
            chunks: 4,
            starved_ticks: 3,
            max_step: 1.5,
            tick_p99: Duration::from_millis(33),
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_json_has_the_documented_shape() {
        let with_fault = Snapshot {
            faults: vec![fault(FaultKind::CameraStale, true)],
            ..snapshot()
        };
        let from = Snapshot::default();
        let json = serde_json::to_value(Summary::between(&from, &with_fault)).unwrap();
        assert_eq!(json["ticks"], 90);
        assert_eq!(json["late_ticks"], 1);
        assert_eq!(json["tick_p99_ms"], 33.0);
        assert_eq!(json["chunks"], 4);
        assert_eq!(json["starved_ticks"], 3);
        assert_eq!(json["max_step"], 1.5);
        assert_eq!(json["faults"][0]["kind"], "CameraStale");
        let clean = serde_json::to_value(Summary::between(&from, &snapshot())).unwrap();
        assert_eq!(clean["faults"], serde_json::json!([]));
    }

    #[test]
    fn the_rig_tells_how_often_the_task_was_done_and_a_real_arm_does_not() {
        let from = Snapshot::default();
        let real = serde_json::to_value(Summary::between(&from, &snapshot())).unwrap();
        for key in ["task", "successes", "attempts"] {
            assert_eq!(real.get(key), Some(&serde_json::Value::Null), "{key}");
        }
        let rig = RigView {
            task: Some("touch the red cube".into()),
            successes: 2,
            attempts: 3,
            ..RigView::default()
        };
        let on_rig = Snapshot {
            rig: Some(rig.into()),
            ..snapshot()
        };
        let summary = Summary::between(&from, &on_rig);
        let json = serde_json::to_value(&summary).unwrap();
        assert_eq!(json["task"], "touch the red cube");
        assert_eq!([&json["successes"], &json["attempts"]], [2, 3]);
        let mut printed = Vec::new();
        summary.print(&mut printed).unwrap();
        let text = String::from_utf8(printed).unwrap();
        assert!(text.contains("touch the red cube: done 2 of 3"), "{text}");
    }

    #[test]
    fn only_what_happened_while_the_policy_drove_is_counted() {
        let begin = Snapshot {
            tick: Tick(60),
            late_ticks: 1,
            ..Snapshot::default()
        };
        let summary = Summary::between(&begin, &snapshot());
        assert_eq!(
            (summary.ticks, summary.late_ticks, summary.chunks),
            (30, 0, 4)
        );
    }

    #[test]
    fn a_fault_and_its_remedy_are_two_sentences() {
        let mut printed = Vec::new();
        let with_fault = Snapshot {
            faults: vec![fault(FaultKind::CameraStale, true)],
            ..snapshot()
        };
        let summary = Summary::between(&Snapshot::default(), &with_fault);
        summary.print(&mut printed).unwrap();
        let text = String::from_utf8(printed).unwrap();
        assert!(text.contains("front is stale. Plug it in."), "{text}");
        assert_eq!(sentences("it is late", "Wait."), "it is late. Wait.");
    }

    #[test]
    fn only_what_stops_the_policy_at_the_end_is_a_failure() {
        let with = |kind, active| Snapshot {
            faults: vec![fault(kind, active)],
            ..snapshot()
        };
        assert_eq!(failure(&snapshot()), None);
        assert_eq!(failure(&with(FaultKind::CameraStale, false)), None);
        assert_eq!(failure(&with(FaultKind::TooSlow, true)), None);
        let why = failure(&with(FaultKind::CameraStale, true)).unwrap();
        assert!(why.contains("front") && why.contains("Plug"), "{why}");
    }

    #[test]
    fn a_lost_arm_is_named_once_and_with_the_way_out() {
        let mut lost = snapshot();
        lost.arm = "/dev/ttyACM0".into();
        let why = "/dev/ttyACM0: there is no such port".to_owned();
        lost.faults = vec![fault(FaultKind::BusLost, true)];
        lost.connection = Connection::Lost(why);
        let words = failure(&lost).unwrap();
        assert_eq!(words, "/dev/ttyACM0: there is no such port. Plug it in.");
        lost.connection = Connection::Lost("no servo answers".into());
        assert!(
            failure(&lost)
                .unwrap()
                .starts_with("/dev/ttyACM0: no servo")
        );
    }

    #[test]
    fn a_refused_policy_names_the_choices() {
        let refused = Snapshot {
            policy: PolicyStatus::Refused {
                why: "statistics of two data sets".into(),
                stats: vec!["so100".into(), "so100-red".into()],
            },
            ..snapshot()
        };
        let why = failure(&refused).unwrap();
        assert!(
            why.contains("--stats") && why.contains("so100-red"),
            "{why}"
        );
    }
}
