//! `smolpilot replay`: an arm, or the rig's, goes through a recorded episode again.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::bail;
use serde::Serialize;

use crate::app::ending;
use crate::app::wiring::{ArmChoice, Rig};
use crate::cli::output::{Outcome, deliver, wrong_argument};
use crate::cli::record::ReplayArgs;
use crate::cli::rig::unflown;
use crate::cli::run::summary::{FaultLine, sentences};
use crate::cli::teleop::until;
use crate::dataset::Dataset;
use crate::joint::{Joint, JointVec};
use crate::runtime::{Command, Connection, FaultKind, Halted, Mode, ReplayPlan, Runtime, Snapshot};

/// How long an arm may take to answer, and to be armed.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const ARM_LIMIT: Duration = Duration::from_secs(20);
/// How long the control thread may take to begin.
const BEGIN_LIMIT: Duration = Duration::from_secs(2);

/// What `replay --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    pub name: String,
    pub task: String,
    pub fps: f32,
    /// Actions sent, of how many.
    pub row: usize,
    pub rows: usize,
    /// Mean and largest distance of the measured pose from the one measured when it was recorded, robot units; nothing if the
    /// replay did not come to its end.
    pub mean_off: Option<JointVecLine>,
    pub most_off: Option<JointVecLine>,
    /// Largest joint step sent in one tick, robot units.
    pub max_step: f32,
    pub faults: Vec<FaultLine>,
}

/// Six values by joint.
pub type JointVecLine = [f32; 6];

/// What is gone through.
struct Recording {
    plan: ReplayPlan,
    states: Vec<JointVec>,
    task: String,
}

/// Runs the command.
///
/// # Errors
/// There is no such episode, or the arm does not go through it.
pub fn run(args: &ReplayArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let recording = read(args)?;
    if args.arms.follower.is_some() && !args.arm {
        return Err(wrong_argument(
            "the torque of a real follower is switched on only when you say so: add --arm, with the arm free to move",
        ));
    }
    let mut options = unflown(&args.arms, &args.cameras, recording.task.clone(), args.seed)?;
    // Nobody leads.
    (options.leader, options.records) = (None, false);
    debug_assert!(options.arm != ArmChoice::Simulated || args.arms.follower.is_none());
    ending::listen();
    let rig = Rig::start(options)?;
    ending::guard(rig.runtime.halt());
    let flown = fly(&rig.runtime, &recording);
    let last = rig.runtime.snapshot.get().unwrap_or_default();
    let halted = rig.shutdown();
    ending::over();
    let summary = flown?.with(&recording, &last);
    deliver(out, args.json.json.as_ref(), &summary, |out| {
        summary.print(out)
    })?;
    if halted == Halted::Unconfirmed {
        bail!(ending::UNCONFIRMED);
    }
    match failure(&summary, &last) {
        Some(why) => bail!("{why}"),
        None => Ok(Outcome::Done),
    }
}

fn read(args: &ReplayArgs) -> anyhow::Result<Recording> {
    let data = Dataset::open(&args.root)?;
    let episode = data.episode(args.episode)?;
    let task = episode.tasks.first().cloned().unwrap_or_default();
    let rows = data.rows(args.episode)?;
    let actions = rows.actions();
    if actions.is_empty() {
        bail!(
            "{}: the actions of episode {} are not named after the six joints of an SO-101, which cannot go through them",
            args.root.display(),
            args.episode
        );
    }
    Ok(Recording {
        plan: ReplayPlan {
            name: format!("{}, episode {}", data.name(), args.episode),
            fps: data.fps() as f32,
            actions,
            repeat: args.repeat,
        },
        states: rows.states().to_vec(),
        task,
    })
}

/// Arms, goes slowly to the first row, and through all of them.
fn fly(runtime: &Runtime, recording: &Recording) -> anyhow::Result<Summary> {
    let connected = |seen: &Snapshot| matches!(seen.connection, Connection::Connected { .. });
    until(runtime, CONNECT_LIMIT, "the arm was connected", connected)?;
    runtime.commands.send(Command::EnableTorque)?;
    let armed = |seen: &Snapshot| seen.connection == Connection::Connected { torque: true };
    until(runtime, ARM_LIMIT, "torque was on", armed)?;
    let plan = Box::new(recording.plan.clone());
    runtime.commands.send(Command::Replay(plan))?;
    let replays = |seen: &Snapshot| seen.mode == Mode::Replay;
    let answered = |seen: &Snapshot| {
        let refused = |kind| seen.faults.iter().any(|fault| fault.kind == kind);
        replays(seen) || refused(FaultKind::Session)
    };
    let begun = until(runtime, BEGIN_LIMIT, "the replay began", answered)?;
    if !replays(&begun) {
        return Ok(Summary::default());
    }
    log::info!("the arm comes to the first pose");
    let mut off = Off::default();
    let mut row = 0;
    // The tick after the last action shows a hold.
    while !ending::interrupted() && runtime.is_running() {
        let news = |seen: &Snapshot| {
            !replays(seen) || seen.replay.as_ref().is_some_and(|it| it.row != row)
        };
        let Some(seen) = runtime.wait_for(Duration::from_millis(200), news) else {
            continue;
        };
        let Some(replay) = seen.replay.as_ref().filter(|_| replays(&seen)) else {
            break;
        };
        if row == 0 {
            log::info!("it goes through {} rows", replay.rows);
        }
        row = replay.row;
        // What was sent with a row is measured in the tick after it, as it was then.
        if let Some(then) = row.checked_sub(1).and_then(|at| recording.states.get(at)) {
            off.add(seen.measured, *then);
        }
    }
    let is_through = row == recording.plan.actions.len();
    Ok(Summary {
        row,
        mean_off: off.mean().filter(|_| is_through),
        most_off: is_through.then_some(off.most.0),
        ..Summary::default()
    })
}

/// How far the arm is from where it was.
#[derive(Default)]
struct Off {
    sum: JointVec,
    most: JointVec,
    count: u32,
}

impl Off {
    fn add(&mut self, now: JointVec, then: JointVec) {
        let off = now.zip(then, |now, then| (now - then).abs());
        self.sum = self.sum.zip(off, |sum, off| sum + off);
        self.most = self.most.zip(off, f32::max);
        self.count += 1;
    }

    fn mean(&self) -> Option<JointVecLine> {
        (self.count > 0).then(|| self.sum.0.map(|sum| sum / self.count as f32))
    }
}

/// Why it did not come to its end, if so.
fn failure(summary: &Summary, last: &Snapshot) -> Option<String> {
    if summary.row == summary.rows || ending::interrupted() {
        return None;
    }
    let fault = last.faults.iter().rfind(|fault| fault.active);
    let told = fault.or(last.faults.last());
    let told = told.map(|fault| sentences(&fault.what, &fault.remedy));
    Some(told.unwrap_or_else(|| format!("it ended after {} of {} rows", summary.row, summary.rows)))
}

impl Summary {
    fn with(self, recording: &Recording, last: &Snapshot) -> Self {
        Self {
            name: recording.plan.name.clone(),
            task: recording.task.clone(),
            fps: recording.plan.fps,
            rows: recording.plan.actions.len(),
            max_step: last.max_step,
            faults: last.faults.iter().map(FaultLine::from).collect(),
            ..self
        }
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "replayed       {} ({})", self.name, self.task)?;
        writeln!(
            out,
            "rows           {} of {} at {} a second",
            self.row, self.rows, self.fps
        )?;
        if let (Some(mean), Some(most)) = (self.mean_off, self.most_off) {
            writeln!(out, "off the record mean and most, by joint")?;
            for joint in Joint::ALL {
                let at = joint.index();
                writeln!(
                    out,
                    "               {:<14} {:.2} {:.2}",
                    joint.name(),
                    mean[at],
                    most[at]
                )?;
            }
        }
        writeln!(
            out,
            "largest step   {:.2} a tick (degrees, of the gripper %)",
            self.max_step
        )?;
        for fault in &self.faults {
            let words = sentences(&fault.what, &fault.remedy);
            writeln!(out, "fault          {}: {words}", fault.kind)?;
        }
        Ok(())
    }
}
