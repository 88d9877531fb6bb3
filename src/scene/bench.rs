//! Puts the parts of the arm together: printed plates, servos and screws, placed where they stand when all joints are at zero.

use glam::{Affine3A, Quat, Vec2, Vec3, vec3};

use crate::kinematics::Link;
use crate::scene::look::Material;
use crate::scene::solid::{Mesh, Place, hull};

/// How far printed edges are broken.
const EDGE: f32 = 0.0009;
/// Half width from the arm's middle plane to the fork plates.
const FORK: f32 = 0.0238;

/// How finely the arm is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// For the eye: broken edges, screws.
    Fine,
    /// For shadows: sharp edges, no screws, about a third of the triangles.
    Coarse,
}

impl Detail {
    /// Edges in half a turn of a round part.
    pub fn arc(self) -> usize {
        match self {
            Self::Fine => 7,
            Self::Coarse => 4,
        }
    }

    /// How far an edge is broken that would be broken by this much.
    pub fn edge(self, fine: f32) -> f32 {
        match self {
            Self::Fine => fine,
            Self::Coarse => 0.0,
        }
    }
}

/// The direction through a plate or along a shaft.
#[derive(Clone, Copy)]
pub enum Along {
    X,
    Y,
    Z,
}

impl Along {
    /// Turns the solid's Z to this direction; the outline's plane becomes (Y, Z), (X, Z) or (X, Y).
    pub fn turn(self) -> Quat {
        use std::f32::consts::FRAC_PI_2;
        match self {
            Self::X => Quat::from_mat3(&glam::mat3(Vec3::Y, Vec3::Z, Vec3::X)),
            Self::Y => Quat::from_rotation_x(FRAC_PI_2),
            Self::Z => Quat::IDENTITY,
        }
    }

    /// One metre in this direction.
    pub fn unit(self) -> Vec3 {
        match self {
            Self::X => Vec3::X,
            Self::Y => Vec3::Y,
            Self::Z => Vec3::Z,
        }
    }
}

/// Puts parts of one link into the mesh.
pub struct Bench<'a> {
    pub mesh: &'a mut Mesh,
    pub detail: Detail,
    pub link: Link,
    pub link_from_base: Affine3A,
}

impl Bench<'_> {
    /// Where a solid goes that is drawn about its own origin.
    pub fn place(&self, material: Material, at: Vec3, turn: Quat) -> Place {
        Place {
            frame: self.link_from_base * Affine3A::from_rotation_translation(turn, at),
            material: material as u32,
            link: self.link as u32,
        }
    }

    /// A box.
    pub fn block(&mut self, material: Material, centre: [f32; 3], half: [f32; 3]) {
        self.turned_block(material, centre, half, Quat::IDENTITY);
    }

    /// A box turned about its centre.
    pub fn turned_block(
        &mut self,
        material: Material,
        centre: [f32; 3],
        half: [f32; 3],
        turn: Quat,
    ) {
        let half = Vec3::from(half);
        let place = self.place(material, Vec3::from(centre), turn);
        let edge = (0.3 * half.min_element()).min(EDGE);
        self.mesh.rounded_box(&place, half, self.detail.edge(edge));
    }

    /// A printed plate whose outline is wound around `circles`, in the two coordinates left over by `along`; `level` and `half` are its
    /// middle and half its thickness.
    pub fn plate(&mut self, along: Along, level: f32, half: f32, circles: &[(Vec2, f32)]) {
        let place = self.place(Material::Printed, level * along.unit(), along.turn());
        let edge = self.detail.edge((0.4 * half).min(EDGE));
        let outline = hull(circles, self.detail.arc());
        self.mesh.plate(&place, &outline, half, edge);
    }

    /// The screws of a horn on a face that looks along `outwards`: four around a dark centre hole.
    pub fn horn_screws(&mut self, face: Vec3, outwards: Vec3) {
        if self.detail == Detail::Coarse {
            return;
        }
        let turn = Quat::from_rotation_arc(Vec3::Z, outwards);
        let hole = self.place(Material::Dark, face, turn);
        self.mesh.stud(&hole, 0.0036, 0.0004);
        for k in 0..4 {
            let angle = std::f32::consts::FRAC_PI_4 * (2 * k + 1) as f32;
            let at = face + turn * (0.0072 * Vec2::from_angle(angle)).extend(0.0);
            let screw = self.place(Material::Metal, at, turn);
            self.mesh.stud(&screw, 0.0016, 0.0008);
        }
    }

    /// An STS3215: a black case of three layers and a metal horn on either side; `body` points from the shaft to the long end.
    pub fn servo(&mut self, centre: [f32; 3], shaft: Along, body: Vec3) {
        let centre = Vec3::from(centre);
        let across = shaft.unit();
        let thick = (Vec3::ONE - across - body.abs()).abs();
        let half = 0.0227 * body.abs() + 0.0124 * thick;
        let layer = |bench: &mut Self, offset: f32, height: f32, inset: f32| {
            let middle = centre + offset * across;
            let size = half - inset * (body.abs() + thick) + height * across;
            bench.block(Material::Servo, middle.to_array(), size.to_array());
        };
        layer(self, 0.0, 0.0088, 0.0003);
        layer(self, 0.0122, 0.0033, 0.0);
        layer(self, -0.0122, 0.0033, 0.0);
        let axis = centre - 0.0125 * body;
        for side in [-1.0, 1.0] {
            let place = self.place(Material::Metal, axis + side * 0.0176 * across, shaft.turn());
            let disc = hull(&[(Vec2::ZERO, 0.0098)], self.detail.arc());
            self.mesh
                .plate(&place, &disc, 0.0022, self.detail.edge(0.0005));
        }
    }

    /// Two plates that hold a horn from both sides, with their screws; `circles` in (X, Z), the first around the shaft.
    pub fn fork(&mut self, circles: &[(Vec2, f32)]) {
        for side in [-1.0, 1.0] {
            self.plate(Along::Y, side * FORK, 0.0031, circles);
            let face = vec3(circles[0].0.x, side * (FORK + 0.0031), circles[0].0.y);
            self.horn_screws(face, side * Vec3::Y);
        }
    }
}
