//! Networks whose weights are made from a seed, so that any machine can be measured without a checkpoint.

use std::fmt;
use std::str::FromStr;

use crate::policy::geometry::smolvla_base;
use crate::policy::seeded::{Precision, Seeded};
use crate::policy::smolvla::tiny;
use crate::policy::{Architecture, ImageInput, NetworkInput, VisionArchitecture};

/// Seed of the weights; the same everywhere, so that two machines compute the same chunk.
pub const SEED: u64 = 2026;

/// Words of the task that is made up: as many tokens as the reference figures have.
const WORDS: usize = 13;

/// Sizes of a network that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// That of the self-test: every kind of layer, no work.
    Tiny,
    /// Heads of the true width and a true chunk, but few and narrow layers: for software adapters.
    Small,
    /// The 450M model with a quarter of its layers: all shapes are true, and 0.4 GB suffice.
    Quarter,
    /// The 450M model.
    Full,
}

impl FromStr for Made {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Tiny, Self::Small, Self::Quarter, Self::Full];
        let found = all.into_iter().find(|size| size.to_string() == text);
        found.ok_or_else(|| "expected tiny, small, quarter or full".to_owned())
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Quarter => "quarter",
            Self::Full => "full",
        })
    }
}

impl Made {
    /// Sizes and switches.
    pub fn architecture(self) -> Architecture {
        match self {
            Self::Tiny => tiny::architecture(),
            Self::Small => small(),
            Self::Quarter => {
                let mut quarter = smolvla_base();
                quarter.vision.num_layers = 3;
                quarter.num_vlm_layers = 4;
                quarter.num_expert_layers = 4;
                // Words are looked up on the host: fewer of them change no time.
                quarter.vocab_size = 1024;
                quarter
            }
            Self::Full => smolvla_base(),
        }
    }

    /// Its weights, rounded as those of the published checkpoint are.
    pub fn weights(self) -> Seeded {
        Seeded::new(&self.architecture(), SEED, Precision::Published)
    }

    /// Pictures that it looks at.
    pub fn views(self) -> usize {
        match self {
            Self::Tiny | Self::Small => 2,
            Self::Quarter | Self::Full => 3,
        }
    }

    /// Something smooth but not regular to look at, read and start from.
    pub fn input(self, views: usize) -> NetworkInput {
        let architecture = self.architecture();
        let mut input = tiny::input(&architecture, 1);
        let Some(first) = input.images.first().cloned() else {
            return input;
        };
        input.images = (0..views).map(|view| turned(&first, view)).collect();
        let words = architecture.vocab_size as u32;
        input.tokens = vec![(0..WORDS as u32).map(|i| (7 * i + 3) % words).collect()];
        input
    }
}

/// Another camera's picture: the same values, begun elsewhere.
fn turned(image: &ImageInput, view: usize) -> ImageInput {
    let mut image = image.clone();
    let by = view * 1009 % image.pixels.len().max(1);
    image.pixels.rotate_left(by);
    image
}

fn small() -> Architecture {
    Architecture {
        vision: VisionArchitecture {
            hidden_size: 192,
            intermediate_size: 768,
            num_layers: 3,
            num_heads: 3,
            patch_size: 16,
            image_size: 256,
            layer_norm_eps: 1e-6,
        },
        hidden_size: 320,
        intermediate_size: 864,
        vocab_size: 1024,
        num_attention_heads: 6,
        num_key_value_heads: 2,
        num_vlm_layers: 4,
        expert_hidden_size: 240,
        expert_intermediate_size: 640,
        num_expert_layers: 4,
        ..smolvla_base()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::policy::smolvla::{SmolVla, Trace};

    #[test]
    fn sizes_have_names() {
        for size in [Made::Tiny, Made::Small, Made::Quarter, Made::Full] {
            assert_eq!(size.to_string().parse(), Ok(size));
        }
        assert!("huge".parse::<Made>().unwrap_err().contains("quarter"));
    }

    #[test]
    fn the_true_shapes_are_true() {
        let (quarter, full) = (Made::Quarter.architecture(), smolvla_base());
        assert_eq!(quarter.vision.hidden_size, full.vision.hidden_size);
        assert_eq!(quarter.expert_hidden_size, full.expert_hidden_size);
        assert_eq!(Made::Full.input(3).images[2].pixels.len(), 3 * 512 * 512);
    }

    #[test]
    fn a_made_network_computes() {
        let network = SmolVla::load(
            &Made::Tiny.architecture(),
            &Made::Tiny.weights(),
            &Device::flex(),
            &mut |_| (),
        )
        .unwrap();
        let chunk = |views| {
            let input = Made::Tiny.input(views);
            network
                .sample_actions(&input, 2, None, &mut Trace::off())
                .unwrap()
                .actions
        };
        assert_ne!(chunk(1), chunk(2), "the second picture does not matter");
    }
}
