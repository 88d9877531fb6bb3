//! The arm as an articulated body: six hinges, each with a motor that pulls like a spring with a limit, with friction, and
//! with the inertia of a rotor behind a high gear.
//!
//! Armature, friction and damping are those of the published models of this arm, which nobody has identified on a real one.

use std::f32::consts::FRAC_PI_2;

use glam::{Affine3A, Quat};
use rapier3d::prelude::*;

use super::frames::{pose, rotation, vector};
use super::parts::{Form, INERTIAS, Inertia, Part, Shape, shapes};
use super::tag::Tag;
use crate::joint::JOINT_COUNT;
use crate::kinematics::{Link, Radians, forward};

/// Inertia of a rotor as it is felt at its horn, kg m².
const ARMATURE: f32 = 0.028;
/// Friction of the pads, which the higher one of a pair decides, and of printed parts.
const PAD_FRICTION: f32 = 1.2;
const PRINT_FRICTION: f32 = 0.3;

/// What a servo does to its joint during one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// Where it pulls to and how fast that place moves, radians and radians a second.
    pub target: f32,
    pub velocity: f32,
    /// N m for a radian off, and for a radian a second off.
    pub stiffness: f32,
    pub damping: f32,
    /// The most that it pulls with, N m; zero for a limp joint.
    pub torque: f32,
    /// Of the joint, whatever the motor does: N m s and N m.
    pub drag: f32,
    pub friction: f32,
    /// Between what it can turn, radians.
    pub ends: [f32; 2],
}

impl Default for Drive {
    fn default() -> Self {
        Self {
            target: 0.0,
            velocity: 0.0,
            stiffness: 0.0,
            damping: 0.0,
            torque: 0.0,
            drag: 0.6,
            friction: 0.05,
            ends: [-std::f32::consts::PI, std::f32::consts::PI],
        }
    }
}

/// How a joint is after a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turned {
    /// Radians, radians a second.
    pub angle: f32,
    pub velocity: f32,
    /// What its motor pulled with, N m.
    pub torque: f32,
}

/// The arm in the engine.
#[derive(Debug)]
pub struct Body {
    /// A joint by which the engine finds the chain that they all are part of.
    chain: MultibodyJointHandle,
}

impl Body {
    /// Puts the arm together, all joints at zero.
    pub fn assemble(world: &mut PhysicsWorld) -> Self {
        let zero = forward([0.0; JOINT_COUNT]);
        let bodies = Link::ALL.map(|link| {
            let builder = match (link as usize).checked_sub(1) {
                None => RigidBodyBuilder::fixed(),
                Some(k) => RigidBodyBuilder::dynamic()
                    .additional_mass_properties(mass(&INERTIAS[k]))
                    .can_sleep(false),
            };
            world.insert_body(builder.pose(pose(&zero.link(link))))
        });
        for shape in shapes() {
            world.insert_collider(collider(&shape), Some(bodies[shape.link as usize]));
        }
        // The engine's hinges turn about X, the arm's about Z of the outer link.
        let hinge = Affine3A::from_quat(Quat::from_rotation_y(-FRAC_PI_2));
        let mut chain = MultibodyJointHandle::invalid();
        for k in 0..JOINT_COUNT {
            let mount = zero.links[k].inverse() * zero.links[k + 1];
            let turning = GenericJointBuilder::new(JointAxesMask::LOCKED_REVOLUTE_AXES)
                .local_frame1(pose(&(mount * hinge)))
                .local_frame2(pose(&hinge))
                .motor_model(JointAxis::AngX, MotorModel::ForceBased)
                .build();
            // The engine refuses loops only, and this is none.
            if let Some(joint) = world.insert_multibody_joint(bodies[k], bodies[k + 1], turning) {
                chain = joint;
            }
        }
        if let Some((arm, _)) = world.multibody_joints.get_mut(chain) {
            arm.set_self_contacts_enabled(false);
            arm.forward_kinematics(&world.bodies, true);
            arm.armature_mut().fill(ARMATURE);
        }
        Self { chain }
    }

    /// Puts the joints somewhere at once, at rest.
    pub fn place(&self, world: &mut PhysicsWorld, angles: Radians) {
        let now = self.turned(world);
        let off: [f32; JOINT_COUNT] = std::array::from_fn(|k| angles[k] - now[k].angle);
        let Some((chain, _)) = world.multibody_joints.get_mut(self.chain) else {
            return;
        };
        chain.apply_displacements(&off);
        for (velocity, off) in chain.generalized_velocity_mut().iter_mut().zip(off) {
            if off != 0.0 {
                *velocity = 0.0;
            }
        }
        chain.forward_kinematics(&world.bodies, false);
        chain.update_rigid_bodies(&mut world.bodies, true);
    }

    /// Sets the motors for the next step.
    pub fn drive(&self, world: &mut PhysicsWorld, drives: &[Drive; JOINT_COUNT]) {
        let Some((chain, _)) = world.multibody_joints.get_mut(self.chain) else {
            return;
        };
        for (k, drive) in drives.iter().enumerate() {
            chain.damping_mut()[k] = drive.drag;
            chain.frictions_mut()[k] = drive.friction;
            let Some(link) = chain.link_mut(k + 1) else {
                continue;
            };
            let axis = JointAxis::AngX;
            let joint = &mut link.joint.data;
            joint.set_limits(axis, drive.ends);
            joint.set_motor(
                axis,
                drive.target,
                drive.velocity,
                drive.stiffness,
                drive.damping,
            );
            joint.set_motor_max_force(axis, drive.torque);
        }
    }

    /// Where the joints are and how fast they turn; torques are zero here.
    pub fn turned(&self, world: &PhysicsWorld) -> [Turned; JOINT_COUNT] {
        let mut turned = [Turned::default(); JOINT_COUNT];
        if let Some((chain, _)) = world.multibody_joints.get(self.chain) {
            let velocities = chain.generalized_velocity();
            for (k, (turned, link)) in turned.iter_mut().zip(chain.links().skip(1)).enumerate() {
                turned.angle = link.joint().coords()[3];
                turned.velocity = velocities[k];
            }
        }
        turned
    }
}

impl Drive {
    /// What the motor pulls with when the joint is like this, N m.
    pub fn pull(&self, angle: f32, velocity: f32) -> f32 {
        let spring = self.stiffness * (self.target - angle);
        let damper = self.damping * (self.velocity - velocity);
        (spring + damper).clamp(-self.torque, self.torque)
    }

    /// The same drive without anything that is not a number: the joint is limp instead.
    pub fn checked(self) -> Self {
        let all = [
            self.target,
            self.velocity,
            self.stiffness,
            self.damping,
            self.torque,
            self.drag,
            self.friction,
            self.ends[0],
            self.ends[1],
        ];
        if all.into_iter().all(f32::is_finite) {
            self
        } else {
            Self::default()
        }
    }
}

fn mass(inertia: &Inertia) -> MassProperties {
    let [xx, yy, zz, xy, xz, yz] = inertia.moments;
    let matrix = Matrix::from_cols(
        Vector::new(xx, xy, xz),
        Vector::new(xy, yy, yz),
        Vector::new(xz, yz, zz),
    );
    MassProperties::with_inertia_matrix(vector(inertia.centre), inertia.mass, matrix)
}

fn collider(shape: &Shape) -> ColliderBuilder {
    let form = match shape.form {
        Form::Box(half) => ColliderBuilder::cuboid(half.x, half.y, half.z),
        Form::Roll(half, radius) => ColliderBuilder::capsule_y(half, radius),
    };
    let tag = match shape.part {
        Part::FixedJaw => Tag::FixedJaw,
        Part::MovingJaw => Tag::MovingJaw,
        Part::Rest => Tag::Arm,
    };
    let (friction, rule) = if shape.is_pad {
        (PAD_FRICTION, CoefficientCombineRule::Max)
    } else {
        (PRINT_FRICTION, CoefficientCombineRule::Average)
    };
    form.position(Pose::from_parts(vector(shape.centre), rotation(shape.turn)))
        .density(0.0)
        .friction(friction)
        .friction_combine_rule(rule)
        .user_data(tag.code())
}
