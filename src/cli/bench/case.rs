//! What is measured: a network with its weights on the device, and the input of one chunk.

use std::time::Duration;

use anyhow::Context as _;

use super::made::Made;
use super::stages::{Network, Watch};
use crate::cli::args::BenchArgs;
use crate::cli::cost::{self, Load, Way};
use crate::cli::output::wrong_argument;
use crate::cli::policy;
use crate::gpu::OpenedDevice;
use crate::gpu::compute::Format;
use crate::observation::{Frame, Observation};
use crate::policy::checkpoint::Checkpoint;
use crate::policy::config::Config;
use crate::policy::smolvla::naive::{LanguagePadding, NaiveSmolVla};
use crate::policy::smolvla::{EulerSteps, SmolVla};
use crate::policy::{
    self as policies, Architecture, NetworkInput, Policy as _, SmolVlaPolicy, TensorSource,
};

/// Size of the pictures that are made up, as most webcams give them.
const PICTURE: (u32, u32) = (640, 480);

/// How the reference pads words, where no checkpoint says it.
const PADDING: LanguagePadding = LanguagePadding {
    length: 48,
    token: 2,
};

/// A loaded network and what it is given.
pub struct Case {
    /// Name of the policy, for people.
    pub name: String,
    pub architecture: Architecture,
    pub input: NetworkInput,
    pub steps: EulerSteps,
    padding: LanguagePadding,
    network: Held,
    /// Where its weights can be read again.
    source: Box<dyn TensorSource>,
}

/// Who owns the network.
enum Held {
    Policy(Box<SmolVlaPolicy>),
    Made(Box<SmolVla>),
}

impl Case {
    /// Loads what the arguments ask for.
    pub fn load(args: &BenchArgs, device: &OpenedDevice) -> anyhow::Result<Self> {
        match args.made {
            Some(size) => Self::make(size, args.views, args.num_steps, device),
            None => Self::open(args, device),
        }
    }

    /// A network from the seed.
    pub fn make(
        size: Made,
        views: Option<usize>,
        num_steps: Option<usize>,
        device: &OpenedDevice,
    ) -> anyhow::Result<Self> {
        let architecture = size.architecture();
        let source = size.weights();
        let network = SmolVla::load(&architecture, &source, &device.device, &mut |_| ())?;
        Ok(Self {
            name: format!("made {size}"),
            input: size.input(chosen_views(views, size.views(), "it")?),
            steps: EulerSteps::new(num_steps.unwrap_or(architecture.num_steps))?,
            padding: PADDING,
            network: Held::Made(Box::new(network)),
            source: Box::new(source),
            architecture,
        })
    }

    fn open(args: &BenchArgs, device: &OpenedDevice) -> anyhow::Result<Self> {
        let inspected = policy::inspect(&args.policy)?;
        let directory = inspected.directory.clone();
        let padding = padding(&inspected.config);
        let mut told = policy::Progress::default().told();
        let loaded = policies::fill(inspected, device, &mut told).map_err(policy::in_words)?;
        let spec = loaded.spec().clone();
        let views = chosen_views(args.views, spec.views.len(), &spec.name)?;
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
        let processor = loaded.processor();
        let input = processor.preprocess(&observation, noise, &mut warnings)?;
        for warning in warnings {
            log::warn!("{warning}");
        }
        let source = Checkpoint::open(&directory)
            .with_context(|| format!("cannot open {} again", directory.display()))?;
        Ok(Self {
            name: spec.name,
            architecture: loaded.network().architecture().clone(),
            input,
            steps: EulerSteps::new(args.num_steps.unwrap_or(spec.num_steps))?,
            padding,
            network: Held::Policy(Box::new(loaded)),
            source: Box::new(source),
        })
    }

    /// The network as it flies.
    pub fn network(&self) -> &SmolVla {
        match &self.network {
            Held::Policy(policy) => match policy.network() {
                policies::Network::Burn(network) => network,
                policies::Network::Own(_) => unreachable!("bench opens Burn's network"),
            },
            Held::Made(network) => network,
        }
    }

    /// Who computes when it flies.
    pub fn way(&self) -> Way {
        Way::Burn
    }

    /// How its weights lie on the device.
    pub fn weights(&self) -> Format {
        Format::F32
    }

    /// Its arithmetic, in words.
    pub fn precision(&self) -> &'static str {
        "f32"
    }

    /// The network, what it is given, and where, to be watched.
    pub fn watch<'a>(&'a self, device: &'a OpenedDevice) -> Watch<'a> {
        self.watch_of(device, Network::Burn(self.network()))
    }

    /// The same with another network.
    pub fn watch_of<'a>(&'a self, device: &'a OpenedDevice, network: Network<'a>) -> Watch<'a> {
        Watch {
            device,
            network,
            input: &self.input,
            steps: &self.steps,
        }
    }

    /// The same network as LeRobot 0.6.1 computes it.
    pub fn naive(&self, device: &OpenedDevice) -> anyhow::Result<NaiveSmolVla> {
        Ok(NaiveSmolVla::load(
            &self.architecture,
            self.source.as_ref(),
            &device.device,
            self.padding,
            &mut |_| (),
        )?)
    }

    /// What one chunk makes `way` compute.
    pub fn work(&self, way: Way) -> Load {
        let words = self.input.tokens.first().map_or(0, Vec::len);
        let naive = way == Way::Naive;
        let is_computed = |image: &&policies::ImageInput| naive || image.present.contains(&true);
        Load {
            images: self.input.images.iter().filter(is_computed).count(),
            image_edge: self.input.images.first().map_or(0, |image| image.width),
            language_tokens: if naive {
                words.max(self.padding.length)
            } else {
                words
            },
            steps: self.steps.times.len(),
            way,
            weights: self.weights(),
        }
    }
}

/// The work of a chunk where nothing is loaded: every declared view, a usual task.
pub fn foretold(args: &BenchArgs) -> anyhow::Result<(Architecture, Load)> {
    let (architecture, views, edge, steps) = if let Some(size) = args.made {
        let architecture = size.architecture();
        let edge = architecture.vision.image_size;
        let steps = architecture.num_steps;
        (architecture, size.views(), edge, steps)
    } else {
        let inspected = policy::inspect(&args.policy)?;
        let own = inspected.architecture.vision.image_size;
        let resized = inspected.config.resize_imgs_with_padding;
        let edge = resized.map_or(own, |(edge, _)| edge);
        let (views, steps) = (inspected.spec.views.len(), inspected.spec.num_steps);
        (inspected.architecture, views, edge, steps)
    };
    let load = Load {
        images: chosen_views(args.views, views, "it")?,
        image_edge: edge,
        language_tokens: cost::USUAL_WORDS,
        steps: args.num_steps.unwrap_or(steps),
        way: Way::Own,
        weights: Format::F32,
    };
    Ok((architecture, load))
}

fn padding(config: &Config) -> LanguagePadding {
    LanguagePadding {
        length: config.tokenizer_max_length,
        ..PADDING
    }
}

fn chosen_views(wanted: Option<usize>, declared: usize, name: &str) -> anyhow::Result<usize> {
    let views = wanted.unwrap_or(declared);
    if views == 0 || views > declared {
        let why = format!("--views is {views}, but {name} declares {declared}");
        return Err(wrong_argument(why));
    }
    Ok(views)
}

/// A picture with something in every place; what it shows does not change the work.
fn picture() -> anyhow::Result<Frame> {
    let (width, height) = PICTURE;
    let values = (0..width * height * 3).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8);
    let rgb: Vec<u8> = values.collect();
    Frame::new(width, height, rgb, 0, Duration::ZERO).context("the made-up picture is empty")
}
