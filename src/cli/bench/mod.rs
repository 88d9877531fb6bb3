//! `smolpilot bench`: how long a chunk takes on this machine, by stage, what it is made of, and how long it must take.

mod account;
mod cards;
mod case;
mod floor;
mod gpu_report;
mod holdings;
mod made;
mod measure;
mod own;
mod report;
mod soak;
mod stages;
mod trace;

use std::collections::BTreeMap;
use std::io::Write;

pub use self::made::Made;

use self::case::{Case, Choice, Loaded, flying};
use self::floor::{Floor, Launches, Work};
use self::holdings::Holdings;
use self::measure::{Measured, Rounds, measure};
use self::report::{Report, Stages, Subject};
use self::stages::Watch;
use crate::cli::args::BenchArgs;
use crate::cli::cost::{self, Load, Way, chunk_cost};
use crate::cli::memory::peak_rss_bytes;
use crate::cli::output::{Outcome, deliver, wrong_argument};
use crate::cli::policy;
use crate::gpu::OpenedDevice;
use crate::gpu::compute::Format;
use crate::policy::{Architecture, fitting};

/// GPUs whose floors stand beside a trace when the device itself is none of the table: a large, a middle and a small one.
const USUAL_CARDS: [&str; 3] = ["RTX 4090", "RTX 3060", "Apple M2"];

/// Runs the command.
pub fn run(args: &BenchArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if let Some(name) = &args.floor {
        return foretell(args, name, out);
    }
    if !args.gpu_table.is_empty() {
        return gpu_report::table(&args.gpu_table, out);
    }
    if let Some(file) = &args.gpu_report {
        return gpu_report::run(args, file, out);
    }
    let device = policy::device(args.device.wish())?;
    let case = Case::of(args)?;
    let device = fitting(&case.architecture, device)?;
    let before = Holdings::now(&device);
    let network = case.load(flying(&device), &device)?;
    let memory = Holdings::now(&device).since(&before);
    if let Some(chunks) = args.soak {
        return soak::run(
            args,
            &case.watch(&device, &network),
            &case.name,
            chunks,
            out,
        );
    }
    let bench = Bench {
        case: &case,
        device: &device,
        trace: args.trace,
        runs: args.runs,
    };
    let report = bench.report(network, &others(args, &device), memory)?;
    deliver(out, args.json.json.as_ref(), &report, |out| {
        report.print(out)
    })?;
    Ok(Outcome::Done)
}

/// What else is to be measured beside what flies.
fn others(args: &BenchArgs, device: &OpenedDevice) -> Vec<Choice> {
    let burn = args.burn && flying(device).0 != Way::Burn;
    [(burn, Way::Burn), (args.naive, Way::Naive)]
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, way)| (way, Format::F32))
        .collect()
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
    let launches = cost::own_launches(&architecture, load);
    let work = work(&architecture, load, Some(launches));
    let floors: Vec<_> = found
        .into_iter()
        .map(|card| Floor::of(card, &work))
        .collect();
    let network = args.made.map_or_else(
        || policy::request(&args.policy).source,
        |size| format!("made {size}"),
    );
    deliver(out, args.json.json.as_ref(), &floors, |out| {
        writeln!(out, "network: {network}")?;
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

impl Bench<'_> {
    fn report(&self, flown: Loaded, others: &[Choice], memory: Holdings) -> anyhow::Result<Report> {
        let mut networks = vec![flown];
        for choice in others {
            networks.push(self.case.load(*choice, self.device)?);
        }
        let watches: Vec<_> = networks
            .iter()
            .map(|network| self.case.watch(self.device, network))
            .collect();
        let rounds = Rounds {
            most: self.runs,
            until: None,
            clock: self.trace,
        };
        let measured = measure(&watches, rounds)?;
        let mut stages: Vec<_> = measured.iter().map(|one| self.stages(one)).collect();
        let mut own = stages.remove(0);
        let mut others = BTreeMap::new();
        for (measured, other) in measured[1..].iter().zip(stages) {
            own.compare(measured.choice.0, &other);
            others.insert(measured.choice.0, other);
        }
        Ok(Report {
            subject: subject(&watches[0], self.case, &measured[0]),
            naive_ratio: own.total.naive_ratio,
            burn_ratio: own.total.burn_ratio,
            floors: self.floors(&measured[0]),
            stages: own,
            peak_rss_bytes: peak_rss_bytes(),
            memory,
            burn: others.remove(&Way::Burn),
            naive: others.remove(&Way::Naive),
        })
    }

    fn stages(&self, measured: &Measured) -> Stages {
        let cost = chunk_cost(&self.case.architecture, self.case.work(measured.choice));
        measured.stages(cost, self.trace)
    }

    /// With a trace, the floors of this very GPU if it is known, else of some usual ones.
    fn floors(&self, measured: &Measured) -> Vec<Floor> {
        if !self.trace {
            return Vec::new();
        }
        let work = counted_work(self.case, measured);
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
}

/// The work of a chunk, with the launches that were counted.
fn counted_work(case: &Case, measured: &Measured) -> Work {
    let counts = &measured.counts;
    let stages = [&counts.vision, &counts.prefix, &counts.denoise];
    let [vision, prefix, denoise] = stages.map(|stage| stage.kernels);
    let launches = (|| Some([vision?, prefix?, denoise?]))();
    work(&case.architecture, case.work(measured.choice), launches)
}

fn subject(watch: &Watch<'_>, case: &Case, measured: &Measured) -> Subject {
    let (way, format) = measured.choice;
    let load = case.work(measured.choice);
    Subject {
        policy: case.name.clone(),
        device: watch.device.place(),
        precision: case::precision(format).to_owned(),
        way,
        parameters: watch.network.parameters(),
        views: load.images,
        language_tokens: load.language_tokens,
        prefix_tokens: cost::prefix_tokens(&case.architecture, load),
        chunk_size: case.architecture.chunk_size,
        steps: load.steps,
        runs: measured.runs.len() as u64,
        first_run_ms: measured.first_ms,
    }
}
