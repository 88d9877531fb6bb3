//! The way to a first target. A driver that has just taken over may ask for a pose far from where the arm is, and servos go
//! there at full torque: on real arms that first goal has stripped gears. So it is approached, never jumped to.

use std::time::Duration;

use crate::joint::{Joint, JointVec};

/// A first target this near in every joint is no jump: the ordinary limits are enough, robot units.
const NEAR: f32 = 10.0;
/// The least time that an approach takes, seconds: long enough for a person to see it begin and to press stop.
const LEAST_S: f32 = 1.5;
/// Fastest motion on the way: half of what driving may do. Degrees a second, and of the gripper percent a second.
const SPEED_DEGREES: f32 = 30.0;
const SPEED_GRIPPER: f32 = 50.0;
/// Peak over mean speed of a minimum-jerk motion.
const PEAK: f32 = 1.875;

/// What becomes of a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// Where the arm is sent now.
    pub goal: JointVec,
    /// The target itself is what is sent: the driver may go on to the next one.
    pub arrived: bool,
}

/// Stands between every driver and the arm.
#[derive(Debug, Default)]
pub(super) struct Approach {
    /// There was a target since the driver changed or had none.
    followed: bool,
    ramp: Option<Ramp>,
}

impl Approach {
    /// The next target is a first one: another driver, another episode, or nothing to follow for a while.
    pub fn begin(&mut self) {
        *self = Self::default();
    }

    /// The share of an approach that is done, 0 to 1; `None` while targets are followed as they are.
    pub fn share(&self) -> Option<f32> {
        self.ramp.as_ref().map(Ramp::share)
    }

    /// Where the arm is sent for `target`, one `period` after it was sent to `commanded`. A target that moves meanwhile is
    /// blended into. One that is not a number is not followed.
    pub fn step(&mut self, period: Duration, commanded: JointVec, target: JointVec) -> Step {
        if !target.is_finite() {
            self.begin();
            let goal = commanded;
            return Step {
                goal,
                arrived: false,
            };
        }
        let is_first = !std::mem::replace(&mut self.followed, true);
        if is_first && target.max_abs_diff(commanded) > NEAR {
            self.ramp = Some(Ramp::new(commanded, target, LEAST_S));
        }
        let Some(ramp) = &mut self.ramp else {
            return Step {
                goal: target,
                arrived: true,
            };
        };
        let goal = ramp.advance(period, commanded, target);
        // A target that runs ahead of the arm is caught up with before it is let loose.
        let arrived = ramp.is_over() && target.max_abs_diff(goal) <= NEAR;
        if arrived {
            self.ramp = None;
        }
        Step { goal, arrived }
    }
}

/// A slow way from one pose to another: minimum jerk, never faster than the speed of an approach.
#[derive(Debug)]
pub(super) struct Ramp {
    from: JointVec,
    /// The pose on the way; the arm trails it by as much as its limits need.
    at: JointVec,
    /// Seconds.
    lasts: f32,
    spent: f32,
}

impl Ramp {
    /// A way that takes `least_s` seconds, or longer where that would be too fast.
    pub fn new(from: JointVec, to: JointVec, least_s: f32) -> Self {
        let seconds = |joint: Joint| PEAK * (to[joint] - from[joint]).abs() / speed(joint);
        let lasts = Joint::ALL.into_iter().map(seconds).fold(least_s, f32::max);
        Self {
            from,
            at: from,
            lasts,
            spent: 0.0,
        }
    }

    /// The next pose on the way to `to`, one `period` later. It waits for an arm that stays behind: what was sent to it
    /// last is `commanded`.
    pub fn advance(&mut self, period: Duration, commanded: JointVec, to: JointVec) -> JointVec {
        let dt = period.as_secs_f32();
        self.spent += dt;
        let done = min_jerk(self.share());
        self.at = JointVec::from_fn(|joint| {
            let wanted = self.from[joint] + (to[joint] - self.from[joint]) * done;
            let reach = speed(joint) * dt;
            let next = self.at[joint] + (wanted - self.at[joint]).clamp(-reach, reach);
            next.clamp(commanded[joint] - NEAR, commanded[joint] + NEAR)
        });
        self.at
    }

    /// The share of its time that is over, 0 to 1.
    pub fn share(&self) -> f32 {
        (self.spent / self.lasts).min(1.0)
    }

    /// Its time is over.
    pub fn is_over(&self) -> bool {
        self.spent >= self.lasts
    }

    /// Seconds that it takes.
    pub fn lasts(&self) -> f32 {
        self.lasts
    }
}

fn speed(joint: Joint) -> f32 {
    if joint == Joint::Gripper {
        SPEED_GRIPPER
    } else {
        SPEED_DEGREES
    }
}

/// From 0 to 1 with neither speed nor acceleration at the ends.
fn min_jerk(t: f32) -> f32 {
    t * t * t * (10.0 + t * (6.0 * t - 15.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::core::ArmOrder;
    use crate::runtime::core::bench::{Bench, Temper, assert_still, flying};
    use crate::runtime::{Command, Knobs, Mode, RigOrder};

    const PERIOD: Duration = Duration::from_millis(20);

    /// Follows `target` until it is let loose; how many steps that took, and the longest of them in a body joint.
    fn follow(mut at: JointVec, target: impl Fn(u32) -> JointVec) -> (u32, f32, JointVec) {
        let (mut approach, mut longest) = (Approach::default(), 0.0_f32);
        for n in 1..2000 {
            let step = approach.step(PERIOD, at, target(n));
            let moved = step.goal.zip(at, |goal, at| goal - at);
            longest = moved.0[..5].iter().fold(longest, |a, b| a.max(b.abs()));
            at = step.goal;
            if step.arrived {
                return (n, longest, at);
            }
        }
        panic!("never there");
    }

    #[test]
    fn a_far_first_target_is_reached_slowly_and_exactly() {
        let target = JointVec([90.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let (steps, longest, end) = follow(JointVec::default(), |_| target);
        assert_eq!(end, target);
        assert!(longest <= 30.0 * 0.02 + 1e-4, "{longest}");
        let seconds = steps as f32 * 0.02;
        assert!((5.6..5.8).contains(&seconds), "{seconds}");
        let (steps, _, _) = follow(JointVec::default(), |_| JointVec([10.1; 6]));
        assert!(steps as f32 * 0.02 >= LEAST_S, "{steps}");
    }

    #[test]
    fn a_near_one_passes_and_so_does_whatever_follows_it() {
        let mut approach = Approach::default();
        let pass = |approach: &mut Approach, value: f32| {
            let target = JointVec([value; 6]);
            let step = approach.step(PERIOD, JointVec::default(), target);
            step.goal == target && step.arrived
        };
        assert!(pass(&mut approach, 10.0) && pass(&mut approach, 60.0));
        approach.begin();
        assert!(!pass(&mut approach, 60.0) && approach.share().is_some());
    }

    #[test]
    fn a_moving_target_is_blended_into_and_a_fast_one_caught_up_with() {
        let sway = |n: u32| JointVec([40.0 + 10.0 * (n as f32 * 0.03).sin(); 6]);
        let (steps, longest, end) = follow(JointVec::default(), sway);
        assert_eq!(end, sway(steps));
        assert!(longest <= 0.6 + 1e-4, "{longest}");
        // 100 °/s for two seconds, then it waits: never let loose while the arm is far behind.
        let bolt = |n: u32| JointVec([20.0 + 2.0 * n.min(100) as f32; 6]);
        let (steps, longest, end) = follow(JointVec::default(), bolt);
        assert!(longest <= 0.6 + 1e-4 && end.max_abs_diff(bolt(steps)) <= NEAR);
        assert!(steps > 300, "{steps}");
    }

    #[test]
    fn what_is_not_a_number_is_not_followed() {
        let mut approach = Approach::default();
        let here = JointVec([3.0; 6]);
        let step = approach.step(PERIOD, here, JointVec([f32::NAN; 6]));
        assert_eq!((step.goal, step.arrived), (here, false));
    }

    /// A bench whose policy wants `far` in every joint, just told to drive.
    fn far_policy(far: f32) -> Bench {
        let mut bench = Bench::driving(Knobs::default(), 50, Temper::Constant(far));
        bench.until(1.0, |bench| bench.seen.approaching.is_some());
        bench
    }

    /// Runs until the arm is at `value`; the longest step of a body joint on the way, units a second.
    fn fastest_to(bench: &mut Bench, value: f32) -> f32 {
        let mut fastest = 0.0_f32;
        let end = bench.now + Duration::from_secs(20);
        while (bench.pose.0[0] - value).abs() > 1e-3 {
            assert!(bench.now < end, "never at {value}: {:?}", bench.pose);
            let (before, dt) = (bench.pose, bench.control.period().as_secs_f32());
            bench.tick(vec![]);
            fastest = fastest.max((bench.pose.0[0] - before.0[0]).abs() / dt);
        }
        fastest
    }

    #[test]
    fn the_first_chunk_is_approached_and_none_of_it_lost() {
        let mut bench = far_policy(48.0);
        let queued = bench.seen.queue.upcoming.len();
        bench.run(1.0);
        assert_eq!(bench.seen.queue.upcoming.len(), queued, "the plan waits");
        assert!(bench.seen.approaching.is_some_and(|share| share > 0.3));
        assert!(bench.seen.queue.starved_since.is_none());
        let fastest = fastest_to(&mut bench, 48.0);
        assert!(fastest <= 30.1, "{fastest}");
        bench.run(0.5);
        assert_eq!(
            (bench.seen.approaching, bench.seen.starved_ticks),
            (None, 0)
        );
        assert!(bench.executed.len() > 10);
    }

    #[test]
    fn an_approach_is_made_again_after_resume_mode_change_task_and_episode() {
        type Change = fn(&mut Bench);
        let changes: [(&str, Change); 4] = [
            ("resume", |bench| {
                bench.presses += 1;
                bench.tick(vec![]);
                bench.tick(vec![Command::Resume]);
                bench.tick(vec![Command::SetMode(Mode::Policy)]);
            }),
            ("mode", |bench| {
                bench.tick(vec![Command::SetMode(Mode::Hold)]);
                bench.tick(vec![Command::SetMode(Mode::Policy)]);
            }),
            ("task", |bench| {
                bench.tick(vec![Command::SetTask("another".to_owned())]);
            }),
            ("episode", |bench| {
                bench.tick(vec![Command::Rig(RigOrder::Reset { seed: None })]);
            }),
        ];
        for (name, change) in changes {
            let mut bench = Bench::driving(Knobs::default(), 50, Temper::Constant(0.0));
            bench.run(1.0);
            assert_eq!(bench.seen.approaching, None, "{name}");
            bench.temper = Temper::Constant(-40.0);
            change(&mut bench);
            let fastest = fastest_to(&mut bench, -40.0);
            assert!((20.0..30.1).contains(&fastest), "{name}: {fastest}");
        }
    }

    #[test]
    fn a_chunk_that_comes_after_a_hold_is_approached() {
        let mut bench = Bench::driving(Knobs::default(), 4000, Temper::Constant(0.0));
        bench.until(30.0, |bench| {
            bench.seen.queue.starved_since.is_some() && bench.seen.chunks > 0
        });
        bench.temper = Temper::Constant(30.0);
        let fastest = fastest_to(&mut bench, 30.0);
        assert!((20.0..30.1).contains(&fastest), "{fastest}");
        // In mid-plan it is a matter of merging and of the ordinary limits.
        let mut bench = flying(50);
        bench.temper = Temper::Constant(0.0);
        bench.run(1.0);
        assert_eq!(bench.seen.approaching, None);
    }

    #[test]
    fn a_stop_on_the_way_is_a_stop() {
        let mut bench = far_policy(60.0);
        bench.run(1.0);
        bench.presses = 1;
        bench.tick(vec![]);
        assert_eq!(
            (bench.order, bench.seen.approaching),
            (ArmOrder::Freeze, None)
        );
        assert_still(&mut bench, 30);
    }
}
