//! The renderer's fixed part: how each kind of thing is drawn. Built once for a device.

use std::mem::size_of;

use wgpu::{BindGroupLayout, CompareFunction, RenderPipeline, ShaderModule};

use crate::gpu::shaders;
use crate::scene::blocks::BlockInstance;
use crate::scene::layout::RibbonVertex;
use crate::scene::solid::Vertex;

/// Depth of the picture and of the shadow map.
pub const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

/// What a picture may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Samples a pixel: 4 for smooth edges, 1 for speed.
    pub samples: u32,
    /// Side of the shadow map, texels.
    pub shadow_size: u32,
    /// The shadow's edge is smoothed over this many by this many samples.
    pub shadow_taps: u32,
    /// Distance between those samples, texels.
    pub shadow_step: f32,
}

impl Quality {
    /// For a GPU.
    pub const FINE: Self = Self {
        samples: 4,
        shadow_size: 1536,
        shadow_taps: 5,
        shadow_step: 2.6,
    };
    /// For a GPU that is emulated on the CPU.
    pub const QUICK: Self = Self {
        samples: 1,
        shadow_size: 384,
        shadow_taps: 2,
        shadow_step: 1.2,
    };
}

/// One pipeline for each kind of thing.
pub struct Pipelines {
    pub frame_layout: BindGroupLayout,
    pub map_layout: BindGroupLayout,
    pub arm_shadow: RenderPipeline,
    pub block_shadow: RenderPipeline,
    pub table: RenderPipeline,
    pub arm: RenderPipeline,
    pub blocks: RenderPipeline,
    pub ribbons: RenderPipeline,
    /// The parts of ribbons that are behind something, faintly.
    pub hidden_ribbons: RenderPipeline,
    /// Only the depth of the ghost, so that only its nearest surface is drawn.
    pub ghost_depth: RenderPipeline,
    pub ghost: RenderPipeline,
}

/// What differs between the pipelines.
struct Recipe<'a> {
    label: &'a str,
    vertex: &'a str,
    fragment: Option<&'a str>,
    buffers: &'a [Option<wgpu::VertexBufferLayout<'a>>],
    topology: wgpu::PrimitiveTopology,
    cull: Option<wgpu::Face>,
    depth_compare: CompareFunction,
    depth_write: bool,
    blend: bool,
    /// Share of the ribbons' opacity.
    ribbon_share: f64,
}

impl Recipe<'_> {
    const SOLID: Self = Recipe {
        label: "",
        vertex: "",
        fragment: Some("solid_fragment"),
        buffers: &[],
        topology: wgpu::PrimitiveTopology::TriangleList,
        cull: Some(wgpu::Face::Back),
        depth_compare: CompareFunction::Less,
        depth_write: true,
        blend: false,
        ribbon_share: 1.0,
    };
}

/// What is the same in all of them.
struct Kitchen<'a> {
    device: &'a wgpu::Device,
    module: ShaderModule,
    layout: wgpu::PipelineLayout,
    format: wgpu::TextureFormat,
    quality: Quality,
}

impl Kitchen<'_> {
    fn cook(&self, recipe: &Recipe<'_>) -> RenderPipeline {
        let constants = [
            ("shadow_taps", f64::from(self.quality.shadow_taps)),
            ("shadow_step", f64::from(self.quality.shadow_step)),
            ("ribbon_share", recipe.ribbon_share),
        ];
        let compilation_options = wgpu::PipelineCompilationOptions {
            constants: &constants,
            ..Default::default()
        };
        let targets = [Some(wgpu::ColorTargetState {
            format: self.format,
            blend: recipe.blend.then_some(wgpu::BlendState::ALPHA_BLENDING),
            write_mask: wgpu::ColorWrites::ALL,
        })];
        let shadow = recipe.fragment.is_none() && recipe.vertex.ends_with("shadow");
        // A depth-only pipeline inside the picture's pass must still name the pass's target.
        let silent = [Some(wgpu::ColorTargetState {
            format: self.format,
            blend: None,
            write_mask: wgpu::ColorWrites::empty(),
        })];
        let fragment = match recipe.fragment {
            Some(entry) => Some((entry, &targets[..])),
            None if shadow => None,
            None => Some(("ghost_fragment", &silent[..])),
        };
        self.device
            .create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(recipe.label),
                layout: Some(&self.layout),
                vertex: wgpu::VertexState {
                    module: &self.module,
                    entry_point: Some(recipe.vertex),
                    compilation_options: compilation_options.clone(),
                    buffers: recipe.buffers,
                },
                primitive: wgpu::PrimitiveState {
                    topology: recipe.topology,
                    cull_mode: recipe.cull,
                    ..Default::default()
                },
                depth_stencil: Some(wgpu::DepthStencilState {
                    format: DEPTH_FORMAT,
                    depth_write_enabled: Some(recipe.depth_write),
                    depth_compare: Some(recipe.depth_compare),
                    stencil: wgpu::StencilState::default(),
                    bias: wgpu::DepthBiasState::default(),
                }),
                multisample: wgpu::MultisampleState {
                    count: if shadow { 1 } else { self.quality.samples },
                    ..Default::default()
                },
                fragment: fragment.map(|(entry, targets)| wgpu::FragmentState {
                    module: &self.module,
                    entry_point: Some(entry),
                    compilation_options,
                    targets,
                }),
                multiview_mask: None,
                cache: None,
            })
    }
}

const CORNER: wgpu::VertexBufferLayout<'_> = wgpu::VertexBufferLayout {
    array_stride: size_of::<Vertex>() as u64,
    step_mode: wgpu::VertexStepMode::Vertex,
    attributes: &wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Uint32, 3 => Uint32],
};

const BLOCK: wgpu::VertexBufferLayout<'_> = wgpu::VertexBufferLayout {
    array_stride: size_of::<BlockInstance>() as u64,
    step_mode: wgpu::VertexStepMode::Instance,
    attributes: &wgpu::vertex_attr_array![
        4 => Float32x4, 5 => Float32x4, 6 => Float32x4, 7 => Float32x4, 8 => Float32x4, 9 => Float32x4
    ],
};

const RIBBON: wgpu::VertexBufferLayout<'_> = wgpu::VertexBufferLayout {
    array_stride: size_of::<RibbonVertex>() as u64,
    step_mode: wgpu::VertexStepMode::Vertex,
    attributes: &wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32, 2 => Float32x4],
};

impl Pipelines {
    /// Compiles everything for a target of this format.
    pub fn new(device: &wgpu::Device, format: wgpu::TextureFormat, quality: Quality) -> Self {
        let frame_layout = frame_layout(device);
        let map_layout = map_layout(device);
        let layout = |groups: &[Option<&BindGroupLayout>]| {
            device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("scene"),
                bind_group_layouts: groups,
                immediate_size: 0,
            })
        };
        let mut kitchen = Kitchen {
            device,
            module: shaders::SCENE.module(device),
            layout: layout(&[Some(&frame_layout)]),
            format,
            quality,
        };
        let [arm_shadow, block_shadow] = shadow_pipelines(&kitchen);
        kitchen.layout = layout(&[Some(&frame_layout), Some(&map_layout)]);
        let [table, arm, blocks] = solid_pipelines(&kitchen);
        let [ribbons, hidden_ribbons] = ribbon_pipelines(&kitchen);
        let [ghost_depth, ghost] = ghost_pipelines(&kitchen);
        Self {
            frame_layout,
            map_layout,
            arm_shadow,
            block_shadow,
            table,
            arm,
            blocks,
            ribbons,
            hidden_ribbons,
            ghost_depth,
            ghost,
        }
    }
}

fn shadow_pipelines(kitchen: &Kitchen<'_>) -> [RenderPipeline; 2] {
    [
        kitchen.cook(&Recipe {
            label: "arm shadow",
            vertex: "arm_shadow",
            fragment: None,
            buffers: &[Some(CORNER)],
            ..Recipe::SOLID
        }),
        kitchen.cook(&Recipe {
            label: "block shadow",
            vertex: "block_shadow",
            fragment: None,
            buffers: &[Some(CORNER), Some(BLOCK)],
            ..Recipe::SOLID
        }),
    ]
}

fn solid_pipelines(kitchen: &Kitchen<'_>) -> [RenderPipeline; 3] {
    [
        kitchen.cook(&Recipe {
            label: "table",
            vertex: "table_vertex",
            fragment: Some("table_fragment"),
            topology: wgpu::PrimitiveTopology::TriangleStrip,
            cull: None,
            ..Recipe::SOLID
        }),
        kitchen.cook(&Recipe {
            label: "arm",
            vertex: "arm_vertex",
            buffers: &[Some(CORNER)],
            ..Recipe::SOLID
        }),
        kitchen.cook(&Recipe {
            label: "blocks",
            vertex: "block_vertex",
            buffers: &[Some(CORNER), Some(BLOCK)],
            ..Recipe::SOLID
        }),
    ]
}

fn ribbon_pipelines(kitchen: &Kitchen<'_>) -> [RenderPipeline; 2] {
    let ribbon = Recipe {
        label: "ribbons",
        vertex: "ribbon_vertex",
        fragment: Some("ribbon_fragment"),
        buffers: &[Some(RIBBON)],
        cull: None,
        depth_write: false,
        blend: true,
        ..Recipe::SOLID
    };
    let hidden = kitchen.cook(&Recipe {
        label: "hidden ribbons",
        depth_compare: CompareFunction::Greater,
        ribbon_share: crate::scene::shading::HIDDEN_RIBBON,
        ..ribbon
    });
    [kitchen.cook(&ribbon), hidden]
}

fn ghost_pipelines(kitchen: &Kitchen<'_>) -> [RenderPipeline; 2] {
    let depth = kitchen.cook(&Recipe {
        label: "ghost depth",
        vertex: "arm_vertex",
        fragment: None,
        buffers: &[Some(CORNER)],
        ..Recipe::SOLID
    });
    let colour = kitchen.cook(&Recipe {
        label: "ghost",
        vertex: "arm_vertex",
        fragment: Some("ghost_fragment"),
        buffers: &[Some(CORNER)],
        depth_compare: CompareFunction::LessEqual,
        depth_write: false,
        blend: true,
        ..Recipe::SOLID
    });
    [depth, colour]
}

fn frame_layout(device: &wgpu::Device) -> BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("scene frame"),
        entries: &[wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        }],
    })
}

fn map_layout(device: &wgpu::Device) -> BindGroupLayout {
    let texture = |sample_type| wgpu::BindingType::Texture {
        sample_type,
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    };
    let entries = [
        texture(wgpu::TextureSampleType::Depth),
        wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Comparison),
        texture(wgpu::TextureSampleType::Float { filterable: true }),
        wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
    ];
    let mut binding = 0;
    let entries = entries.map(|ty| {
        binding += 1;
        wgpu::BindGroupLayoutEntry {
            binding: binding - 1,
            visibility: wgpu::ShaderStages::FRAGMENT,
            ty,
            count: None,
        }
    });
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("scene maps"),
        entries: &entries,
    })
}
