//! `smolpilot bench`: how long a chunk takes on this machine, by stage, and what it is made of.

mod report;
mod stages;

use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, bail};

use self::report::{ChunkRun, Report, Stages, Subject};
use self::stages::{Look, Watch};
use crate::cli::args::BenchArgs;
use crate::cli::cost::{self, Load, chunk_cost};
use crate::cli::memory::peak_rss_bytes;
use crate::cli::output::{Outcome, deliver, wrong_argument};
use crate::cli::policy;
use crate::gpu::{Arithmetic, OpenedDevice};
use crate::observation::{Frame, Observation};
use crate::policy::checkpoint::Checkpoint;
use crate::policy::smolvla::naive::{LanguagePadding, NaiveSmolVla};
use crate::policy::smolvla::{EulerSteps, SmolVla, Trace};
use crate::policy::{
    self as policies, Architecture, Network, NetworkInput, PolicySpec, SmolVlaPolicy,
};

/// Size of the pictures that are made up, as most webcams give them.
const PICTURE: (u32, u32) = (640, 480);

/// Largest difference between the watched run and the one that flies, in normalised actions: the same kernels run in both,
/// but a device may sum in another order.
const SAME: f32 = 1e-4;

/// What is measured.
struct Bench {
    architecture: Architecture,
    spec: PolicySpec,
    input: NetworkInput,
    steps: EulerSteps,
    device: OpenedDevice,
    padding: LanguagePadding,
}

/// Runs the command.
pub fn run(args: &BenchArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut device = policy::device(args.device.wish())?;
    // The stages that are watched here are those of Burn's network.
    device.arithmetic = Arithmetic::default();
    let inspected = policy::inspect(&args.policy)?;
    let directory = inspected.directory.clone();
    let padding = LanguagePadding {
        length: inspected.config.tokenizer_max_length,
        token: 2,
    };
    let mut told = policy::Progress::default().told();
    let loaded = policies::fill(inspected, &device, &mut told).map_err(policy::in_words)?;
    let bench = Bench::new(args, &loaded, device, padding)?;
    let Network::Burn(network) = loaded.network() else {
        bail!("bench watches Burn's network");
    };
    let (first, runs) = bench.fly(network, args.runs)?;
    drop(loaded);
    let (counts, runs) = runs;
    let mut stages = Stages::of(
        &runs,
        &counts,
        chunk_cost(&bench.architecture, bench.load(false)),
    );
    let naive = args
        .naive
        .then(|| bench.naive(&directory, args.runs))
        .transpose()?;
    if let Some(naive) = &naive {
        stages = stages.compared_with(naive);
    }
    let report = Report {
        subject: bench.subject(args.runs, first),
        naive_ratio: stages.total.naive_ratio,
        stages,
        peak_rss_bytes: peak_rss_bytes(),
        naive,
    };
    deliver(out, args.json.json.as_ref(), &report, |out| {
        report.print(out)
    })?;
    Ok(Outcome::Done)
}

impl Bench {
    fn new(
        args: &BenchArgs,
        loaded: &SmolVlaPolicy,
        device: OpenedDevice,
        padding: LanguagePadding,
    ) -> anyhow::Result<Self> {
        let spec = policies::Policy::spec(loaded).clone();
        let views = args.views.unwrap_or(spec.views.len());
        if views == 0 || views > spec.views.len() {
            return Err(wrong_argument(format!(
                "--views is {views}, but {} declares {}",
                spec.name,
                spec.views.len()
            )));
        }
        let observation = Observation {
            images: spec.views[..views]
                .iter()
                .map(|view| Ok((view.clone(), picture()?)))
                .collect::<anyhow::Result<_>>()?,
            state: vec![0.0; spec.state_dim],
            task: args.task.clone(),
        };
        let noise = vec![0.5; spec.chunk_size * spec.max_action_dim];
        let mut warnings = Vec::new();
        let input = loaded
            .processor()
            .preprocess(&observation, noise, &mut warnings)?;
        for warning in warnings {
            log::warn!("{warning}");
        }
        Ok(Self {
            architecture: loaded.network().architecture().clone(),
            steps: EulerSteps::new(args.num_steps.unwrap_or(spec.num_steps))?,
            spec,
            input,
            device,
            padding,
        })
    }

    fn watch(&self, look: Look) -> Watch<'_> {
        Watch {
            device: &self.device,
            look,
        }
    }

    /// Times `runs` runs after one that compiles and one that counts; returns the time of the first, the counts and the
    /// runs.
    fn fly(
        &self,
        network: &SmolVla,
        runs: u64,
    ) -> anyhow::Result<(f64, (ChunkRun, Vec<ChunkRun>))> {
        let once = |look| stages::run(network, &self.input, &self.steps, self.watch(look));
        log::info!("first run, which compiles");
        let (first, watched) = once(Look::Time)?;
        self.compare(network, &watched)?;
        let (counts, _) = once(Look::Count)?;
        let mut timed = Vec::new();
        for number in 1..=runs {
            let (run, _) = once(Look::Time)?;
            log::info!("run {number} of {runs}: {:.1} ms", run.total().ms);
            timed.push(run);
        }
        Ok((first.total().ms, (counts, timed)))
    }

    /// Holds the watched answer against that of the sampler that flies.
    fn compare(&self, network: &SmolVla, watched: &[f32]) -> anyhow::Result<()> {
        let count = self.steps.times.len();
        let flown = network.sample_actions(&self.input, count, None, &mut Trace::off())?;
        let pairs = flown.actions.iter().zip(watched);
        let most = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        if flown.actions.len() != watched.len() || most > SAME {
            bail!(
                "two runs of the same input on {} differ by {most:.2e}; the device computes wrongly, its times mean nothing",
                self.device.name
            );
        }
        Ok(())
    }

    /// The same runs as LeRobot 0.6.1 does them.
    fn naive(&self, directory: &std::path::Path, runs: u64) -> anyhow::Result<Stages> {
        let source = Checkpoint::open(directory)
            .with_context(|| format!("cannot open {} again", directory.display()))?;
        let mut progress = |_: f32| {};
        let device = &self.device.device;
        let network = NaiveSmolVla::load(
            &self.architecture,
            &source,
            device,
            self.padding,
            &mut progress,
        )?;
        let counts = stages::count_naive(&network, &self.input, &self.steps)?;
        let watch = self.watch(Look::Time);
        let mut timed = Vec::new();
        let mut submitted = 0;
        // The first one compiles and is not counted.
        for number in 0..=runs {
            let (run, submits) = stages::run_naive(&network, &self.input, &self.steps, watch)?;
            log::info!("naive run {number} of {runs}: {:.1} ms", run.total().ms);
            submitted = submits;
            timed.push(run);
        }
        let cost = chunk_cost(&self.architecture, self.load(true));
        let mut stages = Stages::of(&timed[1..], &counts, cost);
        stages.total.submits = Some(submitted);
        Ok(stages)
    }

    fn load(&self, naive: bool) -> Load {
        let words = self.input.tokens.first().map_or(0, Vec::len);
        let edge = self.input.images.first().map_or(0, |image| image.width);
        let is_computed = |image: &&policies::ImageInput| naive || image.present.contains(&true);
        Load {
            images: self.input.images.iter().filter(is_computed).count(),
            image_edge: edge,
            language_tokens: if naive {
                words.max(self.padding.length)
            } else {
                words
            },
            steps: self.steps.times.len(),
            naive,
        }
    }

    fn subject(&self, runs: u64, first_run_ms: f64) -> Subject {
        let load = self.load(false);
        Subject {
            policy: self.spec.name.clone(),
            device: self.spec.device.clone(),
            precision: self.spec.precision.clone(),
            parameters: self.spec.parameters,
            views: load.images,
            language_tokens: load.language_tokens,
            prefix_tokens: cost::prefix_tokens(&self.architecture, load),
            chunk_size: self.spec.chunk_size,
            steps: load.steps,
            runs,
            first_run_ms,
        }
    }
}

/// A picture with something in every place; what it shows does not change the work.
fn picture() -> anyhow::Result<Frame> {
    let (width, height) = PICTURE;
    let values = (0..width * height * 3).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8);
    let rgb: Vec<u8> = values.collect();
    Frame::new(width, height, rgb, 0, Duration::ZERO).context("the made-up picture is empty")
}
