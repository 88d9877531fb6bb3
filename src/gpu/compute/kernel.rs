//! A compiled kernel and the buffers it is bound to.

use std::sync::PoisonError;

use super::{Compute, Dispatch, Error, Slice, Work, add};
use crate::gpu::shaders::Shader;

/// What a kernel does with the buffer at one `@binding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// A compiled compute pipeline with its layout.
#[derive(Clone, Debug)]
pub struct Kernel {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    name: &'static str,
}

/// A kernel together with its buffers.
#[derive(Clone, Debug)]
pub struct Bound {
    pub(super) pipeline: wgpu::ComputePipeline,
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
    /// Compiles `main` of a shader, once for all who ask for the same: a driver takes up to a second for one.
    ///
    /// # Errors
    /// The driver's words.
    pub fn kernel_once(&self, spec: &KernelSpec<'_>) -> Result<Kernel, Error> {
        let KernelSpec {
            shader,
            half,
            bindings,
            constants,
        } = spec;
        let (name, eights) = (shader.name, shader.eights);
        let key = format!("{name} {eights} {half} {bindings:?} {constants:?}");
        let lock = || {
            let compiled = self.0.compiled.lock();
            compiled.unwrap_or_else(PoisonError::into_inner)
        };
        if let Some((_, kernel)) = lock().iter().find(|(known, _)| *known == key) {
            return Ok(kernel.clone());
        }
        let kernel = self.checked(name, || self.kernel(spec))?;
        lock().push((key, kernel.clone()));
        Ok(kernel)
    }

    /// Compiles `main` of a shader. Wrap it in [`Compute::checked`]: a driver may refuse.
    pub fn kernel(&self, spec: &KernelSpec<'_>) -> Kernel {
        let device = &self.0.device;
        let name = spec.shader.name;
        let entries: Vec<_> = (0..).zip(spec.bindings).map(entry).collect();
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(name),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(name),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout),
            module: &if spec.half {
                spec.shader.half_module(device)
            } else {
                spec.shader.module(device)
            },
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: spec.constants,
                // Kernels write every word of workgroup memory before they read it.
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        add(&self.0.tally.pipelines, 1);
        Kernel {
            pipeline,
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
