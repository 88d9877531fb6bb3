//! Statistics of a whole data set from those of its episodes.

use super::{FeatureStats, Stats};

/// Joins the statistics of episodes, as LeRobot 0.6.1 does: the mean is weighted by the counts, the deviation exact, a quantile
/// the weighted mean of the episodes' quantiles.
///
/// A feature is joined over the episodes that have it; quantiles only where every episode has them.
///
/// Source: `aggregate_feature_stats` of `lerobot/datasets/compute_stats.py`.
pub fn aggregate<'a>(episodes: impl IntoIterator<Item = &'a Stats>) -> Stats {
    let mut joined: Vec<(String, Sums)> = vec![];
    for episode in episodes {
        for (at, (name, stats)) in episode.iter().enumerate() {
            // The order is the same in nearly every episode.
            let here = joined.get(at).is_some_and(|(known, _)| known == name);
            let found = here.then_some(at);
            let found = found.or_else(|| joined.iter().position(|(known, _)| known == name));
            match found {
                Some(found) => joined[found].1.add(stats),
                None => joined.push((name.clone(), Sums::of(stats))),
            }
        }
    }
    let finished = joined.into_iter().map(|(name, sums)| (name, sums.finish()));
    finished.collect()
}

/// What has been joined so far.
struct Sums {
    min: Vec<f64>,
    max: Vec<f64>,
    mean: Vec<f64>,
    /// Sum of the squared distances from the mean.
    spread: Vec<f64>,
    /// Count times quantile.
    quantiles: Option<[Vec<f64>; 5]>,
    count: f64,
}

impl Sums {
    fn of(stats: &FeatureStats) -> Self {
        let count = stats.count as f64;
        let weighted = |values: &Vec<f64>| values.iter().map(|value| value * count).collect();
        Self {
            min: stats.min.clone(),
            max: stats.max.clone(),
            mean: stats.mean.clone(),
            spread: stats.std.iter().map(|std| std * std * count).collect(),
            quantiles: stats
                .quantiles
                .as_ref()
                .map(|all| all.each_ref().map(weighted)),
            count,
        }
    }

    /// Chan's parallel variance: exact where a difference of large squares would not be.
    fn add(&mut self, stats: &FeatureStats) {
        let other = Self::of(stats);
        let count = self.count + other.count;
        if count == 0.0 {
            return;
        }
        let apart: Vec<_> = self
            .mean
            .iter()
            .zip(&other.mean)
            .map(|(a, b)| b - a)
            .collect();
        fold(&mut self.min, &other.min, f64::min);
        fold(&mut self.max, &other.max, f64::max);
        fold(&mut self.mean, &apart, |mean, apart| {
            mean + apart * other.count / count
        });
        fold(&mut self.spread, &other.spread, |a, b| a + b);
        let between = self.count * other.count / count;
        fold(&mut self.spread, &apart, |spread, apart| {
            spread + apart * apart * between
        });
        self.quantiles = match (self.quantiles.take(), other.quantiles) {
            (Some(mut mine), Some(theirs)) => {
                for (mine, theirs) in mine.iter_mut().zip(&theirs) {
                    fold(mine, theirs, |a, b| a + b);
                }
                Some(mine)
            }
            _ => None,
        };
        self.count = count;
    }

    fn finish(self) -> FeatureStats {
        let count = self.count.max(1.0);
        let divided = |values: Vec<f64>| values.into_iter().map(|value| value / count).collect();
        FeatureStats {
            min: self.min,
            max: self.max,
            mean: self.mean,
            std: self
                .spread
                .into_iter()
                .map(|spread| (spread / count).sqrt())
                .collect(),
            count: self.count as u64,
            quantiles: self.quantiles.map(|all| all.map(divided)),
        }
    }
}

fn fold(into: &mut [f64], from: &[f64], join: impl Fn(f64, f64) -> f64) {
    for (kept, &value) in into.iter_mut().zip(from) {
        *kept = join(*kept, value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Running;
    use super::*;

    fn episode(values: &[f64]) -> Stats {
        let mut running = Running::new(1);
        running.push_rows(values);
        vec![("action".to_owned(), running.finish().unwrap())]
    }

    #[test]
    fn mean_and_deviation_are_those_of_all_rows() {
        let far = 1e9;
        let parts = [
            &[far + 1.0, far + 2.0, far + 6.0][..],
            &[far - 4.0],
            &[far, far + 1.0],
        ];
        let joined = aggregate(&parts.map(episode));
        let whole = episode(&parts.concat());
        let (joined, whole) = (&joined[0].1, &whole[0].1);
        assert_eq!(
            (&joined.min, &joined.max, joined.count),
            (&whole.min, &whole.max, 6)
        );
        assert!((joined.mean[0] - whole.mean[0]).abs() < 1e-6);
        assert!(
            (joined.std[0] - whole.std[0]).abs() < 1e-6,
            "{} {}",
            joined.std[0],
            whole.std[0]
        );
    }

    #[test]
    fn quantiles_are_weighted_by_the_counts() {
        let joined = aggregate(&[episode(&[1.0, 1.0, 1.0]), episode(&[5.0])]);
        assert_eq!(joined[0].1.quantiles.as_ref().unwrap()[2], [2.0]);
    }

    #[test]
    fn an_episode_without_quantiles_takes_them_from_all() {
        let mut old = episode(&[1.0]);
        old[0].1.quantiles = None;
        let joined = aggregate(&[old, episode(&[2.0])]);
        assert_eq!((joined[0].1.count, &joined[0].1.quantiles), (2, &None));
        assert!(aggregate(&[]).is_empty());
    }
}
