//! Runs the stages of a chunk one by one, waiting for the device between them, to time them or to count what they do.

use std::time::Instant;

use burn::tensor::{Tensor, TensorData};

use super::account::{Account, Moment};
use super::report::{ChunkAccount, ChunkRun, StageRun};
use crate::cli::cost::Way;
use crate::cli::memory::peak_rss_bytes;
use crate::gpu::compute::Format;
use crate::gpu::{self, Launches, OpenedDevice, count_launches, time_launches};
use crate::policy::NetworkInput;
use crate::policy::smolvla::naive::NaiveSmolVla;
use crate::policy::smolvla::{EulerSteps, NetworkError, PrefixCache, Sample, SmolVla, Trace};

type Result<T> = std::result::Result<T, NetworkError>;

/// What is looked at. Counting slows the host, and timing each kernel slows the device, so that no two are done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Time,
    /// Kernels, submissions, copies, memory.
    Count,
    /// Each kernel by the device's own time stamps.
    Clock,
}

/// A network that computes the chunk.
#[derive(Clone, Copy, Debug)]
pub enum Network<'a> {
    Burn(&'a SmolVla),
    Naive(&'a NaiveSmolVla),
}

/// A network, what it is given, and where.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    pub device: &'a OpenedDevice,
    pub network: Network<'a>,
    pub input: &'a NetworkInput,
    pub steps: &'a EulerSteps,
}

/// What was seen of one stage.
#[derive(Clone, Debug, Default)]
struct Seen {
    run: StageRun,
    account: Account,
    times: gpu::LaunchTimes,
}

/// What was seen of one chunk.
#[derive(Clone, Debug, Default)]
struct ChunkSeen {
    vision: Seen,
    prefix: Seen,
    denoise: Seen,
    peak_rss_bytes: [Option<u64>; 3],
}

impl Watch<'_> {
    /// Who computes.
    pub fn way(&self) -> Way {
        match self.network {
            Network::Burn(_) => Way::Burn,
            Network::Naive(_) => Way::Naive,
        }
    }

    /// How its weights are stored.
    pub fn format(&self) -> Format {
        match self.network {
            Network::Burn(_) | Network::Naive(_) => Format::F32,
        }
    }

    /// Who computes, and with what weights.
    pub fn title(&self) -> String {
        match self.format() {
            Format::F32 => self.way().to_string(),
            Format::F16 => format!("{}, f16", self.way()),
            Format::I8 => format!("{}, int8", self.way()),
        }
    }

    /// The answer of the network's own sampler, which is what flies.
    ///
    /// # Errors
    /// As [`Watch::run`].
    pub fn flown(&self) -> Result<Vec<f32>> {
        self.traced(&mut Trace::off())
    }

    /// The same, showing every stage to `trace`.
    ///
    /// # Errors
    /// As [`Watch::run`].
    pub fn traced(&self, trace: &mut Trace) -> Result<Vec<f32>> {
        let (input, steps) = (self.input, self.steps.times.len());
        let sample = match self.network {
            Network::Burn(network) => network.sample_actions(input, steps, None, trace)?,
            Network::Naive(network) => network.sample_actions(input, steps, None, trace)?,
        };
        Ok(sample.actions)
    }

    /// One timed chunk, and the answer, `[batch, chunk_size, max_action_dim]`.
    ///
    /// # Errors
    /// An input that does not fit, or a device that fails.
    pub fn run(&self) -> Result<(ChunkRun, Vec<f32>)> {
        match self.network {
            Network::Burn(network) => {
                let (seen, actions) = self.by_stages(network, Look::Time)?;
                let run = ChunkRun {
                    vision: seen.vision.run,
                    prefix: seen.prefix.run,
                    denoise: seen.denoise.run,
                    peak_rss_bytes: seen.peak_rss_bytes,
                };
                Ok((run, actions))
            }
            Network::Naive(network) => {
                let sample = self.sampled(network, self.steps.times.len())?;
                Ok((timed(&sample), sample.actions))
            }
        }
    }

    /// What a chunk makes the device do.
    ///
    /// # Errors
    /// As [`Watch::run`].
    pub fn count(&self) -> Result<ChunkAccount> {
        match self.network {
            Network::Burn(network) => {
                let (seen, _) = self.by_stages(network, Look::Count)?;
                Ok(ChunkAccount {
                    vision: seen.vision.account,
                    prefix: seen.prefix.account,
                    denoise: seen.denoise.account,
                    submits: None,
                })
            }
            Network::Naive(network) => self.count_naive(network),
        }
    }

    /// Writes into `account` what each kernel takes on the device, where that has time stamps.
    ///
    /// # Errors
    /// As [`Watch::run`].
    pub fn clock(&self, account: &mut ChunkAccount) -> Result<()> {
        let Network::Burn(network) = self.network else {
            return Ok(());
        };
        if !has_time_stamps(self.device) {
            return Ok(());
        }
        let (seen, _) = self.by_stages(network, Look::Clock)?;
        account.vision.timed(&seen.vision.times);
        account.prefix.timed(&seen.prefix.times);
        account.denoise.timed(&seen.denoise.times);
        Ok(())
    }

    /// The Euler steps are taken here, with the network's own step, so that the stage can be watched; the caller holds the
    /// answer against that of the network's own sampler.
    fn by_stages(&self, network: &SmolVla, look: Look) -> Result<(ChunkSeen, Vec<f32>)> {
        let trace = &mut Trace::off();
        let mut seen = ChunkSeen::default();
        let (features, vision) = self.stage(
            look,
            || network.embed_images(self.input, trace),
            |features| features.as_ref().map_or(Ok(()), wait_for),
        )?;
        seen.vision = vision;
        seen.peak_rss_bytes[0] = peak_rss_bytes();
        let (cache, prefix) = self.stage(
            look,
            || network.prefill(&network.embed_prefix(self.input, features)?, trace),
            PrefixCache::wait,
        )?;
        seen.prefix = prefix;
        seen.peak_rss_bytes[1] = peak_rss_bytes();
        let mut actions = Vec::new();
        let (_, denoise) = self.stage(
            look,
            || {
                let rows = network.time_rows(self.steps);
                let mut x_t = noise(network, self.input);
                for step in 0..self.steps.times.len() {
                    let v_t = network.denoise_step(&cache, x_t.clone(), &rows, step, trace)?;
                    x_t = x_t + v_t.mul_scalar(self.steps.dt);
                }
                Ok(x_t)
            },
            |x_0| {
                actions = values(x_0.clone())?;
                Ok(())
            },
        )?;
        seen.denoise = denoise;
        seen.peak_rss_bytes[2] = peak_rss_bytes();
        Ok((seen, actions))
    }

    /// Runs a stage: `work` gives it to the device, `wait` returns when the device is done.
    fn stage<T>(
        &self,
        look: Look,
        work: impl FnOnce() -> Result<T>,
        wait: impl FnOnce(&T) -> Result<()>,
    ) -> Result<(T, Seen)> {
        let mut seen = Seen::default();
        let done = match look {
            Look::Time => {
                let start = Instant::now();
                let done = work()?;
                let host_ms = milliseconds(start);
                wait(&done)?;
                seen.run = StageRun {
                    ms: milliseconds(start),
                    host_ms: Some(host_ms),
                };
                done
            }
            Look::Count => {
                let before = Moment::of(self.device, None);
                let (done, launches) = count_launches(work);
                let done = done?;
                wait(&done)?;
                seen.account = before.account(&Moment::of(self.device, None), &launches);
                done
            }
            Look::Clock => {
                let (done, times) = time_launches(work);
                let done = done?;
                wait(&done)?;
                seen.times = times;
                done
            }
        };
        Ok((done, seen))
    }

    fn sampled(&self, network: &NaiveSmolVla, steps: usize) -> Result<Sample> {
        network.sample_actions(self.input, steps, None, &mut Trace::off())
    }

    /// Every Euler step of the reference's way launches the same, so one and two steps tell the rest.
    fn count_naive(&self, network: &NaiveSmolVla) -> Result<ChunkAccount> {
        let trace = &mut Trace::off();
        let (prefix, vision) = count_launches(|| network.embed_prefix(self.input, trace));
        let (waited, wait) = count_launches(|| wait_for(&prefix?.embs));
        waited?;
        let launches = |count| {
            let (sampled, launches) = count_launches(|| self.sampled(network, count));
            sampled.map(|_| launches.total)
        };
        let (one, two) = (launches(1)?, launches(2)?);
        let a_step = two - one;
        let before = Moment::of(self.device, None);
        self.sampled(network, self.steps.times.len())?;
        let whole = before.account(&Moment::of(self.device, None), &Launches::default());
        let on_device = whole.submits.is_some();
        let stage = |kernels| Account {
            kernels: on_device.then_some(kernels),
            ..Account::default()
        };
        Ok(ChunkAccount {
            vision: stage(vision.total),
            // The sampler waits twice by reading a value, which is no work of the network.
            prefix: stage(one.saturating_sub(a_step + vision.total + 2 * wait.total)),
            denoise: stage(a_step * self.steps.times.len() as u64),
            submits: whole.submits,
        })
    }
}

fn has_time_stamps(device: &OpenedDevice) -> bool {
    let has = wgpu::Features::TIMESTAMP_QUERY;
    let setup = device.setup.as_ref();
    setup.is_some_and(|setup| setup.device.features().contains(has))
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn timed(sample: &Sample) -> ChunkRun {
    let stage = |time: std::time::Duration| StageRun {
        ms: time.as_secs_f64() * 1e3,
        host_ms: None,
    };
    ChunkRun {
        vision: stage(sample.vision),
        prefix: stage(sample.prefix),
        denoise: stage(sample.denoise),
        peak_rss_bytes: [peak_rss_bytes(); 3],
    }
}

fn noise(network: &SmolVla, input: &NetworkInput) -> Tensor<3> {
    let sizes = network.architecture();
    let shape = [input.batch, sizes.chunk_size, sizes.max_action_dim];
    gpu::note_upload(size_of_val(input.noise.as_slice()));
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
    let values = tensor
        .try_into_vec_as::<f32>()
        .map_err(|error| NetworkError::Device {
            stage: "a stage of the benchmark".to_owned(),
            reason: error.to_string(),
        })?;
    gpu::note_read_back(size_of_val(values.as_slice()));
    Ok(values)
}
