//! Lays out what the VLM reads before it acts: pictures, words, state. Only tokens that count are laid out.

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::embedding::TokenTable;
use super::error::{NetworkError, Result};
use super::trace::Trace;
use super::vision::Pictures;
use super::vlm::Vlm;
use super::weights::placed;
use crate::gpu;
use crate::policy::{Architecture, ImageInput, NetworkInput};

/// Patches on an edge of a picture, at most: attention takes memory with the fourth power of it. SmolVLM2 has 32.
pub const MAX_GRID: usize = 64;

/// The embedded prefix of a batch.
#[derive(Clone, Debug)]
pub struct Prefix {
    /// `[batch, longest, hidden]`; a shorter sample is padded with zeros on the right.
    pub(super) embs: Tensor<3>,
    /// Tokens that count in each sample. The last one is the state.
    pub(super) lengths: Vec<usize>,
}

impl Prefix {
    /// Tokens that count in each sample.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }
}

/// Where each token of a sample comes from: rows of one table that holds features, host rows and states.
pub(super) struct Layout {
    /// Embedded words and marks, `[rows, hidden]`.
    pub(super) host_rows: Vec<f32>,
    /// One list a sample.
    pub(super) sources: Vec<Vec<Source>>,
}

#[derive(Clone, Copy)]
pub(super) enum Source {
    Feature(usize),
    Host(usize),
    State(usize),
}

/// Refuses an input that does not fit, before any tensor is made.
pub(super) fn check_input(architecture: &Architecture, input: &NetworkInput) -> Result<()> {
    let refuse = |what: String| Err(NetworkError::Input(what));
    let batch = input.batch;
    if batch == 0 || input.tokens.len() != batch {
        return refuse(format!(
            "{batch} samples, but {} prompts",
            input.tokens.len()
        ));
    }
    for (name, values, width) in [
        ("state", &input.state, architecture.max_state_dim),
        (
            "noise",
            &input.noise,
            architecture.chunk_size * architecture.max_action_dim,
        ),
    ] {
        if values.len() != batch * width {
            return refuse(format!(
                "{name} holds {} numbers, not {batch} x {width}",
                values.len()
            ));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return refuse(format!("{name} element {at} is not a number"));
        }
    }
    check_pictures(architecture, input)
}

fn check_pictures(architecture: &Architecture, input: &NetworkInput) -> Result<()> {
    let refuse = |what: String| Err(NetworkError::Input(what));
    let batch = input.batch;
    let edge = MAX_GRID * architecture.vision.patch_size;
    let seen = |image: &&ImageInput| image.present.contains(&true);
    let first = input.images.iter().find(seen);
    for (camera, image) in input.images.iter().enumerate() {
        let size = 3 * image.height * image.width;
        let (width, height) = (image.width, image.height);
        if seen(&image) && (width > edge || height > edge) {
            return refuse(format!(
                "picture {camera} is {width}x{height}, and without a resize in config.json at most {edge}x{edge} can be \
                 looked at; choose a smaller mode of the camera"
            ));
        }
        if let Some(first) = first.filter(|first| {
            seen(&image) && (first.width, first.height) != (image.width, image.height)
        }) {
            return refuse(format!(
                "picture {camera} is {width}x{height} and another one {}x{}; this checkpoint does not resize pictures, so \
                 all cameras must have one size",
                first.width, first.height
            ));
        }
        if image.present.len() != batch {
            return refuse(format!(
                "picture {camera} is said to be there for {} of {batch} samples",
                image.present.len()
            ));
        }
        if image.present.contains(&true) && image.pixels.len() != batch * size {
            return refuse(format!(
                "picture {camera} holds {} numbers, not {batch} x {size}",
                image.pixels.len()
            ));
        }
    }
    Ok(())
}

impl Vlm {
    /// The eyes' part of the prefix: tower and connector over every picture that is there, camera by camera and in each
    /// camera sample by sample. `None` if there is no picture at all.
    ///
    /// # Shapes
    /// `[pictures, tokens, hidden]`, not yet scaled by √hidden
    ///
    /// # Errors
    /// A picture that cannot be cut into patches, or a device that fails.
    pub fn embed_images(
        &self,
        input: &NetworkInput,
        trace: &mut Trace,
    ) -> Result<Option<Tensor<3>>> {
        let mut parts = Vec::new();
        for group in by_size(input, pictures_at_once(&self.device)) {
            let x = self.vision_model.forward(&group, &self.device, trace)?;
            let x = self.connector.forward(x)?;
            trace.see_rows("vision.connector", &x)?;
            parts.push(x);
        }
        Ok(match parts.len() {
            0 => None,
            1 => parts.pop(),
            _ => Some(Tensor::cat(parts, 0)),
        })
    }

    /// Mirrors `embed_prefix` without its padding: `[image marks] image [mark] … words state`, per sample.
    ///
    /// # Errors
    /// Token ids outside the vocabulary, or features that do not belong to `input`.
    pub fn embed_prefix(
        &self,
        input: &NetworkInput,
        features: Option<Tensor<3>>,
    ) -> Result<Prefix> {
        let (count, tokens) = features
            .as_ref()
            .map_or((0, 0), |x| (x.dims()[0], x.dims()[1]));
        let present = input.images.iter().flat_map(|image| &image.present);
        if present.filter(|&&there| there).count() != count {
            return Err(NetworkError::Input(
                "the features are not those of these pictures".into(),
            ));
        }
        let layout = lay_out(&self.architecture, &self.embed_tokens, input, tokens)?;
        let lengths: Vec<usize> = layout.sources.iter().map(Vec::len).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let width = self.architecture.hidden_size;
        let host_rows = layout.host_rows.len() / width;
        let row_of = |source: &Source| match *source {
            Source::Feature(i) => i,
            Source::Host(i) => count * tokens + i,
            Source::State(i) => count * tokens + host_rows + i,
        };
        let indices: Vec<i32> = layout
            .sources
            .iter()
            .flat_map(|sample| {
                let padding = std::iter::repeat_n(&Source::Host(0), longest - sample.len());
                sample.iter().chain(padding)
            })
            .map(|source| row_of(source) as i32)
            .collect();
        let shape = [input.batch, 1, self.architecture.max_state_dim];
        let state = placed(input.state.clone(), shape, &self.device);
        let state = self.state_proj.forward(state);
        let mut table: Vec<Tensor<2>> = vec![
            placed(layout.host_rows, [host_rows, width], &self.device),
            state.reshape([input.batch, width]),
        ];
        if let Some(features) = features {
            let scaled = features.mul_scalar((width as f64).sqrt());
            table.insert(0, scaled.reshape([count * tokens, width]));
        }
        // The device holds them in four bytes each.
        gpu::note_upload(4 * indices.len());
        let indices = Tensor::<1, Int>::from_data(
            TensorData::new(indices, [input.batch * longest]),
            &self.device,
        );
        let embs = Tensor::cat(table, 0)
            .select(0, indices)
            .reshape([input.batch, longest, width]);
        Ok(Prefix { embs, lengths })
    }
}

/// Every token of every sample in order; `tokens` is how many a picture becomes.
///
/// # Errors
/// Token ids outside the vocabulary.
pub(super) fn lay_out(
    architecture: &Architecture,
    embed_tokens: &TokenTable,
    input: &NetworkInput,
    tokens: usize,
) -> Result<Layout> {
    let width = architecture.hidden_size;
    // Row 0 is the zero row that pads shorter samples; rows 1 and 2 are the image marks, unscaled like in the reference.
    let mut host_rows = vec![0.0; width];
    let marks = architecture.add_image_special_tokens;
    if marks {
        for mark in [
            architecture.fake_image_token,
            architecture.global_image_token,
        ] {
            embed_tokens.push(&mut host_rows, mark, 1.0)?;
        }
    }
    let mut sources = vec![Vec::new(); input.batch];
    let mut picture = 0;
    for image in &input.images {
        for (sample, &there) in sources.iter_mut().zip(&image.present) {
            // The marks stay even where the picture is missing: the reference gives them a mask of their own.
            if marks {
                sample.extend([Source::Host(1), Source::Host(2)]);
            }
            if there {
                sample.extend((0..tokens).map(|at| Source::Feature(picture * tokens + at)));
                picture += 1;
            }
            if marks {
                sample.push(Source::Host(1));
            }
        }
    }
    let scale = (width as f64).sqrt() as f32;
    for (i, (sample, prompt)) in sources.iter_mut().zip(&input.tokens).enumerate() {
        for &token in prompt {
            sample.push(Source::Host(host_rows.len() / width));
            embed_tokens.push(&mut host_rows, token, scale)?;
        }
        sample.push(Source::State(i));
    }
    Ok(Layout { host_rows, sources })
}

/// How many pictures go through the tower together. A GPU wants them all; a CPU is a tenth faster with one at a time, whose
/// activations stay nearer (450M, three cameras, two cores: 5.3 s against 5.9 s).
fn pictures_at_once(device: &Device) -> usize {
    if *device == Device::flex() {
        1
    } else {
        usize::MAX
    }
}

/// The pictures that are there, in order, in groups of equal size and at most `at_once`.
pub(super) fn by_size(input: &NetworkInput, at_once: usize) -> Vec<Pictures<'_>> {
    let mut groups: Vec<Pictures<'_>> = Vec::new();
    for image in &input.images {
        let size = 3 * image.height * image.width;
        for (sample, _) in image
            .present
            .iter()
            .enumerate()
            .filter(|(_, there)| **there)
        {
            let pixels = &image.pixels[sample * size..(sample + 1) * size];
            match groups.last_mut() {
                Some(group)
                    if (group.height, group.width) == (image.height, image.width)
                        && group.pixels.len() < at_once =>
                {
                    group.pixels.push(pixels);
                }
                _ => groups.push(Pictures {
                    height: image.height,
                    width: image.width,
                    pixels: vec![pixels],
                }),
            }
        }
    }
    groups
}
