//! Compiles kernels on all cores while weights are read and plans are made, and none of them twice.
//!
//! A driver takes 10 to 200 ms for a kernel, and a network has some thirty of them; one after another that would be seconds
//! before the first chunk.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::{Binding, Compute, Error, Kernel, KernelSpec};
use crate::gpu::open::words;
use crate::gpu::shaders::Shader;

/// Every kernel that was asked for; they stay as long as the device is open, whatever policy is loaded.
pub(super) type Kernels = Mutex<BTreeMap<Recipe, Kernel>>;

/// What tells one compiled kernel from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Recipe {
    /// The shader's file, which is cheaper to compare than its text.
    name: &'static str,
    eights: bool,
    half: bool,
    bindings: Vec<Binding>,
    /// Names and bits of values.
    constants: Vec<(String, u64)>,
}

impl From<&KernelSpec<'_>> for Recipe {
    fn from(spec: &KernelSpec<'_>) -> Self {
        let constants = spec.constants.iter();
        Self {
            name: spec.shader.name,
            eights: spec.shader.eights,
            half: spec.half,
            bindings: spec.bindings.to_vec(),
            constants: constants
                .map(|(name, value)| ((*name).to_owned(), value.to_bits()))
                .collect(),
        }
    }
}

/// A pipeline that is being compiled, or was.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending(Arc<OnceLock<Result<wgpu::ComputePipeline, Error>>>);

impl Pending {
    /// Waits for the compiler.
    ///
    /// # Errors
    /// What it said.
    pub(super) fn wait(&self) -> Result<&wgpu::ComputePipeline, Error> {
        self.0.wait().as_ref().map_err(Error::clone)
    }

    /// Whether it was refused, so that another attempt may be made.
    pub(super) fn has_failed(&self) -> bool {
        self.0.get().is_some_and(Result::is_err)
    }
}

/// Threads that do nothing else: half as many as there are cores, so that reading goes on beside them. `None` where the system
/// gives none; whoever asks for a kernel compiles it then.
fn compilers() -> Option<&'static rayon::ThreadPool> {
    static COMPILERS: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    let start = || {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(cores.div_ceil(2))
            .thread_name(|number| format!("compile-{number}"));
        threads.build().ok()
    };
    COMPILERS.get_or_init(start).as_ref()
}

impl Compute {
    pub(super) fn kernels(&self) -> MutexGuard<'_, BTreeMap<Recipe, Kernel>> {
        let kernels = self.0.pipelines.lock();
        kernels.unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to compile on a thread of the compilers.
    pub(super) fn compile(
        &self,
        shader: Shader,
        recipe: Recipe,
        layout: wgpu::BindGroupLayout,
    ) -> Pending {
        let pending = Pending::default();
        let (compute, slot) = (self.clone(), pending.clone());
        let work = move || {
            // Compilers are foreign code: some panic instead of returning.
            let make =
                || compute.checked(shader.name, || compute.pipeline(shader, &recipe, &layout));
            let made = catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| {
                Err(Error {
                    what: shader.name.to_owned(),
                    reason: words(&*panic),
                })
            });
            slot.0.get_or_init(|| made);
        };
        match compilers() {
            Some(compilers) => compilers.spawn(work),
            None => work(),
        }
        pending
    }

    fn pipeline(
        &self,
        shader: Shader,
        recipe: &Recipe,
        layout: &wgpu::BindGroupLayout,
    ) -> wgpu::ComputePipeline {
        let device = &self.0.device;
        let constants: Vec<(&str, f64)> = recipe
            .constants
            .iter()
            .map(|(name, bits)| (name.as_str(), f64::from_bits(*bits)))
            .collect();
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(shader.name),
            bind_group_layouts: &[Some(layout)],
            immediate_size: 0,
        });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(shader.name),
            layout: Some(&pipeline_layout),
            module: &if recipe.half {
                shader.half_module(device)
            } else {
                shader.module(device)
            },
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                // Kernels write every word of workgroup memory before they read it.
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        })
    }

    /// A pass went without a kernel: from now on whoever waits for the device hears this.
    pub(super) fn refuse(&self, refused: Error) {
        self.0.refused.get_or_init(|| refused);
    }

    /// Waits until every kernel that was asked for is compiled; `told` hears the share that is. What was refused is told once and
    /// then forgotten: another policy, or another precision, may do without it.
    ///
    /// # Errors
    /// The first one that the driver refuses, with its words.
    pub fn settle(&self, told: &mut dyn FnMut(f32)) -> Result<(), Error> {
        let pending: Vec<Pending> = {
            let kernels = self.kernels();
            kernels
                .values()
                .map(|kernel| kernel.pipeline.clone())
                .collect()
        };
        for (done, pipeline) in pending.iter().enumerate() {
            if let Err(refused) = pipeline.wait() {
                self.kernels()
                    .retain(|_, kernel| !kernel.pipeline.has_failed());
                return Err(refused);
            }
            told((done + 1) as f32 / pending.len() as f32);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::compute::Work;
    use crate::gpu::kernels::testing;

    const FILL: Shader = Shader {
        name: "fill",
        source: "override VALUE: f32 = 1.0;
            @group(0) @binding(0) var<storage, read_write> out: array<f32>;
            @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = VALUE; }",
        eights: false,
    };
    /// More threads than any device has.
    const CROWDED: Shader = Shader {
        name: "crowded",
        source: "@group(0) @binding(0) var<storage, read_write> out: array<f32>;
            @compute @workgroup_size(65536) fn main(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = 1.0; }",
        eights: false,
    };

    fn spec<'a>(shader: Shader, constants: &'a [(&'a str, f64)]) -> KernelSpec<'a> {
        KernelSpec {
            shader,
            half: false,
            bindings: &[Binding::Write],
            constants,
        }
    }

    #[test]
    fn a_kernel_is_compiled_once_and_each_variant_is_itself() {
        let Some(compute) = testing::compute() else {
            return;
        };
        let read = |value: f64| {
            let constants = [("VALUE", value)];
            let kernel = compute.kernel(&spec(FILL, &constants));
            let out = compute.buffer("out", 4);
            let launch = compute.bind(&kernel, &[out.whole()]);
            let mut flow = compute.flow();
            let work = Work::default();
            flow.pass("fill", &[launch.over("fill", [1, 1, 1], work)], None);
            flow.submit();
            (compute.read(&out.whole()).unwrap(), kernel)
        };
        let ((two, first), (three, _), (again, last)) = (read(2.0), read(3.0), read(2.0));
        assert_eq!(
            (two, three, again),
            (vec![2.0; 4], vec![3.0; 4], vec![2.0; 4])
        );
        assert!(Arc::ptr_eq(&first.pipeline.0, &last.pipeline.0));
    }

    #[test]
    fn what_the_driver_refuses_is_told_and_tried_again() {
        // Of its own, because others settle theirs.
        let Some(compute) = testing::compute().map(|compute| compute.anew()) else {
            return;
        };
        let first = compute.kernel(&spec(CROWDED, &[]));
        let mut told = Vec::new();
        compute.kernel(&spec(FILL, &[]));
        let refused = compute.settle(&mut |share| told.push(share)).unwrap_err();
        assert_eq!(refused.what, "crowded");
        assert!(first.pipeline.has_failed());
        assert_eq!(compute.settle(&mut |_| ()), Ok(()), "it is told for ever");
        let out = compute.buffer("out", 4);
        let launch = compute.bind(&first, &[out.whole()]);
        let launch = launch.over("crowded", [1, 1, 1], Work::default());
        let mut flow = compute.flow();
        flow.pass("crowded", &[launch], None);
        flow.submit();
        // Again and again: a failed reading leaves the staging buffer as it was.
        let staging = compute.staging("out", 4);
        for _ in 0..2 {
            let mut flow = compute.flow();
            flow.read_back(&out.whole(), &staging);
            flow.submit();
            assert_eq!(compute.take(&staging, 4).unwrap_err(), refused);
        }
        let second = compute.kernel(&spec(CROWDED, &[]));
        assert!(!Arc::ptr_eq(&first.pipeline.0, &second.pipeline.0));
    }

    #[test]
    fn settling_tells_how_far_it_is() {
        let Some(compute) = testing::compute().map(|compute| compute.anew()) else {
            return;
        };
        assert_eq!(
            compute.settle(&mut |_| panic!("nothing was asked for")),
            Ok(())
        );
        for value in [5.0, 6.0] {
            compute.kernel(&spec(FILL, &[("VALUE", value)]));
        }
        let mut told = Vec::new();
        assert_eq!(compute.settle(&mut |share| told.push(share)), Ok(()));
        assert_eq!(told, [0.5, 1.0]);
    }
}
