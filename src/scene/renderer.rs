//! Draws one picture of the scene into a texture of any wgpu device: the window's own or a simulated camera's.

use bytemuck::{Pod, bytes_of, cast_slice};
use wgpu::util::DeviceExt as _;

use crate::scene::arm_model::arm_mesh;
use crate::scene::bench::Detail;
use crate::scene::contact::CONTACT_SIZE;
use crate::scene::layout::{FrameUniform, Layout};
use crate::scene::look::encoded;
use crate::scene::pipelines::{DEPTH_FORMAT, Pipelines, Quality};
use crate::scene::solid::{Mesh, unit_cube};
use crate::scene::{SceneInput, View};

/// The format of the target: plain RGBA8 that holds display values, as egui wants its user textures.
pub const TARGET_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// What one picture cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub draw_calls: u32,
    /// Sent to the device for this picture.
    pub uploaded_bytes: usize,
}

/// The scene on one device. Not bound to a size: it follows its target.
pub struct Renderer {
    pipelines: Pipelines,
    quality: Quality,
    arm: MeshBuffers,
    /// The arm as its shadow needs it.
    caster: MeshBuffers,
    cube: MeshBuffers,
    frame: wgpu::Buffer,
    frame_group: wgpu::BindGroup,
    map_group: wgpu::BindGroup,
    shadow: wgpu::TextureView,
    contact: wgpu::Texture,
    /// Cubes and trays.
    blocks: Growing,
    ribbons: Growing,
    attachments: Option<Attachments>,
    /// What the shadow map shows now; it is drawn again only when that changes.
    shadowed: Option<Layout>,
}

impl Renderer {
    /// Compiles the shaders and uploads the shapes. The target's format is [`TARGET_FORMAT`].
    pub fn new(device: &wgpu::Device, quality: Quality) -> Self {
        let pipelines = Pipelines::new(device, TARGET_FORMAT, quality);
        let frame = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("scene frame"),
            size: size_of::<FrameUniform>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let frame_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("scene frame"),
            layout: &pipelines.frame_layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: frame.as_entire_binding(),
            }],
        });
        let shadow_size = [quality.shadow_size; 2];
        let shadow_usage =
            wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let shadow = texture(
            device,
            "scene shadow",
            shadow_size,
            DEPTH_FORMAT,
            1,
            shadow_usage,
        )
        .create_view(&wgpu::TextureViewDescriptor::default());
        let contact = texture(
            device,
            "scene contact",
            [CONTACT_SIZE as u32; 2],
            wgpu::TextureFormat::R8Unorm,
            1,
            wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        );
        Self {
            map_group: map_group(device, &pipelines, &shadow, &contact),
            arm: MeshBuffers::new(device, "arm", &arm_mesh(Detail::Fine)),
            caster: MeshBuffers::new(device, "arm shadow", &arm_mesh(Detail::Coarse)),
            cube: MeshBuffers::new(device, "cube", &unit_cube()),
            pipelines,
            quality,
            frame,
            frame_group,
            shadow,
            contact,
            blocks: Growing::new("blocks"),
            ribbons: Growing::new("ribbons"),
            attachments: None,
            shadowed: None,
        }
    }

    /// Draws one picture into `target`, a [`TARGET_FORMAT`] texture of `size` pixels, and submits it.
    pub fn render(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        target: &wgpu::TextureView,
        size: [u32; 2],
        input: &SceneInput<'_>,
        view: &View,
    ) -> Cost {
        let layout = Layout::new(input, view, size);
        let mut cost = self.upload(device, queue, &layout);
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("scene"),
        });
        let stale = !self
            .shadowed
            .as_ref()
            .is_some_and(|old| old.casts_as(&layout));
        if stale {
            self.draw_shadows(&mut encoder, &layout, &mut cost);
        }
        self.fit_attachments(device, size);
        if let Some(attachments) = &self.attachments {
            let background = input.look.background.map(|c| f64::from(encoded(c)));
            let mut pass = attachments.begin(&mut encoder, target, background);
            self.draw_picture(&mut pass, &layout, &mut cost);
        }
        queue.submit([encoder.finish()]);
        if stale {
            self.shadowed = Some(layout);
        }
        cost
    }

    fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, layout: &Layout) -> Cost {
        queue.write_buffer(&self.frame, 0, bytes_of(&layout.uniform));
        let mut uploaded_bytes = size_of::<FrameUniform>();
        uploaded_bytes += self.blocks.write(device, queue, &layout.blocks);
        uploaded_bytes += self.ribbons.write(device, queue, &layout.ribbons);
        let known = self.shadowed.as_ref().map(|old| &old.contact);
        if known != Some(&layout.contact) {
            write_contact(queue, &self.contact, layout.contact.bytes());
            uploaded_bytes += layout.contact.bytes().len();
        }
        Cost {
            draw_calls: 0,
            uploaded_bytes,
        }
    }

    fn draw_shadows(&self, encoder: &mut wgpu::CommandEncoder, layout: &Layout, cost: &mut Cost) {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("scene shadow"),
            color_attachments: &[],
            depth_stencil_attachment: Some(depth_attachment(&self.shadow, wgpu::StoreOp::Store)),
            ..Default::default()
        });
        pass.set_bind_group(0, &self.frame_group, &[]);
        pass.set_pipeline(&self.pipelines.arm_shadow);
        self.caster.draw(&mut pass, 0..1, cost);
        pass.set_pipeline(&self.pipelines.block_shadow);
        self.draw_blocks(&mut pass, layout.casters, cost);
    }

    fn draw_picture(&self, pass: &mut wgpu::RenderPass<'_>, layout: &Layout, cost: &mut Cost) {
        pass.set_bind_group(0, &self.frame_group, &[]);
        pass.set_bind_group(1, &self.map_group, &[]);
        pass.set_pipeline(&self.pipelines.arm);
        self.arm.draw(pass, 0..1, cost);
        pass.set_pipeline(&self.pipelines.blocks);
        self.draw_blocks(pass, layout.blocks.len(), cost);
        // After the solids, so that what they hide of the table is never shaded.
        pass.set_pipeline(&self.pipelines.table);
        pass.draw(0..4, 0..1);
        cost.draw_calls += 1;
        if let (Some(buffer), false) = (&self.ribbons.buffer, layout.ribbons.is_empty()) {
            for pipeline in [&self.pipelines.hidden_ribbons, &self.pipelines.ribbons] {
                pass.set_pipeline(pipeline);
                pass.set_vertex_buffer(0, buffer.slice(..));
                pass.draw(0..layout.ribbons.len() as u32, 0..1);
                cost.draw_calls += 1;
            }
        }
        if layout.has_ghost {
            for pipeline in [&self.pipelines.ghost_depth, &self.pipelines.ghost] {
                pass.set_pipeline(pipeline);
                self.arm.draw(pass, 1..2, cost);
            }
        }
    }

    /// The first `count` of them.
    fn draw_blocks(&self, pass: &mut wgpu::RenderPass<'_>, count: usize, cost: &mut Cost) {
        if let (Some(buffer), true) = (&self.blocks.buffer, count > 0) {
            pass.set_vertex_buffer(1, buffer.slice(..));
            self.cube.draw(pass, 0..count as u32, cost);
        }
    }

    fn fit_attachments(&mut self, device: &wgpu::Device, size: [u32; 2]) {
        if self.attachments.as_ref().is_none_or(|a| a.size != size) {
            self.attachments = Some(Attachments::new(device, size, self.quality.samples));
        }
    }
}

/// What the picture is drawn into before it reaches its target.
struct Attachments {
    size: [u32; 2],
    depth: wgpu::TextureView,
    /// Several samples a pixel; absent when the target itself takes one.
    samples: Option<wgpu::TextureView>,
}

impl Attachments {
    fn new(device: &wgpu::Device, size: [u32; 2], samples: u32) -> Self {
        let attachment = |label, format| {
            let usage = wgpu::TextureUsages::RENDER_ATTACHMENT;
            texture(device, label, size, format, samples, usage)
                .create_view(&wgpu::TextureViewDescriptor::default())
        };
        Self {
            size,
            depth: attachment("scene depth", DEPTH_FORMAT),
            samples: (samples > 1).then(|| attachment("scene samples", TARGET_FORMAT)),
        }
    }

    fn begin<'a>(
        &self,
        encoder: &'a mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        [r, g, b]: [f64; 3],
    ) -> wgpu::RenderPass<'a> {
        let store = if self.samples.is_some() {
            wgpu::StoreOp::Discard
        } else {
            wgpu::StoreOp::Store
        };
        encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("scene picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: self.samples.as_ref().unwrap_or(target),
                depth_slice: None,
                resolve_target: self.samples.as_ref().map(|_| target),
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a: 1.0 }),
                    store,
                },
            })],
            depth_stencil_attachment: Some(depth_attachment(&self.depth, wgpu::StoreOp::Discard)),
            ..Default::default()
        })
    }
}

/// A mesh on the device.
struct MeshBuffers {
    vertices: wgpu::Buffer,
    indices: wgpu::Buffer,
    count: u32,
}

impl MeshBuffers {
    fn new(device: &wgpu::Device, label: &str, mesh: &Mesh) -> Self {
        let buffer = |contents, usage| {
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: Some(label),
                contents,
                usage,
            })
        };
        Self {
            vertices: buffer(cast_slice(&mesh.vertices), wgpu::BufferUsages::VERTEX),
            indices: buffer(cast_slice(&mesh.indices), wgpu::BufferUsages::INDEX),
            count: mesh.indices.len() as u32,
        }
    }

    fn draw(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        instances: std::ops::Range<u32>,
        cost: &mut Cost,
    ) {
        pass.set_vertex_buffer(0, self.vertices.slice(..));
        pass.set_index_buffer(self.indices.slice(..), wgpu::IndexFormat::Uint32);
        pass.draw_indexed(0..self.count, 0, instances);
        cost.draw_calls += 1;
    }
}

/// A vertex buffer that is made larger when it must be, and never smaller.
struct Growing {
    label: &'static str,
    buffer: Option<wgpu::Buffer>,
}

impl Growing {
    fn new(label: &'static str) -> Self {
        Self {
            label,
            buffer: None,
        }
    }

    /// Returns how many bytes it sent.
    fn write<T: Pod>(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, items: &[T]) -> usize {
        let bytes: &[u8] = cast_slice(items);
        if bytes.is_empty() {
            return 0;
        }
        let wanted = bytes.len() as u64;
        let fits = self.buffer.as_ref().is_some_and(|b| b.size() >= wanted);
        if !fits {
            self.buffer = Some(device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(self.label),
                size: wanted.next_power_of_two(),
                usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }));
        }
        if let Some(buffer) = &self.buffer {
            queue.write_buffer(buffer, 0, bytes);
        }
        bytes.len()
    }
}

fn depth_attachment(
    view: &wgpu::TextureView,
    store: wgpu::StoreOp,
) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    wgpu::RenderPassDepthStencilAttachment {
        view,
        depth_ops: Some(wgpu::Operations {
            load: wgpu::LoadOp::Clear(1.0),
            store,
        }),
        stencil_ops: None,
    }
}

/// A flat texture.
pub fn texture(
    device: &wgpu::Device,
    label: &str,
    [width, height]: [u32; 2],
    format: wgpu::TextureFormat,
    sample_count: u32,
    usage: wgpu::TextureUsages,
) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some(label),
        size: wgpu::Extent3d {
            width: width.max(1),
            height: height.max(1),
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

fn write_contact(queue: &wgpu::Queue, contact: &wgpu::Texture, bytes: &[u8]) {
    queue.write_texture(
        contact.as_image_copy(),
        bytes,
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(CONTACT_SIZE as u32),
            rows_per_image: None,
        },
        contact.size(),
    );
}

fn map_group(
    device: &wgpu::Device,
    pipelines: &Pipelines,
    shadow: &wgpu::TextureView,
    contact: &wgpu::Texture,
) -> wgpu::BindGroup {
    let sampler = |label, compare| {
        device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some(label),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            compare,
            ..Default::default()
        })
    };
    let (compare, smooth) = (
        sampler("scene shadow", Some(wgpu::CompareFunction::LessEqual)),
        sampler("scene contact", None),
    );
    let contact = contact.create_view(&wgpu::TextureViewDescriptor::default());
    let resources = [
        wgpu::BindingResource::TextureView(shadow),
        wgpu::BindingResource::Sampler(&compare),
        wgpu::BindingResource::TextureView(&contact),
        wgpu::BindingResource::Sampler(&smooth),
    ];
    let entries: Vec<wgpu::BindGroupEntry<'_>> = (0..)
        .zip(resources)
        .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("scene maps"),
        layout: &pipelines.map_layout,
        entries: &entries,
    })
}
