//! Forward and inverse kinematics of the SO-101, in radians and metres, so that every room agrees where the gripper is.
//!
//! Base frame: origin on the table under the arm, +X forward, +Y left, +Z up. Numbers from the official
//! `so101_new_calib.urdf` (TheRobotStudio/SO-ARM100).

use std::f32::consts::{FRAC_PI_2, PI};
use std::fmt;

use glam::{Affine3A, EulerRot, Quat, Vec2, Vec3, vec2, vec3};

use crate::joint::{JOINT_COUNT, Joint, JointVec};

/// Joint angles in URDF radians, LeRobot's order.
pub type Radians = [f32; JOINT_COUNT];

/// A rigid part of the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Base,
    Shoulder,
    UpperArm,
    LowerArm,
    Wrist,
    Gripper,
    MovingJaw,
}

impl Link {
    /// Every link from the table outwards; link k+1 hangs on link k by joint k.
    pub const ALL: [Self; 7] = [
        Self::Base,
        Self::Shoulder,
        Self::UpperArm,
        Self::LowerArm,
        Self::Wrist,
        Self::Gripper,
        Self::MovingJaw,
    ];
}

/// Lowest and highest angle of each joint, radians.
pub const LIMITS: [(f32, f32); JOINT_COUNT] = [
    (-1.91986, 1.91986),
    (-1.74533, 1.74533),
    (-1.69, 1.69),
    (-1.65806, 1.65806),
    (-2.74385, 2.84121),
    (GRIPPER_CLOSED, GRIPPER_OPEN),
];

/// Gripper angle at 0 percent.
const GRIPPER_CLOSED: f32 = -0.174_533;
/// Gripper angle at 100 percent.
const GRIPPER_OPEN: f32 = 1.74533;

/// Origin and roll-pitch-yaw of each child link in its parent; the joint turns about the child's Z.
const MOUNTS: [([f32; 3], [f32; 3]); JOINT_COUNT] = [
    ([0.0388353, 0.0, 0.0624], [PI, 0.0, -PI]),
    (
        [-0.0303992, -0.0182778, -0.0542],
        [-FRAC_PI_2, -FRAC_PI_2, 0.0],
    ),
    ([-0.11257, -0.028, 0.0], [0.0, 0.0, FRAC_PI_2]),
    ([-0.1349, 0.0052, 0.0], [0.0, 0.0, -FRAC_PI_2]),
    ([0.0, -0.0611, 0.0181], [FRAC_PI_2, JAW_PLANE_ROLL, PI]),
    ([0.0202, 0.0188, -0.0234], [FRAC_PI_2, 0.0, 0.0]),
];

/// The wrist roll at which the jaws open in the vertical plane of the arm.
pub const JAW_PLANE_ROLL: f32 = 0.048_679_5;

/// The URDF's `gripper_frame` on the tip of the fixed jaw, in the gripper link.
const FIXED_TIP: Vec3 = vec3(-0.0079, -0.000_218_121, -0.0981274);

/// Middle between the finger tips when they hold a 25 mm cube, in the gripper link.
pub const PINCH_POINT: Vec3 = vec3(0.011, -0.0002, -0.0981);

/// The arm turns about this place of the table: the pan axis from the base origin, metres.
pub const PAN_AXIS: Vec2 = vec2(0.0388353, 0.0);
/// Shoulder-lift axis: distance from the pan axis, and height.
const SHOULDER: (f32, f32) = (0.0303992, 0.1166);
/// Distance from the wrist-flex axis to the gripper link's origin along the approach.
const WRIST_TO_GRIPPER: f32 = 0.0611;

/// Radians from robot units: degrees for the body joints, percent open for the gripper.
pub fn radians_from_robot(joints: JointVec) -> Radians {
    Joint::ALL.map(|joint| match joint {
        Joint::Gripper => GRIPPER_CLOSED + joints[joint] / 100.0 * (GRIPPER_OPEN - GRIPPER_CLOSED),
        _ => joints[joint].to_radians(),
    })
}

/// Robot units from radians: degrees for the body joints, percent open for the gripper.
pub fn robot_from_radians(angles: Radians) -> JointVec {
    JointVec::from_fn(|joint| match joint {
        Joint::Gripper => {
            (angles[joint.index()] - GRIPPER_CLOSED) / (GRIPPER_OPEN - GRIPPER_CLOSED) * 100.0
        }
        _ => angles[joint.index()].to_degrees(),
    })
}

/// Where every link is in the base frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// `base_from_link`, in the order of [`Link::ALL`].
    pub links: [Affine3A; 7],
}

impl Pose {
    /// `base_from_link` of one link.
    pub fn link(&self, link: Link) -> Affine3A {
        self.links[link as usize]
    }

    /// The URDF's `gripper_frame`: on the tip of the fixed jaw, +Z along the approach.
    pub fn gripper_frame(&self) -> Affine3A {
        self.link(Link::Gripper)
            * Affine3A::from_rotation_translation(Quat::from_rotation_y(PI), FIXED_TIP)
    }

    /// A point of the gripper link, in the base frame.
    pub fn gripper_point(&self, point: Vec3) -> Vec3 {
        self.link(Link::Gripper).transform_point3(point)
    }
}

/// Poses of all links at these angles. Angles beyond the limits are followed as they are.
pub fn forward(angles: Radians) -> Pose {
    let mut links = [Affine3A::IDENTITY; 7];
    for (k, ((xyz, [roll, pitch, yaw]), angle)) in MOUNTS.into_iter().zip(angles).enumerate() {
        let mount = Affine3A::from_rotation_translation(
            Quat::from_euler(EulerRot::ZYX, yaw, pitch, roll),
            Vec3::from(xyz),
        );
        links[k + 1] = links[k] * mount * Affine3A::from_rotation_z(angle);
    }
    Pose { links }
}

/// Poses of all links at these joint values in robot units.
pub fn forward_robot(joints: JointVec) -> Pose {
    forward(radians_from_robot(joints))
}

/// Gap between the finger tips at each gripper angle, metres; measured on the official meshes.
const JAW_GAPS: [(f32, f32); 9] = [
    (-0.1745, 0.0035),
    (0.0, 0.016),
    (0.1, 0.024),
    (0.2, 0.031),
    (0.3, 0.039),
    (0.46, 0.051),
    (0.6, 0.061),
    (1.0, 0.085),
    (1.745, 0.104),
];

/// Gap between the finger tips at this gripper angle (radians), metres.
pub fn jaw_gap(angle: f32) -> f32 {
    let last = JAW_GAPS.len() - 1;
    let k = JAW_GAPS.iter().position(|&(knot, _)| angle < knot);
    match k {
        Some(0) => JAW_GAPS[0].1,
        None => JAW_GAPS[last].1,
        Some(k) => {
            let ((a0, g0), (a1, g1)) = (JAW_GAPS[k - 1], JAW_GAPS[k]);
            g0 + (angle - a0) / (a1 - a0) * (g1 - g0)
        }
    }
}

/// What the inverse kinematics is asked for: five joints, so one turn is never free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolTarget {
    /// Where the tool point should be, base frame, metres.
    pub position: Vec3,
    /// How far the approach points down, radians: 0 is level and forward, π/2 straight down.
    pub pitch: f32,
    /// Turn of the jaws out of the arm's vertical plane, radians.
    pub roll: f32,
    /// The tool point in the gripper link.
    pub tool: Vec3,
}

impl ToolTarget {
    /// Where the point between the finger tips is at these angles; [`inverse`] finds them again, as long as the elbow is up.
    pub fn at(angles: Radians) -> Self {
        Self {
            position: forward(angles).gripper_point(PINCH_POINT),
            pitch: angles[1] + angles[2] + angles[3],
            roll: angles[4] - JAW_PLANE_ROLL,
            tool: PINCH_POINT,
        }
    }

    /// Brings the point between the finger tips to `position`, jaws opening in the arm's plane.
    pub fn pinch(position: Vec3, pitch: f32) -> Self {
        Self {
            position,
            pitch,
            roll: 0.0,
            tool: PINCH_POINT,
        }
    }
}

/// Why a target cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Unreachable {
    /// The wrist would have to be outside the ring that both arm segments span.
    #[error(
        "the wrist would have to be {distance:.3} m from the shoulder, and the arm spans {min:.3} to {max:.3} m: \
         move the target or change its pitch"
    )]
    Distance { distance: f32, min: f32, max: f32 },
    /// The target lies on the pan axis, where the direction of the arm is undefined.
    #[error("the target is on the pan axis: move it at least {0:.3} m away from the base column")]
    OnAxis(f32),
    /// The solution asks a joint to leave its limits.
    #[error(
        "{joint} would have to turn to {wanted:.1}°, its limits are {min:.1}° to {max:.1}°: change the pitch or move the target"
    )]
    Limit {
        joint: Joint,
        wanted: f32,
        min: f32,
        max: f32,
    },
}

/// The five body joints (radians) that bring the tool to its target, elbow up, in closed form.
pub fn inverse(target: &ToolTarget) -> Result<[f32; 5], Unreachable> {
    let roll = JAW_PLANE_ROLL + target.roll;
    let straight = forward([0.0, 0.0, 0.0, 0.0, roll, 0.0]);
    // The arm moves in a vertical plane; the tool point's distance from that plane depends on the roll alone.
    let tool = straight.gripper_point(target.tool) - straight.gripper_point(Vec3::ZERO);
    let lateral = straight.gripper_point(target.tool).y;
    let along = Vec3::from(straight.gripper_frame().z_axis);
    let (tx, tz) = (WRIST_TO_GRIPPER + tool.dot(along), tool.z);

    let (x, y) = (target.position.truncate() - PAN_AXIS).into();
    let flat_sq = x * x + y * y - lateral * lateral;
    if flat_sq <= 0.0 {
        return Err(Unreachable::OnAxis(lateral.abs()));
    }
    let r = flat_sq.sqrt();
    let pan = lateral.atan2(r) - y.atan2(x);
    let (sin, cos) = target.pitch.sin_cos();
    let dx = r - (tx * cos + tz * sin) - SHOULDER.0;
    let dz = target.position.z - (tz * cos - tx * sin) - SHOULDER.1;
    let [lift, elbow] = two_segments(dx, dz)?;
    let wrist = target.pitch - lift - elbow;
    within_limits([pan, lift, elbow, wrist, roll])
}

/// Shoulder lift and elbow that put the wrist axis at (dx, dz) from the shoulder axis.
fn two_segments(dx: f32, dz: f32) -> Result<[f32; 2], Unreachable> {
    let (l1, a1) = (0.11257_f32.hypot(0.028), 0.11257_f32.atan2(0.028));
    let (l2, a2) = (0.1349_f32.hypot(0.0052), 0.0052_f32.atan2(0.1349));
    let cos_bend = (dx * dx + dz * dz - l1 * l1 - l2 * l2) / (2.0 * l1 * l2);
    // The formula touches its ends at full stretch, where rounding may push the cosine past 1.
    if cos_bend.abs() > 1.0 + 1e-5 {
        return Err(Unreachable::Distance {
            distance: dx.hypot(dz),
            min: (l1 - l2).abs(),
            max: l1 + l2,
        });
    }
    let bend = cos_bend.clamp(-1.0, 1.0).acos();
    let e1 = dz.atan2(dx) + (l2 * bend.sin()).atan2(l1 + l2 * bend.cos());
    let e2 = e1 - bend;
    let lift = wrapped(a1 - e1);
    Ok([lift, wrapped(a2 - e2 - lift)])
}

/// The same angle between -π and π.
fn wrapped(angle: f32) -> f32 {
    (angle + PI).rem_euclid(2.0 * PI) - PI
}

fn within_limits(angles: [f32; 5]) -> Result<[f32; 5], Unreachable> {
    let mut kept = angles.map(wrapped);
    for ((value, joint), (min, max)) in kept.iter_mut().zip(Joint::ALL).zip(LIMITS) {
        // A rounding error at the limit is no reason to refuse.
        if *value < min - 1e-4 || *value > max + 1e-4 {
            return Err(Unreachable::Limit {
                joint,
                wanted: value.to_degrees(),
                min: min.to_degrees(),
                max: max.to_degrees(),
            });
        }
        *value = value.clamp(min, max);
    }
    Ok(kept)
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base => "base",
            Self::Shoulder => "shoulder",
            Self::UpperArm => "upper arm",
            Self::LowerArm => "lower arm",
            Self::Wrist => "wrist",
            Self::Gripper => "gripper",
            Self::MovingJaw => "moving jaw",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values are rounded to 10 µm.
    const ROUNDED: f32 = 1.5e-5;

    #[test]
    fn forward_kinematics_gives_the_check_values_of_the_urdf() {
        let half = 0.87758;
        let rows: [([f32; 5], [f32; 3], [f32; 3]); 7] = [
            ([0.0; 5], [0.39136, -0.00001, 0.22647], [1.0, 0.0, 0.0]),
            (
                [0.5, 0.0, 0.0, 0.0, 0.0],
                [0.34820, -0.16902, 0.22647],
                [half, -0.47942, 0.0],
            ),
            (
                [0.0, 0.5, 0.0, 0.0, 0.0],
                [0.40460, 0.0, 0.05858],
                [half, 0.0, -0.47942],
            ),
            (
                [0.0, 0.0, 0.5, 0.0, 0.0],
                [0.35406, 0.0, 0.08579],
                [half, 0.0, -0.47942],
            ),
            (
                [0.0, 0.0, 0.0, 0.5, 0.0],
                [0.36808, 0.0, 0.15110],
                [half, 0.0, -0.47942],
            ),
            (
                [0.0, 0.0, 0.0, FRAC_PI_2, 0.0],
                [0.22423, 0.0, 0.07514],
                [0.0, 0.0, -1.0],
            ),
            (
                [0.3, -0.4, 0.6, 0.7, -0.2],
                [0.26718, -0.06900, 0.07996],
                [0.59386, -0.18369, -0.78332],
            ),
        ];
        for (q, position, approach) in rows {
            let frame = forward([q[0], q[1], q[2], q[3], q[4], 0.0]).gripper_frame();
            let off = Vec3::from(frame.translation) - Vec3::from(position);
            assert!(off.abs().max_element() < ROUNDED, "{q:?}: off by {off}");
            let off = Vec3::from(frame.z_axis) - Vec3::from(approach);
            assert!(off.abs().max_element() < ROUNDED, "{q:?}: turned by {off}");
        }
    }

    #[test]
    fn link_origins_at_zero_are_those_of_the_urdf() {
        let pose = forward([0.0; 6]);
        let rows = [
            (Link::Shoulder, [0.03884, 0.0, 0.0624]),
            (Link::UpperArm, [0.06923, -0.01828, 0.1166]),
            (Link::LowerArm, [0.09723, -0.01828, 0.22917]),
            (Link::Wrist, [0.23213, -0.01828, 0.23437]),
            (Link::Gripper, [0.29323, -0.00018, 0.23437]),
            (Link::MovingJaw, [0.31663, 0.01762, 0.25546]),
        ];
        for (link, origin) in rows {
            let off = Vec3::from(pose.link(link).translation) - Vec3::from(origin);
            assert!(off.abs().max_element() < ROUNDED, "{link}: off by {off}");
        }
    }

    #[test]
    fn inverse_then_forward_returns_to_the_target() {
        let mut reached = 0;
        for k in 0..4000_u32 {
            let part = |n: u32| (k.wrapping_mul(n) % 997) as f32 / 996.0;
            let target = ToolTarget {
                position: vec3(
                    0.1 + 0.3 * part(31),
                    0.5 * part(57) - 0.25,
                    0.25 * part(101),
                ),
                pitch: FRAC_PI_2 * part(173),
                roll: 1.6 * part(211) - 0.8,
                tool: PINCH_POINT,
            };
            let Ok(q) = inverse(&target) else { continue };
            reached += 1;
            let pose = forward([q[0], q[1], q[2], q[3], q[4], 0.3]);
            let off = (pose.gripper_point(PINCH_POINT) - target.position).length();
            assert!(off < 1e-5, "{target:?}: {off} m away");
            let down = -pose.gripper_frame().z_axis.z;
            assert!((down - target.pitch.sin()).abs() < 1e-5, "{target:?}");
        }
        assert!(
            reached > 1000,
            "only {reached} of 4000 targets were reachable"
        );
    }

    #[test]
    fn straight_down_reaches_what_was_measured_on_the_real_geometry() {
        let down = |x, z| inverse(&ToolTarget::pinch(vec3(x, 0.0, z), FRAC_PI_2));
        for x in [0.107, 0.2, 0.321] {
            assert!(down(x, 0.0125).is_ok(), "x = {x}");
        }
        for x in [0.104, 0.324] {
            assert!(down(x, 0.0125).is_err(), "x = {x}");
        }
        for x in [0.1, 0.2, 0.3] {
            let refused = down(x, 0.105);
            assert!(matches!(
                refused,
                Err(Unreachable::Limit { .. } | Unreachable::Distance { .. })
            ));
        }
        let text = down(0.6, 0.0125).unwrap_err().to_string();
        assert!(text.contains("spans 0.019 to 0.251 m"), "{text}");
        let text = down(0.2, 0.105).unwrap_err().to_string();
        assert!(text.contains("wrist_flex would have to turn"), "{text}");
    }

    #[test]
    fn robot_units_and_radians_are_each_others_inverse() {
        let joints = JointVec([10.0, -20.0, 30.0, -40.0, 50.0, 25.0]);
        let back = robot_from_radians(radians_from_robot(joints));
        assert!(back.max_abs_diff(joints) < 1e-4);
        let closed = radians_from_robot(JointVec::default());
        assert_eq!(closed[Joint::Gripper.index()], LIMITS[5].0);
        let open = radians_from_robot(JointVec([0.0, 0.0, 0.0, 0.0, 0.0, 100.0]));
        assert!((open[5] - LIMITS[5].1).abs() < 1e-6);
    }

    #[test]
    fn the_jaw_gap_grows_with_the_angle() {
        assert_eq!(jaw_gap(-1.0), 0.0035);
        assert!((jaw_gap(0.05) - 0.020).abs() < 1e-6);
        assert_eq!(jaw_gap(3.0), 0.104);
        let gaps: Vec<f32> = (0..100).map(|k| jaw_gap(-0.2 + 0.02 * k as f32)).collect();
        assert!(gaps.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
