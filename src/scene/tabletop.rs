//! The table for the software renderer. Most of a camera's picture is table, so it has a quick way of its own: a row at a time,
//! several pixels side by side, so that the compiler can use vector instructions. The formulas are `table_fragment`'s.

use glam::{Vec2, Vec3, Vec4Swizzles as _, vec2};

use crate::scene::layout::{FrameUniform, Layout};
use crate::scene::shading::{Light, mark_cover, smoothstep};

/// Twin: `GRID_STEP` and `GRID_HALF`.
const GRID_STEP: f32 = 0.05;
const GRID_HALF: f32 = 0.0006;
/// Points of [`TableLight`] along each side: about 6 mm apart.
const POINTS: usize = 160;
/// Pixels worked on side by side.
const LANES: usize = 8;

/// The shares of lamp (X) and sky (Y) that reach the table, on a grid: two cameras look at one table, so this is worked out once
/// for a scene and not for every pixel.
#[derive(Default)]
pub struct TableLight(Vec<Vec2>);

impl TableLight {
    /// Works the grid out.
    pub fn new(light: &Light<'_>) -> Self {
        let area = light.layout.uniform.contact_area;
        let step = 1.0 / (area.z * POINTS as f32);
        let mut points = Vec::with_capacity(POINTS * POINTS);
        for row in 0..POINTS {
            for column in 0..POINTS {
                let cell = vec2(column as f32 + 0.5, row as f32 + 0.5);
                let point = area.xy() + step * cell;
                let open_sky = light.layout.contact.sky_at(point);
                let lamp = light.lamp_at(point.extend(0.0), Vec3::Z);
                points.push(vec2(lamp * (0.35 + 0.65 * open_sky), open_sky));
            }
        }
        Self(points)
    }

    /// Lamp and sky at a point of the table, (0, 0) to (1, 1) on the grid; everything beyond is lit.
    fn at(&self, x: f32, y: f32) -> Vec2 {
        let at = vec2(x, y) * POINTS as f32 - 0.5;
        let last = POINTS as f32 - 1.0;
        let inside = at.x >= 0.0 && at.y >= 0.0 && at.x < last && at.y < last;
        if !inside {
            return Vec2::ONE;
        }
        let (column, row) = (at.x as i32, at.y as i32);
        let part = at - vec2(column as f32, row as f32);
        let first = row as usize * POINTS + column as usize;
        let across = |first: usize| self.0[first].lerp(self.0[first + 1], part.x);
        across(first).lerp(across(first + POINTS), part.y)
    }
}

/// Where the rays of a picture's pixels go: linear in the pixel.
pub struct Rays {
    eye: Vec3,
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
}

/// What is worked out for several pixels side by side.
#[derive(Default)]
struct Lanes {
    /// Where the ray meets the table, metres.
    x: [f32; LANES],
    y: [f32; LANES],
    /// Width of the pixel on the table, metres.
    footprint: [f32; LANES],
    /// Share of the grid's colour.
    grid: [f32; LANES],
    /// Share of the background.
    gone: [f32; LANES],
}

impl Lanes {
    fn new(frame: &FrameUniform, rays: &Rays, start: Vec3) -> Self {
        let mut lanes = Self::default();
        let (eye, right) = (rays.eye, rays.right);
        for k in 0..LANES {
            let column = k as f32;
            let (rx, ry) = (start.x + column * right.x, start.y + column * right.y);
            // A ray that does not go down meets the table so far away that only the background is left.
            let rz = (start.z + column * right.z).min(-1e-6);
            let t = -eye.z / rz;
            let (x, y) = (eye.x + t * rx, eye.y + t * ry);
            let distance = t * (rx * rx + ry * ry + rz * rz).sqrt();
            let footprint = frame.eye.w * distance * (distance / eye.z).min(1.0 / 0.15);
            let width = footprint.max(2.0 * GRID_HALF);
            let line = line_cover(x, width).max(line_cover(y, width));
            let strong = (2.0 * GRID_HALF / width + 0.35).min(1.0);
            let far = 1.0 - smoothstep(1.0, 12.0, footprint * (10.0 / GRID_STEP));
            let away = ((x - 0.14) * (x - 0.14) + y * y).sqrt();
            lanes.footprint[k] = footprint;
            lanes.x[k] = x;
            lanes.y[k] = y;
            lanes.grid[k] = frame.grid.w * line * strong * far;
            lanes.gone[k] = smoothstep(frame.background.w, frame.table.w, away);
        }
        lanes
    }
}

/// How much of a pixel of this width a grid line covers, along one coordinate.
fn line_cover(coordinate: f32, width: f32) -> f32 {
    // Rounded by way of an integer: `round` is a call into libm on baseline x86-64.
    let nearest = (coordinate * (1.0 / GRID_STEP) + 1000.5) as i32 as f32 - 1000.0;
    let away = (coordinate - GRID_STEP * nearest).abs();
    ((GRID_HALF + 0.5 * width - away) / width).clamp(0.0, 1.0)
}

/// The table's colour with the marks painted on it. Twin: the loop in `table_fragment`.
fn painted(frame: &FrameUniform, surface: Vec3, point: Vec2, footprint: f32) -> Vec3 {
    let count = frame.contact_area.w as usize;
    let marks = frame.mark_places.iter().zip(&frame.mark_colors).take(count);
    marks.fold(surface, |surface, (place, color)| {
        let away = point.distance(place.xy());
        surface.lerp(color.xyz(), mark_cover(away, place.z, footprint))
    })
}

/// The linear colours of the table and the background in one row of the picture.
pub fn table_row(
    frame: &FrameUniform,
    light: &TableLight,
    rays: &Rays,
    row: usize,
    colors: &mut [Vec3],
) {
    let (table, grid) = (frame.table.xyz(), frame.grid.xyz());
    let (background, area) = (frame.background.xyz(), frame.contact_area);
    let (lamp, sky) = (frame.key.xyz() * frame.light.z, frame.sky.xyz());
    let marks = area.w as usize;
    for (block, colors) in colors.chunks_mut(LANES).enumerate() {
        let column = (block * LANES) as f32;
        let start = rays.first + row as f32 * rays.down + column * rays.right;
        let lanes = Lanes::new(frame, rays, start);
        for (k, color) in colors.iter_mut().enumerate() {
            let (x, y) = (lanes.x[k] - area.x, lanes.y[k] - area.y);
            let share = light.at(x * area.z, y * area.z);
            let surface = table + lanes.grid[k] * (grid - table);
            let surface = match marks {
                0 => surface,
                _ => painted(
                    frame,
                    surface,
                    vec2(lanes.x[k], lanes.y[k]),
                    lanes.footprint[k],
                ),
            };
            let lit = surface * (share.x * lamp + share.y * sky);
            *color = lit + lanes.gone[k] * (background - lit);
        }
    }
}
