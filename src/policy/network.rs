//! SmolVLA as it flies on a device: on Burn's kernels, or prepared on the house's own.

use super::smolvla::prepared::PreparedSmolVla;
use super::smolvla::{NetworkError, Sample, SmolVla, Trace};
use super::{Architecture, NetworkInput, RtcGuidance, TensorSource};
use crate::gpu::{Arithmetic, Kernels, OpenedDevice};

/// A loaded network. Load, run and drop it on one thread.
#[derive(Debug)]
pub enum Network {
    /// Operation by operation on Burn's kernels: the CPU, and the slow twin on a GPU.
    Burn(Box<SmolVla>),
    /// Prepared launches of own kernels.
    Own(Box<PreparedSmolVla>),
}

/// A device as one network flies on it: unasked, Burn's kernels where own ones do not take its sizes.
///
/// # Errors
/// Own kernels were asked for, and do not take it; which size, and the way out.
pub fn fitting(
    architecture: &Architecture,
    mut device: OpenedDevice,
) -> Result<OpenedDevice, NetworkError> {
    if device.arithmetic.kernels == Kernels::Own
        && let Err(why) = PreparedSmolVla::check(architecture)
    {
        if device.insisted {
            return Err(why);
        }
        log::warn!("{why}, and Burn's compute now, slower");
        device.arithmetic = Arithmetic::default();
    }
    Ok(device)
}

impl Network {
    /// Loads what `device.arithmetic` asks for; see [`fitting`].
    ///
    /// # Errors
    /// A tensor that does not fit, sizes that the kernels do not take, or a device without room.
    pub fn load(
        architecture: &Architecture,
        source: &dyn TensorSource,
        device: &OpenedDevice,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self, NetworkError> {
        let (burn, arithmetic) = (&device.device, device.arithmetic);
        let own = arithmetic.kernels == Kernels::Own;
        if let Some(compute) = device.compute.as_ref().filter(|_| own) {
            let format = arithmetic.format;
            let own = PreparedSmolVla::load(architecture, source, burn, compute, format, progress)?;
            return Ok(Self::Own(Box::new(own)));
        }
        let burn = SmolVla::load(architecture, source, burn, progress)?;
        Ok(Self::Burn(Box::new(burn)))
    }

    /// Sizes and switches.
    pub fn architecture(&self) -> &Architecture {
        match self {
            Self::Burn(network) => network.architecture(),
            Self::Own(network) => network.architecture(),
        }
    }

    /// Parameters that were loaded.
    pub fn parameters(&self) -> u64 {
        match self {
            Self::Burn(network) => network.parameters(),
            Self::Own(network) => network.parameters(),
        }
    }

    /// Mirrors `sample_actions`: noise in, normalised actions out.
    ///
    /// # Errors
    /// An input that does not fit, a device that fails, or an answer that is not a number.
    pub fn sample_actions(
        &mut self,
        input: &NetworkInput,
        num_steps: usize,
        guidance: Option<&RtcGuidance>,
        trace: &mut Trace,
    ) -> Result<Sample, NetworkError> {
        match self {
            Self::Burn(network) => network.sample_actions(input, num_steps, guidance, trace),
            Self::Own(network) => network.sample_actions(input, num_steps, guidance, trace),
        }
    }
}
