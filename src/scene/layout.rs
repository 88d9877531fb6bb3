//! One picture in numbers: what the shader and the software renderer both read. Built anew for each picture; small.

use bytemuck::{Pod, Zeroable};
use glam::camera::rh;
use glam::{Mat4, Vec3, Vec4, vec3};

use crate::kinematics::{Link, forward_robot};
use crate::scene::blocks::{BlockInstance, blocks};
use crate::scene::contact::ContactMap;
use crate::scene::look::MATERIAL_COUNT;
use crate::scene::{Mark, Ribbon, SceneInput, View};

/// Links of the arm and of its ghost.
pub const POSE_COUNT: usize = 2 * Link::ALL.len();

/// Marks on the table at most; those beyond are not drawn. Twin: `MARKS`.
pub const MARKS: usize = 8;
/// The ball that the shadow map covers: everything the arm can reach.
const SHADOW_CENTRE: Vec3 = vec3(0.14, 0.0, 0.14);
const SHADOW_RADIUS: f32 = 0.52;

/// The numbers of one picture. Twin: `struct Frame` in `shaders/scene.wgsl`, which says what each of them is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct FrameUniform {
    pub clip_from_base: Mat4,
    pub shadow_from_base: Mat4,
    pub eye: Vec4,
    pub light: Vec4,
    pub key: Vec4,
    pub sky: Vec4,
    pub ground: Vec4,
    pub background: Vec4,
    pub table: Vec4,
    pub grid: Vec4,
    pub ghost: Vec4,
    pub contact_area: Vec4,
    pub mark_places: [Vec4; MARKS],
    pub mark_colors: [Vec4; MARKS],
    pub materials: [Vec4; 8],
    pub links: [Mat4; POSE_COUNT],
}

/// One corner of a ribbon's triangles. Twin: `struct RibbonIn` in `shaders/scene.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct RibbonVertex {
    pub position: [f32; 3],
    /// -1 at one rim, 0 in the middle, 1 at the other.
    pub across: f32,
    /// Linear RGB and opacity.
    pub color: [f32; 4],
}

/// Everything that changes from picture to picture.
#[derive(Clone, Debug)]
pub struct Layout {
    pub uniform: FrameUniform,
    /// Cubes and trays.
    pub blocks: Vec<BlockInstance>,
    /// As many of them, from the first on, throw shadows.
    pub casters: usize,
    /// A list of triangles.
    pub ribbons: Vec<RibbonVertex>,
    pub contact: ContactMap,
    pub has_ghost: bool,
}

impl Layout {
    /// Lays out one picture of `size` pixels.
    pub fn new(input: &SceneInput<'_>, view: &View, size: [u32; 2]) -> Self {
        let arm = forward_robot(input.joints);
        let ghost = input.ghost.map(|ghost| forward_robot(ghost.joints));
        let mut links = [Mat4::IDENTITY; POSE_COUNT];
        let poses = arm.links.iter().chain(ghost.iter().flat_map(|g| &g.links));
        for (slot, &pose) in links.iter_mut().zip(poses) {
            *slot = Mat4::from(pose);
        }
        let contact = ContactMap::new(&arm, input.props);
        let (blocks, casters) = blocks(input.props);
        Self {
            uniform: uniform(input, view, size, &links),
            blocks,
            casters,
            ribbons: input
                .ribbons
                .iter()
                .flat_map(|ribbon| band(ribbon, view.eye))
                .collect(),
            contact,
            has_ghost: ghost.is_some(),
        }
    }

    /// True when both pictures cast the same shadows, whatever the eye sees.
    pub fn casts_as(&self, other: &Self) -> bool {
        let arm = Link::ALL.len();
        self.uniform.links[..arm] == other.uniform.links[..arm]
            && self.uniform.shadow_from_base == other.uniform.shadow_from_base
            && self.blocks == other.blocks
    }
}

fn uniform(
    input: &SceneInput<'_>,
    view: &View,
    [width, height]: [u32; 2],
    links: &[Mat4; POSE_COUNT],
) -> FrameUniform {
    let look = input.look;
    let colour = |rgb: [f32; 3], w: f32| Vec3::from(rgb).extend(w);
    let mut materials = [Vec4::ZERO; 8];
    for (slot, material) in materials.iter_mut().zip(look.materials) {
        *slot = Vec4::from(material);
    }
    debug_assert!(MATERIAL_COUNT <= materials.len());
    let to_lamp = Vec3::from(look.to_lamp).normalize_or(Vec3::Z);
    let (count, mark_places, mark_colors) = mark_table(&input.props.marks);
    let aspect = width.max(1) as f32 / height.max(1) as f32;
    FrameUniform {
        clip_from_base: view.clip_from_base(aspect),
        shadow_from_base: shadow_from_base(to_lamp),
        eye: view.eye.extend(view.pixel_size(height)),
        light: to_lamp.extend(0.0),
        key: colour(look.key, 0.0),
        sky: colour(look.sky, 0.0),
        ground: colour(look.ground, 0.0),
        background: colour(look.background, look.fade[0]),
        table: colour(look.table, look.fade[1]),
        grid: Vec4::from(look.grid),
        ghost: input
            .ghost
            .map_or(Vec4::ZERO, |ghost| colour(ghost.color, ghost.opacity)),
        contact_area: ContactMap::area().with_w(count),
        mark_places,
        mark_colors,
        materials,
        links: *links,
    }
}

/// How many marks there are, where, and in which colour.
fn mark_table(marks: &[Mark]) -> (f32, [Vec4; MARKS], [Vec4; MARKS]) {
    let (mut places, mut colors) = ([Vec4::ZERO; MARKS], [Vec4::ZERO; MARKS]);
    for ((place, color), mark) in places.iter_mut().zip(&mut colors).zip(marks) {
        *place = mark.position.extend(mark.radius).extend(0.0);
        *color = Vec3::from(mark.color).extend(0.0);
    }
    (marks.len().min(MARKS) as f32, places, colors)
}

/// Looks from the lamp at everything the arm can reach, without perspective: a lamp far away.
fn shadow_from_base(to_lamp: Vec3) -> Mat4 {
    let eye = SHADOW_CENTRE + to_lamp * SHADOW_RADIUS;
    let r = SHADOW_RADIUS;
    rh::proj::directx::orthographic(-r, r, -r, r, 0.0, 2.0 * r)
        * rh::view::look_at_mat4(eye, SHADOW_CENTRE, Vec3::Z)
}

/// The triangles of one ribbon, facing the eye. Points that coincide are merged; fewer than two give nothing.
fn band(ribbon: &Ribbon, eye: Vec3) -> Vec<RibbonVertex> {
    let mut points: Vec<Vec3> = Vec::with_capacity(ribbon.points.len());
    for &point in &ribbon.points {
        let moved = points.last().is_none_or(|last| last.distance(point) > 2e-4);
        if point.is_finite() && moved {
            points.push(point);
        }
    }
    if points.len() < 2 {
        return Vec::new();
    }
    let last = points.len() - 1;
    let mix = |[a, b]: [f32; 2], share: f32| a + share * (b - a);
    let rims: Vec<[RibbonVertex; 3]> = (0..=last)
        .map(|k| {
            let share = k as f32 / last as f32;
            let along = points[(k + 1).min(last)] - points[k.saturating_sub(1)];
            let side = along.cross(eye - points[k]).normalize_or_zero();
            let half = 0.5 * ribbon.width * mix(ribbon.taper, share);
            let [r, g, b] = ribbon.color;
            let color = [r, g, b, mix(ribbon.opacity, share)];
            [-1.0, 0.0, 1.0].map(|across| RibbonVertex {
                position: (points[k] + across * half * side).to_array(),
                across,
                color,
            })
        })
        .collect();
    rims.windows(2)
        .flat_map(|pair| {
            let (a, b) = (pair[0], pair[1]);
            [0, 1].map(|s| [a[s], a[s + 1], b[s], b[s], a[s + 1], b[s + 1]])
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::JointVec;
    use crate::scene::{Ghost, Look, Orbit, Props};

    #[test]
    fn a_ribbon_has_a_band_between_every_two_different_points() {
        let ribbon = Ribbon::plan(
            vec![Vec3::ZERO, Vec3::ZERO, Vec3::X, Vec3::NAN, 2.0 * Vec3::X],
            [1.0; 3],
            0.8,
        );
        let band = band(&ribbon, vec3(1.0, 0.0, 1.0));
        assert_eq!(band.len(), 2 * 12);
        assert_eq!(band[0].color[3], 0.8);
        let widths: Vec<f32> = band.iter().map(|v| v.position[1].abs()).collect();
        assert!(widths.iter().all(|&w| w <= 0.5 * ribbon.width + 1e-6));
        assert!(super::band(&Ribbon::default(), Vec3::X).is_empty());
    }

    #[test]
    fn the_ghost_casts_no_shadow() {
        let (props, look) = (Props::default(), Look::light());
        let mut input = SceneInput {
            joints: JointVec::default(),
            ghost: None,
            ribbons: &[],
            props: &props,
            look: &look,
        };
        let view = Orbit::default().view();
        let bare = Layout::new(&input, &view, [4, 3]);
        input.ghost = Some(Ghost {
            joints: JointVec([10.0; 6]),
            color: [1.0; 3],
            opacity: 0.5,
        });
        let haunted = Layout::new(&input, &view, [4, 3]);
        assert!(haunted.has_ghost && haunted.casts_as(&bare));
        input.joints.0[0] = 5.0;
        assert!(!Layout::new(&input, &view, [4, 3]).casts_as(&bare));
    }

    #[test]
    fn the_shadow_map_covers_the_reach_of_the_arm() {
        let to_lamp = Vec3::from(Look::light().to_lamp).normalize();
        for point in [
            vec3(0.45, 0.0, 0.0),
            vec3(0.1, 0.4, 0.0),
            vec3(0.1, 0.0, 0.45),
        ] {
            let at = shadow_from_base(to_lamp).project_point3(point);
            assert!(at.truncate().abs().max_element() < 1.0, "{point}: {at}");
            assert!(at.z > 0.0 && at.z < 1.0, "{point}: {at}");
        }
    }
}
