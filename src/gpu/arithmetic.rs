//! What computes the network on a device, and how its weights are held: what may be asked for, and what comes of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::compute::Format;
use super::{DeviceChoice, Error, OpenedDevice};

/// Whose kernels run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernels {
    /// The house's, prepared once and replayed every chunk; on GPU devices only.
    Own,
    /// Burn's, on every device.
    #[default]
    Burn,
}

/// What the operator may ask for with `--precision`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Weights as the checkpoint has them.
    #[default]
    F32,
    /// Weights at f16, sums in f32.
    F16,
    /// f16 on a hardware GPU that passes its self-test that way, else f32.
    Auto,
    /// The expert's weights at 8 bits with a scale a row: an experiment.
    Int8,
}

/// What flies on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Arithmetic {
    pub kernels: Kernels,
    /// How own kernels hold the weights; Burn's hold them in f32.
    pub format: Format,
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = match self.format {
            Format::F32 => "f32",
            Format::F16 => "f16",
            Format::I8 => "int8",
        };
        match self.kernels {
            Kernels::Own => write!(f, "{format}, own kernels"),
            Kernels::Burn => f.write_str(format),
        }
    }
}

/// A device, and how it is to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    pub device: DeviceChoice,
    /// Unasked, own kernels where they can run.
    pub kernels: Option<Kernels>,
    pub precision: Precision,
}

impl From<DeviceChoice> for Wish {
    fn from(device: DeviceChoice) -> Self {
        Self {
            device,
            ..Self::default()
        }
    }
}

impl Wish {
    /// Whether own kernels were asked for by name, or by a format that only they have.
    pub fn insists(&self) -> bool {
        self.kernels == Some(Kernels::Own)
            || matches!(self.precision, Precision::F16 | Precision::Int8)
    }

    /// What comes of the wish on a device; `auto` is taken for f16 on hardware, and whoever flies must see that it passes.
    ///
    /// # Errors
    /// Kernels or a precision that the device does not have.
    pub fn arithmetic(&self, device: &OpenedDevice) -> Result<Arithmetic, Error> {
        let refuse = |why: &str| Err(Error::Arithmetic(why.to_owned()));
        let can = device.setup.is_some() && !cfg!(feature = "fusion");
        let kernels = match self.kernels {
            Some(Kernels::Own) if device.setup.is_none() => {
                return refuse(
                    "--kernels own is for GPU devices, and this one is the CPU; leave the option out, or choose --device \
                     wgpu or gpu:N",
                );
            }
            Some(Kernels::Own) if !can => {
                return refuse(
                    "this program was built with Burn's fusion, which keeps own kernels from its tensors; build it without, \
                     or leave --kernels out",
                );
            }
            Some(kernels) => kernels,
            None if can => Kernels::Own,
            None => Kernels::Burn,
        };
        let own = kernels == Kernels::Own;
        let format = match self.precision {
            Precision::F16 if own => Format::F16,
            Precision::Auto if own && !device.software => Format::F16,
            Precision::F32 | Precision::Auto => Format::F32,
            Precision::Int8 if own => Format::I8,
            Precision::F16 | Precision::Int8 if device.setup.is_none() => {
                return refuse(
                    "the CPU computes in f32; use --precision f32 or auto, or a GPU with --device wgpu or gpu:N",
                );
            }
            Precision::F16 | Precision::Int8 => {
                return refuse(
                    "Burn's kernels compute in f32; use --precision f32 or auto, or --kernels own",
                );
            }
        };
        Ok(Arithmetic { kernels, format })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{open, open_for};
    use super::*;

    #[test]
    fn the_cpu_has_burns_kernels_and_f32() {
        let cpu = open(DeviceChoice::Flex).unwrap();
        let wish = |kernels, precision| {
            let wish = Wish {
                device: DeviceChoice::Flex,
                kernels,
                precision,
            };
            wish.arithmetic(&cpu).map_err(|error| error.to_string())
        };
        let plain = Ok(Arithmetic::default());
        assert_eq!(wish(None, Precision::F32), plain);
        assert_eq!(wish(Some(Kernels::Burn), Precision::Auto), plain);
        let refused = wish(Some(Kernels::Own), Precision::F32).unwrap_err();
        assert!(refused.contains("GPU devices"), "{refused}");
        let refused = wish(None, Precision::F16).unwrap_err();
        assert!(refused.contains("the CPU computes in f32"), "{refused}");
    }

    #[cfg(not(feature = "fusion"))]
    #[test]
    fn a_software_adapter_has_own_kernels_and_keeps_to_f32_unasked() {
        if crate::gpu::kernels::testing::opened().is_none() {
            return;
        }
        let said = |kernels, precision| {
            let wish = Wish {
                device: DeviceChoice::Software,
                kernels,
                precision,
            };
            open_for(wish).map(|opened| opened.arithmetic.to_string())
        };
        // A machine with hardware and no software adapter has nothing to say here.
        let Ok(plain) = said(None, Precision::F32) else {
            return;
        };
        assert_eq!(plain, "f32, own kernels");
        assert_eq!(said(None, Precision::Auto).unwrap(), "f32, own kernels");
        assert_eq!(said(None, Precision::F16).unwrap(), "f16, own kernels");
        assert_eq!(said(Some(Kernels::Burn), Precision::Auto).unwrap(), "f32");
        let refused = said(Some(Kernels::Burn), Precision::F16).unwrap_err();
        assert!(refused.to_string().contains("--kernels own"), "{refused}");
    }
}
