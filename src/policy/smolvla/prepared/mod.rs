//! SmolVLA as a GPU flies it: prepared launches of the house's own kernels on the device that Burn opened.
//!
//! Three submissions a chunk: the pictures, the prefix, all steps of the flow. Keys and values change hands on the device, and nothing
//! is read back in between. `SmolVla` is the slow twin: every stage has the same name and the same values.

mod expert;
mod front;
mod tower;
mod vision;
mod vlm;
mod weights;

use std::time::{Duration, Instant};

use burn::tensor::Device;

use self::expert::PreparedExpert;
use self::front::PreparedFront;
use self::weights::{Packer, Widths};
use super::error::{NetworkError, Result};
use super::expert::Plan;
use super::prefix;
use super::weights::Weights;
use super::{Sample, Trace, check_architecture, finite};
use crate::gpu::compute::{Compute, Format, Sequence};
use crate::gpu::kernels::attention::MAX_HEAD_DIM;
use crate::gpu::kernels::attention_suffix;
use crate::policy::{Architecture, NetworkInput, RtcGuidance, TensorSource};

/// A loaded network. Load, run and drop it on one thread.
#[derive(Debug)]
pub struct PreparedSmolVla {
    architecture: Architecture,
    compute: Compute,
    format: Format,
    device: Device,
    front: PreparedFront,
    expert: PreparedExpert,
    parameters: u64,
    /// What the host took to encode and submit the last chunk's steps.
    denoise_host: Duration,
}

impl PreparedSmolVla {
    /// Reads what the actions depend on, tensor by tensor. `compute` is the same device as `device`.
    ///
    /// # Errors
    /// As `SmolVla::load`; sizes that the kernels do not take; numbers that `format` cannot hold.
    pub fn load(
        architecture: &Architecture,
        source: &dyn TensorSource,
        device: &Device,
        compute: &Compute,
        format: Format,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self> {
        let widths = Widths::Fitting;
        Self::load_in(
            architecture,
            source,
            device,
            compute,
            (format, widths),
            progress,
        )
    }

    /// As [`PreparedSmolVla::load`], on the variants of kernels that suit the 450M model: for those who test a device.
    ///
    /// # Errors
    /// As [`PreparedSmolVla::load`].
    pub fn load_as_full(
        architecture: &Architecture,
        source: &dyn TensorSource,
        device: &Device,
        compute: &Compute,
        format: Format,
    ) -> Result<Self> {
        let held = (format, Widths::Full);
        Self::load_in(architecture, source, device, compute, held, &mut |_| ())
    }

    /// Refuses sizes that the kernels do not take, before anything is read.
    ///
    /// # Errors
    /// Which size, and that Burn's kernels take any.
    pub fn check(architecture: &Architecture) -> Result<()> {
        check_architecture(architecture)?;
        check_sizes(architecture)?;
        vision::check(architecture)?;
        vlm::check(architecture)
    }

    fn load_in(
        architecture: &Architecture,
        source: &dyn TensorSource,
        device: &Device,
        compute: &Compute,
        (format, widths): (Format, Widths),
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self> {
        Self::check(architecture)?;
        let plan = Plan::new(architecture)?;
        let mut weights = Weights::new(source, device, progress);
        let mut packer = Packer {
            weights: &mut weights,
            compute,
            format,
            widths,
        };
        let mut expert = PreparedExpert::load(&mut packer, architecture, plan)?;
        // For any prefix: its kernels are those of every other, and they are compiled while the VLM is read.
        expert.prepare(1, architecture.num_steps)?;
        let mut front = PreparedFront::load(
            &mut weights,
            compute,
            architecture,
            plan,
            (tower_format(format), format != Format::F32),
        )?;
        if widths == Widths::Full {
            front.use_large_tiles();
        }
        let parameters = weights.elements_read();
        compute.wait()?;
        progress(1.0);
        Ok(Self {
            architecture: architecture.clone(),
            compute: compute.clone(),
            format,
            device: device.clone(),
            front,
            expert,
            parameters,
            denoise_host: Duration::ZERO,
        })
    }

    /// Sizes and switches.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Parameters that were loaded.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// How the expert's weights are held.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Burn's handle of the device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The prepared launches of the pictures and of the prefix, once there was a chunk.
    pub fn front_sequences(&self) -> [Option<&Sequence>; 2] {
        self.front.sequences()
    }

    /// The device, with its counts.
    pub fn compute(&self) -> &Compute {
        &self.compute
    }

    /// The prepared launches of vision, prefix and steps, where there are any, once there was a chunk.
    pub fn sequences(&self) -> [Option<&Sequence>; 3] {
        let [vision, prefix] = self.front_sequences();
        [vision, prefix, self.denoise_sequence()]
    }

    /// The prepared launches of the steps, once there was a chunk.
    pub fn denoise_sequence(&self) -> Option<&Sequence> {
        self.expert.sequence()
    }

    /// What the host took to encode and submit the last chunk's steps.
    pub fn denoise_host(&self) -> Duration {
        self.denoise_host
    }

    /// Mirrors `sample_actions`: noise in, normalised actions out, sample by sample.
    ///
    /// # Errors
    /// As `SmolVla::sample_actions`.
    pub fn sample_actions(
        &mut self,
        input: &NetworkInput,
        num_steps: usize,
        guidance: Option<&RtcGuidance>,
        trace: &mut Trace,
    ) -> Result<Sample> {
        prefix::check_input(&self.architecture, input)?;
        if input.batch == 1 {
            return self.sample_one(input, num_steps, guidance, trace);
        }
        let mut all = Sample::default();
        for at in 0..input.batch {
            let one = self.sample_one(&input.sample(at), num_steps, guidance, trace)?;
            all.actions.extend(one.actions);
            all.vision += one.vision;
            all.prefix += one.prefix;
            all.denoise += one.denoise;
        }
        Ok(all)
    }

    fn sample_one(
        &mut self,
        input: &NetworkInput,
        num_steps: usize,
        guidance: Option<&RtcGuidance>,
        trace: &mut Trace,
    ) -> Result<Sample> {
        let start = Instant::now();
        let layout = self.front.look(input, trace)?;
        trace.mark("vision");
        self.expert.prepare(layout.rows(), num_steps)?;
        let expert = &self.expert;
        let kv = |layer: usize| {
            let served = (0..expert.layers()).find(|j| expert.vlm_layer(*j) == layer);
            served.and_then(|j| expert.keys_and_values(j))
        };
        self.front.read(&layout, &input.state, &kv, trace)?;
        trace.mark("prefix");
        let denoised = self.expert.denoise(&input.noise, guidance, trace)?;
        trace.mark("denoise");
        self.denoise_host = denoised.host;
        let all = start.elapsed();
        let [vision, prefix] = self.front.times()?.map(Option::unwrap_or_default);
        Ok(Sample {
            actions: finite(denoised.actions)?,
            vision,
            prefix,
            // What is left belongs to the steps and the host.
            denoise: all.saturating_sub(vision + prefix),
        })
    }
}

/// How the tower holds its weights: eight bits are an experiment of the expert's.
fn tower_format(format: Format) -> Format {
    match format {
        Format::F32 => Format::F32,
        Format::F16 | Format::I8 => Format::F16,
    }
}

/// Refuses what the kernels' tiles do not fit.
fn check_sizes(architecture: &Architecture) -> Result<()> {
    let a = architecture;
    let refuse = |what: String| Err(NetworkError::Kernels(what));
    if !attention_suffix::takes(a.head_dim) || a.head_dim > MAX_HEAD_DIM {
        return refuse(format!(
            "they take heads of 16, 32 or 64 channels, not {}",
            a.head_dim
        ));
    }
    for (name, value) in [
        ("expert_hidden_size", a.expert_hidden_size),
        ("expert_intermediate_size", a.expert_intermediate_size),
        ("max_action_dim", a.max_action_dim),
    ] {
        if !value.is_multiple_of(4) {
            return refuse(format!("they take a {name} by fours, not {value}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
