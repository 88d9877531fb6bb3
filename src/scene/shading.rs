//! The light, in Rust: the same formulas as `shaders/scene.wgsl`, for machines without an adapter. Change both.

use glam::{Vec2, Vec3, Vec3Swizzles as _, Vec4Swizzles as _, vec2};

use crate::scene::layout::Layout;
use crate::scene::raster::DepthMap;

/// Ribbons behind something shine through with this share of their opacity.
pub const HIDDEN_RIBBON: f64 = 0.22;
/// Twin: `SHADOW_LIFT`; higher, because this shadow map is coarser.
const SHADOW_LIFT: f32 = 0.006;

/// What lies as low as the floor of a tray takes part in the table's contact shadows, metres. Twins of the same names.
const FLOOR: f32 = 0.005;
const FLOOR_END: f32 = 0.008;
/// It is lifted this much more before it asks for its shadow, or the lit wall beside it throws one on it, metres. Twin of the same
/// name.
const FLOOR_LIFT: f32 = 0.010;

/// How strongly a mark covers the table in its middle and at its rim: a stencilled ring, faintly filled. Twins of the same names.
const MARK_FILL: f32 = 0.48;
const MARK_RIM: f32 = 0.90;
/// Width of the rim and of its soft edge, metres. Twins of the same names.
const MARK_RING: f32 = 0.005;
const MARK_SOFT: f32 = 0.002;

/// Share of the depth range that the ghost is moved back. Twin: `GHOST_BEHIND`.
pub const GHOST_BEHIND: f32 = 0.00002;

/// The lamp, its shadows and everything else that colours depend on.
pub struct Light<'a> {
    pub layout: &'a Layout,
    pub shadow: &'a DepthMap,
}

/// Twin: the built-in of the same name.
pub fn smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

impl Light<'_> {
    /// The share of the lamp that reaches a point, 0 to 1. Twin: `lamp_at`.
    pub fn lamp_at(&self, position: Vec3, normal: Vec3) -> f32 {
        let at = self
            .layout
            .uniform
            .shadow_from_base
            .transform_point3(position + SHADOW_LIFT * normal);
        if at.x.abs() >= 0.98 || at.y.abs() >= 0.98 || at.z >= 1.0 {
            return 1.0;
        }
        self.shadow
            .share_behind(vec2(0.5 + 0.5 * at.x, 0.5 - 0.5 * at.y), at.z)
    }

    /// The light that a surface sends to the eye. Twin: `lit`.
    pub fn solid(&self, color: Vec3, gloss: f32, position: Vec3, normal: Vec3) -> Vec3 {
        let frame = &self.layout.uniform;
        let (key, to_light) = (frame.key.xyz(), frame.light.xyz());
        let to_eye = (frame.eye.xyz() - position).normalize_or_zero();
        let facing = normal.dot(to_light).max(0.0);
        let low = low_and_flat(position, normal);
        let lamp = if facing > 0.0 {
            self.lamp_at(position + low * FLOOR_LIFT * Vec3::Z, normal)
        } else {
            0.0
        };
        let floor_light = frame.ground.xyz() * (0.35 + 0.65 * smoothstep(0.0, 0.10, position.z));
        let open_sky = self.open_sky(position, low);
        let lamp = lamp * (0.35 + 0.65 * open_sky);
        let around = floor_light.lerp(frame.sky.xyz(), 0.5 + 0.5 * normal.z) * open_sky;
        let halfway = normal.dot((to_light + to_eye).normalize_or_zero()).max(0.0);
        let rim = 1.0 - normal.dot(to_eye).max(0.0);
        let shine = 0.55 * lamp * facing * halfway.powi(32) * key + 0.35 * rim.powi(3) * around;
        color * (facing * lamp * key + around) + gloss * shine
    }

    /// The share of the sky that a solid's surface sees: the contact shadows know only what is low and flat.
    fn open_sky(&self, position: Vec3, low: f32) -> f32 {
        if low == 0.0 {
            return 1.0;
        }
        1.0 + low * (self.layout.contact.sky_at(position.xy()) - 1.0)
    }

    /// Colour and opacity of the ghost. Twin: `ghost_fragment`.
    pub fn ghost(&self, position: Vec3, normal: Vec3) -> (Vec3, f32) {
        let frame = &self.layout.uniform;
        let to_eye = (frame.eye.xyz() - position).normalize_or_zero();
        let rim = 1.0 - normal.dot(to_eye).max(0.0);
        let bright = 0.75 + 0.25 * normal.z;
        let opacity = frame.ghost.w * (0.42 + 0.58 * rim * rim.sqrt());
        (frame.ghost.xyz() * bright, opacity)
    }
}

/// How much of a tray's floor a surface is, 0 to 1. Twin of the same name.
fn low_and_flat(position: Vec3, normal: Vec3) -> f32 {
    normal.z.max(0.0) * (1.0 - smoothstep(FLOOR, FLOOR_END, position.z))
}

/// Share of a ribbon's colour and opacity at this distance from its middle. Twin: `ribbon_fragment`.
pub fn ribbon_share(across: f32) -> (f32, f32) {
    let away = across.abs();
    (1.0 - 0.3 * away * away, 1.0 - smoothstep(0.55, 1.0, away))
}

/// How much of the table's colour a mark of this radius replaces this far from its middle, where a pixel is `footprint` wide, metres.
/// Twin: `mark_cover`.
pub fn mark_cover(away: f32, radius: f32, footprint: f32) -> f32 {
    let soft = footprint.max(MARK_SOFT);
    let inside = 1.0 - smoothstep(radius - soft, radius, away);
    let ring = smoothstep(radius - MARK_RING - soft, radius - MARK_RING, away);
    inside * (MARK_FILL + ring * (MARK_RIM - MARK_FILL))
}

/// Bilinear weights over three texels that equal the mean of two by two smooth samples one texel apart.
pub fn soft_weights(at: f32) -> (usize, [f32; 3]) {
    let shifted = (at - 1.0).max(0.0);
    let whole = shifted as i32;
    let part = shifted - whole as f32;
    (whole as usize, [0.5 * (1.0 - part), 0.5, 0.5 * part])
}

/// The middle of a picture's pixel from clip coordinates.
pub fn pixel_from_clip(at: Vec3, size: Vec2) -> Vec2 {
    vec2(0.5 + 0.5 * at.x, 0.5 - 0.5 * at.y) * size
}
