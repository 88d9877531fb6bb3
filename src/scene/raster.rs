//! A small z-buffer: which triangle each pixel sees. The software renderer colours the pixels afterwards.

use glam::{Mat4, Vec2, Vec3, Vec4, Vec4Swizzles as _, vec2};

use crate::scene::shading::{pixel_from_clip, soft_weights};

/// No triangle here.
pub const NOBODY: u32 = u32::MAX;

/// A corner on its way to the screen.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub clip: Vec4,
    /// Base frame.
    pub position: Vec3,
    pub normal: Vec3,
}

impl Point {
    fn between(a: &Self, b: &Self, share: f32) -> Self {
        Self {
            clip: a.clip.lerp(b.clip, share),
            position: a.position.lerp(b.position, share),
            normal: a.normal.lerp(b.normal, share),
        }
    }
}

/// A triangle on the screen.
#[derive(Clone, Copy, Debug)]
pub struct Triangle {
    /// Pixels.
    corners: [Vec2; 3],
    /// Depth (0 near, 1 far) and 1/w, both linear on the screen.
    depth: Vec3,
    inverse_w: Vec3,
    positions: [Vec3; 3],
    normals: [Vec3; 3],
    /// Colour and gloss, or colour and opacity.
    pub color: Vec4,
    /// Twice its area, pixels.
    area: f32,
}

impl Triangle {
    /// Position and normal (not of unit length) at a point of the screen, pixels.
    pub fn at(&self, pixel: Vec2) -> (Vec3, Vec3) {
        let [a, b, c] = self.corners;
        let u = (c - b).perp_dot(pixel - b) / self.area;
        let v = (a - c).perp_dot(pixel - c) / self.area;
        let share = Vec3::new(u, v, 1.0 - u - v) * self.inverse_w;
        let share = share / share.element_sum();
        let mix = |of: &[Vec3; 3]| share.x * of[0] + share.y * of[1] + share.z * of[2];
        (mix(&self.positions), mix(&self.normals))
    }
}

/// Depth and owner of every pixel.
#[derive(Clone, Debug)]
pub struct Raster {
    pub width: usize,
    pub height: usize,
    pub depth: Vec<f32>,
    pub owner: Vec<u32>,
    pub triangles: Vec<Triangle>,
}

impl Raster {
    /// An empty picture.
    pub fn new([width, height]: [u32; 2]) -> Self {
        let (width, height) = (width as usize, height as usize);
        Self {
            width,
            height,
            depth: vec![1.0; width * height],
            owner: vec![NOBODY; width * height],
            triangles: Vec::new(),
        }
    }

    /// Forgets everything drawn.
    pub fn clear(&mut self) {
        self.depth.fill(1.0);
        self.owner.fill(NOBODY);
        self.triangles.clear();
    }

    /// Draws a triangle, cut at the near plane, if it faces the eye.
    pub fn add(&mut self, corners: [&Point; 3], color: Vec4) {
        let near = |p: &Point| p.clip.z;
        if corners.iter().all(|p| near(p) > 0.0) {
            self.add_whole(corners, color);
            return;
        }
        let mut kept: Vec<Point> = Vec::with_capacity(4);
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            if near(a) > 0.0 {
                kept.push(*a);
            }
            if (near(a) > 0.0) != (near(b) > 0.0) {
                // A hair inside, so that the division by w is safe.
                let share = (near(a) - 1e-5) / (near(a) - near(b));
                kept.push(Point::between(a, b, share));
            }
        }
        for pair in kept.windows(2).skip(1) {
            self.add_whole([&kept[0], &pair[0], &pair[1]], color);
        }
    }

    fn add_whole(&mut self, corners: [&Point; 3], color: Vec4) {
        let size = vec2(self.width as f32, self.height as f32);
        let screen = corners.map(|p| pixel_from_clip(p.clip.xyz() / p.clip.w, size));
        // Counter-clockwise in space is clockwise on a screen whose rows count downwards.
        let area = (screen[2] - screen[0]).perp_dot(screen[1] - screen[0]);
        let low = screen[0].min(screen[1]).min(screen[2]);
        let high = screen[0].max(screen[1]).max(screen[2]);
        let outside = high.x < 0.0 || high.y < 0.0 || low.x > size.x || low.y > size.y;
        if area <= 1e-6 || outside {
            return;
        }
        let triangle = Triangle {
            corners: screen,
            depth: Vec3::from(corners.map(|p| p.clip.z / p.clip.w)),
            inverse_w: Vec3::from(corners.map(|p| 1.0 / p.clip.w)),
            positions: corners.map(|p| p.position),
            normals: corners.map(|p| p.normal),
            color,
            area: -area,
        };
        self.fill(&triangle, low, high);
        self.triangles.push(triangle);
    }

    /// Gives the pixels whose middle the triangle covers, and where it is nearest, to the triangle about to be pushed.
    fn fill(&mut self, triangle: &Triangle, low: Vec2, high: Vec2) {
        let id = self.triangles.len() as u32;
        let [a, b, c] = triangle.corners;
        let scale = 1.0 / triangle.area;
        let columns = span(low.x, high.x, self.width);
        let start = columns.start as f32 + 0.5;
        // Shares of corners a and b change by these along a row.
        let (du, dv) = (-(c - b).y * scale, -(a - c).y * scale);
        let dz = du * triangle.depth.x + dv * triangle.depth.y - (du + dv) * triangle.depth.z;
        for row in span(low.y, high.y, self.height) {
            let pixel = vec2(start, row as f32 + 0.5);
            let mut u = (c - b).perp_dot(pixel - b) * scale;
            let mut v = (a - c).perp_dot(pixel - c) * scale;
            let mut z = triangle.depth.dot(Vec3::new(u, v, 1.0 - u - v));
            let first = row * self.width;
            let line = first + columns.start..first + columns.end;
            for (depth, owner) in self.depth[line.clone()]
                .iter_mut()
                .zip(&mut self.owner[line])
            {
                if u >= 0.0 && v >= 0.0 && u + v <= 1.0 && z < *depth {
                    *depth = z;
                    *owner = id;
                }
                u += du;
                v += dv;
                z += dz;
            }
        }
    }
}

/// Calls `paint` with the column and row of every pixel whose middle a triangle covers, whichever way it faces, its depth there, and
/// the shares of the three corners. A triangle that passes the eye is left out.
pub fn cover(
    [width, height]: [u32; 2],
    clip: [Vec4; 3],
    mut paint: impl FnMut([usize; 2], f32, Vec3),
) {
    if clip.iter().any(|p| p.z <= 0.0) {
        return;
    }
    let size = vec2(width as f32, height as f32);
    let [a, b, c] = clip.map(|p| pixel_from_clip(p.xyz() / p.w, size));
    let depth = Vec3::from(clip.map(|p| p.z / p.w));
    let inverse_w = Vec3::from(clip.map(|p| 1.0 / p.w));
    let area = (c - b).perp_dot(a - b);
    if area.abs() < 1e-6 {
        return;
    }
    let (low, high) = (a.min(b).min(c), a.max(b).max(c));
    for row in span(low.y, high.y, height as usize) {
        for column in span(low.x, high.x, width as usize) {
            let pixel = vec2(column as f32 + 0.5, row as f32 + 0.5);
            let u = (c - b).perp_dot(pixel - b) / area;
            let v = (a - c).perp_dot(pixel - c) / area;
            let flat = Vec3::new(u, v, 1.0 - u - v);
            if flat.min_element() >= 0.0 {
                let share = flat * inverse_w;
                paint([column, row], depth.dot(flat), share / share.element_sum());
            }
        }
    }
}

/// Pixels whose middles may lie between two coordinates.
fn span(low: f32, high: f32, count: usize) -> std::ops::Range<usize> {
    let from = (low - 0.5).ceil().max(0.0) as usize;
    let to = (high + 0.5).floor().max(0.0) as usize;
    from.min(count)..to.min(count).max(from.min(count))
}

/// What the lamp sees.
#[derive(Clone, Debug)]
pub struct DepthMap {
    raster: Raster,
    /// The nearest depth around each tile: most of the table is nowhere near a shadow.
    tiles: Vec<f32>,
}

/// Side of a tile of [`DepthMap`], texels.
const TILE: usize = 16;

impl DepthMap {
    /// A square map of this side.
    pub fn new(side: u32) -> Self {
        Self {
            raster: Raster::new([side, side]),
            tiles: Vec::new(),
        }
    }

    /// Draws these triangles anew, given in the base frame.
    pub fn draw(&mut self, shadow_from_base: &Mat4, triangles: &[[Vec3; 3]]) {
        self.raster.clear();
        for corners in triangles {
            let points = corners.map(|position| Point {
                clip: *shadow_from_base * position.extend(1.0),
                position,
                normal: Vec3::ZERO,
            });
            self.raster
                .add([&points[0], &points[1], &points[2]], Vec4::ZERO);
        }
        self.fill_tiles();
    }

    fn fill_tiles(&mut self) {
        let (side, depth) = (self.raster.width, &self.raster.depth);
        let per_side = side.div_ceil(TILE);
        self.tiles = vec![1.0; per_side * per_side];
        for (k, nearest) in self.tiles.iter_mut().enumerate() {
            let (left, top) = (k % per_side * TILE, k / per_side * TILE);
            // Three texels are looked at from the tile's last one on.
            let columns = left..(left + TILE + 2).min(side);
            for row in top..(top + TILE + 2).min(side) {
                let line = &depth[row * side + columns.start..row * side + columns.end];
                *nearest = line.iter().copied().fold(*nearest, f32::min);
            }
        }
    }

    /// The share of the texels around `at` (0 to 1) that see at least as far as `depth`, weighted smoothly.
    pub fn share_behind(&self, at: Vec2, depth: f32) -> f32 {
        let side = self.raster.width;
        let (column, across) = soft_weights(at.x * side as f32);
        let (row, downwards) = soft_weights(at.y * side as f32);
        let (column, row) = (column.min(side - 3), row.min(side - 3));
        let tile = row / TILE * side.div_ceil(TILE) + column / TILE;
        if self.tiles.get(tile).is_none_or(|&nearest| depth <= nearest) {
            return 1.0;
        }
        let mut share = 0.0;
        for (k, weight) in downwards.into_iter().enumerate() {
            let first = (row + k) * side + column;
            for (texel, other) in self.raster.depth[first..first + 3].iter().zip(across) {
                if depth <= *texel {
                    share += weight * other;
                }
            }
        }
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::vec4;

    fn point(x: f32, y: f32, z: f32) -> Point {
        Point {
            clip: vec4(x, y, z, 1.0),
            position: Vec3::new(x, y, z),
            normal: Vec3::Z,
        }
    }

    #[test]
    fn the_nearer_triangle_owns_the_pixel() {
        let mut raster = Raster::new([8, 8]);
        let far = [
            point(-1.0, -1.0, 0.9),
            point(3.0, -1.0, 0.9),
            point(-1.0, 3.0, 0.9),
        ];
        let near = [
            point(-1.0, -1.0, 0.1),
            point(0.0, -1.0, 0.1),
            point(-1.0, 0.0, 0.1),
        ];
        raster.add([&near[0], &near[1], &near[2]], Vec4::ZERO);
        raster.add([&far[0], &far[1], &far[2]], Vec4::ONE);
        assert!(raster.owner.iter().all(|&id| id != NOBODY));
        assert_eq!(raster.owner[7 * 8], 0, "bottom left is near");
        assert_eq!(raster.owner[7], 1, "top right is far");
        let (position, _) = raster.triangles[1].at(vec2(4.5, 4.5));
        assert!((position.x - 0.125).abs() < 1e-5 && (position.y + 0.125).abs() < 1e-5);
    }

    #[test]
    fn a_triangle_seen_from_behind_is_not_drawn() {
        let mut raster = Raster::new([4, 4]);
        let p = [
            point(-1.0, -1.0, 0.5),
            point(-1.0, 3.0, 0.5),
            point(3.0, -1.0, 0.5),
        ];
        raster.add([&p[0], &p[1], &p[2]], Vec4::ZERO);
        assert!(raster.triangles.is_empty());
    }

    #[test]
    fn a_triangle_is_cut_where_it_passes_the_eye() {
        let mut raster = Raster::new([8, 8]);
        let mut p = [
            point(-1.0, -1.0, 0.5),
            point(1.0, -1.0, 0.5),
            point(0.0, 1.0, 0.5),
        ];
        p[2].clip = vec4(0.0, 1.0, -1.0, -0.9);
        raster.add([&p[0], &p[1], &p[2]], Vec4::ZERO);
        assert_eq!(raster.triangles.len(), 2);
        assert!(raster.depth.iter().all(|&z| z >= 0.0));
    }

    #[test]
    fn what_is_behind_the_first_surface_is_in_shadow() {
        let mut map = DepthMap::new(16);
        let corners = [
            Vec3::new(-1.0, -1.0, 0.5),
            Vec3::new(0.0, -1.0, 0.5),
            Vec3::new(-1.0, 3.0, 0.5),
        ];
        map.draw(&Mat4::IDENTITY, &[corners]);
        assert_eq!(map.share_behind(vec2(0.1, 0.8), 0.6), 0.0);
        assert_eq!(map.share_behind(vec2(0.1, 0.8), 0.4), 1.0);
        assert_eq!(map.share_behind(vec2(0.9, 0.5), 0.6), 1.0);
    }
}
