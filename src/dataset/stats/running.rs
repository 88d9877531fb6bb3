//! Statistics of the rows of a vector feature, exact quantiles included.

use super::{FeatureStats, QUANTILES};

/// Gathers the rows of one feature. It keeps every value, 8 bytes each: an hour at 30 rows a second is 5 MB for an arm.
#[derive(Clone, Debug)]
pub struct Running {
    /// By dimension.
    values: Vec<Vec<f64>>,
}

impl Running {
    /// For rows of `width` values.
    pub fn new(width: usize) -> Self {
        Self {
            values: vec![vec![]; width],
        }
    }

    /// Adds a row; values beyond the width are left out.
    pub fn push(&mut self, row: &[f64]) {
        for (kept, &value) in self.values.iter_mut().zip(row) {
            kept.push(value);
        }
    }

    /// Adds rows that lie one after the other.
    pub fn push_rows(&mut self, flat: &[f64]) {
        for row in flat.chunks_exact(self.values.len().max(1)) {
            self.push(row);
        }
    }

    /// Rows so far.
    pub fn count(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    /// The statistics; `None` without a row.
    pub fn finish(mut self) -> Option<FeatureStats> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        for values in &mut self.values {
            values.sort_unstable_by(f64::total_cmp);
        }
        let each =
            |of: &dyn Fn(&[f64]) -> f64| self.values.iter().map(|values| of(values)).collect();
        let quantiles = QUANTILES.map(|(_, share)| each(&|sorted| quantile(sorted, share)));
        Some(FeatureStats {
            min: each(&|sorted| sorted[0]),
            max: each(&|sorted| sorted[sorted.len() - 1]),
            mean: each(&mean),
            std: each(&deviation),
            count: count as u64,
            quantiles: Some(quantiles),
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation of the population.
fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (squares / values.len() as f64).sqrt()
}

/// The value below which `share` of the sorted values lie, interpolated between two neighbours, as numpy does by default.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = share * (sorted.len() - 1) as f64;
    let below = rank.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (rank - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_numpys() {
        let mut running = Running::new(2);
        // By numpy.quantile([3, 1, 4, 1, 5, 9, 2, 6], [.01, .1, .5, .9, .99]).
        let wanted = [1.0, 1.0, 3.5, 6.9, 8.79];
        for value in [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0] {
            running.push(&[value, -7.0]);
        }
        let stats = running.finish().unwrap();
        assert_eq!((stats.min[0], stats.max[0], stats.count), (1.0, 9.0, 8));
        assert_eq!(stats.mean, [3.875, -7.0]);
        assert!((stats.std[0] - 2.57087).abs() < 1e-5 && stats.std[1] == 0.0);
        for (at, wanted) in wanted.into_iter().enumerate() {
            let quantiles = stats.quantiles.as_ref().unwrap();
            assert!(
                (quantiles[at][0] - wanted).abs() < 1e-9,
                "{at}: {}",
                quantiles[at][0]
            );
            assert_eq!(quantiles[at][1], -7.0);
        }
    }

    #[test]
    fn one_row_is_enough_and_none_is_not() {
        let mut running = Running::new(3);
        running.push_rows(&[1.0, 2.0, 3.0]);
        let stats = running.finish().unwrap();
        assert_eq!((stats.mean, stats.std), (vec![1.0, 2.0, 3.0], vec![0.0; 3]));
        assert!(Running::new(3).finish().is_none());
    }
}
