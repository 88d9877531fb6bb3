//! Robot units to the network's and back, with LeRobot's formulas.

use std::collections::BTreeMap;

use crate::policy::config::Mode;

/// Statistics of one feature by name: `mean`, `std`, `min`, `max`, `q01` and so on.
pub type FeatureStats = BTreeMap<String, Vec<f32>>;

/// How one feature is normalised, with its numbers; one a dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Normalizer {
    /// Left as it is.
    Identity,
    /// `(x - mean) / (std + eps)`; back without the epsilon, as in LeRobot.
    MeanStd {
        mean: Vec<f32>,
        std: Vec<f32>,
        eps: f32,
    },
    /// `low` to -1 and `low + span` to 1.
    Bounds { low: Vec<f32>, span: Vec<f32> },
}

impl Normalizer {
    /// Takes what `mode` needs from the statistics of a feature that is `width` wide.
    ///
    /// # Errors
    /// A statistic is absent, has another width, is infinite or NaN, or is one that no data has (a negative deviation, a
    /// least value above the greatest), which would turn motions round; the words name it without the feature.
    pub fn new(mode: Mode, stats: &FeatureStats, width: usize, eps: f32) -> Result<Self, String> {
        if mode != Mode::Identity && !(eps.is_finite() && eps >= 0.0) {
            return Err(format!(
                "has an `eps` of {eps}, which must be a small positive number (LeRobot writes 1e-8)"
            ));
        }
        match mode {
            Mode::Identity => Ok(Self::Identity),
            Mode::MeanStd => {
                let (mean, std) = (take(stats, "mean", width)?, take(stats, "std", width)?);
                if let Some(at) = std.iter().position(|std| *std < 0.0) {
                    return Err(format!(
                        "has a negative deviation {} (`std`, dimension {at}), which no data has",
                        std[at]
                    ));
                }
                divisible(std.iter().map(|std| std + eps))?;
                Ok(Self::MeanStd { mean, std, eps })
            }
            Mode::MinMax => Self::bounds(stats, ["min", "max"], width, eps),
            Mode::Quantiles => Self::bounds(stats, ["q01", "q99"], width, eps),
            Mode::Quantile10 => Self::bounds(stats, ["q10", "q90"], width, eps),
        }
    }

    fn bounds(
        stats: &FeatureStats,
        [lower, upper]: [&str; 2],
        width: usize,
        eps: f32,
    ) -> Result<Self, String> {
        let (low, high) = (take(stats, lower, width)?, take(stats, upper, width)?);
        if let Some(at) = (0..width).find(|&at| low[at] > high[at]) {
            return Err(format!(
                "has a `{lower}` of {} above its `{upper}` of {} (dimension {at})",
                low[at], high[at]
            ));
        }
        let span = low.iter().zip(&high).map(|(low, high)| {
            let span = high - low;
            // A joint that never moved.
            if span == 0.0 { eps } else { span }
        });
        let span: Vec<f32> = span.collect();
        divisible(span.iter().copied())?;
        Ok(Self::Bounds { low, span })
    }

    /// Normalises the value of dimension `index`.
    pub fn forward(&self, index: usize, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            Self::MeanStd { mean, std, eps } => (x - mean[index]) / (std[index] + eps),
            Self::Bounds { low, span } => 2.0 * (x - low[index]) / span[index] - 1.0,
        }
    }

    /// Un-normalises the value of dimension `index`.
    pub fn inverse(&self, index: usize, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            Self::MeanStd { mean, std, .. } => x * std[index] + mean[index],
            Self::Bounds { low, span } => (x + 1.0) * 0.5 * span[index] + low[index],
        }
    }

    /// Dimensions that never changed in the data, where a small deviation becomes a huge number.
    pub fn frozen(&self) -> Vec<usize> {
        let spread = match self {
            Self::Identity => return Vec::new(),
            Self::MeanStd { std, .. } => std,
            Self::Bounds { span, .. } => span,
        };
        let still = |(_, spread): &(usize, &f32)| spread.abs() < 1e-6;
        spread
            .iter()
            .enumerate()
            .filter(still)
            .map(|(i, _)| i)
            .collect()
    }
}

/// Refuses spreads by which nothing can be divided.
fn divisible(mut spreads: impl Iterator<Item = f32>) -> Result<(), String> {
    match spreads.position(|spread| spread == 0.0 || !spread.is_finite()) {
        Some(at) => Err(format!(
            "has no usable spread in dimension {at}: it is 0 with an `eps` of 0, or infinite"
        )),
        None => Ok(()),
    }
}

fn take(stats: &FeatureStats, name: &str, width: usize) -> Result<Vec<f32>, String> {
    let values = stats
        .get(name)
        .ok_or_else(|| format!("has no statistic `{name}`"))?;
    if values.len() != width {
        return Err(format!(
            "has {} values of `{name}` for {width} dimensions",
            values.len()
        ));
    }
    if values.iter().any(|value| value.is_nan()) {
        return Err(format!("has a statistic `{name}` that is not a number"));
    }
    if values.iter().any(|value| value.is_infinite()) {
        return Err(format!(
            "has a statistic `{name}` that is infinite: it was never filled in when the policy was saved"
        ));
    }
    Ok(values.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(pairs: &[(&str, f32)]) -> FeatureStats {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), vec![*value]))
            .collect()
    }

    fn built(mode: Mode, pairs: &[(&str, f32)]) -> Normalizer {
        Normalizer::new(mode, &stats(pairs), 1, 1e-8).unwrap()
    }

    #[test]
    fn each_mode_has_its_formula_and_its_inverse() {
        let cases = [
            (Mode::Identity, &[][..], 3.0, 3.0),
            (Mode::MeanStd, &[("mean", 1.0), ("std", 4.0)], 3.0, 0.5),
            (Mode::MinMax, &[("min", -10.0), ("max", 30.0)], 0.0, -0.5),
            (Mode::Quantiles, &[("q01", 0.0), ("q99", 8.0)], 6.0, 0.5),
            (Mode::Quantile10, &[("q10", 2.0), ("q90", 4.0)], 4.0, 1.0),
        ];
        for (mode, pairs, raw, normal) in cases {
            let normalizer = built(mode, pairs);
            assert_eq!(normalizer.forward(0, raw), normal, "{mode:?}");
            assert_eq!(normalizer.inverse(0, normal), raw, "{mode:?}");
        }
    }

    #[test]
    fn a_joint_that_never_moved_does_not_divide_by_zero() {
        let bounds = built(Mode::MinMax, &[("min", 5.0), ("max", 5.0)]);
        assert_eq!(bounds.forward(0, 5.0), -1.0);
        assert_eq!(bounds.frozen(), [0]);
        let mean = built(Mode::MeanStd, &[("mean", 5.0), ("std", 0.0)]);
        assert_eq!(mean.forward(0, 5.0), 0.0);
        assert_eq!(mean.inverse(0, 3.0), 5.0);
        assert_eq!(mean.frozen(), [0]);
    }

    #[test]
    fn statistics_that_cannot_be_used_are_refused() {
        let words = |pairs: &[(&str, f32)], width| {
            Normalizer::new(Mode::MeanStd, &stats(pairs), width, 1e-8).unwrap_err()
        };
        assert!(words(&[("mean", 1.0)], 1).contains("no statistic `std`"));
        assert!(words(&[("mean", f32::INFINITY), ("std", 1.0)], 1).contains("infinite"));
        assert!(words(&[("mean", 0.0), ("std", f32::NAN)], 1).contains("not a number"));
        assert!(words(&[("mean", 0.0), ("std", 1.0)], 2).contains("1 values of `mean` for 2"));
        assert!(words(&[("mean", 0.0), ("std", -2.0)], 1).contains("negative deviation -2"));
    }

    #[test]
    fn spreads_that_turn_motions_round_or_divide_by_zero_are_refused() {
        let words = |mode, pairs: &[(&str, f32)], eps| {
            Normalizer::new(mode, &stats(pairs), 1, eps).unwrap_err()
        };
        let turned = [("min", 4.0), ("max", -4.0)];
        assert!(words(Mode::MinMax, &turned, 1e-8).contains("`min` of 4 above its `max` of -4"));
        let huge = [("min", -3e38), ("max", 3e38)];
        assert!(words(Mode::MinMax, &huge, 1e-8).contains("no usable spread"));
        let still = [("mean", 1.0), ("std", 0.0), ("min", 2.0), ("max", 2.0)];
        for mode in [Mode::MeanStd, Mode::MinMax] {
            assert!(words(mode, &still, 0.0).contains("no usable spread"));
            for eps in [-1.0, f32::NAN, f32::INFINITY] {
                assert!(words(mode, &still, eps).contains("`eps`"));
            }
        }
    }
}
