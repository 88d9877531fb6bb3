//! The solids that the arm and the cubes are made of: boxes and plates with broken edges, as printed parts have.

use bytemuck::{Pod, Zeroable};
use glam::{Affine3A, Vec2, Vec3, vec2, vec3};

/// One corner of a triangle. Twin: `struct Corner` in `shaders/scene.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Vertex {
    /// In the frame of its link, metres.
    pub position: [f32; 3],
    pub normal: [f32; 3],
    /// Index into the materials of the look.
    pub material: u32,
    /// Index into the link poses.
    pub link: u32,
}

/// Triangles that share corners, counter-clockwise seen from outside.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    pub vertices: Vec<Vertex>,
    pub indices: Vec<u32>,
}

impl Mesh {
    /// How many triangles the mesh has.
    pub fn triangles(&self) -> usize {
        self.indices.len() / 3
    }
}

/// Where a solid goes and what it is made of.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// `link_from_solid`.
    pub frame: Affine3A,
    pub material: u32,
    pub link: u32,
}

/// A closed convex outline: points with outward normals, counter-clockwise.
pub type Outline = Vec<(Vec2, Vec2)>;

/// The outline of a string wound tightly around circles (centre, radius), which are given counter-clockwise. An arc of half
/// a turn has `arc_steps` edges.
pub fn hull(circles: &[(Vec2, f32)], arc_steps: usize) -> Outline {
    let count = circles.len();
    if let [(centre, radius)] = circles {
        return (0..2 * arc_steps)
            .map(|k| Vec2::from_angle(k as f32 * std::f32::consts::PI / arc_steps as f32))
            .map(|normal| (*centre + *radius * normal, normal))
            .collect();
    }
    let tangent = |from: usize, to: usize| {
        let ((a, ra), (b, rb)) = (circles[from % count], circles[to % count]);
        let along = (b - a).normalize_or(Vec2::X);
        let lean = ((ra - rb) / (b - a).length().max(1e-9)).clamp(-1.0, 1.0);
        along * lean - along.perp() * (1.0 - lean * lean).sqrt()
    };
    let mut outline = Outline::new();
    for (k, &(centre, radius)) in circles.iter().enumerate() {
        let (first, last) = (tangent(k + count - 1, k), tangent(k, k + 1));
        let turn = first.angle_to(last).rem_euclid(std::f32::consts::TAU);
        let steps = (turn / std::f32::consts::PI * arc_steps as f32)
            .ceil()
            .max(1.0) as usize;
        outline.extend((0..=steps).map(|step| {
            let normal = Vec2::from_angle(turn * step as f32 / steps as f32).rotate(first);
            (centre + radius * normal, normal)
        }));
    }
    outline
}

impl Mesh {
    fn push(&mut self, place: &Place, position: Vec3, normal: Vec3) -> u32 {
        self.vertices.push(Vertex {
            position: place.frame.transform_point3(position).to_array(),
            normal: place
                .frame
                .transform_vector3(normal)
                .normalize_or_zero()
                .to_array(),
            material: place.material,
            link: place.link,
        });
        self.vertices.len() as u32 - 1
    }

    /// Adds a triangle, turned so that it faces the way of its corners' normals; a triangle without area is left out.
    fn triangle(&mut self, a: u32, b: u32, c: u32) {
        let corner = |k: u32| Vec3::from(self.vertices[k as usize].position);
        let normal = |k: u32| Vec3::from(self.vertices[k as usize].normal);
        let face = (corner(b) - corner(a)).cross(corner(c) - corner(a));
        if face.length_squared() < 1e-19 {
            return;
        }
        let outwards = face.dot(normal(a) + normal(b) + normal(c)) > 0.0;
        let turned = if outwards { [a, b, c] } else { [a, c, b] };
        self.indices.extend(turned);
    }

    fn quad(&mut self, a: u32, b: u32, c: u32, d: u32) {
        self.triangle(a, b, c);
        self.triangle(a, c, d);
    }

    /// A box of these half extents whose edges are broken by `edge`; the normals make the edges look round. Sharp at zero.
    pub fn rounded_box(&mut self, place: &Place, half: Vec3, edge: f32) {
        let core = half - Vec3::splat(edge);
        // Corner k has the sign of bit 0 along X, bit 1 along Y, bit 2 along Z, and one vertex for each axis.
        let sign = |k: usize, axis: usize| if k >> axis & 1 == 1 { 1.0 } else { -1.0 };
        let mut at = [[0_u32; 3]; 8];
        for (k, corner) in at.iter_mut().enumerate() {
            let signs = vec3(sign(k, 0), sign(k, 1), sign(k, 2));
            for (axis, vertex) in corner.iter_mut().enumerate() {
                let normal = Vec3::AXES[axis] * signs[axis];
                *vertex = self.push(place, core * signs + edge * normal, normal);
            }
        }
        for axis in 0..3 {
            let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
            for side in [0, 1 << axis] {
                self.quad(
                    at[side][axis],
                    at[side | u][axis],
                    at[side | u | v][axis],
                    at[side | v][axis],
                );
            }
            if edge == 0.0 {
                continue;
            }
            // The four edges along this axis join the faces of the other two.
            let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
            for side in [0, u, v, u | v] {
                let far = side | 1 << axis;
                self.quad(at[side][p], at[far][p], at[far][q], at[side][q]);
            }
        }
        for corner in at.iter().filter(|_| edge > 0.0) {
            self.triangle(corner[0], corner[1], corner[2]);
        }
    }

    /// A plate of this outline in the solid's XY plane, from `-half` to `half` along Z, edges broken by `edge`. Sharp
    /// at zero.
    pub fn plate(&mut self, place: &Place, outline: &[(Vec2, Vec2)], half: f32, edge: f32) {
        let rings = [
            (half, edge, true),
            (half - edge, 0.0, false),
            (edge - half, 0.0, false),
            (-half, edge, true),
        ]
        .map(|(z, inset, is_cap)| {
            let up = Vec3::Z * z.signum();
            outline
                .iter()
                .map(|&(point, normal)| {
                    let normal_3d = if is_cap { up } else { normal.extend(0.0) };
                    self.push(place, (point - inset * normal).extend(z), normal_3d)
                })
                .collect::<Vec<u32>>()
        });
        for pair in rings.windows(2).filter(|_| edge > 0.0) {
            self.strip(&pair[0], &pair[1]);
        }
        if edge == 0.0 {
            self.strip(&rings[1], &rings[2]);
        }
        self.fan(&rings[0]);
        self.fan(&rings[3]);
    }

    /// A low stud without a bottom, for screw heads: `radius` in the solid's XY plane, from 0 to `height` along Z.
    pub fn stud(&mut self, place: &Place, radius: f32, height: f32) {
        let outline = hull(&[(Vec2::ZERO, radius)], 3);
        let ring = |mesh: &mut Self, z: f32, cap: bool| {
            outline
                .iter()
                .map(|&(point, normal)| {
                    let normal = if cap { Vec3::Z } else { normal.extend(0.0) };
                    mesh.push(place, point.extend(z), normal)
                })
                .collect::<Vec<u32>>()
        };
        let (cap, top, bottom) = (
            ring(self, height, true),
            ring(self, height, false),
            ring(self, 0.0, false),
        );
        self.strip(&top, &bottom);
        self.fan(&cap);
    }

    /// Joins two rings of equal length.
    fn strip(&mut self, upper: &[u32], lower: &[u32]) {
        let count = upper.len();
        for k in 0..count {
            let next = (k + 1) % count;
            self.quad(upper[k], upper[next], lower[next], lower[k]);
        }
    }

    /// Fills a convex ring.
    fn fan(&mut self, ring: &[u32]) {
        for pair in ring[1..].windows(2) {
            self.triangle(ring[0], pair[0], pair[1]);
        }
    }
}

/// A cube of edge 1 about the origin, with edges broken like a sanded wooden block's.
pub fn unit_cube() -> Mesh {
    let mut mesh = Mesh::default();
    let place = Place {
        frame: Affine3A::IDENTITY,
        material: 0,
        link: 0,
    };
    mesh.rounded_box(&place, Vec3::splat(0.5), 0.05);
    mesh
}

/// Circles at the corners of a rectangle, counter-clockwise, for [`hull`].
pub fn rectangle(centre: Vec2, half: Vec2, radius: f32) -> [(Vec2, f32); 4] {
    let inner = half - Vec2::splat(radius);
    [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
        .map(|(u, v)| (centre + inner * vec2(u, v), radius))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        frame: Affine3A::IDENTITY,
        material: 2,
        link: 3,
    };

    /// Volume by the divergence theorem: right only if the mesh is closed and turned outwards everywhere.
    fn volume(mesh: &Mesh) -> f32 {
        let corner = |k: u32| Vec3::from(mesh.vertices[k as usize].position);
        mesh.indices
            .chunks(3)
            .map(|t| corner(t[0]).dot(corner(t[1]).cross(corner(t[2]))) / 6.0)
            .sum()
    }

    #[test]
    fn a_box_is_closed_and_faces_outwards() {
        let mut mesh = Mesh::default();
        mesh.rounded_box(&PLACE, vec3(1.0, 2.0, 3.0), 0.0);
        assert_eq!(mesh.triangles(), 12);
        assert!((volume(&mesh) - 48.0).abs() < 1e-4);
        mesh = Mesh::default();
        mesh.rounded_box(&PLACE, vec3(1.0, 2.0, 3.0), 0.01);
        assert_eq!(mesh.triangles(), 44);
        let lost = 48.0 - volume(&mesh);
        assert!(lost > 0.0 && lost < 0.01, "lost {lost}");
        assert!(mesh.vertices.iter().all(|v| v.material == 2 && v.link == 3));
    }

    #[test]
    fn a_plate_is_closed_and_faces_outwards() {
        let mut mesh = Mesh::default();
        let outline = hull(&[(vec2(0.0, 0.0), 1.0), (vec2(4.0, 0.0), 0.5)], 64);
        mesh.plate(&PLACE, &outline, 0.5, 1e-4);
        // Two part discs and the trapezium between their tangents.
        let lean = 0.125_f32.asin();
        let pi = std::f32::consts::PI;
        let area = (pi / 2.0 + lean) + 0.25 * (pi / 2.0 - lean) + 1.5 * 4.0 * lean.cos();
        assert!((volume(&mesh) - area).abs() < 0.01 * area);
        let sharp = &mut Mesh::default();
        sharp.plate(&PLACE, &outline, 0.5, 0.0);
        assert!((volume(sharp) - area).abs() < 0.01 * area);
    }

    #[test]
    fn a_hull_of_one_circle_is_the_circle() {
        let outline = hull(&[(vec2(1.0, 1.0), 2.0)], 8);
        assert_eq!(outline.len(), 16);
        for (point, normal) in outline {
            assert!((point - vec2(1.0, 1.0) - 2.0 * normal).length() < 1e-6);
        }
    }
}
