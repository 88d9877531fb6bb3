//! The starting noise of a chunk: drawn from a seed, the same on every machine, or given.

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

use super::Noise;

/// `count` values of the flow's start.
///
/// # Errors
/// In words, when given values are of another number or not finite.
pub fn values(noise: &Noise, count: usize) -> Result<Vec<f32>, String> {
    match noise {
        Noise::Seed(seed) => {
            let mut rng = ChaCha8Rng::seed_from_u64(*seed);
            Ok((0..count)
                .map(|_| StandardNormal.sample(&mut rng))
                .collect())
        }
        Noise::Values(values) if values.len() != count => Err(format!(
            "the noise has {} values; a chunk of this network takes {count}",
            values.len()
        )),
        Noise::Values(values) if values.iter().any(|value| !value.is_finite()) => {
            Err("the noise holds a value that is not a number".into())
        }
        Noise::Values(values) => Ok(values.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_normal_draw_again() {
        let draw = |seed| values(&Noise::Seed(seed), 20_000).unwrap();
        let a = draw(7);
        assert_eq!(a, draw(7));
        assert_ne!(a, draw(8));
        let mean = a.iter().sum::<f32>() / a.len() as f32;
        let variance = a.iter().map(|x| x * x).sum::<f32>() / a.len() as f32;
        assert!(
            mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
    }

    #[test]
    fn given_noise_must_fit() {
        assert!(values(&Noise::Values(vec![0.0; 3]), 4).is_err());
        assert!(values(&Noise::Values(vec![f32::NAN; 4]), 4).is_err());
        assert_eq!(values(&Noise::Values(vec![1.0; 4]), 4).unwrap(), [1.0; 4]);
    }
}
