//! `smolpilot teleop`: a follower that follows a leader, without a window, and how well it did.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::Serialize;

use crate::app::ending;
use crate::app::wiring::{ArmChoice, FIRST_TASK, Rig, RigOptions, pair};
use crate::cli::args::TeleopArgs;
use crate::cli::output::{Outcome, deliver, wrong_argument};
use crate::cli::record::{Recorded, see_through};
use crate::cli::rig::unflown;
use crate::cli::run::summary::{FaultLine, lost_arm, sentences};
use crate::clock::Clock;
use crate::runtime::{
    Command, Connection, FaultKind, Halted, LeaderStatus, LeaderView, Mode, Runtime, Snapshot,
};

/// How long an arm may take to answer for the first time.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long arming may take.
const ARM_LIMIT: Duration = Duration::from_secs(20);
/// How long the control thread may take to answer.
const TICK_LIMIT: Duration = Duration::from_secs(2);
/// How often a wait looks for an end that was asked for.
const LOOK: Duration = Duration::from_millis(50);

/// What `teleop --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Control periods since the arm was aligned; late ones are counted from there as well.
    pub ticks: u64,
    pub late_ticks: u64,
    /// Measured control rate at the end, Hz.
    pub rate_hz: f32,
    /// 99th percentiles, milliseconds: of the time that a tick works, of how long after its deadline it begins, and of what
    /// the follower's bus takes of it.
    pub tick_p99_ms: f64,
    pub jitter_p99_ms: f64,
    pub bus_p99_ms: f64,
    /// 95th percentile of the age of the leader's poses when they were followed, milliseconds.
    pub leader_age_p95_ms: f64,
    pub leader_rate_hz: f32,
    /// Seconds until the follower was with the leader; nothing if it never was.
    pub aligned_s: Option<f64>,
    /// Largest joint step sent in one tick, robot units.
    pub max_step: f32,
    /// Packets lost and repeated, follower and leader.
    pub bus_retries: u64,
    pub leader_retries: u64,
    pub faults: Vec<FaultLine>,
    /// What was recorded, if anything was to be.
    pub recorded: Option<Recorded>,
}

/// Runs the command.
pub fn run(args: &TeleopArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let follower = args.arms.follower()?;
    let Some(leader) = args.arms.leader()? else {
        return Err(wrong_argument(
            "no leader: name its port with --leader PORT",
        ));
    };
    if follower != ArmChoice::Simulated && !args.arm {
        return Err(wrong_argument(
            "the torque of a real follower is switched on only when you say so: add --arm, with the arm free to move",
        ));
    }
    ending::listen();
    let (led, last, halted) = if args.record.record.is_some() {
        let rig = Rig::start(recorded_rig(args)?)?;
        ending::guard(rig.runtime.halt());
        let led = lead(&rig.runtime, args);
        let last = rig.runtime.snapshot.get().unwrap_or_default();
        (led, last, rig.shutdown())
    } else {
        let setup = pair(&follower, &leader, args.arms.bounds(), &Clock::real())?;
        let runtime = Runtime::start(setup).context("cannot start the control thread")?;
        ending::guard(runtime.halt());
        let led = lead(&runtime, args);
        let last = runtime.snapshot.get().unwrap_or_default();
        (led, last, runtime.shutdown())
    };
    ending::over();
    let Led {
        began,
        aligned,
        recorded,
    } = led?;
    let recorded = recorded.map(Recorded::counted);
    let trouble = recorded.as_ref().and_then(|it| it.trouble.clone());
    let summary = Summary {
        recorded,
        ..Summary::of(&began, &aligned, &last)
    };
    deliver(out, args.json.json.as_ref(), &summary, |out| {
        summary.print(out)
    })?;
    if halted == Halted::Unconfirmed {
        bail!(ending::UNCONFIRMED);
    }
    match failure(&last).or(trouble) {
        Some(why) => bail!("{why}"),
        None => Ok(Outcome::Done),
    }
}

/// The arms with the cameras that are recorded, and the rig's table where nothing is real.
fn recorded_rig(args: &TeleopArgs) -> anyhow::Result<RigOptions> {
    let usual = || FIRST_TASK.to_owned();
    let task = args.task.clone().unwrap_or_else(usual);
    unflown(&args.arms, &args.cameras, task, args.seed)
}

/// The pictures of the beginning and of the alignment, and what was recorded.
struct Led {
    began: Snapshot,
    aligned: Snapshot,
    recorded: Option<Recorded>,
}

/// Arms the follower, lets it follow, and waits for the end.
fn lead(runtime: &Runtime, args: &TeleopArgs) -> anyhow::Result<Led> {
    let connected = |seen: &Snapshot| matches!(seen.connection, Connection::Connected { .. });
    until(runtime, CONNECT_LIMIT, "the arm was connected", connected)?;
    until(runtime, CONNECT_LIMIT, "the leader was read", is_led)?;
    let armed = |seen: &Snapshot| seen.connection == Connection::Connected { torque: true };
    runtime.commands.send(Command::EnableTorque)?;
    until(runtime, ARM_LIMIT, "torque was on", armed)?;
    runtime.commands.send(Command::SetMode(Mode::Teleop))?;
    let follows = |seen: &Snapshot| seen.mode == Mode::Teleop;
    let began = until(runtime, TICK_LIMIT, "the follower followed", follows)?;
    log::info!("the follower comes to the leader");
    let settled = |seen: &Snapshot| is_aligned(seen) || !follows(seen);
    let aligned = until(runtime, Duration::MAX, "it was aligned", settled)?;
    if is_aligned(&aligned) {
        log::info!("it follows; Ctrl-C ends");
    }
    // A table is nobody's to judge while a person works on it.
    let plan = args.record.plan(false).filter(|_| is_aligned(&aligned));
    let recorded = if let Some(plan) = plan {
        Some(see_through(runtime, plan, args.seconds)?)
    } else {
        let over = |seen: &Snapshot| {
            let so_far = seen.now.saturating_sub(aligned.now).as_secs_f64();
            args.seconds.is_some_and(|seconds| so_far >= seconds) || !follows(seen)
        };
        until(runtime, Duration::MAX, "it ended", over)?;
        None
    };
    Ok(Led {
        began,
        aligned,
        recorded,
    })
}

/// The first picture that is as told, or why there will be none. Whoever ends the program ends every wait.
pub fn until(
    runtime: &Runtime,
    limit: Duration,
    what: &str,
    done: impl Fn(&Snapshot) -> bool,
) -> anyhow::Result<Snapshot> {
    let mut waited = Duration::ZERO;
    loop {
        let seen = runtime.wait_for(LOOK, |seen| ending::interrupted() || done(seen));
        if let Some(seen) = seen {
            return Ok(Snapshot::clone(&seen));
        }
        let seen = runtime.snapshot.get().unwrap_or_default();
        if !runtime.is_running() {
            bail!("the control thread has ended before {what}");
        }
        if let Some(why) = refusal(&seen) {
            bail!("{why}");
        }
        waited += LOOK;
        if waited >= limit {
            bail!(failure(&seen).unwrap_or_else(|| format!("it took too long before {what}")));
        }
    }
}

/// Why waiting is in vain: another arm's calibration, or torque that was not switched on when it was asked for.
fn refusal(seen: &Snapshot) -> Option<String> {
    if let Connection::Uncalibrated(why) = &seen.connection {
        return Some(lost_arm(seen, why));
    }
    let mut faults = seen.faults.iter();
    let refused = faults.find(|fault| fault.active && fault.kind == FaultKind::Arming)?;
    Some(sentences(&refused.what, &refused.remedy))
}

/// The follower is with the leader.
fn is_aligned(seen: &Snapshot) -> bool {
    seen.mode == Mode::Teleop && seen.approaching.is_none()
}

fn is_led(seen: &Snapshot) -> bool {
    seen.leader.as_ref().is_some_and(LeaderView::is_live)
}

/// Why teleoperation failed, if it did.
fn failure(seen: &Snapshot) -> Option<String> {
    if let Connection::Lost(why) | Connection::Uncalibrated(why) = &seen.connection {
        return Some(lost_arm(seen, why));
    }
    let stops = |kind| {
        matches!(
            kind,
            FaultKind::BusLost
                | FaultKind::Arming
                | FaultKind::LeaderLost
                | FaultKind::LoopStalled
                | FaultKind::LoopDied
        )
    };
    let mut faults = seen.faults.iter();
    let fault = faults.find(|fault| fault.active && stops(fault.kind));
    let told = fault.map(|fault| sentences(&fault.what, &fault.remedy));
    let stopped = seen.stopped.as_ref().filter(|_| !ending::interrupted());
    let stopped = stopped.map(|stop| format!("the arm was stopped by {}", stop.by));
    told.or(stopped)
        .or_else(|| match &seen.leader.as_ref()?.status {
            LeaderStatus::Lost(why) => Some(format!("the leader: {why}")),
            _ => None,
        })
}

impl Summary {
    fn of(began: &Snapshot, aligned: &Snapshot, last: &Snapshot) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let leader = last.leader.clone().unwrap_or_default();
        Self {
            ticks: last.tick.since(aligned.tick),
            late_ticks: last.late_ticks.saturating_sub(aligned.late_ticks),
            rate_hz: last.rate_hz,
            tick_p99_ms: ms(last.tick_p99),
            jitter_p99_ms: ms(last.jitter_p99),
            bus_p99_ms: ms(last.bus_p99),
            leader_age_p95_ms: ms(leader.age_p95),
            leader_rate_hz: leader.rate_hz,
            aligned_s: is_aligned(aligned)
                .then(|| aligned.now.saturating_sub(began.now).as_secs_f64()),
            max_step: last.max_step,
            bus_retries: last.bus_retries,
            leader_retries: leader.retries,
            faults: last.faults.iter().map(FaultLine::from).collect(),
            recorded: None,
        }
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "ticks          {} ({} late, {:.1} Hz)",
            self.ticks, self.late_ticks, self.rate_hz
        )?;
        writeln!(
            out,
            "a tick         99 % begin less than {:.2} ms late and work less than {:.1} ms, of which the bus takes {:.1} ms",
            self.jitter_p99_ms, self.tick_p99_ms, self.bus_p99_ms
        )?;
        writeln!(
            out,
            "leader         read at {:.0} Hz; 95 % of its poses were younger than {:.1} ms",
            self.leader_rate_hz, self.leader_age_p95_ms
        )?;
        match self.aligned_s {
            Some(seconds) => writeln!(out, "aligned        in {seconds:.1} s")?,
            None => writeln!(out, "aligned        never")?,
        }
        writeln!(
            out,
            "largest step   {:.2} a tick (degrees, of the gripper %)",
            self.max_step
        )?;
        writeln!(
            out,
            "lost packets   {} follower, {} leader",
            self.bus_retries, self.leader_retries
        )?;
        if let Some(recorded) = &self.recorded {
            recorded.print(out)?;
        }
        if self.faults.is_empty() {
            writeln!(out, "faults         none")?;
        }
        for fault in &self.faults {
            let state = if fault.active { "still there" } else { "over" };
            let words = sentences(&fault.what, &fault.remedy);
            writeln!(out, "fault          {} ({state}): {words}", fault.kind)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn teleop(words: &str) -> (Outcome, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let words = format!("smolpilot teleop {words}");
        let outcome = cli::run(words.split_whitespace(), &mut out, &mut err);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (outcome, text(out), text(err))
    }

    #[test]
    fn the_rig_follows_its_waving_leader() {
        let (outcome, out, err) = teleop("--seconds 0.5 --json");
        assert_eq!((outcome, err.as_str()), (Outcome::Done, ""));
        let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(summary["ticks"].as_u64().unwrap() > 5, "{out}");
        assert!(summary["max_step"].as_f64().unwrap() < 1.8, "{out}");
        assert!(summary["leader_rate_hz"].as_f64().unwrap() > 20.0, "{out}");
    }

    /// A pulled cable on the way to the leader ended as "it follows", and the time until then as that of the alignment.
    #[test]
    fn an_arm_that_never_came_to_its_leader_is_told_so() {
        let seen = |mode, approaching| Snapshot {
            mode,
            approaching,
            ..Snapshot::default()
        };
        let on_its_way = seen(Mode::Teleop, Some(0.5));
        let mut out = Vec::new();
        for (end, words) in [
            (seen(Mode::Teleop, None), "aligned        in 0.0 s"),
            (seen(Mode::Hold, None), "aligned        never"),
            (on_its_way.clone(), "aligned        never"),
        ] {
            out.clear();
            Summary::of(&on_its_way, &end, &end)
                .print(&mut out)
                .unwrap();
            let text = String::from_utf8_lossy(&out);
            assert!(text.contains(words), "{text}");
        }
    }

    /// The calibration of another arm was told as a wait that took too long.
    #[test]
    fn the_calibration_of_another_arm_ends_the_wait_by_name() {
        let why = "shoulder_pan (motor 1) holds another calibration".to_owned();
        let other = Snapshot {
            connection: Connection::Uncalibrated(why),
            ..Snapshot::default()
        };
        for told in [refusal(&other), failure(&other)] {
            assert!(told.unwrap().contains("holds another calibration"));
        }
    }

    #[test]
    fn a_real_arm_waits_for_consent_and_for_a_leader() {
        let (outcome, _, err) = teleop("--leader none");
        assert_eq!(outcome, Outcome::Usage);
        assert!(err.contains("--leader PORT"), "{err}");
        let real = "--follower COM5 --calibration a.json --leader COM6 --leader-calibration b.json";
        let (outcome, _, err) = teleop(real);
        assert_eq!(outcome, Outcome::Usage);
        assert!(err.contains("--arm"), "{err}");
    }
}
