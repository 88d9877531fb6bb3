//! The least time that a chunk can take on a named GPU: what a measured time is held against, and what gains are argued with.

use std::io::{self, Write};

use serde::Serialize;

use super::cards::Card;
use crate::cli::cost::{ChunkCost, Cost};

/// Launches by stage: vision, prefix, denoise.
pub type Launches = [u64; 3];

/// The work of a chunk with its weights in f32 and in f16.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub f32: ChunkCost,
    pub f16: ChunkCost,
    /// `None` where nobody has counted them.
    pub launches: Option<Launches>,
}

/// What ends a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Its bytes over the bandwidth.
    Memory,
    /// Its products over the rate.
    Arithmetic,
}

/// The least time of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageFloor {
    /// `max(bytes / bandwidth, flops / rate)`
    pub ms: f64,
    pub bound: Bound,
}

/// The least time of a chunk in one precision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChunkFloor {
    pub vision: StageFloor,
    pub prefix: StageFloor,
    pub denoise: StageFloor,
    /// Their sum, ms.
    pub total_ms: f64,
    /// What the launches add to it, where they are counted, ms.
    pub launches_ms: Option<f64>,
}

/// The least times on one card.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Floor {
    #[serde(flatten)]
    pub card: Card,
    /// Weights and arithmetic in f32.
    pub f32: ChunkFloor,
    /// Weights in f16, arithmetic in f32.
    pub f16_weights: ChunkFloor,
    /// Weights and products in f16 on the ordinary units.
    pub f16: ChunkFloor,
    /// Weights and products in f16 on matrix units.
    pub f16_matrix: Option<ChunkFloor>,
}

impl Floor {
    /// The floor of `work` on `card`.
    pub fn of(card: Card, work: &Work) -> Self {
        let chunk = |cost: &ChunkCost, rate| ChunkFloor::of(cost, &card, rate, work.launches);
        Self {
            card,
            f32: chunk(&work.f32, card.f32_rate),
            f16_weights: chunk(&work.f16, card.f32_rate),
            f16: chunk(&work.f16, card.f16_rate),
            f16_matrix: card.matrix_rate.map(|rate| chunk(&work.f16, rate)),
        }
    }

    fn rows(&self) -> impl Iterator<Item = (&'static str, ChunkFloor)> {
        [
            ("f32", Some(self.f32)),
            ("f16 weights", Some(self.f16_weights)),
            ("f16", Some(self.f16)),
            ("f16 matrices", self.f16_matrix),
        ]
        .into_iter()
        .filter_map(|(name, floor)| Some((name, floor?)))
    }
}

impl ChunkFloor {
    fn of(cost: &ChunkCost, card: &Card, rate: f64, launches: Option<Launches>) -> Self {
        let stage = |cost: Cost| StageFloor::of(cost, card.bandwidth, rate);
        let [vision, prefix, denoise] = [cost.vision, cost.prefix, cost.denoise].map(stage);
        let launched = |launches: Launches| launches.iter().sum::<u64>() as f64;
        Self {
            vision,
            prefix,
            denoise,
            total_ms: vision.ms + prefix.ms + denoise.ms,
            launches_ms: launches.map(|launches| launched(launches) * card.launch_us / 1e3),
        }
    }
}

impl StageFloor {
    /// `bandwidth` in GB/s, `rate` in TFLOP/s.
    fn of(cost: Cost, bandwidth: f64, rate: f64) -> Self {
        let memory = cost.bytes_read as f64 / bandwidth / 1e6;
        let arithmetic = cost.flops as f64 / rate / 1e9;
        if memory > arithmetic {
            return Self {
                ms: memory,
                bound: Bound::Memory,
            };
        }
        Self {
            ms: arithmetic,
            bound: Bound::Arithmetic,
        }
    }

    fn words(self) -> String {
        let mark = match self.bound {
            Bound::Memory => "m",
            Bound::Arithmetic => "a",
        };
        format!("{} {mark}", short(self.ms))
    }
}

/// The floors as a table for people.
pub fn print(floors: &[Floor], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "least time in ms: max(bytes / bandwidth, products / rate); a = ended by arithmetic, m = by memory\n\
         {:<17} {:<13} {:>10} {:>10} {:>10} {:>8} {:>9}  figures",
        "GPU", "precision", "vision", "prefix", "denoise", "total", "launches"
    )?;
    for floor in floors {
        for (precision, chunk) in floor.rows() {
            let launches = chunk.launches_ms.map(|ms| format!("+{ms:.2}"));
            writeln!(
                out,
                "{:<17} {precision:<13} {:>10} {:>10} {:>10} {:>8} {:>9}  {}",
                floor.card.name,
                chunk.vision.words(),
                chunk.prefix.words(),
                chunk.denoise.words(),
                short(chunk.total_ms),
                launches.unwrap_or_else(|| "–".into()),
                floor.card.source.words()
            )?;
        }
    }
    writeln!(
        out,
        "launches: dependent ones of one pass are some 3 µs apart on a large card, 5 µs beside a CPU (argued, from no data sheet)"
    )
}

/// Small times with more digits.
fn short(ms: f64) -> String {
    if ms < 0.1 {
        format!("{ms:.4}")
    } else {
        format!("{ms:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::cards::named;
    use crate::cli::cost::tests::three_cameras;
    use crate::cli::cost::{Load, Way, chunk_cost};
    use crate::gpu::compute::Format;
    use crate::policy::geometry::smolvla_base;

    fn work(launches: Option<Launches>) -> Work {
        let cost = |weights| {
            let load = Load {
                way: Way::Own,
                weights,
                ..three_cameras()
            };
            chunk_cost(&smolvla_base(), load)
        };
        Work {
            f32: cost(Format::F32),
            f16: cost(Format::F16),
            launches,
        }
    }

    #[test]
    fn the_full_network_has_a_floor_of_ten_milliseconds_on_a_4090() {
        let floor = Floor::of(named("RTX 4090")[0], &work(Some([100, 100, 1000])));
        assert_eq!(floor.f32.vision.bound, Bound::Arithmetic);
        assert_eq!(floor.f32.denoise.bound, Bound::Memory);
        assert_eq!(floor.f16.denoise.bound, Bound::Memory);
        assert!((10.0..12.5).contains(&floor.f16.total_ms), "{floor:?}");
        assert!(floor.f32.total_ms > floor.f16_weights.total_ms);
        assert!(floor.f16_matrix.unwrap().total_ms < 8.0);
        assert_eq!(floor.f16.launches_ms, Some(3.6));
        assert_eq!(Floor::of(floor.card, &work(None)).f16.launches_ms, None);
    }

    #[test]
    fn every_precision_has_its_row() {
        let work = work(None);
        let floors = ["RTX 4090", "RX 6600"].map(|name| Floor::of(named(name)[0], &work));
        let mut out = Vec::new();
        print(&floors, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let rows = |name| text.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!((rows("RTX 4090"), rows("RX 6600")), (4, 3), "{text}");
        let json = serde_json::to_value(floors[1]).unwrap();
        assert_eq!(json["name"], "RX 6600");
        assert_eq!(json["f16"]["denoise"]["bound"], "memory");
    }
}
