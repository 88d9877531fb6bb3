//! `smolpilot sim record`: demonstrations of the scripted expert by the hundred, through the recorder that records a real arm.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use crossbeam_channel::{Receiver, Sender, bounded};
use serde::Serialize;

use crate::app::ending;
use crate::cli::output::{Outcome, claim, deliver};
use crate::cli::record::SimRecordArgs;
use crate::cli::run::knobs::knobs;
use crate::dataset::{self, CameraShape, Plan, Recorder};
use crate::lab::{Demonstration, Error, Studio, Take};
use crate::sim::{Scenery, Task, Viewpoint};

/// Tries that an episode may take on average before nothing is expected of more.
const TRIES: u32 = 4;
/// Actions of a chunk of the expert's.
const CHUNK: usize = 50;
/// How often progress is told.
const TELL: Duration = Duration::from_secs(5);

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    pub task: String,
    pub root: String,
    pub episodes: u32,
    pub frames: u64,
    pub tries: u32,
    /// Tables on which the expert failed, and how.
    pub failures: Vec<(u64, String)>,
    /// The first seed that was not tried.
    pub next_seed: u64,
    pub took_s: f64,
}

/// Runs the command.
///
/// # Errors
/// The data set cannot be opened or written, or the expert does not take off.
pub fn run(args: &SimRecordArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    claim(args.json.json.as_ref())?;
    ending::listen();
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or_else(cores);
    let began = Instant::now();
    let fps = args.fps()?;
    let mut recorder = Recorder::open(args.plan(fps))?;
    let session = Session {
        args,
        studio: Studio::new(args.size, &args.viewpoints(), jobs),
        summary: Summary {
            task: args.task.to_string(),
            root: args.out.display().to_string(),
            ..Summary::default()
        },
        told: began,
    };
    let recorded = fly(
        &args.demonstration(fps),
        args.seed,
        jobs,
        session,
        &mut recorder,
    );
    // What was kept is saved, whatever came of the rest.
    let closed = recorder.close();
    let mut summary = recorded?;
    closed.context("an episode could not be saved")?;
    summary.took_s = began.elapsed().as_secs_f64();
    deliver(out, args.json.json.as_ref(), &summary, |out| {
        summary.print(out)
    })?;
    Ok(if summary.episodes == args.episodes {
        Outcome::Done
    } else {
        Outcome::Fault
    })
}

impl SimRecordArgs {
    fn viewpoints(&self) -> Vec<Viewpoint> {
        match self.cameras.as_slice() {
            [] => vec![Viewpoint::Front, Viewpoint::Wrist],
            named => named.to_vec(),
        }
    }

    /// Rows a second: the control rate, which for a data set is whole.
    fn fps(&self) -> anyhow::Result<u32> {
        let fps = knobs(&self.knobs).fps;
        ensure!(
            fps.fract() == 0.0,
            "--fps {fps}: a data set holds a whole number of rows a second"
        );
        Ok(fps as u32)
    }

    fn plan(&self, fps: u32) -> Plan {
        let [width, height] = self.size;
        let camera = |viewpoint: &Viewpoint| CameraShape {
            name: viewpoint.name().to_owned(),
            width,
            height,
        };
        Plan {
            fps,
            cameras: self.viewpoints().iter().map(camera).collect(),
            provenance: !self.columns.no_provenance,
            chunk: self.columns.record_chunk.then_some(CHUNK),
            codec: self.columns.codec.clone().unwrap_or_default(),
            ..Plan::new(self.out.clone())
        }
    }

    fn demonstration(&self, fps: u32) -> Demonstration {
        let usual = if self.task == Task::Sort { 100.0 } else { 40.0 };
        Demonstration {
            task: self.task,
            knobs: knobs(&self.knobs),
            latency: Duration::from_millis(self.latency_ms).into(),
            fps,
            limit: Duration::from_secs_f64(self.limit.unwrap_or(usual)),
            chunk: self.columns.record_chunk,
        }
    }
}

/// A take that has come from one of the threads that fly.
type Flown = (u64, Result<Take, Error>);

/// Flies on a few threads, and records on this one what comes of it, in the order of the seeds.
fn fly(
    demonstration: &Demonstration,
    seed: u64,
    jobs: usize,
    mut session: Session<'_>,
    recorder: &mut Recorder,
) -> anyhow::Result<Summary> {
    let (next, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (send, flown) = bounded::<Flown>(jobs);
    let work = |send: Sender<Flown>| {
        while !over.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let take = demonstration.fly(seed.wrapping_add(at));
            if send.send((at, take)).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        // Dropped at the end of this block, which ends a thread that waits to hand its take over.
        let flown = flown;
        let start = || -> io::Result<()> {
            for job in 0..jobs {
                let send = send.clone();
                let work = &work;
                thread::Builder::new()
                    .name(format!("fly-{}", job + 1))
                    .spawn_scoped(scope, move || work(send))?;
            }
            Ok(())
        };
        let recorded = start()
            .map_err(anyhow::Error::from)
            .and_then(|()| session.record(&flown, recorder));
        over.store(true, Ordering::Relaxed);
        recorded
    })?;
    Ok(session.summary)
}

/// The recording of takes.
struct Session<'a> {
    args: &'a SimRecordArgs,
    studio: Studio,
    summary: Summary,
    told: Instant,
}

impl Session<'_> {
    /// Records takes in the order of their seeds until there are enough, or nothing comes of them.
    fn record(&mut self, flown: &Receiver<Flown>, recorder: &mut Recorder) -> anyhow::Result<()> {
        let mut early: BTreeMap<u64, Result<Take, Error>> = BTreeMap::new();
        let most = self.args.episodes.saturating_mul(TRIES).saturating_add(10);
        while self.summary.episodes < self.args.episodes && self.summary.tries < most {
            if ending::interrupted() {
                return Ok(());
            }
            let turn = u64::from(self.summary.tries);
            let Some(take) = early.remove(&turn) else {
                let (at, take) = flown
                    .recv()
                    .map_err(|_closed| anyhow!("the threads that fly have ended"))?;
                early.insert(at, take);
                continue;
            };
            self.summary.tries += 1;
            self.summary.next_seed = self.args.seed.wrapping_add(turn + 1);
            self.keep(&take?, recorder)?;
        }
        Ok(())
    }

    /// Draws and records one take, if it is to be kept.
    fn keep(&mut self, take: &Take, recorder: &mut Recorder) -> anyhow::Result<()> {
        if let Some(why) = &take.failure {
            log::info!("seed {}: {why}", take.seed);
            self.summary.failures.push((take.seed, why.clone()));
            if !self.args.keep_failures {
                return Ok(());
            }
        }
        if self.args.vary > 0.0 {
            self.studio
                .dress(Scenery::seeded(take.seed, self.args.vary));
        }
        recorder.begin()?;
        self.studio
            .film(take, |step| recorder.push(step).map_err(Stopped::Recorder))?;
        recorder.keep(match take.failure {
            None => dataset::Outcome::Success,
            Some(_) => dataset::Outcome::Failure,
        })?;
        self.summary.episodes += 1;
        self.summary.frames += take.steps.len() as u64;
        if self.told.elapsed() >= TELL {
            self.told = Instant::now();
            let Summary {
                episodes, frames, ..
            } = self.summary;
            log::info!(
                "{episodes} of {} episodes, {frames} rows",
                self.args.episodes
            );
        }
        Ok(())
    }
}

/// Why a take was not recorded to its end.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Studio(#[from] Error),
    #[error(transparent)]
    Recorder(dataset::Error),
}

impl Summary {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self {
            task,
            root,
            episodes,
            frames,
            tries,
            failures,
            next_seed,
            took_s,
        } = self;
        writeln!(out, "task           {task}")?;
        writeln!(
            out,
            "recorded       {episodes} episodes, {frames} rows, into {root}"
        )?;
        writeln!(
            out,
            "tries          {tries}, of which {} failed; the next seed is {next_seed}",
            failures.len()
        )?;
        for (seed, why) in failures {
            writeln!(out, "failed         seed {seed}: {why}")?;
        }
        let rate = *frames as f64 / took_s.max(1e-3);
        writeln!(out, "speed          {took_s:.1} s, {rate:.0} rows a second")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cli;
    use crate::dataset::Dataset;

    fn recorded(words: &str, out: &Path) -> (Outcome, serde_json::Value) {
        let line = format!("smolpilot sim record --size 32x32 --camera wrist --json {words} --out");
        let words = line.split(' ').map(str::to_owned);
        let words = words.chain([out.display().to_string()]);
        let (mut text, mut err) = (vec![], vec![]);
        let outcome = cli::run(words, &mut text, &mut err);
        let told = serde_json::from_slice(&text);
        (
            outcome,
            told.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&err))),
        )
    }

    /// Two seconds of each, so that the test is over soon.
    const BRIEF: &str = "--episodes 2 --seed 5 --limit 2 --keep-failures";

    #[test]
    fn equal_seeds_record_equal_rows_whatever_the_threads() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        for (root, jobs) in [(&one, "--jobs 1"), (&two, "--jobs 3")] {
            let (outcome, told) = recorded(&format!("{BRIEF} {jobs}"), root);
            let done = (outcome, &told["episodes"], &told["next_seed"]);
            assert_eq!(done, (Outcome::Done, &2.into(), &7.into()), "{told}");
        }
        let mut data = [&one, &two].map(|root| Dataset::open(root).unwrap());
        for episode in 0..2 {
            let [one, two] = data.each_ref().map(|data| data.rows(episode).unwrap());
            assert_eq!(one, two);
            assert!(one.actions().len() >= 60);
            let [one, two] = data
                .each_mut()
                .map(|data| data.frame(episode, "wrist", 50).unwrap());
            assert_eq!(one.rgb, two.rgb);
        }
        let listed = data[0].episodes();
        assert!(
            listed
                .iter()
                .all(|it| it.outcome == dataset::Outcome::Failure)
        );
        assert_eq!(listed[0].tasks, ["put the red cube in the box"]);
    }

    #[test]
    fn failures_are_dropped_unless_they_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let words = "--episodes 1 --limit 0.2";
        let (outcome, told) = recorded(words, &folder.path().join("none"));
        assert_eq!((outcome, &told["episodes"]), (Outcome::Fault, &0.into()));
        let tries = told["tries"].as_u64().unwrap();
        assert_eq!(tries, u64::from(TRIES) + 10);
        assert_eq!(told["failures"].as_array().unwrap().len() as u64, tries);
    }
}
