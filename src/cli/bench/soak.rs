//! Many chunks in a row, to see that memory stays what it was: a robot runs for days.

use std::io::{self, Write};
use std::time::Instant;

use serde::Serialize;

use super::holdings::Holdings;
use super::stages::Watch;
use crate::cli::args::BenchArgs;
use crate::cli::memory::peak_rss_bytes;
use crate::cli::output::{Outcome, deliver};

/// Looks at memory so often in a run.
const SAMPLES: u64 = 30;

/// How much more of the program's own memory is still flat: allocators round, threads come up. Of this or of a hundredth of
/// all, the larger counts. A leak of 1 KB a chunk shows in 10 000 chunks.
const RSS_SLACK: u64 = 2 << 20;

/// Memory after some chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sample {
    pub chunks: u64,
    #[serde(flatten)]
    pub held: Holdings,
}

/// What a soak saw.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Soak {
    pub policy: String,
    /// Who computed.
    pub way: String,
    pub device: String,
    pub chunks: u64,
    pub flat: bool,
    /// What grew, in words.
    pub grew: Vec<String>,
    pub peak_rss_bytes: Option<u64>,
    pub samples: Vec<Sample>,
}

/// Runs `chunks` chunks and tells whether memory stayed flat; exit status 1 if it grew.
pub fn run(
    args: &BenchArgs,
    watch: &Watch<'_>,
    policy: &str,
    chunks: u64,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let soak = soak(watch, policy, chunks, None)?;
    deliver(out, args.json.json.as_ref(), &soak, |out| soak.print(out))?;
    Ok(if soak.flat {
        Outcome::Done
    } else {
        log::error!("memory grows: {}", soak.grew.join("; "));
        Outcome::Fault
    })
}

/// Runs `chunks` chunks of a network, or fewer until a time, looking at memory [`SAMPLES`] times.
pub fn soak(
    watch: &Watch<'_>,
    policy: &str,
    mut chunks: u64,
    until: Option<Instant>,
) -> anyhow::Result<Soak> {
    let every = (chunks / SAMPLES).max(1);
    let mut samples = Vec::new();
    for number in 1..=chunks {
        if until.is_some_and(|until| Instant::now() > until) {
            chunks = number - 1;
            break;
        }
        watch.flown()?;
        if number % every == 0 || number == chunks {
            log::info!("{number} of {chunks} chunks");
            samples.push(Sample {
                chunks: number,
                held: Holdings::now(watch.device),
            });
        }
    }
    let grew = growth(&samples);
    Ok(Soak {
        policy: policy.to_owned(),
        way: watch.title(),
        device: watch.device.place(),
        chunks,
        flat: grew.is_empty(),
        grew,
        peak_rss_bytes: peak_rss_bytes(),
        samples,
    })
}

/// A figure of a sample.
struct Gauge {
    name: &'static str,
    read: fn(&Holdings) -> Option<u64>,
}

/// What is counted exactly and may not grow at all.
const EXACT: [Gauge; 5] = [
    Gauge {
        name: "bytes in use in Burn's pool",
        read: |held| held.pool.map(|pool| pool.in_use_bytes),
    },
    Gauge {
        name: "tensors in Burn's pool",
        read: |held| held.pool.map(|pool| pool.allocations),
    },
    Gauge {
        name: "bytes reserved by Burn's pool",
        read: |held| held.pool.map(|pool| pool.reserved_bytes),
    },
    Gauge {
        name: "bytes given by the driver",
        read: |held| held.driver.map(|driver| driver.allocated_bytes),
    },
    Gauge {
        name: "pieces given by the driver",
        read: |held| held.driver.map(|driver| driver.allocations),
    },
];

/// What grew between the middle third and the last, in words; the first third warms up. Fewer than three samples tell
/// nothing.
fn growth(samples: &[Sample]) -> Vec<String> {
    let third = samples.len() / 3;
    if third == 0 {
        return Vec::new();
    }
    let middle = &samples[third..samples.len() - third];
    let last = &samples[samples.len() - third..];
    let grown = |gauge: &Gauge| {
        let read = |sample: &Sample| (gauge.read)(&sample.held);
        // A single high reading is no growth.
        let before = middle.iter().filter_map(read).max()?;
        let after = last.iter().filter_map(read).min()?;
        (after > before).then(|| format!("{} grew from {before} to {after}", gauge.name))
    };
    let mut grew: Vec<String> = EXACT.iter().filter_map(grown).collect();
    let resident = |samples: &[Sample]| {
        let mut sorted: Vec<u64> = samples.iter().filter_map(|s| s.held.rss_bytes).collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    };
    if let Some((before, after)) = resident(middle).zip(resident(last))
        && after > before + RSS_SLACK.max(before / 100)
    {
        grew.push(format!(
            "resident bytes of the program grew from {before} to {after}"
        ));
    }
    grew
}

impl Soak {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} on {}, {}: {} chunks\n{:>8} {:>12} {:>12} {:>12} {:>8} {:>12}",
            self.policy,
            self.device,
            self.way,
            self.chunks,
            "chunks",
            "pool KB",
            "reserved KB",
            "driver KB",
            "pieces",
            "resident KB"
        )?;
        for Sample { chunks, held } in &self.samples {
            let kilobytes = |bytes: Option<u64>| super::report::known(bytes.map(|b| b / 1000));
            writeln!(
                out,
                "{chunks:>8} {:>12} {:>12} {:>12} {:>8} {:>12}",
                kilobytes(held.pool.map(|pool| pool.in_use_bytes)),
                kilobytes(held.pool.map(|pool| pool.reserved_bytes)),
                kilobytes(held.driver.map(|driver| driver.allocated_bytes)),
                super::report::known(held.driver.map(|driver| driver.allocations)),
                kilobytes(held.rss_bytes),
            )?;
        }
        if self.flat {
            writeln!(out, "memory is flat")
        } else {
            writeln!(out, "memory grows: {}", self.grew.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::DeviceMemory;

    fn sample(chunks: u64, tensors: u64, rss_bytes: u64) -> Sample {
        Sample {
            chunks,
            held: Holdings {
                pool: Some(DeviceMemory {
                    allocations: tensors,
                    ..DeviceMemory::default()
                }),
                rss_bytes: Some(rss_bytes),
                ..Holdings::default()
            },
        }
    }

    #[test]
    fn a_leak_is_told_from_warming_up() {
        let warm: Vec<_> = [5, 9, 7, 7, 7, 7]
            .map(|tensors| sample(1, tensors, 0))
            .into();
        assert!(growth(&warm).is_empty());
        let leak: Vec<_> = (0..6).map(|n| sample(n, 7 + n, 0)).collect();
        assert_eq!(growth(&leak), ["tensors in Burn's pool grew from 10 to 11"]);
        // A kilobyte a chunk over ten thousand, and over three hundred, where it drowns.
        let resident = |each| -> Vec<_> {
            (0..30)
                .map(|n| sample(n, 7, (40 << 20) + n * each))
                .collect()
        };
        assert!(growth(&resident(333 << 10))[0].starts_with("resident bytes"));
        assert!(growth(&resident(10 << 10)).is_empty());
        assert!(growth(&warm[..2]).is_empty());
    }
}
