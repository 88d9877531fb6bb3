//! The pretend rig's piece of the physical world: the arm, the table, and what lies on it, as rigid bodies with weight,
//! friction and contact.
//!
//! Deterministic: the same layout and the same drives give the same world, bit by bit, on every run.

mod arm;
mod contacts;
mod frames;
mod hand;
mod parts;
mod tag;
mod things;

use std::fmt;
use std::time::Duration;

use glam::Vec2;
use rapier3d::prelude::{FrictionModel, PhysicsWorld, SpringCoefficients, Vector};

pub use arm::{Drive, Turned};

use crate::joint::JOINT_COUNT;
use crate::kinematics::{LIMITS, Radians, robot_from_radians};
use crate::sim::layout::Layout;
use crate::sim::truth::{CubeTruth, Truth};
use arm::Body;
use things::Things;

/// Time that one step takes.
pub const STEP: Duration = Duration::from_millis(4);
const STEP_S: f32 = 0.004;
const GRAVITY: f32 = 9.81;
/// The size of what matters here, metres: the engine's tolerances scale with it.
const LENGTH_UNIT: f32 = 0.05;
/// How firm contacts are, Hz: with the engine's usual 30 a cube sinks into the pads that hold it.
const CONTACT_HZ: f32 = 90.0;
const CONTACT_DAMPING: f32 = 5.0;
/// Nothing here moves faster, metres a second: a cube that a jaw squeezes out must not leave like a bullet.
const FASTEST: f32 = 3.0;

/// The arm and what is before it.
pub struct World {
    engine: PhysicsWorld,
    arm: Body,
    things: Things,
    turned: [Turned; JOINT_COUNT],
    laid: u64,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("laid", &self.laid)
            .finish_non_exhaustive()
    }
}

impl World {
    /// A table laid like this, and the arm with its joints at these angles, radians, limp.
    pub fn new(layout: &Layout, start: Radians) -> Self {
        let mut engine = PhysicsWorld {
            gravity: Vector::new(0.0, 0.0, -GRAVITY),
            ..PhysicsWorld::default()
        };
        let firm = SpringCoefficients::new(CONTACT_HZ, CONTACT_DAMPING);
        let solver = &mut engine.integration_parameters;
        solver.dt = STEP_S;
        solver.length_unit = LENGTH_UNIT;
        solver.contact_softness = firm;
        solver.static_contact_softness = firm;
        solver.num_solver_iterations = 6;
        solver.friction_model = FrictionModel::Coulomb;
        solver.contact_recycling = false;
        solver.normalized_max_linear_velocity = FASTEST / LENGTH_UNIT;
        things::table(&mut engine);
        let arm = Body::assemble(&mut engine);
        let mut world = Self {
            engine,
            arm,
            things: Things::default(),
            turned: [Turned::default(); JOINT_COUNT],
            laid: 0,
        };
        world.place(start);
        world.lay(layout);
        world
    }

    /// Puts the joints at these angles at once, radians; those that are there already keep their speed.
    pub fn place(&mut self, angles: Radians) {
        let sane = std::array::from_fn(|k| {
            let (low, high) = LIMITS[k];
            let turn = std::f32::consts::PI;
            if angles[k].is_finite() {
                angles[k].clamp(low.max(-turn) - 0.1, high.min(turn) + 0.1)
            } else {
                self.turned[k].angle
            }
        });
        self.arm.place(&mut self.engine, sane);
        self.turned = self.arm.turned(&self.engine);
    }

    /// Replaces what lies on the table; the arm stays as it is.
    pub fn lay(&mut self, layout: &Layout) {
        self.things.lay(&mut self.engine, layout);
        self.laid += 1;
    }

    /// The table as it was laid last.
    pub fn layout(&self) -> &Layout {
        &self.things.layout
    }

    /// How often the table has been laid.
    pub fn laid(&self) -> u64 {
        self.laid
    }

    /// Counts this laying as the one after so many.
    pub fn count_from(&mut self, laid: u64) {
        self.laid = laid + 1;
    }

    /// A hand takes this cube to a place above the table, or sets it down there; whether there is such a cube.
    pub fn drag(&mut self, cube: usize, over: Option<Vec2>) -> bool {
        self.things.drag(&mut self.engine, cube, over)
    }

    /// Lets [`STEP`] pass; what the joints came to.
    pub fn step(&mut self, drives: &[Drive; JOINT_COUNT]) -> [Turned; JOINT_COUNT] {
        let drives = drives.map(Drive::checked);
        self.arm.drive(&mut self.engine, &drives);
        self.things.carry(&mut self.engine, STEP_S);
        self.engine.step();
        self.turned = self.arm.turned(&self.engine);
        for (turned, drive) in self.turned.iter_mut().zip(drives) {
            turned.torque = drive.pull(turned.angle, turned.velocity);
        }
        self.turned
    }

    /// The joints as they are.
    pub fn turned(&self) -> [Turned; JOINT_COUNT] {
        self.turned
    }

    /// Everything, at this moment of the rig's clock.
    pub fn truth(&self, at: Duration) -> Truth {
        let zero = robot_from_radians([0.0; JOINT_COUNT]);
        let speeds = robot_from_radians(self.turned.map(|it| it.velocity));
        let layout = &self.things.layout;
        let cubes = self.things.cubes.iter().map(|cube| {
            let touch = contacts::touch(&self.engine, cube, STEP_S);
            let body = &self.engine.bodies[cube.body];
            CubeTruth {
                colour: cube.spot.colour,
                cube: things::drawn(&self.engine, cube),
                velocity: frames::vec3(body.linvel()),
                spin: frames::vec3(body.angvel()),
                jaws: touch.jaws,
                is_touched: touch.is_touched,
                rests_on: touch.rests_on,
                is_dragged: cube.hand.is_some(),
            }
        });
        Truth {
            at,
            joints: robot_from_radians(self.turned.map(|it| it.angle)),
            speeds: speeds.zip(zero, |speed, zero| speed - zero),
            cubes: cubes.collect(),
            trays: layout.trays.clone(),
            marks: layout.marks.clone(),
            laid: self.laid,
        }
    }
}
