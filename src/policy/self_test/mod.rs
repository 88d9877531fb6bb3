//! Before a policy may move an arm on an adapter that was never seen: does this device compute what the CPU computes?
//!
//! Drivers and run-time compilers have given wrong numbers without a word: products near zero above some number of rows,
//! masks ignored, caches read stale. A tiny network with every kind of layer runs on the device and on the CPU, stage by
//! stage, and so do products and attention of the full network's shapes. A device that passed is remembered until its
//! driver or this program changes.

mod own;
mod probes;
mod verdicts;

use std::fmt;

use burn::tensor::{Device, Tensor, TensorData};

pub use verdicts::Verdicts;

use super::seeded::{Precision, Seeded};
use super::smolvla::{EulerSteps, NetworkError, SmolVla, Stage, Trace, tiny};
use crate::gpu::compute::{Compute, Format};
use crate::gpu::{self, Kernels, OpenedDevice, Wish};

/// How far a stage may be from the CPU's, relative to the stage's largest number (at least 1).
///
/// Sound devices stay below 2e-5: their sums run in another order and their exponentials round otherwise. Broken ones are off by
/// the size of the numbers themselves. The network's own actions are rounded by motors to about 1e-3.
pub const TOLERANCE: f32 = 1e-3;

/// The same where weights are held at f16: 2e-3 was seen on sound devices.
pub const HALF_TOLERANCE: f32 = 1e-2;
/// The same for weights of 8 bits.
pub const BYTE_TOLERANCE: f32 = 1e-1;

const SEED: u64 = 0x5E1F;

/// A device that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// Stages and probes that were compared.
    pub stages: usize,
    /// The one that was farthest off.
    pub worst: String,
    /// By how much, relative.
    pub error: f32,
    /// It passed in an earlier run of this program and was not tested again.
    pub remembered: bool,
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stages == 0 {
            return f.write_str("not needed: the CPU is what other devices are held against");
        }
        write!(
            f,
            "{} stages agree with the CPU to {:.1e}",
            self.stages, self.error
        )?;
        if self.remembered {
            f.write_str(" (tested before)")?;
        }
        Ok(())
    }
}

/// A device that must not drive.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It computes something else than the CPU.
    #[error(
        "{device} computes wrong numbers: {stage} is off by {error:.1e} of its size (allowed {allowed:.0e}). No policy may \
         drive on it; update its driver, choose another adapter, or use `--device flex`"
    )]
    Differs {
        /// The device in words.
        device: String,
        /// First stage that differs.
        stage: String,
        /// Relative error.
        error: f32,
        /// The most that is allowed.
        allowed: f32,
    },
    /// It gives numbers that are none.
    #[error(
        "{device} gives NaN or infinity in {stage}. No policy may drive on it; update its driver, choose another adapter, or use \
         `--device flex`"
    )]
    Poisoned {
        /// The device in words.
        device: String,
        /// First stage with a bad number.
        stage: String,
    },
    /// It fails outright.
    #[error("{device} fails in the self-test: {source}; use `--device flex`")]
    Fails {
        /// The device in words.
        device: String,
        /// What it said.
        source: NetworkError,
    },
}

/// Tests a device unless it is remembered, and remembers it if it passes. The CPU is the yardstick and passes at once.
///
/// Call it on the thread that will run the policy. Takes a few seconds, most of them for compiling kernels.
///
/// # Errors
/// The device must not drive; the message says why and what to do.
pub fn verify(opened: &OpenedDevice, verdicts: &Verdicts) -> Result<Passed, Error> {
    if opened.device == Device::flex() {
        return Ok(Passed {
            stages: 0,
            worst: String::new(),
            error: 0.0,
            remembered: false,
        });
    }
    if let Some(passed) = verdicts.find(opened) {
        return Ok(passed);
    }
    let passed = run(opened)?;
    verdicts.remember(opened, &passed);
    Ok(passed)
}

/// Tests a device, whatever is remembered.
///
/// # Errors
/// As [`verify`].
pub fn run(opened: &OpenedDevice) -> Result<Passed, Error> {
    let fails = |source| Error::Fails {
        device: opened.summary(),
        source,
    };
    let allowed = match opened.arithmetic.format {
        Format::F32 => TOLERANCE,
        Format::F16 => HALF_TOLERANCE,
        Format::I8 => BYTE_TOLERANCE,
    };
    let (ours, cpu) = both(opened).map_err(fails)?;
    compare(&opened.summary(), &ours, &cpu, allowed)
}

/// The device's stages, by what flies on it, and the CPU's.
fn both(opened: &OpenedDevice) -> Result<(Vec<Stage>, Vec<Stage>), NetworkError> {
    match (&opened.setup, opened.arithmetic.kernels) {
        (Some(setup), Kernels::Own) => own::stages(opened, &Compute::new(setup)),
        _ => Ok((stages(&opened.device)?, stages(&Device::flex())?)),
    }
}

/// Opens what is wished for. Where `auto` leads to f16, the device must first pass the test that way; otherwise it computes in
/// f32.
///
/// # Errors
/// No such device, or one that does not compute that way.
pub fn open(wish: Wish, verdicts: &Verdicts) -> Result<OpenedDevice, gpu::Error> {
    let mut opened = gpu::open_for(wish)?;
    let doubtful =
        wish.precision == gpu::Precision::Auto && opened.arithmetic.format != Format::F32;
    if doubtful && let Err(error) = verify(&opened, verdicts) {
        log::warn!("{error}; f32 instead of {}", opened.arithmetic);
        opened.arithmetic.format = Format::F32;
    }
    Ok(opened)
}

/// Every stage of [`run`] with its error, relative to the stage's largest number (at least 1), for a report; infinite where a
/// number is none.
///
/// # Errors
/// A device that fails.
pub fn errors(opened: &OpenedDevice) -> Result<Vec<(String, f32)>, NetworkError> {
    let (ours, cpu) = both(opened)?;
    Ok(stage_errors(&ours, &cpu))
}

/// The stages that two networks computed from one input, each with its error, relative to the stage's largest number (at least
/// 1); infinite where a number is none, or where the stages are not the same.
pub fn stage_errors(ours: &[Stage], theirs: &[Stage]) -> Vec<(String, f32)> {
    let error = |(ours, theirs): (&Stage, &Stage)| {
        let finite = ours.values.iter().all(|value| value.is_finite());
        let error = if finite {
            relative_error(ours, theirs)
        } else {
            f32::INFINITY
        };
        (ours.name.clone(), error)
    };
    ours.iter().zip(theirs).map(error).collect()
}

/// The first stage that is wrong is the nearest to the cause.
fn compare(device: &str, ours: &[Stage], cpu: &[Stage], allowed: f32) -> Result<Passed, Error> {
    let mut passed = Passed {
        stages: ours.len().min(cpu.len()),
        worst: String::new(),
        error: 0.0,
        remembered: false,
    };
    for (ours, cpu) in ours.iter().zip(cpu) {
        if !ours.values.iter().all(|value| value.is_finite()) {
            return Err(Error::Poisoned {
                device: device.to_owned(),
                stage: ours.name.clone(),
            });
        }
        let error = relative_error(ours, cpu);
        if error > allowed {
            return Err(Error::Differs {
                device: device.to_owned(),
                stage: ours.name.clone(),
                error,
                allowed,
            });
        }
        if error >= passed.error {
            passed.error = error;
            passed.worst.clone_from(&ours.name);
        }
    }
    Ok(passed)
}

fn relative_error(ours: &Stage, cpu: &Stage) -> f32 {
    if ours.shape != cpu.shape || ours.name != cpu.name {
        return f32::INFINITY;
    }
    let size = cpu
        .values
        .iter()
        .fold(1.0_f32, |size, value| size.max(value.abs()));
    let differences = ours
        .values
        .iter()
        .zip(&cpu.values)
        .map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f32::max) / size
}

/// Every stage of the tiny network, a step from a used cache, and the probes of full shapes.
fn stages(device: &Device) -> Result<Vec<Stage>, NetworkError> {
    let architecture = tiny::architecture();
    let source = Seeded::new(&architecture, SEED, Precision::F32);
    let network = SmolVla::load(&architecture, &source, device, &mut |_| ())?;
    // Two samples with prompts of different lengths, so that masks hide something.
    let input = tiny::input(&architecture, 2);
    let mut trace = Trace::on();
    let sample = network.sample_actions(&input, architecture.num_steps, None, &mut trace)?;
    let mut stages = trace.into_stages();
    stages.push(Stage {
        name: "actions".into(),
        shape: vec![sample.actions.len()],
        values: sample.actions,
    });
    stages.push(reused_cache(&network)?);
    stages.extend(probes::all(device)?);
    Ok(stages)
}

/// A step from a cache that has served other steps: where caching and run-time tuning went wrong together (burn #5257).
fn reused_cache(network: &SmolVla) -> Result<Stage, NetworkError> {
    let trace = &mut Trace::off();
    let architecture = network.architecture();
    let input = tiny::input(architecture, 1);
    let features = network.embed_images(&input, trace)?;
    let cache = network.prefill(&network.embed_prefix(&input, features)?, trace)?;
    let rows = network.time_rows(&EulerSteps::new(architecture.num_steps)?);
    let shape = [1, architecture.chunk_size, architecture.max_action_dim];
    let noise = TensorData::new(input.noise, shape);
    let mut v_t = Tensor::from_data(noise.clone(), network.device());
    for step in 0..architecture.num_steps {
        let x_t = Tensor::from_data(noise.clone(), network.device());
        v_t = network.denoise_step(&cache, x_t, &rows, step, trace)?;
    }
    probes::stage("reused cache", v_t)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, values: &[f32]) -> Stage {
        Stage {
            name: name.into(),
            shape: vec![values.len()],
            values: values.to_vec(),
        }
    }

    #[test]
    fn small_differences_pass_and_the_worst_is_named() {
        let cpu = [stage("a", &[1.0, 2.0]), stage("b", &[10.0, 0.0])];
        let ours = [stage("a", &[1.0, 2.0001]), stage("b", &[10.0, 0.0001])];
        let passed = compare("card", &ours, &cpu, TOLERANCE).unwrap();
        assert_eq!((passed.stages, passed.worst.as_str()), (2, "a"));
        assert!(passed.error > 4e-5 && passed.error < 6e-5);
    }

    /// Reported case e01.
    #[test]
    fn the_yardstick_is_not_said_to_agree_with_itself() {
        let verdicts = Verdicts::of_user();
        let cpu = crate::gpu::open(crate::gpu::DeviceChoice::Flex).unwrap();
        let said = verify(&cpu, &verdicts).unwrap().to_string();
        assert!(said.starts_with("not needed"), "{said}");
    }

    #[test]
    fn wrong_numbers_are_refused_at_the_first_stage() {
        let cpu = [stage("a", &[1.0]), stage("b", &[1.0])];
        let wrong = [stage("a", &[1.0]), stage("b", &[0.0])];
        let refused = compare("card", &wrong, &cpu, TOLERANCE)
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("card") && refused.contains("b is off"),
            "{refused}"
        );
        let poisoned = [stage("a", &[f32::NAN]), stage("b", &[1.0])];
        let refused = compare("card", &poisoned, &cpu, TOLERANCE)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("in a"), "{refused}");
    }

    #[test]
    fn every_stage_has_an_error_to_report() {
        let cpu = [
            stage("a", &[1.0, 2.0]),
            stage("b", &[10.0]),
            stage("c", &[1.0]),
        ];
        let ours = [
            stage("a", &[1.0, 2.5]),
            stage("b", &[f32::NAN]),
            stage("d", &[1.0]),
        ];
        let errors = stage_errors(&ours, &cpu);
        assert_eq!(errors[0], ("a".to_owned(), 0.25));
        assert!(errors[1].1.is_infinite() && errors[2].1.is_infinite());
    }

    #[test]
    fn the_tiny_network_is_no_yardstick_of_zeros() {
        let stages = stages(&Device::flex()).unwrap();
        for stage in &stages {
            let size = stage
                .values
                .iter()
                .fold(0.0_f32, |size, value| size.max(value.abs()));
            assert!(size > 0.05 && size < 50.0, "{} has size {size}", stage.name);
        }
        assert!(stages.iter().any(|stage| stage.name == "denoise.0.v_t"));
    }
}
