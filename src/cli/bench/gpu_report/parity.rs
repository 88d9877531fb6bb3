//! Whether a GPU computes what the CPU computes: every stage of a network, in every precision that can fly here.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cli::bench::case::{Case, Choice, flying_otherwise, precision};
use crate::cli::bench::made::Made;
use crate::cli::bench::measure::Difference;
use crate::cli::cost::Way;
use crate::gpu::compute::Format;
use crate::gpu::{self, DeviceChoice, OpenedDevice};
use crate::policy::self_test;
use crate::policy::smolvla::{Stage, Trace};

/// One network in one precision against Burn's network in f32 on the CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parity {
    /// `self-test`, or a size of `bench --made`.
    pub network: String,
    /// Who computed.
    pub way: Way,
    /// With what weights.
    pub precision: String,
    /// Stages that were compared.
    pub stages: usize,
    /// The worst of each part of the network (vision, prefix, prefill, denoise …), by name.
    pub worst: BTreeMap<String, StageError>,
    /// Of the normalised actions, absolute; `None` where only stages were compared.
    pub actions: Option<Difference>,
}

/// A stage and its error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageError {
    pub stage: String,
    /// Relative to the stage's largest number, at least 1. `None` where a number is none.
    pub error: Option<f32>,
}

/// The self-test, which a device must pass before a policy may fly on it, in every way of `choices`.
pub fn self_test(choices: &[Choice], device: &OpenedDevice) -> anyhow::Result<Vec<Parity>> {
    let test = |choice: &Choice| {
        let errors = self_test::errors(&flying_otherwise(device, *choice))?;
        Ok(sorted("self-test", *choice, &errors))
    };
    choices.iter().map(test).collect()
}

/// Every stage of a network of the given size, in every way of `choices`.
pub fn against_cpu(
    size: Made,
    choices: &[Choice],
    device: &OpenedDevice,
) -> anyhow::Result<Vec<Parity>> {
    let cpu = gpu::open(DeviceChoice::Flex)?;
    let case = Case::made(size, None, None)?;
    let (theirs, expected) = traced(&case, (Way::Burn, Format::F32), &cpu)?;
    let compare = |choice: &Choice| {
        let (stages, actions) = traced(&case, *choice, device)?;
        // Fused kernels never write down what Burn's network shows between them.
        let shown = |stage: &&Stage| stages.iter().any(|own| own.name == stage.name);
        let theirs: Vec<Stage> = theirs.iter().filter(shown).cloned().collect();
        let errors = self_test::stage_errors(&stages, &theirs);
        Ok(Parity {
            actions: Some(Difference::between(&actions, &expected)),
            ..sorted(&size.to_string(), *choice, &errors)
        })
    };
    choices.iter().map(compare).collect()
}

fn traced(
    case: &Case,
    choice: Choice,
    device: &OpenedDevice,
) -> anyhow::Result<(Vec<Stage>, Vec<f32>)> {
    let network = case.load(choice, device)?;
    let mut trace = Trace::on();
    let actions = case.watch(device, &network).traced(&mut trace)?;
    Ok((trace.into_stages(), actions))
}

/// The worst stage of each part, which is what its name begins with.
fn sorted(network: &str, (way, format): Choice, errors: &[(String, f32)]) -> Parity {
    let mut worst: BTreeMap<String, StageError> = BTreeMap::new();
    for (stage, error) in errors {
        let part = stage.split(['.', ' ']).next().unwrap_or(stage);
        let known = worst
            .get(part)
            .is_some_and(|known| known.error.is_none_or(|known| known >= *error));
        if !known {
            let entry = StageError {
                stage: stage.clone(),
                error: Some(*error).filter(|error| error.is_finite()),
            };
            worst.insert(part.to_owned(), entry);
        }
    }
    Parity {
        network: network.to_owned(),
        way,
        precision: precision(format).to_owned(),
        stages: errors.len(),
        worst,
        actions: None,
    }
}

impl Parity {
    /// The worst of all parts; `None` where a number is none.
    pub fn most(&self) -> Option<f32> {
        let errors: Option<Vec<f32>> = self.worst.values().map(|stage| stage.error).collect();
        Some(errors?.into_iter().fold(0.0, f32::max))
    }
}

impl fmt::Display for Parity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            network,
            way,
            precision,
            stages,
            ..
        } = self;
        write!(
            f,
            "{network}, {way}, {precision}: {stages} stages against the CPU"
        )?;
        for (part, stage) in &self.worst {
            match stage.error {
                Some(error) => write!(f, ", {part} {error:.1e}")?,
                None => write!(f, ", {part} gives no numbers ({})", stage.stage)?,
            }
        }
        if let Some(actions) = self.actions {
            let Difference { max, mean } = actions;
            write!(f, "; actions {max:.1e} at most, {mean:.1e} in the mean")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_shows_its_worst_stage() {
        let errors = [
            ("vision.a", 1e-6),
            ("vision.b", 3e-6),
            ("vision.c", 2e-6),
            ("denoise.0.v_t", 5e-7),
            ("product 1x2x3", 4e-6),
        ]
        .map(|(name, error)| (name.to_owned(), error));
        let parity = sorted("tiny", (Way::Burn, Format::F32), &errors);
        assert_eq!((parity.stages, parity.worst.len()), (5, 3));
        assert_eq!(parity.worst["vision"].stage, "vision.b");
        assert_eq!(parity.most(), Some(4e-6));
        assert!(parity.to_string().contains("vision 3.0e-6"), "{parity}");
    }

    #[test]
    fn no_number_is_the_worst_number() {
        let errors = [("vision.a", f32::INFINITY), ("vision.b", 1e-6)];
        let parity = sorted(
            "tiny",
            (Way::Burn, Format::F32),
            &errors.map(|(n, e)| (n.to_owned(), e)),
        );
        assert_eq!(parity.worst["vision"].error, None);
        assert_eq!(parity.most(), None);
        assert!(parity.to_string().contains("gives no numbers (vision.a)"));
    }

    #[test]
    fn the_cpu_agrees_with_itself() {
        let cpu = gpu::open(DeviceChoice::Flex).unwrap();
        let parity = against_cpu(Made::Tiny, &[(Way::Burn, Format::F32)], &cpu).unwrap();
        assert_eq!(parity[0].most(), Some(0.0));
        assert!(parity[0].stages > 20);
        assert_eq!(parity[0].actions, Some(Difference::default()));
    }
}
