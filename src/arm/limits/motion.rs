//! How a joint gets from here to its goal: no faster than its limit, no harder than its acceleration, and slowing down in
//! time, so that it stops on the goal and not behind it.

use crate::joint::JointVec;

/// A way shorter than this, robot units, has been gone: a hundredth of an encoder count.
const THERE: f32 = 1e-3;

/// Where the goals of the joints are on their way, and how fast they move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Robot units.
    pub position: JointVec,
    /// Robot units a second.
    pub velocity: JointVec,
}

impl Motion {
    /// Standing still.
    pub fn at(position: JointVec) -> Self {
        Self {
            position,
            velocity: JointVec::default(),
        }
    }

    /// Whether any goal is on its way.
    pub fn is_moving(&self) -> bool {
        self.velocity.0.iter().any(|speed| *speed != 0.0)
    }
}

/// What bounds the motion of one joint, robot units a second and a second squared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub speed: f32,
    pub acceleration: f32,
    pub dt_s: f32,
}

impl Pace {
    /// Most change of speed in one step.
    fn change(self) -> f32 {
        self.acceleration * self.dt_s
    }

    /// The speed of the next step from `speed` towards a goal that is `distance` away: the fastest from which the joint can
    /// still stop there, as far as acceleration allows.
    fn towards(self, speed: f32, distance: f32) -> f32 {
        let wanted = distance.signum() * self.landing(distance.abs()).min(self.speed);
        wanted.clamp(speed - self.change(), speed + self.change())
    }

    /// The speed from which slowing down by [`Pace::change`] a step covers exactly `distance`. With n steps to go the way is
    /// dt · (n v − c n(n−1)/2), and n is the least for which the last step is not faster than c.
    fn landing(self, distance: f32) -> f32 {
        let (change, dt_s) = (f64::from(self.change()), f64::from(self.dt_s));
        let distance = f64::from(distance);
        let steps = (((1.0 + 8.0 * distance / (change * dt_s)).sqrt() - 1.0) / 2.0).ceil();
        let steps = steps.max(1.0);
        (distance / (steps * dt_s) + change * (steps - 1.0) / 2.0) as f32
    }

    /// One step of one joint: position and speed after it. `range` is never left, and an outlier only comes nearer.
    pub fn step(self, position: f32, speed: f32, goal: f32, range: (f32, f32)) -> (f32, f32) {
        let mut next = self.towards(speed, goal - position);
        // Whatever the goal, the ends of the range are stopped at.
        next = next.min(self.landing((range.1 - position).max(0.0)));
        next = next.max(-self.landing((position - range.0).max(0.0)));
        let (low, high) = (range.0.min(position), range.1.max(position));
        let at = (position + next * self.dt_s).clamp(low, high);
        let arrives = (at - goal).abs() < THERE && next.abs() <= self.change() + THERE;
        (if arrives { goal } else { at }, next)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arm::unrecorded;

    const PACE: Pace = Pace {
        speed: 60.0,
        acceleration: 600.0,
        dt_s: 1.0 / 30.0,
    };
    const RANGE: (f32, f32) = (-100.0, 100.0);

    /// Steps until the goal is reached; each position.
    fn way(from: f32, goal: f32) -> Vec<f32> {
        let (mut at, mut speed) = (from, 0.0);
        let step = || {
            (at, speed) = PACE.step(at, speed, goal, RANGE);
            Some(at)
        };
        std::iter::from_fn(step).take(200).collect()
    }

    #[test]
    fn a_far_goal_is_approached_at_full_speed_and_stopped_at() {
        let way = way(0.0, 30.0);
        let steps: Vec<f32> = way.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!((way[0] - 0.667).abs() < 1e-3, "20 °/s after one step");
        assert!(steps.iter().any(|step| (step - 2.0).abs() < 1e-4));
        assert!(way.iter().all(|at| *at <= 30.0), "no overshoot");
        let arrival = way.iter().position(|at| *at == 30.0);
        // 30° at 60 °/s, a tenth of a second to get there and another to stop.
        assert!(
            arrival.is_some_and(|ticks| (14..=20).contains(&ticks)),
            "{arrival:?}"
        );
        assert_eq!(way.last(), Some(&30.0));
    }

    #[test]
    fn a_short_way_is_gone_in_short_steps() {
        let way = way(5.0, 5.2);
        assert_eq!(way[0], 5.2);
        assert!(way.iter().all(|at| *at == 5.2));
    }

    #[test]
    fn a_goal_that_turns_back_is_overshot_as_little_as_acceleration_allows() {
        let (mut at, mut speed) = (0.0, 0.0);
        for _ in 0..10 {
            (at, speed) = PACE.step(at, speed, 90.0, RANGE);
        }
        let turned = at;
        let mut most = at;
        for _ in 0..60 {
            (at, speed) = PACE.step(at, speed, turned, RANGE);
            most = f32::max(most, at);
        }
        // Down from 60 °/s by 20 °/s a step: 40 and 20 °/s for a thirtieth of a second each.
        assert!((most - turned - 2.0).abs() < 1e-3, "{}", most - turned);
        assert_eq!((at, speed), (turned, 0.0));
    }

    proptest! {
    #![proptest_config(unrecorded(256))]

        /// Goals may do what they like, the period may be any: no step is too fast, no change of speed too hard, and the
        /// range is never left.
        #[test]
        fn whatever_the_goals_do_the_joint_moves_within_its_limits(
            goals in prop::collection::vec((-300.0_f32..300.0, 1_usize..20), 1..30),
            fps in 5.0_f32..120.0,
            speed in 5.0_f32..300.0,
            acceleration in 50.0_f32..3000.0,
        ) {
            let pace = Pace { speed, acceleration, dt_s: 1.0 / fps };
            let (mut at, mut now) = (0.0, 0.0);
            for (goal, steps) in goals {
                let goal = goal.clamp(RANGE.0, RANGE.1);
                for _ in 0..steps {
                    let (next, fast) = pace.step(at, now, goal, RANGE);
                    let went = (next - at) / pace.dt_s;
                    prop_assert!((RANGE.0..=RANGE.1).contains(&next));
                    prop_assert!(went.abs() <= speed + 0.1, "{went}");
                    prop_assert!((went - now).abs() <= pace.change() + 0.1, "{now} to {went}");
                    prop_assert!((went - fast).abs() <= 0.1, "{fast} is not {went}");
                    (at, now) = (next, fast);
                }
            }
        }

        /// From rest, a goal that stands still is never overshot, and it is reached.
        #[test]
        fn a_goal_that_stands_still_is_reached_and_never_overshot(
            goal in -100.0_f32..100.0,
            fps in 5.0_f32..120.0,
            speed in 5.0_f32..300.0,
            acceleration in 50.0_f32..3000.0,
        ) {
            let pace = Pace { speed, acceleration, dt_s: 1.0 / fps };
            let (mut at, mut now) = (0.0_f32, 0.0);
            let longest = (100.0 / speed + 2.0 * speed / acceleration + 1.0) * fps;
            for _ in 0..longest as usize + 5 {
                (at, now) = pace.step(at, now, goal, RANGE);
                prop_assert!(at.abs() <= goal.abs() + 1e-3 && at * goal >= 0.0, "{at}");
            }
            prop_assert_eq!((at, now), (goal, 0.0));
        }
    }
}
