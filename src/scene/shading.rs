//! The light, in Rust: the same formulas as `shaders/scene.wgsl`, for machines without an adapter. Change both.

use glam::{Vec2, Vec3, Vec3Swizzles as _, Vec4Swizzles as _, vec2};

use crate::scene::layout::Layout;
use crate::scene::raster::DepthMap;

/// Ribbons behind something shine through with this share of their opacity.
pub const HIDDEN_RIBBON: f64 = 0.22;
/// Half the side of the table, metres. Twin: `TABLE_HALF`.
const TABLE_HALF: f32 = 3.5;
/// Twin: `GRID_STEP` and `GRID_HALF`.
const GRID_STEP: f32 = 0.05;
const GRID_HALF: f32 = 0.0006;
/// Twin: `SHADOW_LIFT`.
const SHADOW_LIFT: f32 = 0.0035;

/// Share of the depth range that the ghost is moved back. Twin: `GHOST_BEHIND`.
pub const GHOST_BEHIND: f32 = 0.00002;

/// The lamp, its shadows and everything else that colours depend on.
pub struct Light<'a> {
    pub layout: &'a Layout,
    pub shadow: &'a DepthMap,
}

/// Points of [`TableLight`] along each side: about 6 mm apart.
const TABLE_POINTS: usize = 160;

/// The shares of lamp (X) and sky (Y) that reach the table, on a grid: two cameras look at one table, and most of what they see
/// is table, so this is worked out once for a scene and not for every pixel.
#[derive(Default)]
pub struct TableLight(Vec<Vec2>);

impl TableLight {
    /// Works the grid out.
    pub fn new(light: &Light<'_>) -> Self {
        let area = light.layout.uniform.contact_area;
        let step = 1.0 / (area.z * TABLE_POINTS as f32);
        let points = (0..TABLE_POINTS * TABLE_POINTS).map(|k| {
            let cell = vec2((k % TABLE_POINTS) as f32, (k / TABLE_POINTS) as f32) + 0.5;
            let point = area.xy() + step * cell;
            let open_sky = light.layout.contact.sky_at(point);
            let lamp = light.lamp_at(point.extend(0.0), Vec3::Z);
            vec2(lamp * (0.35 + 0.65 * open_sky), open_sky)
        });
        Self(points.collect())
    }

    /// Lamp and sky at a point of the table; everything beyond the grid is lit.
    fn at(&self, on_map: Vec2) -> Vec2 {
        let at = on_map * TABLE_POINTS as f32 - 0.5;
        let last = TABLE_POINTS as f32 - 1.0;
        if at.min_element() < 0.0 || at.max_element() >= last {
            return Vec2::ONE;
        }
        let (x, y) = (at.x as i32 as usize, at.y as i32 as usize);
        let part = at - vec2(x as f32, y as f32);
        let row = |y: usize| {
            let first = y * TABLE_POINTS + x;
            self.0[first].lerp(self.0[first + 1], part.x)
        };
        row(y).lerp(row(y + 1), part.y)
    }
}

fn smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

impl Light<'_> {
    /// The share of the lamp that reaches a point, 0 to 1. Twin: `lamp_at`.
    fn lamp_at(&self, position: Vec3, normal: Vec3) -> f32 {
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
        let lamp = if facing > 0.0 {
            self.lamp_at(position, normal)
        } else {
            0.0
        };
        let floor_light = frame.ground.xyz() * (0.35 + 0.65 * smoothstep(0.0, 0.10, position.z));
        let around = floor_light.lerp(frame.sky.xyz(), 0.5 + 0.5 * normal.z);
        let halfway = normal.dot((to_light + to_eye).normalize_or_zero()).max(0.0);
        let rim = 1.0 - normal.dot(to_eye).max(0.0);
        let shine = 0.55 * lamp * facing * halfway.powi(32) * key + 0.35 * rim.powi(3) * around;
        color * (facing * lamp * key + around) + gloss * shine
    }

    /// The table where a ray meets it. Twin: `table_fragment`.
    pub fn table(&self, on_table: &TableLight, position: Vec3) -> Vec3 {
        let frame = &self.layout.uniform;
        let background = frame.background.xyz();
        let point = position.xy();
        let away = point.distance(vec2(0.14, 0.0));
        let gone = smoothstep(frame.background.w, frame.table.w, away);
        if gone >= 1.0 || point.abs().max_element() > TABLE_HALF {
            return background;
        }
        let to_eye = frame.eye.xyz() - position;
        let distance = to_eye.length();
        let footprint = distance * frame.eye.w / (to_eye.z / distance).max(0.15);
        let far = 1.0 - smoothstep(1.0, 12.0, footprint / (0.1 * GRID_STEP));
        let line = line_cover(position.x, footprint).max(line_cover(position.y, footprint));
        let grid = frame.grid.w * line * far;
        let color = frame.table.xyz().lerp(frame.grid.xyz(), grid);
        let share = on_table.at((point - frame.contact_area.xy()) * frame.contact_area.z);
        let light = frame.key.xyz() * (frame.light.z * share.x) + frame.sky.xyz() * share.y;
        (color * light).lerp(background, gone)
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

/// Share of a ribbon's colour and opacity at this distance from its middle. Twin: `ribbon_fragment`.
pub fn ribbon_share(across: f32) -> (f32, f32) {
    let away = across.abs();
    (1.0 - 0.3 * away * away, 1.0 - smoothstep(0.55, 1.0, away))
}

/// How much of a pixel a grid line covers, along one coordinate. Twin: `line_cover`.
fn line_cover(coordinate: f32, footprint: f32) -> f32 {
    // Rounded by way of an integer: `round` is a call into libm on baseline x86-64.
    let nearest = (coordinate / GRID_STEP + 1000.5) as i32 as f32 - 1000.0;
    let away = (coordinate - GRID_STEP * nearest).abs();
    let width = footprint.max(2.0 * GRID_HALF);
    let cover = ((GRID_HALF + 0.5 * width - away) / width).clamp(0.0, 1.0);
    cover * (2.0 * GRID_HALF / width + 0.35).min(1.0)
}

/// Where the rays of a picture's pixels go: linear in the pixel, so that a row costs one addition a pixel.
pub struct Rays {
    pub eye: Vec3,
    first: Vec3,
    right: Vec3,
    down: Vec3,
}

impl Rays {
    /// Rays of a picture of `size` pixels.
    pub fn new(layout: &Layout, size: [u32; 2]) -> Self {
        let base_from_clip = layout.uniform.clip_from_base.inverse();
        let eye = layout.uniform.eye.xyz();
        let towards = |x: f32, y: f32| base_from_clip.project_point3(Vec3::new(x, y, 0.5)) - eye;
        let corner = towards(-1.0, 1.0);
        let right = (towards(1.0, 1.0) - corner) / size[0] as f32;
        let down = (towards(-1.0, -1.0) - corner) / size[1] as f32;
        Self {
            eye,
            first: corner + 0.5 * (right + down),
            right,
            down,
        }
    }

    /// Where the ray of a pixel meets the table, if it does.
    pub fn on_table(&self, column: usize, row: usize) -> Option<Vec3> {
        let ray = self.first + column as f32 * self.right + row as f32 * self.down;
        let distance = -self.eye.z / ray.z;
        (distance.is_finite() && distance > 0.0).then(|| self.eye + distance * ray)
    }
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
