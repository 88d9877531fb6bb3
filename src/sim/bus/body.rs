//! The servos of an arm that has weight and a table before it: each step they pull, the world gives way or does not, and
//! they feel what came of it.

use std::time::Duration;

use glam::Vec2;

use super::SimBus;
use crate::joint::{JOINT_COUNT, Joint, JointVec};
use crate::kinematics::radians_from_robot;
use crate::latest::Latest;
use crate::sim::build::{Build, Mounting};
use crate::sim::layout::Layout;
use crate::sim::servo::{Moved, Puller, SimServo};
use crate::sim::truth::Truth;
use crate::sim::world::{Drive, Turned, World};

/// Torque of a stalled servo of 12 V, N m.
const STALL: f32 = 2.94;
/// What of it comes through the gripper's jaw, which gives way before the motor does, N m.
const GRIPPER_STALL: f32 = 1.2;
/// Full effort is reached this far behind the set-point with LeRobot's P, radians.
const FULL_EFFORT_AT: f32 = 0.059;
/// Seconds by which a speed that is wrong counts like a position that is wrong.
const DAMPING_S: f32 = 0.04;
/// Speed of a servo with nothing to move, radians a second: what damps it, too.
const NO_LOAD: f32 = 4.9;
/// Friction of a servo that is driven, N m; and of one that is turned by its horn, against a gear of 1 to 345: that carries
/// the arm where it is folded, and lets it sink where it is stretched out.
const FRICTION: f32 = 0.052;
const LIMP_FRICTION: f32 = 0.45;
/// Of a person's hand, and of something that is jammed: N m and N m for a radian.
const HAND: (f32, f32) = (4.0, 120.0);
const JAM: (f32, f32) = (50.0, 2000.0);

/// The world that the servos sit in.
#[derive(Debug)]
pub(super) struct Embodied {
    world: World,
    gears: [Gear; JOINT_COUNT],
    /// Where the horns were left by the latest step, counts of the encoder: a servo that is elsewhere has been put there.
    left: [f64; JOINT_COUNT],
    truth: Latest<Truth>,
}

/// How a servo's counts and a joint's radians go together.
#[derive(Clone, Copy, Debug)]
struct Gear {
    radians_per_count: f64,
    /// Where the joint's angle is zero, counts of the encoder.
    zero: f64,
    /// The ends of the joint's travel, counts of the encoder.
    travel: [f64; 2],
    stall: f32,
}

impl Gear {
    fn new(joint: Joint, mounting: Mounting) -> Self {
        // Two places well inside every travel; all of it is linear in between.
        let (low, high) = (JointVec([10.0; JOINT_COUNT]), JointVec([90.0; JOINT_COUNT]));
        let radians = |value| f64::from(radians_from_robot(value)[joint.index()]);
        let counts = |value: JointVec| mounting.exact_encoder(joint, value[joint]);
        let radians_per_count = (radians(high) - radians(low)) / (counts(high) - counts(low));
        Self {
            radians_per_count,
            travel: mounting.travel(joint),
            zero: counts(low) - radians(low) / radians_per_count,
            stall: if joint == Joint::Gripper {
                GRIPPER_STALL
            } else {
                STALL
            },
        }
    }

    fn radians(&self, encoder: f64) -> f32 {
        ((encoder - self.zero) * self.radians_per_count) as f32
    }

    fn counts(&self, radians: f32) -> f64 {
        self.zero + f64::from(radians) / self.radians_per_count
    }

    /// What a servo that is in this state does to its joint.
    fn drive(&self, servo: &mut SimServo, dt_s: f64, volts: f64) -> Drive {
        let pull = servo.pull(dt_s, volts);
        let strength = self.stall / FULL_EFFORT_AT;
        let (torque, stiffness) = match pull.by {
            Puller::Friction => (0.0, 0.0),
            Puller::Motor { effort, gain } => {
                (self.stall * effort as f32 / 1000.0, strength * gain as f32)
            }
            Puller::Hand => HAND,
            Puller::Jam => JAM,
        };
        let friction = if servo.torque() {
            FRICTION
        } else {
            LIMP_FRICTION
        };
        let [low, high] = self.travel;
        let mut ends = pull.ends.map(|end| self.radians(end.clamp(low, high)));
        ends.sort_by(f32::total_cmp);
        Drive {
            target: self.radians(pull.to),
            velocity: (pull.speed * self.radians_per_count) as f32,
            stiffness,
            damping: stiffness * DAMPING_S,
            torque,
            drag: self.stall / NO_LOAD,
            friction: friction * self.stall / STALL,
            ends,
        }
    }

    fn moved(&self, turned: Turned) -> Moved {
        let sign = self.radians_per_count.signum();
        let permille = |torque: f32| f64::from(torque / self.stall) * 1000.0 * sign;
        Moved {
            encoder: self.counts(turned.angle),
            velocity: f64::from(turned.velocity) / self.radians_per_count,
            load: permille(turned.torque),
            back_emf: permille(turned.velocity * self.stall / NO_LOAD),
        }
    }
}

impl Embodied {
    /// Lets the servos pull for one step of the world.
    pub fn step(&mut self, servos: &mut [SimServo; JOINT_COUNT], dt_s: f64, volts: f64) {
        self.follow(servos);
        let gears = self.gears;
        let mut drives = [Drive::default(); JOINT_COUNT];
        for ((drive, servo), gear) in drives.iter_mut().zip(servos.iter_mut()).zip(gears) {
            *drive = gear.drive(servo, dt_s, volts);
        }
        let turned = self.world.step(&drives);
        for ((servo, gear), turned) in servos.iter_mut().zip(gears).zip(turned) {
            servo.moved(gear.moved(turned), dt_s);
        }
        self.left = servos.each_ref().map(SimServo::encoder);
    }

    /// Puts joints where their servos have been put.
    fn follow(&mut self, servos: &[SimServo; JOINT_COUNT]) {
        let now = servos.each_ref().map(SimServo::encoder);
        if now == self.left {
            return;
        }
        let turned = self.world.turned();
        self.world.place(std::array::from_fn(|k| {
            if now[k] == self.left[k] {
                turned[k].angle
            } else {
                self.gears[k].radians(now[k])
            }
        }));
        self.left = now;
    }

    /// Publishes what is truly so.
    pub fn show(&self, at: Duration) {
        self.truth.set(self.world.truth(at));
    }
}

impl SimBus {
    /// The servos of `build` in an arm with weight, before a table that is laid like this; `truth` will hold what is truly so.
    pub fn on_table(
        build: Build,
        now: Duration,
        pose: Latest<JointVec>,
        truth: Latest<Truth>,
        layout: &Layout,
    ) -> Self {
        let mut bus = Self::new(build, now, pose);
        let gears = Joint::ALL.map(|joint| Gear::new(joint, bus.mounting));
        let left = bus.servos.each_ref().map(SimServo::encoder);
        let start = std::array::from_fn(|k| gears[k].radians(left[k]));
        bus.body = Some(Embodied {
            world: World::new(layout, start),
            gears,
            left,
            truth,
        });
        bus.show();
        bus
    }

    /// The same bus, and the same world, as they were at first.
    pub fn anew(&self, now: Duration) -> Self {
        let Some(body) = &self.body else {
            return Self::new(self.build, now, self.pose.clone());
        };
        let (pose, truth) = (self.pose.clone(), body.truth.clone());
        let layout = body.world.layout().clone();
        let mut bus = Self::on_table(self.build, now, pose, truth, &layout);
        if let Some(fresh) = &mut bus.body {
            fresh.world.count_from(body.world.laid());
            fresh.show(now);
        }
        bus
    }

    /// Whether there is a table before the arm.
    pub fn has_world(&self) -> bool {
        self.body.is_some()
    }

    /// Lays the table anew.
    pub fn lay(&mut self, layout: &Layout) {
        if let Some(body) = &mut self.body {
            body.world.lay(layout);
        }
        self.show();
    }

    /// Puts the arm back in its first pose at once. A joint that has torque is told to stay there.
    pub fn go_home(&mut self) {
        let (mounting, start) = (self.mounting, self.build.start);
        for joint in Joint::ALL {
            let servo = &mut self.servos[joint.index()];
            servo.place(mounting.encoder(joint, start[joint]));
            servo.stay();
        }
        if let Some(body) = &mut self.body {
            body.follow(&self.servos);
        }
        self.show();
    }

    /// A person takes a cube to a place above the table, or sets it down there; whether there is such a cube.
    pub fn drag(&mut self, cube: usize, over: Option<Vec2>) -> bool {
        let Some(body) = &mut self.body else {
            return false;
        };
        let held = body.world.drag(cube, over);
        self.show();
        held
    }
}
