//! The prefix with all its padding: blank cameras, padded words, and `prefix_length`.

use burn::tensor::Tensor;

use super::NaiveSmolVla;
use crate::policy::smolvla::error::Result;
use crate::policy::smolvla::mask::{att_2d_masks, position_ids};
use crate::policy::smolvla::trace::Trace;
use crate::policy::smolvla::vision::Pictures;
use crate::policy::smolvla::weights::placed;
use crate::policy::{ImageInput, NetworkInput};

/// The padded prefix with its masks, all `[batch, len]` but the embeddings.
#[derive(Clone, Debug)]
pub struct PaddedPrefix {
    /// `[batch, len, hidden]`
    pub embs: Tensor<3>,
    /// Tokens that count.
    pub pad_masks: Vec<Vec<bool>>,
    /// Tokens that open a new block.
    pub att_masks: Vec<bool>,
    /// Tokens, padding included.
    pub len: usize,
}

impl PaddedPrefix {
    /// `visible[q * len + k]` for each sample, one after the other.
    pub fn visible(&self) -> Vec<bool> {
        let masks = self.pad_masks.iter();
        masks
            .flat_map(|pad| att_2d_masks(pad, &self.att_masks))
            .collect()
    }

    /// Positions of the prefix tokens, one list a sample.
    pub fn position_ids(&self) -> Vec<Vec<i64>> {
        self.pad_masks.iter().map(|pad| position_ids(pad)).collect()
    }

    /// The actions' rows of the joint mask, `[batch * chunk * (len + chunk)]`.
    pub fn suffix_visible(&self, chunk: usize) -> Vec<bool> {
        let own = att_2d_masks(&vec![true; chunk], &vec![true; chunk]);
        let mut visible = Vec::new();
        for pad in &self.pad_masks {
            for row in own.chunks(chunk) {
                visible.extend_from_slice(pad);
                visible.extend_from_slice(row);
            }
        }
        visible
    }

    /// Positions of the actions, one list a sample: they go on after the tokens that count.
    pub fn suffix_position_ids(&self, chunk: usize) -> Vec<Vec<i64>> {
        let masks = self.pad_masks.iter();
        masks
            .map(|pad| {
                let from = pad.iter().filter(|&&valid| valid).count() as i64;
                (from..from + chunk as i64).collect()
            })
            .collect()
    }
}

impl NaiveSmolVla {
    /// Mirrors `embed_prefix`, padding and all. A picture that is missing is computed from a blank one.
    ///
    /// # Errors
    /// Pictures or tokens that do not fit.
    pub fn embed_prefix(&self, input: &NetworkInput, trace: &mut Trace) -> Result<PaddedPrefix> {
        let a = &self.network.vlm.architecture;
        let batch = input.batch;
        let scale = (a.hidden_size as f64).sqrt();
        let mut parts = Vec::new();
        let mut pad_masks = vec![Vec::new(); batch];
        for (camera, image) in input.images.iter().enumerate() {
            let features = self.camera_features(camera, image, batch, trace)?;
            let tokens = features.dims()[1];
            let marks = |ids: &[u32]| self.words(&vec![ids.to_vec(); batch], ids.len(), 1.0);
            if a.add_image_special_tokens {
                parts.push(marks(&[a.fake_image_token, a.global_image_token])?);
            }
            parts.push(features.mul_scalar(scale));
            if a.add_image_special_tokens {
                parts.push(marks(&[a.fake_image_token])?);
            }
            for (mask, &there) in pad_masks.iter_mut().zip(&image.present) {
                let marks = usize::from(a.add_image_special_tokens);
                mask.extend(vec![true; 2 * marks]);
                mask.extend(vec![there; tokens]);
                mask.extend(vec![true; marks]);
            }
        }
        let longest = input.tokens.iter().map(Vec::len).max().unwrap_or(0);
        let words = self.padding.length.max(longest);
        parts.push(self.words(&input.tokens, words, scale as f32)?);
        for (mask, prompt) in pad_masks.iter_mut().zip(&input.tokens) {
            mask.extend((0..words).map(|at| at < prompt.len()));
            mask.push(true);
        }
        let shape = [batch, 1, a.max_state_dim];
        let state = placed(input.state.clone(), shape, &self.network.vlm.device);
        parts.push(self.network.vlm.state_proj.forward(state));
        let embs = Tensor::cat(parts, 1);
        Ok(self.pad(embs, pad_masks))
    }

    /// `prefix_length`, if it asks for more.
    fn pad(&self, embs: Tensor<3>, mut pad_masks: Vec<Vec<bool>>) -> PaddedPrefix {
        let [batch, filled, hidden] = embs.dims();
        let wanted = usize::try_from(self.network.vlm.architecture.prefix_length).unwrap_or(0);
        let len = wanted.max(filled);
        let mut att_masks = vec![false; len];
        att_masks[filled - 1] = true; // the state
        for mask in &mut pad_masks {
            mask.resize(len, false);
        }
        let embs = if len > filled {
            let zeros = Tensor::zeros([batch, len - filled, hidden], &self.network.vlm.device);
            Tensor::cat(vec![embs, zeros], 1)
        } else {
            embs
        };
        PaddedPrefix {
            embs,
            pad_masks,
            att_masks,
            len,
        }
    }

    fn camera_features(
        &self,
        camera: usize,
        image: &ImageInput,
        batch: usize,
        trace: &mut Trace,
    ) -> Result<Tensor<3>> {
        let size = 3 * image.height * image.width;
        let blank = vec![-1.0; size];
        let pixels = (0..batch)
            .map(|sample| {
                image
                    .pixels
                    .get(sample * size..(sample + 1) * size)
                    .unwrap_or(&blank)
            })
            .collect();
        let pictures = Pictures {
            height: image.height,
            width: image.width,
            pixels,
        };
        let network = &self.network;
        let x =
            network
                .vlm
                .vision_model
                .forward(&pictures, &network.vlm.device, &mut Trace::off())?;
        trace.see(|| format!("vision.{camera}.last_hidden_state"), &x)?;
        let x = network.vlm.connector.forward(x)?;
        trace.see(|| format!("vision.{camera}.connector"), &x)?;
        Ok(x)
    }

    /// Embedded words, padded to `len`.
    fn words(&self, prompts: &[Vec<u32>], len: usize, scale: f32) -> Result<Tensor<3>> {
        let network = &self.network;
        let mut rows = Vec::new();
        for prompt in prompts {
            let padding = std::iter::repeat_n(&self.padding.token, len - prompt.len());
            for &token in prompt.iter().chain(padding) {
                network.vlm.embed_tokens.push(&mut rows, token, scale)?;
            }
        }
        let shape = [prompts.len(), len, network.vlm.architecture.hidden_size];
        Ok(placed(rows, shape, &network.vlm.device))
    }
}
