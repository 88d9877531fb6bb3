//! Cubes and trays as what they are to a renderer: wooden blocks with broken edges, all of one shape and different size.

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Quat, Vec2, Vec3, Vec4, Vec4Swizzles as _, vec3};

use crate::scene::{Cube, Props, Tray, srgb};

/// How much light painted wood throws back as a highlight.
const GLOSS: f32 = 0.18;
/// How far the edges of a cube are broken, as a share of its edge.
const CUBE_BREAK: f32 = 0.05;
/// The same for the walls of a tray, as a share of their thickness.
const WALL_BREAK: f32 = 0.22;

/// How much of its colour a tray's floor keeps, and what the rest is (web colour, bare wood): a cube would not be seen in a tray of
/// its own colour.
const FLOOR_PAINT: f32 = 0.22;
const FLOOR_WOOD: u32 = 0xE4_DAC6;

/// One block. Twin: `struct BlockIn` in `shaders/scene.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct BlockInstance {
    /// Turn and place; no scale, so that normals turn with it as they are.
    pub base_from_block: Mat4,
    /// Half extents, and how far the edges are broken, metres.
    pub half: Vec4,
    /// Linear RGB and gloss.
    pub color: Vec4,
}

impl BlockInstance {
    fn new(place: (Quat, Vec3), half: Vec3, edge: f32, color: [f32; 3]) -> Self {
        Self {
            base_from_block: Mat4::from_rotation_translation(place.0, place.1),
            half: half.extend(edge),
            color: Vec3::from(color).extend(GLOSS),
        }
    }

    fn cube(cube: &Cube) -> Self {
        let place = (cube.orientation, cube.position);
        let half = Vec3::splat(0.5 * cube.edge);
        Self::new(place, half, CUBE_BREAK * cube.edge, cube.color)
    }

    /// Where a corner of [`unit_cube`](crate::scene::solid::unit_cube) is on this block, in the block's own frame: each broken
    /// edge is as wide as every other, however long the block. Twin: `block_corner`.
    pub fn corner(&self, position: Vec3, normal: Vec3) -> Vec3 {
        let core = self.half.xyz() - Vec3::splat(self.half.w);
        position.signum() * core + self.half.w * normal
    }
}

/// Every block on the table, and how many of them, from the first on, throw shadows: cubes and the walls of trays do, floors do not,
/// for there is nothing below them.
pub fn blocks(props: &Props) -> (Vec<BlockInstance>, usize) {
    let cubes = props.cubes.iter().map(BlockInstance::cube);
    let mut blocks: Vec<BlockInstance> = cubes
        .chain(props.trays.iter().flat_map(tray_walls))
        .collect();
    let casters = blocks.len();
    blocks.extend(props.trays.iter().map(tray_floor));
    (blocks, casters)
}

/// The middles of a tray's walls on the table, and the half extents of each along the tray's own X and Y, metres. The walls run
/// through one another at the corners, so that the rim has no seams.
pub fn walls(tray: &Tray) -> [(Vec2, Vec2); 4] {
    let turned = Vec2::from_angle(tray.turn);
    let outer = 0.5 * tray.inner + Vec2::splat(tray.wall);
    let middle = 0.5 * (tray.inner + Vec2::splat(tray.wall));
    [Vec2::X, Vec2::NEG_X, Vec2::Y, Vec2::NEG_Y].map(|side| {
        let across = side.abs();
        let half = across * 0.5 * tray.wall + (Vec2::ONE - across) * outer;
        (tray.position + turned.rotate(side * middle), half)
    })
}

fn tray_walls(tray: &Tray) -> [BlockInstance; 4] {
    walls(tray).map(|(at, half)| tray_block(tray, at, half, tray.height))
}

/// It ends inside the walls, where its broken edges are not seen.
fn tray_floor(tray: &Tray) -> BlockInstance {
    let half = 0.5 * (tray.inner + Vec2::splat(tray.wall));
    let wood = Vec3::from(srgb(FLOOR_WOOD));
    let pale = Tray {
        color: wood.lerp(Vec3::from(tray.color), FLOOR_PAINT).to_array(),
        ..*tray
    };
    tray_block(&pale, tray.position, half, tray.wall)
}

fn tray_block(tray: &Tray, at: Vec2, half: Vec2, height: f32) -> BlockInstance {
    let place = (Quat::from_rotation_z(tray.turn), at.extend(0.5 * height));
    let half = vec3(half.x, half.y, 0.5 * height);
    BlockInstance::new(place, half, WALL_BREAK * tray.wall, tray.color)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::solid::unit_cube;
    use glam::vec2;

    const TRAY: Tray = Tray {
        position: vec2(0.2, 0.1),
        turn: 0.0,
        inner: vec2(0.10, 0.06),
        height: 0.04,
        wall: 0.004,
        color: [0.5, 0.4, 0.3],
    };

    /// Lowest and highest corner in the base frame.
    fn extent(blocks: &[BlockInstance]) -> (Vec3, Vec3) {
        let mesh = unit_cube();
        let points = blocks.iter().flat_map(|block| {
            mesh.vertices.iter().map(|v| {
                let corner = block.corner(Vec3::from(v.position), Vec3::from(v.normal));
                block.base_from_block.transform_point3(corner)
            })
        });
        points.fold((Vec3::MAX, Vec3::MIN), |(low, high), point| {
            (low.min(point), high.max(point))
        })
    }

    fn tray(tray: Tray) -> Vec<BlockInstance> {
        let (blocks, casters) = blocks(&Props {
            trays: vec![tray],
            ..Props::default()
        });
        assert_eq!((blocks.len(), casters), (5, 4), "the floor is the last");
        blocks
    }

    #[test]
    fn a_tray_stands_on_the_table_and_leaves_its_inside_free() {
        let blocks = tray(TRAY);
        let (low, high) = extent(&blocks);
        assert!((low - vec3(0.146, 0.066, 0.0)).length() < 1e-6, "{low}");
        assert!((high - vec3(0.254, 0.134, 0.04)).length() < 1e-6, "{high}");
        let (_, floor) = extent(&blocks[4..]);
        assert!((floor.z - TRAY.wall).abs() < 1e-6);
        for (wall, side) in blocks[..4].iter().zip([0, 0, 1, 1]) {
            let (low, high) = extent(&[*wall]);
            let middle = TRAY.position.extend(0.0);
            let nearest = (low - middle).abs().min((high - middle).abs())[side];
            assert!((nearest - 0.5 * TRAY.inner[side]).abs() < 1e-6);
        }
    }

    #[test]
    fn a_cube_is_told_from_the_floor_of_a_tray_of_its_own_colour() {
        for color in [0xC8_372D, 0x2F_6FD0, 0x3C_9A4E, 0xE3_B92F].map(srgb) {
            let blocks = tray(Tray { color, ..TRAY });
            assert_eq!(blocks[0].color.xyz(), Vec3::from(color), "walls");
            let apart = blocks[4].color.xyz() - Vec3::from(color);
            assert!(apart.abs().max_element() > 0.25, "{color:?}: {apart}");
        }
    }

    #[test]
    fn a_turned_tray_is_turned_about_its_middle() {
        let turned = tray(Tray {
            turn: std::f32::consts::FRAC_PI_2,
            ..TRAY
        });
        let (low, high) = extent(&turned);
        assert!((high - low - vec3(0.068, 0.108, 0.04)).length() < 1e-6);
        let middle = 0.5 * (low + high).truncate();
        assert!((middle - TRAY.position).length() < 1e-6);
    }

    #[test]
    fn every_block_has_edges_of_its_own_width() {
        for block in tray(TRAY) {
            let mesh = unit_cube();
            for v in &mesh.vertices {
                let (position, normal) = (Vec3::from(v.position), Vec3::from(v.normal));
                let corner = block.corner(position, normal).abs();
                let inset = block.half.xyz() - corner;
                let wanted = (Vec3::ONE - normal.abs()) * block.half.w;
                assert!((inset - wanted).length() < 1e-6, "{inset} for {normal}");
            }
        }
    }
}
