//! A compiled kernel and the buffers it is bound to.

use super::compile::{Pending, Recipe};
use super::{Compute, Dispatch, Slice, Work, add};
use crate::gpu::shaders::Shader;

/// What a kernel does with the buffer at one `@binding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// `var<storage, read>`
    Read,
    /// `var<storage, read_write>`
    Write,
    /// `var<uniform>`
    Uniform,
}

/// What to compile.
#[derive(Clone, Debug)]
pub struct KernelSpec<'a> {
    pub shader: Shader,
    /// Computes workgroup tiles in f16; only where [`super::Abilities::shader_f16`].
    pub half: bool,
    /// `@binding(i)` of group 0, in order.
    pub bindings: &'a [Binding],
    /// `override` constants.
    pub constants: &'a [(&'a str, f64)],
}

/// A compute pipeline, compiled or about to be, with its layout.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) pipeline: Pending,
    layout: wgpu::BindGroupLayout,
    name: &'static str,
}

/// A kernel together with its buffers.
#[derive(Clone, Debug)]
pub struct Bound {
    pub(super) pipeline: Pending,
    pub(super) group: wgpu::BindGroup,
    name: &'static str,
}

impl Kernel {
    /// The shader's file name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl Compute {
    /// `main` of a shader, compiled on another thread unless it was before. Launching it waits for that; call
    /// [`Compute::settle`] before, because a driver may refuse.
    pub fn kernel(&self, spec: &KernelSpec<'_>) -> Kernel {
        let recipe = Recipe::from(spec);
        let mut kernels = self.kernels();
        if let Some(kernel) = kernels.get(&recipe)
            && !kernel.pipeline.has_failed()
        {
            return kernel.clone();
        }
        let kernel = self.begin(spec, recipe.clone());
        kernels.insert(recipe, kernel.clone());
        kernel
    }

    fn begin(&self, spec: &KernelSpec<'_>, recipe: Recipe) -> Kernel {
        let (device, name) = (&self.0.device, spec.shader.name);
        let entries: Vec<_> = (0..).zip(spec.bindings).map(entry).collect();
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(name),
            entries: &entries,
        });
        add(&self.0.tally.pipelines, 1);
        Kernel {
            pipeline: self.compile(spec.shader, recipe, layout.clone()),
            layout,
            name,
        }
    }

    /// Binds buffers, in the order of the kernel's bindings.
    pub fn bind(&self, kernel: &Kernel, slices: &[Slice]) -> Bound {
        let entries: Vec<_> = (0..)
            .zip(slices)
            .map(|(binding, slice)| {
                let (offset, bytes) = slice.bytes();
                wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: &slice.raw,
                        offset,
                        size: std::num::NonZeroU64::new(bytes),
                    }),
                }
            })
            .collect();
        let group = self.0.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(kernel.name),
            layout: &kernel.layout,
            entries: &entries,
        });
        add(&self.0.tally.bind_groups, 1);
        Bound {
            pipeline: kernel.pipeline.clone(),
            group,
            name: kernel.name,
        }
    }
}

impl Bound {
    /// One launch over `workgroups`; `label` names its place in the network, `work` what it costs by formula.
    pub fn over(&self, label: impl Into<String>, workgroups: [u32; 3], work: Work) -> Dispatch {
        Dispatch {
            label: label.into(),
            kernel: self.name,
            pipeline: self.pipeline.clone(),
            group: self.group.clone(),
            workgroups,
            work,
        }
    }
}

fn entry((binding, kind): (u32, &Binding)) -> wgpu::BindGroupLayoutEntry {
    let ty = match kind {
        Binding::Read => wgpu::BufferBindingType::Storage { read_only: true },
        Binding::Write => wgpu::BufferBindingType::Storage { read_only: false },
        Binding::Uniform => wgpu::BufferBindingType::Uniform,
    };
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}
