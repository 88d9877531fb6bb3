//! How long a policy takes to answer on a virtual clock: a model, drawn for each request from a seed, so that a run with
//! jitter is the same twice.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, LogNormal};

/// From request to answer.
#[derive(Clone, Debug, PartialEq)]
pub enum LatencyModel {
    /// Always the same.
    Constant(Duration),
    /// Log-normal, as times on a busy machine are: never below zero, and now and then much longer.
    LogNormal {
        mean: Duration,
        /// Standard deviation.
        sd: Duration,
        seed: u64,
    },
    /// One of these, as they were measured.
    Measured { times: Arc<[Duration]>, seed: u64 },
}

impl From<Duration> for LatencyModel {
    fn from(latency: Duration) -> Self {
        Self::Constant(latency)
    }
}

impl LatencyModel {
    /// The time that the request with this number takes.
    pub fn draw(&self, request: u64) -> Duration {
        let rng = |seed: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(request);
            rng
        };
        match self {
            Self::Constant(latency) => *latency,
            Self::LogNormal { mean, sd, seed } => {
                let cv = sd.as_secs_f64() / mean.as_secs_f64();
                // A mean of nothing has no shape.
                LogNormal::from_mean_cv(mean.as_secs_f64(), cv).map_or(*mean, |normal| {
                    Duration::from_secs_f64(normal.sample(&mut rng(*seed)))
                })
            }
            Self::Measured { times, seed } if !times.is_empty() => {
                times[rng(*seed).random_range(0..times.len())]
            }
            Self::Measured { .. } => Duration::ZERO,
        }
    }

    /// The mean of what it draws.
    pub fn mean(&self) -> Duration {
        match self {
            Self::Constant(latency) => *latency,
            Self::LogNormal { mean, .. } => *mean,
            Self::Measured { times, .. } => match times.len() {
                0 => Duration::ZERO,
                count => times.iter().sum::<Duration>() / count as u32,
            },
        }
    }

    /// The same model on a device that is slower by this factor.
    #[must_use]
    pub fn slowed(&self, factor: u32) -> Self {
        match self {
            Self::Constant(latency) => Self::Constant(*latency * factor),
            Self::LogNormal { mean, sd, seed } => Self::LogNormal {
                mean: *mean * factor,
                sd: *sd * factor,
                seed: *seed,
            },
            Self::Measured { times, seed } => Self::Measured {
                times: times.iter().map(|time| *time * factor).collect(),
                seed: *seed,
            },
        }
    }

    /// The same model with draws of another seed.
    #[must_use]
    pub fn reseeded(&self, seed: u64) -> Self {
        match self {
            Self::Constant(latency) => Self::Constant(*latency),
            Self::LogNormal { mean, sd, .. } => Self::LogNormal {
                mean: *mean,
                sd: *sd,
                seed,
            },
            Self::Measured { times, .. } => Self::Measured {
                times: Arc::clone(times),
                seed,
            },
        }
    }
}

impl fmt::Display for LatencyModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: &Duration| time.as_secs_f64() * 1000.0;
        match self {
            Self::Constant(latency) => write!(f, "{:.0} ms", ms(latency)),
            Self::LogNormal { mean, sd, .. } => {
                write!(f, "{:.0} ± {:.0} ms", ms(mean), ms(sd))
            }
            Self::Measured { times, .. } => {
                write!(
                    f,
                    "{:.0} ms, measured {} times",
                    ms(&self.mean()),
                    times.len()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn draws_depend_on_the_seed_and_the_request_alone() {
        let model = LatencyModel::LogNormal {
            mean: 300 * MS,
            sd: 60 * MS,
            seed: 4,
        };
        let draws: Vec<_> = (0..2000).map(|request| model.draw(request)).collect();
        assert_eq!(draws[7], model.draw(7));
        assert_ne!(draws[7], draws[8]);
        assert_ne!(draws[7], model.reseeded(5).draw(7));
        let mean = draws.iter().sum::<Duration>() / 2000;
        assert!(mean > 290 * MS && mean < 310 * MS, "{mean:?}");
        let longest = draws.iter().max();
        assert!(longest.is_some_and(|longest| *longest > 450 * MS));
    }

    #[test]
    fn measured_times_are_drawn_and_no_others() {
        let times: Arc<[_]> = [20 * MS, 40 * MS].into();
        let model = LatencyModel::Measured { times, seed: 1 };
        let draws: Vec<_> = (0..50).map(|request| model.draw(request)).collect();
        assert!(draws.contains(&(20 * MS)) && draws.contains(&(40 * MS)));
        assert_eq!(model.mean(), 30 * MS);
        assert_eq!(model.slowed(10).mean(), 300 * MS);
        let none = LatencyModel::Measured {
            times: Arc::default(),
            seed: 1,
        };
        assert_eq!(
            (none.draw(3), none.mean()),
            (Duration::ZERO, Duration::ZERO)
        );
    }
}
