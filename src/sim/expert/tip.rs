//! Where the finger tips are to be, and the joints that bring them there: the pitch gives way where the arm cannot keep it.

use std::f32::consts::{FRAC_PI_2, PI};

use glam::{Vec3, vec3};

use crate::joint::{Joint, JointVec};
use crate::kinematics::{PINCH_POINT, ToolTarget, inverse, jaw_gap, radians_from_robot};

/// X of the fixed jaw's pad in the gripper link, metres.
const FIXED_PAD: f32 = -0.0015;
/// The pads take this much of the gap between the bare finger tips, metres.
const PADS: f32 = 0.0105;
/// Ends of the body joints' travel, degrees: what the driver allows (two degrees less than the mechanics), and half a degree.
const TRAVEL: [(f32, f32); 5] = [
    (-107.5, 107.5),
    (-97.5, 97.5),
    (-94.3, 94.3),
    (-92.5, 92.5),
    (-154.5, 160.0),
];
/// Steps in which another pitch is looked for, and how far, radians.
const PITCH_STEP: f32 = 0.035;
const PITCH_STEPS: i32 = 45;

/// A pose of the gripper in the terms in which a grasp is thought of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tip {
    /// Where the tool point is, base frame, metres.
    pub position: Vec3,
    /// Wanted pitch, radians: π/2 points straight down. The nearest that the arm can keep is taken.
    pub pitch: f32,
    /// Turn of the jaws out of the arm's vertical plane, radians.
    pub roll: f32,
    /// X of the tool point in the gripper link, metres: half the thickness of what the fixed jaw lies against, off its pad.
    pub across: f32,
}

/// The tool point for something of this thickness that lies against the fixed jaw, or `off` metres away from it.
pub fn across(thickness: f32, off: f32) -> f32 {
    FIXED_PAD + 0.5 * thickness + off
}

impl Tip {
    /// Straight down at a place, jaws in the plane of the arm.
    pub fn down(position: Vec3, across: f32) -> Self {
        Self {
            position,
            pitch: FRAC_PI_2,
            roll: 0.0,
            across,
        }
    }

    /// Where the tip is at these joint values, robot units.
    pub fn at(joints: JointVec) -> Self {
        let target = ToolTarget::at(radians_from_robot(joints));
        Self {
            position: target.position,
            pitch: target.pitch,
            roll: target.roll,
            across: PINCH_POINT.x,
        }
    }

    /// The same with the jaws opening along this direction of the table, radians from +X: the moving jaw is on that side.
    /// Exact where the gripper points straight down. `None` out of reach or beyond the travel of the wrist.
    pub fn facing(mut self, yaw: f32) -> Option<Self> {
        // The tool point is off the roll axis, so that the arm's plane depends a little on the roll.
        for _ in 0..3 {
            let [pan, ..] = self.body()?;
            self.roll = wrapped(yaw + pan);
        }
        self.joints(0.0).map(|_| self)
    }

    /// The same, `metres` higher.
    #[must_use]
    pub fn raised(mut self, metres: f32) -> Self {
        self.position.z += metres;
        self
    }

    /// The same at this height, metres.
    #[must_use]
    pub fn at_height(mut self, z: f32) -> Self {
        self.position.z = z;
        self
    }

    /// Joint values that bring the tip here, robot units, with the gripper this far open, percent.
    pub fn joints(&self, gripper: f32) -> Option<JointVec> {
        let body = self.body()?;
        let travel = (Joint::WristRoll.index(), TRAVEL[4]);
        let roll = body[travel.0].to_degrees();
        if roll < travel.1.0 || roll > travel.1.1 {
            return None;
        }
        Some(JointVec::from_fn(|joint| {
            body.get(joint.index())
                .map_or(gripper, |angle| angle.to_degrees())
        }))
    }

    fn body(&self) -> Option<[f32; 5]> {
        self.relaxed().map(|(_, body)| body)
    }

    fn relaxed(&self) -> Option<(f32, [f32; 5])> {
        let with = |pitch: f32| self.solved(pitch);
        if let Some(body) = with(self.pitch) {
            return Some((self.pitch, body));
        }
        for k in 1..=PITCH_STEPS {
            for side in [-1.0, 1.0] {
                let far = side * PITCH_STEP * k as f32;
                let Some(body) = with(self.pitch + far) else {
                    continue;
                };
                // Between this pitch and the one before lies the end of what can be kept. Taking it exactly lets the
                // pitch change smoothly along a path.
                let (mut good, mut bad) = (far, far - side * PITCH_STEP);
                let mut best = body;
                for _ in 0..6 {
                    let middle = f32::midpoint(good, bad);
                    match with(self.pitch + middle) {
                        Some(body) => (good, best) = (middle, body),
                        None => bad = middle,
                    }
                }
                return Some((self.pitch + good, best));
            }
        }
        None
    }

    fn solved(&self, pitch: f32) -> Option<[f32; 5]> {
        let target = ToolTarget {
            position: self.position,
            pitch,
            // The roll does not decide whether the arm gets there.
            roll: self.roll.clamp(-2.7, 2.75),
            tool: vec3(self.across, PINCH_POINT.y, PINCH_POINT.z),
        };
        let body = inverse(&target).ok()?;
        let inside = body[..4]
            .iter()
            .zip(TRAVEL)
            .all(|(angle, (least, most))| (least..=most).contains(&angle.to_degrees()));
        inside.then_some(body)
    }
}

/// Percent open at which the pads are this far apart, metres.
pub fn gripper_for(gap: f32) -> f32 {
    let open =
        |percent: f32| jaw_gap(radians_from_robot(JointVec([0.0, 0.0, 0.0, 0.0, 0.0, percent]))[5]);
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..12 {
        let middle = f32::midpoint(low, high);
        if open(middle) < gap + PADS {
            low = middle;
        } else {
            high = middle;
        }
    }
    f32::midpoint(low, high)
}

/// The same angle between -π and π.
pub fn wrapped(angle: f32) -> f32 {
    (angle + PI).rem_euclid(2.0 * PI) - PI
}

#[cfg(test)]
mod tests {
    use glam::Vec2;

    use super::*;
    use crate::kinematics::{Link, PAN_AXIS, forward_robot};

    #[test]
    fn the_jaws_open_along_the_direction_that_is_asked_for() {
        for (k, yaw) in [-2.5, -1.2, 0.0, 0.4, 1.9].into_iter().enumerate() {
            let place = PAN_AXIS + 0.2 * Vec2::from_angle(0.3 * k as f32 - 0.6);
            let tip = Tip::down(place.extend(0.02), across(0.03, 0.004))
                .facing(yaw)
                .unwrap();
            let pose = forward_robot(tip.joints(30.0).unwrap());
            let x = pose.link(Link::Gripper).x_axis;
            let off = wrapped(x.y.atan2(x.x) - yaw);
            assert!(off.abs() < 0.01, "yaw {yaw}: off by {off}");
            let tool = pose.gripper_point(vec3(tip.across, PINCH_POINT.y, PINCH_POINT.z));
            assert!(tool.distance(tip.position) < 1e-4);
        }
    }

    #[test]
    fn the_pitch_gives_way_as_little_as_it_must() {
        let low = Tip::down(vec3(0.22, 0.0, 0.02), 0.011);
        assert_eq!(low.relaxed().map(|(pitch, _)| pitch), Some(FRAC_PI_2));
        let high = low.at_height(0.14);
        let pitch = high.relaxed().unwrap().0;
        assert!(pitch < FRAC_PI_2 && pitch > 0.9, "{pitch}");
        let mut steeper = high;
        steeper.pitch = pitch + 0.02;
        assert!(steeper.solved(steeper.pitch).is_none());
        assert_eq!(Tip::down(vec3(0.7, 0.0, 0.02), 0.011).joints(0.0), None);
    }

    #[test]
    fn a_tip_is_found_where_its_joints_brought_it() {
        let tip = Tip::down(vec3(0.2, 0.1, 0.03), PINCH_POINT.x)
            .facing(0.7)
            .unwrap();
        let back = Tip::at(tip.joints(20.0).unwrap());
        assert!(back.position.distance(tip.position) < 1e-5);
        assert!((back.pitch - tip.pitch).abs() < 1e-4 && (back.roll - tip.roll).abs() < 1e-4);
    }

    #[test]
    fn the_gripper_opens_wider_for_a_wider_thing() {
        let opens: Vec<f32> = [0.0, 0.02, 0.025, 0.04, 0.06].map(gripper_for).to_vec();
        assert!(opens.windows(2).all(|pair| pair[0] < pair[1]), "{opens:?}");
        assert!((gripper_for(0.0405) - 33.0).abs() < 1.0, "{opens:?}");
    }
}
