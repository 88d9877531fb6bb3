//! `smolpilot bench`: how long a chunk takes on this machine, by stage, what it is made of, and how long it must take.

mod account;
mod cards;
mod case;
mod floor;
mod holdings;
mod made;
mod report;
mod soak;
mod stages;
mod trace;

use std::io::Write;

use anyhow::bail;

pub use self::made::Made;

use self::case::Case;
use self::floor::{Floor, Launches, Work};
use self::holdings::Holdings;
use self::report::{ChunkAccount, ChunkRun, Report, Stages, Subject};
use self::stages::{Network, Watch};
use crate::cli::args::BenchArgs;
use crate::cli::cost::{self, Load, Way, chunk_cost};
use crate::cli::memory::peak_rss_bytes;
use crate::cli::output::{Outcome, deliver, wrong_argument};
use crate::cli::policy;
use crate::gpu::OpenedDevice;
use crate::gpu::compute::Format;
use crate::policy::Architecture;
use crate::policy::smolvla::Trace;

/// Largest difference between the watched run and the one that flies, in normalised actions: the same kernels run in both,
/// but a device may sum in another order.
const SAME: f32 = 1e-4;

/// GPUs whose floors stand beside a trace when the device itself is none of the table: a large, a middle and a small one.
const USUAL_CARDS: [&str; 3] = ["RTX 4090", "RTX 3060", "Apple M2"];

/// Runs the command.
pub fn run(args: &BenchArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if let Some(name) = &args.floor {
        return foretell(args, name, out);
    }
    let device = policy::device(args.device.device)?;
    let before = Holdings::now(&device);
    let case = Case::load(args, &device)?;
    let memory = Holdings::now(&device).since(&before);
    if let Some(chunks) = args.soak {
        return soak::run(args, &case, &device, chunks, out);
    }
    let bench = Bench {
        case: &case,
        device: &device,
        trace: args.trace,
        runs: args.runs,
    };
    let report = bench.report(args.naive, memory)?;
    deliver(out, args.json.json.as_ref(), &report, |out| {
        report.print(out)
    })?;
    Ok(Outcome::Done)
}

/// The least times on named GPUs, without a device.
fn foretell(args: &BenchArgs, name: &str, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let found = cards::named(name);
    if found.is_empty() {
        let known: Vec<_> = cards::CARDS.iter().map(|card| card.name).collect();
        let known = known.join(", ");
        return Err(wrong_argument(format!(
            "--floor: {name} is none of {known}, or all"
        )));
    }
    let (architecture, load) = case::foretold(args)?;
    let work = work(&architecture, load, None);
    let floors: Vec<_> = found
        .into_iter()
        .map(|card| Floor::of(card, &work))
        .collect();
    deliver(out, args.json.json.as_ref(), &floors, |out| {
        floor::print(&floors, out)
    })?;
    Ok(Outcome::Done)
}

fn work(architecture: &Architecture, load: Load, launches: Option<Launches>) -> Work {
    let stored = |weights| chunk_cost(architecture, Load { weights, ..load });
    Work {
        f32: stored(Format::F32),
        f16: stored(Format::F16),
        launches,
    }
}

/// A case on a device, and how it is to be measured.
struct Bench<'a> {
    case: &'a Case,
    device: &'a OpenedDevice,
    trace: bool,
    runs: u64,
}

/// One way of computing: its counts and its timed runs.
struct Measured {
    way: Way,
    first_ms: f64,
    counts: ChunkAccount,
    runs: Vec<ChunkRun>,
}

impl Bench<'_> {
    fn report(&self, naive: bool, memory: Holdings) -> anyhow::Result<Report> {
        let naive = naive.then(|| self.case.naive(self.device)).transpose()?;
        let mut networks = vec![Network::Burn(self.case.network())];
        networks.extend(naive.as_ref().map(Network::Naive));
        let measured = self.measure(&networks)?;
        let mut stages: Vec<_> = measured.iter().map(|one| self.stages(one)).collect();
        let mut own = stages.remove(0);
        let mut report_naive = None;
        for (measured, other) in measured[1..].iter().zip(stages) {
            own.compare(measured.way, &other);
            report_naive = Some(other);
        }
        Ok(Report {
            subject: self.subject(&measured[0]),
            naive_ratio: own.total.naive_ratio,
            burn_ratio: own.total.burn_ratio,
            floors: self.floors(&measured[0].counts),
            stages: own,
            peak_rss_bytes: peak_rss_bytes(),
            memory,
            burn: None,
            naive: report_naive,
        })
    }

    /// Compiles, checks and counts each network, then times them in turns, so that what else the machine does meets all.
    fn measure(&self, networks: &[Network<'_>]) -> anyhow::Result<Vec<Measured>> {
        let watches: Vec<_> = networks
            .iter()
            .map(|network| self.watch(*network))
            .collect();
        let mut measured = Vec::new();
        for watch in &watches {
            log::info!("{}: first run, which compiles", watch.way());
            let (first, actions) = watch.run()?;
            self.compare(watch, &actions)?;
            let mut counts = watch.count()?;
            if self.trace {
                watch.clock(&mut counts)?;
            }
            measured.push(Measured {
                way: watch.way(),
                first_ms: first.total().ms,
                counts,
                runs: Vec::new(),
            });
        }
        for number in 1..=self.runs {
            for (watch, measured) in watches.iter().zip(&mut measured) {
                let (run, _) = watch.run()?;
                let (way, ms) = (watch.way(), run.total().ms);
                log::info!("{way}: run {number} of {}: {ms:.1} ms", self.runs);
                measured.runs.push(run);
            }
        }
        Ok(measured)
    }

    fn watch<'a>(&'a self, network: Network<'a>) -> Watch<'a> {
        Watch {
            device: self.device,
            network,
            input: &self.case.input,
            steps: &self.case.steps,
        }
    }

    /// Holds a watched answer against that of the sampler that flies.
    fn compare(&self, watch: &Watch<'_>, watched: &[f32]) -> anyhow::Result<()> {
        let count = self.case.steps.times.len();
        let network = self.case.network();
        let flown = network.sample_actions(&self.case.input, count, None, &mut Trace::off())?;
        let pairs = flown.actions.iter().zip(watched);
        let most = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        if flown.actions.len() != watched.len() || most > SAME {
            bail!(
                "two runs of the same input on {} differ by {most:.2e} ({}); the device computes wrongly, its times mean nothing",
                self.device.name,
                watch.way()
            );
        }
        Ok(())
    }

    fn stages(&self, measured: &Measured) -> Stages {
        let cost = chunk_cost(&self.case.architecture, self.case.work(measured.way));
        Stages::of(&measured.runs, &measured.counts, cost, self.trace)
    }

    /// With a trace, the floors of this very GPU if it is known, else of some usual ones.
    fn floors(&self, counts: &ChunkAccount) -> Vec<Floor> {
        if !self.trace {
            return Vec::new();
        }
        let stages = [&counts.vision, &counts.prefix, &counts.denoise];
        let [vision, prefix, denoise] = stages.map(|stage| stage.kernels);
        let launches = (|| Some([vision?, prefix?, denoise?]))();
        let load = self.case.work(self.case.way());
        let work = work(&self.case.architecture, load, launches);
        let cards = match cards::of_adapter(&self.device.name) {
            Some(card) => vec![card],
            None => USUAL_CARDS
                .iter()
                .flat_map(|name| cards::named(name))
                .collect(),
        };
        cards
            .into_iter()
            .map(|card| Floor::of(card, &work))
            .collect()
    }

    fn subject(&self, measured: &Measured) -> Subject {
        let load = self.case.work(measured.way);
        Subject {
            policy: self.case.name.clone(),
            device: self.device.place(),
            precision: self.case.precision().to_owned(),
            way: measured.way,
            parameters: self.case.network().parameters(),
            views: load.images,
            language_tokens: load.language_tokens,
            prefix_tokens: cost::prefix_tokens(&self.case.architecture, load),
            chunk_size: self.case.architecture.chunk_size,
            steps: load.steps,
            runs: self.runs,
            first_run_ms: measured.first_ms,
        }
    }
}
