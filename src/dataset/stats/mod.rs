//! Statistics of a feature as LeRobot keeps them: what a policy normalises its observations and actions with.
//!
//! One set an episode, beside its row in `meta/episodes`, and one of the whole data set in `meta/stats.json`.
//!
//! Source: `lerobot/datasets/compute_stats.py` of 0.6.1.

mod aggregate;
mod json;
mod pictures;
mod running;

pub use aggregate::aggregate;
pub use json::{from_json, to_json};
pub use pictures::{PictureCount, Pictures};
pub use running::Running;

/// The quantiles that are kept, and their names.
pub const QUANTILES: [(&str, f64); 5] = [
    ("q01", 0.01),
    ("q10", 0.10),
    ("q50", 0.50),
    ("q90", 0.90),
    ("q99", 0.99),
];

/// Statistics of one feature. Every vector has one value a dimension, or one a colour (0 to 1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureStats {
    pub min: Vec<f64>,
    pub max: Vec<f64>,
    pub mean: Vec<f64>,
    /// Of the population.
    pub std: Vec<f64>,
    /// What the mean is over: rows, sampled pictures or pixels.
    pub count: u64,
    /// In the order of [`QUANTILES`]. Data sets of LeRobot 0.4.0 have none.
    pub quantiles: Option<[Vec<f64>; 5]>,
}

/// Statistics by feature, in the features' order.
pub type Stats = Vec<(String, FeatureStats)>;
