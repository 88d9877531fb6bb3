//! Measures some networks in turns, so that whatever else the machine does meets all of them.

use std::time::Instant;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use super::case::Choice;
use super::report::{ChunkAccount, ChunkRun, Stages};
use super::stages::Watch;
use crate::cli::cost::ChunkCost;
use crate::gpu::compute::Format;

/// Largest difference between two chunks of one input in one precision, in normalised actions: a device may sum in another
/// order.
const SAME: f32 = 1e-4;

/// The same between f16 and f32 weights: ten times what LeRobot's own bf16 differs by. What is beyond it is no rounding.
const ROUNDED: f32 = 0.137;

/// How often.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Timed chunks of each network.
    pub most: u64,
    /// No further round is begun after this; one is always made.
    pub until: Option<Instant>,
    /// Kernels are timed by the device too.
    pub clock: bool,
}

/// One network: its counts, its answer and its timed runs.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Who computed, and with what weights.
    pub choice: Choice,
    /// The first run, which compiles.
    pub first_ms: f64,
    pub counts: ChunkAccount,
    pub runs: Vec<ChunkRun>,
    /// Of the actions from those of the first network.
    pub difference: Difference,
}

/// How far two chunks of one input are apart, in normalised actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    pub max: f32,
    pub mean: f32,
}

impl Difference {
    /// Between two answers; infinite where one is longer or has numbers that are none.
    pub fn between(ours: &[f32], theirs: &[f32]) -> Self {
        let is_number = |pair: (&f32, &f32)| (pair.0 - pair.1).is_finite();
        let comparable = ours.len() == theirs.len() && !ours.is_empty();
        if !comparable || !ours.iter().zip(theirs).all(is_number) {
            let (max, mean) = (f32::INFINITY, f32::INFINITY);
            return Self { max, mean };
        }
        let apart = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs());
        Self {
            max: apart.clone().fold(0.0, f32::max),
            mean: apart.sum::<f32>() / ours.len() as f32,
        }
    }
}

/// Compiles, checks and counts each network, then times them in turns. The first one is what the others are held against.
///
/// # Errors
/// A device that fails, or computes something else.
pub fn measure(watches: &[Watch<'_>], rounds: Rounds) -> anyhow::Result<Vec<Measured>> {
    let mut measured = Vec::new();
    let mut reference: Option<(Vec<f32>, Format)> = None;
    for watch in watches {
        log::info!("{}: first run, which compiles", watch.title());
        let (first, actions) = watch.run()?;
        check(watch, &watch.flown()?, &actions, SAME)?;
        let (expected, format) = reference.get_or_insert((actions.clone(), watch.choice().1));
        let allowed = if *format == watch.choice().1 {
            SAME
        } else {
            ROUNDED
        };
        let difference = check(watch, expected, &actions, allowed)?;
        let mut counts = watch.count()?;
        if rounds.clock {
            watch.clock(&mut counts)?;
        }
        measured.push(Measured {
            choice: watch.choice(),
            first_ms: first.total().ms,
            counts,
            runs: Vec::new(),
            difference,
        });
    }
    for number in 1..=rounds.most {
        for (watch, measured) in watches.iter().zip(&mut measured) {
            let (run, _) = watch.run()?;
            let (title, ms) = (watch.title(), run.total().ms);
            log::info!("{title}: run {number} of {}: {ms:.1} ms", rounds.most);
            measured.runs.push(run);
        }
        if rounds.until.is_some_and(|until| Instant::now() > until) {
            log::info!("no time for more runs");
            break;
        }
    }
    Ok(measured)
}

fn check(
    watch: &Watch<'_>,
    expected: &[f32],
    actions: &[f32],
    allowed: f32,
) -> anyhow::Result<Difference> {
    let difference = Difference::between(actions, expected);
    if difference.max > allowed {
        bail!(
            "two chunks of the same input on {} differ by {:.2e} ({}); the device computes wrongly, its times mean nothing",
            watch.device.name,
            difference.max,
            watch.title()
        );
    }
    Ok(difference)
}

impl Measured {
    /// The report of its stages; `whole` keeps all that was counted.
    pub fn stages(&self, cost: ChunkCost, whole: bool) -> Stages {
        Stages::of(&self.runs, &self.counts, cost, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::case::Case;
    use crate::cli::bench::made::Made;
    use crate::cli::cost::Way;
    use crate::gpu::{self, DeviceChoice};

    #[test]
    fn two_answers_are_as_far_apart_as_their_worst_numbers() {
        let apart = Difference::between(&[1.0, 2.0], &[1.0, 2.5]);
        assert_eq!(
            apart,
            Difference {
                max: 0.5,
                mean: 0.25
            }
        );
        for bad in [vec![1.0], vec![f32::NAN, 2.0], vec![]] {
            let apart = Difference::between(&bad, &[1.0, 2.0]);
            assert!(apart.max.is_infinite(), "{bad:?}");
        }
    }

    #[test]
    fn ways_are_held_against_each_other_and_timed_in_turns() {
        let cpu = gpu::open(DeviceChoice::Flex).unwrap();
        let case = Case::made(Made::Tiny, Some(1), Some(2)).unwrap();
        let networks =
            [Way::Burn, Way::Naive].map(|way| case.load((way, Format::F32), &cpu).unwrap());
        let watches = [
            case.watch(&cpu, &networks[0]),
            case.watch(&cpu, &networks[1]),
        ];
        let rounds = Rounds {
            most: 2,
            until: None,
            clock: true,
        };
        let measured = measure(&watches, rounds).unwrap();
        assert_eq!(measured[1].choice.0, Way::Naive);
        assert!(measured.iter().all(|one| one.runs.len() == 2));
        assert_eq!(measured[0].difference, Difference::default());
        let late = Rounds {
            until: Some(Instant::now()),
            ..rounds
        };
        assert_eq!(measure(&watches[..1], late).unwrap()[0].runs.len(), 1);
        let other = check(&watches[0], &[9.0; 320], &[8.0; 320], SAME);
        assert!(other.unwrap_err().to_string().contains("computes wrongly"));
    }

    /// The formula of the floors, the counters and the prepared launches tell the same, and nothing is made after warm-up.
    #[cfg(not(feature = "fusion"))]
    #[test]
    fn own_kernels_launch_what_the_formula_says_and_make_nothing_new() {
        use crate::cli::cost::own_launches;
        use crate::gpu::compute::Compute;

        let Some(mut device) = gpu::kernels::testing::opened() else {
            return;
        };
        // Counts of its own: other tests run at the same time.
        device.compute = device.setup.as_ref().map(Compute::new);
        let case = Case::made(Made::Tiny, Some(1), Some(2)).unwrap();
        let own = case.load((Way::Own, Format::F32), &device).unwrap();
        let watch = case.watch(&device, &own);
        let rounds = Rounds {
            most: 1,
            until: None,
            clock: true,
        };
        let measured = measure(&[watch], rounds).unwrap();
        let counts = &measured[0].counts;
        let stages = [&counts.vision, &counts.prefix, &counts.denoise];
        let load = case.work(measured[0].choice);
        let expected = own_launches(&case.architecture, load);
        assert_eq!(stages.map(|stage| stage.kernels), expected.map(Some));
        for stage in stages {
            let listed: u64 = stage.by_kernel.iter().map(|kind| kind.launches).sum();
            assert_eq!(Some(listed), stage.kernels);
            let made = stage.allocations;
            assert_eq!(
                (made.buffers, made.bind_groups, made.pipelines),
                (Some(0), Some(0), Some(0))
            );
            let timed = device.compute.as_ref().unwrap().abilities().timestamps;
            assert_eq!(stage.device_ms.is_some(), timed);
        }
        let host = measured[0].runs[0].total().host_ms.unwrap();
        assert!(host > 0.0);
    }
}
