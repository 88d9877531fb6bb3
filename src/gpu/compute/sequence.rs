//! A prepared sequence of launches: nothing is compiled, bound or allocated when it is replayed.

use std::time::Duration;

use serde::Serialize;

use super::compile::Pending;
use super::share::fitting;
use super::{Buffer, Compute, Error, Slice, add};

/// What a launch costs by formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// 2·MAC of matrix products.
    pub flops: u64,
    /// Bytes that must be fetched and stored at least.
    pub bytes: u64,
}

/// One launch of a bound kernel.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Its place in the network, for example `expert.3.qkv`.
    pub label: String,
    /// File name of its shader.
    pub kernel: &'static str,
    pub(super) pipeline: Pending,
    pub(super) group: wgpu::BindGroup,
    /// Workgroups launched.
    pub workgroups: [u32; 3],
    pub work: Work,
}

/// Launches that are timed together.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    pub name: &'static str,
    pub dispatches: Vec<Dispatch>,
}

/// What one stage took on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StageTime {
    pub name: &'static str,
    pub time: Duration,
}

/// Stages in order, with what is needed to time them.
#[derive(Clone, Debug)]
pub struct Sequence {
    stages: Vec<Stage>,
    clock: Option<Clock>,
}

/// Two time stamps a stage.
#[derive(Clone, Debug)]
struct Clock {
    stamps: wgpu::QuerySet,
    resolved: Buffer,
    staging: Buffer,
}

/// Commands on their way to the queue.
#[derive(Debug)]
pub struct Flow<'a> {
    compute: &'a Compute,
    encoder: wgpu::CommandEncoder,
    launches: u64,
    /// FLOP in this submission, and how many it may have.
    given: u64,
    longest: Option<u64>,
}

impl Sequence {
    /// Prepares `stages`. With `timed`, and where the adapter has time stamps, each stage is timed on the device.
    pub fn new(compute: &Compute, stages: Vec<Stage>, timed: bool) -> Self {
        let timed = timed && compute.abilities().timestamps && !stages.is_empty();
        let clock = timed.then(|| Clock::new(compute, stages.len()));
        Self { stages, clock }
    }

    /// Its stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Launches in all stages.
    pub fn launches(&self) -> usize {
        self.stages.iter().map(|stage| stage.dispatches.len()).sum()
    }

    /// Encodes every stage, one compute pass each.
    pub fn encode(&self, flow: &mut Flow<'_>) {
        for (index, stage) in (0..).zip(&self.stages) {
            let stamps = self.clock.as_ref().map(|clock| clock.around(index));
            flow.pass(stage.name, &stage.dispatches, stamps.as_ref());
        }
        if let Some(clock) = &self.clock {
            clock.resolve(flow, self.stages.len());
        }
    }

    /// What each stage took in the last run, after waiting for it; empty where the adapter has no time stamps.
    ///
    /// # Errors
    /// The device is lost.
    pub fn times(&self, compute: &Compute) -> Result<Vec<StageTime>, Error> {
        let Some(clock) = &self.clock else {
            return Ok(Vec::new());
        };
        let words = compute.take(&clock.staging, 4 * self.stages.len())?;
        let stamps: Vec<u64> = words
            .chunks_exact(2)
            .map(|pair| u64::from(pair[0].to_bits()) | u64::from(pair[1].to_bits()) << 32)
            .collect();
        let nanoseconds = f64::from(compute.queue().get_timestamp_period());
        let time = |ends: &[u64]| {
            let ticks = ends[1].saturating_sub(ends[0]) as f64;
            Duration::from_nanos((ticks * nanoseconds) as u64)
        };
        let named = self.stages.iter().zip(stamps.chunks_exact(2));
        Ok(named
            .map(|(stage, ends)| StageTime {
                name: stage.name,
                time: time(ends),
            })
            .collect())
    }
}

impl Clock {
    fn new(compute: &Compute, stages: usize) -> Self {
        let count = 2 * stages as u32;
        let stamps = compute
            .device()
            .create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("stage times"),
                ty: wgpu::QueryType::Timestamp,
                count,
            });
        let words = 2 * count as usize;
        use wgpu::BufferUsages as Usage;
        Self {
            stamps,
            resolved: compute.make("stage times", words, Usage::QUERY_RESOLVE | Usage::COPY_SRC),
            staging: compute.staging("stage times", words),
        }
    }

    fn around(&self, stage: u32) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.stamps,
            beginning_of_pass_write_index: Some(2 * stage),
            end_of_pass_write_index: Some(2 * stage + 1),
        }
    }

    fn resolve(&self, flow: &mut Flow<'_>, stages: usize) {
        let range = 0..2 * stages as u32;
        flow.encoder
            .resolve_query_set(&self.stamps, range, &self.resolved.raw, 0);
        let all = self.resolved.slice(0, 4 * stages);
        flow.read_back(&all, &self.staging);
    }
}

impl Compute {
    /// Begins a submission.
    pub fn flow(&self) -> Flow<'_> {
        Flow {
            compute: self,
            encoder: self.encoder(),
            launches: 0,
            given: 0,
            longest: self.longest_submission(),
        }
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        let descriptor = wgpu::CommandEncoderDescriptor { label: None };
        self.0.device.create_command_encoder(&descriptor)
    }
}

impl Flow<'_> {
    /// One compute pass; wgpu orders its launches where they touch the same memory. Where pictures are drawn meanwhile, several
    /// passes, and what is full is submitted at once.
    ///
    /// Numbers without a kernel that the driver has refused would be wrong ones: after such a pass nothing can be read from the
    /// device any more but that refusal. [`Compute::settle`] would have said it before.
    pub fn pass(
        &mut self,
        label: &str,
        dispatches: &[Dispatch],
        stamps: Option<&wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        let (mut rest, mut is_first) = (dispatches, true);
        loop {
            let (part, later) = rest.split_at(fitting(rest, self.given, self.longest));
            if !part.is_empty() || later.is_empty() {
                let ends = stamps.and_then(|ends| part_of(ends, [is_first, later.is_empty()]));
                self.encode(label, part, ends);
                is_first = false;
            }
            if later.is_empty() {
                return;
            }
            self.cut();
            rest = later;
        }
    }

    /// Hands over what there is and goes on with another submission.
    fn cut(&mut self) {
        let next = Flow {
            encoder: self.compute.encoder(),
            launches: 0,
            given: 0,
            ..*self
        };
        std::mem::replace(self, next).submit();
    }

    fn encode(
        &mut self,
        label: &str,
        dispatches: &[Dispatch],
        stamps: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        let mut pass = self
            .encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(label),
                timestamp_writes: stamps,
            });
        for dispatch in dispatches {
            let [x, y, z] = dispatch.workgroups;
            match dispatch.pipeline.wait() {
                Ok(pipeline) => pass.set_pipeline(pipeline),
                Err(refused) => {
                    self.compute.refuse(refused);
                    continue;
                }
            }
            pass.set_bind_group(0, &dispatch.group, &[]);
            pass.dispatch_workgroups(x, y, z);
        }
        drop(pass);
        self.launches += dispatches.len() as u64;
        let works = dispatches.iter().map(|dispatch| dispatch.work.flops);
        self.given += works.sum::<u64>();
    }

    /// Copies a slice into the beginning of a staging buffer.
    pub fn read_back(&mut self, from: &Slice, staging: &Buffer) {
        let (offset, bytes) = from.bytes();
        self.encoder
            .copy_buffer_to_buffer(&from.raw, offset, &staging.raw, 0, bytes);
    }

    /// Copies between buffers on the device.
    pub fn copy(&mut self, from: &Slice, to: &Slice) {
        let ((source, bytes), (target, _)) = (from.bytes(), to.bytes());
        self.encoder
            .copy_buffer_to_buffer(&from.raw, source, &to.raw, target, bytes);
    }

    /// Hands everything to the queue.
    pub fn submit(self) {
        let compute = self.compute;
        compute.0.queue.submit([self.encoder.finish()]);
        compute.sent_off();
        compute.gave(self.given);
        add(&compute.0.tally.kernels, self.launches);
        add(&compute.0.tally.submissions, 1);
    }
}

/// The stamps of one of several passes: the first one begins, the last one ends.
fn part_of<'a>(
    ends: &wgpu::ComputePassTimestampWrites<'a>,
    [is_first, is_last]: [bool; 2],
) -> Option<wgpu::ComputePassTimestampWrites<'a>> {
    let begin = ends.beginning_of_pass_write_index.filter(|_| is_first);
    let end = ends.end_of_pass_write_index.filter(|_| is_last);
    (begin.is_some() || end.is_some()).then_some(wgpu::ComputePassTimestampWrites {
        query_set: ends.query_set,
        beginning_of_pass_write_index: begin,
        end_of_pass_write_index: end,
    })
}
