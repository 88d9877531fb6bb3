//! The 3D panel's picture as a texture of the window's own device, drawn by whichever is quicker there: the GPU, or, where the GPU
//! is only emulated on the CPU, the software renderer.

use crate::scene::pipelines::Quality;
use crate::scene::renderer::{Renderer, TARGET_FORMAT, texture};
use crate::scene::{Edges, SceneInput, Software, View};

/// Draws into textures made by [`Canvas::texture`].
pub struct Canvas(Brush);

enum Brush {
    Gpu(Box<Renderer>),
    /// Made anew when the size changes.
    Cpu(Option<Box<Software>>),
}

impl Canvas {
    /// For this device, made from an adapter of this kind.
    pub fn new(device: &wgpu::Device, adapter: &wgpu::AdapterInfo) -> Self {
        Self(match adapter.device_type {
            wgpu::DeviceType::Cpu => Brush::Cpu(None),
            _ => Brush::Gpu(Box::new(Renderer::new(device, Quality::FINE))),
        })
    }

    /// A texture of `size` pixels that this can draw into and egui can show.
    pub fn texture(device: &wgpu::Device, size: [u32; 2]) -> wgpu::Texture {
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT
            | wgpu::TextureUsages::TEXTURE_BINDING
            | wgpu::TextureUsages::COPY_DST
            | wgpu::TextureUsages::COPY_SRC;
        texture(device, "3D panel", size, TARGET_FORMAT, 1, usage)
    }

    /// Draws one picture and submits it.
    pub fn draw(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        target: &wgpu::Texture,
        input: &SceneInput<'_>,
        view: &View,
    ) {
        let size = [target.width(), target.height()];
        match &mut self.0 {
            Brush::Gpu(renderer) => {
                let target = target.create_view(&wgpu::TextureViewDescriptor::default());
                renderer.render(device, queue, &target, size, input, view);
            }
            Brush::Cpu(software) => {
                let mut brush = match software.take() {
                    Some(brush) if brush.size() == size => brush,
                    _ => Box::new(Software::new(size, Edges::Smooth)),
                };
                upload(queue, target, &brush.draw(input, view));
                *software = Some(brush);
            }
        }
    }
}

/// Sends an RGB picture to a texture.
fn upload(queue: &wgpu::Queue, target: &wgpu::Texture, rgb: &[u8]) {
    let rgba: Vec<u8> = rgb
        .chunks_exact(3)
        .flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 255])
        .collect();
    queue.write_texture(
        target.as_image_copy(),
        &rgba,
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(4 * target.width()),
            rows_per_image: None,
        },
        target.size(),
    );
}
