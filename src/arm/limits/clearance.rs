//! How close the arm comes to the table and to itself, by capsules around its links: cheap enough to look at every step
//! before it is sent, and at the way on which the arm would come to rest.
//!
//! The capsules follow the bounding boxes of the official parts. Pairs that the joints keep apart (neighbours, and those
//! that touch only where a joint ends) are left out: a folded arm at rest must be allowed to be where it was built to be.

use glam::{Vec3, Vec3A, vec3};

use crate::arm::limits::cut::Cut;
use crate::joint::JointVec;
use crate::kinematics::{Link, forward_robot};

/// Planned on top of the margins, metres: goals are rounded to encoder counts, which moves the finger tips by a millimetre
/// and a half at full stretch.
const ROUNDING: f32 = 0.002;
/// Rounding errors in a gap that does not change, metres.
const SAME: f32 = 1e-6;
/// Poses looked at on a planned way.
const LOOKS: u16 = 32;

/// Where the table is and how much room is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clearance {
    /// Height of the table's top above the foot of the arm, metres; `None` where there is no table under the arm.
    pub table: Option<f32>,
    /// Closest that links come to the table, and to links they do not hang on, metres.
    pub margin: f32,
    /// Closest that the finger tips come to the table, metres: they reach for what lies on it.
    pub finger_margin: f32,
}

impl Default for Clearance {
    fn default() -> Self {
        Self {
            table: Some(0.0),
            margin: 0.010,
            finger_margin: 0.0,
        }
    }
}

/// A segment with a radius, in the frame of its link, metres.
struct Capsule {
    link: Link,
    ends: [Vec3; 2],
    radius: f32,
}

const fn capsule(link: Link, from: Vec3, to: Vec3, radius: f32) -> Capsule {
    Capsule {
        link,
        ends: [from, to],
        radius,
    }
}

const CAPSULES: [Capsule; 11] = [
    // The sides of the foot, the pan servo, and the board at the back.
    capsule(
        Link::Base,
        vec3(-0.012, -0.035, 0.006),
        vec3(0.046, -0.035, 0.006),
        0.018,
    ),
    capsule(
        Link::Base,
        vec3(-0.012, 0.035, 0.006),
        vec3(0.046, 0.035, 0.006),
        0.018,
    ),
    capsule(
        Link::Base,
        vec3(0.0263, 0.0, 0.020),
        vec3(0.0263, 0.0, 0.040),
        0.024,
    ),
    capsule(
        Link::Base,
        vec3(-0.027, -0.015, 0.050),
        vec3(-0.027, 0.015, 0.050),
        0.015,
    ),
    capsule(
        Link::Shoulder,
        vec3(-0.0192, 0.0, -0.032),
        vec3(-0.0192, 0.0, 0.024),
        0.018,
    ),
    capsule(
        Link::UpperArm,
        vec3(-0.110, -0.006, 0.0183),
        vec3(-0.005, -0.006, 0.0183),
        0.022,
    ),
    capsule(
        Link::LowerArm,
        vec3(-0.125, 0.004, 0.0183),
        vec3(-0.005, 0.002, 0.0183),
        0.022,
    ),
    capsule(
        Link::Wrist,
        vec3(0.0, -0.010, 0.0190),
        vec3(0.0, -0.048, 0.0225),
        0.022,
    ),
    // The palm, then the fingers down to the points between which they pinch.
    capsule(
        Link::Gripper,
        vec3(-0.012, -0.002, -0.0174),
        vec3(0.010, -0.002, -0.0174),
        0.023,
    ),
    capsule(
        Link::Gripper,
        vec3(-0.0125, 0.0, -0.045),
        vec3(-0.0090, 0.0, -0.0951),
        0.003,
    ),
    capsule(
        Link::MovingJaw,
        vec3(0.0, -0.010, 0.019),
        vec3(-0.0105, -0.0740, 0.019),
        0.003,
    ),
];
const FEET: usize = 0;
const BOARD: usize = 3;
const SHOULDER: usize = 4;
const UPPER_ARM: usize = 5;
const LOWER_ARM: usize = 6;
const WRIST: usize = 7;
const PALM: usize = 8;
const FINGER: usize = 9;
const JAW: usize = 10;

/// What can hit the table.
const ABOVE_TABLE: [usize; 5] = [LOWER_ARM, WRIST, PALM, FINGER, JAW];
/// What can hit each other: the outer part first.
const PAIRS: [(usize, usize); 27] = pairs();

const fn pairs() -> [(usize, usize); 27] {
    let mut pairs = [(PALM, SHOULDER); 27];
    let mut count = 0;
    let mut base = FEET;
    while base <= BOARD {
        let mut outer = LOWER_ARM;
        while outer <= JAW {
            pairs[count] = (outer, base);
            count += 1;
            outer += 1;
        }
        base += 1;
    }
    let mut outer = WRIST;
    while outer <= JAW {
        pairs[count] = (outer, SHOULDER);
        count += 1;
        outer += 1;
    }
    let mut outer = PALM;
    while outer <= JAW {
        pairs[count] = (outer, UPPER_ARM);
        count += 1;
        outer += 1;
    }
    pairs
}

const COUNT: usize = ABOVE_TABLE.len() + PAIRS.len();

/// The ends of all capsules in the base frame, metres.
type Placed = [[Vec3A; 2]; CAPSULES.len()];

fn placed(pose: JointVec) -> Placed {
    let kinematics = forward_robot(pose);
    CAPSULES.each_ref().map(|capsule| {
        let link = kinematics.link(capsule.link);
        capsule.ends.map(|end| link.transform_point3a(end.into()))
    })
}

/// What stays free between the arm and whatever it may hit, metres, and below which value each must not fall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gaps([f32; COUNT]);

impl Clearance {
    /// Every gap of a pose in robot units.
    pub(super) fn gaps(&self, pose: JointVec) -> Gaps {
        let placed = placed(pose);
        let mut gaps = [f32::INFINITY; COUNT];
        let (above, between) = gaps.split_at_mut(ABOVE_TABLE.len());
        above.copy_from_slice(&self.table_gaps(&placed));
        for (gap, (one, other)) in between.iter_mut().zip(PAIRS) {
            let radii = CAPSULES[one].radius + CAPSULES[other].radius;
            *gap = distance(placed[one], placed[other]) - radii;
        }
        Gaps(gaps)
    }

    /// What is free between the table and each part that can hit it, metres; no end of room where there is no table.
    fn table_gaps(&self, placed: &Placed) -> [f32; ABOVE_TABLE.len()] {
        ABOVE_TABLE.map(|index| match self.table {
            Some(table) => {
                let [one, other] = placed[index];
                one.z.min(other.z) - CAPSULES[index].radius - table
            }
            None => f32::INFINITY,
        })
    }

    /// How high the lowest part of an arm in this pose, robot units, is above the table, metres; infinitely high where there
    /// is no table.
    pub fn above_table(&self, pose: JointVec) -> f32 {
        let gaps = self.table_gaps(&placed(pose));
        gaps.into_iter().fold(f32::INFINITY, f32::min)
    }

    /// Least gaps of a step from a pose with these gaps: the margins, but for what is closer already, which must not come
    /// closer still.
    pub(super) fn floors(&self, now: &Gaps) -> Gaps {
        Gaps(std::array::from_fn(|index| {
            let margin = match ABOVE_TABLE.get(index) {
                Some(&(FINGER | JAW)) => self.finger_margin,
                _ => self.margin,
            };
            (margin + ROUNDING).min(now.0[index]) - SAME
        }))
    }

    /// Whether the way from one pose to another, each joint in proportion, keeps its margins, or comes no closer to anything
    /// than it is at its beginning.
    pub fn is_clear(&self, from: JointVec, to: JointVec) -> bool {
        let floors = self.floors(&self.gaps(from));
        (1..=LOOKS).all(|look| {
            let share = f32::from(look) / f32::from(LOOKS);
            let pose = from.zip(to, |a, b| a + (b - a) * share);
            self.obstacle(pose, &floors).is_none()
        })
    }

    /// The first thing that a pose comes too close to.
    pub(super) fn obstacle(&self, pose: JointVec, floors: &Gaps) -> Option<Cut> {
        let gaps = self.gaps(pose);
        let index = (0..COUNT).find(|index| gaps.0[*index] < floors.0[*index])?;
        if let Some(above) = ABOVE_TABLE.get(index) {
            return Some(Cut::Table(CAPSULES[*above].link));
        }
        let (one, other) = PAIRS[index - ABOVE_TABLE.len()];
        Some(Cut::SelfCollision(CAPSULES[one].link, CAPSULES[other].link))
    }

    /// How close the arm comes to the table (all but the fingers, then the fingers) and to itself, metres.
    #[cfg(test)]
    pub(crate) fn closest(&self, pose: JointVec) -> [f32; 3] {
        let Gaps(gaps) = self.gaps(pose);
        let least = |gaps: &[f32]| gaps.iter().copied().fold(f32::INFINITY, f32::min);
        [least(&gaps[..3]), least(&gaps[3..5]), least(&gaps[5..])]
    }
}

/// Distance between two segments. Source: the closest points of two segments, Ericson, Real-Time Collision Detection, 5.1.9.
fn distance([a, b]: [Vec3A; 2], [c, d]: [Vec3A; 2]) -> f32 {
    let (first, second, between) = (b - a, d - c, a - c);
    let (length, other_length) = (first.length_squared(), second.length_squared());
    let (along_first, along_second) = (first.dot(between), second.dot(between));
    let skew = first.dot(second);
    let area = length * other_length - skew * skew;
    let s = if area > f32::EPSILON * length * other_length {
        ((skew * along_second - along_first * other_length) / area).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let t = (skew * s + along_second) / other_length;
    let (s, t) = if t < 0.0 {
        ((-along_first / length).clamp(0.0, 1.0), 0.0)
    } else if t > 1.0 {
        (((skew - along_first) / length).clamp(0.0, 1.0), 1.0)
    } else {
        (s, t)
    };
    (between + first * s - second * t).length()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: JointVec = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);

    fn obstacle(pose: JointVec) -> Option<Cut> {
        obstacle_of(Clearance::default(), pose)
    }

    fn obstacle_of(clearance: Clearance, pose: JointVec) -> Option<Cut> {
        // From a pose where everything is far away.
        let floors = clearance.floors(&clearance.gaps(START));
        clearance.obstacle(pose, &floors)
    }

    #[test]
    fn poses_that_arms_are_used_in_are_clear() {
        for pose in [
            START,
            JointVec([0.0; 6]),
            // Folded up at rest, and the middle pose of the demonstration.
            JointVec([0.0, -98.0, 95.0, 50.0, 0.0, 5.0]),
            JointVec([0.0, -90.0, 90.0, 60.0, 0.0, 10.0]),
            JointVec([0.0, -90.0, 85.0, 55.0, 0.0, 0.0]),
            JointVec([0.0, -30.0, 30.0, 45.0, 0.0, 35.0]),
        ] {
            assert_eq!(obstacle(pose), None, "{pose:?}");
        }
    }

    #[test]
    fn a_cube_on_the_table_can_be_reached_from_above() {
        use crate::kinematics::{ToolTarget, inverse, robot_from_radians};
        for (x, pitch_degrees) in [
            (0.18, 90.0_f32),
            (0.25, 90.0),
            (0.3, 90.0),
            (0.2, 75.0),
            (0.36, 75.0),
        ] {
            let target = ToolTarget::pinch(vec3(x, 0.05, 0.0125), pitch_degrees.to_radians());
            let q = inverse(&target).unwrap();
            for jaw in [0.2, 0.8] {
                let pose = robot_from_radians([q[0], q[1], q[2], q[3], q[4], jaw]);
                assert_eq!(obstacle(pose), None, "{x} m at {pitch_degrees}°, jaw {jaw}");
            }
        }
    }

    #[test]
    fn what_would_be_hit_is_named() {
        let cases = [
            // Straight ahead and down, from the shoulder or with the wrist.
            ([0.0, 40.0, 20.0, 0.0, 0.0, 20.0], Cut::Table(Link::Gripper)),
            (
                [0.0, 80.0, -20.0, -60.0, 0.0, 20.0],
                Cut::Table(Link::LowerArm),
            ),
        ];
        for (pose, cut) in cases {
            let found = obstacle(JointVec(pose));
            let is_table = matches!(found, Some(Cut::Table(_)));
            assert!(is_table, "{pose:?}: {found:?}, not {cut:?}");
        }
        let at_the_edge = Clearance {
            table: None,
            ..Clearance::default()
        };
        let below = JointVec([0.0, 40.0, 20.0, 0.0, 0.0, 20.0]);
        assert_eq!(obstacle_of(at_the_edge, below), None);
        // Folded, and the wrist turned in.
        let folded = JointVec([0.0, -98.0, 94.0, 92.0, 0.0, 5.0]);
        let itself = Cut::SelfCollision(Link::Gripper, Link::Base);
        assert_eq!(obstacle_of(at_the_edge, folded), Some(itself));
    }

    #[test]
    fn what_is_too_close_already_may_stay_or_move_away_but_not_come_closer() {
        let clearance = Clearance::default();
        let inside = JointVec([0.0, 20.0, 40.0, 20.0, 0.0, 20.0]);
        assert!(clearance.closest(inside)[1] < 0.0, "below the table");
        let floors = clearance.floors(&clearance.gaps(inside));
        assert_eq!(clearance.obstacle(inside, &floors), None);
        let moved = |lift: f32| JointVec([5.0, 20.0 + lift, 40.0, 20.0, 0.0, 20.0]);
        assert_eq!(clearance.obstacle(moved(-2.0), &floors), None);
        assert_eq!(clearance.obstacle(moved(0.0), &floors), None, "sideways");
        assert!(clearance.obstacle(moved(1.0), &floors).is_some());
    }

    #[test]
    fn segments_are_as_far_apart_as_their_closest_points() {
        let segment = |a: [f32; 3], b: [f32; 3]| [Vec3A::from(a), Vec3A::from(b)];
        let x = segment([0.0; 3], [1.0, 0.0, 0.0]);
        let cases = [
            (segment([0.5, -1.0, 2.0], [0.5, 1.0, 2.0]), 2.0),
            (segment([2.0, 0.0, 0.0], [3.0, 0.0, 0.0]), 1.0),
            (segment([0.0, 3.0, 0.0], [1.0, 3.0, 0.0]), 3.0),
            (segment([-4.0, 3.0, 0.0], [-4.0, 9.0, 0.0]), 5.0),
            (segment([1.0, 1.0, 0.0], [2.0, 0.0, 0.0]), 0.5_f32.sqrt()),
        ];
        for (other, apart) in cases {
            assert!((distance(x, other) - apart).abs() < 1e-6, "{other:?}");
            assert!((distance(other, x) - apart).abs() < 1e-6, "{other:?}");
        }
    }
}
