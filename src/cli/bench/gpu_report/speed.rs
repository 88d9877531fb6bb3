//! How fast a GPU computes a chunk: every network and precision that can fly here, in turns, with all that was counted.

use std::io::{self, Write};
use std::time::Instant;

use serde::Serialize;

use crate::cli::bench::cards;
use crate::cli::bench::case::{Case, Choice, has_own_kernels};
use crate::cli::bench::floor::Floor;
use crate::cli::bench::holdings::Holdings;
use crate::cli::bench::made::Made;
use crate::cli::bench::measure::{self, Difference, Rounds};
use crate::cli::bench::report::{Stages, Subject, print_stages};
use crate::cli::bench::{counted_work, subject};
use crate::cli::cost::{Way, chunk_cost};
use crate::gpu::OpenedDevice;
use crate::gpu::compute::Format;

/// Times, counts and memory of one network in one precision.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    #[serde(flatten)]
    pub subject: Subject,
    #[serde(flatten)]
    pub stages: Stages,
    /// What it holds on the device; loaded beside the others.
    pub memory: Holdings,
    /// Of its actions from those of the first measurement, normalised.
    pub difference: Difference,
}

/// Every way of computing that is worth measuring on a device, what flies first.
pub fn choices(device: &OpenedDevice) -> Vec<Choice> {
    let burn = (Way::Burn, Format::F32);
    let own = if has_own_kernels(device) {
        [Format::F32, Format::F16]
            .map(|format| (Way::Own, format))
            .to_vec()
    } else {
        Vec::new()
    };
    own.into_iter().chain([burn]).collect()
}

/// Measures, and says what the GPU's data sheet would allow if its name is known.
pub fn measure(
    size: Made,
    device: &OpenedDevice,
    runs: u64,
    until: Instant,
) -> anyhow::Result<(Vec<Measurement>, Option<Floor>)> {
    let case = Case::made(size, None, None)?;
    let mut loaded = Vec::new();
    for choice in choices(device) {
        let before = Holdings::now(device);
        let network = case.load(choice, device)?;
        loaded.push((network, Holdings::now(device).since(&before)));
    }
    let watches: Vec<_> = loaded
        .iter()
        .map(|(network, _)| case.watch(device, network))
        .collect();
    let rounds = Rounds {
        most: runs,
        until: Some(until),
        clock: true,
    };
    let measured = measure::measure(&watches, rounds)?;
    let mut found = Vec::new();
    for ((measured, watch), (_, memory)) in measured.iter().zip(&watches).zip(&loaded) {
        let cost = chunk_cost(&case.architecture, case.work(measured.choice));
        found.push(Measurement {
            subject: subject(watch, &case, measured),
            stages: measured.stages(cost, true),
            memory: *memory,
            difference: measured.difference,
        });
    }
    compare(&mut found);
    let floor = cards::of_adapter(&device.name)
        .map(|card| Floor::of(card, &counted_work(&case, &measured[0])));
    Ok((found, floor))
}

/// Writes into the first how much longer the others took.
fn compare(found: &mut [Measurement]) {
    if let Some((first, others)) = found.split_first_mut() {
        for other in others
            .iter()
            .filter(|other| other.subject.way != first.subject.way)
        {
            first.stages.compare(other.subject.way, &other.stages);
        }
    }
}

impl Measurement {
    /// The times as a table.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Subject { way, precision, .. } = &self.subject;
        let Difference { max, mean } = self.difference;
        writeln!(
            out,
            "\n{way}, {precision}; {} runs after a first of {:.0} ms; actions {max:.1e} at most, {mean:.1e} in the mean from the first",
            self.subject.runs, self.subject.first_run_ms
        )?;
        print_stages(&self.stages, out)?;
        self.memory.print(out)
    }
}
