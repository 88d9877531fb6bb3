//! What lies on the table as bodies of the engine: cubes that can be pushed and lifted, trays that stand still, and marks,
//! which are only paint.

use glam::{Quat, Vec2, Vec3, vec2, vec3};
use rapier3d::prelude::*;

use super::frames::{quat, rotation, vec3 as ours, vector};
use super::hand::Hand;
use super::tag::Tag;
use crate::scene::{Cube, Tray};
use crate::sim::layout::{CubeSpot, Layout};

/// Of the cubes, kg/m³: one of 25 mm weighs 20 g.
const DENSITY: f32 = 1280.0;
/// Painted wood, and the table.
const CUBE_FRICTION: f32 = 0.6;
const TABLE_FRICTION: f32 = 0.5;
/// Smallest and largest edge that is laid, metres: others would fall through the gaps of this world, or not fit into it.
const EDGES: (f32, f32) = (0.012, 0.06);
/// Farthest from the base that anything is put, metres.
const FARTHEST: f32 = 2.0;

/// A cube and its body.
#[derive(Debug)]
pub struct CubeBody {
    pub spot: CubeSpot,
    pub body: RigidBodyHandle,
    pub collider: ColliderHandle,
    /// While a person holds it.
    pub hand: Option<Hand>,
}

/// All that lies on the table.
#[derive(Debug, Default)]
pub struct Things {
    pub cubes: Vec<CubeBody>,
    trays: Vec<ColliderHandle>,
    pub layout: Layout,
}

/// The table itself: no end, no underside.
pub fn table(world: &mut PhysicsWorld) {
    let top = ColliderBuilder::new(SharedShape::halfspace(Vector::Z))
        .friction(TABLE_FRICTION)
        .user_data(Tag::Table.code());
    world.insert_collider(top, None);
}

impl Things {
    /// Takes everything off the table and lays it anew.
    pub fn lay(&mut self, world: &mut PhysicsWorld, layout: &Layout) {
        for cube in self.cubes.drain(..) {
            world.remove_body_with_colliders(cube.body, true);
        }
        for tray in self.trays.drain(..) {
            world.remove_collider(tray);
        }
        self.layout = layout.clone();
        for (index, (_, tray)) in layout.trays.iter().enumerate() {
            self.stand(world, index, tray);
        }
        for (index, spot) in layout.cubes.iter().enumerate() {
            self.put(world, index, &sane(spot));
        }
    }

    /// Stands a tray on the table: a floor and four walls that overlap at the corners.
    fn stand(&mut self, world: &mut PhysicsWorld, index: usize, tray: &Tray) {
        let turn = Quat::from_rotation_z(tray.turn);
        for (centre, half) in tray_boxes(tray) {
            let at = tray.position.extend(0.0) + turn * centre;
            let slab = ColliderBuilder::cuboid(half.x, half.y, half.z)
                .position(Pose::from_parts(vector(at), rotation(turn)))
                .friction(TABLE_FRICTION)
                .user_data(Tag::Tray(index).code());
            self.trays.push(world.insert_collider(slab, None));
        }
    }

    fn put(&mut self, world: &mut PhysicsWorld, index: usize, spot: &CubeSpot) {
        let half = 0.5 * spot.edge;
        let height = self.floor_under(world, spot.position, half, None) + half;
        let at = spot.position.extend(height);
        let body = RigidBodyBuilder::dynamic()
            .pose(Pose::from_parts(
                vector(at),
                rotation(Quat::from_rotation_z(spot.turn)),
            ))
            .can_sleep(false)
            .ccd_enabled(true)
            .build();
        let shape = ColliderBuilder::cuboid(half, half, half)
            .density(DENSITY)
            .friction(CUBE_FRICTION)
            .user_data(Tag::Cube(index).code());
        let (body, collider) = world.insert(body, shape);
        self.cubes.push(CubeBody {
            spot: *spot,
            body,
            collider,
            hand: None,
        });
    }

    /// The height of what is under a cube of this half edge here: the table, a tray's floor, or the top of another cube.
    pub fn floor_under(
        &self,
        world: &PhysicsWorld,
        at: Vec2,
        half: f32,
        itself: Option<usize>,
    ) -> f32 {
        let tray = self.layout.trays.iter().map(|(_, tray)| {
            let local = Vec2::from_angle(-tray.turn).rotate(at - tray.position);
            let reach = 0.5 * tray.inner;
            let inside = local.abs().cmplt(reach).all();
            let over_wall = local
                .abs()
                .cmplt(reach + Vec2::splat(tray.wall + half))
                .all();
            match (inside && local.abs().cmplt(reach - half).all(), over_wall) {
                (true, _) => tray.wall,
                (false, true) => tray.height,
                (false, false) => 0.0,
            }
        });
        let cubes = self.cubes.iter().enumerate().map(|(index, other)| {
            let body = &world.bodies[other.body];
            let there = ours(body.translation());
            let apart = (there.truncate() - at).abs().max_element();
            let other_half = 0.5 * other.spot.edge;
            if Some(index) != itself && other.hand.is_none() && apart < half + other_half {
                there.z + other_half
            } else {
                0.0
            }
        });
        tray.chain(cubes).fold(0.0, f32::max)
    }
}

/// A cube as it is drawn.
pub fn drawn(world: &PhysicsWorld, cube: &CubeBody) -> Cube {
    let body = &world.bodies[cube.body];
    Cube {
        position: ours(body.translation()),
        orientation: quat(*body.rotation()),
        edge: cube.spot.edge,
        color: cube.spot.colour.rgb(),
    }
}

/// A spot that the engine can bear.
fn sane(spot: &CubeSpot) -> CubeSpot {
    let or_zero = |value: f32| if value.is_finite() { value } else { 0.0 };
    let position = vec2(or_zero(spot.position.x), or_zero(spot.position.y));
    let edge = if spot.edge.is_finite() {
        spot.edge.clamp(EDGES.0, EDGES.1)
    } else {
        EDGES.0
    };
    CubeSpot {
        edge,
        position: position.clamp_length_max(FARTHEST),
        turn: or_zero(spot.turn),
        ..*spot
    }
}

/// Centres and half sizes of the five boxes of a tray, before it is turned.
fn tray_boxes(tray: &Tray) -> [(Vec3, Vec3); 5] {
    let (reach, thick) = (0.5 * tray.inner, 0.5 * tray.wall);
    let outer = reach + Vec2::splat(tray.wall);
    let tall = 0.5 * tray.height;
    let along_y = vec3(thick, outer.y, tall);
    let along_x = vec3(outer.x, thick, tall);
    [
        (vec3(0.0, 0.0, thick), outer.extend(thick)),
        (vec3(reach.x + thick, 0.0, tall), along_y),
        (vec3(-reach.x - thick, 0.0, tall), along_y),
        (vec3(0.0, reach.y + thick, tall), along_x),
        (vec3(0.0, -reach.y - thick, tall), along_x),
    ]
}
