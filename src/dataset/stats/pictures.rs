//! Statistics of a camera's pictures, from exact histograms of its colours.

use serde::{Deserialize, Serialize};

use super::{FeatureStats, QUANTILES};
use crate::dataset::video::pixels::sampled;

/// What `count` of a camera counts. LeRobot counts pictures when it encodes after an episode, pixels when it encodes during it;
/// one data set must not mix them, as its mean is weighted by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PictureCount {
    #[default]
    Pictures,
    Pixels,
}

/// Gathers the pictures of one camera: 6 KiB, whatever their number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pictures {
    /// How often each level of each colour was seen, red first: 3 * 256.
    levels: Vec<u64>,
    pictures: u64,
}

impl Default for Pictures {
    fn default() -> Self {
        Self {
            levels: vec![0; 3 * 256],
            pictures: 0,
        }
    }
}

impl Pictures {
    /// Adds a picture: RGB, 8 bits a colour, row-major. Large ones are thinned as LeRobot does.
    pub fn push(&mut self, width: u32, height: u32, rgb: &[u8]) {
        let (red, rest) = self.levels.split_at_mut(256);
        let (green, blue) = rest.split_at_mut(256);
        for [r, g, b] in sampled(rgb, width, height) {
            red[r as usize] += 1;
            green[g as usize] += 1;
            blue[b as usize] += 1;
        }
        self.pictures += 1;
    }

    /// Adds what another gathered of the same camera.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.levels.iter_mut().zip(&other.levels) {
            *mine += theirs;
        }
        self.pictures += other.pictures;
    }

    /// Pictures so far.
    pub fn count(&self) -> u64 {
        self.pictures
    }

    /// The statistics by colour, 0 to 1; `None` without a picture.
    pub fn finish(&self, count: PictureCount) -> Option<FeatureStats> {
        let pixels: u64 = self.levels.get(..256)?.iter().sum();
        if pixels == 0 || self.levels.len() != 3 * 256 {
            return None;
        }
        let colours: Vec<_> = self.levels.chunks_exact(256).collect();
        let each = |of: &dyn Fn(&[u64]) -> f64| colours.iter().map(|levels| of(levels)).collect();
        let quantiles = QUANTILES.map(|(_, share)| each(&|levels| quantile(levels, pixels, share)));
        Some(FeatureStats {
            min: each(&|levels| value_at(levels, 0)),
            max: each(&|levels| value_at(levels, pixels - 1)),
            mean: each(&|levels| mean(levels, pixels)),
            std: each(&|levels| deviation(levels, pixels)),
            count: match count {
                PictureCount::Pictures => self.pictures,
                PictureCount::Pixels => pixels,
            },
            quantiles: Some(quantiles),
        })
    }
}

fn mean(levels: &[u64], pixels: u64) -> f64 {
    let sum: f64 = (0u32..)
        .zip(levels)
        .map(|(level, &seen)| f64::from(level) * seen as f64)
        .sum();
    sum / pixels as f64 / 255.0
}

fn deviation(levels: &[u64], pixels: u64) -> f64 {
    let middle = mean(levels, pixels) * 255.0;
    let squares = (0u32..)
        .zip(levels)
        .map(|(level, &seen)| (f64::from(level) - middle).powi(2) * seen as f64);
    (squares.sum::<f64>() / pixels as f64).sqrt() / 255.0
}

/// The value of the pixel at `rank` of the sorted pixels, 0 to 1.
fn value_at(levels: &[u64], rank: u64) -> f64 {
    let mut seen = 0;
    let level = levels.iter().position(|&here| {
        seen += here;
        seen > rank
    });
    level.unwrap_or(255) as f64 / 255.0
}

fn quantile(levels: &[u64], pixels: u64, share: f64) -> f64 {
    let rank = share * (pixels - 1) as f64;
    let below = rank.floor() as u64;
    let (low, high) = (
        value_at(levels, below),
        value_at(levels, (below + 1).min(pixels - 1)),
    );
    low + (high - low) * (rank - below as f64)
}

#[cfg(test)]
mod tests {
    use super::super::Running;
    use super::*;

    /// Some picture, another for each seed.
    fn picture(width: u32, height: u32, seed: u32) -> Vec<u8> {
        let bytes = 0..width * height * 3;
        bytes
            .map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(seed * 77) >> 13) as u8)
            .collect()
    }

    #[test]
    fn pictures_agree_with_rows_of_their_pixels() {
        let (mut pictures, mut rows) = (Pictures::default(), Running::new(3));
        for seed in 0..3 {
            let rgb = picture(20, 10, seed);
            pictures.push(20, 10, &rgb);
            for pixel in rgb.chunks(3) {
                rows.push(&[0, 1, 2].map(|at| f64::from(pixel[at]) / 255.0));
            }
        }
        let (fast, slow) = (
            pictures.finish(PictureCount::Pixels).unwrap(),
            rows.finish().unwrap(),
        );
        assert_eq!(
            (fast.count, &fast.min, &fast.max),
            (600, &slow.min, &slow.max)
        );
        let pairs = |a: &FeatureStats, b: &FeatureStats| {
            let flat = |stats: &FeatureStats| {
                let mut all = [stats.mean.clone(), stats.std.clone()].concat();
                all.extend(stats.quantiles.as_ref().unwrap().concat());
                all
            };
            flat(a).into_iter().zip(flat(b)).collect::<Vec<_>>()
        };
        for (fast, slow) in pairs(&fast, &slow) {
            assert!((fast - slow).abs() < 1e-9, "{fast} for {slow}");
        }
        assert_eq!(pictures.finish(PictureCount::Pictures).unwrap().count, 3);
    }

    #[test]
    fn large_pictures_are_thinned_as_lerobot_does() {
        let mut pictures = Pictures::default();
        pictures.push(640, 480, &picture(640, 480, 0));
        assert_eq!(
            pictures.finish(PictureCount::Pixels).unwrap().count,
            160 * 120
        );
    }

    #[test]
    fn gathering_apart_and_merging_is_gathering_together() {
        let (mut apart, mut other, mut together) = (
            Pictures::default(),
            Pictures::default(),
            Pictures::default(),
        );
        for seed in 0..4 {
            let rgb = picture(8, 6, seed);
            if seed % 2 == 0 {
                &mut apart
            } else {
                &mut other
            }
            .push(8, 6, &rgb);
            together.push(8, 6, &rgb);
        }
        apart.merge(&other);
        assert_eq!(apart, together);
        assert!(Pictures::default().finish(PictureCount::Pictures).is_none());
    }
}
