//! The renderer with a device of its own, whose pictures come back as bytes: for simulated cameras and for tests.

use crate::scene::pipelines::Quality;
use crate::scene::renderer::{Cost, Renderer};
use crate::scene::{Canvas, SceneInput, View};

/// Rows of a copied texture begin at multiples of this many bytes.
const ROW_ALIGNMENT: u32 = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No adapter at all, or none of the wanted kind.
    #[error("no graphics adapter for the scene ({0}): the software renderer can draw it")]
    NoAdapter(#[from] wgpu::RequestAdapterError),
    /// The adapter is an emulation on the CPU and hardware was asked for.
    #[error(
        "the only graphics adapter, {0}, is emulated on the CPU: the software renderer is faster"
    )]
    Emulated(String),
    #[error("the graphics adapter gave no device: {0}")]
    NoDevice(#[from] wgpu::RequestDeviceError),
    /// The picture could not be copied back.
    #[error("the picture could not be read back from {adapter}: {reason}")]
    ReadBack { adapter: String, reason: String },
}

/// Draws pictures of one size on its own device.
pub struct Offscreen {
    device: wgpu::Device,
    queue: wgpu::Queue,
    adapter: wgpu::AdapterInfo,
    renderer: Renderer,
    target: wgpu::Texture,
    read_back: wgpu::Buffer,
    size: [u32; 2],
}

impl Offscreen {
    /// On a hardware adapter; refuses an emulated one, which is slower than [`Software`](crate::scene::Software).
    pub fn on_hardware(size: [u32; 2]) -> Result<Self, Error> {
        let adapter = adapter(false)?;
        let info = adapter.get_info();
        if info.device_type == wgpu::DeviceType::Cpu {
            return Err(Error::Emulated(info.name));
        }
        Self::on(&adapter, size, Quality::FINE)
    }

    /// On whatever adapter there is, emulated ones included.
    pub fn on_any(size: [u32; 2], quality: Quality) -> Result<Self, Error> {
        let adapter = adapter(false).or_else(|_| adapter(true))?;
        Self::on(&adapter, size, quality)
    }

    fn on(adapter: &wgpu::Adapter, size: [u32; 2], quality: Quality) -> Result<Self, Error> {
        let (device, queue) =
            pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
                label: Some("scene"),
                required_limits:
                    wgpu::Limits::downlevel_defaults().using_resolution(adapter.limits()),
                ..Default::default()
            }))?;
        let target = Canvas::texture(&device, size);
        let read_back = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("scene read back"),
            size: u64::from(row_bytes(size[0]) * size[1]),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Ok(Self {
            renderer: Renderer::new(&device, quality),
            device,
            queue,
            adapter: adapter.get_info(),
            target,
            read_back,
            size,
        })
    }

    /// The adapter's name and backend, for people.
    pub fn adapter_name(&self) -> String {
        format!("{} ({})", self.adapter.name, self.adapter.backend)
    }

    /// Width and height of its pictures.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Draws one picture and waits for it: RGB, 8 bits a channel, row-major.
    pub fn draw(&mut self, input: &SceneInput<'_>, view: &View) -> Result<(Vec<u8>, Cost), Error> {
        let target = self
            .target
            .create_view(&wgpu::TextureViewDescriptor::default());
        let cost = self
            .renderer
            .render(&self.device, &self.queue, &target, self.size, input, view);
        self.copy_back();
        let rgb = self.read().map_err(|reason| Error::ReadBack {
            adapter: self.adapter_name(),
            reason,
        })?;
        Ok((rgb, cost))
    }

    fn copy_back(&self) {
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor {
                label: Some("scene read back"),
            });
        encoder.copy_texture_to_buffer(
            self.target.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &self.read_back,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(row_bytes(self.size[0])),
                    rows_per_image: None,
                },
            },
            self.target.size(),
        );
        self.queue.submit([encoder.finish()]);
    }

    fn read(&self) -> Result<Vec<u8>, String> {
        let (told, answer) = crossbeam_channel::bounded(1);
        self.read_back
            .map_async(wgpu::MapMode::Read, .., move |result| {
                // The reader is gone only if it has already returned an error.
                told.send(result).ok();
            });
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|e| e.to_string())?;
        answer
            .try_recv()
            .map_err(|e| e.to_string())?
            .map_err(|e| e.to_string())?;
        let mut rgb = Vec::with_capacity((3 * self.size[0] * self.size[1]) as usize);
        {
            let view = self
                .read_back
                .get_mapped_range(..)
                .map_err(|e| e.to_string())?;
            for row in view.chunks_exact(row_bytes(self.size[0]) as usize) {
                let pixels = &row[..4 * self.size[0] as usize];
                rgb.extend(pixels.chunks_exact(4).flat_map(|rgba| &rgba[..3]).copied());
            }
        }
        self.read_back.unmap();
        Ok(rgb)
    }
}

/// Bytes of one row of RGBA in the copied buffer.
fn row_bytes(width: u32) -> u32 {
    (4 * width).next_multiple_of(ROW_ALIGNMENT)
}

fn adapter(fallback: bool) -> Result<wgpu::Adapter, wgpu::RequestAdapterError> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::LowPower,
        force_fallback_adapter: fallback,
        ..Default::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::JointVec;
    use crate::scene::{
        Cube, Edges, Ghost, Look, Mark, Orbit, Props, Ribbon, Software, Tray, srgb,
    };
    use glam::{Quat, Vec3, vec2};

    const SIZE: [u32; 2] = [64, 64];
    /// Mean difference of a display byte: edges are smoothed on one side only.
    const ALIKE: f64 = 4.0;
    /// Difference between two changes as a share of either: its edges and its shadow's are most of it in so small a picture.
    const CHANGES_ALIKE: f64 = 0.35;
    /// Share of pixels that may differ plainly: those on edges.
    const EDGES: f64 = 0.06;

    fn props() -> Props {
        let cube = |x, y, hex| Cube {
            position: Vec3::new(x, y, 0.02),
            orientation: Quat::from_rotation_z(0.4),
            edge: 0.04,
            color: srgb(hex),
        };
        Props {
            cubes: vec![cube(0.27, 0.10, 0xC8_372D), cube(0.24, -0.12, 0x2F_6FD0)],
            trays: vec![Tray {
                position: vec2(0.18, 0.22),
                turn: 0.3,
                inner: vec2(0.12, 0.09),
                height: 0.04,
                wall: 0.004,
                color: srgb(0xD9_C6A0),
            }],
            marks: vec![Mark {
                position: vec2(0.30, -0.02),
                radius: 0.04,
                color: srgb(0x3C_9A4E),
            }],
        }
    }

    #[test]
    fn gpu_and_cpu_draw_the_same_picture() {
        let mut offscreen = match Offscreen::on_any(SIZE, Quality::FINE) {
            Ok(offscreen) => offscreen,
            // Nothing to compare with on a machine without any adapter; the software renderer has tests of its own.
            Err(Error::NoAdapter(_)) => return,
            Err(error) => panic!("{error}"),
        };
        let (props, view) = (props(), Orbit::default().view());
        let path = (0..20).map(|k| Vec3::new(0.2 + 0.01 * k as f32, -0.1, 0.2));
        let ribbons = [Ribbon {
            width: 0.03,
            ..Ribbon::plan(path.collect(), srgb(0x7A_4DF0), 0.9)
        }];
        for look in [Look::light(), Look::dark(), Look::camera()] {
            let input = SceneInput {
                joints: JointVec([12.0, -35.0, 30.0, 62.0, 0.0, 35.0]),
                ghost: Some(Ghost {
                    joints: JointVec([-30.0, 0.0, 10.0, 60.0, 0.0, 35.0]),
                    color: srgb(0x7A_4DF0),
                    opacity: 0.6,
                }),
                ribbons: &ribbons,
                props: &props,
                look: &look,
            };
            let (gpu, cost) = offscreen.draw(&input, &view).unwrap();
            let cpu = Software::new(SIZE, Edges::Smooth).draw(&input, &view);
            assert_eq!(gpu.len(), cpu.len());
            let off = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b));
            let mean = gpu.iter().zip(&cpu).map(off).sum::<f64>() / gpu.len() as f64;
            let plainly = gpu.iter().zip(&cpu).filter(|p| off(*p) > 40.0).count();
            assert!(mean < ALIKE, "the pictures differ by {mean:.2} on average");
            let share = plainly as f64 / gpu.len() as f64;
            assert!(share < EDGES, "{:.1} % differ plainly", 100.0 * share);
            assert!(
                cost.draw_calls <= 9 && cost.uploaded_bytes < 32_768,
                "{cost:?}"
            );
        }
    }

    /// What a thing changes in a picture, byte by byte.
    fn change(bare: &[u8], with: &[u8]) -> Vec<i32> {
        let pairs = bare.iter().zip(with);
        pairs.map(|(a, b)| i32::from(*b) - i32::from(*a)).collect()
    }

    #[test]
    fn trays_and_marks_change_both_pictures_alike() {
        let Ok(mut offscreen) = Offscreen::on_any(SIZE, Quality::FINE) else {
            return;
        };
        let (look, view) = (Look::light(), Orbit::default().view());
        let (full, bare) = (props(), Props::default());
        let only_tray = Props {
            trays: full.trays.clone(),
            ..Props::default()
        };
        let only_mark = Props {
            marks: full.marks,
            ..Props::default()
        };
        let mut draw = |props: &Props| {
            let input = SceneInput {
                joints: JointVec::default(),
                ghost: None,
                ribbons: &[],
                props,
                look: &look,
            };
            let cpu = Software::new(SIZE, Edges::Smooth).draw(&input, &view);
            [offscreen.draw(&input, &view).unwrap().0, cpu]
        };
        let before = draw(&bare);
        for props in [only_tray, only_mark] {
            let after = draw(&props);
            let [gpu, cpu] = [0, 1].map(|k| change(&before[k], &after[k]));
            let size = |of: &[i32]| of.iter().map(|d| d.abs()).sum::<i32>();
            let apart: i32 = gpu.iter().zip(&cpu).map(|(a, b)| (a - b).abs()).sum();
            assert!(size(&gpu) > 3000, "the thing is seen: {}", size(&gpu));
            let share = f64::from(apart) / f64::from(size(&gpu));
            assert!(share < CHANGES_ALIKE, "the changes differ by {share:.2}");
        }
    }

    #[test]
    fn the_canvas_of_the_panel_shows_the_same_picture() {
        let Ok(offscreen) = Offscreen::on_any(SIZE, Quality::QUICK) else {
            return;
        };
        let (props, look) = (props(), Look::dark());
        let input = SceneInput {
            joints: JointVec([12.0, -35.0, 30.0, 62.0, 0.0, 35.0]),
            ghost: None,
            ribbons: &[],
            props: &props,
            look: &look,
        };
        let view = Orbit::default().view();
        let mut canvas = Canvas::new(&offscreen.device, &offscreen.adapter);
        canvas.draw(
            &offscreen.device,
            &offscreen.queue,
            &offscreen.target,
            &input,
            &view,
        );
        offscreen.copy_back();
        let shown = offscreen.read().unwrap();
        let cpu = Software::new(SIZE, Edges::Smooth).draw(&input, &view);
        let off: f64 = shown
            .iter()
            .zip(&cpu)
            .map(|(a, b)| f64::from(a.abs_diff(*b)))
            .sum();
        assert!(off / (cpu.len() as f64) < ALIKE);
    }
}
