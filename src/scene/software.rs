//! The same picture without a GPU: a small rasteriser for machines that have no adapter, and for tests. Deterministic.

use glam::{Mat4, Vec2, Vec3, Vec4, Vec4Swizzles as _, vec2};

use crate::kinematics::Link;
use crate::scene::arm_model::arm_mesh;
use crate::scene::bench::Detail;
use crate::scene::blocks::BlockInstance;
use crate::scene::layout::{Layout, RibbonVertex};
use crate::scene::look::encoded;
use crate::scene::raster::{DepthMap, NOBODY, Point, Raster, cover};
use crate::scene::shading::{GHOST_BEHIND, HIDDEN_RIBBON, Light, ribbon_share};
use crate::scene::solid::{Mesh, Vertex, unit_cube};
use crate::scene::tabletop::{Rays, TableLight, table_row};
use crate::scene::{SceneInput, View};

/// Side of the shadow map, texels: about 4 mm each.
const SHADOW_SIZE: u32 = 256;
/// Steps of the table that turns linear light into display bytes.
const DISPLAY_STEPS: usize = 4096;

/// How edges are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// One sample a pixel: quick, with steps.
    Stepped,
    /// Four samples a pixel: for the eye.
    Smooth,
}

/// A picture being drawn on the CPU.
pub struct Software {
    size: [u32; 2],
    /// Samples along each side of a pixel.
    side: usize,
    arm: Mesh,
    /// The arm as its shadow needs it.
    caster: Mesh,
    cube: Mesh,
    raster: Raster,
    shadow: DepthMap,
    table: TableLight,
    /// What the shadow map shows now.
    shadowed: Option<Layout>,
    display: Vec<u8>,
    points: Vec<Point>,
}

impl Software {
    /// For pictures of `[width, height]` pixels.
    pub fn new(size: [u32; 2], edges: Edges) -> Self {
        let side = match edges {
            Edges::Stepped => 1,
            Edges::Smooth => 2,
        };
        let byte = |k: usize| 255.0 * encoded(k as f32 / (DISPLAY_STEPS - 1) as f32) + 0.5;
        Self {
            size,
            side,
            arm: arm_mesh(Detail::Fine),
            caster: arm_mesh(Detail::Coarse),
            cube: unit_cube(),
            raster: Raster::new(size.map(|pixels| side as u32 * pixels)),
            shadow: DepthMap::new(SHADOW_SIZE),
            table: TableLight::default(),
            shadowed: None,
            display: (0..DISPLAY_STEPS).map(|k| byte(k) as u8).collect(),
            points: Vec::new(),
        }
    }

    /// Width and height of its pictures.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Draws one picture: RGB, 8 bits a channel, row-major.
    pub fn draw(&mut self, input: &SceneInput<'_>, view: &View) -> Vec<u8> {
        let layout = Layout::new(input, view, self.size);
        if !self
            .shadowed
            .as_ref()
            .is_some_and(|old| old.casts_as(&layout))
        {
            self.shadow
                .draw(&layout.uniform.shadow_from_base, &self.casters(&layout));
            self.table = TableLight::new(&Light {
                layout: &layout,
                shadow: &self.shadow,
            });
            self.shadowed = Some(layout.clone());
        }
        self.raster.clear();
        self.add_arm(&layout, 0);
        for block in &layout.blocks {
            let clip_from_base = &layout.uniform.clip_from_base;
            project_block(&self.cube, block, clip_from_base, &mut self.points);
            add_mesh(&mut self.raster, &self.cube, &self.points, |_| block.color);
        }
        let mut rgb = self.shade(&layout);
        self.blend_ribbons(&layout, &mut rgb);
        if layout.has_ghost {
            self.blend_ghost(&layout, &mut rgb);
        }
        rgb
    }

    /// The triangles that throw shadows, base frame.
    fn casters(&self, layout: &Layout) -> Vec<[Vec3; 3]> {
        let mut triangles = Vec::with_capacity(self.caster.triangles());
        let arm = &layout.uniform.links[..Link::ALL.len()];
        collect(&self.caster, &mut triangles, |vertex| {
            arm[vertex.link as usize].transform_point3(Vec3::from(vertex.position))
        });
        for block in &layout.blocks[..layout.casters] {
            collect(&self.cube, &mut triangles, |vertex| on_block(block, vertex));
        }
        triangles
    }

    /// Puts the arm (0) or its ghost (1) into the raster.
    fn add_arm(&mut self, layout: &Layout, instance: usize) {
        let frame = &layout.uniform;
        let count = Link::ALL.len();
        let poses = &frame.links[instance * count..(instance + 1) * count];
        project(&self.arm, poses, &frame.clip_from_base, &mut self.points);
        for point in &mut self.points {
            point.clip.z += GHOST_BEHIND * instance as f32 * point.clip.w;
        }
        add_mesh(&mut self.raster, &self.arm, &self.points, |material| {
            frame.materials[material as usize]
        });
    }

    fn shade(&self, layout: &Layout) -> Vec<u8> {
        let light = Light {
            layout,
            shadow: &self.shadow,
        };
        let rays = Rays::new(layout, self.size);
        let [width, height] = self.size.map(|pixels| pixels as usize);
        let mut rgb = vec![0; 3 * width * height];
        let mut table = vec![Vec3::ZERO; width];
        for (row, bytes) in rgb.chunks_exact_mut(3 * width).enumerate() {
            table_row(&layout.uniform, &self.table, &rays, row, &mut table);
            for (column, pixel) in bytes.chunks_exact_mut(3).enumerate() {
                pixel.copy_from_slice(&self.pixel(&light, [column, row], table[column]));
            }
        }
        rgb
    }

    /// The samples of a pixel: their owners, and where they are in the raster.
    fn samples(&self, [column, row]: [usize; 2]) -> impl Iterator<Item = (u32, Vec2)> {
        let side = self.side;
        (0..side * side).map(move |k| {
            let at = [column * side + k % side, row * side + k / side];
            let owner = self.raster.owner[at[1] * self.raster.width + at[0]];
            (owner, vec2(at[0] as f32 + 0.5, at[1] as f32 + 0.5))
        })
    }

    /// Display bytes of one pixel. A surface that fills it is worked out once; else each sample is.
    fn pixel(&self, light: &Light<'_>, at: [usize; 2], table: Vec3) -> [u8; 3] {
        let first = self.samples(at).next().map_or(NOBODY, |(owner, _)| owner);
        if self.side == 1 || self.samples(at).all(|(owner, _)| owner == first) {
            let middle = vec2(at[0] as f32 + 0.5, at[1] as f32 + 0.5) * self.side as f32;
            return self.displayed(self.surface(light, first, middle, table));
        }
        let mut sum = [0_u16; 3];
        for (owner, at) in self.samples(at) {
            let bytes = self.displayed(self.surface(light, owner, at, table));
            for (sum, byte) in sum.iter_mut().zip(bytes) {
                *sum += u16::from(byte);
            }
        }
        let count = (self.side * self.side) as u16;
        sum.map(|sum| ((sum + count / 2) / count) as u8)
    }

    /// The linear colour of one point of the picture.
    fn surface(&self, light: &Light<'_>, owner: u32, at: Vec2, table: Vec3) -> Vec3 {
        let Some(triangle) = self.raster.triangles.get(owner as usize) else {
            return table;
        };
        let (position, normal) = triangle.at(at);
        // What is below the table's surface is hidden by it.
        if position.z < 0.0 {
            return table;
        }
        let (paint, gloss) = (triangle.color.xyz(), triangle.color.w);
        light.solid(paint, gloss, position, normal.normalize_or_zero())
    }

    /// Display bytes of a linear colour.
    fn displayed(&self, color: Vec3) -> [u8; 3] {
        let last = (DISPLAY_STEPS - 1) as f32;
        let step = color.clamp(Vec3::ZERO, Vec3::ONE) * last + 0.5;
        [step.x, step.y, step.z].map(|step| self.display[step as i32 as usize])
    }

    /// Draws the ribbons over the picture, faintly where something is in front of them.
    fn blend_ribbons(&self, layout: &Layout, rgb: &mut [u8]) {
        let clip = |vertex: &RibbonVertex| {
            layout.uniform.clip_from_base * Vec3::from(vertex.position).extend(1.0)
        };
        for corners in layout.ribbons.as_chunks::<3>().0 {
            let clips = corners.each_ref().map(clip);
            cover(self.size, clips, |[column, row], z, share| {
                let mix = |of: fn(&RibbonVertex) -> f32| {
                    share.dot(Vec3::from(corners.each_ref().map(of)))
                };
                let (dim, soft) = ribbon_share(mix(|v| v.across));
                let color = Vec3::new(
                    mix(|v| v.color[0]),
                    mix(|v| v.color[1]),
                    mix(|v| v.color[2]),
                );
                let sample = self.side * (row * self.raster.width + column);
                let hidden = z >= self.raster.depth[sample] || mix(|v| v.position[2]) < 0.0;
                let share = if hidden { HIDDEN_RIBBON as f32 } else { 1.0 };
                let opacity = mix(|v| v.color[3]) * soft * share;
                let first = 3 * (row * self.size[0] as usize + column);
                blend(
                    &mut rgb[first..first + 3],
                    self.displayed(dim * color),
                    opacity,
                );
            });
        }
    }

    /// Draws the ghost's nearest surface over the picture.
    fn blend_ghost(&mut self, layout: &Layout, rgb: &mut [u8]) {
        self.raster.owner.fill(NOBODY);
        self.raster.triangles.clear();
        self.add_arm(layout, 1);
        let light = Light {
            layout,
            shadow: &self.shadow,
        };
        let width = self.size[0] as usize;
        let share = 1.0 / (self.side * self.side) as f32;
        for (k, pixel) in rgb.chunks_exact_mut(3).enumerate() {
            let mut over = Vec3::ZERO;
            let mut opacity = 0.0;
            for (owner, at) in self.samples([k % width, k / width]) {
                let Some(triangle) = self.raster.triangles.get(owner as usize) else {
                    continue;
                };
                let (position, normal) = triangle.at(at);
                if position.z >= 0.0 {
                    let (color, part) = light.ghost(position, normal.normalize_or_zero());
                    over += share * part * color;
                    opacity += share * part;
                }
            }
            if opacity > 0.0 {
                blend(pixel, self.displayed(over / opacity), opacity);
            }
        }
    }
}

/// Mixes display bytes, as the GPU's blending does.
fn blend(under: &mut [u8], over: [u8; 3], opacity: f32) {
    for (below, above) in under.iter_mut().zip(over) {
        let mixed = f32::from(*below) + opacity * (f32::from(above) - f32::from(*below));
        *below = (mixed + 0.5) as u8;
    }
}

/// The corners of a mesh in the base frame and in clip space.
fn project(mesh: &Mesh, poses: &[Mat4], clip_from_base: &Mat4, points: &mut Vec<Point>) {
    points.clear();
    points.extend(mesh.vertices.iter().map(|vertex| {
        let pose = &poses[vertex.link as usize];
        let position = pose.transform_point3(Vec3::from(vertex.position));
        Point {
            clip: *clip_from_base * position.extend(1.0),
            position,
            normal: pose.transform_vector3(Vec3::from(vertex.normal)),
        }
    }));
}

fn add_mesh(raster: &mut Raster, mesh: &Mesh, points: &[Point], color: impl Fn(u32) -> Vec4) {
    for corners in mesh.indices.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|k| corners[k] as usize);
        let color = color(mesh.vertices[a].material);
        raster.add([&points[a], &points[b], &points[c]], color);
    }
}

/// A corner of the unit cube on this block, base frame.
fn on_block(block: &BlockInstance, vertex: &Vertex) -> Vec3 {
    let corner = block.corner(Vec3::from(vertex.position), Vec3::from(vertex.normal));
    block.base_from_block.transform_point3(corner)
}

/// [`project`] for one block.
fn project_block(
    cube: &Mesh,
    block: &BlockInstance,
    clip_from_base: &Mat4,
    points: &mut Vec<Point>,
) {
    points.clear();
    points.extend(cube.vertices.iter().map(|vertex| {
        let position = on_block(block, vertex);
        let normal = Vec3::from(vertex.normal);
        Point {
            clip: *clip_from_base * position.extend(1.0),
            position,
            normal: block.base_from_block.transform_vector3(normal),
        }
    }));
}

fn collect(mesh: &Mesh, triangles: &mut Vec<[Vec3; 3]>, at: impl Fn(&Vertex) -> Vec3) {
    triangles.extend(
        mesh.indices
            .chunks_exact(3)
            .map(|corners| [0, 1, 2].map(|k| at(&mesh.vertices[corners[k] as usize]))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::JointVec;
    use crate::scene::{Cube, Look, Orbit, Props};

    const SIZE: [u32; 2] = [64, 48];

    fn count(rgb: &[u8], mut wanted: impl FnMut(u8, u8, u8) -> bool) -> usize {
        rgb.chunks(3).filter(|p| wanted(p[0], p[1], p[2])).count()
    }

    #[test]
    fn the_arm_is_warm_and_black_on_a_quiet_table() {
        let (props, look) = (Props::default(), Look::light());
        let input = SceneInput {
            joints: JointVec([0.0, -20.0, 20.0, 40.0, 0.0, 30.0]),
            ghost: None,
            ribbons: &[],
            props: &props,
            look: &look,
        };
        let mut software = Software::new(SIZE, Edges::Stepped);
        let rgb = software.draw(&input, &Orbit::default().view());
        assert_eq!(rgb, software.draw(&input, &Orbit::default().view()));
        assert!(
            count(&rgb, |r, _, b| r > b.saturating_add(60)) > 60,
            "printed parts"
        );
        assert!(count(&rgb, |r, g, b| r.max(g).max(b) < 70) > 15, "servos");
        let corner = &rgb[..3];
        assert!(corner.iter().all(|&c| c > 200), "background {corner:?}");
    }

    #[test]
    fn a_ghost_and_a_ribbon_change_only_what_they_cover() {
        let (props, look) = (Props::default(), Look::dark());
        let mut input = SceneInput {
            joints: JointVec([0.0, -20.0, 20.0, 40.0, 0.0, 30.0]),
            ghost: None,
            ribbons: &[],
            props: &props,
            look: &look,
        };
        let view = Orbit::default().view();
        let mut software = Software::new(SIZE, Edges::Stepped);
        let bare = software.draw(&input, &view);
        let ribbon = [crate::scene::Ribbon {
            width: 0.02,
            ..crate::scene::Ribbon::plan(
                vec![Vec3::new(0.3, -0.1, 0.2), Vec3::new(0.3, 0.15, 0.2)],
                [0.2, 0.1, 1.0],
                0.9,
            )
        }];
        input.ribbons = &ribbon;
        let with_ribbon = software.draw(&input, &view);
        input.ribbons = &[];
        input.ghost = Some(crate::scene::Ghost {
            joints: JointVec([40.0, -20.0, 20.0, 40.0, 0.0, 30.0]),
            color: [0.4, 0.3, 1.0],
            opacity: 0.7,
        });
        let with_ghost = software.draw(&input, &view);
        for changed in [with_ribbon, with_ghost] {
            let differs = bare
                .chunks(3)
                .zip(changed.chunks(3))
                .filter(|(a, b)| a != b);
            let bluer = differs.clone().filter(|(a, b)| b[2] > a[2]).count();
            let count = differs.count();
            assert!(count > 12 && count < 1200, "{count} pixels changed");
            assert!(bluer > 8, "{bluer} of {count} became bluer");
        }
    }

    #[test]
    fn a_cube_keeps_its_colour() {
        let cube = Cube {
            position: Vec3::new(0.25, 0.1, 0.02),
            orientation: glam::Quat::IDENTITY,
            edge: 0.04,
            color: [0.05, 0.1, 0.8],
        };
        let (props, look) = (
            Props {
                cubes: vec![cube],
                ..Props::default()
            },
            Look::camera(),
        );
        let input = SceneInput {
            joints: JointVec::default(),
            ghost: None,
            ribbons: &[],
            props: &props,
            look: &look,
        };
        let rgb = Software::new(SIZE, Edges::Stepped).draw(&input, &Orbit::default().view());
        assert!(count(&rgb, |r, _, b| b > 110 && b > r.saturating_add(60)) > 4);
    }
}
