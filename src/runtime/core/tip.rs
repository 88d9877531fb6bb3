//! Moving the gripper's tip along straight lines by inverse kinematics, as far as that goes: at the end of a joint, at full
//! stretch or over the base it stands still and says why, instead of leaping to another way of bending the arm.

use crate::joint::{Joint, JointVec};
use crate::kinematics::{ToolTarget, Unreachable, inverse, radians_from_robot, robot_from_radians};
use crate::runtime::Twist;

/// Fastest motion of a joint that moves the tip, degrees a second. Near full stretch the joints would have to turn ever
/// faster; there the tip slows down instead.
const FASTEST: f32 = 60.0;
/// A step is made smaller so often, and to no less than this share, before the way counts as blocked.
const TRIES: u32 = 8;
const LEAST_SHARE: f32 = 0.02;
/// Slack at a joint's limit, degrees: the pose may stand on it.
const SLACK: f32 = 1e-3;

/// A tip on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tip(ToolTarget);

impl Tip {
    /// The tip of an arm in this pose, robot units.
    pub fn of(pose: JointVec) -> Self {
        Self(ToolTarget::at(radians_from_robot(pose)))
    }

    /// The pose `dt_s` seconds of `twist` further, with the gripper as it is in `from`, or why there is none. `from` is the
    /// pose that belongs to this tip.
    pub fn advance(
        &mut self,
        twist: &Twist,
        dt_s: f32,
        from: JointVec,
        limits: [JointVec; 2],
    ) -> Result<JointVec, String> {
        let allowed = FASTEST * dt_s;
        let mut share = 1.0;
        for _ in 0..TRIES {
            let next = self.moved(twist, dt_s * share);
            let pose = next.pose(from).map_err(|why| words(&why))?;
            if let Some(joint) = leaves(from, pose, limits) {
                return Err(format!("{joint} is at its limit"));
            }
            let step = pose.max_abs_diff(from);
            if step <= allowed {
                *self = next;
                return Ok(pose);
            }
            share *= 0.9 * allowed / step;
            if share < LEAST_SHARE {
                break;
            }
        }
        Err(
            "the arm is stretched straight, or bent the other way: move its joints first"
                .to_owned(),
        )
    }

    fn moved(&self, twist: &Twist, dt_s: f32) -> Self {
        Self(ToolTarget {
            position: self.0.position + twist.linear * dt_s,
            pitch: self.0.pitch + twist.pitch * dt_s,
            roll: self.0.roll + twist.roll * dt_s,
            ..self.0
        })
    }

    fn pose(&self, from: JointVec) -> Result<JointVec, Unreachable> {
        let [pan, lift, elbow, wrist, roll] = inverse(&self.0)?;
        let mut pose = robot_from_radians([pan, lift, elbow, wrist, roll, 0.0]);
        pose[Joint::Gripper] = from[Joint::Gripper];
        Ok(pose)
    }
}

/// The joint that would go beyond its limit, or further beyond it.
fn leaves(from: JointVec, to: JointVec, [lower, upper]: [JointVec; 2]) -> Option<Joint> {
    Joint::ALL.into_iter().find(|&joint| {
        let (from, to) = (from[joint], to[joint]);
        (to > upper[joint] + SLACK && to > from) || (to < lower[joint] - SLACK && to < from)
    })
}

fn words(why: &Unreachable) -> String {
    match why {
        Unreachable::Distance { distance, min, .. } if distance < min => {
            "the gripper is as close to the shoulder as the arm folds".to_owned()
        }
        Unreachable::Distance { .. } => "the arm is stretched out, there is no further".to_owned(),
        Unreachable::OnAxis(_) => {
            "the tip is above the base, where the arm has no direction".to_owned()
        }
        Unreachable::Limit { joint, .. } => format!("{joint} is at its limit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::{Calibration, Limits};
    use crate::kinematics::{PINCH_POINT, forward_robot};
    use glam::{Vec3, vec3};

    const DT: f32 = 1.0 / 60.0;
    const START: JointVec = JointVec([10.0, -20.0, 40.0, 50.0, 5.0, 30.0]);

    fn limits() -> [JointVec; 2] {
        Limits::new(&Calibration::simulated()).ranges()
    }

    fn tip(pose: JointVec) -> Vec3 {
        forward_robot(pose).gripper_point(PINCH_POINT)
    }

    fn linear(x: f32, y: f32, z: f32) -> Twist {
        Twist {
            linear: vec3(x, y, z),
            ..Twist::default()
        }
    }

    /// Moves until something is in the way; the last pose and why.
    fn push(start: JointVec, twist: &Twist) -> (JointVec, String) {
        let (mut pose, mut at) = (start, Tip::of(start));
        for _ in 0..20_000 {
            match at.advance(twist, DT, pose, limits()) {
                Ok(next) => {
                    assert!(next.max_abs_diff(pose) <= FASTEST * DT + 1e-3, "it leapt");
                    let [lower, upper] = limits();
                    let inside =
                        |joint| (lower[joint] - 0.01..=upper[joint] + 0.01).contains(&next[joint]);
                    assert!(Joint::ALL.into_iter().all(inside), "{next:?}");
                    pose = next;
                }
                Err(why) => return (pose, why),
            }
        }
        panic!("never blocked");
    }

    #[test]
    fn the_tip_goes_where_it_is_pushed_and_keeps_its_attitude() {
        for (twist, seconds) in [
            (linear(0.05, 0.0, 0.0), 1.0),
            (linear(0.0, -0.06, 0.0), 1.0),
            (linear(-0.02, 0.03, 0.04), 1.0),
        ] {
            let (mut pose, mut at) = (START, Tip::of(START));
            let steps = (seconds / DT) as usize;
            for _ in 0..steps {
                pose = at.advance(&twist, DT, pose, limits()).unwrap();
            }
            let moved = tip(pose) - tip(START);
            let wanted = twist.linear * DT * steps as f32;
            assert!((moved - wanted).length() < 2e-4, "{moved} for {wanted}");
            let attitude =
                |pose: JointVec| [pose.0[1] + pose.0[2] + pose.0[3], pose.0[4], pose.0[5]];
            for (a, b) in attitude(pose).into_iter().zip(attitude(START)) {
                assert!((a - b).abs() < 0.02, "{pose:?}");
            }
        }
    }

    #[test]
    fn pitch_and_roll_turn_about_the_tip() {
        for (twist, angle) in [
            (
                Twist {
                    pitch: -0.4,
                    ..Twist::default()
                },
                -0.4,
            ),
            (
                Twist {
                    roll: 0.5,
                    ..Twist::default()
                },
                0.5,
            ),
        ] {
            let (mut pose, mut at) = (START, Tip::of(START));
            for _ in 0..60 {
                pose = at.advance(&twist, DT, pose, limits()).unwrap();
            }
            assert!((tip(pose) - tip(START)).length() < 1e-4);
            let sum = |pose: JointVec| pose.0[1] + pose.0[2] + pose.0[3];
            let turned = if twist.roll == 0.0 {
                sum(pose) - sum(START)
            } else {
                pose.0[4] - START.0[4]
            };
            assert!((turned.to_radians() - angle).abs() < 1e-3, "{turned}");
        }
    }

    #[test]
    fn it_stops_at_every_end_and_says_why() {
        for (twist, words) in [
            (linear(0.1, 0.0, 0.0), vec!["stretched", "limit"]),
            (linear(-0.1, 0.0, 0.0), vec!["limit", "folds", "base"]),
            (linear(0.0, 0.0, 0.1), vec!["limit", "stretched"]),
            (linear(0.0, 0.0, -0.1), vec!["limit", "stretched"]),
            (linear(0.0, 0.1, 0.0), vec!["limit", "stretched"]),
            (
                Twist {
                    pitch: 1.0,
                    ..Twist::default()
                },
                vec!["limit", "stretched", "folds"],
            ),
            (
                Twist {
                    roll: -1.0,
                    ..Twist::default()
                },
                vec!["wrist_roll is at its limit"],
            ),
        ] {
            let (pose, why) = push(START, &twist);
            assert!(
                words.iter().any(|word| why.contains(word)),
                "{twist:?}: {why}"
            );
            // And comes back from there.
            let mut at = Tip::of(pose);
            let back = Twist {
                linear: -twist.linear,
                pitch: -twist.pitch,
                roll: -twist.roll,
            };
            assert!(
                at.advance(&back, DT, pose, limits()).is_ok(),
                "{twist:?}: stuck"
            );
        }
    }

    #[test]
    fn an_arm_bent_the_other_way_is_left_alone() {
        // The elbow beyond its straight pose, where the closed form bends it upwards.
        let bent = JointVec([0.0, 20.0, -90.0, 20.0, 0.0, 30.0]);
        let refused = Tip::of(bent).advance(&linear(0.0, 0.0, 0.05), DT, bent, limits());
        assert!(refused.unwrap_err().contains("other way"));
    }

    #[test]
    fn any_pose_of_the_arm_is_found_again_by_its_tip() {
        let (mut found, mut all) = (0, 0);
        for k in 0..4000_u32 {
            let part = |n: u32| (k.wrapping_mul(n) % 997) as f32 / 996.0;
            let [lower, upper] = limits();
            let pose = JointVec::from_fn(|joint| {
                let n = [31, 57, 101, 173, 211, 7][joint.index()];
                lower[joint] + (upper[joint] - lower[joint]) * part(n)
            });
            all += 1;
            let still = Twist::default();
            if let Ok(same) = Tip::of(pose).advance(&still, DT, pose, limits()) {
                assert!(same.max_abs_diff(pose) <= 1.0 + 1e-3, "{pose:?} {same:?}");
                assert!((tip(same) - tip(pose)).length() < 5e-4);
                found += 1;
            }
        }
        assert!(found * 2 > all, "{found} of {all}");
    }
}
