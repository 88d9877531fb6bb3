//! What is measured: a network with its weights on the device, and the input of one chunk.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::Context as _;

use super::made::Made;
use super::stages::Watch;
use crate::cli::args::BenchArgs;
use crate::cli::cost::{self, Load, Way};
use crate::cli::output::wrong_argument;
use crate::cli::policy;
use crate::gpu::compute::Format;
use crate::gpu::{Arithmetic, Kernels, OpenedDevice};
use crate::observation::{Frame, Observation};
use crate::policy::config::Config;
use crate::policy::smolvla::naive::{LanguagePadding, NaiveSmolVla};
use crate::policy::smolvla::prepared::PreparedSmolVla;
use crate::policy::smolvla::{EulerSteps, SmolVla};
use crate::policy::{self as policies, Architecture, NetworkInput, TensorSource};

/// Size of the pictures that are made up, as most webcams give them.
const PICTURE: (u32, u32) = (640, 480);

/// How the reference pads words, where no checkpoint says it.
const PADDING: LanguagePadding = LanguagePadding {
    length: 48,
    token: 2,
};

/// A network that can be loaded, and what it is given.
pub struct Case {
    /// Name of the policy, for people.
    pub name: String,
    pub architecture: Architecture,
    pub input: NetworkInput,
    pub steps: EulerSteps,
    padding: LanguagePadding,
    /// Where its weights are read.
    source: Box<dyn TensorSource>,
}

/// A network on a device. Load, run and drop it on one thread.
#[derive(Debug)]
pub enum Loaded {
    Own(Box<RefCell<PreparedSmolVla>>),
    Burn(Box<SmolVla>),
    Naive(Box<NaiveSmolVla>),
}

/// Who computes a chunk, and with what weights.
pub type Choice = (Way, Format);

impl Case {
    /// What the arguments ask for.
    pub fn of(args: &BenchArgs) -> anyhow::Result<Self> {
        match args.made {
            Some(size) => Self::made(size, args.views, args.num_steps),
            None => Self::opened(args),
        }
    }

    /// A network from the seed.
    pub fn made(
        size: Made,
        views: Option<usize>,
        num_steps: Option<usize>,
    ) -> anyhow::Result<Self> {
        let architecture = size.architecture();
        Ok(Self {
            name: format!("made {size}"),
            input: size.input(chosen_views(views, size.views(), "it")?),
            steps: EulerSteps::new(num_steps.unwrap_or(architecture.num_steps))?,
            padding: PADDING,
            source: Box::new(size.weights()),
            architecture,
        })
    }

    fn opened(args: &BenchArgs) -> anyhow::Result<Self> {
        let inspected = policy::inspect(&args.policy)?;
        let (spec, architecture) = (inspected.spec.clone(), inspected.architecture.clone());
        let padding = padding(&inspected.config);
        let (processor, source) = inspected.into_parts();
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
        let input = processor.preprocess(&observation, noise, &mut warnings)?;
        for warning in warnings {
            log::warn!("{warning}");
        }
        Ok(Self {
            name: spec.name,
            architecture,
            input,
            steps: EulerSteps::new(args.num_steps.unwrap_or(spec.num_steps))?,
            padding,
            source: Box::new(source),
        })
    }

    /// Loads it in one way.
    pub fn load(&self, (way, format): Choice, device: &OpenedDevice) -> anyhow::Result<Loaded> {
        let (architecture, source) = (&self.architecture, self.source.as_ref());
        let burn = &device.device;
        let mut told = |_| ();
        Ok(match way {
            Way::Own => {
                let compute = device.compute.as_ref();
                let compute = compute.context("own kernels are for GPU devices")?;
                let own =
                    PreparedSmolVla::load(architecture, source, burn, compute, format, &mut told)?;
                Loaded::Own(Box::new(RefCell::new(own)))
            }
            Way::Burn => {
                let burn = SmolVla::load(architecture, source, burn, &mut told)?;
                Loaded::Burn(Box::new(burn))
            }
            Way::Naive => {
                let padding = self.padding;
                let naive = NaiveSmolVla::load(architecture, source, burn, padding, &mut told)?;
                Loaded::Naive(Box::new(naive))
            }
        })
    }

    /// A loaded network with what it is given, to be watched.
    pub fn watch<'a>(&'a self, device: &'a OpenedDevice, network: &'a Loaded) -> Watch<'a> {
        Watch {
            device,
            network,
            input: &self.input,
            steps: &self.steps,
        }
    }

    /// What one chunk makes `way` compute.
    pub fn work(&self, (way, weights): Choice) -> Load {
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
            weights,
        }
    }
}

impl Loaded {
    /// Who computes, and with what weights.
    pub fn choice(&self) -> Choice {
        match self {
            Self::Own(network) => (Way::Own, network.borrow().format()),
            Self::Burn(_) => (Way::Burn, Format::F32),
            Self::Naive(_) => (Way::Naive, Format::F32),
        }
    }

    /// Parameters that were loaded.
    pub fn parameters(&self) -> u64 {
        match self {
            Self::Own(network) => network.borrow().parameters(),
            Self::Burn(network) => network.parameters(),
            Self::Naive(network) => network.network().parameters(),
        }
    }
}

/// In words.
pub fn precision(format: Format) -> &'static str {
    match format {
        Format::F32 => "f32",
        Format::F16 => "f16",
        Format::I8 => "int8",
    }
}

/// Whether own kernels can run on a device: with Burn's fusion its tensors cannot be lent to them.
pub fn has_own_kernels(device: &OpenedDevice) -> bool {
    device.compute.is_some() && !cfg!(feature = "fusion")
}

/// What flies on a device.
pub fn flying(device: &OpenedDevice) -> Choice {
    match device.arithmetic.kernels {
        Kernels::Own => (Way::Own, device.arithmetic.format),
        Kernels::Burn => (Way::Burn, Format::F32),
    }
}

/// The same device, on which something else flies.
pub fn flying_otherwise(device: &OpenedDevice, (way, format): Choice) -> OpenedDevice {
    let kernels = match way {
        Way::Own => Kernels::Own,
        Way::Burn | Way::Naive => Kernels::Burn,
    };
    OpenedDevice {
        arithmetic: Arithmetic { kernels, format },
        ..device.clone()
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
