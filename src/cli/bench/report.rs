//! What a benchmark tells: per stage and in total, the time with its spread and the work behind it.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::account::Account;
use super::floor::{self, Floor};
use super::holdings::Holdings;
use super::trace;
use crate::cli::cost::{ChunkCost, Cost, Way};

/// One stage of one timed run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageRun {
    /// From the call until the device is done.
    pub ms: f64,
    /// Of that, until the host had given everything to the device; the rest is waiting for it. `None` where the stage
    /// cannot be watched from outside.
    pub host_ms: Option<f64>,
}

/// One timed run of all stages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChunkRun {
    pub vision: StageRun,
    pub prefix: StageRun,
    pub denoise: StageRun,
    /// Largest resident set after vision, prefix and denoise, bytes.
    pub peak_rss_bytes: [Option<u64>; 3],
}

impl ChunkRun {
    /// All stages together.
    pub fn total(&self) -> StageRun {
        let stages = [self.vision, self.prefix, self.denoise];
        StageRun {
            ms: stages.iter().map(|stage| stage.ms).sum(),
            host_ms: stages.iter().map(|stage| stage.host_ms).sum(),
        }
    }
}

/// What the stages make a device do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChunkAccount {
    pub vision: Account,
    pub prefix: Account,
    pub denoise: Account,
    /// Submissions of the whole chunk, where the stages cannot be watched from outside.
    pub submits: Option<u64>,
}

impl ChunkAccount {
    /// All stages together.
    pub fn total(&self) -> Account {
        let total = &(&self.vision + &self.prefix) + &self.denoise;
        Account {
            submits: total.submits.or(self.submits),
            ..total
        }
    }
}

/// Median and extremes of some runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// Each run in order.
    pub runs: Vec<f64>,
}

impl Spread {
    /// The spread of `runs`; of none it is zero.
    pub fn of(runs: Vec<f64>) -> Self {
        let mut sorted = runs.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = match sorted.len() {
            0 => 0.0,
            even if even % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
            _ => sorted[middle],
        };
        Self {
            median,
            min: sorted.first().copied().unwrap_or(0.0),
            max: sorted.last().copied().unwrap_or(0.0),
            runs,
        }
    }
}

/// One stage, or the whole chunk, over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    pub ms: Spread,
    /// Launches; `None` on the CPU, which launches nothing.
    pub kernels: Option<u64>,
    /// Submissions; `None` on the CPU, and where a stage cannot be watched from outside.
    pub submits: Option<u64>,
    pub bytes_read: u64,
    pub flops: u64,
    /// Median over the runs.
    pub host_ms: Option<f64>,
    /// Largest resident set of the program up to the end of this stage.
    pub peak_rss_bytes: Option<u64>,
    /// Median time of the naive way over this one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub naive_ratio: Option<f64>,
    /// Median time of Burn's network over this one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burn_ratio: Option<f64>,
    /// With `--trace`, all that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
}

/// The stages of one way of computing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stages {
    pub vision: StageReport,
    pub prefix: StageReport,
    pub denoise: StageReport,
    pub total: StageReport,
}

/// What was measured, and on what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    pub policy: String,
    pub device: String,
    pub precision: String,
    /// Who computes.
    pub way: Way,
    pub parameters: u64,
    pub views: usize,
    pub language_tokens: usize,
    pub prefix_tokens: usize,
    pub chunk_size: usize,
    pub steps: usize,
    pub runs: u64,
    /// The first run, which compiles kernels and is counted nowhere else.
    pub first_run_ms: f64,
}

/// What `bench --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    #[serde(flatten)]
    pub subject: Subject,
    #[serde(flatten)]
    pub stages: Stages,
    /// Largest resident set of the program, the naive runs included.
    pub peak_rss_bytes: Option<u64>,
    /// What the loaded network holds.
    pub memory: Holdings,
    /// The same by Burn's network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burn: Option<Stages>,
    /// The same as LeRobot 0.6.1 does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub naive: Option<Stages>,
    /// Median total time of the naive way over this one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub naive_ratio: Option<f64>,
    /// Median total time of Burn's network over this one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burn_ratio: Option<f64>,
    /// With `--trace` or `--floor`, the least times on named GPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub floors: Vec<Floor>,
}

impl Stages {
    /// Sums up some timed runs (at least one) and a counted one. `whole` keeps all that was counted.
    pub fn of(runs: &[ChunkRun], counts: &ChunkAccount, cost: ChunkCost, whole: bool) -> Self {
        let last = runs.last().copied().unwrap_or_default();
        let stage = |pick: fn(&ChunkRun) -> StageRun, counts: &Account, cost: Cost, peak| {
            let picked: Vec<_> = runs.iter().map(pick).collect();
            let host: Option<Vec<f64>> = picked.iter().map(|run| run.host_ms).collect();
            StageReport {
                ms: Spread::of(picked.iter().map(|run| run.ms).collect()),
                kernels: counts.kernels,
                submits: counts.submits,
                bytes_read: cost.bytes_read,
                flops: cost.flops,
                host_ms: host.map(|host| Spread::of(host).median),
                peak_rss_bytes: peak,
                naive_ratio: None,
                burn_ratio: None,
                account: whole.then(|| counts.clone()),
            }
        };
        let [vision, prefix, denoise] = last.peak_rss_bytes;
        Self {
            vision: stage(|run| run.vision, &counts.vision, cost.vision, vision),
            prefix: stage(|run| run.prefix, &counts.prefix, cost.prefix, prefix),
            denoise: stage(|run| run.denoise, &counts.denoise, cost.denoise, denoise),
            total: stage(ChunkRun::total, &counts.total(), cost.total(), denoise),
        }
    }

    /// Writes into each stage how much longer `other`, computed by `way`, took.
    pub fn compare(&mut self, way: Way, other: &Self) {
        let pairs = [
            (&mut self.vision, &other.vision),
            (&mut self.prefix, &other.prefix),
            (&mut self.denoise, &other.denoise),
            (&mut self.total, &other.total),
        ];
        for (own, other) in pairs {
            let ratio = (own.ms.median > 0.0).then(|| other.ms.median / own.ms.median);
            match way {
                Way::Naive => own.naive_ratio = ratio,
                Way::Burn | Way::Own => own.burn_ratio = ratio,
            }
        }
    }

    /// The stages with their names, in order, and the total.
    pub fn named(&self) -> [(&'static str, &StageReport); 4] {
        [
            ("vision", &self.vision),
            ("prefix", &self.prefix),
            ("denoise", &self.denoise),
            ("total", &self.total),
        ]
    }
}

impl Report {
    /// The report as a table for people.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.subject.print(out)?;
        print_stages(&self.stages, out)?;
        if let Some(burn) = &self.burn {
            writeln!(out, "\nby Burn's network, in turns with the above")?;
            print_stages(burn, out)?;
        }
        if let Some(naive) = &self.naive {
            writeln!(
                out,
                "\nas LeRobot 0.6.1 does it: cache grown and cropped, prefix projected anew at each step"
            )?;
            print_stages(naive, out)?;
        }
        trace::print(&self.stages, out)?;
        if !self.floors.is_empty() {
            writeln!(out)?;
            floor::print(&self.floors, out)?;
        }
        writeln!(out)?;
        self.memory.print(out)?;
        if let Some(peak) = self.peak_rss_bytes {
            let mebibytes = peak as f64 / f64::from(1 << 20);
            writeln!(out, "peak memory  {mebibytes:.0} MiB")?;
        }
        if let Some(ratio) = self.burn_ratio {
            writeln!(out, "burn ratio   {ratio:.2} (Burn's time over ours)")?;
        }
        if let Some(ratio) = self.naive_ratio {
            writeln!(out, "naive ratio  {ratio:.2} (naive time over ours)")?;
        }
        Ok(())
    }
}

impl Subject {
    /// Two lines for people, and an empty one.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} on {}, {}, {}\n\
             {} views, {} language tokens, prefix {}, chunk {}, {} steps; {} runs after a first of {:.0} ms\n",
            self.policy,
            self.device,
            self.precision,
            self.way,
            self.views,
            self.language_tokens,
            self.prefix_tokens,
            self.chunk_size,
            self.steps,
            self.runs,
            self.first_run_ms
        )
    }
}

/// One way's stages as a table.
pub fn print_stages(stages: &Stages, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:<8} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>9} {:>9}",
        "stage",
        "median ms",
        "min",
        "max",
        "host ms",
        "kernels",
        "submits",
        "MB read",
        "GFLOP",
        "GFLOP/s"
    )?;
    for (name, stage) in stages.named() {
        let giga = stage.flops as f64 / 1e9;
        let rate = if stage.ms.median > 0.0 {
            giga / stage.ms.median * 1e3
        } else {
            0.0
        };
        writeln!(
            out,
            "{name:<8} {:>10.2} {:>10.2} {:>10.2} {:>10} {:>8} {:>8} {:>10.1} {:>9.2} {:>9.1}",
            stage.ms.median,
            stage.ms.min,
            stage.ms.max,
            known(stage.host_ms.map(|ms| format!("{ms:.2}"))),
            known(stage.kernels),
            known(stage.submits),
            stage.bytes_read as f64 / 1e6,
            giga,
            rate
        )?;
    }
    Ok(())
}

/// The value, or a dash.
pub fn known(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

#[cfg(test)]
pub(in crate::cli) mod tests {
    use super::*;

    fn runs(times: &[f64]) -> Vec<ChunkRun> {
        let stage = |ms| StageRun {
            ms,
            host_ms: Some(ms / 2.0),
        };
        let run = |ms: &f64| ChunkRun {
            vision: stage(*ms),
            prefix: stage(2.0 * ms),
            denoise: stage(3.0 * ms),
            peak_rss_bytes: [Some(1), Some(2), Some(3)],
        };
        times.iter().map(run).collect()
    }

    fn counts(on_device: bool) -> ChunkAccount {
        let stage = || Account {
            kernels: on_device.then_some(7),
            submits: on_device.then_some(2),
            ..Account::default()
        };
        ChunkAccount {
            vision: stage(),
            prefix: stage(),
            denoise: stage(),
            submits: None,
        }
    }

    fn cost() -> ChunkCost {
        let stage = |flops| Cost {
            flops,
            bytes_read: 10 * flops,
        };
        ChunkCost {
            vision: stage(1),
            prefix: stage(2),
            denoise: stage(3),
        }
    }

    pub(in crate::cli) fn stages(times: &[f64], on_device: bool) -> Stages {
        Stages::of(&runs(times), &counts(on_device), cost(), false)
    }

    fn report(on_device: bool) -> Report {
        let naive = stages(&[4.0], on_device);
        let mut stages = stages(&[1.0, 3.0, 2.0], on_device);
        stages.compare(Way::Naive, &naive);
        Report {
            subject: Subject {
                policy: "tiny".into(),
                device: "CPU".into(),
                precision: "f32".into(),
                way: Way::Burn,
                parameters: 1,
                views: 2,
                language_tokens: 5,
                prefix_tokens: 14,
                chunk_size: 8,
                steps: 10,
                runs: 3,
                first_run_ms: 99.0,
            },
            naive_ratio: stages.total.naive_ratio,
            burn_ratio: None,
            stages,
            peak_rss_bytes: Some(2 << 20),
            memory: Holdings::default(),
            burn: None,
            naive: Some(naive),
            floors: Vec::new(),
        }
    }

    #[test]
    fn a_spread_has_the_median_and_the_extremes() {
        let odd = Spread::of(vec![3.0, 1.0, 2.0]);
        assert_eq!((odd.median, odd.min, odd.max), (2.0, 1.0, 3.0));
        assert_eq!(odd.runs, [3.0, 1.0, 2.0]);
        assert_eq!(Spread::of(vec![1.0, 2.0]).median, 1.5);
        assert_eq!(Spread::of(vec![]).median, 0.0);
    }

    #[test]
    fn the_total_is_the_sum_of_the_stages() {
        let stages = report(true).stages;
        assert_eq!(stages.total.ms.runs, [6.0, 18.0, 12.0]);
        assert_eq!(
            (stages.total.kernels, stages.total.submits),
            (Some(21), Some(6))
        );
        assert_eq!(stages.total.host_ms, Some(6.0));
        assert_eq!((stages.total.flops, stages.total.bytes_read), (6, 60));
        assert_eq!(stages.total.naive_ratio, Some(2.0));
        assert_eq!(stages.total.burn_ratio, None);
    }

    #[test]
    fn the_json_has_the_documented_shape() {
        let json = serde_json::to_value(report(true)).unwrap();
        for stage in ["vision", "prefix", "denoise", "total"] {
            for key in [
                "kernels",
                "submits",
                "bytes_read",
                "flops",
                "host_ms",
                "peak_rss_bytes",
            ] {
                assert!(json[stage][key].is_number(), "{stage}.{key}");
            }
            for key in ["median", "min", "max"] {
                assert!(json[stage]["ms"][key].is_number(), "{stage}.ms.{key}");
            }
            assert_eq!(json[stage]["ms"]["runs"].as_array().unwrap().len(), 3);
            assert_eq!(json["naive"][stage]["naive_ratio"], serde_json::Value::Null);
        }
        assert_eq!(json["naive_ratio"], 2.0);
        assert_eq!(
            (&json["policy"], &json["way"]),
            (&"tiny".into(), &"burn".into())
        );
    }

    #[test]
    fn the_table_names_every_stage_twice_with_naive() {
        let mut out = Vec::new();
        report(true).print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for stage in ["vision ", "prefix ", "denoise ", "total "] {
            assert_eq!(
                text.lines().filter(|line| line.starts_with(stage)).count(),
                2
            );
        }
        assert!(text.contains("naive ratio  2.00") && text.contains("peak memory  2 MiB"));
    }

    /// It once printed `0` kernels and `0` submissions, as if the CPU had launched none by skill.
    #[test]
    fn the_cpu_launches_nothing_and_shows_dashes() {
        let cpu = report(false);
        let json = serde_json::to_value(&cpu).unwrap();
        assert!(json["total"]["kernels"].is_null() && json["total"]["submits"].is_null());
        let mut out = Vec::new();
        print_stages(&cpu.stages, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let total = text.lines().find(|line| line.starts_with("total")).unwrap();
        let cells: Vec<_> = total.split_whitespace().collect();
        assert_eq!(cells[5..7], ["–", "–"], "{total}");
    }
}
