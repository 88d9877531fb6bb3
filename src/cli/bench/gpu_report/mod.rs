//! `smolpilot bench --gpu-report FILE`: everything that can be said about a machine's GPU in less than five minutes, so that a
//! user of any GPU can send it.
//!
//! The file is JSON. It is written anew after every part, so that a driver that takes the program down leaves what was known
//! until then, with `complete` false. What each key means stands at the fields of [`GpuReport`]; a key that changes its
//! meaning or goes away raises [`VERSION`], a new one does not.

mod budget;
mod parity;
mod speed;
mod table;

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

pub use table::table;

use self::budget::Budget;
use self::parity::Parity;
use self::speed::Measurement;
use super::case::{Case, flying};
use super::floor::Floor;
use super::made::Made;
use super::soak::{self, Soak};
use crate::cli::args::BenchArgs;
use crate::cli::check::Speed;
use crate::cli::cost::{self, Load, Way, chunk_cost};
use crate::cli::memory::available_bytes;
use crate::cli::output::{Outcome, deliver, in_full};
use crate::gpu::compute::{Abilities, Compute, Format};
use crate::gpu::{self, Adapter, DeviceChoice, OpenedDevice};

/// Version of the file's format.
pub const VERSION: u32 = 1;

/// What tells the file from other JSON.
const FORMAT: &str = "smolpilot-gpu-report";

/// The program's own memory that the whole network needs while it is made and uploaded; where the GPU has no memory of its
/// own, the network itself lies there too, three times (own kernels in two precisions, and Burn's).
const ROOM: u64 = 1 << 30;
const SHARED_ROOM: u64 = 6 << 30;

/// A chunk that is foretold to take longer is not waited for; a quarter of the network is measured.
const LONGEST_CHUNK_SECONDS: f64 = 12.0;

/// The report.
#[derive(Debug, Serialize)]
pub struct GpuReport {
    /// `"smolpilot-gpu-report"`
    pub format: &'static str,
    /// [`VERSION`]
    pub version: u32,
    /// All parts were done or left out for a reason that is told.
    pub complete: bool,
    /// From the start to the last part, seconds.
    pub seconds: f64,
    pub program: Program,
    /// Every adapter that wgpu sees.
    pub adapters: Vec<Adapter>,
    /// The one that computed.
    pub device: Device,
    /// Products of the network's shapes through Burn, GFLOP/s.
    pub gflops: Option<Speed>,
    /// What was measured: `full`, `quarter`, `small` or `tiny` (`bench --made`), and why.
    pub network: Network,
    /// Every network and precision that can fly here against the CPU, stage by stage.
    pub parity: Vec<Parity>,
    /// Times, counts and memory, measured in turns.
    pub speed: Vec<Measurement>,
    /// What the GPU's data sheet allows, where its name is known.
    pub floor: Option<Floor>,
    /// Whether memory stayed flat over some chunks.
    pub soak: Option<Soak>,
    /// What went wrong, and what there was no time for.
    pub faults: Vec<String>,
}

/// The program that measured.
#[derive(Debug, Serialize)]
pub struct Program {
    pub version: &'static str,
    pub os: &'static str,
    pub arch: &'static str,
    pub threads: usize,
    /// An optimised build; times of others mean nothing.
    pub release: bool,
    pub autotune: bool,
    pub fusion: bool,
}

/// The device that computed.
#[derive(Debug, Serialize)]
pub struct Device {
    pub name: String,
    pub backend: String,
    pub driver: String,
    pub software: bool,
    /// What kernels may use beyond wgpu's defaults.
    pub abilities: Option<Abilities>,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub struct Network {
    pub size: String,
    pub why: String,
}

/// Runs the command.
pub fn run(args: &BenchArgs, file: &Path, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut work = Work {
        budget: Budget::start(),
        device: open(args.device.device)?,
        report: GpuReport::empty(),
        file,
    };
    work.report.device = device(&work.device);
    work.all(args)?;
    let report = &work.report;
    deliver(out, args.json.json.as_ref(), report, |out| {
        report.print(file, out)
    })?;
    Ok(if report.faults.is_empty() {
        Outcome::Done
    } else {
        Outcome::Fault
    })
}

/// The GPU that is asked for; without a wish the best one, or a software adapter where there is none.
fn open(choice: DeviceChoice) -> anyhow::Result<OpenedDevice> {
    let opened = match choice {
        DeviceChoice::Auto => {
            gpu::open(DeviceChoice::Wgpu).or_else(|_| gpu::open(DeviceChoice::Software))
        }
        other => gpu::open(other),
    };
    let opened = opened.context("no GPU to report on")?;
    if opened.setup.is_none() {
        anyhow::bail!("a GPU report needs an adapter, not the CPU; leave `--device` out");
    }
    log::info!("device: {} ({})", opened.place(), opened.why);
    Ok(opened)
}

/// A report in the making.
struct Work<'a> {
    budget: Budget,
    device: OpenedDevice,
    report: GpuReport,
    file: &'a Path,
}

impl Work<'_> {
    fn all(&mut self, args: &BenchArgs) -> anyhow::Result<()> {
        self.part("speed of products", |work| {
            work.report.gflops = Some(Speed::measure(&work.device.device)?);
            Ok(())
        })?;
        let (size, why) = match args.made {
            Some(size) => (size, "asked for".to_owned()),
            None => choose(&self.device, self.report.gflops),
        };
        self.report.network = Network {
            size: size.to_string(),
            why,
        };
        log::info!("network: {size}, {}", self.report.network.why);
        self.part("self-test", |work| {
            let choices = speed::choices(&work.device);
            let parity = parity::self_test(&choices, &work.device)?;
            work.report.parity.extend(parity);
            Ok(())
        })?;
        let shapes = match size {
            Made::Full => Made::Quarter,
            other => other,
        };
        self.part("stages against the CPU", |work| {
            let choices = speed::choices(&work.device);
            let parity = parity::against_cpu(shapes, &choices, &work.device)?;
            work.report.parity.extend(parity);
            Ok(())
        })?;
        let measured = self.part("speed", |work| work.speed(size, args.runs))?;
        if !measured && size == Made::Full {
            self.report.network = Network {
                size: Made::Quarter.to_string(),
                why: "the full network could not be run, see the faults".to_owned(),
            };
            self.part("speed of a quarter", |work| {
                work.speed(Made::Quarter, args.runs)
            })?;
        }
        self.part("memory over many chunks", |work| {
            let case = Case::made(Made::Tiny, None, None)?;
            let network = case.load(flying(&work.device), &work.device)?;
            let watch = case.watch(&work.device, &network);
            let until = work.budget.soon();
            work.report.soak = Some(soak::soak(&watch, &case.name, 300, Some(until))?);
            Ok(())
        })?;
        self.report.complete = true;
        self.save()
    }

    /// Does a part if there is time for one, and saves. What fails is noted, and the other parts go on; says whether it was
    /// done. Drivers are foreign code: some panic instead of returning.
    fn part(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        if self.budget.is_over() {
            self.report.faults.push(format!("{name}: no time was left"));
            return Ok(false);
        }
        log::info!("{:>3.0} s: {name}", self.budget.spent().as_secs_f64());
        let done = budget::guarded(|| work(self));
        if let Err(error) = &done {
            let fault = format!("{name}: {}", in_full(error));
            log::error!("{fault}");
            self.report.faults.push(fault);
        }
        self.save()?;
        Ok(done.is_ok())
    }

    fn speed(&mut self, size: Made, runs: u64) -> anyhow::Result<()> {
        let (speed, floor) = speed::measure(size, &self.device, runs, self.budget.late())?;
        self.report.speed = speed;
        self.report.floor = floor;
        Ok(())
    }

    fn save(&mut self) -> anyhow::Result<()> {
        self.report.seconds = self.budget.spent().as_secs_f64();
        let mut text = serde_json::to_string_pretty(&self.report)?;
        text.push('\n');
        std::fs::write(self.file, text)
            .with_context(|| format!("cannot write the report to {}", self.file.display()))
    }
}

/// The largest network that this machine can be expected to run several times, and why it is no larger.
fn choose(device: &OpenedDevice, speed: Option<Speed>) -> (Made, String) {
    if device.software {
        let why = "a software adapter would need minutes for a chunk of the full network";
        return (Made::Small, why.to_owned());
    }
    let adapter = gpu::adapters()
        .into_iter()
        .find(|adapter| (&adapter.name, &adapter.backend) == (&device.name, &device.backend));
    let own_memory = adapter.is_some_and(|adapter| adapter.kind == gpu::AdapterKind::Discrete);
    let room = if own_memory { ROOM } else { SHARED_ROOM };
    if let Some(free) = available_bytes().filter(|free| *free < room) {
        let why = format!(
            "{} MB of memory are free, {} are needed",
            free / 1_000_000,
            room / 1_000_000
        );
        return (Made::Quarter, why);
    }
    let architecture = Made::Full.architecture();
    let load = Load {
        images: Made::Full.views(),
        image_edge: architecture.vision.image_size,
        language_tokens: cost::USUAL_WORDS,
        steps: architecture.num_steps,
        way: Way::Burn,
        weights: Format::F32,
    };
    let seconds = speed.map(|speed| speed.seconds(&chunk_cost(&architecture, load)));
    match seconds.filter(|seconds| *seconds > LONGEST_CHUNK_SECONDS) {
        Some(seconds) => (
            Made::Quarter,
            format!("a full chunk would take some {seconds:.0} s"),
        ),
        None => (Made::Full, "the 450M model".to_owned()),
    }
}

fn device(device: &OpenedDevice) -> Device {
    Device {
        name: device.name.clone(),
        backend: device.backend.clone(),
        driver: device.driver.clone(),
        software: device.software,
        abilities: device.compute.as_ref().map(Compute::abilities),
    }
}

impl GpuReport {
    fn empty() -> Self {
        Self {
            format: FORMAT,
            version: VERSION,
            complete: false,
            seconds: 0.0,
            program: Program {
                version: env!("CARGO_PKG_VERSION"),
                os: std::env::consts::OS,
                arch: std::env::consts::ARCH,
                threads: std::thread::available_parallelism().map_or(1, usize::from),
                release: !cfg!(debug_assertions),
                autotune: cfg!(feature = "autotune"),
                fusion: cfg!(feature = "fusion"),
            },
            adapters: gpu::adapters(),
            device: Device {
                name: String::new(),
                backend: String::new(),
                driver: String::new(),
                software: false,
                abilities: None,
            },
            gflops: None,
            network: Network {
                size: String::new(),
                why: String::new(),
            },
            parity: Vec::new(),
            speed: Vec::new(),
            floor: None,
            soak: None,
            faults: Vec::new(),
        }
    }

    fn print(&self, file: &Path, out: &mut dyn Write) -> io::Result<()> {
        let device = &self.device;
        writeln!(
            out,
            "{}, {}, {}",
            device.name, device.backend, device.driver
        )?;
        writeln!(
            out,
            "network: {}, {}\n",
            self.network.size, self.network.why
        )?;
        for parity in &self.parity {
            writeln!(out, "{parity}")?;
        }
        for measurement in &self.speed {
            measurement.print(out)?;
        }
        if let Some(floor) = self.floor {
            writeln!(out)?;
            super::floor::print(&[floor], out)?;
        }
        if let Some(soak) = &self.soak {
            let said = if soak.flat {
                "flat".to_owned()
            } else {
                soak.grew.join("; ")
            };
            writeln!(out, "\nmemory over {} chunks: {said}", soak.chunks)?;
        }
        for fault in &self.faults {
            writeln!(out, "fault: {fault}")?;
        }
        writeln!(
            out,
            "\n{:.0} s; {} can be sent as it is: it holds nothing but what is above and the adapter's limits",
            self.seconds,
            file.display()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_no_gpu_to_report_on() {
        let error = open(DeviceChoice::Flex).unwrap_err().to_string();
        assert!(error.contains("needs an adapter"), "{error}");
        assert!(open(DeviceChoice::Gpu(9999)).is_err());
    }

    #[test]
    fn the_network_is_as_large_as_the_machine_can_bear() {
        let mut device = gpu::open(DeviceChoice::Flex).unwrap();
        device.software = true;
        assert_eq!(choose(&device, None).0, Made::Small);
        device.software = false;
        let slow = Speed {
            vision: 20.0,
            prefix: 20.0,
            denoise: 20.0,
        };
        let (size, why) = choose(&device, Some(slow));
        assert_eq!(size, Made::Quarter, "{why}");
    }

    #[test]
    fn a_part_that_fails_or_panics_is_noted_and_the_rest_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        let mut work = Work {
            budget: Budget::start(),
            device: gpu::open(DeviceChoice::Flex).unwrap(),
            report: GpuReport::empty(),
            file: &file,
        };
        let failed = work.part("one", |_| anyhow::bail!("no luck")).unwrap();
        let panicked = work.part("two", |_| panic!("the driver is gone")).unwrap();
        let done = work.part("three", |_| Ok(())).unwrap();
        assert_eq!((failed, panicked, done), (false, false, true));
        work.budget = Budget::of(std::time::Duration::ZERO);
        assert!(!work.part("four", |_| Ok(())).unwrap());
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let faults = json["faults"].as_array().unwrap();
        assert_eq!(faults[0], "one: no luck");
        assert_eq!(faults[1], "two: the driver is gone");
        assert_eq!(
            (&json["complete"], &json["version"]),
            (&false.into(), &1.into())
        );
        assert_eq!(work.report.faults[2], "four: no time was left");
    }
}
