//! Draws the 3D panel's picture on the window's own GPU device, and only when something in it has changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use eframe::egui_wgpu::{RenderState, wgpu};
use glam::{Vec3, vec3};

use crate::clock::Tick;
use crate::joint::JointVec;
use crate::runtime::{ChunkView, Snapshot};
use crate::scene::{Canvas, Orbit, Props, SceneInput, View};
use crate::ui::scene_panel::{SceneDraft, SceneSubject};
use crate::ui::scene_paths::{asked_pose, ghost, look, ribbons};
use crate::ui::theme::{DARK, LIGHT};

/// A picture is never larger than this, pixels a side; beyond it, it is scaled up.
const LARGEST: u32 = 2048;

/// Pixels of a picture at most where the CPU fills them.
const EMULATED_PIXELS: f64 = 320_000.0;
/// At most 15 pictures a second there.
const EMULATED_PERIOD: Duration = Duration::from_millis(67);
/// One part in so many of a core goes to the picture there; the control loop, the cameras and the policy want the rest.
const EMULATED_SHARE: u32 = 4;

/// A picture as wide as this, times its height, shows the stretched arm whole.
const WHOLE_ASPECT: f32 = 2.3;
/// From the middle of the table before the arm to the middle of the arm, metres.
const TO_BASE: Vec3 = vec3(-0.10, 0.0, 0.04);

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
    subject: Option<SceneSubject>,
}

struct Target {
    texture: wgpu::Texture,
    id: egui::TextureId,
}

impl Target {
    fn size(&self) -> [u32; 2] {
        [self.texture.width(), self.texture.height()]
    }
}

/// The scene's canvas and its texture on egui's device.
pub struct SceneTexture {
    gpu: RenderState,
    canvas: Canvas,
    is_emulated: bool,
    target: Option<Target>,
    drawn: Option<Stamp>,
    /// No picture is drawn before this moment.
    rests_until: Instant,
}

impl SceneTexture {
    /// Makes what draws the scene for the window's device.
    pub fn new(gpu: RenderState) -> Self {
        let adapter = gpu.adapter.get_info();
        Self {
            canvas: Canvas::new(&gpu.device, &adapter),
            is_emulated: adapter.device_type == wgpu::DeviceType::Cpu,
            gpu,
            target: None,
            drawn: None,
            rests_until: Instant::now(),
        }
    }

    /// Whether the window's device computes on the CPU, which the policy and the cameras need too.
    pub fn is_emulated(&self) -> bool {
        self.is_emulated
    }

    /// Draws what the panel asked for in the last frame, if that would be another picture.
    pub fn draw(&mut self, snapshot: &Snapshot, draft: &mut SceneDraft, is_dark: bool) {
        let [width, height] = draft.wanted;
        if width < 16 || height < 16 {
            return;
        }
        let begun = Instant::now();
        if begun < self.rests_until {
            return;
        }
        self.fit(fitted(draft.wanted, self.is_emulated));
        let Some(target) = &self.target else { return };
        draft.texture = Some(target.id);
        let stamp = stamp(snapshot, draft, is_dark);
        if self.drawn.as_ref() == Some(&stamp) {
            return;
        }
        let tokens = if is_dark { &DARK } else { &LIGHT };
        let (bare, look) = (Props::default(), look(is_dark));
        let ribbons = match draft.subject {
            None => ribbons(snapshot, tokens),
            Some(_) => Vec::new(),
        };
        let input = match draft.subject {
            None => SceneInput {
                joints: snapshot.measured,
                ghost: ghost(snapshot, tokens),
                ribbons: &ribbons,
                props: &snapshot.props,
                look: &look,
            },
            Some(subject) => SceneInput {
                joints: subject.joints,
                ghost: asked_pose(&subject, tokens),
                ribbons: &ribbons,
                props: &bare,
                look: &look,
            },
        };
        self.canvas.draw(
            &self.gpu.device,
            &self.gpu.queue,
            &target.texture,
            &input,
            &view(draft, target.size()),
        );
        self.drawn = Some(stamp);
        if self.is_emulated {
            self.rests_until = begun + turn(begun.elapsed());
        }
    }

    /// Makes the texture anew when the panel has another size.
    fn fit(&mut self, size: [u32; 2]) {
        if self
            .target
            .as_ref()
            .is_some_and(|known| known.size() == size)
        {
            return;
        }
        let texture = Canvas::texture(&self.gpu.device, size);
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
        self.target = Some(Target { texture, id });
        self.drawn = None;
    }
}

fn stamp(snapshot: &Snapshot, draft: &SceneDraft, is_dark: bool) -> Stamp {
    // A trail that stands still does not change the picture, whatever the tick.
    let moved = snapshot
        .history
        .iter()
        .rev()
        .take(TRAIL_SAMPLES)
        .find(|sample| sample.measured.max_abs_diff(snapshot.measured) > 0.2);
    Stamp {
        orbit: draft.orbit,
        is_dark,
        measured: snapshot.measured,
        plan: snapshot
            .chunk
            .as_ref()
            .map(|chunk| (chunk.arrived_at, snapshot.tick.min(end(chunk)))),
        trail: moved.map_or(Tick(0), |sample| sample.tick),
        props: Arc::clone(&snapshot.props),
        subject: draft.subject,
    }
}

/// The view of the panel. An arm that is asked for stands whole in it, however narrow it is.
fn view(draft: &SceneDraft, [width, height]: [u32; 2]) -> View {
    let mut view = draft.orbit.view();
    if draft.subject.is_some() {
        // Its pan may be anywhere: it turns about its base.
        view.eye += TO_BASE;
        view.target += TO_BASE;
    }
    let aspect = width as f32 / height.max(1) as f32;
    if draft.subject.is_some() && aspect < WHOLE_ASPECT {
        let half = (view.fov_y / 2.0).tan() * WHOLE_ASPECT / aspect;
        view.fov_y = 2.0 * half.atan();
    }
    view
}

/// The tick after the last action of a chunk: from then on it shows nothing.
fn end(chunk: &ChunkView) -> Tick {
    Tick(chunk.first_tick.0 + chunk.actions.len() as u64)
}

/// The panel's size, shrunk in proportion to what a texture may have, and on an emulated device to what a CPU can fill.
fn fitted([width, height]: [u32; 2], is_emulated: bool) -> [u32; 2] {
    let mut scale = f64::from(LARGEST) / f64::from(width.max(height).max(1));
    if is_emulated {
        let pixels = f64::from(width) * f64::from(height);
        scale = scale.min((EMULATED_PIXELS / pixels.max(1.0)).sqrt());
    }
    if scale >= 1.0 {
        return [width, height];
    }
    [width, height].map(|side| ((f64::from(side) * scale).round() as u32).max(1))
}

/// From the beginning of a picture to that of the next on an emulated device, after one that took `cost`.
fn turn(cost: Duration) -> Duration {
    (cost * EMULATED_SHARE).max(EMULATED_PERIOD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_on_a_huge_display_keeps_its_shape() {
        assert_eq!(fitted([800, 400], false), [800, 400]);
        assert_eq!(fitted([4096, 2048], false), [2048, 1024]);
    }

    #[test]
    fn an_emulated_device_draws_small_and_seldom() {
        assert_eq!(fitted([640, 320], true), [640, 320]);
        assert_eq!(fitted([2400, 1200], true), [800, 400]);
        assert_eq!(turn(Duration::from_millis(2)), EMULATED_PERIOD);
        assert_eq!(
            turn(Duration::from_millis(40)),
            Duration::from_millis(160),
            "a slow picture is followed by a longer rest"
        );
    }

    #[test]
    fn a_resting_arm_is_the_same_picture_at_every_tick() {
        let mut snapshot = Snapshot::default();
        let first = stamp(&snapshot, &SceneDraft::default(), true);
        snapshot.tick = Tick(500);
        assert_eq!(stamp(&snapshot, &SceneDraft::default(), true), first);
        assert_ne!(stamp(&snapshot, &SceneDraft::default(), false), first);
    }
}
