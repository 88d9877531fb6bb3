//! Runs the stages of a chunk one by one, waiting for the device between them, to time them or to count what they do.

use std::cell::RefCell;
use std::time::Instant;

use burn::tensor::{Tensor, TensorData};

use super::account::{Account, Moment};
use super::case::{Choice, Loaded, precision};
use super::own;
use super::report::{ChunkAccount, ChunkRun, StageRun};
use crate::cli::cost::Way;
use crate::cli::memory::peak_rss_bytes;
use crate::gpu::{self, Launches, OpenedDevice, count_launches, time_launches};
use crate::policy::NetworkInput;
use crate::policy::smolvla::naive::NaiveSmolVla;
use crate::policy::smolvla::prepared::PreparedSmolVla;
use crate::policy::smolvla::{EulerSteps, NetworkError, PrefixCache, Sample, SmolVla, Trace};

pub type Result<T> = std::result::Result<T, NetworkError>;

/// What is looked at. Counting slows the host, and timing each kernel slows the device, so that no two are done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Time,
    /// Kernels, submissions, copies, memory.
    Count,
    /// Each kernel by the device's own time stamps.
    Clock,
}

/// A network, what it is given, and where.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    pub device: &'a OpenedDevice,
    pub network: &'a Loaded,
    pub input: &'a NetworkInput,
    pub steps: &'a EulerSteps,
}

/// What was seen of one stage.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub run: StageRun,
    pub account: Account,
    pub times: gpu::LaunchTimes,
}

/// What was seen of one chunk.
#[derive(Clone, Debug, Default)]
pub struct ChunkSeen {
    pub vision: Seen,
    pub prefix: Seen,
    pub denoise: Seen,
    pub peak_rss_bytes: [Option<u64>; 3],
}

impl Watch<'_> {
    /// Who computes, and with what weights.
    pub fn choice(&self) -> Choice {
        self.network.choice()
    }

    /// The same in words.
    pub fn title(&self) -> String {
        title(self.choice())
    }

    /// The answer of the network's own sampler, which is what flies, `[batch, chunk_size, max_action_dim]`.
    ///
    /// # Errors
    /// An input that does not fit, or a device that fails.
    pub fn flown(&self) -> Result<Vec<f32>> {
        self.traced(&mut Trace::off())
    }

    /// The same, showing every stage to `trace`.
    ///
    /// # Errors
    /// As [`Watch::flown`].
    pub fn traced(&self, trace: &mut Trace) -> Result<Vec<f32>> {
        Ok(self.sampled(self.steps.times.len(), trace)?.actions)
    }

    fn sampled(&self, steps: usize, trace: &mut Trace) -> Result<Sample> {
        let input = self.input;
        match self.network {
            Loaded::Own(network) => {
                let network: &RefCell<PreparedSmolVla> = network;
                network
                    .borrow_mut()
                    .sample_actions(input, steps, None, trace)
            }
            Loaded::Burn(network) => network.sample_actions(input, steps, None, trace),
            Loaded::Naive(network) => network.sample_actions(input, steps, None, trace),
        }
    }

    /// One timed chunk, and the answer.
    ///
    /// # Errors
    /// As [`Watch::flown`].
    pub fn run(&self) -> Result<(ChunkRun, Vec<f32>)> {
        let (seen, actions) = match self.network {
            Loaded::Own(network) => {
                let compute = network.borrow().compute().clone();
                let sample = |trace: &mut Trace| self.traced(trace);
                let (mut seen, actions) =
                    own::by_stages(self.device, &compute, Look::Time, sample)?;
                // The steps end with the answer, so that the mark comes when the device is done.
                let host = network.borrow().denoise_host();
                seen.denoise.run.host_ms = Some(host.as_secs_f64() * 1e3);
                (seen, actions)
            }
            Loaded::Burn(network) => self.by_stages(network, Look::Time)?,
            Loaded::Naive(_) => {
                let sample = self.sampled(self.steps.times.len(), &mut Trace::off())?;
                return Ok((timed(&sample), sample.actions));
            }
        };
        let run = ChunkRun {
            vision: seen.vision.run,
            prefix: seen.prefix.run,
            denoise: seen.denoise.run,
            peak_rss_bytes: seen.peak_rss_bytes,
        };
        Ok((run, actions))
    }

    /// What a chunk makes the device do.
    ///
    /// # Errors
    /// As [`Watch::flown`].
    pub fn count(&self) -> Result<ChunkAccount> {
        let seen = match self.network {
            Loaded::Own(network) => {
                let compute = network.borrow().compute().clone();
                let look = Look::Count;
                let (mut seen, _) =
                    own::by_stages(self.device, &compute, look, |trace| self.traced(trace))?;
                own::list_kernels(&network.borrow(), &mut seen);
                seen
            }
            Loaded::Burn(network) => self.by_stages(network, Look::Count)?.0,
            Loaded::Naive(network) => return self.count_naive(network),
        };
        Ok(ChunkAccount {
            vision: seen.vision.account,
            prefix: seen.prefix.account,
            denoise: seen.denoise.account,
            submits: None,
        })
    }

    /// Writes into `account` what each kernel takes on the device, where that has time stamps.
    ///
    /// # Errors
    /// As [`Watch::flown`].
    pub fn clock(&self, account: &mut ChunkAccount) -> Result<()> {
        if !has_time_stamps(self.device) {
            return Ok(());
        }
        let stages = [
            &mut account.vision,
            &mut account.prefix,
            &mut account.denoise,
        ];
        match self.network {
            Loaded::Own(network) => own::clock(&network.borrow(), stages),
            Loaded::Burn(network) => {
                let (seen, _) = self.by_stages(network, Look::Clock)?;
                let times = [seen.vision.times, seen.prefix.times, seen.denoise.times];
                for (account, times) in stages.into_iter().zip(&times) {
                    account.timed(times);
                }
                Ok(())
            }
            Loaded::Naive(_) => Ok(()),
        }
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

    /// Every Euler step of the reference's way launches the same, so one and two steps tell the rest.
    fn count_naive(&self, network: &NaiveSmolVla) -> Result<ChunkAccount> {
        let trace = &mut Trace::off();
        let (prefix, vision) = count_launches(|| network.embed_prefix(self.input, trace));
        let (waited, wait) = count_launches(|| wait_for(&prefix?.embs));
        waited?;
        let launches = |count| {
            let (sampled, launches) = count_launches(|| self.sampled(count, &mut Trace::off()));
            sampled.map(|_| launches.total)
        };
        let (one, two) = (launches(1)?, launches(2)?);
        let a_step = two - one;
        let before = Moment::of(self.device, None);
        self.flown()?;
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

/// Who computes, and with what weights, in words.
pub fn title((way, format): Choice) -> String {
    match way {
        Way::Own => format!("{way}, {}", precision(format)),
        Way::Burn | Way::Naive => way.to_string(),
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
