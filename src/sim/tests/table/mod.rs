//! The arm with weight, before a table: what it can lift, push and drop, driven by the real driver.

mod drag;
mod faults;
mod grasp;
mod servos;
mod wild;

use std::f32::consts::FRAC_PI_2;
use std::time::Duration;

use glam::{Vec2, Vec3, vec2, vec3};

use super::{TICK, connect, enable};
use crate::arm::Arm;
use crate::clock::Clock;
use crate::joint::{Joint, JointVec};
use crate::kinematics::{Link, ToolTarget, forward, inverse, robot_from_radians};
use crate::scene::Tray;
use crate::sim::{Colour, CubeSpot, CubeTruth, Layout, SimArm, Truth};

/// Room that the fixed finger keeps from a cube on its way down, metres.
const ROOM: f32 = 0.004;
/// Jaws wide open, and closed, percent.
const OPEN: f32 = 55.0;
const SHUT: f32 = 0.0;

fn spot(x: f32, y: f32, turn: f32, edge: f32) -> CubeSpot {
    CubeSpot {
        colour: Colour::Red,
        edge,
        position: vec2(x, y),
        turn,
    }
}

fn one_cube(x: f32, y: f32, turn: f32) -> Layout {
    Layout {
        cubes: vec![spot(x, y, turn, 0.025)],
        ..Layout::default()
    }
}

fn tray(x: f32, y: f32) -> Tray {
    Tray {
        position: vec2(x, y),
        turn: 0.0,
        inner: vec2(0.09, 0.09),
        height: 0.03,
        wall: 0.003,
        color: [0.5; 3],
    }
}

/// The pose that has the middle between the pads of a gripper that is to take a cube of this edge there, as steep as can be,
/// the jaws turned to its faces.
fn over(at: Vec3, turn: f32, edge: f32, jaws: f32) -> JointVec {
    let from_base = at.y.atan2(at.x - crate::kinematics::PAN_AXIS.x);
    let quarter = |angle: f32| (angle + FRAC_PI_2 / 2.0).rem_euclid(FRAC_PI_2) - FRAC_PI_2 / 2.0;
    let roll = quarter(turn - from_base);
    let solve = |pitch: f32, roll: f32| {
        inverse(&ToolTarget {
            position: at,
            pitch,
            roll,
            tool: vec3(-0.0015 + 0.5 * edge + ROOM, -0.0002, -0.0981),
        })
        .ok()
    };
    let off = |q: &[f32; 5]| {
        let across = forward([q[0], q[1], q[2], q[3], q[4], 0.0])
            .link(Link::Gripper)
            .x_axis;
        quarter(across.y.atan2(across.x) - turn).abs()
    };
    let q = (0..60)
        .find_map(|less: u8| {
            let pitch = FRAC_PI_2 - f32::from(less).to_radians();
            let either = [roll, -roll]
                .into_iter()
                .filter_map(|roll| solve(pitch, roll));
            either.min_by(|a, b| off(a).total_cmp(&off(b)))
        })
        .unwrap();
    let mut pose = robot_from_radians([q[0], q[1], q[2], q[3], q[4], 0.0]);
    pose[Joint::Gripper] = jaws;
    pose
}

/// A rig with a table, and the driver that flies it.
struct Desk {
    rig: SimArm,
    arm: Arm,
    goal: JointVec,
}

impl Desk {
    /// With torque on.
    fn new(layout: &Layout) -> Self {
        let rig = SimArm::on_table(Clock::virtual_at_zero(), layout);
        let mut arm = connect(&rig).unwrap();
        let goal = enable(&mut arm).unwrap();
        Self { rig, arm, goal }
    }

    fn tick(&mut self, goal: JointVec) {
        self.arm.read_state().unwrap();
        self.arm.send_action(goal).unwrap();
        self.rig.clock().advance(TICK);
        self.rig.advance();
        self.goal = goal;
    }

    /// Along a path of minimum jerk.
    fn go(&mut self, goal: JointVec, seconds: f32) {
        let from = self.goal;
        let ticks = (seconds * 30.0).ceil() as u32;
        for tick in 1..=ticks {
            let t = tick as f32 / ticks as f32;
            let s = t * t * t * (10.0 - 15.0 * t + 6.0 * t * t);
            self.tick(from.zip(goal, |a, b| a + (b - a) * s));
        }
    }

    fn wait(&mut self, seconds: f32) {
        for _ in 0..(seconds * 30.0) as u32 {
            self.tick(self.goal);
        }
    }

    fn jaws(&mut self, percent: f32, seconds: f32) {
        let mut goal = self.goal;
        goal[Joint::Gripper] = percent;
        self.go(goal, seconds);
    }

    /// Straight down, or up, at this place.
    fn plumb(&mut self, at: Vec2, heights: [f32; 2], turn: f32, edge: f32, jaws: f32) {
        let [from, to] = heights;
        for step in 1..=4 {
            let z = from + (to - from) * step as f32 / 4.0;
            self.go(over(at.extend(z), turn, edge, jaws), 0.4);
        }
    }

    fn truth(&self) -> Truth {
        self.rig.truth()
    }

    fn cube(&self) -> CubeTruth {
        self.truth().cubes[0]
    }

    /// Takes the first cube and lifts it.
    fn pick(&mut self) {
        let cube = self.cube().cube;
        let ahead = cube.orientation * Vec3::X;
        let (turn, at) = (ahead.y.atan2(ahead.x), cube.position.truncate());
        let (z, edge) = (cube.position.z, cube.edge);
        self.go(over(at.extend(0.075), turn, edge, OPEN), 2.5);
        self.plumb(at, [0.075, z], turn, edge, OPEN);
        self.wait(0.3);
        self.jaws(SHUT, 0.8);
        self.wait(0.5);
        self.plumb(at, [z, 0.11], turn, edge, SHUT);
    }
}

/// Bits of everything, so that equal means the same.
fn bits(truth: &Truth) -> Vec<u32> {
    let cubes = truth.cubes.iter().flat_map(|it| {
        let (place, turn) = (it.cube.position.to_array(), it.cube.orientation.to_array());
        let motion = [it.velocity.to_array(), it.spin.to_array()].concat();
        [&place[..], &turn[..], &motion[..], &it.jaws[..]].concat()
    });
    let arm = truth.joints.0.into_iter().chain(truth.speeds.0);
    arm.chain(cubes).map(f32::to_bits).collect()
}

const MOMENT: Duration = Duration::from_millis(4);
