//! Draws the 3D panel's picture on the window's own GPU device, and only when something in it has changed.

use std::sync::Arc;

use eframe::egui_wgpu::{RenderState, wgpu};

use crate::clock::Tick;
use crate::joint::JointVec;
use crate::runtime::{ChunkView, Snapshot};
use crate::scene::{Orbit, Props, Quality, Renderer, SceneInput, TARGET_FORMAT};
use crate::ui::scene_panel::SceneDraft;
use crate::ui::scene_paths::{ghost, look, ribbons};
use crate::ui::theme::{DARK, LIGHT};

/// A picture is never larger than this, pixels a side; beyond it, it is scaled up.
const LARGEST: u32 = 2048;

/// As many samples as a trail can have; beyond them nothing is drawn.
const TRAIL_SAMPLES: usize = 300;

/// What a picture was drawn from; equal stamps mean the same picture.
#[derive(Clone, Debug, PartialEq)]
struct Stamp {
    orbit: Orbit,
    is_dark: bool,
    measured: JointVec,
    /// The newest chunk and the tick, while there is a plan that runs on.
    plan: Option<(Tick, Tick)>,
    trail: Tick,
    props: Arc<Props>,
}

struct Target {
    view: wgpu::TextureView,
    size: [u32; 2],
    id: egui::TextureId,
}

/// The renderer and its texture on egui's device.
pub struct SceneTexture {
    gpu: RenderState,
    renderer: Renderer,
    target: Option<Target>,
    drawn: Option<Stamp>,
}

impl SceneTexture {
    /// Compiles the scene's shaders for the window's device.
    pub fn new(gpu: RenderState) -> Self {
        let is_emulated = gpu.adapter.get_info().device_type == wgpu::DeviceType::Cpu;
        let quality = if is_emulated {
            Quality::SMOOTH
        } else {
            Quality::FINE
        };
        let renderer = Renderer::new(&gpu.device, quality);
        Self {
            gpu,
            renderer,
            target: None,
            drawn: None,
        }
    }

    /// Draws what the panel asked for in the last frame, if that would be another picture.
    pub fn draw(&mut self, snapshot: &Snapshot, draft: &mut SceneDraft, is_dark: bool) {
        let [width, height] = draft.wanted;
        if width < 16 || height < 16 {
            return;
        }
        self.fit(fitted(draft.wanted));
        let Some(target) = &self.target else { return };
        draft.texture = Some(target.id);
        let stamp = stamp(snapshot, draft.orbit, is_dark);
        if self.drawn.as_ref() == Some(&stamp) {
            return;
        }
        let tokens = if is_dark { &DARK } else { &LIGHT };
        let ribbons = ribbons(snapshot, tokens);
        let input = SceneInput {
            joints: snapshot.measured,
            ghost: ghost(snapshot, tokens),
            ribbons: &ribbons,
            props: &snapshot.props,
            look: &look(is_dark),
        };
        self.renderer.render(
            &self.gpu.device,
            &self.gpu.queue,
            &target.view,
            target.size,
            &input,
            &draft.orbit.view(),
        );
        self.drawn = Some(stamp);
    }

    /// Makes the texture anew when the panel has another size.
    fn fit(&mut self, size: [u32; 2]) {
        if self.target.as_ref().is_some_and(|known| known.size == size) {
            return;
        }
        let texture = self.gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("3D panel"),
            size: wgpu::Extent3d {
                width: size[0],
                height: size[1],
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: TARGET_FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let filter = wgpu::FilterMode::Linear;
        // egui's own lock, held by nobody else while the app draws its interface.
        let mut egui_renderer = self.gpu.renderer.write();
        let id = match &self.target {
            Some(known) => {
                egui_renderer.update_egui_texture_from_wgpu_texture(
                    &self.gpu.device,
                    &view,
                    filter,
                    known.id,
                );
                known.id
            }
            None => egui_renderer.register_native_texture(&self.gpu.device, &view, filter),
        };
        drop(egui_renderer);
        self.target = Some(Target { view, size, id });
        self.drawn = None;
    }
}

fn stamp(snapshot: &Snapshot, orbit: Orbit, is_dark: bool) -> Stamp {
    // A trail that stands still does not change the picture, whatever the tick.
    let moved = snapshot
        .history
        .iter()
        .rev()
        .take(TRAIL_SAMPLES)
        .find(|sample| sample.measured.max_abs_diff(snapshot.measured) > 0.2);
    Stamp {
        orbit,
        is_dark,
        measured: snapshot.measured,
        plan: snapshot
            .chunk
            .as_ref()
            .map(|chunk| (chunk.arrived_at, snapshot.tick.min(end(chunk)))),
        trail: moved.map_or(Tick(0), |sample| sample.tick),
        props: Arc::clone(&snapshot.props),
    }
}

/// The tick after the last action of a chunk: from then on it shows nothing.
fn end(chunk: &ChunkView) -> Tick {
    Tick(chunk.first_tick.0 + chunk.actions.len() as u64)
}

/// The panel's size, shrunk in proportion to what a texture may have.
fn fitted([width, height]: [u32; 2]) -> [u32; 2] {
    let largest = width.max(height);
    if largest <= LARGEST {
        return [width, height];
    }
    let scale = f64::from(LARGEST) / f64::from(largest);
    [width, height].map(|side| ((f64::from(side) * scale).round() as u32).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_on_a_huge_display_keeps_its_shape() {
        assert_eq!(fitted([800, 400]), [800, 400]);
        assert_eq!(fitted([4096, 2048]), [2048, 1024]);
    }

    #[test]
    fn a_resting_arm_is_the_same_picture_at_every_tick() {
        let mut snapshot = Snapshot::default();
        let first = stamp(&snapshot, Orbit::default(), true);
        snapshot.tick = Tick(500);
        assert_eq!(stamp(&snapshot, Orbit::default(), true), first);
        assert_ne!(stamp(&snapshot, Orbit::default(), false), first);
    }
}
