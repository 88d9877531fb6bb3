//! What looks and reads before the expert acts: pictures, words and state in, keys and values where the expert wants them, in two
//! submissions and without the host in between.

use std::time::Duration;

use super::super::error::{NetworkError, Result};
use super::super::expert::Plan;
use super::super::prefix::by_size;
use super::super::trace::Trace;
use super::super::vision::Pictures;
use super::super::weights::Weights;
use super::tower::{Kernels, Loader};
use super::vision::{Geometry, PreparedVision};
use super::vlm::{Layout, PreparedVlm};
use crate::gpu::compute::{Compute, Format, Sequence, Slice};
use crate::policy::{Architecture, NetworkInput};

/// Tower, connector and language layers. Twin: `Vlm`.
#[derive(Debug)]
pub(super) struct PreparedFront {
    kernels: Kernels,
    vision: PreparedVision,
    vlm: PreparedVlm,
    pictures: Geometry,
}

impl PreparedFront {
    /// Reads, packs and uploads; `plan` says which layers the expert looks at. With `half`, tiles are f16 where the adapter has it.
    ///
    /// # Errors
    /// A tensor that does not fit, sizes that the kernels do not take, a format that cannot hold it, or a device that refuses.
    pub(super) fn load(
        weights: &mut Weights<'_>,
        compute: &Compute,
        architecture: &Architecture,
        plan: Plan,
        (format, half): (Format, bool),
    ) -> Result<Self> {
        let served = (architecture.num_expert_layers - 1) * plan.multiple;
        let mut loader = Loader {
            weights,
            compute,
            format,
        };
        Ok(Self {
            vision: PreparedVision::load(&mut loader, architecture)?,
            vlm: PreparedVlm::load(&mut loader, architecture, served)?,
            kernels: Kernels::new(compute, half),
            pictures: Geometry::default(),
        })
    }

    /// Takes the tiles that suit the 450M model, so that a tiny network shows whether a device computes those rightly.
    pub(super) fn use_large_tiles(&mut self) {
        self.kernels.use_large_tiles();
    }

    /// Sends the pictures of the only sample through tower and connector, in one submission; answers the layout of its prefix.
    ///
    /// # Errors
    /// Pictures or words that do not fit, or a device that fails.
    pub(super) fn look(&mut self, input: &NetworkInput, trace: &mut Trace) -> Result<Layout> {
        let mut groups = by_size(input, usize::MAX);
        if groups.len() > 1 {
            return Err(NetworkError::Input("pictures of different sizes".into()));
        }
        let pictures: Option<Pictures<'_>> = groups.pop();
        self.pictures = Geometry::of(pictures.as_ref());
        self.vision.prepare(&mut self.kernels, self.pictures)?;
        if let Some(pictures) = &pictures {
            self.vision.write(&self.kernels, pictures);
            if trace.is_on() {
                self.vision.run_watched(&self.kernels, trace)?;
            } else {
                let mut flow = self.kernels.compute.flow();
                self.vision.encode(&mut flow);
                flow.submit();
            }
        }
        self.vlm.lay_out(input, self.vision.tokens())
    }

    /// Reads the prefix, in one submission. `kv` says where VLM layer i leaves its keys and values.
    ///
    /// # Errors
    /// A device that fails.
    pub(super) fn read(
        &mut self,
        layout: &Layout,
        state: &[f32],
        kv: &dyn Fn(usize) -> Option<Slice>,
        trace: &mut Trace,
    ) -> Result<()> {
        let Some(features) = self.vision.features() else {
            return Ok(());
        };
        self.vlm
            .prepare(&mut self.kernels, layout.rows(), features, kv)?;
        self.vlm.write(&self.kernels, layout, state);
        if trace.is_on() {
            return self.vlm.run_watched(&self.kernels, trace);
        }
        let mut flow = self.kernels.compute.flow();
        self.vlm.encode(&mut flow);
        flow.submit();
        Ok(())
    }

    /// The prepared launches of tower and prefix, once there was a chunk.
    pub(super) fn sequences(&self) -> [Option<&Sequence>; 2] {
        [self.vision.sequence(), self.vlm.sequence()]
    }

    /// What tower and prefix took on the device in the last chunk, after it is done; `None` where the adapter has no time stamps.
    ///
    /// # Errors
    /// The device is lost.
    pub(super) fn times(&self) -> Result<[Option<Duration>; 2]> {
        let compute = &self.kernels.compute;
        let seen = self.pictures.pictures > 0;
        let time = |sequence: Option<&Sequence>| -> Result<Option<Duration>> {
            let Some(sequence) = sequence else {
                return Ok(None);
            };
            let times = sequence.times(compute)?;
            Ok((!times.is_empty()).then(|| times.iter().map(|stage| stage.time).sum()))
        };
        let vision = self.vision.sequence().filter(|_| seen);
        Ok([time(vision)?, time(self.vlm.sequence())?])
    }
}
