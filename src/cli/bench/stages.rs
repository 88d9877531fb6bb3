//! Runs the stages of a chunk one by one, waiting for the device between them, to time them or to count what they do.

use std::time::Instant;

use burn::tensor::{Tensor, TensorData};

use super::report::{ChunkRun, StageRun};
use crate::cli::memory::peak_rss_bytes;
use crate::gpu::{OpenedDevice, count_launches};
use crate::policy::NetworkInput;
use crate::policy::smolvla::naive::NaiveSmolVla;
use crate::policy::smolvla::{EulerSteps, NetworkError, PrefixCache, Sample, SmolVla, Trace};

type Result<T> = std::result::Result<T, NetworkError>;

/// What is looked at. Counting slows the host, so that the two are never done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Time,
    /// Kernels and submissions; exact, and the same in every run.
    Count,
}

/// Looks at stages on one device.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    pub device: &'a OpenedDevice,
    pub look: Look,
}

impl Watch<'_> {
    /// Runs a stage: `work` gives it to the device, `wait` returns when the device is done.
    fn stage<T>(
        self,
        work: impl FnOnce() -> Result<T>,
        wait: impl FnOnce(&T) -> Result<()>,
    ) -> Result<(T, StageRun)> {
        match self.look {
            Look::Time => {
                let start = Instant::now();
                let done = work()?;
                let host_ms = milliseconds(start);
                wait(&done)?;
                let ms = milliseconds(start);
                let run = StageRun {
                    ms,
                    host_ms: Some(host_ms),
                    ..StageRun::default()
                };
                Ok((done, run))
            }
            Look::Count => {
                let before = self.submission();
                let (done, launches) = count_launches(work);
                let done = done?;
                wait(&done)?;
                let run = StageRun {
                    kernels: launches.total,
                    submits: Some(submits(before, self.submission())),
                    ..StageRun::default()
                };
                Ok((done, run))
            }
        }
    }

    /// The number of an empty submission made now; the CPU has none.
    ///
    /// wgpu numbers submissions, but shows the number only in the debug form of what `submit` returns.
    pub fn submission(self) -> Option<u64> {
        let queue = &self.device.setup.as_ref()?.queue;
        number_in(&format!("{:?}", queue.submit([])))
    }
}

/// Submissions between two empty ones.
pub fn submits(before: Option<u64>, after: Option<u64>) -> u64 {
    let between = |(before, after): (u64, u64)| after.saturating_sub(before + 1);
    before.zip(after).map_or(0, between)
}

/// The only number in a text.
fn number_in(text: &str) -> Option<u64> {
    text.trim_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .ok()
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// One run of the network as it flies, and its answer.
///
/// The Euler steps are taken here, with the network's own step, so that the stage can be watched; the caller holds the
/// answer against that of the network's own sampler.
///
/// # Errors
/// An input that does not fit, or a device that fails.
pub fn run(
    network: &SmolVla,
    input: &NetworkInput,
    steps: &EulerSteps,
    watch: Watch<'_>,
) -> Result<(ChunkRun, Vec<f32>)> {
    let trace = &mut Trace::off();
    let (features, vision) = watch.stage(
        || network.embed_images(input, trace),
        |features| features.as_ref().map_or(Ok(()), wait_for),
    )?;
    let after_vision = peak_rss_bytes();
    let (cache, prefix) = watch.stage(
        || network.prefill(&network.embed_prefix(input, features)?, trace),
        PrefixCache::wait,
    )?;
    let after_prefix = peak_rss_bytes();
    let mut actions = Vec::new();
    let (_, denoise) = watch.stage(
        || {
            let rows = network.time_rows(steps);
            let mut x_t = noise(network, input);
            for step in 0..steps.times.len() {
                let v_t = network.denoise_step(&cache, x_t.clone(), &rows, step, trace)?;
                x_t = x_t + v_t.mul_scalar(steps.dt);
            }
            Ok(x_t)
        },
        |x_0| {
            actions = values(x_0.clone())?;
            Ok(())
        },
    )?;
    let run = ChunkRun {
        vision,
        prefix,
        denoise,
        peak_rss_bytes: [after_vision, after_prefix, peak_rss_bytes()],
    };
    Ok((run, actions))
}

/// One timed run of the reference's way, and the submissions of the whole.
///
/// # Errors
/// As [`run`].
pub fn run_naive(
    network: &NaiveSmolVla,
    input: &NetworkInput,
    steps: &EulerSteps,
    watch: Watch<'_>,
) -> Result<(ChunkRun, u64)> {
    let before = watch.submission();
    let sample = network.sample_actions(input, steps.times.len(), None, &mut Trace::off())?;
    let submitted = submits(before, watch.submission());
    Ok((timed(&sample), submitted))
}

fn timed(sample: &Sample) -> ChunkRun {
    let stage = |time: std::time::Duration| StageRun {
        ms: time.as_secs_f64() * 1e3,
        ..StageRun::default()
    };
    let peak = peak_rss_bytes();
    ChunkRun {
        vision: stage(sample.vision),
        prefix: stage(sample.prefix),
        denoise: stage(sample.denoise),
        peak_rss_bytes: [peak; 3],
    }
}

/// Kernels of the reference's way by stage. Every Euler step launches the same, so one and two steps tell the rest.
///
/// # Errors
/// As [`run`].
pub fn count_naive(
    network: &NaiveSmolVla,
    input: &NetworkInput,
    steps: &EulerSteps,
) -> Result<ChunkRun> {
    let (prefix, vision) = count_launches(|| network.embed_prefix(input, &mut Trace::off()));
    let (waited, wait) = count_launches(|| wait_for(&prefix?.embs));
    waited?;
    let launches = |count| {
        let sample = || network.sample_actions(input, count, None, &mut Trace::off());
        let (sampled, launches) = count_launches(sample);
        sampled.map(|_| launches.total)
    };
    let (one, two) = (launches(1)?, launches(2)?);
    let a_step = two - one;
    let stage = |kernels| StageRun {
        kernels,
        ..StageRun::default()
    };
    Ok(ChunkRun {
        vision: stage(vision.total),
        // The sampler waits twice by reading a value, which is no work of the network.
        prefix: stage(one.saturating_sub(a_step + vision.total + 2 * wait.total)),
        denoise: stage(a_step * steps.times.len() as u64),
        ..ChunkRun::default()
    })
}

fn noise(network: &SmolVla, input: &NetworkInput) -> Tensor<3> {
    let sizes = network.architecture();
    let shape = [input.batch, sizes.chunk_size, sizes.max_action_dim];
    Tensor::from_data(
        TensorData::new(input.noise.clone(), shape),
        network.device(),
    )
}

/// Returns when `tensor` is computed: reads one value of it, because a plain sync does not always wait.
fn wait_for(tensor: &Tensor<3>) -> Result<()> {
    values(tensor.clone().slice([0..1, 0..1, 0..1])).map(|_| ())
}

fn values(tensor: Tensor<3>) -> Result<Vec<f32>> {
    tensor
        .try_into_vec_as::<f32>()
        .map_err(|error| NetworkError::Device {
            stage: "a stage of the benchmark".to_owned(),
            reason: error.to_string(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submissions_are_counted_between_two_empty_ones() {
        assert_eq!(number_in("SubmissionIndex { index: 42 }"), Some(42));
        assert_eq!(number_in("SubmissionIndex"), None);
        assert_eq!(submits(Some(42), Some(43)), 0);
        assert_eq!(submits(Some(42), Some(46)), 3);
        assert_eq!(submits(None, None), 0);
    }
}
